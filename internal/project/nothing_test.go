package project_test

import (
	"testing"

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
