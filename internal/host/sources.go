package host

import (
	"context"
	"strings"

	"github.com/loomrun/loom/internal/agents/source/alphavantage"
	"github.com/loomrun/loom/internal/agents/source/edgar"
	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/agents/source/opendata"
	"github.com/loomrun/loom/internal/agents/source/search"
	"github.com/loomrun/loom/internal/agents/tool"
)

// OpenData are the services whose data anybody may ask for.
var OpenData = []string{"arxiv", "openalex", "wikipedia", "worldbank"}

// Sources says what agents may ask outside of their workspaces, if their role
// has the tool. The zero value asks nobody.
type Sources struct {
	// WebHosts are the hosts that pages may be fetched from: "example.com",
	// "*.example.com", or "*" for any public one.
	WebHosts []string

	// Search is the engine that questions go to.
	Search search.Choice

	// Data are services that need no key, of OpenData.
	Data []string

	// Contact is an address of mail, or words with one, by which such a service can
	// reach who runs the host. Empty tells it nothing.
	Contact string

	// FREDKey and OpenAlexKey are the keys of these services; OpenAlex answers a little
	// without.
	FREDKey, OpenAlexKey string

	// EDGARContact is the name and address of mail that the SEC asks for.
	EDGARContact string

	// AlphaVantageKey is the key of that service.
	AlphaVantageKey string
}

// maxPage is how much of a page is taken, in bytes: reports come as pdf.
const maxPage = 8 << 20

// open makes the clients, or says what is wrong with a setting. It asks nobody.
func (s Sources) open() (*tool.Sources, error) {
	var out tool.Sources
	var err error
	if len(s.WebHosts) > 0 {
		out.Web = fetch.New(fetch.Config{Hosts: s.WebHosts, Agent: "loom/" + Version, Most: maxPage})
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
	return &out, s.openData(&out)
}

// openData makes the clients of services with open data.
func (s Sources) openData(out *tool.Sources) (err error) {
	c := opendata.Config{Agent: "loom/" + Version}
	if s.Contact != "" {
		c.Agent += " (" + s.Contact + ")"
	}
	for _, name := range s.Data {
		switch name {
		case "arxiv":
			out.ArXiv = opendata.NewArXiv(c)
		case "openalex":
			c := c
			c.Key = s.OpenAlexKey
			out.OpenAlex = opendata.NewOpenAlex(c)
		case "wikipedia":
			out.Wikipedia = opendata.NewWikipedia(c)
		case "worldbank":
			out.WorldBank = opendata.NewWorldBank(c)
		}
	}
	if s.FREDKey != "" {
		c.Key = s.FREDKey
		out.FRED, err = opendata.NewFRED(c)
	}
	return err
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
	return append(list, s.listData(open)...), nil
}

// listData are the services with open data.
func (s Sources) listData(open *tool.Sources) (list []Source) {
	add := func(set bool, name, what string, try func(context.Context) error) {
		if set {
			list = append(list, Source{Tool: name, What: what, Try: try})
		}
	}
	add(open.Wikipedia != nil, "wikipedia", "Wikipedia", func(ctx context.Context) error {
		_, err := open.Wikipedia.Search(ctx, "en", "weather", 1)
		return err
	})
	add(open.ArXiv != nil, "arxiv", "arXiv", func(ctx context.Context) error {
		_, err := open.ArXiv.Search(ctx, "weather", 1)
		return err
	})
	add(open.OpenAlex != nil, "openalex", "OpenAlex", func(ctx context.Context) error {
		_, err := open.OpenAlex.Search(ctx, "weather", 1)
		return err
	})
	add(open.FRED != nil, "fred", "FRED", func(ctx context.Context) error {
		_, err := open.FRED.Observations(ctx, "UNRATE", "", 1)
		return err
	})
	add(open.WorldBank != nil, "world_bank", "the World Bank", func(ctx context.Context) error {
		_, err := open.WorldBank.Indicator(ctx, "DE", "SP.POP.TOTL", "2020", 1)
		return err
	})
	return list
}
