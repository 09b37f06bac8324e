package project_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func imports(request string, part *loomv1.DecisionGraph) *loomv1.Command {
	return by(operator, "ada", &loomv1.Command{Body: &loomv1.Command_ImportDecisions{ImportDecisions: &loomv1.ImportDecisions{Part: part, Request: request}}})
}

func elsewhere(title, execution string) *loomv1.DecisionNode {
	return &loomv1.DecisionNode{
		Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Status: loomv1.DecisionStatus_DECISION_STATUS_ACTIVE, Title: title, Confidence: 50, Execution: execution,
		Author: &loomv1.Identity{Kind: agent, Name: "architect/1@h9"}, Time: timestamppb.New(noon.Add(-time.Hour)),
	}
}

func TestGRAPH06_AnImportIsRepeatableAndKeepsAuthors(t *testing.T) {
	d := newDesk(t)
	part := &loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{elsewhere("one", ""), elsewhere("two", "")}}
	first := d.ok(imports("file 0", part)).GetDecision()
	if first.GetTitle() != "one" || first.Author.GetName() != "architect/1@h9" || !first.Time.AsTime().Equal(noon.Add(-time.Hour)) {
		t.Errorf("imported as %v", first)
	}
	n := len(d.events)
	d.restart()
	if again := d.ok(imports("file 0", part)).GetDecision(); again.GetId() != first.Id || len(d.events) != n {
		t.Errorf("again: %v, and %d facts", again, len(d.events)-n)
	}
	for name, cmd := range map[string]*loomv1.Command{
		"request/denied": by(agent, "architect/1@h1", imports("file 1", part)),
		"graph/invalid":  imports("", part),
	} {
		if _, err := d.do(cmd); fault.Code(err) != name || len(d.events) != n {
			t.Errorf("%v, want %s", err, name)
		}
	}
}

// What is imported under the name of work that is under way here is no decision
// of that work.
func TestGRAPH06_WhatIsImportedContradictsNothingHere(t *testing.T) {
	d := newDesk(t)
	yes, no := d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "yes"), d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "no")
	_, _, request, who := d.rested(d.report, "p1", yes, no)
	other := d.execution(d.report2().Bead).Id
	id := d.ok(imports("file 0", &loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{elsewhere("not that way", other)}})).GetDecision().Id
	d.ok(&loomv1.Command{Body: &loomv1.Command_LinkDecision{LinkDecision: &loomv1.LinkDecision{Edge: &loomv1.DecisionEdge{From: id, To: yes, Type: rejected}}}})
	if claim, err := d.acquire(request, who); err != nil || claim.GetToken() == 0 {
		t.Errorf("lock %v, %v", claim, err)
	}
}

// A way that is too long for one answer is refused, and how to go on said.
func TestGRAPH02_ALongPathGoesOn(t *testing.T) {
	way := &loomv1.DecisionGraph{}
	for i := range 4500 {
		n := elsewhere("step", "")
		n.Id = fmt.Sprintf("d%d", i+1)
		way.Nodes = append(way.Nodes, n)
		if i > 0 {
			way.Edges = append(way.Edges, &loomv1.DecisionEdge{Id: uint64(i), From: fmt.Sprintf("d%d", i), To: n.Id, Type: leadsTo, Weight: 1})
		}
	}
	g, err := graph.Restore(way)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(from, to string) (*loomv1.GraphReply, error) {
		return project.Ask(g, noon, &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_PATH, Id: from, To: to})
	}
	for _, tt := range []struct {
		from, to string
		nodes    int
		hint     string
	}{
		{"d1", "d2000", 2000, ""},
		{"d1", "d2001", 0, "the way from d1 to d2000, and from there on"},
		{"d1", "d4500", 0, "the way from d1 to d2000, and from there on"},
		{"d2000", "d4500", 0, "the way from d2000 to d3999, and from there on"},
		{"d3999", "d4500", 502, ""},
	} {
		r, err := ask(tt.from, tt.to)
		if len(r.GetGraph().GetNodes()) != tt.nodes || (tt.hint != "") != (fault.Code(err) == "graph/long-path") || tt.hint != "" && fault.From(err).Hint != tt.hint {
			t.Errorf("from %s to %s: %d decisions, %v; want %d, %q", tt.from, tt.to, len(r.GetGraph().GetNodes()), err, tt.nodes, tt.hint)
		}
	}
}
