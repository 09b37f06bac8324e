package turn

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A turn that is a conversation has no end of its own: an answer without calls is a reply,
// and after it, or after a stop, the turn rests until somebody says something. What
// bounds a turn bounds here what is done for one reply.

// Bounds of a stop.
const (
	MaxStopReason = 400 // bytes
	maxStopID     = 128 // bytes
)

// Stopped is the code of a stop by a person.
const Stopped = "turn/stopped"

// Rest waits for what people say: nothing is to be done in a conversation.
type Rest struct{}

func (Rest) step() {}

// Resting says whether a conversation waits for what people say. A call of the last
// answer that has not ended is no rest.
func Resting(t *loomv1.Turn) bool {
	return t.GetConverses() && waiting(t) == "" && !asked(current(t))
}

// Replies counts what people have said in a conversation, and how often the lead has
// answered.
func Replies(t *loomv1.Turn) (said, replies int) {
	for _, s := range t.GetSteps() {
		switch {
		case people(s.GetSaid()):
			said++
		case reply(s.GetAnswer()):
			replies++
		}
	}
	return said, replies
}

// PartBefore returns how many steps of a conversation come before the message of a person with
// a number, from 1, or before what goes on just now where that is 0. The part ends with a
// reply or a stop. False says that there is no such message.
func PartBefore(t *loomv1.Turn, message int) (steps int, ok bool) {
	n := 0
	for i, s := range t.GetSteps() {
		if people(s.GetSaid()) {
			if n++; n == message {
				return steps, true
			}
		}
		if rests(s) {
			steps = i + 1
		}
	}
	return steps, message == 0
}

// Fork returns a turn of an attempt that goes on with the first steps of a conversation.
func Fork(t *loomv1.Turn, attempt string, steps int) *loomv1.Turn {
	f := &loomv1.Turn{
		Attempt: attempt, Model: t.GetModel(), Prompt: t.GetPrompt(), StartedAt: t.GetStartedAt(), Without: t.GetWithout(), Converses: t.GetConverses(),
		Steps: slices.Clone(t.GetSteps()[:min(steps, len(t.GetSteps()))]),
	}
	for _, s := range f.Steps {
		if s.GetAnswer() != nil {
			f.Iterations++
		}
	}
	return f
}

// Halt returns the facts by which a conversation is stopped at once: calls of the last
// answer that have not ended end, what people have said and nobody has heard is heard,
// and the stop. They are to be emitted as they are. It returns nil where the
// conversation rests and nobody has said anything.
func Halt(t *loomv1.Turn, unheard []*loomv1.Said, stop *loomv1.TurnStop) []*loomv1.Event {
	if Resting(t) && len(unheard) == 0 {
		return nil
	}
	var facts []*loomv1.Event
	for _, c := range open(rounds(t)) {
		if !c.Intended {
			facts = append(facts, IntendedFact(&loomv1.ToolStep{Call: c.ToolCall}))
		}
		facts = append(facts, &loomv1.Event{Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{Call: c.Id, Tool: c.Tool, Result: halted(c)}}})
	}
	for _, s := range unheard {
		if heard(t, s.Id) == nil {
			facts = append(facts, HeardFact(s))
		}
	}
	return append(facts, StoppedFact(stop))
}

// halted is what becomes of a call that a stop breaks off.
func halted(c Call) *loomv1.ToolResult {
	if c.Intended && c.Class != loomv1.ToolClass_TOOL_CLASS_READ {
		return Unknown()
	}
	status := loomv1.ToolStatus_TOOL_STATUS_ERROR
	if !c.Intended {
		status = loomv1.ToolStatus_TOOL_STATUS_DENIED
	}
	return &loomv1.ToolResult{Status: status, Summary: "it was stopped before it was done"}
}

// nextInConversation is [Next] where no call is open.
func nextInConversation(t *loomv1.Turn, n *loomv1.NodeDefinition, l Limits) Step {
	now := current(t)
	if !asked(now) {
		return Rest{}
	}
	all := rounds(now)
	if len(all) == 1 {
		return fitting(t, n, l, AskModel{})
	}
	if stop, ok := bound(now, all, n, l); ok {
		return stop
	}
	if _, problem := all[len(all)-1].verdict(n); problem != "" {
		return fitting(t, n, l, Repair{problem, useless(all, n)})
	}
	return fitting(t, n, l, AskModel{nudge(all)})
}

// current is the part of a conversation after its last rest.
func current(t *loomv1.Turn) *loomv1.Turn {
	steps := t.GetSteps()
	from := 0
	for i, s := range slices.Backward(steps) {
		if rests(s) {
			from = i + 1
			break
		}
	}
	return &loomv1.Turn{Attempt: t.GetAttempt(), Model: t.GetModel(), Steps: steps[from:], Converses: true}
}

// asked says whether somebody has said something that is to be answered.
func asked(now *loomv1.Turn) bool {
	return slices.ContainsFunc(now.GetSteps(), func(s *loomv1.TurnStep) bool { return s.GetSaid() != nil })
}

// rests says whether a conversation rests after a step.
func rests(s *loomv1.TurnStep) bool { return s.GetStopped() != nil || reply(s.GetAnswer()) }

// reply says whether an answer of a conversation is for the people in it.
func reply(a *loomv1.ModelAnswer) bool {
	return a != nil && a.Problem == "" && len(a.Calls) == 0 && a.Text.GetSize() > 0
}

// people says whether a person has said it.
func people(s *loomv1.Said) bool {
	return s != nil && s.Kind == loomv1.MailKind_MAIL_KIND_UNSPECIFIED
}

// section are the rounds that remarks on the last of them are about: in a conversation
// those since the last rest before it.
func section(all []*round) []*round {
	last := len(all) - 1
	if !all[last].converses {
		return all
	}
	for i := last - 1; i >= 0; i-- {
		stopped := slices.ContainsFunc(all[i].own, func(s *loomv1.TurnStep) bool { return s.GetStopped() != nil })
		if stopped || reply(all[i].answer) {
			return append([]*round{newRound(nil, false, true)}, all[i+1:]...)
		}
	}
	return all
}

// stopMessage tells the model that it was stopped.
func stopMessage(s *loomv1.TurnStop) Message {
	if s.By == nil {
		return Message{Role: User, Text: fmt.Sprintf("Loom broke off what you did: %s (%s). Go on when somebody says something.", s.Reason, s.Code)}
	}
	return Message{Role: User, Text: s.By.GetName() + " stopped what you did. Go on when somebody says something."}
}

// saidInConversation is a message of a person, or what became of work that was begun.
func saidInConversation(s *loomv1.Said) Message {
	if s.Kind == loomv1.MailKind_MAIL_KIND_NEWS {
		return Message{Role: User, Text: "Loom tells of work that was begun here:\n" + AsData(s.Text)}
	}
	if !people(s) {
		return saidMessage(s, false)
	}
	return Message{Role: User, Text: s.From.GetName() + " says:\n" + s.Text}
}

// checkStop takes a stop of a conversation between calls.
func checkStop(t *loomv1.Turn, s *loomv1.TurnStop) (known bool, err error) {
	switch old := stopped(t, s.GetId()); {
	case !t.GetConverses():
		return false, refuse("stop", "a turn that is no conversation is not stopped")
	case s.GetId() == "" || len(s.Id) > maxStopID || s.Code == "":
		return false, refuse("stop", "a stop has an id of 1 to %d bytes, and a code", maxStopID)
	case len(s.Reason) > MaxStopReason:
		return false, refuse("stop.reason", "%d bytes; at most %d are recorded", len(s.Reason), MaxStopReason)
	case old != nil && !proto.Equal(old, s):
		return false, refuse("stop", "stop %q is recorded already, otherwise", s.Id)
	case old != nil:
		return true, nil
	case waiting(t) != "":
		return false, refuse("stop", "call %q has not ended", waiting(t))
	}
	return false, nil
}

func applyStopped(t *loomv1.Turn, e *loomv1.Event, s *loomv1.TurnStop) error {
	if s.GetId() == "" {
		return fmt.Errorf("a stop without an id")
	}
	if old := stopped(t, s.Id); old != nil {
		return same(old, s, "stop", s.Id)
	}
	t.Steps = append(t.Steps, &loomv1.TurnStep{Time: e.Time, Step: &loomv1.TurnStep_Stopped{Stopped: s}})
	return nil
}

// stopped returns the stop of that id, or nil.
func stopped(t *loomv1.Turn, id string) *loomv1.TurnStop {
	for _, s := range t.GetSteps() {
		if stop := s.GetStopped(); stop != nil && stop.Id == id {
			return stop
		}
	}
	return nil
}
