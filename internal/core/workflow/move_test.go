package workflow_test

import (
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (w *world) move(t testing.TB, to string) {
	t.Helper()
	if err := w.run().Move(to, "because"); err != nil {
		t.Fatalf("Move(%s): %v", to, err)
	}
}

// WF09: the CEO moves on to any node: back, ahead, aside, to an end.
func TestWF09_Move(t *testing.T) {
	const drawing = `
		s start
		a task
		b task
		c task
		g approval
		o task
		j merge
		e end
		s -> a
		a -> b
		a -> o
		b -> c
		c -> g
		o -> j
		g -> j
		j -> e`
	for _, tt := range []struct {
		name  string
		until func(*testing.T, *world)
		to    string
		story string
		runs  []string
	}{
		{
			"back to what has run", func(t *testing.T, w *world) { w.answer(t, "a", good(nil)); w.answer(t, "b", good(nil)) }, "a",
			`c answered failure attempt/withdrawn
			o answered failure attempt/withdrawn
			moved from c to a: a b c o; a-b a-o b-c
			a dispatched to researcher: 2.1`,
			[]string{"a running", "b unspecified", "o unspecified"},
		},
		{
			"back within a branch, which leaves the other", func(t *testing.T, w *world) {
				w.answer(t, "a", good(nil))
				w.answer(t, "b", good(nil))
				w.answer(t, "o", good(nil))
			}, "b",
			`c answered failure attempt/withdrawn
			moved from c to b: b c; b-c
			b dispatched to researcher: 2.1`,
			[]string{"o succeeded", "b running"},
		},
		{
			"to where it is", func(*testing.T, *world) {}, "a",
			`a answered failure attempt/withdrawn
			moved from a to a: a;
			a dispatched to researcher: 2.1`, nil,
		},
		{
			"ahead, past what runs and what was not reached", func(t *testing.T, w *world) { w.answer(t, "a", good(nil)) }, "g",
			`b answered failure attempt/withdrawn
			o answered failure attempt/withdrawn
			moved from b to g: ;
			b skipped
			b-c dead
			c skipped
			c-g taken: override
			o skipped
			o-j dead
			g asks:`,
			[]string{"g waiting", "o skipped"},
		},
		{
			"to an end", func(*testing.T, *world) {}, "e",
			`a answered failure attempt/withdrawn
			moved from a to e: ;
			a skipped
			a-b dead
			a-o dead
			b skipped
			b-c dead
			c skipped
			c-g dead
			g skipped
			g-j dead
			o skipped
			o-j dead
			j skipped
			j-e taken: override
			completed`,
			nil,
		},
		{
			"to the start", func(t *testing.T, w *world) { w.answer(t, "a", good(nil)) }, "s",
			`b answered failure attempt/withdrawn
			o answered failure attempt/withdrawn
			moved from b to s: s a b o; s-a a-b a-o
			s-a taken: success
			a dispatched to researcher: 2.1`,
			[]string{"a running"},
		},
		{
			"to a merge", func(t *testing.T, w *world) { w.answer(t, "a", good(nil)); w.answer(t, "o", good(nil)) }, "j",
			`b answered failure attempt/withdrawn
			moved from b to j: ;
			b skipped
			b-c dead
			c skipped
			c-g dead
			g skipped
			g-j dead
			j-e taken: success
			completed`,
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, define(drawing), nil)
			tt.until(t, w)
			n := len(w.events)
			w.move(t, tt.to)
			check(t, w.since(n), tt.story)
			w.want(t, tt.runs...)
		})
	}
}

// WF09: what every edge has passed by runs all the same when the CEO says so,
// and so it does when work is sent back there.
func TestWF09_MoveToADeadPath(t *testing.T) {
	w := newWorld(t, define("s start\na task\nb task\nc task\ne end\ns -> a\na -> b ? false\na -> c\nb -> c\nc -> e"), nil)
	w.answer(t, "a", good(nil))
	n := len(w.events)
	w.move(t, "b")
	check(t, w.since(n), `c answered failure attempt/withdrawn
		moved from c to b: b c; b-c a-b
		a-b taken: override
		b dispatched to researcher: 2.1`)
	w.answer(t, "b", good(nil))
	w.answer(t, "c", good(nil))
	w.wantEnd(t, completed)
}

func TestWF05_ReworkRunsWhatTheCEOHadPassedOver(t *testing.T) {
	w := newWorld(t, define("s start\nd decision\na task\nb task max=1\ne end\ns -> d\nd -> a\na -> b\nb -> e", func(n map[string]*loomv1.NodeDefinition) {
		n["b"].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "d"}}}
	}, gated("a", "false", blocks, "", 0)), nil)
	w.move(t, "b")
	n := len(w.events)
	w.answer(t, "b", bad(nil))
	check(t, w.since(n), `b answered failure tool/failed
		b sends back to d (1): d a b
		d-a taken: success
		gate of a: block
		a asks: gate/blocked`)
}

// WF09: what was approved lapses with an approval that begins anew, and the
// evidence that duties need is never made up by a move.
func TestWF09_AMoveStandsInForNoEvidence(t *testing.T) {
	t.Run("back before the approval", func(t *testing.T) {
		w := bug(t, "verify")
		n := len(w.events)
		w.move(t, "investigate")
		check(t, w.since(n), `verify answered failure attempt/withdrawn
			approval lapsed: the CEO moved on to investigate
			moved from verify to investigate: investigate approve commit verify; investigate-approve approve-commit commit-verify
			investigate dispatched to web-designer: 2.1`)
		if w.x.Approved != nil {
			t.Errorf("approved = %v, want none", w.x.Approved)
		}
		w.answer(t, "investigate", good(nil))
		w.move(t, "commit")
		n = len(w.events)
		w.answer(t, "commit", committed("c2", "p1"))
		check(t, w.since(n), "commit answered failure outcome/no-evidence\ncommit backs off")
	})
	t.Run("back behind the approval", func(t *testing.T) {
		w := bug(t, "land")
		w.move(t, "commit")
		if w.x.Approved.GetPatchDigest() != "p1" {
			t.Errorf("approved = %v, want p1 still", w.x.Approved)
		}
		w.answer(t, "commit", committed("c2", "p1"))
		w.move(t, "land") // past a verification of c2
		n := len(w.events)
		w.answer(t, "land", landed("c2"))
		check(t, w.since(n), "land answered failure outcome/no-evidence\nland sends back to commit (1): commit verify land\ncommit dispatched to engineering-manager: 3.1")
	})
	t.Run("ahead of everything", func(t *testing.T) {
		w := newWorld(t, autoBug(), nil)
		w.move(t, "land")
		n := len(w.events)
		w.answer(t, "land", landed("c1"))
		check(t, w.since(n), `land answered failure outcome/no-evidence
			land sends back to commit (1): commit verify land
			approve-commit taken: override
			commit dispatched to engineering-manager: 2.1`)
		w.answer(t, "commit", committed("c1", "p1"))
		w.want(t, "commit backoff")
	})
	t.Run("what is verified lands", func(t *testing.T) {
		w := bug(t, "land")
		w.move(t, "land")
		w.answer(t, "land", landed("c1"))
		w.wantEnd(t, completed)
	})
}

// A move answers the questions about nodes, and not the one about a limit.
func TestWF09_AMoveWithdrawsWhatIsAskedAtNodes(t *testing.T) {
	w := newWorld(t, define("s start\na task max=1 critical\ng approval\nb task\ne end\ns -> a\ns -> g\na -> b\ng -> b\nb -> e"), nil)
	w.answer(t, "a", bad(nil))
	w.askLimit(t)
	n := len(w.events)
	w.move(t, "b")
	check(t, w.since(n), `approval lapsed: the CEO moved on to b
		approval lapsed: the CEO moved on to b
		moved from a to b: ;
		a skipped
		a-b taken: override
		g skipped
		g-b dead`)
	if w.x.LimitApproval == "" || w.x.HaltedBy != "" {
		t.Errorf("limit %q, halted by %q; want the limit still asked about, and nothing halted", w.x.LimitApproval, w.x.HaltedBy)
	}
	n = len(w.events)
	w.decide(t, "", approve, "")
	check(t, strings.TrimSpace(w.since(n)), "decided: approve\nb dispatched to researcher: 1.1")
}

// A move reads the gate of the node it goes to, and waits while it is held.
func TestWF09_AMoveFollowsTheStartRule(t *testing.T) {
	w := newWorld(t, define(inTurn, gated("b", "false", blocks, "", 0)), nil)
	w.pause(t)
	w.move(t, "b")
	w.want(t, "b unspecified")
	w.resume(t)
	w.want(t, "b waiting")
	w.move(t, "b") // a new visit, so that no answer to the old question counts
	if a := w.approval("b"); a.GetVisit() != 2 {
		t.Errorf("approval = %v, want one of the second visit", a)
	}
}

func TestWF09_MovesThatAreRefused(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
	n := len(w.events)
	wantCode(t, "nowhere", w.run().Move("x", ""), "workflow/node")
	if len(w.events) != n {
		t.Errorf("a refusal emitted %s", w.since(n))
	}
	w.answer(t, "a", good(nil))
	wantCode(t, "after the end", w.run().Move("a", ""), "override/ended")
}

func TestWF11_AMoveIsATransition(t *testing.T) {
	w := newWorld(t, define(inTurn), nil)
	before := w.x.Transitions
	w.move(t, "a")
	if got := w.x.Transitions - before; got != 1 {
		t.Errorf("a move back counts as %d transitions, want 1", got)
	}
}
