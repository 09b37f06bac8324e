package project_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// scopes are the pauses that cover the execution x of the process p.
func scopes(x, p string) map[string][2]any {
	return map[string][2]any{"execution": {oneExecution, x}, "process": {oneProcess, p}, "project": {allWork, ""}}
}

func TestWF09_WhatIsPausedIsNotWorkedOn(t *testing.T) {
	for name, s := range scopes("shop-1-x1", project.AutoBug) {
		t.Run(name, func(t *testing.T) {
			scope, of := s[0].(loomv1.PauseScope), s[1].(string)
			d := newDesk(t)
			d.report()
			queued := d.s.Queued()[0]
			d.give(pauses(scope, of, "wait for the audit"))

			if q := d.s.Queued(); len(q) != 0 {
				t.Errorf("queued while paused: %v", q)
			}
			claim := &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
				Attempt: queued.Attempt, Generation: queued.Generation, Claimant: &loomv1.Claimant{Agent: "qa-engineer/1", Host: "h1", Epoch: 1},
			}}}
			if _, err := d.do(claim); fault.Code(err) != "attempt/paused" {
				t.Errorf("claim: %v, want attempt/paused", err)
			}
			n := len(d.events)
			d.wait(10 * time.Hour)
			if len(d.since(n)) != 0 {
				t.Errorf("while paused this happened: %v", d.since(n))
			}

			n = len(d.events)
			d.give(pauses(scope, of, "once more"))
			if facts := d.since(n); len(facts) != 1 || facts[0].GetOverrideGiven() == nil {
				t.Errorf("pausing what is paused gave %v", facts)
			}

			d.give(resumes(scope, of, "the audit is over"))
			d.wait(0)
			d.work("qa-engineer", triaged())
			if err := d.present(ceo, d.order(resumes(scope, of, "again"))); fault.Code(err) != "pause/none" {
				t.Errorf("resuming what goes on: %v, want pause/none", err)
			}
		})
	}
}

// Pausing one thing leaves all others alone.
func TestWF09_APauseHoldsNothingElse(t *testing.T) {
	d := newDesk(t)
	d.store(line("small", "1.0", task("only", "project-manager")))
	bug, small := d.report(), d.file(&loomv1.Submission{Process: "small"})
	waits := func() map[string]bool {
		seen := map[string]bool{}
		for _, q := range d.s.Queued() {
			seen[q.Bead] = true
		}
		return seen
	}
	d.give(pauses(oneProcess, "small", "r"))
	if w := waits(); !w[bug.Bead] || w[small.Bead] {
		t.Errorf("with small paused there wait %v", w)
	}
	d.give(pauses(oneExecution, bug.Execution, "r"))
	if w := waits(); len(w) != 0 {
		t.Errorf("with both paused there wait %v", w)
	}
	d.give(resumes(oneProcess, "small", "r"))
	if w := waits(); w[bug.Bead] || !w[small.Bead] {
		t.Errorf("with the bug paused there wait %v", w)
	}
}

// An agent that is at work hears of the pause when it wants to begin something;
// what was paid for is recorded, and an outcome is taken.
func TestWF09_AnAgentIsToldAtTheNextStep(t *testing.T) {
	d := newDesk(t)
	d.report()
	b, who := d.claim("qa-engineer")
	record := func(records ...*loomv1.Event) error {
		_, err := d.do(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: b.Attempt.Id, Claimant: who, Facts: records}}})
		return err
	}
	start := turn.StartedFact(&loomv1.TurnStarted{Model: "m"})
	calls := func(i int) *loomv1.Event {
		return turn.AnsweredFact(&loomv1.ModelAnswer{Model: "m", Request: fmt.Sprint("r", i), Calls: []*loomv1.ToolCall{{Id: fmt.Sprint("c", i), Tool: "shell", Arguments: "{}"}}})
	}
	intent := func(i int) *loomv1.Event {
		return turn.IntendedFact(&loomv1.ToolStep{Call: &loomv1.ToolCall{Id: fmt.Sprint("c", i), Tool: "shell", Arguments: "{}"}, Class: loomv1.ToolClass_TOOL_CLASS_READ})
	}
	finish := func(i int) *loomv1.Event {
		return turn.FinishedFact(fmt.Sprint("c", i), &loomv1.ToolResult{Status: loomv1.ToolStatus_TOOL_STATUS_OK})
	}
	d.give(pauses(allWork, "", "r"))
	if err := record(start); fault.Code(err) != "attempt/paused" {
		t.Errorf("a turn began while paused: %v", err)
	}
	d.give(resumes(allWork, "", "r"))
	for _, r := range []*loomv1.Event{start, calls(1), intent(1)} {
		if err := record(r); err != nil {
			t.Fatal(err)
		}
	}
	d.give(pauses(allWork, "", "r"))
	for _, r := range []*loomv1.Event{start, intent(1), finish(1), calls(2)} {
		if err := record(r); err != nil {
			t.Errorf("what is recorded or paid for is refused while paused: %v", err)
		}
	}
	if err := record(intent(2)); fault.Code(err) != "attempt/paused" {
		t.Errorf("a tool call began while paused: %v", err)
	}
	n := len(d.events)
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: triaged()}}})
	for _, e := range d.since(n) {
		if e.GetAttemptDispatched() != nil {
			t.Errorf("something was dispatched while paused: %v", e)
		}
	}
	d.give(resumes(allWork, "", "r"))
	d.wait(0)
	d.claim("backend-engineer")
}

// Time that is spent in a pause is nobody's fault, and two pauses of one time
// are one.
func TestWF09_DeadlinesMoveByTheTimeThatWasPaused(t *testing.T) {
	d := newDesk(t)
	def := line("small", "1.0", task("only", "qa-engineer"))
	def.Nodes[1].Timeout = durationpb.New(time.Hour)
	d.store(def)
	x := d.file(&loomv1.Submission{Process: "small"}).Execution
	at := func(minutes int) { d.now = noon.Add(time.Duration(minutes) * time.Minute) }
	d.claim("qa-engineer")
	at(10)
	d.give(pauses(oneExecution, x, "r"))
	at(20)
	d.give(pauses(allWork, "", "r"))
	at(30)
	d.give(resumes(oneExecution, x, "r")) // still paused with all
	if q := d.s.Queued(); len(q) != 0 {
		t.Errorf("queued while the project is paused: %v", q)
	}
	at(40)
	d.give(resumes(allWork, "", "r")) // 30 minutes in all
	if got, want := d.execution(x).Nodes["only"].Attempt.Deadline.AsTime(), noon.Add(90*time.Minute); !got.Equal(want) {
		t.Errorf("deadline %s, want %s", got, want)
	}
	d.tick()
	at(89)
	d.tick()
	if a := d.execution(x).Nodes["only"].Attempt; a == nil {
		t.Error("the attempt ended a minute early")
	}
	at(90)
	d.tick()
	if a := d.inbox(); a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		t.Errorf("at its deadline: %v, want an escalation", a)
	}
}

func TestWF09_WorkThatBeginsUnderAPauseWaitsForItsEnd(t *testing.T) {
	d := newDesk(t)
	d.give(pauses(oneProcess, project.AutoBug, "r"))
	r := d.report()
	if q := d.s.Queued(); len(q) != 0 || len(d.execution(r.Execution).Nodes) != 0 {
		t.Errorf("an execution began under a pause: %v, %v", q, d.execution(r.Execution))
	}
	d.give(closes(d.report2().Execution, "it can be closed all the same"))
	d.give(resumes(oneProcess, project.AutoBug, "r"))
	d.wait(0)
	d.claim("qa-engineer")
}

// report2 reports another error.
func (d *desk) report2() *loomv1.SubmitReply {
	d.t.Helper()
	return d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Goal: "another"})
}

// A resumed project goes on in small batches, and a host that starts again in
// between loses nothing of it.
func TestWF12_AResumedProjectGoesOnABoundedNumberAtATime(t *testing.T) {
	const many = 300
	d := newDesk(t)
	d.store(line("small", "1.0", task("only", "qa-engineer")))
	d.give(pauses(allWork, "", "r"))
	for range many {
		d.quick(&loomv1.Submission{Goal: "work", Process: "small"})
	}
	n := len(d.events)
	d.give(resumes(allWork, "", "r"))
	if facts := d.since(n); len(facts) != 2 {
		t.Fatalf("a resume is %d facts, want the override and the resume", len(facts))
	}
	for ticks := 0; ; ticks++ {
		if at, ok := d.s.Next(); !ok || at.After(d.now) {
			break
		}
		before := len(d.s.Queued())
		d.tick()
		if began := len(d.s.Queued()) - before; began > 128 || ticks > 20 {
			t.Fatalf("%d began with tick %d", began, ticks)
		}
		if ticks < 2 {
			d.restart()
		}
	}
	if got := len(d.s.Queued()); got != many {
		t.Errorf("%d wait for an agent, want %d", got, many)
	}
}

// restart goes on with what a snapshot holds.
func (d *desk) restart() {
	d.t.Helper()
	s, err := project.Restore(d.cfg, d.s.Snapshot())
	if err != nil {
		d.t.Fatal(err)
	}
	if s.Hash() != d.s.Hash() {
		d.t.Fatal("a snapshot restored gives another state")
	}
	d.s = s
}

// quick files a bead without comparing the state with a replay.
func (d *desk) quick(sub *loomv1.Submission) {
	d.t.Helper()
	events, answer, err := d.s.Do(d.now, &loomv1.Command{
		Project: "shop", Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "me"},
		Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: sub}},
	})
	if err != nil || answer.Error != nil {
		d.t.Fatal(err, answer)
	}
	d.events = append(d.events, events...)
}

func TestSUB06_ABeadThatIsBlockedMeanwhileIsHeld(t *testing.T) {
	d := newDesk(t)
	other := d.file(&loomv1.Submission{Goal: "first this", Process: project.AutoBug})
	d.give(pauses(oneExecution, other.Execution, "only the second bead matters here"))
	r := d.report()
	link := func(on ...string) {
		t.Helper()
		d.ok(&loomv1.Command{Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{
			Bead: &loomv1.Bead{Id: r.Bead, BlockedBy: on}, Fields: []string{"blocked_by"}, Reason: "order",
		}}})
	}
	deadline := func() time.Time { return d.execution(r.Execution).Nodes["triage"].Attempt.Deadline.AsTime() }
	b, who := d.claim("qa-engineer")
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "drain"}}})
	before := deadline()
	link(other.Bead)
	if q := d.s.Queued(); len(q) != 0 {
		t.Errorf("blocked, but queued: %v", q)
	}
	d.wait(7 * time.Hour)
	if got := d.status(r.Bead); got != "blocked" {
		t.Errorf("bead is %s, want blocked", got)
	}
	link()
	d.wait(0)
	if moved := deadline().Sub(before); moved != 7*time.Hour {
		t.Errorf("its deadline moved by %s, want the 7h that it was blocked", moved)
	}
	d.claim("qa-engineer")
}

// What is paused does not ask for the commit lock; a claim that it has is told
// as ever.
func TestLOCK01_APausedExecutionDoesNotAskForTheLock(t *testing.T) {
	d := newDesk(t)
	d.toApproval("p1")
	d.approve()
	b, who := d.claim("engineering-manager")
	acquire := func() error {
		_, err := d.do(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: b.Attempt.Id, Holder: who}}})
		return err
	}
	d.give(pauses(allWork, "", "r"))
	if err := acquire(); fault.Code(err) != "attempt/paused" {
		t.Errorf("asked for the lock while paused: %v, want attempt/paused", err)
	}
	d.give(resumes(allWork, "", "r"))
	if err := acquire(); err != nil {
		t.Fatal(err)
	}
	d.give(pauses(allWork, "", "r"))
	if err := acquire(); err != nil {
		t.Errorf("asked again for what it holds: %v", err)
	}
}

// A commit lock that a paused execution is granted is left to others.
func TestLOCK01_APausedExecutionDoesNotKeepTheLock(t *testing.T) {
	d := newDesk(t)
	parked := func(digest string) (*loomv1.Brief, *loomv1.LockClaim) {
		d.work("qa-engineer", triaged())
		d.work("backend-engineer", proposed(digest))
		d.approve()
		b, who := d.claim("engineering-manager")
		claim := d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: b.Attempt.Id, Holder: who}}}).GetLock()
		if claim.Token == 0 {
			d.ok(&loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{Attempt: b.Attempt.Id, Claimant: who, WaitsFor: "lock"}}})
		}
		return b, claim
	}
	var briefs []*loomv1.Brief
	var claims []*loomv1.LockClaim
	for i := range 3 {
		d.file(&loomv1.Submission{Goal: "mend", Process: project.AutoBug})
		b, c := parked(fmt.Sprint("p", i))
		briefs, claims = append(briefs, b), append(claims, c)
	}
	d.give(pauses(oneExecution, briefs[1].Execution.Id, "r"))
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: claims[0].Token}}})
	v, err := d.s.Look(project.Lock, &loomv1.Query{})
	if err != nil || v.Locks[0].Holder.GetRequest() != briefs[2].Attempt.Id {
		t.Fatalf("lock %v, %v; want it with %s, which can use it", v, err, briefs[2].Attempt.Id)
	}
	d.give(resumes(oneExecution, briefs[1].Execution.Id, "r"))
	for _, q := range d.s.Queued() {
		if q.Attempt == briefs[1].Attempt.Id {
			return
		}
	}
	t.Errorf("what was paused does not wait for an agent again: %v", d.s.Queued())
}
