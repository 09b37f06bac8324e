package memory

import (
	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Told returns in how many executions a lesson was seen as its entry tells, 0 where it
// has none.
func (m *Memory) Told(lesson string) uint32 {
	if i, ok := m.lessons[lesson]; ok {
		return m.entries[i].Count
	}
	return 0
}

// retell has the entry of a lesson tell it as e does, with new figures. One that a
// person has forgotten or written anew stays as it is: the lesson is not told again.
func (m *Memory) retell(t *Turn, i int32, e *loomv1.MemoryEntry) (*loomv1.Answer, error) {
	old := m.entries[i]
	if !counts(old) || old.Trust != ofRuntime || old.Text == e.Text {
		return m.answer(old.Id), nil
	}
	if j, ok := m.said[statementOf(e).exact]; ok && j != i {
		return m.answer(m.entries[j].Id), nil
	}
	n := proto.CloneOf(old)
	n.Text, n.Count, n.Sources, n.Confidence = e.Text, e.Count, e.Sources, e.Confidence
	if err := t.emit(about(n, &loomv1.Event{Fact: &loomv1.Event_MemoryChanged{MemoryChanged: &loomv1.MemoryChanged{Entry: n}}})); err != nil {
		return nil, err
	}
	return m.answer(n.Id), nil
}
