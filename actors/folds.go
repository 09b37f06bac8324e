package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/core/commitlock"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// graphActor answers reads of the decision graph from its own fold of what is
// committed; writes are decided by the project.
type graphActor struct {
	from  *loomv1.DecisionGraph
	graph *graph.Graph
	last  *loomv1.Event // the newest that the graph has seen
}

func newGraphActor(from *loomv1.ProjectState) *graphActor {
	return &graphActor{from: from.Graph, last: &loomv1.Event{Number: from.LastNumber, Time: from.LastTime}}
}

func (g *graphActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		var err error
		if g.graph, err = graph.Restore(g.from); err != nil {
			panic(err)
		}
		g.from = nil
	case *committed:
		for _, e := range m.events {
			if err := g.graph.Apply(e); err != nil {
				panic(err)
			}
			g.last = e
		}
	case *consult:
		m.answer(g.graph, g.last)
	case *look:
		m.reply(project.ViewGraph(g.graph, g.last.GetNumber(), m.query))
	}
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
