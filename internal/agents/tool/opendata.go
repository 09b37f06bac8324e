package tool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/agents/source/feed"
	"github.com/loomrun/loom/internal/agents/source/opendata"
	"github.com/loomrun/loom/internal/craft/sheet"
)

var webFeed = asking(
	source{"name each host that may be asked with --source web=HOST", func(s Sources) bool { return s.Web != nil }},
	Spec{
		Name:        "web_feed",
		Class:       reads,
		Description: "Read a feed of news, RSS or Atom: newest entries with title, address, time, summary. Only hosts that the operator allows.",
		Schema: schema(`"url"`, `
			"url": {"type": "string", "minLength": 1, "maxLength": 4096},
			"limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "default 20"}`),
	}, with(readFeed))

type feedArguments struct {
	URL   string `json:"url"`
	Limit int    `json:"limit"`
}

func readFeed(ctx context.Context, j job, a feedArguments) (Result, error) {
	page, err := j.sources().Web.Get(ctx, a.URL)
	if err != nil {
		return Result{}, answered(ctx, err)
	}
	f, err := feed.Read(page.Body)
	if err != nil {
		return Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%saddress: %s\ntitle: %s\n", asked, page.URL, f.Title)
	for i, e := range f.Entries[:min(len(f.Entries), cmp.Or(a.Limit, 20))] {
		fmt.Fprintf(&b, "%d. %s\n   %s\n   %s\n", i+1, e.Title, e.Link, e.Published)
		if e.Summary != "" {
			b.WriteString("   " + e.Summary + "\n")
		}
	}
	return done(b.String(), "%s: %d entries", page.URL.Host, len(f.Entries)), nil
}

// data makes a tool out of a service with open data.
func data(name, setUp, description, required, properties string, is func(Sources) bool, ask func(context.Context, Sources, dataArguments) (*opendata.Answer, error)) *tool {
	return asking(source{setUp, is}, Spec{Name: name, Class: reads, Description: description, Schema: schema(required, properties)},
		with(func(ctx context.Context, j job, a dataArguments) (Result, error) {
			a.Limit = cmp.Or(a.Limit, 10)
			answer, err := ask(ctx, j.sources(), a)
			if err != nil {
				return Result{}, answered(ctx, err)
			}
			return given(name, answer)
		}))
}

// dataArguments are those of all services; a tool's schema lets through its own.
type dataArguments struct {
	Action    string `json:"action"`
	Query     string `json:"query"`
	Title     string `json:"title"`
	Language  string `json:"language"`
	Series    string `json:"series"`
	From      string `json:"from"`
	Country   string `json:"country"`
	Indicator string `json:"indicator"`
	Years     string `json:"years"`
	Limit     int    `json:"limit"`
}

// given is what a service gave, for the model.
func given(name string, a *opendata.Answer) (Result, error) {
	out := asked + a.Title + "\n"
	if a.Text != "" {
		return done(out+"\n"+a.Text+"\n", "%s: %d characters", name, len([]rune(a.Text))), nil
	}
	t, err := sheet.New(a.Columns)
	if err != nil {
		return Result{}, err
	}
	number := slices.Index(a.Columns, "value")
	for _, r := range a.Rows {
		row := texts(r...)
		if number >= 0 {
			row[number] = sheet.Parse(r[number])
		}
		if err := t.Add(row); err != nil {
			return Result{}, err
		}
	}
	out += asCSV(&t)
	switch {
	case a.Total <= len(a.Rows):
	case len(t.Rows) < len(a.Rows): // as asCSV has said
		out += fmt.Sprintf("[the service has %d rows]\n", a.Total)
	default:
		out += fmt.Sprintf("[%d of %d rows; raise limit or ask for less]\n", len(a.Rows), a.Total)
	}
	return done(out, "%s: %d of %d rows", name, len(t.Rows), max(a.Total, len(a.Rows))), nil
}

const (
	oneQuestion = `"query": {"type": "string", "minLength": 1, "maxLength": 400}`
	howMany     = `"limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "default 10"}`
)

var wikipedia = data("wikipedia", "allow it with --source data=wikipedia",
	"Ask Wikipedia: search (articles that fit a query), article (its words, with the revision; cite that).",
	`"action"`, `"action": {"enum": ["search", "article"]}, "query": {"type": "string", "maxLength": 300},
		"title": {"type": "string", "maxLength": 300}, "language": {"type": "string", "maxLength": 12, "description": "default en"}, `+howMany,
	func(s Sources) bool { return s.Wikipedia != nil },
	func(ctx context.Context, s Sources, a dataArguments) (*opendata.Answer, error) {
		lang := cmp.Or(a.Language, "en")
		switch {
		case a.Action == "search" && a.Query != "":
			return s.Wikipedia.Search(ctx, lang, a.Query, a.Limit)
		case a.Action == "article" && a.Title != "":
			return s.Wikipedia.Article(ctx, lang, a.Title)
		}
		return nil, unfit("action", "search needs a query, article a title")
	})

var arxiv = data("arxiv", "allow it with --source data=arxiv",
	"Ask arXiv for papers, by words or in its own form (au:lamport AND cat:cs.DC): id, time, title, authors, abstract.",
	`"query"`, oneQuestion+", "+howMany,
	func(s Sources) bool { return s.ArXiv != nil },
	func(ctx context.Context, s Sources, a dataArguments) (*opendata.Answer, error) {
		return s.ArXiv.Search(ctx, a.Query, a.Limit)
	})

var openAlex = data("openalex", "allow it with --source data=openalex (OPENALEX_API_KEY for more than a little)",
	"Ask OpenAlex for works of science, by words: DOI, year, how often cited, title, authors, abstract.",
	`"query"`, oneQuestion+", "+howMany,
	func(s Sources) bool { return s.OpenAlex != nil },
	func(ctx context.Context, s Sources, a dataArguments) (*opendata.Answer, error) {
		return s.OpenAlex.Search(ctx, a.Query, a.Limit)
	})

var fred = data("fred", "give a key in FRED_API_KEY",
	"Ask FRED for economic data: search (series by words), observations (values of a series, newest first, from a day on).",
	`"action"`, `"action": {"enum": ["search", "observations"]}, "query": {"type": "string", "maxLength": 300},
		"series": {"type": "string", "maxLength": 50, "description": "as UNRATE"}, "from": {"type": "string", "maxLength": 10, "description": "YYYY-MM-DD"},
		"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "default 10"}`,
	func(s Sources) bool { return s.FRED != nil },
	func(ctx context.Context, s Sources, a dataArguments) (*opendata.Answer, error) {
		switch {
		case a.Action == "search" && a.Query != "":
			return s.FRED.Search(ctx, a.Query, a.Limit)
		case a.Action == "observations" && a.Series != "":
			return s.FRED.Observations(ctx, a.Series, a.From, a.Limit)
		}
		return nil, unfit("action", "search needs a query, observations a series")
	})

var worldBank = data("world_bank", "allow it with --source data=worldbank",
	"Ask the World Bank for an indicator (NY.GDP.MKTP.CD, SP.POP.TOTL) of countries (DE, DE;FR, all) and years.",
	`"country","indicator"`, `"country": {"type": "string", "minLength": 2, "maxLength": 130}, "indicator": {"type": "string", "minLength": 3, "maxLength": 60},
		"years": {"type": "string", "maxLength": 9, "description": "2020 or 2010:2020"},
		"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "default 10"}`,
	func(s Sources) bool { return s.WorldBank != nil },
	func(ctx context.Context, s Sources, a dataArguments) (*opendata.Answer, error) {
		return s.WorldBank.Indicator(ctx, a.Country, a.Indicator, a.Years, a.Limit)
	})
