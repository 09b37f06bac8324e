package project_test

import (
	"fmt"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// chain is a definition of n tasks one after another, each of which may be
// dispatched a hundred times.
func chain(name string, n int) *loomv1.Definition {
	def := &loomv1.Definition{Name: name, Version: "1.0", Nodes: []*loomv1.NodeDefinition{
		{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START}, {Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
	}}
	last := "start"
	for i := range n {
		id := fmt.Sprintf("t%03d", i)
		def.Nodes = append(def.Nodes, &loomv1.NodeDefinition{Id: id, Type: loomv1.NodeType_NODE_TYPE_TASK, Role: "researcher", MaxAttempts: 100, MultiDispatch: true})
		def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: "to-" + id, From: last, To: id})
		last = id
	}
	def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: "to-end", From: last, To: "end"})
	return def
}

// step takes the next attempt and answers it with 200 bytes of notes; it
// returns how large all facts of both are.
func (y *yard) step(last bool) int {
	who := agentOf("researcher", 1)
	before := y.s.Number()
	claim := &loomv1.Command{Project: "shop", Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: "shop-1-x1-a1", Generation: 1, Claimant: who, Any: true,
	}}}
	events, answer, err := y.s.Do(y.now, claim)
	if err != nil || answer.Error != nil {
		y.fatal.Fatalf("claim after %d events: %v, %v", before, answer.GetError(), err)
	}
	status := loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE
	if last {
		status = success
	}
	return bytesOf(events) + y.size(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
		Attempt: answer.GetBrief().Attempt.Id, Claimant: who,
		Outcome: &loomv1.Outcome{Status: status, Summary: "done", Notes: strings.Repeat("n", 200)},
	}}})
}

// steps has one execution do n steps, a hundred of each task, and returns the
// size of the facts of each.
func steps(y *yard, n int) (sizes []int) {
	y.store(chain("chain", n/100))
	y.file("chain", normal)
	for i := range n {
		sizes = append(sizes, y.step(i%100 == 99))
	}
	return sizes
}

// What a step writes does not grow with the steps before it in its execution,
// up to the longer numbers.
func TestWF10_AStepWritesNoMoreWhateverCameBefore(t *testing.T) {
	sizes := steps(newYard(t, "researcher"), 1000)
	if first, last := sizes[9], sizes[989]; last > first+first/10 {
		t.Errorf("step 10 writes %d bytes, step 990 writes %d", first, last)
	}
}

// BenchmarkLog is the same for 10,000 steps of one execution, each with 200 bytes
// of notes: bytes of the facts of the tenth, and of one shortly before the last.
func BenchmarkLog(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		sizes := steps(newYard(b, "researcher"), n)
		b.ReportMetric(float64(sizes[9]), "B/step-10")
		b.ReportMetric(float64(sizes[n-11]), "B/step-9990")
	}
}
