package graph

import (
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Short names of the types that the code itself speaks of.
const (
	goal       = loomv1.DecisionType_DECISION_TYPE_GOAL
	decided    = loomv1.DecisionType_DECISION_TYPE_DECISION
	option     = loomv1.DecisionType_DECISION_TYPE_OPTION
	outcome    = loomv1.DecisionType_DECISION_TYPE_OUTCOME
	active     = loomv1.DecisionStatus_DECISION_STATUS_ACTIVE
	superseded = loomv1.DecisionStatus_DECISION_STATUS_SUPERSEDED
	abandoned  = loomv1.DecisionStatus_DECISION_STATUS_ABANDONED

	leadsTo    = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO
	chosen     = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN
	rejected   = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REJECTED
	requires   = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REQUIRES
	blocks     = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_BLOCKS
	enables    = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_ENABLES
	supersedes = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_SUPERSEDES
)

// ordering are the edge types that may not have a cycle, each by itself.
var ordering = of(leadsTo, requires, blocks, enables, supersedes)

// edgeTypes is a set of edge types, as bits.
type edgeTypes uint32

const everyType = ^edgeTypes(0)

func of(types ...loomv1.DecisionEdgeType) edgeTypes {
	var s edgeTypes
	for _, t := range types {
		s |= 1 << (uint32(t) % 32)
	}
	return s
}

func (s edgeTypes) has(t loomv1.DecisionEdgeType) bool { return s&(1<<(uint32(t)%32)) != 0 }

// word is how people write a type, for example "leads_to".
func edgeWord(t loomv1.DecisionEdgeType) string {
	return strings.ToLower(strings.TrimPrefix(t.String(), "DECISION_EDGE_TYPE_"))
}

func nodeWord(t loomv1.DecisionType) string {
	return strings.ToLower(strings.TrimPrefix(t.String(), "DECISION_TYPE_"))
}

func statusWord(s loomv1.DecisionStatus) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "DECISION_STATUS_"))
}

func knownType(t loomv1.DecisionType) bool {
	return t >= goal && t <= loomv1.DecisionType_DECISION_TYPE_REVISIT
}

func knownEdge(t loomv1.DecisionEdgeType) bool { return t >= leadsTo && t <= supersedes }

func knownStatus(s loomv1.DecisionStatus) bool { return s >= active && s <= abandoned }
