package project

import (
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// followDetached has what an execution has set aside done, if it has delivered: by an
// execution of a bead of its own. It begins with the fact of the end, so that it begins
// once, and it changes nothing about what has ended.
func (d *decision) followDetached(e *loomv1.Event) {
	x := d.s.execution(e.Execution)
	part := workflow.AfterWork(d.s.p.Definitions[x.GetDefinitionHash()], x)
	if part == nil || !workflow.Delivered(e.GetExecutionEnded().GetStatus()) {
		return
	}
	d.later(func() error { return d.beginAfter(x, part) })
}

// beginAfter begins the work after an execution's end, with what that has made.
func (d *decision) beginAfter(x *loomv1.Execution, part *loomv1.Definition) error {
	defer d.aside()()
	d.bead, d.execution, d.node, d.attempt = "", "", "", ""
	hash := processes.Hash(part)
	if d.s.defs[hash] == nil {
		if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_DefinitionStored{DefinitionStored: &loomv1.DefinitionStored{Definition: part, Hash: hash, Part: true}}}); err != nil {
			return err
		}
	}
	up := d.s.bead(x.Bead)
	b := &loomv1.Bead{
		Id: d.nextBead(), Project: d.s.cfg.ID, Type: loomv1.BeadType_BEAD_TYPE_TASK, Status: loomv1.BeadStatus_BEAD_STATUS_OPEN,
		Goal: cut("after the end: "+up.GetGoal(), MaxGoal), Description: up.GetDescription(), Context: proto.CloneOf(x.Context),
		Priority: priority(up.GetPriority()), Budget: up.GetBudget(), Process: part.Name, Parent: x.Bead, After: x.Id, Stakeholders: up.GetStakeholders(),
	}
	d.bead = b.Id
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: b}}}); err != nil {
		return err
	}
	return d.begin(b.Id, &loomv1.ExecutionStarted{DefinitionHash: hash, After: x.Id, Begins: madeBy(x)})
}

// madeBy is what an ended execution has made, as other work begins with it: where that has
// landed, from the commit which the target has for good.
func madeBy(x *loomv1.Execution) *loomv1.Change {
	c := bare(workflow.Standing(x))
	if l := x.Landing; c != nil && l != nil {
		c.Commit = l.Commit
	}
	return c
}

// cameTo is what the work came to after whose end an execution does something at a node,
// or what the phase did that the node is about.
func (s *State) cameTo(x *loomv1.Execution, n *loomv1.NodeDefinition) string {
	if x.After == "" {
		return ""
	}
	before := s.listedExecution(x.After)
	if workflow.Remembers(n) {
		return phaseCameTo(before.GetNodes()[n.Phase.Of])
	}
	out := s.result(before)
	return cut(out.Summary+"\n"+out.Notes, workflow.NotesBytes)
}
