package wire

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Gates has a gate for every key of every server, which all lines of a host go
// through. It is safe for concurrent use; the zero value is ready.
type Gates struct {
	mu  sync.Mutex
	all map[[2]string]*Gate
}

// Of returns the gate of a server's address and key. Nil gates give each line a
// gate of its own.
func (g *Gates) Of(s Server) *Gate {
	if g == nil {
		return &Gate{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at := [2]string{s.Base, s.Key}
	if g.all[at] == nil {
		if g.all == nil {
			g.all = map[[2]string]*Gate{}
		}
		g.all[at] = &Gate{}
	}
	return g.all[at]
}

// Gate keeps requests under the rate limits that a server has told: nobody asks
// before the moment that one was told to wait for, and no more is asked than
// the server says is left. Where it says nothing the gate is open.
type Gate struct {
	mu       sync.Mutex
	shut     time.Time
	requests bucket
	tokens   bucket
}

// bucket is what is left of a limit, and how fast it fills again.
type bucket struct {
	limit, left float64 // a limit of zero is none
	rate        float64 // a second
	at          time.Time
}

// Pass takes one request of about that many tokens through the gate, or takes
// nothing and returns the moment at which it is to be tried again.
func (g *Gate) Pass(now time.Time, tokens uint64) (at time.Time, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.shut) {
		return g.shut, false
	}
	need := min(float64(tokens), g.tokens.limit) // what is larger than the limit goes when all is left
	wait := max(g.requests.wait(now, 1), g.tokens.wait(now, need))
	if wait > 0 {
		return now.Add(wait), false
	}
	g.requests.left--
	g.tokens.left -= need
	return now, true
}

// Shut closes the gate until a moment.
func (g *Gate) Shut(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.shut) {
		g.shut = until
	}
}

// Learn takes what a server's headers say of its limits.
func (g *Gate) Learn(now time.Time, h http.Header) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests.learn(now, h, "Requests")
	g.tokens.learn(now, h, "Tokens")
}

// wait fills the bucket and returns how long it takes until n are there.
func (b *bucket) wait(now time.Time, n float64) time.Duration {
	if b.limit == 0 {
		return 0
	}
	if past := now.Sub(b.at).Seconds(); past > 0 {
		b.left, b.at = min(b.limit, b.left+past*b.rate), now
	}
	if b.left >= n {
		return 0
	}
	return max(bounded((n-b.left)/b.rate), time.Millisecond)
}

// learn reads a limit as OpenAI or Anthropic tells it. A limit of which not all
// is told changes nothing.
func (b *bucket) learn(now time.Time, h http.Header, of string) {
	get := func(what string) string {
		if v := h.Get("Anthropic-Ratelimit-" + of + "-" + what); v != "" {
			return v
		}
		return h.Get("X-Ratelimit-" + what + "-" + of)
	}
	limit, err := strconv.ParseFloat(get("Limit"), 64)
	left, err2 := strconv.ParseFloat(get("Remaining"), 64)
	if err != nil || err2 != nil || !(limit >= 1) || !(left >= 0) || math.IsInf(limit, 0) {
		return
	}
	b.limit, b.left, b.at, b.rate = limit, min(left, limit), now, limit/60
	if reset := resetIn(get("Reset"), now); reset > 0 && left < limit {
		b.rate = (limit - left) / reset.Seconds()
	}
}

// resetIn reads when a limit is whole again: a moment, a duration such as
// "6m0s", or seconds.
func resetIn(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return min(at.Sub(now), 24*time.Hour)
	}
	if d, err := time.ParseDuration(text); err == nil {
		return min(d, 24*time.Hour)
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return bounded(s)
	}
	return 0
}
