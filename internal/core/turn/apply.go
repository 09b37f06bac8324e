package turn

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Apply folds a fact of a turn into t. It never panics and leaves t as it was
// when it returns an error: for a fact that is not of a turn, or that cannot
// follow what is recorded. A fact that is recorded already changes nothing.
//
// It keeps references to parts of e but changes none of them, nor a step that
// t already has: steps are replaced, so a copy of t's list of steps stays
// true.
func Apply(t *loomv1.Turn, e *loomv1.Event) error {
	if e.GetAttempt() != "" && t.Attempt != "" && e.Attempt != t.Attempt {
		return fmt.Errorf("turn of attempt %q: a fact of attempt %q", t.Attempt, e.Attempt)
	}
	var err error
	switch f := e.GetFact().(type) {
	case *loomv1.Event_TurnStarted:
		applyStarted(t, e, f.TurnStarted)
	case *loomv1.Event_ModelAnswered:
		err = applyAnswered(t, e, f.ModelAnswered.GetAnswer())
	case *loomv1.Event_ToolIntended:
		err = applyIntended(t, e, f.ToolIntended.GetTool())
	case *loomv1.Event_ToolFinished:
		err = applyFinished(t, f.ToolFinished)
	case *loomv1.Event_TurnCompacted:
		err = applyCompacted(t, e, f.TurnCompacted.GetCompaction())
	case *loomv1.Event_MessageHeard:
		err = applyHeard(t, e, f.MessageHeard.GetSaid())
	case *loomv1.Event_TurnStopped:
		err = applyStopped(t, e, f.TurnStopped.GetStop())
	default:
		err = fmt.Errorf("%T is no fact of a turn", e.GetFact())
	}
	if err != nil {
		return fmt.Errorf("turn of attempt %q: %w", t.Attempt, err)
	}
	if t.Attempt == "" {
		t.Attempt = e.Attempt
	}
	return nil
}

func applyStarted(t *loomv1.Turn, e *loomv1.Event, f *loomv1.TurnStarted) {
	if !Started(t) {
		t.Model, t.Prompt, t.StartedAt, t.Architect, t.Without = f.GetModel(), f.GetPrompt(), e.Time, f.GetArchitect(), f.GetWithout()
		t.Converses = f.GetConverses()
	}
}

func applyAnswered(t *loomv1.Turn, e *loomv1.Event, a *loomv1.ModelAnswer) error {
	if a == nil {
		return fmt.Errorf("an answer without content")
	}
	if known := answerTo(t, a.Request); known != nil {
		return same(known, a, "request", a.Request)
	}
	t.Steps = append(t.Steps, &loomv1.TurnStep{Time: e.Time, Step: &loomv1.TurnStep_Answer{Answer: a}})
	t.Iterations++
	return nil
}

func applyIntended(t *loomv1.Turn, e *loomv1.Event, s *loomv1.ToolStep) error {
	id := s.GetCall().GetId()
	if id == "" {
		return fmt.Errorf("a tool call without an id")
	}
	if i := stepOf(t, id); i >= 0 {
		return same(t.Steps[i].GetTool().Call, s.Call, "call", id)
	}
	step := &loomv1.ToolStep{Call: s.Call, Class: s.Class, Runtime: s.Runtime}
	t.Steps = append(t.Steps, toolStep(e, step))
	return nil
}

func applyFinished(t *loomv1.Turn, f *loomv1.ToolFinished) error {
	i := stepOf(t, f.GetCall())
	if i < 0 || f.GetResult() == nil {
		return fmt.Errorf("an outcome of call %q, which was never intended", f.GetCall())
	}
	old := t.Steps[i]
	s := old.GetTool()
	if s.Result != nil {
		return same(s.Result, f.Result, "call", f.Call)
	}
	done := &loomv1.ToolStep{Call: s.Call, Class: s.Class, Runtime: s.Runtime, Result: f.Result}
	t.Steps[i] = &loomv1.TurnStep{Time: old.Time, Step: &loomv1.TurnStep_Tool{Tool: done}}
	return nil
}

func applyCompacted(t *loomv1.Turn, e *loomv1.Event, c *loomv1.Compaction) error {
	switch old := compaction(t); {
	case c == nil || c.Summary == nil:
		return fmt.Errorf("a compaction without a summary")
	case old != nil && proto.Equal(old, c):
		return nil
	}
	t.Steps = append(t.Steps, &loomv1.TurnStep{Time: e.Time, Step: &loomv1.TurnStep_Compacted{Compacted: c}})
	return nil
}

func applyHeard(t *loomv1.Turn, e *loomv1.Event, s *loomv1.Said) error {
	if s.GetId() == "" {
		return fmt.Errorf("a message without an id")
	}
	if known := heard(t, s.Id); known != nil {
		return same(known, s, "message", s.Id)
	}
	t.Steps = append(t.Steps, &loomv1.TurnStep{Time: e.Time, Step: &loomv1.TurnStep_Said{Said: s}})
	return nil
}

// compaction returns the one that is in force, or nil.
func compaction(t *loomv1.Turn) *loomv1.Compaction {
	for _, s := range slices.Backward(t.GetSteps()) {
		if c := s.GetCompacted(); c != nil {
			return c
		}
	}
	return nil
}

// heard returns the message of that id that the model was told, or nil.
func heard(t *loomv1.Turn, id string) *loomv1.Said {
	for _, s := range t.GetSteps() {
		if said := s.GetSaid(); said != nil && said.Id == id {
			return said
		}
	}
	return nil
}

func toolStep(e *loomv1.Event, s *loomv1.ToolStep) *loomv1.TurnStep {
	return &loomv1.TurnStep{Time: e.GetTime(), Step: &loomv1.TurnStep_Tool{Tool: s}}
}

// same tells a repeat, which is nothing, from a contradiction.
func same(known, given proto.Message, what, id string) error {
	if proto.Equal(known, given) {
		return nil
	}
	return fmt.Errorf("%s %q is recorded with another content", what, id)
}

// answerTo returns the recorded answer to a request, or nil.
func answerTo(t *loomv1.Turn, request string) *loomv1.ModelAnswer {
	for _, s := range t.GetSteps() {
		if a := s.GetAnswer(); a != nil && a.Request == request {
			return a
		}
	}
	return nil
}

// stepOf returns the index of the step that intends a call, or -1.
func stepOf(t *loomv1.Turn, call string) int {
	for i, s := range t.GetSteps() {
		if tool := s.GetTool(); tool != nil && tool.GetCall().GetId() == call {
			return i
		}
	}
	return -1
}
