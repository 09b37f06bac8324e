package project

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/membership"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Act is what a person did, or what was permitted or refused, as the journal
// has it.
type Act struct {
	Event *loomv1.Event
	// Kind is a few words in kebab case, for example "approval-decided".
	Kind string
	// What it is about, why, and on which digest; empty where there is none.
	What, Why, Digest string
	// Signed says whether the CEO's signature belongs to it.
	Signed bool
	// Err is what is wrong with the signature, or nil.
	Err error
}

// Auditor finds the acts in journals and checks those that are signed. It needs
// all events of a project, in order; those of several projects may be mixed.
type Auditor struct {
	// Deployment is the one that commands must be signed for.
	Deployment string
	// Keys returns the public keys that may have signed.
	Keys []ed25519.PublicKey

	nonces map[string]uint64 // project and nonce to the number of the event
}

// Look returns the act that e records, or nil when it is none.
func (a *Auditor) Look(e *loomv1.Event) *Act {
	act := actOf(e)
	if act == nil {
		return nil
	}
	act.Event = e
	if act.Signed {
		act.Err = a.check(e)
	}
	return act
}

// actOf says what an event records; what it leaves open the caller fills in.
func actOf(e *loomv1.Event) *Act {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ApprovalRequested:
		p := f.ApprovalRequested.Approval
		return &Act{Kind: "approval-requested", What: p.GetId() + ": " + p.GetQuestion(), Why: p.GetReason(), Digest: p.GetDigest()}
	case *loomv1.Event_ApprovalDecided:
		d := f.ApprovalDecided
		return &Act{Kind: "approval-decided", What: d.Approval + ": " + verdict(d), Why: d.Comment, Digest: d.Digest, Signed: true}
	case *loomv1.Event_ApprovalLapsed:
		return &Act{Kind: "approval-lapsed", What: f.ApprovalLapsed.Approval, Why: f.ApprovalLapsed.Reason}
	case *loomv1.Event_ApprovalRefused:
		return &Act{Kind: "approval-refused", What: f.ApprovalRefused.Approval, Why: words(f.ApprovalRefused.Error)}
	case *loomv1.Event_CommandRefused:
		return &Act{Kind: "command-refused", What: strings.TrimSpace(f.CommandRefused.Verb + " " + f.CommandRefused.About), Why: words(f.CommandRefused.Error)}
	case *loomv1.Event_OverrideGiven:
		return &Act{Kind: "override-given", What: strings.TrimSpace(f.OverrideGiven.Verb + " " + f.OverrideGiven.About), Why: f.OverrideGiven.Reason, Signed: true}
	case *loomv1.Event_KeyRotated:
		return &Act{Kind: "key-rotated", What: fmt.Sprintf("%x in place of %x", f.KeyRotated.To, f.KeyRotated.From)}
	case *loomv1.Event_SecurityNoted:
		return &Act{Kind: "security-noted", What: f.SecurityNoted.What, Why: f.SecurityNoted.Detail}
	case *loomv1.Event_JournalCut:
		c := f.JournalCut
		return &Act{Kind: "journal-cut", What: fmt.Sprintf("journal %d up to %d", c.Partition, c.Sequence), Why: "archived in " + c.Archive, Digest: c.ArchiveSha256}
	case *loomv1.Event_RoleScaled:
		return &Act{Kind: "role-scaled", What: f.RoleScaled.GetScale().GetRole(), Why: f.RoleScaled.Reason}
	case *loomv1.Event_HostDrained:
		return &Act{Kind: "host-drained", What: draining(f.HostDrained), Why: f.HostDrained.Reason}
	case *loomv1.Event_MembersChanged:
		return &Act{Kind: "members-changed", What: membership.Words(f.MembersChanged), Why: f.MembersChanged.Reason}
	case *loomv1.Event_BeadFiled:
		return byPerson(e, "bead-filed", e.Bead+": "+f.BeadFiled.GetBead().GetGoal())
	case *loomv1.Event_BeadUpdated:
		return byPerson(e, "bead-updated", e.Bead)
	case *loomv1.Event_DefinitionStored:
		return byPerson(e, "definition-stored", f.DefinitionStored.GetDefinition().GetName())
	case *loomv1.Event_ToolFinished:
		return denied(e, f.ToolFinished)
	}
	return nil
}

func draining(d *loomv1.HostDrained) string {
	if d.Undone {
		return d.Host + " takes work again"
	}
	return d.Host + " takes no new work"
}

func verdict(d *loomv1.ApprovalDecided) string {
	if d.Choice != "" {
		return fmt.Sprintf("%s %s", d.Decision, d.Choice)
	}
	return d.Decision.String()
}

func words(e *loomv1.Error) string { return fmt.Sprintf("%s [%s]", e.GetMessage(), e.GetCode()) }

// byPerson returns an act of a person at the command line, or nil.
func byPerson(e *loomv1.Event, kind, what string) *Act {
	if e.Actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil
	}
	return &Act{Kind: kind, What: what}
}

// denied returns a tool call that the runtime refused, or nil.
func denied(e *loomv1.Event, f *loomv1.ToolFinished) *Act {
	if f.GetResult().GetStatus() != loomv1.ToolStatus_TOOL_STATUS_DENIED {
		return nil
	}
	return &Act{Kind: "tool-denied", What: f.Tool, Why: f.Result.Summary}
}

// check returns what is wrong with the signature of an act.
func (a *Auditor) check(e *loomv1.Event) error {
	signed := e.GetApprovalDecided().GetSigned()
	if o := e.GetOverrideGiven(); o != nil {
		signed = o.Signed
	}
	cmd, err := a.open(signed)
	if err != nil {
		return err
	}
	if cmd.Deployment != a.Deployment || cmd.Project != e.Project {
		return fault.New("approval/identity", "it was signed for project %q of deployment %q", cmd.Project, cmd.Deployment)
	}
	if at := wallTime(e); at.Add(clockSkew).Before(asTime(cmd.IssuedAt)) || !at.Before(asTime(cmd.NotAfter)) {
		return fault.New("approval/expired", "it was carried out outside the times that it was signed for")
	}
	if err := sameAs(e, cmd); err != nil {
		return err
	}
	return a.once(e, cmd.Nonce)
}

// open checks who signed, and returns what.
func (a *Auditor) open(c *loomv1.SignedCommand) (*loomv1.CeoCommand, error) {
	if c == nil {
		return nil, fault.New("approval/signature", "nobody signed it")
	}
	cmd := &loomv1.CeoCommand{}
	if err := proto.Unmarshal(c.Payload, cmd); err != nil {
		return nil, fault.New("approval/signature", "what was signed is no command")
	}
	if !slices.ContainsFunc(a.Keys, func(k ed25519.PublicKey) bool { return ed25519.Verify(k, SignedBytes(c.Payload), c.Signature) }) {
		return nil, fault.New("approval/signature", "the signature is not the CEO's")
	}
	return cmd, nil
}

// sameAs returns approval/digest unless the event says what was signed.
func sameAs(e *loomv1.Event, cmd *loomv1.CeoCommand) error {
	want, signed := "", ""
	if d := e.GetApprovalDecided(); d != nil {
		v := cmd.GetDecide()
		choice := v.GetChoice()
		if d.Choice == "" {
			choice = "" // it had none to make
		}
		want = fmt.Sprintf("%q %q %v %q %q", d.Approval, d.Digest, d.Decision, d.Comment, d.Choice)
		signed = fmt.Sprintf("%q %q %v %q %q", v.GetApproval(), v.GetDigest(), v.GetDecision(), v.GetComment(), choice)
	} else {
		o, s := e.GetOverrideGiven(), orderOf(cmd)
		want, signed = fmt.Sprintf("%q %q %q", o.Verb, o.About, o.Reason), fmt.Sprintf("%q %q %q", s.verb, s.about, s.reason)
	}
	if want != signed {
		return fault.New("approval/digest", "the record says %s, and %s was signed", want, signed)
	}
	return nil
}

// once returns approval/replayed when a nonce was used before.
func (a *Auditor) once(e *loomv1.Event, nonce string) error {
	if nonce == "" {
		return errors.New("it has no nonce")
	}
	if a.nonces == nil {
		a.nonces = map[string]uint64{}
	}
	key := e.Project + "\x00" + nonce
	if before, used := a.nonces[key]; used {
		return fault.New("approval/replayed", "its nonce was used before, by event %d", before)
	}
	a.nonces[key] = e.Number
	return nil
}
