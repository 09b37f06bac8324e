package project_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	pattern "github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// notesPattern is a small pattern of two steps, which stops between them.
const notesPattern = `kind: pattern
name: notes
version: "1.0"
family: analysis
purpose: Find out what a pile of notes says.
world_scope: project
default_tempo: andante
outputs: [{name: claims.md, type: text}, {name: findings.md, type: text}]
primacy_questions:
  - {ask: "What do you hope to know?", about: goal}
  - {ask: "What must stay out of it?", about: constraints}
  - {ask: "Who will read it?", about: audience}
  - {ask: "Which notes count?", about: scope}
  - {ask: "By what will you see that it was worth it?", about: success}
steps:
  - {order: 1, name: read, description: Write down what each note claims., writes: [files], stop: true, deliverables: [claims.md]}
  - {order: 2, name: find, description: Write what follows., writes: [files], deliverables: [findings.md]}
rubric: [{name: grounded, question: "Does every finding name notes that say it?"}]
`

func notes(t *testing.T) *loomv1.Pattern {
	t.Helper()
	r := processes.ReadPattern("notes.yaml", []byte(notesPattern), "", roles.Builtin(), nil)
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	return r.Pattern
}

func inSession(session, request string, cmd *loomv1.IntentCommand) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_ActInSession{ActInSession: &loomv1.ActInSession{Session: session, Request: request, Command: cmd}}}
}

func opensSession(p *loomv1.Pattern, request string) *loomv1.Command {
	return inSession("", request, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Open{Open: &loomv1.OpenSession{Pattern: p, Request: "Read the notes", WithoutModel: true}}})
}

func says(session string, question uint32, text string) *loomv1.Command {
	return inSession(session, "", &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Answer{Answer: &loomv1.AnswerQuestion{Question: question, Text: text}}})
}

func seals(session, digest string) *loomv1.Command {
	return inSession(session, "", &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Seal{Seal: &loomv1.SealIntent{Digest: digest}}})
}

// session opens one and answers all that it asks.
func (d *desk) session() *loomv1.PatternSession {
	d.t.Helper()
	return d.sessionWith(notes(d.t))
}

func (d *desk) sessionWith(p *loomv1.Pattern) *loomv1.PatternSession {
	d.t.Helper()
	s := d.ok(opensSession(p, "")).GetSession()
	for i, text := range []string{"What the notes agree on", "At most seven findings", "The team", "All of June", "Every finding names two notes"} {
		s = d.ok(says(s.Id, uint32(i+1), text)).GetSession()
	}
	return s
}

// A session is facts of its project: each command is answered once, whoever repeats it,
// and a state from a snapshot goes on as the one before.
func TestPAT01_ASessionIsFactsOfItsProject(t *testing.T) {
	d := newDesk(t)
	first := d.ok(opensSession(notes(t), "k1")).GetSession()
	n := len(d.events)
	again := d.ok(opensSession(notes(t), "k1")).GetSession()
	if first.Id != "s1" || !proto.Equal(first, again) || len(d.events) != n {
		t.Errorf("the same request again: %v with %d events, want %v with %d", again, len(d.events), first, n)
	}
	if _, err := d.do(inSession("s1", "k1", &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Abort{Abort: &loomv1.AbortPattern{}}})); fault.Code(err) != "submit/key-reused" {
		t.Errorf("the request id for something else: %v", err)
	}
	if got := d.ok(says("s1", 1, "What the notes agree on")).GetSession(); got.Question.GetNumber() != 2 || got.Phase != pattern.Primacy {
		t.Errorf("after the first answer: %v", got)
	}
	if _, err := d.do(says("s1", 1, "Something else")); fault.Code(err) != "intent/phase" {
		t.Errorf("the first question again: %v", err)
	}
	restored, err := project.Restore(d.cfg, d.s.Snapshot())
	if err != nil || restored.Hash() != d.s.Hash() {
		t.Fatalf("from a snapshot: %v, and another state: %t", err, restored.Hash() != d.s.Hash())
	}
	d.s = restored
	if got := d.ok(says("s1", 2, "At most seven findings")).GetSession(); got.Question.GetNumber() != 3 || len(got.Answers) != 2 {
		t.Errorf("the restored session goes on with %v", got)
	}
}

// Nobody but a person speaks in a session, nothing goes on before the seal, and the seal
// is on what was shown last.
func TestPAT02_PrimacyOfAHostedSession(t *testing.T) {
	d := newDesk(t)
	agent := opensSession(notes(t), "")
	agent.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "analyst/1"}
	if _, err := d.do(agent); fault.Code(err) != "request/denied" {
		t.Errorf("an agent opens a session: %v", err)
	}
	s := d.session()
	if s.Phase != pattern.Capture || s.Shown == nil || s.Seal != nil {
		t.Fatalf("after the answers: %v", s)
	}
	for _, tt := range []struct {
		what string
		cmd  *loomv1.Command
		want string
	}{
		{"going on before the seal", inSession(s.Id, "", &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Proceed{Proceed: &loomv1.Proceed{}}}), "intent/unsealed"},
		{"the runtime's word from a person", inSession(s.Id, "", &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Validate{Validate: &loomv1.ValidateIntent{}}}), "intent/identity"},
		{"another digest", seals(s.Id, "00"), "intent/digest"},
		{"a session that is not there", seals("s7", s.Shown.Digest), "intent/unknown"},
		{"nothing", inSession(s.Id, "", nil), "intent/invalid"},
	} {
		before := d.s.Hash()
		if _, err := d.do(tt.cmd); fault.Code(err) != tt.want {
			t.Errorf("%s: %v, want %s", tt.what, err, tt.want)
		}
		if d.s.Hash() != before {
			t.Errorf("%s: what was refused has changed something", tt.what)
		}
	}
	sealed := d.ok(seals(s.Id, s.Shown.Digest)).GetSession()
	if sealed.Seal.GetBy().GetName() != "ann" || sealed.Seal.Digest != pattern.Digest(sealed.Envelope) {
		t.Errorf("the seal: %v", sealed.Seal)
	}
}

// A project keeps the newest sessions that have ended, and bounds those that go on.
func TestPAT01_SessionsAreBounded(t *testing.T) {
	d := newDesk(t)
	d.light = true
	for i := range 64 {
		d.ok(opensSession(notes(t), fmt.Sprint(i)))
	}
	if _, err := d.do(opensSession(notes(t), "one more")); fault.Code(err) != "intent/limit" {
		t.Errorf("one session too many: %v", err)
	}
	abort := &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Abort{Abort: &loomv1.AbortPattern{Reason: "enough"}}}
	for i := range 64 {
		d.ok(inSession(fmt.Sprintf("s%d", i+1), "", abort))
	}
	last := d.ok(opensSession(notes(t), "last")).GetSession()
	d.ok(inSession(last.Id, "", abort))
	view, err := d.s.Look(project.Sessions, &loomv1.Query{Filter: "ended"})
	if err != nil || len(view.Sessions) != 64 || view.Sessions[0].Id != "s65" || view.Sessions[63].Id != "s2" {
		t.Errorf("kept: %d sessions, %v", len(view.GetSessions()), err)
	}
	if _, err := d.s.Look(project.Sessions, &loomv1.Query{Id: "s1"}); fault.Code(err) != "intent/unknown" {
		t.Errorf("the oldest: %v", err)
	}
}

// The CEO may seal any session with a key: on the digest that was shown, once, and what is
// refused is recorded.
func TestPAT02_TheCEOSealsWithAKey(t *testing.T) {
	d := newDesk(t)
	s := d.session()
	sealing := func(digest string) func(*loomv1.CeoCommand) {
		return func(c *loomv1.CeoCommand) {
			c.Verb = &loomv1.CeoCommand_Seal{Seal: &loomv1.SealSession{Session: s.Id, Digest: digest, Reason: "ready"}}
		}
	}
	before := len(d.events)
	if err := d.present(ceo, d.order(sealing("00"))); fault.Code(err) != "intent/digest" || d.events[before].GetCommandRefused() == nil {
		t.Errorf("another digest: %v, recorded %v", err, d.events[before:])
	}
	order := d.order(sealing(s.Shown.Digest))
	if err := d.present(ceo, order); err != nil {
		t.Fatal(err)
	}
	sealed := d.sessionNow(s.Id)
	if sealed.Seal.GetBy().GetKind() != loomv1.IdentityKind_IDENTITY_KIND_CEO || sealed.Seal.Digest != s.Shown.Digest || sealed.Running.GetStep() != 1 {
		t.Errorf("after her seal: %v", sealed)
	}
	n := len(d.events)
	if err := d.present(ceo, order); err != nil || len(d.events) != n {
		t.Errorf("the same order again: %v, with %d facts", err, len(d.events)-n)
	}
	if err := d.present(ceo, d.order(sealing(s.Shown.Digest))); fault.Code(err) != "intent/phase" {
		t.Errorf("a second seal: %v", err)
	}
}
