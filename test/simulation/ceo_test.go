package simulation

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/keyring"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ceo answers approvals, and so do others who may not.
type ceo struct {
	screen  *loomv1.Approval // what was read a while ago
	digest  string           // of an approval that was seen before
	nonces  int
	clicked []*loomv1.SignedCommand
	signed  map[string]string     // payloads with signatures that are hers, and the key
	taken   map[string]bool       // signatures of orders that were carried out
	refused *loomv1.SignedCommand // the last order that was refused for what it asks
	asked   map[string]int        // escalations by node, while all is calm
}

const (
	approve        = loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	reject         = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
	requestChanges = loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES
)

// ask has the CEO look at her inbox, and answer something or not.
func (w *world) ask() {
	a := w.ceo.screen
	if a == nil {
		if len(w.oracle.inbox) == 0 {
			return
		}
		a = w.oracle.inbox[w.rng.IntN(len(w.oracle.inbox))].Approval
		if w.chance(ceoIsSlow) {
			w.ceo.screen = a
			return
		}
	}
	if w.ceo.screen != nil && !w.calm && !w.one(4) {
		return // still thinking
	}
	w.ceo.screen = nil
	w.decide(a)
	w.ceo.digest = a.Digest
}

func (w *world) decide(a *loomv1.Approval) {
	if w.chance(ceoIsForged) {
		w.forge(a)
		return
	}
	if w.calm && a.Keys > 1 && len(w.oracle.keys.live) < 2 {
		w.changeKeys()
		return
	}
	d := w.opinion(a)
	digest := a.Digest
	if w.ceo.digest != "" && w.ceo.digest != digest && w.chance(ceoReadsOld) {
		digest = w.ceo.digest
	}
	nonce := w.nonce()
	if w.chance(ceoContradicts) { // what was used for another approval
		nonce = fmt.Sprintf("n%d", 1+w.rng.IntN(w.ceo.nonces))
	}
	var c *loomv1.SignedCommand
	for i, key := range w.signers(a, d) {
		if i > 0 {
			nonce = w.nonce()
		}
		cmd := w.command(a, digest, d, nonce)
		cmd.GetDecide().Comment += strings.Repeat(", again", i)
		c = w.sign(key, cmd)
		w.present(c, loomv1.IdentityKind_IDENTITY_KIND_CEO, 0)
	}
	if w.chance(ceoClicksTwice) {
		w.see("double click")
		w.present(c, loomv1.IdentityKind_IDENTITY_KIND_CEO, 0)
	}
	if w.chance(ceoContradicts) {
		w.contradict(a, d)
	}
}

// opinion draws an answer. Without faults it is approval, until the same node
// has been asked about too often.
func (w *world) opinion(a *loomv1.Approval) loomv1.ApprovalDecision {
	if w.calm {
		if w.ceo.asked == nil {
			w.ceo.asked = map[string]int{}
		}
		key := a.Execution + "/" + a.Node
		w.ceo.asked[key]++
		switch n := w.ceo.asked[key]; {
		case n > 6:
			return reject
		case n == 2 && slices.Contains(a.Options, loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY):
			return loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY
		case n > 2 && slices.Contains(a.Options, requestChanges):
			return requestChanges
		}
		return approve
	}
	d := a.Options[w.rng.IntN(len(a.Options))]
	if d == reject && !w.one(3) || w.one(2) {
		return approve
	}
	return d
}

func (w *world) contradict(a *loomv1.Approval, d loomv1.ApprovalDecision) {
	other := approve
	if d == approve {
		other = reject
	}
	nonce := w.nonce()
	if w.one(2) { // a copy of what was signed, with another answer
		nonce = fmt.Sprintf("n%d", w.ceo.nonces-1)
	}
	w.present(w.sign(w.signer(), w.command(a, a.Digest, other, nonce)), loomv1.IdentityKind_IDENTITY_KIND_CEO, 0)
}

func (w *world) nonce() string {
	w.ceo.nonces++
	return fmt.Sprintf("n%d", w.ceo.nonces)
}

// complete gives a command all but its verb.
func (w *world) complete(cmd *loomv1.CeoCommand, nonce string) {
	cmd.Deployment, cmd.Project, cmd.Nonce = deployment, shop, nonce
	cmd.IssuedAt, cmd.NotAfter = timestamppb.New(w.now), timestamppb.New(w.now.Add(time.Minute))
}

func (w *world) command(a *loomv1.Approval, digest string, d loomv1.ApprovalDecision, nonce string) *loomv1.CeoCommand {
	cmd := &loomv1.CeoCommand{
		Verb: &loomv1.CeoCommand_Decide{Decide: &loomv1.DecideApproval{Approval: a.Id, Digest: digest, Decision: d, Comment: "the CEO says so"}},
	}
	if len(a.Choices) > 0 && d == approve {
		cmd.GetDecide().Choice = a.Choices[0].Id
	}
	w.complete(cmd, nonce)
	return cmd
}

func (w *world) sign(key ed25519.PrivateKey, cmd *loomv1.CeoCommand) *loomv1.SignedCommand {
	payload, err := proto.Marshal(cmd)
	if err != nil {
		panic(err)
	}
	c := &loomv1.SignedCommand{Payload: payload, PublicKey: "U", Signature: ed25519.Sign(key, keyring.SignedBytes(payload))}
	for i, of := range pairs {
		if key.Equal(of) {
			w.ceo.signed[string(c.Payload)+string(c.Signature)] = keyName(i)
			break
		}
	}
	return c
}

// present hands a signed command in, again and again until it is answered.
func (w *world) present(c *loomv1.SignedCommand, as loomv1.IdentityKind, tries int) {
	w.keeper.send(&loomv1.Command{Body: &loomv1.Command_Signed{Signed: c}}, identity(as, "ceo"), func(a *loomv1.Answer) {
		switch c2 := code(a); {
		case c2 == "lost" && tries < 3:
			w.present(c, as, tries+1)
		case c2 != "":
			w.see("approval refused: " + c2)
		case as != loomv1.IdentityKind_IDENTITY_KIND_CEO && c2 == "":
			w.broken(11, "%s presents what the CEO signed, and is heard", as)
		default:
			w.ceo.clicked = append(w.ceo.clicked, c)
		}
	})
}

// forge tries to approve without being the CEO, or with what she signed for
// something else.
func (w *world) forge(a *loomv1.Approval) {
	cmd := w.command(a, a.Digest, approve, fmt.Sprintf("forged-%d", w.steps))
	as := loomv1.IdentityKind_IDENTITY_KIND_CEO
	var c *loomv1.SignedCommand
	switch w.rng.IntN(6) {
	case 0:
		c = w.sign(forger, cmd)
	case 1:
		c, as = w.sign(ceoKey, cmd), loomv1.IdentityKind_IDENTITY_KIND_AGENT
	case 2:
		cmd.Deployment = "another"
		c = w.sign(ceoKey, cmd)
	case 3:
		cmd.NotAfter = timestamppb.New(w.now)
		c = w.sign(ceoKey, cmd)
	case 4:
		c = w.sign(ceoKey, cmd)
		c.Payload = append(slices.Clone(c.Payload[:len(c.Payload)-1]), c.Payload[len(c.Payload)-1]^1)
	default:
		if len(w.ceo.clicked) == 0 {
			return
		}
		c = w.ceo.clicked[w.rng.IntN(len(w.ceo.clicked))] // what she signed for another
	}
	w.present(c, as, 0)
}
