package workflow

import (
	"fmt"
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxSaid is how many messages of people an execution keeps. One that was heard
// makes room for a new one; while none was, no more are taken.
const MaxSaid = 16

// Unheard returns what an attempt at a node should hear next, oldest first.
func Unheard(x *loomv1.Execution, node string) []*loomv1.Said {
	var list []*loomv1.Said
	for _, s := range x.GetSaid() {
		if s.Heard == "" && (s.Node == "" || s.Node == node) {
			list = append(list, s)
		}
	}
	return list
}

// unheardBytes is how much of the newest message that nobody has heard is told.
const unheardBytes = 200

// leftUnheard says in words what nobody has heard of what was said to an execution.
func leftUnheard(x *loomv1.Execution) string {
	left := slices.DeleteFunc(slices.Clone(x.GetSaid()), wasHeard)
	if len(left) == 0 {
		return ""
	}
	text := fmt.Sprintf("nobody has heard %q", cut(left[len(left)-1].Text, unheardBytes))
	if more := len(left) - 1; more > 0 {
		text += fmt.Sprintf(", and %d said before", more)
	}
	return text
}

// SaidBy returns the message with an id, or nil.
func SaidBy(x *loomv1.Execution, id string) *loomv1.Said {
	for _, s := range x.GetSaid() {
		if s.Id == id {
			return s
		}
	}
	return nil
}

// RoomToSay says whether one more message can be kept.
func RoomToSay(x *loomv1.Execution) bool {
	return len(x.GetSaid()) < MaxSaid || slices.ContainsFunc(x.Said, wasHeard)
}

func wasHeard(s *loomv1.Said) bool { return s.Heard != "" }

// Rehear has messages told anew that an attempt had heard, and which it ended before it
// answered.
func Rehear(x *loomv1.Execution, ids []string) {
	list := slices.Clone(x.GetSaid())
	for i, s := range list {
		if slices.Contains(ids, s.Id) {
			s = shallow(s)
			s.Heard = ""
			list[i] = s
		}
	}
	x.Said = list
}

// told keeps a message. Lists are replaced and not changed, because copies of
// the state share them.
func (f folder) told(s *loomv1.Said) {
	list := slices.Clone(f.x.Said)
	if i := slices.IndexFunc(list, wasHeard); len(list) >= MaxSaid && i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	f.x.Said = append(list, s)
}

// heard notes which attempt was told a message.
func (f folder) heard(id string) {
	list := slices.Clone(f.x.Said)
	for i, s := range list {
		if s.Id == id {
			s = shallow(s)
			s.Heard = f.e.Attempt
			list[i] = s
		}
	}
	f.x.Said = list
}
