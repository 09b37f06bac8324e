package projection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// execution is what there is to know of one: its state, what happened in it, and what
// of it waits by the tallies.
type execution struct {
	record
	state  *loomv1.Execution
	queued map[string]int64

	at    *timestamppb.Timestamp // of its last event in this transaction; unset if it was only looked at
	filed *timestamppb.Timestamp // unset unless it begins in this transaction
}

func running(x *loomv1.Execution) bool {
	return x.GetStatus() == loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING
}

// step folds an event into its execution, with what it means for what the row and the
// counts tell of it.
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
	if err := w.costed(ctx, x, e); err != nil {
		return err
	}
	if err := workflow.Apply(x.state, e); err != nil {
		return fmt.Errorf("project %q: %w", e.Project, err)
	}
	x.visited(e)
	x.figured(e)
	w.counted(x, e)
	x.at = e.Time
	if !moved {
		return nil
	}
	actor, err := w.db.actors.text(e.GetActor())
	if err != nil {
		return err
	}
	x.transitions.add(e.Number, from, to, outcome, clock(e.Time), summary, actor)
	return nil
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
	x := &execution{filed: e.Time, state: &loomv1.Execution{Priority: b.GetPriority(), Context: proto.CloneOf(b.GetContext())}}
	if b.GetExecutions() == 1 {
		x.filed = b.GetCreatedAt()
	}
	w.executions[e.Execution] = x
	return x, nil
}

// stored returns an execution that began earlier.
func (w *writer) stored(ctx context.Context, id string) (*execution, error) {
	if x, ok := w.executions[id]; ok {
		return x, nil
	}
	x, ok := w.db.executions.get(id)
	if !ok {
		var err error
		if x, err = w.loaded(ctx, id); err != nil {
			return nil, err
		}
	}
	x.at, x.filed = nil, nil
	w.executions[id] = x
	return x, nil
}

// loaded reads an execution from its row.
func (w *writer) loaded(ctx context.Context, id string) (*execution, error) {
	x := &execution{}
	var progress, state []byte
	var visits, figures, broken, ends, transitions string
	err := w.load(ctx, "stored execution", id, &visits, &figures, &broken, &ends, &transitions, &state, &progress)
	if err == nil {
		err = x.read(visits, figures, broken, ends, transitions)
	}
	if err == nil {
		x.state, err = stateOf(progress, state)
	}
	x.queued = queued(x.state)
	return x, err
}

// flushExecution writes the row of an execution that was touched. Its state is written
// as JSON when it has ended, and before that as protobuf: [DB.tell] does the rest.
func (w *writer) flushExecution(ctx context.Context, id string, x *execution) error {
	state := x.state
	w.db.executions.keep(id, x, running(state))
	if x.at == nil {
		return nil
	}
	w.countQueued(x)
	var text, progress any
	var err error
	if running(state) {
		progress, err = proto.Marshal(state)
		w.db.untold.note(id)
	} else {
		text, err = toJSON(state)
	}
	if err != nil {
		return err
	}
	filed, u := x.filed, state.GetUsage()
	if filed == nil {
		filed = state.GetStartedAt() // the row has its own
	}
	args := append([]any{
		id, state.GetBead(), state.GetDefinitionHash(), current(state),
		clock(state.GetStartedAt()), clock(x.at), word(state.GetStatus()), state.GetProject(), state.GetDefinition(),
		clock(filed), maybe(state.GetEndedAt()), filesOf(state.GetChange()), state.GetModelCalls(),
		int64(u.GetInputTokens()), int64(u.GetOutputTokens()), int64(u.GetCostMicroUsd()), state.GetParent(),
	}, x.texts()...)
	return w.exec(ctx, "execution", append(args, text, progress)...)
}

// maybe is a time as the tables hold it, or NULL.
func maybe(t *timestamppb.Timestamp) any {
	if t == nil {
		return nil
	}
	return clock(t)
}

// filesOf is how many files a change has, or NULL if there is none.
func filesOf(c *loomv1.Change) any {
	if c == nil {
		return nil
	}
	return max(int(c.GetFilesTotal()), len(c.GetFiles()))
}

// current joins the nodes that run or wait, by id.
func current(x *loomv1.Execution) string {
	var ids []string
	for id, n := range x.GetNodes() {
		switch n.GetStatus() {
		case loomv1.NodeStatus_NODE_STATUS_RUNNING, loomv1.NodeStatus_NODE_STATUS_BACKOFF, loomv1.NodeStatus_NODE_STATUS_WAITING:
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, ",")
}
