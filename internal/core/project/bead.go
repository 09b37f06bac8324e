package project

import (
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// filing is what the fact of a bead's filing says beside the bead.
type filing struct {
	request, digest string
	governed        string
}

// file files a bead and starts its execution. One that is blocked has none
// until its blockers are closed: so it is worked on by the definition that is
// newest then, no deadline of an attempt runs while nobody may begin it, and a
// thousand beads that wait cost a thousand small facts.
func (d *decision) file(b *loomv1.Bead, f filing) (*loomv1.Answer, error) {
	b.Id, b.Project, b.Status = d.nextBead(), d.s.cfg.ID, loomv1.BeadStatus_BEAD_STATUS_OPEN
	on := d.s.blocker(b)
	if on != nil {
		b.Status, b.Reason = loomv1.BeadStatus_BEAD_STATUS_BLOCKED, whyBlocked(on)
	}
	d.bead, d.execution = b.Id, ""
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{
		Bead: b, Request: f.request, RequestDigest: f.digest, Governed: f.governed,
	}}}); err != nil {
		return nil, err
	}
	if on == nil {
		if err := d.begin(b.Id, &loomv1.ExecutionStarted{}); err != nil {
			return nil, err
		}
	}
	return submitted(b.Id, d.s.bead(b.Id).Execution, false), nil
}

// begin starts the next execution of a bead on the newest definition of its
// process; as may say for whom, and by which definition, and is completed.
func (d *decision) begin(bead string, as *loomv1.ExecutionStarted) error {
	b := d.s.bead(bead)
	as.DefinitionHash = first(as.DefinitionHash, d.s.p.Latest[b.Process])
	def := d.s.p.Definitions[as.DefinitionHash]
	as.Definition, as.Version, as.Checks = def.Name, def.Version, d.s.required(def)
	d.bead, d.execution, d.node, d.attempt = b.Id, fmt.Sprintf("%s-x%d", b.Id, b.Executions+1), "", ""
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionStarted{ExecutionStarted: as}}); err != nil {
		return err
	}
	return d.run(d.s.execution(d.execution)).Begin()
}

// blocked says whether a bead is held for another one's sake: one that it names
// as a blocker is not closed, or was only just, and its own status does not say
// so yet. Nothing of a blocked bead is started, claimed or timed.
func (s *State) blocked(b *loomv1.Bead) bool {
	return b.GetStatus() == loomv1.BeadStatus_BEAD_STATUS_BLOCKED || s.blocker(b) != nil
}

// blocker returns the bead that says best why b is blocked: the first blocker
// that ended without being closed, since it will not free b by itself, else the
// first that is open; nil when all are closed.
func (s *State) blocker(b *loomv1.Bead) *loomv1.Bead {
	var best *loomv1.Bead
	for _, id := range b.GetBlockedBy() {
		on := s.bead(id)
		switch {
		case on.GetStatus() == loomv1.BeadStatus_BEAD_STATUS_CLOSED:
		case ended(on.GetStatus()):
			return on
		case best == nil:
			best = on
		}
	}
	return best
}

// whyBlocked says for a person what a bead waits for.
func whyBlocked(on *loomv1.Bead) string {
	if ended(on.Status) {
		return fmt.Sprintf("blocked by %s, which %s: close or reopen it, or take the link away", on.Id, endWord(on.Status))
	}
	return "waits for " + on.Id
}

func endWord(s loomv1.BeadStatus) string {
	if s == loomv1.BeadStatus_BEAD_STATUS_ABORTED {
		return "was stopped by the CEO"
	}
	return "failed"
}

// stands returns the status that a bead which has not ended has by its links,
// its execution and what is asked about it, and why.
func (s *State) stands(b *loomv1.Bead) (loomv1.BeadStatus, string) {
	if on := s.blocker(b); on != nil {
		return loomv1.BeadStatus_BEAD_STATUS_BLOCKED, whyBlocked(on)
	}
	if !s.open[b.Execution] {
		return loomv1.BeadStatus_BEAD_STATUS_OPEN, ""
	}
	if a := s.asksAbout(b); a != "" {
		return loomv1.BeadStatus_BEAD_STATUS_WAITING, "waits for approval " + a
	}
	return loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS, ""
}

// asksAbout returns the first approval that is open about a bead's execution,
// or "".
func (s *State) asksAbout(b *loomv1.Bead) string {
	x := s.execution(b.GetExecution())
	var open idList
	for _, n := range x.GetNodes() {
		open = s.addOpen(open, n.Approval)
	}
	for _, id := range x.GetPermissions() {
		open = s.addOpen(open, id)
	}
	if open = s.addOpen(open, x.GetLimitApproval()); len(open) > 0 {
		return open[0]
	}
	return ""
}

func (s *State) addOpen(list idList, approval string) idList {
	if approval == "" || ended(s.bead(approval).GetStatus()) {
		return list
	}
	return list.with(approval)
}

// restate tells the status of a bead that has not ended anew, where it changed.
func (d *decision) restate(bead string) error {
	b := d.s.bead(bead)
	if b == nil || ended(b.Status) {
		return nil
	}
	status, reason := d.s.stands(b)
	return d.beadStatus(bead, status, reason)
}

// unsettled says whether a bead has not come yet to what its links say: it is
// blocked and does not say so or says why no longer, or it is free and nothing
// works on it.
func (s *State) unsettled(b *loomv1.Bead) bool {
	if ended(b.Status) || b.Type == loomv1.BeadType_BEAD_TYPE_APPROVAL {
		return false
	}
	on := s.blocker(b)
	if on == nil {
		return b.Status == loomv1.BeadStatus_BEAD_STATUS_BLOCKED || !s.open[b.Execution]
	}
	return b.Status != loomv1.BeadStatus_BEAD_STATUS_BLOCKED || b.Reason != whyBlocked(on)
}

// settle brings a bead to what its links say: it is held, goes on, or begins.
func (d *decision) settle(bead string) error {
	b := d.s.bead(bead)
	if !d.s.unsettled(b) {
		return nil
	}
	defer d.aside()()
	d.bead, d.execution, d.node, d.attempt = b.Id, "", "", ""
	if d.s.blocker(b) == nil && !d.s.open[b.Execution] {
		return d.begin(bead, &loomv1.ExecutionStarted{})
	}
	return d.restate(bead) // what ends a hold has its execution go on with the next tick
}

// aside notes what the facts to come are about; what it returns undoes any
// change of that.
func (d *decision) aside() func() {
	bead, execution, node, attempt := d.bead, d.execution, d.node, d.attempt
	return func() { d.bead, d.execution, d.node, d.attempt = bead, execution, node, attempt }
}

// How much of what is unsettled one tick settles: a bead that blocks thousands
// frees them in many small batches.
const (
	settleMost  = 64
	settleBytes = 128 << 10
)

// settleSome settles beads in the order of their numbers. What is left keeps
// the next tick due.
func (d *decision) settleSome() error {
	from := d.size()
	for range settleMost {
		if len(d.s.index.unsettled) == 0 || d.size()-from > settleBytes {
			return nil
		}
		if err := d.settle(d.s.index.unsettled[0]); err != nil {
			return err
		}
	}
	return nil
}
