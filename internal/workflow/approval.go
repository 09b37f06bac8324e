package workflow

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How much of a node's history an approval carries.
const (
	historyAttempts = 20
	historyNotes    = 1 << 10
)

// ask opens an approval node's question: the first line of its description,
// or words of the engine's own.
func (r Run) ask(n *node) error {
	question, _, _ := strings.Cut(strings.TrimSpace(n.Description), "\n")
	if question == "" {
		question = fmt.Sprintf("%s: shall %q go on?", n.Id, r.Bead.GetGoal())
	}
	return r.request(n, &loomv1.Approval{
		Kind:     loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL,
		Question: cut(question, SummaryBytes),
	})
}

// askAgain withdraws questions about a change that no longer stands, and puts
// them again about the one that does.
func (r Run) askAgain(why string) error {
	for _, n := range r.Def.order {
		st := r.state(n)
		if st.GetApproval() == "" || st.Asks != loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL {
			continue
		}
		if err := r.lapse(n, st.Approval, why); err != nil {
			return err
		}
		if err := r.ask(n); err != nil {
			return err
		}
	}
	return nil
}

// escalate asks the CEO how to go on with a node that cannot by itself.
func (r Run) escalate(n *node, code, why string) error {
	return r.request(n, &loomv1.Approval{
		Kind:     loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION,
		Question: cut(fmt.Sprintf("%s cannot go on by itself: how is %q to continue?", n.Id, r.Bead.GetGoal()), SummaryBytes),
		Reason:   code + ": " + why,
	})
}

// request completes an approval with all that both kinds share, and emits it.
func (r Run) request(n *node, a *loomv1.Approval) error {
	st := r.state(n)
	a.Id, a.Bead, a.Execution = r.NextBead(), r.X.Bead, r.X.Id
	a.Node, a.Visit = n.Id, max(st.GetVisit(), 1)
	a.Change, a.History, a.Checks = r.X.Change, shown(st.GetHistory()), r.X.Checks
	a.Options = r.options(n, a.Kind)
	a.NextSteps = r.nextSteps(n, a)
	a.Digest = Digest(a)
	return r.emit(n, &loomv1.Event{Fact: &loomv1.Event_ApprovalRequested{
		ApprovalRequested: &loomv1.ApprovalRequested{Approval: a},
	}})
}

// shown is the part of a history that an approval carries: the newest
// attempts, with their notes cut and without the files of their changes.
func shown(history []*loomv1.Attempt) []*loomv1.Attempt {
	if len(history) > historyAttempts {
		history = history[len(history)-historyAttempts:]
	}
	part := make([]*loomv1.Attempt, len(history))
	for i, a := range history {
		part[i] = proto.CloneOf(a)
		part[i].Outcome.Notes = cut(a.Outcome.GetNotes(), historyNotes)
		if c := part[i].Outcome.Change; c != nil {
			c.Files = nil
		}
	}
	return part
}

// options lists what may be answered, in the order it is offered.
func (r Run) options(n *node, kind loomv1.ApprovalKind) []loomv1.ApprovalDecision {
	options := []loomv1.ApprovalDecision{approve}
	if r.lastWorking(n) != nil {
		options = append(options, requestChanges)
	}
	if kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		options = append(options, retry)
		if !r.indispensable(n) {
			options = append(options, skip)
		}
	}
	return append(options, reject)
}

// indispensable says whether a node is a commit, verify or land that has not
// succeeded: nothing can stand in its place.
func (r Run) indispensable(n *node) bool {
	return n.Kind != loomv1.NodeKind_NODE_KIND_UNSPECIFIED && r.state(n).GetOutcome().GetStatus() != success
}

// nextSteps says what each answer would do.
func (r Run) nextSteps(n *node, a *loomv1.Approval) []string {
	more := "give " + n.Id + " " + plural(n.limit(), "more attempt")
	if !n.isTask() {
		more = "look at " + n.Id + " again"
	}
	steps := make([]string, 0, len(a.Options))
	for _, o := range a.Options {
		switch o {
		case approve:
			if a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION && r.indispensable(n) {
				steps = append(steps, "approve: "+more+", since it is never skipped")
			} else {
				steps = append(steps, "approve: go on after "+n.Id)
			}
		case requestChanges:
			steps = append(steps, "request changes: back to "+r.lastWorking(n).Id+" with your comment")
		case retry:
			steps = append(steps, "retry: "+more)
		case skip:
			steps = append(steps, "skip: go on without "+n.Id)
		case reject:
			steps = append(steps, "reject: close the workflow and the bead")
		}
	}
	return steps
}

// The decisions, by their short names.
const (
	approve        = loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	reject         = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
	requestChanges = loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES
	retry          = loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY
	skip           = loomv1.ApprovalDecision_APPROVAL_DECISION_SKIP
)

// Decide carries out the CEO's answer to an approval. The caller has checked
// signature, nonce and digest, and has emitted ApprovalDecided: the node waits
// with nothing open. Anything else is refused and changes nothing.
func (r Run) Decide(a *loomv1.Approval, d *loomv1.DecideApproval) error {
	n, err := r.decided(a, d)
	if err != nil {
		return err
	}
	if err := r.carryOut(n, a.Kind, d); err != nil || !running(r.X) {
		return err
	}
	return r.advance()
}

// decided returns the node that an answer is about, or why it is about none.
func (r Run) decided(a *loomv1.Approval, d *loomv1.DecideApproval) (*node, error) {
	n := r.Def.nodes[a.GetNode()]
	switch {
	case !running(r.X):
		return nil, fault.New("approval/lapsed", "execution %q is not running: it is %s", r.X.Id, statusWord(r.X.Status))
	case n == nil || a.Execution != r.X.Id:
		return nil, fault.New("approval/unknown", "approval %q is about no node of execution %q", a.GetId(), r.X.Id)
	case !slices.Contains(a.Options, d.GetDecision()):
		return nil, fault.New("approval/option", "approval %q cannot be answered with %s", a.Id, d.GetDecision())
	}
	st := r.state(n)
	if st.GetStatus() != waiting || st.Approval != "" || st.Visit != a.Visit {
		return nil, fault.New("approval/lapsed", "node %q does not wait for what approval %q decides", n.Id, a.Id)
	}
	if d.Decision == requestChanges && r.lastWorking(n) == nil {
		return nil, fault.New("approval/option", "no work has been done before node %q", n.Id)
	}
	return n, nil
}

func (r Run) carryOut(n *node, kind loomv1.ApprovalKind, d *loomv1.DecideApproval) error {
	asked := kind == loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL
	switch d.Decision {
	case reject:
		return r.end(loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED, d.Comment)
	case requestChanges:
		return r.rework(n, r.lastWorking(n), r.state(n).Reworks, d.Comment)
	case retry:
		return r.again(n)
	case approve:
		if asked {
			return r.succeed(n, "approved")
		}
		if r.indispensable(n) {
			return r.again(n)
		}
	}
	return r.override(n)
}

// again gives a task as many attempts as it had at first, and looks at any
// other node once more.
func (r Run) again(n *node) error {
	if n.isTask() {
		return r.dispatch(n, byRetry, n.limit())
	}
	return r.succeed(n, "success")
}

// Digest returns what an answer to an approval must name: the SHA-256, in
// lower-case hex, of everything that is approved. Each part is preceded by its
// length, so that no two approvals read alike.
func Digest(a *loomv1.Approval) string {
	h := sha256.New()
	for _, part := range []string{
		"loom.v1.approval", a.GetId(), a.GetBead(), a.GetExecution(), a.GetNode(), a.GetQuestion(), a.GetReason(),
		a.GetChange().GetPatchDigest(), a.GetChange().GetCommit(), a.GetChange().GetTree(), a.GetChange().GetBase(),
	} {
		number(h, uint64(len(part)))
		h.Write([]byte(part))
	}
	number(h, uint64(a.GetVisit()))
	number(h, uint64(a.GetKind()))
	number(h, uint64(len(a.GetOptions())))
	for _, o := range a.GetOptions() {
		number(h, uint64(o))
	}
	number(h, uint64(len(a.GetChecks())))
	for _, c := range a.GetChecks() {
		number(h, uint64(len(c)))
		h.Write([]byte(c))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func number(h hash.Hash, n uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	h.Write(b[:])
}
