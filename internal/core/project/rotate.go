package project

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ceo returns the key that signs in the CEO's name now: the configured one, or
// the last that it was replaced by. A key that the operator has enrolled in its
// place begins anew.
func (s *State) ceo() ed25519.PublicKey {
	key := s.cfg.CEO
	for range len(s.p.Rotations) { // no key comes twice
		next, ok := s.p.Rotations[hex.EncodeToString(key)]
		if !ok {
			return key
		}
		key = next
	}
	return key
}

// rotate gives the CEO another key. To the one that holds it changes nothing.
func (d *decision) rotate(v *loomv1.RotateKey) error {
	now := d.s.ceo()
	switch {
	case len(v.GetPublicKey()) != ed25519.PublicKeySize:
		return fault.New("override/invalid", "the new key has %d bytes, want %d", len(v.GetPublicKey()), ed25519.PublicKeySize).At("public_key")
	case bytes.Equal(v.PublicKey, now):
		return nil
	case d.s.p.Rotations[hex.EncodeToString(v.PublicKey)] != nil || bytes.Equal(v.PublicKey, d.s.cfg.CEO):
		return fault.New("override/invalid", "the new key was the CEO's before").At("public_key").Want("make a new one")
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_KeyRotated{KeyRotated: &loomv1.KeyRotated{From: now, To: v.PublicKey}}})
}

func (s *State) applyRotated(f *loomv1.KeyRotated) {
	if s.p.Rotations == nil {
		s.p.Rotations = map[string][]byte{}
	}
	s.p.Rotations[hex.EncodeToString(f.From)] = f.To
}

// noteCut puts on record that a journal is cut.
func (d *decision) noteCut(c *loomv1.JournalCut) error {
	if d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_HOST {
		return fault.New("command/unauthorized", "only a host cuts a journal")
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_JournalCut{JournalCut: c}})
}

// maxDetail bounds what is kept of a note.
const maxDetail = 500

// noteSecurity puts on record what a host does less safely than it would.
func (d *decision) noteSecurity(n *loomv1.NoteSecurity) error {
	if d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_HOST {
		return fault.New("command/unauthorized", "only a host notes what it does")
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_SecurityNoted{SecurityNoted: &loomv1.SecurityNoted{
		What: cut(plain(n.GetWhat()), MaxKey), Detail: cut(plain(n.GetDetail()), maxDetail),
	}}})
}
