package workflow

import (
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Unverified is the code of a phase that nobody could judge. An outcome with it says
// that no further attempt of its node would change that.
const Unverified = "verify/unverified"

// Judges says whether a part of a phase decides whether its work is verified: the
// verifier's verdict, the second judge's view of the evidence for it, or the verdict of
// reviewers whose votes are counted.
func Judges(p *loomv1.Phase) bool {
	switch p.GetPart() {
	case loomv1.PhasePart_PHASE_PART_CHECK, loomv1.PhasePart_PHASE_PART_SECOND, loomv1.PhasePart_PHASE_PART_VOTE:
		return true
	}
	return false
}

func (n *node) judges() bool { return Judges(n.GetPhase()) }

// Verdict says whether an outcome finds work wrong: whether it names a rule of
// severity error that is broken.
func Verdict(out *loomv1.Outcome) bool {
	return slices.ContainsFunc(out.GetBroken(), func(b *loomv1.BrokenRule) bool { return b.Severity == loomv1.Severity_SEVERITY_ERROR })
}

// FoundWrong says whether a judge has found the work that it looks at wrong: in any
// attempt of its present visit, since that is about the same work.
func FoundWrong(judge *loomv1.NodeState) bool {
	if judge.GetStatus() == succeeded {
		return false
	}
	return Verdict(judge.GetOutcome()) || slices.ContainsFunc(judge.GetHistory(), func(a *loomv1.Attempt) bool {
		return a.Visit == judge.Visit && Verdict(a.Outcome)
	})
}

// left says whether a node has another attempt after an outcome. Whoever judges is
// not asked again once there is a verdict: the same work has the same faults.
func (r Run) left(n *node, out *loomv1.Outcome) bool {
	st := r.state(n)
	over := n.judges() && (Verdict(out) || out.GetCode() == Unverified)
	return !over && st.Attempts < n.limit()+st.ExtraAttempts
}

// judgeAgain lets a judge be asked again that was too slow or for whose role nobody is
// there, if it has another attempt.
func (r Run) judgeAgain(n *node) (bool, error) {
	if !n.judges() || !r.left(n, nil) {
		return false, nil
	}
	return true, r.backOff(n)
}

// unjudged says whether a judge has come to no verdict. What it looked at is not
// wrong for that: it is not verified.
func (r Run) unjudged(n *node) bool { return n.judges() && !FoundWrong(r.state(n)) }
