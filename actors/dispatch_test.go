package actors_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// served notes the beads that are worked on, in order.
type served struct {
	mu    sync.Mutex
	beads []string
}

func (s *served) work(ctx context.Context, b *loomv1.Brief, seat actors.Seat) (*loomv1.Outcome, error) {
	s.mu.Lock()
	s.beads = append(s.beads, b.Bead.Id)
	s.mu.Unlock()
	return done(ctx, b, seat)
}

// place returns how many were served before a bead.
func (s *served) place(bead string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Index(s.beads, bead)
}

func (r *rig) fileMany(project string, n int) (last string) {
	r.t.Helper()
	for i := range n {
		last = r.must(file(project, fmt.Sprint("many-", i))).GetSubmit().Bead
	}
	return last
}

// TestWF12_ProjectsTakeTurns has one agent for two projects, one of which has
// much to do.
func TestWF12_ProjectsTakeTurns(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher").register("farm", "researcher")
	last := r.fileMany("shop", 200)
	one := r.must(file("farm", "one")).GetSubmit().Bead
	s := &served{}
	r.agents("researcher", 1, s.work)
	r.ended(one)
	r.ended(last)
	if n := s.place(one); n > 17 {
		t.Errorf("%d beads of the other project were served first, want no more than its window", n)
	}
}

// TestSUB02_TheNextFreeAgentTakesWhatIsUrgent files an urgent bead behind 200
// others while the only agent is at work.
func TestSUB02_TheNextFreeAgentTakesWhatIsUrgent(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	last := r.fileMany("shop", 200)
	s := &served{}
	began, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.agents("researcher", 1, func(ctx context.Context, b *loomv1.Brief, seat actors.Seat) (*loomv1.Outcome, error) {
		once.Do(func() { close(began); <-goOn })
		return s.work(ctx, b, seat)
	})
	<-began
	cmd := file("shop", "hurry")
	cmd.GetFileBead().Submission.Priority = loomv1.Priority_PRIORITY_URGENT
	hurry := r.must(cmd).GetSubmit().Bead
	close(goOn)
	r.ended(last)
	if n := s.place(hurry); n != 1 {
		t.Errorf("the urgent bead was served after %d others, want 1", n)
	}
}

// TestF1_ALostQueueIsFilledAtOnce loses the queue while everything waits; a
// sweep would come in an hour.
func TestF1_ALostQueueIsFilledAtOnce(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher").register("farm", "researcher")
	last := r.fileMany("shop", 50)
	other := r.fileMany("farm", 50)
	r.must(file("shop", "the window was full")) // its answer comes after what was offered before
	r.queue.settle(r.t)
	r.queue.empty()
	s := &served{}
	r.agents("researcher", 2, s.work)
	r.projects.OfferAgain()
	r.ended(last)
	r.ended(other)
}

// TestF1_NothingIsLostWithItsTicket loses, doubles and makes up tickets all the
// time.
func TestF1_NothingIsLostWithItsTicket(t *testing.T) {
	r := newRig(t)
	r.config.Sweep = 10 * time.Millisecond
	r.start().register("shop", "researcher")
	r.queue.unreliable()
	r.agents("researcher", 3, done)
	var beads []string
	for i := range 100 {
		beads = append(beads, r.must(file("shop", fmt.Sprint(i))).GetSubmit().Bead)
	}
	for _, b := range beads {
		r.ended(b)
	}
	if n := count(r.events(), func(e *loomv1.Event) bool { return e.GetAttemptDispatched() != nil }); n != 100 {
		t.Errorf("%d dispatches, want one for each of 100 beads", n)
	}
}

// TestROLE02_AClaimWhoseAnswerWasLostIsTheSame repeats an agent's claim over
// recoveries of its project.
func TestROLE02_AClaimWhoseAnswerWasLostIsTheSame(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	r.fileMany("shop", 20)
	claim := &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: "shop-7-x1-a1", Generation: 1, Any: true, Claimant: &loomv1.Claimant{Agent: "researcher/1", Host: "h1", Epoch: r.config.Start},
	}}}
	first := r.must(claim).GetBrief().GetAttempt().GetId()
	r.stop()
	r.config.Start-- // the journal fails; the host goes on
	r.start()
	for range 3 {
		if again := r.must(proto.CloneOf(claim)).GetBrief().GetAttempt().GetId(); again != first || first == "" {
			t.Errorf("the claim gives %q and then %q", first, again)
		}
	}
	if n := count(r.events(), func(e *loomv1.Event) bool { return e.GetAttemptClaimed() != nil }); n != 1 {
		t.Errorf("%d claims in the journal, want 1", n)
	}
}

// TestWF09_WorkThatIsHeldIsGivenBack has an agent told at its next step that its
// work is held.
func TestWF09_WorkThatIsHeldIsGivenBack(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	held := true
	r.agents("researcher", 1, func(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
		if held {
			held = false
			return nil, fmt.Errorf("step: %w", fault.New("attempt/paused", "held"))
		}
		return done(ctx, b, s)
	})
	r.ended(r.must(file("shop", "k")).GetSubmit().Bead)
	if n := count(r.events(), isReleased); n != 1 {
		t.Errorf("the attempt was given back %d times, want once", n)
	}
}

// TestWF07_TimeWithoutAHostIsNotAbsence stops a host cleanly with work queued
// and starts it again long after: its agents are there before any timer fires.
// A host that comes back without them has the CEO asked.
func TestWF07_TimeWithoutAHostIsNotAbsence(t *testing.T) {
	asks := func(e *loomv1.Event) bool { return e.GetApprovalRequested() != nil }
	for _, tt := range []struct {
		name string
		back map[string]uint32
		asks bool
	}{
		{"its agents come back", map[string]uint32{"researcher": 1}, false},
		{"others come", map[string]uint32{"implementer": 1}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.config.Roles = func() map[string]uint32 { return map[string]uint32{"researcher": 1} }
			r.start().register("shop", "researcher")
			bead := r.must(file("shop", "k")).GetSubmit().Bead
			r.must(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{Host: "h1", Roles: &loomv1.HostRoles{Epoch: 1}}}})
			r.stop()
			r.clock.real.AtLeast(time.Now().Add(20 * time.Minute)) // before the attempt's own deadline
			r.config.Roles = func() map[string]uint32 { return tt.back }
			r.start()
			if tt.asks {
				r.await("an escalation", asks)
				return
			}
			r.agents("researcher", 1, done)
			r.ended(bead)
			if n := count(r.events(), asks); n != 0 {
				t.Errorf("the CEO was asked %d times, want not at all", n)
			}
		})
	}
}
