package intent

import (
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// follows says which phases may come after each.
var follows = map[loomv1.LifecyclePhase][]loomv1.LifecyclePhase{
	0:          {Primacy},
	Primacy:    {Capture},
	Capture:    {Meta},
	Meta:       {Activation},
	Activation: {Inputs},
	Inputs:     {Execution, Completion},
	Execution:  {Steering},
	Steering:   {Execution, Completion},
	Completion: {Delivery, Execution},
	Delivery:   {Memory},
	Memory:     {Reintegration},
}

// impossible says why a fact cannot have happened; empty where it can.
func (s *Session) impossible(f *loomv1.IntentFact) string {
	if _, opens := f.Fact.(*loomv1.IntentFact_Opened); opens != (s.id == "") {
		return "it is opened once, before anything else"
	}
	if s.ended {
		return "it has ended"
	}
	switch f := f.Fact.(type) {
	case nil:
		return "a fact that this build does not know"
	case *loomv1.IntentFact_Opened:
		if f.Opened.Id == "" || len(f.Opened.Pattern.GetSteps()) == 0 {
			return "it has no id, or a pattern without steps"
		}
	case *loomv1.IntentFact_Entered:
		if to := f.Entered.Phase; !slices.Contains(follows[s.phase], to) && (s.back == 0 || to != s.back) {
			return PhaseName(to) + " does not come after " + PhaseName(s.phase)
		} else if to >= Meta && s.seal == nil || to >= Activation && !s.passed || to >= Steering && (s.step == nil || s.running) || to == Completion && s.phase == Inputs && s.first > 0 {
			return PhaseName(to) + " is entered before what has to be there"
		}
	case *loomv1.IntentFact_Asked:
		if s.phase != Primacy || s.pending != nil {
			return "a question is asked outside of primacy, or beside another"
		}
	case *loomv1.IntentFact_Passed:
		if s.pending == nil || s.pending.Number != f.Passed.Number {
			return "a question is passed that does not wait"
		}
	case *loomv1.IntentFact_Struck:
		if n := f.Struck.Number; s.phase != Primacy && s.phase != Capture || n == 0 || int(n) > len(s.answers) || s.struck[n] != f.Struck.Restore {
			return "an answer is struck that does not hold, or after the seal"
		}
	case *loomv1.IntentFact_Sealed:
		switch {
		case s.shown == nil || s.shown.Digest != f.Sealed.Digest || Digest(s.shown.Envelope) != f.Sealed.Digest:
			return "the seal is on another envelope than was shown"
		case s.seal != nil && !s.confirm:
			return "the intent is sealed already"
		case !isPerson(f.Sealed.By):
			return "nobody but a person seals an intent"
		}
	case *loomv1.IntentFact_Drafted:
		if s.phase != Capture || f.Drafted.Envelope == nil {
			return "an envelope is shown outside of intention capture, or none is"
		}
	case *loomv1.IntentFact_Revised:
		if s.seal == nil || s.running {
			return "a step runs, or nothing is sealed that could be revised"
		}
	case *loomv1.IntentFact_StepStarted:
		if s.seal == nil || !s.passed || s.confirm || s.running || s.aborted != nil || s.stepOf(f.StepStarted.Step) == nil {
			return "a step begins before the intent is sealed and validated"
		}
	case *loomv1.IntentFact_Written:
		if !s.running || s.step.Step != f.Written.Step || !slices.Contains(s.stepOf(f.Written.Step).Writes, f.Written.Layer) {
			return "a step writes where it must not"
		}
	case *loomv1.IntentFact_StepEnded:
		if !s.running || s.step.Run != f.StepEnded.Run {
			return "a step ends that does not run"
		}
	case *loomv1.IntentFact_TakenBack:
		if !slices.ContainsFunc(s.steering, func(st *loomv1.Steered) bool { return st.Number == f.TakenBack.Number }) {
			return "something is taken back that was not said"
		}
	case *loomv1.IntentFact_Aborted:
		if s.running || s.aborted != nil || f.Aborted.Record == nil {
			return "it is aborted while a step runs, twice, or without a record"
		}
	case *loomv1.IntentFact_DeliveryFailed:
		if s.phase != Delivery {
			return "a delivery fails that was not under way"
		}
	case *loomv1.IntentFact_Resumed:
		if s.aborted == nil || s.seal == nil {
			return "nothing was aborted that could be resumed"
		}
	}
	return ""
}

func isPerson(by *loomv1.Identity) bool {
	return by.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_OPERATOR || by.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_CEO
}
