package means

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/agents/source/search"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/roles"
)

// sourceKinds are what --source can name.
var sourceKinds = []string{"contact", "data", "edgar", "search", "web"}

// SourceFlag adds the flag that says what agents may ask.
func SourceFlag(f *pflag.FlagSet, given *[]string) {
	f.StringArrayVar(given, "source", nil, "agents may ask `KIND=VALUE`: web, search, data, edgar")
}

// Openings says what a host with these sources opens to its agents.
func Openings(s host.Sources, unsandboxed bool) roles.Openings {
	return roles.Openings{
		Unsandboxed: unsandboxed, Web: len(s.WebHosts) > 0 || s.Search.Kind != "",
		Data: s.EDGARContact != "" || s.AlphaVantageKey != "" || s.FREDKey != "" || len(s.Data) > 0,
	}
}

// Sources reads what agents may ask outside of their workspaces: KIND=VALUE each,
// web=HOST and data=NAME any number of times. Keys are from the environment, or from
// the files that it names; they are never flags, which other users of the machine can
// see. Where nothing is said of a search engine, it is that of a key, or DuckDuckGo.
func Sources(c *console.Console, given []string) (host.Sources, error) {
	s := host.Sources{AlphaVantageKey: c.Env("ALPHA_VANTAGE_API_KEY"), FREDKey: c.Env("FRED_API_KEY"), OpenAlexKey: c.Env("OPENALEX_API_KEY")}
	engine := ""
	for _, g := range given {
		kind, value, _ := strings.Cut(g, "=")
		value = strings.TrimSpace(value)
		one := map[string]*string{"search": &engine, "edgar": &s.EDGARContact, "contact": &s.Contact}[kind]
		switch {
		case !slices.Contains(sourceKinds, kind):
			return s, fault.New("usage/argument", "there is no such source").At("--source").Got(g).Want("%s", suggest.Among(kind, sourceKinds))
		case value == "":
			return s, fault.New("usage/argument", "not KIND=VALUE").At("--source").Got(g).
				Want("as in web=example.com, search=http://127.0.0.1:8888, data=wikipedia or edgar=\"Sample Company admin@sample.com\"")
		case kind == "web":
			if err := fetch.CheckHost(value); err != nil {
				return s, fault.From(err).At("--source").Got(g)
			}
			s.WebHosts = append(s.WebHosts, value)
		case kind == "data" && !slices.Contains(host.OpenData, value):
			return s, fault.New("usage/argument", "there is no such data").At("--source").Got(g).Want("%s", suggest.Among(value, host.OpenData))
		case kind == "data":
			s.Data = append(s.Data, value)
		case kind == "contact" && strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
			return s, fault.New("usage/argument", "a contact has printable ASCII alone").At("--source").Got(g)
		case *one != "":
			return s, fault.New("usage/argument", "the source %s is given twice", kind).At("--source").Got(g)
		default:
			*one = value
		}
	}
	var err error
	s.Search, err = search.Choose(engine, c.Env)
	return s, err
}

// SearchIsNamed reports whether a search engine is named, or switched off, by a flag.
func SearchIsNamed(given []string) bool {
	return slices.ContainsFunc(given, func(g string) bool { return strings.HasPrefix(g, "search=") })
}

// SourcesText says in a line whom agents may ask, for somebody who begins work that may
// ask them; nothing where nobody may be asked.
func SourcesText(s host.Sources) []string {
	open, err := s.List()
	if err != nil || len(open) == 0 {
		return nil // the start says what is wrong
	}
	asks := make([]string, len(open))
	for i, o := range open {
		asks[i] = o.Tool + ": " + o.What
		if o.Note != "" {
			asks[i] += " (" + o.Note + "; --source search=off to do without)"
		}
	}
	return []string{"agents may ask " + strings.Join(asks, ", ")}
}
