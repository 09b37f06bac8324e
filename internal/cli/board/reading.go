package board

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// open reports whether a bead has a row: it is work, and has not ended.
func open(b *loomv1.Bead) bool {
	if b.GetType() == loomv1.BeadType_BEAD_TYPE_APPROVAL {
		return false
	}
	return slices.Contains(openStatuses, b.GetStatus())
}

// openStatuses are those of beads that have not ended.
var openStatuses = []loomv1.BeadStatus{
	loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS, loomv1.BeadStatus_BEAD_STATUS_WAITING, loomv1.BeadStatus_BEAD_STATUS_OPEN, loomv1.BeadStatus_BEAD_STATUS_BLOCKED,
}

// rowOf is the row of a bead, with its execution and what that used with those that work
// for it, as far as they are known.
func rowOf(b *loomv1.Bead, x *loomv1.Execution, tree *loomv1.TreeUsage) Row {
	r := Row{ID: b.GetId(), Goal: b.GetGoal(), Stage: Queued, Where: "queued", Since: moment(b.GetUpdatedAt(), b.GetCreatedAt())}
	calls, used := uint64(x.GetModelCalls()), x.GetUsage()
	if tree != nil {
		calls, used = tree.GetModelCalls(), tree.GetUsage()
	}
	r.Calls, r.MicroUSD, r.Unpriced = calls > 0, used.GetCostMicroUsd(), calls > 0 && !used.GetCostKnown()
	steps := stepsOf(x)
	switch b.GetStatus() {
	case loomv1.BeadStatus_BEAD_STATUS_BLOCKED:
		r.Where, r.Since, r.Stage = "blocked by "+strings.Join(b.GetBlockedBy(), ", "), moment(b.GetBlockedSince(), b.GetUpdatedAt()), Blocked
		return r
	case loomv1.BeadStatus_BEAD_STATUS_OPEN:
		r.Where, r.Stage = "open", Open
		return r
	}
	if len(steps) > 0 {
		r.Where, r.Since, r.Stage = steps[0].text, cmp.Or(steps[0].since, r.Since), steps[0].stage
		if len(steps) > 1 {
			r.Where += fmt.Sprintf(" (+%d)", len(steps)-1)
		}
	}
	switch {
	case b.GetStatus() == loomv1.BeadStatus_BEAD_STATUS_WAITING && r.Stage != Waiting:
		r.Where, r.Stage = "waits for you", Waiting
	case x.GetHeldSince() != nil && r.Stage != Waiting:
		r.Where, r.Since, r.Stage = "held", x.HeldSince.AsTime(), Held
	}
	return r
}

// step is a node that work is at.
type step struct {
	stage Stage
	text  string
	since time.Time
}

// stepsOf are the nodes that an execution is at: those that wait for a person come
// first, then what somebody works on.
func stepsOf(x *loomv1.Execution) (steps []step) {
	for _, name := range slices.Sorted(maps.Keys(x.GetNodes())) {
		n := x.Nodes[name]
		a := n.GetAttempt()
		switch {
		case n.GetApproval() != "":
			steps = append(steps, step{Waiting, name + " waits for you", time.Time{}})
		case n.GetStatus() == loomv1.NodeStatus_NODE_STATUS_BACKOFF:
			steps = append(steps, step{Queued, name + " is tried again soon", time.Time{}})
		case a == nil:
		case a.GetParked() != "":
			steps = append(steps, step{Parked, name + " is parked for " + parkedFor(a.GetParked()), moment(a.GetDispatchedAt())})
		case a.GetProcess() != "":
			steps = append(steps, step{Running, name + " by " + a.GetProcess(), moment(a.GetDispatchedAt())})
		case a.GetClaimant() != nil:
			steps = append(steps, step{Running, name + " by " + a.GetClaimant().GetAgent(), moment(a.GetDispatchedAt())})
		default:
			steps = append(steps, step{Queued, name + " is queued for " + a.GetRole(), moment(a.GetQueuedAt(), a.GetDispatchedAt())})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		if (a.stage == Waiting) != (b.stage == Waiting) {
			return map[bool]int{true: -1, false: 1}[a.stage == Waiting]
		}
		return cmp.Compare(a.stage, b.stage)
	})
	return steps
}

// parkedFor says in words what an attempt waits for.
func parkedFor(what string) string {
	if text := map[string]string{
		"lock": "the commit lock", "rate": "a rate limit", "permission": "a permission", "team": "its team",
		"budget": "its budget", "operator": "the operator",
	}[what]; text != "" {
		return text
	}
	return what
}

// moment is the first of some times that is known.
func moment(times ...*timestamppb.Timestamp) (t time.Time) {
	for _, one := range times {
		if one != nil && t.IsZero() {
			t = one.AsTime()
		}
	}
	return t
}

// takeInbox has a state show what waits for the person in front.
func takeInbox(s *State, v *loomv1.View) {
	s.Asks, s.Mend, s.Waiting = nil, nil, max(int(v.GetWaiting()), len(v.GetApprovals()))
	for _, a := range v.GetApprovals() {
		s.Asks = append(s.Asks, Ask{ID: a.GetId(), Kind: project.Word(a.GetKind()), Bead: a.GetBead(), Question: a.GetQuestion(), At: moment(a.GetAskedAt())})
	}
	for _, on := range v.GetSessions() {
		s.Waiting++
		s.Asks = append(s.Asks, Ask{ID: on.GetId(), Kind: askSession, Bead: on.GetBead(), Question: intent.Standing(on), At: moment(on.GetChangedAt())})
	}
	slices.SortStableFunc(s.Asks, func(a, b Ask) int { return a.At.Compare(b.At) })
	for _, b := range v.GetBlocks() {
		s.Mend = append(s.Mend, fmt.Sprintf("work waits for the operator: %s [%s]; %s", b.GetMessage(), b.GetCode(), b.GetRemedy()))
	}
}

// pausedProjects are the projects that are paused whole.
func pausedProjects(v *loomv1.View) (list []string) {
	for _, p := range v.GetPauses() {
		if p.GetScope() == loomv1.PauseScope_PAUSE_SCOPE_PROJECT {
			list = append(list, p.GetProject())
		}
	}
	return list
}
