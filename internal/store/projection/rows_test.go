package projection_test

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/base/fact"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Each kind of fact is taken by the tables that the contract names for it, and by no
// others; and each table that the contract knows has somebody who fills it.
func TestWF11_EveryFactGoesWhereItsKindSays(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "loom.db"))
	var known []loomv1.FactTable
	for n := range loomv1.FactTable_name {
		if n > 0 {
			known = append(known, loomv1.FactTable(n))
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(known, projection.Tables()); diff != "" {
		t.Fatalf("tables (-contract +filled):\n%s", diff)
	}
	for _, k := range fact.All() {
		for _, table := range known {
			e := &loomv1.Event{Project: "demo", Number: 1}
			e.ProtoReflect().Set(k.Field, e.ProtoReflect().NewField(k.Field))
			if f := e.GetBeadUpdated(); f != nil {
				f.Bead = &loomv1.Bead{}
			}
			if kept, named := db.Keeps(t.Context(), table, e), slices.Contains(k.Tables, table); kept != named {
				t.Errorf("%s: %s takes it: %t; its kind names that table: %t", k.Name, table, kept, named)
			}
		}
	}
}

// What an execution leaves is one row, whatever happened in it.
func TestWF11_OneRowAnExecution(t *testing.T) {
	p := newPlayer(t, source(t, 1), "shop")
	p.work(5, 2)
	db := raw(t, filled(t, []journal{p.journal(0)}))
	for _, tt := range []struct{ what, want string }{
		{"SELECT count(*) FROM executions", "5"},
		{"SELECT count(*) FROM executions WHERE state IS NULL OR progress IS NOT NULL", "0"}, // they have ended
		{"SELECT count(*) FROM workflow_executions", "5"},
		{"SELECT count(*) FROM workflow_visits", "30"},
		{"SELECT count(*) FROM workflow_transitions", "40"},
		{"SELECT count(*) FROM attempt_ends", "30"},
		{"SELECT count(*) FROM node_figures", "25"},
	} {
		if got := query(t, db, tt.what)[0]; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
	}
	// The views have what counting the events gives.
	want := map[string]int{}
	for _, e := range p.events {
		if f := e.GetAttemptEnded(); f != nil {
			want[e.Node]++
		}
	}
	got := map[string]int{}
	for node := range want {
		n := query(t, db, "SELECT sum(ended) FROM node_figures WHERE node_id = ?", node)[0]
		got[node], _ = strconv.Atoi(n)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attempts that ended, by node (-events +view):\n%s", diff)
	}
}

// The state of an execution that runs is kept as protobuf, and written as JSON once it
// has rested for a second; whoever asks for it gets it at any time.
func TestWF11_AStateIsWrittenAsJSONAtRest(t *testing.T) {
	p := newProject("demo", noon)
	for _, step := range p.story()[:7] { // until its first attempt has been taken
		step()
	}
	path := filepath.Join(t.TempDir(), "loom.db")
	const columns = "SELECT progress IS NULL, state IS NULL FROM executions"
	synctest.Test(t, func(t *testing.T) {
		db := open(t, path)
		ctx, stop := context.WithCancel(t.Context())
		l, done := newTape(), make(chan error, 1)
		go func() { done <- db.Follow(ctx, l) }()
		<-l.from
		j := write(source(t, 2), 0, 1, p.events)
		for _, b := range j {
			l.batches <- b
		}
		if err := db.WaitFor(ctx, 0, uint64(len(j))); err != nil {
			t.Fatal(err)
		}
		if got := query(t, raw(t, path), columns)[0]; got != "0|1" {
			t.Errorf("progress, state NULL at once: %s, want 0|1", got)
		}
		before, err := db.Active(ctx, "demo-1")
		if err != nil || len(before) != 1 || before[0].GetNodes()["work"].GetAttempt().GetClaimant() == nil {
			t.Fatalf("Active = %v, %v", before, err)
		}
		<-time.After(3 * time.Second) // of the bubble's own time
		synctest.Wait()
		if got := query(t, raw(t, path), columns)[0]; got != "1|0" {
			t.Errorf("progress, state NULL at rest: %s, want 1|0", got)
		}
		x := &loomv1.Execution{}
		if err := protojson.Unmarshal([]byte(query(t, raw(t, path), "SELECT state FROM workflow_executions")[0]), x); err != nil {
			t.Fatal(err)
		}
		after, err := db.Active(ctx, "demo-1")
		if diff := cmp.Diff([][]*loomv1.Execution{before, before}, [][]*loomv1.Execution{after, {x}}, protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("%v, states (-before +at rest, column):\n%s", err, diff)
		}
		stop()
		<-done
		db.Close()
	})
}

// Whoever opens tables of a process that was killed writes what it has left as
// protobuf, and goes on from it.
func TestWF11_WhatAKilledProcessHasNotTold(t *testing.T) {
	longtest.Skip(t)
	p := newProject("demo", noon)
	steps := p.story()
	for _, step := range steps {
		step()
	}
	j := write(source(t, 3), 0, 1, p.events)
	want := dump(t, filled(t, []journal{j}))
	for at := range j {
		path := filepath.Join(t.TempDir(), "loom.db")
		db := open(t, path)
		apply(t, db, j, 0, at)
		path = crash(t, path)
		again := open(t, path)
		again.Close()
		if left := query(t, raw(t, path), "SELECT count(*) FROM executions WHERE progress IS NOT NULL OR state IS NULL")[0]; left != "0" {
			t.Errorf("after %d batches: %s states are not told", at, left)
		}
		path2 := filepath.Join(t.TempDir(), "loom.db")
		db2 := open(t, path2)
		apply(t, db2, j, 0, at)
		path2 = crash(t, path2)
		db2 = open(t, path2)
		apply(t, db2, j, at, len(j)) // from what is protobuf
		db2.Close()
		if diff := cmp.Diff(want, dump(t, path2)); diff != "" {
			t.Fatalf("tables after a kill at batch %d (-in one go +so):\n%s", at, diff)
		}
	}
}
