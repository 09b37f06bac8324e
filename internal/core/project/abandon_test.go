package project_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// by is a command of somebody.
func by(kind loomv1.IdentityKind, name string, cmd *loomv1.Command) *loomv1.Command {
	cmd.Actor = &loomv1.Identity{Kind: kind, Name: name}
	return cmd
}

func abandons(id, reason string) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_AbandonDecision{AbandonDecision: &loomv1.AbandonDecision{Id: id, Reason: reason}}}
}

const (
	agent    = loomv1.IdentityKind_IDENTITY_KIND_AGENT
	operator = loomv1.IdentityKind_IDENTITY_KIND_OPERATOR
)

// recorded adds an option in somebody's name.
func (d *desk) recorded(kind loomv1.IdentityKind, name string) string {
	d.t.Helper()
	return d.ok(by(kind, name, &loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
		Node: &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_OPTION, Title: "by " + name, Confidence: 50},
	}}})).GetDecision().Id
}

func TestGRAPH01_OnlyItsOwnerAndTheCEOGiveADecisionUp(t *testing.T) {
	for _, tt := range []struct {
		name             string
		owner, who       loomv1.IdentityKind
		ownName, whoName string
		want             string
	}{
		{"an agent its own", agent, agent, "architect/1@h1", "architect/1@h1", ""},
		{"an agent that goes on with the work", agent, agent, "architect/1@h1", "architect/2@h2", ""},
		{"an agent of another role", agent, agent, "architect/1@h1", "implementer/1@h1", "graph/not-owner"},
		{"an operator an agent's", agent, operator, "architect/1@h1", "operator", "graph/not-owner"},
		{"an operator its own", operator, operator, "ada", "ada", ""},
		{"another operator", operator, operator, "ada", "bob", "graph/not-owner"},
		{"an agent with an operator's name", operator, agent, "ada", "ada", "graph/not-owner"},
		{"somebody who calls himself the CEO", agent, ceo, "architect/1@h1", "somebody", "graph/not-owner"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			id := d.recorded(tt.owner, tt.ownName)
			n := len(d.events)
			if _, err := d.do(by(tt.who, tt.whoName, abandons(id, "no"))); fault.Code(err) != tt.want {
				t.Fatalf("%v, want %s", err, tt.want)
			}
			with := &loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
				Node:     &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_OBSERVATION, Title: "it fails"},
				Abandons: []*loomv1.AbandonDecision{{Id: id, Reason: "no"}},
			}}}
			if _, err := d.do(by(tt.who, tt.whoName, with)); fault.Code(err) != tt.want {
				t.Errorf("with a new one: %v, want %s", err, tt.want)
			}
			if tt.want == "" {
				return
			}
			if len(d.events) != n {
				t.Errorf("refused, it left %v", d.since(n))
			}
			d.give(func(c *loomv1.CeoCommand) {
				c.Verb = &loomv1.CeoCommand_Abandon{Abandon: &loomv1.AbandonDecision{Id: id, Reason: "the CEO says no"}}
			})
			if facts := d.since(n); len(facts) != 2 || facts[0].GetOverrideGiven().GetVerb() != "abandon" || facts[1].GetDecisionAbandoned().GetId() != id {
				t.Errorf("signed by the CEO: %v", facts)
			}
		})
	}
}

func TestBYD07_WhatIsGivenUpTakesTheApprovalWithIt(t *testing.T) {
	for _, part := range []string{"the decision", "the option it took"} {
		t.Run(part, func(t *testing.T) {
			d := newDesk(t)
			yes, no := d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "yes"), d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "no")
			x, decision, request, who := d.rested(d.report, "p1", yes, no)
			if claim, err := d.acquire(request, who); err != nil || claim.GetToken() == 0 {
				t.Fatalf("lock %v, %v", claim, err)
			}
			n := len(d.events)
			d.ok(abandons(no, "never mind")) // what was rejected carries nothing
			if d.execution(x).Approved == nil {
				t.Fatal("the approval lapsed with what was rejected")
			}
			id := map[string]string{"the decision": decision, "the option it took": yes}[part]
			d.ok(abandons(id, "we know more"))
			if l := d.held(); l.Holder != nil || len(l.Queue) > 0 || d.execution(x).Approved != nil {
				t.Errorf("the lock is still %v, approved %v", l, d.execution(x).Approved)
			}
			if a := d.inbox(); a.Node != "approve" {
				t.Errorf("the CEO is asked %v", a)
			}
			var why string
			for _, e := range d.since(n) {
				if l := e.GetApprovalLapsed(); l != nil {
					why = l.Reason
				}
				if f := e.GetDecisionAbandoned(); f.GetId() == decision && e.Execution != x {
					t.Errorf("it is about %q", e.Execution)
				}
			}
			if want := "what it rests on was given up: " + id + ", because we know more"; why != want {
				t.Errorf("it lapsed because %q, want %q", why, want)
			}
			n = len(d.events)
			d.ok(abandons(id, "we know more"))
			if facts := d.since(n); len(facts) > 0 {
				t.Errorf("the same again: %v", facts)
			}
		})
	}
}

// What one piece of work gives up contradicts the other no more.
func TestBYD07_GivingUpEndsAContradiction(t *testing.T) {
	d := newDesk(t)
	left, right := d.option("left", "rounding"), d.option("right", "rounding")
	_, _, request, who := d.rested(d.report, "p1", left, d.option("other", ""))
	_, second, _, _ := d.rested(d.report2, "p2", right, d.option("none", ""))
	if _, err := d.acquire(request, who); fault.Code(err) != "graph/contradiction" {
		t.Fatalf("%v, want a contradiction", err)
	}
	d.ok(abandons(second, "left it is"))
	if claim, err := d.acquire(request, who); err != nil || claim.GetToken() == 0 {
		t.Errorf("lock %v, %v", claim, err)
	}
}

// A vote that waits for the CEO asks no more once it is void: an option of it was
// given up, or superseded.
func TestGRAPH05_TheCEOIsNotAskedAboutAVoidVote(t *testing.T) {
	t.Run("given up", func(t *testing.T) {
		theCEOIsNotAsked(t, func(_ *desk, option string) *loomv1.Command { return abandons(option, "it cannot be built") })
	})
	t.Run("superseded", func(t *testing.T) {
		theCEOIsNotAsked(t, func(d *desk, option string) *loomv1.Command {
			return &loomv1.Command{Body: &loomv1.Command_SupersedeDecision{SupersedeDecision: &loomv1.SupersedeDecision{
				Old: option, New: d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "straight on"), Rationale: "it cannot be built",
			}}}
		})
	})
}

func theCEOIsNotAsked(t *testing.T, end func(d *desk, option string) *loomv1.Command) {
	d := newDesk(t)
	decision, left, right := d.tie()
	d.now = d.now.Add(2 * time.Minute)
	d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
	a := d.inbox()
	c := end(d, right)
	n := len(d.events)
	d.ok(c)
	lapsed := false
	for _, e := range d.since(n) {
		lapsed = lapsed || e.GetApprovalLapsed().GetApproval() == a.Id
	}
	if b := d.ballot(decision); !lapsed || b.Result != "" || b.Status != loomv1.BallotStatus_BALLOT_STATUS_CLOSED {
		t.Errorf("lapsed %t, the ballot is %v", lapsed, b)
	}
	err := d.present(ceo, d.sign(a, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, func(c *loomv1.CeoCommand) { c.GetDecide().Choice = left }))
	if fault.Code(err) != "approval/lapsed" || !strings.Contains(err.Error(), "it cannot be built") {
		t.Errorf("answered all the same: %v", err)
	}
}

// A decision is about work that there is, and of its own project.
func TestGRAPH02_ADecisionIsAboutWorkThatIsThere(t *testing.T) {
	d := newDesk(t)
	bead := d.report().Bead
	for want, node := range map[string]*loomv1.DecisionNode{
		"":                  {Bead: bead, Execution: d.execution(bead).Id},
		"bead/unknown":      {Bead: "desk-1"},
		"execution/unknown": {Execution: bead},
	} {
		node.Type, node.Title = loomv1.DecisionType_DECISION_TYPE_GOAL, "it works"
		n := len(d.events)
		_, err := d.do(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{Node: node}}})
		if fault.Code(err) != want || want != "" && len(d.events) > n {
			t.Errorf("%v: %v, want %q", node, err, want)
		}
	}
}
