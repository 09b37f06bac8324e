package project

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// mayChange refuses everybody but operators and hosts: beads are changed by the
// people that run a project, not by those that only submit to it.
func (d *decision) mayChange() error {
	switch d.actor.GetKind() {
	case loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, loomv1.IdentityKind_IDENTITY_KIND_HOST:
		return nil
	}
	return fault.New("request/denied", "beads are changed by operators, not by %s %q", Word(d.actor.GetKind()), d.actor.GetName())
}

// workItem returns a bead that somebody means to change.
func (d *decision) workItem(id, reason string) (*loomv1.Bead, error) {
	if err := d.mayChange(); err != nil {
		return nil, err
	}
	b := d.s.bead(id)
	switch {
	case b == nil:
		return nil, fault.New("bead/unknown", "bead is not known in project %q", d.s.cfg.ID).At("bead").Got(id)
	case b.Type == loomv1.BeadType_BEAD_TYPE_APPROVAL:
		return nil, fault.New("bead/invalid", "bead %q is an approval: it is answered, not changed", id).At("bead").Want("see \"loom inbox %s\"", id)
	case len(reason) > MaxComment:
		return nil, fault.New("submit/too-large", "reason has %d bytes, the most is %d", len(reason), MaxComment).At("reason")
	}
	return b, nil
}

func (d *decision) updateBead(c *loomv1.UpdateBead) (*loomv1.Answer, error) {
	b, err := d.workItem(c.GetBead().GetId(), c.GetReason())
	if err != nil {
		return nil, err
	}
	old := &loomv1.Bead{Id: b.Id}
	set(old, b)
	next := proto.CloneOf(old)
	if err := d.change(next, c); err != nil {
		return nil, err
	}
	if proto.Equal(old, next) {
		return submitted(b.Id, b.Execution, true), nil
	}
	if err := changedSince(old, c); err != nil {
		return nil, err
	}
	d.bead, d.execution = b.Id, b.Execution
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_BeadUpdated{BeadUpdated: &loomv1.BeadUpdated{Bead: next, Reason: c.Reason}}}); err != nil {
		return nil, err
	}
	if err := d.settle(b.Id); err != nil {
		return nil, err
	}
	if x := d.s.execution(b.Execution); x != nil { // it may be beyond what it has now
		if err := d.askAnew(x); err != nil {
			return nil, err
		}
		if err := d.askLimit(x); err != nil {
			return nil, err
		}
	}
	return submitted(b.Id, b.Execution, false), nil
}

// changedSince refuses a change of fields that have another value now than who
// asks for it saw, if it says what it saw.
func changedSince(now *loomv1.Bead, c *loomv1.UpdateBead) error {
	if c.Seen == nil {
		return nil
	}
	var errs []*fault.Error
	for _, f := range changeable {
		seen := proto.CloneOf(now)
		f.set(seen, c.Seen)
		if slices.Contains(c.Fields, f.name) && !proto.Equal(seen, now) {
			errs = append(errs, fault.New("bead/changed", "%s of bead %s has been changed by somebody else meanwhile", f.name, now.Id).
				At("seen."+f.name).Want("look at it again (loom bead show %s), and change it if that still holds", now.Id))
		}
	}
	return fault.Join(errs)
}

// change gives next the values that c has, and returns all that is wrong with
// them.
func (d *decision) change(next *loomv1.Bead, c *loomv1.UpdateBead) error {
	if len(c.Fields) == 0 {
		return fault.New("bead/invalid", "no field is named that is to be changed").At("fields")
	}
	var errs []*fault.Error
	for _, name := range once(c.Fields) {
		f, bad := fieldNamed(name)
		if bad != nil {
			errs = append(errs, bad)
			continue
		}
		f.set(next, c.Bead)
		errs = append(errs, f.check(d, next)...)
	}
	return fault.Join(errs)
}

func (d *decision) closeBead(c *loomv1.CloseBead) (*loomv1.Answer, error) {
	b, err := d.workItem(c.GetBead(), c.GetReason())
	if err != nil {
		return nil, err
	}
	switch {
	case b.Status == loomv1.BeadStatus_BEAD_STATUS_CLOSED:
		return submitted(b.Id, b.Execution, true), nil
	case d.s.open[b.Execution]:
		return nil, fault.New("bead/running", "bead %q is worked on by execution %s", b.Id, b.Execution).At("bead").
			Want("the CEO can close that: loom execution close %s --reason WHY", b.Execution)
	}
	d.bead, d.execution = b.Id, ""
	return submitted(b.Id, b.Execution, false), d.beadStatus(b.Id, loomv1.BeadStatus_BEAD_STATUS_CLOSED, first(c.Reason, "closed by hand"))
}

func (d *decision) reopenBead(c *loomv1.ReopenBead) (*loomv1.Answer, error) {
	b, err := d.workItem(c.GetBead(), c.GetReason())
	if err == nil {
		err = fault.Join(checkKey(c.GetRequest()))
	}
	if err != nil {
		return nil, err
	}
	key, digest := d.requestKey(c.Request, c)
	if reply, err := d.recall(key, digest); reply != nil || err != nil {
		return reply, err
	}
	if err := d.checkReopen(b); err != nil {
		return nil, err
	}
	draft, err := d.draftOf(b, c)
	if err != nil {
		return nil, err
	}
	d.bead, d.execution = b.Id, ""
	status := &loomv1.BeadStatusChanged{
		Status: loomv1.BeadStatus_BEAD_STATUS_OPEN, Reason: cut(fmt.Sprintf("reopened: %s", first(c.Reason, "no reason given")), maxReason),
		Request: key, RequestDigest: digest, Reopened: plain(c.Reason),
	}
	if on := d.s.blocker(b); on != nil {
		status.Status, status.Reason = loomv1.BeadStatus_BEAD_STATUS_BLOCKED, whyBlocked(on)
	}
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_BeadStatusChanged{BeadStatusChanged: status}}); err != nil {
		return nil, err
	}
	if draft != nil {
		err = d.begin(b.Id, &loomv1.ExecutionStarted{Draft: draft})
	} else {
		err = d.settle(b.Id)
	}
	if err != nil {
		return nil, err
	}
	execution := ""
	if d.s.open[b.Execution] {
		execution = b.Execution
	}
	return submitted(b.Id, execution, false), nil
}

func (d *decision) checkReopen(b *loomv1.Bead) error {
	if !ended(b.Status) {
		return fault.New("bead/open", "bead %q has not ended: it is %s", b.Id, Word(b.Status)).At("bead")
	}
	if other := d.s.prints[b.Fingerprint]; b.Fingerprint != "" && other != "" {
		return fault.New("bead/open", "bead %q is open for the same error as %q", other, b.Id).At("bead").Want("close that one first, or let it be mended there")
	}
	if d.s.p.Latest[b.Process] == "" {
		return fault.New("submit/unknown-process", "process of bead %q is not known in project %q", b.Id, d.s.cfg.ID).At("process").Got(b.Process)
	}
	return d.s.ofSession(b.Id, b.Process)
}
