package project_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring/keyringtest"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestSIGN04_TheAuditLooksAtEvidence has a journal in which a passkey's order was carried
// out: the audit finds it valid. Had the project taken evidence of something else, the
// audit of the journal would say so.
func TestSIGN04_TheAuditLooksAtEvidence(t *testing.T) {
	d := newDesk(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	phone := keyringtest.New("phone", private, "localhost", "http://localhost:7420")
	if err := d.present(ceo, d.order(func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_EnrolKey{EnrolKey: &loomv1.EnrolKey{Key: phone.Key, Reason: "a phone"}}
	})); err != nil {
		t.Fatal(err)
	}
	payload := d.order(pauses(allWork, "", "why")).Payload
	if err := d.present(ceo, phone.Confirm(payload, nil)); err != nil {
		t.Fatal(err)
	}
	var given *loomv1.Event
	for _, e := range d.events {
		if e.GetOverrideGiven() != nil {
			given = e
		}
	}
	other := d.order(pauses(allWork, "", "something else")).Payload
	for _, tt := range []struct {
		name, code string
		signed     *loomv1.SignedCommand
	}{
		{"as it was", "", given.GetOverrideGiven().GetSigned()},
		{"another payload", "key/evidence", &loomv1.SignedCommand{Payload: payload, Signature: phone.Confirm(other, nil).Signature, Assertion: phone.Confirm(other, nil).Assertion}},
		{"another origin", "key/evidence", phone.Confirm(payload, func(s *keyringtest.Said) { s.Origin = "http://localhost:7421" })},
		{"another relying party", "key/evidence", phone.Confirm(payload, func(s *keyringtest.Said) { s.Party = "example.org" })},
		{"nobody verified", "key/evidence", phone.Confirm(payload, func(s *keyringtest.Said) { s.Flags = 1 })},
		{"no evidence", "approval/signature", &loomv1.SignedCommand{Payload: payload, Signature: phone.Confirm(payload, nil).Signature}},
	} {
		audit := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{d.cfg.CEO}}
		var act *project.Act
		for _, e := range d.events {
			if e == given {
				e = proto.CloneOf(e)
				e.GetOverrideGiven().Signed = tt.signed
				act = audit.Look(e)
				continue
			}
			audit.Look(e)
		}
		if act == nil || !act.Signed || fault.Code(act.Err) != tt.code {
			t.Errorf("%s: %+v, want %q", tt.name, act, tt.code)
		}
	}
}
