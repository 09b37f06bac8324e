package workflow_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (w *world) pause(t testing.TB) {
	t.Helper()
	p := &loomv1.Pause{Scope: loomv1.PauseScope_PAUSE_SCOPE_EXECUTION, Name: w.x.Id, Since: timestamppb.New(w.now)}
	if err := w.emit(&loomv1.Event{Fact: &loomv1.Event_WorkPaused{WorkPaused: &loomv1.WorkPaused{Pause: p}}}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) resume(t testing.TB) {
	t.Helper()
	f := &loomv1.WorkResumed{Scope: loomv1.PauseScope_PAUSE_SCOPE_EXECUTION, Name: w.x.Id}
	if err := w.emit(&loomv1.Event{Fact: &loomv1.Event_WorkResumed{WorkResumed: f}}); err != nil {
		t.Fatal(err)
	}
	if err := w.run().Advance(); err != nil {
		t.Fatal(err)
	}
}

// WF09: a pause holds. What is answered is recorded, and nothing starts.
func TestWF09_APauseHolds(t *testing.T) {
	w := newWorld(t, define("s start\na task max=3 multi\nb task\nc task max=2\nd task\ne end\ns -> a\ns -> b\ns -> c\nb -> d\na -> e\nd -> e\nc -> e"), nil)
	a, c := w.attempt("a"), w.attempt("c")
	if err := w.run().Claim(a.Id, 1, by("researcher")); err != nil {
		t.Fatal(err)
	}
	w.pause(t)
	n := len(w.events)
	wantCode(t, "claim", w.run().Claim(c.Id, 1, by("researcher")), "attempt/paused")
	wantCode(t, "claim again", w.run().Claim(a.Id, 1, by("researcher")), "attempt/paused")
	wantCode(t, "park", w.run().Park(a.Id, by("researcher"), "lock"), "attempt/paused")
	if at, ok := workflow.Next(w.x, nil, 0); ok || len(workflow.Queued(w.x)) > 0 {
		t.Errorf("next = %s, queued = %v; want nothing", at, workflow.Queued(w.x))
	}
	w.now = w.now.Add(time.Hour) // past all deadlines
	w.answer(t, "b", good(nil))
	w.answer(t, "a", more())
	w.answer(t, "c", bad(nil))
	w.pass(t, time.Hour)
	check(t, w.since(n), `b answered success
		b-d taken: success
		a answered continue
		a backs off
		c answered failure tool/failed
		c backs off`)
	w.resume(t)
	w.want(t, "d running")
	n = len(w.events)
	w.pass(t, 2*time.Second)
	check(t, w.since(n), "a dispatched to researcher: 1.2 continue\nc dispatched to researcher: 1.2 retry")
}

// WF09: the same from outside, for a pause of the process or the project.
func TestWF09_HeldFromOutside(t *testing.T) {
	w := newWorld(t, define("s start\na task\nb task\ne end\ns -> a\na -> b\nb -> e"), nil)
	held := func() workflow.Run { r := w.run(); r.Held = true; return r }
	a := w.attempt("a")
	n := len(w.events)
	wantCode(t, "claim", held().Claim(a.Id, 1, by("researcher")), "attempt/paused")
	w.now = w.now.Add(time.Hour)
	if err := held().Tick(); err != nil || len(w.events) != n {
		t.Errorf("Tick: %v and %s", err, w.since(n))
	}
	if err := held().Answer(a.Id, by("researcher"), good(nil)); err != nil {
		t.Fatal(err)
	}
	w.want(t, "a succeeded", "b unspecified")
	if err := w.run().Advance(); err != nil {
		t.Fatal(err)
	}
	w.want(t, "b running")
}

// WF09: an answer of the CEO to an open question is taken during a pause, and
// what it starts waits.
func TestWF09_DecidedWhileHeld(t *testing.T) {
	w := newWorld(t, define("s start\na task max=1\ng approval\nb task\ne end\ns -> a\ns -> g\na -> e\ng -> b\nb -> e"), nil)
	w.answer(t, "a", bad(nil))
	w.pause(t)
	w.decide(t, "g", approve, "")
	w.decide(t, "a", retry, "")
	w.want(t, "g succeeded", "b unspecified", "a backoff")
	w.now = w.now.Add(time.Minute)
	w.resume(t)
	w.pass(t, time.Minute)
	w.want(t, "b running", "a running")
	if st := w.x.Nodes["a"]; st.ExtraAttempts != 1 {
		t.Errorf("a has %d extra attempts, want 1", st.ExtraAttempts)
	}
}

func TestWF12_DeadlinesMoveByTheTimeHeld(t *testing.T) {
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	for _, tt := range []struct {
		name  string
		holds [][2]int // minutes after noon
		moved time.Duration
	}{
		{"one", [][2]int{{1, 3}}, 2},
		{"one after the other", [][2]int{{1, 3}, {5, 6}}, 3},
		{"begun before the dispatch", [][2]int{{-9, 3}}, 3},
		{"none", [][2]int{{3, 3}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
			w.take(t)
			for _, h := range tt.holds {
				workflow.Shift(w.x, at(h[0]), at(h[1]))
			}
			if got := w.attempt("a").Deadline.AsTime().Sub(noon) - 10*time.Minute; got != tt.moved*time.Minute {
				t.Errorf("the deadline moved by %s, want %dm", got, tt.moved)
			}
		})
	}
}

// A backoff that began in the middle of a pause waits for no more of it than
// is left.
func TestWF12_ABackoffWithinAPause(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
	w.pause(t)
	w.now = noon.Add(50 * time.Minute)
	w.answer(t, "a", bad(nil))
	w.now = noon.Add(60 * time.Minute)
	w.resume(t)
	next, _ := workflow.Next(w.x, nil, 0)
	if d := next.Sub(noon.Add(60 * time.Minute)); d < 800*time.Millisecond || d > 1200*time.Millisecond {
		t.Errorf("the next attempt is due %s after the pause, want about 1s", d)
	}
}

func TestWF09_PausedTwiceOrNotAtAll(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
	p := &loomv1.WorkPaused{Pause: &loomv1.Pause{Scope: loomv1.PauseScope_PAUSE_SCOPE_EXECUTION}}
	r := &loomv1.WorkResumed{Scope: loomv1.PauseScope_PAUSE_SCOPE_EXECUTION}
	wantCode(t, "resume", w.emit(&loomv1.Event{Fact: &loomv1.Event_WorkResumed{WorkResumed: r}}), "workflow/inconsistent")
	w.pause(t)
	wantCode(t, "pause", w.emit(&loomv1.Event{Fact: &loomv1.Event_WorkPaused{WorkPaused: p}}), "workflow/inconsistent")
	before := proto.CloneOf(w.x)
	p.Pause.Scope = loomv1.PauseScope_PAUSE_SCOPE_PROJECT
	if err := w.emit(&loomv1.Event{Fact: &loomv1.Event_WorkPaused{WorkPaused: p}}); err != nil || !proto.Equal(before, w.x) {
		t.Errorf("a pause of the project: %v, and it changed the execution", err)
	}
}

func (w *world) askLimit(t testing.TB) {
	t.Helper()
	if err := w.run().AskLimit(&loomv1.Approval{Reason: "budget/exhausted: it used 9 of 8 tokens"}, ""); err != nil {
		t.Fatal(err)
	}
}

// WF07: a limit is asked about once, and holds until it is answered.
func TestWF07_ALimitIsAskedAboutOnce(t *testing.T) {
	w := newWorld(t, define("s start\na task\nb task\nc task\ne end\ns -> a\ns -> b\na -> c\nb -> e\nc -> e"), nil)
	w.answer(t, "a", good(nil))
	n := len(w.events)
	w.askLimit(t)
	w.askLimit(t)
	check(t, w.since(n), "asks: budget/exhausted")
	a := w.approvals[w.x.LimitApproval]
	wantOptions(t, a, approve, reject)
	if a.Node != "" || a.Reason != "budget/exhausted: it used 9 of 8 tokens" || len(a.History) != 1 || len(a.NextSteps) != 2 || a.Digest == "" {
		t.Errorf("approval = %v, want one about the execution, with its history", a)
	}
	wantCode(t, "claim", w.run().Claim(w.attempt("b").Id, 1, by("researcher")), "attempt/paused")
	w.pass(t, time.Hour)
	lifted := &loomv1.LimitLifted{Granted: &loomv1.Budget{Tokens: 16}}
	if err := w.emit(&loomv1.Event{Fact: &loomv1.Event_LimitLifted{LimitLifted: lifted}}); err != nil {
		t.Fatal(err)
	}
	w.decide(t, "", approve, "")
	if w.x.LimitApproval != "" || w.x.Granted.GetTokens() != 16 || w.x.DeadlineWaived {
		t.Errorf("execution = %v, want the limit lifted", w.x)
	}
	if err := w.run().Claim(w.attempt("b").Id, 1, by("researcher")); err != nil {
		t.Error(err)
	}
}

func TestWF07_ALimitThatStands(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
	w.askLimit(t)
	w.decide(t, "", reject, "too dear")
	w.wantEnd(t, rejected)
	if w.x.Reason != "too dear" {
		t.Errorf("reason = %q", w.x.Reason)
	}
	wantCode(t, "AskLimit after the end", w.run().AskLimit(&loomv1.Approval{Reason: "deadline/passed: "}, ""), "attempt/stale")
}

func TestWF07_ALimitLapsesWithItsExecution(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
	w.askLimit(t)
	open := w.approvals[w.x.LimitApproval]
	n := len(w.events)
	if err := w.run().CloseNow("no longer wanted"); err != nil {
		t.Fatal(err)
	}
	check(t, w.since(n), "a answered failure attempt/withdrawn\napproval lapsed: the execution ended\naborted")
	wantCode(t, "a late answer", w.run().Decide(open, &loomv1.DecideApproval{Decision: approve}), "approval/lapsed")
	wantCode(t, "another close", w.run().CloseNow("again"), "override/ended")
}

func TestWF07_NoLiveAgentEscalatesOnceAfterTheGrace(t *testing.T) {
	gone := map[string]time.Time{}
	const grace = 2 * time.Minute
	w := newWorld(t, define("s start\na task\nb task role=tester\no task role=tester optional\ne end\ns -> a\ns -> b\ns -> o\na -> e\nb -> e\no -> e"), nil)
	absent := func(role string) (time.Time, bool) { at, is := gone[role]; return at, is }
	tick := func() {
		t.Helper()
		r := w.run()
		r.Absent, r.Grace = absent, grace
		if err := r.Tick(); err != nil {
			t.Fatal(err)
		}
	}
	gone["tester"] = noon.Add(-time.Hour) // long before the dispatch
	at, _ := workflow.Next(w.x, absent, grace)
	if !at.Equal(noon.Add(grace)) {
		t.Fatalf("next = %s, want the grace after the dispatch", at)
	}
	n := len(w.events)
	w.now = noon.Add(grace - 1)
	tick()
	check(t, w.since(n), "")
	w.now = noon.Add(grace)
	tick()
	check(t, w.since(n), "b answered failure agent/none-live\nb asks: agent/none-live\no answered failure agent/none-live\ngap: o\no-e taken: gap")
	if a := w.approval("b"); !strings.Contains(a.Reason, "role tester has had no live agent for 2m0s") || len(a.History) != 1 {
		t.Errorf("approval = %v, want it to say so", a)
	}
	n = len(w.events)
	w.now = noon.Add(5 * time.Minute)
	tick()
	check(t, w.since(n), "")

	// One that is held is not lonely; once it is queued anew it has a grace of
	// its own, which begins with the absence if that is later.
	if err := w.run().Claim(w.attempt("a").Id, 1, by("researcher")); err != nil {
		t.Fatal(err)
	}
	gone["researcher"] = noon
	tick()
	w.want(t, "a running")
	if err := w.run().Release(w.attempt("a").Id, by("researcher"), "drain"); err != nil {
		t.Fatal(err)
	}
	if at, _ := workflow.Next(w.x, absent, grace); !at.Equal(w.now.Add(grace)) {
		t.Errorf("next = %s, want the grace after it was queued anew", at)
	}
	gone["researcher"] = w.now.Add(time.Minute)
	if at, _ := workflow.Next(w.x, absent, grace); !at.Equal(w.now.Add(grace + time.Minute)) {
		t.Errorf("next = %s, want the grace after the absence began", at)
	}
	delete(gone, "researcher")
	if at, ok := workflow.Next(w.x, absent, grace); ok {
		t.Errorf("next = %s, want none: the role is back, and the attempt queued", at)
	}
}
