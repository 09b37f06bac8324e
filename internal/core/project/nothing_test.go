package project_test

import (
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// lapses returns the reasons of approvals that lapsed since event n.
func (d *desk) lapses(n int) (list []string) {
	for _, e := range d.since(n) {
		if l := e.GetApprovalLapsed(); l != nil {
			list = append(list, l.Reason)
		}
	}
	return list
}

func TestREAL07_AnOpenApprovalIsWithdrawnWhenItsChangeLandsWithAnotherBead(t *testing.T) {
	d := newTrainDesk(t, 0)
	first := d.toLand(1, "cart.go")
	second := d.toApproval("p1")
	n := len(d.events)
	d.arrive(first, landed("c-p1"))
	d.restart()
	if got := d.lapses(n); len(got) != 1 || got[0] != "the same change landed with bead "+first.bead+", as commit c-p1" {
		t.Errorf("lapsed: %q", got)
	}
	if v := d.execution(second + "-x1"); v.Change != nil || v.Approved != nil {
		t.Errorf("change %v stands, approved %v", v.Change, v.Approved)
	}
	out := outcome(success, map[string]any{"fault": ""})
	out.Candidate = &loomv1.Candidate{Commit: "c-p1", Base: "c-p1", Token: 9, Present: true, DoneByBead: first.bead, DoneByCommit: "c-p1"}
	d.work("engineering-manager", out)
	d.work("qa-engineer", verified("c-p1", true))
	if got := d.status(second); got != "closed" {
		t.Errorf("the second bead is %s", got)
	}
	if got, want := d.execution(second+"-x1").Reason, "nothing was left to do: commit c-p1 of bead "+first.bead+" has the change, and c-p1 of the target passed"; got != want {
		t.Errorf("it ended because %q, want %q", got, want)
	}
}

// A change lands at the moment at which its bead is closed: whoever is asked about the
// same change is asked no more, and neither is who proposes it later.
func TestREAL07_WhatLandedThoughItsWorkHadEndedIsNotAskedAbout(t *testing.T) {
	longtest.Skip(t)
	for name, tt := range map[string]struct {
		proposed bool // before it is known
		landing  *loomv1.Landing
		withdrew bool
	}{
		"while it is asked about": {true, found("c-p1"), true},
		"while it is made":        {false, found("c-p1"), true},
		"it did not land":         {true, nil, false},
		"beside the target":       {true, &loomv1.Landing{Commit: "c-p1", Ref: "refs/heads/loom/landed", Target: "main", Token: 7}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTrainDesk(t, 0)
			closed, next := d.toLand(1, "a.go"), d.toLand(2, "b.go")
			second, propose := d.report().Bead, func() { d.work("backend-engineer", proposed("p1")) }
			d.work("qa-engineer", triaged())
			d.work("backend-engineer", outcome(more, nil))
			if tt.proposed {
				propose()
			}
			d.give(closes(closed.bead+"-x1", "not wanted any more"))
			d.restart()
			d.turn(&next)
			d.claimOf(next)
			n := len(d.events)
			d.now = d.now.Add(time.Second)
			if err := d.settle(&loomv1.SettleLanding{Execution: closed.bead + "-x1", Commit: "c-p1", Token: next.token, Holder: next.who, Landing: tt.landing}); err != nil {
				t.Fatal(err)
			}
			d.restart()
			if d.now = d.now.Add(time.Second); !tt.proposed {
				propose()
			}
			reason := "the same change landed with bead " + closed.bead + ", as commit c-p1"
			if got := d.lapses(n); tt.withdrew && (len(got) != 1 || got[0] != reason) || !tt.withdrew && len(got) != 0 {
				t.Errorf("lapsed: %q", got)
			}
			if x := d.execution(second + "-x1"); (x.Change == nil) != tt.withdrew {
				t.Errorf("change %v stands", x.Change)
			}
		})
	}
}

// A change whose patch landed with another bead while its author worked is not asked
// about either; one that is made anew after it landed, because it was taken back, is.
func TestREAL07_AChangeThatLandedWhileItWasMadeIsNotAskedAbout(t *testing.T) {
	for name, after := range map[string]bool{"while it was made": false, "before it was begun": true} {
		t.Run(name, func(t *testing.T) {
			d := newTrainDesk(t, 0)
			first := d.toLand(1, "cart.go")
			land := func() {
				d.now = d.now.Add(time.Second)
				d.arrive(first, landed("c-p1"))
				d.now = d.now.Add(time.Second)
			}
			if after {
				land()
			}
			second := d.report().Bead
			d.work("qa-engineer", triaged())
			d.work("backend-engineer", outcome(more, nil))
			if !after {
				land()
			}
			d.restart()
			n := len(d.events)
			d.work("backend-engineer", proposed("p1"))
			x := d.execution(second + "-x1")
			if got := d.lapses(n); (len(got) == 1) == after || (x.Change != nil) != after {
				t.Errorf("lapsed: %q, and change %v stands", got, x.Change)
			}
			if asked := d.s.Queued(); (len(asked) == 1) == after {
				t.Errorf("in the queue: %v", asked)
			}
		})
	}
}

func TestREAL07_WhatElseIsAskedStaysAsked(t *testing.T) {
	for name, tt := range map[string]struct {
		digest, ref string
	}{
		"another change":                     {"p2", "refs/heads/main"},
		"the same, landed beside the target": {"p1", "refs/heads/loom/landed"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTrainDesk(t, 0)
			first := d.toLand(1, "cart.go")
			d.toApproval(tt.digest)
			n := len(d.events)
			out := landed("c-p1")
			out.Landing.Ref = tt.ref
			d.arrive(first, out)
			if got := d.lapses(n); len(got) != 0 {
				t.Errorf("lapsed: %q", got)
			}
			if a := d.inbox(); a.Node != "approve" || a.Change.GetPatchDigest() != tt.digest {
				t.Errorf("the CEO is asked %v", a)
			}
		})
	}
}
