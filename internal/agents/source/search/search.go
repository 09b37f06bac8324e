// Package search asks search engines: a SearXNG server of the operator's, the services
// of Brave and Kagi, or DuckDuckGo's page for browsers, which needs no key and is no
// interface for programs.
//
// It promises that each hit has a title, an address of http or https and a
// piece of text, on one line each and bounded, and that a question goes to the
// one engine that was chosen and nowhere else. It ranks nothing itself and fetches none
// of the pages. An engine that was not reached is not tried again for half a minute, so
// that work without a network learns of it at once.
package search

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/base/fault"
)

// Most is how many hits can be asked for.
const Most = 20

const (
	maxQuestion = 400 // bytes
	maxTitle    = 200 // characters
	maxSnippet  = 600 // characters
)

// Hit is a page that an engine found.
type Hit struct{ Title, URL, Snippet string }

// Engine answers questions. It may be used by several goroutines.
type Engine struct {
	name   string
	note   string
	client *fetch.Client
	ask    func(question string, count int) string
	read   func([]byte) ([]Hit, error)
	// scraped says that the engine is not asked by its interface for programs.
	scraped bool

	mu    sync.Mutex
	why   error     // it was not reached
	until time.Time // and is not tried before
}

// Name says which engine it is.
func (e *Engine) Name() string { return e.name }

// Note is what a reader of its answers has to know of the engine, "" for nothing.
func (e *Engine) Note() string { return e.note }

// Connect completes how an engine's client reaches the network; tests give
// their own. Nil is the network there is.
type Connect func(fetch.Config) fetch.Config

// client returns one that asks every so often, and three times at once.
func client(c fetch.Config, every time.Duration, connect Connect) *fetch.Client {
	c.Limits = []*rate.Limiter{rate.NewLimiter(rate.Every(every), 3)}
	if connect != nil {
		c = connect(c)
	}
	return fetch.New(c)
}

// SearXNG asks the server at base, such as "http://127.0.0.1:8888". It must
// give JSON: "formats: [html, json]" in its settings. It may be on this
// machine or in a private network, as the operator names it.
func SearXNG(base string, connect Connect) (*Engine, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, fault.New("usage/argument", "it is not the address of a search engine").At("source/search").Got(base).Want("such as http://127.0.0.1:8888")
	}
	u = u.JoinPath("search")
	return &Engine{
		name:   "SearXNG at " + u.Hostname(),
		client: client(fetch.Config{Hosts: []string{u.Hostname()}, Private: true}, time.Second, connect),
		ask: func(question string, _ int) string {
			u := *u
			u.RawQuery = url.Values{"q": {question}, "format": {"json"}}.Encode()
			return u.String()
		},
		read: readSearXNG,
	}, nil
}

// Brave asks Brave's search service with a key.
func Brave(key string, connect Connect) *Engine {
	return &Engine{
		name: "Brave",
		client: client(fetch.Config{
			Hosts:  []string{"api.search.brave.com"},
			Header: http.Header{"X-Subscription-Token": {key}, "Accept": {"application/json"}},
		}, time.Second, connect),
		ask: func(question string, count int) string {
			return "https://api.search.brave.com/res/v1/web/search?" + url.Values{"q": {question}, "count": {strconv.Itoa(count)}}.Encode()
		},
		read: readBrave,
	}
}

// Search returns at most count hits (1 to Most), the best first. No hits are
// an answer. The errors are those of [fetch.Client.Get], and source/refused
// for what is no answer of the engine.
func (e *Engine) Search(ctx context.Context, question string, count int) ([]Hit, error) {
	question = strings.Join(strings.Fields(question), " ")
	if question == "" || len(question) > maxQuestion {
		return nil, fault.New("tool/arguments", "the question has %d bytes, not 1 to %d", len(question), maxQuestion).At("query")
	}
	count = min(max(count, 1), Most)
	if err := e.away(); err != nil {
		return nil, err
	}
	page, err := e.client.Get(ctx, e.ask(question, count))
	if err != nil {
		return nil, e.missed(e.explain(err))
	}
	hits, err := e.read(page.Body)
	if err != nil && fault.Code(err) != "" {
		return nil, err
	}
	if err != nil {
		return nil, fault.New("source/refused", "%s did not answer in JSON that is a list of results", e.name).
			Want("a SearXNG server needs the format json in its settings")
	}
	return sound(hits, count), nil
}

// rest is how long an engine is left alone that was not reached.
const rest = 30 * time.Second

// away says why an engine is not asked now.
func (e *Engine) away() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Now().Before(e.until) {
		return e.why
	}
	return nil
}

// missed keeps in mind that the engine was not reached.
func (e *Engine) missed(err error) error {
	if fault.Code(err) == "source/unavailable" {
		e.mu.Lock()
		e.why, e.until = err, time.Now().Add(rest)
		e.mu.Unlock()
	}
	return err
}

// explain names a refused key as such, and a page that keeps programs out.
func (e *Engine) explain(err error) error {
	f := fault.From(fetch.Explain(err))
	if s, ok := errors.AsType[*fetch.StatusError](err); ok && e.scraped {
		if s.Code == http.StatusAccepted || s.Code == http.StatusForbidden {
			return tooOften()
		}
	} else if ok {
		switch s.Code {
		case http.StatusForbidden, http.StatusUnauthorized, http.StatusUnprocessableEntity:
			f = fault.New("source/credentials", "%s refuses the key, or to answer in JSON (%d)", e.name, s.Code)
		}
	}
	if f.Code == "internal/error" {
		return err
	}
	return f
}

// sound leaves out hits without an address, and makes one line of each text.
func sound(hits []Hit, count int) (list []Hit) {
	for _, h := range hits {
		u, err := url.Parse(h.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(h.URL) > 2000 {
			continue
		}
		if len(list) == count {
			break
		}
		list = append(list, Hit{short(h.Title, maxTitle), u.String(), short(h.Snippet, maxSnippet)})
	}
	return list
}

var tags = strings.NewReplacer("<strong>", "", "</strong>", "", "<b>", "", "</b>", "", "<em>", "", "</em>", "")

func short(s string, most int) string {
	s = strings.Join(strings.Fields(tags.Replace(strings.ToValidUTF8(s, "\uFFFD"))), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func readSearXNG(body []byte) (hits []Hit, err error) {
	var answer struct {
		Results []struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Content string `json:"content"`
		} `json:"results"`
	}
	err = json.Unmarshal(body, &answer)
	for _, r := range answer.Results {
		hits = append(hits, Hit{r.Title, r.URL, r.Content})
	}
	return hits, err
}

func readBrave(body []byte) (hits []Hit, err error) {
	var answer struct {
		Web struct {
			Results []struct {
				Title       string `json:"title"`
				URL         string `json:"url"`
				Description string `json:"description"`
			} `json:"results"`
		} `json:"web"`
	}
	err = json.Unmarshal(body, &answer)
	for _, r := range answer.Web.Results {
		hits = append(hits, Hit{r.Title, r.URL, r.Description})
	}
	return hits, err
}
