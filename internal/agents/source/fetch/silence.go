package fetch

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// The bounds of how long a host is left alone that asks for it.
const (
	maxSilence  = time.Hour
	maxSilences = 1000 // hosts
)

// silences are the hosts that have asked not to be asked for a while.
type silences struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// asked keeps in mind what a host says of when to ask again, with 429 or 503.
func (s *silences) asked(host string, resp *http.Response) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return
	}
	now := time.Now()
	d := retryAfter(resp.Header.Get("Retry-After"), now)
	if d <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, t := range s.until {
		if now.After(t) {
			delete(s.until, h)
		}
	}
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	if len(s.until) < maxSilences {
		s.until[named(host)] = now.Add(min(d, maxSilence))
	}
}

// named is a host as silences know it, however an address or a redirect writes it.
func named(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// retryAfter reads a number of seconds or a date; what is neither is no time.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(n, 0), int(maxSilence/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return t.Sub(now)
	}
	return 0
}

// over waits until a host may be asked again, for 10 seconds at most.
func (s *silences) over(ctx context.Context, host string) error {
	s.mu.Lock()
	d := time.Until(s.until[named(host)])
	s.mu.Unlock()
	if d > maxWait {
		return fault.New("source/rate", "%s has asked not to be asked for a while", host).Want("there is room again in %s", d.Round(time.Second))
	}
	return pause(ctx, d)
}
