package workflow_test

import (
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	completed = loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED
	withGaps  = loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED_WITH_GAPS
)

// okField lets conditions of a task ask outcome.ok.
func okField(ids ...string) func(map[string]*loomv1.NodeDefinition) {
	return func(n map[string]*loomv1.NodeDefinition) {
		for _, id := range ids {
			n[id].Outcome = map[string]string{"ok": "bool"}
		}
	}
}

func ok(v bool) *loomv1.Outcome { return good(map[string]any{"ok": v}) }

func TestWF03_StartRule(t *testing.T) {
	for _, tt := range []struct {
		name, drawing string
		fields        []string
		play          func(*testing.T, *world)
		want          []string
		story         string // from the beginning; not compared when empty
	}{
		{
			name: "nothing to do",
			drawing: `s start
				e end
				s -> e`,
			want:  []string{"s succeeded", "e succeeded"},
			story: "s-e taken: success\ncompleted",
		},
		{
			name: "a join waits for all its edges",
			drawing: `s start
				a task
				b task
				j merge
				e end
				s -> a
				s -> b
				a -> j
				b -> j
				j -> e`,
			play: func(t *testing.T, w *world) {
				w.answer(t, "b", good(nil))
				w.want(t, "a running", "j unspecified")
				w.answer(t, "a", good(nil))
			},
			want: []string{"j succeeded", "e succeeded"},
		},
		{
			name: "a join starts when one edge is dead and one was taken",
			drawing: `s start
				d decision
				a task
				b task
				j task
				e end
				s -> d
				d -> a ? false
				d -> b
				a -> j
				b -> j
				j -> e`,
			play: func(t *testing.T, w *world) {
				w.want(t, "a skipped", "b running", "j unspecified")
				w.answer(t, "b", good(nil))
				w.answer(t, "j", good(nil))
			},
			want: []string{"a skipped", "j succeeded", "e succeeded"},
		},
		{
			name: "a dead path is dead to its end",
			drawing: `s start
				a task
				b task
				c task
				g approval
				m merge
				e end
				s -> a
				a -> b ? outcome.ok
				a -> e ? !outcome.ok
				b -> c
				c -> g
				g -> m
				m -> e`,
			fields: []string{"a"},
			play:   func(t *testing.T, w *world) { w.answer(t, "a", ok(false)) },
			want:   []string{"b skipped", "c skipped", "g skipped", "m skipped", "e succeeded"},
			story: `s-a taken: success
				a dispatched to researcher: 1.1
				a answered success
				a-b dead
				a-e taken: success
				b skipped
				b-c dead
				c skipped
				c-g dead
				g skipped
				g-m dead
				m skipped
				m-e dead
				completed`,
		},
		{
			name: "of several ends one is enough, and the others are skipped",
			drawing: `s start
				a task
				b task
				e end
				f end
				s -> a
				a -> e ? outcome.ok
				a -> b ? !outcome.ok
				b -> f`,
			fields: []string{"a"},
			play:   func(t *testing.T, w *world) { w.answer(t, "a", ok(true)) },
			want:   []string{"e succeeded", "f skipped"},
		},
		{
			name: "an end does not end what still runs",
			drawing: `s start
				a task
				e end
				f end
				s -> e
				s -> a
				a -> f`,
			play: func(t *testing.T, w *world) {
				w.want(t, "e succeeded", "a running")
				w.wantEnd(t, loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING)
				w.answer(t, "a", good(nil))
			},
			want: []string{"f succeeded"},
		},
		{
			name: "a decision reads the outcomes before it",
			drawing: `s start
				a task
				d decision
				b task
				e end
				s -> a
				a -> d
				d -> b ? outcome.a.ok
				d -> e ? !outcome.a.ok
				b -> e`,
			fields: []string{"a"},
			play:   func(t *testing.T, w *world) { w.answer(t, "a", ok(false)) },
			want:   []string{"d succeeded", "b skipped", "e succeeded"},
		},
		{
			name: "a branch may die when another leads to the end",
			drawing: `s start
				a task
				b task
				e end
				s -> a
				s -> b
				a -> e ? outcome.ok
				b -> e`,
			fields: []string{"a"},
			play: func(t *testing.T, w *world) {
				w.answer(t, "a", ok(false))
				w.want(t, "a succeeded")
				w.answer(t, "b", good(nil))
			},
			want: []string{"e succeeded"},
		},
		{
			name: "two edges between the same nodes count once each",
			drawing: `s start
				a task
				e end
				s -> a
				a -> e
				a -> e !`,
			play: func(t *testing.T, w *world) { w.answer(t, "a", good(nil)) },
			want: []string{"e succeeded"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, define(tt.drawing, okField(tt.fields...)), nil)
			if tt.play != nil {
				tt.play(t, w)
			}
			w.want(t, tt.want...)
			w.wantEnd(t, completed)
			if tt.story != "" {
				check(t, w.story(), tt.story)
			}
		})
	}
}

// When the last way to an end would die, the execution neither hangs nor ends:
// the node whose edges do not hold is escalated.
func TestWF03_NoWayToAnEndEscalates(t *testing.T) {
	const drawing = `
		s start
		a task
		b task
		e end
		s -> a
		s -> b
		a -> e ? outcome.ok
		b -> e ? outcome.ok`
	begin := func(t *testing.T) *world {
		w := newWorld(t, define(drawing, okField("a", "b")), nil)
		w.answer(t, "a", ok(false))
		w.want(t, "a succeeded", "b running") // b may still lead to the end
		w.answer(t, "b", ok(false))
		w.want(t, "b waiting", "e unspecified")
		if got, want := w.approval("b").Reason, `workflow/dead-end: no edge of "b" holds, and nothing else leads to an end`; got != want {
			t.Errorf("reason = %q, want %q", got, want)
		}
		return w
	}
	t.Run("approve goes on all the same", func(t *testing.T) {
		w := begin(t)
		w.decide(t, "b", approve, "")
		w.want(t, "b succeeded", "e succeeded")
		w.wantEnd(t, completed)
	})
	t.Run("retry does the work again", func(t *testing.T) {
		w := begin(t)
		w.decide(t, "b", retry, "")
		w.answer(t, "b", ok(true))
		w.wantEnd(t, completed)
	})
	t.Run("reject ends it", func(t *testing.T) {
		w := begin(t)
		w.decide(t, "b", reject, "not worth it")
		w.wantEnd(t, loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED)
	})
	t.Run("at the start node too", func(t *testing.T) {
		w := newWorld(t, define("s start\ne end\ns -> e ? context.go"), map[string]any{"go": false})
		w.want(t, "s waiting")
		w.decide(t, "s", skip, "")
		w.wantEnd(t, completed)
	})
}

// A condition that has no value loses no work: the CEO is asked.
func TestWF03_ConditionWithoutAValueEscalates(t *testing.T) {
	const drawing = `
		s start
		d decision
		a task
		b task
		e end
		s -> d
		d -> a ? context.kind == "a"
		d -> b ? !has(context.kind)
		a -> e
		b -> e`
	w := newWorld(t, define(drawing), nil)
	w.want(t, "d waiting", "a unspecified")
	w.decide(t, "d", retry, "") // nothing has changed, so it is asked again
	w.want(t, "d waiting")
	n := len(w.events)
	w.decide(t, "d", approve, "")
	check(t, w.since(n), `
		d decided: approve
		d-a dead
		d-b taken: override
		a skipped
		a-e dead
		b dispatched to researcher: 1.1`)
}

func TestWF03_BeginTwiceDoesNothing(t *testing.T) {
	w := newWorld(t, autoBug(), nil)
	n := len(w.events)
	if err := w.run().Begin(); err != nil || len(w.events) != n {
		t.Errorf("second Begin: %v and %d events, want neither", err, len(w.events)-n)
	}
}
