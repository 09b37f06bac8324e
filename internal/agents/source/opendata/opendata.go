// Package opendata asks services whose data anybody may have: Wikipedia, arXiv,
// OpenAlex, the World Bank, and FRED of the Federal Reserve Bank of St. Louis, which
// wants a key that costs nothing.
//
// It promises that each service is asked at its own host alone and no more often than it
// asks for; that answers are bounded; and that figures and words are as the service gave
// them. It computes nothing.
package opendata

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/base/fault"
)

const maxAnswer = 4 << 20 // bytes

// Config says who asks.
type Config struct {
	// Agent is the User-Agent, with a contact if the operator gave one.
	Agent string
	// Key is that of FRED or OpenAlex.
	Key string
	// Connect completes how the network is reached; nil is the network there is.
	Connect func(fetch.Config) fetch.Config
}

// Answer is what a service gave: words, or rows of a table.
type Answer struct {
	// Title says what it is, and Text is words for themselves.
	Title, Text string
	Columns     []string
	Rows        [][]string
	// Total is how many rows the service has, where it says so: more than Rows if it was
	// asked for fewer.
	Total int
}

// service is one that is asked.
type service struct {
	name   string
	client *fetch.Client
}

func (c Config) open(name string, every time.Duration, keys []string, hosts ...string) service {
	config := fetch.Config{
		Hosts: hosts, Agent: c.Agent, Keys: keys, Most: maxAnswer, Header: http.Header{"Accept": {"application/json, application/atom+xml"}},
		Limits: []*rate.Limiter{rate.NewLimiter(rate.Every(every), 1)},
	}
	if c.Connect != nil {
		config = c.Connect(config)
	}
	return service{name, fetch.New(config)}
}

// get asks for JSON.
func (s service) get(ctx context.Context, address string, into any) error {
	page, err := s.client.Get(ctx, address)
	if err != nil {
		return fetch.Explain(err)
	}
	return s.decode(page.Body, into)
}

func (s service) decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fault.New("source/refused", "the answer of %s is not what is known of it", s.name)
	}
	return nil
}

func unfit(where, got, want string) error {
	return fault.New("tool/arguments", "it cannot be asked for").At(where).Got(got).Want("%s", want)
}

// words makes one line of a text, cut.
func words(text string, most int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

var tag = regexp.MustCompile(`<[^>]*>`)
