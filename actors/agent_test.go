package actors_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func isReleased(e *loomv1.Event) bool { return e.GetClaimReleased() != nil }

func TestACT01_MainPath(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	r.agents("researcher", 3, func(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
		start := turn.StartedFact(&loomv1.TurnStarted{Model: "m", Prompt: &loomv1.BlobRef{Sha256: "p"}})
		if err := s.Record(ctx, start); err != nil {
			return nil, err
		}
		if _, err := s.AddDecision(ctx, &loomv1.AddDecision{Request: b.Attempt.Id, Node: &loomv1.DecisionNode{
			Type: loomv1.DecisionType_DECISION_TYPE_OPTION, Title: "an option", Confidence: 50,
		}}); err != nil {
			return nil, err
		}
		g, err := s.Ask(ctx, &loomv1.GraphRequest{})
		if err != nil || len(g.Graph.GetNodes()) < 2 {
			return nil, fmt.Errorf("graph with %d nodes: %w", len(g.GetGraph().GetNodes()), err)
		}
		return done(ctx, b, s)
	})
	var beads []string
	for i := range 20 {
		beads = append(beads, r.must(file("shop", fmt.Sprint("k", i))).GetSubmit().Bead)
	}
	for _, b := range beads {
		r.ended(b)
	}
}

// ended is a project whose attempt was ended while its agent was landing: it takes the
// claim, and no answer.
type ended struct{ told chan *loomv1.SettleLanding }

func (e *ended) Do(_ context.Context, cmd *loomv1.Command) (*loomv1.Answer, error) {
	switch c := cmd.Body.(type) {
	case *loomv1.Command_ClaimAttempt:
		return &loomv1.Answer{Body: &loomv1.Answer_Brief{Brief: &loomv1.Brief{
			Attempt: &loomv1.Attempt{Id: c.ClaimAttempt.Attempt}, TimeLeft: durationpb.New(within),
			Execution: &loomv1.Execution{Id: "shop-1-x1", Candidate: &loomv1.Candidate{Commit: "c1"}},
		}}}, nil
	case *loomv1.Command_SettleLanding:
		e.told <- c.SettleLanding
		return &loomv1.Answer{}, nil
	}
	return nil, fault.New("attempt/stale", "it has ended")
}

func (e *ended) Ask(context.Context, *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	return nil, fault.New("attempt/stale", "it has ended")
}

// TestLOCK05_ALandingThatNobodyWantsIsTold has an agent land while its attempt is
// ended.
func TestLOCK05_ALandingThatNobodyWantsIsTold(t *testing.T) {
	r := newRig(t).start()
	project := &ended{make(chan *loomv1.SettleLanding, 1)}
	pools := r.sys.StartPools(r.ctx, []actors.Pool{{
		Role: "engineering-manager", Agents: 1, Host: "h1", Start: 1, Queue: r.queue, Logger: slog.New(slog.DiscardHandler),
		Sit: func(string, *loomv1.Claimant) actors.Way { return project },
		Worker: worker(func(context.Context, *loomv1.Brief, actors.Seat) (*loomv1.Outcome, error) {
			return &loomv1.Outcome{Landing: &loomv1.Landing{Commit: "c1", Ref: "refs/heads/main"}}, nil
		}),
	}})
	defer pools.Stop()
	if err := r.queue.PublishWork(r.ctx, &loomv1.Assignment{Project: "shop", Role: "engineering-manager", Attempt: "shop-1-x1-a1", Generation: 1}); err != nil {
		t.Fatal(err)
	}
	select {
	case c := <-project.told:
		if c.Execution != "shop-1-x1" || c.Commit != "c1" || c.Token != 0 || c.Holder.GetAgent() != "engineering-manager/1" || c.Landing.GetRef() != "refs/heads/main" {
			t.Errorf("the project is told %v", c)
		}
	case <-r.ctx.Done():
		t.Error("the project is not told of the landing")
	}
}

// TestACT01_PanicGivesTheAttemptBack has an agent fail twice at one attempt.
func TestACT01_PanicGivesTheAttemptBack(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	var calls atomic.Int32
	r.agents("researcher", 1, func(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
		if calls.Add(1) <= 2 {
			panic("out of order")
		}
		return done(ctx, b, s)
	})
	bead := r.must(file("shop", "k")).GetSubmit().Bead
	r.ended(bead)
	all := r.events()
	if n := count(all, func(e *loomv1.Event) bool { return e.GetAttemptDispatched() != nil }); n != 1 || calls.Load() != 3 {
		t.Errorf("%d dispatches and %d calls, want 1 and 3", n, calls.Load())
	}
	if n := count(all, func(e *loomv1.Event) bool {
		return isReleased(e) && strings.Contains(e.GetClaimReleased().Reason, "out of order")
	}); n != 2 {
		t.Errorf("the attempt was given back %d times with the reason, want 2", n)
	}
	select {
	case name := <-r.lost:
		t.Errorf("actor %s was lost", name)
	default:
	}
	r.lives.Lock()
	defer r.lives.Unlock()
	const started, crashed, restarted = "LIFE_KIND_STARTED researcher/1 ", "LIFE_KIND_CRASHED researcher/1 out of order", "LIFE_KIND_RESTARTED researcher/1 "
	if want := []string{started, crashed, restarted, crashed, restarted}; !slices.Equal(r.lives.list, want) {
		t.Errorf("the life of the agent is told as %q, want %q", r.lives.list, want)
	}
}

// TestACT01_AnAgentThatAlwaysPanicsIsAnOutcome has every agent fail at every attempt:
// each attempt ends after three crashes, and then the CEO is asked.
func TestACT01_AnAgentThatAlwaysPanicsIsAnOutcome(t *testing.T) {
	longtest.Skip(t)
	r := newRig(t).start().register("shop", "researcher")
	var calls atomic.Int32
	r.agents("researcher", 2, func(context.Context, *loomv1.Brief, actors.Seat) (*loomv1.Outcome, error) {
		calls.Add(1)
		panic("out of \xff order")
	})
	bead := r.must(file("shop", "k")).GetSubmit().Bead
	asked := r.await("an escalation", func(e *loomv1.Event) bool { return e.GetApprovalRequested() != nil })
	if why := asked.GetApprovalRequested().Approval.Reason; asked.Bead != bead || !strings.Contains(why, "agent/crashed") || !strings.Contains(why, "out of \uFFFD order") {
		t.Errorf("the CEO is asked of bead %s because %q", asked.Bead, why)
	}
	var ended []string
	for _, e := range r.events() {
		if out := e.GetAttemptEnded().GetOutcome(); out != nil {
			ended = append(ended, out.Code+" "+out.Notes)
		}
	}
	const want = "agent/crashed its agents crashed 3 times: out of \uFFFD order"
	if calls.Load() != 6 || len(ended) != 2 || ended[0] != want || ended[1] != want {
		t.Errorf("after %d panics attempts ended as %q, want 6 and twice %q", calls.Load(), ended, want)
	}
	crash := r.await("a crash", func(e *loomv1.Event) bool { return e.GetClaimReleased().GetCrash() != "" })
	if text := crash.GetClaimReleased().Crash; text != "out of \uFFFD order" {
		t.Errorf("the journal has the crash %q", text)
	}
}

// TestACT01_AnOutcomeThatIsAlwaysRefusedIsACrash wants an end to what cannot be
// recorded, not even as an error.
func TestACT01_AnOutcomeThatIsAlwaysRefusedIsACrash(t *testing.T) {
	r := newRig(t).start()
	project := &refusing{told: make(chan *loomv1.ReleaseAttempt, 1)}
	pools := r.sys.StartPools(r.ctx, []actors.Pool{{
		Role: "researcher", Agents: 1, Host: "h1", Start: 1, Queue: r.queue, Logger: slog.New(slog.DiscardHandler),
		Sit: func(string, *loomv1.Claimant) actors.Way { return project },
		Worker: worker(func(context.Context, *loomv1.Brief, actors.Seat) (*loomv1.Outcome, error) {
			return &loomv1.Outcome{}, nil
		}),
	}})
	defer pools.Stop()
	if err := r.queue.PublishWork(r.ctx, &loomv1.Assignment{Project: "shop", Role: "researcher", Attempt: "shop-1-x1-a1", Generation: 1}); err != nil {
		t.Fatal(err)
	}
	select {
	case c := <-project.told:
		if !strings.Contains(c.Crash.GetMessage(), "no outcome is taken") {
			t.Errorf("the attempt is given back as %v, want a crash", c)
		}
	case <-r.ctx.Done():
		t.Error("the attempt is not given back")
	}
}

// refusing is a project that takes no outcome.
type refusing struct{ told chan *loomv1.ReleaseAttempt }

func (p *refusing) Do(_ context.Context, cmd *loomv1.Command) (*loomv1.Answer, error) {
	switch c := cmd.Body.(type) {
	case *loomv1.Command_ClaimAttempt:
		return &loomv1.Answer{Body: &loomv1.Answer_Brief{Brief: &loomv1.Brief{
			Attempt: &loomv1.Attempt{Id: c.ClaimAttempt.Attempt}, TimeLeft: durationpb.New(within),
		}}}, nil
	case *loomv1.Command_ReleaseAttempt:
		p.told <- c.ReleaseAttempt
		return &loomv1.Answer{}, nil
	}
	return nil, fault.New("outcome/invalid", "no outcome is taken")
}

func (p *refusing) Ask(context.Context, *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	return nil, fault.New("attempt/stale", "it has no graph")
}

// TestACT01_PanicWhileTheProjectIsAway wants the claim given back even so.
func TestACT01_PanicWhileTheProjectIsAway(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	var calls atomic.Int32
	r.agents("researcher", 1, func(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
		if calls.Add(1) == 1 {
			r.log.FailNext(journal.Refuse, journal.LoseWrite, journal.Refuse)
			panic("out of order")
		}
		return done(ctx, b, s)
	})
	r.ended(r.must(file("shop", "k")).GetSubmit().Bead)
}

func TestACT04_StopGivesClaimsBack(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	began := make(chan struct{}, 2)
	pools := r.agents("researcher", 2, func(ctx context.Context, _ *loomv1.Brief, _ actors.Seat) (*loomv1.Outcome, error) {
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	a, b := r.must(file("shop", "a")).GetSubmit().Bead, r.must(file("shop", "b")).GetSubmit().Bead
	<-began
	<-began
	if c := pools.Counts(); len(c) != 1 || c[0].Busy != 2 || c[0].Actual != 2 {
		t.Errorf("counts while two work: %v", c)
	}
	pools.Stop()
	if n := count(r.events(), isReleased); n != 2 {
		t.Errorf("%d claims were given back, want 2", n)
	}
	if n := count(r.events(), func(e *loomv1.Event) bool { return e.GetAttemptEnded() != nil }); n != 0 {
		t.Errorf("%d attempts ended, want none", n)
	}
	r.agents("researcher", 2, done)
	r.ended(a)
	r.ended(b)
}

// TestLOCK01_ParkedAttemptGoesOn has one attempt hold the lock until the other
// is parked; then each has had it once.
func TestLOCK01_ParkedAttemptGoesOn(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	parked := make(chan struct{})
	var tokens [3]atomic.Uint64
	var turns atomic.Int32
	r.agents("researcher", 2, func(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
		claim, err := s.AcquireLock(ctx)
		if err != nil {
			return nil, err
		}
		if claim.Token == 0 {
			if err := s.Park(ctx); err != nil {
				return nil, err
			}
			close(parked)
			return nil, actors.ErrParked
		}
		tokens[turns.Add(1)].Store(claim.Token)
		<-parked
		if err := s.RenewLock(ctx, claim.Token); err != nil {
			return nil, err
		}
		if err := s.ReleaseLock(ctx, claim.Token); err != nil {
			return nil, err
		}
		return done(ctx, b, s)
	})
	a, b := r.must(file("shop", "a")).GetSubmit().Bead, r.must(file("shop", "b")).GetSubmit().Bead
	r.ended(a)
	r.ended(b)
	if one, two := tokens[1].Load(), tokens[2].Load(); one == 0 || two <= one {
		t.Errorf("tokens %d and %d, want them to rise", one, two)
	}
	v, err := r.projects.Look(r.ctx, "lock", &loomv1.Query{Project: "shop"})
	if err != nil || len(v.Locks) != 1 || v.Locks[0].Holder != nil || len(v.Locks[0].Queue) != 0 {
		t.Errorf("the lock afterwards: %v, %v", v.GetLocks(), err)
	}
}

// TestWF04_WorkThatFailsIsRecorded maps a worker's error to an outcome, and an
// outcome that is refused to a failure.
func TestWF04_WorkThatFailsIsRecorded(t *testing.T) {
	longtest.Skip(t)
	r := newRig(t).start().register("shop", "researcher")
	var calls atomic.Int32
	r.agents("researcher", 1, func(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
		if calls.Add(1) == 1 {
			return nil, errors.New("the disk is on fire")
		}
		out, _ := done(ctx, b, s)
		out.Refusal = "only the engine sets it"
		return out, nil
	})
	r.must(file("shop", "k"))
	first := r.await("a failure", func(e *loomv1.Event) bool { return e.GetAttemptEnded() != nil }).GetAttemptEnded().Outcome
	if first.Code != "internal/error" || !strings.Contains(first.Notes, "on fire") {
		t.Errorf("the first outcome is %v", first)
	}
	second := r.await("another failure", func(e *loomv1.Event) bool {
		return e.GetAttemptEnded() != nil && strings.HasSuffix(e.Attempt, "-a2")
	}).GetAttemptEnded().Outcome
	if second.Code != "outcome/invalid" {
		t.Errorf("the second outcome is %v", second)
	}
}
