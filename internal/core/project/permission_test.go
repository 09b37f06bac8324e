package project_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/permission"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// permit gives a permission in the CEO's name.
func (d *desk) permit(p *loomv1.Permission, reason string) error {
	d.t.Helper()
	return d.say(func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Permit{Permit: &loomv1.SetPermission{Permission: p, Reason: reason}}
	})
}

// say presents an order in the CEO's name.
func (d *desk) say(edit func(*loomv1.CeoCommand)) error {
	d.t.Helper()
	return d.present(ceo, d.order(edit))
}

// calls records an answer of the model that makes calls, and returns them.
func (d *desk) calls(b *loomv1.Brief, who *loomv1.Claimant, calls ...*loomv1.ToolCall) {
	d.t.Helper()
	d.ok(recordOf(b, who, turn.StartedFact(&loomv1.TurnStarted{Model: "scripted:test"})))
	d.ok(recordOf(b, who, turn.AnsweredFact(&loomv1.ModelAnswer{
		Model: "scripted:test", Request: "r1", Calls: calls, Usage: &loomv1.Usage{CostKnown: true},
	})))
}

func recordOf(b *loomv1.Brief, who *loomv1.Claimant, records ...*loomv1.Event) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: b.Attempt.Id, Claimant: who, Facts: records}}}
}

func intent(c *loomv1.ToolCall) *loomv1.Event {
	return turn.IntendedFact(&loomv1.ToolStep{Call: c, Class: loomv1.ToolClass_TOOL_CLASS_EXEC})
}

func finished(c *loomv1.ToolCall, status loomv1.ToolStatus) *loomv1.Event {
	return turn.FinishedFact(c.Id, &loomv1.ToolResult{Status: status})
}

// ask asks whether calls may be made.
func (d *desk) ask(b *loomv1.Brief, who *loomv1.Claimant, calls ...*loomv1.ToolCall) ([]*loomv1.Permit, error) {
	d.t.Helper()
	c := &loomv1.AskPermission{Attempt: b.Attempt.Id, Claimant: who}
	for _, call := range calls {
		c.Calls = append(c.Calls, &loomv1.PermissionRequest{Call: call})
	}
	answer, err := d.do(&loomv1.Command{Body: &loomv1.Command_AskPermission{AskPermission: c}})
	return answer.GetPermits().GetPermits(), err
}

func shellCall(n int, command string) *loomv1.ToolCall {
	return &loomv1.ToolCall{Id: fmt.Sprintf("c1-%d", n), Tool: "shell", Arguments: fmt.Sprintf("{\"command\":%q}", command)}
}

func verdicts(list []*loomv1.Permit) string {
	var words []string
	for _, p := range list {
		words = append(words, project.Word(p.Verdict))
	}
	return strings.Join(words, " ")
}

// TestAGENT04_AQuestionParksTheAttemptAndItsAnswerCounts follows a call from the
// question to what may be recorded of it.
func TestAGENT04_AQuestionParksTheAttemptAndItsAnswerCounts(t *testing.T) {
	for _, tt := range []struct {
		answer   loomv1.ApprovalDecision
		choice   string
		now      string // what holds for the two calls then
		standing int
		next     string // and for the same in the attempt after
	}{
		{loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, "", "allow allow", 1, "ask"},
		{loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, "", "deny allow", 1, "ask"},
		{loomv1.ApprovalDecision_APPROVAL_DECISION_ALWAYS, "", "allow allow", 2, "allow"},
		{loomv1.ApprovalDecision_APPROVAL_DECISION_ALWAYS, "mak*", "allow allow", 2, "allow"},
	} {
		t.Run("AGENT04 "+tt.answer.String()+tt.choice, func(t *testing.T) {
			d := newDesk(t)
			bead := d.report().Bead
			b, who := d.claim("qa-engineer")
			make1, test := shellCall(1, "make"), shellCall(2, "go test")
			d.calls(b, who, make1, test)
			if err := d.permit(&loomv1.Permission{Verdict: permission.Ask, Role: "qa-engineer", Tool: "shell", Pattern: "make"}, "builds cost"); err != nil {
				t.Fatal(err)
			}
			if _, err := d.do(recordOf(b, who, intent(make1))); fault.Code(err) != "permission/needed" {
				t.Fatalf("a call that must be asked for is recorded: %v", err)
			}
			if list, err := d.ask(b, who, make1, test); err != nil || verdicts(list) != "ask allow" {
				t.Fatalf("asked: %s, %v", verdicts(list), err)
			}
			if _, err := d.ask(b, who, make1, test); fault.Code(err) != "attempt/claimed" {
				t.Errorf("a parked attempt is still its agent's: %v", err)
			}
			if got := d.status(bead); got != "waiting" {
				t.Errorf("the bead is %s, want waiting", got)
			}
			d.now = d.now.Add(3 * time.Hour) // longer than the attempt may take
			d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
			q := d.inbox()
			if err := d.present(loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, d.sign(q, tt.answer, nil)); fault.Code(err) != "approval/identity" {
				t.Errorf("somebody else answers: %v", err)
			}
			if err := d.present(ceo, d.sign(q, tt.answer, func(c *loomv1.CeoCommand) {
				c.GetDecide().Choice, c.GetDecide().Comment = tt.choice, "so be it"
			})); err != nil {
				t.Fatal(err)
			}
			b, who = d.claim("qa-engineer")
			if b.Attempt.Number != 1 || len(b.Turn.Steps) != 1 || len(b.Permissions) != tt.standing || b.Comment != "" {
				t.Errorf("it goes on with attempt %d, %d steps, permissions %v, comment %q", b.Attempt.Number, len(b.Turn.Steps), b.Permissions, b.Comment)
			}
			if left := b.TimeLeft.AsDuration(); left <= 0 {
				t.Errorf("the CEO's time is the attempt's: %v left", left)
			}
			list, err := d.ask(b, who, make1, test)
			if err != nil || verdicts(list) != tt.now {
				t.Fatalf("then: %s, %v, want %s", verdicts(list), err, tt.now)
			}
			other := shellCall(1, "make")
			if denied := tt.answer == loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT; denied {
				if _, err := d.do(recordOf(b, who, intent(make1))); fault.Code(err) != "permission/needed" || !strings.Contains(list[0].Reason, "so be it") {
					t.Errorf("a call that was denied is recorded (%v); the model is told %q", err, list[0].Reason)
				}
				d.ok(recordOf(b, who, intent(make1), finished(make1, loomv1.ToolStatus_TOOL_STATUS_DENIED)))
			} else {
				d.ok(recordOf(b, who, intent(make1)))
				d.ok(recordOf(b, who, finished(make1, loomv1.ToolStatus_TOOL_STATUS_OK)))
			}
			d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: outcome(failed, nil)}}})
			d.now = d.now.Add(time.Hour)
			d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
			b, who = d.claim("qa-engineer")
			d.calls(b, who, other)
			if list, err := d.ask(b, who, other); err != nil || verdicts(list) != tt.next {
				t.Errorf("the attempt after: %s, %v, want %s", verdicts(list), err, tt.next)
			}
		})
	}
}

// TestAGENT04_AQuestionEndsWithItsAttempt closes the execution while a call of it
// is asked about.
func TestAGENT04_AQuestionEndsWithItsAttempt(t *testing.T) {
	d := newDesk(t)
	reply := d.report()
	if err := d.permit(&loomv1.Permission{Verdict: permission.Ask, Tool: "shell"}, "let me see"); err != nil {
		t.Fatal(err)
	}
	b, who := d.claim("qa-engineer")
	d.calls(b, who, shellCall(1, "make"), shellCall(2, "make all"))
	if _, err := d.ask(b, who, shellCall(1, "make"), shellCall(2, "make all")); err != nil {
		t.Fatal(err)
	}
	v, err := d.s.Look(project.Inbox, &loomv1.Query{})
	if err != nil || len(v.Approvals) != 2 {
		t.Fatalf("inbox: %v, %v", v, err)
	}
	// One answer is not yet enough to go on.
	if err := d.present(ceo, d.sign(v.Approvals[0], loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, nil)); err != nil || len(d.s.Queued()) != 0 {
		t.Errorf("after one of two answers: %v, queued %v", err, d.s.Queued())
	}
	if err := d.say(func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Close{Close: &loomv1.CloseExecution{Execution: reply.Execution, Reason: "no longer wanted"}}
	}); err != nil {
		t.Fatal(err)
	}
	if v, err := d.s.Look(project.Inbox, &loomv1.Query{}); err != nil || len(v.Approvals) != 0 {
		t.Errorf("inbox of an execution that ended: %v, %v", v, err)
	}
	err = d.present(ceo, d.sign(v.Approvals[1], loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, nil))
	if fault.Code(err) != "approval/lapsed" {
		t.Errorf("an answer that comes too late: %v", err)
	}
}

// TestAGENT04_PermissionsAreTheCEOsAndAreListed sets, replaces, lists and revokes.
func TestAGENT04_PermissionsAreTheCEOsAndAreListed(t *testing.T) {
	d := newDesk(t)
	deny := &loomv1.Permission{Verdict: permission.Deny, Role: "implementer", Pattern: "secrets/**"}
	for _, p := range []*loomv1.Permission{deny, {Verdict: permission.Allow, Tool: "web_fetch"}, deny} {
		if err := d.permit(p, "house rule"); err != nil {
			t.Fatal(err)
		}
	}
	list := func() []*loomv1.Permission {
		v, err := d.s.Look(project.Permitted, &loomv1.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return v.Permissions
	}
	if got := list(); len(got) != 2 || got[0].Id != "p2" || got[1].Id != "p3" || got[1].Reason != "house rule" || got[1].By.GetKind() != ceo || got[1].At == nil {
		t.Errorf("permissions %v", got)
	}
	if err := d.permit(&loomv1.Permission{Verdict: permission.Allow}, "everything"); fault.Code(err) != "permission/invalid" {
		t.Errorf("everything to everybody: %v", err)
	}
	if err := d.permit(deny, ""); fault.Code(err) != "override/invalid" {
		t.Errorf("without a reason: %v", err)
	}
	revoke := func(id string) error {
		return d.say(func(c *loomv1.CeoCommand) {
			c.Verb = &loomv1.CeoCommand_Revoke{Revoke: &loomv1.RevokePermission{Id: id, Reason: "not needed"}}
		})
	}
	if err := revoke("p1"); fault.Code(err) != "permission/unknown" {
		t.Errorf("what no longer holds is revoked: %v", err)
	}
	if err := revoke("p2"); err != nil || len(list()) != 1 {
		t.Errorf("revoke: %v, left %v", err, list())
	}
	err := d.present(loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, d.order(func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Revoke{Revoke: &loomv1.RevokePermission{Id: "p3", Reason: "mine"}}
	}))
	if fault.Code(err) != "approval/identity" || len(list()) != 1 {
		t.Errorf("an operator revokes: %v", err)
	}
}
