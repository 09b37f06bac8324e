package project_test

import (
	"crypto/ed25519"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// approved is the record of an approval that was signed properly.
func approved(key ed25519.PrivateKey, number uint64) *loomv1.Event {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	payload, err := proto.Marshal(&loomv1.CeoCommand{
		Deployment: "dp-1", Project: "shop", Nonce: fmt.Sprint("n", number), IssuedAt: timestamppb.New(at), NotAfter: timestamppb.New(at.Add(5 * time.Minute)),
		Verb: &loomv1.CeoCommand_Decide{Decide: &loomv1.DecideApproval{
			Approval: "shop-2", Digest: "d1", Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, Comment: "good",
		}},
	})
	if err != nil {
		panic(err)
	}
	return &loomv1.Event{
		Number: number, Project: "shop", Time: timestamppb.New(at.Add(time.Minute)),
		Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: &loomv1.ApprovalDecided{
			Approval: "shop-2", Digest: "d1", Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, Comment: "good",
			Signed: &loomv1.SignedCommand{Payload: payload, Signature: ed25519.Sign(key, keyring.SignedBytes(payload))},
		}},
	}
}

// TestP26_BYD11_EveryApprovalMustBeTheOneThatWasSigned alters the record of an
// approval in every way that matters.
func TestP26_BYD11_EveryApprovalMustBeTheOneThatWasSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, code string
		edit       func(*loomv1.Event)
	}{
		{"as it was", "", func(*loomv1.Event) {}},
		{"unsigned", "approval/signature", func(e *loomv1.Event) { e.GetApprovalDecided().Signed = nil }},
		{"signed by another", "approval/signature", func(e *loomv1.Event) { e.GetApprovalDecided().Signed = approved(other, 7).GetApprovalDecided().Signed }},
		{"altered payload", "approval/signature", func(e *loomv1.Event) { e.GetApprovalDecided().Signed.Payload[3] ^= 1 }},
		{"no command", "approval/signature", func(e *loomv1.Event) { e.GetApprovalDecided().Signed.Payload = []byte{0xff} }},
		{"another digest", "approval/digest", func(e *loomv1.Event) { e.GetApprovalDecided().Digest = "d2" }},
		{"another approval", "approval/digest", func(e *loomv1.Event) { e.GetApprovalDecided().Approval = "shop-3" }},
		{"the opposite", "approval/digest", func(e *loomv1.Event) {
			e.GetApprovalDecided().Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
		}},
		{"another comment", "approval/digest", func(e *loomv1.Event) { e.GetApprovalDecided().Comment = "bad" }},
		{"another project", "approval/identity", func(e *loomv1.Event) { e.Project = "store" }},
		{"too late", "approval/expired", func(e *loomv1.Event) { e.Time = timestamppb.New(e.Time.AsTime().Add(time.Hour)) }},
		{"too early", "approval/expired", func(e *loomv1.Event) { e.Time = timestamppb.New(e.Time.AsTime().Add(-time.Hour)) }},
	} {
		a := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{public}}
		e := approved(private, 7)
		tt.edit(e)
		act := a.Look(e)
		if act == nil || !act.Signed || act.Kind != "approval-decided" || act.Event != e || fault.Code(act.Err) != tt.code {
			t.Errorf("%s: %+v, want %q", tt.name, act, tt.code)
		}
	}
}

// TestP26_ANonceCountsOnce presents one signed command in two events.
func TestP26_ANonceCountsOnce(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{public}}
	for i, want := range []string{"", "approval/replayed"} {
		if act := a.Look(approved(private, 7)); fault.Code(act.Err) != want {
			t.Errorf("time %d: %v, want %q", i+1, act.Err, want)
		}
	}
	if act := a.Look(approved(private, 8)); act.Err != nil {
		t.Errorf("another nonce: %v", act.Err)
	}
}

// TestP26_WhatIsNoActIsLeftOut lists acts that nobody signs, and what is none.
func TestP26_WhatIsNoActIsLeftOut(t *testing.T) {
	operator := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR}
	filed := &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: &loomv1.Bead{Goal: "mend"}}}
	finished := func(s loomv1.ToolStatus) *loomv1.Event_ToolFinished {
		return &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{Tool: "shell", Result: &loomv1.ToolResult{Status: s}}}
	}
	for _, tt := range []struct {
		kind  string
		event *loomv1.Event
	}{
		{"bead-filed", &loomv1.Event{Bead: "shop-1", Actor: operator, Fact: filed}},
		{"", &loomv1.Event{Bead: "shop-1", Fact: filed}},
		{"tool-denied", &loomv1.Event{Fact: finished(loomv1.ToolStatus_TOOL_STATUS_DENIED)}},
		{"", &loomv1.Event{Fact: finished(loomv1.ToolStatus_TOOL_STATUS_OK)}},
		{"role-scaled", &loomv1.Event{Fact: &loomv1.Event_RoleScaled{RoleScaled: &loomv1.RoleScaled{}}}},
		{"host-drained", &loomv1.Event{Fact: &loomv1.Event_HostDrained{HostDrained: &loomv1.HostDrained{Undone: true}}}},
		{"members-changed", &loomv1.Event{Fact: &loomv1.Event_MembersChanged{MembersChanged: &loomv1.MembersChanged{}}}},
		{"approval-refused", &loomv1.Event{Fact: &loomv1.Event_ApprovalRefused{ApprovalRefused: &loomv1.ApprovalRefused{}}}},
		{"", &loomv1.Event{Fact: &loomv1.Event_WorkResumed{WorkResumed: &loomv1.WorkResumed{}}}},
		{"", &loomv1.Event{}},
	} {
		act := new(project.Auditor).Look(tt.event)
		if got := kindOf(act); got != tt.kind {
			t.Errorf("Look(%v): %q, want %q", tt.event, got, tt.kind)
		}
	}
}

func kindOf(a *project.Act) string {
	if a == nil {
		return ""
	}
	return a.Kind
}
