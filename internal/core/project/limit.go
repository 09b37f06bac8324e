package project

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Codes of the limits of a bead, which an approval's reason begins with.
const (
	overBudget   = "budget/exhausted"
	overDeadline = "deadline/passed"
)

// spentBy returns what the model calls of an execution and of its children used.
// A call whose price is not known costs nothing here, but its tokens count.
func (s *State) spentBy(x *loomv1.Execution) amount {
	used := ofUsage(x.GetUsage())
	for _, c := range s.childrenOf(x) {
		used = used.plus(s.spentBy(c))
	}
	return used
}

// worked returns the wall time of an execution: since it began, without the
// time in which it was held.
func worked(x *loomv1.Execution, now time.Time) time.Duration {
	d := now.Sub(asTime(x.StartedAt)) - x.HeldFor.AsDuration()
	if x.HeldSince != nil {
		d -= now.Sub(asTime(x.HeldSince))
	}
	return d
}

// budgetOf returns the budget of an execution: its bead's, and where that has none of
// tokens or money, what the project gives each bead. Who works for another execution
// spends from that one's.
func (s *State) budgetOf(x *loomv1.Execution) *loomv1.Budget {
	return budgetFor(x, s.bead(x.Bead).GetBudget(), s.p.Config.GetBeadBudget())
}

// budgetFor is the budget of an execution whose bead has b, in a project that gives all
// to each bead.
func budgetFor(x *loomv1.Execution, b, all *loomv1.Budget) *loomv1.Budget {
	if x.Parent != "" || bounds(b) || !bounds(all) {
		return b
	}
	return &loomv1.Budget{Tokens: all.GetTokens(), MicroUsd: all.GetMicroUsd(), WallSeconds: b.GetWallSeconds()}
}

// allowed returns what an execution may spend in all: its budget, or what the CEO
// lifted that to, if that is more. Zero is no limit.
func (s *State) allowed(x *loomv1.Execution) *loomv1.Budget {
	b, g := s.budgetOf(x), x.Granted
	return &loomv1.Budget{
		Tokens:      most(b.GetTokens(), g.GetTokens()),
		MicroUsd:    most(b.GetMicroUsd(), g.GetMicroUsd()),
		WallSeconds: most(b.GetWallSeconds(), g.GetWallSeconds()),
	}
}

// most is the larger of a budget and a grant; without a budget there is no
// limit.
func most(budget, granted int64) int64 {
	if budget <= 0 {
		return 0
	}
	return max(budget, granted)
}

// limitAt returns the moment of journal time at which an execution that goes on
// has worked for as long as it may.
func (s *State) limitAt(x *loomv1.Execution) (at time.Time, ok bool) {
	if wall := s.allowed(x).WallSeconds; wall > 0 {
		at, ok = asTime(x.StartedAt).Add(x.HeldFor.AsDuration()+seconds(wall)), true
	}
	return at, ok
}

// seconds is n seconds, or as many as a Duration holds.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(100*365*24*time.Hour/time.Second))) * time.Second
}

// deadline returns when the bead of an execution must be done, zero for never:
// one that the CEO has lifted counts no more, and one that is set later does.
func (s *State) deadline(x *loomv1.Execution) time.Time {
	end := asTime(s.bead(x.Bead).GetDeadline())
	if x.DeadlineWaived || end.Equal(asTime(x.LiftedDeadline)) {
		return time.Time{}
	}
	return end
}

// passed returns the first limit that an execution has passed, and how: at a
// journal time, and by the wall clock.
func (s *State) passed(x *loomv1.Execution, now, wall time.Time) (code, why string) {
	most := s.allowed(x)
	if most.Tokens > 0 || most.MicroUsd > 0 {
		used := s.spentBy(x)
		switch {
		case most.Tokens > 0 && used.tokens > most.Tokens:
			return overBudget, fmt.Sprintf("%d tokens are used, of %d", used.tokens, most.Tokens)
		case most.MicroUsd > 0 && used.money > most.MicroUsd:
			return overBudget, fmt.Sprintf("%s are spent, of %s", dollars(used.money), dollars(most.MicroUsd))
		}
	}
	if long := most.WallSeconds; long > 0 && worked(x, now) >= seconds(long) {
		return overBudget, fmt.Sprintf("it took %s of wall time, of %s", worked(x, now).Round(time.Second), seconds(long))
	}
	if end := s.deadline(x); !end.IsZero() && !wall.Before(end) {
		return overDeadline, "it was to be done by " + end.UTC().Format(time.RFC3339)
	}
	return "", ""
}

// askLimit asks the CEO, once, about the first limit that x has passed. A task that
// has used what it was given ends: who gave it decides. One that was reopened works
// for nobody, and is asked about.
func (d *decision) askLimit(x *loomv1.Execution) error {
	if !running(x) || x.LimitApproval != "" {
		return nil
	}
	code, why := d.s.passed(x, d.now, d.wall)
	switch {
	case code == "":
		return nil
	case code == overBudget && d.s.givenBySomebody(x):
		d.overspent(x, why)
		return nil
	}
	asked := &loomv1.Approval{Reason: code + ": " + why}
	if code == overBudget {
		asked.Grants = d.grants(x, asked)
	}
	defer d.about(x)()
	return d.run(x).AskLimit(asked, budgetText(asked.Grants))
}

// grants is what an approval about a budget of tokens, money or time has to grant, as
// budgets are now.
func (d *decision) grants(x *loomv1.Execution, a *loomv1.Approval) *loomv1.Budget {
	wanted := ofBudget(a.Wanted)
	switch {
	case a.DayEnds != nil:
		return d.dayRaised(wanted)
	case a.OfProject:
		return d.projectRaised(wanted)
	}
	b := d.beadRaised(x, d.s.spentBy(x).most(wanted))
	if a.Wanted != nil {
		b.WallSeconds = 0 // it is not asked about
	}
	return b
}

// askAnew has the question about an execution's budget lapse if another answer than the
// one that is shown belongs to it by now, since a budget was changed or calls that were
// under way have used more, and asks it again.
func (d *decision) askAnew(x *loomv1.Execution) error {
	a := d.s.approval(x.GetLimitApproval())
	if a.GetGrants() == nil {
		return nil
	}
	next := &loomv1.Approval{Reason: a.Reason, Wanted: a.Wanted, OfProject: a.OfProject, DayEnds: a.DayEnds}
	if next.Grants = d.grants(x, a); proto.Equal(next.Grants, a.Grants) {
		return nil
	}
	next.Reason = overBudget + ": " + d.whyAnew(x, a)
	if err := d.lapseLimit(x, "the budget or what is used of it has changed"); err != nil {
		return err
	}
	defer d.about(x)()
	return d.run(x).AskLimit(next, budgetText(next.Grants))
}

// whyAnew says how a budget stands now that is asked about anew.
func (d *decision) whyAnew(x *loomv1.Execution, a *loomv1.Approval) string {
	if code, why := d.s.passed(x, d.now, d.wall); a.Wanted == nil && code == overBudget {
		return why
	}
	one := account{x: x, most: d.s.allowed(x), spent: d.s.spentBy(x)}
	switch {
	case a.DayEnds != nil:
		one = account{most: d.s.dayAllowed(d.wall), spent: d.s.spentToday(d.wall), ends: asTime(a.DayEnds)}
	case a.OfProject:
		one = account{most: d.s.projectAllowed(), spent: d.s.spent}
	}
	said := one.stands(ofBudget(a.Wanted))
	if most := one.most.WallSeconds; most > 0 && a.Wanted == nil {
		said = append(said, fmt.Sprintf("it took %s of wall time, of %s", worked(x, d.now).Round(time.Second), seconds(most)))
	}
	if len(said) == 0 {
		return "the budget was taken away after it was used up"
	}
	why := strings.Join(said, "; ")
	if ofBudget(a.Wanted).most(one.spent).within(one.most) {
		why = "the budget was changed after it was used up: " + why
	}
	return why
}

// followAnswer asks about the budgets of an execution, and of those that it
// works for, once a model call was paid for.
func (d *decision) followAnswer(e *loomv1.Event) error {
	if !answers(e) {
		return nil
	}
	for x := d.s.execution(e.Execution); x != nil; x = d.s.execution(x.Parent) {
		if err := d.askAnew(x); err != nil {
			return err
		}
		if err := d.askLimit(x); err != nil {
			return err
		}
	}
	return nil
}

// lift lets an execution go on beyond the limit that an approval is about: up to what
// the approval grants, which is what was shown and signed, or beyond
// the deadline that has passed, if its bead has not been given a later one since. An
// answer about a day that is over lifts nothing: the day that has begun has its own room.
// If it has passed another limit too, the CEO is asked about that at once.
func (d *decision) lift(x *loomv1.Execution, a *loomv1.Approval) error {
	if err := d.emitLift(x, a); err != nil {
		return err
	}
	return d.askLimit(x)
}

func (d *decision) emitLift(x *loomv1.Execution, a *loomv1.Approval) error {
	end := d.s.bead(x.Bead).GetDeadline()
	lifted := &loomv1.LimitLifted{DeadlineWaived: true, Deadline: end}
	switch byDeadline := strings.HasPrefix(a.Reason, overDeadline+":"); {
	case byDeadline && (end == nil || d.wall.Before(asTime(end))):
		return nil
	case !byDeadline:
		if a.DayEnds != nil {
			if !d.s.dayEnds(d.wall).Equal(asTime(a.DayEnds)) {
				return nil
			}
			lifted = &loomv1.LimitLifted{Day: a.Grants}
			break
		}
		if a.OfProject {
			lifted = &loomv1.LimitLifted{Project: a.Grants}
			break
		}
		lifted = &loomv1.LimitLifted{Granted: a.Grants}
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_LimitLifted{LimitLifted: lifted}})
}

// beadRaised is what an execution may spend once the CEO has approved that it uses so much.
func (d *decision) beadRaised(x *loomv1.Execution, used amount) *loomv1.Budget {
	b := raisedBudget(d.s.allowed(x), d.s.budgetOf(x), used)
	b.WallSeconds = raised(d.s.allowed(x).WallSeconds, d.s.budgetOf(x).GetWallSeconds(), int64(worked(x, d.now)/time.Second))
	return b
}

// projectRaised is what the project may spend once the CEO has approved it.
func (d *decision) projectRaised(used amount) *loomv1.Budget {
	return raisedBudget(d.s.projectAllowed(), d.s.p.Config.GetBudget(), d.s.spent.most(used))
}

// raisedBudget is a budget of tokens and money, raised.
func raisedBudget(most, more *loomv1.Budget, used amount) *loomv1.Budget {
	return &loomv1.Budget{
		Tokens: raised(most.GetTokens(), more.GetTokens(), used.tokens), MicroUsd: raised(most.GetMicroUsd(), more.GetMicroUsd(), used.money),
	}
}

// raised returns a limit, or where more is used than that, the limit and as
// much again, as often as it takes.
func raised(limit, more, used int64) int64 {
	if limit <= 0 || used < limit {
		return limit
	}
	more = cmp.Or(max(more, 0), limit)
	return limit + more*((used-limit)/more+1)
}

// kept is what is left of a grant once a budget has become another one: what was granted
// of tokens, money or time ends where that very one was lowered.
func kept(granted, old, next *loomv1.Budget) *loomv1.Budget {
	if granted == nil {
		return nil
	}
	keep := func(granted, old, next int64) int64 {
		if next > 0 && (old <= 0 || next < old) {
			return 0
		}
		return granted
	}
	return &loomv1.Budget{
		Tokens:      keep(granted.Tokens, old.GetTokens(), next.GetTokens()),
		MicroUsd:    keep(granted.MicroUsd, old.GetMicroUsd(), next.GetMicroUsd()),
		WallSeconds: keep(granted.WallSeconds, old.GetWallSeconds(), next.GetWallSeconds()),
	}
}

// takeBack ends what was granted beyond budgets that whoever runs the host has lowered:
// what he says at his start holds. It is for folds.
func (s *State) takeBack(old, next *loomv1.ProjectConfig) {
	if old == nil {
		return
	}
	for _, b := range s.p.Days {
		b.Granted = kept(b.Granted, old.DayBudget, next.GetDayBudget())
	}
	s.p.Granted = kept(s.p.Granted, old.Budget, next.GetBudget())
	for _, x := range s.running() {
		b := s.bead(x.Bead).GetBudget()
		x.Granted = kept(x.Granted, budgetFor(x, b, old.BeadBudget), budgetFor(x, b, next.GetBeadBudget()))
	}
}
