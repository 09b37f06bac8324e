package project

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxNested is how deep executions may be nested: one that nobody started for
// another has depth 0.
const MaxNested = 8

// How many children one command begins, and how many bytes of facts it may have
// when it begins one more; the others begin with the ticks that follow. So a
// process that forks into many that do the same, with all that their parent's
// bead says, never makes a batch that is too large.
const (
	childrenAtOnce = 8
	childrenBytes  = 384 << 10
)

// childrenOf returns the executions that do, or did, the work of attempts of x,
// and the tasks that those gave.
func (s *State) childrenOf(x *loomv1.Execution) []*loomv1.Execution {
	var list []*loomv1.Execution
	for _, a := range attemptsOf(x) {
		for _, c := range s.helpersOf(a) {
			if c.GetParent() == x.Id { // a fork has the history of another
				list = append(list, c)
			}
		}
	}
	return list
}

// childless returns the attempts of x that a process is to do and for which
// none has begun.
func childless(x *loomv1.Execution) []*loomv1.Attempt {
	var list []*loomv1.Attempt
	for _, a := range outstanding(x) {
		if a.Process != "" && a.Child == "" {
			list = append(list, a)
		}
	}
	return list
}

// startChildren begins the children that attempts of x wait for.
func (d *decision) startChildren(x *loomv1.Execution) error {
	for _, a := range childless(x) {
		if !running(x) || d.s.held(x) || d.children >= childrenAtOnce || d.children > 0 && d.size() > childrenBytes {
			d.postponed = append(d.postponed, x.Id)
			return nil
		}
		d.children++
		if err := d.startChild(x, a); err != nil {
			return err
		}
	}
	return nil
}

// startChild files the bead of a child and begins its execution, on the newest
// definition of its process.
func (d *decision) startChild(x *loomv1.Execution, a *loomv1.Attempt) error {
	if why := d.noChild(x, a); why != nil {
		defer d.about(x)()
		return d.run(x).ChildEnded(a.Id, &loomv1.Outcome{
			Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Code: why.Code, Summary: cut(why.Error(), workflow.SummaryBytes),
		})
	}
	defer d.about(x)()
	b, err := d.fileChild(x, a)
	if err != nil {
		return err
	}
	d.about(x) // filing was about the new bead
	if err := d.run(x).ChildStarted(a.Id, b.Id, b.Id+"-x1"); err != nil {
		return err
	}
	started := &loomv1.ExecutionStarted{Parent: x.Id, ParentAttempt: a.Id, Depth: x.Depth + 1}
	if workflow.Nested(x) || d.run(x).LandsAfter(a.Node) {
		started.Begins = bare(workflow.Standing(x))
	} else {
		started.Lands = true
	}
	return d.begin(b.Id, started)
}

// noChild says why no child can begin for an attempt, if none can.
func (d *decision) noChild(x *loomv1.Execution, a *loomv1.Attempt) *fault.Error {
	switch {
	case d.s.p.Latest[a.Process] == "":
		return fault.New("workflow/process", "process %q is not known in project %q", a.Process, d.s.cfg.ID).Want("%s", d.suggestProcess(a.Process))
	case d.s.ofPattern(a.Process) != nil:
		return fault.From(d.s.ofPattern(a.Process))
	case x.Depth >= MaxNested:
		return fault.New("workflow/depth", "executions are nested %d deep already, the most is %d", x.Depth, MaxNested)
	}
	return nil
}

// fileChild files the bead that a child works on: a part of its parent's, as
// urgent, with what its parent's execution knows.
func (d *decision) fileChild(x *loomv1.Execution, a *loomv1.Attempt) (*loomv1.Bead, error) {
	up := d.s.bead(x.Bead)
	b := &loomv1.Bead{
		Id: d.nextBead(), Project: d.s.cfg.ID, Type: loomv1.BeadType_BEAD_TYPE_TASK, Status: loomv1.BeadStatus_BEAD_STATUS_OPEN,
		Goal: cut(a.Node+": "+up.GetGoal(), MaxGoal), Description: up.GetDescription(), Context: proto.CloneOf(x.Context), // which goes on changing
		Priority: priority(up.GetPriority()), Process: a.Process, Parent: x.Bead, Stakeholders: up.GetStakeholders(),
	}
	d.bead, d.execution = b.Id, ""
	return b, d.emit(&loomv1.Event{Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: b}}})
}

// endChild answers the attempt that an ended execution worked for. One that was
// withdrawn meanwhile wants no answer.
func (d *decision) endChild(child *loomv1.Execution) error {
	if d.s.bead(child.Bead).GetDelegation() != nil {
		return d.endTask(child)
	}
	x := d.s.execution(child.Parent)
	if _, a := d.s.attempt(child.ParentAttempt); a == nil || a.Child != child.Id || !running(x) {
		return nil
	}
	defer d.about(x)()
	return d.run(x).ChildEnded(child.ParentAttempt, d.s.result(child))
}

// bare is a change without its files, as work begins with it.
func bare(c *loomv1.Change) *loomv1.Change {
	if c == nil {
		return nil
	}
	return &loomv1.Change{Base: c.Base, Commit: c.Commit, Tree: c.Tree, PatchDigest: c.PatchDigest, Makers: slices.Clone(c.Makers)}
}

// delivers is the change that an ended child gives to its parent, nil where it has
// made none, or has landed it. Where it began with one of its parent's, it is what it has beyond that.
func (s *State) delivers(child *loomv1.Execution) *loomv1.Change {
	if !workflow.Nested(child) || child.Change == nil || child.Change.PatchDigest == child.Begins.GetPatchDigest() {
		return nil
	}
	c := bare(child.Change)
	if from := child.Begins.GetCommit(); from != "" {
		c.Base = from
	}
	for _, a := range attemptsOf(child) {
		if a.Outcome.GetChange() != nil && a.Role != "" && a.Given == nil {
			c.Makers = append(c.Makers, a.Role)
		}
	}
	c.Makers = team.Unique(c.Makers)
	return c
}

// orphaned reports whether an execution works for an attempt that has ended
// without it. It is held, and closed: at once, or with a tick that follows,
// where so many are to be closed that they do not fit into one batch.
func (s *State) orphaned(x *loomv1.Execution) bool {
	if x.GetParent() == "" || !running(x) {
		return false
	}
	_, a := s.attempt(x.ParentAttempt)
	return !worksFor(x, a)
}

// orphan holds what works for an attempt of x that has ended without it, and has
// the next tick look at it. It is part of the fold.
func (s *State) orphan(x *loomv1.Execution, e *loomv1.Event) {
	for _, a := range x.Nodes[e.Node].GetHistory() {
		if a.Id != e.Attempt {
			continue
		}
		for _, c := range s.helpersOf(a) {
			if s.orphaned(c) {
				s.rehold(c, e.Time)
				s.rearm(c)
			}
		}
	}
}

// abandon closes the child of an attempt that has ended without it.
func (d *decision) abandon(child string) error {
	x := d.s.execution(child)
	if !d.s.orphaned(x) || d.size() > childrenBytes {
		return nil
	}
	defer d.about(x)()
	return d.run(x).CloseNow("attempt " + x.ParentAttempt + ", which it worked for, has ended")
}

// cited gives an outcome what another has read: a later phase may cite it.
func cited(out, o *loomv1.Outcome) {
	for i, a := range o.Sources {
		if len(out.Sources) == workflow.MaxSources || slices.Contains(out.Sources, a) {
			continue
		}
		digest := ""
		if i < len(o.SourceDigests) {
			digest = o.SourceDigests[i]
		}
		out.Sources, out.SourceDigests = append(out.Sources, a), append(out.SourceDigests, digest)
	}
}

// result is what a child's end is to its parent: its status, and in the notes
// what its last nodes had to say and what it left out. A document that it made is shown
// with it.
func (s *State) result(child *loomv1.Execution) *loomv1.Outcome {
	out := &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS}
	if !workflow.Delivered(child.Status) {
		out.Status, out.Code = loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, "child/"+Word(child.Status)
	}
	out.Summary = fmt.Sprintf("execution %s %s", child.Id, Word(child.Status))
	if child.Reason != "" {
		out.Summary += ": " + oneLine(child.Reason)
	}
	var notes strings.Builder
	for _, n := range s.p.Definitions[child.DefinitionHash].GetNodes() {
		if o := child.Nodes[n.Id].GetOutcome(); o != nil {
			tell(&notes, n.Id, o)
			cited(out, o)
			if o.Document != nil {
				out.Document = proto.CloneOf(o.Document)
			}
		}
	}
	for _, g := range child.Gaps {
		fmt.Fprintf(&notes, "left out: %s: %s\n", g.Node, oneLine(g.Reason))
		if out.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS && len(out.Gaps) < workflow.MaxGaps {
			out.Gaps = append(out.Gaps, cut(g.Node+": "+oneLine(g.Reason), maxReason))
		}
	}
	out.Notes = notes.String()
	if out.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		out.Change = s.delivers(child)
	}
	return out
}

// followProcess has a child begin for an attempt that a process is to do, once
// the parent's core is done with what it decides.
func (d *decision) followProcess(e *loomv1.Event) {
	if x := d.s.execution(e.Execution); e.GetAttemptDispatched().GetProcess() != "" {
		d.later(func() error { return d.startChildren(x) })
	}
}

// followAttempt closes what works for an attempt that ended without it: its
// child, and the tasks that it gave.
func (d *decision) followAttempt(e *loomv1.Event) {
	for _, a := range d.s.execution(e.Execution).GetNodes()[e.Node].GetHistory() {
		if a.Id != e.Attempt {
			continue
		}
		for _, c := range d.s.helpersOf(a) {
			d.later(func() error { return d.abandon(c.Id) })
		}
	}
}

// followChild answers the parent of an execution that has ended, if it has one.
func (d *decision) followChild(e *loomv1.Event) {
	if x := d.s.execution(e.Execution); x.GetParent() != "" {
		d.later(func() error { return d.endChild(x) })
	}
}

// tell writes what a node's last outcome says, one line for each field.
func tell(w *strings.Builder, node string, o *loomv1.Outcome) {
	fmt.Fprintf(w, "%s: %s\n", node, oneLine(o.GetSummary()))
	fields := o.GetFields().GetFields()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(w, "  %s = %v\n", name, fields[name].AsInterface())
	}
	if notes := strings.TrimSpace(o.GetNotes()); notes != "" {
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(notes, "\n", "\n  "))
	}
}
