package search

import (
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// Kinds of engines, as they are named in a configuration. An address of http or https
// is one of a SearXNG server.
const (
	Off             = "off"
	KindBrave       = "brave"
	KindKagi        = "kagi"
	KindDuckDuckGo  = "duckduckgo"
	braveVariable   = "BRAVE_API_KEY"
	kagiVariable    = "KAGI_API_KEY"
	wantedOfChoices = "the address of a SearXNG server, duckduckgo, brave (with BRAVE_API_KEY), kagi (with KAGI_API_KEY) or off"
)

// Choice is the engine that is asked; the zero value asks none.
type Choice struct {
	// Kind is one of the kinds, or the address of a SearXNG server.
	Kind string
	// Key is that of Brave or Kagi.
	Key string
}

// Choose returns the engine that the operator named, by its kind or address; if he named
// none, the one that there is a key of, Brave before Kagi, and else DuckDuckGo. Keys are
// variables. It returns usage/argument for what names no engine, and for one without the
// key that it needs.
func Choose(named string, variable func(string) string) (Choice, error) {
	variables := map[string]string{KindBrave: braveVariable, KindKagi: kagiVariable}
	switch named {
	case Off:
		return Choice{}, nil
	case KindDuckDuckGo:
		return Choice{Kind: named}, nil
	case KindBrave, KindKagi:
		key := variable(variables[named])
		if key == "" {
			return Choice{}, fault.New("usage/argument", "the search engine %s wants a key, and %s is not set", named, variables[named]).At("--source").Got("search=" + named)
		}
		return Choice{named, key}, nil
	case "":
		for _, kind := range []string{KindBrave, KindKagi} {
			if key := variable(variables[kind]); key != "" {
				return Choice{kind, key}, nil
			}
		}
		return Choice{Kind: KindDuckDuckGo}, nil
	}
	if !strings.Contains(named, ":") {
		return Choice{}, fault.New("usage/argument", "there is no such search engine").At("--source").Got("search="+named).Want("%s", wantedOfChoices)
	}
	return Choice{Kind: named}, nil
}

// Open returns the engine, nil for none. It asks nobody.
func (c Choice) Open(agent string, connect Connect) (*Engine, error) {
	switch c.Kind {
	case "":
		return nil, nil
	case KindBrave:
		return Brave(c.Key, connect), nil
	case KindKagi:
		return Kagi(c.Key, connect), nil
	case KindDuckDuckGo:
		return DuckDuckGo(agent, connect), nil
	}
	return SearXNG(c.Kind, connect)
}
