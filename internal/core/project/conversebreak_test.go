package project_test

import (
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What is said while an answer breaks off is not lost: the stop is of what was heard, and
// the rest is heard next.
func TestHUM02_AMessageBesideABrokenAnswerIsHeard(t *testing.T) {
	d := newDesk(t)
	id := d.ok(converse("ann", "", "q1", opensWith("What is this?"))).GetConversation().Id
	l := d.takesLead()
	if err := l.starts(); err != nil {
		t.Fatal(err)
	}
	d.ok(converse("ann", id, "q2", saysThat("And that?")))
	stop := &loomv1.TurnStop{Id: "broken-1", Code: "model/unavailable", Reason: "no answer"}
	if _, err := l.record(turn.Halt(l.t, nil, stop)...); err != nil {
		t.Fatal(err)
	}
	if err := l.rests(); err != nil {
		t.Fatal(err)
	}
	l = d.takesLead()
	if l == nil {
		t.Fatal("nobody is to hear what was said while the answer broke off")
	}
	if err := l.starts(); err != nil {
		t.Fatal(err)
	}
	if last := l.t.Steps[len(l.t.Steps)-1].GetSaid(); last.GetText() != "And that?" {
		t.Errorf("the lead hears %v", l.t.Steps)
	}
}

// Where an attempt ends in the middle, the next one goes on with what was said before, and
// hears again what was not answered.
func TestHUM02_TheNextAttemptGoesOnWithTheConversation(t *testing.T) {
	d := newDesk(t)
	id := d.ok(converse("ann", "", "q1", opensWith("What is this?"))).GetConversation().Id
	l := d.takesLead()
	for _, do := range []func() error{l.starts, func() error { return l.reply("a shop") }, l.rests} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	d.ok(converse("ann", id, "q2", saysThat("And who are you?")))
	l = d.takesLead()
	if err := l.starts(); err != nil {
		t.Fatal(err)
	}
	first := l.b.Attempt.Id
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
		Attempt: first, Claimant: l.who, Outcome: &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Code: "internal/error", Summary: "it broke"},
	}}})
	if v := d.conversationNow(id); v.State == loomv1.ConversationState_CONVERSATION_STATE_CLOSED {
		t.Errorf("between two attempts it is shown as %v", v.State)
	}
	d.wait(time.Minute)
	l = d.takesLead()
	if l == nil || l.b.Attempt.Id == first {
		t.Fatal("there is no next attempt")
	}
	if said, replies := turn.Replies(l.t); said != 1 || replies != 1 || len(d.s.Snapshot().Turns) != 1 {
		t.Errorf("it begins with %d messages and %d replies, among %d turns", said, replies, len(d.s.Snapshot().Turns))
	}
	if err := l.starts(); err != nil {
		t.Fatal(err)
	}
	if said, _ := turn.Replies(l.t); said != 2 || l.t.Steps[len(l.t.Steps)-1].GetSaid().GetId() != "q2" {
		t.Errorf("it hears %v", l.t.Steps)
	}
	d.ok(converse("ann", id, "q3", &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Close{Close: &loomv1.CloseConversation{}}}))
	if n := len(d.s.Snapshot().Turns); n != 0 {
		t.Errorf("the closed conversation keeps %d turns", n)
	}
}

// The ids of what the runtime tells are nobody else's.
func TestHUM02_IdsOfTheRuntimeAreRefused(t *testing.T) {
	d := newDesk(t)
	id := d.ok(converse("ann", "", "q1", opensWith("What is this?"))).GetConversation().Id
	for _, request := range []string{"mail:shop-1:1", "ended-shop-1-x1"} {
		if _, err := d.do(converse("ann", id, request, saysThat("Hello"))); fault.Code(err) != "command/malformed" {
			t.Errorf("%s: %v", request, err)
		}
	}
}
