package project

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The filters of the view of conversations.
const (
	openConversations   = "open"
	closedConversations = "closed"
)

// lastSaid is how many bytes a list tells of what was said last.
const lastSaid = 200

func (s *State) conversationAnswer(x *loomv1.Execution) *loomv1.Answer {
	return &loomv1.Answer{Body: &loomv1.Answer_Conversation{Conversation: s.viewConversation(x)}}
}

// viewConversation tells how a conversation stands.
func (s *State) viewConversation(x *loomv1.Execution) *loomv1.Conversation {
	b := s.listed(x.Bead)
	c := &loomv1.Conversation{
		Id: x.Bead, Project: s.cfg.ID, Execution: x.Id, Settings: proto.CloneOf(x.Conversation), Usage: proto.CloneOf(x.Usage),
		State:    loomv1.ConversationState_CONVERSATION_STATE_CLOSED,
		OpenedAt: b.GetCreatedAt(), ChangedAt: b.GetUpdatedAt(), ForkedFrom: x.GetConversation().GetForkedFrom(),
	}
	for _, id := range s.index.children[x.Bead].first(MaxListed) {
		if w := s.listed(id); w.GetConversation() == x.Bead {
			c.Works = append(c.Works, id)
		}
	}
	a := talking(x)
	if a == nil {
		if running(x) { // between two attempts, or somebody is asked about the next
			c.State, c.WaitsFor = loomv1.ConversationState_CONVERSATION_STATE_WAITS, "attempt"
		}
		return c
	}
	c.Attempt = a.Id
	t := s.p.Turns[a.Id]
	unheard := workflow.Unheard(x, a.Node)
	switch {
	case a.Parked != "" && a.Parked != workflow.WaitsForPeople:
		c.State, c.WaitsFor = loomv1.ConversationState_CONVERSATION_STATE_WAITS, a.Parked
	case len(unheard) > 0 || turn.Started(t) && !turn.Resting(t):
		c.State = loomv1.ConversationState_CONVERSATION_STATE_ANSWERS
	default:
		c.State = loomv1.ConversationState_CONVERSATION_STATE_RESTS
	}
	said, replies := turn.Replies(t)
	c.Messages, c.Replies = uint32(said+len(unheard)), uint32(replies)
	for _, step := range slices.Backward(t.GetSteps()) {
		if m := step.GetAnswer(); m != nil {
			c.Model, c.Window = m.Model, m.Usage.GetInputTokens()
			break
		}
	}
	c.Last = lastOf(t, unheard)
	if n := len(t.GetSteps()); n > 0 {
		c.ChangedAt = t.Steps[n-1].Time
	}
	if n := len(unheard); n > 0 {
		c.ChangedAt = unheard[n-1].Time
	}
	return c
}

// lastOf is what was said last in a conversation, the beginning of it.
func lastOf(t *loomv1.Turn, unheard []*loomv1.Said) string {
	if n := len(unheard); n > 0 {
		return cut(oneLine(unheard[n-1].Text), lastSaid)
	}
	for _, step := range slices.Backward(t.GetSteps()) {
		if said := step.GetSaid(); said != nil {
			return cut(oneLine(said.Text), lastSaid)
		}
		if m := step.GetAnswer(); m.GetSummary() != "" {
			return cut(oneLine(m.Summary), lastSaid)
		}
	}
	return ""
}

// lookConversations lists conversations, the newest first, or shows one.
func (s *State) lookConversations(out *loomv1.View, q *loomv1.Query, limit int) error {
	if q.Id != "" {
		x, err := s.conversation(q.Id)
		if err == nil {
			out.Conversations = append(out.Conversations, s.viewConversation(x))
		}
		return err
	}
	switch q.Filter {
	case "", openConversations, closedConversations:
	default:
		return fault.New("usage/argument", "no such filter of conversations").At("filter").Got(q.Filter).Want("%s or %s", openConversations, closedConversations)
	}
	words, list := foldedWords(q.Text), s.index.beads
	list = list[:list.before(q.After)]
	for n, id := range slices.Backward(list) {
		if s.p.Beads[id] != nil || s.shelf.may(id, anyValue, int32(loomv1.BeadType_BEAD_TYPE_CONVERSATION)) {
			if b := s.listed(id); b.GetType() == loomv1.BeadType_BEAD_TYPE_CONVERSATION {
				x := s.listedExecution(b.Execution)
				if (q.Filter == "" || running(x) == (q.Filter == openConversations)) && s.mentions(x, words) {
					out.Conversations = append(out.Conversations, s.viewConversation(x))
				}
			}
		}
		if n > 0 && (len(out.Conversations) == limit || len(list)-n == lookedAt) {
			out.Next = id
			return nil
		}
	}
	return nil
}

// mentions says whether each of the words stands in the title of a conversation, in what
// people have said in it, or at the beginning of an answer.
func (s *State) mentions(x *loomv1.Execution, words []string) bool {
	if len(words) == 0 {
		return true
	}
	b := s.listed(x.Bead)
	texts := []string{b.GetId(), b.GetGoal(), x.GetConversation().GetTitle()}
	for _, said := range x.Said {
		texts = append(texts, said.Text)
	}
	for _, step := range s.p.Turns[talking(x).GetId()].GetSteps() {
		texts = append(texts, step.GetSaid().GetText(), step.GetAnswer().GetSummary())
	}
	all := fold(strings.Join(texts, "\n"))
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) })
}

// conversationBrief has the lead of a conversation go by the process that it names.
func (s *State) conversationBrief(x *loomv1.Execution, b *loomv1.Brief) {
	if def := s.p.Definitions[s.p.Latest[x.GetConversation().GetProcess()]]; def != nil {
		b.Definition, b.Toolkit = def, s.toolkit(def.Name, def.Toolkit)
	}
	if !conversing(x) || turn.Started(b.Turn) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.p.Latest)) {
		def := s.p.Definitions[s.p.Latest[name]]
		if def == nil || def.Pattern != "" || name == Delegate || name == Consult {
			continue
		}
		about, _, _ := strings.Cut(strings.TrimSpace(def.Description), "\n")
		b.Processes = append(b.Processes, name+": "+cut(about, toldProcess))
	}
}

// toldProcess is how many bytes the lead is told of what a process is for.
const toldProcess = 160
