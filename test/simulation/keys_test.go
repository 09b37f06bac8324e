package simulation

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// keyedEvery is which part of the seeds have a CEO with several keys.
const keyedEvery = 4

// pairs are the CEO's keys, the first among them, in the order of their enrolment.
var pairs = func() []ed25519.PrivateKey {
	list := []ed25519.PrivateKey{ceoKey}
	for i := range 7 {
		list = append(list, ed25519.NewKeyFromSeed(fmt.Appendf(nil, "key number %021d", i)))
	}
	return list
}()

func keyName(i int) string {
	if i == 0 {
		return keyring.First
	}
	return fmt.Sprintf("k%d", i)
}

var twoKeyed sync.Map // by the definition that it is made of

// withTwoKeys is a definition whose approvals take two keys.
func withTwoKeys(d *loomv1.Definition) *loomv1.Definition {
	if c, ok := twoKeyed.Load(d); ok {
		return c.(*loomv1.Definition)
	}
	c := proto.CloneOf(d)
	for _, n := range c.Nodes {
		if n.Type == loomv1.NodeType_NODE_TYPE_APPROVAL {
			n.Keys = 2
		}
	}
	kept, _ := twoKeyed.LoadOrStore(d, known(c))
	return kept.(*loomv1.Definition)
}

// keys are what the oracle knows of the CEO's keys, from events alone.
type keys struct {
	ever, live []string
	awaited    map[string][]string // change to who has signed it
	signed     map[string]map[string]string
}

func newKeys() keys {
	return keys{[]string{keyring.First}, []string{keyring.First}, map[string][]string{}, map[string]map[string]string{}}
}

func (k *keys) holds(name string) bool { return slices.Contains(k.live, name) }

// keyOf is a key by its name.
func keyOf(name string) ed25519.PrivateKey {
	for i, key := range pairs {
		if keyName(i) == name {
			return key
		}
	}
	return forger
}

// signer is the key that the CEO takes, now and then one that was revoked.
func (w *world) signer() ed25519.PrivateKey {
	if !w.keyed {
		return ceoKey
	}
	from := w.oracle.keys.live
	if w.chance(ceoIsForged) {
		from = w.oracle.keys.ever
	}
	return keyOf(from[w.rng.IntN(len(from))])
}

// signers are the keys that an answer is signed with: where it takes two, now and then
// one alone, or the same twice.
func (w *world) signers(a *loomv1.Approval, d loomv1.ApprovalDecision) []ed25519.PrivateKey {
	list := []ed25519.PrivateKey{w.signer()}
	if a.Keys < 2 || !project.GoesOn(d) || !w.calm && w.one(3) {
		return list
	}
	if !w.calm && w.one(4) {
		w.see("one key twice")
		return append(list, list[0])
	}
	for _, name := range w.oracle.keys.live {
		if key := keyOf(name); !key.Equal(list[0]) {
			return append(list, key)
		}
	}
	return list
}

// changeKeys has the CEO enrol a key, or revoke one, with as many keys as it takes or not.
func (w *world) changeKeys() {
	k := &w.oracle.keys
	var cmd func() *loomv1.CeoCommand
	if fresh := len(k.ever); fresh < len(pairs) && (len(k.live) < 2 || w.one(2)) {
		cmd = func() *loomv1.CeoCommand {
			key := &loomv1.SigningKey{Name: keyName(fresh), PublicKey: pairs[fresh].Public().(ed25519.PublicKey)}
			return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_EnrolKey{EnrolKey: &loomv1.EnrolKey{Key: key, Reason: "because"}}}
		}
	} else {
		if len(k.ever) > len(pairs)-2 { // else there might not be two, in the end
			return
		}
		name := k.live[w.rng.IntN(len(k.live))]
		cmd = func() *loomv1.CeoCommand {
			return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_RevokeKey{RevokeKey: &loomv1.RevokeKey{Name: name, Reason: "because"}}}
		}
	}
	w.order("change of keys", cmd())
	if len(k.live) >= keyring.Guarded && w.one(2) {
		w.order("change of keys", cmd())
	}
}

// hers returns what a key of the CEO's has signed and its name, or nil.
func (o *oracle) hers(c *loomv1.SignedCommand) (*loomv1.CeoCommand, string) {
	cmd := &loomv1.CeoCommand{}
	name := ""
	if c != nil {
		name = o.w.ceo.signed[string(c.Payload)+string(c.Signature)]
	}
	if name == "" || proto.Unmarshal(c.Payload, cmd) != nil || cmd.Deployment != deployment {
		return nil, ""
	}
	return cmd, name
}

// signed returns the command that a key which holds has signed, or nil.
func (o *oracle) signed(c *loomv1.SignedCommand) (*loomv1.CeoCommand, string) {
	cmd, name := o.hers(c)
	if !o.keys.holds(name) {
		return nil, ""
	}
	return cmd, name
}

// spend notes a nonce, which must be new.
func (o *oracle) spend(nonce, what string) {
	if o.nonces[nonce] {
		o.broken(11, "%s with nonce %s, which was used before", what, nonce)
	}
	o.nonces[nonce] = true
}

// sawKeys checks changes of the keys: signed by one that holds, by two where three hold,
// and by none about itself; what a key signs is worth nothing once it is revoked.
func (o *oracle) sawKeys(e *loomv1.Event) {
	k := &o.keys
	switch f := e.Fact.(type) {
	case *loomv1.Event_KeyAwaited:
		cmd, by := o.signed(f.KeyAwaited.Signed)
		if cmd == nil || f.KeyAwaited.Change.By != by || len(k.live) < keyring.Guarded {
			o.broken(11, "a change of the keys waits that %q signed, of %v", by, k.live)
			return
		}
		o.spend(cmd.Nonce, "a change of the keys")
		k.awaited[change(cmd)] = append(k.awaited[change(cmd)], by)
		o.w.see("change of the keys waits for another")
	case *loomv1.Event_KeyEnrolled:
		cmd := o.changed(f.KeyEnrolled.Signed)
		key := f.KeyEnrolled.Key
		if cmd == nil || cmd.GetEnrolKey().GetKey().GetName() != key.Name || !proto.Equal(cmd.GetEnrolKey().GetKey(), &loomv1.SigningKey{Name: key.Name, PublicKey: key.PublicKey}) || slices.Contains(k.ever, key.Name) {
			o.broken(11, "key %s is enrolled, which nobody may have signed", key.Name)
			return
		}
		k.ever, k.live = append(k.ever, key.Name), append(k.live, key.Name)
		o.w.see("key enrolled")
	case *loomv1.Event_KeyRevoked:
		cmd := o.changed(f.KeyRevoked.Signed)
		name := f.KeyRevoked.Name
		_, by := o.hers(f.KeyRevoked.Signed)
		if cmd == nil || cmd.GetRevokeKey().GetName() != name || by == name || !k.holds(name) || len(k.live) < 2 {
			o.broken(11, "key %s of %v is revoked by %s", name, k.live, by)
			return
		}
		k.live = slices.DeleteFunc(slices.Clone(k.live), func(s string) bool { return s == name })
		for _, of := range k.signed {
			delete(of, name)
		}
		for about, by := range k.awaited {
			k.awaited[about] = slices.DeleteFunc(by, func(s string) bool { return s == name })
		}
		o.w.see("key revoked")
	case *loomv1.Event_ApprovalSigned:
		o.countersigned(e, f.ApprovalSigned)
	}
}

// changed returns the order of a change that was made, if enough keys have signed it.
func (o *oracle) changed(c *loomv1.SignedCommand) *loomv1.CeoCommand {
	cmd, by := o.signed(c)
	if cmd == nil {
		return nil
	}
	o.spend(cmd.Nonce, "a change of the keys")
	others := o.keys.awaited[change(cmd)]
	delete(o.keys.awaited, change(cmd))
	if len(o.keys.live) >= keyring.Guarded && !slices.ContainsFunc(others, func(s string) bool { return s != by }) {
		return nil
	}
	return cmd
}

// change names what an order changes.
func change(cmd *loomv1.CeoCommand) string {
	return cmd.GetEnrolKey().GetKey().GetName() + " " + cmd.GetRevokeKey().GetName()
}

// countersigned notes an answer that needs another key.
func (o *oracle) countersigned(e *loomv1.Event, f *loomv1.ApprovalSigned) {
	a := o.approvals[f.Approval]
	cmd, by := o.signed(f.Signed)
	d := cmd.GetDecide()
	if a == nil || a.closed || cmd == nil || e.Actor.GetName() != by || d.GetApproval() != f.Approval || d.GetDigest() != a.Digest || d.GetDecision() != f.Decision || a.Keys < 2 {
		o.broken(11, "approval %s is signed by %q, which it may not be", f.Approval, by)
		return
	}
	o.spend(cmd.Nonce, "an answer to "+f.Approval)
	if o.keys.signed[f.Approval] == nil {
		o.keys.signed[f.Approval] = map[string]string{}
	}
	o.keys.signed[f.Approval][by] = fmt.Sprint(d.Decision, d.Choice)
	o.w.see("answer waits for another key")
}

// enough wants an answer that lets work go on to be signed by as many keys as it takes,
// that all hold.
func (o *oracle) enough(a *asked, d *loomv1.DecideApproval, by string) {
	if a.Keys < 2 || !project.GoesOn(d.GetDecision()) {
		return
	}
	n := uint32(1)
	for name, said := range o.keys.signed[a.Id] {
		if name != by && said == fmt.Sprint(d.Decision, d.Choice) {
			n++
		}
	}
	if n < a.Keys {
		o.broken(11, "approval %s takes %d keys, and is decided by %d", a.Id, a.Keys, n)
	}
	o.w.see("decided by two keys")
}
