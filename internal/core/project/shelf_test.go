package project_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Nothing that can be seen of a project tells whether it has rested: all that
// is asked of ended executions, snapshots, hashes, and what was counted.
func TestACT05_RestChangesNothing(t *testing.T) {
	y := newYard(t, "researcher")
	who := agentOf("researcher", 1)
	for range 200 {
		y.file("fan", normal)
		brief, err := y.take(who)
		if err != nil {
			t.Fatal(err)
		}
		y.answer(brief.Attempt.Id, who, success)
	}
	running := y.file("fan", normal)
	awake, err := project.Restore(y.cfg, y.s.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	y.s.Rest()
	hash := awake.Hash()
	for _, ask := range []struct {
		view project.View
		q    *loomv1.Query
	}{
		{project.Executions, &loomv1.Query{Id: "shop-1-x1"}},
		{project.Executions, &loomv1.Query{Id: "shop-7"}},
		{project.Executions, &loomv1.Query{Id: running}},
		{project.Executions, &loomv1.Query{Limit: 150}},
		{project.Executions, &loomv1.Query{Limit: 150, After: "shop-100-x1"}},
		{project.Beads, &loomv1.Query{Id: "shop-7"}},
		{project.Definitions, &loomv1.Query{}},
	} {
		y.s.RestAll()
		got, err := y.s.Look(ask.view, ask.q)
		want, werr := awake.Look(ask.view, ask.q)
		if err != nil || werr != nil || !proto.Equal(got, want) {
			t.Errorf("%s %v: %v, %v\n%v\nwant\n%v", ask.view, ask.q, err, werr, got, want)
		}
	}
	y.s.RestAll()
	if y.s.Hash() != hash {
		t.Error("a state that rested has another hash")
	}
	y.s.RestAll()
	if !proto.Equal(y.s.Snapshot(), awake.Snapshot()) {
		t.Error("a state that rested has another snapshot")
	}
}
