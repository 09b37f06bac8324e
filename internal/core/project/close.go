package project

import (
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// close ends an execution and its bead: at once, or when nobody is in the middle of a
// step of it or of what works for it.
func (d *decision) close(c *loomv1.CloseExecution) error {
	x, err := d.runningOne(c.GetExecution())
	if err != nil {
		return err
	}
	defer d.about(x)()
	if c.Now {
		return d.run(x).CloseNow(c.Reason)
	}
	return d.run(x).Close(c.Reason)
}

// followClosing ends what is closing once a fact has brought it to a step's boundary:
// the execution that the fact is about, or one that it works for.
func (d *decision) followClosing(e *loomv1.Event) {
	for x := d.s.execution(e.Execution); x != nil; x = d.s.execution(x.Parent) {
		if x.Closing != nil && running(x) {
			d.later(func() error { return d.endClosing(x) })
		}
	}
}

func (d *decision) endClosing(x *loomv1.Execution) error {
	if d.s.inStep(x) {
		return nil
	}
	defer d.about(x)()
	return d.run(x).EndClosing()
}

// inStep says whether an agent is in the middle of a step of an execution, or of one
// that works for it.
func (s *State) inStep(x *loomv1.Execution) bool {
	return workflow.InStep(x) || slices.ContainsFunc(s.childrenOf(x), func(c *loomv1.Execution) bool { return running(c) && s.inStep(c) })
}

// recordDraft keeps with a bead what its newest execution had changed that was ended
// before it was done. What has landed, or was begun anew meanwhile, leaves no draft.
func (d *decision) recordDraft(c *loomv1.RecordDraft) error {
	draft := c.GetDraft()
	x := d.s.execution(draft.GetExecution())
	switch {
	case d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_HOST:
		return fault.New("request/denied", "drafts are recorded by hosts, not by %s %q", Word(d.actor.GetKind()), d.actor.GetName())
	case x == nil:
		return fault.New("execution/unknown", "execution is not known in project %q", d.s.cfg.ID).At("execution").Got(draft.GetExecution())
	case draft.Commit == "":
		return fault.New("command/malformed", "a draft has no commit").At("commit")
	}
	b := d.s.bead(x.Bead)
	done := workflow.Delivered(x.Status) || x.Landing != nil
	if done || running(x) || b.Execution != x.Id || b.Draft.GetCommit() == draft.Commit {
		return nil
	}
	defer d.about(x)()
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_DraftKept{DraftKept: &loomv1.DraftKept{Draft: draft}}})
}

// draftOf returns the draft that a bead is to be reopened with.
func (d *decision) draftOf(b *loomv1.Bead, c *loomv1.ReopenBead) (*loomv1.Draft, error) {
	switch {
	case !c.Resume:
		return nil, nil
	case b.Draft == nil:
		return nil, fault.New("bead/invalid", "there is no draft of bead %q", b.Id).At("resume").
			Want("it is kept a moment after work that has changed something was closed; begin anew without --resume")
	case d.s.execution(b.Draft.Execution).GetBegins() != nil:
		return nil, fault.New("bead/invalid", "the draft of bead %q has in it what the bead that it is a part of had made, which could land unseen", b.Id).At("resume").
			Want("begin anew without --resume, or go on with bead %q", b.Parent)
	case d.s.blocker(b) != nil:
		return nil, fault.New("bead/invalid", "nobody could go on with the draft of bead %q: it %s", b.Id, whyBlocked(d.s.blocker(b))).At("resume")
	}
	return b.Draft, nil
}
