package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// writer folds events within one transaction. What they touch is written once,
// at its end.
type writer struct {
	db         *DB
	tx         *sql.Tx
	queries    map[string]*sql.Stmt // of the transaction
	beads      map[string]*loomv1.Bead
	executions map[string]*execution
	tallies    map[tallyKey]int64 // what is to be added
}

func newWriter(d *DB) *writer {
	return &writer{
		db: d, queries: map[string]*sql.Stmt{}, beads: map[string]*loomv1.Bead{},
		executions: map[string]*execution{}, tallies: map[tallyKey]int64{},
	}
}

// execution is the state of one, and the visits that were touched.
type execution struct {
	state  *loomv1.Execution
	at     *timestamppb.Timestamp // of its last event; unset if it was only looked at
	filed  *timestamppb.Timestamp // unset unless it begins in this transaction
	visits map[visitKey]*visit
}

func (w *writer) query(ctx context.Context, name string) *sql.Stmt {
	q := w.queries[name]
	if q == nil {
		q = w.tx.StmtContext(ctx, w.db.queries[name])
		w.queries[name] = q
	}
	return q
}

func (w *writer) exec(ctx context.Context, name string, args ...any) error {
	_, err := w.query(ctx, name).ExecContext(ctx, args...)
	return err
}

func (w *writer) event(ctx context.Context, e *loomv1.Event) error {
	if err := journal.Newer(e); err != nil {
		return err
	}
	switch f := e.GetFact().(type) {
	case *loomv1.Event_DefinitionStored:
		return w.definition(ctx, e, f.DefinitionStored)
	case *loomv1.Event_PlanAdopted: // a definition of its own, which the execution's row names from here on
		stored := &loomv1.DefinitionStored{Definition: f.PlanAdopted.GetDefinition(), Hash: f.PlanAdopted.GetHash()}
		if err := w.definition(ctx, e, stored); err != nil {
			return err
		}
	case *loomv1.Event_BeadFiled:
		w.filed(e, f.BeadFiled.GetBead())
		return nil
	case *loomv1.Event_BeadOccurred, *loomv1.Event_BeadStatusChanged, *loomv1.Event_BeadUpdated:
		return w.bead(ctx, e)
	}
	for _, keep := range []func(context.Context, *loomv1.Event) error{w.approval, w.granted, w.committed} {
		if err := keep(ctx, e); err != nil {
			return err
		}
	}
	if workflow.Concerns(e) {
		return w.step(ctx, e)
	}
	return nil
}

// begins reports whether an event begins its execution.
func begins(e *loomv1.Event) bool {
	return e.GetExecutionStarted() != nil || e.GetExecutionForked() != nil
}

func (w *writer) definition(ctx context.Context, e *loomv1.Event, f *loomv1.DefinitionStored) error {
	text, err := toJSON(f.GetDefinition())
	if err != nil {
		return err
	}
	d, at := f.GetDefinition(), clock(e.Time)
	for _, n := range d.GetNodes() {
		err := w.exec(ctx, "node", f.GetHash(), n.GetId(), word(n.GetType()), word(n.GetKind()), n.GetMultiDispatch())
		if err != nil {
			return err
		}
	}
	return w.exec(ctx, "workflow", f.GetHash(), d.GetName(), text, at, at, d.GetVersion())
}

func (w *writer) filed(e *loomv1.Event, filed *loomv1.Bead) {
	b := proto.CloneOf(filed)
	b.CreatedAt, b.UpdatedAt, b.FiledBy = e.Time, e.Time, e.Actor
	if b.Status == blocked {
		b.BlockedSince = e.Time
	}
	w.beads[b.GetId()] = b
	w.count(tallyKey{name: BeadsFiled, label: word(b.GetType())}, 1)
}

const blocked = loomv1.BeadStatus_BEAD_STATUS_BLOCKED

func (w *writer) bead(ctx context.Context, e *loomv1.Event) error {
	b, err := w.beadOf(ctx, e)
	if err != nil {
		return err
	}
	b.UpdatedAt = e.Time
	switch f := e.GetFact().(type) {
	case *loomv1.Event_BeadOccurred:
		b.Occurrences = f.BeadOccurred.GetOccurrences()
	case *loomv1.Event_BeadStatusChanged:
		status := f.BeadStatusChanged.GetStatus()
		if status != blocked {
			b.BlockedSince = nil
		} else if b.Status != blocked {
			b.BlockedSince = e.Time
		}
		b.Status, b.Reason = status, f.BeadStatusChanged.GetReason()
	case *loomv1.Event_BeadUpdated:
		project.FoldUpdate(b, f.BeadUpdated)
		return w.prioritize(ctx, b, e.Time)
	}
	return nil
}

// prioritize gives a bead's priority to its execution, if that runs.
func (w *writer) prioritize(ctx context.Context, b *loomv1.Bead, at *timestamppb.Timestamp) error {
	if b.GetExecution() == "" {
		return nil
	}
	x, err := w.stored(ctx, b.GetExecution())
	if err == nil && x.state.GetStatus() == loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING {
		x.state.Priority, x.at = b.GetPriority(), at
	}
	return err
}

// step folds an event into its execution, with what it means for visits and
// counts, and records it if it is a transition.
func (w *writer) step(ctx context.Context, e *loomv1.Event) error {
	x, err := w.executionOf(ctx, e)
	if err != nil {
		return err
	}
	from, to, outcome, moved := workflow.Transition(e)
	summary := x.state.GetNodes()[from].GetOutcome().GetSummary()
	if r := e.GetReworkStarted(); r != nil {
		summary = r.GetReason()
	}
	x.leave(e)
	w.queued(x, e, -1)
	if err := w.costed(ctx, x, e); err != nil {
		return err
	}
	if err := workflow.Apply(x.state, e); err != nil {
		return fmt.Errorf("project %q: %w", e.Project, err)
	}
	w.queued(x, e, +1)
	x.visited(e)
	w.counted(x, e)
	if err := w.figured(ctx, e); err != nil {
		return err
	}
	x.at = e.Time
	if !moved {
		return nil
	}
	actor, err := toJSON(e.GetActor())
	if err != nil {
		return err
	}
	return w.exec(ctx, "transition", fmt.Sprintf("%s-%d", e.Project, e.Number),
		e.Execution, from, to, outcome, clock(e.Time), e.Number, summary, actor)
}

// executionOf returns the execution of e, begun anew if e begins it.
func (w *writer) executionOf(ctx context.Context, e *loomv1.Event) (*execution, error) {
	if !begins(e) {
		return w.stored(ctx, e.Execution)
	}
	b, err := w.beadOf(ctx, e)
	if err != nil {
		return nil, err
	}
	x := &execution{filed: e.Time, visits: map[visitKey]*visit{}}
	if b.GetExecution() == "" {
		x.filed = b.GetCreatedAt()
	}
	b.Execution, b.Executions = e.Execution, b.Executions+1
	x.state = &loomv1.Execution{Priority: b.GetPriority(), Context: proto.CloneOf(b.GetContext())}
	w.executions[e.Execution] = x
	return x, nil
}

// stored returns an execution that began earlier.
func (w *writer) stored(ctx context.Context, id string) (*execution, error) {
	if x, ok := w.executions[id]; ok {
		return x, nil
	}
	x := &execution{visits: map[visitKey]*visit{}}
	w.executions[id] = x
	if state, ok := w.db.executions.get(id); ok {
		x.state = state
		return x, nil
	}
	x.state = &loomv1.Execution{}
	return x, w.load(ctx, "stored execution", id, x.state)
}

func (w *writer) beadOf(ctx context.Context, e *loomv1.Event) (*loomv1.Bead, error) {
	if b, ok := w.beads[e.Bead]; ok {
		return b, nil
	}
	b, ok := w.db.beads.get(e.Bead)
	if !ok {
		b = &loomv1.Bead{}
		if err := w.load(ctx, "stored bead", e.Bead, b); err != nil {
			return nil, err
		}
	}
	w.beads[e.Bead] = b
	return b, nil
}

func (w *writer) load(ctx context.Context, query, id string, into proto.Message) error {
	var text []byte
	err := w.query(ctx, query).QueryRowContext(ctx, id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New("projection/diverged", "an event is about %q, of which no earlier event tells", id)
	}
	if err != nil {
		return err
	}
	return protojson.Unmarshal(text, into)
}
