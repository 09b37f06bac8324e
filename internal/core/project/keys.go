package project

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// changeKeys carries out a signed order about the keys, once.
func (d *decision) changeKeys(c *loomv1.SignedCommand, cmd *loomv1.CeoCommand) error {
	fact, err := d.s.ring.Decide(d.signer.Name, c, cmd)
	if err != nil || fact == nil {
		return err
	}
	d.preface = nil // the fact has the order
	return d.emit(fact)
}

// keysOf returns the facts with which a project takes over the keys of the deployment:
// from the signed orders that made them, in their order. Each is checked again, but for
// its time, which is over. A project that is there already takes what it has missed, a
// revocation above all, and passes by what its own keys refuse.
func (d *decision) keysOf(orders []*loomv1.SignedCommand) ([]*loomv1.Event, error) {
	if len(orders) > 0 && d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_HOST {
		return nil, fault.New("command/unauthorized", "only a host says which keys the deployment has")
	}
	ring := keyring.Restore(d.s.cfg.CEO, proto.CloneOf(d.s.p.Keyring))
	var facts []*loomv1.Event
	for i, c := range orders {
		cmd := &loomv1.CeoCommand{}
		if err := proto.Unmarshal(c.GetPayload(), cmd); err != nil || !keyring.Order(cmd) {
			return nil, fault.New("command/malformed", "order %d about the keys of the deployment cannot be read", i+1)
		}
		if cmd.Deployment != d.s.cfg.Deployment || cmd.Project != System {
			return nil, fault.New("approval/identity", "order %d about the keys was signed for project %q of deployment %q", i+1, cmd.Project, cmd.Deployment)
		}
		if ring.Done(cmd) {
			continue
		}
		key, err := ring.Signer(c)
		var fact *loomv1.Event
		if err == nil {
			fact, err = ring.Decide(key.Name, c, cmd)
		}
		if err != nil && d.s.p.Config == nil {
			return nil, err
		}
		if fact == nil {
			continue
		}
		fact.Time = d.at
		ring.Apply(fact)
		facts = append(facts, fact)
	}
	return facts, nil
}

func (s *State) applyKeys(e *loomv1.Event) {
	s.ring.Apply(e)
	s.p.Keyring = s.ring.Snapshot()
	orders := s.p.Keyring.Orders
	s.use(orders[len(orders)-1])
}

// GoesOn says whether an answer lets work go on, for which a node can ask more than one
// key.
func GoesOn(v loomv1.ApprovalDecision) bool {
	return v != loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT && v != loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES
}

// signedBefore says whether the key has given this very answer, and it waits for those of
// other keys.
func (d *decision) signedBefore(a *loomv1.Approval, v *loomv1.DecideApproval) bool {
	return a.Decision == loomv1.ApprovalDecision_APPROVAL_DECISION_UNSPECIFIED && a.Digest == v.Digest && slices.ContainsFunc(a.Signed, func(o *loomv1.KeyAnswer) bool {
		return o.Key == d.signer.Name && o.Decision == v.Decision && o.Choice == v.Choice && o.Comment == v.Comment
	})
}

// countersign says whether an answer waits for those of other keys, and records it then.
func (d *decision) countersign(c *loomv1.SignedCommand, a *loomv1.Approval, v *loomv1.DecideApproval) (waits bool, err error) {
	if a.Keys < 2 || !GoesOn(v.Decision) {
		return false, nil
	}
	signed := 1
	for _, o := range a.Signed {
		if o.Key != d.signer.Name && d.s.ring.Holds(o.Key) && o.Decision == v.Decision && o.Choice == v.Choice {
			signed++
		}
	}
	if signed >= int(a.Keys) {
		return false, nil
	}
	return true, d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalSigned{ApprovalSigned: &loomv1.ApprovalSigned{
		Approval: a.Id, Decision: v.Decision, Comment: v.Comment, Digest: v.Digest, Signed: c, Choice: v.Choice,
	}}})
}

func (s *State) applySigned(e *loomv1.Event, f *loomv1.ApprovalSigned) {
	a := s.approval(f.Approval)
	s.use(f.Signed)
	if a == nil {
		return
	}
	answer := &loomv1.KeyAnswer{Key: e.Actor.GetName(), Decision: f.Decision, Comment: f.Comment, Choice: f.Choice, At: e.Time}
	for i, o := range a.Signed {
		if o.Key == answer.Key {
			a.Signed[i] = answer
			return
		}
	}
	a.Signed = append(a.Signed, answer)
}
