package keyring_test

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// pair is a key in a file, by a number.
func pair(n byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(append(make([]byte, 31), n)) }

func public(n byte) ed25519.PublicKey { return pair(n).Public().(ed25519.PublicKey) }

func enrol(name string, n byte) *loomv1.CeoCommand {
	return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_EnrolKey{EnrolKey: &loomv1.EnrolKey{Key: &loomv1.SigningKey{Name: name, PublicKey: public(n)}, Reason: "why"}}}
}

func revoke(name string) *loomv1.CeoCommand {
	return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_RevokeKey{RevokeKey: &loomv1.RevokeKey{Name: name, Reason: "why"}}}
}

func signed(n byte, cmd *loomv1.CeoCommand) *loomv1.SignedCommand {
	payload, err := proto.Marshal(cmd)
	if err != nil {
		panic(err)
	}
	return &loomv1.SignedCommand{Payload: payload, Signature: ed25519.Sign(pair(n), keyring.SignedBytes(payload))}
}

// do has the key of a number order something of a ring, as a project does it.
func do(r *keyring.Ring, n byte, cmd *loomv1.CeoCommand) (*loomv1.Event, error) {
	c := signed(n, cmd)
	k, err := r.Signer(c)
	if err != nil {
		return nil, err
	}
	e, err := r.Decide(k.Name, c, cmd)
	if e != nil {
		e.Time = timestamppb.New(timestamppb.Now().AsTime())
		r.Apply(e)
	}
	return e, err
}

// TestSIGN02_KeysAreEnrolledAndRevokedByKeysThatHold is the life of a set of keys.
func TestSIGN02_KeysAreEnrolledAndRevokedByKeysThatHold(t *testing.T) {
	r := keyring.Restore(public(1), nil)
	early := signed(1, enrol("late", 9)) // signed before the key is revoked, presented after
	for i, s := range []struct {
		by   byte
		cmd  *loomv1.CeoCommand
		code string
		fact string
	}{
		{2, enrol("phone", 2), "approval/signature", ""}, // it does not hold
		{1, revoke("first"), "key/last", ""},
		{1, enrol("first", 2), "key/exists", ""},
		{1, enrol("twin", 1), "key/exists", ""},
		{1, enrol("phone", 2), "", "enrolled"},
		{1, enrol("phone", 2), "", ""}, // the same again changes nothing
		{1, enrol("phone", 3), "key/exists", ""},
		{1, revoke("first"), "key/last", ""}, // no key revokes itself
		{1, revoke("fone"), "key/unknown", ""},
		{2, revoke("first"), "", "revoked"},
		{2, revoke("first"), "", ""},
		{1, revoke("phone"), "key/revoked", ""},
		{1, enrol("laptop", 3), "key/revoked", ""},
		{2, enrol("first", 3), "key/exists", ""}, // a name stands for one key for good
		{2, enrol("again", 1), "key/exists", ""}, // and a key comes once
		{2, revoke("phone"), "key/last", ""},
		{2, enrol("laptop", 3), "", "enrolled"},
		{2, enrol("tablet", 4), "", "enrolled"},
		// From three on, one alone changes nothing.
		{2, revoke("laptop"), "", "awaited"},
		{2, revoke("laptop"), "", ""}, // twice by one is once
		{3, revoke("laptop"), "key/last", ""},
		{4, revoke("laptop"), "", "revoked"},
		{2, enrol("evil", 5), "", "enrolled"}, // with two, one can
		{5, enrol("more", 6), "", "awaited"},
		{2, revoke("evil"), "", "awaited"},
		{4, revoke("evil"), "", "revoked"},
		{2, enrol("more", 6), "", "enrolled"}, // what the revoked key has signed of it counts no more
	} {
		e, err := do(r, s.by, s.cmd)
		fact := ""
		switch {
		case e.GetKeyEnrolled() != nil:
			fact = "enrolled"
		case e.GetKeyRevoked() != nil:
			fact = "revoked"
		case e.GetKeyAwaited() != nil:
			fact = "awaited"
		}
		if fault.Code(err) != s.code || fact != s.fact {
			t.Fatalf("step %d: %q, %v, want %q, %q", i, fact, err, s.fact, s.code)
		}
	}
	if _, err := r.Signer(early); fault.Code(err) != "key/revoked" {
		t.Errorf("what was signed before the revocation and comes after: %v", err)
	}
	// The last was enrolled by two keys that hold, and by one of them alone.
	last := r.Keys()[len(r.Keys())-1]
	if last.Name != "more" || !slices.Equal(last.EnrolledBy, []string{"phone"}) {
		t.Errorf("enrolled: %v", last)
	}
	// Under another first key nothing of it holds.
	fresh := keyring.Restore(public(7), r.Snapshot())
	for n := byte(1); n < 7; n++ {
		if _, err := fresh.Signer(signed(n, revoke("x"))); fault.Code(err) != "approval/signature" {
			t.Errorf("key %d under another root: %v", n, err)
		}
	}
	if _, err := fresh.Signer(signed(7, revoke("x"))); err != nil {
		t.Errorf("the other root: %v", err)
	}
}

// TestSIGN02_NoKeyFillsTheQueueOfTheOthers: a key that was stolen signs changes that no
// other would, as many as it can; the others revoke it all the same.
func TestSIGN02_NoKeyFillsTheQueueOfTheOthers(t *testing.T) {
	r := keyring.Restore(public(1), nil)
	for i, cmd := range []*loomv1.CeoCommand{enrol("phone", 2), enrol("stolen", 3)} {
		if _, err := do(r, 1, cmd); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	refused := false
	for n := byte(10); n < 40; n++ {
		_, err := do(r, 3, enrol(fmt.Sprint("evil", n), n))
		refused = refused || fault.Code(err) == "key/invalid"
	}
	if !refused {
		t.Errorf("one key has %d changes wait", len(r.Pending()))
	}
	for _, n := range []byte{1, 2} {
		if _, err := do(r, n, revoke("stolen")); err != nil {
			t.Errorf("key %d: %v", n, err)
		}
	}
	if r.Holds("stolen") || len(r.Pending()) > 0 {
		t.Errorf("the stolen key holds: %t, and %d changes wait", r.Holds("stolen"), len(r.Pending()))
	}
}

// A passkey that was enrolled is also no key in a file, and the other way around: one
// key must not count as two.
func TestSIGN02_OneKeyIsOneWhateverItSignsAs(t *testing.T) {
	r := keyring.Restore(public(1), nil)
	a := newAuthenticator("passkey", pair(1))
	if _, err := r.Decide("first", nil, &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_EnrolKey{EnrolKey: &loomv1.EnrolKey{Key: a.Key}}}); fault.Code(err) != "key/exists" {
		t.Errorf("the first key as a passkey: %v", err)
	}
}

// TestSIGN02_WhateverIsOrdered gives random orders to a ring, and to a slow twin of
// it, made anew from its orders at each step.
func TestSIGN02_WhateverIsOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := keyring.Restore(public(1), nil)
		revoked := map[string]bool{}
		var facts []*loomv1.Event
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			n := byte(rapid.IntRange(1, 6).Draw(t, "by"))
			who := byte(rapid.IntRange(1, 6).Draw(t, "about"))
			cmd := enrol(fmt.Sprint("k", who), who)
			if rapid.Bool().Draw(t, "revoke") {
				cmd = revoke([]string{"first", fmt.Sprint("k", who)}[rapid.IntRange(0, 1).Draw(t, "which")])
			}
			before := live(r)
			e, err := do(r, n, cmd)
			if e != nil {
				facts = append(facts, e)
			}
			after := live(r)
			switch f := e.GetKeyRevoked(); {
			case len(after) == 0:
				t.Fatalf("step %d: no key is left", i)
			case e == nil || err != nil:
				if !slices.Equal(before, after) {
					t.Fatalf("step %d: a refusal changed %v to %v", i, before, after)
				}
			case f != nil && slices.Contains(f.By, f.Name):
				t.Fatalf("step %d: %v revoked itself", i, f)
			case len(before) >= keyring.Guarded && !slices.Equal(before, after):
				by := append(e.GetKeyEnrolled().GetKey().GetEnrolledBy(), f.GetBy()...)
				if len(by) != 2 || by[0] == by[1] || !slices.Contains(before, by[0]) || !slices.Contains(before, by[1]) {
					t.Fatalf("step %d: of %v, %v changed the keys", i, before, by)
				}
			}
			for name := range revoked {
				if r.Holds(name) {
					t.Fatalf("step %d: %s holds again", i, name)
				}
			}
			for _, k := range r.Keys() {
				revoked[k.Name] = revoked[k.Name] || k.RevokedAt != nil
				if !revoked[k.Name] {
					delete(revoked, k.Name)
				}
			}
		}
		twin := keyring.Restore(public(1), nil)
		for _, e := range facts {
			twin.Apply(e)
		}
		if !proto.Equal(twin.Snapshot(), r.Snapshot()) || len(r.Orders()) != len(facts) {
			t.Fatalf("a replay gives %v, want %v", twin.Snapshot(), r.Snapshot())
		}
	})
}

func live(r *keyring.Ring) (names []string) {
	for _, k := range r.Keys() {
		if r.Holds(k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}
