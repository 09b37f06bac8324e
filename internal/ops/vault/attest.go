package vault

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring"
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
	answer
	// Others are the answers of the other keys, where it took several.
	Others []answer `json:"others,omitempty"`
}

// answer is an answer as a key signed it.
type answer struct {
	// Command is the loom.v1.CeoCommand that was signed, in protobuf, with its Ed25519
	// signature over "loom.v1.ceo\n" and it, and the key.
	Command   []byte `json:"command"`
	Signature []byte `json:"signature"`
	PublicKey string `json:"publicKey"`
	// Key is the name that the key had in the deployment.
	Key string `json:"key"`
	// Passkey is set where it was one: the signature is the authenticator's then.
	Passkey *passkey `json:"passkey,omitempty"`
}

// passkey is a WebAuthn credential, and the evidence that it gave.
type passkey struct {
	PublicKey         []byte `json:"publicKey"`
	RelyingParty      string `json:"relyingParty"`
	Origin            string `json:"origin"`
	AuthenticatorData []byte `json:"authenticatorData"`
	ClientDataJSON    []byte `json:"clientDataJSON"`
}

// answerOf is what a key of that name signed; keys are those that were enrolled, which
// say what a passkey is.
func answerOf(c *loomv1.SignedCommand, name string, keys []*loomv1.SigningKey) answer {
	a := answer{Command: c.GetPayload(), Signature: c.GetSignature(), PublicKey: c.GetPublicKey(), Key: name}
	for _, k := range keys {
		if c.GetAssertion() != nil && keyring.Check(k, c) == nil {
			a.PublicKey = ceokey.ID(k)
			a.Passkey = &passkey{k.PublicKey, k.Passkey.RelyingParty, k.Passkey.Origin, c.Assertion.AuthenticatorData, c.Assertion.ClientDataJson}
		}
	}
	return a
}

// check returns what the key that is named has signed.
func (a answer) check() (*loomv1.CeoCommand, error) {
	cmd := &loomv1.CeoCommand{}
	if err := wholly(a.Command, cmd); err != nil {
		return nil, fault.New("command/malformed", "what was signed cannot be read: %s", err)
	}
	p := a.Passkey
	if p == nil {
		return cmd, signedBy(a.PublicKey, keyring.SignedBytes(a.Command), a.Signature)
	}
	k := &loomv1.SigningKey{Name: a.Key, PublicKey: p.PublicKey, Passkey: &loomv1.Passkey{RelyingParty: p.RelyingParty, Origin: p.Origin}}
	if ceokey.ID(k) != a.PublicKey {
		return nil, fault.New("approval/signature", "the passkey is another than the one that is named").Got(a.PublicKey)
	}
	return cmd, keyring.Check(k, &loomv1.SignedCommand{
		Payload: a.Command, Signature: a.Signature, Assertion: &loomv1.Assertion{AuthenticatorData: p.AuthenticatorData, ClientDataJson: p.ClientDataJSON},
	})
}

// Checked is what an export proves, and apart from that what it says besides.
type Checked struct {
	Approval string `json:"approval"`
	Question string `json:"question"`
	Decision string `json:"decision"`
	Comment  string `json:"comment,omitempty"`
	Choice   string `json:"choice,omitempty"`
	Digest   string `json:"digest"`
	Commit   string `json:"commit,omitempty"`
	// SignedBy is the key that answered, AlsoSignedBy the other keys where it took
	// several, and SignedAt when, by the clock of whoever signed.
	SignedBy     string    `json:"signed_by"`
	AlsoSignedBy []string  `json:"also_signed_by,omitempty"`
	SignedAt     time.Time `json:"signed_at"`
	// Envelope is what no answer's signature covers: the key that signed the envelope
	// has said it, which is anybody's.
	Envelope Enveloped `json:"envelope"`
}

// Enveloped is what stands in an envelope beside what was signed as the answer.
type Enveloped struct {
	// SignedBy is the key that signed the envelope.
	SignedBy string `json:"signed_by"`
	// Key is the name that the deployment had for the key that answered, DecidedAt when
	// the answer was taken, AskedAt when it was asked, and Position where the answer
	// stands in the journals.
	Key       string    `json:"key"`
	AskedAt   time.Time `json:"asked_at"`
	DecidedAt time.Time `json:"decided_at"`
	Position  string    `json:"position,omitempty"`
}

// Export returns an answered approval as an in-toto statement in a DSSE envelope that
// key signs. It reads the journals to their end, and refuses what [Check] would.
func (s *Store) Export(ctx context.Context, approval string, key *ceokey.Key) (*Envelope, error) {
	var p predicate
	var shown *loomv1.Approval
	var keys []*loomv1.SigningKey
	var last *loomv1.SignedCommand
	others := map[string]*loomv1.SignedCommand{}
	for part := range s.Manifest.Partitions {
		base, err := s.base(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, b := range base.GetProjects() {
			keys = append(keys, b.State.GetKeyring().GetKeys()...)
			if a := b.State.GetApprovals()[approval]; a != nil { // it was asked before the cut
				shown, p.Project, p.AskedAt = a, b.Project, a.AskedAt.AsTime()
			}
		}
		_, err = s.walk(ctx, part, func(seq uint64, b *loomv1.Batch) error {
			for i, e := range b.Events {
				if a := e.GetApprovalRequested().GetApproval(); a.GetId() == approval {
					shown, p.Project, p.AskedAt = a, e.Project, e.Time.AsTime()
				}
				if k := e.GetKeyEnrolled().GetKey(); k != nil {
					keys = append(keys, k)
				}
				if d := e.GetApprovalSigned(); d.GetApproval() == approval {
					others[e.Actor.GetName()] = d.Signed
				}
				if r := e.GetKeyRevoked(); r != nil && e.Project == project.Of(approval) && last == nil {
					delete(others, r.Name) // what it has signed counted no more
				}
				if d := e.GetApprovalDecided(); d.GetApproval() == approval {
					last, p.Key = d.Signed, e.Actor.GetName()
					at := &loomv1.Position{Partition: b.Partition, Epoch: b.Epoch, Sequence: seq, Index: uint32(i)}
					p.Position = notice.FormatCursor(&loomv1.Cursor{Positions: []*loomv1.Position{at}})
					p.Decision, p.Comment, p.Choice, p.DecidedAt = project.Word(d.Decision), d.Comment, d.Choice, e.Time.AsTime()
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
	case last == nil:
		return nil, fault.New("approval/signature", "approval %q was answered by operator %q, and no key has signed that", approval, p.Key)
	}
	p.answer = answerOf(last, p.Key, keys)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if name == p.Key || !sameAnswer(others[name], last) {
			continue
		}
		p.Others = append(p.Others, answerOf(others[name], name, keys))
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
	if err := strictly(e.Payload, &s); err != nil || s.Type != statementType || s.PredicateType != predicateType {
		return nil, fault.New("command/malformed", "not a statement about an approval").Because(err).Want("%s", predicateType)
	}
	p, shown := s.Predicate, &loomv1.Approval{}
	if err := wholly(p.Shown, shown); err != nil {
		return nil, fault.New("command/malformed", "what was shown cannot be read: %s", err)
	}
	cmd, err := p.check()
	if err != nil {
		return nil, fault.From(err).At("command")
	}
	also, err := p.others(cmd, int(shown.Keys))
	if err != nil {
		return nil, fault.From(err).At("others")
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
		Approval: p.Approval, Question: p.Question, Decision: p.Decision, Comment: p.Comment, Choice: p.Choice,
		Digest: digest, Commit: shown.Change.GetCommit(), SignedBy: p.PublicKey, AlsoSignedBy: also, SignedAt: cmd.IssuedAt.AsTime(),
		Envelope: Enveloped{SignedBy: sig.KeyID, Key: p.Key, AskedAt: p.AskedAt, DecidedAt: p.DecidedAt, Position: p.Position},
	}, nil
}

// wholly reads a message that has known fields alone: the digest covers no others, and
// whoever reads the file elsewhere could take them for covered.
func wholly(data []byte, m proto.Message) error {
	known := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(data, m); err != nil {
		return err
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, known); err != nil {
		return err
	}
	if !proto.Equal(m, known) {
		return fmt.Errorf("%s has fields that this build does not know", m.ProtoReflect().Descriptor().Name())
	}
	return nil
}

// others returns the other keys that have signed the same, which are as many as the
// approval takes.
func (p predicate) others(cmd *loomv1.CeoCommand, keys int) ([]string, error) {
	also := []string{p.PublicKey}
	for _, o := range p.Others {
		c, err := o.check()
		if err != nil {
			return nil, err
		}
		if answerWords(c) != answerWords(cmd) || slices.Contains(also, o.PublicKey) {
			return nil, fault.New("approval/digest", "%s has signed another answer, or twice", o.PublicKey)
		}
		also = append(also, o.PublicKey)
	}
	if project.GoesOn(cmd.GetDecide().GetDecision()) && len(also) < keys {
		return nil, fault.New("key/missing", "it takes the signatures of %d keys, and has %d", keys, len(also))
	}
	return also[1:], nil
}

// answerWords says what a command answers, but for the comment.
func answerWords(c *loomv1.CeoCommand) string {
	v := c.GetDecide()
	return fmt.Sprintf("%q %q %q %q %v %q", c.GetDeployment(), c.GetProject(), v.GetApproval(), v.GetDigest(), v.GetDecision(), v.GetChoice())
}

func sameAnswer(a, b *loomv1.SignedCommand) bool {
	x, y := &loomv1.CeoCommand{}, &loomv1.CeoCommand{}
	return proto.Unmarshal(a.GetPayload(), x) == nil && proto.Unmarshal(b.GetPayload(), y) == nil && answerWords(x) == answerWords(y)
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

// strictly reads JSON that has the fields of a value and no others: nobody has signed what
// stands beside them.
func strictly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind it")
	}
	return nil
}

// ParseEnvelope reads an envelope; its bytes may be in either base64 of DSSE.
func ParseEnvelope(data []byte) (*Envelope, error) {
	var raw struct {
		PayloadType, Payload string
		Signatures           []struct{ KeyID, Sig string }
	}
	if err := strictly(data, &raw); err != nil {
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
