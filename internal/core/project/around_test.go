package project_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	pattern "github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// No way leads around primacy: what a session begins can be begun, moved, done again or
// put in another's place by nobody else, and each try is recorded.
func TestPAT02_WaysAroundPrimacyAreRefusedAndRecorded(t *testing.T) {
	d := newDesk(t)
	s := d.sealed()
	b := d.work("analyst", leaves("claims.md"))
	work, bead := b.Execution.Id, s.Bead
	d.speak(s.Id, aborts(true))
	resumed := d.speak(s.Id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Resume{Resume: &loomv1.ResumePattern{}}})
	def, err := processes.SessionWorkflow(notes(t), 1, roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	def.Pattern = ""
	renamed := proto.CloneOf(def)
	renamed.Name = "mine"
	for _, tt := range []struct {
		name string
		try  func() error
		want string
	}{
		{"reopen", func() error { _, err := d.do(reopenBead(bead, "k")); return err }, "intent/unsealed"},
		{"fork", func() error {
			_, err := d.do(forks(&loomv1.ForkExecution{Execution: work, Node: "find", Request: "r"}))
			return err
		}, "intent/unsealed"},
		{"move", func() error { return d.present(ceo, d.order(moves(resumed.Bead+"-x1", "find", "faster"))) }, "intent/phase"},
		{"redefine", func() error {
			return d.present(ceo, d.order(func(c *loomv1.CeoCommand) {
				c.Verb = &loomv1.CeoCommand_Define{Define: &loomv1.ChangeDefinition{Definition: def, Reason: "without questions"}}
			}))
		}, "intent/unsealed"},
		{"define under another name", func() error {
			return d.present(ceo, d.order(func(c *loomv1.CeoCommand) {
				c.Verb = &loomv1.CeoCommand_Define{Define: &loomv1.ChangeDefinition{Definition: renamed, Reason: "without questions"}}
			}))
		}, "intent/unsealed"},
	} {
		n := len(d.events)
		if err := tt.try(); fault.Code(err) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		if f := fault.From(tt.try()); tt.name == "reopen" && (!strings.Contains(f.Error(), `pattern "notes"`) || !strings.Contains(f.Error(), "loom pattern resume "+s.Id)) {
			t.Errorf("%s names neither session nor pattern: %s", tt.name, f.Error())
		}
		recorded := false
		for _, e := range d.events[n:] {
			recorded = recorded || e.GetSubmissionRejected().GetError().GetCode() == tt.want || e.GetCommandRefused().GetError().GetCode() == tt.want
		}
		if !recorded {
			t.Errorf("%s is not recorded: %v", tt.name, d.events[n:])
		}
	}
	if got := d.sessionNow(s.Id); got.Running.GetStep() != 2 || got.Bead != resumed.Bead {
		t.Errorf("the session after all that: %v", got)
	}
}

// A process whose node is done by the work of a session begins none: the parent hears why.
func TestPAT02_NoChildIsTheWorkOfASession(t *testing.T) {
	d := newDesk(t)
	d.store(line("outer", "1.0", part("research", "pattern-notes"), task("sum-up", "project-manager")))
	s := d.sealed()
	f := d.file(&loomv1.Submission{Goal: "the same without questions", Process: "outer"})
	x := d.execution(f.Execution)
	node := x.Nodes["research"]
	out := node.GetOutcome()
	if h := node.GetHistory(); len(h) > 0 {
		out = h[len(h)-1].Outcome
	}
	if out.GetCode() != "intent/unsealed" || node.GetAttempt().GetChild() != "" {
		t.Errorf("the parent was told %v of child %q", out, node.GetAttempt().GetChild())
	}
	recorded := false
	for _, e := range d.events {
		recorded = recorded || e.GetAttemptEnded().GetOutcome().GetCode() == "intent/unsealed"
	}
	if !recorded {
		t.Error("it is not recorded")
	}
	if got := d.sessionNow(s.Id); got.Phase != pattern.Execution {
		t.Errorf("the session: %v", got.Phase)
	}
}

// What was delivered and did not land is a choice again: a step is done anew in a bead of
// its own, or nothing of it is accepted as a gap, and the session ends.
func TestPAT01_ADeliveryThatFailsIsAChoice(t *testing.T) {
	judged := func(t *testing.T) (*desk, string) {
		d := newDesk(t)
		s := d.sealed()
		d.work("analyst", leaves("claims.md"))
		d.speak(s.Id, proceeds(0))
		d.work("analyst", leaves("findings.md"))
		d.work("qa-engineer", outcome(success, map[string]any{"success_1": true, "evidence_1": "notes 1 and 3", "broken": ""}))
		if s = d.sessionNow(s.Id); s.Phase != pattern.Delivery {
			t.Fatalf("after the judgment: %v", s)
		}
		d.give(closes(s.Bead+"-x1", "it lands nowhere"))
		if s = d.sessionNow(s.Id); s.Phase != pattern.Completion || len(s.Unmet) != 2 || s.Ended {
			t.Fatalf("after its work was closed: %v", s)
		}
		return d, s.Id
	}
	d, id := judged(t)
	first := d.sessionNow(id).Bead
	s := d.speak(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Choose{Choose: &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, Step: 2}}})
	if s.Running.GetStep() != 2 || s.Bead == first {
		t.Fatalf("step 2 again: %v", s)
	}
	if b := d.work("analyst", leaves("findings.md")); b.Step.Earlier[0].GetName() != "sessions/s1/claims.md" {
		t.Errorf("what the agent finds: %v", b.Step.Earlier)
	}
	d.work("qa-engineer", outcome(success, map[string]any{"success_1": true, "evidence_1": "notes 1 and 3", "broken": ""}))
	if s = d.sessionNow(id); s.Phase != pattern.Delivery || len(d.s.Queued()) != 1 {
		t.Errorf("judged anew: %v, queued %v", s.Phase, d.s.Queued())
	}

	d, id = judged(t)
	s = d.speak(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Choose{Choose: &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_GAP}}})
	if !s.Ended || len(s.Gaps) != 2 {
		t.Errorf("accepted as it is: %v", s)
	}
	for _, f := range d.sessionNow(id).Facts {
		if del := f.GetDelivered(); del != nil && len(del.Outputs) > 0 {
			t.Errorf("delivered all the same: %v", del)
		}
	}
}

// Where nobody can judge the criteria, none of them is met, and a person chooses.
func TestPAT01_CriteriaThatNobodyJudgesAreAChoice(t *testing.T) {
	d := newDesk(t)
	s := d.sealed()
	d.work("analyst", leaves("claims.md"))
	d.speak(s.Id, proceeds(0))
	d.work("analyst", leaves("findings.md"))
	d.give(closes(s.Bead+"-x1", "nobody judges"))
	if s = d.sessionNow(s.Id); s.Phase != pattern.Completion || len(s.Unmet) != 1 || s.Unmet[0] != "success/1" {
		t.Errorf("after its work was closed: %v", s)
	}
	if why := verdictOn(s, "success/1"); !strings.Contains(why, "nobody judges") {
		t.Errorf("that nobody has judged it is told as %q", why)
	}
}

// A judge that comes to nothing says which attempt was the last, and with what it failed.
func TestPAT01_AJudgeThatFailsIsTold(t *testing.T) {
	d := newDesk(t)
	s := d.sealed()
	d.work("analyst", leaves("claims.md"))
	d.speak(s.Id, proceeds(0))
	d.work("analyst", leaves("findings.md"))
	for tries := 0; len(d.sessionNow(s.Id).Unmet) == 0 && tries < 8; tries++ {
		for len(d.s.Queued()) == 0 {
			d.later(time.Minute)
		}
		out := outcome(failed, map[string]any{"success_1": false, "evidence_1": "", "broken": ""})
		out.Summary = "the model asked for a tool that is not there"
		d.work("qa-engineer", out)
	}
	if why := verdictOn(d.sessionNow(s.Id), "success/1"); !strings.Contains(why, "attempts") || !strings.Contains(why, "the model asked for a tool that is not there") {
		t.Errorf("why nobody has judged it is told as %q", why)
	}
}

// verdictOn is what was last said about an item.
func verdictOn(s *loomv1.PatternSession, item string) (why string) {
	for _, f := range s.Facts {
		for _, v := range f.GetJudged().GetVerdicts() {
			if v.Item == item {
				why = v.Evidence
			}
		}
	}
	return why
}
