package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/notice"
	"github.com/loomrun/loom/internal/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// writer folds events within one transaction. Beads and executions that they
// touch are written once, at its end.
type writer struct {
	db         *DB
	tx         *sql.Tx
	beads      map[string]*loomv1.Bead
	executions map[string]*execution
}

// execution is the state of one, and the time of its last event.
type execution struct {
	state *loomv1.Execution
	at    *timestamppb.Timestamp
}

func (w *writer) query(ctx context.Context, name string) *sql.Stmt {
	return w.tx.StmtContext(ctx, w.db.queries[name])
}

func (w *writer) exec(ctx context.Context, name string, args ...any) error {
	_, err := w.query(ctx, name).ExecContext(ctx, args...)
	return err
}

func (w *writer) event(ctx context.Context, e *loomv1.Event, pos *loomv1.Position) error {
	err := w.exec(ctx, "notice", pos.Partition, pos.Sequence, pos.Index, clock(e.Time),
		e.Project, e.Bead, e.Execution, notice.Kind(e), notice.Summary(e), pos.Epoch, e.Number)
	if err != nil {
		return err
	}
	switch f := e.GetFact().(type) {
	case *loomv1.Event_DefinitionStored:
		return w.definition(ctx, e, f.DefinitionStored)
	case *loomv1.Event_BeadFiled:
		w.filed(e, f.BeadFiled.GetBead())
		return nil
	case *loomv1.Event_BeadOccurred, *loomv1.Event_BeadStatusChanged:
		return w.bead(ctx, e)
	}
	if ofExecution(e) {
		return w.step(ctx, e)
	}
	return nil
}

// ofExecution reports whether the workflow core folds the event: lock and
// decision events and the inner steps of a turn name an execution without
// changing it.
func ofExecution(e *loomv1.Event) bool {
	switch e.GetFact().(type) {
	case nil, *loomv1.Event_ProjectRegistered, *loomv1.Event_SubmissionRejected,
		*loomv1.Event_DecisionAdded, *loomv1.Event_DecisionLinked, *loomv1.Event_DecisionSuperseded,
		*loomv1.Event_LockRequested, *loomv1.Event_LockGranted, *loomv1.Event_LockRenewed,
		*loomv1.Event_LockReleased, *loomv1.Event_LockExpired, *loomv1.Event_LockWithdrawn,
		*loomv1.Event_TurnStarted, *loomv1.Event_ToolIntended, *loomv1.Event_ToolFinished:
		return false
	}
	return e.GetExecution() != ""
}

func (w *writer) definition(ctx context.Context, e *loomv1.Event, f *loomv1.DefinitionStored) error {
	text, err := toJSON(f.GetDefinition())
	if err != nil {
		return err
	}
	d, at := f.GetDefinition(), clock(e.Time)
	return w.exec(ctx, "workflow", f.GetHash(), d.GetName(), text, at, at, d.GetVersion())
}

func (w *writer) filed(e *loomv1.Event, filed *loomv1.Bead) {
	b := proto.CloneOf(filed)
	b.CreatedAt, b.UpdatedAt, b.FiledBy = e.Time, e.Time, e.Actor
	w.beads[b.GetId()] = b
}

func (w *writer) bead(ctx context.Context, e *loomv1.Event) error {
	b, err := w.beadOf(ctx, e)
	if err != nil {
		return err
	}
	b.UpdatedAt = e.Time
	if f := e.GetBeadOccurred(); f != nil {
		b.Occurrences = f.GetOccurrences()
	}
	if f := e.GetBeadStatusChanged(); f != nil {
		b.Status, b.Reason = f.GetStatus(), f.GetReason()
	}
	return nil
}

// step folds an event into its execution and records it if it is a transition.
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
	if err := workflow.Apply(x.state, e); err != nil {
		return fmt.Errorf("project %q: %w", e.Project, err)
	}
	x.at = e.Time
	if !moved {
		return nil
	}
	return w.exec(ctx, "transition", fmt.Sprintf("%s-%d", e.Project, e.Number),
		e.Execution, from, to, outcome, clock(e.Time), e.Number, summary)
}

// executionOf returns the execution of e, begun anew if e starts it.
func (w *writer) executionOf(ctx context.Context, e *loomv1.Event) (*execution, error) {
	if x, ok := w.executions[e.Execution]; ok {
		return x, nil
	}
	x := &execution{at: e.Time}
	w.executions[e.Execution] = x
	if e.GetExecutionStarted() != nil {
		b, err := w.beadOf(ctx, e)
		if err != nil {
			return nil, err
		}
		b.Execution = e.Execution
		x.state = &loomv1.Execution{Priority: b.GetPriority(), Context: proto.CloneOf(b.GetContext())}
		return x, nil
	}
	if state, ok := w.db.executions.get(e.Execution); ok {
		x.state = state
		return x, nil
	}
	x.state = &loomv1.Execution{}
	return x, w.load(ctx, "stored execution", e.Execution, x.state)
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
