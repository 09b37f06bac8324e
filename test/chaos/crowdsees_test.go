package chaos

import (
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/test/play"
)

// events are those of a story that the cores were taken through.
func events(story func(*play.Shop)) []*loomv1.Event {
	var list []*loomv1.Event
	s := play.Open("shop", 0, func(b *loomv1.Batch) {
		for _, e := range b.Events {
			list = append(list, proto.CloneOf(e))
		}
	})
	story(s)
	s.Flush()
	return list
}

// first returns where the first event is that ok wants.
func first(list []*loomv1.Event, ok func(*loomv1.Event) bool) int {
	return slices.IndexFunc(list, ok)
}

// again has the first event that ok wants a second time, behind the one that it
// stands for.
func again(ok func(*loomv1.Event) bool) func([]*loomv1.Event) []*loomv1.Event {
	return func(list []*loomv1.Event) []*loomv1.Event {
		i := first(list, ok)
		return slices.Insert(list, i+1, proto.CloneOf(list[i]))
	}
}

// without leaves out the first event that ok wants.
func without(ok func(*loomv1.Event) bool) func([]*loomv1.Event) []*loomv1.Event {
	return func(list []*loomv1.Event) []*loomv1.Event {
		i := first(list, ok)
		return slices.Delete(list, i, i+1)
	}
}

func moved(e *loomv1.Event) bool      { return e.GetExecutionMoved() != nil }
func dispatched(e *loomv1.Event) bool { return e.GetAttemptDispatched() != nil }
func claimed(e *loomv1.Event) bool    { return e.GetAttemptClaimed() != nil }
func attempted(e *loomv1.Event) bool  { return e.GetAttemptEnded() != nil }
func answered(e *loomv1.Event) bool   { return e.GetApprovalDecided() != nil }
func closed(e *loomv1.Event) bool {
	return e.GetBeadStatusChanged().GetStatus() == loomv1.BeadStatus_BEAD_STATUS_CLOSED
}

// The auditor finds nothing in what the cores do, and can fail: each of these
// would be found.
func TestWF10_AuditorSeesWhatIsWrong(t *testing.T) {
	longtest.Skip(t)
	audited := func(list []*loomv1.Event) *auditor {
		a := newAuditor()
		for _, e := range list {
			a.add(e)
		}
		a.end()
		return a
	}
	stories := map[string]func(*play.Shop){"paused": play.Paused, "overridden": play.Overridden, "nested": play.Nested, "escalation": play.Escalation, "linked": play.Linked}
	for name, story := range stories {
		if name == "linked" { // it reopens a bead, which nobody does here
			continue
		}
		if problems := audited(events(story)).problems; len(problems) > 0 {
			t.Errorf("%s: %q", name, problems)
		}
	}
	for _, tt := range []struct {
		name, story string
		harm        func([]*loomv1.Event) []*loomv1.Event
		want        string
	}{
		{"an event lost", "nested", without(dispatched), "event "},
		{"an attempt dispatched twice", "nested", again(dispatched), "is dispatched beside"},
		{"an attempt claimed twice", "nested", again(claimed), "is claimed while it is held"},
		{"an attempt ended twice", "nested", again(attempted), "not outstanding"},
		{"an attempt never ended", "nested", without(attempted), "outstanding"},
		{"an attempt too many", "escalation", without(answered), "is number 4 in visit 1"},
		{"an answer twice", "escalation", again(answered), "is answered twice"},
		{"a nonce twice", "overridden", again(func(e *loomv1.Event) bool { return e.GetOverrideGiven() != nil }), "is the second of nonce"},
		{"a move without an order", "overridden", without(func(e *loomv1.Event) bool { return e.GetOverrideGiven().GetVerb() == "move" }), "does move of"},
		{"a move twice", "overridden", again(moved), "carried out before true"},
		{"a bead filed twice", "nested", again(func(e *loomv1.Event) bool { return e.GetBeadFiled() != nil }), "is filed twice"},
		{"an execution begun twice", "nested", again(func(e *loomv1.Event) bool { return e.GetExecutionStarted() != nil }), "begins twice"},
		{"a bead that is not closed", "nested", func(l []*loomv1.Event) []*loomv1.Event {
			i := len(l) - 1
			for !closed(l[i]) {
				i--
			}
			return slices.Delete(l, i, i+1)
		}, "and its bead is"},
		{"a blocker that is not closed", "linked", without(closed), "is not closed"},
		{"work in a pause", "paused", func(l []*loomv1.Event) []*loomv1.Event {
			i := first(l, func(e *loomv1.Event) bool {
				return e.GetWorkResumed().GetScope() == loomv1.PauseScope_PAUSE_SCOPE_PROJECT
			})
			e := l[i]
			return append(slices.Delete(l, i, i+1), e)
		}, "while all work is paused"},
		{"work after the end", "nested", func(l []*loomv1.Event) []*loomv1.Event {
			return append(l, proto.CloneOf(l[first(l, claimed)]))
		}, "which has ended"},
		{"an execution that hangs", "nested", without(func(e *loomv1.Event) bool { return e.GetExecutionEnded() != nil }), "is running"},
		{"a claim given back for no reason", "nested", func(l []*loomv1.Event) []*loomv1.Event {
			i := first(l, claimed)
			e := proto.CloneOf(l[i])
			e.Fact = &loomv1.Event_ClaimReleased{ClaimReleased: &loomv1.ClaimReleased{Reason: "it is late"}}
			return slices.Insert(l, i+1, e)
		}, "is given back: it is late"},
	} {
		if problems := audited(tt.harm(events(stories[tt.story]))).problems; !strings.Contains(strings.Join(problems, "\n"), tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, problems, tt.want)
		}
	}
}

// What agents did and what was promised are held against the journal.
func TestWF10_AuditorHoldsPromises(t *testing.T) {
	a := newAuditor()
	for i, goal := range []string{"order 0001", "order 0002", "order 0002"} {
		a.filed(&loomv1.Event{}, &loomv1.Bead{Id: describe(i), Goal: goal, Type: loomv1.BeadType_BEAD_TYPE_TASK})
	}
	a.attempts["done"] = &auditAttempt{claims: []uint64{1, 3}, ended: &loomv1.AttemptEnded{Outcome: &loomv1.Outcome{}}}
	a.overrides["move"] = 1
	a.orders([]*promise{
		{order: &loomv1.Submission{Goal: "order 0001", BlockedBy: []string{"b"}}},
		{order: &loomv1.Submission{Goal: "order 0001"}, bead: "another"},
		{order: &loomv1.Submission{Goal: "order 0002"}},
		{order: &loomv1.Submission{Goal: "order 0003"}},
	})
	a.ledger(map[string][]uint64{"done": {1, 1}, "strange": {1}})
	a.ledger(nil)
	a.commands(map[string]int{"move": 2}, map[string]int{"move": 2})
	a.commands(map[string]int{}, map[string]int{})
	want := []string{
		"order 0001 is blocked by [], and was to be by [b]",
		"order 0001 was acknowledged as bead another and is order 0000",
		"order 0002 was acknowledged and has 2 beads",
		"order 0003 was acknowledged and has 0 beads",
		"4 orders were acknowledged, 2 are filed",
		"attempt done was run at starts [1 1], and claimed at [1 3]",
		"attempt strange was run, and never dispatched",
		"attempt done was answered, and never run",
		"1 orders to move were given; 2 were acknowledged, of 2",
		"1 orders to move were given; 0 were acknowledged, of 0",
	}
	if !slices.Equal(a.problems, want) {
		t.Errorf("%q, want %q", a.problems, want)
	}
}
