package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// pause is one that stands.
type pause struct {
	scope loomv1.PauseScope
	name  string
}

// pauses lists those that stand, in order of their beginnings.
func (o *oracle) pauses() []pause {
	list := slices.Clone(o.wide)
	for _, x := range o.begun {
		if x.paused && !x.ended {
			list = append(list, pause{ofExecution, x.id})
		}
	}
	return list
}

// held says whether nothing of an execution may start: from events alone.
func (o *oracle) held(x *execution) bool {
	wide := func(p pause) bool { return p.scope == ofProject || p.name == x.def.Name }
	return x.paused || x.closing || x.limit != "" || slices.ContainsFunc(o.wide, wide) || o.blocked(x.bead) || x.session.holds(x) ||
		x.parent != nil && (o.orphaned(x) || o.held(x.parent))
}

// blocked says whether a bead waits for another one.
func (o *oracle) blocked(bead string) bool {
	return o.statuses[bead] == loomv1.BeadStatus_BEAD_STATUS_BLOCKED || o.waitsFor(bead)
}

func (o *oracle) waitsFor(bead string) bool {
	return slices.ContainsFunc(o.blockers[bead], func(on string) bool { return !o.done[on] })
}

// mayStart is asked of everything that begins.
func (o *oracle) mayStart(x *execution, e *loomv1.Event) {
	if o.held(x) && !(e.GetToolIntended() != nil && o.justAsked(x)) {
		o.broken(24, "%s while its execution is held", tellEvent(e))
	}
	if x.unanswered {
		o.broken(20, "%s though the question about a limit lapsed unanswered", tellEvent(e))
	}
	if x.over && !(e.GetToolIntended() != nil && x.overAt.Equal(o.now)) {
		o.broken(20, "%s though %d tokens are spent of %d, and nobody was asked", tellEvent(e), o.spent(x), o.allowed(x))
	}
}

// justAsked says whether the very command that is being followed asked about a
// budget: what an agent records at once with the answer that used it up is
// taken with it.
func (o *oracle) justAsked(x *execution) bool {
	return x != nil && (x.limitAt.Equal(o.now) || o.justAsked(x.parent))
}

// spent is what an execution and its children used.
func (o *oracle) spent(x *execution) int64 {
	sum := x.spent
	for _, c := range x.children {
		sum += o.spent(c)
	}
	return sum
}

func (o *oracle) allowed(x *execution) int64 {
	if most := o.tokens[x.bead]; most == 0 || most > x.granted {
		return most
	}
	return x.granted
}

// paid notes what a model call cost: whoever is over its budget then must ask
// before anything else begins.
func (o *oracle) paid(x *execution, u *loomv1.Usage) {
	x.spent += int64(u.GetInputTokens() + u.GetOutputTokens())
	x.money += int64(u.GetCostMicroUsd())
	o.spentMoney += int64(u.GetCostMicroUsd())
	for ; x != nil; x = x.parent {
		o.overNow(x)
	}
}

// askedOfAll is an approval about a whole execution, or about none.
func (o *oracle) askedOfAll(x *execution, a *loomv1.Approval) {
	if a.Execution == "" {
		o.w.see("storm")
		return
	}
	defer o.rehold()
	what, _, _ := strings.Cut(a.Reason, ":")
	o.w.see("limit: " + what)
	if x.unanswered && proto.Equal(x.shown, a.Grants) {
		o.broken(22, "%s asks again about a limit, and the question before it, which granted the same, lapsed unanswered", a.Id)
	}
	again := x.unanswered
	x.unanswered, x.shown = false, a.Grants
	if x.limit != "" {
		o.broken(22, "%s is asked about while %s is open about the same execution", a.Id, x.limit)
	}
	if says := fmt.Sprintf("%d tokens are used, of %d", o.spent(x), o.allowed(x)); strings.Contains(a.Reason, "tokens are used") && !strings.Contains(a.Reason, says) {
		o.broken(22, "%s says %q, and %s", a.Id, a.Reason, says)
	}
	if what == "budget/exhausted" && !again && !x.over && o.tokens[x.bead] > 0 && strings.Contains(a.Reason, "tokens") && o.spent(x) <= o.allowed(x) {
		o.broken(22, "%s asks about a budget that is not used up: %d of %d", a.Id, o.spent(x), o.allowed(x))
	}
	x.limit, x.limitAt, x.over = a.Id, o.now, false
}

// sawSteering checks orders of the CEO and what they do.
func (o *oracle) sawSteering(x *execution, e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_OverrideGiven:
		o.ordered(e, f.OverrideGiven)
	case *loomv1.Event_ExecutionClosing:
		defer o.rehold()
		o.follows(e, "close")
		o.w.see(map[bool]string{true: "closing during a step", false: "closing between steps"}[o.inStep(x)])
		x.closing, x.why = true, f.ExecutionClosing.Reason
	case *loomv1.Event_WorkPaused:
		defer o.rehold()
		if !o.leftOpen(x) {
			o.follows(e, "pause")
		}
		o.w.see("pause")
		if p := f.WorkPaused.Pause; p.Scope == ofExecution {
			x.paused = true
			o.w.see(map[bool]string{true: "pause during an attempt", false: "pause between attempts"}[o.busy(x)])
		} else {
			o.wide = append(o.wide, pause{p.Scope, p.Name})
		}
	case *loomv1.Event_WorkResumed:
		defer o.rehold()
		o.follows(e, "resume")
		r := f.WorkResumed
		if r.Scope == ofExecution {
			x.paused = false
			return
		}
		o.wide = slices.DeleteFunc(o.wide, func(p pause) bool { return p.scope == r.Scope && p.name == r.Name })
	case *loomv1.Event_ExecutionMoved:
		if !o.movedBySession(x, e, f.ExecutionMoved) {
			o.follows(e, "move")
		}
		o.moved(x, e, f.ExecutionMoved)
	case *loomv1.Event_LimitLifted:
		o.limitLifted(x, f.LimitLifted)
	}
}

// limitLifted wants no deadline lifted that nobody has passed, and who is beyond
// another limit asked about that.
func (o *oracle) limitLifted(x *execution, f *loomv1.LimitLifted) {
	o.w.see("limit lifted")
	if f.Granted != nil && !proto.Equal(f.Granted, x.shown) {
		o.broken(22, "%s is granted %v, and %v was shown", x.id, f.Granted, x.shown)
	}
	if f.Granted != nil {
		x.granted = f.Granted.Tokens
	}
	if f.DeadlineWaived {
		x.lifted = f.Deadline
	}
	if f.DeadlineWaived && (o.now.Before(f.Deadline.AsTime()) || !proto.Equal(f.Deadline, o.deadlines[x.bead])) {
		o.broken(20, "the deadline of %s is lifted, %s, and its bead has %s", x.id, f.Deadline.AsTime(), o.deadlines[x.bead].AsTime())
	}
	o.overNow(x)
}

// overNow notes whether an execution that nobody is asked about is over its
// budget: then that must come next.
func (o *oracle) overNow(x *execution) {
	if most := o.allowed(x); x.limit == "" && !x.ended {
		if x.over = most > 0 && o.spent(x) > most; x.over {
			x.overAt = o.now
		}
	}
}

// inStep says whether an attempt of an execution is held, or of one that works for it.
func (o *oracle) inStep(x *execution) bool {
	return !x.ended && (o.busy(x) || slices.ContainsFunc(x.children, o.inStep))
}

// closesAtABoundary wants what is closing not to be ended by that while somebody was in
// the middle of a step of it: an order to close at once may, and what ends it otherwise.
func (o *oracle) closesAtABoundary(x *execution, f *loomv1.ExecutionEnded) {
	byClosing := x.closing && f.Status == loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED && f.Reason == x.why
	if byClosing && x.torn != "" && x.tornAt.Equal(o.now) && o.order.GetVerb() != "close" {
		o.broken(43, "%s is taken from whoever is in the middle of a step, by the closing of %s", x.torn, x.id)
	}
}

// closingEnded wants what is closing to have ended where nobody is in the middle of a
// step of it.
func (o *oracle) closingEnded() {
	for _, x := range o.begun {
		if x.closing && !x.ended && !o.inStep(x) {
			o.broken(43, "%s is closing and nobody is in the middle of a step of it, and it has not ended", x.id)
		}
	}
}

func (o *oracle) busy(x *execution) bool {
	return slices.ContainsFunc(o.open, func(a *attempt) bool { return a.x == x && a.claimant != nil })
}

// ordered wants an order to be signed by the CEO, new, and with a reason.
func (o *oracle) ordered(e *loomv1.Event, f *loomv1.OverrideGiven) {
	cmd, _ := o.signed(f.Signed)
	switch {
	case cmd == nil || e.Actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_CEO:
		o.broken(11, "an order to %s %s that the CEO has not signed", f.Verb, f.About)
		return
	case strings.TrimSpace(f.Reason) == "":
		o.broken(23, "an order to %s %s without a reason", f.Verb, f.About)
	}
	o.spend(cmd.Nonce, "an order to "+f.Verb+" "+f.About)
	o.order = f
}

// refusedForGood wants an order that was refused for what it asks to have used
// up its nonce.
func (o *oracle) refusedForGood(c *loomv1.SignedCommand) {
	if cmd, _ := o.hers(c); !o.nonces[cmd.GetNonce()] {
		o.broken(11, "an order with nonce %s is refused for what it asks, and may come again", cmd.GetNonce())
	}
}

// usedUp notes the nonce of a command that was refused once and for all.
func (o *oracle) usedUp(spent string) {
	if i := strings.LastIndexByte(spent, ':'); i > 0 {
		o.nonces[spent[:i]] = true
	}
}

// follows wants what only an order can do to follow from one.
func (o *oracle) follows(e *loomv1.Event, verb string) {
	if o.order.GetVerb() != verb || e.Actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_CEO {
		o.broken(23, "%s without an order to %s", tellEvent(e), verb)
	}
}

func (o *oracle) moved(x *execution, e *loomv1.Event, f *loomv1.ExecutionMoved) {
	back := x.nodes[f.To].visit > 0
	o.w.see(map[bool]string{true: "move back", false: "move forward"}[back])
	for _, id := range f.ResetEdges {
		delete(x.edges, id)
	}
	o.reset(x, f.ResetNodes)
	if o.busy(x) {
		o.broken(6, "%s is moved while an attempt of it is held", e.Execution)
	}
}

// rehold notes since when executions are held, and for how long they were.
func (o *oracle) rehold() {
	for _, x := range o.begun {
		switch held := o.held(x); {
		case x.ended || held == x.isHeld:
		case held:
			x.isHeld, x.heldAt = true, o.now
		default:
			x.isHeld, x.heldFor = false, x.heldFor+o.now.Sub(x.heldAt)
			if o.outstanding(x) && o.now.After(x.heldAt) {
				o.w.see("deadlines moved by a hold")
			}
		}
	}
}

func (o *oracle) outstanding(x *execution) bool {
	return slices.ContainsFunc(o.open, func(a *attempt) bool { return a.x == x })
}

// clock is the time of an execution, which stands still while it is held.
func (o *oracle) clock(x *execution) time.Time {
	if x.isHeld {
		return x.heldAt.Add(-x.heldFor)
	}
	return o.now.Add(-x.heldFor)
}

// clocks has the time of an attempt run, or stand still.
func (o *oracle) clocks(a *attempt, runs bool) {
	now := o.clock(a.x)
	if a.runs {
		a.took += now.Sub(a.since)
	}
	a.runs, a.since = runs, now
}

// tookAll is what an attempt has taken of its time.
func (o *oracle) tookAll(a *attempt) time.Duration {
	if !a.runs {
		return a.took
	}
	return a.took + o.clock(a.x).Sub(a.since)
}

// timedOut wants an attempt to have had all of its time, without that in which
// its execution was held.
func (o *oracle) timedOut(a *attempt, e *loomv1.Event) {
	o.w.see("timeout")
	if o.held(a.x) {
		o.broken(24, "%s times out while its execution is held", e.Attempt)
	}
	if took := o.tookAll(a); !a.runs || took < a.most {
		o.broken(24, "%s times out after %s of %s, its time runs: %t", e.Attempt, took, a.most, a.runs)
	}
}

// timesOut wants no attempt to have taken more than its time, when no tick is due.
func (o *oracle) timesOut() {
	for _, a := range o.open {
		if took := o.tookAll(a); a.runs && a.most > 0 && took > a.most && !o.held(a.x) {
			o.broken(24, "%s has taken %s, of %s", a.id, took, a.most)
		}
	}
}

// untaken says whether a verification has been queued for as long as it may.
func (o *oracle) untaken(a *attempt) bool {
	return a.takeWithin > 0 && !a.runs && !a.parked && o.clock(a.x).Sub(a.since) >= a.takeWithin
}

// deadlinesAsked wants everybody to have asked who works on beyond the deadline
// of a bead, when no tick is due.
func (o *oracle) deadlinesAsked(now time.Time) {
	for _, x := range o.begun {
		if end := o.deadlines[x.bead]; !x.ended && end != nil && now.After(end.AsTime()) && !o.held(x) && !proto.Equal(end, x.lifted) {
			o.broken(20, "%s works on after %s, the deadline of its bead, and nobody was asked", x.id, end.AsTime())
		}
	}
}
