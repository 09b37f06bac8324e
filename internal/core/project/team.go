package project

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Delegate is the process by which a task is done that an agent gives;
// delegateNode is its work, whose outcome is the task's.
const (
	Delegate     = "delegate"
	delegateNode = "work"
)

// askTeam carries out the calls by which an agent gives work to others, watches
// and stops it, writes to members of its team, or asks a person; it parks the attempt when one of them has no
// answer yet. A call that is refused changes nothing.
func (d *decision) askTeam(c *loomv1.AskTeam) (*loomv1.Answer, error) {
	x, err := d.holding(c.Attempt, c.Claimant)
	switch {
	case err != nil:
		return nil, err
	case len(c.Calls) == 0 || len(c.Calls) > turn.MaxCalls:
		return nil, fault.New("team/invalid", "%d calls are made", len(c.Calls)).At("calls").Want("1 to %d", turn.MaxCalls)
	case d.s.held(x):
		return nil, paused(c.Attempt, x)
	}
	_, a := d.s.attempt(c.Attempt)
	defer d.about(x)()
	d.node, d.attempt = a.Node, a.Id
	out, awaits, asks := &loomv1.TeamReplies{}, []string{}, false
	for _, call := range c.Calls {
		r, err := d.teamCall(x, a, call)
		if d.broken != nil {
			return nil, d.broken
		}
		if err != nil {
			r = &loomv1.TeamReply{Error: fault.From(err).Proto()}
		}
		r.Call, r.Tasks = call.GetCall(), slices.Clone(r.Tasks)
		for i, t := range r.Tasks {
			if r.Waits && t.Outcome == nil {
				awaits = append(awaits, t.Bead)
			}
			r.Tasks[i] = proto.CloneOf(t)
		}
		asks = asks || r.Waits && call.GetAsk() != nil
		out.Replies = append(out.Replies, r)
	}
	if len(awaits) > 0 && d.s.goesOn(x, a, awaits, out.Replies) {
		awaits = nil
	}
	return &loomv1.Answer{Body: &loomv1.Answer_Team{Team: out}}, d.parkForTeam(x, c, awaits, asks)
}

// goesOn has an attempt go on that was to wait for tasks, where it must answer
// somebody first: the replies about tasks say so.
func (s *State) goesOn(x *loomv1.Execution, a *loomv1.Attempt, awaits []string, replies []*loomv1.TeamReply) bool {
	unheard, by := s.interrupted(x, a, awaits)
	if !unheard && by == nil {
		return false
	}
	for _, r := range replies {
		if r.Waits && len(r.Tasks) > 0 {
			r.Waits, r.Interrupted = false, true
		}
	}
	return true
}

// parkForTeam parks an attempt that waits: for tasks, for the answer of a member when
// there is no task to wait for, for a person's when there is neither.
func (d *decision) parkForTeam(x *loomv1.Execution, c *loomv1.AskTeam, awaits []string, asks bool) error {
	d.node, d.attempt = "", ""
	switch {
	case len(awaits) > 0:
		return d.run(x).ParkForTeam(c.Attempt, c.Claimant, awaits)
	case len(team.Asked(d.s.mail(x), c.Attempt)) > 0:
		return d.run(x).Park(c.Attempt, c.Claimant, workflow.WaitsForMail)
	case asks:
		return d.run(x).Park(c.Attempt, c.Claimant, workflow.WaitsForPermission)
	}
	return nil
}

// teamCall carries out one call. It refuses before it changes anything.
func (d *decision) teamCall(x *loomv1.Execution, a *loomv1.Attempt, c *loomv1.TeamCall) (*loomv1.TeamReply, error) {
	if c.GetCall() == "" || len(c.Call) > MaxKey {
		return nil, fault.New("team/invalid", "a call without an id of at most %d bytes", MaxKey).At("call")
	}
	if err := teamMode(x, a, c); err != nil {
		return nil, err
	}
	switch v := c.Verb.(type) {
	case *loomv1.TeamCall_Give:
		return d.giveTask(x, a, c.Call, v.Give)
	case *loomv1.TeamCall_Watch:
		return d.s.watchTasks(a, v.Watch)
	case *loomv1.TeamCall_Stop:
		return d.stopTask(a, v.Stop)
	case *loomv1.TeamCall_Ask:
		return d.askUser(x, a, c.Call, v.Ask)
	case *loomv1.TeamCall_Write:
		return d.writeMail(x, a, c.Call, v.Write)
	case *loomv1.TeamCall_Start:
		return d.startWork(x, a, c.Call, v.Start)
	case *loomv1.TeamCall_Look:
		return d.lookAtWork(x, v.Look)
	}
	return nil, fault.New("team/invalid", "call %q is none that a team knows", c.Call).At("call")
}

// given returns the task that a call of an attempt gave, or nil.
func given(a *loomv1.Attempt, call string) *loomv1.TeamTask {
	if i := slices.IndexFunc(a.GetTasks(), func(t *loomv1.TeamTask) bool { return t.Call == call }); i >= 0 {
		return a.Tasks[i]
	}
	return nil
}

// about is what a call is told of a task.
func aboutTask(t *loomv1.TeamTask, waits bool) *loomv1.TeamReply {
	return &loomv1.TeamReply{Tasks: []*loomv1.TeamTask{t}, Waits: waits && t.Outcome == nil}
}

// giveTask files a task and begins it. The same call again is the same task.
func (d *decision) giveTask(x *loomv1.Execution, a *loomv1.Attempt, call string, t *loomv1.GiveTask) (*loomv1.TeamReply, error) {
	if has := given(a, call); has != nil {
		return aboutTask(has, t.Waits), nil
	}
	b, err := d.taskBead(x, a, call, t)
	if err != nil {
		return nil, err
	}
	defer d.about(x)()
	d.bead, d.execution = b.Id, ""
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: b}}}); err != nil {
		return nil, err
	}
	d.about(x) // filing was about the new bead
	if err := d.run(x).GiveTask(a.Id, &loomv1.TeamTask{
		Call: call, Bead: b.Id, Execution: b.Id + "-x1", Role: t.Role, Goal: b.Goal, Again: t.Again,
		Contains: team.Beads(team.Made(a.Tasks)),
	}); err != nil {
		return nil, err
	}
	if err := d.begin(b.Id, &loomv1.ExecutionStarted{Parent: x.Id, ParentAttempt: a.Id, Depth: x.Depth + 1}); err != nil {
		return nil, err
	}
	return aboutTask(team.Find(a.Tasks, b.Id), t.Waits), nil
}

// taskBead returns the bead of a task that may be given: a part of the giver's,
// and as urgent.
func (d *decision) taskBead(x *loomv1.Execution, a *loomv1.Attempt, call string, t *loomv1.GiveTask) (*loomv1.Bead, error) {
	place := d.s.placeOf(x, a)
	budget, err := place.Give(t)
	if err != nil {
		return nil, err
	}
	if t.Again != "" {
		if was := team.Find(a.Tasks, t.Again); was == nil || was.Outcome == nil {
			return nil, fault.New("team/unknown", "no task of yours that has ended").At("again").Got(t.Again).Want("%s", tasksHint(a))
		}
	}
	switch {
	case d.s.p.Latest[Delegate] == "":
		return nil, fault.New("workflow/process", "project %q has no process %q", d.s.cfg.ID, Delegate)
	case x.Depth >= MaxNested:
		return nil, fault.New("team/depth", "executions are nested %d deep already, the most is %d", x.Depth, MaxNested)
	}
	up := d.s.bead(x.Bead)
	b := &loomv1.Bead{
		Id: d.nextBead(), Project: d.s.cfg.ID, Type: loomv1.BeadType_BEAD_TYPE_TASK, Status: loomv1.BeadStatus_BEAD_STATUS_OPEN,
		Goal: plain(oneLine(t.Goal)), Description: taskText(t), Priority: priority(up.GetPriority()), Process: Delegate, Parent: x.Bead, Stakeholders: up.GetStakeholders(),
		Context:    &structpb.Struct{Fields: map[string]*structpb.Value{"role": structpb.NewStringValue(t.Role)}},
		Delegation: &loomv1.Delegation{Attempt: a.Id, Call: call, Role: t.Role, Depth: uint32(place.Depth) + 1, Question: t.Question, Changes: d.s.beginning(x, a)},
	}
	if budget.Tokens > 0 || budget.MicroUsd > 0 || budget.WallSeconds > 0 {
		b.Budget = budget
	}
	return b, fault.Join(d.checkParent(b))
}

// beginning is what a new task of an attempt begins with: what its earlier tasks
// have made; while they made nothing, the change that stands or what the giver's
// own work began with.
func (s *State) beginning(x *loomv1.Execution, a *loomv1.Attempt) (list []*loomv1.Change) {
	parts := team.Parts(a.Tasks)
	switch stands := workflow.Standing(x); {
	case len(parts) > 0:
	case stands != nil:
		parts = append(parts, stands)
	default:
		parts = s.bead(x.Bead).GetDelegation().GetChanges()
	}
	for _, c := range parts {
		list = append(list, &loomv1.Change{Base: c.Base, Commit: c.Commit, Tree: c.Tree, PatchDigest: c.PatchDigest})
	}
	return list
}

// taskText is what whoever does a task is told of it.
func taskText(t *loomv1.GiveTask) string {
	text := plain(t.Description)
	if t.Acceptance != "" {
		if text != "" {
			text += "\n\n"
		}
		text += "It is done when: " + plain(t.Acceptance)
	}
	if t.Again != "" {
		text += "\n\nIt was tried before, as " + t.Again + ", without success."
	}
	return text
}

// placeOf says where an attempt stands in a tree of tasks.
func (s *State) placeOf(x *loomv1.Execution, a *loomv1.Attempt) team.Place {
	p := team.Place{
		Line: []team.Job{{Role: a.Role, Goal: s.bead(x.Bead).GetGoal()}}, Roles: s.delegates(),
		Given: len(s.tasksOf(x)), Left: &loomv1.Budget{}, Question: s.bead(x.Bead).GetDelegation().GetQuestion(),
	}
	top := x
	for up := x; up != nil; up = s.execution(up.Parent) {
		top = up
		s.leave(p.Left, up)
		if g := s.bead(up.Bead).GetDelegation(); g != nil {
			p.Depth++
			p.Line = append(p.Line, team.Job{Role: g.Role, Goal: s.bead(up.Bead).Goal})
		} else if up != x {
			p.Line = append(p.Line, s.jobsOf(up)...)
		}
	}
	if p.Tree = s.countTasks(top); conversing(x) { // which has no end: what has come back makes room
		p.Given, p.Tree = p.Given-s.tasksBack(x), p.Tree-s.tasksBack(x)
	}
	return p
}

// tasksBack counts the tasks of an execution that have ended.
func (s *State) tasksBack(x *loomv1.Execution) (n int) {
	for _, t := range s.tasksOf(x) {
		if t.Outcome != nil {
			n++
		}
	}
	return n
}

// jobsOf are those who do the work of an execution that was not given as a task.
func (s *State) jobsOf(x *loomv1.Execution) (jobs []team.Job) {
	for _, a := range outstanding(x) {
		jobs = append(jobs, team.Job{Role: a.Role, Goal: s.bead(x.Bead).GetGoal()})
	}
	return jobs
}

// delegates are the roles that tasks can be given to.
func (s *State) delegates() []string {
	for _, n := range s.p.Definitions[s.p.Latest[Delegate]].GetNodes() {
		if n.Id == delegateNode {
			return n.RolesAny
		}
	}
	return nil
}

// tasksOf returns the tasks that attempts of x gave, whichever of its attempts.
func (s *State) tasksOf(x *loomv1.Execution) (list []*loomv1.TeamTask) {
	for _, a := range attemptsOf(x) {
		for _, t := range a.GetTasks() {
			if s.execution(t.Execution).GetParent() == x.Id { // a fork has the history of another
				list = append(list, t)
			}
		}
	}
	return list
}

func attemptsOf(x *loomv1.Execution) (list []*loomv1.Attempt) {
	for _, n := range x.GetNodes() {
		list = append(list, n.History...)
		if n.Attempt != nil {
			list = append(list, n.Attempt)
		}
	}
	return list
}

// countTasks counts the tasks of x and of all that works for it.
func (s *State) countTasks(x *loomv1.Execution) int {
	n := len(s.tasksOf(x))
	for _, c := range s.childrenOf(x) {
		n += s.countTasks(c)
	}
	return n
}

// leave bounds what is left by what x may still spend: its tasks that go on keep
// the budgets that they were given.
func (s *State) leave(left *loomv1.Budget, x *loomv1.Execution) {
	most := s.allowed(x)
	spent := s.spentBy(x)
	kept := &loomv1.Budget{}
	for _, t := range s.tasksOf(x) {
		if c := s.execution(t.Execution); running(c) {
			used := s.spentBy(c)
			b := s.bead(c.Bead).GetBudget()
			kept.Tokens += max(b.GetTokens()-used.tokens, 0)
			kept.MicroUsd += max(b.GetMicroUsd()-used.money, 0)
		}
	}
	left.Tokens = team.Least(left.Tokens, team.Left(most.Tokens, spent.tokens, kept.Tokens))
	left.MicroUsd = team.Least(left.MicroUsd, team.Left(most.MicroUsd, spent.money, kept.MicroUsd))
	if most.WallSeconds > 0 {
		gone := int64(worked(x, s.Time()).Seconds())
		left.WallSeconds = team.Least(left.WallSeconds, team.Left(most.WallSeconds, gone, 0))
	}
}

// watchTasks tells how tasks of an attempt stand.
func (s *State) watchTasks(a *loomv1.Attempt, w *loomv1.WatchTasks) (*loomv1.TeamReply, error) {
	r := &loomv1.TeamReply{}
	if len(w.GetBeads()) == 0 {
		r.Tasks = a.Tasks
	}
	for _, id := range w.GetBeads() {
		t := team.Find(a.Tasks, id)
		if t == nil {
			return nil, fault.New("team/unknown", "no task of yours").At("beads").Got(id).Want("%s", tasksHint(a))
		}
		r.Tasks = append(r.Tasks, t)
	}
	r.Waits = w.GetWaits() && slices.ContainsFunc(r.Tasks, func(t *loomv1.TeamTask) bool { return t.Outcome == nil })
	return r, nil
}

func tasksHint(a *loomv1.Attempt) string {
	if len(a.Tasks) == 0 {
		return "you gave none"
	}
	return fmt.Sprintf("yours are %q", team.Beads(a.Tasks))
}

// stopTask ends a task, and with it what works for it. One that has ended stays
// as it is.
func (d *decision) stopTask(a *loomv1.Attempt, c *loomv1.StopTask) (*loomv1.TeamReply, error) {
	t := team.Find(a.Tasks, c.GetBead())
	if t == nil {
		return nil, fault.New("team/unknown", "no task of yours").At("task").Got(c.GetBead()).Want("%s", tasksHint(a))
	}
	why := "stopped by who gave it: " + cut(plain(oneLine(cmp.Or(c.Reason, "no reason given"))), maxReason/2)
	if err := d.closeTask(t.Execution, why); err != nil {
		return nil, err
	}
	return aboutTask(team.Find(a.Tasks, t.Bead), false), nil
}

// closeTask ends the execution of a task, if it runs, and tells who gave it.
func (d *decision) closeTask(execution, why string) error {
	x := d.s.execution(execution)
	if !running(x) {
		return nil
	}
	defer d.about(x)()
	if err := d.run(x).CloseNow(why); err != nil {
		return err
	}
	return d.endTask(x)
}

// helpersOf returns the executions that work for an attempt: its child, and the
// tasks that it gave.
func (s *State) helpersOf(a *loomv1.Attempt) (list []*loomv1.Execution) {
	for _, t := range a.GetTasks() {
		list = append(list, s.execution(t.Execution))
	}
	if c := s.execution(a.GetChild()); c != nil {
		list = append(list, c)
	}
	return list
}

// worksFor says whether x works for an attempt.
func worksFor(x *loomv1.Execution, a *loomv1.Attempt) bool {
	return a != nil && (a.Child == x.Id || slices.ContainsFunc(a.Tasks, func(t *loomv1.TeamTask) bool { return t.Execution == x.Id }))
}

// endTask tells an attempt how a task ended that it gave, however it did.
func (d *decision) endTask(x *loomv1.Execution) error {
	up := d.s.execution(x.Parent)
	if _, a := d.s.attempt(x.ParentAttempt); !worksFor(x, a) || !running(up) {
		return nil
	}
	defer d.about(up)()
	return d.run(up).EndTask(x.ParentAttempt, x.Bead, d.s.taskOutcome(x))
}

// listedFiles is how many files of a task's change are listed.
const listedFiles = 20

// taskOutcome is what the end of a task is to who gave it: the outcome of its
// work, or why there is none.
func (s *State) taskOutcome(x *loomv1.Execution) *loomv1.Outcome {
	all := s.result(x)
	did := x.Nodes[delegateNode].GetOutcome()
	out := &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Code: all.Code, Summary: all.Summary}
	if did != nil {
		out.Notes = did.Notes
	}
	if !workflow.Delivered(x.Status) || did == nil {
		return out
	}
	out.Summary, out.Code = did.Summary, cmp.Or(did.Code, "team/failed")
	if did.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		return out
	}
	out.Status, out.Code = did.Status, ""
	if x.Change != nil && !s.bead(x.Bead).GetDelegation().GetQuestion() {
		out.Change = proto.CloneOf(x.Change)
		out.Change.FilesTotal = max(out.Change.FilesTotal, uint32(len(out.Change.Files)))
		out.Change.Files = out.Change.Files[:min(len(out.Change.Files), listedFiles)]
		out.Change.Warnings = nil // what is gathered is looked at as a whole
	}
	return out
}

// givenBySomebody says whether x is a task whose giver is told when it ends.
func (s *State) givenBySomebody(x *loomv1.Execution) bool {
	return x.Parent != "" && s.bead(x.Bead).GetDelegation() != nil
}

// overspent ends a task that has used what it was given: who gave it decides
// what becomes of that.
func (d *decision) overspent(x *loomv1.Execution, why string) {
	d.later(func() error { return d.closeTask(x.Id, overBudget+": "+why) })
}

// madeForIt says whether an agent made a change in what works for x, tasks and children:
// that is a part of what x proposes.
func (s *State) madeForIt(x *loomv1.Execution, c *loomv1.Claimant) bool {
	return slices.ContainsFunc(s.childrenOf(x), func(child *loomv1.Execution) bool {
		return s.madeForIt(child, c) || slices.ContainsFunc(attemptsOf(child), func(a *loomv1.Attempt) bool {
			return a.Outcome.GetChange() != nil && a.Claimant.GetAgent() == c.GetAgent() && a.Claimant.GetHost() == c.GetHost()
		})
	})
}
