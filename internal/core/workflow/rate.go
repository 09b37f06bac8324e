package workflow

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What an attempt can wait for while it is parked.
const (
	WaitsForLock = "lock"
	WaitsForRate = "rate"
	// WaitsForPermission is for the CEO's word on tool calls: its time is not the
	// attempt's, and has no end.
	WaitsForPermission = "permission"
	// WaitsForTeam is for tasks that the attempt gave to others: their time is not
	// its own either.
	WaitsForTeam = "team"
	// WaitsForMail is for the answers of members of its team, likewise.
	WaitsForMail = "mail"
	// WaitsForBudget is for room in a budget, which calls under way may leave, or
	// the CEO give: its time is not the attempt's either.
	WaitsForBudget = "budget"
	// WaitsForOperator is for a model that cannot be asked before somebody mends
	// its key, its account or its name. That is tried again without end.
	WaitsForOperator = "operator"
	// WaitsForAnswer is for the answer of a person in a session: its time is not the
	// attempt's.
	WaitsForAnswer = "answer"
	// WaitsForPeople is for what people say next in a conversation: its time is not the
	// attempt's, which has all of its own for each reply.
	WaitsForPeople = "people"
)

// ratePatience is how long an attempt waits for rate limits in all.
const ratePatience = 10 * time.Minute

// ParkUntil frees the agent until a model's rate limit ends. That costs no
// attempt, and its deadline moves by the time. An attempt that has waited for
// rate limits for 10 minutes in all ends, and the CEO is asked.
func (r Run) ParkUntil(attempt string, c *loomv1.Claimant, until time.Time) error {
	if until.IsZero() {
		return fault.New("command/malformed", "attempt %q is to be parked, but not until when", attempt).At("until")
	}
	return r.park(attempt, c, &loomv1.AttemptParked{WaitsFor: WaitsForRate, Until: timestamppb.New(until)})
}

// rateEnds returns when a parked attempt need no longer wait for a rate limit:
// when that ends, or when it has waited for as long as any may.
func rateEnds(a *loomv1.Attempt) (at time.Time, ok bool) {
	if a.GetParked() != WaitsForRate {
		return at, false
	}
	at, most := a.ParkedUntil.AsTime(), rateMost(a)
	if most.Before(at) {
		at = most
	}
	return at, true
}

func rateMost(a *loomv1.Attempt) time.Time {
	return a.ParkedAt.AsTime().Add(ratePatience - a.ParkedFor.AsDuration())
}

// rateOver queues an attempt again whose rate limit has passed, or gives it up.
func (r Run) rateOver(n *node, a *loomv1.Attempt) error {
	if r.Now.Before(rateMost(a)) {
		return r.Unpark(a.Id)
	}
	const code, why = "model/rate-limited", "it waited for the model's rate limit for 10 minutes in all"
	if err := r.endAttempt(n, a, &loomv1.Outcome{Status: failure, Code: code, Summary: why}, false); err != nil {
		return err
	}
	return r.giveUp(n, code, why)
}

// others reports whether a parked attempt waits for what is not its own doing,
// at no cost of its time.
func others(waitsFor string) bool {
	return waitsFor == WaitsForRate || waitsFor == WaitsForPermission || waitsFor == WaitsForTeam || waitsFor == WaitsForMail || waitsFor == WaitsForBudget || waitsFor == WaitsForOperator || waitsFor == WaitsForAnswer || waitsFor == WaitsForPeople
}

// The waits between two tries of a model that the operator has to mend: doubled
// each time.
const (
	blockedBase  = 30 * time.Second
	blockedLimit = 5 * time.Minute
)

// ParkForOperator frees the agent because its model cannot be asked. That costs no
// attempt, its deadline moves by the time, and it is tried again by itself.
func (r Run) ParkForOperator(attempt string, c *loomv1.Claimant, block *loomv1.ModelBlock) error {
	if block.GetCode() == "" || block.Model == "" {
		return fault.New("command/malformed", "attempt %q is to be parked for the operator, but not because of what", attempt).At("block")
	}
	_, a, err := r.outstanding(attempt)
	if err != nil {
		return err
	}
	wait := min(blockedBase<<min(a.Blocked, 8), blockedLimit)
	return r.park(attempt, c, &loomv1.AttemptParked{WaitsFor: WaitsForOperator, Until: timestamppb.New(r.Now.Add(wait)), Block: block})
}

// unlimit gives an attempt back the time that it was parked, until a moment, for a rate
// limit, a permission, its team or a budget.
func unlimit(a *loomv1.Attempt, until time.Time) {
	if !others(a.Parked) {
		return
	}
	waited := max(until.Sub(a.ParkedAt.AsTime()), 0)
	if a.Parked == WaitsForRate {
		a.ParkedFor = durationpb.New(a.ParkedFor.AsDuration() + waited)
	}
	if a.Deadline != nil {
		a.Deadline = timestamppb.New(a.Deadline.AsTime().Add(waited))
	}
	a.ParkedAt, a.ParkedUntil = nil, nil
}
