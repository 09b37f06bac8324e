package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
)

// Bounds of what a server may say of its tools.
const (
	maxTools       = 128
	maxDescription = 8 << 10  // bytes, of each tool
	maxSchema      = 64 << 10 // bytes, of each tool
)

// Tool is what a server says of one of its tools.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	// ReadOnly is the server's word that it changes nothing. It counts once the
	// operator has trusted it.
	ReadOnly bool `json:"read_only,omitempty"`
}

// Digest names what was said of the tool.
func (t Tool) Digest() string { return digest(t) }

// Pin is what the operator trusted of a server.
type Pin struct {
	Server string `json:"server"`
	// Launch is the digest of how it is started or reached.
	Launch string `json:"launch"`
	Tools  []Tool `json:"tools"`
	// Network lets the server's process use the network.
	Network bool `json:"network,omitempty"`
	// Unsandboxed says that it was started on the machine as it is to be asked
	// for its tools.
	Unsandboxed bool      `json:"unsandboxed,omitempty"`
	At          time.Time `json:"at"`
}

// Tool returns the pinned tool of this name.
func (p Pin) Tool(name string) (Tool, bool) {
	i := slices.IndexFunc(p.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return p.Tools[i], true
}

// Trust keeps the pins of a data directory. It may be used by several processes.
type Trust struct{ list privatefile.List[Pin] }

// NewTrust returns the pins of a data directory.
func NewTrust(dir string) *Trust {
	return &Trust{privatefile.List[Pin]{Dir: dir, Name: "mcp.json", Code: "mcp/trust"}}
}

// Pins returns all pins.
func (t *Trust) Pins() ([]Pin, error) {
	list, _, err := t.list.Load()
	return list, err
}

// Add pins a server in the place of what was pinned of one started in the same
// way under its name.
func (t *Trust) Add(p Pin) error {
	return t.list.Change(func(all []Pin) ([]Pin, error) {
		return append(slices.DeleteFunc(all, p.replaces), p), nil
	})
}

func (p Pin) replaces(o Pin) bool { return o.Server == p.Server && o.Launch == p.Launch }

// Remove takes back all trust in a server. It returns mcp/unknown when there
// was none.
func (t *Trust) Remove(server string) error {
	return t.list.Change(func(all []Pin) ([]Pin, error) {
		rest := slices.DeleteFunc(slices.Clone(all), func(p Pin) bool { return p.Server == server })
		if len(rest) == len(all) {
			return nil, fault.New("mcp/unknown", "nothing of such a server is trusted").At("server").Got(server)
		}
		return rest, nil
	})
}

// find returns the pin of a server as it is started now.
func find(pins []Pin, s Server) (Pin, bool) {
	i := slices.IndexFunc(pins, func(p Pin) bool { return p.Server == s.Name && p.Launch == s.Digest() })
	if i < 0 {
		return Pin{}, false
	}
	return pins[i], true
}

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// FullName is what agents call a server's tool: mcp_SERVER_TOOL, at most 64 of
// a-z, A-Z, 0-9, _ and -.
func FullName(server, tool string) string {
	name := "mcp_" + server + "_" + notInName.ReplaceAllString(tool, "_")
	if len(name) > 64 {
		name = fmt.Sprintf("%s_%.8s", name[:55], digest(tool))
	}
	return name
}

// Changes says how what a server says now differs from what is pinned; empty if
// it does not.
func (p Pin) Changes(now []Tool) (list []string) {
	for _, t := range p.Tools {
		i := slices.IndexFunc(now, func(o Tool) bool { return o.Name == t.Name })
		switch {
		case i < 0:
			list = append(list, t.Name+" is gone")
		case now[i].Digest() != t.Digest():
			list = append(list, t.Name+" is described differently: "+difference(t, now[i]))
		}
	}
	for _, t := range now {
		if _, known := p.Tool(t.Name); !known {
			list = append(list, t.Name+" is new")
		}
	}
	return list
}

func difference(a, b Tool) string {
	var parts []string
	if a.Description != b.Description {
		parts = append(parts, "description")
	}
	if digest(a.Schema) != digest(b.Schema) {
		parts = append(parts, "schema")
	}
	if a.ReadOnly != b.ReadOnly {
		parts = append(parts, "whether it only reads")
	}
	return strings.Join(parts, ", ")
}
