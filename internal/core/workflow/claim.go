package workflow

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Claim gives a queued attempt to an agent. Claiming again what one holds is
// nil and emits nothing. It is refused with
//
//   - attempt/claimed: another agent holds it;
//   - attempt/stale: it has ended, is parked, or is queued under another
//     generation by now;
//   - attempt/wrong-role: the agent does not work in the attempt's role;
//   - attempt/own-work: the agent would verify a change that it made itself;
//   - attempt/paused: the execution is held.
func (r Run) Claim(attempt string, generation uint32, c *loomv1.Claimant) error {
	n, a, err := r.find(attempt)
	if err != nil {
		return err
	}
	if err := r.mayHold(n, a, c); err != nil {
		return err
	}
	if err := r.goes(a); err != nil {
		return err
	}
	if a.Generation != generation {
		return fault.New("attempt/stale", "attempt %q is queued under generation %d, not %d", a.Id, a.Generation, generation)
	}
	return r.claimed(n, a, c)
}

// Release queues an attempt anew that its holder gives back. Releasing what nobody holds does nothing.
func (r Run) Release(attempt string, c *loomv1.Claimant, reason string) error {
	_, a, err := r.outstanding(attempt)
	switch {
	case err != nil:
		return err
	case a.Claimant == nil:
		return nil
	case !proto.Equal(a.Claimant, c):
		return claimedBy(a)
	}
	return r.queueAnew(a, &loomv1.ClaimReleased{Reason: reason})
}

// Park frees the agent while its attempt waits for something, for example the
// "lock". Parking again what is parked does nothing.
func (r Run) Park(attempt string, c *loomv1.Claimant, waitsFor string) error {
	return r.park(attempt, c, &loomv1.AttemptParked{WaitsFor: waitsFor})
}

func (r Run) park(attempt string, c *loomv1.Claimant, fact *loomv1.AttemptParked) error {
	n, a, err := r.outstanding(attempt)
	if err != nil {
		return err
	}
	waitsFor := fact.WaitsFor
	if a.Parked == waitsFor && waitsFor != "" {
		return nil
	}
	if waitsFor == "" {
		return fault.New("command/malformed", "attempt %q is to be parked, but not until when", a.Id).At("waits_for")
	}
	if err := r.mayHold(n, a, c); err != nil {
		return err
	}
	if err := r.goes(a); err != nil {
		return err
	}
	if err := r.claimed(n, a, c); err != nil {
		return err
	}
	return r.Emit(&loomv1.Event{Node: a.Node, Attempt: a.Id, Fact: &loomv1.Event_AttemptParked{AttemptParked: fact}})
}

// Unpark queues a parked attempt again, because it has what it waited for. It
// does nothing to an attempt that is not parked.
func (r Run) Unpark(attempt string) error {
	_, a, err := r.outstanding(attempt)
	if err != nil || a.Parked == "" {
		return err
	}
	if a.Parked == WaitsForPeople {
		return r.queueAnew(a, &loomv1.ClaimReleased{Reason: "somebody has said something", Afresh: true})
	}
	why := a.Parked + " granted"
	switch a.Parked {
	case WaitsForRate:
		why = "the rate limit has passed"
	case WaitsForOperator:
		why = "its model is asked again"
	case WaitsForPermission:
		why = "what it asked is answered"
	case WaitsForTeam:
		why = "its team has answered"
	case WaitsForMail:
		why = "what it asked its team is answered"
	case WaitsForAnswer:
		why = "its question is answered"
	case WaitsForBudget:
		why = "there may be room in the budget"
	}
	return r.queueAnew(a, &loomv1.ClaimReleased{Reason: why})
}

// queueAnew takes an attempt from whoever holds it. A call of theirs that nobody has
// heard of since is settled at once: the same agent may claim the attempt again, and
// make the same call.
func (r Run) queueAnew(a *loomv1.Attempt, why *loomv1.ClaimReleased) error {
	if err := r.settleUnknown(a, func(c *loomv1.CallReservation) bool { return proto.Equal(c.By, a.Claimant) }); err != nil {
		return err
	}
	why.Generation = a.Generation + 1
	return r.Emit(&loomv1.Event{Node: a.Node, Attempt: a.Id, Fact: &loomv1.Event_ClaimReleased{ClaimReleased: why}})
}

// claimed emits the claim of an attempt that nobody holds.
func (r Run) claimed(n *node, a *loomv1.Attempt, c *loomv1.Claimant) error {
	if a.Claimant != nil {
		return nil
	}
	return r.Emit(&loomv1.Event{Node: a.Node, Attempt: a.Id, Fact: &loomv1.Event_AttemptClaimed{
		AttemptClaimed: &loomv1.AttemptClaimed{Claimant: c, Generation: a.Generation, Deadline: timestamppb.New(r.deadline(n, a))},
	}})
}

// deadline returns when an attempt times out that is claimed now. Agents have it for
// the time of its node in all, from the first claim on; whoever takes over what its
// child has made has a time of their own. However often it is queued, that time is
// no agent's and does not count.
func (r Run) deadline(n *node, a *loomv1.Attempt) time.Time {
	switch {
	case a.Deadline != nil:
		return a.Deadline.AsTime().Add(max(r.Now.Sub(queuedAt(a)), 0))
	case a.Given != nil:
		return r.Now.Add(DefaultTimeout)
	}
	return r.Now.Add(n.patience())
}

// mayHold refuses unless c holds a, or a is free for c to take.
func (r Run) mayHold(n *node, a *loomv1.Attempt, c *loomv1.Claimant) error {
	switch {
	case a.EndedAt != nil:
		return stale(a)
	case OfProcess(a):
		return fault.New("attempt/wrong-role", "attempt %q is for process %s, which no agent stands in for", a.Id, a.Process)
	case a.Parked != "":
		return fault.New("attempt/stale", "attempt %q is parked and waits for the %s", a.Id, a.Parked)
	case a.Claimant != nil && !proto.Equal(a.Claimant, c):
		return claimedBy(a)
	case roleOf(c) != a.Role:
		return fault.New("attempt/wrong-role", "attempt %q is for role %s", a.Id, a.Role).Got(c.GetAgent()).Want("agents are named ROLE/N")
	case n.Kind == loomv1.NodeKind_NODE_KIND_VERIFY && r.madeBy(c):
		return fault.New("attempt/own-work", "agent %s made the change that attempt %q verifies", c.Agent, a.Id)
	}
	return nil
}

// goes refuses while the execution is held.
func (r Run) goes(a *loomv1.Attempt) error {
	if r.Held || holdsItself(r.X) {
		return fault.New("attempt/paused", "attempt %q cannot go on: execution %q is held", a.Id, r.X.Id)
	}
	return nil
}

// madeBy says whether an agent made the change that stands, or its candidate.
func (r Run) madeBy(c *loomv1.Claimant) bool {
	for _, n := range r.Def.order {
		for _, a := range r.state(n).GetHistory() {
			same := a.Claimant.GetAgent() == c.Agent && a.Claimant.GetHost() == c.Host
			if same && made(a.Outcome, r.X.Change.GetPatchDigest()) {
				return true
			}
		}
	}
	return false
}

// mayBar says whether agents of the verifying role can have made what is to be
// verified, themselves or in work that was given to others: all that there are may be
// barred from it then.
func mayBar(x *loomv1.Execution) bool {
	part := func(a *loomv1.Attempt) bool {
		byThem := a.GetRole() == verifier && (a.Outcome.GetChange() != nil || a.Outcome.GetCandidate() != nil)
		return byThem || len(a.GetTasks()) > 0 || a.GetChild() != ""
	}
	for _, st := range x.Nodes {
		if part(st.Attempt) || slices.ContainsFunc(st.History, part) {
			return true
		}
	}
	return false
}

func made(out *loomv1.Outcome, patch string) bool {
	return out.GetStatus() == success && patch != "" &&
		(out.Change.GetPatchDigest() == patch || out.Candidate.GetPatchDigest() == patch)
}

// roleOf returns ROLE of an agent "ROLE/N", or "".
func roleOf(c *loomv1.Claimant) string {
	i := strings.LastIndexByte(c.GetAgent(), '/')
	if i < 0 || i+1 == len(c.Agent) || c.Host == "" {
		return ""
	}
	return c.Agent[:i]
}

// find returns an attempt, outstanding or ended, and its node.
func (r Run) find(id string) (*node, *loomv1.Attempt, error) {
	for _, n := range r.Def.order {
		st := r.state(n)
		if a := st.GetAttempt(); a.GetId() == id && a != nil {
			return n, a, nil
		}
		for _, a := range st.GetHistory() {
			if a.Id == id {
				return n, a, nil
			}
		}
	}
	return nil, nil, fault.New("attempt/unknown", "execution %q has no attempt %q", r.X.Id, id)
}

func (r Run) outstanding(id string) (*node, *loomv1.Attempt, error) {
	n, a, err := r.find(id)
	if err == nil && a.EndedAt != nil {
		err = stale(a)
	}
	return n, a, err
}

func stale(a *loomv1.Attempt) error {
	return fault.New("attempt/stale", "attempt %q ended at %s", a.Id, a.EndedAt.AsTime().Format(timeLayout))
}

func claimedBy(a *loomv1.Attempt) error {
	return fault.New("attempt/claimed", "attempt %q is held by %s on %s", a.Id, a.Claimant.Agent, a.Claimant.Host)
}
