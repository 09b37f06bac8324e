package intent

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The limits of a session.
const (
	MaxAnswer    = 4 << 10 // bytes of an answer
	MaxRefusals  = 3       // of a round of primacy; then the pattern asks
	MaxWithheld  = 6       // turns of a model without a question, one after the other
	maxAnswers   = 64
	maxQuestions = 24 // of models, in a session
	maxRuns      = 64 // of steps
	maxText      = 4 << 10
	maxNotes     = 24 << 10 // bytes of what a step says at its end, at the slowest tempo
	maxLines     = 5
	maxLine      = 200
	maxSteering  = 64
	maxActive    = 256
	maxKept      = 256
	stepTimeout  = 30 * time.Minute
)

// Decide returns the facts that a command leads to, in their order, or a refusal
// and none. It changes nothing: what it returns is to be committed and then
// folded with [Session.Apply]. Commands are not idempotent; the shell answers a
// repeated request with its first answer.
//
// A refused question is no error: its fact is QuestionRefused, and
// [Refusal] says to the model what was wrong.
func (s *Session) Decide(c *loomv1.IntentCommand) ([]*loomv1.IntentFact, error) {
	d := &decision{Session: s.clone(), by: c.GetBy(), at: c.GetAt()}
	if err := d.command(c); err != nil {
		return nil, err
	}
	return d.facts, d.broken
}

// Tick returns the facts that are due at a time: a step that has run for longer
// than it may ends, and an abort that waited for it is carried out.
func (s *Session) Tick(at time.Time) ([]*loomv1.IntentFact, error) {
	due, waits := s.Next()
	if !waits || at.Before(due) {
		return nil, nil
	}
	d := &decision{Session: s.clone(), by: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "timer"}, at: timestamppb.New(at)}
	d.endStep(&loomv1.StepEnded{Status: loomv1.StepStatus_STEP_STATUS_TIMED_OUT, Summary: "it took longer than it may"})
	return d.facts, d.broken
}

// Refusal returns what a model is told of a question that was held back, nil
// where none of the facts is one.
func Refusal(facts []*loomv1.IntentFact) error {
	for _, f := range facts {
		if r := f.GetRefused(); r != nil {
			return fault.New("intent/question", "the question was not asked, by rule %q: %s", r.Rule, r.Reason).
				Want("ask one open question about what the person wants; it is refusal %d, and after %d the pattern asks in your place", r.Count, MaxRefusals)
		}
	}
	return nil
}

// decision is a command being decided: a working copy of the state, and the
// facts so far.
type decision struct {
	*Session
	by     *loomv1.Identity
	at     *timestamppb.Timestamp
	facts  []*loomv1.IntentFact
	broken error
}

// emit adds a fact and folds it, so that those after it see it.
func (d *decision) emit(f *loomv1.IntentFact) {
	if d.broken != nil {
		return
	}
	f.At, f.By = d.at, d.by
	if d.broken = d.Apply(proto.CloneOf(f)); d.broken == nil {
		d.facts = append(d.facts, f)
	} else {
		d.facts = nil
	}
}

func (d *decision) enter(p loomv1.LifecyclePhase, step uint32) {
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Entered{Entered: &loomv1.LifecycleEntered{Phase: p, Step: step}}})
}

// Who may ask for something.
type party string

const (
	person  party = "a person: an operator, or the CEO"
	runtime party = "the runtime, or an agent of it"
	agent   party = "an agent"
	host    party = "the runtime"
	anybody party = "an agent or a person"
)

func (d *decision) is(p party) bool {
	kind := d.by.GetKind()
	asAgent, asHost := kind == loomv1.IdentityKind_IDENTITY_KIND_AGENT, kind == loomv1.IdentityKind_IDENTITY_KIND_HOST
	switch p {
	case person:
		return isPerson(d.by)
	case agent:
		return asAgent
	case host:
		return asHost
	case runtime:
		return asAgent || asHost
	}
	return asAgent || isPerson(d.by)
}

// allowed refuses what somebody else may ask for, or what belongs to another
// phase.
func (d *decision) allowed(p party, what string, phases ...loomv1.LifecyclePhase) error {
	switch {
	case !d.is(p):
		return fault.New("intent/identity", "%s is asked for by %s", what, p).Got(word(d.by.GetKind().String(), "IDENTITY_KIND_"))
	case d.ended:
		return fault.New("intent/ended", "session %q has ended", d.id)
	case d.aborted != nil:
		return fault.New("intent/ended", "session %q was aborted", d.id).Want("resume or rerun it")
	case len(phases) == 0 || slices.Contains(phases, d.phase):
		return nil
	case d.seal == nil && phases[0] > Meta:
		return fault.New("intent/unsealed", "%s needs a sealed intent, and session %q is in %s", what, d.id, PhaseName(d.phase)).
			Want("answer the questions of primacy and say ready")
	}
	return fault.New("intent/phase", "%s belongs to %s, and session %q is in %s", what, PhaseName(phases[0]), d.id, PhaseName(d.phase))
}

func (d *decision) command(c *loomv1.IntentCommand) error {
	if c.GetAt() == nil || !c.At.IsValid() {
		return fault.New("intent/invalid", "the command has no time").At("at")
	}
	if open := c.GetOpen(); open != nil {
		return d.open(open)
	}
	if d.id == "" {
		return fault.New("intent/unsealed", "there is no session").Want("open one: it begins with primacy")
	}
	if d.back != 0 {
		return fault.New("intent/phase", "the facts of the last command of session %q are not all folded", d.id)
	}
	switch b := c.Body.(type) {
	case *loomv1.IntentCommand_ProposeQuestion:
		return d.propose(b.ProposeQuestion)
	case *loomv1.IntentCommand_OfferText:
		return d.offer(b.OfferText)
	case *loomv1.IntentCommand_LeaveQuestions:
		return d.leave(b.LeaveQuestions)
	case *loomv1.IntentCommand_Answer:
		return d.answer(b.Answer)
	case *loomv1.IntentCommand_Strike:
		return d.strike(b.Strike)
	case *loomv1.IntentCommand_Draft:
		return d.draft(b.Draft)
	case *loomv1.IntentCommand_Seal:
		return d.ready(b.Seal)
	case *loomv1.IntentCommand_Revise:
		return d.revise(b.Revise)
	case *loomv1.IntentCommand_Validate:
		return d.validate(b.Validate)
	case *loomv1.IntentCommand_Activate:
		return d.activate(b.Activate)
	case *loomv1.IntentCommand_Prepare:
		return d.prepare(b.Prepare)
	case *loomv1.IntentCommand_Write:
		return d.writes(b.Write)
	case *loomv1.IntentCommand_EndStep:
		return d.stepEnds(b.EndStep)
	case *loomv1.IntentCommand_Proceed:
		return d.proceed(b.Proceed)
	case *loomv1.IntentCommand_Steer:
		return d.steer(b.Steer)
	case *loomv1.IntentCommand_TakeBack:
		return d.takeBack(b.TakeBack)
	case *loomv1.IntentCommand_SetTempo:
		return d.setTempo(b.SetTempo)
	case *loomv1.IntentCommand_Abort:
		return d.abortAsked(b.Abort)
	case *loomv1.IntentCommand_Resume:
		return d.resume(b.Resume)
	case *loomv1.IntentCommand_Judge:
		return d.judge(b.Judge)
	case *loomv1.IntentCommand_Choose:
		return d.choose(b.Choose)
	case *loomv1.IntentCommand_FailDelivery:
		return d.failDelivery(b.FailDelivery)
	case *loomv1.IntentCommand_Deliver:
		return d.deliver(b.Deliver)
	case *loomv1.IntentCommand_UpdateMemory:
		return d.remember(b.UpdateMemory)
	case *loomv1.IntentCommand_Reintegrate:
		return d.reintegrate(b.Reintegrate)
	}
	return fault.New("intent/invalid", "the command asks for nothing")
}
