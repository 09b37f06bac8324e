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
	own    []*loomv1.TurnStep // what the runtime itself called after it, and what people said
	first  int                // index among all steps of the first after the answer

	planning  bool   // its answer is the architect's
	converses bool   // the turn is a conversation
	unusable  string // why nobody can act on the answer; see problem
	mark      string // cached; see signature
}

// rounds reads the recorded steps of t; the first has no answer.
func rounds(t *loomv1.Turn) []*round {
	list := []*round{newRound(nil, false, t.GetConverses())}
	planning := t.GetArchitect() != ""
	for i, s := range t.GetSteps() {
		last := list[len(list)-1]
		if s.GetAnswer() == nil {
			last.take(s)
			continue
		}
		planning = planning && !last.planned()
		next := newRound(s.GetAnswer(), planning, t.GetConverses())
		next.first = i + 1
		list = append(list, next)
	}
	return list
}

func newRound(a *loomv1.ModelAnswer, planning, converses bool) *round {
	return &round{answer: a, steps: make([]*loomv1.ToolStep, len(a.GetCalls())), planning: planning, converses: converses, unusable: problem(a, planning, converses)}
}

// lastRound returns the round of the last answer, or nil before the first.
func lastRound(t *loomv1.Turn) *round {
	steps := t.GetSteps()
	for i := len(steps) - 1; i >= 0; i-- {
		if a := steps[i].GetAnswer(); a != nil {
			r := newRound(a, t.Architect != "" && !hasPlan(steps[:i]), t.Converses)
			for _, s := range steps[i+1:] {
				r.take(s)
			}
			return r
		}
	}
	return nil
}

func (r *round) take(step *loomv1.TurnStep) {
	s := step.GetTool()
	for i, c := range r.answer.GetCalls() {
		if s != nil && !s.Runtime && c.GetId() == s.GetCall().GetId() {
			r.steps[i] = s
			return
		}
	}
	if s != nil || step.GetSaid() != nil || step.GetStopped() != nil {
		r.own = append(r.own, step)
	}
}

// ends reports whether a call is one that the core itself answers: that which
// ends the turn, or the architect's part of it.
func (r *round) ends(c *loomv1.ToolCall) bool {
	return c.GetTool() == FinishName && !r.converses || r.planning && c.GetTool() == PlanName
}

// problem says why nobody can act on an answer as it stands, or "". None of its
// calls is run then: an answer is never carried out by halves.
func problem(a *loomv1.ModelAnswer, planning, converses bool) string {
	if a.GetProblem() != "" {
		return a.Problem
	}
	end := FinishName
	if planning {
		end = PlanName
	}
	if len(a.GetCalls()) == 0 && converses {
		if a != nil && !reply(a) {
			return "your answer is empty; reply in words, or go on with a tool"
		}
		return ""
	}
	if len(a.GetCalls()) == 0 {
		return "your answer calls no tool; go on with a tool, or end your turn by calling " + end
	}
	finishes := 0
	for _, c := range a.Calls {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.GetArguments()), &object); err != nil || object == nil {
			return fmt.Sprintf("the arguments of your call of %q are not one JSON object; no call of that answer was run", c.GetTool())
		}
		if c.GetTool() == FinishName || c.GetTool() == end {
			finishes++
		}
	}
	if finishes > 1 && !converses {
		return "you called " + end + " more than once; no call of that answer was run"
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
		if !r.ends(c) && r.steps[i].GetResult() == nil {
			list = append(list, c)
		}
	}
	return list
}

// finish returns the call that ends the turn, or nil.
func (r *round) finish() *loomv1.ToolCall {
	if r.converses {
		return nil
	}
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
		if !r.ends(c) && r.steps[i].GetResult().GetStatus() != loomv1.ToolStatus_TOOL_STATUS_OK {
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
	if !r.sound() {
		return nil, ""
	}
	if p := r.planCall(); p != nil {
		_, err := ParsePlan(p.GetArguments())
		return nil, explainPlan(err)
	}
	f := r.finish()
	if f == nil {
		return nil, ""
	}
	out, err := ParseOutcome(n, f.GetArguments())
	if err != nil {
		return nil, explain(err)
	}
	return out, ""
}
