package play_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/test/play"
)

// A fork in which everybody answers as before goes the same way, but for what
// was done before its node.
func TestWF16_AForkWithNoChangeGoesTheSameWay(t *testing.T) {
	ways := map[string][]string{}
	s := play.Open("shop", 0, func(b *loomv1.Batch) {
		for _, e := range b.Events {
			if from, to, outcome, ok := workflow.Transition(e); ok {
				ways[e.Execution] = append(ways[e.Execution], fmt.Sprintf("%s -> %s %s", from, to, outcome))
			}
		}
	})
	first := s.ToApproval("p1")
	s.Decide(play.Approve, "fine")
	s.Finish("p1")
	fork := s.Do(&loomv1.Command{Body: &loomv1.Command_ForkExecution{ForkExecution: &loomv1.ForkExecution{
		Execution: first.Execution, Node: "investigate", Request: "f1",
	}}}).GetSubmit()
	s.Work("backend-engineer", play.Outcome(play.More, nil))
	s.Propose("p1")
	s.Decide(play.Approve, "fine")
	s.Finish("p1")
	whole, again := ways[first.Execution], ways[fork.Execution]
	if len(again) < 6 || !slices.Equal(whole[len(whole)-len(again):], again) || whole[len(whole)-len(again)-1] != "triage -> investigate success" {
		t.Errorf("the fork went\n%q\nafter\n%q", again, whole)
	}
}
