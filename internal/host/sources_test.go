package host

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/source/search"
	"github.com/loomrun/loom/internal/base/fault"
)

func TestTOOL07_SourcesAreChecked(t *testing.T) {
	none, err := Sources{}.open()
	if err != nil || none.Web != nil || none.Search != nil || none.EDGAR != nil || none.AlphaVantage != nil {
		t.Errorf("nothing is set: %+v %v", none, err)
	}
	all, err := Sources{
		WebHosts: []string{"*"}, Search: search.Choice{Kind: "http://127.0.0.1:8888"}, EDGARContact: "A B a@example.com", AlphaVantageKey: "DEMOKEY123456789",
	}.open()
	if err != nil || all.Web == nil || all.EDGAR == nil || all.AlphaVantage == nil || all.Search.Name() != "SearXNG at 127.0.0.1" {
		t.Errorf("all is set: %+v %v", all, err)
	}
	if brave, err := (Sources{Search: search.Choice{Kind: search.KindBrave, Key: "k"}}).open(); err != nil || brave.Search.Name() != "Brave" {
		t.Errorf("a key of Brave: %+v %v", brave, err)
	}
	for code, s := range map[string]Sources{
		"usage/argument":     {Search: search.Choice{Kind: "search"}},
		"source/credentials": {AlphaVantageKey: "secret&x"},
	} {
		if _, err := s.open(); fault.Code(err) != code || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v, want %s", s, err, code)
		}
	}
	if _, err := (Sources{EDGARContact: "me"}).open(); fault.Code(err) != "source/credentials" {
		t.Errorf("a contact: %v", err)
	}
}
