package means

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host"
)

func TestTOOL07_SourcesOfAHost(t *testing.T) {
	t.Setenv("ALPHA_VANTAGE_API_KEY", "DEMOKEY123456789")
	var c host.Config
	err := FillSources(&console.Console{}, &c, []string{"web=example.com", "web=*.example.org", "search=http://127.0.0.1:8888", "edgar=Sample Company admin@sample.com"})
	s := c.Sources
	if err != nil || strings.Join(s.WebHosts, " ") != "example.com *.example.org" || s.SearchURL == "" || s.EDGARContact == "" || s.AlphaVantageKey == "" {
		t.Errorf("%+v %v", s, err)
	}
	for given, want := range map[string]string{
		"wbe=x":      `--source: there is no such source (got "wbe=x"); `,
		"web=":       `--source: not KIND=VALUE (got "web=")`,
		"search=a b": `--source: the source search is given twice`,
	} {
		if err := FillSources(&console.Console{}, &c, []string{given}); fault.Code(err) != "usage/argument" || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", given, err)
		}
	}
}
