package project

import (
	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How much of what was weighed an approval shows.
const (
	mostConsidered  = 20
	consideredTitle = 300 // bytes
	consideredWhy   = 500 // bytes
)

// considered returns the newest decisions and options of an execution, oldest
// first, each with its author and status: what was chosen, and what was dropped for it.
func (s *State) considered(execution string) (list []*loomv1.Considered) {
	for _, n := range s.graph.List(graph.Filter{Execution: execution}) {
		switch n.Type {
		case loomv1.DecisionType_DECISION_TYPE_DECISION, loomv1.DecisionType_DECISION_TYPE_OPTION:
			list = append(list, &loomv1.Considered{
				Id: n.Id, Type: n.Type, Status: n.Status,
				Author: n.Author, Title: cut(plain(n.Title), consideredTitle), Why: cut(plain(n.Description), consideredWhy),
			})
		}
	}
	return list[max(0, len(list)-mostConsidered):]
}
