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
}

// rounds reads the recorded steps of t; the first has no answer.
func rounds(t *loomv1.Turn) []*round {
	list := []*round{{}}
	for _, s := range t.GetSteps() {
		now := list[len(list)-1]
		switch s := s.GetStep().(type) {
		case *loomv1.TurnStep_Answer:
			list = append(list, &round{answer: s.Answer, steps: make([]*loomv1.ToolStep, len(s.Answer.GetCalls()))})
		case *loomv1.TurnStep_Tool:
			now.take(s.Tool)
		}
	}
	return list
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

// lastRound returns the round of the last answer, or nil before the first.
func lastRound(t *loomv1.Turn) *round {
	list := rounds(t)
	if len(list) == 1 {
		return nil
	}
	return list[len(list)-1]
}

// unusable says why nobody can act on the answer as it stands, or "". None of
// its calls is run then: an answer is never carried out by halves.
func (r *round) unusable() string {
	if r.answer.GetProblem() != "" {
		return r.answer.Problem
	}
	if len(r.answer.GetCalls()) == 0 {
		return "your answer calls no tool; go on with a tool, or end your turn by calling " + FinishName
	}
	finishes := 0
	for _, c := range r.answer.Calls {
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
	if r.unusable() != "" {
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
	if p := r.unusable(); p != "" {
		return nil, p
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
