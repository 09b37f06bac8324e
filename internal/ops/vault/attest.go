package vault

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/net/ceokey"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The types that an exported approval names itself by.
const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://github.com/loomrun/loom/approval/v2"
	payloadType   = "application/vnd.in-toto+json"
)

// Envelope is a DSSE envelope in JSON.
type Envelope struct {
	PayloadType string              `json:"payloadType"`
	Payload     []byte              `json:"payload"`
	Signatures  []EnvelopeSignature `json:"signatures"`
}

// EnvelopeSignature is a signature over an envelope's pre-authentication encoding.
type EnvelopeSignature struct {
	// KeyID is the nkey that signed, "U...".
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// statement is an in-toto statement about an approval.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// predicate is what was asked and what was answered, with all that proves it.
type predicate struct {
	Deployment string    `json:"deployment"`
	Project    string    `json:"project"`
	Approval   string    `json:"approval"`
	Question   string    `json:"question"`
	Decision   string    `json:"decision"`
	Comment    string    `json:"comment,omitempty"`
	Choice     string    `json:"choice,omitempty"`
	AskedAt    time.Time `json:"askedAt"`
	DecidedAt  time.Time `json:"decidedAt"`
	// Position is that of the answer in the journals.
	Position string `json:"position"`
	// Shown is the loom.v1.Approval that was shown, in protobuf.
	Shown []byte `json:"shown"`
	// Command is the loom.v1.CeoCommand that was signed, in protobuf, with its Ed25519
	// signature over "loom.v1.ceo\n" and it, and the key.
	Command   []byte `json:"command"`
	Signature []byte `json:"signature"`
	PublicKey string `json:"publicKey"`
}

// Checked is what an export proves.
type Checked struct {
	Approval  string    `json:"approval"`
	Question  string    `json:"question"`
	Decision  string    `json:"decision"`
	Comment   string    `json:"comment,omitempty"`
	Choice    string    `json:"choice,omitempty"`
	DecidedAt time.Time `json:"decided_at"`
	Digest    string    `json:"digest"`
	Commit    string    `json:"commit,omitempty"`
	// SignedBy is the key that answered, ExportedBy that which signed the envelope.
	SignedBy   string `json:"signed_by"`
	ExportedBy string `json:"exported_by"`
}

// Export returns an answered approval as an in-toto statement in a DSSE envelope that
// key signs. It reads the journals to their end, and refuses what [Check] would.
func (s *Store) Export(ctx context.Context, approval string, key *ceokey.Key) (*Envelope, error) {
	var p predicate
	var shown *loomv1.Approval
	for part := range s.Manifest.Partitions {
		_, err := s.walk(ctx, part, func(seq uint64, b *loomv1.Batch) error {
			for i, e := range b.Events {
				if a := e.GetApprovalRequested().GetApproval(); a.GetId() == approval {
					shown, p.Project, p.AskedAt = a, e.Project, e.Time.AsTime()
				}
				if d := e.GetApprovalDecided(); d.GetApproval() == approval {
					at := &loomv1.Position{Partition: b.Partition, Epoch: b.Epoch, Sequence: seq, Index: uint32(i)}
					p.Position = notice.FormatCursor(&loomv1.Cursor{Positions: []*loomv1.Position{at}})
					p.Decision, p.Comment, p.Choice, p.DecidedAt = project.Word(d.Decision), d.Comment, d.Choice, e.Time.AsTime()
					p.Command, p.Signature, p.PublicKey = d.Signed.GetPayload(), d.Signed.GetSignature(), d.Signed.GetPublicKey()
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	switch {
	case shown == nil:
		return nil, fault.New("approval/unknown", "no journal here has approval %q", approval)
	case p.Position == "":
		return nil, fault.New("approval/unknown", "approval %q was not answered", approval)
	}
	p.Deployment, p.Approval, p.Question = s.Manifest.Deployment, approval, shown.Question
	e, err := seal(p, shown, key)
	if err != nil {
		return nil, err
	}
	_, err = Check(e)
	return e, err
}

// seal puts what was shown and answered into an envelope.
func seal(p predicate, shown *loomv1.Approval, key *ceokey.Key) (*Envelope, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(shown)
	if err != nil {
		return nil, err
	}
	p.Shown = data
	payload, err := json.Marshal(statement{statementType, subjects(shown), predicateType, p})
	if err != nil {
		return nil, err
	}
	sig, err := key.Envelope(preAuthentication(payloadType, payload))
	if err != nil {
		return nil, err
	}
	return &Envelope{PayloadType: payloadType, Payload: payload, Signatures: []EnvelopeSignature{{KeyID: key.Public(), Sig: sig}}}, nil
}

// subjects are what an approval was about: itself, by the digest that was signed, and
// its change and the text of its diff.
func subjects(a *loomv1.Approval) []subject {
	list := []subject{{a.Id, map[string]string{"sha256": a.Digest}}}
	if c := a.Change; c != nil {
		list = append(list, subject{"change", map[string]string{"gitCommit": c.Commit, "gitTree": c.Tree}})
		if c.Diff != nil {
			list = append(list, subject{"diff", map[string]string{"sha256": c.Diff.Sha256}})
		}
	}
	return list
}

// Check returns what an exported approval proves, or why it proves nothing. It needs
// nothing but the envelope: whether the keys that it names are the CEO's is for whoever
// asks to know.
func Check(e *Envelope) (*Checked, error) {
	if e.PayloadType != payloadType || len(e.Signatures) != 1 {
		return nil, fault.New("command/malformed", "not an envelope of %s with one signature", payloadType)
	}
	sig := e.Signatures[0]
	if err := signedBy(sig.KeyID, preAuthentication(e.PayloadType, e.Payload), sig.Sig); err != nil {
		return nil, fault.From(err).At("envelope")
	}
	var s statement
	if err := json.Unmarshal(e.Payload, &s); err != nil || s.Type != statementType || s.PredicateType != predicateType {
		return nil, fault.New("command/malformed", "not a statement about an approval").Want("%s", predicateType)
	}
	p, shown, cmd := s.Predicate, &loomv1.Approval{}, &loomv1.CeoCommand{}
	if proto.Unmarshal(p.Shown, shown) != nil || proto.Unmarshal(p.Command, cmd) != nil {
		return nil, fault.New("command/malformed", "what was shown, or what was signed, cannot be read")
	}
	if err := signedBy(p.PublicKey, project.SignedBytes(p.Command), p.Signature); err != nil {
		return nil, fault.From(err).At("command")
	}
	digest, v := workflow.Digest(shown), cmd.GetDecide()
	says := fmt.Sprintf("%q %q %q %q %q %q %q", p.Deployment, p.Project, p.Approval, digest, p.Decision, p.Comment, p.Choice)
	signed := fmt.Sprintf("%q %q %q %q %q %q %q", cmd.Deployment, cmd.Project, v.GetApproval(), v.GetDigest(), project.Word(v.GetDecision()), v.GetComment(), v.GetChoice())
	if says != signed {
		return nil, fault.New("approval/digest", "the statement says %s, and %s was signed", says, signed)
	}
	if subjectWords(s.Subject) != subjectWords(subjects(shown)) || shown.Id != p.Approval || shown.Question != p.Question || shown.Digest != digest {
		return nil, fault.New("approval/digest", "the statement's subjects are not those of what was shown")
	}
	return &Checked{
		Approval: p.Approval, Question: p.Question, Decision: p.Decision, Comment: p.Comment, Choice: p.Choice, DecidedAt: p.DecidedAt,
		Digest: digest, Commit: shown.Change.GetCommit(), SignedBy: p.PublicKey, ExportedBy: sig.KeyID,
	}, nil
}

func subjectWords(list []subject) string { return fmt.Sprintf("%q", list) }

// signedBy returns approval/signature unless key made the signature.
func signedBy(key string, message, signature []byte) error {
	public, err := ceokey.Parse(key)
	if err != nil {
		return err
	}
	if !ed25519.Verify(public, message, signature) {
		return fault.New("approval/signature", "the signature is not that of the key that is named").Got(key)
	}
	return nil
}

// preAuthentication is what a DSSE envelope's signature is over.
func preAuthentication(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}

// ParseEnvelope reads an envelope; its bytes may be in either base64 of DSSE.
func ParseEnvelope(data []byte) (*Envelope, error) {
	var raw struct {
		PayloadType, Payload string
		Signatures           []struct{ KeyID, Sig string }
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fault.New("command/malformed", "not an envelope in JSON: %s", err)
	}
	decode := func(s string) ([]byte, error) {
		return base64.StdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(s))
	}
	payload, err := decode(raw.Payload)
	e := &Envelope{PayloadType: raw.PayloadType, Payload: payload}
	for _, s := range raw.Signatures {
		sig, bad := decode(s.Sig)
		if bad != nil {
			err = bad
		}
		e.Signatures = append(e.Signatures, EnvelopeSignature{s.KeyID, sig})
	}
	if err != nil {
		return nil, fault.New("command/malformed", "the envelope is not in base64: %s", err)
	}
	return e, nil
}
