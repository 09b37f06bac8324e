package workflow_test

import (
	"fmt"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A fork and its join, with one branch that dies: the join waits for what is
// left, and nothing hangs.
func Example_startRule() {
	w := exampleWorld(`
		start start
		choose decision
		quick task
		deep task
		check task
		join merge
		end end
		start -> choose
		choose -> quick ? context.hurry
		choose -> deep ? !context.hurry
		choose -> check
		quick -> join
		deep -> join
		check -> join
		join -> end`, map[string]any{"hurry": true})
	w.do("check", good(nil))
	w.do("quick", good(nil))
	fmt.Println(w.story())
	// Output:
	// start-choose taken: success
	// choose-quick taken: success
	// choose-deep dead
	// choose-check taken: success
	// quick dispatched to researcher: 1.1
	// deep skipped
	// deep-join dead
	// check dispatched to researcher: 1.1
	// check answered success
	// check-join taken: success
	// quick answered success
	// quick-join taken: success
	// join-end taken: success
	// completed
}

// A failure is tried again after a backoff; when the attempts are used up, the
// CEO is asked, once.
func Example_escalation() {
	w := exampleWorld(`
		start start
		work task max=2
		end end
		start -> work
		work -> end`, nil)
	w.do("work", bad(nil))
	at, _ := workflow.Next(w.x, nil, 0)
	w.now = at
	fmt.Println(w.run().Tick())
	w.do("work", bad(nil))
	a := w.approval("work")
	fmt.Println(a.Question)
	fmt.Println(a.Reason)
	for _, step := range a.NextSteps {
		fmt.Println("-", step)
	}
	// Output:
	// <nil>
	// work cannot go on by itself: how is "mend it" to continue?
	// attempt/exhausted: 2 attempts in visit 1 of "work"; the last: it broke
	// - approve: go on after work
	// - retry: give work 2 more attempts; it must see pass "go vet ./..."
	// - skip: go on without work
	// - reject: close the workflow and the bead
}

// Rework sends failed work back to an ancestor and resets what lies between,
// at most so many times.
func Example_rework() {
	w := exampleWorld(`
		start start
		write task
		review task max=1
		end end
		start -> write
		write -> review
		review -> end`, nil, func(n map[string]*loomv1.NodeDefinition) {
		n["review"].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "write"}}}
	})
	w.do("write", good(nil))
	n := len(w.events)
	w.do("review", bad(nil))
	w.do("write", good(nil))
	w.do("review", bad(nil))
	fmt.Println(w.since(n))
	// Output:
	// review answered failure tool/failed
	// review sends back to write (1): write review
	// write dispatched to researcher: 2.1
	// write answered success
	// write-review taken: success
	// review dispatched to researcher: 2.1
	// review answered failure tool/failed
	// review asks: attempt/exhausted
}

// Every event says by itself whether it is a transition.
func ExampleTransition() {
	w := exampleWorld("start start\nwork task multi\nend end\nstart -> work\nwork -> end", nil)
	w.do("work", more())
	w.do("work", good(nil))
	for _, e := range w.events {
		if from, to, why, ok := workflow.Transition(e); ok {
			fmt.Printf("%s -> %s: %s\n", from, to, why)
		}
	}
	// Output:
	// start -> work: success
	// work -> work: continue
	// work -> end: success
}

// shown is a world whose steps panic instead of failing a test.
type shown struct{ *world }

func exampleWorld(drawing string, context map[string]any, change ...func(map[string]*loomv1.NodeDefinition)) shown {
	w, err := beginWorld(define(drawing, change...), context)
	if err != nil {
		panic(err)
	}
	return shown{w}
}

func (s shown) do(node string, out *loomv1.Outcome) {
	a := s.attempt(node)
	if err := s.run().Answer(a.GetId(), by(a.GetRole()), out); err != nil {
		panic(err)
	}
}
