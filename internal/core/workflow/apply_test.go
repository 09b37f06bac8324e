package workflow_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func at(node string, e *loomv1.Event) *loomv1.Event {
	e.Node, e.Execution, e.Time = node, "p-1-x1", timestamppb.New(noon)
	return e
}

func of(attempt string, e *loomv1.Event) *loomv1.Event { e.Attempt = attempt; return e }

// An event that cannot follow from the state is refused and changes nothing.
func TestWF10_ApplyRefusesWhatCannotHaveHappened(t *testing.T) {
	const a1, a2 = "p-1-x1-a1", "p-1-x1-a2" // triage; what would be next
	for _, tt := range []struct {
		name string
		e    *loomv1.Event
		text string
	}{
		{"a second start", at("", &loomv1.Event{Fact: &loomv1.Event_ExecutionStarted{ExecutionStarted: &loomv1.ExecutionStarted{}}}), "cannot begin"},
		{"an edge again", at("start", &loomv1.Event{Fact: &loomv1.Event_EdgeSettled{EdgeSettled: &loomv1.EdgeSettled{Edge: "start-triage"}}}), "settled already"},
		{"an edge without a name", at("start", &loomv1.Event{Fact: &loomv1.Event_EdgeSettled{}}), "settled already"},
		{"a skip of what runs", at("triage", &loomv1.Event{Fact: &loomv1.Event_NodeSkipped{}}), "it is running"},
		{"the end of what runs", at("triage", &loomv1.Event{Fact: &loomv1.Event_NodeCompleted{}}), "it is running"},
		{"a node completed again", at("start", &loomv1.Event{Fact: &loomv1.Event_NodeCompleted{}}), "it is succeeded"},
		{"a second attempt beside the first", of(a2, at("triage", &loomv1.Event{Fact: &loomv1.Event_AttemptDispatched{
			AttemptDispatched: &loomv1.AttemptDispatched{Visit: 1, Number: 2},
		}})), "it is running"},
		{"an attempt out of turn", of("p-1-x1-a7", at("land", &loomv1.Event{Fact: &loomv1.Event_AttemptDispatched{
			AttemptDispatched: &loomv1.AttemptDispatched{Visit: 1, Number: 1},
		}})), "not its next"},
		{"an attempt of another visit", of(a2, at("land", &loomv1.Event{Fact: &loomv1.Event_AttemptDispatched{
			AttemptDispatched: &loomv1.AttemptDispatched{Visit: 2, Number: 1},
		}})), "not its next"},
		{"an empty dispatch", of(a2, at("land", &loomv1.Event{Fact: &loomv1.Event_AttemptDispatched{}})), "not its next"},
		{"a claim of no attempt", of(a2, at("triage", &loomv1.Event{Fact: &loomv1.Event_AttemptClaimed{}})), "not outstanding"},
		{"a claim under another generation", of(a1, at("triage", &loomv1.Event{Fact: &loomv1.Event_AttemptClaimed{
			AttemptClaimed: &loomv1.AttemptClaimed{Claimant: by("qa-engineer"), Generation: 2},
		}})), "not free"},
		{"a claim by nobody", of(a1, at("triage", &loomv1.Event{Fact: &loomv1.Event_AttemptClaimed{}})), "not free"},
		{"a release of what nobody holds", of(a1, at("triage", &loomv1.Event{Fact: &loomv1.Event_ClaimReleased{
			ClaimReleased: &loomv1.ClaimReleased{Generation: 2},
		}})), "queued anew"},
		{"a parking of what nobody holds", of(a1, at("triage", &loomv1.Event{Fact: &loomv1.Event_AttemptParked{}})), "cannot be parked"},
		{"an end without outcome", of(a1, at("triage", &loomv1.Event{Fact: &loomv1.Event_AttemptEnded{}})), "no outcome"},
		{"an end elsewhere", of(a1, at("land", &loomv1.Event{Fact: &loomv1.Event_AttemptEnded{}})), "not outstanding"},
		{"a backoff while it runs", at("triage", &loomv1.Event{Fact: &loomv1.Event_RetryScheduled{}}), "it is running"},
		{"a question while it runs", at("triage", &loomv1.Event{Fact: &loomv1.Event_ApprovalRequested{ApprovalRequested: &loomv1.ApprovalRequested{
			Approval: &loomv1.Approval{Id: "p-2", Node: "triage"},
		}}}), "while it is running"},
		{"a question without an id", at("land", &loomv1.Event{Fact: &loomv1.Event_ApprovalRequested{}}), "cannot be asked"},
		{"an answer to no question", at("triage", &loomv1.Event{Fact: &loomv1.Event_ApprovalDecided{}}), "not open"},
		{"a lapse of nothing", at("triage", &loomv1.Event{Fact: &loomv1.Event_ApprovalLapsed{}}), "covers nothing"},
		{"a rework over an open attempt", at("triage", &loomv1.Event{Fact: &loomv1.Event_ReworkStarted{ReworkStarted: &loomv1.ReworkStarted{
			To: "start", ResetNodes: []string{"start", "triage"},
		}}}), "cannot begin anew"},
		{"a rework to outside its part", at("triage", &loomv1.Event{Fact: &loomv1.Event_ReworkStarted{ReworkStarted: &loomv1.ReworkStarted{
			To: "start", ResetNodes: []string{"triage"},
		}}}), "send work back"},
		{"a rework of an open edge", at("triage", &loomv1.Event{Fact: &loomv1.Event_ReworkStarted{ReworkStarted: &loomv1.ReworkStarted{
			To: "start", ResetNodes: []string{"start"}, ResetEdges: []string{"land-end"},
		}}}), "not settled"},
		{"an end while something runs", at("", &loomv1.Event{Fact: &loomv1.Event_ExecutionEnded{ExecutionEnded: &loomv1.ExecutionEnded{
			Status: completed,
		}}}), "still open"},
		{"an end that goes on", at("", &loomv1.Event{Fact: &loomv1.Event_ExecutionEnded{ExecutionEnded: &loomv1.ExecutionEnded{
			Status: loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING,
		}}}), "no execution ends as running"},
		{"an end that is none", at("", &loomv1.Event{Fact: &loomv1.Event_ExecutionEnded{}}), "no execution ends"},
		{"another execution", &loomv1.Event{Execution: "p-1-x2", Time: timestamppb.New(noon), Fact: &loomv1.Event_NodeSkipped{}}, ""},
		{"no time", &loomv1.Event{Execution: "p-1-x1", Node: "land", Fact: &loomv1.Event_NodeSkipped{}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, autoBug(), nil)
			before := proto.CloneOf(w.x)
			err := workflow.Apply(w.x, tt.e)
			wantCode(t, "Apply", err, "workflow/inconsistent")
			if err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Apply: %v, want it to say %q", err, tt.text)
			}
			if !proto.Equal(before, w.x) {
				t.Error("the refused event changed the execution")
			}
		})
	}
}

func TestWF10_ApplyLeavesOthersEventsAlone(t *testing.T) {
	for _, e := range []*loomv1.Event{
		nil,
		{},
		{Fact: &loomv1.Event_BeadFiled{}},
		{Fact: &loomv1.Event_TurnStarted{}},
		{Fact: &loomv1.Event_ApprovalRefused{}},
		{Fact: &loomv1.Event_LockGranted{}},
	} {
		for _, x := range []*loomv1.Execution{nil, {}, bug(t, "land").x} {
			before := proto.CloneOf(x)
			if err := workflow.Apply(x, e); err != nil || !proto.Equal(before, x) {
				t.Errorf("Apply(%v) = %v, want nothing", e, err)
			}
		}
	}
}

// No event, however wrong, makes Apply panic: facts of one execution are
// thrown at the states of another, whole, emptied and with fields mixed up.
func TestWF10_ApplyNeverPanics(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	facts := bug(t, "").events
	for range 20_000 {
		x := &loomv1.Execution{}
		for _, e := range facts[:rng.IntN(len(facts))] {
			if err := workflow.Apply(x, e); err != nil {
				t.Fatal(err)
			}
		}
		e := proto.CloneOf(facts[rng.IntN(len(facts))])
		other := facts[rng.IntN(len(facts))]
		switch rng.IntN(4) {
		case 0:
			e.Node = other.Node
		case 1:
			e.Attempt = other.Attempt
		case 2:
			e.Fact = other.Fact
		case 3:
			empty(e)
		}
		_ = workflow.Apply(x, e) // whatever it says
	}
	_ = workflow.Apply(nil, facts[0])
	_ = workflow.Apply(nil, facts[3])
}

// empty leaves an event's fact, but with nothing in it.
func empty(e *loomv1.Event) {
	m := e.ProtoReflect()
	if field := m.WhichOneof(m.Descriptor().Oneofs().ByName("fact")); field != nil {
		m.Set(field, m.NewField(field))
	}
}

// A snapshot loses empty maps; the fold goes on from it all the same.
func TestWF10_FoldGoesOnFromASnapshot(t *testing.T) {
	live, restored := &loomv1.Execution{}, &loomv1.Execution{}
	for i, e := range bug(t, "").events {
		if err := workflow.Apply(live, e); err != nil {
			t.Fatal(err)
		}
		if err := workflow.Apply(restored, e); err != nil {
			t.Fatalf("event %d on the snapshot: %v", i+1, err)
		}
		restored = snapshot(t, restored)
		if !proto.Equal(live, restored) {
			t.Fatalf("after event %d the snapshot differs", i+1)
		}
	}
}

func snapshot(t testing.TB, x *loomv1.Execution) *loomv1.Execution {
	t.Helper()
	b, err := proto.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	y := &loomv1.Execution{}
	if err := proto.Unmarshal(b, y); err != nil {
		t.Fatal(err)
	}
	return y
}

func TestWF10_ModelCallsAreCounted(t *testing.T) {
	w := newWorld(t, autoBug(), nil)
	call := func(scripted, known bool, in, out, cost uint64) {
		a := &loomv1.ModelAnswer{Scripted: scripted, Usage: &loomv1.Usage{InputTokens: in, OutputTokens: out, CostMicroUsd: cost, CostKnown: known}}
		if err := w.emit(&loomv1.Event{Fact: &loomv1.Event_ModelAnswered{ModelAnswered: &loomv1.ModelAnswered{Answer: a}}}); err != nil {
			t.Fatal(err)
		}
	}
	call(false, true, 10, 2, 5)
	if w.x.Scripted || !w.x.Usage.CostKnown {
		t.Errorf("scripted = %t, usage = %v, want a real call of known cost", w.x.Scripted, w.x.Usage)
	}
	call(true, true, 1, 1, 0)
	call(false, false, 100, 20, 0)
	want := &loomv1.Usage{InputTokens: 111, OutputTokens: 23, CostMicroUsd: 5}
	if !proto.Equal(w.x.Usage, want) || w.x.ModelCalls != 3 || !w.x.Scripted {
		t.Errorf("usage = %v, calls = %d, scripted = %t; want %v, 3, true", w.x.Usage, w.x.ModelCalls, w.x.Scripted, want)
	}
}

func TestWF11_TransitionIsDefinedOnce(t *testing.T) {
	w := bug(t, "verify")
	w.answer(t, "verify", fault1(""))
	w.now = w.now.Add(1)
	w.take(t)
	w.due(t) // commit times out
	w.decide(t, "commit", retry, "")
	var got []string
	for _, e := range w.events {
		if from, to, why, is := workflow.Transition(e); is {
			got = append(got, from+" "+to+" "+why)
		}
	}
	check(t, strings.Join(got, "\n"), `
		start triage success
		triage investigate success
		investigate approve success
		approve commit approved
		commit verify success
		verify commit rework
		commit commit retry`)
	if int(w.x.Transitions) != len(got) {
		t.Errorf("transitions = %d, want %d", w.x.Transitions, len(got))
	}
}
