package commits

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const role = "engineering-manager"

const process = `name: turns
version: "1.0"
description: Takes turns at the commit lock.
nodes:
  - {id: start, type: start}
  - {id: turns, type: task, role: engineering-manager}
  - {id: end, type: end}
edges:
  - {id: e1, from: start, to: turns}
  - {id: e2, from: turns, to: end}
`

// BenchmarkGrants has agents take turns at the lock of one repository: alone, and
// sixteen that wait for each other.
func BenchmarkGrants(b *testing.B) {
	for _, holders := range []int{1, 16} {
		b.Run(fmt.Sprintf("holders=%d", holders), func(b *testing.B) {
			turns := newTurns(b.N, holders)
			file(b, begin(b, turns, holders), holders)
			b.ResetTimer()
			took, err := turns.run(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(len(turns.waits))/took.Seconds(), "grants/s")
			b.ReportMetric(turns.wait(0.50), "ms-wait-p50")
			b.ReportMetric(turns.wait(0.99), "ms-wait-p99")
		})
	}
}

// TestLOCK01_EveryHolderHasItsTurns runs what is measured, with few turns.
func TestLOCK01_EveryHolderHasItsTurns(t *testing.T) {
	longtest.Skip(t)
	turns := newTurns(12, 3)
	file(t, begin(t, turns, 3), 3)
	if _, err := turns.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(turns.waits) != 12 || turns.together != 0 {
		t.Errorf("%d grants, want 12; %d while another one held", len(turns.waits), turns.together)
	}
}

// turns are agents that take turns at the lock, so many in all.
type turns struct {
	gate chan struct{} // closed when all may begin
	done chan error    // an answer for each holder

	mu       sync.Mutex
	left     int
	held     int
	together int // grants while another one held
	asked    map[string]time.Time
	waits    []time.Duration
}

func newTurns(n, holders int) *turns {
	return &turns{gate: make(chan struct{}), done: make(chan error, holders), left: n, asked: map[string]time.Time{}}
}

// run returns how long all turns took.
func (l *turns) run(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	began := time.Now()
	close(l.gate)
	for range cap(l.done) {
		select {
		case err := <-l.done:
			if err != nil {
				return 0, err
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return time.Since(began), nil
}

// Work implements actors.Worker.
func (l *turns) Work(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
	select {
	case <-l.gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out, err := l.take(ctx, b.Attempt.Id, s)
	if !errors.Is(err, actors.ErrParked) {
		select {
		case l.done <- err:
		default: // it is known already that something went wrong
		}
	}
	return out, err
}

// take takes turns until none is left, or until it has to wait for one.
func (l *turns) take(ctx context.Context, attempt string, s actors.Seat) (*loomv1.Outcome, error) {
	for l.ask(attempt) {
		claim, err := s.AcquireLock(ctx)
		if err != nil {
			return nil, err
		}
		if claim.Token == 0 {
			if err := s.Park(ctx); err != nil {
				return nil, err
			}
			return nil, actors.ErrParked
		}
		l.granted(attempt)
		l.giveBack()
		if err := s.ReleaseLock(ctx, claim.Token); err != nil {
			return nil, err
		}
	}
	return &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Summary: "no turn is left"}, nil
}

// ask notes that an attempt asks for the lock, unless it does already. It is false
// when no turn is left.
func (l *turns) ask(attempt string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked[attempt].IsZero() {
		return true
	}
	if l.left == 0 {
		return false
	}
	l.left--
	l.asked[attempt] = time.Now()
	return true
}

func (l *turns) granted(attempt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held++; l.held > 1 {
		l.together++
	}
	l.waits = append(l.waits, time.Since(l.asked[attempt]))
	delete(l.asked, attempt)
}

func (l *turns) giveBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held--
}

// wait returns how many milliseconds a part of the grants was waited for at most.
func (l *turns) wait(part float64) float64 {
	slices.Sort(l.waits)
	at := min(int(part*float64(len(l.waits))), len(l.waits)-1)
	return float64(l.waits[at].Microseconds()) / 1000
}

// begin starts a host with so many agents.
func begin(tb testing.TB, w actors.Worker, agents int) *host.Host {
	tb.Helper()
	dir := tb.TempDir()
	repository := filepath.Join(dir, "shop")
	if err := git.Create(tb.Context(), repository, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
		tb.Fatal(err)
	}
	library, err := processes.Load(processes.NewLibrary(), fstest.MapFS{"turns.yaml": {Data: []byte(process)}}, ".", roles.Builtin())
	if err != nil {
		tb.Fatal(err)
	}
	none := map[string]int{role: agents}
	for _, name := range roles.Builtin().Names() {
		if name != role && name != "ceo" {
			none[name] = 0
		}
	}
	h, err := host.Start(tb.Context(), host.Config{
		Data: filepath.Join(dir, "data"), CEOKey: filepath.Join(dir, "ceo.nk"), Model: scripted.New("none", nil), Worker: w, Processes: library,
		Projects: []host.Project{{ID: "shop", Repository: repository}}, Agents: none, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { h.Stop(context.Background()) })
	return h
}

// file submits work for each holder.
func file(tb testing.TB, h *host.Host, holders int) {
	tb.Helper()
	nc, err := h.Connect("operator")
	if err != nil {
		tb.Fatal(err)
	}
	c := client.New(nc)
	defer c.Close()
	for n := range holders {
		if _, err := c.Submit(tb.Context(), &loomv1.Submission{Project: "shop", Process: "turns", Goal: fmt.Sprintf("turns of holder %d", n)}); err != nil {
			tb.Fatal(err)
		}
	}
}
