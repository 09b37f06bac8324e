package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ledger is what a test knows of beads: it reads the facts in their order and
// believes only links, ends and what people did by hand.
type ledger struct {
	t        *rapid.T
	read     int
	blockers map[string][]string
	parent   map[string]string
	status   map[string]loomv1.BeadStatus
	byHand   map[string]bool // closed by a person, and not opened since
	again    map[string]bool // opened again, and not begun since
}

func newLedger(t *rapid.T) *ledger {
	return &ledger{
		t: t, blockers: map[string][]string{}, parent: map[string]string{}, status: map[string]loomv1.BeadStatus{},
		byHand: map[string]bool{}, again: map[string]bool{},
	}
}

// follow reads what is new, and wants that nothing begins which is blocked then.
func (l *ledger) follow(events []*loomv1.Event) {
	for _, e := range events[l.read:] {
		switch f := e.Fact.(type) {
		case *loomv1.Event_BeadFiled:
			l.blockers[e.Bead], l.parent[e.Bead], l.status[e.Bead] = f.BeadFiled.Bead.BlockedBy, f.BeadFiled.Bead.Parent, f.BeadFiled.Bead.Status
		case *loomv1.Event_BeadUpdated:
			l.blockers[e.Bead], l.parent[e.Bead] = f.BeadUpdated.Bead.BlockedBy, f.BeadUpdated.Bead.Parent
		case *loomv1.Event_BeadStatusChanged:
			l.status[e.Bead] = f.BeadStatusChanged.Status
		case *loomv1.Event_ExecutionStarted:
			delete(l.again, e.Bead)
			l.free(e)
		case *loomv1.Event_AttemptDispatched, *loomv1.Event_AttemptClaimed:
			l.free(e)
		}
	}
	l.read = len(events)
}

func (l *ledger) free(e *loomv1.Event) {
	for _, on := range l.blockers[e.Bead] {
		if l.status[on] != loomv1.BeadStatus_BEAD_STATUS_CLOSED {
			l.t.Fatalf("event %d: %T of %s while %s is %s", e.Number, e.Fact, e.Bead, on, project.Word(l.status[on]))
		}
	}
}

// acyclic wants that no bead waits for itself or is a part of itself, and that
// lines of parents are bounded.
func (l *ledger) acyclic() {
	for id := range l.status {
		for seen, next := map[string]bool{}, l.blockers[id]; len(next) > 0; {
			on := next[0]
			if next = next[1:]; on == id {
				l.t.Fatalf("%s waits for itself", id)
			}
			if !seen[on] {
				seen[on] = true
				next = append(slices.Clone(next), l.blockers[on]...)
			}
		}
		depth := 0
		for up := id; up != ""; up = l.parent[up] {
			if depth++; depth > project.MaxDepth+project.MaxNested {
				l.t.Fatalf("%s has over %d parents", id, depth-1)
			}
		}
	}
}

// want returns the status that a bead has by everything else, once nothing is
// due any more.
func (l *ledger) want(p *loomv1.ProjectState, b *loomv1.Bead) string {
	x := p.Executions[b.Execution]
	running := x.GetStatus() == loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING
	blocked := slices.ContainsFunc(l.blockers[b.Id], func(on string) bool { return l.status[on] != loomv1.BeadStatus_BEAD_STATUS_CLOSED })
	asks := x.GetLimitApproval() != ""
	for _, n := range x.GetNodes() {
		asks = asks || n.Approval != ""
	}
	switch {
	case l.byHand[b.Id]:
		return "closed"
	case running && blocked, blocked && (x == nil || l.again[b.Id]):
		return "blocked"
	case running && asks:
		return "waiting"
	case running:
		return "in_progress"
	case x == nil || l.again[b.Id]:
		return "that of a bead whose execution has begun"
	}
	return map[loomv1.ExecutionStatus]string{
		loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED: "closed", loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED_WITH_GAPS: "closed",
		loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED:  "aborted",
		loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED: "failed", loomv1.ExecutionStatus_EXECUTION_STATUS_FAILED: "failed",
	}[x.Status]
}

// check compares all statuses, and that those which are blocked say why.
func (l *ledger) check(p *loomv1.ProjectState) {
	open := map[string]bool{}
	for _, x := range p.Executions {
		open[x.LimitApproval] = true
		for _, n := range x.Nodes {
			open[n.Approval] = true
		}
	}
	for id, b := range p.Beads {
		got, want := project.Word(b.Status), ""
		if b.Type == loomv1.BeadType_BEAD_TYPE_APPROVAL {
			want = map[bool]string{true: "open", false: "closed"}[open[id]]
		} else {
			want = l.want(p, b)
		}
		if got != want {
			l.t.Fatalf("%s is %s (%s), want %s; blocked by %v", id, got, b.Reason, want, l.blockers[id])
		}
		if got == "blocked" && !slices.ContainsFunc(l.blockers[id], func(on string) bool { return strings.Contains(b.Reason, on) }) {
			l.t.Fatalf("%s is blocked by %v and says %q", id, l.blockers[id], b.Reason)
		}
	}
}

// beadSteps are what people and publishers may do to beads.
func (w *twins) beadSteps(l *ledger) map[string]func(*rapid.T) {
	ids := func(t *rapid.T, most int) (list []string) {
		for range rapid.IntRange(0, most).Draw(t, "links") {
			list = append(list, w.id(t))
		}
		return list
	}
	update := func(t *rapid.T, b *loomv1.Bead, fields ...string) {
		b.Id = w.id(t)
		w.do(&loomv1.Command{Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{Bead: b, Fields: fields}}})
	}
	return map[string]func(*rapid.T){
		"file linked": func(t *rapid.T) {
			sub := &loomv1.Submission{Goal: "work", Process: draw(t, "process", "small", "ask"), BlockedBy: ids(t, 3), Parent: draw(t, "parent", "", w.id(t))}
			w.do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: sub}}})
		},
		"block": func(t *rapid.T) { update(t, &loomv1.Bead{BlockedBy: ids(t, 3)}, "blocked_by") },
		"adopt": func(t *rapid.T) { update(t, &loomv1.Bead{Parent: draw(t, "parent", "", w.id(t))}, "parent") },
		"hurry": func(t *rapid.T) {
			update(t, &loomv1.Bead{Priority: urgent, BlockedBy: ids(t, 1)}, "priority", "blocked_by")
		},
		"close by": func(t *rapid.T) { l.close(w, w.id(t)) },
		"reopen":   func(t *rapid.T) { l.reopen(w, w.id(t)) },
		"settle": func(*rapid.T) {
			w.pass(0)
			l.follow(w.events)
			l.check(w.one.Snapshot())
		},
	}
}

func (l *ledger) close(w *twins, bead string) {
	a := w.do(&loomv1.Command{Body: &loomv1.Command_CloseBead{CloseBead: &loomv1.CloseBead{Bead: bead}}})
	if a.Error == nil && !a.GetSubmit().Duplicate {
		l.byHand[bead] = true
		delete(l.again, bead)
	}
}

func (l *ledger) reopen(w *twins, bead string) {
	w.nonce++
	c := &loomv1.Command{Body: &loomv1.Command_ReopenBead{ReopenBead: &loomv1.ReopenBead{Bead: bead, Request: fmt.Sprint("o", w.nonce)}}}
	if a := w.do(proto.CloneOf(c)); a.Error != nil {
		return
	}
	delete(l.byHand, bead)
	l.again[bead] = true
	l.follow(w.events)
	before := len(w.events)
	if again := w.do(c); !again.GetSubmit().GetDuplicate() || len(w.events) != before {
		l.t.Fatalf("the same reopening again: %v and %d events, want a duplicate and none", again, len(w.events)-before)
	}
}

// TestSUB06_StatusesFollowFromLinksExecutionsAndApprovals lets people link,
// unlink, close and reopen beads at random while they are worked on.
func TestSUB06_StatusesFollowFromLinksExecutionsAndApprovals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, l := newTwins(t), newLedger(t)
		steps := w.steps()
		delete(steps, "link")
		for name, f := range w.beadSteps(l) {
			steps[name] = f
		}
		steps[""] = func(*rapid.T) {
			w.check()
			l.follow(w.events)
			l.acyclic()
		}
		t.Repeat(steps)
		steps["settle"](t)
	})
}

// What one bead frees goes on in small batches, each well within what the
// journal takes at once, and whoever waits meanwhile waits for one batch.
func TestSUB06_FreedBeadsBeginInBoundedBatches(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct{ beads, tasks int }{{1000, 1}, {200, 60}} {
		t.Run(fmt.Sprintf("%d beads of %d tasks", tt.beads, tt.tasks), func(t *testing.T) {
			y := newYard(t, "qa-engineer")
			first := y.file("fan", normal)
			y.define("wide", slices.Repeat([]string{"researcher"}, tt.tasks)...)
			for range tt.beads {
				y.must(&loomv1.Command{Actor: publisher, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{
					Submission: &loomv1.Submission{Goal: "work", Process: "wide", BlockedBy: []string{first}},
				}}})
			}
			if q := y.s.Queued(); len(q) != 1 {
				t.Fatalf("%d attempts queued, want that of %s alone", len(q), first)
			}
			who := agentOf("qa-engineer", 1)
			b, err := y.take(who)
			if err != nil {
				t.Fatal(err)
			}
			y.answer(b.Attempt.Id, who, success)
			for due := true; due; {
				begun, size := y.tick()
				if begun > 64 || size > 256<<10 {
					t.Fatalf("one tick begins %d executions with %d bytes", begun, size)
				}
				at, any := y.s.Next()
				due = any && !at.After(y.now)
			}
			if q := y.s.Queued(); len(q) != tt.beads*tt.tasks {
				t.Errorf("%d attempts queued in the end, want %d", len(q), tt.beads*tt.tasks)
			}
		})
	}
}

// tick ticks and returns how many executions began and how large all facts are.
func (y *yard) tick() (begun, size int) {
	events, _, err := y.s.Do(y.now, &loomv1.Command{Project: "shop", Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
	if err != nil {
		y.fatal.Fatalf("tick: %v", err)
	}
	for _, e := range events {
		size += proto.Size(e)
		if e.GetExecutionStarted() != nil {
			begun++
		}
	}
	return begun, size
}

// A list costs what it shows, however many beads there are: the reviewers of a
// release measured a sort of all of them in each.
func BenchmarkSUB06_ListOf100Of10000(b *testing.B) {
	y := newYard(b, "researcher")
	for range 10_000 {
		y.file("fan", normal)
	}
	for _, q := range []struct {
		name string
		*loomv1.Query
	}{{"all", &loomv1.Query{}}, {"no match", &loomv1.Query{Filter: "aborted"}}, {"text", &loomv1.Query{Text: "no such words"}}} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := y.s.Look(project.Beads, q.Query); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
