package opendata

import (
	"cmp"
	"context"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/agents/source/feed"
	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/base/fault"
)

const maxAbstract = 1500 // characters

// ArXiv asks the API of arXiv.
type ArXiv struct{ service }

// NewArXiv returns a client, of one request in three seconds, as arXiv asks for.
func NewArXiv(c Config) *ArXiv {
	return &ArXiv{c.open("arXiv", 3*time.Second, nil, "export.arxiv.org")}
}

var (
	quoted    = regexp.MustCompile(`"[^"]*"`)
	native    = regexp.MustCompile(`(^|[\s(])(ti|au|abs|co|jr|cat|rn|id|all):\S`)
	arXivTerm = regexp.MustCompile(`"[^"]*[\pL\pN][^"]*"|[^\s":()]*[\pL\pN][^\s":()]*`)
)

// arXivQuery is a question in arXiv's own form. One that names a field of arXiv outside of
// quotes has that already; of another one, each word or quoted phrase is looked for in all
// fields, and what stands between two of them is AND unless it is OR or ANDNOT.
func arXivQuery(question string) (string, error) {
	if native.MatchString(quoted.ReplaceAllString(question, `"`)) {
		return question, nil
	}
	var b strings.Builder
	between, operators := "", false
	for _, t := range arXivTerm.FindAllString(question, -1) {
		switch t {
		case "AND", "OR", "ANDNOT":
			between, operators = t, true
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" " + cmp.Or(between, "AND") + " ")
		}
		b.WriteString("all:" + t)
		between = ""
	}
	switch {
	case b.Len() == 0:
		return "", unfit("query", question, "words to look for")
	case operators && strings.ContainsAny(quoted.ReplaceAllString(question, ""), "()"):
		return "", unfit("query", question, "groups in arXiv's own form, such as all:a AND (all:b OR all:c)")
	}
	return b.String(), nil
}

// Search returns papers: the best for some words, quoted phrases, and AND, OR and ANDNOT
// between them, or for a query in arXiv's own form ("au:lamport AND cat:cs.DC").
func (x *ArXiv) Search(ctx context.Context, question string, most int) (*Answer, error) {
	query, err := arXivQuery(question)
	if err != nil {
		return nil, err
	}
	q := url.Values{"search_query": {query}, "start": {"0"}, "max_results": {strconv.Itoa(most)}}
	page, err := x.client.Get(ctx, "https://export.arxiv.org/api/query?"+q.Encode())
	if err != nil {
		return nil, fetch.Explain(err)
	}
	f, err := feed.Read(page.Body)
	if err != nil {
		return nil, fault.New("source/refused", "the answer of arXiv is not what is known of it")
	}
	a := &Answer{Title: "papers of arXiv", Columns: []string{"id", "published", "title", "authors", "abstract"}}
	for _, e := range f.Entries {
		if strings.Contains(e.ID, "arxiv.org/api/errors") {
			return nil, unfit("query", question, e.Summary)
		}
		a.Rows = append(a.Rows, []string{cmp.Or(e.ID, e.Link), e.Published, e.Title, strings.Join(e.Authors, "; "), words(e.Summary, maxAbstract)})
	}
	return a, nil
}

// OpenAlex asks the catalogue of that name for works.
type OpenAlex struct {
	service
	key string
}

// NewOpenAlex returns a client, of two requests a second. Without a key the service
// answers a little each day.
func NewOpenAlex(c Config) *OpenAlex {
	return &OpenAlex{c.open("OpenAlex", 500*time.Millisecond, []string{"api_key"}, "api.openalex.org"), c.Key}
}

// Search returns works that fit some words, the best first.
func (o *OpenAlex) Search(ctx context.Context, question string, most int) (*Answer, error) {
	q := url.Values{
		"search": {question}, "per_page": {strconv.Itoa(most)},
		"select": {"id,doi,display_name,publication_year,cited_by_count,authorships,abstract_inverted_index"},
	}
	if o.key != "" {
		q.Set("api_key", o.key)
	}
	var got struct {
		Results []work `json:"results"`
	}
	if err := o.get(ctx, "https://api.openalex.org/works?"+q.Encode(), &got); err != nil {
		return nil, err
	}
	a := &Answer{Title: "works of OpenAlex", Columns: []string{"id", "doi", "year", "cited", "title", "authors", "abstract"}}
	for _, w := range got.Results {
		var names []string
		for _, s := range w.Authorships[:min(len(w.Authorships), 10)] {
			names = append(names, words(s.Author.Name, 100))
		}
		a.Rows = append(a.Rows, []string{w.ID, w.DOI, strconv.Itoa(w.Year), strconv.Itoa(w.Cited), words(w.Name, 300), strings.Join(names, "; "), words(w.abstract(), maxAbstract)})
	}
	return a, nil
}

type work struct {
	ID          string `json:"id"`
	DOI         string `json:"doi"`
	Name        string `json:"display_name"`
	Year        int    `json:"publication_year"`
	Cited       int    `json:"cited_by_count"`
	Authorships []struct {
		Author struct {
			Name string `json:"display_name"`
		} `json:"author"`
	} `json:"authorships"`
	Abstract map[string][]int `json:"abstract_inverted_index"`
}

// abstract puts the words of an abstract in their order.
func (w *work) abstract() string {
	type placed struct {
		at   int
		word string
	}
	var all []placed
	for word, places := range w.Abstract {
		for _, at := range places {
			all = append(all, placed{at, word})
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Or(a.at-b.at, strings.Compare(a.word, b.word)) })
	list := make([]string, len(all))
	for i, p := range all {
		list[i] = p.word
	}
	return strings.Join(list, " ")
}
