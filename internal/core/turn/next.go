package turn

import (
	"fmt"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Step is what a turn does next: [Begin], [AskModel], [RunTools], [Repair],
// [Compact], [Finish], [Stop] or [Rest].
type Step interface{ step() }

// Compact puts a summary in the place of the first answers, because the
// conversation would not fit into the model's context: the shell has
// [Summarise] write it, keeps it, and records a Compaction.
type Compact struct {
	// Answers is how many answers the summary stands for, from the first.
	Answers uint32
	// Clip is how many bytes are kept of each result that is not summarised;
	// zero keeps all.
	Clip uint64
	// Bytes is how long the summary may be.
	Bytes int
}

// Begin builds the prompt and records a TurnStarted: nothing is recorded yet.
type Begin struct{}

// AskModel asks for the next answer to the [Transcript], and records it.
type AskModel struct {
	// Nudge is what the transcript ends with when the model seems to go in a
	// circle; else it is empty.
	Nudge string
}

// RunTools runs calls of the last answer, or of the runtime itself, and records
// an outcome for each. See [Batches] for what may run at once.
type RunTools struct{ Calls []Call }

// Repair asks again, as AskModel does: the last answer was no use, and the
// transcript ends with the reason.
type Repair struct {
	// Problem is what the model is told.
	Problem string
	// Count is how many useless answers there were in a row, from 1.
	Count int
}

// Finish ends the turn with the outcome that the model gave. Before a shell takes
// it, it may make calls of its own and record them: gates. A gate that fails
// refuses the outcome, so that the next step asks the model again.
type Finish struct{ Outcome *loomv1.Outcome }

// Stop ends the turn without one.
type Stop struct {
	// Code is turn/iterations, turn/budget, turn/time, turn/loop, turn/context,
	// verify/failed or model/invalid-output.
	Code string
	// Reason is a sentence for a person.
	Reason string
	// Gate is the call of the runtime's own that has refused the outcome last, where that
	// is why it ends.
	Gate *loomv1.ToolStep
}

func (Begin) step()    {}
func (AskModel) step() {}
func (RunTools) step() {}
func (Repair) step()   {}
func (Finish) step()   {}
func (Stop) step()     {}
func (Compact) step()  {}

// Outcome is the failure that a stopped turn is answered with.
func (s Stop) Outcome() *loomv1.Outcome {
	return &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Code: s.Code, Summary: s.Reason}
}

// Next returns what t does next for a node. It depends on its arguments alone,
// so a host that takes a turn over goes on as the last one would have. A shell
// asks it when all calls of the step before are recorded: a call with an
// intent and no outcome is taken for one that was cut off.
func Next(t *loomv1.Turn, n *loomv1.NodeDefinition, l Limits) Step {
	if !Started(t) {
		return Begin{}
	}
	all := rounds(t)
	if calls := open(all); len(calls) > 0 {
		return RunTools{calls}
	}
	if t.Converses {
		return nextInConversation(t, n, l)
	}
	if len(all) == 1 {
		return fitting(t, n, l, AskModel{})
	}
	last := all[len(all)-1]
	out, problem := last.verdict(n)
	if out != nil && last.refusal() == nil {
		return Finish{out}
	}
	if stop, ok := bound(t, all, n, l); ok {
		return stop
	}
	if problem != "" {
		return fitting(t, n, l, Repair{problem, useless(all, n)})
	}
	return fitting(t, n, l, AskModel{nudge(all)})
}

// bound says whether, and why, no other answer may be asked for.
func bound(t *loomv1.Turn, all []*round, n *loomv1.NodeDefinition, l Limits) (Stop, bool) {
	if bad := useless(all, n); bad > l.repairs() {
		_, problem := all[len(all)-1].verdict(n)
		return Stop{Code: "model/invalid-output", Reason: fmt.Sprintf("the model gave %s in a row, the last because: %s", fault.Count(bad, "useless answer"), firstLine(problem))}, true
	}
	if stop, ok := refused(all); ok {
		return stop, true
	}
	if reason := loop(all); reason != "" {
		return Stop{Code: "turn/loop", Reason: reason}, true
	}
	if given := len(all) - 1; given >= l.iterations() {
		return Stop{Code: "turn/iterations", Reason: fmt.Sprintf("the model gave %s without finishing, as many as it may", fault.Count(given, "answer"))}, true
	}
	return spent(t, l)
}

// used adds up the usage of a turn's answers and of the model's summaries of it.
func used(t *loomv1.Turn) (tokens, microUSD int64) {
	for _, s := range t.GetSteps() {
		for _, u := range []*loomv1.Usage{s.GetAnswer().GetUsage(), s.GetCompacted().GetAnswer().GetUsage()} {
			tokens += int64(u.GetInputTokens() + u.GetOutputTokens())
			microUSD += int64(u.GetCostMicroUsd())
		}
	}
	return tokens, microUSD
}

// spent says whether the turn has used what it may.
func spent(t *loomv1.Turn, l Limits) (Stop, bool) {
	tokens, money := used(t)
	switch {
	case l.Tokens > 0 && tokens >= l.Tokens:
		return Stop{Code: "turn/budget", Reason: fmt.Sprintf("the turn has used %d tokens, of the %d that its role may", tokens, l.Tokens)}, true
	case l.MicroUSD > 0 && money >= l.MicroUSD:
		return Stop{Code: "turn/budget", Reason: fmt.Sprintf("the turn has cost %.6f USD, of the %.6f that its role may", float64(money)/1e6, float64(l.MicroUSD)/1e6)}, true
	}
	return Stop{}, false
}

// Over says whether, and why, a turn may not ask for an answer that can use so
// many tokens and micro-dollars: with what it has used that would be more than
// its role may.
func Over(t *loomv1.Turn, l Limits, tokens, microUSD int64) (Stop, bool) {
	usedTokens, usedMoney := used(t)
	tokens, microUSD = tokens+usedTokens, microUSD+usedMoney
	switch {
	case l.Tokens > 0 && tokens > l.Tokens:
		return Stop{Code: "turn/budget", Reason: fmt.Sprintf("with the next answer the turn can use %d tokens, of the %d that its role may", tokens, l.Tokens)}, true
	case l.MicroUSD > 0 && microUSD > l.MicroUSD:
		return Stop{Code: "turn/budget", Reason: fmt.Sprintf("with the next answer the turn can cost %.6f USD, of the %.6f that its role may", float64(microUSD)/1e6, float64(l.MicroUSD)/1e6)}, true
	}
	return Stop{}, false
}

// useless counts the answers at the end that nobody could act on.
func useless(all []*round, n *loomv1.NodeDefinition) int {
	bad := 0
	for i := len(all) - 1; i > 0; i-- {
		if _, problem := all[i].verdict(n); problem == "" {
			break
		}
		bad++
	}
	return bad
}
