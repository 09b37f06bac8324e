package projection_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func open(t testing.TB, path string) *projection.DB {
	t.Helper()
	db, _, err := projection.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func apply(t testing.TB, db *projection.DB, j journal, from, to int) {
	t.Helper()
	if err := db.ApplyAll(t.Context(), uint64(from+1), j[from:to]); err != nil {
		t.Fatalf("Apply(%d..%d of partition %d): %v", from+1, to, j[0].Partition, err)
	}
}

// raw opens the file as anybody could.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// dump prints every row of every table and view.
func dump(t testing.TB, path string) string {
	t.Helper()
	db := raw(t, path)
	var out strings.Builder
	for _, name := range query(t, db, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name") {
		fmt.Fprintf(&out, "== %s\n", name)
		for _, row := range query(t, db, "SELECT * FROM "+name+" ORDER BY 1, 2, 3") {
			fmt.Fprintln(&out, row)
		}
	}
	return out.String()
}

// query returns each row as its columns joined by "|".
func query(t testing.TB, db *sql.DB, text string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	var all []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(values))
		for i, v := range values {
			if b, ok := (*v.(*any)).([]byte); ok {
				texts[i] = fmt.Sprintf("%x", b)
				continue
			}
			texts[i] = fmt.Sprint(*v.(*any))
		}
		all = append(all, strings.Join(texts, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// filled returns the file of a projection of js that was filled in one go.
func filled(t testing.TB, js []journal) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loom.db")
	db := open(t, path)
	for _, j := range js {
		apply(t, db, j, 0, len(j))
	}
	db.Close()
	return path
}

func TestWF11_Columns(t *testing.T) {
	db := raw(t, filled(t, nil))
	for table, want := range map[string]string{
		"workflows":            "id name definition created_at updated_at",
		"workflow_executions":  "id bead_id workflow_id current_node_id state created_at updated_at",
		"workflow_transitions": "id execution_id from_node_id to_node_id outcome timestamp",
	} {
		got := query(t, db, "SELECT name FROM pragma_table_info(?) ORDER BY cid", table)
		for _, column := range strings.Fields(want) {
			if !slices.Contains(got, column) {
				t.Errorf("columns of %s: %q, want %q among them", table, got, column)
			}
		}
	}
}

func TestWF11_RowsOfAnExecution(t *testing.T) {
	p := newProject("demo", noon)
	for _, step := range p.story() {
		step()
	}
	ended := len(p.events)
	open := p.story()
	for _, step := range open[:7] { // until its first attempt has been taken
		step()
	}
	path := filled(t, []journal{write(source(t, 1), 0, 5, p.events)})
	db := raw(t, path)

	want := []string{
		"demo-1-x1|start|work|success|",
		"demo-1-x1|work|check|success|work is done",
		"demo-1-x1|check|work|rework|a test fails",
		"demo-1-x1|work|check|success|work is done",
		"demo-1-x1|check|end|success|check is done",
		"demo-2-x1|start|work|success|",
	}
	got := query(t, db, "SELECT execution_id, from_node_id, to_node_id, outcome, summary FROM workflow_transitions ORDER BY number")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("workflow_transitions (-want +got):\n%s", diff)
	}
	want = []string{
		"demo-1-x1|demo-1|h-fix||completed|EXECUTION_STATUS_COMPLETED|api|PRIORITY_URGENT",
		"demo-2-x1|demo-2|h-fix|work|running|EXECUTION_STATUS_RUNNING|api|PRIORITY_URGENT",
	}
	got = query(t, db, `SELECT id, bead_id, workflow_id, current_node_id, status, state->>'status', state->>'context'->>'service', state->>'priority'
		FROM workflow_executions ORDER BY id`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("workflow_executions (-want +got):\n%s", diff)
	}
	want = []string{"mend work|TODO_STATUS_IN_PROGRESS", "mend check|TODO_STATUS_IN_PROGRESS"}
	got = query(t, db, `SELECT state->'nodes'->n.value->'history'->0->'todo'->'items'->0->>'text', state->'nodes'->n.value->'history'->0->'todo'->'items'->0->>'status'
		FROM workflow_executions, json_each('["work", "check"]') n WHERE workflow_executions.id = 'demo-1-x1' ORDER BY n.key`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lists of the first attempts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"h-fix|fix|1.0|4"}, query(t, db, "SELECT id, name, version, json_array_length(definition, '$.nodes') FROM workflows")); diff != "" {
		t.Errorf("workflows (-want +got):\n%s", diff)
	}
	want = []string{"demo-1|bug|closed|demo-1-x1|mend demo-1", "demo-2|bug|in_progress|demo-2-x1|mend demo-2"}
	if diff := cmp.Diff(want, query(t, db, "SELECT id, type, status, execution_id, goal FROM beads ORDER BY id")); diff != "" {
		t.Errorf("beads (-want +got):\n%s", diff)
	}
	first, last := p.events[2].Time.AsTime(), p.events[ended-1].Time.AsTime()
	const layout = "2006-01-02T15:04:05.000000000Z"
	if got, want := query(t, db, "SELECT created_at, updated_at FROM beads WHERE id = 'demo-1'")[0], first.Format(layout)+"|"+last.Format(layout); got != want {
		t.Errorf("times of the bead: %s, want %s", got, want)
	}
}

// The same log gives the same tables, however it is delivered: in pieces, some
// of them twice, with the file closed and opened or the process gone between
// two transactions.
func TestWF11_RebuildIsEqual(t *testing.T) {
	longtest.Skip(t)
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := source(t, seed)
			js := journals(r, 2)
			want := dump(t, filled(t, js))

			path := filepath.Join(t.TempDir(), "loom.db")
			db := open(t, path)
			done := make([]int, len(js))
			for done[0] < len(js[0]) || done[1] < len(js[1]) {
				p := r.IntN(len(js))
				from := max(0, done[p]-r.IntN(3)) // some of what is known already
				to := min(len(js[p]), from+1+r.IntN(4))
				apply(t, db, js[p], from, to)
				done[p] = max(done[p], to)
				switch r.IntN(6) {
				case 0:
					db.Close()
					db = open(t, path)
				case 1: // as kill -9 would leave it
					path = crash(t, path)
					db = open(t, path)
				}
			}
			db.Close()
			if diff := cmp.Diff(want, dump(t, path)); diff != "" {
				t.Errorf("tables after an odd delivery (-in one go +so):\n%s", diff)
			}

			os.Remove(path)
			db = open(t, path)
			for _, j := range js {
				apply(t, db, j, 0, len(j))
			}
			db.Close()
			if diff := cmp.Diff(want, dump(t, path)); diff != "" {
				t.Errorf("tables after the file was deleted (-before +after):\n%s", diff)
			}
		})
	}
}

// crash copies the files of an open database, as they are, to a new place.
func crash(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "loom.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+end, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestWF10_DuplicateDeliveryChangesNothing(t *testing.T) {
	js := journals(source(t, 3), 2)
	path := filled(t, js)
	want := dump(t, path)
	db := open(t, path)
	for i, b := range js[0] {
		if err := db.Apply(t.Context(), uint64(i+1), b); err != nil {
			t.Fatalf("Apply(%d) again: %v", i+1, err)
		}
	}
	apply(t, db, js[0], 0, len(js[0]))
	db.Close()
	if diff := cmp.Diff(want, dump(t, path)); diff != "" {
		t.Errorf("tables after a second delivery (-want +got):\n%s", diff)
	}
}

func TestWF11_ApplyRefuses(t *testing.T) {
	js := journals(source(t, 4), 1)
	other := write(source(t, 5), 0, 3, tell(source(t, 5), newProject("fork", noon), 1))
	for i, b := range other {
		b.Hash, b.Previous = fmt.Appendf(nil, "f%d", i), fmt.Appendf(nil, "f%d", i-1)
	}
	for _, tt := range []struct {
		name, want string
		first      uint64
		batches    []*loomv1.Batch
	}{
		{"a gap", "projection/gap", 5, js[0][4:]},
		{"another chain", "projection/diverged", 4, other[3:]},
		{"another batch in the place of the last", "projection/diverged", 3, other[2:3]},
		{"two partitions at once", "projection/diverged", 4, []*loomv1.Batch{js[0][3], js[1][3]}},
		{"a chain that breaks later", "projection/diverged", 4, []*loomv1.Batch{js[0][3], js[0][5]}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "loom.db")
			db := open(t, path)
			apply(t, db, js[0], 0, 3)
			before := dump(t, path)
			if err := db.ApplyAll(t.Context(), tt.first, tt.batches); fault.Code(err) != tt.want {
				t.Errorf("Apply = %v, want %s", err, tt.want)
			}
			if diff := cmp.Diff(before, dump(t, path)); diff != "" {
				t.Errorf("a refused batch changed the tables (-before +after):\n%s", diff)
			}
			apply(t, db, js[0], 3, len(js[0])) // and it goes on as if nothing had been
		})
	}
}

// Every state between two events survives being read from the tables, that of
// an execution whose maps are empty still, too.
func TestWF11_OpenedAfterEveryEvent(t *testing.T) {
	p := newProject("demo", noon)
	for _, step := range p.story() {
		step()
	}
	for _, e := range p.events {
		if f := e.GetBeadFiled(); f != nil {
			f.Bead.Context = &structpb.Struct{}
		}
	}
	j := write(source(t, 2), 0, 1, p.events)
	want := dump(t, filled(t, []journal{j}))
	path := filepath.Join(t.TempDir(), "loom.db")
	for i := range j {
		db := open(t, path)
		apply(t, db, j, i, i+1)
		db.Close()
	}
	if diff := cmp.Diff(want, dump(t, path)); diff != "" {
		t.Errorf("tables after an opening for each event (-in one go +so):\n%s", diff)
	}
}

func TestWF11_CurrentNodes(t *testing.T) {
	x := &loomv1.Execution{Nodes: map[string]*loomv1.NodeState{
		"a": {Status: loomv1.NodeStatus_NODE_STATUS_SUCCEEDED}, "b": {Status: loomv1.NodeStatus_NODE_STATUS_WAITING},
		"c": {Status: loomv1.NodeStatus_NODE_STATUS_RUNNING}, "d": {Status: loomv1.NodeStatus_NODE_STATUS_BACKOFF},
		"e": {}, "f": {Status: loomv1.NodeStatus_NODE_STATUS_RUNNING}, "g": {Status: loomv1.NodeStatus_NODE_STATUS_SKIPPED},
	}}
	for range 20 { // maps have no order of their own
		if got := projection.Current(x); got != "b,c,d,f" {
			t.Fatalf("current_node_id = %q, want b,c,d,f", got)
		}
	}
}

// What a failed transaction has touched in memory is read from the tables again.
func TestWF11_FailureLeavesNoTraceInMemory(t *testing.T) {
	js := journals(source(t, 6), 2)
	want := dump(t, filled(t, js))
	path := filepath.Join(t.TempDir(), "loom.db")
	db := open(t, path)
	for _, j := range js {
		for i := range j {
			broken := []*loomv1.Batch{j[i], {Partition: j[i].Partition, Previous: []byte("of another chain")}}
			if err := db.ApplyAll(t.Context(), uint64(i+1), broken); fault.Code(err) != "projection/diverged" {
				t.Fatalf("Apply of a broken chain = %v, want projection/diverged", err)
			}
			apply(t, db, j, i, i+1)
		}
	}
	db.Close()
	if diff := cmp.Diff(want, dump(t, path)); diff != "" {
		t.Errorf("tables with a failure before each batch (-without +with):\n%s", diff)
	}
}

func TestWF11_Reset(t *testing.T) {
	js := journals(source(t, 7), 2)
	path := filled(t, js)
	want := dump(t, path)
	db := open(t, path)
	if err := db.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seq, hash, err := db.Position(t.Context(), 0); seq != 0 || hash != nil || err != nil {
		t.Errorf("Position after Reset = %d, %x, %v; want 0", seq, hash, err)
	}
	for _, j := range js {
		apply(t, db, j, 0, len(j))
	}
	db.Close()
	if diff := cmp.Diff(want, dump(t, path)); diff != "" {
		t.Errorf("tables after Reset (-want +got):\n%s", diff)
	}
}

func TestWF11_ReadsUseAnIndex(t *testing.T) {
	db := raw(t, filled(t, journals(source(t, 8), 2)))
	for name, text := range projection.Queries {
		t.Run(name, func(t *testing.T) {
			plan := query(t, db, "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
			all := strings.Join(plan, "\n")
			scans := slices.ContainsFunc(plan, func(step string) bool { // but of the arrays of a row
				return strings.Contains(step, "SCAN") && !strings.Contains(step, "VIRTUAL TABLE INDEX 1")
			})
			if scans || !strings.Contains(all, "USING") {
				t.Errorf("%s\nis answered by\n%s\nwant an index in every step", text, all)
			}
		})
	}
}

func TestWF11_ReadsByBead(t *testing.T) {
	p := newProject("demo", noon)
	for _, step := range p.story() {
		step()
	}
	for _, step := range p.story()[:7] {
		step()
	}
	db := open(t, filled(t, []journal{write(source(t, 9), 0, 4, p.events)}))
	for _, tt := range []struct {
		bead        string
		transitions int
		active      []string
	}{
		{"demo-1", 5, nil},
		{"demo-2", 1, []string{"demo-2-x1"}},
		{"demo-3", 0, nil},
	} {
		history, err := db.History(t.Context(), tt.bead)
		if err != nil || len(history) != tt.transitions {
			t.Errorf("History(%s): %d transitions, %v; want %d", tt.bead, len(history), err, tt.transitions)
		}
		same, err := db.Transitions(t.Context(), tt.bead+"-x1")
		if diff := cmp.Diff(history, same, protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("Transitions(%s-x1): %v (-history +transitions):\n%s", tt.bead, err, diff)
		}
		active, err := db.Active(t.Context(), tt.bead)
		var ids []string
		for _, x := range active {
			ids = append(ids, x.GetId())
		}
		if diff := cmp.Diff(tt.active, ids); diff != "" || err != nil {
			t.Errorf("Active(%s): %v (-want +got):\n%s", tt.bead, err, diff)
		}
	}
	ends, err := db.Ends(t.Context(), []string{"demo-1-x1", "demo-2-x1", "demo-3-x1"})
	if e := ends["demo-1-x1"]; err != nil || e.Project != "demo" || e.At.IsZero() || e.Wanted || !ends["demo-2-x1"].At.IsZero() || len(ends) != 2 {
		t.Errorf("Ends: %v, %v; want that of demo-1-x1, and demo-2-x1 without", ends, err)
	}
	last, err := db.History(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	end := last[len(last)-1]
	if want := p.events[edgeToEnd(p)].Time.AsTime(); !end.GetTime().AsTime().Equal(want) || end.GetId() != fmt.Sprintf("demo-%d", edgeToEnd(p)+1) {
		t.Errorf("last transition %s at %v, want demo-%d at %v", end.GetId(), end.GetTime().AsTime(), edgeToEnd(p)+1, want)
	}
}

// edgeToEnd is the index of the event that took the edge to the end.
func edgeToEnd(p *project) int {
	for i, e := range p.events {
		if e.GetEdgeSettled().GetTo() == "end" {
			return i
		}
	}
	return -1
}

func TestWaitFor(t *testing.T) {
	js := journals(source(t, 10), 1)
	db := open(t, filepath.Join(t.TempDir(), "loom.db"))
	apply(t, db, js[0], 0, 2)
	if err := db.WaitFor(t.Context(), 0, 2); err != nil {
		t.Errorf("WaitFor what is applied = %v", err)
	}
	later := make(chan error, 1)
	go func() { later <- db.WaitFor(context.Background(), 0, 4) }()
	apply(t, db, js[0], 2, 3)
	select {
	case err := <-later:
		t.Fatalf("WaitFor(4) = %v after batch 3", err)
	default:
	}
	apply(t, db, js[0], 3, 4)
	if err := <-later; err != nil {
		t.Errorf("WaitFor(4) after batch 4 = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.WaitFor(ctx, 0, 99); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitFor with a context that ended = %v", err)
	}
	go func() { later <- db.WaitFor(context.Background(), 1, 1) }()
	db.Close()
	if err := <-later; fault.Code(err) != "projection/closed" {
		t.Errorf("WaitFor on a closed projection = %v, want projection/closed", err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("a second Close = %v", err)
	}
}
