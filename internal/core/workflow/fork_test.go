package workflow_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// fork begins a new execution of w's state at a node.
func (w *world) fork(t testing.TB, at string) (*world, string) {
	t.Helper()
	before := proto.CloneOf(w.x)
	state, start, err := workflow.ForkState(w.def, w.x, at)
	if err != nil {
		t.Fatalf("ForkState(%s): %v", at, err)
	}
	f := &world{def: w.def, now: w.now, approvals: map[string]*loomv1.Approval{}, beads: 7, id: "p-9-x1", bead: w.bead, x: &loomv1.Execution{}}
	fact := &loomv1.ExecutionForked{From: &loomv1.ForkPoint{Execution: w.x.Id, Node: at, Number: 9}, State: state}
	if err := f.emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionForked{ExecutionForked: fact}}); err != nil {
		t.Fatalf("fork at %s: %v", at, err)
	}
	if err := f.run().Begin(); err != nil {
		t.Fatalf("fork at %s: %v", at, err)
	}
	if !proto.Equal(before, w.x) {
		t.Errorf("the fork at %s has changed what it was made from", at)
	}
	return f, start
}

// WF16: an execution is forked from any node; no approval is inherited.
func TestWF16_Fork(t *testing.T) {
	for _, tt := range []struct {
		until, at string // of the auto-bug workflow
		start     string
		story     string
		change    string
	}{
		{"", "triage", "triage", "triage dispatched to qa-engineer: 1.1", ""},
		{"", "investigate", "investigate", "investigate dispatched to web-designer: 1.1", ""},
		{"", "approve", "approve", "approve asks:", "p1"},
		{"", "commit", "approve", "approve asks:", "p1"},
		{"", "verify", "approve", "approve asks:", "p1"},
		{"", "land", "approve", "approve asks:", "p1"},
		{"", "end", "end", "completed", "p1"},
		{"", "start", "start", "start-triage taken: success\ntriage dispatched to qa-engineer: 1.1", ""},
		{"investigate", "land", "land", "land dispatched to engineering-manager: 1.1", ""}, // where it had not come yet
		{"verify", "investigate", "investigate", "investigate dispatched to web-designer: 1.1", ""},
	} {
		t.Run(tt.until+" at "+tt.at, func(t *testing.T) {
			w := bug(t, tt.until)
			f, start := w.fork(t, tt.at)
			if start != tt.start || f.x.Change.GetPatchDigest() != tt.change {
				t.Errorf("it starts at %s with change %q, want %s with %q", start, f.x.Change.GetPatchDigest(), tt.start, tt.change)
			}
			check(t, f.story(), tt.story)
			if f.x.Approved != nil || f.x.Candidate != nil || f.x.Landing != nil || f.x.Usage != nil || f.x.ForkedFrom.GetNode() != tt.at {
				t.Errorf("fork = %v, want no approval, candidate, landing, usage; and where it comes from", f.x)
			}
		})
	}
}

func TestWF16_AForkKeepsWhatCameBefore(t *testing.T) {
	w := bug(t, "")
	f, _ := w.fork(t, "commit")
	for _, node := range []string{"triage", "investigate"} {
		if !proto.Equal(f.x.Nodes[node], w.x.Nodes[node]) {
			t.Errorf("%s = %v, want it as it was: %v", node, f.x.Nodes[node], w.x.Nodes[node])
		}
	}
	if !slices.Equal(f.x.Checks, w.x.Checks) || f.x.Dispatches != 0 || f.x.Transitions != 0 {
		t.Errorf("checks = %q, dispatches = %d; want %q and none", f.x.Checks, f.x.Dispatches, w.x.Checks)
	}
	f.decide(t, "approve", approve, "")
	if a := f.attempt("commit"); a.GetId() != "p-9-x1-a1" {
		t.Errorf("attempt = %v, want the first of the new execution", a)
	}
	f.answer(t, "commit", committed("c9", "p1"))
	f.answer(t, "verify", verified("c9", allChecks...))
	f.answer(t, "land", landed("c9"))
	f.wantEnd(t, completed)
	first, _ := w.fork(t, "triage")
	if !slices.Equal(first.x.Checks, []string{"go vet ./..."}) {
		t.Errorf("checks = %q, want the project's: nothing has named another", first.x.Checks)
	}
}

// Without an approval a verification or landing still needs a candidate of the
// fork's own.
func TestWF16_AForkMakesItsOwnCandidate(t *testing.T) {
	w := newWorld(t, define("s start\na task\nc task kind=commit\nv task kind=verify\nl task kind=land\ne end\ns -> a\na -> c\nc -> v\nv -> l\nl -> e"), nil)
	w.answer(t, "a", changed("p1"))
	w.answer(t, "c", committed("c1", "p1"))
	for _, duty := range []struct {
		node string
		out  *loomv1.Outcome
	}{{"v", verified("c1", "go vet ./...")}, {"l", landed("c1")}} {
		duty.out.Fields = nil
		w.answer(t, duty.node, duty.out)
	}
	for _, at := range []string{"c", "v", "l"} {
		if f, start := w.fork(t, at); start != "c" || f.status("c") != "running" {
			t.Errorf("the fork at %s starts at %s, want c", at, start)
		}
	}
}

// What was open elsewhere is not reached in the fork; what was open on the way
// is passed over; gaps go with their nodes.
func TestWF16_ForkOfParallelWork(t *testing.T) {
	const drawing = `
		s start
		a task
		b task max=1 optional
		o task
		c task
		j merge
		y task
		e end
		s -> a
		s -> b
		s -> o
		a -> c
		b -> j
		c -> j
		j -> y
		o -> e
		y -> e`
	w := newWorld(t, define(drawing), nil)
	w.answer(t, "b", bad(nil))
	f, start := w.fork(t, "y")
	if start != "y" {
		t.Errorf("it starts at %s, want y", start)
	}
	f.want(t, "a skipped", "b failed", "c skipped", "j skipped", "o running", "y running")
	if len(f.x.Gaps) != 1 {
		t.Errorf("gaps = %v, want that of b", f.x.Gaps)
	}
	g, _ := w.fork(t, "b")
	g.want(t, "a running", "b running", "o running")
	if len(g.x.Gaps) != 0 {
		t.Errorf("gaps = %v, want none: b runs again", g.x.Gaps)
	}
	_, _, err := workflow.ForkState(w.def, w.x, "x")
	wantCode(t, "a fork at nothing", err, "workflow/node")
}

// From wherever, a fork of whatever starts something or ends, can be folded
// from its events alone, and comes to an end.
func TestWF16_AnyForkEnds(t *testing.T) {
	longtest.Skip(t)
	saw := map[string]int{}
	for s := range uint64(400) {
		rng := rand.New(rand.NewPCG(s, 9))
		m := newSim(t, s, saw)
		m.play(rng.IntN(40))
		nodes := m.def.Definition().Nodes
		f, start := m.fork(t, nodes[rng.IntN(len(nodes))].Id)
		m.world, m.twin = f, proto.CloneOf(f.x)
		m.asks, m.more, m.given, m.moves = map[string]int{}, map[string]int{}, nil, f.x.Transitions
		m.free()
		m.still()
		for _, e := range f.events {
			if a := e.GetApprovalRequested().GetApproval(); a != nil && a.Reason != "" {
				m.asks[e.Node+"/1"]++
			}
		}
		m.play(20)
		m.finish()
		m.replay()
		if t.Failed() {
			t.Fatalf("seed %d, from %s\n%s\n%s", s, start, drawn(m.def.Definition()), strings.ReplaceAll(m.story(), "\n", "\n\t"))
		}
	}
}
