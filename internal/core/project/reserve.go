package project

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// amount is tokens and micro-dollars.
type amount struct{ tokens, money int64 }

// most is more than any amount that is added up, so that no sum overflows.
const mostAmount = 1 << 60

func (a amount) plus(b amount) amount {
	return amount{min(a.tokens+b.tokens, mostAmount), min(a.money+b.money, mostAmount)}
}

// most is the larger of both, of tokens and of money.
func (a amount) most(b amount) amount { return amount{max(a.tokens, b.tokens), max(a.money, b.money)} }

// within says whether a is no more than a budget; what that does not bound is.
func (a amount) within(b *loomv1.Budget) bool {
	return (b.GetTokens() <= 0 || a.tokens <= b.Tokens) && (b.GetMicroUsd() <= 0 || a.money <= b.MicroUsd)
}

// bounds says whether a budget is one of tokens or money.
func bounds(b *loomv1.Budget) bool { return b.GetTokens() > 0 || b.GetMicroUsd() > 0 }

func ofUsage(u *loomv1.Usage) amount {
	return amount{int64(min(u.GetInputTokens()+u.GetOutputTokens(), mostAmount)), int64(min(u.GetCostMicroUsd(), mostAmount))}
}

func ofBudget(b *loomv1.Budget) amount { return amount{b.GetTokens(), b.GetMicroUsd()} }

func ofReservation(r *loomv1.CallReservation) amount { return amount{r.GetTokens(), r.GetMicroUsd()} }

// account is a budget that a call counts against, and how it stands.
type account struct {
	x     *loomv1.Execution // nil for the whole project
	ends  time.Time         // of its day; zero for what it may spend in all
	most  *loomv1.Budget
	spent amount
	lost  amount // held back by who has lost the attempt since: spent, for all that is known
	open  amount // held back for calls under way
}

// reserveCall holds back what a model call can use, before it is made. All that
// is spent and held back is never more than a budget; so no call goes beyond it,
// whoever makes how many at once, as long as none uses more than it reserved.
func (d *decision) reserveCall(c *loomv1.ReserveCall) (*loomv1.Answer, error) {
	x, err := d.holding(c.Attempt, c.Claimant)
	if err != nil {
		return nil, err
	}
	want := c.GetReservation()
	if want.GetRequest() == "" || len(want.Request) > 128 || min(want.Tokens, want.MicroUsd) < 0 || max(want.Tokens, want.MicroUsd) > mostAmount/2 {
		return nil, fault.New("command/malformed", "a call reserves for a request, and no negative amount").At("reservation")
	}
	if d.s.held(x) {
		return nil, paused(c.Attempt, x)
	}
	_, a := d.s.attempt(c.Attempt)
	defer d.about(x)()
	d.node, d.attempt = a.Node, a.Id
	verdict, err := d.judgeCall(x, a, want)
	return &loomv1.Answer{Body: &loomv1.Answer_Call{Call: &loomv1.CallVerdict{Verdict: verdict}}}, err
}

func (d *decision) judgeCall(x *loomv1.Execution, a *loomv1.Attempt, want *loomv1.CallReservation) (loomv1.Verdict, error) {
	if slices.ContainsFunc(a.Reserved, func(r *loomv1.CallReservation) bool {
		return r.Request == want.Request && proto.Equal(r.By, a.Claimant)
	}) {
		return loomv1.Verdict_VERDICT_GO, nil
	}
	accounts := d.s.accounts(x, a, d.wall)
	if len(accounts) == 0 {
		return loomv1.Verdict_VERDICT_GO, nil
	}
	need := ofReservation(want)
	if want.Optional && slices.ContainsFunc(accounts, func(one account) bool {
		return !one.spent.plus(one.lost).plus(one.open).plus(need).plus(need).within(one.most)
	}) {
		return loomv1.Verdict_VERDICT_WAIT, nil // what has to be asked can use as much again
	}
	for _, one := range accounts {
		if !one.spent.plus(one.lost).plus(need).within(one.most) {
			return d.exhausted(x, a, one, need)
		}
	}
	for _, one := range accounts {
		if !one.spent.plus(one.lost).plus(one.open).plus(need).within(one.most) {
			return loomv1.Verdict_VERDICT_WAIT, d.run(x).Park(a.Id, a.Claimant, workflow.WaitsForBudget)
		}
	}
	r := &loomv1.CallReservation{Request: want.Request, Tokens: want.Tokens, MicroUsd: want.MicroUsd, By: a.Claimant}
	return loomv1.Verdict_VERDICT_GO, d.emit(&loomv1.Event{Fact: &loomv1.Event_CallReserved{CallReserved: &loomv1.CallReserved{Reservation: r}}})
}

// accounts returns the budgets of tokens and money that a call of an attempt of
// x counts against: its bead's, those of what it works for, the project's, and the
// project's of the day.
func (s *State) accounts(x *loomv1.Execution, a *loomv1.Attempt, now time.Time) []account {
	var list []account
	for y := x; y != nil; y = s.execution(y.Parent) {
		if most := s.allowed(y); bounds(most) {
			one := account{x: y, most: most, spent: s.spentBy(y)}
			s.heldBack(y, a, &one)
			list = append(list, one)
		}
	}
	if most := s.projectAllowed(); bounds(most) {
		list = append(list, s.ofProject(account{most: most, spent: s.spent}, a))
	}
	if most := s.dayAllowed(now); bounds(most) {
		list = append(list, s.ofProject(account{most: most, spent: s.spentToday(now), ends: s.dayEnds(now)}, a))
	}
	return list
}

// ofProject is an account of the whole project, with what its attempts hold back.
func (s *State) ofProject(one account, a *loomv1.Attempt) account {
	for id := range s.open { // in any order: it is a sum
		own(s.execution(id), a, &one)
	}
	return one
}

// projectAllowed returns what the whole project may spend, which the CEO may
// have raised.
func (s *State) projectAllowed() *loomv1.Budget {
	b, g := s.p.Config.GetBudget(), s.p.Granted
	return &loomv1.Budget{Tokens: most(b.GetTokens(), g.GetTokens()), MicroUsd: most(b.GetMicroUsd(), g.GetMicroUsd())}
}

// heldBack adds up what is reserved by an execution and its children.
func (s *State) heldBack(x *loomv1.Execution, a *loomv1.Attempt, to *account) {
	own(x, a, to)
	for _, c := range s.childrenOf(x) {
		s.heldBack(c, a, to)
	}
}

// own adds what attempts of x have reserved. Who asks makes one call at a time,
// so that what a itself has reserved is not under way any more.
func own(x *loomv1.Execution, a *loomv1.Attempt, to *account) {
	for _, n := range x.GetNodes() {
		for _, r := range n.Attempt.GetReserved() {
			if n.Attempt != a && proto.Equal(r.By, n.Attempt.Claimant) {
				to.open = to.open.plus(ofReservation(r))
			} else {
				to.lost = to.lost.plus(ofReservation(r))
			}
		}
	}
}

// exhausted asks the CEO about a budget that the next call does not fit into,
// once; a task ends instead, and who gave it decides. While she is asked about one of
// the project's, others wait for the answer.
func (d *decision) exhausted(x *loomv1.Execution, a *loomv1.Attempt, one account, need amount) (loomv1.Verdict, error) {
	about := one.x
	if about == nil {
		if slices.ContainsFunc(d.s.running(), func(y *loomv1.Execution) bool { return d.s.approval(y.LimitApproval).GetOfProject() }) {
			return loomv1.Verdict_VERDICT_WAIT, d.run(x).Park(a.Id, a.Claimant, workflow.WaitsForBudget)
		}
		about = x
	}
	if one.x != nil && d.s.givenBySomebody(about) {
		d.overspent(about, one.why(need))
		return loomv1.Verdict_VERDICT_HELD, nil
	}
	defer d.about(about)()
	asked := &loomv1.Approval{Reason: overBudget + ": " + one.why(need), Wanted: one.spent.plus(one.lost).plus(need).budget(), OfProject: one.x == nil}
	if !one.ends.IsZero() {
		asked.DayEnds = timestamppb.New(one.ends)
	}
	asked.Grants = d.grants(about, asked)
	return loomv1.Verdict_VERDICT_HELD, d.run(about).AskLimit(asked, budgetText(asked.Grants))
}

// budgetText says a budget, "" of none.
func budgetText(b *loomv1.Budget) string {
	var said []string
	if b.GetTokens() > 0 {
		said = append(said, fmt.Sprintf("%d tokens", b.Tokens))
	}
	if b.GetMicroUsd() > 0 {
		said = append(said, dollars(b.MicroUsd))
	}
	if b.GetWallSeconds() > 0 {
		said = append(said, seconds(b.WallSeconds).String()+" of work")
	}
	return strings.Join(said, " and ")
}

func (a amount) budget() *loomv1.Budget { return &loomv1.Budget{Tokens: a.tokens, MicroUsd: a.money} }

// why says how a budget stands that a call does not fit into.
func (one account) why(need amount) string {
	whose, used := one.whose(), one.spent.plus(one.lost)
	if one.most.Tokens > 0 && used.tokens+need.tokens > one.most.Tokens {
		return fmt.Sprintf("%s%d tokens are used, of %d, and the next call can use %d", whose, used.tokens, one.most.Tokens, need.tokens)
	}
	return fmt.Sprintf("%s%s are spent, of %s, and the next call can cost %s", whose, dollars(used.money), dollars(one.most.MicroUsd), dollars(need.money))
}

// stands says of tokens and of money how a budget stands, and what a call that waits
// needs of it with what is used, if one does.
func (one account) stands(wanted amount) (said []string) {
	if most := one.most.Tokens; most > 0 {
		said = append(said, fmt.Sprintf("%s%d tokens are used, of %d", one.whose(), one.spent.tokens, most))
		if wanted.tokens > 0 {
			said[len(said)-1] += fmt.Sprintf(", and with the call that waits %d", wanted.tokens)
		}
	}
	if most := one.most.MicroUsd; most > 0 {
		said = append(said, fmt.Sprintf("%s%s are spent, of %s", one.whose(), dollars(one.spent.money), dollars(most)))
		if wanted.money > 0 {
			said[len(said)-1] += fmt.Sprintf(", and with the call that waits %s", dollars(wanted.money))
		}
	}
	return said
}

func (one account) whose() string {
	switch {
	case !one.ends.IsZero():
		return fmt.Sprintf("of the whole project on %s (UTC) ", one.ends.Add(-day).Format(time.DateOnly))
	case one.x == nil:
		return "of the whole project "
	}
	return ""
}

func dollars(micro int64) string { return fmt.Sprintf("%.6f USD", float64(micro)/1e6) }

// settleCall ends the reservation of a call that came to nothing.
func (d *decision) settleCall(c *loomv1.SettleCall) error {
	x, err := d.holding(c.Attempt, c.Claimant)
	if err != nil {
		return err
	}
	if c.Request == "" {
		return fault.New("command/malformed", "a call is settled for its request").At("request")
	}
	_, a := d.s.attempt(c.Attempt)
	if !slices.ContainsFunc(a.Reserved, func(r *loomv1.CallReservation) bool {
		return r.Request == c.Request && proto.Equal(r.By, a.Claimant)
	}) {
		return nil
	}
	defer d.about(x)()
	d.node, d.attempt = a.Node, a.Id
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_CallSettled{CallSettled: &loomv1.CallSettled{Request: c.Request, Usage: c.Usage}}})
}

// followBudget has those ask again that wait for room in a budget, once what a
// command did is done: each asks for its own, and waits again if there is none.
func (d *decision) followBudget(e *loomv1.Event) {
	if len(d.s.thirsty) == 0 || !frees(e) || d.waking {
		return
	}
	d.waking = true
	d.later(func() error {
		d.waking = false
		ids := make([]string, 0, len(d.s.thirsty))
		for id := range d.s.thirsty {
			ids = append(ids, id)
		}
		slices.SortFunc(ids, strings.Compare)
		for _, id := range ids {
			if err := d.unparkOne(id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *decision) unparkOne(attempt string) error {
	x, a := d.s.attempt(attempt)
	if a == nil || !running(x) {
		return nil
	}
	defer d.about(x)()
	return d.run(x).Unpark(attempt)
}

// frees says whether there may be more room in a budget after a fact, or nobody
// left who would free it.
func frees(e *loomv1.Event) bool {
	switch f := e.Fact.(type) {
	case *loomv1.Event_AttemptParked:
		return f.AttemptParked.WaitsFor != workflow.WaitsForBudget
	case *loomv1.Event_ModelAnswered, *loomv1.Event_CallSettled, *loomv1.Event_AttemptEnded, *loomv1.Event_ClaimReleased,
		*loomv1.Event_LimitLifted, *loomv1.Event_BeadUpdated, *loomv1.Event_ProjectRegistered, *loomv1.Event_ApprovalLapsed, *loomv1.Event_ExecutionEnded:
		return true
	case *loomv1.Event_TurnCompacted:
		return answers(e)
	}
	return false
}

// applySpent keeps up what the project has spent, and who waits for room.
func (s *State) applySpent(e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ModelAnswered, *loomv1.Event_TurnCompacted:
		s.pay(e, ofUsage(workflow.AnswerOf(e).GetUsage()))
	case *loomv1.Event_CallSettled:
		s.pay(e, ofUsage(f.CallSettled.GetUsage()))
	case *loomv1.Event_AttemptParked:
		if f.AttemptParked.WaitsFor == workflow.WaitsForBudget {
			s.thirsty[e.Attempt] = true
		}
	case *loomv1.Event_ClaimReleased, *loomv1.Event_AttemptEnded:
		delete(s.thirsty, e.Attempt)
	case *loomv1.Event_LimitLifted:
		if g := f.LimitLifted.GetProject(); g != nil {
			s.p.Granted = proto.CloneOf(g)
		}
		if g := f.LimitLifted.GetDay(); g != nil {
			s.begunDay(wallTime(e)).Granted = proto.CloneOf(g)
		}
	}
}

// deriveSpent makes the same from a snapshot, and from what is in segments.
func (s *State) deriveSpent(entries map[string]*loomv1.SegmentEntry) {
	s.spent, s.thirsty = amount{}, map[string]bool{}
	for _, e := range entries {
		for _, x := range e.Executions {
			s.spent = s.spent.plus(ofUsage(x.Usage))
		}
	}
	for _, x := range s.p.Executions {
		s.spent = s.spent.plus(ofUsage(x.Usage))
		for _, n := range x.Nodes {
			if n.Attempt.GetParked() == workflow.WaitsForBudget {
				s.thirsty[n.Attempt.Id] = true
			}
		}
	}
}
