package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Labels of transitions: why an edge was taken or a node began anew.
const (
	byRework   = "rework"
	byRetry    = "retry"
	byContinue = "continue"
	byOverride = "override"
	byGap      = "gap"
	byMove     = "move"
)

// Run is one command's view of an execution: what it reads, and how it tells
// what it decides. All fields down to NextBead are required.
//
// Every method validates before it emits, so that an error with a fault code
// of its own changed nothing; an error of Emit is passed on as it is, and the
// caller must then give up the whole batch.
type Run struct {
	Def  *Compiled
	X    *loomv1.Execution
	Bead *loomv1.Bead
	// Now is the journal time of the command.
	Now time.Time
	// Emit stamps an event (number, time, project, bead, execution, actor)
	// and applies it to all state, X included, before it returns. Node and
	// attempt are set by the caller.
	Emit func(*loomv1.Event) error
	// NextBead returns a new bead id, for an approval.
	NextBead func() string
	// Held says that nothing may start, for a reason outside the execution; its
	// own pause and its own limit hold it as well.
	Held bool
	// Absent says since when a role has had no live agent, if it has none. Nil
	// means that every role has one.
	Absent func(role string) (since time.Time, absent bool)
	// Planned makes of a planner's outcome the definition that the execution goes
	// on by, and what people are told of the plan; an error with a fault code makes
	// the outcome a failure. Nil means that no plan is made of any outcome.
	Planned func(out *loomv1.Outcome) (*Compiled, *loomv1.Plan, error)
	// Considered returns what was decided and weighed for the execution, as an
	// approval shows it. Nil means that nothing was.
	Considered func() []*loomv1.Considered
	// Crashes is how often agents may crash at one attempt before it ends as
	// failed. Zero means [DefaultCrashes].
	Crashes uint32
	// Grace is how long an attempt may wait for a role that is absent.
	Grace time.Duration
}

// Begin starts what can start; call it once ExecutionStarted was applied.
// Calling it again does nothing.
func (r Run) Begin() error {
	if !running(r.X) {
		return r.over()
	}
	return r.advance()
}

// over is the refusal of anything that comes after the end.
func (r Run) over() error {
	return fault.New("attempt/stale", "execution %q is not running: it is %s", r.X.Id, statusWord(r.X.Status))
}

// Advance starts what can start, for example after a pause has ended or a limit
// was lifted. Calling it again does nothing.
func (r Run) Advance() error { return r.Begin() }

// advance starts or skips every node that has become ready, and ends the
// execution when nothing is left. Edges lead forward in the order, so one pass
// sees everything that it causes itself, but for work that a gate sends back.
func (r Run) advance() error {
	for again := true; again; {
		var err error
		if again, err = r.pass(); err != nil {
			return err
		}
	}
	return nil
}

// pass goes through the nodes once; it says whether to do so again.
func (r Run) pass() (again bool, err error) {
	settled := true
	for _, n := range r.Def.order {
		if r.still() {
			return false, nil
		}
		if r.state(n).GetStatus() == unreached {
			if back, err := r.reach(n); err != nil || back {
				return back, err
			}
		}
		settled = settled && isSettled(r.state(n))
	}
	if !settled || r.still() {
		return false, nil
	}
	return false, r.done()
}

// still says whether nothing of the execution may start now.
func (r Run) still() bool {
	return r.Held || holdsItself(r.X) || r.X.HaltedBy != "" || !running(r.X)
}

// reach applies the start rule to a node that has not been reached. It says
// whether its gate has sent work back.
func (r Run) reach(n *node) (back bool, err error) {
	taken, settled := n.isStart(), true
	for _, e := range n.in {
		t, ok := r.X.Edges[e.Id]
		taken, settled = taken || t, settled && ok
	}
	switch {
	case !settled || r.planning(n):
		return false, nil
	case !taken:
		return false, r.skip(n)
	case n.pass != nil && !r.state(n).GetGateWaived():
		if open, back, err := r.readGate(n); !open || err != nil {
			return back, err
		}
	}
	return false, r.start(n)
}

func (r Run) start(n *node) error {
	switch {
	case n.Detached:
		return r.setAside(n)
	case r.nothingToApprove(n):
		return r.doneWithout(n, "there is nothing to approve")
	case r.leftToParent(n):
		return r.doneWithout(n, "what it would land is its parent's to take over")
	case r.nothingToLand(n):
		return r.doneWithout(n, "the target has it already")
	case n.isTask():
		return r.dispatch(n, "", 0)
	case n.isApproval():
		return r.ask(n)
	}
	return r.succeed(n, "success")
}

// skip passes a node over, and with it all that only it leads to.
func (r Run) skip(n *node) error { return r.passOver(n, nil, "") }

// passOver skips a node that has not run; the given edges are taken all the
// same.
func (r Run) passOver(n *node, taken []*edge, label string) error {
	if err := r.emit(n, &loomv1.Event{Fact: &loomv1.Event_NodeSkipped{NodeSkipped: &loomv1.NodeSkipped{}}}); err != nil {
		return err
	}
	return r.settle(n, taken, label)
}

// dispatch queues the next attempt of a task. The cause is empty for the first
// of a visit; granted is how many attempts the CEO adds. While nothing may
// start it waits as after a backoff. An agent's time begins with its claim, that
// of a process at once.
func (r Run) dispatch(n *node, cause string, granted uint32) error {
	st := r.state(n)
	if r.still() {
		return r.retryAt(n, r.atOnce(), st.GetExtraAttempts()+granted)
	}
	d := &loomv1.AttemptDispatched{
		Role:          r.role(n),
		Visit:         max(st.GetVisit(), 1),
		Number:        st.GetAttempts() + 1,
		ExtraAttempts: st.GetExtraAttempts() + granted,
		Cause:         cause,
		Process:       n.Process,
	}
	if p := n.patience(); p > 0 && n.Process != "" {
		d.Deadline = timestamppb.New(r.Now.Add(p))
	}
	if n.Kind == loomv1.NodeKind_NODE_KIND_VERIFY {
		d.TakeWithin = durationpb.New(n.patience())
	}
	return r.Emit(&loomv1.Event{
		Node:    n.Id,
		Attempt: attemptID(r.X),
		Fact:    &loomv1.Event_AttemptDispatched{AttemptDispatched: d},
	})
}

// atOnce is when an attempt is due that only a hold keeps from beginning. Since
// the end of a hold adds all of its time to what was outstanding, see [Shift],
// that is its beginning.
func (r Run) atOnce() time.Time {
	if r.X.HeldSince != nil {
		return r.X.HeldSince.AsTime()
	}
	return r.Now
}

// attemptID is the id of the next attempt.
func attemptID(x *loomv1.Execution) string {
	return x.Id + "-a" + strconv.FormatUint(uint64(x.Dispatches)+1, 10)
}

// succeed completes a node along its success edges. If they cannot be read, or
// none holds and nothing else leads to an end, the CEO is asked instead.
func (r Run) succeed(n *node, label string) error {
	taken, err := r.choose(n, false)
	switch {
	case err != nil:
		return r.escalate(n, "condition/evaluation", err.Error())
	case !leadOn(taken) && !n.isEnd() && r.deadEnd(n):
		return r.escalate(n, "workflow/dead-end", fmt.Sprintf("no edge of %q holds, and nothing else leads to an end", n.Id))
	}
	return r.complete(n, true, taken, label)
}

// override completes a node on the CEO's word.
func (r Run) override(n *node) error { return r.complete(n, true, r.onward(n), byOverride) }

// onward is the way on from a node that is not to stop what follows: along the
// success edges that hold or, if none leads on, along all of them; a node that
// has none that does goes along what it has.
func (r Run) onward(n *node) []*edge {
	in := r.edgeInput(n)
	var onSuccess, holding []*edge
	for _, e := range n.out {
		if e.onFailure() {
			continue
		}
		onSuccess = append(onSuccess, e)
		if ok, err := holds(e.when, in); ok && err == nil {
			holding = append(holding, e)
		}
	}
	switch {
	case leadOn(holding):
		return holding
	case leadOn(onSuccess):
		return onSuccess
	}
	return n.out
}

// leadOn says whether any of some edges leads to what the end waits for.
func leadOn(edges []*edge) bool {
	return slices.ContainsFunc(edges, func(e *edge) bool { return !e.to.Detached })
}

func (r Run) complete(n *node, succeeded bool, taken []*edge, label string) error {
	done := &loomv1.NodeCompleted{Succeeded: succeeded}
	if err := r.emit(n, &loomv1.Event{Fact: &loomv1.Event_NodeCompleted{NodeCompleted: done}}); err != nil {
		return err
	}
	return r.settle(n, taken, label)
}

// settle takes the given edges of a node and kills the others.
func (r Run) settle(n *node, taken []*edge, label string) error {
	for _, e := range n.out {
		s := &loomv1.EdgeSettled{Edge: e.Id, From: e.From, To: e.To}
		if slices.Contains(taken, e) {
			s.Taken, s.Outcome = true, label
		}
		if err := r.emit(n, &loomv1.Event{Fact: &loomv1.Event_EdgeSettled{EdgeSettled: s}}); err != nil {
			return err
		}
	}
	return nil
}

// choose returns the edges of one outcome that hold.
func (r Run) choose(n *node, onFailure bool) ([]*edge, error) {
	var taken []*edge
	in := r.edgeInput(n)
	for _, e := range n.out {
		if e.onFailure() != onFailure {
			continue
		}
		ok, err := holds(e.when, in)
		if err != nil {
			return nil, fmt.Errorf("edge %q: %w", e.Id, err)
		}
		if ok {
			taken = append(taken, e)
		}
	}
	return taken, nil
}

// deadEnd says whether no end could be reached any more if all edges of n were
// dead.
func (r Run) deadEnd(n *node) bool {
	alive := make([]bool, len(r.Def.order))
	for i, m := range r.Def.order {
		alive[i] = m.isStart()
		for _, e := range m.in {
			taken, settled := r.X.Edges[e.Id]
			alive[i] = alive[i] || e.from != n && (taken || !settled && alive[e.from.index])
		}
		alive[i] = alive[i] && r.state(m).GetStatus() != skippedStatus
		if alive[i] && m.isEnd() {
			return false
		}
	}
	return true
}

// end closes the execution; what is open in it is withdrawn first.
func (r Run) end(status loomv1.ExecutionStatus, reason string) error {
	if err := r.withdrawAll("the execution ended"); err != nil {
		return err
	}
	return r.Emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionEnded{
		ExecutionEnded: &loomv1.ExecutionEnded{Status: status, Reason: reason, Unheard: leftUnheard(r.X)},
	}})
}

func (r Run) emit(n *node, e *loomv1.Event) error {
	e.Node = n.Id
	return r.Emit(e)
}

// state returns a node's state, or nil before it was first reached; the
// generated getters read nil as zero.
func (r Run) state(n *node) *loomv1.NodeState { return r.X.Nodes[n.Id] }
