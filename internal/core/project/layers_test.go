package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	pattern "github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// patternWith is the pattern of notes with something said otherwise.
func patternWith(t *testing.T, replace ...string) *loomv1.Pattern {
	t.Helper()
	r := processes.ReadPattern("notes.yaml", []byte(strings.NewReplacer(replace...).Replace(notesPattern)), "", roles.Builtin(), nil)
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	return r.Pattern
}

func decides(b *loomv1.Brief, who *loomv1.Claimant, title string) *loomv1.Command {
	return by(agent, who.Agent+"@"+who.Host, &loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{Node: &loomv1.DecisionNode{
		Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Title: title, Confidence: 80, Bead: b.Bead.Id, Execution: b.Execution.Id,
	}}}})
}

// What an agent keeps and decides in a step is refused where the step does not declare the
// layer, whatever its host offers it; what it may keep is a fact of its session. At the end
// active memory is gone, and what lasts is named with the step that it comes from.
func TestPAT05_AStepKeepsWhatItDeclares(t *testing.T) {
	entry := func(text string) *loomv1.MemoryEntry {
		return &loomv1.MemoryEntry{Type: "discovery", Text: text, Confidence: 95}
	}
	for _, tt := range []struct {
		writes            string
		keeps, decides    string // code of the refusal
		active, lasts, at int    // entries of the session's own memory, of durable memory, decisions
	}{
		{"[files]", "memory/access", "intent/layer", 0, 0, 0},
		{"[files, active]", "", "intent/layer", 1, 0, 0},
		{"[files, durable]", "", "intent/layer", 0, 1, 0},
		{"[files, decisions]", "memory/access", "", 0, 0, 1},
		{"[files, active, durable, decisions]", "", "", 1, 1, 1},
	} {
		t.Run(tt.writes, func(t *testing.T) {
			d := newDesk(t)
			s := d.sealedWith(patternWith(t, "claims., writes: [files], stop: true", "claims., writes: "+tt.writes))
			b, who := d.claim("analyst")
			if len(b.Step.Writes) != strings.Count(tt.writes, ",")+1 {
				t.Errorf("the agent is told that it writes %v", b.Step.Writes)
			}
			if _, err := d.do(keepsAs(b, who, entry("Note 3 contradicts note 9."))); fault.Code(err) != tt.keeps {
				t.Errorf("memory: %v, want %q", err, tt.keeps)
			}
			if _, err := d.do(decides(b, who, "Note 9 counts")); fault.Code(err) != tt.decides {
				t.Errorf("a decision: %v, want %q", err, tt.decides)
			}
			written := map[loomv1.SessionLayer]int{}
			for _, f := range d.sessionFacts(s.Id) {
				written[f.GetWritten().GetLayer()]++
			}
			if written[pattern.LayerActive] != tt.active || written[pattern.LayerDurable] != tt.lasts || written[pattern.LayerDecisions] != tt.at {
				t.Errorf("its session has heard of %v", written)
			}
			d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: leaves("claims.md")}}})
			w := d.toLanding(d.sessionNow(s.Id))
			d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: w.attempt, Claimant: w.who, Outcome: landed("c-p1")}}})
			v, err := d.s.Look(project.Memories, &loomv1.Query{Type: "discovery"})
			if err != nil {
				t.Fatal(err)
			}
			lasts := slices.ContainsFunc(v.Memories, func(e *loomv1.MemoryEntry) bool { return strings.Contains(e.Text, "note 9") })
			if lasts != (tt.lasts == 1) {
				t.Errorf("durable memory has %v", v.Memories)
			}
			var kept []*loomv1.MemoryUpdate
			var decided []string
			for _, f := range d.sessionFacts(s.Id) {
				if f.GetMemoryUpdated() != nil {
					kept = f.GetMemoryUpdated().Entries[1:] // after what the session was for
				}
				if f.GetReintegrated() != nil {
					decided = f.GetReintegrated().Decisions
				}
			}
			if len(kept) != tt.lasts+tt.at || len(kept) > 0 && kept[0].Sources[0] != "step/1" || len(decided) != 1+tt.at {
				t.Errorf("memory's update has %v, and decisions %v are linked", kept, decided)
			}
		})
	}
}

// sessionFacts are all facts of a session.
func (d *desk) sessionFacts(id string) []*loomv1.IntentFact {
	d.t.Helper()
	return d.sessionNow(id).Facts
}

// What an aborted session had in its own memory is gone, also what a sure agent kept twice.
func TestPAT05_AnAbortEmptiesActiveMemory(t *testing.T) {
	d := newDesk(t)
	s := d.sealedWith(patternWith(t, "claims., writes: [files]", "claims., writes: [files, active]"))
	b, who := d.claim("analyst")
	for range 2 {
		d.ok(keepsAs(b, who, &loomv1.MemoryEntry{Type: "discovery", Text: "Note 3 is wrong.", Confidence: 95}))
	}
	d.speak(s.Id, aborts(false))
	s = d.speak(s.Id, aborts(false))
	if s.Aborted == nil {
		t.Fatal("it goes on")
	}
	if v, err := d.s.Look(project.Memories, &loomv1.Query{Type: "discovery"}); err != nil || len(v.Memories) > 0 {
		t.Errorf("memory has %v, %v", v.GetMemories(), err)
	}
	flushed := uint32(0)
	for _, f := range d.sessionFacts(s.Id) {
		flushed += f.GetFlushed().GetEntries()
	}
	if flushed != 1 {
		t.Errorf("%d entries of its own memory were dropped, want 1", flushed)
	}
}

// A step may put as many questions to people as its tempo has, over all its attempts.
func TestPAT03_TheTempoBoundsQuestions(t *testing.T) {
	for tempo, most := range map[string]int{"allegro": 0, "andante": 2, "adagio": 8} {
		d := newDesk(t)
		d.sealedWith(patternWith(t, "default_tempo: andante", "default_tempo: "+tempo))
		b, who := d.claim("analyst")
		var calls []*loomv1.TeamCall
		for i := range 10 {
			calls = append(calls, asksUser(i, fmt.Sprintf("Is note %d meant?", i)))
		}
		replies, err := d.team(b, who, calls...)
		if err != nil {
			t.Fatalf("%s: %v", tempo, err)
		}
		asked := 0
		for _, r := range replies {
			if e := r.GetError(); e == nil {
				asked++
			} else if e.Code != "team/limit" {
				t.Fatalf("%s: %v", tempo, e)
			}
		}
		if asked != most {
			t.Errorf("%s: %d questions are asked, its tempo has %d", tempo, asked, most)
		}
	}
}

// A step that takes longer than it may is over as timed out, and its work is closed; the
// operator has it done again, by a bead of its own.
func TestPAT04_AStepThatTakesTooLongIsOver(t *testing.T) {
	d := newDesk(t)
	s := d.sealedWith(patternWith(t, "writes: [files], stop: true", "writes: [files], timeout: 10m"))
	first := s.Bead
	d.claim("analyst")
	d.wait(11 * time.Minute)
	s = d.sessionNow(s.Id)
	if s.Running != nil || !s.Stopped || d.status(first) != "aborted" || len(d.s.Queued()) != 0 {
		t.Fatalf("after its time: %v, bead %s, queued %v", s, d.status(first), d.s.Queued())
	}
	facts := d.sessionFacts(s.Id)
	if i := slices.IndexFunc(facts, func(f *loomv1.IntentFact) bool { return f.GetStepEnded() != nil }); facts[i].GetStepEnded().Status != loomv1.StepStatus_STEP_STATUS_TIMED_OUT {
		t.Errorf("it ended as %v", facts[i])
	}
	if _, err := d.do(inSession(s.Id, "", proceeds(0))); fault.Code(err) != "intent/step" {
		t.Errorf("on from it: %v", err)
	}
	if s = d.speak(s.Id, proceeds(1)); s.Running.GetStep() != 1 || s.Bead == first {
		t.Errorf("again: %v, bead %s", s.Running, s.Bead)
	}
}

// A session is judged by what may still be spent, and reserves what its project gives a
// bead; what other sessions hold back is not promised twice, and is free when they end.
func TestPAT01_ASessionReservesItsBudget(t *testing.T) {
	d := newDesk(t)
	d.configured(func(c *loomv1.ProjectConfig) {
		c.Budget, c.BeadBudget = &loomv1.Budget{MicroUsd: 5_000_000}, &loomv1.Budget{MicroUsd: 3_000_000, Tokens: 9000}
	})
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{Host: "h1", Roles: &loomv1.HostRoles{Epoch: 1, Agents: map[string]uint32{"analyst": 4, "qa-engineer": 1, "engineering-manager": 1, "lead": 1}}}}})
	reserved := func(s *loomv1.PatternSession) *loomv1.ActivatePattern {
		for _, f := range d.sessionFacts(s.Id) {
			if f.GetActivated() != nil {
				return f.GetActivated()
			}
		}
		return nil
	}
	first, second := d.sealed(), d.sealed()
	if a := reserved(first); a.GetBudgetMicroUsd() != 3_000_000 || a.Agents[0] != "analyst (4 at h1)" {
		t.Errorf("the first has %v", a)
	}
	if a := reserved(second); a.GetBudgetMicroUsd() != 2_000_000 {
		t.Errorf("the second has %v", a)
	}
	if b := d.bead(second.Bead).Budget; b.GetMicroUsd() != 2_000_000 || b.Tokens != 9000 {
		t.Errorf("its work may spend %v", b)
	}
	third := d.sealed()
	if third.Running != nil || !slices.ContainsFunc(third.Findings, func(f *loomv1.IntentFinding) bool { return f.Rule == "possible/budget" && f.Blocks }) {
		t.Errorf("the third: %v", third)
	}
	d.speak(first.Id, aborts(false))
	d.speak(first.Id, aborts(false))
	if fourth := d.sealed(); reserved(fourth).GetBudgetMicroUsd() != 3_000_000 {
		t.Errorf("after the first was aborted: %v", reserved(fourth))
	}
}
