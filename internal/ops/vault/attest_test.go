package vault

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/net/ceokey"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// P9, BYD-12: an exported approval proves itself, and any of it that is another than
// what was shown and signed is refused, also by an envelope that is signed anew.
func TestP09_AnExportedApprovalProvesItself(t *testing.T) {
	ceo, other := newKey(t), newKey(t)
	shown := &loomv1.Approval{
		Id: "shop-2", Bead: "shop-1", Question: "Shall this land?", Checks: []string{"go test ./..."},
		Change: &loomv1.Change{Commit: "w1", Tree: "t1", Diff: &loomv1.BlobRef{Sha256: "aa", Size: 2}},
	}
	shown.Digest = workflow.Digest(shown)
	signed, err := ceo.Decide("dp-1", "shop", &loomv1.DecideApproval{
		Approval: "shop-2", Digest: shown.Digest, Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, Comment: "fine",
	})
	if err != nil {
		t.Fatal(err)
	}
	sound := predicate{
		Deployment: "dp-1", Project: "shop", Approval: "shop-2", Question: shown.Question, Decision: "approve", Comment: "fine",
		DecidedAt: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), answer: answerOf(signed, "first", nil),
	}
	for _, tt := range []struct {
		name string
		edit func(p *predicate, a *loomv1.Approval)
		key  *ceokey.Key
		want string
	}{
		{"as it was", func(*predicate, *loomv1.Approval) {}, ceo, ""},
		{"in an envelope of another's", func(*predicate, *loomv1.Approval) {}, other, ""},
		{"another deployment", func(p *predicate, _ *loomv1.Approval) { p.Deployment = "dp-2" }, ceo, "approval/digest"},
		{"another project", func(p *predicate, _ *loomv1.Approval) { p.Project = "till" }, ceo, "approval/digest"},
		{"another approval", func(p *predicate, _ *loomv1.Approval) { p.Approval = "shop-3" }, ceo, "approval/digest"},
		{"the opposite", func(p *predicate, _ *loomv1.Approval) { p.Decision = "reject" }, ceo, "approval/digest"},
		{"another comment", func(p *predicate, _ *loomv1.Approval) { p.Comment = "Fine" }, ceo, "approval/digest"},
		{"another choice", func(p *predicate, _ *loomv1.Approval) { p.Choice = "d7" }, ceo, "approval/digest"},
		{"another question", func(p *predicate, _ *loomv1.Approval) { p.Question = "Shall that land?" }, ceo, "approval/digest"},
		{"another check shown", func(_ *predicate, a *loomv1.Approval) { a.Checks[0] = "go test ./.. " }, ceo, "approval/digest"},
		{"another diff shown", func(_ *predicate, a *loomv1.Approval) { a.Change.Diff.Sha256 = "ab" }, ceo, "approval/digest"},
		{"with its digest", func(_ *predicate, a *loomv1.Approval) { a.Change.Diff.Sha256 = "ab"; a.Digest = workflow.Digest(a) }, ceo, "approval/digest"},
		{"another command", func(p *predicate, _ *loomv1.Approval) { p.Command = append([]byte{}, p.Command[1:]...) }, ceo, "command/malformed"},
		{"another signature", func(p *predicate, _ *loomv1.Approval) {
			p.Signature = append([]byte{p.Signature[0] ^ 1}, p.Signature[1:]...)
		}, ceo, "approval/signature"},
		{"in another's name", func(p *predicate, _ *loomv1.Approval) { p.PublicKey = other.Public() }, ceo, "approval/signature"},
		{"with an unknown field shown", func(_ *predicate, a *loomv1.Approval) { a.ProtoReflect().SetUnknown(unknownField) }, ceo, "command/malformed"},
		{"with one deeper down", func(_ *predicate, a *loomv1.Approval) { a.Change.Diff.ProtoReflect().SetUnknown(unknownField) }, ceo, "command/malformed"},
		{"of no key", func(p *predicate, _ *loomv1.Approval) { p.PublicKey = "U" }, ceo, "id/malformed"},
	} {
		p, a := sound, proto.CloneOf(shown)
		tt.edit(&p, a)
		e, err := seal(p, a, tt.key)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		read, err := ParseEnvelope(data)
		if err != nil {
			t.Fatal(err)
		}
		found, err := Check(read)
		if fault.Code(err) != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if err == nil && (found.SignedBy != ceo.Public() || found.Envelope.SignedBy != tt.key.Public() || found.Digest != shown.Digest || found.Commit != "w1") {
			t.Errorf("%s: found %+v", tt.name, found)
		}
		read.Payload[len(read.Payload)/2] ^= 1
		if _, err := Check(read); fault.Code(err) != "approval/signature" {
			t.Errorf("%s, one bit flipped: %v", tt.name, err)
		}
	}
}

// unknownField is field 4000, a string, which no message has.
var unknownField = protowire.AppendString(protowire.AppendTag(nil, 4000, protowire.BytesType), "approved by the board")

// SIGN05: who answered and when is said as the envelope says it, which a file that is put into
// another envelope changes at will: nothing that is told as proven changes with it.
func TestSIGN05_WhatNoSignatureCoversStandsApart(t *testing.T) {
	ceo, other := newKey(t), newKey(t)
	shown := &loomv1.Approval{Id: "shop-2", Question: "Shall this land?"}
	shown.Digest = workflow.Digest(shown)
	signed, err := ceo.Decide("dp-1", "shop", &loomv1.DecideApproval{Approval: "shop-2", Digest: shown.Digest, Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE})
	if err != nil {
		t.Fatal(err)
	}
	found := func(key *ceokey.Key, name string, at time.Time) *Checked {
		p := predicate{Deployment: "dp-1", Project: "shop", Approval: "shop-2", Question: shown.Question, Decision: "approve", AskedAt: at, DecidedAt: at, Position: name, answer: answerOf(signed, name, nil)}
		e, err := seal(p, shown, key)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Check(e)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	sound := found(ceo, "laptop", time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	forged := found(other, "the board", time.Date(1999, 1, 2, 12, 0, 0, 0, time.UTC))
	if sound.Envelope == forged.Envelope || forged.Envelope.Key != "the board" || sound.SignedAt.IsZero() {
		t.Errorf("the envelopes say %+v and %+v", sound.Envelope, forged.Envelope)
	}
	forged.Envelope = sound.Envelope
	if diff := cmp.Diff(sound, forged); diff != "" {
		t.Errorf("another envelope changes what is proven (-sound +forged):\n%s", diff)
	}
}

func newKey(t *testing.T) *ceokey.Key {
	t.Helper()
	key, _, err := ceokey.OpenOrCreate(filepath.Join(t.TempDir(), "ceo.nk"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// What stands in the file beside what was signed is refused: whoever reads it could take
// it for signed.
func TestP09_WhatNobodySignedIsRefusedBesideIt(t *testing.T) {
	ceo := newKey(t)
	shown := &loomv1.Approval{Id: "shop-2", Question: "Shall this land?"}
	shown.Digest = workflow.Digest(shown)
	signed, err := ceo.Decide("dp-1", "shop", &loomv1.DecideApproval{Approval: "shop-2", Digest: shown.Digest, Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE})
	if err != nil {
		t.Fatal(err)
	}
	p := predicate{Deployment: "dp-1", Project: "shop", Approval: "shop-2", Question: shown.Question, Decision: "approve", answer: answerOf(signed, "first", nil)}
	e, err := seal(p, shown, ceo)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{strings.Replace(string(data), "{", `{"reviewedBy":"the board",`, 1), string(data) + `{}`} {
		if _, err := ParseEnvelope([]byte(bad)); fault.Code(err) != "command/malformed" {
			t.Errorf("%.60s: %v, want command/malformed", bad, err)
		}
	}
	payload := strings.Replace(string(e.Payload), `"decision":"approve"`, `"decision":"approve","reviewedBy":"the board"`, 1)
	sig, err := ceo.Envelope(preAuthentication(payloadType, []byte(payload)))
	if err != nil {
		t.Fatal(err)
	}
	more := &Envelope{PayloadType: payloadType, Payload: []byte(payload), Signatures: []EnvelopeSignature{{KeyID: ceo.Public(), Sig: sig}}}
	if _, err := Check(more); fault.Code(err) != "command/malformed" {
		t.Errorf("a field more in the statement: %v, want command/malformed", err)
	}
}
