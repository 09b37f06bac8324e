package project_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	pattern "github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// secret stands in all that the model of these tests must not bring before a person.
const secret = "qzxv"

// interviewed opens a session in which a model asks.
func (d *desk) interviewed() string {
	d.t.Helper()
	cmd := opensSession(notes(d.t), "")
	cmd.GetActInSession().Command.GetOpen().WithoutModel = false
	return d.ok(cmd).GetSession().Id
}

// hears has the agent that holds the interview say something.
func (d *desk) hears(b *loomv1.Brief, who *loomv1.Claimant, heard uint32, t *loomv1.InterviewTurn) *loomv1.InterviewBrief {
	d.t.Helper()
	return d.ok(turnOf(b, who, heard, t)).GetInterview()
}

func turnOf(b *loomv1.Brief, who *loomv1.Claimant, heard uint32, t *loomv1.InterviewTurn) *loomv1.Command {
	t.Attempt, t.Claimant, t.Heard = b.Attempt.Id, who, heard
	return &loomv1.Command{Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: who.Agent}, Body: &loomv1.Command_InterviewTurn{InterviewTurn: t}}
}

func asksOf(text string, about loomv1.IntentField) *loomv1.InterviewTurn {
	return &loomv1.InterviewTurn{Said: &loomv1.InterviewTurn_Ask{Ask: &loomv1.ProposeQuestion{Text: text, About: about}}}
}

func (d *desk) ends(b *loomv1.Brief, who *loomv1.Claimant) {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: outcome(success, nil)}}})
}

// unheard fails if what happened has a word of the model.
func (d *desk) unheard() {
	d.t.Helper()
	for _, e := range d.events {
		if raw, err := proto.Marshal(e); err != nil || strings.Contains(string(raw), secret) {
			d.t.Fatalf("a model's words are in %v (%v)", e, err)
		}
	}
}

var interviewQuestions = []struct {
	text  string
	about loomv1.IntentField
}{
	{"What do you hope to know?", pattern.Goal},
	{"What must stay out of it?", pattern.Constraints},
	{"Who will read it?", pattern.Audience},
	{"Which notes count?", pattern.Scope},
	{"By what will you see that it was worth it?", pattern.Success},
}

// A model asks in an attempt of its own, which waits while the person thinks; what it says
// beside its questions is withheld, and it ends with the envelope that it finishes.
func TestPAT02_AModelAsksInAnAttempt(t *testing.T) {
	d := newDesk(t)
	id := d.interviewed()
	if s := d.sessionNow(id); s.Question != nil || s.Bead != "" {
		t.Fatalf("before the model asks: %v", s)
	}
	answers := []string{"What the notes agree on", "At most seven findings", "The team", "All of June", "Every finding names two notes"}
	for i, q := range interviewQuestions {
		b, who := d.claim("analyst")
		if b.Node.Phase.Part != loomv1.PhasePart_PHASE_PART_INTERVIEW || len(b.Interview.GetAnswers()) != i || b.Step != nil {
			t.Fatalf("what the interviewer knows at question %d: %v", i+1, b.Interview)
		}
		turn := asksOf(q.text, q.about)
		turn.Beside = "I would suggest " + secret
		if got := d.hears(b, who, b.Interview.Heard, turn); !got.Waits || got.Over {
			t.Fatalf("after question %d: %v", i+1, got)
		}
		if _, err := d.do(turnOf(b, who, b.Interview.Heard, asksOf(q.text, q.about))); fault.Code(err) != "attempt/claimed" {
			t.Errorf("the same turn again: %v", err)
		}
		s := d.sessionNow(id)
		if s.Question.GetText() != q.text || len(d.s.Queued()) != 0 {
			t.Fatalf("it asks %v, and %v is queued", s.Question, d.s.Queued())
		}
		if d.s, _ = project.Restore(d.cfg, d.s.Snapshot()); d.s == nil {
			t.Fatal("the state cannot be restored")
		}
		d.ok(says(id, s.Question.Number, answers[i]))
	}
	b, who := d.claim("analyst")
	finish := &loomv1.InterviewTurn{Said: &loomv1.InterviewTurn_Finish{Finish: &loomv1.DraftIntent{Goal: []*loomv1.Quotation{{Answer: 1, Text: secret}}}}}
	got := d.hears(b, who, b.Interview.Heard, finish)
	if got.Over || !strings.Contains(got.Refusal, "does not have these words") {
		t.Errorf("a quotation of nobody's words: %v", got)
	}
	got = d.hears(b, who, got.Heard, &loomv1.InterviewTurn{Said: &loomv1.InterviewTurn_Finish{Finish: &loomv1.DraftIntent{Goal: []*loomv1.Quotation{{Answer: 1, Text: "the notes agree on"}}}}})
	if !got.Over {
		t.Fatalf("after the last question: %v", got)
	}
	d.ends(b, who)
	s := d.sessionNow(id)
	if s.Phase != pattern.Capture || s.Shown.GetEnvelope().GetGoal()[0].GetText() != "the notes agree on" || len(d.s.Queued()) != 0 {
		t.Fatalf("the envelope: %v, queued %v", s.Shown, d.s.Queued())
	}
	d.unheard()
	if s = d.ok(seals(id, s.Shown.Digest)).GetSession(); s.Running.GetStep() != 1 || s.Bead == "" || s.Bead == b.Bead.Id {
		t.Errorf("after the seal: %v", s)
	}
	if b = d.work("analyst", leaves("claims.md")); b.Interview != nil || b.Step.GetRun().GetStep() != 1 {
		t.Errorf("the work after it: %v", b)
	}
}

// After three questions that were held back, a call that came to nothing, or an interview
// that ended, the pattern's own questions are asked.
func TestPAT02_ThePatternAsksWhereNoModelDoes(t *testing.T) {
	for name, leave := range map[string]func(*desk, string, *loomv1.Brief, *loomv1.Claimant){
		"three proposals": func(d *desk, _ string, b *loomv1.Brief, who *loomv1.Claimant) {
			heard := b.Interview.Heard
			for i := range 3 {
				got := d.hears(b, who, heard, asksOf("How about "+secret+"?", pattern.Goal))
				if got.Over != (i == 2) || got.Over == (got.Refusal != "") || strings.Contains(got.Refusal, secret) {
					d.t.Fatalf("after proposal %d: %v", i+1, got)
				}
				heard = got.Heard
			}
			d.ends(b, who)
		},
		"no answer of the model": func(d *desk, _ string, b *loomv1.Brief, who *loomv1.Claimant) {
			if got := d.hears(b, who, b.Interview.Heard, &loomv1.InterviewTurn{Said: &loomv1.InterviewTurn_Unanswered{Unanswered: "it said " + secret}}); !got.Over {
				d.t.Fatalf("it goes on: %v", got)
			}
			d.ends(b, who)
		},
		"nothing but text": func(d *desk, _ string, b *loomv1.Brief, who *loomv1.Claimant) {
			heard := b.Interview.Heard
			for range pattern.MaxWithheld {
				heard = d.hears(b, who, heard, &loomv1.InterviewTurn{Beside: secret}).Heard
			}
			d.ends(b, who)
		},
		"an interview that ends": func(d *desk, _ string, b *loomv1.Brief, who *loomv1.Claimant) { d.ends(b, who) },
		"an interview that is closed": func(d *desk, _ string, b *loomv1.Brief, _ *loomv1.Claimant) {
			d.give(closes(b.Execution.Id, "nobody is to ask"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			id := d.interviewed()
			b, who := d.claim("analyst")
			leave(d, id, b, who)
			s := d.sessionNow(id)
			if !s.Question.GetOfPattern() || s.Question.Text != "What do you hope to know?" || len(d.s.Queued()) != 0 {
				t.Errorf("it asks %v, queued %v", s.Question, d.s.Queued())
			}
			d.unheard()
		})
	}
}

// An aborted session leaves no interview; a revision has one of its own.
func TestPAT02_InterviewsOfARevisionAndAnAbort(t *testing.T) {
	d := newDesk(t)
	id := d.interviewed()
	b, who := d.claim("analyst")
	d.hears(b, who, b.Interview.Heard, asksOf("What do you hope to know?", pattern.Goal))
	d.speak(id, aborts(false))
	if d.status(b.Bead.Id) != "aborted" || len(d.s.Queued()) != 0 {
		t.Errorf("the interview of an aborted session: %s, queued %v", d.status(b.Bead.Id), d.s.Queued())
	}
	for _, cmd := range []*loomv1.Command{
		reopenBead(b.Bead.Id, "k"),
		{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: "ask for nothing", Process: processes.InterviewProcess}}}},
	} {
		if _, err := d.do(cmd); fault.Code(err) != "intent/unsealed" {
			t.Errorf("%T: %v", cmd.Body, err)
		}
	}
	id = d.interviewed()
	b, who = d.claim("analyst")
	for _, q := range interviewQuestions {
		cmd := says(id, 0, "Every finding names two notes")
		cmd.GetActInSession().Command.GetAnswer().About = q.about
		d.ok(cmd)
	}
	if got := d.hears(b, who, b.Interview.Heard, &loomv1.InterviewTurn{Said: &loomv1.InterviewTurn_Finish{Finish: &loomv1.DraftIntent{}}}); !got.Over {
		t.Fatalf("all is said: %v", got)
	}
	d.ends(b, who)
	d.ok(seals(id, d.sessionNow(id).Shown.Digest))
	d.work("analyst", leaves("claims.md"))
	d.speak(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Revise{Revise: &loomv1.ReviseIntent{Reason: "for others"}}})
	if again, _ := d.claim("analyst"); again.Interview.GetSession() != id || again.Bead.Id == b.Bead.Id || again.Interview.Revision != "for others" {
		t.Errorf("the interview of the revision: %v", again.Interview)
	}
}

// A session that has come to its end asks nothing: an interview that nobody has ended is
// closed with it.
func TestPAT02_AnInterviewEndsWithItsSession(t *testing.T) {
	d := newDesk(t)
	id := d.interviewed()
	b, who := d.claim("analyst")
	for _, q := range interviewQuestions {
		cmd := says(id, 0, "Every finding names two notes")
		cmd.GetActInSession().Command.GetAnswer().About = q.about
		d.ok(cmd)
	}
	d.hears(b, who, b.Interview.Heard, &loomv1.InterviewTurn{Said: &loomv1.InterviewTurn_Finish{Finish: &loomv1.DraftIntent{}}})
	d.ok(seals(id, d.sessionNow(id).Shown.Digest)) // and who has asked does not say that it is done
	d.work("analyst", leaves("claims.md"))
	d.speak(id, proceeds(0))
	d.work("analyst", leaves("findings.md"))
	d.work("qa-engineer", outcome(success, map[string]any{"success_1": true, "evidence_1": "notes 1 and 3", "broken": ""}))
	d.work("engineering-manager", outcome(success, map[string]any{"files": 0}))
	if s := d.sessionNow(id); !s.Ended || d.status(b.Bead.Id) != "aborted" {
		t.Errorf("ended: %t, its interview is %s", s.Ended, d.status(b.Bead.Id))
	}
}

// A turn whose answer was lost is sent again, and is heard once.
func TestPAT02_ATurnIsHeardOnce(t *testing.T) {
	d := newDesk(t)
	id := d.interviewed()
	b, who := d.claim("analyst")
	refused := func() *loomv1.InterviewTurn {
		return asksOf("How about "+secret+"?", pattern.Goal)
	}
	first := d.hears(b, who, b.Interview.Heard, refused())
	n := len(d.events)
	if again := d.hears(b, who, b.Interview.Heard, refused()); again.Heard != first.Heard || again.Over || len(d.events) != n {
		t.Errorf("the same turn again: %v, with %d facts; want what was heard, %d", again, len(d.events)-n, first.Heard)
	}
	if s := d.sessionNow(id); s.Question != nil {
		t.Errorf("it asks %v", s.Question)
	}
}

// Whoever goes on with an interview is told what its calls have used so far.
func TestBYD05_AnInterviewerIsToldWhatWasUsed(t *testing.T) {
	d := newDesk(t)
	id := d.interviewed()
	b, who := d.claim("analyst")
	turn := asksOf(interviewQuestions[0].text, interviewQuestions[0].about)
	turn.Request, turn.Usage = "r1", &loomv1.Usage{InputTokens: 700, OutputTokens: 30, CostMicroUsd: 9, CostKnown: true}
	if got := d.hears(b, who, b.Interview.Heard, turn); !proto.Equal(got.Used, turn.Usage) {
		t.Errorf("after the question: %v, want %v", got.Used, turn.Usage)
	}
	d.ok(says(id, d.sessionNow(id).Question.Number, "What the notes agree on"))
	if b, _ = d.claim("analyst"); !proto.Equal(b.Interview.Used, turn.Usage) {
		t.Errorf("who goes on: %v, want %v", b.Interview.Used, turn.Usage)
	}
}
