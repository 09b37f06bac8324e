package project

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// index is what is kept beside the state so that nothing is sorted or searched
// through when somebody asks. It holds no facts: add and move are called with
// what has changed, and lead from any state to what the next one would be
// indexed as from nothing.
type index struct {
	beads      idList // all
	approvals  idList // all
	asking     idList // approvals that wait for an answer
	consults   idList // beads that ask for a vote and have not ended
	unsettled  idList // beads whose status or execution lags behind their links
	executions []begun
	children   map[string]idList // by parent
	blocks     map[string]idList // by blocker: the beads that it blocks
	printed    map[string]string // newest bead of each fingerprint
}

// begun is an execution in the order of their beginnings.
type begun struct {
	at time.Time
	id string
}

func newIndex() index {
	return index{children: map[string]idList{}, blocks: map[string]idList{}, printed: map[string]string{}}
}

// reindex builds the index from the state, and from what is in segments.
func (s *State) reindex(entries map[string]*loomv1.SegmentEntry) {
	s.index = newIndex()
	s.index.beads, s.index.approvals = slices.Collect(maps.Keys(s.p.Beads)), slices.Collect(maps.Keys(s.p.Approvals))
	for id, x := range s.p.Executions {
		s.index.executions = append(s.index.executions, begun{asTime(x.StartedAt), id})
	}
	for id, e := range entries {
		s.index.beads = append(s.index.beads, id)
		if e.AskedBy != "" || e.Type == loomv1.BeadType_BEAD_TYPE_APPROVAL {
			s.index.approvals = append(s.index.approvals, id)
		}
		for _, x := range e.Executions {
			s.index.executions = append(s.index.executions, begun{asTime(x.StartedAt), x.Id})
		}
	}
	slices.SortFunc(s.index.beads, byNumber)
	slices.SortFunc(s.index.approvals, byNumber)
	slices.SortFunc(s.index.executions, begun.compare)
	for _, id := range s.index.beads {
		if e := entries[id]; e != nil {
			s.index.found(&loomv1.Bead{Id: id, Parent: e.Parent, BlockedBy: e.BlockedBy, Fingerprint: e.Fingerprint})
			continue
		}
		b := s.p.Beads[id]
		s.index.found(b)
		s.lookAtConsult(b)
		s.lookAt(id)
	}
	for _, id := range s.index.approvals {
		if s.p.Approvals[id] != nil {
			s.lookAtApproval(id)
		}
	}
}

// found notes the links and the fingerprint of b, the newest bead so far.
func (ix *index) found(b *loomv1.Bead) {
	ix.link(b)
	if b.Fingerprint != "" {
		ix.printed[b.Fingerprint] = b.Id
	}
}

// link notes the links of b.
func (ix *index) link(b *loomv1.Bead) {
	if b.Parent != "" {
		ix.children[b.Parent] = ix.children[b.Parent].with(b.Id)
	}
	for _, on := range b.BlockedBy {
		ix.blocks[on] = ix.blocks[on].with(b.Id)
	}
}

// unlink forgets the links of b.
func (ix *index) unlink(b *loomv1.Bead) {
	if b.Parent != "" {
		ix.children[b.Parent] = ix.children[b.Parent].without(b.Id)
	}
	for _, on := range b.BlockedBy {
		ix.blocks[on] = ix.blocks[on].without(b.Id)
	}
}

// indexFiled notes a new bead.
func (s *State) indexFiled(b *loomv1.Bead) {
	s.index.beads = s.index.beads.with(b.Id)
	s.index.found(b)
	s.lookAtConsult(b)
	s.lookAt(b.Id)
}

// indexStatus notes that the status of b has changed: where that frees or binds
// others, they are to be looked at again, and held if need be.
func (s *State) indexStatus(b *loomv1.Bead, was loomv1.BeadStatus, at *timestamppb.Timestamp) {
	s.reholdBead(b.Id, at)
	s.lookAtConsult(b)
	s.lookAt(b.Id)
	if b.Type == loomv1.BeadType_BEAD_TYPE_APPROVAL {
		s.lookAtApproval(b.Id)
	}
	if ended(was) || ended(b.Status) {
		for _, id := range s.index.blocks[b.Id] {
			s.reholdBead(id, at)
			s.lookAt(id)
		}
	}
}

// indexExecution notes an execution that began, or whose end matters to its
// bead.
func (s *State) indexExecution(x *loomv1.Execution) {
	e := begun{asTime(x.StartedAt), x.Id}
	if i, known := slices.BinarySearchFunc(s.index.executions, e, begun.compare); !known {
		s.index.executions = slices.Insert(s.index.executions, i, e)
	}
	s.lookAt(x.Bead)
}

// lookAt notes whether a bead is settled.
func (s *State) lookAt(id string) {
	if b := s.p.Beads[id]; b != nil && s.unsettled(b) {
		s.index.unsettled = s.index.unsettled.with(id)
	} else {
		s.index.unsettled = s.index.unsettled.without(id)
	}
}

// lookAtConsult notes whether a bead asks for a vote.
func (s *State) lookAtConsult(b *loomv1.Bead) {
	switch {
	case b.Ballot == "":
	case ended(b.Status):
		s.index.consults = s.index.consults.without(b.Id)
	default:
		s.index.consults = s.index.consults.with(b.Id)
	}
}

// lookAtApproval notes whether an approval waits for an answer.
func (s *State) lookAtApproval(id string) {
	if s.asks(s.p.Approvals[id]) {
		s.index.asking = s.index.asking.with(id)
	} else {
		s.index.asking = s.index.asking.without(id)
	}
}

// asks says whether an approval waits for an answer.
func (s *State) asks(a *loomv1.Approval) bool {
	return a != nil && a.Decision == loomv1.ApprovalDecision_APPROVAL_DECISION_UNSPECIFIED && !ended(s.bead(a.Id).GetStatus())
}

// idList holds ids of beads, each once, by their numbers. Beads are numbered as
// they come, so that what is added stands at the end.
type idList []string

func (l idList) with(id string) idList {
	if i, known := slices.BinarySearchFunc(l, id, byNumber); !known {
		return slices.Insert(l, i, id)
	}
	return l
}

func (l idList) without(id string) idList {
	if i, known := slices.BinarySearchFunc(l, id, byNumber); known {
		return slices.Delete(l, i, i+1)
	}
	return l
}

// before returns how many of the list come before id; all for "".
func (l idList) before(id string) int {
	if id == "" {
		return len(l)
	}
	i, _ := slices.BinarySearchFunc(l, id, byNumber)
	return i
}

// onward returns a copy of what a list goes on with after an id, newest first or
// oldest first; all of it for "".
func (l idList) onward(after string, oldest bool) idList {
	if !oldest {
		rest := slices.Clone(l[:l.before(after)])
		slices.Reverse(rest)
		return rest
	}
	i, known := slices.BinarySearchFunc(l, after, byNumber)
	if known {
		i++
	}
	if after == "" {
		i = 0
	}
	return slices.Clone(l[i:])
}

// first returns a copy of the first n of the list.
func (l idList) first(n int) []string { return slices.Clone([]string(l[:min(n, len(l))])) }

func byNumber(a, b string) int {
	return cmp.Or(cmp.Compare(ordinal(a), ordinal(b)), strings.Compare(a, b))
}

// compare orders executions by their beginnings, and those of one moment by
// their beads and then by their own numbers.
func (e begun) compare(f begun) int {
	bead, n := cutExecution(e.id)
	other, m := cutExecution(f.id)
	return cmp.Or(e.at.Compare(f.at), byNumber(bead, other), cmp.Compare(n, m), strings.Compare(e.id, f.id))
}

// ordinal returns the number in "PROJECT-N" or "PROJECT-NeEPOCH", 0 without one.
func ordinal(id string) int {
	n, _ := beadNumber(id[strings.LastIndexByte(id, '-')+1:])
	return n
}

// cutExecution splits "BEAD-xN"; what is no execution's id has the number 0.
func cutExecution(id string) (bead string, n int) {
	i := strings.LastIndex(id, "-x")
	if i < 0 {
		return id, 0
	}
	n, _ = strconv.Atoi(id[i+2:])
	return id[:i], n
}
