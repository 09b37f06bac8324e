package histories

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// fold checks the chain of the batches and folds them. In the middle every
// project goes through a snapshot, as over a restart.
func fold(t *testing.T, batches []*loomv1.Batch) map[string]*project.State {
	t.Helper()
	states, head := map[string]*project.State{}, journal.Head{}
	for i, b := range batches {
		var err error
		if head, err = journal.Check(head, uint64(i+1), b); err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Events {
			s := states[e.Project]
			if s == nil {
				s = project.New(project.Config{ID: e.Project, Epoch: 1})
				states[e.Project] = s
			}
			if err := s.Apply(proto.CloneOf(e)); err != nil {
				t.Fatal(err)
			}
		}
		if i == len(batches)/2 {
			restart(t, states)
		}
	}
	return states
}

func restart(t *testing.T, states map[string]*project.State) {
	t.Helper()
	for id, s := range states {
		again, err := project.Restore(project.Config{ID: id, Epoch: 1}, s.Snapshot())
		if err != nil || again.Hash() != s.Hash() {
			t.Fatalf("project %s restored: %v, equal: %t", id, err, err == nil && again.Hash() == s.Hash())
		}
		states[id] = again
	}
}

// snapshots returns the states by the projects' names.
func snapshots(states map[string]*project.State) (list []*loomv1.ProjectState) {
	for _, id := range slices.Sorted(maps.Keys(states)) {
		list = append(list, states[id].Snapshot())
	}
	return list
}

// tell says what people see of a history: beads, executions, transitions from
// the tables, and what was decided.
func tell(t *testing.T, states map[string]*project.State, db *projection.DB) string {
	t.Helper()
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(states)) {
		s := states[id]
		fmt.Fprintf(&b, "project %s, %d events\n", id, s.Number())
		for _, bead := range ids(look(t, s, project.Beads).Beads) {
			v := one(t, s, project.Beads, bead).Beads[0]
			fmt.Fprintf(&b, "bead %s %s %s %q\n", v.Id, project.Word(v.Type), project.Word(v.Status), v.Goal)
		}
		for _, x := range ids(look(t, s, project.Executions).Executions) {
			tellExecution(t, &b, one(t, s, project.Executions, x).Executions[0], db)
		}
	}
	return b.String()
}

func tellExecution(t *testing.T, b *strings.Builder, x *loomv1.Execution, db *projection.DB) {
	t.Helper()
	fmt.Fprintf(b, "execution %s %s %s %d dispatches %d transitions %d model calls\n", x.Id, x.Definition, project.Word(x.Status), x.Dispatches, x.Transitions, x.ModelCalls)
	if x.Landing != nil {
		fmt.Fprintf(b, "  landed %s on %s\n", x.Landing.Commit, x.Landing.Ref)
	}
	transitions, err := db.Transitions(t.Context(), x.Id)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range transitions {
		fmt.Fprintf(b, "  %s %s -> %s %s %q\n", tr.Id, tr.From, tr.To, tr.Outcome, tr.Summary)
	}
	for _, node := range slices.Sorted(maps.Keys(x.Nodes)) {
		n := x.Nodes[node]
		fmt.Fprintf(b, "  %s %s visit %d, %d attempts in all\n", node, project.Word(n.Status), n.Visit, len(n.History))
	}
}

// tables returns what people see of a history, from tables that grew batch by
// batch and from tables that were filled at once.
func tables(t *testing.T, states map[string]*project.State, batches []*loomv1.Batch) (grown, rebuilt string) {
	t.Helper()
	a, b := openTables(t), openTables(t)
	for i, batch := range batches {
		if err := a.Apply(t.Context(), uint64(i+1), batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.ApplyAll(t.Context(), 1, batches); err != nil {
		t.Fatal(err)
	}
	return tell(t, states, a), tell(t, states, b)
}

func openTables(t *testing.T) *projection.DB {
	t.Helper()
	db, _, err := projection.Open(t.Context(), filepath.Join(t.TempDir(), "projection.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func look(t *testing.T, s *project.State, v project.View) *loomv1.View {
	t.Helper()
	return ask(t, s, v, &loomv1.Query{Limit: project.MaxListed})
}

func one(t *testing.T, s *project.State, v project.View, id string) *loomv1.View {
	t.Helper()
	return ask(t, s, v, &loomv1.Query{Id: id})
}

func ask(t *testing.T, s *project.State, v project.View, q *loomv1.Query) *loomv1.View {
	t.Helper()
	view, err := s.Look(v, q)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// ids returns the ids of a list, oldest first.
func ids[T interface{ GetId() string }](list []T) (all []string) {
	for _, m := range slices.Backward(list) {
		all = append(all, m.GetId())
	}
	return all
}
