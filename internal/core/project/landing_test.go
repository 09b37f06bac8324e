package project_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/format"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// found is where a commit was found.
func found(commit string) *loomv1.Landing {
	return &loomv1.Landing{Commit: commit, Ref: "refs/heads/main", Target: "main", Token: 7}
}

func (d *desk) settle(c *loomv1.SettleLanding) error {
	d.t.Helper()
	_, err := d.do(&loomv1.Command{Body: &loomv1.Command_SettleLanding{SettleLanding: c}})
	return err
}

// claimOf asks for what a holder holds, once more.
func (d *desk) claimOf(w waits) *loomv1.LockClaim {
	d.t.Helper()
	return d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: w.attempt, Holder: w.who}}}).GetLock()
}

// knows checks that it is on record where the change of a bead landed, or not.
func (d *desk) knows(w waits, commit string) {
	d.t.Helper()
	if got := d.execution(w.bead + "-x1").Landing.GetCommit(); got != commit {
		d.t.Errorf("of bead %s, which is %s, %q is known to have landed, want %q", w.bead, d.status(w.bead), got, commit)
	}
	noted := false
	for _, e := range d.events {
		title := e.GetDecisionAdded().GetNode().GetTitle()
		noted = noted || e.Bead == w.bead && strings.HasPrefix(title, "commit ") && strings.Contains(title, "its attempt had ended")
	}
	if noted != (commit != "") {
		d.t.Errorf("the graph of bead %s has the landing: %t", w.bead, noted)
	}
}

// The CEO closes a bead whose commit lands at that moment: whoever landed it says so,
// or whoever is granted the lock next finds out; that it did not land is found, too.
func TestLOCK05_WhatLandsAfterItsWorkHasEndedIsKnown(t *testing.T) {
	longtest.Skip(t)
	for name, tt := range map[string]struct {
		says func(d *desk, closed, next waits) *loomv1.SettleLanding
		want string
		code string
	}{
		"who landed it says so": {func(_ *desk, closed, _ waits) *loomv1.SettleLanding {
			return &loomv1.SettleLanding{Holder: closed.who, Landing: found("c-p1")}
		}, "c-p1", ""},
		"the next holder finds it": {func(_ *desk, _, next waits) *loomv1.SettleLanding {
			return &loomv1.SettleLanding{Token: next.token, Holder: next.who, Landing: found("c-p1")}
		}, "c-p1", ""},
		"the next holder does not find it": {func(_ *desk, _, next waits) *loomv1.SettleLanding {
			return &loomv1.SettleLanding{Token: next.token, Holder: next.who}
		}, "", ""},
		"another agent says so": {func(_ *desk, _, next waits) *loomv1.SettleLanding {
			return &loomv1.SettleLanding{Holder: next.who, Landing: found("c-p1")}
		}, "", "attempt/claimed"},
		"who had it says that it did not": {func(_ *desk, closed, _ waits) *loomv1.SettleLanding {
			return &loomv1.SettleLanding{Holder: closed.who}
		}, "", "attempt/claimed"},
		"under a token that holds no longer": {func(_ *desk, closed, _ waits) *loomv1.SettleLanding {
			return &loomv1.SettleLanding{Token: closed.token, Holder: closed.who, Landing: found("c-p1")}
		}, "", "lock/stale"},
		"of another commit": {func(_ *desk, _, next waits) *loomv1.SettleLanding {
			return &loomv1.SettleLanding{Token: next.token, Holder: next.who, Landing: found("c-p9")}
		}, "", "outcome/no-evidence"},
		"nowhere": {func(_ *desk, _, next waits) *loomv1.SettleLanding {
			return &loomv1.SettleLanding{Token: next.token, Holder: next.who, Landing: &loomv1.Landing{Commit: "c-p1"}}
		}, "", "outcome/no-evidence"},
		"nobody": {func(_ *desk, _, _ waits) *loomv1.SettleLanding {
			return &loomv1.SettleLanding{Landing: found("c-p1")}
		}, "", "lock/invalid"},
	} {
		t.Run("LOCK05 "+name, func(t *testing.T) {
			d := newTrainDesk(t, 0)
			closed, next := d.toLand(1, "a.go"), d.toLand(2, "b.go")
			d.give(closes(closed.bead+"-x1", "not wanted any more"))
			d.restart()
			d.turn(&next)
			if o := d.claimOf(next).OpenLandings; len(o) != 1 || o[0].Execution != closed.bead+"-x1" || o[0].Commit != "c-p1" || o[0].Attempt != closed.attempt {
				t.Fatalf("the next holder is told of %v", o)
			}
			c := tt.says(d, closed, next)
			c.Execution, c.Commit = closed.bead+"-x1", "c-p1"
			n := len(d.events)
			if err := d.settle(c); fault.Code(err) != tt.code || (err != nil && len(d.events) != n) {
				t.Fatalf("said: %v, and %d facts; want code %q", err, len(d.events)-n, tt.code)
			}
			d.knows(closed, tt.want)
			if tt.code != "" {
				return
			}
			n = len(d.events)
			if err := d.settle(c); err != nil || len(d.events) != n {
				t.Errorf("said again: %v, and %d facts", err, len(d.events)-n)
			}
			d.restart()
			if o := d.claimOf(next).OpenLandings; len(o) != 0 {
				t.Errorf("the holder is told again of %v", o)
			}
			d.arrive(next, landed("c-p2"))
			d.knows(closed, tt.want)
			if got := d.status(closed.bead); got != "aborted" {
				t.Errorf("the closed bead is %s", got)
			}
		})
	}
}

// A car of a train is closed when the train is recorded and has not landed: what says
// that the train has says it of that car, too.
func TestLOCK05_ACarThatIsClosedLandsWithItsTrain(t *testing.T) {
	for name, says := range map[string]int{"the driver says so": 0, "the driver's own is closed": 1} {
		t.Run("LOCK05 "+name, func(t *testing.T) {
			d := newTrainDesk(t, 8)
			all := []waits{d.toLand(1, "a.go"), d.toLand(2, "b.go"), d.toLand(3, "c.go")}
			train, err := d.form(all[0])
			if err != nil {
				t.Fatal(err)
			}
			cars := rides(all[0].token, train.Cars)
			if err := d.record(all[0], cars); err != nil {
				t.Fatal(err)
			}
			closed := all[1-says]
			d.give(closes(closed.bead+"-x1", "not wanted any more"))
			d.restart()
			out := landed(cars[all[0].attempt].Candidate.Commit)
			out.Landing.Head = cars[all[0].attempt].Head
			if says == 0 {
				d.arrive(all[0], out)
			} else if err := d.settle(&loomv1.SettleLanding{Execution: closed.bead + "-x1", Commit: "c-p1", Holder: closed.who, Landing: out.Landing}); err != nil {
				t.Fatal(err)
			}
			d.restart()
			d.knows(closed, cars[closed.attempt].Candidate.Commit)
			for _, w := range all {
				want := "closed"
				if w.bead == closed.bead {
					want = "aborted"
				}
				if got := d.status(w.bead); got != want {
					t.Errorf("bead %s is %s, want %s", w.bead, got, want)
				}
			}
		})
	}
}

// Nobody asks about a commit that another attempt may land, nor about one that git
// has refused, nor about one that was never on its way, nor before all hosts can read
// the answer.
func TestLOCK05_OnlyARiddleIsAsked(t *testing.T) {
	longtest.Skip(t)
	for name, tt := range map[string]struct {
		do   func(d *desk, w waits)
		want int
	}{
		"it is tried again": {func(d *desk, w waits) {
			d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: w.attempt, Claimant: w.who, Outcome: outcome(failed, map[string]any{"fault": ""})}}})
		}, 0},
		"it is tried again, and then closed": {func(d *desk, w waits) {
			d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: w.attempt, Claimant: w.who, Outcome: outcome(failed, map[string]any{"fault": ""})}}})
			d.give(closes(w.bead+"-x1", "enough"))
		}, 1},
		"git has refused it": {func(d *desk, w waits) {
			out := outcome(failed, map[string]any{"fault": ""})
			out.Code = "git/target-moved"
			d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: w.attempt, Claimant: w.who, Outcome: out}}})
			d.give(closes(w.bead+"-x1", "enough"))
		}, 0},
		"it has landed": {func(d *desk, w waits) { d.arrive(w, landed("c-"+w.digest)) }, 0},
		"a host reads it not": {func(d *desk, w waits) {
			d.give(closes(w.bead+"-x1", "enough"))
			d.s.Agree(format.Agreed{Number: 1, Host: "h2"})
		}, 0},
	} {
		t.Run("LOCK05 "+name, func(t *testing.T) {
			d := newTrainDesk(t, 0)
			w, next := d.toLand(1, "a.go"), d.toLand(2, "b.go")
			tt.do(d, w)
			d.turn(&next)
			if o := d.claimOf(next).OpenLandings; len(o) != tt.want {
				t.Errorf("the next holder is told of %v, want %d", o, tt.want)
			}
		})
	}
}

// Where a project is registered with another repository or branch, nobody looks there
// for what landed in the one before: that it is not found says nothing.
func TestLOCK05_OpenLandingsAreOfOneTarget(t *testing.T) {
	for name, c := range map[string]*loomv1.ProjectConfig{
		"another repository": {Id: "shop", Repository: "/src/other", TargetBranch: "main"},
		"another branch":     {Id: "shop", Repository: "/src/shop", TargetBranch: "stable"},
	} {
		t.Run("LOCK05 "+name, func(t *testing.T) {
			d := newTrainDesk(t, 0)
			closed := d.toLand(1, "a.go")
			d.give(closes(closed.bead+"-x1", "not wanted any more"))
			d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{Config: c}}})
			next := d.toLand(2, "b.go")
			if o := d.claimOf(next).OpenLandings; len(o) != 0 {
				t.Fatalf("the next holder is to look in %s for %v", c, o)
			}
			d.restart()
		})
	}
}
