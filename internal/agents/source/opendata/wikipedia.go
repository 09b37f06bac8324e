package opendata

import (
	"context"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// Wikipedia asks the API of MediaWiki, in any language that there is.
type Wikipedia struct{ service }

// NewWikipedia returns a client, of one request a second.
func NewWikipedia(c Config) *Wikipedia {
	return &Wikipedia{c.open("Wikipedia", time.Second, nil, "*.wikipedia.org")}
}

var language = regexp.MustCompile(`^[a-z]{2,3}(-[a-z]{2,10})?$`)

func (w *Wikipedia) address(lang string, q url.Values) (string, error) {
	if !language.MatchString(lang) {
		return "", unfit("language", lang, "such as en, de or pt")
	}
	q.Set("action", "query")
	q.Set("format", "json")
	q.Set("formatversion", "2")
	return "https://" + lang + ".wikipedia.org/w/api.php?" + q.Encode(), nil
}

// Search returns titles of articles, and where the words stand.
func (w *Wikipedia) Search(ctx context.Context, lang, question string, most int) (*Answer, error) {
	address, err := w.address(lang, url.Values{"list": {"search"}, "srsearch": {question}, "srlimit": {strconv.Itoa(most)}})
	if err != nil {
		return nil, err
	}
	var got struct {
		Query struct {
			Search []struct {
				Title   string `json:"title"`
				Snippet string `json:"snippet"`
				Time    string `json:"timestamp"`
			} `json:"search"`
		} `json:"query"`
	}
	if err := w.get(ctx, address, &got); err != nil {
		return nil, err
	}
	a := &Answer{Title: "articles of Wikipedia (" + lang + ")", Columns: []string{"title", "changed", "snippet"}}
	for _, s := range got.Query.Search {
		a.Rows = append(a.Rows, []string{words(s.Title, 300), s.Time, words(tag.ReplaceAllString(s.Snippet, ""), 400)})
	}
	return a, nil
}

// Article returns the words of an article, with the revision that they are of.
func (w *Wikipedia) Article(ctx context.Context, lang, title string) (*Answer, error) {
	address, err := w.address(lang, url.Values{
		"prop": {"extracts|info|revisions"}, "explaintext": {"1"}, "inprop": {"url"}, "rvprop": {"ids|timestamp"}, "redirects": {"1"}, "titles": {title},
	})
	if err != nil {
		return nil, err
	}
	var got struct {
		Query struct {
			Pages []struct {
				Title     string `json:"title"`
				Missing   bool   `json:"missing"`
				Extract   string `json:"extract"`
				URL       string `json:"fullurl"`
				Revisions []struct {
					ID   int64  `json:"revid"`
					Time string `json:"timestamp"`
				} `json:"revisions"`
			} `json:"pages"`
		} `json:"query"`
	}
	if err := w.get(ctx, address, &got); err != nil {
		return nil, err
	}
	if len(got.Query.Pages) == 0 || got.Query.Pages[0].Missing {
		return nil, fault.New("source/unknown", "Wikipedia (%s) has no such article", lang).At("title").Got(title).Want("search for it")
	}
	p := got.Query.Pages[0]
	a := &Answer{Title: words(p.Title, 300) + ", " + words(p.URL, 2000), Text: p.Extract}
	if len(p.Revisions) > 0 {
		a.Title += ", revision " + strconv.FormatInt(p.Revisions[0].ID, 10) + " of " + words(p.Revisions[0].Time, 40)
	}
	return a, nil
}
