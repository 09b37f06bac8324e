package project_test

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/permission"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// respond has somebody answer without a key.
func (d *desk) respond(kind loomv1.IdentityKind, who string, v *loomv1.DecideApproval) error {
	d.t.Helper()
	_, err := d.do(&loomv1.Command{Actor: &loomv1.Identity{Kind: kind, Name: who}, Body: &loomv1.Command_AnswerApproval{AnswerApproval: v}})
	return err
}

// leave has the project leave something to operators.
func (d *desk) leave(what ...string) error {
	d.t.Helper()
	_, err := d.do(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", OperatorsAnswer: what},
	}}})
	return err
}

// asking is a desk where an agent waits for an answer: about a call, or to a question.
func asking(t *testing.T, question bool) *desk {
	if question {
		d, _ := newTeam(t, nil)
		b, who := d.claim("lead")
		must(d.team(b, who, asksUser(1, "blue or green?")))
		return d
	}
	d := newDesk(t)
	d.report()
	b, who := d.claim("qa-engineer")
	d.calls(b, who, shellCall(1, "make"))
	if err := d.permit(&loomv1.Permission{Verdict: permission.Ask, Tool: "shell"}, "let me see"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ask(b, who, shellCall(1, "make")); err != nil {
		t.Fatal(err)
	}
	return d
}

const (
	anOperator = loomv1.IdentityKind_IDENTITY_KIND_OPERATOR
	always     = loomv1.ApprovalDecision_APPROVAL_DECISION_ALWAYS
)

// TestSIGN03_OperatorsAnswerWhatTheProjectLeavesToThem goes through who answers what,
// under which policy, without the CEO's signature.
func TestSIGN03_OperatorsAnswerWhatTheProjectLeavesToThem(t *testing.T) {
	longtest.Skip(t)
	const signature = "answer/signature"
	for _, tt := range []struct {
		name     string
		question bool
		leaves   []string
		who      loomv1.IdentityKind
		answer   loomv1.ApprovalDecision
		code     string
	}{
		{"a question", true, nil, anOperator, approve, ""},
		{"a question, with no", true, nil, anOperator, reject, ""},
		{"one call", false, nil, anOperator, approve, ""},
		{"one call, with no", false, nil, anOperator, reject, ""},
		{"a call for good", false, nil, anOperator, always, signature},
		{"a question where only those are left", true, []string{"questions"}, anOperator, approve, ""},
		{"a call where only questions are left", false, []string{"questions"}, anOperator, approve, signature},
		{"a question where only calls are left", true, []string{"permissions"}, anOperator, approve, signature},
		{"a question where nothing is", true, []string{"none"}, anOperator, approve, signature},
		{"a call where nothing is", false, []string{"none"}, anOperator, reject, signature},
		{"an observer", true, nil, loomv1.IdentityKind_IDENTITY_KIND_OBSERVER, approve, signature},
		{"a publisher", true, nil, loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, approve, signature},
		{"an agent", true, nil, loomv1.IdentityKind_IDENTITY_KIND_AGENT, approve, signature},
		{"the CEO's way in", true, nil, ceo, approve, signature},
	} {
		d := asking(t, tt.question)
		if err := d.leave(tt.leaves...); err != nil {
			t.Fatal(err)
		}
		q := d.inbox()
		v := &loomv1.DecideApproval{Approval: q.Id, Digest: q.Digest, Decision: tt.answer, Comment: "so be it"}
		n := len(d.events)
		if err := d.respond(tt.who, "ann", v); fault.Code(err) != tt.code {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.code)
		}
		if tt.code != "" {
			if len(d.since(n)) > 0 || d.inbox().Id != q.Id {
				t.Errorf("%s: a refusal left %v", tt.name, d.since(n))
			}
			continue
		}
		audit := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{d.cfg.CEO}}
		for _, e := range d.events {
			if act := audit.Look(e); act != nil && act.Err != nil {
				t.Errorf("%s: the audit of %s: %v", tt.name, act.Kind, act.Err)
			}
		}
		// One place has it answered for all: the CEO is told by whom, and with what.
		if err := d.answer(q, approve); fault.Code(err) != "approval/decided" || !strings.Contains(err.Error(), project.Word(tt.answer)+" by ann") {
			t.Errorf("%s: a second answer: %v", tt.name, err)
		}
		if err := d.respond(tt.who, "ann", v); err != nil {
			t.Errorf("%s: the same again: %v", tt.name, err)
		}
		if err := d.respond(tt.who, "bob", v); fault.Code(err) != "approval/decided" {
			t.Errorf("%s: the same by another: %v", tt.name, err)
		}
	}
}

// TestSIGN03_ApprovalsTakeTheCEOsSignature whatever the project leaves to operators.
func TestSIGN03_ApprovalsTakeTheCEOsSignature(t *testing.T) {
	d := newDesk(t)
	d.toApproval("p1")
	a := d.inbox()
	for _, v := range a.Options {
		if err := d.respond(anOperator, "ann", &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: v}); fault.Code(err) != "answer/signature" {
			t.Errorf("%s without a signature: %v", v, err)
		}
	}
	forged := proto.CloneOf(d.events[len(d.events)-1])
	forged.Actor = &loomv1.Identity{Kind: anOperator, Name: "ann"}
	forged.Fact = &loomv1.Event_ApprovalDecided{ApprovalDecided: &loomv1.ApprovalDecided{Approval: a.Id, Decision: approve, Digest: a.Digest}}
	audit := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{d.cfg.CEO}}
	if act := audit.Look(forged); fault.Code(act.Err) != "approval/signature" {
		t.Errorf("an approval by an operator in the journal: %v", act.Err)
	}
	for _, what := range [][]string{{"everything"}, {"questions", "none"}, {"questions", "approvals"}} {
		if err := d.leave(what...); fault.Code(err) != "project/invalid" {
			t.Errorf("left to operators %v: %v", what, err)
		}
	}
}
