package hosting

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// bill is a bill of materials, as much of CycloneDX 1.6 as a program of Go modules
// needs. It has no date and no serial number: the same program has the same bill.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string     `json:"type"`
	Ref     string     `json:"bom-ref"`
	Name    string     `json:"name"`
	Version string     `json:"version,omitempty"`
	URL     string     `json:"purl"`
	Hashes  []hash     `json:"hashes,omitempty"`
	More    []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// WriteBill writes the bill of materials of a program of this version. It refuses one
// in which the toolchain noted nothing.
func WriteBill(w io.Writer, info *debug.BuildInfo, version string) error {
	if info == nil {
		return fault.New("usage/argument", "this program was built without a note of its modules").At("--sbom").Want("build it with go build or go install")
	}
	program := componentOf("application", &debug.Module{Path: info.Main.Path, Version: info.Main.Version})
	program.More = []property{{"loom:version", version}}
	for _, s := range info.Settings {
		program.More = append(program.More, property{"go:" + s.Key, s.Value})
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{program}, Components: []component{
		{Type: "library", Ref: "pkg:golang/std@" + goVersion(info), Name: "std", Version: goVersion(info), URL: "pkg:golang/std@" + goVersion(info)},
	}}
	for _, m := range info.Deps {
		b.Components = append(b.Components, componentOf("library", used(info, m)))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(b)
}

// goVersion is the version of the standard library, as advisories name it.
func goVersion(info *debug.BuildInfo) string { return strings.TrimPrefix(info.GoVersion, "go") }

// componentOf describes a module. Its hash is the one of go.sum, over the names and
// contents of its files.
func componentOf(kind string, m *debug.Module) component {
	purl := "pkg:golang/" + m.Path
	if m.Version != "" {
		purl += "@" + url.PathEscape(m.Version)
	}
	c := component{Type: kind, Ref: purl, Name: m.Path, Version: m.Version, URL: purl}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
		c.More = []property{{"go:sum", m.Sum}}
	}
	return c
}
