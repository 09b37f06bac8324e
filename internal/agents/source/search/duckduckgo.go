package search

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/base/fault"
)

// DuckDuckGo reads the page that DuckDuckGo makes for browsers without scripts. It
// needs no key. It is no interface for programs: nobody promises that the page stays as
// it is, or that programs may go on reading it.
func DuckDuckGo(agent string, connect Connect) *Engine {
	return &Engine{
		name: "DuckDuckGo", scraped: true,
		note:   "scraped from DuckDuckGo's page for browsers, which may change; not an API",
		client: client(fetch.Config{Hosts: []string{"html.duckduckgo.com"}, Agent: agent}, 2*time.Second, connect),
		ask: func(question string, _ int) string {
			return "https://html.duckduckgo.com/html/?" + url.Values{"q": {question}}.Encode()
		},
		read: readDuckDuckGo,
	}
}

// readDuckDuckGo finds the results in the page. A page that has neither results nor the
// word that there are none is source/refused: to take it for no results would have
// somebody believe that there is nothing.
func readDuckDuckGo(body []byte) (hits []Hit, err error) {
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fault.New("source/refused", "DuckDuckGo did not answer with a page that can be read")
	}
	none, asks := false, false
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch {
		case has(n, "no-results"):
			none = true
		case has(n, "anomaly-modal") || has(n, "anomaly-modal__title") || attribute(n, "id") == "challenge-form":
			asks = true
		case has(n, "result") && !has(n, "result--ad"):
			if h, ok := hitOf(n); ok {
				hits = append(hits, h)
			}
		}
	}
	switch {
	case len(hits) > 0 || none:
		return hits, nil
	case asks:
		return nil, tooOften()
	}
	return nil, fault.New("source/refused", "DuckDuckGo's page is not what is known of it: it may have changed").
		Want("an operator can name another engine: --source search=URL of a SearXNG server, or a key of Brave or Kagi")
}

func tooOften() error {
	return fault.New("source/rate", "DuckDuckGo asks whether a person is there, and answers programs no more for now").
		Want("go on without it and say so; an operator can name another engine with --source search=")
}

// hitOf reads one result.
func hitOf(result *html.Node) (h Hit, ok bool) {
	for n := range result.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.DataAtom == atom.A && has(n, "result__a") && h.URL == "":
			h.Title, h.URL = words(n), behind(attribute(n, "href"))
		case has(n, "result__snippet") && h.Snippet == "":
			h.Snippet = words(n)
		}
	}
	return h, h.URL != "" && h.Title != ""
}

// behind returns the address that a link of the page leads to: it goes by way of
// DuckDuckGo itself. That of an advertisement is "".
func behind(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	if host := u.Hostname(); host != "" && host != "duckduckgo.com" && !strings.HasSuffix(host, ".duckduckgo.com") {
		return link
	}
	return u.Query().Get("uddg")
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, class string) bool {
	return slices.Contains(strings.Fields(attribute(n, "class")), class)
}

// words is the text of an element.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
