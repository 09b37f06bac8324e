package project

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// day is how long a budget of a day counts: from midnight to midnight in UTC, which
// every host and every reader of the journal agrees on.
const day = 24 * time.Hour

// mostDays is of how many days the spending is kept: today's, that of a day on which a
// clock that was wrong has put it, and that of the day before.
const mostDays = 3

// dayEnds returns the midnight at which the day of a moment ends, by the wall clock.
// A day that has begun does not begin again when the clock is set back; one that lies
// more than a day ahead was begun by a clock that was wrong, and does not count.
func (s *State) dayEnds(now time.Time) time.Time {
	at := now.UTC().Truncate(day).Add(day)
	for _, b := range s.p.Days {
		if ends := asTime(b.Ends); ends.After(at) && ends.Sub(now) <= 2*day {
			at = ends
		}
	}
	return at
}

// today returns the spending of the day of a moment, nil while there is none.
func (s *State) today(now time.Time) *loomv1.DaySpending {
	ends := s.dayEnds(now)
	for _, b := range s.p.Days {
		if asTime(b.Ends).Equal(ends) {
			return b
		}
	}
	return nil
}

// begunDay is today, begun with nothing where there is none, and the last of the days. It
// is for folds.
func (s *State) begunDay(now time.Time) *loomv1.DaySpending {
	b := s.today(now)
	if b == nil {
		b = &loomv1.DaySpending{Ends: timestamppb.New(s.dayEnds(now))}
	}
	rest := slices.DeleteFunc(s.p.Days, func(other *loomv1.DaySpending) bool { return other == b })
	s.p.Days = append(rest[max(0, len(rest)+1-mostDays):], b)
	return b
}

// spentToday returns what the project has spent on the day of a moment.
func (s *State) spentToday(now time.Time) amount {
	b := s.today(now).GetSpent()
	return amount{b.GetTokens(), b.GetMicroUsd()}
}

// dayAllowed returns what the project may spend on the day of a moment, which the CEO
// may have raised.
func (s *State) dayAllowed(now time.Time) *loomv1.Budget {
	b, g := s.p.Config.GetDayBudget(), s.today(now).GetGranted()
	return &loomv1.Budget{Tokens: most(b.GetTokens(), g.GetTokens()), MicroUsd: most(b.GetMicroUsd(), g.GetMicroUsd())}
}

// pay adds what a call has used to what the project has spent, in all and on the day
// on which it was paid for.
func (s *State) pay(e *loomv1.Event, used amount) {
	s.spent = s.spent.plus(used)
	if used == (amount{}) {
		return
	}
	b := s.begunDay(wallTime(e))
	b.Spent = amount{b.GetSpent().GetTokens(), b.GetSpent().GetMicroUsd()}.plus(used).budget()
}

// dayRaised is what the project may spend today once the CEO has approved it.
func (d *decision) dayRaised(used amount) *loomv1.Budget {
	return raisedBudget(d.s.dayAllowed(d.wall), d.s.p.Config.GetDayBudget(), d.s.spentToday(d.wall).most(used))
}

// lapseDay has the question about the budget of a day lapse once that is over: there
// is room again, and what waited goes on.
func (d *decision) lapseDay(x *loomv1.Execution) error {
	a := d.s.approval(x.GetLimitApproval())
	if a.GetDayEnds() == nil || d.wall.Before(asTime(a.DayEnds)) {
		return nil
	}
	return d.lapseLimit(x, "the day is over")
}

// askedWithRoom lists the executions that are asked about though there is room for them:
// an operator gave their beads more since, and what was asked about is signed for.
func (s *State) askedWithRoom(now, wall time.Time) map[string]bool {
	list := map[string]bool{}
	for _, x := range s.running() {
		if a := s.approval(x.LimitApproval); a.GetGrants() != nil && s.roomFor(x, a, now, wall) {
			list[x.Id] = true
		}
	}
	return list
}

// lapseRaised has questions about limits lapse that whoever runs the host has raised
// or taken away since, so that nobody is asked about a limit which there is not, and
// asks those anew that another answer belongs to by now. Those that had room before
// stay open.
func (d *decision) lapseRaised(hadRoom map[string]bool) error {
	for _, x := range d.s.running() {
		if a := d.s.approval(x.LimitApproval); a.GetGrants() != nil && !hadRoom[x.Id] && d.s.roomFor(x, a, d.now, d.wall) {
			if err := d.lapseLimit(x, "the limit was raised"); err != nil {
				return err
			}
			if err := d.askLimit(x); err != nil { // it may be beyond another
				return err
			}
		}
		if err := d.askAnew(x); err != nil {
			return err
		}
	}
	return nil
}

// roomFor says whether what an approval is about fits into its budget as that is now, at
// a journal time and by the wall clock.
func (s *State) roomFor(x *loomv1.Execution, a *loomv1.Approval, now, wall time.Time) bool {
	limit := s.allowed(x)
	switch {
	case a.Wanted == nil:
		code, _ := s.passed(x, now, wall)
		return code != overBudget
	case a.DayEnds != nil:
		limit = s.dayAllowed(wall)
	case a.OfProject:
		limit = s.projectAllowed()
	}
	return amount{a.Wanted.GetTokens(), a.Wanted.GetMicroUsd()}.within(limit)
}

func (d *decision) lapseLimit(x *loomv1.Execution, why string) error {
	defer d.about(x)()
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalLapsed{
		ApprovalLapsed: &loomv1.ApprovalLapsed{Approval: x.LimitApproval, Reason: why},
	}})
}
