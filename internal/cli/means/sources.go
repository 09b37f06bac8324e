package means

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/roles"
)

// sourceKinds are what --source can name.
var sourceKinds = []string{"edgar", "search", "web"}

// Openings says what a host with these sources opens to its agents.
func Openings(c *console.Console, given []string, unsandboxed bool) roles.Openings {
	o := roles.Openings{Unsandboxed: unsandboxed, Web: c.Env("BRAVE_API_KEY") != "", Data: c.Env("ALPHA_VANTAGE_API_KEY") != ""}
	for _, s := range given {
		kind, _, _ := strings.Cut(s, "=")
		o.Web = o.Web || kind == "web" || kind == "search"
		o.Data = o.Data || kind == "edgar"
	}
	return o
}

// SourceFlag adds the flag that says what agents may ask.
func SourceFlag(f *pflag.FlagSet, given *[]string) {
	f.StringArrayVar(given, "source", nil, "what agents may ask, `KIND=VALUE`: web, search, edgar")
}

// FillSources reads what agents may ask outside of their workspaces: KIND=VALUE
// each, web=HOST any number of times. Keys are from the environment, or from
// the files that it names; they are never flags, which other users of the
// machine can see.
func FillSources(console *console.Console, c *host.Config, given []string) error {
	c.Sources.BraveKey, c.Sources.AlphaVantageKey = console.Env("BRAVE_API_KEY"), console.Env("ALPHA_VANTAGE_API_KEY")
	for _, s := range given {
		kind, value, _ := strings.Cut(s, "=")
		value = strings.TrimSpace(value)
		one := map[string]*string{"search": &c.Sources.SearchURL, "edgar": &c.Sources.EDGARContact}[kind]
		switch {
		case !slices.Contains(sourceKinds, kind):
			return fault.New("usage/argument", "there is no such source").At("--source").Got(s).Want("%s", suggest.Among(kind, sourceKinds))
		case value == "":
			return fault.New("usage/argument", "not KIND=VALUE").At("--source").Got(s).
				Want("as in web=example.com, search=http://127.0.0.1:8888 or edgar=\"Sample Company admin@sample.com\"")
		case kind == "web":
			c.Sources.WebHosts = append(c.Sources.WebHosts, value)
		case *one != "":
			return fault.New("usage/argument", "the source %s is given twice", kind).At("--source").Got(s)
		default:
			*one = value
		}
	}
	return nil
}
