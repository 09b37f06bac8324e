package search_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/source/search"
	"github.com/loomrun/loom/internal/agents/source/sourcetest"
	"github.com/loomrun/loom/internal/base/fault"
)

// The page that DuckDuckGo makes for browsers without scripts, cut to an advertisement
// and two results, and what it shows to whom it takes for a program.
const (
	duck = `<!DOCTYPE html><html><head><title>loom at DuckDuckGo</title></head><body><div id="links" class="results">
<div class="result results_links results_links_deep result--ad"><div class="links_main links_deep result__body">
 <h2 class="result__title"><a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example&amp;ad_provider=bing">Buy looms</a></h2></div></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
 <h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2Fa%3Fx%3D1%26y%3D2&amp;rut=0af1">A <b>loom</b></a></h2>
 <div class="result__extras"><a class="result__url" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2Fa"> example.com/a </a></div>
 <a class="result__snippet" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2Fa">It <b>weaves</b> &amp; more.</a></div></div>
<div class="result results_links web-result"><h2 class="result__title"><a class="result__a" href="http://example.org/b">B</a></h2></div>
</div></body></html>`
	duckNone = `<html><body><div id="links" class="results"><div class="result results_links results_links_deep result--no-result"><div class="no-results">No results.</div></div></div></body></html>`
	duckAsks = `<html><body><form id="challenge-form"><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></form></body></html>`
	kagi     = `{"meta": {"id": "x", "node": "us-east", "ms": 300}, "data": [
		{"t": 0, "rank": 1, "url": "https://example.com/a", "title": "A loom", "snippet": "It weaves.", "published": "2025-01-02T00:00:00Z"},
		{"t": 1, "list": ["looms", "loom software"]}]}`
)

func TestTOOL07_DuckDuckGosPage(t *testing.T) {
	net, asked := sourcetest.New(t), 0
	net.Serve("html.duckduckgo.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/html/" || r.Method != http.MethodGet || r.Header.Get("User-Agent") != "loom/test" {
			t.Errorf("asked %s %s as %s", r.Method, r.URL, r.Header.Get("User-Agent"))
		}
		switch q := r.URL.Query().Get("q"); q {
		case "none":
			fmt.Fprint(w, duckNone)
		case "asks":
			fmt.Fprint(w, duckAsks)
		case "program":
			w.WriteHeader(http.StatusAccepted)
		case "changed":
			fmt.Fprint(w, "<html><body><ol><li>A loom</ol></body></html>")
		default:
			fmt.Fprint(w, duck)
		}
	}))
	for question, want := range map[string]string{
		"loom": "[{A loom https://example.com/a?x=1&y=2 It weaves & more.} {B http://example.org/b }]", "none": "[]",
		"asks": "source/rate", "program": "source/rate", "changed": "source/refused",
	} {
		e := search.DuckDuckGo("loom/test", net.Config) // with its own limit
		hits, err := e.Search(t.Context(), question, 5)
		got := fmt.Sprint(hits)
		if err != nil {
			got = fault.Code(err)
		}
		if got != want {
			t.Errorf("%s: %s (%v), want %s", question, got, err, want)
		}
		if !strings.Contains(e.Note(), "not an API") {
			t.Errorf("it says of itself %q", e.Note())
		}
	}
}

func TestTOOL07_Kagi(t *testing.T) {
	net := sourcetest.New(t)
	net.Serve("kagi.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/api/v0/search" || r.URL.Query().Get("limit") != "3":
			t.Errorf("asked for %s", r.URL)
		case r.Header.Get("Authorization") != "Bot K.1":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprint(w, kagi)
		}
	}))
	hits, err := search.Kagi("K.1", net.Config).Search(t.Context(), "loom", 3)
	if fmt.Sprint(hits) != "[{A loom https://example.com/a It weaves.}]" || err != nil {
		t.Errorf("%v %v", hits, err)
	}
	if _, err := search.Kagi("wrong", net.Config).Search(t.Context(), "loom", 3); fault.Code(err) != "source/credentials" || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a key that is refused: %v", err)
	}
}

// An engine that was not reached is not tried with each question.
func TestTOOL07_NoNetworkIsSaidAtOnce(t *testing.T) {
	net := sourcetest.New(t)
	net.Name("html.duckduckgo.com", "52.142.124.215") // and nothing there
	e := search.DuckDuckGo("loom", net.Config)
	for range 5 {
		if _, err := e.Search(t.Context(), "loom", 3); fault.Code(err) != "source/unavailable" || !strings.Contains(err.Error(), "html.duckduckgo.com was not reached") {
			t.Errorf("%v", err)
		}
	}
	if n := len(net.Dials()); n != 1 {
		t.Errorf("it was tried %d times", n)
	}
}

func FuzzDuckDuckGo(f *testing.F) {
	f.Add([]byte(duck))
	f.Add([]byte(duckAsks))
	f.Fuzz(func(t *testing.T, page []byte) {
		hits, err := search.ReadDuckDuckGo(page)
		if err != nil && fault.Code(err) == "" {
			t.Fatal(err)
		}
		for _, h := range hits {
			if h.URL == "" || h.Title == "" {
				t.Fatalf("%+v", h)
			}
		}
	})
}
