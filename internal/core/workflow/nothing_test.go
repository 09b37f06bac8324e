package workflow_test

import (
	"testing"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// unchanged is a success that left no change.
func unchanged() *loomv1.Outcome {
	out := good(nil)
	out.Unchanged = true
	return out
}

// present is the outcome of a commit that found nothing to do.
func present(commit string) *loomv1.Outcome {
	out := good(nil)
	out.Candidate = &loomv1.Candidate{Commit: commit, Base: commit, Token: 1, Present: true, DoneByBead: "p-9", DoneByCommit: "d9"}
	return out
}

func TestREAL07_WorkThatLeavesNoChangeEndsOnTheTarget(t *testing.T) {
	w := bug(t, "verify")
	w.answer(t, "verify", fault1("change"))
	n := len(w.events)
	w.answer(t, "investigate", unchanged())
	check(t, w.since(n), `
		investigate answered success
		withdrawn: the target has nothing left to get from it
		investigate-approve taken: success
		approve skipped
		approve-commit taken: nothing left
		commit dispatched to engineering-manager: 2.1`)
	n = len(w.events)
	w.answer(t, "commit", present("t1"))
	w.answer(t, "verify", verified("t1", allChecks...))
	check(t, w.since(n), `
		commit answered success
		candidate t1
		commit-verify taken: success
		verify dispatched to qa-engineer: 2.1
		verify answered success
		verify-land taken: success
		land skipped
		land-end taken: nothing left
		completed`)
	if want := "nothing was left to do: commit d9 of bead p-9 has the change, and t1 of the target passed"; w.x.Reason != want || workflow.Nothing(w.x) != want {
		t.Errorf("reason = %q, want %q", w.x.Reason, want)
	}
	if w.x.Landing != nil || w.x.Change != nil || w.x.Approved != nil {
		t.Errorf("landing %v, change %v, approved %v; want none", w.x.Landing, w.x.Change, w.x.Approved)
	}
}

// The target has the change that was approved: nobody is asked a second time.
func TestREAL07_AnApprovedChangeThatTheTargetHas(t *testing.T) {
	w := bug(t, "commit")
	n := len(w.events)
	w.answer(t, "commit", present("t1"))
	check(t, w.since(n), `
		commit answered success
		withdrawn: the target has nothing left to get from it
		approval lapsed: the target has nothing left to get from it
		candidate t1
		commit-verify taken: success
		verify dispatched to qa-engineer: 1.1`)
	w.answer(t, "verify", verified("t1", allChecks...))
	w.wantEnd(t, loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED)
}

// A landing that finds the same change on the target is no fault of the work either:
// the commit node finds out what the target has.
func TestREAL07_ALandingFindsThatTheTargetHasIt(t *testing.T) {
	w := bug(t, "land")
	had := bad(map[string]any{"fault": ""})
	had.Code = "git/no-change"
	w.answer(t, "land", had)
	w.answer(t, "commit", present("t1"))
	w.answer(t, "verify", verified("t1", allChecks...))
	w.wantEnd(t, loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED)
	if len(w.approvals) != 1 || w.x.Landing != nil {
		t.Errorf("%d questions were asked, landing %v; want one question and none", len(w.approvals), w.x.Landing)
	}
}

// Work that names the change which landed with other work proposes nothing.
func TestREAL07_ALandedChangeIsNotProposed(t *testing.T) {
	w := bug(t, "investigate")
	out := changed("p1")
	out.Unchanged = true
	w.answer(t, "investigate", out)
	w.want(t, "approve skipped", "commit running")
	if len(w.approvals) != 0 || w.x.Change != nil {
		t.Errorf("%d questions, change %v", len(w.approvals), w.x.Change)
	}
}

// A target that does not pass is triaged again, as often as the verification may
// send work back; then the CEO is asked.
func TestREAL07_WhatTheTargetDoesNotPassIsTriagedAgain(t *testing.T) {
	w := newWorld(t, autoBug(), nil)
	for range 3 {
		w.answer(t, "triage", triaged("high"))
		w.answer(t, "investigate", unchanged())
		w.answer(t, "commit", present("t1"))
		w.answer(t, "verify", fault1(""))
		w.want(t, "triage running", "verify unspecified")
	}
	w.answer(t, "triage", triaged("high"))
	w.answer(t, "investigate", unchanged())
	w.answer(t, "commit", present("t1"))
	w.answer(t, "verify", fault1("change"))
	w.want(t, "verify waiting")
	if len(w.approvals) != 1 {
		t.Errorf("%d questions were asked, want the escalation alone", len(w.approvals))
	}
}

func TestREAL07_AnOpenApprovalIsWithdrawnWhenItsChangeLands(t *testing.T) {
	w := bug(t, "approve")
	if !w.run().Withdrawable() {
		t.Fatal("the change cannot be withdrawn, though nobody has approved it")
	}
	n := len(w.events)
	if err := w.run().Withdraw("it landed with p-9"); err != nil {
		t.Fatal(err)
	}
	check(t, w.since(n), `
		withdrawn: it landed with p-9
		approval lapsed: it landed with p-9
		approve skipped
		approve-commit taken: nothing left
		commit dispatched to engineering-manager: 1.1`)
	for _, until := range []string{"commit", "verify", "land"} {
		if bug(t, until).run().Withdrawable() {
			t.Errorf("at %s the change can be withdrawn from outside", until)
		}
	}
}

// An approval that is asked before any work is about the plan, and is asked.
func TestREAL07_AnApprovalBeforeTheWorkIsAsked(t *testing.T) {
	def := define("s start\nfirst approval\na task\ncommit task\nverify task\ne end\ns -> first\nfirst -> a\na -> commit\ncommit -> verify\nverify -> e", func(n map[string]*loomv1.NodeDefinition) {
		n["commit"].Kind, n["commit"].Role = loomv1.NodeKind_NODE_KIND_COMMIT, "engineering-manager"
		n["verify"].Kind, n["verify"].Role = loomv1.NodeKind_NODE_KIND_VERIFY, "qa-engineer"
	})
	newWorld(t, def, nil).want(t, "first waiting")
}
