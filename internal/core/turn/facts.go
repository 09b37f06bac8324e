package turn

import loomv1 "github.com/loomrun/loom/proto/loom/v1"

// StartedFact is that a turn was started.
func StartedFact(s *loomv1.TurnStarted) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_TurnStarted{TurnStarted: s}}
}

// AnsweredFact is that the model answered.
func AnsweredFact(a *loomv1.ModelAnswer) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_ModelAnswered{ModelAnswered: &loomv1.ModelAnswered{Answer: a}}}
}

// IntendedFact is that a tool is about to be called.
func IntendedFact(s *loomv1.ToolStep) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_ToolIntended{ToolIntended: &loomv1.ToolIntended{Tool: s}}}
}

// FinishedFact is that a call of a tool has ended.
func FinishedFact(call string, r *loomv1.ToolResult) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{Call: call, Result: r}}}
}

// CompactedFact is that the beginning of the conversation was summarised.
func CompactedFact(c *loomv1.Compaction) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_TurnCompacted{TurnCompacted: &loomv1.TurnCompacted{Compaction: c}}}
}

// StoppedFact is that a conversation was stopped.
func StoppedFact(s *loomv1.TurnStop) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_TurnStopped{TurnStopped: &loomv1.TurnStopped{Stop: s}}}
}

// HeardFact is that the model was told what a person said.
func HeardFact(s *loomv1.Said) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_MessageHeard{MessageHeard: &loomv1.MessageHeard{Said: s}}}
}
