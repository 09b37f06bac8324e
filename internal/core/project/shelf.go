package project

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// unpackedMost is how much ended work stays as it is when a state rests: that which
// ended last, or was looked at last.
const unpackedMost = 64

// shelf has the work that has ended: beads with their executions and what was asked.
// A project has much more of it than of work that goes on, and hardly ever looks at
// it again. In memory a record takes some seven times what it takes as bytes, and each
// garbage collection follows all its pointers; so it is kept as bytes at first, and in
// segments outside of the state from the next snapshot on.
//
// It is no part of the state: what a state says does not depend on where its records
// are.
type shelf struct {
	own    map[string][]byte   // records that no segment has, by bead
	kept   map[string]location // records in segments, by bead; while one is unpacked, what it was
	pinned map[string]uint32   // how many executions there are in records, by the hash of their definition
	idle   []string            // beads that may have become records, the longest first; an id may come twice

	segments []string // names, oldest first
	unread   bool     // the indexes of segments are not read yet
}

// location is where a record is in a segment, and what lists choose by.
type location struct {
	segment      int32
	offset, size uint32
	digest       uint64
	status       loomv1.BeadStatus
	kind         loomv1.BeadType
}

func newShelf() shelf {
	return shelf{own: map[string][]byte{}, kept: map[string]location{}, pinned: map[string]uint32{}}
}

// bead returns a bead, or nil. It stays where it is until the state rests, so all who
// ask before that have the same one.
func (s *State) bead(id string) *loomv1.Bead {
	if b, ok := s.p.Beads[id]; ok {
		return b
	}
	s.unshelve(id)
	return s.p.Beads[id]
}

// execution returns an execution likewise.
func (s *State) execution(id string) *loomv1.Execution {
	if x, ok := s.p.Executions[id]; ok {
		return x
	}
	bead, _ := cutExecution(id)
	s.unshelve(bead)
	return s.p.Executions[id]
}

// approval returns what was asked likewise.
func (s *State) approval(id string) *loomv1.Approval {
	if a, ok := s.p.Approvals[id]; ok {
		return a
	}
	s.unshelve(id)
	return s.p.Approvals[id]
}

// unshelve has the record of a bead in its place, if there is one.
func (s *State) unshelve(bead string) {
	if _, live := s.p.Beads[bead]; live {
		return
	}
	w := s.peek(bead)
	if w == nil {
		return
	}
	delete(s.shelf.own, bead)
	s.p.Beads[bead] = w.Bead
	for _, x := range w.Executions {
		s.p.Executions[x.Id] = x
		s.shelf.pinned[x.DefinitionHash]--
	}
	if w.Approval != nil {
		s.p.Approvals[bead] = w.Approval
	}
	s.shelf.idle = append(s.shelf.idle, bead)
}

// peek returns a copy of the record of a bead, or nil where there is none. Who lists
// much uses it, so that what is listed does not stay in memory.
func (s *State) peek(bead string) *loomv1.EndedWork {
	data, ok := s.shelf.own[bead]
	if !ok {
		s.readSegments()
		at, there := s.shelf.kept[bead]
		if !there {
			return nil
		}
		data = s.record(at)
	}
	w := &loomv1.EndedWork{}
	if err := proto.Unmarshal(data, w); err != nil {
		panic(fmt.Sprintf("record of bead %q: %v", bead, err))
	}
	return w
}

// may says whether a bead may have such a status and type, as far as that is known
// without reading its record.
func (s *shelf) may(bead string, status, sort int32) bool {
	at, kept := s.kept[bead]
	return !kept || is(int32(at.status), status) && is(int32(at.kind), sort)
}

// listed returns a bead for a list: one that must not be changed.
func (s *State) listed(id string) *loomv1.Bead {
	if b, ok := s.p.Beads[id]; ok {
		return b
	}
	return s.peek(id).GetBead()
}

// listedExecution returns an execution for a list likewise.
func (s *State) listedExecution(id string) *loomv1.Execution {
	if x, ok := s.p.Executions[id]; ok {
		return x
	}
	bead, _ := cutExecution(id)
	for _, x := range s.peek(bead).GetExecutions() {
		if x.Id == id {
			return x
		}
	}
	return nil
}

// listedApproval returns what was asked likewise.
func (s *State) listedApproval(id string) *loomv1.Approval {
	if a, ok := s.p.Approvals[id]; ok {
		return a
	}
	return s.peek(id).GetApproval()
}

// idle notes that work may have ended.
func (s *State) idle(bead string) { s.shelf.idle = append(s.shelf.idle, bead) }

// Rest gives back memory that nothing needs for now. The owner calls it when
// nobody holds anything of the state, such as after a command. It costs what
// has ended since the last time; it changes nothing that can be seen.
func (s *State) Rest() { s.rest(unpackedMost) }

// Pack is Rest that leaves no ended work as it is.
func (s *State) Pack() { s.rest(0) }

func (s *State) rest(unpacked int) {
	for len(s.shelf.idle) > unpacked {
		id := s.shelf.idle[0]
		s.shelf.idle = s.shelf.idle[1:]
		s.pack(id)
	}
}

// pack makes a record of a bead that has ended with all its executions.
func (s *State) pack(bead string) {
	w := &loomv1.EndedWork{Bead: s.p.Beads[bead], Approval: s.p.Approvals[bead]}
	if w.Bead == nil || !ended(w.Bead.Status) {
		return
	}
	for n := range w.Bead.Executions {
		x := s.p.Executions[executionID(bead, int(n)+1)]
		if x == nil || running(x) {
			return
		}
		w.Executions = append(w.Executions, x)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(w)
	if err != nil {
		return // it stays as it is; Hash says the same of a whole state
	}
	if at, kept := s.shelf.kept[bead]; !kept || at.digest != digestOf(data) {
		s.shelf.own[bead] = data
		delete(s.shelf.kept, bead)
	}
	delete(s.p.Beads, bead)
	delete(s.p.Approvals, bead)
	for _, x := range w.Executions {
		delete(s.p.Executions, x.Id)
		s.shelf.pinned[x.DefinitionHash]++
	}
}

func executionID(bead string, n int) string { return fmt.Sprintf("%s-x%d", bead, n) }

// unpack has everything in its place.
func (s *State) unpack() {
	s.readSegments()
	for id := range s.shelf.own {
		s.unshelve(id)
	}
	for id := range s.shelf.kept {
		s.unshelve(id)
	}
}
