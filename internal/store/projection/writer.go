package projection

import (
	"context"
	"database/sql"
	"errors"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fact"
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
	asked      map[string]*question // approvals that were asked for in it
	tallies    map[tallyKey]int64   // what is to be added
}

func newWriter(d *DB) *writer {
	return &writer{
		db: d, queries: map[string]*sql.Stmt{}, beads: map[string]*loomv1.Bead{},
		executions: map[string]*execution{}, asked: map[string]*question{}, tallies: map[tallyKey]int64{},
	}
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

// keepers write facts to the tables that the contract names for their kinds.
var keepers = map[loomv1.FactTable]func(*writer, context.Context, *loomv1.Event) error{
	loomv1.FactTable_FACT_TABLE_BEADS:       (*writer).bead,
	loomv1.FactTable_FACT_TABLE_WORKFLOWS:   (*writer).definition,
	loomv1.FactTable_FACT_TABLE_APPROVALS:   (*writer).approval,
	loomv1.FactTable_FACT_TABLE_LOCK_GRANTS: (*writer).granted,
	loomv1.FactTable_FACT_TABLE_COMMITS:     (*writer).committed,
}

// misplaced is the error of a keeper that is given a fact which is not of its table.
func misplaced(e *loomv1.Event) error {
	return fault.New("internal/error", "%T cannot be written to the table that its kind names", e.Fact)
}

// event folds an event into all that it touches: the tables that the contract names,
// and its execution where the workflow core folds it.
func (w *writer) event(ctx context.Context, e *loomv1.Event) error {
	if err := journal.Newer(e); err != nil {
		return err
	}
	for _, table := range fact.Of(e).Tables {
		if err := keepers[table](w, ctx, e); err != nil {
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

// definition keeps a definition that was stored, or that an execution was given by a
// plan and goes on with.
func (w *writer) definition(ctx context.Context, e *loomv1.Event) error {
	var d *loomv1.Definition
	var hash string
	switch f := e.GetFact().(type) {
	case *loomv1.Event_DefinitionStored:
		d, hash = f.DefinitionStored.GetDefinition(), f.DefinitionStored.GetHash()
	case *loomv1.Event_PlanAdopted:
		d, hash = f.PlanAdopted.GetDefinition(), f.PlanAdopted.GetHash()
	default:
		return misplaced(e)
	}
	text, err := toJSON(d)
	if err != nil {
		return err
	}
	for _, n := range d.GetNodes() {
		err := w.exec(ctx, "node", hash, n.GetId(), word(n.GetType()), word(n.GetKind()), n.GetMultiDispatch())
		if err != nil {
			return err
		}
	}
	at := clock(e.Time)
	return w.exec(ctx, "workflow", hash, d.GetName(), text, at, at, d.GetVersion())
}

func (w *writer) bead(ctx context.Context, e *loomv1.Event) error {
	if f := e.GetBeadFiled(); f != nil {
		w.beads[f.GetBead().GetId()] = &loomv1.Bead{}
		w.count(tallyKey{name: BeadsFiled, label: word(f.GetBead().GetType())}, 1)
	}
	b, err := w.beadOf(ctx, e)
	if err != nil {
		return err
	}
	if project.FoldBead(b, e) != nil {
		return misplaced(e)
	}
	if e.GetBeadUpdated() != nil {
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
	if err == nil && running(x.state) {
		x.state.Priority, x.at = b.GetPriority(), at
	}
	return err
}

func (w *writer) beadOf(ctx context.Context, e *loomv1.Event) (*loomv1.Bead, error) {
	if b, ok := w.beads[e.Bead]; ok {
		return b, nil
	}
	b, ok := w.db.beads.get(e.Bead)
	if !ok {
		var text []byte
		if err := w.load(ctx, "stored bead", e.Bead, &text); err != nil {
			return nil, err
		}
		b = &loomv1.Bead{}
		if err := protojson.Unmarshal(text, b); err != nil {
			return nil, err
		}
	}
	w.beads[e.Bead] = b
	return b, nil
}

// load reads a row that an earlier event must have made.
func (w *writer) load(ctx context.Context, query, id string, into ...any) error {
	err := w.query(ctx, query).QueryRowContext(ctx, id).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New("projection/diverged", "an event is about %q, of which no earlier event tells", id)
	}
	return err
}

// question is an approval that was asked for in a transaction.
type question struct {
	*loomv1.Approval
	project, at string
	decided     any // when, or nil
	decision    string
}

// approval keeps when the CEO was asked and answered. One that was decided stays as it
// is when it lapses.
func (w *writer) approval(ctx context.Context, e *loomv1.Event) error {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ApprovalRequested:
		a := f.ApprovalRequested.GetApproval()
		w.asked[a.GetId()] = &question{Approval: a, project: e.Project, at: clock(e.Time)}
		return nil
	case *loomv1.Event_ApprovalDecided:
		return w.answered(ctx, f.ApprovalDecided.GetApproval(), clock(e.Time), word(f.ApprovalDecided.GetDecision()))
	case *loomv1.Event_ApprovalLapsed:
		return w.answered(ctx, f.ApprovalLapsed.GetApproval(), clock(e.Time), "lapsed")
	}
	return misplaced(e)
}

func (w *writer) answered(ctx context.Context, id, at, decision string) error {
	q := w.asked[id]
	switch {
	case q == nil:
		return w.exec(ctx, "decided", at, decision, id)
	case q.decided == nil:
		q.decided, q.decision = at, decision
	}
	return nil
}
