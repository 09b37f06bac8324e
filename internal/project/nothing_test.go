package project_test

import (
	"testing"
	"time"

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
