package project

import (
	"strings"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// WorkStates are the words for where work is while its bead is in progress, and for
// beads that are closed with gaps; a list of beads can be filtered by them as by a
// status.
var WorkStates = []string{"queued", "running", "parked", "held", closedWithGaps}

const closedWithGaps = "closed_with_gaps"

// beadState says where the work of a bead is, if it has begun and has not ended, or
// has ended with gaps.
func (s *State) beadState(b *loomv1.Bead) loomv1.WorkState {
	switch b.GetStatus() {
	case loomv1.BeadStatus_BEAD_STATUS_BLOCKED:
		return loomv1.WorkState_WORK_STATE_BLOCKED
	case loomv1.BeadStatus_BEAD_STATUS_WAITING:
		return loomv1.WorkState_WORK_STATE_WAITING
	case loomv1.BeadStatus_BEAD_STATUS_CLOSED:
		if b.Gaps > 0 {
			return loomv1.WorkState_WORK_STATE_CLOSED_WITH_GAPS
		}
	case loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS:
		return StateOf(s.execution(b.GetExecution()))
	}
	return loomv1.WorkState_WORK_STATE_UNSPECIFIED
}

// executionState is the state of an execution: that of its bead, where the bead is
// worked on by this one.
func (s *State) executionState(x *loomv1.Execution) loomv1.WorkState {
	if b := s.bead(x.GetBead()); running(x) && b.GetExecution() == x.GetId() {
		if state := s.beadState(b); state != loomv1.WorkState_WORK_STATE_UNSPECIFIED {
			return state
		}
	}
	return StateOf(x)
}

// inState reports whether a bead is in the state that a filter names, if it names one.
func (s *State) inState(b *loomv1.Bead, filter string) bool {
	state, known := stateNamed(filter)
	return !known || s.beadState(b) == state
}

// stateNamed returns the state of a bead in progress that a word is for.
func stateNamed(word string) (loomv1.WorkState, bool) {
	for _, w := range WorkStates {
		if w == word {
			return loomv1.WorkState(loomv1.WorkState_value["WORK_STATE_"+strings.ToUpper(w)]), true
		}
	}
	return loomv1.WorkState_WORK_STATE_UNSPECIFIED, false
}

// StateOf is the state of an execution by what it says itself: one that its bead's
// links block is held.
func StateOf(x *loomv1.Execution) loomv1.WorkState {
	if !running(x) {
		return loomv1.WorkState_WORK_STATE_UNSPECIFIED
	}
	if x.GetLimitApproval() != "" || len(x.GetPermissions()) > 0 {
		return loomv1.WorkState_WORK_STATE_WAITING
	}
	seen := map[loomv1.WorkState]bool{loomv1.WorkState_WORK_STATE_HELD: x.GetHeldSince() != nil}
	for _, n := range x.GetNodes() {
		seen[StateOfNode(n)] = true
	}
	for _, state := range []loomv1.WorkState{
		loomv1.WorkState_WORK_STATE_WAITING, loomv1.WorkState_WORK_STATE_HELD, loomv1.WorkState_WORK_STATE_RUNNING, loomv1.WorkState_WORK_STATE_PARKED,
	} {
		if seen[state] {
			return state
		}
	}
	return loomv1.WorkState_WORK_STATE_QUEUED
}

// StateOfNode says where the work of a node is that was begun and has not ended.
func StateOfNode(n *loomv1.NodeState) loomv1.WorkState {
	a := n.GetAttempt()
	switch {
	case n.GetApproval() != "":
		return loomv1.WorkState_WORK_STATE_WAITING
	case n.GetStatus() == loomv1.NodeStatus_NODE_STATUS_BACKOFF:
		return loomv1.WorkState_WORK_STATE_QUEUED
	case a == nil:
		return loomv1.WorkState_WORK_STATE_UNSPECIFIED
	case a.GetParked() != "":
		return loomv1.WorkState_WORK_STATE_PARKED
	case workflow.OfProcess(a) || a.GetClaimant() != nil:
		return loomv1.WorkState_WORK_STATE_RUNNING
	}
	return loomv1.WorkState_WORK_STATE_QUEUED
}

// BeadWord is the word for where a bead is: its state, and where it has none its status.
func BeadWord(b *loomv1.Bead) string {
	if b.GetState() != loomv1.WorkState_WORK_STATE_UNSPECIFIED {
		return Word(b.GetState())
	}
	return Word(b.GetStatus())
}

// ExecutionWord is the word for where an execution is, as [BeadWord].
func ExecutionWord(x *loomv1.Execution) string {
	if x.GetState() != loomv1.WorkState_WORK_STATE_UNSPECIFIED {
		return Word(x.GetState())
	}
	return Word(x.GetStatus())
}

// NodeWord is the word for where a node of an execution is. Of one that is held, what
// nobody is at is held; what had not ended when the execution did is stopped.
func NodeWord(x *loomv1.Execution, n *loomv1.NodeState) string {
	if begun := n.GetStatus(); x.GetEndedAt() != nil && begun >= loomv1.NodeStatus_NODE_STATUS_RUNNING && begun <= loomv1.NodeStatus_NODE_STATUS_WAITING {
		return "stopped"
	}
	switch state := StateOfNode(n); state {
	case loomv1.WorkState_WORK_STATE_UNSPECIFIED:
		return Word(n.GetStatus())
	case loomv1.WorkState_WORK_STATE_QUEUED:
		if x.GetHeldSince() != nil {
			return Word(loomv1.WorkState_WORK_STATE_HELD)
		}
		if n.GetStatus() == loomv1.NodeStatus_NODE_STATUS_BACKOFF {
			return Word(n.GetStatus())
		}
		return Word(state)
	default:
		return Word(state)
	}
}
