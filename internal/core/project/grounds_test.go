package project_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	leadsTo  = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO
	chosen   = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN
	rejected = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REJECTED
)

// decided adds a decision of an execution with links to options.
func (d *desk) decided(x, title string, links ...*loomv1.DecisionEdge) string {
	d.t.Helper()
	return d.ok(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
		Node:  &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Title: title, Confidence: 80, Execution: x},
		Links: links,
	}}}).GetDecision().Id
}

func to(id string, t loomv1.DecisionEdgeType) *loomv1.DecisionEdge {
	return &loomv1.DecisionEdge{To: id, Type: t}
}

// rested brings a bug to its commit, with a decision of its own that took one
// option and not another.
func (d *desk) rested(report func() *loomv1.SubmitReply, digest, yes, no string) (x, decision, request string, who *loomv1.Claimant) {
	d.t.Helper()
	bead := report().Bead
	d.work("qa-engineer", triaged())
	x = d.execution(bead).Id
	decision = d.decided(x, "this way", to(yes, chosen), to(no, rejected))
	d.work("backend-engineer", outcome(more, nil))
	d.work("backend-engineer", proposed(digest))
	d.approve()
	queued := d.s.Queued()
	a := queued[len(queued)-1]
	who = &loomv1.Claimant{Agent: "engineering-manager/" + digest, Host: "h1", Epoch: 1}
	d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: a.Attempt, Generation: a.Generation, Claimant: who}}})
	return x, decision, a.Attempt, who
}

func (d *desk) acquire(request string, who *loomv1.Claimant) (*loomv1.LockClaim, error) {
	d.t.Helper()
	answer, err := d.do(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: request, Holder: who}}})
	return answer.GetLock(), err
}

func (d *desk) supersede(old, by string) {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_SupersedeDecision{SupersedeDecision: &loomv1.SupersedeDecision{Old: old, New: by, Rationale: "we know more"}}})
}

func TestBYD07_ASupersededDecisionTakesTheApprovalWithIt(t *testing.T) {
	for name, shake := range map[string]func(d *desk, decision, option string){
		"the decision": func(d *desk, decision, _ string) { d.supersede(decision, d.decided("", "that way")) },
		"the option it took": func(d *desk, _, option string) {
			d.supersede(option, d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "better"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			yes, no := d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "yes"), d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "no")
			x, decision, request, who := d.rested(d.report, "p1", yes, no)
			claim, err := d.acquire(request, who)
			if err != nil || claim.GetToken() == 0 {
				t.Fatalf("lock %v, %v", claim, err)
			}
			shake(d, decision, yes)
			if l := d.held(); l.Holder != nil || len(l.Queue) > 0 {
				t.Errorf("the lock is still %v", l)
			}
			now := d.execution(x)
			if now.Approved != nil || now.Change == nil {
				t.Errorf("approved %v of change %v", now.Approved, now.Change)
			}
			a := d.inbox()
			if a.Node != "approve" || a.Change.GetPatchDigest() != "p1" {
				t.Errorf("the CEO is asked %v", a)
			}
			var why string
			for _, e := range d.events {
				if l := e.GetApprovalLapsed(); l != nil {
					why = l.Reason
				}
			}
			if !strings.Contains(why, "was superseded") || !strings.Contains(why, "because we know more") {
				t.Errorf("it lapsed because %q", why)
			}
			d.approve()
			b, who := d.claim("engineering-manager")
			if claim, err := d.acquire(b.Attempt.Id, who); err != nil || claim.GetToken() == 0 {
				t.Errorf("approved again, the lock is %v, %v", claim, err)
			}
		})
	}
}

func TestBYD07_OtherDecisionsShakeNothing(t *testing.T) {
	d := newDesk(t)
	yes, no := d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "yes"), d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "no")
	x, _, request, who := d.rested(d.report, "p1", yes, no)
	n := len(d.events)
	d.supersede(no, d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "never mind"))
	d.supersede(d.decided("", "elsewhere"), d.decided("", "elsewhere, better"))
	for _, e := range d.since(n) {
		if e.GetApprovalLapsed() != nil || e.GetExecutionMoved() != nil {
			t.Errorf("%v", e)
		}
	}
	if claim, err := d.acquire(request, who); err != nil || claim.GetToken() == 0 || d.execution(x).Approved == nil {
		t.Errorf("lock %v, %v", claim, err)
	}
}

func TestBYD07_ContradictionsAreFoundBeforeTheCommit(t *testing.T) {
	d := newDesk(t)
	left, right := d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "left"), d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "right")
	one, first, request, who := d.rested(d.report, "p1", left, right)
	other, second, request2, who2 := d.rested(d.report2, "p2", right, left)
	_, err := d.acquire(request, who)
	if fault.Code(err) != "graph/contradiction" {
		t.Fatalf("%v, want a contradiction", err)
	}
	for _, part := range []string{first, one, second, other, left} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
	if _, err := d.acquire(request2, who2); fault.Code(err) != "graph/contradiction" {
		t.Errorf("the other: %v", err)
	}
	d.give(closes(other, "the first is right")) // what is given up contradicts nothing
	if claim, err := d.acquire(request, who); err != nil || claim.GetToken() == 0 {
		t.Errorf("lock %v, %v", claim, err)
	}
}

// TestBYD07_OneScopeHasOneAnswer has two pieces of work choose different
// options, of which only one can be right.
func TestBYD07_OneScopeHasOneAnswer(t *testing.T) {
	for name, rivals := range map[string]func(d *desk) (left, right string){
		"of one scope": func(d *desk) (string, string) { return d.option("left", "Rounding"), d.option("right", " rounding ") },
		"one blocks the other": func(d *desk) (string, string) {
			left, right := d.option("left", ""), d.option("right", "")
			d.ok(&loomv1.Command{Body: &loomv1.Command_LinkDecision{LinkDecision: &loomv1.LinkDecision{
				Edge: &loomv1.DecisionEdge{From: right, To: left, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_BLOCKS},
			}}})
			return left, right
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			left, right := rivals(d)
			other := d.option("other", "colour")
			one, first, request, who := d.rested(d.report, "p1", left, other)
			two, second, request2, who2 := d.rested(d.report2, "p2", right, d.option("none", ""))
			_, err := d.acquire(request, who)
			if fault.Code(err) != "graph/contradiction" {
				t.Fatalf("%v, want a contradiction", err)
			}
			for _, part := range []string{first, one, left, second, two, right} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %s", err, part)
				}
			}
			if _, err := d.acquire(request2, who2); fault.Code(err) != "graph/contradiction" {
				t.Errorf("the other: %v", err)
			}
			d.supersede(second, d.decided(two, "another way", to(d.option("away", "rounding, if at all"), chosen)))
			if claim, err := d.acquire(request, who); err != nil || claim.GetToken() == 0 {
				t.Errorf("once the other chose something else: lock %v, %v", claim, err)
			}
		})
	}
}

// another reports a bug that nobody knows yet.
func (d *desk) another() *loomv1.SubmitReply {
	return d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Goal: "something else"})
}

// resume has an attempt that was parked claimed again, if it is queued.
func (d *desk) resume(request string, who *loomv1.Claimant) {
	d.t.Helper()
	for _, a := range d.s.Queued() {
		if a.Attempt == request {
			d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: request, Generation: a.Generation, Claimant: who}}})
		}
	}
}

// TestBYD07_ContradictionsCountAtTheGrant has other work decide against what
// waits for the lock: the turn of that goes to the next, and it is refused when
// it asks again.
func TestBYD07_ContradictionsCountAtTheGrant(t *testing.T) {
	for name, parked := range map[string]bool{"parked": true, "still asking": false} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			left, right := d.option("left", "rounding"), d.option("right", "rounding")
			_, _, first, holder := d.rested(d.another, "p0", d.option("a", ""), d.option("b", ""))
			held, err := d.acquire(first, holder)
			if err != nil || held.GetToken() == 0 {
				t.Fatalf("lock %v, %v", held, err)
			}
			_, _, request, who := d.rested(d.report, "p1", left, d.option("c", ""))
			if claim, err := d.acquire(request, who); err != nil || claim.GetToken() != 0 {
				t.Fatalf("lock %v, %v", claim, err)
			}
			if parked {
				d.ok(&loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{Attempt: request, Claimant: who, WaitsFor: "lock"}}})
			}
			_, _, next, nextWho := d.rested(d.report2, "p2", d.option("d", ""), d.option("e", ""))
			if claim, err := d.acquire(next, nextWho); err != nil || claim.GetToken() != 0 {
				t.Fatalf("lock %v, %v", claim, err)
			}
			other := d.execution(d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Goal: "one more"}).Bead).Id
			d.decided(other, "that way", to(right, chosen))
			d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: held.Token, Holder: holder}}})
			if l := d.held(); l.Holder.GetRequest() != next || len(l.Queue) > 0 {
				t.Errorf("the lock is %v, want it with %s", l, next)
			}
			d.resume(request, who)
			if _, err := d.acquire(request, who); fault.Code(err) != "graph/contradiction" {
				t.Fatalf("%v, want a contradiction", err)
			}
			d.give(closes(other, "the first is right"))
			if claim, err := d.acquire(request, who); err != nil || claim.GetToken() != 0 {
				t.Errorf("without the other it waits again: %v, %v", claim, err)
			}
			d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: d.held().Holder.Token}}})
			if claim, err := d.acquire(request, who); err != nil || claim.GetToken() == 0 {
				t.Errorf("lock %v, %v", claim, err)
			}
		})
	}
}

// A contradiction that comes after the grant takes nothing from the attempt,
// also when another agent goes on with it: its commit may have landed.
func TestBYD07_AGrantGoesOverToWhoGoesOn(t *testing.T) {
	d := newDesk(t)
	left, right := d.option("left", "rounding"), d.option("right", "rounding")
	_, _, request, who := d.rested(d.report, "p1", left, d.option("c", ""))
	before, err := d.acquire(request, who)
	if err != nil || before.GetToken() == 0 {
		t.Fatalf("lock %v, %v", before, err)
	}
	d.decided(d.execution(d.report2().Bead).Id, "that way", to(right, chosen))
	if claim, err := d.acquire(request, who); err != nil || claim.GetToken() != before.Token {
		t.Errorf("asked again: %v, %v", claim, err)
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: request, Claimant: who, Reason: "it stops"}}})
	next := &loomv1.Claimant{Agent: "engineering-manager/9", Host: "h2", Epoch: 1}
	d.resume(request, next)
	if claim, err := d.acquire(request, next); err != nil || claim.GetToken() <= before.Token {
		t.Errorf("who goes on has %v, %v", claim, err)
	}
}

// option adds an option of a scope.
func (d *desk) option(title, scope string) string {
	d.t.Helper()
	n := &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_OPTION, Title: title, Confidence: 50}
	graph.SetScope(n, scope)
	return d.ok(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{Node: n}}}).GetDecision().Id
}
