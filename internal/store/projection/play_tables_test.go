package projection_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const plays = 15

func play(t testing.TB, seed uint64, steps int) *player {
	t.Helper()
	p := newPlayer(t, source(t, seed), "shop")
	p.wander(steps)
	return p
}

// A random life of a project leaves the same beads and executions in the tables
// as in the cores, but for what a pause of everything does to an execution.
func TestWF11_TablesAreTheCoresState(t *testing.T) {
	longtest.Skip(t)
	kinds := map[string]int{}
	for seed := range uint64(plays) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := play(t, seed, 400)
			db := raw(t, filled(t, []journal{p.journal(0)}))
			want := p.s.Snapshot()
			compare(t, query(t, db, "SELECT bead FROM beads"), want.GetBeads(), (*loomv1.Bead).GetId, func(*loomv1.Bead) {})
			compare(t, query(t, db, "SELECT state FROM workflow_executions"), want.GetExecutions(), (*loomv1.Execution).GetId, unheld)
			var asked []string
			for _, a := range want.GetApprovals() {
				asked = append(asked, fmt.Sprintf("%s|%s|%s|%t", a.GetId(), a.GetExecution(), a.GetNode(), a.GetDecision() != 0))
			}
			slices.Sort(asked)
			got := query(t, db, "SELECT id, execution_id, node_id, iif(decision NOT IN ('', 'lapsed'), 'true', 'false') FROM approvals ORDER BY id")
			slices.Sort(got)
			if diff := cmp.Diff(asked, got); diff != "" {
				t.Errorf("approvals (-core +tables):\n%s", diff)
			}
			for _, e := range p.events {
				kinds[notice.Kind(e)]++
			}
		})
	}
	for _, kind := range []string{
		"rework-started", "node-skipped", "approval-lapsed", "execution-moved", "execution-forked", "child-started", "gap-noted",
		"gate-failed", "work-paused", "work-resumed", "bead-updated", "bead-occurred", "limit-lifted", "claim-released", "override-given",
		"command-refused", "retry-scheduled", "roles-reported", "model-answered", "governor-tripped",
	} {
		if kinds[kind] == 0 {
			t.Errorf("in %d plays there was never %s", plays, kind)
		}
	}
}

func compare[M proto.Message](t *testing.T, rows []string, want map[string]M, id func(M) string, same func(M)) {
	t.Helper()
	got := map[string]M{}
	for _, row := range rows {
		var zero M
		m := zero.ProtoReflect().New().Interface().(M)
		if err := protojson.Unmarshal([]byte(row), m); err != nil {
			t.Fatal(err)
		}
		got[id(m)] = m
	}
	for _, m := range slices.Concat(slices.Collect(maps.Values(want)), slices.Collect(maps.Values(got))) {
		same(m)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreEmptyMessages()); diff != "" {
		t.Errorf("tables (-core +tables):\n%s", diff)
	}
}

// unheld leaves out what the hold of a project or process changes.
func unheld(x *loomv1.Execution) {
	x.HeldSince, x.HeldFor = nil, nil
	for _, st := range x.GetNodes() {
		st.RetryAt = nil
		for _, a := range append(slices.Clone(st.GetHistory()), st.GetAttempt()) {
			if a != nil {
				a.Deadline, a.QueuedAt = nil, nil
			}
		}
	}
}

// However a random life is delivered, the tables are the same.
func TestWF11_APlayIsRebuiltEqual(t *testing.T) {
	longtest.Skip(t)
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := play(t, 100+seed, 300)
			j := p.journal(0)
			want := dump(t, filled(t, []journal{j}))
			path := filepath.Join(t.TempDir(), "loom.db")
			db := open(t, path)
			for done := 0; done < len(j); {
				from := max(0, done-p.r.IntN(3))
				to := min(len(j), from+1+p.r.IntN(9))
				apply(t, db, j, from, to)
				if done = max(done, to); p.r.IntN(10) == 0 {
					db.Close()
					db = open(t, path)
				}
			}
			tallies := fmt.Sprint(db.Tallies())
			db.Close()
			if diff := cmp.Diff(want, dump(t, path)); diff != "" {
				t.Errorf("tables after an odd delivery (-in one go +so):\n%s", diff)
			}
			if again := fmt.Sprint(open(t, path).Tallies()); again != tallies {
				t.Errorf("counts after another opening:\n%s\nwant\n%s", again, tallies)
			}
		})
	}
}

// What is counted as it comes is what counting the rows gives.
func TestWF14_TalliesAreCounts(t *testing.T) {
	longtest.Skip(t)
	for seed := range uint64(8) {
		p := play(t, 200+seed, 300)
		path := filled(t, []journal{p.journal(0)})
		db := open(t, path)
		var got []string
		for _, c := range db.Tallies() {
			switch c.Name {
			case "beads_filed", "executions_started", "executions_ended", "attempts_queued":
				if c.Value != 0 {
					got = append(got, fmt.Sprintf("%s|%s|%s|%d", c.Name, c.Process, c.Label, c.Value))
				}
			}
		}
		rows := raw(t, path)
		want := query(t, rows, `SELECT 'beads_filed', '', type, count(*) FROM beads GROUP BY type
			UNION ALL SELECT 'executions_started', process, '', count(*) FROM workflow_executions GROUP BY process
			UNION ALL SELECT 'executions_ended', process, status, count(*) FROM workflow_executions WHERE status <> 'running' GROUP BY process, status
			UNION ALL SELECT 'attempts_queued', '', n.value->'attempt'->>'role', count(*) FROM workflow_executions x, json_each(x.state, '$.nodes') n
				WHERE n.value->'attempt' IS NOT NULL AND n.value->'attempt'->'claimant' IS NULL AND n.value->'attempt'->'parked' IS NULL
				AND n.value->'attempt'->'process' IS NULL GROUP BY 3`)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: counts (-rows +tallies):\n%s", seed, diff)
		}
		open := query(t, rows, "SELECT kind, count(*) FROM approvals WHERE decided_at IS NULL GROUP BY kind ORDER BY kind")
		asked, err := db.Asked(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"approval", "escalation"} {
			if line := fmt.Sprintf("%s|%d", kind, asked[kind]); asked[kind] > 0 && !slices.Contains(open, line) {
				t.Errorf("Asked has %s, rows %s", line, strings.Join(open, ", "))
			}
		}
	}
}
