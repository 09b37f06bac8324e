package projection

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The names of running counts. A process is one of a definition's names, a node
// one of its ids, and a label one of a closed list.
const (
	BeadsFiled        = "beads_filed"        // by type
	ExecutionsStarted = "executions_started" // by process
	ExecutionsEnded   = "executions_ended"   // by process and status
	AttemptsEnded     = "attempts_ended"     // by process, node and outcome, or timeout
	Escalations       = "escalations"        // by process and node; no node is the execution's own
	ModelCalls        = "model_calls"        // by process
	ModelTokens       = "model_tokens"       // by process and direction: input, output
	ModelCost         = "model_cost"         // by process, in micro-dollars
	AttemptsQueued    = "attempts_queued"    // by role in the label, now: held by nobody, not parked
)

// Tally is a running count over everything that was applied.
type Tally struct {
	Name, Process, Node, Label string
	Value                      int64
}

type tallyKey struct{ name, process, node, label string }

func (k tallyKey) compare(o tallyKey) int {
	return cmp.Or(cmp.Compare(k.name, o.name), cmp.Compare(k.process, o.process), cmp.Compare(k.node, o.node), cmp.Compare(k.label, o.label))
}

// Tallies returns all running counts, sorted. It reads no table.
func (d *DB) Tallies() []Tally {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]Tally, 0, len(d.tallies))
	for _, k := range slices.SortedFunc(maps.Keys(d.tallies), tallyKey.compare) {
		all = append(all, Tally{k.name, k.process, k.node, k.label, d.tallies[k]})
	}
	return all
}

func (w *writer) count(k tallyKey, n int64) {
	if n != 0 {
		w.tallies[k] += n
	}
}

// counted counts an event of an execution.
func (w *writer) counted(x *execution, e *loomv1.Event) {
	process := x.state.GetDefinition()
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ExecutionStarted, *loomv1.Event_ExecutionForked:
		w.count(tallyKey{name: ExecutionsStarted, process: process}, 1)
	case *loomv1.Event_ExecutionEnded:
		w.count(tallyKey{name: ExecutionsEnded, process: process, label: word(f.ExecutionEnded.GetStatus())}, 1)
	case *loomv1.Event_AttemptDispatched:
		if d := f.AttemptDispatched; d.GetProcess() == "" {
			w.tallies[tallyKey{name: AttemptsQueued, label: d.GetRole()}] += 0 // shown from now on, also while none waits
		}
	case *loomv1.Event_AttemptEnded:
		outcome := word(f.AttemptEnded.GetOutcome().GetStatus())
		if f.AttemptEnded.GetTimedOut() {
			outcome = "timeout"
		}
		w.count(tallyKey{AttemptsEnded, process, e.Node, outcome}, 1)
	case *loomv1.Event_ApprovalRequested:
		if f.ApprovalRequested.GetApproval().GetKind() == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
			w.count(tallyKey{name: Escalations, process: process, node: e.Node}, 1)
		}
	case *loomv1.Event_ModelAnswered, *loomv1.Event_TurnCompacted:
		u := workflow.AnswerOf(e).GetUsage()
		w.count(tallyKey{name: ModelCalls, process: process}, 1)
		w.count(tallyKey{name: ModelTokens, process: process, label: "input"}, int64(u.GetInputTokens()))
		w.count(tallyKey{name: ModelTokens, process: process, label: "output"}, int64(u.GetOutputTokens()))
		w.count(tallyKey{name: ModelCost, process: process}, int64(u.GetCostMicroUsd()))
	}
}

// queued counts the attempts of an execution that wait for an agent, by role.
func queued(state *loomv1.Execution) map[string]int64 {
	var waits map[string]int64
	for _, st := range state.GetNodes() {
		if a := st.GetAttempt(); a != nil && a.GetClaimant() == nil && a.GetParked() == "" && !workflow.OfProcess(a) {
			if waits == nil {
				waits = map[string]int64{}
			}
			waits[a.GetRole()]++
		}
	}
	return waits
}

// countQueued counts what of an execution waits now and did not when it was written
// last, and the other way round.
func (w *writer) countQueued(x *execution) {
	now := queued(x.state)
	for role, n := range x.queued {
		w.count(tallyKey{name: AttemptsQueued, label: role}, -n)
	}
	for role, n := range now {
		w.count(tallyKey{name: AttemptsQueued, label: role}, n)
	}
	x.queued = now
}

func (w *writer) flushTallies(ctx context.Context) error {
	for _, k := range slices.SortedFunc(maps.Keys(w.tallies), tallyKey.compare) {
		if err := w.exec(ctx, "tally", k.name, k.process, k.node, k.label, w.tallies[k]); err != nil {
			return err
		}
	}
	return nil
}

// loadTallies reads the running counts when the file is opened.
func (d *DB) loadTallies(ctx context.Context) error {
	rows, err := list(ctx, d.write, "read the tallies", scanTally, "SELECT name, process, node, label, value FROM tallies")
	for _, t := range rows {
		d.tallies[tallyKey{t.Name, t.Process, t.Node, t.Label}] = t.Value
	}
	return err
}

func scanTally(rows *sql.Rows) (t Tally, err error) {
	return t, rows.Scan(&t.Name, &t.Process, &t.Node, &t.Label, &t.Value)
}

// Asked returns how many approvals are open now, by kind.
func (d *DB) Asked(ctx context.Context) (map[string]int64, error) {
	rows, err := list(ctx, d.read.Load(), "count open approvals", scanTally, selectAsked)
	asked := map[string]int64{"approval": 0, "escalation": 0}
	for _, t := range rows {
		asked[t.Label] = t.Value
	}
	return asked, err
}

const selectAsked = "SELECT '', '', '', kind, count(*) FROM approvals WHERE decided_at IS NULL GROUP BY kind"
