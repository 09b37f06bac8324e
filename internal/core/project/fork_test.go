package project_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func forks(c *loomv1.ForkExecution) *loomv1.Command {
	return &loomv1.Command{
		Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "me"},
		Body:  &loomv1.Command_ForkExecution{ForkExecution: c},
	}
}

func TestWF16_AForkGoesOnAtANodeAndTheOriginalIsLeftAlone(t *testing.T) {
	d := newDesk(t)
	bead := d.toApproval("p1")
	x := d.execution(bead)
	f := d.ok(forks(&loomv1.ForkExecution{Execution: x.Id, Node: "investigate", Reason: "another idea", Request: "r1"})).GetSubmit()
	if f.Bead == bead || f.Execution == x.Id || f.Duplicate {
		t.Fatalf("forked as %v", f)
	}
	y := d.execution(f.Execution)
	if y.ForkedFrom.GetExecution() != x.Id || y.ForkedFrom.GetNode() != "investigate" || y.ForkedFrom.GetNumber() == 0 {
		t.Errorf("forked from %v", y.ForkedFrom)
	}
	if y.Approved != nil || y.Usage.GetInputTokens() != 0 || len(y.Nodes["triage"].History) != 1 {
		t.Errorf("the fork has %v", y)
	}
	r := &project.Replica{}
	for _, e := range d.events {
		r.Apply(e)
	}
	if _, err := r.Ask(&loomv1.GraphRequest{Project: "shop", Execution: f.Execution}); err != nil {
		t.Errorf("a host that does not serve it knows no fork: %v", err)
	}
	if now := d.execution(bead); now.Nodes["approve"].Approval != x.Nodes["approve"].Approval || d.status(bead) != "waiting" {
		t.Errorf("the original was changed: %v", now)
	}
	b := d.work("backend-engineer", proposed("p2"))
	if b.Execution.Id != f.Execution || !strings.HasPrefix(b.Attempt.Id, f.Execution+"-a") {
		t.Errorf("worked on %s of %s", b.Attempt.Id, b.Execution.Id)
	}
	if got := d.status(f.Bead); got != "waiting" {
		t.Errorf("the fork's bead is %s, want it to wait for an approval of its own", got)
	}

	again := d.ok(forks(&loomv1.ForkExecution{Execution: x.Id, Node: "investigate", Reason: "another idea", Request: "r1"})).GetSubmit()
	if again.Bead != f.Bead || !again.Duplicate {
		t.Errorf("the same request again gave %v", again)
	}
	if _, err := d.do(forks(&loomv1.ForkExecution{Execution: x.Id, Node: "triage", Reason: "another idea", Request: "r1"})); fault.Code(err) != "submit/key-reused" {
		t.Errorf("the request for another fork: %v, want submit/key-reused", err)
	}
}

func TestWF16_AForkOfADutyBeginsAtItsApproval(t *testing.T) {
	d := newDesk(t)
	bead := d.toApproval("p1")
	d.approve()
	d.work("engineering-manager", candidate("p1", 1))
	f := d.ok(forks(&loomv1.ForkExecution{Execution: d.execution(bead).Id, Node: "verify", Request: "r1"})).GetSubmit()
	y := d.execution(f.Execution)
	if y.ForkedFrom.Node != "approve" || y.Approved != nil || y.Candidate != nil || y.Change.GetPatchDigest() != "p1" {
		t.Errorf("the fork is %v, want it at the approval, with the change", y)
	}
	if a := d.inbox(); a.Execution != f.Execution || a.Change.GetPatchDigest() != "p1" {
		t.Errorf("asked %v, want about the fork's change", a)
	}
}

func TestWF16_AForkOfAnEarlierStateHasWhatWasThereThen(t *testing.T) {
	d := newDesk(t)
	bead := d.report().Bead
	d.work("qa-engineer", triaged())
	then, number := d.execution(bead), d.s.Number()
	d.work("backend-engineer", proposed("p1"))
	d.give(closes(then.Id, "the wrong way"))
	f := d.ok(forks(&loomv1.ForkExecution{Execution: then.Id, Node: "investigate", State: then, Number: number, Request: "r1"})).GetSubmit()
	if y := d.execution(f.Execution); y.Change != nil || y.ForkedFrom.Number != number {
		t.Errorf("the fork has %v", y)
	}
	d.work("backend-engineer", proposed("p2"))
	if b := d.bead(f.Bead); b.Fingerprint != "" || b.Type != loomv1.BeadType_BEAD_TYPE_BUG {
		t.Errorf("the fork's bead %v, want a bug that no report is counted on", b)
	}
	if r := d.report(); r.Bead == f.Bead || r.Duplicate {
		t.Errorf("a new report was counted on %v", r)
	}
}

func TestWF16_WhatCannotBeForkedIsRefused(t *testing.T) {
	d := newDesk(t)
	x := d.execution(d.toApproval("p1"))
	other := d.execution(d.file(&loomv1.Submission{}).Execution)
	for name, tt := range map[string]struct {
		c    *loomv1.ForkExecution
		want string
	}{
		"no execution":     {&loomv1.ForkExecution{Execution: "shop-9-x1", Node: "triage", Request: "r"}, "execution/unknown"},
		"no node":          {&loomv1.ForkExecution{Execution: x.Id, Node: "trige", Request: "r"}, "workflow/node"},
		"no request":       {&loomv1.ForkExecution{Execution: x.Id, Node: "triage"}, "command/malformed"},
		"another's state":  {&loomv1.ForkExecution{Execution: x.Id, Node: "triage", State: other, Request: "r"}, "command/malformed"},
		"an empty state":   {&loomv1.ForkExecution{Execution: x.Id, Node: "triage", State: &loomv1.Execution{}, Request: "r"}, "command/malformed"},
		"a long reason":    {&loomv1.ForkExecution{Execution: x.Id, Node: "triage", Reason: strings.Repeat("x", project.MaxReason+1), Request: "r"}, "submit/too-large"},
		"state of a whale": {&loomv1.ForkExecution{Execution: x.Id, Node: "approve", State: whale(x), Request: "r"}, "journal/too-large"},
	} {
		n := len(d.events)
		if _, err := d.do(forks(tt.c)); fault.Code(err) != tt.want || len(d.since(n)) != 0 {
			t.Errorf("%s: %v with %d facts, want %s", name, err, len(d.since(n)), tt.want)
		}
	}
}

// whale is x with a history that fits into no batch.
func whale(x *loomv1.Execution) *loomv1.Execution {
	h := x.Nodes["triage"].History
	h[0].Outcome.Notes = strings.Repeat("x", 16<<10)
	for range 100 {
		h = append(h, h[0])
	}
	x.Nodes["triage"].History = h
	return x
}

func TestWF16_AForkHasADeadlineOnlyWhileItCanBeMet(t *testing.T) {
	d := newDesk(t)
	f := d.file(&loomv1.Submission{Deadline: timestamppb.New(noon.Add(time.Hour)), Labels: []string{"web"}, Priority: loomv1.Priority_PRIORITY_URGENT})
	deadline := func(request string) time.Time {
		r := d.ok(forks(&loomv1.ForkExecution{Execution: f.Execution, Node: "triage", Request: request})).GetSubmit()
		b := d.bead(r.Bead)
		if b.Priority != loomv1.Priority_PRIORITY_URGENT || len(b.Labels) != 1 {
			t.Errorf("the fork's bead is %v", b)
		}
		if b.Deadline == nil {
			return time.Time{}
		}
		return b.Deadline.AsTime()
	}
	if got := deadline("r1"); !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("deadline %s, want that of the original", got)
	}
	d.now = noon.Add(time.Hour)
	if got := deadline("r2"); !got.IsZero() {
		t.Errorf("deadline %s, which has passed", got)
	}
}

func TestWF16_AForkUnderAPauseWaits(t *testing.T) {
	d := newDesk(t)
	x := d.execution(d.toApproval("p1"))
	d.give(pauses(allWork, "", "r"))
	d.ok(forks(&loomv1.ForkExecution{Execution: x.Id, Node: "investigate", Request: "r1"}))
	if q := d.s.Queued(); len(q) != 0 {
		t.Errorf("queued: %v", q)
	}
	d.give(resumes(allWork, "", "r"))
	d.wait(0)
	d.claim("backend-engineer")
}
