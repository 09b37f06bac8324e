package project_test

import (
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// closesAfterStep closes at a step's boundary.
func closesAfterStep(execution, reason string) func(*loomv1.CeoCommand) {
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Close{Close: &loomv1.CloseExecution{Execution: execution, Reason: reason}}
	}
}

// Work that is closed goes on to the end of the step under way: its agent is told to
// stop when it wants to begin the next one, and all ends when it has given it back,
// also when its host was lost. What nobody is at ends with the order.
func TestWF09_CloseEndsAtAStepsBoundary(t *testing.T) {
	for name, leave := range map[string]func(*desk, *loomv1.Brief, *loomv1.Claimant){
		"given back": func(d *desk, b *loomv1.Brief, who *loomv1.Claimant) {
			d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "work is held"}}})
		},
		"answered": func(d *desk, b *loomv1.Brief, who *loomv1.Claimant) {
			d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: triaged()}}})
		},
		"host lost": func(d *desk, _ *loomv1.Brief, who *loomv1.Claimant) {
			d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: who.Host, Epoch: who.Epoch + 1}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			filed := d.report()
			b, who := d.claim("qa-engineer")
			d.give(closesAfterStep(filed.Execution, "no longer wanted"))
			x := d.execution(filed.Execution)
			if x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING || x.Closing.GetText() != "no longer wanted" {
				t.Fatalf("in the middle of a step it is %v, closing %v", x.Status, x.Closing)
			}
			n := len(d.events)
			d.give(closesAfterStep(filed.Execution, "again")) // changes nothing
			if facts := d.since(n); len(facts) != 1 || facts[0].GetOverrideGiven() == nil {
				t.Errorf("closing what is closing gave %v", facts)
			}
			if err := d.present(ceo, d.order(moves(filed.Execution, "investigate", "r"))); fault.Code(err) != "override/ended" {
				t.Errorf("moving what is closing: %v, want override/ended", err)
			}
			leave(d, b, who)
			x = d.execution(filed.Execution)
			if x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED || x.Reason != "no longer wanted" {
				t.Errorf("at the step's boundary it is %v (%s)", x.Status, x.Reason)
			}
			if q := d.s.Queued(); len(q) != 0 {
				t.Errorf("still queued: %v", q)
			}
		})
	}
	d := newDesk(t)
	d.store(line("small", "1.0", task("only", "project-manager")))
	first := d.report()
	d.claim("qa-engineer")
	second := d.file(&loomv1.Submission{Goal: "another", Process: "small"})
	d.give(closesAfterStep(second.Execution, "nobody is at it"))
	d.give(closes(first.Execution, "stop it"))
	for _, id := range []string{first.Execution, second.Execution} {
		if x := d.execution(id); x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED {
			t.Errorf("%s is %v", id, x.Status)
		}
	}
}

// What closed work had changed is kept with its bead, until the work is begun anew,
// with it or without.
func TestWF09_ADraftIsReopened(t *testing.T) {
	d := newDesk(t)
	filed := d.report()
	drafts := func(as loomv1.IdentityKind, execution, commit string) error {
		_, err := d.do(&loomv1.Command{
			Actor: &loomv1.Identity{Kind: as, Name: "h1"},
			Body:  &loomv1.Command_RecordDraft{RecordDraft: &loomv1.RecordDraft{Draft: &loomv1.Draft{Execution: execution, Commit: commit, Files: 2}}},
		})
		return err
	}
	const host = loomv1.IdentityKind_IDENTITY_KIND_HOST
	reopen := func(resume bool, key string) error {
		_, err := d.do(&loomv1.Command{
			Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "ana"},
			Body:  &loomv1.Command_ReopenBead{ReopenBead: &loomv1.ReopenBead{Bead: filed.Bead, Resume: resume, Request: key}},
		})
		return err
	}
	if err := drafts(host, filed.Execution, "c0"); err != nil || d.bead(filed.Bead).Draft != nil {
		t.Errorf("a draft of work that goes on: %v, %v", err, d.bead(filed.Bead).Draft)
	}
	d.give(closes(filed.Execution, "stop"))
	if err := reopen(true, "r1"); fault.Code(err) != "bead/invalid" {
		t.Errorf("resumed without a draft: %v", err)
	}
	for _, tt := range []struct {
		as                loomv1.IdentityKind
		execution, commit string
		want              string
	}{
		{loomv1.IdentityKind_IDENTITY_KIND_AGENT, filed.Execution, "c1", "request/denied"},
		{host, "shop-9-x1", "c1", "execution/unknown"},
		{host, filed.Execution, "", "command/malformed"},
		{host, filed.Execution, "c1", ""},
		{host, filed.Execution, "c1", ""}, // again changes nothing
	} {
		if err := drafts(tt.as, tt.execution, tt.commit); fault.Code(err) != tt.want {
			t.Errorf("draft %q of %s by %v: %v, want %q", tt.commit, tt.execution, tt.as, err, tt.want)
		}
	}
	kept := 0
	for _, e := range d.events {
		if e.GetDraftKept() != nil {
			kept++
		}
	}
	d.s.Pack() // it was written as ended work before, and is anew
	if b := d.bead(filed.Bead); kept != 1 || b.Draft.GetCommit() != "c1" || b.Draft.Execution != filed.Execution {
		t.Fatalf("kept %d times, the bead has %v", kept, b.Draft)
	}
	if err := reopen(true, "r2"); err != nil {
		t.Fatal(err)
	}
	b := d.bead(filed.Bead)
	if x := d.execution(b.Execution); x.Draft.GetCommit() != "c1" || b.Draft != nil || b.Executions != 2 {
		t.Errorf("execution %d goes on with %v, and the bead has %v", b.Executions, x.Draft, b.Draft)
	}
	if err := drafts(host, filed.Execution, "c2"); err != nil || d.bead(filed.Bead).Draft != nil {
		t.Errorf("a draft of an execution that another came after: %v, %v", err, d.bead(filed.Bead).Draft)
	}
}
