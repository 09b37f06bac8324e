package project

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// maxFork bounds the state that a fork begins with, so that it fits into one
// batch with its bead.
const maxFork = 512 << 10

// fork begins a new bead and execution with the state that another has, or had,
// at one of its nodes.
func (d *decision) fork(c *loomv1.ForkExecution) (*loomv1.Answer, error) {
	x, err := d.known(c.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := d.checkFork(x, c); err != nil {
		return nil, err
	}
	key, digest := d.requestKey(c.Request, &loomv1.ForkExecution{Execution: c.Execution, Node: c.Node, Number: c.Number, Reason: c.Reason})
	if reply, err := d.recall(key, digest); reply != nil || err != nil {
		return reply, err
	}
	from := x
	if c.State != nil {
		from = c.State
	}
	state, node, err := workflow.ForkState(d.s.defs[x.DefinitionHash], from, c.Node)
	if err != nil {
		return nil, err
	}
	if n := proto.Size(state); n > maxFork {
		return nil, fault.New("journal/too-large", "the state at node %q has %d bytes, the most that is forked is %d", c.Node, n, maxFork).At("execution")
	}
	return d.begun(c, node, state, key, digest)
}

func (d *decision) checkFork(x *loomv1.Execution, c *loomv1.ForkExecution) error {
	def := d.s.defs[x.DefinitionHash]
	if err := d.s.ofSession(x.Bead, x.Definition); err != nil {
		return err
	}
	switch {
	case c.Request == "" || len(c.Request) > MaxKey:
		return fault.New("command/malformed", "a fork has a request id of %d bytes", len(c.Request)).At("request").Want("1 to %d bytes", MaxKey)
	case len(c.Reason) > MaxReason:
		return fault.New("submit/too-large", "reason has %d bytes, the most is %d", len(c.Reason), MaxReason).At("reason")
	case x.Begins != nil:
		return fault.New("bead/invalid", "execution %q has in it what the one that it works for had made, which could land unseen", x.Id).At("execution").Want("fork execution %q", x.Parent)
	case def.Node(c.Node) == nil:
		return fault.New("workflow/node", "workflow %q has no such node", x.Definition).At("node").Got(c.Node).Want("%s", suggest.Among(c.Node, nodesOf(def)))
	case c.State != nil && (c.State.Id != x.Id || c.State.DefinitionHash != x.DefinitionHash):
		return fault.New("command/malformed", "the state is of execution %q, not of %q", c.State.Id, x.Id).At("state")
	}
	return nil
}

// nodesOf returns the ids of a definition's nodes.
func nodesOf(def *workflow.Compiled) []string {
	var ids []string
	for _, n := range def.Definition().GetNodes() {
		ids = append(ids, n.Id)
	}
	return ids
}

// begun files the bead of a fork and begins its execution.
func (d *decision) begun(c *loomv1.ForkExecution, node string, state *loomv1.Execution, key, digest string) (*loomv1.Answer, error) {
	number := c.Number
	if c.State == nil {
		number = d.s.p.LastNumber
	}
	b := d.twin(d.s.bead(d.s.execution(c.Execution).Bead))
	state.Priority = priority(b.Priority) // not that of the time
	d.bead, d.execution = b.Id, ""
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: b, Request: key, RequestDigest: digest}}}); err != nil {
		return nil, err
	}
	d.execution = b.Id + "-x1"
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionForked{ExecutionForked: &loomv1.ExecutionForked{
		From: &loomv1.ForkPoint{Execution: c.Execution, Node: node, Number: number}, State: state,
	}}}); err != nil {
		return nil, err
	}
	why := fmt.Sprintf("forked from %s at %s", c.Execution, node)
	if reason := strings.TrimSpace(c.Reason); reason != "" {
		why += ": " + reason
	}
	if err := d.note(loomv1.DecisionType_DECISION_TYPE_GOAL, b.Goal, why, 100, ""); err != nil {
		return nil, err
	}
	return submitted(b.Id, d.execution, false), d.run(d.s.execution(d.execution)).Advance()
}

// twin returns a new bead for the same work. It is free of the links, and of
// the error, of the one that it is made from.
func (d *decision) twin(b *loomv1.Bead) *loomv1.Bead {
	t := &loomv1.Bead{
		Id: d.nextBead(), Project: d.s.cfg.ID, Type: b.Type, Status: loomv1.BeadStatus_BEAD_STATUS_OPEN, Goal: b.Goal,
		Description: b.Description, Context: b.Context, Priority: b.Priority, Labels: b.Labels, Budget: b.Budget,
		Process: b.Process, Report: b.Report, Assignee: b.Assignee, Stakeholders: b.Stakeholders,
	}
	if asTime(b.Deadline).After(d.wall) {
		t.Deadline = b.Deadline
	}
	return t
}
