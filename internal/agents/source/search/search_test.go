package search_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/source/search"
	"github.com/loomrun/loom/internal/agents/source/sourcetest"
	"github.com/loomrun/loom/internal/base/fault"
)

// What a SearXNG server answers, cut to two results and with two bad ones.
const searxng = `{"query": "loom", "number_of_results": 0, "results": [
	{"url": "https://example.com/a", "title": "A <b>loom</b>", "content": "It\nweaves.", "engine": "duckduckgo", "parsed_url": ["https", "example.com", "/a", "", "", ""], "score": 4.0, "category": "general"},
	{"url": "javascript:alert(1)", "title": "bad"}, {"title": "none"},
	{"url": "http://example.org/b", "title": "B", "content": ""}],
	"answers": [], "corrections": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": []}`

const brave = `{"type": "search", "query": {"original": "loom"}, "web": {"type": "search", "results": [
	{"title": "A loom", "url": "https://example.com/a", "description": "It <strong>weaves</strong>.", "is_source_local": false}]}}`

func TestTOOL01_Engines(t *testing.T) {
	net := sourcetest.New(t)
	net.Serve("search.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/sx/search" || q.Get("format") != "json" || q.Get("q") == "" {
			t.Errorf("asked for %s", r.URL)
		}
		switch q.Get("q") {
		case "html":
			fmt.Fprint(w, "<html>")
		case "403":
			w.WriteHeader(http.StatusForbidden)
		case "none":
			fmt.Fprint(w, `{"query": "none", "results": []}`)
		default:
			fmt.Fprint(w, searxng)
		}
	}))
	net.Serve("api.search.brave.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/res/v1/web/search" || r.URL.Query().Get("count") != "3":
			t.Errorf("asked for %s", r.URL)
		case r.Header.Get("X-Subscription-Token") != "BSAkey123":
			w.WriteHeader(http.StatusUnprocessableEntity)
		default:
			fmt.Fprint(w, brave)
		}
	}))
	sx, err := search.SearXNG("https://search.test/sx", net.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		engine   *search.Engine
		question string
		want     string // hits, or the code
	}{
		{sx, " what  is\na loom ", "[{A loom https://example.com/a It weaves.} {B http://example.org/b }]"},
		{search.Brave("BSAkey123", net.Config), "loom", "[{A loom https://example.com/a It weaves.}]"},
		{search.Brave("wrong", net.Config), "loom", "source/credentials"},
		{sx, "none", "[]"},
	} {
		hits, err := tt.engine.Search(context.Background(), tt.question, 3)
		got := fmt.Sprint(hits)
		if err != nil {
			got = fault.Code(err)
		}
		if got != tt.want || err != nil && strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s, %q: %s (%v)", tt.engine.Name(), tt.question, got, err)
		}
	}
	other, err := search.SearXNG("https://search.test/sx", net.Config) // with its own limit
	if err != nil {
		t.Fatal(err)
	}
	for question, code := range map[string]string{"html": "source/refused", "403": "source/credentials", strings.Repeat("x", 500): "tool/arguments", " ": "tool/arguments"} {
		if _, err := other.Search(context.Background(), question, 3); fault.Code(err) != code {
			t.Errorf("%.20q: %v, want %s", question, err, code)
		}
	}
	for _, bad := range []string{"", "search.test", "ftp://search.test", "https://u:p@search.test", "https://search.test/?q=1"} {
		if _, err := search.SearXNG(bad, nil); fault.Code(err) != "usage/argument" {
			t.Errorf("SearXNG(%q): %v", bad, err)
		}
	}
}

// Without a network, the answer says so and makes nothing up.
func TestTOOL07_SearchOffline(t *testing.T) {
	e := search.Brave("key", sourcetest.New(t).Config)
	hits, err := e.Search(context.Background(), "loom", 3)
	if fault.Code(err) != "source/unavailable" || hits != nil {
		t.Errorf("%v %v", hits, err)
	}
}
