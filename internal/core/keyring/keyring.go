// Package keyring is the pure core of the keys that sign in the CEO's name: which
// hold, what they may change of themselves, and which of them made a signature, or
// an authenticator's assertion in the place of one.
//
// It promises that a key which was revoked signs nothing more, that a key which works
// is always left (no key revokes itself), that a name and a key belong together for
// good, and that where three keys or more hold no single one changes the set. It knows
// no time: whether a command has come too late, its caller says.
package keyring

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"regexp"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// First is the name of the key that a deployment begins with.
const First = "first"

const (
	// Guarded is from how many keys on a change of them takes two signatures.
	Guarded = 3

	// MostAsked is how many keys an approval can take.
	MostAsked = 5

	maxKeys    = 100 // that ever held
	maxPending = 5   // that one key has signed: what it fills keeps no other from signing
)

var wellNamed = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// signedPrefix is signed before the payload, so that a signature made for another
// purpose is worth nothing here.
const signedPrefix = "loom.v1.ceo\n"

// SignedBytes returns what is signed for a payload; the SHA-256 of it is the challenge
// of a passkey.
func SignedBytes(payload []byte) []byte { return append([]byte(signedPrefix), payload...) }

// Ring is the keys of a project. It is not safe for concurrent use.
type Ring struct {
	root ed25519.PublicKey
	p    *loomv1.Keyring // nil while the first key is all there is
}

// Restore returns the ring that begins with a key, root, and then was changed as p says.
// What p says of another root does not hold. The ring takes p over.
func Restore(root ed25519.PublicKey, p *loomv1.Keyring) *Ring {
	return &Ring{root, p}
}

// Snapshot returns what Restore takes. It may be read only.
func (r *Ring) Snapshot() *loomv1.Keyring { return r.p }

// changed returns what was changed under the ring's root, or nil: then the first key is
// all there is.
func (r *Ring) changed() *loomv1.Keyring {
	if r.p == nil || !bytes.Equal(r.p.Root, r.root) {
		return nil
	}
	return r.p
}

// Keys returns all keys that hold or held once, in the order of their enrolment; they
// may be read only.
func (r *Ring) Keys() []*loomv1.SigningKey {
	switch p := r.changed(); {
	case p != nil:
		return p.Keys
	case len(r.root) != ed25519.PublicKeySize:
		return nil
	}
	return []*loomv1.SigningKey{{Name: First, PublicKey: r.root}}
}

// Pending returns the changes that wait for another key's signature.
func (r *Ring) Pending() []*loomv1.KeyChange { return r.changed().GetPending() }

// Done says whether what an order asks for is so already.
func (r *Ring) Done(cmd *loomv1.CeoCommand) bool {
	done, err := r.checkChange(&loomv1.KeyChange{Enrol: cmd.GetEnrolKey(), Revoke: cmd.GetRevokeKey()})
	return done && err == nil
}

// Orders returns the signed commands that made the ring, in their order.
func (r *Ring) Orders() []*loomv1.SignedCommand { return r.changed().GetOrders() }

// Holds says whether a key of that name may sign.
func (r *Ring) Holds(name string) bool {
	k := r.named(name)
	return k != nil && k.RevokedAt == nil
}

func (r *Ring) live() []string { return Live(r.Keys()) }

// Live returns the names of the keys that hold, of a list.
func Live(keys []*loomv1.SigningKey) (names []string) {
	for _, k := range keys {
		if k.RevokedAt == nil {
			names = append(names, k.Name)
		}
	}
	return names
}

func (r *Ring) named(name string) *loomv1.SigningKey {
	for _, k := range r.Keys() {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Signer returns the key that signed c. It refuses a key that was revoked with
// key/revoked, and what no key of the ring signed with approval/signature.
func (r *Ring) Signer(c *loomv1.SignedCommand) (*loomv1.SigningKey, error) {
	keys := r.Keys()
	if len(keys) == 0 {
		return nil, fault.New("approval/identity", "this deployment has no CEO key enrolled")
	}
	for _, k := range keys {
		switch ok, err := signedBy(k, c); {
		case !ok:
		case k.RevokedAt != nil:
			return nil, fault.New("key/revoked", "key %q, which signed this, was revoked at %s", k.Name, k.RevokedAt.AsTime().Format("2006-01-02T15:04:05Z")).
				Want("sign with one that holds: loom key list")
		default:
			return k, err
		}
	}
	return nil, fault.New("approval/signature", "signature is not the CEO's").Want("sign with a key that \"loom key list\" shows")
}

// signedBy says whether a key made the signature of c, and what is wrong with the
// evidence beside it.
func signedBy(k *loomv1.SigningKey, c *loomv1.SignedCommand) (bool, error) {
	switch {
	case k.Passkey == nil && c.GetAssertion() == nil:
		return len(k.PublicKey) == ed25519.PublicKeySize && ed25519.Verify(k.PublicKey, SignedBytes(c.GetPayload()), c.GetSignature()), nil
	case k.Passkey == nil || c.GetAssertion() == nil:
		return false, nil
	}
	return asserted(k, c)
}

// Check returns why k did not sign c, or nil if it did.
func Check(k *loomv1.SigningKey, c *loomv1.SignedCommand) error {
	ok, err := signedBy(k, c)
	if !ok {
		return fault.New("approval/signature", "the signature is not that of the key that is named").Got(k.GetName())
	}
	return err
}

// Order returns whether a command is about the keys.
func Order(cmd *loomv1.CeoCommand) bool { return cmd.GetEnrolKey() != nil || cmd.GetRevokeKey() != nil }

// Decide returns the fact that c, a command about the keys that the key of that name
// has signed, makes: a change, that it waits for another signature, or nil where it changes
// nothing.
func (r *Ring) Decide(by string, c *loomv1.SignedCommand, cmd *loomv1.CeoCommand) (*loomv1.Event, error) {
	change := &loomv1.KeyChange{Enrol: cmd.GetEnrolKey(), Revoke: cmd.GetRevokeKey(), By: by}
	done, err := r.checkChange(change)
	if done || err != nil {
		return nil, err
	}
	signers := []string{by}
	if len(r.live()) >= Guarded {
		i := slices.IndexFunc(r.Pending(), func(p *loomv1.KeyChange) bool { return same(p, change) })
		switch {
		case i < 0 && r.waiting(by) >= maxPending:
			return nil, fault.New("key/invalid", "%d changes of the keys that key %q has signed wait for another signature, as many as can", maxPending, by)
		case i < 0:
			return &loomv1.Event{Fact: &loomv1.Event_KeyAwaited{KeyAwaited: &loomv1.KeyAwaited{Root: r.root, Change: change, Signed: c}}}, nil
		case r.Pending()[i].By == by: // twice by one is once
			return nil, nil
		}
		signers = []string{r.Pending()[i].By, by}
	}
	if v := change.Revoke; v != nil {
		return &loomv1.Event{Fact: &loomv1.Event_KeyRevoked{KeyRevoked: &loomv1.KeyRevoked{Root: r.root, Name: v.Name, By: signers, Reason: v.Reason, Signed: c}}}, nil
	}
	k := proto.CloneOf(change.Enrol.Key)
	k.EnrolledBy, k.Reason = signers, change.Enrol.Reason
	return &loomv1.Event{Fact: &loomv1.Event_KeyEnrolled{KeyEnrolled: &loomv1.KeyEnrolled{Root: r.root, Key: k, Signed: c}}}, nil
}

// waiting counts the changes that wait and were signed by a key.
func (r *Ring) waiting(by string) (n int) {
	for _, p := range r.Pending() {
		if p.By == by {
			n++
		}
	}
	return n
}

// same says whether two keys have signed the same change, for whatever reason.
func same(a, b *loomv1.KeyChange) bool {
	if a.Revoke != nil || b.Revoke != nil {
		return a.Revoke != nil && b.Revoke != nil && a.Revoke.Name == b.Revoke.Name
	}
	return proto.Equal(a.GetEnrol().GetKey(), b.GetEnrol().GetKey())
}

// checkChange refuses a change that cannot be, and says whether it was done before.
func (r *Ring) checkChange(c *loomv1.KeyChange) (done bool, err error) {
	if v := c.Revoke; v != nil {
		return r.checkRevoke(v.Name, c.By)
	}
	k := c.Enrol.GetKey()
	if err := CheckKey(k); err != nil {
		return false, err
	}
	for _, old := range r.Keys() {
		switch {
		case old.Name == k.Name && old.RevokedAt == nil && bytes.Equal(old.PublicKey, k.PublicKey) && proto.Equal(old.Passkey, k.Passkey):
			return true, nil
		case old.Name == k.Name:
			return false, fault.New("key/exists", "there is a key of this name, or was one").At("name").Got(k.Name).Want("another name: it stands for one key for good")
		case bytes.Equal(material(old), material(k)):
			return false, fault.New("key/exists", "this key is, or was, enrolled as %q", old.Name).At("public_key").Want("make a new one")
		}
	}
	if len(r.Keys()) >= maxKeys {
		return false, fault.New("key/invalid", "there were %d keys, as many as there can be", maxKeys)
	}
	return false, nil
}

func (r *Ring) checkRevoke(name, by string) (done bool, err error) {
	known := r.live()
	switch k := r.named(name); {
	case k == nil:
		return false, fault.New("key/unknown", "no such key").At("name").Got(name).Want("%s", suggest.Among(name, known))
	case k.RevokedAt != nil:
		return true, nil
	case len(known) == 1:
		return false, fault.New("key/last", "key %q is the last that holds", name).At("name").Want("enrol another first: loom key add")
	case name == by:
		return false, fault.New("key/last", "key %q does not revoke itself", name).At("name").Want("sign it with another, so that one which works is left")
	}
	return false, nil
}

// CheckName returns key/invalid unless a key can have a name.
func CheckName(name string) error {
	if !wellNamed.MatchString(name) {
		return fault.New("key/invalid", "a key's name has letters a to z, digits and dashes, at most 32").At("name").Got(name)
	}
	return nil
}

// CheckKey returns key/invalid unless k, as an order has it, can be enrolled.
func CheckKey(k *loomv1.SigningKey) error {
	if err := CheckName(k.GetName()); err != nil {
		return err
	}
	switch {
	case len(k.EnrolledBy)+len(k.RevokedBy) > 0 || k.EnrolledAt != nil || k.RevokedAt != nil || k.Reason+k.Project != "":
		return fault.New("key/invalid", "the order sets what the project sets").At("key")
	case k.Passkey != nil:
		return checkPasskey(k)
	case len(k.PublicKey) != ed25519.PublicKeySize:
		return fault.New("key/invalid", "the key has %d bytes, want %d", len(k.PublicKey), ed25519.PublicKeySize).At("public_key")
	}
	return nil
}

// Of says whether a fact is about keys under the ring's root.
func (r *Ring) Of(e *loomv1.Event) bool {
	for _, root := range [][]byte{e.GetKeyEnrolled().GetRoot(), e.GetKeyRevoked().GetRoot(), e.GetKeyAwaited().GetRoot()} {
		if len(root) > 0 {
			return bytes.Equal(root, r.root)
		}
	}
	return false
}

// Apply folds a fact about the keys that happened at a time; others it leaves alone.
func (r *Ring) Apply(e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_KeyEnrolled:
		r.under(f.KeyEnrolled.Root, f.KeyEnrolled.Signed)
		k := proto.CloneOf(f.KeyEnrolled.Key)
		k.EnrolledAt = e.Time
		r.p.Keys = append(r.p.Keys, k)
		r.settle(&loomv1.KeyChange{Enrol: &loomv1.EnrolKey{Key: &loomv1.SigningKey{Name: k.Name, PublicKey: k.PublicKey, Passkey: k.Passkey}}})
	case *loomv1.Event_KeyRevoked:
		r.under(f.KeyRevoked.Root, f.KeyRevoked.Signed)
		r.revoke(f.KeyRevoked, e.Time)
		r.settle(&loomv1.KeyChange{Revoke: &loomv1.RevokeKey{Name: f.KeyRevoked.Name}})
	case *loomv1.Event_KeyAwaited:
		r.under(f.KeyAwaited.Root, f.KeyAwaited.Signed)
		c := proto.CloneOf(f.KeyAwaited.Change)
		c.Since = e.Time
		r.p.Pending = append(r.p.Pending, c)
	}
}

func (r *Ring) revoke(f *loomv1.KeyRevoked, at *timestamppb.Timestamp) {
	for _, k := range r.p.Keys {
		if k.Name == f.Name {
			k.RevokedAt, k.RevokedBy, k.Reason = at, f.By, cmp.Or(f.Reason, k.Reason)
		}
	}
	// What it has signed of changes that wait counts no more.
	r.p.Pending = slices.DeleteFunc(r.p.Pending, func(p *loomv1.KeyChange) bool { return p.By == f.Name })
}

// settle ends the wait for a change that was made.
func (r *Ring) settle(c *loomv1.KeyChange) {
	r.p.Pending = slices.DeleteFunc(r.p.Pending, func(p *loomv1.KeyChange) bool { return same(p, c) })
}

// under keeps the order of a fact, and begins anew where that is about another root.
func (r *Ring) under(root []byte, order *loomv1.SignedCommand) {
	if !bytes.Equal(r.p.GetRoot(), root) {
		r.p = &loomv1.Keyring{Root: root, Keys: []*loomv1.SigningKey{{Name: First, PublicKey: root}}}
	}
	r.p.Orders = append(r.p.Orders, order)
}
