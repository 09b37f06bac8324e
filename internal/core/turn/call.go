package turn

import loomv1 "github.com/loomrun/loom/proto/loom/v1"

// Doing says how a call of [RunTools] is brought to an outcome.
type Doing int

// What is done with a call.
const (
	// Run records the intent, unless there is one, and runs the tool: it has
	// not begun, or it changes nothing and may run again.
	Run Doing = iota
	// Reconcile asks the tool what became of it, and runs it if nothing did:
	// it was cut off, and writes what can be looked at.
	Reconcile
	// Report records [Unknown] as its outcome: it was cut off, and whether it
	// ran cannot be told.
	Report
)

// Call is a tool call without an outcome.
type Call struct {
	*loomv1.ToolCall
	// Class is what the intent recorded; unset when nothing is recorded yet.
	Class loomv1.ToolClass
	// Intended says that the intent is recorded, so the call was cut off.
	Intended bool
	// Runtime says that the runtime itself made the call.
	Runtime bool
	// Do is how to bring it to an outcome.
	Do Doing
}

// Unknown is the outcome of a call of which nobody can say whether it ran.
func Unknown() *loomv1.ToolResult {
	return &loomv1.ToolResult{
		Status:  loomv1.ToolStatus_TOOL_STATUS_UNKNOWN,
		Summary: "it is not known whether this ran: it was cut off. Look at what is there before you do it again",
	}
}

// Batches splits calls into groups that run one after the other; the calls of
// a group may run at once. Reading calls that follow each other share a group,
// any other has its own. class gives the class of a tool by name.
func Batches(calls []Call, class func(tool string) loomv1.ToolClass) [][]Call {
	var list [][]Call
	reading := false
	for _, c := range calls {
		reads := class(c.Tool) == loomv1.ToolClass_TOOL_CLASS_READ
		if reads && reading {
			list[len(list)-1] = append(list[len(list)-1], c)
		} else {
			list = append(list, []Call{c})
		}
		reading = reads
	}
	return list
}

// open returns the calls without an outcome, in order: the runtime's own, and
// the last answer's. A gate that was cut off is none: it is made again with the
// others when the outcome is taken.
func open(all []*round) []Call {
	var list []Call
	for _, r := range all {
		if r.finish() != nil {
			continue
		}
		for _, step := range r.own {
			if s := step.GetTool(); s != nil && s.Result == nil {
				list = append(list, cutOff(s))
			}
		}
	}
	last := all[len(all)-1]
	if last.unusable != "" {
		return list
	}
	for i, c := range last.answer.GetCalls() {
		switch s := last.steps[i]; {
		case last.ends(c) || s.GetResult() != nil:
		case s != nil:
			list = append(list, cutOff(s))
		default:
			list = append(list, Call{ToolCall: c})
		}
	}
	return list
}

func cutOff(s *loomv1.ToolStep) Call {
	c := Call{ToolCall: s.Call, Class: s.Class, Intended: true, Runtime: s.Runtime}
	switch s.Class {
	case loomv1.ToolClass_TOOL_CLASS_READ:
		c.Do = Run
	case loomv1.ToolClass_TOOL_CLASS_WRITE:
		c.Do = Reconcile
	default:
		c.Do = Report
	}
	return c
}
