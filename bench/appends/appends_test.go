package appends

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// BenchmarkAppend has callers add decisions, each one after another.
func BenchmarkAppend(b *testing.B) {
	b.Run("fsync-alone", func(b *testing.B) { b.ReportMetric(1/alone(b).Seconds(), "appends/s") })
	for _, callers := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ask := begin(b)
			n := max(b.N, callers)
			b.ResetTimer()
			began := time.Now()
			waits := run(b, callers, n, ask)
			took := time.Since(began)
			b.StopTimer()
			slices.Sort(waits)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(n)/took.Seconds(), "appends/s")
			b.ReportMetric(ms(waits[len(waits)/2]), "ms-p50")
			b.ReportMetric(ms(waits[len(waits)*99/100]), "ms-p99")
		})
	}
}

// TestWF10_EveryCallerIsAnswered runs what is measured, with few callers.
func TestWF10_EveryCallerIsAnswered(t *testing.T) {
	longtest.Skip(t)
	if waits := run(t, 5, 20, begin(t)); len(waits) != 20 {
		t.Errorf("%d answers, want 20", len(waits))
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// run has so many callers ask n times in all, and returns how long each answer
// took.
func run(tb testing.TB, callers, n int, ask func(context.Context, int) error) []time.Duration {
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Minute)
	defer cancel()
	var next atomic.Int64
	var all sync.WaitGroup
	waits := make([]time.Duration, n)
	for range callers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				began := time.Now()
				if err := ask(ctx, i); err != nil {
					tb.Errorf("append %d: %v", i, err)
					return
				}
				waits[i] = time.Since(began)
			}
		})
	}
	all.Wait()
	return waits
}

// alone is the median of a thousand writes of a kilobyte, each with fsync.
func alone(tb testing.TB) time.Duration {
	f, err := os.Create(filepath.Join(tb.TempDir(), "probe"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 1024)
	took := make([]time.Duration, 1000)
	for i := range took {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			tb.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			tb.Fatal(err)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// begin starts a host and returns how its decisions are added.
func begin(tb testing.TB) func(context.Context, int) error {
	tb.Helper()
	dir := tb.TempDir()
	repository := filepath.Join(dir, "shop")
	if err := git.Create(tb.Context(), repository, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
		tb.Fatal(err)
	}
	none := map[string]int{}
	for _, name := range roles.Builtin().Names() {
		if name != "ceo" {
			none[name] = 0
		}
	}
	h, err := host.Start(tb.Context(), host.Config{
		Data: filepath.Join(dir, "data"), CEOKey: filepath.Join(dir, "ceo.nk"), Model: scripted.New("none", nil),
		Projects: []host.Project{{ID: "shop", Repository: repository}}, Agents: none, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { h.Stop(context.Background()) })
	nc, err := h.Connect("operator")
	if err != nil {
		tb.Fatal(err)
	}
	c := client.New(nc)
	tb.Cleanup(c.Close)
	return func(ctx context.Context, i int) error {
		_, err := c.Decide(ctx, &loomv1.DecisionRequest{Project: "shop", Verb: &loomv1.DecisionRequest_Add{Add: &loomv1.AddDecision{
			Node: &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_OBSERVATION, Title: fmt.Sprintf("observation %d", i), Confidence: 50},
		}}})
		return err
	}
}
