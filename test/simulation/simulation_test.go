package simulation

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	first = flag.Uint64("seed", 1, "the first seed")
	seeds = flag.Uint64("seeds", defaultSeeds, "how many seeds to run")
	trace = flag.Bool("trace", false, "print everything that happens")
)

// sometimes is what must be seen, at least once for each thousand seeds.
var sometimes = []string{
	"acknowledgement lost, append was in", "append lost, it was out", "append landed late", "crash before an append",
	"crash after an append", "restart from nothing", "restart from a snapshot", "several commands in one batch",
	"command came twice", "duplicate submission", "same error again",
	"assignment lost", "assignment twice", "sweep found an assignment",
	"claim refused: attempt/stale", "claim refused: attempt/claimed", "claim refused: attempt/own-work",
	"answer refused: attempt/stale", "answer refused: attempt/claimed", "answer repeated", "lie refused", "host started again", "host start repeated", "turn resumed",
	"parked", "unparked", "lock queue of two", "lock lapsed and granted to the next", "lock taken over by the attempt's next agent",
	"renewal refused: lock/stale", "late token refused by git", "target moved", "landing found again",
	"approval refused: approval/digest", "approval refused: approval/signature", "approval refused: approval/identity",
	"approval refused: approval/decided", "approval refused: approval/replayed", "approval refused: approval/expired",
	"approval refused: approval/lapsed", "double click", "decision refused: graph/unknown-node", "decision refused: graph/self-loop", "decision refused: graph/cycle",
	"rework", "continue", "backoff", "timeout", "escalation", "escalation after a restart", "attempts granted", "approval lapsed",
	"landed", "completed", "rejected",
}

// result is what became of one seed.
type result struct {
	seed    uint64
	failure string
	steps   int
	events  int
	saw     map[string]int
}

func runSeed(seed uint64, tell func(string)) (r result) {
	w := newWorld(seed, tell)
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 8<<10)
			r = result{seed, fmt.Sprintf("step %d: panic: %v\n%s", w.steps, p, buf[:runtime.Stack(buf, false)]), w.steps, w.keeper.events, w.saw}
		}
	}()
	w.play()
	w.settle()
	return result{seed, w.failure, w.steps, w.keeper.events, w.saw}
}

// TestWF10_Simulation covers WF03 to WF12, GRAPH03, LOCK01, ACT04, P5 to P10
// and P21 on one project, as far as cores can keep them.
func TestWF10_Simulation(t *testing.T) {
	if *trace {
		r := runSeed(*first, func(line string) { fmt.Println(line) })
		if r.failure != "" {
			t.Fatal(r.failure)
		}
		return
	}
	began := time.Now()
	var steps, events int
	saw := map[string]int{}
	for r := range runAll(*first, *seeds) {
		steps += r.steps
		events += r.events
		for what, n := range r.saw {
			saw[what] += n
		}
		if r.failure != "" {
			t.Errorf("seed %d: %s\nreplay: go test ./test/simulation -run Simulation -seed %d -seeds 1 -trace", r.seed, r.failure, r.seed)
		}
	}
	took := time.Since(began)
	t.Logf("%d seeds, %d steps, %d events in %s: %.0f steps/s", *seeds, steps, events, took.Round(time.Millisecond), float64(steps)/took.Seconds())
	checkSeen(t, saw)
}

// runAll runs seeds on all processors, each in one goroutine from beginning to
// end, and yields results as they come. It ends early after five failures.
func runAll(from, count uint64) func(yield func(result) bool) {
	return func(yield func(result) bool) {
		var next, failed atomic.Uint64
		next.Store(from)
		results := make(chan result)
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for seed := next.Add(1) - 1; seed < from+count && failed.Load() < 5; seed = next.Add(1) - 1 {
					r := runSeed(seed, nil)
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

func checkSeen(t *testing.T, saw map[string]int) {
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(saw)) {
		lines = append(lines, fmt.Sprintf("%s: %d", what, saw[what]))
	}
	t.Log(strings.Join(lines, "; "))
	most := int(*seeds / 1000)
	for _, what := range sometimes {
		if saw[what] < most {
			t.Errorf("in %d seeds there was %d times: %s; want at least %d", *seeds, saw[what], what, most)
		}
	}
}

// TestP21_SeedIsTheRun runs seeds twice: nothing but the seed decides.
func TestP21_SeedIsTheRun(t *testing.T) {
	for seed := range uint64(10) {
		var a, b strings.Builder
		runSeed(seed, func(line string) { a.WriteString(line + "\n") })
		runSeed(seed, func(line string) { b.WriteString(line + "\n") })
		if a.String() != b.String() || a.Len() == 0 {
			t.Errorf("seed %d: two runs differ", seed)
		}
	}
}
