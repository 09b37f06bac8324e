package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Whatever is asked, in whatever order: edges join nodes that are there, no
// ordering type goes round, a node has at most one successor, and a decision
// changes nothing before it is applied.
func TestGRAPH03_Invariant25(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(rt *rapid.T) {
				cmd := &loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: anyType(rt), Title: "t", Confidence: rapid.Uint32Range(0, 102).Draw(rt, "confidence")}}
				for range rapid.IntRange(0, 4).Draw(rt, "links") {
					l := edge(w.anyID(rt), anyEdgeType(rt), "")
					if rapid.Bool().Draw(rt, "out") {
						l.From, l.To = l.To, l.From
					}
					cmd.Links = append(cmd.Links, l)
				}
				w.act(func() ([]*loomv1.Event, error) { return w.graph.Add(cmd) })
			},
			"link": func(rt *rapid.T) {
				e := edge(w.anyID(rt), anyEdgeType(rt), w.anyID(rt))
				e.Weight = rapid.SampledFrom([]float64{0, 0.5, 1, 1.5, math.NaN()}).Draw(rt, "weight")
				w.act(func() ([]*loomv1.Event, error) { return w.graph.Link(&loomv1.LinkDecision{Edge: e}) })
			},
			"supersede": func(rt *rapid.T) {
				cmd := &loomv1.SupersedeDecision{Old: w.anyID(rt), New: w.anyID(rt)}
				w.act(func() ([]*loomv1.Event, error) { return w.graph.Supersede(cmd) })
			},
			"abandon": func(rt *rapid.T) {
				cmd := giveUp(w.anyID(rt), rapid.SampledFrom([]string{"why not", "so it is", ""}).Draw(rt, "reason"))
				w.act(func() ([]*loomv1.Event, error) { return w.graph.Abandon(cmd) })
			},
			"restart": func(*rapid.T) { w.graph = mustRestore(rt, w.graph.Snapshot()) },
			"restart from pages": func(*rapid.T) {
				g, err := graph.RestorePaged(w.graph.Pages(), pageSize)
				if err != nil {
					rt.Fatalf("pages: %v", err)
				}
				if diff := same(w.graph.Snapshot(), g.Snapshot()); diff != "" {
					rt.Fatalf("pages are another graph: %s", diff)
				}
				w.graph = g
			},
			"": func(*rapid.T) {
				if err := check(w.graph.Snapshot()); err != nil {
					rt.Fatalf("%v", err)
				}
			},
		})
	})
}

// act decides, sees that nothing changed, and applies; or sees that a refusal
// is one that callers can expect.
func (w *world) act(decide func() ([]*loomv1.Event, error)) {
	before := w.graph.Snapshot()
	events, err := decide()
	if diff := same(before, w.graph.Snapshot()); diff != "" {
		w.t.Fatalf("deciding changed the graph: %s", diff)
	}
	if err == nil {
		w.take(events, nil)
		return
	}
	switch fault.Code(err) {
	case "graph/unknown-node", "graph/unknown-type", "graph/self-loop", "graph/cycle", "graph/confidence",
		"graph/superseded", "graph/abandoned", "graph/duplicate", "graph/invalid", "graph/closed", "graph/no-voter", "graph/voting":
	default:
		w.t.Fatalf("refused with %v", err)
	}
}

func (w *world) anyID(rt *rapid.T) string {
	return fmt.Sprintf("d%d", rapid.IntRange(0, len(w.graph.Snapshot().Nodes)+1).Draw(rt, "id"))
}

func anyType(rt *rapid.T) loomv1.DecisionType {
	return loomv1.DecisionType(rapid.Int32Range(0, 8).Draw(rt, "type"))
}

func anyEdgeType(rt *rapid.T) loomv1.DecisionEdgeType {
	return loomv1.DecisionEdgeType(rapid.SampledFrom([]int32{0, 1, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8}).Draw(rt, "edge"))
}

// A refusal is never too much: a link is refused as a cycle exactly when a way
// leads back by its type, told by a search of another sort.
func TestGRAPH03_ACycleIsRefusedExactlyThen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		n := rapid.IntRange(2, 12).Draw(rt, "nodes")
		for range n {
			w.add(decision, "n")
		}
		reach := make([][]bool, n+1)
		for i := range reach {
			reach[i] = make([]bool, n+1)
		}
		for range rapid.IntRange(1, 30).Draw(rt, "links") {
			i, j := rapid.IntRange(1, n).Draw(rt, "from"), rapid.IntRange(1, n).Draw(rt, "to")
			if i == j {
				continue
			}
			events, err := w.graph.Link(&loomv1.LinkDecision{Edge: edge(fmt.Sprintf("d%d", i), requires, fmt.Sprintf("d%d", j))})
			if got := fault.Code(err) == "graph/cycle"; got != reach[j][i] {
				rt.Fatalf("d%d -> d%d: %v, and a way back: %t", i, j, err, reach[j][i])
			}
			if err != nil {
				continue
			}
			w.take(events, nil)
			for a := range reach {
				for b := range reach {
					if (a == i || reach[a][i]) && (b == j || reach[j][b]) {
						reach[a][b] = true
					}
				}
			}
		}
	})
}

// Apply is total: events in any order, sound or not, never panic, change
// nothing when they are refused, and leave a state that a log can lead to.
func TestGRAPH03_ApplyIsTotal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := graph.New()
		for range rapid.IntRange(0, 40).Draw(rt, "events") {
			s := g.Snapshot()
			e := anyEvent(rt, len(s.Nodes), len(s.Edges))
			kept := proto.CloneOf(e)
			if err := g.Apply(e); err != nil && !proto.Equal(s, g.Snapshot()) {
				rt.Fatalf("refused %v (%v) and changed", e, err)
			}
			if !proto.Equal(kept, e) {
				rt.Fatalf("Apply changed its event: %v, was %v", e, kept)
			}
			if err := check(g.Snapshot()); err != nil {
				rt.Fatalf("after %v: %v", e, err)
			}
			mustRestore(rt, g.Snapshot())
		}
	})
}

// anyEvent draws a fact that often is the next of a graph with so many nodes
// and edges, and often is not.
func anyEvent(rt *rapid.T, nodes, edges int) *loomv1.Event {
	id := func(label string) string { return fmt.Sprintf("d%d", rapid.IntRange(0, nodes+1).Draw(rt, label)) }
	l := &loomv1.DecisionEdge{
		Id: uint64(edges + rapid.SampledFrom([]int{1, 1, 1, 1, 0, 2}).Draw(rt, "edge id")), From: id("from"), To: id("to"),
		Type: anyEdgeType(rt), Weight: rapid.SampledFrom([]float64{0, 1, -1}).Draw(rt, "weight"),
	}
	switch rapid.IntRange(0, 9).Draw(rt, "fact") {
	case 0, 1, 2:
		n := &loomv1.DecisionNode{
			Id: fmt.Sprintf("d%d", nodes+rapid.SampledFrom([]int{1, 1, 1, 0, 2}).Draw(rt, "node id")), Type: anyType(rt),
			Status: loomv1.DecisionStatus(rapid.Int32Range(-1, 4).Draw(rt, "status")), Confidence: rapid.Uint32Range(99, 101).Draw(rt, "confidence"),
		}
		return &loomv1.Event{Fact: &loomv1.Event_DecisionAdded{DecisionAdded: &loomv1.DecisionAdded{Node: n}}}
	case 3, 4, 5:
		return &loomv1.Event{Fact: &loomv1.Event_DecisionLinked{DecisionLinked: &loomv1.DecisionLinked{Edge: l}}}
	case 6, 7:
		l.Type = rapid.SampledFrom([]loomv1.DecisionEdgeType{supersedes, supersedes, leadsTo}).Draw(rt, "supersedes")
		return &loomv1.Event{Fact: &loomv1.Event_DecisionSuperseded{DecisionSuperseded: &loomv1.DecisionSuperseded{Old: l.To, New: l.From, Edge: l}}}
	case 8:
		return &loomv1.Event{Fact: &loomv1.Event_DecisionSuperseded{DecisionSuperseded: &loomv1.DecisionSuperseded{Old: id("old"), New: id("new"), Edge: l}}}
	}
	return rapid.SampledFrom([]*loomv1.Event{
		{},
		{Fact: &loomv1.Event_DecisionAdded{}},
		{Fact: &loomv1.Event_DecisionLinked{}},
		{Fact: &loomv1.Event_DecisionSuperseded{}},
		{Fact: &loomv1.Event_DecisionAbandoned{}},
		{Fact: &loomv1.Event_DecisionAbandoned{DecisionAbandoned: &loomv1.DecisionAbandoned{Id: id("gone")}}},
		{Fact: &loomv1.Event_DecisionLinked{DecisionLinked: &loomv1.DecisionLinked{}}},
		{Fact: &loomv1.Event_LockGranted{}},
	}).Draw(rt, "empty")
}

// openAny opens a vote on any decision and two options.
func (w *world) openAny(random *rand.Rand) {
	decisions, options := w.graph.List(graph.Filter{Type: decision, Status: active}), w.graph.List(graph.Filter{Type: option, Status: active})
	if len(decisions) == 0 || len(options) < 2 {
		return
	}
	i := random.IntN(len(options) - 1)
	b := &loomv1.Ballot{
		Decision: decisions[random.IntN(len(decisions))].Id, Options: []string{options[i].Id, options[i+1].Id},
		Voters: []string{"lead", "architect", "implementer"}, Rule: loomv1.VoteRule(random.IntN(5)), Seconds: 60,
	}
	w.act(func() ([]*loomv1.Event, error) { return w.graph.Open(noon, &loomv1.OpenBallot{Ballot: b}) })
}

// voteAny casts a vote of any role on any ballot that waits.
func (w *world) voteAny(random *rand.Rand) {
	waiting := w.graph.Ballots(true)
	if len(waiting) == 0 {
		return
	}
	b := waiting[random.IntN(len(waiting))]
	v := &loomv1.Vote{Role: b.Voters[random.IntN(3)], Option: b.Options[random.IntN(2)], Confidence: random.Uint32N(101), Rationale: "so"}
	w.act(func() ([]*loomv1.Event, error) {
		return w.graph.Vote(noon, &loomv1.CastVote{Decision: b.Decision, Vote: v})
	})
}

// Two graphs read one random log and never differ, and neither does one that
// is restored from a snapshot at every event.
func TestGRAPH07_Replay(t *testing.T) {
	longtest.Skip(t)
	const seed = 20260102
	random := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t)
	id := func() string { return fmt.Sprintf("d%d", 1+random.IntN(max(1, len(w.graph.Snapshot().Nodes)))) }
	for i := range 700 {
		switch random.IntN(8) {
		case 4:
			if id := id(); random.IntN(6) == 0 {
				w.act(func() ([]*loomv1.Event, error) { return w.graph.Abandon(giveUp(id, "why not")) })
			}
		case 5:
			w.openAny(random)
		case 6:
			w.voteAny(random)
		case 7:
			w.act(func() ([]*loomv1.Event, error) {
				return w.graph.TickBallots(noon.Add(time.Duration(i)*time.Second), 1), nil
			})
		case 0, 1:
			cmd := &loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: loomv1.DecisionType(1 + random.IntN(7)), Title: "t", Confidence: random.Uint32N(101)}}
			for range random.IntN(3) {
				cmd.Links = append(cmd.Links, from(id(), loomv1.DecisionEdgeType(1+random.IntN(6))))
			}
			w.act(func() ([]*loomv1.Event, error) { return w.graph.Add(cmd) })
		case 2, 3:
			e := edge(id(), loomv1.DecisionEdgeType(1+random.IntN(7)), id())
			w.act(func() ([]*loomv1.Event, error) { return w.graph.Link(&loomv1.LinkDecision{Edge: e}) })
		default:
			cmd := &loomv1.SupersedeDecision{Old: id(), New: id()}
			w.act(func() ([]*loomv1.Event, error) { return w.graph.Supersede(cmd) })
		}
	}
	closed := 0
	for _, b := range w.graph.Ballots(false) {
		if b.Status == loomv1.BallotStatus_BALLOT_STATUS_CLOSED {
			closed++
		}
	}
	if len(w.log) < 400 || closed < 3 || closed == len(w.graph.Ballots(false)) {
		t.Fatalf("seed %d: a log of %d events with %d of %d votes decided tells little", seed, len(w.log), closed, len(w.graph.Ballots(false)))
	}
	whole, pieces := graph.New(), graph.New()
	for _, e := range w.log {
		e = proto.CloneOf(e)
		if err := whole.Apply(e); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := pieces.Apply(e); err != nil {
			t.Fatalf("seed %d, restored before event %d: %v", seed, e.Number, err)
		}
		e.Actor.Name = "nothing of it may be kept"
		proto.Reset(e)
		if diff := same(whole.Snapshot(), pieces.Snapshot()); diff != "" {
			t.Fatalf("seed %d: after event %d the copies differ: %s", seed, e.Number, diff)
		}
		pieces = mustRestore(t, pieces.Snapshot())
	}
	if diff := same(w.graph.Snapshot(), whole.Snapshot()); diff != "" {
		t.Errorf("seed %d: replay is not what was live: %s", seed, diff)
	}
	if got, want := ids(pieces.List(graph.Filter{Bead: "demo-1", Type: goal})), ids(whole.List(graph.Filter{Bead: "demo-1", Type: goal})); got != want {
		t.Errorf("seed %d: restored, it lists %s, want %s", seed, got, want)
	}
}
