package opendata

import (
	"context"
	"net/url"
	"regexp"
	"strconv"
	"strings"
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

// mediaWiki is what the API answers with status 200 when it refuses.
type mediaWiki struct {
	Error *struct {
		Code string `json:"code"`
		Info string `json:"info"`
	} `json:"error"`
}

func (m mediaWiki) refusal() error {
	switch {
	case m.Error == nil:
		return nil
	case m.Error.Code == "maxlag" || m.Error.Code == "ratelimited":
		return fault.New("source/rate", "Wikipedia takes no more requests now: %s", words(m.Error.Info, 200))
	}
	return fault.New("source/refused", "Wikipedia refuses the request: %s: %s", words(m.Error.Code, 60), words(m.Error.Info, 200))
}

// Search returns titles of articles, and where the words stand.
func (w *Wikipedia) Search(ctx context.Context, lang, question string, most int) (*Answer, error) {
	address, err := w.address(lang, url.Values{"list": {"search"}, "srsearch": {question}, "srlimit": {strconv.Itoa(most)}})
	if err != nil {
		return nil, err
	}
	var got struct {
		mediaWiki
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
	if err := got.refusal(); err != nil {
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
	one := title
	if strings.Contains(title, "|") { // which would be between two titles
		one = "\x1f" + strings.ReplaceAll(title, "\x1f", " ")
	}
	address, err := w.address(lang, url.Values{
		"prop": {"extracts|info|revisions"}, "explaintext": {"1"}, "inprop": {"url"}, "rvprop": {"ids|timestamp"}, "redirects": {"1"}, "titles": {one},
	})
	if err != nil {
		return nil, err
	}
	var got struct {
		mediaWiki
		Query struct {
			Pages []struct {
				Title     string `json:"title"`
				Missing   bool   `json:"missing"`
				Invalid   bool   `json:"invalid"`
				Reason    string `json:"invalidreason"`
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
	if err := got.refusal(); err != nil {
		return nil, err
	}
	if len(got.Query.Pages) == 0 || got.Query.Pages[0].Missing {
		return nil, fault.New("source/unknown", "Wikipedia (%s) has no such article", lang).At("title").Got(title).Want("search for it")
	}
	p := got.Query.Pages[0]
	switch {
	case p.Invalid:
		return nil, unfit("title", title, "a title that an article can have: "+words(p.Reason, 200))
	case strings.TrimSpace(p.Extract) == "":
		return nil, fault.New("source/unknown", "the page of Wikipedia (%s) has no text", lang).At("title").Got(title).Want("search for an article")
	}
	a := &Answer{Title: words(p.Title, 300) + ", " + words(p.URL, 2000), Text: p.Extract}
	if len(p.Revisions) > 0 {
		a.Title += ", revision " + strconv.FormatInt(p.Revisions[0].ID, 10) + " of " + words(p.Revisions[0].Time, 40)
	}
	return a, nil
}
