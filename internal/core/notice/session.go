package notice

import (
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// session says how a session of a pattern went on. Of a model it has nothing but the
// questions that were let through.
func session(e *loomv1.Event) string {
	a := e.GetSessionAdvanced()
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%s: session %s", about(e), a.GetSession()) + advanced(e, a.GetFact())
}

func advanced(e *loomv1.Event, fact *loomv1.IntentFact) string {
	switch f := fact.GetFact().(type) {
	case *loomv1.IntentFact_Opened:
		return fmt.Sprintf(" of pattern %s opened by %s", f.Opened.GetPattern().GetName(), who(e)) + after(": ", f.Opened.GetRequest())
	case *loomv1.IntentFact_Entered:
		return " is in " + intent.PhaseName(f.Entered.GetPhase()) + after(", step ", number(f.Entered.GetStep())) + map[bool]string{true: ", and waits for the operator"}[f.Entered.GetWaits()]
	case *loomv1.IntentFact_Asked:
		return fmt.Sprintf(" asks about %s: %q", intent.FieldName(f.Asked.GetAbout()), part(f.Asked.GetText()))
	case *loomv1.IntentFact_Refused:
		return fmt.Sprintf(": a question of the model was held back by rule %s, %s", f.Refused.GetRule(), f.Refused.GetReason())
	case *loomv1.IntentFact_Withheld:
		return fmt.Sprintf(": %d bytes that the model said beside its questions were withheld", f.Withheld.GetSize())
	case *loomv1.IntentFact_PatternAsks:
		return ": the pattern's own questions are asked" + after(", ", f.PatternAsks.GetReason())
	case *loomv1.IntentFact_Answered:
		return fmt.Sprintf(": answer %d, about %s, by %s", f.Answered.GetNumber(), intent.FieldName(f.Answered.GetAbout()), who(e))
	case *loomv1.IntentFact_Passed:
		return fmt.Sprintf(": %s has nothing to add about %s", who(e), intent.FieldName(f.Passed.GetAbout()))
	case *loomv1.IntentFact_Struck:
		if f.Struck.GetRestore() {
			return fmt.Sprintf(": answer %d holds again, says %s", f.Struck.GetNumber(), who(e))
		}
		return fmt.Sprintf(": answer %d is struck by %s", f.Struck.GetNumber(), who(e))
	case *loomv1.IntentFact_Drafted:
		return " shows envelope " + f.Drafted.GetEnvelope().GetId() + after(", digest ", f.Drafted.GetDigest())
	case *loomv1.IntentFact_DeliveryFailed:
		return ": its outputs were not delivered" + after(", ", f.DeliveryFailed.GetReason())
	case *loomv1.IntentFact_Sealed:
		return fmt.Sprintf(": the intent is sealed by %s, digest %s", who(e), f.Sealed.GetDigest())
	case *loomv1.IntentFact_Revised:
		return fmt.Sprintf(": the intent is revised by %s", who(e)) + after(": ", f.Revised.GetReason())
	case *loomv1.IntentFact_Validated:
		return validated(f.Validated)
	case *loomv1.IntentFact_Activated:
		return ": its steps are given to " + strings.Join(f.Activated.GetAgents(), ", ")
	case *loomv1.IntentFact_Prepared:
		return fmt.Sprintf(": %d inputs are prepared", len(f.Prepared.GetInputs()))
	}
	return worked(e, fact)
}

func validated(v *loomv1.MetaValidated) string {
	var found []string
	for _, f := range v.GetFindings() {
		found = append(found, f.GetText())
	}
	if v.GetPassed() {
		return ": META validation has passed" + after(", with warnings: ", strings.Join(found, "; "))
	}
	return ": META validation has not passed" + after(": ", strings.Join(found, "; "))
}

// worked says what happened in a session after its intent was sealed.
func worked(e *loomv1.Event, fact *loomv1.IntentFact) string {
	switch f := fact.GetFact().(type) {
	case *loomv1.IntentFact_StepStarted:
		return fmt.Sprintf(": step %d begins, at %s, until %s", f.StepStarted.GetStep(), word(f.StepStarted.GetLimits().GetTempo()), clock(f.StepStarted.GetDeadline()))
	case *loomv1.IntentFact_Written:
		return fmt.Sprintf(": step %d has written %s to layer %s", f.Written.GetStep(), f.Written.GetName(), intent.LayerName(f.Written.GetLayer()))
	case *loomv1.IntentFact_StepEnded:
		return fmt.Sprintf(": step %d is %s", f.StepEnded.GetStep(), word(f.StepEnded.GetStatus())) + after(": ", f.StepEnded.GetSummary())
	case *loomv1.IntentFact_Steered:
		if f.Steered.GetRedirect() {
			return fmt.Sprintf(": %s redirects it", who(e)) + after(": ", f.Steered.GetText())
		}
		return fmt.Sprintf(": %s comments", who(e)) + after(": ", f.Steered.GetText())
	case *loomv1.IntentFact_TempoSet:
		return fmt.Sprintf(": %s sets the tempo to %s", who(e), tempo(f.TempoSet.GetTempo()))
	case *loomv1.IntentFact_AbortAsked:
		return fmt.Sprintf(" is to be aborted, says %s", who(e)) + after(": ", f.AbortAsked.GetReason())
	case *loomv1.IntentFact_Aborted:
		return fmt.Sprintf(" is aborted at step %d", f.Aborted.GetRecord().GetAbortedAtStep()) + after(": ", f.Aborted.GetRecord().GetReason())
	case *loomv1.IntentFact_Flushed:
		return fmt.Sprintf(": its own memory is empty, it had %d entries", f.Flushed.GetEntries())
	case *loomv1.IntentFact_Resumed:
		return fmt.Sprintf(" is taken up by %s at %s", who(e), intent.TakenUpAt(f.Resumed))
	case *loomv1.IntentFact_Judged:
		return fmt.Sprintf(": %d criteria and outputs are judged, %d are not met", len(f.Judged.GetVerdicts()), unmet(f.Judged))
	case *loomv1.IntentFact_Chosen:
		return fmt.Sprintf(": what is not met, says %s: %s", who(e), word(f.Chosen.GetChoice())) + after(" ", number(f.Chosen.GetStep()))
	case *loomv1.IntentFact_Delivered:
		return fmt.Sprintf(": %d outputs are delivered", len(f.Delivered.GetOutputs()))
	case *loomv1.IntentFact_MemoryUpdated:
		return fmt.Sprintf(": %d entries are remembered", len(f.MemoryUpdated.GetEntries()))
	case *loomv1.IntentFact_Reintegrated:
		return after(": ", strings.Join(f.Reintegrated.GetLines(), " "))
	case *loomv1.IntentFact_Ended:
		return " has ended" + after(" with gaps: ", strings.Join(f.Ended.GetGaps(), ", "))
	}
	return " went on"
}

func unmet(j *loomv1.JudgeCompletion) (n int) {
	for _, v := range j.GetVerdicts() {
		if !v.GetMet() {
			n++
		}
	}
	return n
}

func tempo(t loomv1.Tempo) string {
	if t == loomv1.Tempo_TEMPO_UNSPECIFIED {
		return "that of steps and pattern"
	}
	return word(t)
}

// number writes a step, "" for none.
func number(n uint32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
