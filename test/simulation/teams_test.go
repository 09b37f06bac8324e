package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// delegate is the process by which tasks are done.
var delegate, _ = processes.Builtin(roles.Builtin()).Get(project.Delegate)

// lead is what an attempt asked of others, whichever agent has it: as a turn does
// that is replayed, it makes the same calls again until they are answered.
type lead struct {
	calls []*loomv1.TeamCall // that have no answer yet
	made  int                // calls, also those that were answered
	tasks []string           // beads
}

// leads says whether an agent goes on to lead: it has calls without an answer, or
// thinks of some.
func (a *agent) leads() bool {
	l := a.w.leads[a.brief.Attempt.Id]
	if l != nil && len(l.calls) > 0 {
		return true
	}
	writes := a.brief.Team != nil && a.w.rate[agentDelegates] > 0 && a.w.one(4) && (l == nil || l.made < 2*team.MaxTasks)
	if a.brief.Node.Kind != loomv1.NodeKind_NODE_KIND_UNSPECIFIED || plansWork(a.brief.Node) || !a.w.delegates || a.w.calm || !writes && !a.w.chance(agentDelegates) {
		return false
	}
	if l == nil {
		l = &lead{}
		a.w.leads[a.brief.Attempt.Id] = l
	}
	if writes {
		l.calls = append(l.calls, l.next(a.writing()))
		return true
	}
	if a.w.one(20) { // more than there may be
		for range team.MaxTasks + 1 {
			l.calls = append(l.calls, l.next(&loomv1.TeamCall{Verb: &loomv1.TeamCall_Give{Give: a.part(l)}}))
		}
		return true
	}
	for range 1 + a.w.rng.IntN(2) {
		l.calls = append(l.calls, l.next(a.call(l)))
	}
	if a.brief.Team != nil && a.w.one(3) {
		l.calls = append(l.calls, l.next(a.writing()))
	}
	return true
}

// call draws what an agent asks of its team.
func (a *agent) call(l *lead) *loomv1.TeamCall {
	c := &loomv1.TeamCall{}
	switch n := a.w.rng.IntN(14); {
	case n == 0:
		c.Verb = &loomv1.TeamCall_Watch{Watch: &loomv1.WatchTasks{Waits: a.w.one(2)}}
	case n == 1 && len(l.tasks) > 0:
		c.Verb = &loomv1.TeamCall_Stop{Stop: &loomv1.StopTask{Bead: l.tasks[a.w.rng.IntN(len(l.tasks))]}}
	case n < 6:
		return a.writing()
	case n == 6:
		c.Verb = &loomv1.TeamCall_Ask{Ask: &loomv1.AskUser{Question: "red or blue?"}}
	default:
		c.Verb = &loomv1.TeamCall_Give{Give: a.task(l)}
	}
	return c
}

// next gives a call its id.
func (l *lead) next(c *loomv1.TeamCall) *loomv1.TeamCall {
	l.made++
	c.Call = fmt.Sprintf("c%d", l.made)
	return c
}

// part draws work for another.
func (a *agent) part(l *lead) *loomv1.GiveTask {
	return &loomv1.GiveTask{
		Role: []string{"backend-engineer", "researcher", "web-designer"}[a.w.rng.IntN(3)],
		Goal: fmt.Sprintf("part %d of %s", l.made, a.brief.Bead.Goal), Waits: !a.w.one(3), Question: a.w.one(8),
	}
}

// task draws work for another: now and then its own, or for nobody, which must be
// refused.
func (a *agent) task(l *lead) *loomv1.GiveTask {
	t := a.part(l)
	switch n := a.w.rng.IntN(12); {
	case n == 0:
		t.Role = "juggler"
	case n == 1:
		t.Role, t.Goal = a.role, strings.ToUpper(a.brief.Bead.Goal)
	case n == 2 && len(l.tasks) > 0:
		t.Again = l.tasks[a.w.rng.IntN(len(l.tasks))]
	case n < 6:
		t.Budget = a.w.budget()
	}
	return t
}

// lead makes the calls that have no answer, and is parked while one waits.
func (a *agent) lead() {
	l := a.w.leads[a.brief.Attempt.Id]
	a.do(&loomv1.Command{Body: &loomv1.Command_AskTeam{AskTeam: &loomv1.AskTeam{
		Attempt: a.brief.Attempt.Id, Claimant: a.who(), Calls: l.calls,
	}}}, func(code string, ans *loomv1.Answer) {
		if code != "" {
			a.gone("team", code)
			return
		}
		waits := false
		for _, r := range ans.GetTeam().GetReplies() {
			a.hear(l, r)
			waits = waits || r.Waits
		}
		if waits {
			a.w.see("waits for its team")
			a.rest()
			return
		}
		l.calls, a.phase = nil, turning
	})
}

func (a *agent) hear(l *lead, r *loomv1.TeamReply) {
	if r.Error != nil {
		a.w.see("team refused: " + r.Error.Code)
	}
	if r.Answered {
		a.w.see("question answered")
	}
	for _, t := range r.Tasks {
		if !slices.Contains(l.tasks, t.Bead) {
			l.tasks = append(l.tasks, t.Bead)
		}
	}
}

// given is a task, as the journal has it.
type given struct {
	*loomv1.TeamTask
	by    *attempt
	depth int
	ended bool
}

// gave checks a task that is given: by who holds the attempt, once, within the
// limits, and to nobody who is at the same already.
func (o *oracle) gave(x *execution, e *loomv1.Event, t *loomv1.TeamTask) {
	a := o.attempts[e.Attempt]
	if a == nil || a.done {
		o.broken(34, "%s gives a task and is not outstanding", e.Attempt)
		return
	}
	o.fromClaimant(e)
	o.mayStart(x, e)
	o.w.see("task given")
	g := &given{TeamTask: t, by: a, depth: 1}
	if up := o.tasks[x.bead]; up != nil && x.parent != nil {
		g.depth = up.depth + 1
	}
	switch {
	case slices.ContainsFunc(a.tasks, func(has *given) bool { return has.Call == t.Call }):
		o.broken(34, "%s gives a second task by call %s", e.Attempt, t.Call)
	case o.tasks[t.Bead] != nil || o.beads[t.Bead].GetDelegation().GetAttempt() != e.Attempt:
		o.broken(34, "%s gives task %s, which is not its own", e.Attempt, t.Bead)
	case g.depth > team.MaxDepth:
		o.broken(34, "task %s is %d deep", t.Bead, g.depth)
	case o.line(x, a, t):
		o.broken(34, "task %s is what somebody above it is at already: %s", t.Bead, t.Goal)
	}
	o.withinGiver(x, t)
	o.tasks[t.Bead], a.tasks = g, append(a.tasks, g)
	if x.tasks++; x.tasks > team.MaxTasks {
		o.broken(34, "%s gives its %d. task", x.id, x.tasks)
	}
	if g.depth > 1 {
		o.w.see("task of a task")
	}
}

// withinGiver wants no task to be given more than anybody above it may spend.
func (o *oracle) withinGiver(x *execution, t *loomv1.TeamTask) {
	for has := o.beads[t.Bead].GetBudget().GetTokens(); x != nil; x = x.parent {
		if most := o.allowed(x); most > 0 && has > most {
			o.broken(34, "task %s may spend %d tokens, and %s all of %d", t.Bead, has, x.id, most)
		}
	}
}

// line says whether somebody from the giver up does the very same.
func (o *oracle) line(x *execution, a *attempt, t *loomv1.TeamTask) bool {
	for role := a.role; x != nil; x = x.parent {
		if role == t.Role && strings.EqualFold(o.beads[x.bead].Goal, t.Goal) {
			return true
		}
		if x.parent != nil {
			role = o.attempts[x.worksFor].role
		}
	}
	return false
}

// taskEnded wants each end of a task told once, while its giver is there, and as it was.
func (o *oracle) taskEnded(x *execution, e *loomv1.Event, f *loomv1.TaskEnded) {
	g := o.tasks[f.Bead]
	a := o.attempts[e.Attempt]
	if g == nil || a == nil || g.by != a || a.done {
		o.broken(34, "%s is told of the end of %s, which it has not given", e.Attempt, f.Bead)
		return
	}
	did := o.executions[g.Execution]
	good := f.Outcome.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
	switch {
	case g.ended:
		o.broken(34, "%s is told of the end of %s twice", e.Attempt, f.Bead)
	case did == nil || !did.ended:
		o.broken(34, "%s is told of the end of %s, which goes on", e.Attempt, f.Bead)
	case good && (did.status != loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED || !did.nodes["work"].completed):
		o.broken(34, "%s is told that %s succeeded, which is %s", e.Attempt, f.Bead, did.status)
	}
	g.ended = true
	o.w.see(map[bool]string{true: "task done", false: "task failed"}[good])
}

// parksForTeam notes what an attempt waits for, which must go on.
func (o *oracle) parksForTeam(a *attempt, p *loomv1.AttemptParked) {
	a.awaits = p.Awaits
	o.parksForMail(a, p)
	for _, bead := range p.Awaits {
		if g := o.tasks[bead]; g == nil || g.by != a || g.ended {
			o.broken(34, "%s waits for %s, which is no task of its that goes on", a.id, bead)
		}
	}
}

// goesOn wants an attempt that waited for tasks to go on when all have ended.
func (o *oracle) goesOn(a *attempt) {
	if a.waitsMail && o.waitsForMail(a) {
		o.broken(36, "%s goes on, and what it asked has no answer", a.id)
	}
	a.waitsMail = false
	if len(a.awaits) == 0 {
		return
	}
	for _, bead := range a.awaits {
		if !o.tasks[bead].ended && !o.isAsked(a) {
			o.broken(34, "%s goes on, and %s that it waits for has not ended", a.id, bead)
		}
	}
	a.awaits = nil
	o.w.see("went on after its team")
}

// orphaned says whether an execution works for an attempt that has ended.
func (o *oracle) orphaned(x *execution) bool {
	if x.parent == nil || x.ended {
		return false
	}
	a := o.attempts[x.worksFor]
	return a == nil || a.done
}

// stillTeams wants nobody to wait for what has ended, and nobody to work for what
// has, when no timer is due.
func (o *oracle) stillTeams() {
	for _, a := range o.open {
		if len(a.awaits) > 0 && !slices.ContainsFunc(a.awaits, func(bead string) bool { return !o.tasks[bead].ended }) {
			o.broken(34, "%s waits for tasks that have ended", a.id)
		}
		for _, g := range a.tasks {
			if did := o.executions[g.Execution]; did == nil || did.ended != g.ended {
				o.broken(34, "%s has not heard how %s ended", a.id, g.Bead)
			}
		}
	}
	if at, due := o.w.keeper.state.Next(); due && !at.After(o.w.now) {
		return // what is too much for one batch is closed by the next ticks
	}
	for _, x := range o.begun {
		if o.orphaned(x) {
			o.broken(34, "%s works on for %s, which has ended", x.id, x.worksFor)
		}
	}
}

// asksPerson says whether a question of an execution's agents is open.
func (o *oracle) asksPerson(execution string) bool {
	return slices.ContainsFunc(o.inbox, func(a *asked) bool {
		return a.Execution == execution && a.Permission != nil // about a call, or in words
	})
}
