package turn

import (
	"encoding/json"
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// round is an answer of the model and what became of its calls. The round
// before the first answer has none.
type round struct {
	answer *loomv1.ModelAnswer
	steps  []*loomv1.ToolStep // of the answer's calls; nil where not yet intended
	own    []*loomv1.ToolStep // what the runtime itself called after it

	unusable string // why nobody can act on the answer; see problem
	mark     string // cached; see signature
}

// rounds reads the recorded steps of t; the first has no answer.
func rounds(t *loomv1.Turn) []*round {
	list := []*round{newRound(nil)}
	for _, s := range t.GetSteps() {
		switch s := s.GetStep().(type) {
		case *loomv1.TurnStep_Answer:
			list = append(list, newRound(s.Answer))
		case *loomv1.TurnStep_Tool:
			list[len(list)-1].take(s.Tool)
		}
	}
	return list
}

func newRound(a *loomv1.ModelAnswer) *round {
	return &round{answer: a, steps: make([]*loomv1.ToolStep, len(a.GetCalls())), unusable: problem(a)}
}

// lastRound returns the round of the last answer, or nil before the first.
func lastRound(t *loomv1.Turn) *round {
	steps := t.GetSteps()
	for i := len(steps) - 1; i >= 0; i-- {
		if a := steps[i].GetAnswer(); a != nil {
			r := newRound(a)
			for _, s := range steps[i+1:] {
				r.take(s.GetTool())
			}
			return r
		}
	}
	return nil
}

func (r *round) take(s *loomv1.ToolStep) {
	for i, c := range r.answer.GetCalls() {
		if !s.GetRuntime() && c.GetId() == s.GetCall().GetId() {
			r.steps[i] = s
			return
		}
	}
	r.own = append(r.own, s)
}

// problem says why nobody can act on an answer as it stands, or "". None of its
// calls is run then: an answer is never carried out by halves.
func problem(a *loomv1.ModelAnswer) string {
	if a.GetProblem() != "" {
		return a.Problem
	}
	if len(a.GetCalls()) == 0 {
		return "your answer calls no tool; go on with a tool, or end your turn by calling " + FinishName
	}
	finishes := 0
	for _, c := range a.Calls {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.GetArguments()), &object); err != nil || object == nil {
			return fmt.Sprintf("the arguments of your call of %q are not one JSON object; no call of that answer was run", c.GetTool())
		}
		if c.GetTool() == FinishName {
			finishes++
		}
	}
	if finishes > 1 {
		return "you called " + FinishName + " more than once; no call of that answer was run"
	}
	return ""
}

// pending returns the calls that still need an outcome.
func (r *round) pending() []*loomv1.ToolCall {
	if r.unusable != "" {
		return nil
	}
	var list []*loomv1.ToolCall
	for i, c := range r.answer.GetCalls() {
		if c.GetTool() != FinishName && r.steps[i].GetResult() == nil {
			list = append(list, c)
		}
	}
	return list
}

// finish returns the call that ends the turn, or nil.
func (r *round) finish() *loomv1.ToolCall {
	for _, c := range r.answer.GetCalls() {
		if c.GetTool() == FinishName {
			return c
		}
	}
	return nil
}

// sound says whether every call beside finish did what it was asked.
func (r *round) sound() bool {
	for i, c := range r.answer.GetCalls() {
		if c.GetTool() != FinishName && r.steps[i].GetResult().GetStatus() != loomv1.ToolStatus_TOOL_STATUS_OK {
			return false
		}
	}
	return true
}

// verdict says what an answer whose calls have ended amounts to: an outcome,
// or a problem for which it has to be mended, or neither.
func (r *round) verdict(n *loomv1.NodeDefinition) (out *loomv1.Outcome, problem string) {
	if r.unusable != "" {
		return nil, r.unusable
	}
	f := r.finish()
	if f == nil || !r.sound() {
		return nil, ""
	}
	out, err := ParseOutcome(n, f.GetArguments())
	if err != nil {
		return nil, explain(err)
	}
	return out, ""
}
