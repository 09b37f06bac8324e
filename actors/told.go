package actors

import (
	"sync/atomic"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Told hears what an agent does at an attempt, as the event that its project journals of
// it, without number and time: claimed, model-answered and what else it records,
// attempt-parked, attempt-ended or claim-released at its end. The brief is the attempt's.
// It must not block, and changes neither.
type Told func(b *loomv1.Brief, e *loomv1.Event)

// telling tells of one attempt.
type telling struct {
	told  Told
	brief *loomv1.Brief
	waits atomic.Pointer[loomv1.AttemptParked] // what its agent has asked last that can park it
}

// say tells of a fact. A telling that nobody hears says nothing.
func (t *telling) say(e *loomv1.Event) {
	if t == nil || t.told == nil {
		return
	}
	b := t.brief
	t.told(b, &loomv1.Event{
		Project: b.GetProject().GetId(), Bead: b.GetBead().GetId(), Execution: b.GetExecution().GetId(),
		Node: b.GetNode().GetId(), Attempt: b.GetAttempt().GetId(), Fact: e.GetFact(),
		Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: b.GetAttempt().GetClaimant().GetAgent()},
	})
}

// mayWait notes what the attempt waits for, should it be parked now.
func (t *telling) mayWait(what *loomv1.AttemptParked) {
	if t != nil {
		t.waits.Store(what)
	}
}

// claimed says that the agent has the attempt.
func (t *telling) claimed() {
	a := t.brief.GetAttempt()
	t.say(&loomv1.Event{Fact: &loomv1.Event_AttemptClaimed{AttemptClaimed: &loomv1.AttemptClaimed{Claimant: a.GetClaimant(), Generation: a.GetGeneration()}}})
}

// parked says that it waits.
func (t *telling) parked() {
	t.say(&loomv1.Event{Fact: &loomv1.Event_AttemptParked{AttemptParked: t.waits.Load()}})
}

// ended says what came of it.
func (t *telling) ended(out *loomv1.Outcome) {
	t.say(&loomv1.Event{Fact: &loomv1.Event_AttemptEnded{AttemptEnded: &loomv1.AttemptEnded{Outcome: out}}})
}

// released says that the agent has it no more, though it has not ended.
func (t *telling) released(reason string) {
	t.say(&loomv1.Event{Fact: &loomv1.Event_ClaimReleased{ClaimReleased: &loomv1.ClaimReleased{Reason: reason}}})
}
