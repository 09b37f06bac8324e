package play

import (
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Outcomes of attempts, and answers of the CEO.
const (
	Success = loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
	Failure = loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
	More    = loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE

	Approve = loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	Reject  = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
	Changes = loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES
	Retry   = loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY
)

// Roles of the auto-bug workflow.
const (
	qa      = "qa-engineer"
	backend = "backend-engineer"
	manager = "engineering-manager"
)

// Who commits are by.
const (
	specialist = "Loom backend-engineer <backend-engineer@agents.loom.invalid>"
	committer  = "Loom engineering-manager <engineering-manager@loom.invalid>"
)

// ToApproval brings a new bug to the CEO.
func (s *Shop) ToApproval(patch string) *loomv1.SubmitReply {
	filed := s.File(&loomv1.Submission{Goal: "the total is wrong: " + patch, Type: loomv1.BeadType_BEAD_TYPE_BUG, Labels: []string{"till"}})
	s.Work(qa, Outcome(Success, map[string]any{"severity": "high", "specialist": backend, "check": "go test ./..."}))
	s.Work(backend, Outcome(More, nil))
	s.Propose(patch)
	return filed
}

// Propose has a specialist propose a change.
func (s *Shop) Propose(patch string) {
	out := Outcome(Success, nil)
	out.Change = &loomv1.Change{
		Base: "b0", Commit: "w-" + patch, Tree: "t-" + patch, PatchDigest: patch, FilesTotal: 1,
		Files: []*loomv1.ChangedFile{{Path: "cart.go", Status: "modified", Added: 2, Removed: 1}},
	}
	s.Work(backend, out)
}

// Commit makes the candidate under the commit lock.
func (s *Shop) Commit(patch string) {
	s.underLock(func(token uint64) *loomv1.Outcome {
		out := Outcome(Success, map[string]any{"fault": ""})
		out.Candidate = &loomv1.Candidate{
			Commit: "c-" + patch, Tree: "t-" + patch, Base: "b0", PatchDigest: patch, Token: token, Ref: "refs/loom/candidate/" + patch,
			Author: specialist, ExpectedAuthor: specialist, Committer: committer, ExpectedCommitter: committer,
			Hooks: []*loomv1.HookResult{{Name: "pre-commit"}},
		}
		return out
	})
}

// Verify checks the candidate.
func (s *Shop) Verify(patch string, passed bool) {
	out := Outcome(Success, map[string]any{"fault": ""})
	if !passed {
		out = Outcome(Failure, map[string]any{"fault": "change"})
	}
	out.Checks = []*loomv1.CheckRun{{Command: "go test ./...", Passed: passed, Commit: "c-" + patch}}
	s.Work(qa, out)
}

// Land moves the target under the commit lock.
func (s *Shop) Land(patch string) {
	s.underLock(func(token uint64) *loomv1.Outcome {
		out := Outcome(Success, map[string]any{"fault": ""})
		out.Landing = &loomv1.Landing{Commit: "c-" + patch, Ref: "refs/heads/main", Target: "main", Token: token, Checkout: "fast-forwarded"}
		return out
	})
}

func (s *Shop) underLock(answer func(token uint64) *loomv1.Outcome) {
	b, who := s.Claim(manager)
	lock := s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{
		Request: b.Attempt.Id, Execution: b.Execution.Id, Holder: who,
	}}}).GetLock()
	out := answer(lock.GetToken())
	s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: lock.GetToken()}}})
	s.Answer(b, who, out)
}

// Finish brings what is approved to its end.
func (s *Shop) Finish(patch string) {
	s.Commit(patch)
	s.Verify(patch, true)
	s.Land(patch)
}

// Landed is a bug that is mended at the first try.
func Landed(s *Shop) {
	s.ToApproval("p1")
	s.Decide(Approve, "fine")
	s.Finish("p1")
}

// Rework is a bug whose first mending fails its verification, and whose second
// the CEO wants otherwise.
func Rework(s *Shop) {
	s.ToApproval("p1")
	s.Decide(Approve, "fine")
	s.Commit("p1")
	s.Verify("p1", false)
	s.Propose("p2")
	s.Decide(Changes, "say why in a comment")
	s.Propose("p3")
	s.Decide(Approve, "better")
	s.Finish("p3")
}

// Escalation is triage that fails until the CEO grants more attempts, and is
// rejected in the end.
func Escalation(s *Shop) {
	s.File(&loomv1.Submission{Goal: "something is slow"})
	for _, answer := range []loomv1.ApprovalDecision{Retry, Reject} {
		for len(s.Inbox()) == 0 {
			out := Outcome(Failure, nil)
			out.Code = "tool/failed"
			s.Work(qa, out)
			s.Pass(3 * time.Minute)
		}
		s.Decide(answer, "so be it")
	}
}

// Troubles are agents that die, sleep and repeat themselves, errors that are
// reported again, and a lock that nobody gives back.
func Troubles(s *Shop) {
	report := &loomv1.ErrorReport{Service: "checkout", Status: 500, Kind: "panic", Message: "total 4999 is wrong", Stack: "cart.Total\n\tcart.go:12"}
	file := func() {
		s.Do(&loomv1.Command{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: report}}})
	}
	file()
	b, who := s.Claim(qa)
	s.Turn(b, who, 10)
	file()
	s.Do(&loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: "h1", Epoch: 2}}})
	b, who = s.Claim(qa)
	s.Do(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "the host stops"}}})
	s.Claim(qa)
	s.Pass(time.Hour) // it times out
	s.Decide(Retry, "try again")
	s.Work(qa, Outcome(Success, map[string]any{"severity": "high", "specialist": backend, "check": "go test ./..."}))
	s.Propose("p1")
	s.Decide(Approve, "")
	b, who = s.Claim(manager)
	s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: b.Attempt.Id, Execution: b.Execution.Id, Holder: who}}})
	s.Pass(20 * time.Minute) // the grant goes stale
	s.Do(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "it slept"}}})
	s.Finish("p1")
}
