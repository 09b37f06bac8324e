package turn

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Decide returns the events that facts add to t, in their order, without changing
// t. What is recorded already with the same content adds nothing, so recording
// the same things again is harmless. It returns turn/invalid, and no events,
// when any of facts may not be recorded; see [Check]. The events carry the
// attempt; their number, time and actor are the caller's to set. They keep parts of
// facts.
func Decide(t *loomv1.Turn, facts []*loomv1.Event) ([]*loomv1.Event, error) {
	if len(facts) > MaxRecords {
		return nil, refuse("facts", "%d facts at once; at most %d are taken", len(facts), MaxRecords)
	}
	ahead := &loomv1.Turn{
		Attempt: t.GetAttempt(), Model: t.GetModel(), Prompt: t.GetPrompt(),
		Steps: slices.Clone(t.GetSteps()), Iterations: t.GetIterations(), Architect: t.GetArchitect(), Converses: t.GetConverses(),
	}
	var events []*loomv1.Event
	for _, f := range facts {
		known, err := check(ahead, f)
		if err != nil {
			return nil, err
		}
		if known {
			continue
		}
		e := recorded(ahead, f)
		if err := Apply(ahead, e); err != nil {
			return nil, refuse("facts", "%s", err)
		}
		events = append(events, e)
	}
	return events, nil
}

// Check returns nil when a fact may be recorded of t now, or is recorded already;
// else turn/invalid, which says why. An answer may be recorded once every call
// of the one before has ended; a tool call once, while its answer is the last;
// its outcome once, after it.
func Check(t *loomv1.Turn, fact *loomv1.Event) error {
	_, err := check(t, fact)
	return err
}

func refuse(where, format string, args ...any) *fault.Error {
	return fault.New("turn/invalid", format, args...).At(where)
}

// recorded is the event of a fact that check has let pass.
func recorded(t *loomv1.Turn, e *loomv1.Event) *loomv1.Event {
	if f := e.GetToolFinished(); f != nil { // which tool it was is in the turn
		return &loomv1.Event{Attempt: t.Attempt, Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{
			Call: f.Call, Tool: t.Steps[stepOf(t, f.Call)].GetTool().Call.Tool, Result: f.Result,
		}}}
	}
	return &loomv1.Event{Attempt: t.Attempt, Fact: e.Fact}
}

// check says whether a fact is recorded already, or why it may not be.
func check(t *loomv1.Turn, e *loomv1.Event) (known bool, err error) {
	if f, ok := e.GetFact().(*loomv1.Event_TurnStarted); ok {
		return Started(t), checkStart(f.TurnStarted)
	}
	if !Started(t) {
		return false, refuse("facts", "the turn has not been started")
	}
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ModelAnswered:
		return checkAnswer(t, f.ModelAnswered.GetAnswer())
	case *loomv1.Event_ToolIntended:
		return checkIntent(t, f.ToolIntended.GetTool())
	case *loomv1.Event_ToolFinished:
		return checkFinish(t, f.ToolFinished)
	case *loomv1.Event_TurnCompacted:
		return checkCompact(t, f.TurnCompacted.GetCompaction())
	case *loomv1.Event_MessageHeard:
		return checkHear(t, f.MessageHeard.GetSaid())
	case *loomv1.Event_TurnStopped:
		return checkStop(t, f.TurnStopped.GetStop())
	}
	return false, refuse("facts", "it is no fact of a turn")
}

func checkStart(s *loomv1.TurnStarted) error {
	if s.GetModel() == "" {
		return refuse("start.model", "a turn is started with a model's name")
	}
	return nil
}

func checkAnswer(t *loomv1.Turn, a *loomv1.ModelAnswer) (known bool, err error) {
	if a.GetRequest() == "" {
		return false, refuse("answer.request", "an answer names the request it answers")
	}
	if old := answerTo(t, a.Request); old != nil {
		if !proto.Equal(old, a) {
			return false, refuse("answer.request", "request %.12s has been answered already, otherwise", a.Request)
		}
		return true, nil
	}
	if open := waiting(t); open != "" {
		return false, refuse("answer", "call %q of the answer before has not ended", open)
	}
	if t.Converses && !asked(current(t)) {
		return false, refuse("answer", "nobody has said anything since the last reply")
	}
	if n := proto.Size(a); n > MaxAnswer {
		return false, refuse("answer", "the answer has %d bytes; at most %d are recorded", n, MaxAnswer)
	}
	return false, checkCalls(t, a)
}

// checkCalls wants ids that tell calls apart in the whole turn.
func checkCalls(t *loomv1.Turn, a *loomv1.ModelAnswer) error {
	if len(a.Calls) > MaxCalls {
		return refuse("answer.calls", "%d calls; at most %d are taken", len(a.Calls), MaxCalls)
	}
	seen := map[string]bool{}
	for _, s := range t.Steps {
		seen[s.GetTool().GetCall().GetId()] = true
		for _, c := range s.GetAnswer().GetCalls() {
			seen[c.GetId()] = true
		}
	}
	for _, c := range a.Calls {
		if c.GetId() == "" || seen[c.GetId()] {
			return refuse("answer.calls", "a call's id is unique in the turn").Got(c.GetId())
		}
		seen[c.Id] = true
	}
	return nil
}

func checkIntent(t *loomv1.Turn, s *loomv1.ToolStep) (known bool, err error) {
	c := s.GetCall()
	if c.GetId() == "" || c.GetTool() == "" || s.GetResult() != nil {
		return false, refuse("intent", "an intent has a call with an id and a tool, and no result yet")
	}
	if i := stepOf(t, c.Id); i >= 0 {
		old := t.Steps[i].GetTool()
		if !proto.Equal(old.Call, c) || old.Class != s.Class || old.Runtime != s.Runtime {
			return false, refuse("intent.call", "call %q has been intended already, otherwise", c.Id)
		}
		return true, nil
	}
	last := lastRound(t)
	if s.Runtime {
		return false, checkRuntime(t, c)
	}
	if last == nil || !slices.ContainsFunc(last.pending(), func(p *loomv1.ToolCall) bool { return proto.Equal(p, c) }) {
		return false, refuse("intent.call", "call %q is not one that the last answer waits for", c.Id)
	}
	return false, nil
}

// checkRuntime keeps the runtime's own calls apart from a model's.
func checkRuntime(t *loomv1.Turn, c *loomv1.ToolCall) error {
	for _, s := range t.Steps {
		for _, other := range s.GetAnswer().GetCalls() {
			if other.GetId() == c.Id {
				return refuse("intent.call", "call %q is the model's, not the runtime's", c.Id)
			}
		}
	}
	return nil
}

func checkFinish(t *loomv1.Turn, f *loomv1.ToolFinished) (known bool, err error) {
	i := stepOf(t, f.GetCall())
	if i < 0 {
		return false, refuse("finish.call", "call %q was never intended", f.GetCall())
	}
	r := f.GetResult()
	if err := checkResult(r); err != nil {
		return false, err
	}
	if old := t.Steps[i].GetTool().Result; old != nil {
		if !proto.Equal(old, r) {
			return false, refuse("finish.result", "call %q has ended already, otherwise", f.Call)
		}
		return true, nil
	}
	return false, nil
}

func checkResult(r *loomv1.ToolResult) error {
	switch {
	case r.GetStatus() == loomv1.ToolStatus_TOOL_STATUS_UNSPECIFIED:
		return refuse("finish.result", "a result has a status")
	case len(r.Summary) > MaxSummary:
		return refuse("finish.result.summary", "%d bytes; at most %d are recorded", len(r.Summary), MaxSummary)
	case len(r.Ran) > MaxSummary:
		return refuse("finish.result.ran", "%d bytes; at most %d are recorded", len(r.Ran), MaxSummary)
	case len(r.Changed) > MaxChanged:
		return refuse("finish.result.changed", "%d paths; at most %d are recorded", len(r.Changed), MaxChanged)
	case r.Picture != nil && (r.Picture.Data.GetSize() == 0 || r.Picture.Width == 0 || r.Picture.Height == 0 || max(r.Picture.Width, r.Picture.Height) > 1<<16):
		return refuse("finish.result.picture", "a picture has bytes, and a width and height in pixels")
	case len(r.Todo.GetItems()) > MaxTodo:
		return refuse("finish.result.todo", "%d items; at most %d are recorded", len(r.Todo.Items), MaxTodo)
	}
	if err := checkRead(r.Read); err != nil {
		return err
	}
	for _, item := range r.Todo.GetItems() {
		if len(item.Text) > MaxItem {
			return refuse("finish.result.todo", "an item of %d bytes; at most %d are recorded", len(item.Text), MaxItem)
		}
	}
	return nil
}

// checkRead refuses a record of what was read that says too much, or nothing.
func checkRead(list []*loomv1.SourceRead) error {
	if len(list) > MaxRead {
		return refuse("finish.result.read", "%d pages; at most %d are recorded", len(list), MaxRead)
	}
	for _, s := range list {
		if s.GetAddress() == "" || len(s.Address) > MaxAddress || len(s.Title) > MaxSummary || len(s.Sha256) != 64 {
			return refuse("finish.result.read", "a page has an address of at most %d bytes, a title of at most %d and the hash of what came", MaxAddress, MaxSummary)
		}
	}
	return nil
}
