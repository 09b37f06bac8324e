package wire

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// What the two protocols tell in their headers, and how long the next request
// of 100 tokens waits after it.
func TestF14_AGateLearnsTheLimits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		headers []string
		want    time.Duration
	}{
		{"nothing is said", nil, 0},
		{"some are left", []string{"X-Ratelimit-Limit-Requests", "60", "X-Ratelimit-Remaining-Requests", "1", "X-Ratelimit-Reset-Requests", "59s"}, 0},
		{"none is left", []string{"X-Ratelimit-Limit-Requests", "60", "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "1m0s"}, time.Second},
		{"none is left, in seconds", []string{"X-Ratelimit-Limit-Requests", "60", "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "120"}, 2 * time.Second},
		{"it is not said when", []string{"X-Ratelimit-Limit-Requests", "6", "X-Ratelimit-Remaining-Requests", "0"}, 10 * time.Second},
		{"tokens", []string{"X-Ratelimit-Limit-Tokens", "600", "X-Ratelimit-Remaining-Tokens", "50", "X-Ratelimit-Reset-Tokens", "55s"}, 5 * time.Second},
		{"a limit below the request", []string{"X-Ratelimit-Limit-Tokens", "60", "X-Ratelimit-Remaining-Tokens", "30", "X-Ratelimit-Reset-Tokens", "30s"}, 30 * time.Second},
		{"Anthropic's requests", []string{"Anthropic-Ratelimit-Requests-Limit", "50", "Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", "2026-01-02T12:00:50Z"}, time.Second},
		{"Anthropic's tokens", []string{"Anthropic-Ratelimit-Tokens-Limit", "1000", "Anthropic-Ratelimit-Tokens-Remaining", "0", "Anthropic-Ratelimit-Tokens-Reset", "2026-01-02T12:00:10Z"}, time.Second},
		{"a day", []string{"X-Ratelimit-Limit-Requests", "1", "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "9999h"}, 24 * time.Hour},
		{"garbage", []string{"X-Ratelimit-Limit-Requests", "many", "X-Ratelimit-Remaining-Requests", "0"}, 0},
		{"not a number", []string{"X-Ratelimit-Limit-Requests", "NaN", "X-Ratelimit-Remaining-Requests", "NaN"}, 0},
		{"endless", []string{"X-Ratelimit-Limit-Requests", "1e999", "X-Ratelimit-Remaining-Requests", "0"}, 0},
		{"no limit at all", []string{"X-Ratelimit-Limit-Requests", "0", "X-Ratelimit-Remaining-Requests", "0"}, 0},
		{"less than nothing is left", []string{"X-Ratelimit-Limit-Requests", "5", "X-Ratelimit-Remaining-Requests", "-1"}, 0},
	} {
		h := http.Header{}
		for i := 0; i < len(tt.headers); i += 2 {
			h.Set(tt.headers[i], tt.headers[i+1])
		}
		g := &Gate{}
		g.Learn(noon, h)
		at, ok := g.Pass(noon, 100)
		if wait := at.Sub(noon).Round(time.Millisecond); wait != tt.want || ok != (tt.want == 0) {
			t.Errorf("%s: the next waits %s (passes: %t), want %s", tt.name, wait, ok, tt.want)
		}
	}
}

func TestF14_AShutGate(t *testing.T) {
	g := &Gate{}
	g.Shut(noon.Add(time.Minute))
	g.Shut(noon.Add(time.Second)) // of somebody who was refused before
	if at, ok := g.Pass(noon.Add(time.Minute-1), 1); ok || !at.Equal(noon.Add(time.Minute)) {
		t.Errorf("passed: %t, again at %s; want to wait until %s", ok, at, noon.Add(time.Minute))
	}
	if _, ok := g.Pass(noon.Add(time.Minute), 1); !ok {
		t.Error("shut at the very moment at which it opens")
	}
}

func TestF14_OneGateForAKey(t *testing.T) {
	gates := &Gates{}
	a := Server{Spec: "openai:a", Base: "https://example.org", Key: "k"}
	for _, tt := range []struct {
		name string
		b    Server
		same bool
	}{
		{"another model", Server{Spec: "openai:b", Base: a.Base, Key: a.Key}, true},
		{"another key", Server{Spec: "openai:a", Base: a.Base, Key: "l"}, false},
		{"another server", Server{Spec: "openai:a", Base: "https://example.com", Key: a.Key}, false},
	} {
		if same := gates.Of(a) == gates.Of(tt.b); same != tt.same {
			t.Errorf("%s: one gate: %t, want %t", tt.name, same, tt.same)
		}
	}
	none := (*Gates)(nil)
	if one, other := none.Of(a), none.Of(a); one == other {
		t.Error("lines without gates share one")
	}
}

// Whoever asks when the gate says so is never over a limit that fills evenly,
// and is not kept out for ever.
func TestF14_AGateKeepsTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 100).Draw(t, "limit")
		h := http.Header{}
		h.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(limit))
		h.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(limit))
		g, now, passed := &Gate{}, noon, 0
		g.Learn(now, h)
		for range rapid.IntRange(1, 300).Draw(t, "asked") {
			at, ok := g.Pass(now, 10)
			if !ok {
				if !at.After(now) {
					t.Fatalf("told at %s to come back at %s", now, at)
				}
				if now = at; rapid.Bool().Draw(t, "early") {
					now = now.Add(-time.Nanosecond)
				}
				continue
			}
			passed++
			filled := float64(limit) * (1 + now.Sub(noon).Minutes())
			if float64(passed) > filled+0.01 {
				t.Fatalf("%d passed within %s, with %d a minute", passed, now.Sub(noon), limit)
			}
		}
		if last := now.Sub(noon); passed < limit && last > 0 {
			t.Fatalf("waited %s though only %d of %d had passed", last, passed, limit)
		}
	})
}
