package graph_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	majority  = loomv1.VoteRule_VOTE_RULE_MAJORITY
	weighted  = loomv1.VoteRule_VOTE_RULE_WEIGHTED
	unanimous = loomv1.VoteRule_VOTE_RULE_UNANIMOUS
	lead      = loomv1.VoteRule_VOTE_RULE_LEAD
)

// meeting is a decision d1 with the options d2, d3 and d4, and a ballot.
func meeting(t fatal, rule loomv1.VoteRule, quorum uint32, voters ...string) *world {
	w := newWorld(t)
	w.add(decision, "how to round")
	for _, title := range []string{"at the end", "each line", "never"} {
		w.add(option, title, from("d1", leadsTo))
	}
	w.take(w.graph.Open(noon, &loomv1.OpenBallot{Ballot: &loomv1.Ballot{
		Decision: "d1", Options: []string{"d2", "d3", "d4"}, Rule: rule, Quorum: quorum, Voters: voters, Seconds: 60,
	}}))
	return w
}

func (w *world) vote(role, option string, confidence uint32) {
	w.t.Helper()
	w.take(w.graph.Vote(noon, &loomv1.CastVote{Decision: "d1", Vote: &loomv1.Vote{
		Role: role, Option: option, Confidence: confidence, Rationale: role + " says so",
	}}))
}

func (w *world) ballot() *loomv1.Ballot {
	b, ok := w.graph.Ballot("d1")
	if !ok {
		w.t.Fatalf("no ballot")
	}
	return b
}

// Each case is the votes ("role option confidence"), and what stands once
// everybody has voted or the voters' time is over.
func TestGRAPH05_TheRulesDecide(t *testing.T) {
	three := []string{"architect", "implementer", "qa-engineer"}
	for _, c := range []struct {
		name   string
		rule   loomv1.VoteRule
		quorum uint32
		votes  string
		want   string
	}{
		{"a majority", majority, 0, "architect d2 50, implementer d3 10, qa-engineer d2 100", "CLOSED d2: 2 of 3 votes"},
		{"the default is a majority", 0, 0, "architect d2 50, implementer d2 10", "CLOSED d2: 2 of 2 votes; without qa-engineer, who could not change that"},
		{"a plurality is none", majority, 0, "architect d2 50, implementer d3 10, qa-engineer d4 9", "LEAD : the votes decide nothing: d2 1, d3 1, d4 1"},
		{"weights", weighted, 0, "architect d2 40, implementer d2 45, qa-engineer d3 90", "CLOSED d3: 90 of confidence against 85"},
		{"equal weights", weighted, 0, "architect d2 40, implementer d2 50, qa-engineer d3 90", "LEAD : the votes decide nothing: d2 2, d3 1, d4 0"},
		{"unanimous", unanimous, 0, "architect d2 1, implementer d2 1, qa-engineer d2 1", "CLOSED d2: all 3 votes"},
		{"not unanimous", unanimous, 0, "architect d2 1, implementer d2 1, qa-engineer d3 1", "LEAD : the votes decide nothing: d2 2, d3 1, d4 0"},
		{"no longer unanimous", unanimous, 0, "architect d2 1, implementer d3 1", "LEAD : the votes decide nothing: d2 1, d3 1, d4 0; without qa-engineer, who could not change that"},
		{"weights that can be made up for", weighted, 0, "architect d2 100, implementer d3 1", "CLOSED d2: 100 of confidence against 1"},
		{"no quorum", majority, 3, "architect d2 1, implementer d2 1", "LEAD : 2 votes, and the quorum is 3"},
		{"nobody", majority, 0, "", "LEAD : 0 votes, and the quorum is 2"},
		{"the lead at once", lead, 0, "lead d4 70", "CLOSED d4: the lead decided: lead says so"},
		{"the lead against all", lead, 0, "architect d2 1, implementer d2 1, lead d3 5", "CLOSED d3: the lead decided: lead says so"},
		{"advice alone", lead, 0, "architect d2 1, implementer d2 1, qa-engineer d2 1", "LEAD : the lead has not voted"},
		{"a changed mind", majority, 0, "architect d2 50, architect d3 50, implementer d3 50", "CLOSED d3: 2 of 2 votes; without qa-engineer, who could not change that"},
	} {
		t.Run("GRAPH05 "+c.name, func(t *testing.T) {
			w := meeting(t, c.rule, c.quorum, three...)
			for v := range strings.SplitSeq(c.votes, ", ") {
				var role, option string
				var confidence uint32
				if n, _ := fmt.Sscanf(v, "%s %s %d", &role, &option, &confidence); n == 3 {
					w.vote(role, option, confidence)
				}
			}
			if w.ballot().Status == loomv1.BallotStatus_BALLOT_STATUS_OPEN {
				w.take(w.graph.TickBallots(noon.Add(time.Minute), 10), nil)
			}
			b := w.ballot()
			got := fmt.Sprintf("%s %s: %s", strings.TrimPrefix(b.Status.String(), "BALLOT_STATUS_"), b.Result, b.Reason)
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			checkLinks(t, w)
		})
	}
}

// A closed ballot has one chosen edge and a rejected one for each other
// option, each with a rationale; an open one has none.
func checkLinks(t fatal, w *world) {
	t.Helper()
	b := w.ballot()
	for _, o := range b.Options {
		edges := slices.DeleteFunc(w.graph.Edges("d1", o), func(e *loomv1.DecisionEdge) bool { return e.Type == leadsTo })
		want := rejected
		if o == b.Result {
			want = chosen
		}
		closed := b.Status == loomv1.BallotStatus_BALLOT_STATUS_CLOSED
		if closed && (len(edges) != 1 || edges[0].Type != want || edges[0].Rationale == "") || !closed && len(edges) > 0 {
			t.Fatalf("ballot is %s for %q, and %s has %v", b.Status, b.Result, o, edges)
		}
	}
}

func TestGRAPH05_TiesGoToTheLeadThenToTheCEO(t *testing.T) {
	w := meeting(t, majority, 0, "architect", "implementer")
	w.vote("architect", "d2", 50)
	w.vote("implementer", "d3", 50)
	if b := w.ballot(); b.Status != loomv1.BallotStatus_BALLOT_STATUS_LEAD {
		t.Fatalf("a tie waits for %s", b.Status)
	}
	for role, code := range map[string]string{"architect": "graph/closed", "stranger": "graph/no-voter"} {
		_, err := w.graph.Vote(noon, &loomv1.CastVote{Decision: "d1", Vote: &loomv1.Vote{Role: role, Option: "d4"}})
		if fault.From(err).Code != code {
			t.Errorf("%s after the tie: %v, want %s", role, err, code)
		}
	}
	if at, ok := w.graph.NextBallot(); !ok || !at.Equal(noon.Add(time.Minute)) {
		t.Errorf("next at %s (%t)", at, ok)
	}
	w.take(w.graph.TickBallots(noon.Add(time.Minute), 10), nil)
	if b := w.ballot(); b.Status != loomv1.BallotStatus_BALLOT_STATUS_CEO || b.Until != nil {
		t.Fatalf("a silent lead passes it to %s until %v", b.Status, b.Until)
	}
	if _, ok := w.graph.NextBallot(); ok {
		t.Error("the CEO has a deadline")
	}
	w.take(w.graph.Settle("d1", "d3", "fewer surprises"))
	if b := w.ballot(); b.Result != "d3" || b.Reason != "the CEO decided: fewer surprises" {
		t.Errorf("result %s: %s", b.Result, b.Reason)
	}
	checkLinks(t, w)
	if events, err := w.graph.Settle("d1", "d3", "again"); len(events) > 0 || err != nil {
		t.Errorf("the same again: %v, %v", events, err)
	}
	if _, err := w.graph.Settle("d1", "d2", "no"); fault.From(err).Code != "graph/closed" {
		t.Errorf("otherwise: %v", err)
	}
}

// The lead has the deciding vote: it is not one of the votes, unless the lead
// is a voter or the rule says that the lead decides.
func TestGRAPH05_TheLeadDoesNotVoteBeforeTheOthers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rule   loomv1.VoteRule
		voters []string
		code   string
	}{
		{"the others are asked first", majority, []string{"architect", "implementer"}, "graph/no-voter"},
		{"a lead who is a voter", majority, []string{"architect", graph.Lead}, ""},
		{"the lead's rule", lead, []string{"architect"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := meeting(t, tt.rule, 0, tt.voters...)
			_, err := w.graph.Vote(noon, &loomv1.CastVote{Decision: "d1", Vote: &loomv1.Vote{Role: graph.Lead, Option: "d2", Rationale: "r"}})
			if fault.Code(err) != tt.code {
				t.Errorf("the lead's vote: %v, want code %q", err, tt.code)
			}
		})
	}
}

// The fold refuses a second ballot where one waits or has decided; where one
// ended without a result, a new one may be opened.
func TestGRAPH05_TheFoldOpensADecisionOnce(t *testing.T) {
	again := func(w *world) error {
		b := proto.CloneOf(w.ballot())
		b.Status, b.Result, b.Reason, b.Votes = loomv1.BallotStatus_BALLOT_STATUS_OPEN, "", "", nil
		b.Until = timestamppb.New(noon.Add(time.Hour))
		before := w.graph.Snapshot()
		err := w.graph.Apply(&loomv1.Event{Fact: &loomv1.Event_BallotOpened{BallotOpened: &loomv1.BallotOpened{Ballot: b}}})
		if diff := same(before, w.graph.Snapshot()); err != nil && diff != "" {
			t.Errorf("a refused ballot changed the graph: %s", diff)
		}
		return err
	}
	w := meeting(t, majority, 0, "architect")
	if err := again(w); fault.Code(err) != "graph/inconsistent" {
		t.Errorf("while one waits: %v", err)
	}
	w.vote("architect", "d2", 90)
	if b := w.ballot(); b.Result != "d2" {
		t.Fatalf("the ballot has %v", b)
	}
	if err := again(w); fault.Code(err) != "graph/inconsistent" {
		t.Errorf("after one has decided: %v", err)
	}
}

func TestGRAPH05_BallotsThatCannotBeAreRefused(t *testing.T) {
	w := meeting(t, majority, 0, "architect")
	w.add(decision, "another")                                                                     // d5
	w.add(option, "old", from("d5", leadsTo))                                                      // d6
	w.add(option, "new", from("d5", leadsTo))                                                      // d7
	w.take(w.graph.Supersede(&loomv1.SupersedeDecision{Old: "d6", New: "d7", Rationale: "newer"})) // d6 no longer counts
	for _, c := range []struct {
		name, code string
		change     func(*loomv1.Ballot)
	}{
		{"unknown decision", "graph/unknown-node", func(b *loomv1.Ballot) { b.Decision = "d99" }},
		{"not a decision", "graph/invalid", func(b *loomv1.Ballot) { b.Decision = "d2" }},
		{"one option", "graph/invalid", func(b *loomv1.Ballot) { b.Options = b.Options[:1] }},
		{"unknown option", "graph/unknown-node", func(b *loomv1.Ballot) { b.Options[0] = "x" }},
		{"twice the same", "graph/invalid", func(b *loomv1.Ballot) { b.Options[0] = b.Options[1] }},
		{"superseded option", "graph/superseded", func(b *loomv1.Ballot) { b.Options[0] = "d6" }},
		{"unknown rule", "graph/unknown-type", func(b *loomv1.Ballot) { b.Rule = 9 }},
		{"no voters", "graph/invalid", func(b *loomv1.Ballot) { b.Voters = nil }},
		{"a voter twice", "graph/invalid", func(b *loomv1.Ballot) { b.Voters = []string{"a", "a"} }},
		{"a quorum that cannot be", "graph/invalid", func(b *loomv1.Ballot) { b.Quorum = 2 }},
		{"for ever", "graph/invalid", func(b *loomv1.Ballot) { b.Seconds = graph.MaxSeconds + 1 }},
	} {
		t.Run("GRAPH05 "+c.name, func(t *testing.T) {
			b := &loomv1.Ballot{Decision: "d5", Options: []string{"d7", "d4"}, Voters: []string{"architect"}}
			c.change(b)
			if _, err := w.graph.Open(noon, &loomv1.OpenBallot{Ballot: b}); fault.From(err).Code != c.code {
				t.Errorf("got %v, want %s", err, c.code)
			}
		})
	}
	same := &loomv1.Ballot{Decision: "d1", Options: []string{"d2", "d3", "d4"}, Voters: []string{"architect"}, Seconds: 60}
	if events, err := w.graph.Open(noon.Add(time.Hour), &loomv1.OpenBallot{Ballot: same}); len(events) > 0 || err != nil {
		t.Errorf("the same again: %v, %v", events, err)
	}
	same.Seconds = 61
	if _, err := w.graph.Open(noon, &loomv1.OpenBallot{Ballot: same}); fault.From(err).Code != "graph/duplicate" {
		t.Errorf("another on the same decision: %v", err)
	}
}

// A lead that votes last and decides nothing by that is asked to decide. That its vote
// comes again, because the answer was lost, is not its decision; what it says by
// another request is, once.
func TestGRAPH05_TheLeadsVoteThatComesTwiceDecidesNothing(t *testing.T) {
	w := meeting(t, majority, 0, "architect", graph.Lead)
	w.vote("architect", "d2", 50)
	cast := func(request string) int {
		events, err := w.graph.Vote(noon, &loomv1.CastVote{Decision: "d1", Request: request, Vote: &loomv1.Vote{Role: graph.Lead, Option: "d3", Confidence: 50}})
		if err != nil {
			t.Fatal(err)
		}
		w.take(events, nil)
		return len(events)
	}
	cast("r1")
	if w.ballot().Status != loomv1.BallotStatus_BALLOT_STATUS_LEAD {
		t.Fatalf("a tie goes to %s", w.ballot().Status)
	}
	if n := cast("r1"); n != 0 || w.ballot().Status != loomv1.BallotStatus_BALLOT_STATUS_LEAD {
		t.Errorf("the same vote again is %d facts, and the ballot %v", n, w.ballot())
	}
	if cast("r2"); w.ballot().Status != loomv1.BallotStatus_BALLOT_STATUS_CLOSED || w.ballot().Result != "d3" {
		t.Errorf("the lead has decided, and the ballot is %v", w.ballot())
	}
	if n := cast("r2"); n != 0 {
		t.Errorf("the decision again is %d facts", n)
	}
}

// A ballot ends early where nobody who is missing can change what comes of it, and
// only there: every way in which they vote, or do not, is tried.
func TestGRAPH05_ABallotEndsOnceItIsCertain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &loomv1.Ballot{
			Decision: "d1", Options: []string{"d2", "d3", "d4"}[:rapid.IntRange(2, 3).Draw(t, "options")],
			Voters: []string{"a", "b", "c", "d", "e"}[:rapid.IntRange(1, 5).Draw(t, "voters")],
			Rule:   rapid.SampledFrom([]loomv1.VoteRule{majority, weighted, unanimous}).Draw(t, "rule"),
		}
		b.Quorum = uint32(rapid.IntRange(1, len(b.Voters)).Draw(t, "quorum"))
		some := rapid.IntRange(1, len(b.Voters)).Draw(t, "cast")
		for _, role := range b.Voters[:some] {
			b.Votes = append(b.Votes, &loomv1.Vote{
				Role: role, Option: rapid.SampledFrom(b.Options).Draw(t, "option"), Confidence: rapid.SampledFrom([]uint32{0, 1, 50, 99, 100}).Draw(t, "confidence"),
			})
		}
		results := everyResult(b, b.Voters[some:])
		if certain := len(results) == 1; graph.Certain(b) != certain {
			t.Fatalf("that it is certain is said to be %t, and it can come to %v: %v", graph.Certain(b), slices.Sorted(maps.Keys(results)), b)
		}
	})
}

// everyResult is what a ballot can come to, whatever those do who have not voted:
// every way in which they vote, or do not.
func everyResult(b *loomv1.Ballot, missing []string) map[string]bool {
	results := map[string]bool{}
	var try func(b *loomv1.Ballot, missing []string)
	try = func(b *loomv1.Ballot, missing []string) {
		if len(missing) == 0 {
			results[graph.Count(b)] = true
			return
		}
		try(b, missing[1:])
		for _, o := range b.Options {
			for _, confidence := range []uint32{0, 100} {
				try(graph.WithVote(b, &loomv1.Vote{Role: missing[0], Option: o, Confidence: confidence}), missing[1:])
			}
		}
	}
	try(b, missing)
	return results
}

// A vote is over with the very vote that makes its result certain, by every rule, in
// whatever order roles vote; the lead's is, by its rule, as soon as the lead has voted.
func TestGRAPH05_TheVoteThatMakesItCertainEndsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roles := []string{"a", "b", "lead", "d", "e"}[:rapid.IntRange(1, 5).Draw(t, "voters")]
		rule := rapid.SampledFrom([]loomv1.VoteRule{majority, weighted, unanimous, lead}).Draw(t, "rule")
		w := meeting(t, rule, uint32(rapid.IntRange(0, len(roles)).Draw(t, "quorum")), roles...)
		order := rapid.Permutation(roles).Draw(t, "order")
		for i, role := range order {
			before := proto.CloneOf(w.ballot())
			v := &loomv1.Vote{Role: role, Option: rapid.SampledFrom(before.Options).Draw(t, "option"), Confidence: rapid.Uint32Range(0, 100).Draw(t, "confidence")}
			w.take(w.graph.Vote(noon, &loomv1.CastVote{Decision: "d1", Vote: v}))
			certain := len(everyResult(graph.WithVote(before, v), order[i+1:])) == 1
			if rule == lead {
				certain = role == "lead" || i == len(order)-1
			}
			if over := w.ballot().Status != loomv1.BallotStatus_BALLOT_STATUS_OPEN; over != certain {
				t.Fatalf("after %s the vote is over: %t, certain: %t: %v", role, over, certain, w.ballot())
			} else if over {
				return
			}
		}
	})
}

// Whatever is voted and however time passes: a decided ballot agrees with
// counting by hand, has its edges, and never changes; and a replay or a
// snapshot gives the same.
func TestGRAPH05_BallotsAgreeWithCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roles := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "voters")]
		rule := rapid.SampledFrom([]loomv1.VoteRule{majority, weighted, unanimous, lead}).Draw(t, "rule")
		w := meeting(t, rule, uint32(rapid.IntRange(0, len(roles)).Draw(t, "quorum")), roles...)
		now, was := noon, ""
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				now = now.Add(40 * time.Second)
				w.take(w.graph.TickBallots(now, 10), nil)
			} else {
				events, err := w.graph.Vote(now, &loomv1.CastVote{Decision: "d1", Vote: &loomv1.Vote{
					Role:       rapid.SampledFrom([]string{"a", "b", "c", "d", "lead"}).Draw(t, "role"),
					Option:     rapid.SampledFrom([]string{"d2", "d3", "d4", "d1"}).Draw(t, "option"),
					Confidence: rapid.Uint32Range(0, 101).Draw(t, "confidence"),
				}})
				if err == nil {
					w.take(events, nil)
				}
			}
			b := w.ballot()
			if was != "" && b.Result != was {
				t.Fatalf("the result went from %s to %s", was, b.Result)
			}
			if was == "" && b.Result != "" && !strings.Contains(b.Reason, "lead") {
				if want := counted(b); want != b.Result {
					t.Fatalf("result %s (%s), counting by hand gives %q of %v", b.Result, b.Reason, want, b.Votes)
				}
			}
			was = b.Result
			checkLinks(t, w)
		}
		restored, err := graph.Restore(proto.CloneOf(w.graph.Snapshot()))
		if err != nil || !proto.Equal(restored.Snapshot(), w.graph.Snapshot()) {
			t.Fatalf("restored differs: %v", err)
		}
		again := graph.New()
		for _, e := range w.log {
			if err := again.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		if !proto.Equal(again.Snapshot(), w.graph.Snapshot()) {
			t.Fatal("replayed differs")
		}
	})
}

// counted is the option that the votes of a ballot choose, the slow way.
func counted(b *loomv1.Ballot) string {
	votes, weight := map[string]int{}, map[string]int{}
	for _, v := range b.Votes {
		votes[v.Option]++
		weight[v.Option] += int(v.Confidence)
	}
	for _, o := range slices.Sorted(maps.Keys(votes)) {
		others, heavier := 0, true
		for _, other := range b.Options {
			if other != o {
				others += votes[other]
				heavier = heavier && weight[o] > weight[other]
			}
		}
		if b.Rule == majority && votes[o] > others || b.Rule == unanimous && others == 0 || b.Rule == weighted && heavier {
			return o
		}
	}
	return ""
}
