package simulation

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestMain lets garbage grow: the worlds are small, and collecting after every
// few of them would take a third of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// result is what became of one run.
type result struct {
	recipe    recipe
	failure   string
	invariant string // its number, or "panic"
	steps     int
	events    int
	replayed  int
	taken     int // steps of the recipe before the failure
	at        int // event that the failure came with
	saw       map[string]int
}

// run carries a recipe out; a panic of a core is a failure like any other.
func run(r recipe, tell func(string)) (out result) {
	w := newWorld(r, tell)
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 8<<10)
			w.failure = fmt.Sprintf("step %d: panic: %v\n%s", w.steps, p, buf[:runtime.Stack(buf, false)])
			w.invariant, w.brokenAt = "panic", w.keeper.events
			out = w.result()
		}
	}()
	w.play()
	w.settle()
	return w.result()
}

func (w *world) result() result {
	return result{
		recipe: w.recipe, failure: w.failure, invariant: w.invariant, taken: w.taken, at: w.brokenAt,
		steps: w.steps, events: w.keeper.events, replayed: w.keeper.replayed, saw: w.saw,
	}
}

// runAll runs seeds on all processors, each in one goroutine from beginning to
// end, until count were run or, with a time, until that is over; and yields
// results as they come. It ends early after so many failures.
func runAll(from, count uint64, until time.Time) func(yield func(result) bool) {
	return func(yield func(result) bool) {
		var next, failed atomic.Uint64
		next.Store(from)
		more := func(seed uint64) bool {
			if failed.Load() >= *failures {
				return false
			}
			if until.IsZero() {
				return seed < from+count
			}
			return time.Now().Before(until)
		}
		results := make(chan result, 64)
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for seed := next.Add(1) - 1; more(seed); seed = next.Add(1) - 1 {
					r := run(recipe{Seed: seed}, nil)
					if r.failure != "" {
						failed.Add(1)
					}
					results <- r
				}
			})
		}
		go func() { workers.Wait(); close(results) }()
		for r := range results {
			yield(r)
		}
	}
}

// tally adds results up.
type tally struct {
	seeds, steps, events, replayed int
	saw                            map[string]int
	began                          time.Time
	cpu                            time.Duration
}

func newTally() *tally {
	return &tally{saw: map[string]int{}, began: time.Now(), cpu: processorTime()}
}

func (t *tally) add(r result) {
	t.seeds++
	t.steps += r.steps
	t.events += r.events
	t.replayed += r.replayed
	for what, n := range r.saw {
		t.saw[what] += n
	}
}

// String tells how much was done, how fast, and how fast two processors would
// be that do nothing else.
func (t *tally) String() string {
	took, cpu := time.Since(t.began), processorTime()-t.cpu
	return fmt.Sprintf("%d seeds, %d steps, %d events and %d replayed in %s: %.1f million steps a minute; %.1f million in a minute of two processors",
		t.seeds, t.steps, t.events, t.replayed, took.Round(time.Millisecond),
		float64(t.steps)/took.Minutes()/1e6, 2*float64(t.steps)/cpu.Minutes()/1e6)
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
