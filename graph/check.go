package graph

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of what a command may bring, in bytes where nothing else is said.
const (
	MaxTitle       = 300
	MaxDescription = 16 << 10
	MaxMetadata    = 16 << 10
	MaxRationale   = 4 << 10
	MaxLinks       = 100 // edges of one AddDecision
	maxID          = 256
	maxDepth       = 50 // levels of metadata
	maxNodes       = 999_999_999
)

// checkNode says all that is wrong with a node that a command brings.
func checkNode(n *loomv1.DecisionNode) []*fault.Error {
	problems := checkValues(n)
	switch title := n.GetTitle(); {
	case strings.TrimSpace(title) == "":
		problems = append(problems, fault.New("graph/invalid", "a decision needs a title").At("/node/title").Got(title))
	default:
		problems = append(problems, checkText("/node/title", title, MaxTitle)...)
	}
	problems = append(problems, checkText("/node/description", n.GetDescription(), MaxDescription)...)
	problems = append(problems, checkText("/node/change", n.GetChange(), maxID)...)
	problems = append(problems, checkText("/node/bead", n.GetBead(), maxID)...)
	problems = append(problems, checkText("/node/execution", n.GetExecution(), maxID)...)
	return append(problems, checkMetadata(n.GetMetadata())...)
}

// checkValues says what of a node can never be in a graph.
func checkValues(n *loomv1.DecisionNode) []*fault.Error {
	var problems []*fault.Error
	if !knownType(n.GetType()) {
		problems = append(problems, fault.New("graph/unknown-type", "a decision has no type %s", nodeWord(n.GetType())).
			At("/node/type").Want("goal, decision, option, action, outcome, observation or revisit"))
	}
	if c := n.GetConfidence(); c > maxConfidence {
		problems = append(problems, fault.New("graph/confidence", "confidence %d is not 0 to 100", c).At("/node/confidence"))
	}
	return problems
}

func checkText(where, s string, most int) []*fault.Error {
	switch {
	case len(s) > most:
		return []*fault.Error{fault.New("graph/invalid", "%d bytes where %d is the most", len(s), most).At(where).Got(s)}
	case !utf8.ValidString(s):
		return []*fault.Error{fault.New("graph/invalid", "the text is not valid UTF-8").At(where).Got(s)}
	}
	return nil
}

// checkMetadata refuses what JSON cannot say, besides what is too large.
func checkMetadata(m *structpb.Struct) []*fault.Error {
	if m == nil {
		return nil
	}
	const where = "/node/metadata"
	if !writable(structpb.NewStructValue(m), 0) {
		return []*fault.Error{fault.New("graph/invalid", "metadata is not JSON of at most %d levels", maxDepth).At(where)}
	}
	if size := proto.Size(m); size > MaxMetadata {
		return []*fault.Error{fault.New("graph/invalid", "%d bytes where %d is the most", size, MaxMetadata).At(where)}
	}
	return nil
}

func writable(v *structpb.Value, depth int) bool {
	if depth >= maxDepth {
		return false
	}
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue, *structpb.Value_BoolValue:
		return true
	case *structpb.Value_NumberValue:
		return !math.IsNaN(k.NumberValue) && !math.IsInf(k.NumberValue, 0)
	case *structpb.Value_StringValue:
		return utf8.ValidString(k.StringValue)
	case *structpb.Value_ListValue:
		for _, x := range k.ListValue.GetValues() {
			if !writable(x, depth+1) {
				return false
			}
		}
		return true
	case *structpb.Value_StructValue:
		for name, x := range k.StructValue.GetFields() {
			if !utf8.ValidString(name) || !writable(x, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// checkLink says all that is wrong with an edge that a command brings,
// whatever it joins.
func checkLink(where string, e *loomv1.DecisionEdge) []*fault.Error {
	return append(checkEdge(where, e), checkText(where+"/rationale", e.GetRationale(), MaxRationale)...)
}

// checkEdge says what of an edge can never be in a graph.
func checkEdge(where string, e *loomv1.DecisionEdge) []*fault.Error {
	var problems []*fault.Error
	if !knownEdge(e.GetType()) {
		problems = append(problems, fault.New("graph/unknown-type", "an edge has no type %s", edgeWord(e.GetType())).
			At(where+"/type").Want("leads_to, chosen, rejected, requires, blocks, enables or supersedes"))
	}
	if w := e.GetWeight(); !(w >= 0 && w <= 1) {
		problems = append(problems, fault.New("graph/invalid", "weight %v is not 0 to 1", w).At(where+"/weight"))
	}
	return problems
}

// find returns the place of a node that a command or fact names.
func (g *Graph) find(where, id string) (int32, *fault.Error) {
	i, ok := g.at(id)
	if !ok {
		return -1, fault.New("graph/unknown-node", "there is no such decision").At(where).Got(id)
	}
	return i, nil
}

// settled refuses what no longer counts.
func (g *Graph) settled(where string, i int32) *fault.Error {
	n := g.node(i)
	if n.Status == superseded {
		return fault.New("graph/superseded", "%s is superseded by %s", n.Id, g.successor(i)).At(where)
	}
	if n.Status == abandoned {
		return fault.New("graph/abandoned", "%s was given up%s", n.Id, reasoned(n.Abandoned.GetReason())).At(where)
	}
	return nil
}

func selfLoop(where, id string) *fault.Error {
	return fault.New("graph/self-loop", "an edge from %s to itself says nothing", id).At(where)
}

// cycle names the way that an edge would close: from its start along way, back
// to its start. Of a long one it names both ends.
func (g *Graph) cycle(where string, t loomv1.DecisionEdgeType, start string, way []int32) *fault.Error {
	names := []string{start}
	for _, n := range way {
		names = append(names, g.node(n).Id)
	}
	if names[len(names)-1] != start {
		names = append(names, start)
	}
	if over := len(names) - 12; over > 0 {
		names = append(append(names[:6:6], fmt.Sprintf("(%d more)", over)), names[len(names)-6:]...)
	}
	return fault.New("graph/cycle", "%s would go round: %s", edgeWord(t), strings.Join(names, " -> ")).At(where)
}
