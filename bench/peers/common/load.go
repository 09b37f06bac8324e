package common

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// StepsPerExec is the number of durable node dispatches of the auto-bug workflow:
// triage, investigate twice, approval, apply/commit, verify.
const StepsPerExec = 6

// Payload is what an instant agent step returns: about 200 bytes of JSON.
func Payload(id, step string, cycle int) string {
	s := fmt.Sprintf(`{"execution":%q,"step":%q,"cycle":%d,"outcome":"success","summary":"`, id, step, cycle)
	const pad = "the agent looked at the report, read the trace, and wrote down what it found and what it would do next; "
	for len(s) < 196 {
		s += pad
	}
	return s[:196] + `"}` // about 200 bytes
}

// Clock keeps per-execution marks; the gap between two marks is one step's latency.
type Clock struct {
	mu    sync.Mutex
	last  map[string]time.Time
	begin map[string]time.Time
	steps []float64
	execs []float64
	on    atomic.Bool
}

func NewClock() *Clock {
	return &Clock{last: map[string]time.Time{}, begin: map[string]time.Time{}}
}

func (c *Clock) Reset() {
	c.mu.Lock()
	c.last, c.begin, c.steps, c.execs = map[string]time.Time{}, map[string]time.Time{}, nil, nil
	c.mu.Unlock()
}

func (c *Clock) Start(id string) {
	now := time.Now()
	c.mu.Lock()
	c.last[id], c.begin[id] = now, now
	c.mu.Unlock()
}

func (c *Clock) Mark(id string) {
	now := time.Now()
	c.mu.Lock()
	if t, ok := c.last[id]; ok {
		c.steps = append(c.steps, now.Sub(t).Seconds()*1000)
		c.last[id] = now
	}
	c.mu.Unlock()
}

func (c *Clock) End(id string) {
	now := time.Now()
	c.mu.Lock()
	if t, ok := c.last[id]; ok {
		c.steps = append(c.steps, now.Sub(t).Seconds()*1000)
		delete(c.last, id)
	}
	if t, ok := c.begin[id]; ok {
		c.execs = append(c.execs, now.Sub(t).Seconds()*1000)
		delete(c.begin, id)
	}
	c.mu.Unlock()
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	i := int(q * float64(len(s)-1))
	return s[i]
}

// LoadResult is what a worker reports to the bench over its standard output.
type LoadResult struct {
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

// Flags every worker takes.
type Flags struct {
	C, N, Warm *int
	Ledger     *string
	Resume     *bool
	Hold       *bool
	Prefix     *string
}

func WorkerFlags() Flags {
	return Flags{
		C:      flag.Int("c", 1, "executions in flight"),
		N:      flag.Int("n", 100, "executions to run"),
		Warm:   flag.Int("warm", 20, "executions run before the clock starts"),
		Ledger: flag.String("ledger", "", "append one line per agent step run (for the kill test)"),
		Resume: flag.Bool("resume", false, "start nothing: finish what is in flight"),
		Hold:   flag.Bool("hold", false, "start all N, withhold approvals until all are started"),
		Prefix: flag.String("prefix", "b", "execution id prefix"),
	}
}

// Peer is what each engine implements for the load driver.
type Peer interface {
	// Run starts execution id and blocks until it has ended.
	Run(id string) error
	// Begin starts execution id durably and returns; only for the kill test.
	Begin(id string) error
	// Wait blocks until id has ended.
	Wait(id string) error
	// Sweep approves every execution that waits for approval (after a restart).
	Sweep(ids []string) error
}

// Ledger appends one line per agent step actually run.
type Ledger struct {
	mu sync.Mutex
	f  *os.File
}

func OpenLedger(path string) *Ledger {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	return &Ledger{f: f}
}

func (l *Ledger) Add(id, step string, cycle int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	fmt.Fprintf(l.f, "%s %s %d\n", id, step, cycle)
	l.mu.Unlock()
}

// Gate withholds approvals until it is opened.
type Gate struct{ ch chan struct{} }

func NewGate(closed bool) *Gate {
	g := &Gate{ch: make(chan struct{})}
	if !closed {
		close(g.ch)
	}
	return g
}

func (g *Gate) Open() {
	select {
	case <-g.ch:
	default:
		close(g.ch)
	}
}
func (g *Gate) Wait() { <-g.ch }

func pool(c, n int, f func(i int) error) (errs int, last error) {
	var next, bad atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for k := 0; k < c; k++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(i); err != nil {
					bad.Add(1)
					mu.Lock()
					last = err
					mu.Unlock()
				}
			}
		}()
	}
	wg.Wait()
	return int(bad.Load()), last
}

// Drive speaks the worker's side of the bench protocol:
// READY -> (GO) -> [STARTED] -> RESULT json -> (QUIT).
func Drive(fl Flags, p Peer, clk *Clock, gate *Gate) {
	in := bufio.NewScanner(os.Stdin)
	id := func(i int) string { return fmt.Sprintf("%s-%06d", *fl.Prefix, i) }
	if !*fl.Resume && *fl.Warm > 0 {
		g := *fl.C
		if g > *fl.Warm {
			g = *fl.Warm
		}
		if n, err := pool(g, *fl.Warm, func(i int) error { return p.Run(fmt.Sprintf("%s-warm-%06d", *fl.Prefix, i)) }); n > 0 {
			fmt.Fprintln(os.Stderr, "warm-up errors:", n, err)
		}
		clk.Reset()
	}
	fmt.Println("READY")
	in.Scan()
	t0 := time.Now()
	var res LoadResult
	switch {
	case *fl.Resume, *fl.Hold:
		var bad int
		var err error
		ids := make([]string, *fl.N)
		for i := range ids {
			ids[i] = id(i)
		}
		if *fl.Hold {
			bad, err = pool(64, *fl.N, func(i int) error { return p.Begin(ids[i]) })
			fmt.Println("STARTED")
			gate.Open()
		} else {
			gate.Open()
			err = p.Sweep(ids)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "begin/sweep:", bad, err)
		}
		b2, e2 := pool(*fl.N, *fl.N, func(i int) error { return p.Wait(ids[i]) })
		if e2 != nil {
			err = e2
		}
		res = LoadResult{N: *fl.N, Errors: bad + b2, Completed: *fl.N - b2}
		if err != nil {
			res.LastErr = err.Error()
		}
	default:
		bad, err := pool(*fl.C, *fl.N, func(i int) error {
			clk.Start(id(i))
			err := p.Run(id(i))
			clk.End(id(i))
			return err
		})
		res = LoadResult{N: *fl.N, Errors: bad, Completed: *fl.N - bad}
		if err != nil {
			res.LastErr = err.Error()
		}
	}
	res.WallS = time.Since(t0).Seconds()
	clk.mu.Lock()
	res.P50, res.P99 = quantile(clk.execs, .5), quantile(clk.execs, .99)
	res.StepP50, res.StepP99 = quantile(clk.steps, .5), quantile(clk.steps, .99)
	clk.mu.Unlock()
	b, _ := json.Marshal(res)
	fmt.Println("RESULT " + string(b))
	for in.Scan() {
		if strings.TrimSpace(in.Text()) == "QUIT" {
			break
		}
	}
}
