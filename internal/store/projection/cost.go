package projection

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// maxCosts is how many groups an answer has at most.
const maxCosts = 1000

// groups says what column a group is, of calls and of attempts; a model has no
// attempts of its own.
var groups = map[loomv1.CostGroup][2]string{
	loomv1.CostGroup_COST_GROUP_UNSPECIFIED: {"process", "process"},
	loomv1.CostGroup_COST_GROUP_PROCESS:     {"process", "process"},
	loomv1.CostGroup_COST_GROUP_AGENT:       {"agent", "agent"},
	loomv1.CostGroup_COST_GROUP_ROLE:        {"role", "role"},
	loomv1.CostGroup_COST_GROUP_BEAD:        {"bead_id", "bead_id"},
	loomv1.CostGroup_COST_GROUP_TREE:        {"bead_id", "bead_id"},
	loomv1.CostGroup_COST_GROUP_MODEL:       {"model", "''"},
	loomv1.CostGroup_COST_GROUP_PROJECT:     {"project", "project"},
	loomv1.CostGroup_COST_GROUP_DAY:         {"substr(at, 1, 10)", "substr(at, 1, 10)"},
}

// inCosts are the rows that a request is about.
const inCosts = ` WHERE (@project = '' OR project = @project) AND at >= @from AND at < @to `

// Costs returns what model calls have cost and how attempts fared, by group, the
// dearest first, and the same of all; all of it as of one transaction. What each
// figure means is said in the contract, at Cost. A batch that is not applied yet
// is not counted, see [DB.WaitFor].
func (d *DB) Costs(ctx context.Context, q *loomv1.CostRequest) (list []*loomv1.Cost, total *loomv1.Cost, err error) {
	by, ok := groups[q.GetBy()]
	if !ok {
		return nil, nil, fault.New("usage/argument", "nothing is added up by %s", q.GetBy()).At("by")
	}
	tx, err := d.read.Load().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, nil, failed("add up costs", err)
	}
	defer tx.Rollback()
	a := &adder{all: map[string]*sum{}, args: arguments(&loomv1.MetricsRequest{Project: q.GetProject(), From: q.GetFrom(), To: q.GetTo()})}
	if q.GetBy() == loomv1.CostGroup_COST_GROUP_TREE {
		if err := a.byTree(ctx, tx); err != nil {
			return nil, nil, failed("add up costs", err)
		}
	}
	if err := a.calls(ctx, tx, by[0]); err != nil {
		return nil, nil, failed("add up costs", err)
	}
	if err := a.attempts(ctx, tx, by[1]); err != nil {
		return nil, nil, failed("add up costs", err)
	}
	list, total = a.finish()
	return list, total, nil
}

// sum is a group while it is added up.
type sum struct {
	*loomv1.Cost
	took []uint64
}

// adder adds up one request.
type adder struct {
	args  []any
	all   map[string]*sum
	above map[string]string // of a bead, the one that it is worked on for
}

// byTree has beads added up with the one that all of them are worked on for.
func (a *adder) byTree(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT x.bead_id, up.bead_id FROM executions x JOIN executions up ON up.id = x.parent WHERE x.parent <> ''")
	if err != nil {
		return err
	}
	defer rows.Close()
	a.above = map[string]string{}
	for rows.Next() {
		var bead, up string
		if err := rows.Scan(&bead, &up); err != nil {
			return err
		}
		a.above[bead] = up
	}
	return rows.Err()
}

func (a *adder) of(name string) *sum {
	for up, part := a.above[name]; part; up, part = a.above[name] {
		name = up
	}
	if a.all[name] == nil {
		a.all[name] = &sum{Cost: &loomv1.Cost{Name: name}}
	}
	return a.all[name]
}

func (a *adder) calls(ctx context.Context, tx *sql.Tx, by string) error {
	rows, err := tx.QueryContext(ctx, "SELECT "+by+", input_tokens, output_tokens, cached_tokens, cost_micro_usd, priced, milliseconds, assumed FROM model_calls"+inCosts, a.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var input, output, cached, cost, took uint64
		var priced, assumed bool
		if err := rows.Scan(&name, &input, &output, &cached, &cost, &priced, &took, &assumed); err != nil {
			return err
		}
		s := a.of(name)
		s.Calls, s.InputTokens, s.OutputTokens = s.Calls+1, s.InputTokens+input, s.OutputTokens+output
		s.CachedTokens, s.CostMicroUsd = s.CachedTokens+cached, s.CostMicroUsd+cost
		if !priced {
			s.Unpriced++
		}
		if assumed {
			s.BrokenCalls, s.BrokenTokens, s.BrokenMicroUsd = s.BrokenCalls+1, s.BrokenTokens+input+output, s.BrokenMicroUsd+cost
		}
		if took > 0 {
			s.took = append(s.took, took)
		}
	}
	return rows.Err()
}

func (a *adder) attempts(ctx context.Context, tx *sql.Tx, by string) error {
	rows, err := tx.QueryContext(ctx, "SELECT "+by+", outcome, count(*) FROM attempt_ends"+inCosts+"GROUP BY 1, 2", a.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, outcome string
		var n uint64
		if err := rows.Scan(&name, &outcome, &n); err != nil {
			return err
		}
		if name == "" {
			continue // nobody had it
		}
		s := a.of(name)
		switch outcome {
		case released:
			s.Released += n
			continue
		case "success", "continue":
			s.Succeeded += n
		case timeout:
			s.TimedOut += n
		}
		s.Attempts += n
	}
	return rows.Err()
}

// finish returns the groups and their total.
func (a *adder) finish() ([]*loomv1.Cost, *loomv1.Cost) {
	total := &sum{Cost: &loomv1.Cost{Name: "total"}}
	var list []*loomv1.Cost
	for _, s := range a.all {
		total.Calls, total.InputTokens, total.OutputTokens = total.Calls+s.Calls, total.InputTokens+s.InputTokens, total.OutputTokens+s.OutputTokens
		total.CachedTokens, total.CostMicroUsd, total.Unpriced = total.CachedTokens+s.CachedTokens, total.CostMicroUsd+s.CostMicroUsd, total.Unpriced+s.Unpriced
		total.Attempts, total.Succeeded, total.TimedOut, total.Released = total.Attempts+s.Attempts, total.Succeeded+s.Succeeded, total.TimedOut+s.TimedOut, total.Released+s.Released
		total.BrokenCalls, total.BrokenTokens, total.BrokenMicroUsd = total.BrokenCalls+s.BrokenCalls, total.BrokenTokens+s.BrokenTokens, total.BrokenMicroUsd+s.BrokenMicroUsd
		total.took = append(total.took, s.took...)
		s.rate()
		list = append(list, s.Cost)
	}
	total.rate()
	slices.SortFunc(list, func(a, b *loomv1.Cost) int {
		return cmp.Or(cmp.Compare(b.CostMicroUsd, a.CostMicroUsd), cmp.Compare(b.InputTokens+b.OutputTokens, a.InputTokens+a.OutputTokens), strings.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), maxCosts)], total.Cost
}

// rate fills in what is read off the counts.
func (s *sum) rate() {
	if s.Attempts > 0 {
		v := float64(s.Succeeded) / float64(s.Attempts)
		s.Completion = &v
	}
	if ends := s.Attempts + s.Released; ends > 0 {
		v := float64(s.Attempts-s.TimedOut) / float64(ends)
		s.Reliability = &v
	}
	if len(s.took) == 0 {
		return
	}
	slices.Sort(s.took)
	at := func(p int) float64 { return float64(s.took[(len(s.took)-1)*p/100]) }
	all := uint64(0)
	for _, ms := range s.took {
		all += ms
	}
	s.Latency = &loomv1.Quantiles{
		Count: uint64(len(s.took)), MeanMs: float64(all) / float64(len(s.took)), P50Ms: at(50), P90Ms: at(90), P99Ms: at(99), MaxMs: at(100),
	}
}

// Outcomes of attempts that are no agent's own.
const (
	released = "released"
	timeout  = "timeout"
)

// costed writes what an event says of costs. It is called before the event is
// folded, while the attempt's holder is known.
func (w *writer) costed(ctx context.Context, x *execution, e *loomv1.Event) error {
	process := x.state.GetDefinition()
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ModelAnswered, *loomv1.Event_TurnCompacted:
		a := workflow.AnswerOf(e)
		u := a.GetUsage()
		agent := e.GetActor().GetName()
		return w.exec(ctx, "call", e.Project, e.Number, e.Bead, process, agent, roleOf(agent), a.GetModel(), clock(e.Time),
			int64(u.GetInputTokens()), int64(u.GetOutputTokens()), int64(u.GetCacheReadTokens()), int64(u.GetCostMicroUsd()), u.GetCostKnown(), int64(a.GetMilliseconds()), false)
	case *loomv1.Event_CallSettled:
		if u := f.CallSettled.GetUsage(); u != nil {
			agent := x.reservedBy(e)
			return w.exec(ctx, "call", e.Project, e.Number, e.Bead, process, agent, roleOf(agent), "", clock(e.Time),
				int64(u.GetInputTokens()), int64(u.GetOutputTokens()), int64(u.GetCacheReadTokens()), int64(u.GetCostMicroUsd()), u.GetCostKnown(), int64(0), f.CallSettled.GetAssumed())
		}
	case *loomv1.Event_AttemptEnded:
		if withdrawn(f.AttemptEnded) {
			return nil // it says nothing of its agent
		}
		outcome := word(f.AttemptEnded.GetOutcome().GetStatus())
		if f.AttemptEnded.GetTimedOut() {
			outcome = timeout
		}
		x.attemptEnd(e, outcome)
	case *loomv1.Event_ClaimReleased:
		if why := f.ClaimReleased.GetReason(); strings.HasPrefix(why, "host ") && why != workflow.HostStops || strings.HasPrefix(why, "agent failed") {
			x.attemptEnd(e, released)
		}
	}
	return nil
}

// reservedBy is whose call is settled: of one that was lost with its agent, the agent's.
func (x *execution) reservedBy(e *loomv1.Event) string {
	for _, r := range x.state.GetNodes()[e.Node].GetAttempt().GetReserved() {
		if by := r.GetBy(); r.Request == e.GetCallSettled().GetRequest() && by != nil {
			return by.Agent + "@" + by.Host
		}
	}
	return e.GetActor().GetName()
}

// attemptEnd notes how an attempt ended for its holder; of one that nobody held, such
// as that of a child, nothing is said.
func (x *execution) attemptEnd(e *loomv1.Event, outcome string) {
	if c := x.state.GetNodes()[e.Node].GetAttempt().GetClaimant(); c != nil {
		x.ends.add(e.Number, c.Agent+"@"+c.Host, clock(e.Time), outcome)
	}
}

// roleOf is the ROLE of "ROLE/N@HOST", or "".
func roleOf(agent string) string {
	role, _, ok := strings.Cut(agent, "/")
	if !ok {
		return ""
	}
	return role
}
