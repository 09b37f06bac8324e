package project

import (
	"cmp"
	"slices"

	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The kinds of what waits for a person that are no kinds of approvals.
const (
	WaitsVote         = "vote"
	WaitsSession      = "session"
	WaitsConversation = "conversation"
)

// WaitKinds are the kinds of what waits for a person.
func WaitKinds() []string {
	var list []string
	for i := int32(1); loomv1.ApprovalKind_name[i] != ""; i++ {
		list = append(list, Word(loomv1.ApprovalKind(i)))
	}
	return append(list, WaitsVote, WaitsSession, WaitsConversation)
}

// SortWaits puts what waits for people in the order of the inbox: what holds up the most
// beads, and of those that hold up as many what has waited longest.
func SortWaits(list []*loomv1.Waiting) {
	slices.SortStableFunc(list, func(a, b *loomv1.Waiting) int {
		return cmp.Or(cmp.Compare(b.Holds, a.Holds), a.Since.AsTime().Compare(b.Since.AsTime()),
			cmp.Compare(a.Project, b.Project), byNumber(a.Id, b.Id))
	})
}

// waits is what waits for a person, of one kind or of all, in the order of the inbox.
func (s *State) waits(kind string) []*loomv1.Waiting {
	list := slices.Concat(s.approvalWaits(), s.sessionWaits(), s.conversationWaits())
	if kind != "" {
		list = slices.DeleteFunc(list, func(w *loomv1.Waiting) bool { return w.Kind != kind })
	}
	SortWaits(list)
	return list
}

func (s *State) approvalWaits() (list []*loomv1.Waiting) {
	for _, id := range s.index.asking {
		a := s.p.Approvals[id]
		w := &loomv1.Waiting{Id: id, Project: s.cfg.ID, Kind: Word(a.Kind), Bead: a.Bead, Question: a.Question, Since: a.AskedAt, Holds: s.heldUp(a.Bead)}
		if a.Ballot != "" {
			w.Kind = WaitsVote
		}
		if a.OfProject {
			w.Holds = s.openWork()
		}
		list = append(list, w)
	}
	return list
}

func (s *State) sessionWaits() (list []*loomv1.Waiting) {
	for _, v := range s.sessionsThatWait() {
		list = append(list, &loomv1.Waiting{
			Id: v.Id, Project: s.cfg.ID, Kind: WaitsSession, Bead: v.Bead, Question: v.Pattern + " " + intent.Standing(v), Since: v.ChangedAt, Holds: s.heldUp(v.Bead),
		})
	}
	return list
}

// conversationWaits are the conversations in which it is a person's turn: the lead has
// answered, and nobody has said anything since.
func (s *State) conversationWaits() (list []*loomv1.Waiting) {
	for _, x := range s.running() {
		if !conversing(x) {
			continue
		}
		if c := s.viewConversation(x); c.State == loomv1.ConversationState_CONVERSATION_STATE_RESTS && c.Replies > 0 {
			list = append(list, &loomv1.Waiting{Id: c.Id, Project: s.cfg.ID, Kind: WaitsConversation, Bead: c.Id, Question: c.Last, Since: c.ChangedAt})
		}
	}
	return list
}

// heldUp is how many beads cannot end before one goes on: itself, those that it blocks
// and those that it is a part of, and what waits for these.
func (s *State) heldUp(id string) uint32 {
	seen := map[string]bool{}
	for next := []string{id}; len(next) > 0; next = next[1:] {
		b := s.p.Beads[next[0]]
		if b == nil || ended(b.Status) || seen[b.Id] || b.Type == loomv1.BeadType_BEAD_TYPE_CONVERSATION {
			continue
		}
		seen[b.Id] = true
		next = append(append(next, s.index.blocks[b.Id]...), b.Parent)
	}
	return uint32(len(seen))
}

// openWork is how many beads have work that has not ended.
func (s *State) openWork() (n uint32) {
	for _, b := range s.p.Beads {
		if !ended(b.Status) && b.Type != loomv1.BeadType_BEAD_TYPE_APPROVAL && b.Type != loomv1.BeadType_BEAD_TYPE_CONVERSATION {
			n++
		}
	}
	return n
}
