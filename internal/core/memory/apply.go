package memory

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Apply folds one committed event into the memory; events of other cores change
// nothing. What a fact leaves empty of an entry's author, times and work comes from
// the event. An event that cannot follow from the state is memory/inconsistent and
// changes nothing. Apply keeps no reference to e.
func (m *Memory) Apply(e *loomv1.Event) error {
	var err *fault.Error
	switch f := e.GetFact().(type) {
	case *loomv1.Event_MemoryKept:
		err = m.kept(e, f.MemoryKept.GetEntry())
	case *loomv1.Event_MemoryMerged:
		err = m.merged(e, f.MemoryMerged)
	case *loomv1.Event_MemoryChanged:
		err = m.changed(e, f.MemoryChanged.GetEntry())
	case *loomv1.Event_MemoryPromoted:
		err = m.replace(f.MemoryPromoted.Id, func(n *loomv1.MemoryEntry) { n.Layer = durable })
	case *loomv1.Event_MemoryForgotten:
		err = m.end(e, forgotten, f.MemoryForgotten.Reason, f.MemoryForgotten.Id)
	case *loomv1.Event_MemoryExpired:
		err = m.end(e, expired, "", f.MemoryExpired.Ids...)
	case *loomv1.Event_MemoryDropped:
		err = m.end(e, dropped, "", f.MemoryDropped.Ids...)
	case *loomv1.Event_MemoryOffered:
		err = m.offer(e, f.MemoryOffered.GetOffer())
	}
	if err != nil {
		return wrong("event %d", e.GetNumber()).Because(err)
	}
	return nil
}

func (m *Memory) kept(e *loomv1.Event, given *loomv1.MemoryEntry) *fault.Error {
	if next := name(len(m.entries)); given.GetId() != next {
		return wrong("entry %q where %s is next", given.GetId(), next)
	}
	n := proto.CloneOf(given)
	for _, field := range []struct {
		to   *string
		from string
	}{{&n.Bead, e.Bead}, {&n.Execution, e.Execution}, {&n.Node, e.Node}, {&n.Attempt, e.Attempt}} {
		if *field.to == "" {
			*field.to = field.from
		}
	}
	if n.Author == nil {
		n.Author = proto.CloneOf(e.Actor)
	}
	n.Time, n.SaidAt, n.Status = proto.CloneOf(e.Time), proto.CloneOf(e.Time), active
	if n.Lesson == "" {
		n.Count = 1
	}
	if _, told := m.lessons[n.Lesson]; told {
		return wrong("lesson %q has two entries", n.Lesson)
	}
	if err := checkStored(n); err != nil {
		return err
	}
	var others []int32
	for _, id := range n.Contradicts {
		i, err := m.counting(id)
		if err != nil {
			return err
		}
		others = append(others, i)
	}
	if err := m.unique(n); err != nil {
		return err
	}
	m.entries = append(m.entries, n)
	m.enter(int32(len(m.entries) - 1))
	if n.Lesson != "" {
		m.lessons[n.Lesson] = int32(len(m.entries) - 1)
	}
	for _, i := range others { // no words change: it need not be found anew
		other := proto.CloneOf(m.entries[i])
		if len(other.Contradicts) < maxLinks && !slices.Contains(other.Contradicts, n.Id) {
			other.Contradicts = append(other.Contradicts, n.Id)
			m.entries[i] = other
		}
	}
	return nil
}

func (m *Memory) merged(e *loomv1.Event, f *loomv1.MemoryMerged) *fault.Error {
	i, err := m.counting(f.Id)
	if err != nil {
		return err
	}
	n := proto.CloneOf(m.entries[i])
	if f.Count <= n.Count {
		return wrong("%s was said %d times, and now %d", f.Id, n.Count, f.Count)
	}
	n.Count, n.Confidence, n.SaidAt = f.Count, f.Confidence, proto.CloneOf(e.Time)
	n.Tags = union(n.Tags, f.Tags)
	for _, s := range f.Sources {
		n.Sources = append(n.Sources, proto.CloneOf(s))
	}
	if err := checkStored(n); err != nil {
		return err
	}
	if f.Dropped != "" {
		if _, err := m.counting(f.Dropped); err != nil {
			return err
		}
	}
	m.put(i, n)
	if f.Dropped != "" {
		return m.end(e, dropped, "", f.Dropped)
	}
	return nil
}

func (m *Memory) changed(e *loomv1.Event, given *loomv1.MemoryEntry) *fault.Error {
	i, err := m.counting(given.GetId())
	if err != nil {
		return err
	}
	n := proto.CloneOf(given)
	n.ChangedAt, n.ChangedBy = proto.CloneOf(e.Time), proto.CloneOf(e.Actor)
	if old := m.entries[i]; n.Execution != old.Execution || n.Namespace != old.Namespace || n.Lesson != old.Lesson || n.Status != active {
		return wrong("%s changes where it belongs", n.Id)
	}
	if err := checkStored(n); err != nil {
		return err
	}
	if err := m.unique(n); err != nil {
		return err
	}
	m.put(i, n)
	return nil
}

// unique refuses an entry that says what another one says already.
func (m *Memory) unique(n *loomv1.MemoryEntry) *fault.Error {
	if i, ok := m.said[statementOf(n).exact]; ok && m.entries[i].Id != n.Id {
		return wrong("%s says what %s says", n.Id, m.entries[i].Id)
	}
	return nil
}

// replace puts an entry that counts in its own place, changed.
func (m *Memory) replace(id string, change func(*loomv1.MemoryEntry)) *fault.Error {
	i, err := m.counting(id)
	if err != nil {
		return err
	}
	n := proto.CloneOf(m.entries[i])
	change(n)
	if err := m.unique(n); err != nil {
		return err
	}
	m.put(i, n)
	return nil
}

// put replaces an entry that counts by one that does.
func (m *Memory) put(i int32, n *loomv1.MemoryEntry) {
	m.leave(i)
	m.entries[i] = n
	m.enter(i)
}

// end makes tombstones of entries that count, all or none.
func (m *Memory) end(e *loomv1.Event, status loomv1.MemoryStatus, reason string, ids ...string) *fault.Error {
	places := make([]int32, 0, len(ids))
	for _, id := range ids {
		i, err := m.counting(id)
		if err != nil {
			return err
		}
		if slices.Contains(places, i) {
			return wrong("%s ends twice", id)
		}
		places = append(places, i)
	}
	for _, i := range places {
		old := m.entries[i]
		m.leave(i)
		m.entries[i] = &loomv1.MemoryEntry{
			Id: old.Id, Type: old.Type, Namespace: old.Namespace, Layer: old.Layer, Trust: old.Trust, Status: status,
			Bead: old.Bead, Execution: old.Execution, Node: old.Node, Attempt: old.Attempt, Process: old.Process,
			Author: old.Author, Time: old.Time, Count: old.Count, SaidAt: old.SaidAt, Offered: old.Offered,
			ChangedAt: proto.CloneOf(e.Time), ChangedBy: proto.CloneOf(e.Actor), Reason: reason, Lesson: old.Lesson,
		}
	}
	return nil
}

func (m *Memory) offer(e *loomv1.Event, given *loomv1.MemoryOffer) *fault.Error {
	if given.GetAttempt() == "" || m.offers[given.Attempt] != nil {
		return wrong("an offer to attempt %q, which has one or is none", given.GetAttempt())
	}
	o := proto.CloneOf(given)
	o.Time = proto.CloneOf(e.Time)
	if o.Execution == "" {
		o.Execution = e.Execution
	}
	if o.Node == "" {
		o.Node = e.Node
	}
	for _, id := range o.Entries {
		if _, known := m.at(id); !known && !foreign(id) {
			return wrong("an offer of %q, which is not there", id)
		}
	}
	for _, id := range o.Entries {
		if i, ok := m.at(id); ok {
			n := proto.CloneOf(m.entries[i])
			n.Offered++
			m.entries[i] = n
		}
	}
	m.noteOffer(o)
	return nil
}

// counting returns the index of an entry that counts.
func (m *Memory) counting(id string) (int32, *fault.Error) {
	i, ok := m.at(id)
	switch {
	case !ok:
		return 0, wrong("there is no entry %q", id)
	case !counts(m.entries[i]):
		return 0, wrong("%s is gone", id)
	}
	return i, nil
}

// union returns the elements of both, sorted, each once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
