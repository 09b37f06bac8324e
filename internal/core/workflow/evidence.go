package workflow

import (
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/patchscan"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// judged returns out, or, for a success without its evidence, the failure that
// is recorded in its place: the same with status, code and refusal changed.
//
// It is a failure and not a refusal of the answer, because an agent that
// claims what it cannot show has used its attempt: it must neither hold the
// attempt until the timeout nor try again for nothing.
func (r Run) judged(n *node, out *loomv1.Outcome) *loomv1.Outcome {
	if out.Status != success {
		return out
	}
	err := r.evidence(n, out)
	if err == nil {
		return out
	}
	out = proto.CloneOf(out)
	out.Status, out.Code, out.Refusal = failure, err.Code, err.Error()
	return out
}

// evidence says what a success of a commit, verify or land node lacks:
//
//   - commit: a candidate whose patch is the approved one or, where the
//     definition has no approval before it, the proposed one; an approval that
//     was skipped on a dead path has approved nothing; and what the project's
//     policy wants approved was;
//   - verify: every required check passed, on the candidate's commit;
//   - land: the candidate's commit landed, or that of the same patch on a merge
//     train that passed, and every verification before it was of the candidate.
func (r Run) evidence(n *node, out *loomv1.Outcome) *fault.Error {
	switch n.Kind {
	case loomv1.NodeKind_NODE_KIND_COMMIT:
		return r.committed(n, out.Candidate)
	case loomv1.NodeKind_NODE_KIND_VERIFY:
		return r.verified(out.Checks)
	case loomv1.NodeKind_NODE_KIND_LAND:
		return r.landed(n, out.Landing)
	}
	return nil
}

func (r Run) committed(n *node, c *loomv1.Candidate) *fault.Error {
	if c.GetPresent() && c.Commit != "" && c.PatchDigest == "" {
		return nil // it is verified as it is, and moves nothing
	}
	if c.GetCommit() == "" || c.GetPatchDigest() == "" || c.Present {
		return noEvidence("node %q gave no candidate commit with its patch", n.Id)
	}
	want, of := r.X.Change.GetPatchDigest(), "proposed"
	if n.approvals {
		want, of = r.X.Approved.GetPatchDigest(), "approved"
	}
	switch want {
	case "":
		return noEvidence("no %s change covers candidate %s", of, short(c.Commit))
	case c.PatchDigest:
		return r.gated()
	}
	return fault.New("git/patch-changed", "candidate %s has patch %s, but patch %s was %s",
		short(c.Commit), short(c.PatchDigest), short(want), of)
}

// needsGate is the code of a commit whose change a person has to approve first. To
// approve the escalation that it leads to approves the change.
const needsGate = "patch/needs-gate"

// gated says what of the change has to be approved by a person and was not: a
// definition without an approval commits no such change unseen.
func (r Run) gated() *fault.Error {
	found := patchscan.Gated(r.X.Change.GetWarnings())
	if len(found) == 0 || r.X.Approved.GetPatchDigest() == r.X.Change.GetPatchDigest() {
		return nil
	}
	return fault.New(needsGate, "a person has to approve what the change contains: %s", patchscan.Text(found[0])).
		Want("approve this escalation, or reject it")
}

func (r Run) verified(runs []*loomv1.CheckRun) *fault.Error {
	commit := r.X.Candidate.GetCommit()
	switch {
	case commit == "":
		return noEvidence("there is no candidate to verify")
	case len(r.X.Checks) == 0:
		return fault.New("verify/no-check", "no check is required, so nothing was shown")
	}
	for _, command := range r.X.Checks {
		if err := passed(command, commit, runs); err != nil {
			return err
		}
	}
	return nil
}

// passed wants a command to have run on a commit, and never to have failed.
func passed(command, commit string, runs []*loomv1.CheckRun) *fault.Error {
	ran := false
	for _, c := range runs {
		if c.GetCommand() != command || c.GetCommit() != commit {
			continue
		}
		if !c.Passed {
			return fault.New("verify/failed", "check %q failed on %s with exit code %d", command, short(commit), c.ExitCode)
		}
		ran = true
	}
	if !ran {
		return noEvidence("check %q was not run on candidate %s", command, short(commit))
	}
	return nil
}

func (r Run) landed(n *node, l *loomv1.Landing) *fault.Error {
	commit := r.X.Candidate.GetCommit()
	if commit == "" || l.GetCommit() != commit && !r.rode(l.GetCommit()) {
		return noEvidence("%q landed, but the candidate is %q", short(l.GetCommit()), short(commit))
	}
	return r.vouched(n, commit)
}

// vouched wants every verification before a node to have been of a commit.
func (r Run) vouched(n *node, commit string) *fault.Error {
	for _, m := range r.Def.order[:n.index] {
		if m.Kind == loomv1.NodeKind_NODE_KIND_VERIFY && n.follows(m) && !r.vouches(m, commit) {
			return noEvidence("node %q has not verified candidate %s", m.Id, short(commit))
		}
	}
	return nil
}

// vouches says whether a verification has succeeded, in its present visit, on
// a commit.
func (r Run) vouches(m *node, commit string) bool {
	st := r.state(m)
	if st.GetStatus() != succeeded || st.Outcome.GetStatus() != success {
		return false
	}
	for _, c := range st.Outcome.Checks {
		if c.GetCommit() == commit && c.Passed {
			return true
		}
	}
	return false
}

// record emits the facts that an outcome brings: a changed proposal, a
// candidate, a landing. A failed commit may propose too: a rebase or a hook
// has changed the patch.
func (r Run) record(n *node, out *loomv1.Outcome) error {
	good := out.Status == success
	commits := n.Kind == loomv1.NodeKind_NODE_KIND_COMMIT
	if good && r.X.Change != nil && (out.Unchanged || out.Candidate.GetPresent()) {
		if err := r.withdrawChange(n.Id, "the target has nothing left to get from it"); err != nil {
			return err
		}
	}
	if out.Change != nil && !out.Unchanged && (good || commits && out.Status == failure) {
		if err := r.propose(n, out.Change); err != nil {
			return err
		}
	}
	switch {
	case good && commits:
		return r.emit(n, &loomv1.Event{Fact: &loomv1.Event_CandidateMade{
			CandidateMade: &loomv1.CandidateMade{Candidate: out.Candidate},
		}})
	case good && n.Kind == loomv1.NodeKind_NODE_KIND_LAND && r.X.Landing.GetCommit() == out.Landing.Commit:
		return nil // it had landed, and the CEO asked for the node again
	case good && n.Kind == loomv1.NodeKind_NODE_KIND_LAND:
		return r.emit(n, &loomv1.Event{Fact: &loomv1.Event_Landed{Landed: &loomv1.Landed{Landing: out.Landing}}})
	}
	return nil
}

// propose puts a change in the place of the proposed one. With another patch,
// what was approved or is being asked about the old one lapses.
func (r Run) propose(n *node, c *loomv1.Change) error {
	if proto.Equal(c, r.X.Change) {
		return nil
	}
	same := c.PatchDigest == r.X.Change.GetPatchDigest()
	if err := r.emit(n, &loomv1.Event{Fact: &loomv1.Event_ChangeProposed{
		ChangeProposed: &loomv1.ChangeProposed{Change: c},
	}}); err != nil || same {
		return err
	}
	const why = "another patch was proposed"
	if r.X.Approved != nil && r.X.Approved.PatchDigest != c.PatchDigest {
		if err := r.lapse(n, r.X.Approved.Approval, why); err != nil {
			return err
		}
	}
	return r.askAgain(why)
}

func (r Run) lapse(n *node, approval, why string) error { return r.Emit(lapse(n.Id, approval, why)) }

func lapse(node, approval, why string) *loomv1.Event {
	return &loomv1.Event{Node: node, Fact: &loomv1.Event_ApprovalLapsed{
		ApprovalLapsed: &loomv1.ApprovalLapsed{Approval: approval, Reason: why},
	}}
}

func noEvidence(format string, args ...any) *fault.Error {
	return fault.New("outcome/no-evidence", format, args...)
}

// short is a digest or commit as people read it.
func short(hex string) string { return hex[:min(len(hex), 12)] }
