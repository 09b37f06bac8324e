package project_test

import (
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// refuseKey parks the attempts of all agents of a role for a refused key, and returns
// how many there were.
func (d *desk) refuseKey(role string) (n int) {
	d.t.Helper()
	for _, w := range d.s.Queued() {
		if w.Role != role {
			continue
		}
		n++
		d.refuseOne(w)
	}
	return n
}

func (d *desk) refuseOne(w *loomv1.Assignment) {
	d.t.Helper()
	who := &loomv1.Claimant{Agent: w.Role + "/1", Host: "h1", Epoch: 1}
	d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: w.Attempt, Generation: w.Generation, Claimant: who}}})
	d.ok(&loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{Attempt: w.Attempt, Claimant: who, WaitsFor: "operator", Block: &loomv1.ModelBlock{
		Model: "m", Code: "model/key-refused", Message: "m: the server refused the key of " + w.Attempt, Remedy: "give another key",
	}}}})
}

// counts returns how many facts there are of a kind.
func (d *desk) counts(is func(*loomv1.Event) bool) (n int) {
	for _, e := range d.events {
		if is(e) {
			n++
		}
	}
	return n
}

func isBlocked(e *loomv1.Event) bool   { return e.GetModelBlocked() != nil }
func isUnblocked(e *loomv1.Event) bool { return e.GetModelUnblocked() != nil }

// TestAGENT02_ARefusedKeyIsTheOperatorsMatter has two bugs wait for one key for a day,
// over restarts: one notice, no attempt, no question; and both go on by themselves.
func TestAGENT02_ARefusedKeyIsTheOperatorsMatter(t *testing.T) {
	d := newDesk(t)
	d.report()
	d.fails(&loomv1.ErrorReport{Service: "web", Status: 500, Kind: "panic", Message: "another"})
	if n := d.refuseKey("qa-engineer"); n != 2 {
		t.Fatalf("%d attempts were parked, want 2", n)
	}
	tries := 0
	for end := d.now.Add(24 * time.Hour); d.now.Before(end); {
		d.wait(time.Minute)
		tries += d.refuseKey("qa-engineer")
		d.light = true
	}
	d.light = false
	d.restart()
	if most := 2 * (24*60/5 + 5); tries > most || tries < most/2 {
		t.Errorf("the key was tried %d times in a day, want about every 5 minutes for each of two, at most %d", tries, most)
	}
	if n := d.counts(isBlocked); n != 1 {
		t.Errorf("%d notices of one cause", n)
	}
	if n := d.counts(func(e *loomv1.Event) bool {
		return e.GetAttemptEnded() != nil || e.GetRetryScheduled() != nil || e.GetApprovalRequested() != nil
	}); n != 0 {
		t.Errorf("%d attempts or questions came of it", n)
	}
	v, err := d.s.Look(project.Inbox, &loomv1.Query{})
	if err != nil || len(v.Blocks) != 1 || v.Blocks[0].Remedy != "give another key" {
		t.Errorf("the inbox shows %v, %v, want the one cause", v.GetBlocks(), err)
	}
	if n := len(d.s.Queued()); n != 0 {
		t.Fatalf("%d attempts are queued while they wait", n)
	}

	// The host starts again, with another key: all is asked again at once.
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: "h1", Epoch: 2}}})
	if n := len(d.s.Queued()); n != 2 {
		t.Fatalf("%d attempts are queued after a restart, want both", n)
	}
	w := d.s.Queued()[0]
	d.refuseOne(d.s.Queued()[1]) // by an agent that had the old key still
	who := &loomv1.Claimant{Agent: "qa-engineer/1", Host: "h1", Epoch: 1}
	b := d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: w.Attempt, Generation: w.Generation, Claimant: who}}}).GetBrief()
	if b.Attempt.Number != 1 || b.TimeLeft.AsDuration() < 9*time.Minute { // of 10, less what it was queued for once
		t.Errorf("it goes on with attempt %d and %s left, want the first and all of its time", b.Attempt.Number, b.TimeLeft.AsDuration())
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: b.Attempt.Id, Claimant: who, Facts: []*loomv1.Event{
		turn.StartedFact(&loomv1.TurnStarted{Model: "m", Prompt: &loomv1.BlobRef{Sha256: "p"}}),
		turn.AnsweredFact(&loomv1.ModelAnswer{Model: "m", Request: "r", Text: &loomv1.BlobRef{Sha256: "t"}, Usage: &loomv1.Usage{}}),
	}}}})
	if n := d.counts(isUnblocked); n != 1 {
		t.Errorf("%d notices that the model answers again, want 1", n)
	}
	if n := len(d.s.Queued()); n != 1 {
		t.Errorf("%d attempts are queued once one has an answer, want the other one", n)
	}
}

// TestAGENT02_ABlockNamesItsCause refuses one that does not.
func TestAGENT02_ABlockNamesItsCause(t *testing.T) {
	d := newDesk(t)
	d.report()
	b, who := d.claim("qa-engineer")
	_, err := d.do(&loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{Attempt: b.Attempt.Id, Claimant: who, WaitsFor: "operator"}}})
	if fault.Code(err) != "command/malformed" {
		t.Errorf("parked for the operator because of nothing: %v", err)
	}
}
