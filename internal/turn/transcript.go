package turn

import (
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Role says who speaks a message of a transcript.
type Role string

// The roles of a transcript.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Result    Role = "tool"
)

// Message is one message of the conversation that a turn is. What it says is
// the bytes of Blob, when there is one, and then Text.
type Message struct {
	Role Role
	Blob *loomv1.BlobRef
	Text string

	// Calls are the tools that an assistant message asks for.
	Calls []*loomv1.ToolCall
	// Opaque is what the provider of Model wants back with that message.
	Opaque *loomv1.BlobRef
	Model  string

	// Call is the id of the call that a tool message answers; Failed says
	// that it did not do what was asked.
	Call   string
	Failed bool
}

// Transcript returns the conversation so far: the prompt, the answers, the
// outcomes of their calls once all of them have ended, and what the runtime
// has to say about them. A longer turn's transcript begins with that of a
// shorter one; limits and node must be those that [Next] is given.
func Transcript(t *loomv1.Turn, n *loomv1.NodeDefinition, l Limits) []Message {
	if !Started(t) {
		return nil
	}
	list := []Message{{Role: User, Blob: t.Prompt}}
	all := rounds(t)
	for i, r := range all {
		if i > 0 {
			list = append(list, r.said()...)
			if len(r.pending()) > 0 {
				return list
			}
			list = append(list, r.results(n)...)
			list = append(list, remarks(all[:i+1], l)...)
		}
		for _, s := range r.own {
			if s.Result == nil {
				return list
			}
			list = append(list, ownMessage(s))
		}
	}
	return list
}

// said is the answer. One that nobody can act on is told without its calls,
// which no provider would take back unanswered, and with the reason.
func (r *round) said() []Message {
	m := Message{Role: Assistant, Blob: r.answer.Text, Model: r.answer.Model}
	problem := r.unusable
	if problem == "" {
		m.Calls, m.Opaque = r.answer.Calls, r.answer.Opaque
		return []Message{m}
	}
	if m.Blob.GetSize() == 0 {
		m.Blob, m.Text = nil, "(an answer that could not be used)"
	}
	return []Message{m, {Role: User, Text: problem}}
}

// results are the outcomes of the calls of an answer, in its order.
func (r *round) results(n *loomv1.NodeDefinition) []Message {
	if r.unusable != "" {
		return nil
	}
	var list []Message
	for i, c := range r.answer.Calls {
		if c.GetTool() == FinishName {
			text, taken := r.finishText(n)
			list = append(list, Message{Role: Result, Call: c.Id, Text: text, Failed: !taken})
		} else {
			list = append(list, resultMessage(c.Id, r.steps[i].Result))
		}
	}
	return list
}

// finishText says whether a call of finish ended the turn, and if not, why.
func (r *round) finishText(n *loomv1.NodeDefinition) (text string, taken bool) {
	out, problem := r.verdict(n)
	switch {
	case out != nil:
		return "taken", true
	case problem != "":
		return problem, false
	}
	return FinishName + " was not taken, because a call beside it did not succeed; look at its result, then call " + FinishName + " alone", false
}

func resultMessage(call string, r *loomv1.ToolResult) Message {
	m := Message{Role: Result, Call: call, Blob: r.Output, Failed: r.Status != loomv1.ToolStatus_TOOL_STATUS_OK}
	if r.Output.GetSize() == 0 {
		m.Blob, m.Text = nil, r.Summary
	}
	return m
}

// remarks is what the runtime adds after a round.
func remarks(all []*round, l Limits) []Message {
	var list []Message
	if text := nudge(all); text != "" {
		list = append(list, Message{Role: User, Text: text})
	}
	if left := l.iterations() - (len(all) - 1); left == 1 {
		list = append(list, Message{Role: User, Text: "Your next answer is the last of this turn: call " + FinishName + " with what you have."})
	}
	return list
}

// ownMessage tells of a call that the runtime made itself.
func ownMessage(s *loomv1.ToolStep) Message {
	m := Message{Role: User, Blob: s.Result.Output}
	if m.Blob.GetSize() == 0 {
		m.Blob, m.Text = nil, fmt.Sprintf("The runtime ran %s: %s", s.Call.GetTool(), s.Result.Summary)
	}
	return m
}
