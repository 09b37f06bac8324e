package host

import (
	"github.com/loomrun/loom/internal/agents/source/alphavantage"
	"github.com/loomrun/loom/internal/agents/source/edgar"
	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/agents/source/search"
	"github.com/loomrun/loom/internal/agents/tool"
)

// Sources says what agents may ask outside of their workspaces, if their role
// has the tool. The zero value asks nobody.
type Sources struct {
	// WebHosts are the hosts that pages may be fetched from: "example.com",
	// "*.example.com", or "*" for any public one.
	WebHosts []string

	// SearchURL is a SearXNG server. Empty means none, or Brave's service if
	// there is a BraveKey.
	SearchURL, BraveKey string

	// EDGARContact is the name and address of mail that the SEC asks for.
	EDGARContact string

	// AlphaVantageKey is the key of that service.
	AlphaVantageKey string
}

// open makes the clients, or says what is wrong with a setting. It asks nobody.
func (s Sources) open() (*tool.Sources, error) {
	var out tool.Sources
	var err error
	if len(s.WebHosts) > 0 {
		out.Web = fetch.New(fetch.Config{Hosts: s.WebHosts, Agent: "loom/" + Version})
	}
	switch {
	case s.SearchURL != "":
		if out.Search, err = search.SearXNG(s.SearchURL, nil); err != nil {
			return nil, err
		}
	case s.BraveKey != "":
		out.Search = search.Brave(s.BraveKey, nil)
	}
	if s.EDGARContact != "" {
		if out.EDGAR, err = edgar.New(s.EDGARContact, nil); err != nil {
			return nil, err
		}
	}
	if s.AlphaVantageKey != "" {
		if out.AlphaVantage, err = alphavantage.New(alphavantage.Config{Key: s.AlphaVantageKey}); err != nil {
			return nil, err
		}
	}
	return &out, nil
}
