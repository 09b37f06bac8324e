package graph_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// pages exports a graph page by page.
func pages(t fatal, g *graph.Graph, limit, bytes int) *loomv1.DecisionGraph {
	t.Helper()
	whole := &loomv1.DecisionGraph{}
	for after, more := uint64(0), true; more; {
		part, next := g.Page(after, limit, bytes)
		if next != 0 && next <= after {
			t.Fatalf("after item %d comes item %d", after, next)
		}
		proto.Merge(whole, part)
		after, more = next, next != 0
	}
	return whole
}

// takeIn imports what was exported.
func (w *world) takeIn(from *loomv1.DecisionGraph, bytes int) error {
	parts, err := graph.Parts(from, bytes)
	if err != nil {
		return err
	}
	for _, part := range parts {
		w.act(func() ([]*loomv1.Event, error) { return w.graph.Import(noon, &loomv1.ImportDecisions{Part: part}) })
	}
	return nil
}

// grow does something to a graph, by chance.
func (w *world) grow(random *rand.Rand, i int) {
	nodes := len(w.graph.Snapshot().Nodes)
	id := func() string { return "d" + string(rune('1'+random.IntN(max(1, min(nodes, 9))))) }
	switch random.IntN(9) {
	case 0, 1, 2:
		n := &loomv1.DecisionNode{Type: loomv1.DecisionType(1 + random.IntN(7)), Title: "t", Description: "why", Confidence: random.Uint32N(101)}
		graph.SetScope(n, []string{"", "rounding"}[random.IntN(2)])
		w.act(func() ([]*loomv1.Event, error) { return w.graph.Add(&loomv1.AddDecision{Node: n}) })
	case 3, 4:
		e := edge(id(), loomv1.DecisionEdgeType(1+random.IntN(7)), id())
		e.Weight, e.Rationale = float64(random.IntN(3))/2, "so it seems"
		w.act(func() ([]*loomv1.Event, error) { return w.graph.Link(&loomv1.LinkDecision{Edge: e}) })
	case 5:
		gone := giveUp(id(), "why not")
		w.act(func() ([]*loomv1.Event, error) { return w.graph.Abandon(gone) })
	case 6:
		w.openAny(random)
	case 7:
		w.voteAny(random)
	default:
		w.act(func() ([]*loomv1.Event, error) {
			return w.graph.TickBallots(noon.Add(time.Duration(i)*time.Second), 1), nil
		})
	}
}

// What is exported and imported elsewhere is the same there, and so it is exported
// again; votes that were open go on there, if what they are on still counts.
func TestGRAPH06_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for i := range rapid.IntRange(0, 40).Draw(t, "steps") {
			w.grow(random, i*5)
		}
		bytes := rapid.IntRange(1, 4000).Draw(t, "bytes")
		from := pages(t, w.graph, rapid.IntRange(1, 20).Draw(t, "limit"), bytes)
		if diff := same(w.graph.Snapshot(), from); diff != "" {
			t.Fatalf("the pages are not the graph: %s", diff)
		}
		text, err := graph.JSON(from)
		if err != nil {
			t.Fatal(err)
		}
		read := &loomv1.DecisionGraph{}
		if err := protojson.Unmarshal([]byte(text), read); err != nil {
			t.Fatal(err)
		}
		there := newWorld(t)
		if err := there.takeIn(read, bytes); err != nil {
			t.Fatalf("%v, of\n%s", err, text)
		}
		asItGoesOn(from, there.graph)
		here := pages(t, there.graph, 100, 1<<20)
		byDecision(here.Ballots) // those of one part are opened after those that are closed
		if diff := same(from, here); diff != "" {
			t.Fatalf("imported, it differs (-there +here): %s", diff)
		}
		if err := check(there.graph.Snapshot()); err != nil {
			t.Fatal(err)
		}
		again := graph.New()
		for _, e := range there.log {
			if err := again.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		if diff := same(again.Snapshot(), mustRestore(t, there.graph.Snapshot()).Snapshot()); diff != "" {
			t.Fatalf("replayed and restored differ: %s", diff)
		}
	})
}

// asItGoesOn makes the ballots of an export what they are elsewhere, where that is
// as it should be: open to the same, with the same votes, and all the time again.
func asItGoesOn(from *loomv1.DecisionGraph, there *graph.Graph) {
	for _, b := range from.Ballots {
		if b.Status == loomv1.BallotStatus_BALLOT_STATUS_CLOSED {
			continue
		}
		now, _ := there.Ballot(b.Decision)
		b.OpenedBy, b.OpenedAt, b.Bead, b.Execution = now.GetOpenedBy(), now.GetOpenedAt(), "", ""
		if b.Until != nil {
			b.Until = timestamppb.New(noon.Add(time.Duration(b.Seconds) * time.Second))
		}
	}
	byDecision(from.Ballots)
}

func byDecision(ballots []*loomv1.Ballot) {
	slices.SortFunc(ballots, func(a, b *loomv1.Ballot) int { return cmp.Compare(a.Decision, b.Decision) })
}

// What comes from elsewhere gets numbers of its own, and is about no work here.
func TestGRAPH06_WhatIsImportedIsAboutElsewhere(t *testing.T) {
	from, w := story(t), story(t)
	before := ids(w.graph.List(graph.Filter{Bead: "demo-1"}))
	file := pages(t, from.graph, 100, 1<<20)
	parts, err := graph.Parts(file, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	w.act(func() ([]*loomv1.Event, error) { return w.graph.Import(noon, &loomv1.ImportDecisions{Part: parts[0]}) })
	n, ok := w.graph.Node("d9")
	if !ok || n.Title != file.Nodes[0].Title || n.Bead != "demo-1" || !n.Time.AsTime().Equal(file.Nodes[0].Time.AsTime()) || !w.graph.Imported("d9") || w.graph.Imported("d8") {
		t.Errorf("imported as %v", n)
	}
	if got := ids(w.graph.List(graph.Filter{Bead: "demo-1"})); got != before {
		t.Errorf("the bead here has %s, want %s", got, before)
	}
	if got := ids(w.graph.Search("payments", graph.Filter{Bead: "demo-1"})); got != "[d1]" {
		t.Errorf("found about the bead: %s", got)
	}
	if got := ids(w.graph.Search("payments", graph.Filter{})); got != "[d9 d1]" {
		t.Errorf("found: %s", got)
	}
	_, err = w.graph.Import(noon, &loomv1.ImportDecisions{Part: &loomv1.DecisionGraph{Edges: []*loomv1.DecisionEdge{edge("d1", leadsTo, "d9")}}})
	if fault.Code(err) != "graph/invalid" {
		t.Errorf("a link from what was here: %v", err)
	}
}

// A file that makes no sense is refused with its place, before anything is sent.
func TestGRAPH06_FilesThatCannotBeAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		spoil      func(*loomv1.DecisionGraph)
	}{
		{"an id twice", "graph/invalid at /nodes/1", func(g *loomv1.DecisionGraph) { g.Nodes[1].Id = "d1" }},
		{"no id", "graph/invalid at /nodes/1", func(g *loomv1.DecisionGraph) { g.Nodes[1].Id = "" }},
		{"a link to nowhere", "graph/unknown-node at /edges/0", func(g *loomv1.DecisionGraph) { g.Edges[0].To = "d99" }},
		{"to itself", "graph/self-loop at /part/edges/0", func(g *loomv1.DecisionGraph) { g.Edges[0].To = g.Edges[0].From }},
		{"in a circle", "graph/cycle at /part/edges/3", func(g *loomv1.DecisionGraph) {
			g.Edges[3] = edge("d3", leadsTo, "d1")
		}},
		{"a link twice", "graph/duplicate at /part/edges/1", func(g *loomv1.DecisionGraph) { g.Edges[1] = g.Edges[0] }},
		{"too sure", "graph/confidence at /part/nodes/2/confidence", func(g *loomv1.DecisionGraph) { g.Nodes[2].Confidence = 101 }},
		{"no title", "graph/invalid at /part/nodes/2/title", func(g *loomv1.DecisionGraph) { g.Nodes[2].Title = "" }},
		{"abandoned for nothing", "graph/invalid at /part/nodes/0/status", func(g *loomv1.DecisionGraph) { g.Nodes[0].Status = abandoned }},
		{"superseded by nothing", "graph/invalid at /nodes/2", func(g *loomv1.DecisionGraph) { g.Edges = g.Edges[:len(g.Edges)-1] }},
		{"superseded and said to be active", "graph/invalid at /nodes/2", func(g *loomv1.DecisionGraph) { g.Nodes[2].Status = active }},
		{"a vote on nothing", "graph/unknown-node at /ballots/0", func(g *loomv1.DecisionGraph) {
			g.Ballots = []*loomv1.Ballot{{Decision: "d77"}}
		}},
		{"a vote for nothing", "graph/invalid at /part/ballots/0", func(g *loomv1.DecisionGraph) {
			g.Ballots = []*loomv1.Ballot{{Decision: "d3", Options: []string{"d4"}, Result: "d5", Status: loomv1.BallotStatus_BALLOT_STATUS_CLOSED}}
		}},
		{"a voter who steers terminals", "graph/invalid at /part/ballots/0", func(g *loomv1.DecisionGraph) {
			g.Ballots = []*loomv1.Ballot{{Decision: "d3", Voters: []string{"\x1b[2J"}, Status: loomv1.BallotStatus_BALLOT_STATUS_CLOSED}}
		}},
		{"a time that is none", "graph/invalid at /part/nodes/1", func(g *loomv1.DecisionGraph) { g.Nodes[1].Time = &timestamppb.Timestamp{Seconds: 1 << 60} }},
		{"a link at a time that is none", "graph/invalid at /part/edges/1", func(g *loomv1.DecisionGraph) { g.Edges[1].Time = &timestamppb.Timestamp{Nanos: -1} }},
		{"a vote at a time that is none", "graph/invalid at /part/ballots/0", func(g *loomv1.DecisionGraph) {
			g.Ballots = []*loomv1.Ballot{{Decision: "d3", ClosedAt: &timestamppb.Timestamp{Seconds: -1 << 60}, Status: loomv1.BallotStatus_BALLOT_STATUS_CLOSED}}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := proto.CloneOf(story(t).graph.Snapshot())
			tt.spoil(file)
			_, err := graph.Parts(file, 1<<20)
			if got := fault.Code(err) + " at " + fault.From(err).Where; err == nil || got != tt.want {
				t.Errorf("%v; want %s", err, tt.want)
			}
		})
	}
	w := story(t)
	for name, part := range map[string]*loomv1.DecisionGraph{
		"nothing":        {},
		"nodes and more": {Nodes: w.graph.Snapshot().Nodes[:1], Edges: w.graph.Snapshot().Edges[:1]},
		"a state":        {Nodes: w.graph.Snapshot().Nodes[:1], Imported: []*loomv1.NodeSpan{{First: 1, Last: 1}}},
	} {
		if _, err := w.graph.Import(noon, &loomv1.ImportDecisions{Part: part}); fault.Code(err) != "graph/invalid" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A vote that was open goes on where it is imported, for whom it waited: it ends
// as it would have ended.
func TestGRAPH06_OpenVotesGoOnElsewhere(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(w *world)
		after  func(w *world)
		status loomv1.BallotStatus
		result string
	}{
		{"voters", func(w *world) { w.vote("architect", "d3", 80) }, func(w *world) { w.vote("implementer", "d3", 60) }, loomv1.BallotStatus_BALLOT_STATUS_OPEN, "d3"},
		{
			"the lead",
			func(w *world) { w.vote("architect", "d3", 80); w.vote("implementer", "d2", 60) },
			func(w *world) { w.vote("lead", "d4", 60) }, loomv1.BallotStatus_BALLOT_STATUS_LEAD, "d4",
		},
		{
			"the CEO",
			func(w *world) {
				w.vote("architect", "d3", 80)
				w.vote("implementer", "d2", 60)
				w.take(w.graph.TickBallots(noon.Add(time.Hour), 1), nil)
			},
			func(w *world) { w.take(w.graph.Settle("d1", "d2", "so be it")) }, loomv1.BallotStatus_BALLOT_STATUS_CEO, "d2",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, there := meeting(t, majority, 0, "architect", "implementer"), newWorld(t)
			tt.before(w)
			if err := there.takeIn(pages(t, w.graph, 100, 1<<20), 300); err != nil {
				t.Fatal(err)
			}
			was, b := w.ballot(), there.ballot()
			if b.Status != tt.status || len(b.Votes) != len(was.Votes) || b.Reason != was.Reason || b.Quorum != was.Quorum || b.Rule != was.Rule {
				t.Fatalf("it goes on as %v, and was %v", b, was)
			}
			for i, v := range b.Votes {
				if diff := same(&loomv1.DecisionGraph{Ballots: []*loomv1.Ballot{{Votes: []*loomv1.Vote{v}}}}, &loomv1.DecisionGraph{Ballots: []*loomv1.Ballot{{Votes: []*loomv1.Vote{was.Votes[i]}}}}); diff != "" {
					t.Errorf("a vote is another: %s", diff)
				}
			}
			if until := noon.Add(time.Minute); tt.status != loomv1.BallotStatus_BALLOT_STATUS_CEO && !b.Until.AsTime().Equal(until) {
				t.Errorf("it waits until %v, want %v", b.Until.AsTime(), until)
			}
			tt.after(there)
			if b := there.ballot(); b.Result != tt.result {
				t.Errorf("it ends as %v", b)
			}
			again := graph.New()
			for _, e := range there.log {
				if err := again.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			if diff := same(again.Snapshot(), there.graph.Snapshot()); diff != "" {
				t.Errorf("replayed, it differs: %s", diff)
			}
		})
	}
}

// An open vote that cannot go on is void where it is imported, and says why; one
// that nobody could have opened is refused when it is sent as it is.
func TestGRAPH06_OpenVotesThatCannotGoOn(t *testing.T) {
	for name, tt := range map[string]struct {
		want  string
		spoil func(g *loomv1.DecisionGraph)
	}{
		"d3 is superseded by d4": {"counts no more", func(g *loomv1.DecisionGraph) {
			g.Nodes[2].Status = superseded
			e := edge("d4", supersedes, "d3")
			e.Id = uint64(len(g.Edges) + 1)
			g.Edges = append(g.Edges, e)
		}},
		"d1 has chosen already": {"chosen already", func(g *loomv1.DecisionGraph) {
			e := edge("d1", chosen, "d3")
			e.Id = uint64(len(g.Edges) + 1)
			g.Edges = append(g.Edges, e)
		}},
		"each voter is a role, once": {"make no vote", func(g *loomv1.DecisionGraph) { g.Ballots[0].Voters[1] = "a b" }},
		`a vote of "tester" on d1`: {"make no vote", func(g *loomv1.DecisionGraph) {
			g.Ballots[0].Votes = append(g.Ballots[0].Votes, &loomv1.Vote{Role: "tester", Option: "d3"})
		}},
		`a vote of "architect" on d1`: {"make no vote", func(g *loomv1.DecisionGraph) {
			g.Ballots[0].Votes = append(g.Ballots[0].Votes, g.Ballots[0].Votes[0])
		}},
		"neither open nor decided": {"make no vote", func(g *loomv1.DecisionGraph) { g.Ballots[0].Quorum = 0 }},
		"a quorum of 3":            {"make no vote", func(g *loomv1.DecisionGraph) { g.Ballots[0].Quorum = 3 }},
	} {
		w, there := meeting(t, majority, 0, "architect", "implementer"), newWorld(t)
		w.vote("architect", "d3", 80)
		file := proto.CloneOf(pages(t, w.graph, 100, 1<<20))
		tt.spoil(file)
		if err := there.takeIn(file, 1<<20); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b := there.ballot()
		if b.Status != loomv1.BallotStatus_BALLOT_STATUS_CLOSED || b.Result != "" || !strings.HasPrefix(b.Reason, "it was open when it was exported, and cannot go on: ") || !strings.HasSuffix(b.Reason, tt.want) {
			t.Errorf("%s: it is %v", name, b)
		}
		there = newWorld(t)
		parts, err := graph.Parts(file, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts[:len(parts)-1] {
			there.act(func() ([]*loomv1.Event, error) { return there.graph.Import(noon, &loomv1.ImportDecisions{Part: part}) })
		}
		if _, err := there.graph.Import(noon, &loomv1.ImportDecisions{Part: &loomv1.DecisionGraph{Ballots: file.Ballots}}); err == nil {
			t.Errorf("%s: it is opened all the same", name)
		}
	}
}
