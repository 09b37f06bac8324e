package graph_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func giveUp(id, reason string) *loomv1.AbandonDecision {
	return &loomv1.AbandonDecision{Id: id, Reason: reason}
}

func TestGRAPH01_WhatIsGivenUpStaysAndCountsNoMore(t *testing.T) {
	w := story(t)
	events := w.take(w.graph.Abandon(giveUp("d7", "nobody pays in tenths")))
	n, _ := w.graph.Node("d7")
	if n.Status != abandoned || n.Abandoned.GetReason() != "nobody pays in tenths" || n.Abandoned.By.GetName() != "architect/1@h1" || !n.Abandoned.At.AsTime().Equal(events[0].Time.AsTime()) {
		t.Errorf("given up, it is %v", n)
	}
	if n.Author == nil || n.Title != "use a decimal type" {
		t.Errorf("what it was is lost: %v", n)
	}
	if c := w.graph.Context(graph.Work{Bead: "demo-1"}, 1000); strings.Contains(c.Text, "use a decimal type") {
		t.Errorf("an agent is still told:\n%s", c.Text)
	}
	if got := w.graph.Stale()["d8"]; got != "d7" {
		t.Errorf("what it led to is stale by %q", got)
	}
	if text := graph.Text(w.graph.Snapshot(), nil); !strings.Contains(text, "~~use a decimal type~~ (80%) (abandoned: nobody pays in tenths)") {
		t.Errorf("as a tree:\n%s", text)
	}
	told := ""
	for _, l := range w.graph.Narrative("d7").Lines {
		if l.Node == "d7" {
			told = l.Text
		}
	}
	if !strings.HasSuffix(told, "; given up by architect/1, because nobody pays in tenths") {
		t.Errorf("told as %q", told)
	}
	if p := w.graph.Pulse(noon, 0); p.Statuses["abandoned"] != 1 {
		t.Errorf("the pulse counts %v", p.Statuses)
	}
}

func TestGRAPH03_Abandon(t *testing.T) {
	w := story(t)
	w.take(w.graph.Abandon(giveUp("d5", "too slow")))
	for _, tt := range []struct {
		name, id, reason string
		want             string
		events           int
	}{
		{"what counts", "d4", "why not", "", 1},
		{"a goal", "d1", "why not", "", 1},
		{"the same again", "d5", "too slow", "", 0},
		{"for another reason", "d5", "too dear", "graph/abandoned at /id", 0},
		{"what is superseded", "d3", "why not", "graph/superseded at /id", 0},
		{"what is not there", "d9", "why not", "graph/unknown-node at /id", 0},
		{"without a reason", "d4", " \n", "graph/invalid at /reason", 0},
		{"at length", "d4", strings.Repeat("x", graph.MaxRationale+1), "graph/invalid at /reason", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, err := w.graph.Abandon(giveUp(tt.id, tt.reason))
			got := ""
			if err != nil {
				got = fault.Code(err) + " at " + fault.From(err).Where
			}
			if got != tt.want || len(events) != tt.events {
				t.Errorf("Abandon = %d events, %s (%v); want %d, %s", len(events), got, err, tt.events, tt.want)
			}
		})
	}
	for name, cmd := range map[string]*loomv1.SupersedeDecision{"superseding it": {Old: "d5", New: "d8"}, "superseding by it": {Old: "d8", New: "d5"}} {
		if _, err := w.graph.Supersede(cmd); fault.Code(err) != "graph/abandoned" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a new decision gives up goes with it, all or none.
func TestGRAPH03_AbandonWithANewOne(t *testing.T) {
	w := story(t)
	add := func(links []*loomv1.DecisionEdge, gone ...*loomv1.AbandonDecision) ([]*loomv1.Event, error) {
		return w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: observation, Title: "both fail"}, Links: links, Abandons: gone})
	}
	for where, gone := range map[string][]*loomv1.AbandonDecision{
		"graph/unknown-node at /abandons/1/id": {giveUp("d4", "no"), giveUp("d99", "no")},
		"graph/invalid at /abandons/0/reason":  {giveUp("d4", "")},
		"graph/invalid at /abandons/1/id":      {giveUp("d4", "no"), giveUp("d4", "never")},
		"graph/invalid at /abandons/0/id":      {giveUp("d7", "superseded as well")},
	} {
		_, err := add([]*loomv1.DecisionEdge{to(supersedes, "d7")}, gone...)
		if got := fault.Code(err) + " at " + fault.From(err).Where; got != where {
			t.Errorf("%s: %v", where, err)
		}
	}
	w.take(add(nil, giveUp("d4", "it fails"), giveUp("d7", "it fails"), giveUp("d4", "it fails")))
	for _, id := range []string{"d4", "d7"} {
		if n, _ := w.graph.Node(id); n.Status != abandoned {
			t.Errorf("%s is %s", id, n.Status)
		}
	}
}

// TestGRAPH05_AVoteOnWhatIsGivenUpIsVoid has the vote end without a result,
// whichever part of it is given up, and once; what is left may be voted on anew.
func TestGRAPH05_AVoteOnWhatIsGivenUpIsVoid(t *testing.T) {
	for _, id := range []string{"d1", "d3"} {
		t.Run(id, func(t *testing.T) {
			w := meeting(t, majority, 0, "architect", "implementer")
			w.take(w.graph.Vote(noon, &loomv1.CastVote{Decision: "d1", Vote: &loomv1.Vote{Role: "architect", Option: "d3", Confidence: 80}}))
			events := w.take(w.graph.Abandon(giveUp(id, "no longer wanted")))
			b := w.ballot()
			if len(events) != 2 || b.Status != loomv1.BallotStatus_BALLOT_STATUS_CLOSED || b.Result != "" || b.Reason != id+" was given up: no longer wanted" || b.ClosedAt == nil {
				t.Fatalf("%d events, the ballot is %v", len(events), b)
			}
			if e := w.graph.Edges("d1", "d3"); len(e) != 1 {
				t.Errorf("it was decided all the same: %s", arrows(e))
			}
			if _, ok := w.graph.NextBallot(); ok || len(w.graph.TickBallots(noon.Add(time.Hour), 9)) > 0 {
				t.Error("it still waits")
			}
			vote := &loomv1.CastVote{Decision: "d1", Vote: &loomv1.Vote{Role: "implementer", Option: "d2"}}
			if _, err := w.graph.Vote(noon, vote); fault.Code(err) != "graph/closed" || !strings.Contains(err.Error(), "void") {
				t.Errorf("a vote on it: %v", err)
			}
			if _, err := w.graph.Settle("d1", "d2", ""); fault.Code(err) != "graph/closed" {
				t.Errorf("settled by the CEO: %v", err)
			}
			_, err := w.graph.Open(noon, &loomv1.OpenBallot{Ballot: &loomv1.Ballot{Decision: "d1", Options: []string{"d2", "d3"}, Voters: []string{"architect"}}})
			if fault.Code(err) != "graph/abandoned" {
				t.Errorf("opened with what was given up: %v", err)
			}
			if id == "d1" {
				return
			}
			w.take(w.graph.Open(noon, &loomv1.OpenBallot{Ballot: &loomv1.Ballot{Decision: "d1", Options: []string{"d2", "d4"}, Voters: []string{"architect"}}}))
			w.take(w.graph.Vote(noon, &loomv1.CastVote{Decision: "d1", Vote: &loomv1.Vote{Role: "architect", Option: "d4", Confidence: 80}}))
			if b := w.ballot(); b.Result != "d4" || len(b.Votes) != 1 {
				t.Errorf("voted on anew, it is %v", b)
			}
			if again := mustRestore(t, w.graph.Snapshot()).Snapshot(); same(again, w.graph.Snapshot()) != "" {
				t.Errorf("restored differs: %s", same(again, w.graph.Snapshot()))
			}
		})
	}
}

// A vote on what is superseded is void as well, however that is done: else its
// result would rest on what counts no more.
func TestGRAPH05_AVoteOnWhatIsSupersededIsVoid(t *testing.T) {
	better := &loomv1.DecisionNode{Type: option, Title: "in tenths"}
	for name, replace := range map[string]func(w *world, id string) ([]*loomv1.Event, error){
		"supersede": func(w *world, id string) ([]*loomv1.Event, error) {
			return w.graph.Supersede(&loomv1.SupersedeDecision{Old: id, New: w.add(option, "in tenths"), Rationale: "it is exact"})
		},
		"link": func(w *world, id string) ([]*loomv1.Event, error) {
			e := edge(w.add(option, "in tenths"), supersedes, id)
			e.Rationale = "it is exact"
			return w.graph.Link(&loomv1.LinkDecision{Edge: e})
		},
		"add": func(w *world, id string) ([]*loomv1.Event, error) {
			e := to(supersedes, id)
			e.Rationale = "it is exact"
			return w.graph.Add(&loomv1.AddDecision{Node: better, Links: []*loomv1.DecisionEdge{e}})
		},
		"add, and give up another": func(w *world, id string) ([]*loomv1.Event, error) {
			e := to(supersedes, id)
			e.Rationale = "it is exact"
			return w.graph.Add(&loomv1.AddDecision{Node: better, Links: []*loomv1.DecisionEdge{e}, Abandons: []*loomv1.AbandonDecision{giveUp("d4", "never")}})
		},
	} {
		for _, id := range []string{"d1", "d3"} {
			t.Run(name+" "+id, func(t *testing.T) {
				w := meeting(t, majority, 0, "architect", "implementer")
				w.vote("architect", "d3", 80)
				ended := 0
				for _, e := range w.take(replace(w, id)) {
					if e.GetBallotClosed() != nil {
						ended++
					}
				}
				if b := w.ballot(); ended != 1 || b.Status != loomv1.BallotStatus_BALLOT_STATUS_CLOSED || b.Result != "" {
					t.Fatalf("it ended %d times and is %v", ended, b)
				}
				if b := w.ballot(); name != "add, and give up another" && b.Reason != id+" was superseded by d5: it is exact" {
					t.Errorf("the reason is %q", b.Reason)
				}
				if n, _ := w.graph.Node(id); n.Status != superseded {
					t.Errorf("%s is %s", id, n.Status)
				}
				if len(w.graph.TickBallots(noon.Add(time.Hour), 9)) > 0 {
					t.Error("it still waits")
				}
			})
		}
	}
}

// While a vote is open nobody chooses or rejects beside it.
func TestGRAPH05_NothingIsChosenBesideAVote(t *testing.T) {
	w := meeting(t, majority, 0, "architect")
	for _, e := range []*loomv1.DecisionEdge{edge("d1", chosen, "d3"), edge("d1", rejected, "d2")} {
		if _, err := w.graph.Link(&loomv1.LinkDecision{Edge: e}); fault.Code(err) != "graph/voting" || fault.From(err).Where != "/edge/from" {
			t.Errorf("%s: %v", e.Type, err)
		}
		e.To = ""
		if _, err := w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: option, Title: "a fourth"}, Links: []*loomv1.DecisionEdge{e}}); fault.Code(err) != "graph/voting" {
			t.Errorf("%s a new one: %v", e.Type, err)
		}
	}
	w.take(w.graph.Link(&loomv1.LinkDecision{Edge: edge("d1", leadsTo, "d4")}))
	w.add(decision, "another chooses", to(chosen, "d3"))
	w.vote("architect", "d3", 80)
	w.take(w.graph.Link(&loomv1.LinkDecision{Edge: edge("d1", chosen, "d2")}))
}

func TestGRAPH05_VotersAreRoles(t *testing.T) {
	w := newWorld(t)
	w.add(decision, "how to round")
	w.add(option, "at the end")
	w.add(option, "each line")
	for _, voter := range []string{"", "-a", "_a", "a b", "a,b", "Lead", "\x1b[2J", "a\n", "ä", strings.Repeat("a", 65)} {
		_, err := w.graph.Open(noon, &loomv1.OpenBallot{Ballot: &loomv1.Ballot{Decision: "d1", Options: []string{"d2", "d3"}, Voters: []string{"lead", voter}}})
		if fault.Code(err) != "graph/invalid" || fault.From(err).Where != "/ballot/voters/1" {
			t.Errorf("%q: %v", voter, err)
		}
	}
}
