package project_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/base/fault"
	pattern "github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (d *desk) speak(id string, cmd *loomv1.IntentCommand) *loomv1.PatternSession {
	d.t.Helper()
	return d.ok(inSession(id, "", cmd)).GetSession()
}

func (d *desk) sessionNow(id string) *loomv1.PatternSession {
	d.t.Helper()
	v, err := d.s.Look(project.Sessions, &loomv1.Query{Id: id})
	if err != nil {
		d.t.Fatal(err)
	}
	return v.Sessions[0]
}

func (d *desk) sealed() *loomv1.PatternSession {
	d.t.Helper()
	return d.sealedWith(notes(d.t))
}

func (d *desk) sealedWith(p *loomv1.Pattern) *loomv1.PatternSession {
	d.t.Helper()
	s := d.sessionWith(p)
	return d.ok(seals(s.Id, s.Shown.Digest)).GetSession()
}

func proceeds(step uint32) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Proceed{Proceed: &loomv1.Proceed{Step: step}}}
}

func aborts(draft bool) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Abort{Abort: &loomv1.AbortPattern{Reason: "enough", SaveDraft: draft}}}
}

// leaves is the outcome of a step of the first session that has left files.
func leaves(names ...string) *loomv1.Outcome {
	out := outcome(success, nil)
	for _, name := range names {
		out.Left = append(out.Left, &loomv1.NamedBlob{Name: "sessions/s1/" + name, Content: &loomv1.BlobRef{Sha256: strings.Repeat("a", 64), Size: 7}})
	}
	return out
}

// A sealed envelope is validated, roles and inputs are named, and the first step is work
// of a bead, in one command; between steps nothing is handed out, and a step is held to
// the tempo that the operator says.
func TestPAT03_StepsAreWorkBetweenStops(t *testing.T) {
	d := newDesk(t)
	s := d.sealed()
	if s.Phase != pattern.Execution || s.Running.GetStep() != 1 || s.Bead == "" {
		t.Fatalf("after the seal: %v", s)
	}
	b := d.work("analyst", leaves("claims.md"))
	if b.Step.GetEnvelope() == nil || b.Step.GetRun().GetLimits().GetModelTier() != 2 || len(b.Step.Deliverables) != 1 {
		t.Errorf("what the agent of step 1 knows: %v", b.Step)
	}
	s = d.sessionNow(s.Id)
	if !s.Stopped || len(d.s.Queued()) != 0 {
		t.Fatalf("at the stop: %v, queued %v", s, d.s.Queued())
	}
	d.speak(s.Id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Steer{Steer: &loomv1.Steer{Text: "At most nine lines", Redirect: true}}})
	d.speak(s.Id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_SetTempo{SetTempo: &loomv1.SetTempo{Tempo: loomv1.Tempo_TEMPO_ADAGIO}}})
	d.speak(s.Id, proceeds(0))

	// A step that has not left what it has to leave has failed, and is done again.
	b = d.work("analyst", leaves())
	if len(b.Step.Steering) != 1 || b.Step.GetRun().GetLimits().GetModelTier() != 3 || b.Step.Earlier[0].GetName() != "sessions/s1/claims.md" {
		t.Errorf("what the agent of step 2 knows: %v", b.Step)
	}
	if _, err := d.do(inSession(s.Id, "", proceeds(0))); fault.Code(err) != "intent/step" {
		t.Errorf("on from a step that failed: %v", err)
	}
	if got := d.speak(s.Id, proceeds(2)); got.Running.GetRun() != 3 {
		t.Errorf("step 2 again: %v", got.Running)
	}
	d.work("analyst", leaves("findings.md"))
	if s = d.sessionNow(s.Id); !s.Stopped || s.Phase != pattern.Steering {
		t.Errorf("adagio stops after the last step too: %v", s)
	}
	d.speak(s.Id, proceeds(0))
	d.work("qa-engineer", outcome(success, map[string]any{"success_1": false, "evidence_1": "", "broken": ""}))
	if s = d.sessionNow(s.Id); s.Phase != pattern.Completion || len(s.Unmet) != 1 || len(d.s.Queued()) != 0 {
		t.Fatalf("after the judgment: %v, queued %v", s, d.s.Queued())
	}

	// A step that is chosen runs again, and all is judged anew.
	d.speak(s.Id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Choose{Choose: &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, Step: 2}}})
	again, who := d.claim("analyst")
	if why := strings.Join(again.Step.Again, "|"); !strings.HasPrefix(why, "success/1, ") || !strings.Contains(why, ": not met") {
		t.Errorf("it is done again because of %q", why)
	}
	d.answers(again, who, leaves("findings.md"))
	d.speak(s.Id, proceeds(0))
	d.work("qa-engineer", outcome(success, map[string]any{"success_1": true, "evidence_1": "notes 1 and 3", "broken": ""}))
	if s = d.sessionNow(s.Id); s.Phase != pattern.Delivery || len(d.s.Queued()) != 1 {
		t.Errorf("all is met: %v, queued %v", s.Phase, d.s.Queued())
	}
}

// An abort waits for the step that runs; a second one cancels it. What works for the
// session ends, memory has the record, and a session that is taken up begins with a bead
// of its own.
func TestPAT04_AbortOfAHostedSession(t *testing.T) {
	d := newDesk(t)
	s := d.sealed()
	d.claim("analyst")
	if got := d.speak(s.Id, aborts(true)); got.Aborted != nil || got.Running == nil {
		t.Errorf("while the step runs: %v", got)
	}
	s = d.speak(s.Id, aborts(true))
	if s.Aborted.GetRecord().GetAbortedAtStep() != 1 || d.status(s.Bead) != "aborted" || len(d.s.Queued()) != 0 {
		t.Errorf("after the second abort: %v, bead %s", s.Aborted, d.status(s.Bead))
	}
	v, err := d.s.Look(project.Memories, &loomv1.Query{Type: "pattern_abort"})
	if err != nil || len(v.Memories) != 1 || !strings.Contains(v.Memories[0].Text, "abortedAtStep: 1") {
		t.Errorf("memory has %v, %v", v.GetMemories(), err)
	}
	first := s.Bead
	s = d.speak(s.Id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Resume{Resume: &loomv1.ResumePattern{}}})
	if s.Running.GetStep() != 1 || s.Bead == first {
		t.Errorf("taken up: %v, bead %s", s.Running, s.Bead)
	}
	if _, err := d.do(reopenBead(first, "k")); fault.Code(err) != "intent/unsealed" {
		t.Errorf("the first bead again: %v", err)
	}
	if _, err := d.do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: "around it", Process: "pattern-notes"}}}}); fault.Code(err) != "intent/unsealed" {
		t.Errorf("a submission around the session: %v", err)
	}
	d.give(closes(s.Bead+"-x1", "not now"))
	if s = d.sessionNow(s.Id); s.Running != nil || !s.Stopped {
		t.Errorf("after its work was closed: %v", s)
	}
}

// An envelope that cannot be judged by is revised: no work begins for it, and the new one
// names the old.
func TestPAT01_MetaValidationStopsASession(t *testing.T) {
	d := newDesk(t)
	s := d.ok(opensSession(notes(t), "")).GetSession()
	for i, text := range []string{"What the notes agree on", "At most seven findings", "The team", "All of June", "It is good"} {
		s = d.ok(says(s.Id, uint32(i+1), text)).GetSession()
	}
	old := s.Shown.Digest
	s = d.ok(seals(s.Id, old)).GetSession()
	if s.Phase != pattern.Meta || !pattern.Blocks(s.Findings) || s.Bead != "" || len(d.s.Queued()) != 0 {
		t.Fatalf("after the seal: %v", s)
	}
	s = d.speak(s.Id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Revise{Revise: &loomv1.ReviseIntent{Reason: "say it so that it can be judged"}}})
	for i, text := range []string{"What the notes agree on", "At most seven findings", "The team", "All of June", "Every finding names two notes"} {
		s = d.ok(says(s.Id, s.Question.GetNumber(), text)).GetSession()
		if i < 4 && s.Question == nil {
			t.Fatalf("after answer %d: %v", i+1, s)
		}
	}
	if s.Shown.GetEnvelope().GetSupersedes() != old {
		t.Errorf("the new envelope supersedes %q, want %q", s.Shown.GetEnvelope().GetSupersedes(), old)
	}
	if s = d.ok(seals(s.Id, s.Shown.Digest)).GetSession(); s.Phase != pattern.Execution || s.Bead == "" {
		t.Errorf("the revised session: %v", s)
	}
}

// Who works for a session is told nothing around it: what a person says is held against the
// sealed intent, and recorded in the session.
func TestPAT04_NothingIsSaidAroundASession(t *testing.T) {
	d := newDesk(t)
	s := d.sealed()
	d.claim("analyst")
	_, err := d.do(&loomv1.Command{Body: &loomv1.Command_TellExecution{TellExecution: &loomv1.TellExecution{Execution: s.Bead + "-x1", Request: "r1", Text: "Forget the intent"}}})
	if fault.Code(err) != "intent/phase" || !strings.Contains(fault.From(err).Hint, "loom pattern steer s1") {
		t.Errorf("said around the session: %v", err)
	}
}

// A session that waits for a person is in the inbox, with what it waits for: before the seal,
// at a stop and at a choice, and not while it works.
func TestPAT04_ASessionThatWaitsIsInTheInbox(t *testing.T) {
	d := newDesk(t)
	waits := func(want string) {
		t.Helper()
		v, err := d.s.Look(project.Inbox, &loomv1.Query{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, s := range v.Sessions {
			got += pattern.WaitsFor(s)
		}
		if got != want {
			t.Errorf("the inbox has a session that waits for %q, want %q", got, want)
		}
	}
	waits("")
	s := d.ok(opensSession(notes(t), "")).GetSession()
	waits("an answer")
	for i, text := range []string{"What the notes agree on", "At most seven findings", "The team", "All of June", "Every finding names two notes"} {
		s = d.ok(says(s.Id, uint32(i+1), text)).GetSession()
	}
	waits("the seal")
	d.ok(seals(s.Id, s.Shown.Digest))
	waits("")
	d.work("analyst", leaves("claims.md"))
	waits("the operator")
	d.speak(s.Id, proceeds(0))
	waits("")
	d.work("analyst", leaves("findings.md"))
	out := outcome(success, map[string]any{"success_1": false, "evidence_1": "", "broken": ""})
	out.Summary, out.Notes = "not all", "finding 2 names one note"
	d.work("qa-engineer", out)
	waits("a choice")
	s = d.sessionNow(s.Id)
	why := ""
	for _, f := range s.Facts {
		for _, v := range f.GetJudged().GetVerdicts() {
			if !v.Met {
				why = v.Evidence
			}
		}
	}
	if why != "not all\nfinding 2 names one note" {
		t.Errorf("why it is not met: %q", why)
	}
	d.speak(s.Id, aborts(false))
	waits("")
}

// The files of a session lie in its own folder: that is what its agents leave, and where what
// it has delivered is.
func TestPAT03_ASessionHasAFolderOfItsOwn(t *testing.T) {
	d := newDesk(t)
	d.sealed()
	second := d.sealed()
	b := d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: second.Bead + "-x1-a1", Generation: 1, Claimant: &loomv1.Claimant{Agent: "analyst/1", Host: "here", Epoch: 1},
	}}}).GetBrief()
	if got := b.Step.Deliverables; len(got) != 1 || got[0] != "sessions/s2/claims.md" {
		t.Errorf("step 1 of %s leaves %v", second.Id, got)
	}
	if got := b.Execution.GetContext().GetFields()["session"].GetStringValue(); got != "s2" {
		t.Errorf("its phases are named for %q", got)
	}
}

// dies ends the host: what was not answered is lost, and a state from the snapshot goes on.
func (d *desk) dies() {
	d.t.Helper()
	before := d.s.Hash()
	restored, err := project.Restore(d.cfg, d.s.Snapshot())
	if err != nil || restored.Hash() != before {
		d.t.Fatalf("from a snapshot: %v, another state: %t", err, err == nil && restored.Hash() != before)
	}
	d.s = restored
}

// An abort at every step, with a crash before it, between it and the second one, and after
// it: one record in memory, the draft of the finished steps, nothing that works on, and a
// session that is taken up at the step that was cut off, or at the completion check.
func TestPAT04_AnAbortAtEveryStepOverACrash(t *testing.T) {
	longtest.Skip(t)
	points := []struct {
		name  string
		reach func(*desk, string)
		at    uint32
		draft int
		next  uint32
	}{
		{"step 1 is queued", func(*desk, string) {}, 1, 0, 1},
		{"step 1 is claimed", func(d *desk, _ string) { d.claim("analyst") }, 1, 0, 1},
		{"after step 1", func(d *desk, _ string) { d.work("analyst", leaves("claims.md")) }, 1, 1, 2},
		{"step 2 is queued", func(d *desk, id string) { d.work("analyst", leaves("claims.md")); d.speak(id, proceeds(0)) }, 2, 1, 2},
		{"step 2 is claimed", func(d *desk, id string) {
			d.work("analyst", leaves("claims.md"))
			d.speak(id, proceeds(0))
			d.claim("analyst")
		}, 2, 1, 2},
		{"the completion check", func(d *desk, id string) {
			d.work("analyst", leaves("claims.md"))
			d.speak(id, proceeds(0))
			d.work("analyst", leaves("findings.md"))
		}, 2, 2, 0},
	}
	for _, p := range points {
		t.Run(p.name, func(t *testing.T) {
			d := newDesk(t)
			s := d.sealed()
			p.reach(d, s.Id)
			d.dies()
			if got := d.speak(s.Id, aborts(true)); got.Aborted == nil {
				d.dies()
				d.speak(s.Id, aborts(true))
			}
			d.dies()
			got := d.sessionNow(s.Id)
			if r := got.Aborted.GetRecord(); r.GetAbortedAtStep() != p.at || !r.PartialOutputSaved || len(got.Aborted.Draft) != p.draft || len(d.s.Queued()) != 0 {
				t.Errorf("aborted: %v, queued %v", got.Aborted, d.s.Queued())
			}
			v, err := d.s.Look(project.Memories, &loomv1.Query{Type: "pattern_abort"})
			if err != nil || len(v.Memories) != 1 {
				t.Errorf("memory has %v, %v", v.GetMemories(), err)
			}
			flushed := 0
			for _, f := range got.Facts {
				if f.GetFlushed() != nil {
					flushed++
				}
			}
			if flushed != 1 {
				t.Errorf("active memory was emptied %d times", flushed)
			}
			if again := d.speak(s.Id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Resume{Resume: &loomv1.ResumePattern{}}}); again.Running.GetStep() != p.next || again.Bead == s.Bead {
				t.Errorf("taken up at %v, bead %s", again.Running, again.Bead)
			}
		})
	}
}

// A session that is taken up tells the step that goes on what those before it said, whose
// work is in another bead. That it has its work go on there is no word of a person, no
// failure of a step, and nothing to be remembered.
func TestPAT04_ASessionTakenUpTellsWhatStepsBeforeSaid(t *testing.T) {
	d := newDesk(t)
	s := d.sealed()
	said := leaves("claims.md")
	said.Summary, said.Notes = "nine claims", "claim 3 can be read in two ways"
	d.work("analyst", said)
	d.speak(s.Id, proceeds(0))
	if b := d.work("analyst", leaves()); len(b.Step.Done) != 0 { // it has left nothing
		t.Errorf("told of what its own bead has done: %v", b.Step.Done)
	}
	d.speak(s.Id, aborts(true))
	d.speak(s.Id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Resume{Resume: &loomv1.ResumePattern{}}})
	b := d.work("analyst", leaves("findings.md"))
	if b.Comment != "" {
		t.Errorf("the CEO is said to ask for %q", b.Comment)
	}
	if len(b.Step.Done) != 1 || b.Step.Done[0].Step != 1 || b.Step.Done[0].Summary != said.Summary || b.Step.Done[0].Notes != said.Notes {
		t.Errorf("step 2 is told of %v, want what step 1 said", b.Step.Done)
	}
	for _, e := range d.events {
		if title := e.GetDecisionAdded().GetNode().GetTitle(); strings.Contains(title, "by the CEO") {
			t.Errorf("the operator's abort is written down as %q", title)
		}
		if text := e.GetMemoryKept().GetEntry().GetText(); strings.Contains(text, "withdrawn") {
			t.Errorf("it is remembered: %s", text)
		}
	}
}

// Whoever answers a step and asks for more gets nothing of a session that stops there, and
// where it goes on what the next step is told.
func TestPAT03_WhoEndsAStepTakesNoOtherBeforeTheSessionHasHeard(t *testing.T) {
	for _, tt := range []struct {
		tempo loomv1.Tempo
		next  uint32 // step that is taken with the answer, 0 for none
	}{{pattern.Adagio, 0}, {pattern.Allegro, 2}} {
		d := newDesk(t)
		s := d.sealed()
		d.speak(s.Id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_SetTempo{SetTempo: &loomv1.SetTempo{Tempo: tt.tempo}}})
		b, who := d.claim("analyst")
		more := d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
			Attempt: b.Attempt.Id, Claimant: who, Outcome: leaves("claims.md"), Next: &loomv1.Ticket{Attempt: "another"},
		}}}).GetBrief()
		if got := more.GetStep().GetRun().GetStep(); (more != nil) != (tt.next > 0) || got != tt.next {
			t.Errorf("at %s the answer brings step %d: %v", tt.tempo, got, more.GetStep())
		}
		if s = d.sessionNow(s.Id); s.Stopped != (tt.next == 0) {
			t.Errorf("at %s the session stops: %t", tt.tempo, s.Stopped)
		}
	}
}
