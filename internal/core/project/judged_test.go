package project_test

import (
	"slices"
	"strings"
	"testing"

	pattern "github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a verification finds wrong with the work of a session goes to the operator and to no
// step: nothing lands that the completion check has not judged. A step that is chosen then
// is judged anew.
func TestPAT01_WhatLandsIsWhatWasJudged(t *testing.T) {
	for name, breaks := range map[string]func(*desk){
		"a verification": func(d *desk) {
			d.work("engineering-manager", candidate("p1", 1))
			bad := verified("c-p1", false)
			bad.Checks[0].Command = verify.Command
			d.work("qa-engineer", bad)
		},
		"a conflict": func(d *desk) {
			out := outcome(failed, map[string]any{"fault": "change"})
			out.Summary = "conflicts with the target in claims.md"
			d.work("engineering-manager", out)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			s := d.sealed()
			first := s.Bead
			d.work("analyst", leaves("claims.md"))
			d.speak(s.Id, proceeds(0))
			d.toGathered()
			breaks(d)
			s = d.sessionNow(s.Id)
			if s.Phase != pattern.Completion || len(s.Unmet) != 2 || len(d.s.Queued()) != 0 || len(d.inboxes()) != 0 || d.status(first) != "aborted" {
				t.Fatalf("after it: %v %v, queued %v, bead %s", s.Phase, s.Unmet, d.s.Queued(), d.status(first))
			}
			s = d.speak(s.Id, chooses(loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, 2))
			if s.Running.GetStep() != 2 || s.Bead == first {
				t.Fatalf("step 2 again: %v", s.Running)
			}
			d.toGathered()
			if s = d.sessionNow(s.Id); s.Phase != pattern.Delivery {
				t.Errorf("judged anew: %v", s.Phase)
			}
		})
	}
}

// toGathered does the last step of a session of notes, and what is judged and put together
// after it.
func (d *desk) toGathered() {
	d.t.Helper()
	d.work("analyst", leaves("findings.md"))
	d.work("qa-engineer", outcome(success, map[string]any{"success_1": true, "evidence_1": "notes 1 and 3", "broken": ""}))
	gathered := changing("p1", "claims.md", "findings.md")
	gathered.Fields = outcome(success, map[string]any{"files": 2}).Fields
	d.work("engineering-manager", gathered)
}

// A step that fails as often as it may stops its session, and asks for no signature: the
// operator has it done again.
func TestPAT04_AStepThatFailsStopsItsSession(t *testing.T) {
	d := newDesk(t)
	s := d.sealed()
	for range 3 {
		out := outcome(failed, nil)
		out.Summary = "the notes are not there"
		d.work("analyst", out)
		if d.sessionNow(s.Id).Running == nil {
			break
		}
		d.wait(1 << 40)
	}
	s = d.sessionNow(s.Id)
	if s.Running != nil || !s.Stopped || len(d.inboxes()) != 0 || len(d.s.Queued()) != 0 {
		t.Fatalf("after three failures: %v, queued %v", s, d.s.Queued())
	}
	facts := d.sessionFacts(s.Id)
	var ended *loomv1.StepEnded
	for _, f := range facts {
		if f.GetStepEnded() != nil {
			ended = f.GetStepEnded()
		}
	}
	if ended.GetStatus() != loomv1.StepStatus_STEP_STATUS_FAILED || !strings.Contains(ended.Summary, "the notes are not there") {
		t.Errorf("it ended as %v", ended)
	}
	if s = d.speak(s.Id, proceeds(1)); s.Running.GetStep() != 1 {
		t.Errorf("again: %v", s)
	}
}

// A constraint that what was left does not keep is an item of the completion check: it waits
// for the operator's choice, and accepted it is told to whoever verifies, with what the
// operator has said.
func TestPAT06_BrokenConstraintsAreJudged(t *testing.T) {
	for said, want := range map[string]string{
		"":                                     "",
		"none":                                 "",
		"1: eight findings, \"8. The shop\"":   "constraint/1: eight findings, \"8. The shop\"",
		"Constraint 1 - eight findings":        "constraint/1: eight findings",
		"added: it names Ann\n1: eight\n1. so": "constraint/added: it names Ann; constraint/1: eight\nso",
		"scope 1: it tells of July":            "scope/1: it tells of July",
		"7: there is none of this number":      "constraint/added: 7: there is none of this number",
		"It names Ann.":                        "constraint/added: It names Ann.",
	} {
		d := newDesk(t)
		s := d.sealed()
		d.work("analyst", leaves("claims.md"))
		d.speak(s.Id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Steer{Steer: &loomv1.Steer{Text: "Nobody is named", Redirect: true}}})
		d.speak(s.Id, proceeds(0))
		d.work("analyst", leaves("findings.md"))
		b, who := d.claim("qa-engineer")
		if len(b.Step.Steering) != 1 || len(b.Step.Rubric) != 1 {
			t.Errorf("who judges is told %v, %v", b.Step.Steering, b.Step.Rubric)
		}
		d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
			Attempt: b.Attempt.Id, Claimant: who, Outcome: outcome(success, map[string]any{"success_1": true, "evidence_1": "notes 1 and 3", "broken": said}),
		}}})
		var broken []string
		for _, f := range d.sessionFacts(s.Id) {
			for _, v := range f.GetJudged().GetVerdicts() {
				if strings.HasPrefix(v.Item, "constraint/") || strings.HasPrefix(v.Item, "scope/") {
					broken = append(broken, v.Item+": "+v.Evidence)
				}
			}
		}
		s = d.sessionNow(s.Id)
		if got := strings.Join(broken, "; "); got != want || len(s.Unmet) != len(broken) || (s.Phase == pattern.Completion) != (want != "") {
			t.Errorf("%q: broken are %q, want %q; unmet are %v", said, got, want, s.Unmet)
		}
		if want == "" {
			continue
		}
		d.speak(s.Id, chooses(loomv1.CompletionChoice_COMPLETION_CHOICE_GAP, 0))
		if b, _ = d.claim("engineering-manager"); len(b.Step.Gaps) != len(broken) || len(b.Step.Steering) != 1 {
			t.Errorf("who goes on is told of gaps %q and of %v", b.Step.Gaps, b.Step.Steering)
		}
		for i, gap := range b.Step.Gaps {
			item, why, _ := strings.Cut(broken[i], ": ")
			words := pattern.Criterion(s.Envelope, item)
			if !strings.HasSuffix(gap, why) || !strings.Contains(gap, words) || gap == item+": "+item {
				t.Errorf("who goes on is told of the gap %q, want %q and why: %q", gap, words, why)
			}
		}
	}
}

// At its end a session counts what was met of criteria and outputs, and apart from that the
// constraints that were accepted as not kept; the beads of what stays open have words.
func TestPAT06_TheEndCountsWhatWasMet(t *testing.T) {
	d := newDesk(t)
	s := d.sealed()
	d.work("analyst", leaves("claims.md"))
	d.speak(s.Id, proceeds(0))
	d.work("analyst", leaves("findings.md"))
	d.work("qa-engineer", outcome(success, map[string]any{"success_1": true, "evidence_1": "notes 1 and 3", "broken": "added: it names Ann\nscope 1: it tells of July"}))
	d.speak(s.Id, chooses(loomv1.CompletionChoice_COMPLETION_CHOICE_GAP, 0))
	gathered := changing("p1", "claims.md", "findings.md")
	gathered.Fields = outcome(success, map[string]any{"files": 2}).Fields
	d.work("engineering-manager", gathered)
	d.work("engineering-manager", candidate("p1", 1))
	checked := verified("c-p1", true)
	checked.Checks[0].Command = verify.Command
	d.work("qa-engineer", checked)
	d.work("engineering-manager", landed("c-p1"))
	s = d.sessionNow(s.Id)
	if !s.Ended {
		t.Fatalf("it has not ended: %v", s)
	}
	var told []string
	for _, f := range s.Facts {
		told = append(told, f.GetReintegrated().GetLines()...)
		for i, id := range f.GetReintegrated().GetBeads() {
			want := []string{"it names Ann", "All of June: it tells of July"}[i]
			if goal := d.bead(id).Goal; goal != "Left open by session s1: "+want {
				t.Errorf("bead %s is for %q, want %q", id, goal, want)
			}
		}
	}
	if want := "3 of 3 criteria and outputs are met, and constraints accepted as not kept: 2."; !slices.Contains(told, want) {
		t.Errorf("the operator is told %q, want %q", told, want)
	}
}

// A step that is done again and leaves the very same files says so in its session, and whoever
// judges is told.
func TestPAT06_AStepDoneAgainThatLeavesTheSameIsTold(t *testing.T) {
	for again, want := range map[string]string{
		strings.Repeat("a", 64): "It was done again, and left what it had left before: findings.md",
		strings.Repeat("b", 64): "",
	} {
		d := newDesk(t)
		s := d.sealed()
		d.work("analyst", leaves("claims.md"))
		d.speak(s.Id, proceeds(0))
		d.work("analyst", leaves("findings.md"))
		d.work("qa-engineer", outcome(success, map[string]any{"success_1": false, "evidence_1": "", "broken": ""}))
		d.speak(s.Id, chooses(loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, 2))
		out := leaves("findings.md")
		out.Left[0].Content.Sha256 = again
		d.work("analyst", out)
		b, _ := d.claim("qa-engineer")
		judge := ""
		for _, done := range b.Step.Done {
			judge += strings.TrimSpace(done.Notes)
		}
		told := ""
		for _, f := range d.sessionFacts(s.Id) {
			told += strings.TrimSpace(f.GetStepEnded().GetNotes())
		}
		if judge != want || told != want {
			t.Errorf("the judge is told %q and the operator %q, want %q", judge, told, want)
		}
	}
}
