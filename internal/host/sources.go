package host

import (
	"context"
	"strings"

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

	// Search is the engine that questions go to.
	Search search.Choice

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
	if out.Search, err = s.Search.Open("loom/"+Version, nil); err != nil {
		return nil, err
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

// Source is something that agents may ask, for people who look at a host.
type Source struct {
	// Tool asks it.
	Tool string
	// What it is, in words, and what there is to know of it; empty for nothing.
	What, Note string
	// Try asks it something small over the network; nil where there is nothing to try.
	Try func(context.Context) error
}

// List returns what is set up, in a fixed order, or what is wrong with a setting. It asks
// nobody.
func (s Sources) List() (list []Source, err error) {
	open, err := s.open()
	if err != nil {
		return nil, err
	}
	if e := open.Search; e != nil {
		list = append(list, Source{"web_search", e.Name(), e.Note(), func(ctx context.Context) error {
			_, err := e.Search(ctx, "weather", 1)
			return err
		}})
	}
	if len(s.WebHosts) > 0 {
		list = append(list, Source{Tool: "web_fetch", What: strings.Join(s.WebHosts, ", ")})
	}
	if c := open.EDGAR; c != nil {
		list = append(list, Source{Tool: "sec_edgar", What: "the SEC's archive", Try: func(ctx context.Context) error {
			_, err := c.Company(ctx, "AAPL")
			return err
		}})
	}
	if open.AlphaVantage != nil { // trying it would use up one of 25 requests a day
		list = append(list, Source{Tool: "alpha_vantage", What: "Alpha Vantage"})
	}
	return list, nil
}
