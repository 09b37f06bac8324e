package projection

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// statements are prepared once, on the writing connection.
var statements = map[string]string{
	"head": selectHead,
	"position": `INSERT INTO positions (partition, epoch, seq, hash) VALUES (?, ?, ?, ?)
		ON CONFLICT (partition) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq, hash = excluded.hash`,
	"notice": `INSERT INTO notices (partition, seq, idx, time, project, bead, execution, kind, summary, epoch, number)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	// The same definition may be stored by several projects, in either order.
	"workflow": `INSERT INTO workflows (id, name, definition, created_at, updated_at, version) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET created_at = min(created_at, excluded.created_at), updated_at = max(updated_at, excluded.updated_at)`,
	"bead": `INSERT INTO beads (id, project, type, status, goal, process, execution_id, bead, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, execution_id = excluded.execution_id, bead = excluded.bead, updated_at = excluded.updated_at`,
	"execution": `INSERT INTO workflow_executions (id, bead_id, workflow_id, current_node_id, state, created_at, updated_at, status)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET current_node_id = excluded.current_node_id, state = excluded.state,
			updated_at = excluded.updated_at, status = excluded.status`,
	"transition": `INSERT INTO workflow_transitions (id, execution_id, from_node_id, to_node_id, outcome, timestamp, number, summary)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
	"stored bead":      "SELECT bead FROM beads WHERE id = ?",
	"stored execution": "SELECT state FROM workflow_executions WHERE id = ?",
}

func (d *DB) prepare(ctx context.Context) (err error) {
	d.queries = map[string]*sql.Stmt{}
	for name, text := range statements {
		if d.queries[name], err = d.write.PrepareContext(ctx, text); err != nil {
			return fmt.Errorf("statement %q: %w", name, err)
		}
	}
	return nil
}

// flush writes what was touched, in the order of the ids, and keeps it at hand.
func (w *writer) flush(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(w.beads)) {
		if err := w.flushBead(ctx, id, w.beads[id]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.executions)) {
		if err := w.flushExecution(ctx, id, w.executions[id]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) flushBead(ctx context.Context, id string, b *loomv1.Bead) error {
	text, err := toJSON(b)
	if err != nil {
		return err
	}
	w.db.beads.put(id, b)
	return w.exec(ctx, "bead", id, b.GetProject(), word(b.GetType()), word(b.GetStatus()), b.GetGoal(), b.GetProcess(),
		b.GetExecution(), text, clock(b.GetCreatedAt()), clock(b.GetUpdatedAt()))
}

func (w *writer) flushExecution(ctx context.Context, id string, x *execution) error {
	text, err := toJSON(x.state)
	if err != nil {
		return err
	}
	w.db.executions.put(id, x.state)
	return w.exec(ctx, "execution", id, x.state.GetBead(), x.state.GetDefinitionHash(), current(x.state), text,
		clock(x.state.GetStartedAt()), clock(x.at), word(x.state.GetStatus()))
}

// forget drops what a failed transaction may have changed in memory.
func (w *writer) forget() {
	for id := range w.beads {
		w.db.beads.drop(id)
	}
	for id := range w.executions {
		w.db.executions.drop(id)
	}
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

// toJSON returns the canonical JSON of m without the blanks that protojson
// strews in, so that equal states are equal texts.
func toJSON(m proto.Message) (string, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return "", err
	}
	return b.String(), nil
}

// layout is RFC 3339 with all nine digits, so that times sort as texts.
const layout = "2006-01-02T15:04:05.000000000Z"

func clock(t *timestamppb.Timestamp) string { return t.AsTime().UTC().Format(layout) }

func unclock(s string) (*timestamppb.Timestamp, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return timestamppb.New(t), err
}

// word is an enum value as the tables hold it: "in_progress".
func word(v protoreflect.Enum) string {
	values := v.Descriptor().Values()
	value := values.ByNumber(v.Number())
	if value == nil {
		return fmt.Sprint(v.Number())
	}
	prefix := strings.TrimSuffix(string(values.Get(0).Name()), "UNSPECIFIED")
	return strings.ToLower(strings.TrimPrefix(string(value.Name()), prefix))
}
