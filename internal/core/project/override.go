package project

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxReason is the longest reason of a command of the CEO, in bytes.
const MaxReason = MaxComment

// maxSigned bounds a signed command, which its events repeat.
const maxSigned = 256 << 10

// order is a signed command in words: what is asked for, about what, and why.
type order struct{ verb, about, reason string }

func orderOf(cmd *loomv1.CeoCommand) order {
	switch v := cmd.GetVerb().(type) {
	case *loomv1.CeoCommand_Decide:
		return order{"decide", v.Decide.GetApproval(), v.Decide.GetComment()}
	case *loomv1.CeoCommand_Move:
		return order{"move", v.Move.GetExecution(), v.Move.GetReason()}
	case *loomv1.CeoCommand_Close:
		return order{"close", v.Close.GetExecution(), v.Close.GetReason()}
	case *loomv1.CeoCommand_Recheck:
		return order{"recheck", v.Recheck.GetExecution(), v.Recheck.GetReason()}
	case *loomv1.CeoCommand_Pause:
		return order{"pause", v.Pause.GetName(), v.Pause.GetReason()}
	case *loomv1.CeoCommand_Resume:
		return order{"resume", v.Resume.GetName(), v.Resume.GetReason()}
	case *loomv1.CeoCommand_Define:
		return order{"define", v.Define.GetDefinition().GetName(), v.Define.GetReason()}
	case *loomv1.CeoCommand_Release:
		return order{"release", fmt.Sprintf("commit lock, token %d", v.Release.GetToken()), v.Release.GetReason()}
	}
	if o, ok := allowance(cmd); ok {
		return o
	}
	if v := cmd.GetEnrolKey(); v != nil {
		return order{"enrol-key", v.GetKey().GetName(), v.GetReason()}
	}
	if v := cmd.GetRevokeKey(); v != nil {
		return order{"revoke-key", v.GetName(), v.GetReason()}
	}
	if v := cmd.GetSeal(); v != nil {
		return order{"seal", v.GetSession(), v.GetReason()}
	}
	if v := cmd.GetAbandon(); v != nil {
		return order{"abandon", v.GetId(), v.GetReason()}
	}
	return order{}
}

// signed checks a CEO's command and carries it out. What is refused is
// recorded, with who presented it.
//
// What is the CEO's own is answered once and for all. Where it is refused for
// what it asks, its nonce is used up, and whoever presents it again is refused
// as before, with nothing recorded: what she was told will not happen must not
// happen later because somebody kept it. What is refused for who presents it, or
// when, uses nothing up: else others could spoil what is hers.
func (d *decision) signed(c *loomv1.SignedCommand) error {
	cmd, err := d.verify(c)
	if err != nil {
		return d.refuse(orderOf(cmd), err, "")
	}
	key := spent(c, cmd.Nonce)
	if was := d.s.p.Refused[key]; was != nil {
		return fault.FromProto(was)
	}
	if !usable(cmd.Nonce) || d.s.p.Nonces[cmd.Nonce] {
		key = ""
	}
	d.actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: d.signer.Name} // what the command says of its key is not signed
	if v := cmd.GetDecide(); v != nil {
		err = d.decideApproval(c, v)
	} else {
		err = d.override(c, cmd)
	}
	if err != nil && d.broken == nil && len(d.events) == 0 {
		return d.refuse(orderOf(cmd), err, key)
	}
	return err
}

// usable says whether a nonce can be remembered.
func usable(nonce string) bool { return nonce != "" && len(nonce) <= MaxKey }

// override carries out a command that is no answer to an approval. That it was
// given is recorded before what it does, once it is sure that it will be done.
func (d *decision) override(c *loomv1.SignedCommand, cmd *loomv1.CeoCommand) error {
	o := orderOf(cmd)
	if o.verb == "" {
		return fault.New("command/malformed", "the signed command asks for nothing that this release knows")
	}
	if done, err := d.usedBefore(c, cmd.Nonce); done || err != nil {
		return err
	}
	if err := checkReason(o.reason); err != nil {
		return err
	}
	d.preface = &loomv1.Event{Fact: &loomv1.Event_OverrideGiven{OverrideGiven: &loomv1.OverrideGiven{
		Verb: o.verb, About: o.about, Reason: o.reason, Signed: c,
	}}}
	err := d.carryOut(c, cmd)
	if err == nil {
		err = d.emitPreface() // it changed nothing, and was given all the same
	}
	d.preface = nil
	return err
}

func (d *decision) carryOut(c *loomv1.SignedCommand, cmd *loomv1.CeoCommand) error {
	switch v := cmd.Verb.(type) {
	case *loomv1.CeoCommand_Move:
		return d.move(v.Move)
	case *loomv1.CeoCommand_Close:
		return d.close(v.Close)
	case *loomv1.CeoCommand_Recheck:
		return d.recheck(v.Recheck)
	case *loomv1.CeoCommand_Pause:
		return d.pause(v.Pause)
	case *loomv1.CeoCommand_Resume:
		return d.resume(v.Resume)
	case *loomv1.CeoCommand_Define:
		return d.define(v.Define)
	case *loomv1.CeoCommand_EnrolKey, *loomv1.CeoCommand_RevokeKey:
		return d.changeKeys(c, cmd)
	case *loomv1.CeoCommand_Permit:
		return d.setPermission(v.Permit)
	case *loomv1.CeoCommand_Revoke:
		return d.revokePermission(v.Revoke)
	case *loomv1.CeoCommand_Trust:
		return d.trustTools(v.Trust)
	case *loomv1.CeoCommand_Distrust:
		return d.distrustTools(v.Distrust)
	case *loomv1.CeoCommand_Abandon:
		return d.giveUp(v.Abandon)
	case *loomv1.CeoCommand_Seal:
		return d.sealSession(v.Seal)
	case *loomv1.CeoCommand_Release:
		return d.lock(d.s.locks.Release(d.now, d.repository(), v.Release.GetToken()))
	}
	return fault.New("command/malformed", "the signed command asks for nothing that this release knows")
}

// emitPreface emits what comes before the facts of a command, if that has not
// been done.
func (d *decision) emitPreface() error {
	p := d.preface
	if p == nil {
		return nil
	}
	d.preface = nil
	return d.emit(p)
}

// usedBefore says whether this very command was carried out before. A nonce
// that another command has used is refused.
func (d *decision) usedBefore(c *loomv1.SignedCommand, nonce string) (bool, error) {
	switch {
	case !usable(nonce):
		return false, fault.New("override/invalid", "the signed command has a nonce of %d bytes", len(nonce)).At("nonce").Want("1 to %d bytes, never used before", MaxKey)
	case d.s.p.Nonces[spent(c, nonce)]:
		return true, nil
	case d.s.p.Nonces[nonce]:
		return false, fault.New("approval/replayed", "the nonce of the signed command was used for another one").At("nonce")
	}
	return false, nil
}

// spent is the key that remembers what a nonce was used for.
func spent(c *loomv1.SignedCommand, nonce string) string {
	return nonce + ":" + hexHash(string(c.GetPayload()))
}

func checkReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return fault.New("override/invalid", "a command of the CEO gives no reason").At("reason").Want("say why, for the record")
	case len(reason) > MaxReason:
		return fault.New("submit/too-large", "reason has %d bytes, the most is %d", len(reason), MaxReason).At("reason")
	}
	return nil
}

// refuse records that a command was not accepted, and what it used up, and
// returns why.
func (d *decision) refuse(o order, why error, used string) error {
	e := &loomv1.Event{Fact: &loomv1.Event_CommandRefused{CommandRefused: &loomv1.CommandRefused{
		Verb: o.verb, About: cut(o.about, MaxKey), Error: bounded(fault.From(why).Proto()), Spent: used,
	}}}
	if a := d.s.approval(o.about); a != nil && o.verb == "decide" {
		e.Bead, e.Execution, e.Node = a.Bead, a.Execution, a.Node
		e.Fact = &loomv1.Event_ApprovalRefused{ApprovalRefused: &loomv1.ApprovalRefused{Approval: a.Id, Error: bounded(fault.From(why).Proto()), Spent: used}}
	} else if x := d.s.execution(o.about); x != nil {
		e.Bead, e.Execution = x.Bead, x.Id
	}
	if err := d.emit(e); err != nil {
		return err
	}
	d.refusalRecorded = true
	return why
}

// bounded returns a refusal as it is recorded: anybody can cause one, and what
// they wrote must not fill the journal.
func bounded(e *loomv1.Error) *loomv1.Error {
	b := &loomv1.Error{
		Code: e.Code, Message: cut(plain(e.Message), 500), Where: cut(plain(e.Where), 200),
		Value: cut(plain(e.Value), 80), Hint: cut(plain(e.Hint), 200),
	}
	for _, m := range e.More[:min(len(e.More), 5)] {
		b.More = append(b.More, &loomv1.Error{Code: m.Code, Message: cut(plain(m.Message), 200), Where: cut(plain(m.Where), 100)})
	}
	return b
}

func plain(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }

// use notes that a signed command was carried out.
func (s *State) use(c *loomv1.SignedCommand) {
	if n := nonceOf(c); n != "" {
		s.p.Nonces[n] = true
		s.p.Nonces[spent(c, n)] = true
	}
}

// refused notes what a signed command that was refused used up.
func (s *State) refused(spent string, why *loomv1.Error) {
	if i := strings.LastIndexByte(spent, ':'); i > 0 {
		s.p.Refused[spent], s.p.Nonces[spent[:i]] = why, true
	}
}

func nonceOf(c *loomv1.SignedCommand) string {
	cmd := &loomv1.CeoCommand{}
	if c == nil || proto.Unmarshal(c.Payload, cmd) != nil {
		return ""
	}
	return cmd.Nonce
}

// known returns an execution that a command names.
func (d *decision) known(id string) (*loomv1.Execution, error) {
	x := d.s.execution(id)
	if x == nil {
		return nil, fault.New("execution/unknown", "execution is not known in project %q", d.s.cfg.ID).At("execution").Got(id)
	}
	return x, nil
}

// runningOne returns the running execution that an order is about.
func (d *decision) runningOne(id string) (*loomv1.Execution, error) {
	x, err := d.known(id)
	switch {
	case err != nil:
		return nil, err
	case x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING:
		return nil, fault.New("override/ended", "execution %q is %s since %s", x.Id, Word(x.Status), asTime(x.EndedAt).Format("2006-01-02T15:04:05Z")).At("execution")
	}
	return x, nil
}

// move goes on at a node of the CEO's choice.
func (d *decision) move(c *loomv1.MoveExecution) error {
	x, err := d.runningOne(c.GetExecution())
	if err != nil {
		return err
	}
	if def := d.s.defs[x.DefinitionHash]; def.Node(c.Node) == nil {
		return fault.New("workflow/node", "workflow %q has no such node", x.Definition).At("node").Got(c.Node).Want("%s", suggest.Among(c.Node, nodesOf(def)))
	}
	if d.s.sessionOf(x) != nil {
		return fault.New("intent/phase", "execution %q does the steps of session %s, which says where it goes on", x.Id, d.s.bead(x.Bead).Session).At("execution").
			Want("loom pattern proceed %s --step N", d.s.bead(x.Bead).Session)
	}
	defer d.about(x)()
	return d.run(x).Move(c.Node, c.Reason)
}
