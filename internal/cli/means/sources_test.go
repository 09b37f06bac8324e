package means

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
)

func TestTOOL07_SourcesOfAHost(t *testing.T) {
	t.Setenv("ALPHA_VANTAGE_API_KEY", "DEMOKEY123456789")
	s, err := Sources(&console.Console{}, []string{"web=example.com", "web=*.example.org", "web=93.184.215.14", "web=*", "search=http://127.0.0.1:8888", "data=wikipedia", "edgar=Sample Company admin@sample.com"})
	if err != nil || strings.Join(s.WebHosts, " ") != "example.com *.example.org 93.184.215.14 *" || s.Search.Kind != "http://127.0.0.1:8888" || s.EDGARContact == "" || s.AlphaVantageKey == "" || s.Data[0] != "wikipedia" {
		t.Errorf("%+v %v", s, err)
	}
	for given, want := range map[string]string{
		"wbe=x":                        `--source: there is no such source (got "wbe=x"); `,
		"web=":                         `--source: not KIND=VALUE (got "web=")`,
		"web=127.0.0.1:8080":           `--source: a host is named without a port (got "web=127.0.0.1:8080"); a name of the public Internet, which is asked on the ports 80 and 443`,
		"web=127.0.0.1":                `--source: an address of a private network or of this machine is never asked`,
		"web=192.168.1.7":              `--source: an address of a private network or of this machine is never asked`,
		"web=[::1]":                    `--source: an address of a private network or of this machine is never asked`,
		"web=[2606:4700::1111]":        `--source: an address stands by itself, as 2606:4700::1111`,
		"web=localhost":                `--source: this machine is never asked`,
		"web=example.com:8443":         `--source: a host is named without a port`,
		"web=https://example.com/docs": `--source: a host is named, and no address of a page`,
		"web=docs.*.example.com":       `--source: this is no name of a host`,
		"data=wikipeda":                `--source: there is no such data (got "data=wikipeda"); did you mean "wikipedia"?`,
		"search=brave":                 `--source: the search engine brave wants a key, and BRAVE_API_KEY is not set (got "search=brave")`,
		"search=gogle":                 `--source: there is no such search engine (got "search=gogle"); the address of a SearXNG server, duckduckgo, `,
	} {
		if _, err := Sources(&console.Console{}, []string{given}); fault.Code(err) != "usage/argument" || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", given, err)
		}
	}
	if _, err := Sources(&console.Console{}, []string{"search=off", "search=duckduckgo"}); err == nil || !strings.Contains(err.Error(), "the source search is given twice") {
		t.Errorf("two engines: %v", err)
	}
}

// Without a word of the operator's the engine is that of a key, else DuckDuckGo; a word
// of his goes over any key.
func TestTOOL07_WhichEngineIsAsked(t *testing.T) {
	for _, tt := range []struct {
		brave, kagi string
		given       []string
		want        string
	}{
		{"", "", nil, "duckduckgo"},
		{"", "k", nil, "kagi"},
		{"b", "k", nil, "brave"},
		{"b", "k", []string{"search=kagi"}, "kagi"},
		{"b", "", []string{"search=duckduckgo"}, "duckduckgo"},
		{"b", "k", []string{"search=off"}, ""},
		{"b", "k", []string{"search=http://searx.local:8080"}, "http://searx.local:8080"},
	} {
		t.Setenv("BRAVE_API_KEY", tt.brave)
		t.Setenv("KAGI_API_KEY", tt.kagi)
		s, err := Sources(&console.Console{}, tt.given)
		if err != nil || s.Search.Kind != tt.want || Openings(s, false).Web != (tt.want != "") {
			t.Errorf("%+v: %+v %v", tt, s.Search, err)
		}
	}
}
