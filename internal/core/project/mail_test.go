package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// writes is a call that writes to members of a team.
func writes(n int, to, text string, ask bool) *loomv1.TeamCall {
	return &loomv1.TeamCall{Call: fmt.Sprint("c4-", n), Verb: &loomv1.TeamCall_Write{Write: &loomv1.WriteMail{To: to, Text: text, Ask: ask}}}
}

// crew is a lead that has given tasks, and those who are at them.
type crew struct {
	*desk
	at  map[string]*loomv1.Brief
	who map[string]*loomv1.Claimant
}

// newCrew is a lead that gave a task to each of some roles.
func newCrew(t *testing.T, waits bool, others ...string) *crew {
	d, _ := newTeam(t, nil)
	c := &crew{desk: d, at: map[string]*loomv1.Brief{}, who: map[string]*loomv1.Claimant{}}
	c.at["lead"], c.who["lead"] = d.claim("lead")
	var calls []*loomv1.TeamCall
	for i, role := range others {
		calls = append(calls, give(i+1, role, "part of "+role, waits))
	}
	c.calls("lead", calls...)
	for _, role := range others {
		c.take(role)
	}
	return c
}

// take has an agent of a role go on with what waits for it.
func (c *crew) take(role string) *loomv1.Brief {
	c.t.Helper()
	b, who := c.takes(role, 1)
	if b == nil {
		c.t.Fatalf("nothing waits for %s, queued for %q", role, c.queuedRoles())
	}
	c.at[role], c.who[role] = b, who
	return b
}

func (c *crew) calls(role string, calls ...*loomv1.TeamCall) []*loomv1.TeamReply {
	c.t.Helper()
	r, err := c.team(c.at[role], c.who[role], calls...)
	if err != nil {
		c.t.Fatalf("%s: %v", role, err)
	}
	return r
}

// steps records steps of a member's turn, and returns what it is to hear.
func (c *crew) steps(role string, facts ...*loomv1.Event) ([]*loomv1.Said, error) {
	answer, err := c.do(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{
		Attempt: c.at[role].Attempt.Id, Claimant: c.who[role], Facts: facts,
	}}})
	return answer.GetDone().GetSaid(), err
}

// hears begins a member's turn and has it hear what there is, as "KIND TEXT".
func (c *crew) hears(role string) (heard []string, ids []string) {
	c.t.Helper()
	said, err := c.steps(role, turn.StartedFact(&loomv1.TurnStarted{Model: "m"}))
	for err == nil && len(said) > 0 {
		for _, s := range said {
			heard, ids = append(heard, team.Word(s.Kind)+" "+s.Text), append(ids, s.Id)
			if _, err = c.steps(role, turn.HeardFact(s)); err != nil {
				c.t.Fatal(err)
			}
		}
		said, err = c.steps(role)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return heard, ids
}

func refusals(list []*loomv1.TeamReply) string {
	var codes []string
	for _, r := range list {
		codes = append(codes, r.GetError().GetCode())
	}
	return strings.Join(codes, " ")
}

// A question parks who asks, is heard by who is asked, and is answered by its id;
// the same calls again write nothing.
func TestACT03_AQuestionWaitsForItsAnswerWithoutASlot(t *testing.T) {
	c := newCrew(t, false, "researcher", "implementer")
	ask := writes(1, "implementer", "which file?", true)
	if r := c.calls("researcher", ask)[0]; !r.Waits || !slices.Equal(r.Reached, []string{"implementer/1 (shop-3)"}) {
		t.Fatalf("the question %v does not wait", r)
	}
	if got := c.queuedRoles(); len(got) != 0 {
		t.Fatalf("queued for %q though the question has no answer", got)
	}
	if _, err := c.team(c.at["researcher"], c.who["researcher"], ask); fault.Code(err) != "attempt/claimed" {
		t.Errorf("a parked attempt is still its agent's: %v", err)
	}
	left := c.at["researcher"].TimeLeft.AsDuration()
	c.later(5 * time.Minute)
	heard, ids := c.hears("implementer")
	if !slices.Equal(heard, []string{"question which file?"}) {
		t.Fatalf("the implementer hears %q", heard)
	}
	if _, err := c.steps("implementer", turn.HeardFact(&loomv1.Said{Id: ids[0], Text: "push it", Kind: loomv1.MailKind_MAIL_KIND_NOTE})); fault.Code(err) != "turn/invalid" {
		t.Errorf("words that nobody wrote are heard: %v", err)
	}
	n := c.s.Number()
	for range 2 {
		if r := c.calls("implementer", writes(1, ids[0], "cart.go", false))[0]; r.Error != nil || r.Waits {
			t.Fatalf("the answer: %v", r)
		}
		if r := c.calls("implementer", writes(2, ids[0], "another", false)); refusals(r) != "team/answered" {
			t.Errorf("a second answer: %v", r)
		}
	}
	if c.s.Number() != n+2 { // the answer, and its asker is queued
		t.Errorf("%d facts of one answer", c.s.Number()-n)
	}
	if b := c.take("researcher"); b.TimeLeft.AsDuration() != left {
		t.Errorf("%s are left of %s, after a wait that is not its own", b.TimeLeft.AsDuration(), left)
	}
	if r := c.calls("researcher", ask)[0]; r.Waits || !r.Answered || r.Answer != "cart.go" {
		t.Errorf("who asked hears %v", r)
	}
	if heard, _ := c.hears("researcher"); len(heard) != 0 {
		t.Errorf("the answer is told again: %q", heard)
	}
}

// A question to one that waits for its tasks is heard at once, whoever asks; a wait
// that two would have for each other is refused, and says so.
func TestACT03_NobodyWaitsForEachOther(t *testing.T) {
	c := newCrew(t, true, "researcher", "implementer")
	wait := c.queuedRoles()
	if r := c.calls("researcher", writes(1, "lead", "how deep?", true))[0]; !r.Waits || len(wait) != 0 {
		t.Fatalf("%v, queued for %q", r, wait)
	}
	c.take("lead")
	r := c.calls("lead", give(1, "researcher", "part of researcher", true), give(2, "implementer", "part of implementer", true))
	if standing(r) != "researcher: open, implementer: open" || !r[0].Interrupted || !r[1].Interrupted {
		t.Fatalf("the lead waits on: %v", r)
	}
	heard, ids := c.hears("lead")
	if !slices.Equal(heard, []string{"question how deep?"}) {
		t.Fatalf("the lead hears %q", heard)
	}
	if r := c.calls("lead", watches(1, true))[0]; r.Waits || !r.Interrupted {
		t.Errorf("the lead waits for who waits for it: %v", r)
	}
	// The implementer cannot wait for the researcher if that waits for the lead that
	// waits for the implementer: with nobody in between first.
	if r := c.calls("implementer", writes(1, "researcher", "found it?", true))[0]; !r.Waits {
		t.Fatalf("%v", r)
	}
	if r := c.calls("lead", writes(1, "implementer", "how far?", true)); refusals(r) != "team/deadlock" {
		t.Errorf("a circle of three is not refused: %v", r)
	}
	if r := c.calls("lead", writes(2, ids[0], "two levels", false)); refusals(r) != "" {
		t.Fatalf("%v", r)
	}
	c.take("researcher")
	if r := c.calls("researcher", writes(1, "lead", "how deep?", true))[0]; r.Answer != "two levels" {
		t.Errorf("%v", r)
	}
	if r := c.calls("lead", watches(2, true))[0]; !r.Waits {
		t.Errorf("the lead does not wait though nobody waits for it: %v", r)
	}
}

// A question whose reader ends is answered by the runtime, and news of trouble
// reaches who gave the task.
func TestACT03_WhoAsksHearsThatTheAskedHasEnded(t *testing.T) {
	c := newCrew(t, false, "researcher", "implementer")
	ask := writes(1, "researcher", "found it?", true)
	c.calls("implementer", ask)
	c.answers(c.at["researcher"], c.who["researcher"], outcome(success, nil))
	c.take("implementer")
	if r := c.calls("implementer", ask)[0]; r.Waits || r.Answered || !strings.Contains(r.Answer, "researcher: it ended without an answer") {
		t.Fatalf("who asked hears %v", r)
	}
	c.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{
		Attempt: c.at["implementer"].Attempt.Id, Claimant: c.who["implementer"], Reason: "agent failed", Crash: &loomv1.AgentCrash{Message: "index out of range"},
	}}})
	heard, _ := c.hears("lead")
	if len(heard) != 1 || !strings.Contains(heard[0], "news task shop-3: its agent crashed, and another goes on: index out of range") {
		t.Errorf("the lead hears %q", heard)
	}
	b := c.take("implementer")
	var log []string
	for _, e := range b.Team.Log {
		log = append(log, e.Text)
	}
	for _, want := range []string{"task shop-2 given to researcher: part of researcher", "implementer/1@h1 to researcher, question: found it?", "task shop-2 is done", "index out of range"} {
		if !strings.Contains(strings.Join(log, "\n"), want) {
			t.Errorf("the log that all see has no %q: %q", want, log)
		}
	}
	if len(b.Team.Members) != 1 || b.Team.Members[0].Role != "lead" || b.Team.Members[0].Bead != "shop-1" {
		t.Errorf("the others are %v", b.Team.Members)
	}
}

// One that waits for tasks and has asked somebody waits for that one, whatever else
// it waits for: the asked cannot ask back, neither before nor after the task has ended.
func TestACT03_WhoHasAskedWaitsAlsoForTasks(t *testing.T) {
	c := newCrew(t, false, "researcher", "implementer")
	part := give(5, "web-designer", "a part of it", true)
	ask := writes(1, "implementer", "which file?", true)
	if r := c.calls("researcher", part, ask); standing(r) != "waits, web-designer: open, waits" {
		t.Fatal(standing(r))
	}
	if r := c.calls("implementer", writes(1, "researcher", "what for?", true)); refusals(r) != "team/deadlock" {
		t.Fatalf("who was asked asks back: %v", r)
	}
	b, who := c.takes("web-designer", 1)
	c.answers(b, who, outcome(success, nil))
	c.take("researcher")
	if r := c.calls("implementer", writes(2, "researcher", "what for?", true)); refusals(r) != "team/deadlock" {
		t.Errorf("who was asked asks back while an agent has the asker's attempt: %v", r)
	}
	if r := c.calls("researcher", part, ask); standing(r) != "web-designer: success, waits" {
		t.Errorf("the researcher waits on: %s", standing(r))
	}
	_, ids := c.hears("implementer")
	c.calls("implementer", writes(3, ids[0], "cart.go", false))
	c.take("researcher")
	if r := c.calls("implementer", writes(4, "researcher", "what for?", true))[0]; !r.Waits {
		t.Errorf("nobody waits for the implementer, and it may not ask: %v", r)
	}
}

// A question has its time, without that in which the asker is held; then the runtime
// answers, once, and the question is told no more.
func TestACT03_AQuestionHasItsTime(t *testing.T) {
	c := newCrew(t, false, "researcher", "implementer")
	ask := writes(1, "implementer", "which file?", true)
	c.calls("researcher", ask)
	c.calls("implementer", asksUser(1, "red or blue?")) // and nobody answers that
	c.calls("lead", watches(1, true))                   // else its time would end
	c.later(team.AnswerWithin - time.Minute)
	c.give(pauses(allWork, "", "lunch"))
	c.later(time.Hour)
	c.give(resumes(allWork, "", "it is over"))
	c.later(time.Minute - time.Second)
	if slices.Contains(c.queuedRoles(), "researcher") {
		t.Fatal("the question ends before its time: the hold took of it")
	}
	c.later(time.Second)
	if !slices.Contains(c.queuedRoles(), "researcher") {
		t.Fatalf("who asked waits for longer than %s", team.AnswerWithin)
	}
	c.take("researcher")
	if r := c.calls("researcher", ask)[0]; r.Waits || r.Answered || !strings.Contains(r.Answer, "implementer: it has not answered within 30m0s") {
		t.Errorf("who asked hears %v", r)
	}
	n := c.s.Number()
	if c.later(team.AnswerWithin); slices.ContainsFunc(c.events[n:], func(e *loomv1.Event) bool { return e.GetMailSent() != nil }) {
		t.Error("a question ends twice")
	}
	x := c.s.Snapshot().Teams["shop-1-x1"]
	if unheard := team.Unheard(x, c.at["implementer"].Attempt.Id); len(unheard) != 0 {
		t.Errorf("who was asked hears a question that is over: %v", unheard)
	}
}

func TestACT03_WhatMayBeWritten(t *testing.T) {
	c := newCrew(t, false, "researcher", "implementer")
	alone := c.file(&loomv1.Submission{Goal: "another shop", Process: "led"})
	stranger, lead2 := c.takes("lead", 2)
	if stranger.Bead.Id != alone.Bead || stranger.Team != nil {
		t.Fatalf("%s is worked on, with the team %v", stranger.Bead.Id, stranger.Team)
	}
	for _, tt := range []struct {
		what, want string
		call       *loomv1.TeamCall
	}{
		{"to a bead", "", writes(1, "shop-3", "hello", false)},
		{"to an agent", "", writes(2, c.who["lead"].Agent, "hello", false)},
		{"as long as can be", "", writes(3, "lead", strings.Repeat("a", team.MaxMail), false)},
		{"longer", "team/invalid", writes(4, "lead", strings.Repeat("a", team.MaxMail+1), false)},
		{"nothing", "team/invalid", writes(5, "lead", " ", false)},
		{"to nobody", "team/invalid", writes(6, "", "hello", false)},
		{"to a role that is not there", "team/unknown", writes(7, "architect", "hello", false)},
		{"to itself", "team/unknown", writes(8, "researcher", "hello", false)},
		{"to another team", "team/unknown", writes(9, alone.Bead, "hello", true)},
		{"to an agent of another team", "team/unknown", writes(10, "lead/2", "hello", false)},
		{"an answer that is a question", "team/invalid", writes(11, "mail:shop-1-x1:1", "hello", true)},
		{"an answer to what is none", "team/unknown", writes(12, "mail:shop-1-x1:1", "hello", false)},
	} {
		n := c.s.Number()
		if r := c.calls("researcher", tt.call); refusals(r) != tt.want || tt.want != "" && c.s.Number() != n {
			t.Errorf("%s: %v, %d facts; want %q", tt.what, r, c.s.Number()-n, tt.want)
		}
	}
	if r, _ := c.team(stranger, lead2, writes(1, "researcher", "hello", false)); refusals(r) != "team/unknown" {
		t.Errorf("somebody of another team reaches this one: %v", r)
	}
	for i := range team.MaxUnheard {
		c.calls("implementer", writes(20+i, "lead", "hello", false))
	}
	if r := c.calls("implementer", writes(40, "lead", "hello", false)); refusals(r) != "team/full" {
		t.Errorf("a box without bound: %v", r)
	}
	if heard, _ := c.hears("lead"); len(heard) != team.MaxUnheard {
		t.Errorf("the lead hears %d messages", len(heard))
	}
	for i := range team.MaxWritten {
		c.calls("researcher", writes(50+i, "shop-3", "hello", false))
		if i%8 == 0 {
			c.hears("implementer")
		}
	}
	c.hears("implementer")
	if r := c.calls("researcher", writes(99, "shop-3", "hello", false)); refusals(r) != "team/limit" {
		t.Errorf("messages without bound: %v", r)
	}
	if r, err := c.do(&loomv1.Command{Actor: &loomv1.Identity{Kind: operator}, Body: told(c.at["lead"].Execution.Id, "mail:x:1", "hello").Body}); fault.Code(err) != "command/malformed" {
		t.Errorf("a person writes as a member: %v, %v", r, err)
	}
	c.answers(c.at["lead"], c.who["lead"], outcome(success, nil))
	if teams := c.s.Snapshot().Teams; len(teams) != 0 {
		t.Errorf("a team that has ended keeps %v", teams)
	}
}
