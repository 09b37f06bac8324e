package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How much of a node's history an approval carries, so that it always fits into
// a batch.
const (
	historyAttempts = 20
	historyNotes    = 1 << 10
	newestNotes     = 9 << 10  // of the newest attempt, if a check failed: the end of what that printed
	historyOutcome  = 16 << 10 // bytes of one outcome; of a larger one only the words
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
		Question: cut(question, SummaryBytes), Reason: r.asksAgain(n),
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
	a.Halts = a.Kind == escalation && n.Criticality == loomv1.Criticality_CRITICALITY_CRITICAL
	a.Change, a.History, a.Checks = r.X.Change, shown(st.GetHistory()), r.X.Checks
	a.Options, a.Keys = r.options(n, a), n.Keys
	a.NextSteps = append(r.nextSteps(n, a), r.remedies(n, a)...)
	r.present(a)
	a.Digest = Digest(a)
	return r.emit(n, &loomv1.Event{Fact: &loomv1.Event_ApprovalRequested{
		ApprovalRequested: &loomv1.ApprovalRequested{Approval: a},
	}})
}

// shown is the part of a history that an approval carries: the newest
// attempts, with their notes cut and without the files and warnings of their
// changes.
func shown(history []*loomv1.Attempt) []*loomv1.Attempt {
	if len(history) > historyAttempts {
		history = history[len(history)-historyAttempts:]
	}
	part := make([]*loomv1.Attempt, len(history))
	for i, a := range history {
		part[i] = proto.CloneOf(a)
		part[i].Outcome = shownOutcome(part[i].Outcome, i == len(history)-1)
	}
	return part
}

// shownOutcome cuts an outcome, which it may change, to what a person needs who
// decides how to go on.
func shownOutcome(out *loomv1.Outcome, newest bool) *loomv1.Outcome {
	most := historyNotes
	if slices.ContainsFunc(out.GetChecks(), func(c *loomv1.CheckRun) bool { return !c.Passed }) {
		if newest {
			most = newestNotes
		}
		out.Notes = tail(out.GetNotes(), most) // what a check prints last says why
	}
	out.Notes = cut(out.GetNotes(), most)
	if out.Change != nil {
		out.Change.Files, out.Change.Warnings = nil, nil
	}
	if proto.Size(out) > historyOutcome {
		out = &loomv1.Outcome{
			Status: out.Status, Code: cut(out.Code, SummaryBytes), Summary: out.Summary, Notes: out.Notes, Refusal: cut(out.Refusal, SummaryBytes), Document: out.Document, Checks: out.Checks,
		}
	}
	return out
}

// options lists what may be answered, in the order it is offered.
func (r Run) options(n *node, a *loomv1.Approval) []loomv1.ApprovalDecision {
	options := []loomv1.ApprovalDecision{approve}
	if r.lastWorking(n) != nil {
		options = append(options, requestChanges)
	}
	if a.Kind == escalation {
		options = append(options, retry)
		if !r.indispensable(n) {
			options = append(options, skip)
		}
	}
	return append(options, reject)
}

// indispensable says whether a node is a commit, verify or land that has not
// succeeded, or the last that could give them a change where there is none: nothing
// can stand in its place.
func (r Run) indispensable(n *node) bool {
	if n.Kind == loomv1.NodeKind_NODE_KIND_UNSPECIFIED {
		return r.lastAuthor(n)
	}
	return r.state(n).GetOutcome().GetStatus() != success
}

// lastAuthor says whether a commit comes after a node, there is nothing to commit,
// and no node between them works.
func (r Run) lastAuthor(n *node) bool {
	if !n.working() || r.X.Change != nil || r.state(n).GetOutcome().GetStatus() == success {
		return false
	}
	commits := false
	for _, m := range r.Def.order[n.index+1:] {
		switch {
		case !m.follows(n):
		case m.Kind == loomv1.NodeKind_NODE_KIND_COMMIT:
			commits = true
		case m.working() && !commits:
			return false
		}
	}
	return commits
}

// nextSteps says what each answer would do.
func (r Run) nextSteps(n *node, a *loomv1.Approval) []string {
	more := "give " + n.Id + " " + fault.Count(int(n.limit()), "more attempt")
	switch {
	case a.Gate:
		more = "read the gate of " + n.Id + " again"
	case r.freshFrom(n) != nil:
		more = "begin again at " + r.freshFrom(n).Id + " with a fresh candidate, which is verified and landed anew"
	case !n.isTask():
		more = "look at " + n.Id + " again"
	}
	steps := make([]string, 0, len(a.Options))
	for _, o := range a.Options {
		switch o {
		case approve:
			steps = append(steps, "approve: "+r.approved(n, a, more))
		case requestChanges:
			steps = append(steps, "request changes: back to "+r.lastWorking(n).Id+" with your comment")
		case retry:
			steps = append(steps, "retry: "+more+r.mustPass())
		case skip:
			steps = append(steps, "skip: go on without "+n.Id)
		case reject:
			steps = append(steps, "reject: close the workflow and the bead")
		}
	}
	return steps
}

// mustPass says which checks work that is tried again has to see pass.
func (r Run) mustPass() string {
	if len(r.X.Checks) == 0 {
		return ""
	}
	quoted := make([]string, 0, len(r.X.Checks))
	for _, c := range r.X.Checks {
		quoted = append(quoted, strconv.Quote(c))
	}
	return cut("; it must see pass "+strings.Join(quoted, ", "), SummaryBytes)
}

// remedies says what can be done about the causes of an escalation before it is
// answered: an answer alone seldom mends what made every attempt fail.
func (r Run) remedies(n *node, a *loomv1.Approval) (steps []string) {
	history := r.state(n).GetHistory()
	if a.Kind != escalation || len(history) == 0 {
		return nil
	}
	last := history[len(history)-1]
	for _, c := range last.Outcome.GetChecks() {
		if !c.Passed {
			steps = append(steps, cut(fmt.Sprintf("first look why %q exited with %d on commit %.12s%s", c.Command, c.ExitCode, c.Commit, said(last.Outcome)), SummaryBytes))
		}
	}
	if len(steps) > 0 {
		return steps
	}
	out := last.Outcome
	switch out.GetCode() {
	case Crashed:
		steps = append(steps, "first look at the bug that was filed of the crash: loom bead list --type bug; what crashes each time does so again")
	case "agent/none-live":
		enough := 1
		if last.TakeWithin != nil { // who is there may be barred
			enough = 2
		}
		steps = append(steps, fmt.Sprintf("first start agents of role %s: loom up --agents %s=%d, or loom scale", last.Role, last.Role, enough))
	case TimedOut:
		steps = append(steps, fmt.Sprintf("first make the work smaller, or give node %s a longer timeout than %s: loom workflow apply", n.Id, n.patience()))
	case "verify/no-check":
		steps = append(steps, "first name a check of the project: loom up --check NAME=COMMAND")
	case "git/hook-failed", "git/hook-timeout", "git/hook-changed":
		steps = append(steps, "first run the repository's hooks by hand"+said(out))
	case "patch/secret", "patch/refused":
		steps = append(steps, cut("first see whether this may be in a change, else leave it to a person: "+out.GetSummary(), SummaryBytes))
	case "turn/iterations", "turn/budget", "turn/time", "turn/loop", "turn/context":
		steps = append(steps, fmt.Sprintf("first make the work smaller, or give role %s more to work with: loom role show %s has its limits", last.Role, last.Role))
	case "model/invalid-output":
		steps = append(steps, fmt.Sprintf("first give role %s another model: loom up --role-model %s=PROVIDER:MODEL", last.Role, last.Role))
	case "setup/failed":
		steps = append(steps, "first run the project's setup by hand: loom doctor says what it found"+said(out))
	case "git/conflict":
		steps = append(steps, "first see what landed meanwhile on the same lines: loom lock files, and git log"+said(out))
	case "model/unavailable", "model/timeout", "model/rate-limited":
		steps = append(steps, "first see that the model answers: loom doctor --online")
	}
	return steps
}

// said is the end of what an outcome's notes say, in one line, or nothing.
func said(out *loomv1.Outcome) string {
	const most = 200
	text := strings.Join(strings.Fields(out.GetNotes()), " ")
	if text == "" {
		return ""
	}
	if len(text) > most {
		text = "... " + tail(text, most)
	}
	return ": " + text
}

// tail is the end of a text, whole lines where it has them, in at most n bytes.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if _, lines, ok := strings.Cut(s, "\n"); ok && lines != "" {
		return lines
	}
	return strings.ToValidUTF8(s, "")
}

// answerWord is a decision as people say it.
func answerWord(d loomv1.ApprovalDecision) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(d.String(), "APPROVAL_DECISION_")), "_", " ")
}

// NotOffered is the refusal of an answer that an approval does not offer.
func NotOffered(a *loomv1.Approval, d loomv1.ApprovalDecision) error {
	var words []string
	for _, o := range a.GetOptions() {
		words = append(words, answerWord(o))
	}
	return fault.New("approval/option", "approval %q cannot be answered with %s", a.GetId(), answerWord(d)).At("decision").
		Want("one of: %s", strings.Join(words, ", "))
}

// approved says what approving would do.
func (r Run) approved(n *node, a *loomv1.Approval, more string) string {
	switch {
	case a.Gate:
		return "start " + n.Id + " although its gate does not hold"
	case a.Kind == escalation && n.working() && r.indispensable(n):
		return more + ", since there is no change to go on with"
	case a.Kind == escalation && r.indispensable(n):
		return more + ", since it is never skipped"
	}
	return "go on after " + n.Id
}

const escalation = loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION

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
// with nothing open. For an approval about a limit it has also emitted
// LimitLifted, if the answer is to go on. Anything else is refused and changes
// nothing.
func (r Run) Decide(a *loomv1.Approval, d *loomv1.DecideApproval) error {
	if a.GetNode() == "" && a.GetExecution() == r.X.Id {
		return r.decideLimit(a, d)
	}
	n, err := r.decided(a, d)
	if err != nil {
		return err
	}
	if err := r.carryOut(n, a, d); err != nil || !running(r.X) {
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
		return nil, NotOffered(a, d.GetDecision())
	}
	st, want := r.state(n), waiting
	if a.Gate {
		want = unreached
	}
	if st.GetStatus() != want || st.GetApproval() != "" || st.GetVisit() != a.Visit {
		return nil, fault.New("approval/lapsed", "node %q does not wait for what approval %q decides", n.Id, a.Id)
	}
	if d.Decision == requestChanges && r.lastWorking(n) == nil {
		return nil, fault.New("approval/option", "no work has been done before node %q", n.Id)
	}
	return n, nil
}

func (r Run) carryOut(n *node, a *loomv1.Approval, d *loomv1.DecideApproval) error {
	switch d.Decision {
	case reject:
		return r.end(loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED, d.Comment)
	case requestChanges:
		return r.rework(n, r.lastWorking(n), r.state(n).Reworks, d.Comment)
	case skip:
		return r.leaveOut(n, a, d.Comment)
	}
	switch {
	case a.Gate:
		return nil // the start rule goes on, with the gate waived or read again
	case d.Decision == approve && a.Kind != escalation:
		return r.succeed(n, "approved")
	case d.Decision == retry || r.indispensable(n):
		return r.again(n)
	}
	return r.override(n)
}

// leaveOut goes on without a node, because the CEO says so. Where its work was
// done, and only the way on was in question, that leaves no gap.
func (r Run) leaveOut(n *node, a *loomv1.Approval, comment string) error {
	if !a.Gate && (!n.isTask() || r.state(n).GetOutcome().GetStatus() == success) {
		return r.override(n)
	}
	why := "the CEO skipped it"
	if comment != "" {
		why += ": " + comment
	}
	return r.gap(n, why, byOverride)
}

// again gives a task as many attempts as it had at first, and looks at any
// other node once more. A landing begins with a fresh candidate: that which it was
// asked about may be stale, and then no attempt can land it.
func (r Run) again(n *node) error {
	if from := r.freshFrom(n); from != nil {
		return r.rework(n, from, r.state(n).Reworks, "the CEO asked for "+n.Id+" again, with a fresh candidate")
	}
	if n.isTask() {
		return r.dispatch(n, byRetry, n.limit())
	}
	return r.succeed(n, "success")
}

// freshFrom returns the commit node that a landing begins anew from on the CEO's
// word, nil for what is no landing or has landed.
func (r Run) freshFrom(n *node) *node {
	if n.Kind != loomv1.NodeKind_NODE_KIND_LAND || r.X.Landing != nil {
		return nil
	}
	return r.committer(n)
}
