package project

import (
	"cmp"
	"fmt"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What the rows of the table do ([reactions]).

func (d *decision) followStatus(e *loomv1.Event) error { return d.restate(e.Bead) }

func (d *decision) noteGoal(e *loomv1.Event) error {
	b := d.s.bead(e.Bead)
	if b.Ballot != "" {
		return nil // what it is about is in the graph
	}
	return d.note(loomv1.DecisionType_DECISION_TYPE_GOAL, b.Goal, "", 100, "")
}

func (d *decision) followAsked(e *loomv1.Event) error {
	a := e.GetApprovalRequested().GetApproval()
	bead := &loomv1.Bead{
		Id: a.Id, Project: d.s.cfg.ID, Type: loomv1.BeadType_BEAD_TYPE_APPROVAL,
		Status: loomv1.BeadStatus_BEAD_STATUS_OPEN, Goal: a.Question, Description: a.Reason,
		Priority: d.s.bead(a.Bead).GetPriority(), About: a.Bead,
	}
	if err := d.emit(&loomv1.Event{Bead: a.Id, Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: bead}}}); err != nil {
		return err
	}
	return d.restate(a.Bead)
}

func (d *decision) closeApproval(e *loomv1.Event) error {
	id, reason := e.GetApprovalDecided().GetApproval(), e.GetApprovalDecided().GetComment()
	if f := e.GetApprovalLapsed(); f != nil {
		id, reason = f.Approval, f.Reason
	}
	a := d.s.approval(id)
	if a == nil || ended(d.s.bead(id).GetStatus()) {
		return nil
	}
	if err := d.beadStatus(id, loomv1.BeadStatus_BEAD_STATUS_CLOSED, reason); err != nil {
		return err
	}
	return d.restate(a.Bead)
}

func (d *decision) followChange(e *loomv1.Event) {
	c := e.GetChangeProposed().GetChange()
	if l := d.s.landedMeanwhile(d.s.execution(e.Execution), e.Node, c.GetPatchDigest()); c != nil && l != nil {
		d.later(func() error { return d.withdraw(d.s.execution(e.Execution), l) })
	}
}

func (d *decision) noteChange(e *loomv1.Event) error {
	c := e.GetChangeProposed().GetChange()
	if c == nil {
		return nil // it is withdrawn
	}
	title := fmt.Sprintf("change %.12s proposed: %d files", c.PatchDigest, max(int(c.FilesTotal), len(c.Files)))
	if len(c.Files) == 1 && c.FilesTotal <= 1 {
		title = fmt.Sprintf("change %.12s proposed: %s", c.PatchDigest, c.Files[0].Path)
	}
	return d.note(loomv1.DecisionType_DECISION_TYPE_ACTION, title, "", 100, d.leading(e.Execution))
}

func (d *decision) noteLanding(e *loomv1.Event) error {
	l, late := e.GetLanded().GetLanding(), ""
	if f := e.GetLandingSettled(); f != nil {
		l, late = f.Landing, ", though its attempt had ended"
	}
	if l == nil {
		return nil
	}
	title := fmt.Sprintf("commit %.12s landed on %s%s", l.Commit, l.Ref, late)
	return d.note(loomv1.DecisionType_DECISION_TYPE_OUTCOME, title, l.Checkout, 100, d.leading(e.Execution))
}

// followLanded withdraws the same patch as one that has landed wherever else it
// is proposed and not approved yet: nobody is asked about what is on the target.
func (d *decision) followLanded(e *loomv1.Event) error {
	landed := d.s.landedAs(cmp.Or(e.GetLanded().GetLanding().GetCommit(), e.GetLandingSettled().GetLanding().GetCommit()))
	if landed == nil {
		return nil
	}
	for _, x := range d.s.running() {
		if x.Id == e.Execution || x.Change.GetPatchDigest() != landed.PatchDigest {
			continue
		}
		if err := d.withdraw(x, landed); err != nil {
			return err
		}
	}
	return nil
}

// withdraw takes back the change of an execution that is proposed and not approved
// yet, because the same patch has landed.
func (d *decision) withdraw(x *loomv1.Execution, l *loomv1.LandedPatch) error {
	run := d.run(x)
	if x.Change.GetPatchDigest() != l.PatchDigest || !run.Withdrawable() {
		return nil
	}
	defer d.about(x)()
	return run.Withdraw(fmt.Sprintf("the same change landed with bead %s, as commit %.12s", l.Bead, l.Commit))
}

// leading returns the newest node of the execution that a new one can follow
// from: a decision or action, else its goal.
func (d *decision) leading(execution string) string {
	best := ""
	for _, n := range d.s.graph.List(graph.Filter{Execution: execution}) {
		switch n.Type {
		case loomv1.DecisionType_DECISION_TYPE_DECISION, loomv1.DecisionType_DECISION_TYPE_ACTION:
			best = n.Id
		case loomv1.DecisionType_DECISION_TYPE_GOAL:
			best = first(best, n.Id)
		}
	}
	return best
}

// note adds a node of the runtime's own to the decision graph, led to by from.
func (d *decision) note(t loomv1.DecisionType, title, description string, confidence uint32, from string) error {
	cmd := &loomv1.AddDecision{Node: &loomv1.DecisionNode{
		Type: t, Title: cut(title, 300), Description: description, Confidence: confidence, Bead: d.bead, Execution: d.execution,
	}}
	if from != "" {
		cmd.Links = append(cmd.Links, &loomv1.DecisionEdge{From: from, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO})
	}
	return d.all(d.s.graph.Add(cmd))
}

// freeLock gives back what an attempt holds or waits for.
func (d *decision) freeLock(e *loomv1.Event) error {
	request := e.Attempt
	claim, ok := d.s.locks.Claim(d.repository(), request)
	if !ok {
		return nil
	}
	if claim.Token != 0 {
		return d.lock(d.s.locks.Release(d.now, d.repository(), claim.Token))
	}
	return d.lock(d.s.locks.Withdraw(d.now, d.repository(), request))
}

// followGrant queues the attempt again that was parked until the grant. A grant
// to work that may not use it now goes to the next: what contradicts other work
// by now is refused when it asks again.
func (d *decision) followGrant(e *loomv1.Event) error {
	f := e.GetLockGranted()
	x, a := d.s.attempt(f.Request)
	if a == nil {
		return nil
	}
	defer d.about(x)()
	parked := a.Parked == workflow.WaitsForLock
	if parked {
		if err := d.run(x).Unpark(a.Id); err != nil {
			return err
		}
	}
	idle := parked && d.s.held(x) && d.s.lockWanted(d.repository())
	if !idle && (d.regrants || d.s.contradiction(x) == nil) {
		return nil
	}
	return d.lock(d.s.locks.Release(d.now, d.repository(), f.Token)) // others can use it meanwhile
}

func (d *decision) followEnd(e *loomv1.Event) error {
	f := e.GetExecutionEnded()
	status, outcome := loomv1.BeadStatus_BEAD_STATUS_FAILED, "ended without success"
	switch f.Status {
	case loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED:
		status, outcome = loomv1.BeadStatus_BEAD_STATUS_CLOSED, "done"
	case loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED_WITH_GAPS:
		status, outcome = loomv1.BeadStatus_BEAD_STATUS_CLOSED, "done, with gaps"
	case loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED:
		status, outcome = loomv1.BeadStatus_BEAD_STATUS_ABORTED, "stopped by the CEO"
		if conversing(d.s.execution(e.Execution)) {
			status, outcome = loomv1.BeadStatus_BEAD_STATUS_CLOSED, "closed"
		}
		if d.s.bead(e.Bead).GetSession() != "" {
			outcome = "stopped" // by whoever speaks in its session, as the reason says
		}
	case loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED:
		outcome = "rejected by the CEO"
	}
	if d.s.bead(e.Bead).Ballot != "" {
		return d.endConsult(d.s.execution(e.Execution), status, f.Reason)
	}
	if err := d.note(loomv1.DecisionType_DECISION_TYPE_OUTCOME, "bead "+e.Bead+" "+outcome, f.Reason, 100, d.leading(e.Execution)); err != nil {
		return err
	}
	return d.beadEnded(e.Bead, status, f.Reason, len(d.s.execution(e.Execution).GetGaps()))
}

// maxReason is the longest reason of a bead's status, in bytes.
const maxReason = 300

func (d *decision) beadStatus(bead string, status loomv1.BeadStatus, reason string) error {
	return d.beadEnded(bead, status, reason, 0)
}

// beadEnded is beadStatus for a bead whose work ended with gaps, which count where it
// is closed.
func (d *decision) beadEnded(bead string, status loomv1.BeadStatus, reason string, gaps int) error {
	if status != loomv1.BeadStatus_BEAD_STATUS_CLOSED {
		gaps = 0
	}
	if b := d.s.bead(bead); b.GetStatus() == status && b.GetReason() == reason && int(b.GetGaps()) == gaps {
		return nil
	}
	return d.emit(&loomv1.Event{Bead: bead, Fact: &loomv1.Event_BeadStatusChanged{BeadStatusChanged: &loomv1.BeadStatusChanged{
		Status: status, Reason: cut(reason, maxReason), Gaps: uint32(gaps),
	}}})
}
