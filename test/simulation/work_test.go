package simulation

import (
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sawWork checks the facts of an execution.
func (o *oracle) sawWork(x *execution, e *loomv1.Event) {
	if x == nil {
		o.broken(2, "%s of no execution", tellEvent(e))
		return
	}
	if f := e.GetLandingSettled(); f != nil {
		o.settled(x, f)
		return
	}
	if x.ended {
		o.broken(8, "%s after the end of %s", tellEvent(e), x.id)
	}
	n := x.nodes[e.Node]
	switch f := e.Fact.(type) {
	case *loomv1.Event_AttemptDispatched:
		o.dispatched(x, n, e, f.AttemptDispatched)
	case *loomv1.Event_AttemptClaimed:
		o.claimed(e, f.AttemptClaimed)
	case *loomv1.Event_ClaimReleased:
		o.released(e, f.ClaimReleased)
	case *loomv1.Event_AttemptEnded:
		o.attemptEnded(x, n, e, f.AttemptEnded)
	case *loomv1.Event_EdgeSettled:
		x.edges[f.EdgeSettled.Edge] = f.EdgeSettled.Taken
		o.taken(x, n, f.EdgeSettled)
	case *loomv1.Event_NodeSkipped:
		n.reached, n.over, n.completed = true, true, false
		if f.NodeSkipped.Detached {
			o.setAside(x, n, e)
			break
		}
		if f.NodeSkipped.Reason != "" {
			o.nothingLeft(x, n, e)
			break
		}
		if o.ready(x, e.Node) && !n.gap && o.order.GetVerb() != "move" && !x.sent.Equal(o.now) {
			o.broken(9, "%s is skipped though it can run", e.Node)
		}
	case *loomv1.Event_GateFailed:
		o.gateFailed(x, n, f.GateFailed)
	case *loomv1.Event_GapNoted:
		o.w.see("gap")
		n.gap = true
	case *loomv1.Event_NodeCompleted:
		o.completed(x, n, e, f.NodeCompleted)
	case *loomv1.Event_ReworkStarted:
		o.rework(x, n, e, f.ReworkStarted)
	case *loomv1.Event_RetryScheduled:
		o.w.see("backoff")
	case *loomv1.Event_PlanAdopted:
		o.planned(x, e, f.PlanAdopted)
	case *loomv1.Event_ChangeProposed:
		x.patch, x.files = f.ChangeProposed.GetChange().GetPatchDigest(), f.ChangeProposed.GetChange().GetFiles()
	case *loomv1.Event_CandidateMade:
		o.candidate(x, e, f.CandidateMade.Candidate)
	case *loomv1.Event_TrainTested:
		o.tested(x, n, e, f.TrainTested.Car)
	case *loomv1.Event_Landed:
		o.landed(x, e, f.Landed.Landing)
	case *loomv1.Event_ExecutionEnded:
		o.executionEnded(x, e, f.ExecutionEnded)
		o.w.see(strings.ToLower(strings.TrimPrefix(f.ExecutionEnded.Status.String(), "EXECUTION_STATUS_")))
	case *loomv1.Event_TurnStarted, *loomv1.Event_ToolIntended:
		o.mayStart(x, e)
		o.fromClaimant(e)
	case *loomv1.Event_ToolFinished:
		o.fromClaimant(e)
	case *loomv1.Event_ChildDelivered:
		o.childDelivered(e, f.ChildDelivered)
	case *loomv1.Event_ChildStarted:
		o.childStarted(x, e, f.ChildStarted)
	case *loomv1.Event_MailSent:
		o.wrote(x, e, f.MailSent.Mail)
	case *loomv1.Event_MessageHeard:
		o.fromClaimant(e)
		o.hearsMail(e, f.MessageHeard.Said)
	case *loomv1.Event_TaskGiven:
		o.gave(x, e, f.TaskGiven.Task)
	case *loomv1.Event_TaskEnded:
		o.taskEnded(x, e, f.TaskEnded)
	case *loomv1.Event_AttemptParked:
		o.fromClaimant(e)
		a := o.attempts[e.Attempt]
		a.claimant, a.parked = nil, true
		o.clocks(a, f.AttemptParked.WaitsFor == workflow.WaitsForLock)
		o.parksForTeam(a, f.AttemptParked)
	}
}

func (o *oracle) executionEnded(x *execution, e *loomv1.Event, f *loomv1.ExecutionEnded) {
	o.closesAtABoundary(x, f)
	x.ended, x.over, x.status = true, false, f.Status
	o.running--
	o.owes(x, f.Status)
	if f.Status == loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED && x.parent == nil && !x.closing && !o.closedBySession(x) {
		o.follows(e, "close")
	}
	if a := o.attempts[x.worksFor]; a != nil && f.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED {
		o.w.see("child fails")
	}
}

// ready says whether every edge into a node is settled and one of them taken.
func (o *oracle) ready(x *execution, node string) bool {
	if x.nodes[node].def.Type == loomv1.NodeType_NODE_TYPE_START {
		return true
	}
	any := false
	for _, e := range x.def.Edges {
		if e.To != node {
			continue
		}
		taken, settled := x.edges[e.Id]
		if !settled {
			return false
		}
		any = any || taken
	}
	return any
}

func (o *oracle) dispatched(x *execution, n *nodeOracle, e *loomv1.Event, d *loomv1.AttemptDispatched) {
	switch {
	case n.def.Detached:
		o.broken(44, "%s is dispatched, and is for after the end", e.Attempt)
	case n.attempt != "":
		o.broken(6, "%s is dispatched while %s is outstanding", e.Attempt, n.attempt)
	case o.attempts[e.Attempt] != nil:
		o.broken(6, "%s is dispatched twice", e.Attempt)
	case !o.ready(x, e.Node):
		o.broken(9, "%s is dispatched before its time", e.Attempt)
	case d.Number == 1 && d.Cause == "" && !o.passable(x, n):
		o.broken(9, "%s is dispatched though its gate does not hold", e.Attempt)
	case o.halted(x):
		o.broken(24, "%s is dispatched though the execution is halted", e.Attempt)
	case d.Number > n.def.MaxAttempts*(1+n.granted[d.Visit]):
		o.broken(5, "%s is attempt %d of %s, which has %d and was granted as many %d times", e.Attempt, d.Number, e.Node, n.def.MaxAttempts, n.granted[d.Visit])
	case d.Visit == n.visit && d.Number != n.number+1, d.Visit != n.visit && d.Number != 1, d.Visit < n.visit:
		o.broken(5, "%s is attempt %d of visit %d, after attempt %d of visit %d", e.Attempt, d.Number, d.Visit, n.number, n.visit)
	}
	want := map[loomv1.NodeKind]string{
		loomv1.NodeKind_NODE_KIND_COMMIT: "engineering-manager", loomv1.NodeKind_NODE_KIND_LAND: "engineering-manager",
		loomv1.NodeKind_NODE_KIND_VERIFY: "qa-engineer",
	}[n.def.Kind]
	if n.def.Kind == loomv1.NodeKind_NODE_KIND_LAND && x.nested {
		o.broken(21, "%s works for another that can land, and is to land", e.Attempt)
	}
	if want != "" && d.Role != want {
		o.broken(10, "%s is dispatched to %s", e.Attempt, d.Role)
	}
	if d.Cause == "continue" {
		o.w.see("continue")
	}
	if d.ExtraAttempts > 0 {
		o.w.see("attempts granted")
	}
	o.mayBegin(x, n, e, d)
	o.mayStart(x, e)
	x.dispatches++
	n.attempt, n.visit, n.number, n.extra = e.Attempt, d.Visit, d.Number, d.ExtraAttempts
	a := &attempt{id: e.Attempt, node: e.Node, role: d.Role, process: d.Process, x: x, generation: 1, takeWithin: d.TakeWithin.AsDuration()}
	a.most = n.def.Timeout.AsDuration()
	if a.most == 0 && d.Process == "" {
		a.most = workflow.DefaultTimeout
	}
	o.clocks(a, d.Process != "")
	o.attempts[e.Attempt], o.newest, o.open = a, append(o.newest, a), append(o.open, a)
	n.last, n.reached = a, true
}

func (o *oracle) claimed(e *loomv1.Event, f *loomv1.AttemptClaimed) {
	a := o.attempts[e.Attempt]
	c := f.Claimant
	o.handedOut(o.executions[e.Execution], e)
	switch {
	case a == nil || a.done:
		o.broken(7, "%s is claimed and not outstanding", e.Attempt)
		return
	case a.claimant != nil:
		o.broken(7, "%s is claimed by %s while %s has it", e.Attempt, sign(c), sign(a.claimant))
	case f.Generation != a.generation:
		o.broken(7, "%s is claimed in generation %d, it is in %d", e.Attempt, f.Generation, a.generation)
	case !strings.HasPrefix(c.Agent, a.role+"/"):
		o.broken(10, "%s, which is for %s, is claimed by %s", e.Attempt, a.role, c.Agent)
	case a.x.nodes[a.node].def.Kind == loomv1.NodeKind_NODE_KIND_VERIFY && o.madeBy(a.x, c):
		o.broken(12, "%s verifies in %s what it made", c.Agent, e.Attempt)
	}
	a.claimant, a.claimed = c, e.Number
	o.clocks(a, true)
	if o.held(a.x) || a.x.over {
		o.atOnce = e // an outcome without a turn claims its attempt, and is taken at any time
	}
}

// madeBy says whether an agent proposed the change that stands.
func (o *oracle) madeBy(x *execution, c *loomv1.Claimant) bool {
	return x.candidates[x.patch] == c.Agent+"@"+c.Host
}

func (o *oracle) released(e *loomv1.Event, f *loomv1.ClaimReleased) {
	a := o.attempts[e.Attempt]
	if a == nil || a.done || f.Generation != a.generation+1 {
		o.broken(7, "%s is released into generation %d", e.Attempt, f.Generation)
		return
	}
	if f.Reason == "lock granted" {
		o.w.see("unparked")
	}
	if host, is := strings.CutSuffix(strings.TrimPrefix(f.Reason, "host "), " started again"); is {
		for _, h := range o.w.hosts {
			if h.name == host && a.claimant.GetEpoch() >= h.epoch {
				o.broken(7, "%s is taken from %s, which has not started again since", e.Attempt, sign(a.claimant))
			}
		}
	}
	a.claimant, a.generation, a.parked = nil, f.Generation, false
	o.clocks(a, false)
	if f.Afresh {
		a.took = 0
	}
	o.goesOn(a)
}

// fromClaimant wants an event of an attempt to come from who holds it.
func (o *oracle) fromClaimant(e *loomv1.Event) {
	a := o.attempts[e.Attempt]
	if a == nil || a.done || a.claimant == nil || !strings.HasPrefix(sign(a.claimant), e.Actor.GetName()) || e.Actor.GetName() == "" {
		o.broken(7, "%s comes from %q", tellEvent(e), e.Actor.GetName())
	}
}

func (o *oracle) attemptEnded(x *execution, n *nodeOracle, e *loomv1.Event, f *loomv1.AttemptEnded) {
	if n.attempt != e.Attempt {
		o.broken(7, "%s ends, but %s is outstanding", e.Attempt, n.attempt)
	}
	out := f.Outcome
	switch {
	case f.TimedOut:
		o.timedOut(o.attempts[e.Attempt], e)
	case out.Code == "attempt/withdrawn", out.Code == "agent/none-live", out.Code == "model/rate-limited":
	case o.attempts[e.Attempt].process != "", o.arrived(x, n, e, out):
	default:
		o.fromClaimant(e)
	}
	if a := o.attempts[e.Attempt]; out.Code == "attempt/withdrawn" && a.claimant != nil {
		x.torn, x.tornAt = a.id, o.now
	}
	o.planEnded(x, n, e, out)
	n.restarts = o.w.keeper.restarts
	a := o.attempts[e.Attempt]
	a.done, a.summary, a.endedBy, n.attempt = true, out.Summary, e.Actor.GetName(), ""
	n.succeeded, n.good = out.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, out.Fields.GetFields()["ok"].GetBoolValue()
	o.open = slices.DeleteFunc(o.open, func(b *attempt) bool { return a == b })
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		return
	}
	if p := out.Change.GetPatchDigest(); p != "" {
		x.candidates[p] = a.claimant.GetAgent() + "@" + a.claimant.GetHost()
	}
	if n.def.Kind == loomv1.NodeKind_NODE_KIND_VERIFY {
		o.verified(x, e, out)
	}
}

func (o *oracle) verified(x *execution, e *loomv1.Event, out *loomv1.Outcome) {
	passed := false
	for _, c := range out.Checks {
		if !c.Passed || c.Commit != x.newest.GetCommit() {
			o.broken(28, "%s succeeds with a check that did not pass on the candidate: %v", e.Attempt, c)
		}
		passed = passed || c.Command == "make"
	}
	if !passed {
		o.broken(28, "%s succeeds without the required check", e.Attempt)
	}
	x.verified[x.newest.GetCommit()] = true
}

func (o *oracle) completed(x *execution, n *nodeOracle, e *loomv1.Event, f *loomv1.NodeCompleted) {
	if f.Succeeded && n.def.Kind != loomv1.NodeKind_NODE_KIND_UNSPECIFIED && !n.succeeded {
		o.broken(28, "duty %s completes, and no attempt has succeeded", e.Node)
	}
	if n.attempt != "" {
		o.broken(6, "%s completes while %s is outstanding", e.Node, n.attempt)
	}
	if !o.ready(x, e.Node) {
		o.broken(9, "%s completes before its time", e.Node)
	}
	if n.over {
		o.broken(33, "%s completes in visit %d, and was done", e.Node, n.visit)
	}
	n.reached, n.over, n.completed = true, true, f.Succeeded
}

func (o *oracle) rework(x *execution, n *nodeOracle, e *loomv1.Event, f *loomv1.ReworkStarted) {
	o.w.see("rework")
	most := n.def.OnFailure.GetMax()
	switch {
	case f.MovedFrom != "":
		o.overtaken(x, n, e, f)
	case o.byRule(x, n, e, f):
		n.reworks++
	case n.def.Kind == loomv1.NodeKind_NODE_KIND_VERIFY && x.newest.GetPresent() && f.Count > 0 && x.replans != e.Node:
		o.w.see("the target did not pass as it is")
		n.reworks, most = n.reworks+1, max(most, 1)
	}
	if n.reworks > most || f.Count != n.reworks {
		o.broken(5, "%s sends work back for the %d. time, as it counts for the %d., it may %d times", e.Node, n.reworks, f.Count, most)
	}
	x.replans = ""
	for _, id := range f.ResetEdges {
		delete(x.edges, id)
	}
	o.resetByPlan(x, e, f)
	o.reset(x, f.ResetNodes)
}

// overtaken wants a landing that came too late, whose work begins again without
// being counted, to have found that the target had moved from where its candidate
// sits, and not twice from the same commit.
func (o *oracle) overtaken(x *execution, n *nodeOracle, e *loomv1.Event, f *loomv1.ReworkStarted) {
	o.w.see("fresh candidate for a target that moved")
	switch to := x.nodes[f.To]; {
	case n.def.Kind != loomv1.NodeKind_NODE_KIND_LAND || to.def.Kind != loomv1.NodeKind_NODE_KIND_COMMIT:
		o.broken(5, "%s sends work back to %s because the target has moved", e.Node, f.To)
	case f.MovedFrom != x.newest.GetBase() || f.MovedFrom == o.w.git.head:
		o.broken(5, "%s says that the target has moved from %s; the candidate sits on %s and the target is at %s", e.Node, f.MovedFrom, x.newest.GetBase(), o.w.git.head)
	case f.MovedFrom == n.movedFrom:
		o.broken(5, "%s says twice that the target has moved from %s", e.Node, f.MovedFrom)
	}
	n.movedFrom = f.MovedFrom
}

// byRule says whether work goes back by the rules of a node that failed: not
// because of its gate, of an approval that lapsed, or on the CEO's word.
func (o *oracle) byRule(x *execution, n *nodeOracle, e *loomv1.Event, f *loomv1.ReworkStarted) bool {
	there := slices.ContainsFunc(n.def.OnFailure.GetRework(), func(r *loomv1.ReworkRule) bool { return r.To == f.To })
	asked := strings.HasPrefix(f.Reason, "the CEO asked for ") // a landing, which begins with a fresh candidate
	return there && !asked && x.replans != e.Node && f.Reason != "the approval of the change has lapsed"
}

func (o *oracle) reset(x *execution, nodes []string) {
	for _, id := range nodes {
		n := x.nodes[id]
		if n.attempt != "" {
			o.broken(6, "%s is reset while %s is outstanding", id, n.attempt)
		}
		if x.approved != "" && n.def.Type == loomv1.NodeType_NODE_TYPE_APPROVAL {
			o.broken(11, "approval %s stands though %s begins anew", x.approved, id)
		}
		n.gap, n.waived, n.succeeded = false, false, false
		n.reached, n.over, n.completed, n.aside = false, false, false, false
	}
}

// nothingLeft wants an approval that is passed over to have no change to ask about,
// and a landing to find that what the target has was verified.
func (o *oracle) nothingLeft(x *execution, n *nodeOracle, e *loomv1.Event) {
	lands := n.def.Kind == loomv1.NodeKind_NODE_KIND_LAND
	if lands && x.nested {
		o.w.see("left to the parent")
		return
	}
	o.w.see("nothing left")
	switch {
	case x.patch != "" || x.approved != "":
		o.broken(28, "%s is skipped for want of a change, and patch %s stands", e.Node, x.patch)
	case lands && !x.verified[x.newest.GetCommit()]:
		o.broken(28, "%s is skipped because the target has it already, and %s was not verified", e.Node, x.newest.GetCommit())
	case !lands && n.def.Type != loomv1.NodeType_NODE_TYPE_APPROVAL:
		o.broken(28, "%s is skipped for want of a change", e.Node)
	}
}

func (o *oracle) candidate(x *execution, e *loomv1.Event, c *loomv1.Candidate) {
	a := o.attempts[e.Attempt]
	if a == nil {
		a = x.nodes[e.Node].last
	}
	if x.patch != c.PatchDigest {
		o.broken(28, "candidate of patch %s in %s, where %s stands", c.PatchDigest, x.id, x.patch)
	}
	if o.lock.grants[c.Token] != a.id {
		o.broken(15, "candidate under token %d, which was granted to %q and not to %s", c.Token, o.lock.grants[c.Token], a.id)
	}
	x.newest = c
	delete(o.gone, c.Commit) // the very commit may be made again
}

// settled wants what is said of a commit whose attempt has ended to be so, for good.
func (o *oracle) settled(x *execution, f *loomv1.LandingSettled) {
	m := o.w.git.copyOf(f.Commit)
	there, commit := m != nil, f.Commit
	if there {
		commit = m.candidate.Commit
	}
	switch {
	case there != (f.Landing != nil):
		o.broken(17, "%s of %s is settled as landed: %t, and is on the target: %t", f.Commit, x.id, f.Landing != nil, there)
	case there && f.Landing.Commit != commit:
		o.broken(17, "%s of %s is settled as %s, and is on the target as %s", f.Commit, x.id, f.Landing.Commit, commit)
	case x.landed[commit]:
		o.broken(17, "%s landed twice", f.Commit)
	case there:
		o.w.see("landing settled")
		x.landed[commit] = true
	default:
		o.w.see("no landing settled")
		o.gone[f.Commit] = true
	}
}

func (o *oracle) landed(x *execution, e *loomv1.Event, l *loomv1.Landing) {
	o.w.see("landed")
	o.landsAsJudged(x)
	switch {
	case l.Commit != x.newest.GetCommit() && !x.rode(l.Commit):
		o.broken(28, "%s landed, the candidate is %s", l.Commit, x.newest.GetCommit())
	case !x.verified[x.newest.GetCommit()] && o.hasVerify(x):
		o.broken(28, "%s landed unverified", l.Commit)
	case x.landed[l.Commit]:
		o.broken(17, "%s landed twice", l.Commit)
	}
	x.landed[l.Commit] = true
	o.trainArrived(x, e, l)
}

func (o *oracle) hasVerify(x *execution) bool {
	for _, n := range x.def.Nodes {
		if n.Kind == loomv1.NodeKind_NODE_KIND_VERIFY {
			return true
		}
	}
	return false
}
