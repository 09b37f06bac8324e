package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/commitlock"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// graphActor answers reads of the decision graph from its own fold of what is
// committed; writes are decided by the project.
type graphActor struct {
	from  *loomv1.DecisionGraph
	graph *graph.Graph
}

func newGraphActor(from *loomv1.DecisionGraph) *graphActor { return &graphActor{from: from} }

func (g *graphActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		var err error
		if g.graph, err = graph.Restore(g.from); err != nil {
			panic(err)
		}
	case *committed:
		for _, e := range m.events {
			if err := g.graph.Apply(e); err != nil {
				panic(err)
			}
		}
	case *look:
		m.reply(&loomv1.View{Graph: cutGraph(g.graph, m.query)})
	}
}

// cutGraph returns the whole graph, or the part that is about one bead, or the
// nodes of one type.
func cutGraph(g *graph.Graph, q *loomv1.Query) *loomv1.DecisionGraph {
	whole := g.Snapshot()
	if q.Id == "" && q.Filter == "" {
		return whole
	}
	part, in := &loomv1.DecisionGraph{}, map[string]bool{}
	for _, n := range whole.Nodes {
		if (q.Id == "" || n.Bead == q.Id || n.Execution == q.Id) && (q.Filter == "" || n.Type.String() == q.Filter) {
			in[n.Id] = true
			part.Nodes = append(part.Nodes, n)
		}
	}
	for _, e := range whole.Edges {
		if in[e.From] && in[e.To] {
			part.Edges = append(part.Edges, e)
		}
	}
	return part
}

// lockActor answers who holds a commit lock and who waits, from its own fold
// of what is committed; writes are decided by the project.
type lockActor struct {
	from  *loomv1.CommitLocks
	table *commitlock.Table
}

func newLockActor(from *loomv1.CommitLocks) *lockActor { return &lockActor{from: from} }

func (l *lockActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		var err error
		if l.table, err = commitlock.Restore(commitlock.DefaultLease, l.from); err != nil {
			panic(err)
		}
	case *committed:
		for _, e := range m.events {
			if err := l.table.Apply(e); err != nil {
				panic(err)
			}
		}
	case *look:
		m.reply(&loomv1.View{Locks: l.table.Snapshot().Locks})
	}
}
