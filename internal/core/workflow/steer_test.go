package workflow_test

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// steer does what a CEO may at any time, or what becomes of hosts and budgets.
func (m *sim) steer() {
	switch m.rng.IntN(12) {
	case 0, 1, 2:
		m.move()
	case 3, 4:
		m.pauseOrResume()
	case 5, 6:
		m.must(m.tried(func() error { return m.run().AskLimit(&loomv1.Approval{Reason: "budget/exhausted: all is spent"}, "") }))
		m.saw["limit"]++
	case 7, 8:
		m.held = !m.held
		if !m.held {
			m.must(m.tried(m.run().Advance))
		}
	case 9, 10:
		m.comeOrGo([]string{"researcher", "qa-engineer", "engineering-manager"}[m.rng.IntN(3)])
	case 11:
		if m.rng.IntN(10) == 0 {
			m.must(m.tried(func() error { return m.run().CloseNow("enough") }))
		}
	}
}

// free ends all that holds, and brings everybody back.
func (m *sim) free() {
	m.held, m.gone = false, map[string]time.Time{}
	if m.x.Paused != nil && m.x.EndedAt == nil {
		m.pauseOrResume()
	}
}

func (m *sim) comeOrGo(role string) {
	if _, is := m.gone[role]; is {
		delete(m.gone, role)
		return
	}
	m.gone[role] = m.now
}

func (m *sim) pauseOrResume() {
	e := &loomv1.Event{Fact: &loomv1.Event_WorkPaused{WorkPaused: &loomv1.WorkPaused{Pause: &loomv1.Pause{
		Scope: loomv1.PauseScope_PAUSE_SCOPE_EXECUTION, Name: m.x.Id, Since: timestamppb.New(m.now),
	}}}}
	if m.x.Paused != nil {
		e = &loomv1.Event{Fact: &loomv1.Event_WorkResumed{WorkResumed: &loomv1.WorkResumed{
			Scope: loomv1.PauseScope_PAUSE_SCOPE_EXECUTION, Name: m.x.Id,
		}}}
	}
	m.must(m.emit(e))
	m.must(m.tried(m.run().Advance))
}

func (m *sim) decideLimit(a *loomv1.Approval, d loomv1.ApprovalDecision) {
	m.more["/0"]++
	m.must(m.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: &loomv1.ApprovalDecided{Approval: a.Id, Decision: d, Digest: a.Digest}}}))
	if d == approve {
		m.must(m.emit(&loomv1.Event{Fact: &loomv1.Event_LimitLifted{LimitLifted: &loomv1.LimitLifted{DeadlineWaived: true}}}))
	}
	m.must(m.run().Decide(a, &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: d}))
	m.still()
}

// move goes on at any node. Then everything that does not follow it is settled
// with all its edges, and nothing that follows it is: as if the execution had
// come to the node by itself, and nowhere else.
func (m *sim) move() {
	nodes := m.def.Definition().Nodes
	to := nodes[m.rng.IntN(len(nodes))].Id
	limit := m.x.LimitApproval
	m.over = true
	err := m.tried(func() error { return m.run().Move(to, "go there") })
	m.over = false
	if m.def.Node(to).Detached && fault.Code(err) == "workflow/detached" {
		return // it is for after the end
	}
	if err != nil {
		m.broken("move to %s: %v (%s)", to, err, fault.Code(err))
		return
	}
	if m.x.EndedAt != nil {
		return // it was moved to an end, or to what leads there at once
	}
	if m.x.LimitApproval != limit {
		m.broken("limit approval %q becomes %q with the move to %s", limit, m.x.LimitApproval, to)
	}
	if m.isHeld() {
		m.checkMoved(to)
	}
}

// checkMoved wants a held execution to be ready to start a node, and no other.
func (m *sim) checkMoved(to string) {
	after := m.following(to)
	for _, n := range m.def.Definition().Nodes {
		st := m.x.Nodes[n.Id].GetStatus()
		if fresh := st == 0; fresh != after[n.Id] {
			m.broken("after the move to %s node %s is %s", to, n.Id, st)
		}
	}
	for _, e := range m.def.Definition().Edges {
		if _, settled := m.x.Edges[e.Id]; settled == after[e.From] {
			m.broken("after the move to %s edge %s: settled is %t", to, e.Id, settled)
		}
	}
	m.checkReady(to)
}

// following returns a node and all that follow it.
func (m *sim) following(node string) map[string]bool {
	found := map[string]bool{node: true}
	for range m.def.Definition().Nodes {
		for _, e := range m.def.Definition().Edges {
			found[e.To] = found[e.To] || found[e.From]
		}
	}
	return found
}

// steered says what an event shows of what the CEO, gates and limits do.
func (m *sim) steered(e *loomv1.Event) (kinds []string) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_GateFailed:
		return []string{[]string{"", "gate blocks", "gate skips", "replan", "failed by a gate"}[f.GateFailed.Action]}
	case *loomv1.Event_GapNoted:
		m.gap = e.Node
		return []string{"gap"}
	case *loomv1.Event_ExecutionMoved:
		if len(f.ExecutionMoved.ResetNodes) > 0 {
			return []string{"move", "move back"}
		}
		return []string{"move"}
	case *loomv1.Event_NodeSkipped:
		switch {
		case m.over:
			return []string{"moved over"}
		case m.x.Parent != "" && m.def.Node(e.Node).Kind == loomv1.NodeKind_NODE_KIND_LAND && e.GetNodeSkipped().Reason != "":
			return []string{"nested"}
		}
	case *loomv1.Event_ApprovalRequested:
		if f.ApprovalRequested.Approval.Halts {
			return []string{"halt"}
		}
	case *loomv1.Event_ApprovalDecided:
		if m.x.Nodes[e.Node].GetGateWaived() {
			return []string{"gate waived"}
		}
	case *loomv1.Event_LimitLifted:
		return []string{"limit lifted"}
	case *loomv1.Event_WorkPaused:
		return []string{"paused"}
	case *loomv1.Event_WorkResumed:
		return []string{"resumed"}
	case *loomv1.Event_ChildStarted:
		return []string{"child"}
	case *loomv1.Event_ChildDelivered:
		return []string{"child delivered"}
	case *loomv1.Event_AttemptEnded:
		return m.ended(e.Node, f.AttemptEnded.Outcome)
	case *loomv1.Event_ExecutionEnded:
		if f.ExecutionEnded.Status == aborted {
			return []string{"aborted"}
		}
	}
	return nil
}

const aborted = loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED

func (m *sim) ended(node string, out *loomv1.Outcome) (kinds []string) {
	if m.isHeld() {
		kinds = append(kinds, "answered while held")
	}
	if out.Code == "agent/none-live" {
		kinds = append(kinds, "none live")
	}
	switch {
	case m.def.Node(node).Process == "":
	case out.Code == "attempt/withdrawn":
		kinds = append(kinds, "child withdrawn")
	case out.Status == failure:
		kinds = append(kinds, "child failed")
	}
	return kinds
}
