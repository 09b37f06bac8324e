package graph_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// tenBeads is what ten beads leave behind: for each a goal, what was seen,
// three decisions of two or three options each, what was done, what came of it.
func tenBeads() *loomv1.DecisionGraph {
	g := &loomv1.DecisionGraph{}
	add := func(t loomv1.DecisionType, from, format string, args ...any) string {
		n := &loomv1.DecisionNode{
			Id: fmt.Sprint("d", len(g.Nodes)+1), Type: t, Status: loomv1.DecisionStatus_DECISION_STATUS_ACTIVE,
			Title: fmt.Sprintf(format, args...), Confidence: uint32(40 + len(g.Nodes)*7%60),
		}
		g.Nodes = append(g.Nodes, n)
		if from != "" {
			g.Edges = append(g.Edges, &loomv1.DecisionEdge{From: from, To: n.Id, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO})
		}
		return n.Id
	}
	for bead := range 10 {
		from := add(goal, "", "orders of shop %d have the right total", bead)
		seen := add(loomv1.DecisionType_DECISION_TYPE_OBSERVATION, from, "TestTotal%d fails: 10.01 is not 10.00", bead)
		for step := range 3 {
			d := add(loomv1.DecisionType_DECISION_TYPE_DECISION, seen, "how to round in step %d", step)
			for o := range 2 + (bead+step)%3 {
				option := add(loomv1.DecisionType_DECISION_TYPE_OPTION, seen, "way %d of rounding", o)
				kind := loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REJECTED
				if o == 0 {
					kind = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN
				}
				g.Edges = append(g.Edges, &loomv1.DecisionEdge{From: d, To: option, Type: kind, Rationale: "it is simpler"})
			}
			seen = add(loomv1.DecisionType_DECISION_TYPE_ACTION, d, "change total%d.go", step)
		}
		for range 3 {
			seen = add(loomv1.DecisionType_DECISION_TYPE_OUTCOME, seen, "commit 3f2a%d landed on main", bead)
		}
	}
	return g
}

var pictureSize = regexp.MustCompile(`<svg [^>]*width="([0-9.]+)" height="([0-9.]+)"`)

// Beads that have nothing to do with each other lie beside and below each
// other, not in one strip. LOOM_PICTURE names a file to look at.
func TestGRAPH06_ThePictureOf200NodesIsNoStrip(t *testing.T) {
	g := tenBeads()
	svg := graph.SVG(g)
	if name := os.Getenv("LOOM_PICTURE"); name != "" {
		if err := os.WriteFile(name, []byte(svg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := pictureSize.FindStringSubmatch(svg)
	width, _ := strconv.ParseFloat(m[1], 64)
	height, _ := strconv.ParseFloat(m[2], 64)
	if len(g.Nodes) < 180 || width > 3*height || height > 3*width {
		t.Errorf("%d nodes are drawn %.0f wide and %.0f high", len(g.Nodes), width, height)
	}
}
