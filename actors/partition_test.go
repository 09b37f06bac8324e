package actors_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestF31_PoisonIsAnsweredAndSetAside makes a project fail while it decides.
func TestF31_PoisonIsAnsweredAndSetAside(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher").register("farm", "researcher")
	for i := range 30 { // more than any restart budget
		r.settled("shop")
		r.clock.boom(1)
		_, err := r.do(file("shop", fmt.Sprint("bad", i)))
		wantCode(t, "poison", err, "internal/error")
		r.must(file("farm", fmt.Sprint("k", i)))
	}
	r.settled("shop")
	r.settled("farm")
	asked := r.clock.asked
	_, err := r.do(file("shop", "bad29"))
	wantCode(t, "the same poison", err, "internal/error")
	if r.clock.asked != asked {
		t.Error("a command that was set aside was decided again")
	}
	r.must(file("shop", "good"))
	select {
	case name := <-r.lost:
		t.Errorf("actor %s was lost", name)
	default:
	}
}

// settled waits until a project has decided what it was sent so far.
func (r *rig) settled(project string) {
	r.t.Helper()
	if _, err := r.projects.Look(r.ctx, "bead", &loomv1.Query{Project: project}); err != nil {
		r.t.Fatal(err)
	}
}

// TestF31_OthersAreAnsweredWhilePoisonComes sends poison among sound commands.
func TestF31_OthersAreAnsweredWhilePoisonComes(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher").register("farm", "researcher")
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if i%8 == 0 {
				r.clock.boom(1)
			}
			a, err := r.do(file([]string{"shop", "farm"}[i%2], fmt.Sprint("k", i)))
			if err == nil && a.GetSubmit().GetBead() == "" {
				t.Errorf("command %d: %v", i, a)
			}
			if err != nil {
				wantCode(t, "poison", err, "internal/error")
			}
		})
	}
	all.Wait()
	filed := map[string]int{}
	for _, e := range r.events() {
		if f := e.GetBeadFiled(); f != nil {
			filed[f.Request]++
		}
	}
	for key, n := range filed {
		if n != 1 {
			t.Errorf("request %.8s was filed %d times", key, n)
		}
	}
}

// damage stops the rig and puts an event into its log that a project cannot
// replay.
func (r *rig) damage(project string) {
	r.t.Helper()
	r.stop()
	seq, b, err := r.log.Last(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	gap := &loomv1.Event{Number: 99, Project: project, Time: timestamppb.Now(), Fact: &loomv1.Event_ProjectRegistered{ProjectRegistered: &loomv1.ProjectRegistered{}}}
	bad := journal.Seal(journal.Head{Sequence: seq, Epoch: b.Epoch, Hash: b.Hash}, 0, 1, "h9.1", "bad", []*loomv1.Event{gap})
	if _, err := r.log.Memory.Append(r.t.Context(), seq, bad); err != nil {
		r.t.Fatal(err)
	}
}

func TestP21_UnreadableProjectIsSetAsideAlone(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher").register("farm", "researcher")
	r.must(file("farm", "k"))
	r.damage("shop")
	r.start()
	_, err := r.do(file("shop", "k"))
	wantCode(t, "a command for it", err, "project/quarantined")
	_, err = r.projects.Look(r.ctx, "bead", &loomv1.Query{Project: "shop"})
	wantCode(t, "a query for it", err, "project/quarantined")
	if got := r.must(file("farm", "k")).GetSubmit(); !got.Duplicate {
		t.Errorf("the other project answers %v, want the same as before", got)
	}
}

func TestWF10_UnknownProjectsAreRefused(t *testing.T) {
	r := newRig(t).start()
	_, err := r.do(file("nowhere", "k"))
	wantCode(t, "a submission", err, "project/unknown")
	_, err = r.projects.Look(r.ctx, "bead", &loomv1.Query{Project: "nowhere"})
	wantCode(t, "a query", err, "project/unknown")
	if ids, err := r.projects.List(r.ctx); len(ids) != 0 || err != nil {
		t.Errorf("List: %v, %v", ids, err)
	}
}

// TestF1_RestartGoesOn stops a host in the middle of work and starts it again:
// the work queue is empty, and a claim of the earlier start is on an attempt.
func TestF1_RestartGoesOn(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	claimed, waiting := r.must(file("shop", "a")).GetSubmit(), r.must(file("shop", "b")).GetSubmit()
	r.must(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: claimed.Execution + "-a1", Generation: 1, Claimant: &loomv1.Claimant{Agent: "researcher/1", Host: "h1", Epoch: r.config.Start},
	}}})
	r.stop()
	r.queue.empty()
	r.start()
	r.agents("researcher", 2, done)
	r.ended(claimed.Bead)
	r.ended(waiting.Bead)
	if n := count(r.events(), func(e *loomv1.Event) bool { return e.GetAttemptDispatched() != nil }); n != 2 {
		t.Errorf("%d dispatches, want 2: a restart costs no attempt", n)
	}
}

func TestF1_SweepOffersWhatTheQueueLost(t *testing.T) {
	r := newRig(t)
	r.config.Sweep = 5 * time.Millisecond
	r.start().register("shop", "researcher")
	r.queue.losing(4)
	bead := r.must(file("shop", "k")).GetSubmit().Bead
	r.agents("researcher", 1, done)
	r.ended(bead)
}

// TestWF12_TimersFireAfterARestart lets a deadline pass while no host runs but that of
// the agent that has the attempt.
func TestWF12_TimersFireAfterARestart(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	r.must(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: r.must(file("shop", "k")).GetSubmit().Execution + "-a1", Generation: 1, Claimant: &loomv1.Claimant{Agent: "researcher/1", Host: "h9", Epoch: 1},
	}}})
	r.stop()
	r.clock.real.AtLeast(time.Now().Add(2 * time.Hour))
	r.start()
	e := r.await("a timeout", func(e *loomv1.Event) bool { return e.GetAttemptEnded() != nil })
	if !e.GetAttemptEnded().TimedOut {
		t.Errorf("the attempt ended with %v", e.GetAttemptEnded().Outcome)
	}
}

// lateLog is a log that is read to its end only once the reader has been told
// to stop, and does not mind: as one is whose last page came just before.
type lateLog struct {
	*gate
	entered, left chan struct{} // reads wait when they are set
}

func (l *lateLog) Read(ctx context.Context, from uint64, fn func(uint64, *loomv1.Batch) error) error {
	if l.entered != nil {
		close(l.entered)
		defer close(l.left)
		<-ctx.Done()
		ctx = context.Background()
	}
	return l.gate.Read(ctx, from, fn)
}

// TestACT04_AStoppingPartitionBeginsNothing stops a host while a project of the
// state that was dropped is still at work, and a recovery is about to be done:
// what that would start could never be told to stop.
func TestACT04_AStoppingPartitionBeginsNothing(t *testing.T) {
	r := newRig(t)
	late := &lateLog{gate: r.log}
	var served atomic.Int32
	r.config.Open = func() func() { served.Add(1); return func() {} }
	r.config.Log = late
	r.start().register("shop", "researcher").register("farm", "researcher")
	stuck, over := r.clock.hold(), make(chan struct{}, 2)
	try := func(project string) {
		_, _ = r.do(file(project, "k")) // nobody may be left to answer
		over <- struct{}{}
	}
	go try("shop")
	free := <-stuck
	late.entered, late.left = make(chan struct{}), make(chan struct{})
	r.log.FailNext(journal.Refuse)
	go try("farm")
	<-late.entered
	stopped := make(chan struct{})
	go func() { defer close(stopped); r.sys.Stop() }()
	<-late.left
	soon, done := context.WithTimeout(r.ctx, 50*time.Millisecond) // so that the recovery has been told of; if not, this shows less
	_, _ = r.projects.List(soon)
	done()
	close(free)
	<-stopped
	r.cancel()
	<-over
	<-over
	if n := served.Load(); n != 1 {
		t.Errorf("the partition was opened %d times, want once: it was to stop", n)
	}
}

// TestSUB04_TheFirstThingThatADeploymentKnowsMayBeALife has a host tell of its agents
// before anything else is known of the deployment as a whole.
func TestSUB04_TheFirstThingThatADeploymentKnowsMayBeALife(t *testing.T) {
	r := newRig(t).start()
	r.must(&loomv1.Command{Project: project.System, Body: &loomv1.Command_RecordLives{RecordLives: &loomv1.RecordLives{
		Host: "h1", Epoch: 1, Records: []*loomv1.LifeRecord{{Kind: loomv1.LifeKind_LIFE_KIND_STARTED, Life: &loomv1.AgentLife{Agent: "lead/1", Role: "lead", Sequence: 1}}},
	}}})
	if n := count(r.events(), func(e *loomv1.Event) bool { return e.GetAgentStarted() != nil }); n != 1 {
		t.Errorf("%d starts are in the journal, want 1", n)
	}
}
