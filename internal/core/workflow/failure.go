package workflow

import (
	"fmt"
	"hash/fnv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The backoff between two attempts: doubled each time, within a fifth.
const (
	backoffBase  = time.Second
	backoffLimit = time.Minute
)

// fail does what a failure asks for, in the order of the package comment.
func (r Run) fail(n *node, out *loomv1.Outcome) error {
	st := r.state(n)
	left := r.left(n, out)
	edges := r.failureEdges(n)
	if anew := r.overtaken(n, out); anew != nil {
		return r.reworkAs(n, anew, &loomv1.ReworkStarted{Count: st.Reworks, Reason: told(out), MovedFrom: r.X.Candidate.Base})
	}
	switch to, back := r.reworkTarget(n); {
	case n.nothingDelivered(out):
		return r.end(loomv1.ExecutionStatus_EXECUTION_STATUS_FAILED, out.Code+": "+told(out))
	case out.GetCode() == "setup/failed": // what a checkout lacks, no agent can give it
		return r.giveUp(n, out.Code, told(out))
	case len(edges) > 0 && !(left && n.FailureEdgeAfterAttempts):
		return r.complete(n, false, edges, "failure")
	case r.lapsed(n.approver):
		return r.rework(n, n.approver, st.Reworks, "the approval of the change has lapsed")
	case left:
		return r.backOff(n)
	case r.unconfirmed(n) != nil:
		return r.rework(n, r.unconfirmed(n), st.Reworks+1, told(out))
	case back && !r.unjudged(n) && !(r.X.Candidate.GetPresent() && n.Kind == loomv1.NodeKind_NODE_KIND_VERIFY):
		return r.rework(n, to, st.Reworks+1, told(out))
	}
	return r.exhausted(n, told(out))
}

// targetMoved is the code of a landing that came too late: others landed first.
const targetMoved = "git/target-moved"

// overtaken returns the commit node that makes a fresh candidate where a landing
// failed because the target has moved, or got the same change from other work, which
// is no fault of the work; nil where that is not why, or where the candidate sits on the same commit as the last one
// that was too late: then nothing has moved, and the failure counts like any other.
func (r Run) overtaken(n *node, out *loomv1.Outcome) *node {
	base := r.X.Candidate.GetBase()
	moved := out.GetCode() == targetMoved || out.GetCode() == "git/no-change"
	if n.Kind != loomv1.NodeKind_NODE_KIND_LAND || !moved || base == "" || base == r.state(n).GetMovedFrom() {
		return nil
	}
	return r.committer(n)
}

// committer returns the commit node that made the candidate which a node deals
// with, nil if none has run.
func (r Run) committer(n *node) *node {
	for i := n.index - 1; i >= 0; i-- {
		if m := r.Def.order[i]; m.Kind == loomv1.NodeKind_NODE_KIND_COMMIT && n.follows(m) && ran(r.state(m)) {
			return m
		}
	}
	return nil
}

// failureEdges returns those that hold. One that cannot be read does not: the
// steps that come after it are there for that.
func (r Run) failureEdges(n *node) []*edge {
	var taken []*edge
	in := r.edgeInput(n)
	for _, e := range n.out {
		if !e.onFailure() {
			continue
		}
		if ok, err := holds(e.when, in); ok && err == nil {
			taken = append(taken, e)
		}
	}
	return taken
}

// lapsed says whether an approval node has been passed, but what it approved
// is no longer what stands.
func (r Run) lapsed(approver *node) bool {
	return approver != nil && r.X.Change != nil && r.X.Approved == nil && r.state(approver).GetStatus() == succeeded
}

// reworkTarget returns where the first rule that holds sends the work, if the
// node may still send any.
func (r Run) reworkTarget(n *node) (*node, bool) {
	if r.state(n).GetReworks() >= n.OnFailure.GetMax() {
		return nil, false
	}
	for _, rule := range n.rework {
		if rule.when == nil {
			return rule.to, true
		}
		if ok, err := rule.when.Holds(r.input(n)); ok && err == nil {
			return rule.to, true
		}
	}
	return nil, false
}

func (r Run) backOff(n *node) error {
	st := r.state(n)
	last := st.History[len(st.History)-1]
	return r.retryAt(n, r.Now.Add(n.backoff(last.Id, st.Attempts)), 0)
}

// retryAt lets the next attempt wait. What the CEO has granted, if anything, is
// given in all.
func (r Run) retryAt(n *node, at time.Time, granted uint32) error {
	return r.emit(n, &loomv1.Event{Fact: &loomv1.Event_RetryScheduled{
		RetryScheduled: &loomv1.RetryScheduled{At: timestamppb.New(at), ExtraAttempts: granted},
	}})
}

// backoff is how long to wait after the given attempt, the count-th of its
// visit: by default 1 s, 2 s, 4 s, up to a minute, each 20 % more or less as
// the hash of the attempt's id has it.
func (n *node) backoff(attempt string, count uint32) time.Duration {
	d, limit := n.waits()
	for ; count > 1 && d < limit; count-- {
		d *= 2
	}
	d = min(d, limit)
	h := fnv.New32a()
	h.Write([]byte(attempt))
	permille := 800 + time.Duration(h.Sum32()%401)
	return d * permille / 1000
}

// waits returns the first and the longest backoff. Where only one is given, the
// other is its default, or that one if it lies beyond.
func (n *node) waits() (first, longest time.Duration) {
	first, longest = n.Backoff.GetInitial().AsDuration(), n.Backoff.GetLimit().AsDuration()
	if n.Backoff.GetLimit() == nil {
		longest = max(backoffLimit, first)
	}
	if n.Backoff.GetInitial() == nil {
		first = min(backoffBase, longest)
	}
	return first, longest
}

// exhausted asks the CEO about a node that has used all it was given.
func (r Run) exhausted(n *node, last string) error {
	st := r.state(n)
	why := fmt.Sprintf("%s in visit %d of %q", fault.Count(int(st.Attempts), "attempt"), st.Visit, n.Id)
	if st.Reworks > 0 {
		why += " after " + fault.Count(int(st.Reworks), "rework")
	}
	return r.giveUp(n, "attempt/exhausted", why+"; the last: "+last)
}

// giveUp ends a visit that no attempt can save: an optional node is passed
// over, about any other the CEO is asked. Of a judge without a verdict it says that
// the phase is not verified.
func (r Run) giveUp(n *node, code, why string) error {
	if r.unjudged(n) {
		code, why = Unverified, fmt.Sprintf("phase %s is not verified: %s", n.Phase.Of, why)
	}
	if n.Criticality == loomv1.Criticality_CRITICALITY_OPTIONAL {
		return r.gap(n, code+": "+why, byGap)
	}
	return r.escalate(n, code, why)
}

// told is what an outcome says, in one line.
func told(out *loomv1.Outcome) string {
	switch {
	case out.GetRefusal() != "":
		return out.Refusal
	case out.GetSummary() != "":
		return out.Summary
	case out.GetCode() != "":
		return out.Code
	}
	return "no reason given"
}

// timersAtOnce is how many timers one Tick fires.
const timersAtOnce = 64

// Tick fires the timers that are due: deadlines of attempts, backoffs, ends of
// rate limits, and the grace of attempts that no live agent could take. Where
// very many are due the rest stays due, so that what it emits is bounded. A
// timer is due at its very instant; each fires once, because what it fires
// changes the state that it was read from. While the execution is held no timer
// runs.
func (r Run) Tick() error {
	if !running(r.X) || r.Held || holdsItself(r.X) {
		return nil
	}
	left := timersAtOnce
	for _, n := range r.Def.order {
		fired, err := r.tickNode(n)
		if err != nil {
			return err
		}
		if fired {
			left--
		}
		if left == 0 {
			break
		}
	}
	return r.advance()
}

func (r Run) tickNode(n *node) (fired bool, err error) {
	st := r.state(n)
	due, ok := timer(r.X, st)
	switch {
	case ok && !r.Now.Before(due) && st.Status == backingOff:
		return true, r.dispatch(n, causeAfter(st), 0)
	case ok && !r.Now.Before(due) && st.Attempt.Parked == WaitsForRate:
		return true, r.rateOver(n, st.Attempt)
	case ok && !r.Now.Before(due) && st.Attempt.Parked == WaitsForOperator:
		return true, r.Unpark(st.Attempt.Id)
	case ok && !r.Now.Before(due):
		return true, r.timeOut(n, st.Attempt)
	}
	if due, ok := lonely(r.X, st, r.Absent, r.Grace); ok && !r.Now.Before(due) {
		return true, r.noneLive(n, st.Attempt)
	}
	return false, nil
}

// causeAfter is why the attempt that a node waits for is not the first.
func causeAfter(st *loomv1.NodeState) string {
	if st.GetOutcome().GetStatus() == goesOn {
		return byContinue
	}
	return byRetry
}

// noneLive withdraws an attempt that nobody is there to take.
func (r Run) noneLive(n *node, a *loomv1.Attempt) error {
	const code = "agent/none-live"
	why := fmt.Sprintf("role %s has had no live agent for %s", a.Role, r.Grace)
	if w := a.TakeWithin; w != nil && !r.Now.Before(queuedAt(a).Add(w.AsDuration())) {
		why = fmt.Sprintf("no agent of role %s has taken it for %s: who made a part of what it verifies may not, and there is no other, or none that is free", a.Role, w.AsDuration())
	}
	if err := r.endAttempt(n, a, &loomv1.Outcome{Status: failure, Code: code, Summary: why}, false); err != nil {
		return err
	}
	if again, err := r.judgeAgain(n); again || err != nil {
		return err
	}
	return r.giveUp(n, code, why)
}

// TimedOut is the code of an attempt whose deadline has passed.
const TimedOut = "attempt/timeout"

// timeOut ends an attempt whose deadline has passed. There is no retry, but for
// judges: who was too slow once has had its time.
func (r Run) timeOut(n *node, a *loomv1.Attempt) error {
	why := fmt.Sprintf("no outcome by %s, when it had had the %s that its node allows",
		a.Deadline.AsTime().Format(time.RFC3339), n.patience())
	if a.Given != nil {
		why = fmt.Sprintf("what its child delivered was not taken over by %s", a.Deadline.AsTime().Format(time.RFC3339))
	}
	out := &loomv1.Outcome{Status: failure, Code: TimedOut, Summary: why}
	if err := r.endAttempt(n, a, out, true); err != nil {
		return err
	}
	if edges := r.failureEdges(n); len(edges) > 0 {
		return r.complete(n, false, edges, "failure")
	}
	if again, err := r.judgeAgain(n); again || err != nil {
		return err
	}
	return r.giveUp(n, TimedOut, why)
}
