package workflow

import (
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// foldSteering folds what the CEO does, and what gates and limits do.
func (f folder) foldSteering() error {
	switch fact := f.e.Fact.(type) {
	case *loomv1.Event_ExecutionMoved:
		return f.moved(fact.ExecutionMoved)
	case *loomv1.Event_GateFailed:
		return f.gateFailed(fact.GateFailed)
	case *loomv1.Event_GapNoted:
		f.x.Gaps = append(f.x.Gaps, &loomv1.Gap{Node: f.e.Node, Reason: fact.GapNoted.GetReason(), At: f.e.Time})
	case *loomv1.Event_LimitLifted:
		f.lifted(fact.LimitLifted)
	case *loomv1.Event_ChecksTaken:
		f.rechecked(fact.ChecksTaken.GetChecks())
	case *loomv1.Event_ContextSet:
		f.x.Context = WithValues(f.x.Context, fact.ContextSet.GetValues())
	case *loomv1.Event_ExecutionClosing:
		f.x.Closing = &loomv1.Mark{Time: f.e.Time, Text: fact.ExecutionClosing.GetReason()}
	case *loomv1.Event_ConversationSet:
		f.x.Conversation = fact.ConversationSet.GetSettings()
	case *loomv1.Event_WorkPaused:
		return f.paused(fact.WorkPaused.GetPause())
	case *loomv1.Event_WorkResumed:
		return f.resumed()
	}
	return nil
}

func (f folder) moved(m *loomv1.ExecutionMoved) error {
	if m.GetTo() == "" {
		return f.wrong("it is moved nowhere")
	}
	if err := f.resettable(m.ResetNodes, m.ResetEdges); err != nil {
		return err
	}
	f.reset(m.ResetNodes, m.ResetEdges)
	f.x.Moved = &loomv1.Mark{Time: f.e.Time, Text: m.GetReason()}
	return nil
}

func (f folder) gateFailed(g *loomv1.GateFailed) error {
	if st := f.x.Nodes[f.e.Node]; st.GetStatus() != unreached {
		return f.wrong("its gate fails while it is %s", nodeWord(st))
	}
	if g.GetAction() == gateReplans {
		f.touch().Replans = g.Count
	}
	return nil
}

func (f folder) lifted(l *loomv1.LimitLifted) {
	if l.GetGranted() != nil {
		f.x.Granted = l.Granted
	}
	if l.GetDeadline() != nil {
		f.x.LiftedDeadline = l.Deadline
		return
	}
	f.x.DeadlineWaived = f.x.DeadlineWaived || l.GetDeadlineWaived()
}

func (f folder) paused(p *loomv1.Pause) error {
	if f.x.Paused != nil {
		return f.wrong("execution %q is paused already", f.x.Id)
	}
	f.x.Paused = p
	return nil
}

func (f folder) resumed() error {
	if f.x.Paused == nil {
		return f.wrong("execution %q is not paused", f.x.Id)
	}
	f.x.Paused = nil
	return nil
}

func (f folder) childStarted(c *loomv1.ChildStarted) error {
	st, err := f.attempt()
	if err != nil {
		return err
	}
	if st.Attempt.Process == "" || st.Attempt.Child != "" || c.GetExecution() == "" {
		return f.wrong("no child can begin for attempt %q", f.e.Attempt)
	}
	st.Attempt.Child = c.Execution
	return nil
}

func (f folder) childDelivered(c *loomv1.ChildDelivered) error {
	st, err := f.attempt()
	if err != nil {
		return err
	}
	a := st.Attempt
	if a.Child == "" || a.Given != nil || c.GetRole() == "" || c.GetOutcome().GetChange() == nil {
		return f.wrong("attempt %q has nothing to take over", a.Id)
	}
	a.Given, a.Role, a.QueuedAt, a.Deadline = c.Outcome, c.Role, f.e.Time, nil
	return nil
}

func (f folder) asked(a *loomv1.Approval) error {
	if a.GetPermission() != nil {
		f.x.Permissions = append(slices.Clip(f.x.Permissions), a.Id)
		return nil
	}
	if f.e.Node == "" {
		return f.askedOfAll(a)
	}
	st := f.x.Nodes[f.e.Node]
	if !idle(st) || st.GetStatus() == backingOff || a.GetId() == "" || a.Node != f.e.Node {
		return f.wrong("approval %q cannot be asked while it is %s", a.GetId(), nodeWord(st))
	}
	st = f.touch()
	st.Status, st.Approval, st.Asks, st.Gated, st.Halts = waiting, a.Id, a.Kind, a.Gate, a.Halts
	if a.Halts {
		f.halt()
	}
	return nil
}

// askedOfAll opens an approval about the whole execution.
func (f folder) askedOfAll(a *loomv1.Approval) error {
	if a.GetId() == "" || a.Node != "" || f.x.LimitApproval != "" {
		return f.wrong("approval %q cannot be asked beside %q", a.GetId(), f.x.LimitApproval)
	}
	f.x.LimitApproval = a.Id
	return nil
}

// halt notes by which node the others are halted, the first by name.
func (f folder) halt() {
	f.x.HaltedBy = ""
	for id, st := range f.x.Nodes {
		if st.Halts && (f.x.HaltedBy == "" || id < f.x.HaltedBy) {
			f.x.HaltedBy = id
		}
	}
}

// decided closes an approval. What follows from it comes in events of its own,
// but that a change is approved, or a gate waived, is this event itself.
func (f folder) decided(d *loomv1.ApprovalDecided) error {
	if f.answered(d.GetApproval()) {
		return nil
	}
	if f.e.Node == "" && d.GetApproval() != "" && d.Approval == f.x.LimitApproval {
		f.x.LimitApproval = ""
		return nil
	}
	st := f.x.Nodes[f.e.Node]
	if st.GetApproval() == "" || st.Approval != d.GetApproval() {
		return f.wrong("approval %q is not open", d.GetApproval())
	}
	asked := st.Asks == loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL || st.Asks == escalation && st.GetOutcome().GetCode() == needsGate
	if asked && d.Decision == approve && f.x.Change != nil {
		f.x.Approved = &loomv1.ApprovedChange{
			Approval: d.Approval, PatchDigest: f.x.Change.PatchDigest, Decision: d.DecisionNode, At: f.e.Time,
		}
	}
	st.GateWaived = st.GateWaived || st.Gated && d.Decision == approve
	f.closeApproval(st)
	return nil
}

// answered closes a question about a tool call, and says whether it was one.
func (f folder) answered(id string) bool {
	i := slices.Index(f.x.Permissions, id)
	if i < 0 {
		return false
	}
	f.x.Permissions = slices.Delete(slices.Clone(f.x.Permissions), i, i+1) // copies share it
	return true
}

// closeApproval ends the open approval of a node. One about its gate leaves it
// unreached: the start rule goes on with it.
func (f folder) closeApproval(st *loomv1.NodeState) {
	if st.Gated {
		st.Status = unreached
	}
	halts := st.Halts
	st.Approval, st.Asks, st.Gated, st.Halts = "", loomv1.ApprovalKind_APPROVAL_KIND_UNSPECIFIED, false, false
	if halts {
		f.halt()
	}
}

func (f folder) lapsed(l *loomv1.ApprovalLapsed) error {
	if f.answered(l.GetApproval()) {
		return nil
	}
	if f.e.Node == "" && l.GetApproval() != "" && l.Approval == f.x.LimitApproval {
		f.x.LimitApproval = ""
		return nil
	}
	if st := f.x.Nodes[f.e.Node]; st.GetApproval() != "" && st.Approval == l.GetApproval() {
		f.closeApproval(st)
		return nil
	}
	if f.x.Approved != nil && f.x.Approved.Approval == l.GetApproval() {
		f.x.Approved = nil
		return nil
	}
	return f.wrong("approval %q covers nothing", l.GetApproval())
}
