package wire

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
)

func question() *model.Request {
	return &model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: "why?"}}}
}

// Waits double from a second, lie between half and whole, and end at the
// patience; in the end a limit without a time is one for a while.
func TestF14_WaitsGrowWithJitter(t *testing.T) {
	for _, tt := range []struct {
		chance float64
		want   []time.Duration
	}{
		{0, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 2500 * time.Millisecond}},
		{1, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second}},
	} {
		l := NewLine(Server{Spec: "test:m", Base: "https://example.org", Limits: Limits{Patience: 5 * time.Second}})
		var waits []time.Duration
		l.chance = func() float64 { return tt.chance }
		now := time.Date(2026, 1, 2, 12, 0, 0, 1, time.UTC)
		l.pause = func(_ context.Context, d time.Duration) error {
			waits, now = append(waits, d), now.Add(d)
			return nil
		}
		l.now = func() time.Time { return now }
		_, err := l.Ask(context.Background(), question(), nil, func(_ context.Context, c *Call) error {
			return c.Refuse("rate_limit_error", "slow down")
		})
		if diff := cmp.Diff(tt.want, waits); diff != "" {
			t.Errorf("waits at chance %v (-want +got):\n%s", tt.chance, diff)
		}
		at, _ := model.RetryAt(err)
		if at.Before(l.now()) || at.After(l.now().Add(7*time.Second)) || at.Nanosecond() != 0 {
			t.Errorf("again at %v, want a whole second within 7 s", at)
		}
	}
}

// TestBYD05_ACallThatWaitedIsNotUnderWay: one that is broken off while it waits to be
// tried again has cost nothing more.
func TestBYD05_ACallThatWaitedIsNotUnderWay(t *testing.T) {
	l := NewLine(Server{Spec: "test:m", Base: "https://example.org"})
	ctx, cancel := context.WithCancel(t.Context())
	l.pause = func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}
	_, err := l.Ask(ctx, question(), nil, func(_ context.Context, c *Call) error {
		c.sent = true
		return c.Refuse("rate_limit_error", "slow down")
	})
	if cut := model.CutOf(err); !errors.Is(err, context.Canceled) || cut.Sent {
		t.Errorf("%+v of %v, want that the server was not asked", cut, err)
	}
}

// The limits by themselves: silence, and the whole.
func TestF16_LimitsByDefault(t *testing.T) {
	for _, tt := range []struct {
		name, base string
		every      time.Duration // between events; 0 is never
		want       time.Duration
	}{
		{"silent from the start", "https://example.org", 0, time.Minute},
		{"a local server reads its prompt", "http://127.0.0.1:1", 0, 10 * time.Minute},
		{"slow, but alive", "https://example.org", 59 * time.Second, 10 * time.Minute},
		{"too slow", "https://example.org", 61 * time.Second, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := NewLine(Server{Spec: "test:m", Base: tt.base})
			began := time.Now()
			_, err := l.Ask(context.Background(), question(), nil, func(ctx context.Context, c *Call) error {
				for tt.every > 0 && pause(ctx, tt.every) == nil {
					c.heard()
				}
				<-ctx.Done()
				return ctx.Err()
			})
			if took := time.Since(began); fault.Code(err) != "model/timeout" || took != tt.want {
				t.Errorf("%s: %v after %v, want model/timeout after %v", tt.name, err, took, tt.want)
			}
		})
	}
}

func TestF14_RetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "Fri, 02 Jan 2026 12:01:00 GMT", time.Minute},
		{"Retry-After", "Fri, 02 Jan 2026 11:59:00 GMT", 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "", 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
	} {
		if got := retryAfter(http.Header{tt.name: {tt.value}}, now); got != tt.want {
			t.Errorf("%s: %q = %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestSEC02_Redact(t *testing.T) {
	s := Server{Key: "hunter2hunter2"}
	for _, tt := range []struct{ text, want string }{
		{"the key hunter2hunter2 is bad", "the key [key] is bad"},
		{"Incorrect API key provided: sk-proj-ab12****wxyz.", "Incorrect API key provided: [key]."},
		{"Authorization: Bearer abc.def", "Authorization: [key]"},
		{"AIzaSyA1234567890123456789012345678901 no", "[key] no"},
		{"two\nlines\x1b[31m", "two lines [31m"},
		{"ask-me-anything later", "ask-me-anything later"},
	} {
		if got := s.Redact(tt.text); got != tt.want {
			t.Errorf("Redact(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
	if got := s.Redact(strings.Repeat("é", 300)); len(got) > 200 || !strings.HasSuffix(got, "é...") {
		t.Errorf("a long text is cut to %q", got)
	}
	// A key that lies across the cut must not leave its head.
	if got := s.Redact(strings.Repeat("x", 190) + " " + s.Key); strings.Contains(got, "hunter") {
		t.Errorf("a key at the cut leaves %q", got)
	}
}

// Only a whole event is a sign of life.
func TestF16_HeardAtTheEndOfAnEvent(t *testing.T) {
	for _, tt := range []struct {
		stream string
		want   int
	}{
		{"data: 1", 0}, {"data: 1\n", 0}, {"data: 1\n\n", 1}, {"data: 1\r\n\r\n", 1}, {": ping\n\ndata: 2\n\n", 2},
	} {
		heard := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(tt.stream))
		}))
		c := &Call{client: client(nil), heard: func() { heard++ }}
		r, err := http.NewRequest(http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		for one := make([]byte, 1); err == nil; {
			_, err = resp.Body.Read(one)
		}
		_ = resp.Body.Close()
		server.Close()
		if heard != tt.want {
			t.Errorf("%q: heard %d events, want %d", tt.stream, heard, tt.want)
		}
	}
}

// A stream without an end is not read without end.
func TestF17_EndlessStream(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		line := []byte(strings.Repeat("x", 1<<20))
		for {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	l := NewLine(Server{Spec: "test:m", Base: server.URL})
	read := 0
	_, err := l.Ask(context.Background(), question(), nil, func(ctx context.Context, c *Call) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		resp, err := c.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		for buffer := make([]byte, 1<<20); err == nil; {
			var n int
			n, err = resp.Body.Read(buffer)
			read += n
		}
		return err
	})
	if fault.Code(err) != "model/invalid-output" || read > maxBody+1<<20 {
		t.Errorf("%v after %d bytes, want model/invalid-output after %d", err, read, maxBody)
	}
}
