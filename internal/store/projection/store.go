package projection

import (
	"context"
	"database/sql"
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
	// The same definition may be stored by several projects, in either order.
	"workflow": `INSERT INTO workflows (id, name, definition, created_at, updated_at, version) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET created_at = min(created_at, excluded.created_at), updated_at = max(updated_at, excluded.updated_at)`,
	"bead": `INSERT INTO beads (id, project, type, status, goal, process, execution_id, bead, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, goal = excluded.goal, execution_id = excluded.execution_id, bead = excluded.bead, updated_at = excluded.updated_at`,
	"node": `INSERT INTO workflow_nodes (workflow_id, node_id, type, kind, multi_dispatch) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`,
	"execution": `INSERT INTO executions (id, bead_id, workflow_id, current_node_id, created_at, updated_at, status, project, process,
			filed_at, ended_at, files, model_calls, input_tokens, output_tokens, cost_micro_usd, parent,
			visits, figures, broken, ends, transitions, state, progress)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET workflow_id = excluded.workflow_id, current_node_id = excluded.current_node_id,
			updated_at = excluded.updated_at, status = excluded.status, ended_at = excluded.ended_at, files = excluded.files,
			model_calls = excluded.model_calls, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
			cost_micro_usd = excluded.cost_micro_usd, visits = excluded.visits, figures = excluded.figures, broken = excluded.broken,
			ends = excluded.ends, transitions = excluded.transitions, state = excluded.state, progress = excluded.progress`,
	"progress": "SELECT progress FROM executions WHERE id = ? AND progress IS NOT NULL",
	"told":     "UPDATE executions SET state = ?, progress = NULL WHERE id = ?",
	"asked": `INSERT INTO approvals (id, project, bead_id, execution_id, node_id, visit, kind, asked_at, decided_at, decision)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	"decided": "UPDATE approvals SET decided_at = ?, decision = ? WHERE id = ? AND decided_at IS NULL",
	"tally": `INSERT INTO tallies (name, process, node, label, value) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET value = value + excluded.value`,
	"call": `INSERT INTO model_calls (project, number, bead_id, process, agent, role, model, at, input_tokens, output_tokens,
			cached_tokens, cost_micro_usd, priced, milliseconds, assumed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	"grant": "INSERT INTO lock_grants (project, token, under, execution_id, at) VALUES (?, ?, ?, ?, ?)",
	"place": `INSERT INTO lock_grants (project, token, under, execution_id, at)
		VALUES (?, ?, (SELECT max(token) FROM lock_grants WHERE project = ? AND token = under), ?, ?)`,
	"taken": "UPDATE lock_grants SET taken = 1 WHERE project = ? AND token = ?",
	"commit": `INSERT INTO commits (project, number, execution_id, commit_id, token, at_once, attributed, passed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
	"grant of": `SELECT t.under, t.execution_id, g.taken FROM lock_grants t JOIN lock_grants g ON g.project = t.project AND g.token = t.under
		WHERE t.project = ? AND t.token = ?`,
	"own grant": "SELECT coalesce(max(token), 0) FROM lock_grants WHERE execution_id = ? AND token = under",
	"granted since": `SELECT EXISTS (SELECT 1 FROM lock_grants
		WHERE project = ? AND token > ? AND token = under AND execution_id <> ? AND at < ?)`,
	"stored bead":      "SELECT bead FROM beads WHERE id = ?",
	"stored execution": "SELECT visits, figures, broken, ends, transitions, state, progress FROM executions WHERE id = ?",
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
	for _, id := range slices.Sorted(maps.Keys(w.asked)) {
		q := w.asked[id]
		err := w.exec(ctx, "asked", id, q.project, q.GetBead(), q.GetExecution(), q.GetNode(), q.GetVisit(), word(q.GetKind()), q.at, q.decided, q.decision)
		if err != nil {
			return err
		}
	}
	return w.flushTallies(ctx)
}

func (w *writer) flushBead(ctx context.Context, id string, b *loomv1.Bead) error {
	text, err := toJSON(b)
	if err != nil {
		return err
	}
	w.db.beads.keep(id, b, b.GetStatus() < loomv1.BeadStatus_BEAD_STATUS_CLOSED)
	return w.exec(ctx, "bead", id, b.GetProject(), word(b.GetType()), word(b.GetStatus()), b.GetGoal(), b.GetProcess(),
		b.GetExecution(), text, clock(b.GetCreatedAt()), clock(b.GetUpdatedAt()))
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

// toJSON returns the canonical JSON of m without the blanks that protojson
// strews in, so that equal states are equal texts.
func toJSON(m proto.Message) (string, error) {
	text, err := protojson.Marshal(m)
	return string(compact(text)), err
}

// compact takes the blanks out of sound JSON, in place: those that stand
// outside strings.
func compact(text []byte) []byte {
	kept, quoted := text[:0], false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			kept = append(kept, c)
			i++
			c = text[i]
		case !quoted && c == ' ':
			continue
		}
		kept = append(kept, c)
	}
	return kept
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
