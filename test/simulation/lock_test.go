package simulation

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// lockOracle follows the commit lock of the one repository.
type lockOracle struct {
	holder, claimant string // request and who, "" when it is free
	queue            []*loomv1.LockClaim
	newest           uint64
	last             uint64            // token of a place in a train
	places           map[uint64]place  // by token
	grants           map[uint64]string // request by token
	to               map[uint64]string // who was granted it
	until            time.Time
	raised           uint64          // newest token that the fence was raised to
	over             map[uint64]bool // tokens that no longer hold
	lapsed           bool            // it was taken from its holder just now
}

func (l *lockOracle) saw(o *oracle, e *loomv1.Event) {
	if l.grants == nil {
		l.grants, l.to, l.over, l.places = map[uint64]string{}, map[uint64]string{}, map[uint64]bool{}, map[uint64]place{}
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_LockRequested:
		l.requested(o, f.LockRequested.Claim)
	case *loomv1.Event_LockGranted:
		l.granted(o, f.LockGranted)
	case *loomv1.Event_LockRenewed:
		l.holds(o, e, f.LockRenewed.Token)
		if !e.Time.AsTime().Before(l.until) {
			o.broken(13, "%s after it had lapsed at %s", tellEvent(e), l.until)
		}
		l.until = f.LockRenewed.Until.AsTime()
	case *loomv1.Event_LockReleased:
		l.holds(o, e, f.LockReleased.Token)
		l.over[f.LockReleased.Token] = true
		if o.order.GetVerb() == "release" {
			o.w.see("lock taken by the CEO")
		}
		l.holder, l.claimant, l.lapsed = "", "", false
	case *loomv1.Event_LockExpired:
		l.holds(o, e, f.LockExpired.Token)
		l.over[f.LockExpired.Token] = true
		l.holder, l.claimant, l.lapsed = "", "", true
	case *loomv1.Event_LockCoupled:
		l.coupled(o, e, f.LockCoupled)
	case *loomv1.Event_LockWithdrawn:
		l.leave(f.LockWithdrawn.Request)
	}
}

func (l *lockOracle) requested(o *oracle, c *loomv1.LockClaim) {
	a := o.attempts[c.Request]
	if a == nil || a.done || !proto.Equal(a.claimant, c.Holder) {
		o.broken(13, "the lock is asked for by %s for %s, which it does not hold", sign(c.Holder), c.Request)
	}
	at := slices.IndexFunc(l.queue, func(q *loomv1.LockClaim) bool { return q.Request == c.Request })
	switch {
	case at >= 0:
		l.queue[at] = c
	case l.holder == c.Request:
		o.w.see("lock taken over by the attempt's next agent")
		l.queue = slices.Insert(l.queue, 0, c)
	default:
		l.queue = append(l.queue, c)
	}
	if len(l.queue) > 1 {
		o.w.see("lock queue of two")
	}
}

func (l *lockOracle) granted(o *oracle, g *loomv1.LockGranted) {
	switch {
	case l.holder != "":
		o.broken(13, "the lock is granted to %s while %s holds it", g.Request, l.holder)
	case len(l.queue) == 0 || l.queue[0].Request != g.Request:
		o.broken(19, "the lock is granted to %s out of turn", g.Request)
		return
	case g.Token <= max(l.newest, l.last):
		o.broken(14, "the lock is granted under token %d after token %d", g.Token, max(l.newest, l.last))
	}
	if l.lapsed {
		o.w.see("lock lapsed and granted to the next")
	}
	l.holder, l.claimant, l.lapsed = g.Request, sign(l.queue[0].Holder), false
	l.queue = l.queue[1:]
	l.newest, l.until = g.Token, g.Until.AsTime()
	l.grants[g.Token], l.to[g.Token] = g.Request, l.claimant
}

func (l *lockOracle) holds(o *oracle, e *loomv1.Event, token uint64) {
	if l.holder == "" || token != l.newest {
		o.broken(13, "%s with token %d, the holder %q has %d", tellEvent(e), token, l.holder, l.newest)
	}
}

func (l *lockOracle) leave(request string) {
	l.queue = slices.DeleteFunc(l.queue, func(q *loomv1.LockClaim) bool { return q.Request == request })
}

// fenceRaised and refMoved are told of what is done in the repository.
func (o *oracle) fenceRaised(token uint64) {
	if token < o.lock.raised {
		o.broken(15, "the fence is raised to %d, it was at %d", token, o.lock.raised)
	}
	o.lock.raised = token
}

func (o *oracle) refMoved(attempt, who string, token uint64) {
	p, rides := o.lock.places[token]
	switch {
	case rides && (p.driver != attempt || p.claimant != who):
		o.broken(15, "a ref is moved under token %d by %s for %s, whose train is that of %s for %s", token, who, attempt, p.claimant, p.driver)
	case !rides && (o.lock.grants[token] != attempt || o.lock.to[token] != who):
		o.broken(15, "a ref is moved under token %d by %s for %s, it was granted to %s for %s", token, who, attempt, o.lock.to[token], o.lock.grants[token])
	case token != o.lock.raised:
		o.broken(15, "a ref is moved under token %d, the fence is at %d", token, o.lock.raised)
	}
}

// still checks the whole state between two commands.
func (o *oracle) still() {
	if len(o.w.keeper.pending) > 0 {
		return
	}
	if o.twin != nil && o.w.keeper.state.Hash() != o.twin.Hash() {
		o.broken(4, "the live state differs from a fold of the journal")
	}
	s := o.w.keeper.state.Snapshot()
	o.checkBeads(s)
	o.stillPlanned(s)
	o.checkQueued()
	o.stillTeams()
	o.stillMail()
	o.stillVotes()
	for _, l := range s.GetLocks().GetLocks() {
		for _, c := range append(slices.Clone(l.Queue), l.Holder) {
			if a := o.attempts[c.GetRequest()]; c != nil && (a == nil || a.done) {
				o.broken(13, "%s has a place at the lock though it has ended", c.Request)
			}
		}
	}
	for _, x := range s.Executions {
		for _, n := range x.Nodes {
			waits := slices.ContainsFunc(o.lock.queue, func(q *loomv1.LockClaim) bool { return q.Request == n.GetAttempt().GetId() })
			if n.GetAttempt().GetParked() == "lock" && !waits {
				o.broken(19, "%s is parked and does not wait for the lock", n.Attempt.Id)
			}
		}
	}
}

// checkQueued wants every attempt that is free to be taken to be offered.
func (o *oracle) checkQueued() {
	offered := map[string]bool{}
	for _, a := range o.w.keeper.state.Queued() {
		offered[a.Attempt] = true
	}
	for _, a := range o.open {
		id := a.id
		if free := a.claimant == nil && !a.parked && (a.process == "" || a.given) && !o.held(a.x); free != offered[id] {
			o.broken(30, "%s is free to be taken: %t, and offered: %t", id, free, offered[id])
		}
	}
}

func (o *oracle) checkBeads(s *loomv1.ProjectState) {
	if at, due := o.w.keeper.state.Next(); due && !at.After(o.w.now) {
		return // beads may lag behind their links until the next tick
	}
	for _, id := range o.works {
		b := s.Beads[id]
		x := s.Executions[b.Execution]
		want := map[loomv1.ExecutionStatus]string{
			loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED: "CLOSED", loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED: "FAILED",
			loomv1.ExecutionStatus_EXECUTION_STATUS_FAILED: "FAILED", loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED: "ABORTED",
			loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING: o.waitsOrWorks(x),
		}[x.GetStatus()]
		got := strings.TrimPrefix(b.Status.String(), "BEAD_STATUS_")
		lags := got == "BLOCKED" || got == "OPEN" // until the next tick
		if o.blocked(id) && !o.ended[id] {
			want, lags = "BLOCKED", false
		}
		if got != want && !lags && x != nil && !(got == "CLOSED" && o.ended[id]) {
			o.broken(1, "bead %s is %s, its execution wants %s", id, got, want)
		}
	}
}

func (o *oracle) waitsOrWorks(x *loomv1.Execution) string {
	for _, n := range x.GetNodes() {
		if n.Approval != "" {
			return "WAITING"
		}
	}
	if x.GetLimitApproval() != "" || o.asksPerson(x.GetId()) {
		return "WAITING"
	}
	return "IN_PROGRESS"
}

// final checks what must hold once everything has ended.
func (o *oracle) final() {
	inGit := map[string]bool{}
	for _, m := range o.w.git.landed {
		if inGit[m.candidate.Commit] {
			o.broken(17, "commit %s is on the target twice", m.candidate.Commit)
		}
		inGit[m.candidate.Commit] = true
		x := o.executions[m.execution]
		if !x.landed[m.candidate.Commit] && !o.doubted(x.id, m.candidate.Commit) {
			o.broken(17, "commit %s of %s is on the target and not in the journal", m.candidate.Commit, x.id)
		}
	}
	for _, x := range o.executions {
		for commit := range x.landed {
			if !inGit[commit] {
				o.broken(17, "commit %s of %s is in the journal and not on the target", commit, x.id)
			}
		}
	}
	o.acyclic()
	if o.lock.holder != "" || len(o.lock.queue) > 0 {
		o.broken(13, "after the end %q holds the lock and %d wait", o.lock.holder, len(o.lock.queue))
	}
	if q := o.w.keeper.state.Queued(); len(q) > 0 {
		o.broken(8, "after the end there is work for agents: %v", q)
	}
	if at, ok := o.w.keeper.state.Next(); ok {
		o.broken(8, "after the end a timer is due at %s", at)
	}
}

// doubted says whether whoever is granted the lock next is to look for a commit.
func (o *oracle) doubted(execution, commit string) bool {
	open := o.w.keeper.state.Snapshot().OpenLandings
	return slices.ContainsFunc(open, func(l *loomv1.OpenLanding) bool {
		return l.Execution == execution && (l.Commit == commit || l.Car == commit)
	})
}

func (o *oracle) acyclic() {
	state := map[string]int{} // 1 on the way, 2 done
	var visit func(string)
	visit = func(n string) {
		switch state[n] {
		case 1:
			o.broken(25, "decision %s follows from itself", n)
			return
		case 2:
			return
		}
		state[n] = 1
		for _, to := range o.links[n] {
			visit(to)
		}
		state[n] = 2
	}
	for n := range o.links {
		visit(n)
	}
}
