package opendata_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/source/opendata"
	"github.com/loomrun/loom/internal/agents/source/sourcetest"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
)

const key = "abcdefghijklmnopqrstuvwxyz012345"

// services are local servers that answer as the published references say.
func services(t *testing.T) opendata.Config {
	net := sourcetest.New(t)
	serve := func(host string, answer func(r *http.Request) string) {
		net.Serve(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("User-Agent") != "loom/test (ops@example.com)" {
				t.Errorf("%s was asked as %q", host, r.Header.Get("User-Agent"))
			}
			text := answer(r)
			if strings.Contains(text, `"error_code"`) {
				w.WriteHeader(http.StatusBadRequest)
			}
			fmt.Fprint(w, text)
		}))
	}
	serve("de.wikipedia.org", func(*http.Request) string {
		return `{"error":{"code":"maxlag","info":"Waiting for db1: 6 seconds lagged","lag":6},"servedby":"mw1"}`
	})
	serve("fr.wikipedia.org", func(*http.Request) string {
		return `{"error":{"code":"srsearch-error","info":"An error has occurred while searching"}}`
	})
	serve("en.wikipedia.org", func(r *http.Request) string {
		switch titles := r.URL.Query().Get("titles"); {
		case titles == "[x]" || titles == "\x1fA|B":
			return `{"query":{"pages":[{"title":"x","invalidreason":"The requested page title contains invalid characters.","invalid":true}]}}`
		case titles == "A|B":
			return `{"query":{"pages":[{"title":"A","extract":"A is a letter."},{"title":"B","extract":"B is a letter."}]}}`
		case titles == "Empty":
			return `{"query":{"pages":[{"pageid":2,"ns":0,"title":"Empty","extract":" "}]}}`
		case r.URL.Query().Get("list") == "search":
			return `{"batchcomplete":true,"query":{"searchinfo":{"totalhits":1},"search":[{"ns":0,"title":"Loom","pageid":1,"snippet":"A <span class=\"searchmatch\">loom</span> weaves","timestamp":"2024-01-02T03:04:05Z"}]}}`
		case r.URL.Query().Get("titles") == "Loom":
			return `{"query":{"pages":[{"pageid":1,"ns":0,"title":"Loom","extract":"A loom weaves.","fullurl":"https://en.wikipedia.org/wiki/Loom","revisions":[{"revid":42,"timestamp":"2024-01-02T03:04:05Z"}]}]}}`
		}
		return `{"query":{"pages":[{"title":"Nothing","missing":true}]}}`
	})
	serve("export.arxiv.org", func(r *http.Request) string {
		if strings.HasPrefix(r.URL.Query().Get("search_query"), "all:loom AND all:paper") {
			return `<feed xmlns="http://www.w3.org/2005/Atom"><title>ArXiv Query</title><entry><id>http://arxiv.org/abs/2101.1v1</id><published>2021-01-02T00:00:00Z</published><title>On
			looms</title><summary>They weave.</summary><author><name>A. Ann</name></author><author><name>B. Bob</name></author></entry></feed>`
		}
		return `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/api/errors#incorrect</id><title>Error</title><summary>incorrect id format</summary></entry></feed>`
	})
	serve("api.openalex.org", func(*http.Request) string {
		return `{"meta":{"count":1},"results":[{"id":"https://openalex.org/W1","doi":"https://doi.org/10.1/x","display_name":"On looms","publication_year":2020,"cited_by_count":7,"authorships":[{"author":{"display_name":"A. Ann"}}],"abstract_inverted_index":{"weave":[1],"They":[0]}}]}`
	})
	serve("api.stlouisfed.org", func(r *http.Request) string {
		q := r.URL.Query()
		switch {
		case q.Get("api_key") != key:
			return `{"error_code":400,"error_message":"Bad Request.  The value for variable api_key is not registered."}`
		case strings.HasSuffix(r.URL.Path, "/series/search"):
			return `{"count":40,"seriess":[{"id":"UNRATE","title":"Unemployment Rate","units":"Percent","frequency":"Monthly","observation_start":"1948-01-01","observation_end":"2024-01-01","last_updated":"2024-02-02 07:44:03-06"}]}`
		case q.Get("series_id") != "UNRATE":
			return `{"error_code":400,"error_message":"Bad Request.  The series does not exist."}`
		}
		return `{"count":900,"observations":[{"realtime_start":"2024-02-02","date":"2024-01-01","value":"3.7"},{"date":"2023-12-01","value":"."}]}`
	})
	serve("api.worldbank.org", func(r *http.Request) string {
		if !strings.HasPrefix(r.URL.Path, "/v2/country/DE;FR/indicator/SP.POP.TOTL") {
			return `[{"message":[{"id":"120","key":"Invalid value","value":"The provided parameter value is not valid"}]}]`
		}
		return `[{"page":1,"pages":1,"per_page":10,"total":22},[{"indicator":{"id":"SP.POP.TOTL","value":"Population, total"},"country":{"id":"DE","value":"Germany"},"countryiso3code":"DEU","date":"2020","value":83160871,"unit":""},
			{"indicator":{"id":"SP.POP.TOTL","value":"Population, total"},"country":{"id":"FR","value":"France"},"countryiso3code":"FRA","date":"2020","value":null}]]`
	})
	return opendata.Config{Agent: "loom/test (ops@example.com)", Key: key, Connect: net.Config}
}

func TestTOOL07_OpenData(t *testing.T) {
	longtest.Skip(t)
	c, ctx := services(t), t.Context()
	other := c
	other.Key = strings.Repeat("x", 32)
	fred, err := opendata.NewFRED(c)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := opendata.NewFRED(other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opendata.NewFRED(opendata.Config{Key: "secret"}); fault.Code(err) != "source/credentials" || strings.Contains(err.Error(), "secret") {
		t.Errorf("what is no key: %v", err)
	}
	asks := []struct {
		name string
		ask  func() (*opendata.Answer, error)
		want string // the answer, or the code
	}{
		{"search", func() (*opendata.Answer, error) { return opendata.NewWikipedia(c).Search(ctx, "en", "loom", 3) }, "articles of Wikipedia (en) [[Loom 2024-01-02T03:04:05Z A loom weaves]]"},
		{"article", func() (*opendata.Answer, error) { return opendata.NewWikipedia(c).Article(ctx, "en", "Loom") }, "Loom, https://en.wikipedia.org/wiki/Loom, revision 42 of 2024-01-02T03:04:05ZA loom weaves. []"},
		{"no article", func() (*opendata.Answer, error) { return opendata.NewWikipedia(c).Article(ctx, "en", "Nothing") }, "source/unknown"},
		{"invalid title", func() (*opendata.Answer, error) { return opendata.NewWikipedia(c).Article(ctx, "en", "[x]") }, "tool/arguments"},
		{"two titles", func() (*opendata.Answer, error) { return opendata.NewWikipedia(c).Article(ctx, "en", "A|B") }, "tool/arguments"},
		{"empty article", func() (*opendata.Answer, error) { return opendata.NewWikipedia(c).Article(ctx, "en", "Empty") }, "source/unknown"},
		{"article refused", func() (*opendata.Answer, error) { return opendata.NewWikipedia(c).Article(ctx, "de", "Loom") }, "source/rate"},
		{"search refused", func() (*opendata.Answer, error) { return opendata.NewWikipedia(c).Search(ctx, "de", "loom", 3) }, "source/rate"},
		{"search failed", func() (*opendata.Answer, error) { return opendata.NewWikipedia(c).Search(ctx, "fr", "loom", 3) }, "source/refused"},
		{"language", func() (*opendata.Answer, error) { return opendata.NewWikipedia(c).Article(ctx, "evil.test/", "Loom") }, "tool/arguments"},
		{"papers", func() (*opendata.Answer, error) { return opendata.NewArXiv(c).Search(ctx, "loom paper", 3) }, "papers of arXiv [[http://arxiv.org/abs/2101.1v1 2021-01-02T00:00:00Z On looms A. Ann; B. Bob They weave.]]"},
		{"papers refused", func() (*opendata.Answer, error) { return opendata.NewArXiv(c).Search(ctx, "id:x", 3) }, "tool/arguments"},
		{"works", func() (*opendata.Answer, error) { return opendata.NewOpenAlex(c).Search(ctx, "loom", 3) }, "works of OpenAlex [[https://openalex.org/W1 https://doi.org/10.1/x 2020 7 On looms A. Ann They weave]]"},
		{"series", func() (*opendata.Answer, error) { return fred.Search(ctx, "unemployment", 3) }, "series of FRED [[UNRATE Unemployment Rate Percent Monthly 1948-01-01 2024-01-01 2024-02-02 07:44:03-06]] of 40"},
		{"values", func() (*opendata.Answer, error) { return fred.Observations(ctx, "UNRATE", "2023-12-01", 3) }, "FRED, series UNRATE [[2024-01-01 3.7] [2023-12-01 .]] of 900"},
		{"no series", func() (*opendata.Answer, error) { return fred.Observations(ctx, "NONE", "", 3) }, "source/unknown"},
		{"no day", func() (*opendata.Answer, error) { return fred.Observations(ctx, "UNRATE", "May", 3) }, "tool/arguments"},
		{"key", func() (*opendata.Answer, error) { return wrong.Search(ctx, "x", 3) }, "source/credentials"},
		{"indicator", func() (*opendata.Answer, error) {
			return opendata.NewWorldBank(c).Indicator(ctx, "DE;FR", "SP.POP.TOTL", "2020", 10)
		}, "World Bank, SP.POP.TOTL: Population, total [[Germany DEU 2020 83160871] [France FRA 2020 ]] of 22"},
		{"no indicator", func() (*opendata.Answer, error) {
			return opendata.NewWorldBank(c).Indicator(ctx, "DE", "NO.NO", "", 10)
		}, "source/unknown"},
		{"path", func() (*opendata.Answer, error) {
			return opendata.NewWorldBank(c).Indicator(ctx, "../x", "NO.NO", "", 10)
		}, "tool/arguments"},
	}
	for _, tt := range asks {
		a, err := tt.ask()
		got := fault.Code(err)
		if err == nil {
			got = a.Title + a.Text + " " + fmt.Sprint(a.Rows)
			if a.Total > 0 {
				got += fmt.Sprint(" of ", a.Total)
			}
		}
		if got != tt.want || err != nil && strings.Contains(err.Error(), other.Key) {
			t.Errorf("%s: %s (%v), want %s", tt.name, got, err, tt.want)
		}
	}
}

// What is asked of arXiv, where each refusal is by the code.
func TestTOOL07_QueriesOfArXiv(t *testing.T) {
	for question, want := range map[string]string{
		"loom paper":                         "all:loom AND all:paper",
		`"graph neural networks"`:            `all:"graph neural networks"`,
		`deep "graph neural networks" graph`: `all:deep AND all:"graph neural networks" AND all:graph`,
		"a OR b":                             "all:a OR all:b",
		"a b ANDNOT c":                       "all:a AND all:b ANDNOT all:c",
		"AND a and b OR":                     "all:a AND all:and AND all:b",
		`"a OR b"`:                           `all:"a OR b"`,
		"Paxos: a survey – revisited":        "all:Paxos AND all:a AND all:survey AND all:revisited",
		"ID:x":                               "all:ID AND all:x",
		`about "au:x"`:                       `all:about AND all:"au:x"`,
		"f(x)":                               "all:f AND all:x",
		"au:lamport AND cat:cs.DC":           "au:lamport AND cat:cs.DC",
		`(ti:"a b" OR abs:c)`:                `(ti:"a b" OR abs:c)`,
		"(a OR b) c":                         "tool/arguments",
		`: ""`:                               "tool/arguments",
	} {
		got, err := opendata.ArXivQuery(question)
		if err != nil {
			got = fault.Code(err)
		}
		if got != want {
			t.Errorf("%s is asked as %s (%v), want %s", question, got, err, want)
		}
	}
}
