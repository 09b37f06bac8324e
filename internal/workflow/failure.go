package workflow

import (
	"fmt"
	"hash/fnv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

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
	left := st.Attempts < n.limit()+st.ExtraAttempts
	edges := r.failureEdges(n)
	switch to, back := r.reworkTarget(n); {
	case len(edges) > 0 && !(left && n.FailureEdgeAfterAttempts):
		return r.complete(n, false, edges, "failure")
	case r.lapsed(n.gate):
		return r.rework(n, n.gate, st.Reworks, "the approval of the change has lapsed")
	case left:
		return r.backOff(n)
	case back:
		return r.rework(n, to, st.Reworks+1, told(out))
	}
	return r.exhausted(n, told(out))
}

// failureEdges returns those that hold. One that cannot be read does not: the
// steps that come after it are there for that.
func (r Run) failureEdges(n *node) []*edge {
	var taken []*edge
	in := r.input(n)
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
func (r Run) lapsed(gate *node) bool {
	return gate != nil && r.X.Change != nil && r.X.Approved == nil && r.state(gate).GetStatus() == succeeded
}

// reworkTarget returns where the first rule that holds sends the work, if the
// node may still send any.
func (r Run) reworkTarget(n *node) (*node, bool) {
	if r.state(n).GetReworks() >= n.OnFailure.GetMax() {
		return nil, false
	}
	in := r.input(n)
	for _, rule := range n.rework {
		if ok, err := holds(rule.when, in); ok && err == nil {
			return rule.to, true
		}
	}
	return nil, false
}

func (r Run) backOff(n *node) error {
	st := r.state(n)
	last := st.History[len(st.History)-1]
	at := r.Now.Add(backoff(last.Id, st.Attempts))
	return r.emit(n, &loomv1.Event{Fact: &loomv1.Event_RetryScheduled{
		RetryScheduled: &loomv1.RetryScheduled{At: timestamppb.New(at)},
	}})
}

// backoff is how long to wait after the given attempt, the count-th of its
// visit: 1 s, 2 s, 4 s, up to a minute, each 20 % more or less as the hash of
// the attempt's id has it.
func backoff(attempt string, count uint32) time.Duration {
	d := backoffLimit
	if count < 7 { // 2^6 s is beyond the limit
		d = min(d, backoffBase<<(max(count, 1)-1))
	}
	h := fnv.New32a()
	h.Write([]byte(attempt))
	permille := 800 + time.Duration(h.Sum32()%401)
	return d * permille / 1000
}

// exhausted asks the CEO about a node that has used all it was given.
func (r Run) exhausted(n *node, last string) error {
	st := r.state(n)
	why := fmt.Sprintf("%s in visit %d of %q", plural(st.Attempts, "attempt"), st.Visit, n.Id)
	if st.Reworks > 0 {
		why += " after " + plural(st.Reworks, "rework")
	}
	return r.escalate(n, "attempt/exhausted", why+"; the last: "+last)
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

func plural(n uint32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Tick fires every timer that is due: deadlines of attempts and backoffs. A
// timer is due at its very instant; each fires once, because what it fires
// changes the state that it was read from.
func (r Run) Tick() error {
	if !running(r.X) {
		return nil
	}
	for _, n := range r.Def.order {
		if err := r.tickNode(n); err != nil {
			return err
		}
	}
	return r.advance()
}

func (r Run) tickNode(n *node) error {
	st := r.state(n)
	due, ok := timer(st)
	switch {
	case !ok || r.Now.Before(due):
		return nil
	case st.Status == backingOff:
		return r.dispatch(n, byRetry, 0)
	}
	return r.timeOut(n, st.Attempt)
}

// timeOut ends an attempt whose deadline has passed. There is no retry: who
// was too slow once has had its time.
func (r Run) timeOut(n *node, a *loomv1.Attempt) error {
	why := fmt.Sprintf("no outcome by %s, %s after it was dispatched",
		a.Deadline.AsTime().Format(time.RFC3339), n.patience())
	out := &loomv1.Outcome{Status: failure, Code: "attempt/timeout", Summary: why}
	if err := r.endAttempt(n, a, out, true); err != nil {
		return err
	}
	if edges := r.failureEdges(n); len(edges) > 0 {
		return r.complete(n, false, edges, "failure")
	}
	return r.escalate(n, "attempt/timeout", why)
}
