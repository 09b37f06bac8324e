package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomrun/loom/internal/host"
)

// result is what the harness wants to know.
type result struct {
	N         int     `json:"n"`
	WallS     float64 `json:"wall_s"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	StepP50   float64 `json:"step_p50_ms"`
	StepP99   float64 `json:"step_p99_ms"`
	Completed int     `json:"completed"`
	Errors    int     `json:"errors"`
	LastErr   string  `json:"last_err,omitempty"`
}

// approvers answer approvals side by side: each waits for its answer to be
// durable.
const approvers = 32

// drive speaks the worker's side of the harness's protocol.
func drive(ctx context.Context, o options, h *host.Host, p *peer, clock *clock) error {
	in := bufio.NewScanner(os.Stdin)
	gate := make(chan struct{})
	var refused failures
	for range approvers {
		go func() {
			<-gate
			p.approve(ctx, refused.add)
		}()
	}
	if !o.hold && !o.resume {
		close(gate)
		if bad := pool(min(o.inFlight, o.warm), o.warm, func(i int) error { return p.run(ctx, fmt.Sprintf("%s-warm-%06d", o.prefix, i)) }); bad.n > 0 {
			fmt.Fprintln(os.Stderr, "work: warm-up:", bad.n, bad.last)
		}
		clock.reset()
	}
	fmt.Println("READY")
	in.Scan()
	stop, err := profile(map[bool]string{false: o.profile}[o.resume]) // else it is of the start
	if err != nil {
		return err
	}
	recorded, err := record(o, h)
	if err != nil {
		return err
	}
	r := load(ctx, o, p, gate)
	stop()
	if err := recorded(); err != nil {
		return err
	}
	r.Errors += refused.n
	clock.mu.Lock()
	r.P50, r.P99 = quantile(clock.all, .5), quantile(clock.all, .99)
	r.StepP50, r.StepP99 = quantile(clock.steps, .5), quantile(clock.steps, .99)
	clock.mu.Unlock()
	if err := inUse(o.heap); err != nil {
		return err
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	fmt.Println("RESULT " + string(line))
	for in.Scan() {
		if strings.TrimSpace(in.Text()) == "QUIT" {
			return nil
		}
	}
	return nil
}

// load is the measured part.
func load(ctx context.Context, o options, p *peer, gate chan struct{}) result {
	name := func(i int) string { return fmt.Sprintf("%s-%06d", o.prefix, i) }
	began := time.Now()
	var bad failures
	switch {
	case o.hold:
		bad = pool(64, o.n, func(i int) error { return p.begin(ctx, name(i)) })
		fmt.Println("STARTED")
		close(gate)
	case o.resume:
		close(gate)
		if err := p.sweep(ctx); err != nil {
			bad.add(err)
		}
	default:
		bad = pool(o.inFlight, o.n, func(i int) error { return p.run(ctx, name(i)) })
	}
	if o.hold || o.resume {
		waits := pool(o.n, o.n, func(i int) error { return p.wait(ctx, name(i)) })
		bad.n, bad.last = bad.n+waits.n, waits.last
	}
	r := result{N: o.n, WallS: time.Since(began).Seconds(), Completed: o.n - bad.n, Errors: bad.n}
	if bad.last != nil {
		r.LastErr = bad.last.Error()
	}
	return r
}

// profile begins a CPU profile, if one is wanted.
func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return pprof.StopCPUProfile, pprof.StartCPUProfile(f)
}

// inUse writes a profile of the memory in use after a collection, if one is
// wanted.
func inUse(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

// failures counts errors and keeps the last.
type failures struct {
	mu   sync.Mutex
	n    int
	last error
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n, f.last = f.n+1, err
}

// pool runs f for 0 to n-1, so many at once.
func pool(at, n int, f func(i int) error) failures {
	var next atomic.Int64
	var bad failures
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					bad.add(err)
				}
			}
		})
	}
	all.Wait()
	return failures{n: bad.n, last: bad.last}
}
