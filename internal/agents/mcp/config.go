package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// FileName is where programs look for servers in a workspace.
const FileName = ".mcp.json"

// MaxFile is the most bytes of such a file, and maxServers of servers in it.
const (
	MaxFile    = 256 << 10
	maxServers = 50
)

// Server is an external server, as a file names it. Values are as they are
// written: variables are put in when the server is started.
type Server struct {
	// Name is [a-zA-Z0-9-]{1,24}: no underscore, which ends it in the names of
	// tools.
	Name string `json:"name"`
	// Command with Args and Env starts a server that speaks on its standard
	// input and output.
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// URL with Headers reaches one over streamable HTTP: https, or http on
	// loopback.
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

var serverName = regexp.MustCompile(`^[a-zA-Z0-9-]{1,24}$`)

// Parse reads a .mcp.json. Keys that other programs have in it are passed over;
// all that is wrong with what Loom reads is reported.
func Parse(file string, data []byte) ([]Server, error) {
	if len(data) > MaxFile {
		return nil, fault.New("mcp/config", "the file has more than %d bytes", MaxFile).At(file)
	}
	var doc struct {
		Servers map[string]struct {
			Server
			Type     string `json:"type"`
			Disabled bool   `json:"disabled"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fault.New("mcp/config", "the file is not as programs write it").At(file).Because(err).
			Want(`{"mcpServers": {"NAME": {"command": "...", "args": []}}}`)
	}
	if len(doc.Servers) > maxServers {
		return nil, fault.New("mcp/config", "it names %d servers, at most %d are read", len(doc.Servers), maxServers).At(file)
	}
	var list []Server
	var problems []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(doc.Servers)) {
		s := doc.Servers[name]
		if s.Disabled {
			continue
		}
		s.Server.Name = name
		if err := s.check(s.Type); err != nil {
			problems = append(problems, err.At(file+": "+name))
			continue
		}
		list = append(list, s.Server)
	}
	return list, fault.Join(problems)
}

func (s Server) check(kind string) *fault.Error {
	switch {
	case !serverName.MatchString(s.Name):
		return fault.New("mcp/config", "not a name for a server").Got(s.Name).Want("1 to 24 of a-z, A-Z, 0-9 and -")
	case (s.Command == "") == (s.URL == ""):
		return fault.New("mcp/config", "a server has a command or a url, one of them")
	case kind == "sse":
		return fault.New("mcp/config", "the transport sse is not spoken").Got(kind).Want("streamable HTTP, as servers have had it since 2025-03-26")
	case s.URL != "" && !safeURL(s.URL):
		return fault.New("mcp/config", "not an address that is safe to ask").At("url").Got(s.URL).Want("https://, or http:// on loopback; no user or password in it")
	}
	return nil
}

func safeURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// Digest names how the server is started or reached.
func (s Server) Digest() string { return digest(s) }

// digest is SHA-256 of the JSON, in which maps are sorted.
func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, and JSON that was read
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// Variables are the names of the environment that the server is given values
// of, sorted.
func (s Server) Variables() []string {
	names := map[string]bool{}
	for _, text := range s.texts() {
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			names[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (s Server) texts() []string {
	return slices.Concat([]string{s.Command, s.URL}, s.Args, slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
}

// expanded puts in what the environment has. A variable that is not set and
// has no default is refused: a server that gets an empty key asks in the name
// of nobody.
func (s Server) expanded(env func(string) string) (Server, error) {
	var missing []string
	put := func(text string) string {
		return variable.ReplaceAllStringFunc(text, func(m string) string {
			parts := variable.FindStringSubmatch(m)
			value := env(parts[1])
			if value == "" && parts[2] == "" {
				missing = append(missing, parts[1])
			}
			if value == "" {
				value = strings.TrimPrefix(parts[2], ":-")
			}
			return value
		})
	}
	all := func(m map[string]string) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			out[k] = put(v)
		}
		return out
	}
	s.Command, s.URL, s.Env, s.Headers, s.Args = put(s.Command), put(s.URL), all(s.Env), all(s.Headers), slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = put(s.Args[i])
	}
	switch {
	case missing != nil:
		return s, fault.New("mcp/variable", "the environment has no %s", strings.Join(missing, ", ")).At(s.Name)
	case s.URL != "" && !safeURL(s.URL):
		return s, fault.New("mcp/config", "not an address that is safe to ask").At(s.Name)
	}
	return s, nil
}
