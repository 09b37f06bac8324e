package graph_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
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

// A row of a goal with many children is wrapped, and what is below them is below.
func TestGRAPH06_WideRowsAreWrapped(t *testing.T) {
	for _, tt := range []struct{ children, width, height int }{{40, 2600, 1000}, {200, 5000, 3200}} {
		g := &loomv1.DecisionGraph{}
		add := func(t loomv1.DecisionType, from, title string) string {
			n := &loomv1.DecisionNode{Id: fmt.Sprint("d", len(g.Nodes)+1), Type: t, Title: title, Confidence: 80}
			g.Nodes = append(g.Nodes, n)
			if from != "" {
				g.Edges = append(g.Edges, &loomv1.DecisionEdge{From: from, To: n.Id, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO})
			}
			return n.Id
		}
		root := add(goal, "", "orders have the right total, each of them")
		for i := range tt.children {
			d := add(loomv1.DecisionType_DECISION_TYPE_DECISION, root, fmt.Sprintf("where to round in part %d of an order", i))
			if i%10 == 0 {
				add(loomv1.DecisionType_DECISION_TYPE_OUTCOME, d, fmt.Sprintf("commit %d landed on main", i))
			}
		}
		svg := graph.SVG(g)
		if name := os.Getenv("LOOM_PICTURE"); name != "" {
			if err := os.WriteFile(fmt.Sprintf("%s.%d.svg", name, tt.children), []byte(svg), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		m := pictureSize.FindStringSubmatch(svg)
		width, _ := strconv.ParseFloat(m[1], 64)
		height, _ := strconv.ParseFloat(m[2], 64)
		if int(width) > tt.width || int(height) > tt.height {
			t.Errorf("%d children are drawn %.0f wide and %.0f high, at most %d and %d", tt.children, width, height, tt.width, tt.height)
		}
	}
}

// Many that lead to one, or are rejected by one, share their way as well.
func TestGRAPH06_ManyLinksShareTheirWay(t *testing.T) {
	g := &loomv1.DecisionGraph{}
	node := func(t loomv1.DecisionType, title string) string {
		g.Nodes = append(g.Nodes, &loomv1.DecisionNode{Id: fmt.Sprint("d", len(g.Nodes)+1), Type: t, Title: title, Confidence: 80})
		return g.Nodes[len(g.Nodes)-1].Id
	}
	d := node(decision, "how to round the totals of orders")
	for i := range 40 {
		from := node(goal, fmt.Sprintf("shop %d has the right totals", i))
		g.Edges = append(g.Edges, edge(from, leadsTo, d), edge(d, rejected, node(option, fmt.Sprintf("way %d of rounding", i))))
	}
	svg := graph.SVG(g)
	if name := os.Getenv("LOOM_PICTURE"); name != "" {
		if err := os.WriteFile(name+".in.svg", []byte(svg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := pictureSize.FindStringSubmatch(svg)
	width, _ := strconv.ParseFloat(m[1], 64)
	height, _ := strconv.ParseFloat(m[2], 64)
	if width > 3200 || height > 2200 {
		t.Errorf("drawn %.0f wide and %.0f high", width, height)
	}
	if n := strings.Count(svg, ">rejected<"); n != 1 {
		t.Errorf("%d labels where one says it", n)
	}
}
