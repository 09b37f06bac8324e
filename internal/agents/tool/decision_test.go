package tool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// graph is a decision graph that only counts.
type graph struct {
	logged []*loomv1.AddDecision
	asked  []*loomv1.GraphRequest
	reply  *loomv1.GraphReply
	opened []*loomv1.Ballot
	votes  []*loomv1.CastVote
	fail   error
}

func (g *graph) Log(_ context.Context, d *loomv1.AddDecision) (*loomv1.DecisionNode, error) {
	if g.fail != nil {
		return nil, g.fail
	}
	g.logged = append(g.logged, d)
	return &loomv1.DecisionNode{Id: fmt.Sprintf("d%d", len(g.logged))}, nil
}

func (g *graph) Ask(_ context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	g.asked = append(g.asked, q)
	return g.reply, g.fail
}

func (g *graph) Open(_ context.Context, b *loomv1.OpenBallot) error {
	g.opened = append(g.opened, b.Ballot)
	return g.fail
}

func (g *graph) Vote(_ context.Context, v *loomv1.CastVote) error {
	g.votes = append(g.votes, v)
	return g.fail
}

func TestTOOL01_DecisionLog(t *testing.T) {
	g := &graph{}
	s := tool.New(tool.Workspace{Root: t.TempDir()}, g)
	r := ok(t, do(t, s, "decision_log", args{
		"type": "decision", "title": "check the index", "description": "it is cheaper", "confidence": 0,
		"links": []args{{"kind": "chosen", "id": "d4"}, {"kind": "rejected", "id": "d3", "why": "slower"}, {"kind": "follows", "id": "d1"}, {"kind": "supersedes", "id": "d2"}, {"kind": "abandons", "id": "d5", "why": "it hung"}},
	}))
	if r.Output != "logged as d1\n" || r.Summary != `d1: decision "check the index"` {
		t.Errorf("%q, %q", r.Output, r.Summary)
	}
	d := g.logged[0]
	if d.Request != "c1" || d.Node.Type != loomv1.DecisionType_DECISION_TYPE_DECISION || d.Node.Confidence != 0 || d.Node.Description != "it is cheaper" {
		t.Errorf("logged %v", d)
	}
	for i, want := range []*loomv1.DecisionEdge{
		{To: "d4", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN},
		{To: "d3", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REJECTED, Rationale: "slower"},
		{From: "d1", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO},
		{To: "d2", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_SUPERSEDES},
	} {
		if got := d.Links[i]; got.From != want.From || got.To != want.To || got.Type != want.Type || got.Rationale != want.Rationale {
			t.Errorf("link %d is %v", i, got)
		}
	}
	if len(d.Links) != 4 || len(d.Abandons) != 1 || d.Abandons[0].Id != "d5" || d.Abandons[0].Reason != "it hung" {
		t.Errorf("%d links, and given up is %v", len(d.Links), d.Abandons)
	}
	ok(t, do(t, s, "decision_log", args{"type": "option", "title": "x"}))
	if c := g.logged[1].Node.Confidence; c != 50 {
		t.Errorf("confidence is %d when none is given, want 50", c)
	}
	g.fail = fault.New("graph/unknown-node", "there is no node d9").At("/links/0/to")
	if r := do(t, s, "decision_log", args{"type": "option", "title": "x", "links": []args{{"kind": "requires", "id": "d9"}}}); r.Code != "graph/unknown-node" {
		t.Errorf("a refusal of the graph: %s", r.Output)
	}
	for _, a := range []args{
		{"type": "idea", "title": "x"},
		{"title": "x"},
		{"type": "option"},
		{"type": "option", "title": "x", "confidence": 101},
		{"type": "option", "title": "x", "links": []args{{"kind": "likes", "id": "d1"}}},
		{"type": "option", "title": "x", "links": []args{{"kind": "chosen", "id": "4"}}},
	} {
		if r := do(t, s, "decision_log", a); r.Code != "tool/arguments" {
			t.Errorf("decision_log %v: %s", a, r.Output)
		}
	}
}

const (
	anOption = loomv1.DecisionType_DECISION_TYPE_OPTION
	isActive = loomv1.DecisionStatus_DECISION_STATUS_ACTIVE
)

func TestTOOL01_DecisionQuery(t *testing.T) {
	g := &graph{}
	s := tool.New(tool.Workspace{Root: t.TempDir()}, g)
	old := &loomv1.DecisionNode{
		Id: "d7", Type: anOption, Status: loomv1.DecisionStatus_DECISION_STATUS_SUPERSEDED, Confidence: 40,
		Title: "retry\nforever", Description: strings.Repeat("long ", 200),
	}
	young := &loomv1.DecisionNode{Id: "d8", Type: anOption, Status: isActive, Confidence: 80, Title: "give up"}
	link := &loomv1.DecisionEdge{From: "d8", To: "d7", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO, Rationale: "it\nhung"}
	both := &loomv1.GraphReply{Graph: &loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{old, young}, Edges: []*loomv1.DecisionEdge{link}}}
	for _, tt := range []struct {
		args  args
		asked *loomv1.GraphRequest
		reply *loomv1.GraphReply
		want  []string // in this order
	}{
		{args{}, &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_LIST, Limit: 20}, both, []string{"d8 option, active, 80%: give up\n", "d7 option, superseded, 40%: retry forever\n    long long", "d8 leads to d7: it hung\n"}},
		{args{"text": "retry", "type": "option", "status": "active"}, &loomv1.GraphRequest{
			Question: loomv1.GraphQuestion_GRAPH_QUESTION_SEARCH, Text: "retry", Type: anOption, Status: isActive, Limit: 20,
		}, both, []string{"d7", "d8"}},
		{args{"show": "around", "node": "d7", "depth": 2, "limit": 5}, &loomv1.GraphRequest{
			Question: loomv1.GraphQuestion_GRAPH_QUESTION_NEIGHBOURHOOD, Id: "d7", Depth: 2, Limit: 5,
		}, &loomv1.GraphReply{Graph: both.Graph, Cut: true}, []string{"[only 2 nodes are shown, and there are more; ask for less at a time]\n"}},
		{
			args{"show": "ancestors", "node": "d7"},
			&loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_ANCESTORS, Id: "d7", Limit: 20},
			&loomv1.GraphReply{},
			[]string{"nothing recorded matches\n"},
		},
		{args{"show": "descendants", "node": "d7"}, &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_DESCENDANTS, Id: "d7", Limit: 20}, both, []string{"d7"}},
		{
			args{"show": "context", "text": "retry"},
			&loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_CONTEXT, Text: "retry", Limit: 20},
			&loomv1.GraphReply{Context: &loomv1.DecisionContext{Text: "d1 goal (80%): x\n", LeftOut: 3}},
			[]string{"d1 goal (80%): x\n[3 more did not fit"},
		},
		{
			args{"show": "votes", "node": "d7"},
			&loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_BALLOTS, Id: "d7", Limit: 20},
			&loomv1.GraphReply{Ballots: []*loomv1.Ballot{{
				Decision: "d7", Status: loomv1.BallotStatus_BALLOT_STATUS_CLOSED, Rule: loomv1.VoteRule_VOTE_RULE_WEIGHTED, Voters: []string{"a", "b"}, Quorum: 2,
				Votes: []*loomv1.Vote{{Role: "a", Option: "d3", Confidence: 70, Rationale: "cheap"}}, Result: "d3", Reason: "70 against 0",
			}}},
			[]string{"d7: closed, weighted of a, b, quorum 2\n", "  a: d3 (70%) cheap\n", "  chosen: d3\n", "  because: 70 against 0\n"},
		},
		{
			args{"show": "votes", "node": "d7"},
			&loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_BALLOTS, Id: "d7", Limit: 20},
			&loomv1.GraphReply{},
			[]string{"there is no vote on this decision\n"},
		},
	} {
		g.reply, g.asked = proto.CloneOf(tt.reply), nil
		r := ok(t, do(t, s, "decision_query", tt.args))
		if len(g.asked) != 1 || !proto.Equal(g.asked[0], tt.asked) {
			t.Errorf("%v asks %v, want %v", tt.args, g.asked, tt.asked)
		}
		rest := r.Output
		for _, want := range tt.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("%v says\n%s\nwhich lacks, in order, %q", tt.args, r.Output, want)
			}
			rest = after
		}
	}
	for _, a := range []args{
		{"show": "around"},
		{"node": "d1"},
		{"show": "context", "node": "d1"},
		{"show": "around", "node": "d1", "type": "goal"},
		{"show": "ancestors", "node": "d1", "text": "x"},
		{"depth": 2},
		{"show": "context", "status": "active"},
		{"show": "around", "node": "1"},
		{"status": "gone"},
		{"limit": 101},
	} {
		if r := do(t, s, "decision_query", a); r.Code != "tool/arguments" {
			t.Errorf("decision_query %v: %s", a, r.Output)
		}
	}
	g.fail = fault.New("graph/unknown-node", "there is no such decision")
	if r := do(t, s, "decision_query", args{"show": "around", "node": "d99"}); r.Code != "graph/unknown-node" {
		t.Errorf("a refusal of the graph: %s", r.Output)
	}
	if r := do(t, tool.New(tool.Workspace{Root: t.TempDir()}, nil), "decision_query", args{}); r.Code != "tool/failed" {
		t.Errorf("without a graph: %s", r.Output)
	}
}

func TestTOOL01_DecisionQueryIsBounded(t *testing.T) {
	g := &graph{reply: &loomv1.GraphReply{Graph: &loomv1.DecisionGraph{}}}
	for i := range 1000 {
		g.reply.Graph.Nodes = append(g.reply.Graph.Nodes, &loomv1.DecisionNode{Id: fmt.Sprint("d", i+1), Title: "x", Description: strings.Repeat("long ", 200)})
		g.reply.Graph.Edges = append(g.reply.Graph.Edges, &loomv1.DecisionEdge{From: "d1", To: "d2", Rationale: strings.Repeat("long ", 100)})
	}
	s := tool.New(tool.Workspace{Root: t.TempDir()}, g)
	r := ok(t, do(t, s, "decision_query", args{"show": "around", "node": "d1"}))
	if len(r.Output) > 33<<10 {
		t.Errorf("%d bytes", len(r.Output))
	}
	says(t, r, "nodes are shown, and there are more", "links are not shown")
}

func TestTOOL01_DecisionVote(t *testing.T) {
	g := &graph{}
	s := tool.New(tool.Workspace{Root: t.TempDir()}, g)
	open := args{"decision": "d5", "options": []string{"d3", "d4"}, "voters": []string{"architect", "lead"}, "rule": "weighted", "quorum": 2, "minutes": 3}
	ok(t, do(t, s, "decision_ballot", open))
	want := &loomv1.Ballot{
		Decision: "d5", Options: []string{"d3", "d4"}, Voters: []string{"architect", "lead"}, Rule: loomv1.VoteRule_VOTE_RULE_WEIGHTED, Quorum: 2, Seconds: 180,
	}
	if !proto.Equal(g.opened[0], want) {
		t.Errorf("opened %v, want %v", g.opened[0], want)
	}
	ok(t, do(t, s, "decision_vote", args{"decision": "d5", "option": "d4", "why": "cheap"}))
	if v := g.votes[0]; v.Decision != "d5" || v.Vote.Option != "d4" || v.Vote.Confidence != 50 || v.Vote.Rationale != "cheap" || v.Vote.Role != "" {
		t.Errorf("voted %v", v)
	}
	for _, a := range []args{
		{"decision": "d5"},
		{"decision": "d5", "options": []string{"d3", "d4"}},
		{"decision": "d5", "options": []string{"d3"}, "voters": []string{"lead"}},
		{"decision": "d5", "options": []string{"d3", "d4"}, "voters": []string{"The Lead"}},
		{"decision": "d5", "options": []string{"d3", "d4"}, "voters": []string{"lead"}, "option": "d3"},
	} {
		if r := do(t, s, "decision_ballot", a); r.Code != "tool/arguments" {
			t.Errorf("decision_ballot %v: %s", a, r.Output)
		}
	}
	for _, a := range []args{
		{"decision": "d5"},
		{"decision": "d5", "option": "d3", "voters": []string{"lead"}},
		{"decision": "d5", "option": "d3", "role": "lead"},
	} {
		if r := do(t, s, "decision_vote", a); r.Code != "tool/arguments" {
			t.Errorf("decision_vote %v: %s", a, r.Output)
		}
	}
	g.fail = fault.New("graph/closed", "the ballot is decided")
	if r := do(t, s, "decision_vote", args{"decision": "d5", "option": "d3"}); r.Code != "graph/closed" || r.Status != loomv1.ToolStatus_TOOL_STATUS_ERROR {
		t.Errorf("a refusal of the graph: %v %s", r.Status, r.Output)
	}
}
