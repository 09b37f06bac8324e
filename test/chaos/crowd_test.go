package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

var (
	orders   = flag.Int("chaos.orders", 120, "how many executions are ordered of the host with instant agents")
	restarts = flag.Int("chaos.restarts", 40, "how often that host is killed")
)

// many is a run of the test with hundreds of executions: of orders that
// publishers place and people steer, while their host is killed again and again.
type many struct {
	t      *testing.T
	place  *place
	record *record
	board  *board
	lives  []life
	round  int // the life that the host is in, from 1; the last is restarts + 1
	kills  map[string]int
	desk   *desk
	press  *press
}

// TestWF10_HundredsOfExecutionsThroughKills has a host with instant agents work
// on hundreds of orders at once, kills it at random moments, and then holds its
// whole journal, its tables and its agents' ledger against the promises.
func TestWF10_HundredsOfExecutionsThroughKills(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (-chaos.seed)", *seed)
	m := newMany(t)
	r := rand.New(rand.NewPCG(*seed, 1))
	began := time.Now()
	for m.round = 1; m.round <= *restarts; m.round++ {
		m.live(func(h *process) string { return m.meet(h, r) })
	}
	m.live(m.finish)
	took := time.Since(began)
	m.judge(took)
}

func newMany(t *testing.T) *many {
	t.Helper()
	p := newPlace(t)
	p.repository(t, crowd)
	var err error
	if p.program, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, crowdHost+"="+p.dir)
	m := &many{t: t, place: p, record: newRecord(), kills: map[string]int{}}
	m.board = newBoard(m.record)
	m.press = newPress(m)
	m.desk = &desk{many: m, random: rand.New(rand.NewPCG(*seed, 2))}
	for _, name := range []string{"permit", "component", "assembly"} {
		file := "testdata/" + name + ".yaml"
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		def, err := processes.Parse(file, data, roles.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		m.desk.define(def)
	}
	return m
}

// last says whether the host will not be killed any more.
func (m *many) last() bool { return m.round > *restarts }

// share is how much of n is to be done by now, all of it in the last life.
func (m *many) share(n int) int { return n * m.round / (*restarts + 1) }

// live is one life of the host, which ends by what end does to it.
func (m *many) live(end func(*process) string) {
	m.t.Helper()
	l := life{begun: time.Now()}
	h := m.place.begin(m.t)
	ctx, cancel := context.WithCancel(m.t.Context())
	var visitors sync.WaitGroup
	visitors.Go(func() {
		if o := h.dial(ctx); o != nil {
			defer o.Close()
			m.record.follow(ctx, o)
		}
	})
	for who := range publishers {
		visitors.Go(func() { m.press.work(ctx, h, who) })
	}
	visitors.Go(func() { m.desk.work(ctx, h) })
	m.kills[end(h)]++
	l.ended = time.Now()
	cancel()
	visitors.Wait()
	m.lives = append(m.lives, l)
	for line := range strings.Lines(h.text()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "DATA RACE") {
			m.t.Errorf("life %d of the host says: %s", m.round, line)
		}
	}
}

// quiet is after how long without news a host is killed that does not come as
// far as it was to.
const quiet = 400 * time.Millisecond

// meet kills the host at a random moment: while it starts, or some events into
// its life. It returns in what the kill hit.
func (m *many) meet(h *process, r *rand.Rand) string {
	m.t.Helper()
	where := "work"
	if r.IntN(6) == 0 {
		where = starting
		wait(h, time.Duration(r.Int64N(int64(600*time.Millisecond))), nil)
	} else {
		h.serves()
		if !m.progress(h, 1+r.IntN(100**orders / *restarts)) {
			where = "rest"
		}
		wait(h, time.Duration(r.Int64N(int64(20*time.Millisecond))), nil)
	}
	select {
	case <-h.ended:
		m.t.Fatalf("the host ended by itself with status %d\n%s", h.status(), h.text())
	default:
	}
	h.kill()
	return where
}

// progress waits for so many notices, and returns whether they came before
// there was quiet.
func (m *many) progress(h *process, n int) bool {
	before, _ := m.board.look(func(*board) {})
	for {
		all, more := m.board.look(func(*board) {})
		if all >= before+n {
			return true
		}
		if !wait(h, quiet, more) {
			return false
		}
	}
}

// wait waits for more, which may be nil, and returns whether that came before
// the time was over or the host ended.
func wait(h *process, d time.Duration, more <-chan struct{}) bool {
	select {
	case <-more:
		return true
	case <-time.After(d):
	case <-h.ended:
	}
	return false
}

// finish waits until everything that was ordered has ended, and stops the host.
func (m *many) finish(h *process) string {
	m.t.Helper()
	ctx := deadline(m.t)
	for {
		var ended, asked int
		_, more := m.board.look(func(b *board) { ended, asked = b.ended, len(b.open) })
		if ended == *orders && asked == 0 && m.press.done() {
			break
		}
		select {
		case <-more:
		case <-h.ended:
			m.t.Fatalf("the host ended\n%s", h.text())
		case <-ctx.Done():
			m.t.Fatalf("%d of %d orders have ended, %d questions are open; the last events:\n%s\nthe host says:\n%s", ended, *orders, asked, m.record.tail(crowd, 40), h.text())
		}
	}
	idle(m.t, h, h.client())
	h.stop(syscall.SIGTERM)
	return "end"
}

// judge looks at what is left when all is done.
func (m *many) judge(took time.Duration) {
	m.t.Helper()
	h := m.place.start(m.t)
	var events []*loomv1.Event
	all := m.record.history(m.t, h.client())
	for _, n := range all {
		if n.Event.Project == crowd {
			events = append(events, n.Event)
		}
	}
	runs := readLedger(m.t, m.place)
	a := newAuditor()
	for _, e := range events {
		a.add(e)
	}
	a.end()
	a.orders(m.press.promised())
	a.ledger(runs)
	a.commands(m.desk.count(isDone), m.desk.count(isSigned))
	for _, p := range a.told() {
		m.t.Error(p)
	}
	m.figures(events, runs, took)
	m.happened(events)
	m.rebuild(h, all, a)
}

// figures prints what was measured.
func (m *many) figures(events []*loomv1.Event, runs map[string][]uint64, took time.Duration) {
	claims := firstClaims(events, m.lives[1:])
	slices.Sort(claims)
	if len(claims) == 0 {
		m.t.Fatal("no life of the host had a claim")
	}
	steps, again := 0, 0
	for _, epochs := range runs {
		steps += len(epochs)
		again += len(epochs) - 1
	}
	executions := 0
	for _, n := range words(events) {
		executions += n
	}
	m.t.Logf("%d kills (%v) in %s; %d orders, %d executions %v, at most %d at once; %d events, %d steps, %d run again; first claim after a start: p50 %s, p99 %s (%d of them)",
		len(m.lives)-1, m.kills, took.Round(time.Millisecond), *orders, executions, words(events), inFlight(events), len(events), steps, again,
		quantile(claims, 50), quantile(claims, 99), len(claims))
}

// happened checks that the run was about what it is meant to be about.
func (m *many) happened(events []*loomv1.Event) {
	m.t.Helper()
	count := map[string]int{}
	for _, e := range events {
		count[notice.Kind(e)]++
	}
	if most := inFlight(events); most < *orders/3 {
		m.t.Errorf("at most %d executions were under way at once, want a third of %d", most, *orders)
	}
	for _, kind := range []string{
		"rework-started", "gate-failed", "gap-noted", "child-started", "retry-scheduled", "approval-decided", "approval-lapsed",
		"execution-moved", "work-paused", "work-resumed", "claim-released",
	} {
		if count[kind] == 0 && *orders >= 120 && *restarts >= 20 {
			m.t.Errorf("no %s in %v", kind, count)
		}
	}
}

func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)-1)*percent/100].Round(time.Millisecond)
}

// rebuild holds the tables against the journal, and against themselves after
// they were deleted and made again.
func (m *many) rebuild(h *process, all []*loomv1.Notice, a *auditor) {
	m.t.Helper()
	m.settle(h)
	first := tables(m.t, m.place.data)
	sameTransitions(m.t, first, all)
	sameStatuses(m.t, "beads", first["beads"], 3, a.beadStatuses())
	sameStatuses(m.t, "workflow_executions", first["workflow_executions"], 6, a.executionStatuses())
	remove(m.t, m.place.path("projection.db"))
	m.settle(m.place.start(m.t))
	sameTables(m.t, first, tables(m.t, m.place.data))
}

// settle waits until the tables have everything, and stops the host.
func (m *many) settle(h *process) {
	m.t.Helper()
	if _, err := h.client().History(deadline(m.t), &loomv1.HistoryRequest{Execution: crowd + "-1-x1"}); err != nil {
		m.t.Errorf("history: %v", err)
	}
	h.stop(syscall.SIGINT)
}

// describe says what an order is for.
func describe(n int) string { return fmt.Sprintf("order %04d", n) }
