package workflow_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// BenchmarkAutoBug runs one auto-bug execution from report to main, with two
// cycles of investigation: 7 commands and 8 transitions.
func BenchmarkAutoBug(b *testing.B) {
	c, err := workflow.Compile(autoBug())
	if err != nil {
		b.Fatal(err)
	}
	answers := []struct {
		node string
		out  *loomv1.Outcome
	}{
		{"triage", triaged("high")},
		{"investigate", more()},
		{"investigate", changed("p1")},
		{"approve", nil},
		{"commit", committed("c1", "p1")},
		{"verify", verified("c1", allChecks...)},
		{"land", landed("c1")},
	}
	events := 0
	b.ReportAllocs()
	for b.Loop() {
		w := &world{def: c, now: noon, approvals: map[string]*loomv1.Approval{}, bead: &loomv1.Bead{Id: "p-1"}, x: &loomv1.Execution{}}
		if err := w.begin("auto-bug-workflow"); err != nil {
			b.Fatal(err)
		}
		for _, a := range answers {
			if a.out == nil {
				w.decide(b, a.node, approve, "")
			} else {
				w.answer(b, a.node, a.out)
			}
		}
		if w.x.Status != completed {
			b.Fatal(w.story())
		}
		events = len(w.events)
	}
	b.ReportMetric(float64(events), "events")
}

// BenchmarkReplay folds the events of one auto-bug execution, as a host does
// for each execution when it takes over a project.
func BenchmarkReplay(b *testing.B) {
	events := bug(b, "").events
	b.ReportAllocs()
	for b.Loop() {
		x := &loomv1.Execution{}
		for _, e := range events {
			if err := workflow.Apply(x, e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkWide settles a fork of many branches and its join.
func BenchmarkWide(b *testing.B) {
	for _, width := range []int{10, 100} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			drawing := "s start\nj merge\ne end\nj -> e\n"
			for i := range width {
				drawing += fmt.Sprintf("n%d task\ns -> n%d\nn%d -> j\n", i, i, i)
			}
			c, err := workflow.Compile(define(drawing))
			if err != nil {
				b.Fatal(err)
			}
			done := good(nil)
			for b.Loop() {
				w := &world{def: c, now: noon, approvals: map[string]*loomv1.Approval{}, bead: &loomv1.Bead{Id: "p-1"}, x: &loomv1.Execution{}}
				if err := w.begin("wide"); err != nil {
					b.Fatal(err)
				}
				for i := range width {
					w.answer(b, fmt.Sprintf("n%d", i), proto.CloneOf(done))
				}
				if w.x.Status != completed {
					b.Fatal(w.story())
				}
			}
		})
	}
}
