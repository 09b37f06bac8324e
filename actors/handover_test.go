package actors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/actors"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// shelfQueue is a work queue whose pulls are counted, and wait until there is
// something or fail as they are told to.
type shelfQueue struct {
	mu      sync.Mutex
	put     []string
	pulls   int
	most    int
	open    int
	pulled  chan struct{}      // once a pull begins
	arrive  chan *shelfMessage // what pulls get
	refused chan error
}

type shelfMessage struct {
	a    *loomv1.Assignment
	naks chan time.Duration
}

func (m *shelfMessage) Assignment() *loomv1.Assignment { return m.a }
func (m *shelfMessage) InProgress() error              { return nil }
func (m *shelfMessage) Ack(context.Context) error      { return nil }
func (m *shelfMessage) Nak(delay time.Duration) error  { m.naks <- delay; return nil }

func newShelf() *shelfQueue {
	return &shelfQueue{pulled: make(chan struct{}, 1000), arrive: make(chan *shelfMessage), refused: make(chan error)}
}

func (q *shelfQueue) PublishWork(_ context.Context, a *loomv1.Assignment) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.put = append(q.put, a.Attempt)
	return nil
}

func (q *shelfQueue) has() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return strings.Join(q.put, " ")
}

func (q *shelfQueue) Pull(ctx context.Context, _ string) (actors.Delivery, error) {
	q.mu.Lock()
	q.pulls++
	q.open++
	q.most = max(q.most, q.open)
	q.mu.Unlock()
	defer func() { q.mu.Lock(); q.open--; q.mu.Unlock() }()
	q.pulled <- struct{}{}
	select {
	case m := <-q.arrive:
		return m, nil
	case err := <-q.refused:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func ticket(attempt string) *loomv1.Assignment {
	return &loomv1.Assignment{Project: "p", Attempt: attempt, Generation: 1, Role: "qa"}
}

// gets pulls in the background; what comes of it is in the channel.
func gets(ctx context.Context, h *actors.Handover) <-chan string {
	got := make(chan string, 1)
	go func() {
		d, err := h.Pull(ctx, "qa")
		if err != nil {
			got <- err.Error()
			return
		}
		got <- d.Assignment().Attempt
	}()
	return got
}

func TestACT05_WorkOfALoneHostStaysInItsMemory(t *testing.T) {
	q := newShelf()
	h := actors.NewHandover(q, q, func() bool { return true })
	defer h.Stop()
	first := gets(t.Context(), h)
	<-q.pulled // it waits
	for _, name := range []string{"a1", "a2", "a3", "a2"} {
		if err := h.PublishWork(t.Context(), ticket(name)); err != nil {
			t.Fatal(err)
		}
	}
	all := []string{<-first}
	for range 2 {
		d, err := h.Pull(t.Context(), "qa")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d.Assignment().Attempt)
	}
	if want := []string{"a1", "a2", "a3"}; !slices.Equal(all, want) || q.has() != "" {
		t.Errorf("agents got %q, the queue %q; want %q, in order and each once, and nothing", all, q.has(), want)
	}
	// One that cannot have it has it offered again.
	if err := h.PublishWork(t.Context(), ticket("a4")); err != nil {
		t.Fatal(err)
	}
	d, err := h.Pull(t.Context(), "qa")
	if err != nil {
		t.Fatal(err)
	}
	next := gets(t.Context(), h)
	if err := d.Nak(0); err != nil {
		t.Fatal(err)
	}
	if got := <-next; got != "a4" {
		t.Errorf("after it was given back another agent got %q, want a4", got)
	}
}

func TestACT05_WhatOtherHostsCanHaveIsInTheQueue(t *testing.T) {
	q := newShelf()
	var others atomic.Bool
	h := actors.NewHandover(q, q, func() bool { return !others.Load() })
	defer h.Stop()
	for _, name := range []string{"a1", "a2"} {
		if err := h.PublishWork(t.Context(), ticket(name)); err != nil {
			t.Fatal(err)
		}
	}
	others.Store(true)
	if err := h.Share(t.Context()); err != nil {
		t.Fatal(err)
	}
	waits := gets(t.Context(), h)
	<-q.pulled
	if err := h.PublishWork(t.Context(), ticket("a3")); err != nil { // though an agent waits here
		t.Fatal(err)
	}
	if got := q.has(); got != "a1 a2 a3" {
		t.Errorf("the queue has %q, want a1 a2 a3", got)
	}
	q.arrive <- &shelfMessage{a: ticket("b1")}
	if got := <-waits; got != "b1" {
		t.Errorf("the agent that waits got %q, want b1 from the queue", got)
	}
}

// A host asks the queue once for each role, however many agents of it wait.
func TestACT05_OnePullForAllAgentsOfARole(t *testing.T) {
	q := newShelf()
	h := actors.NewHandover(q, q, func() bool { return false })
	defer h.Stop()
	var all []<-chan string
	for range 20 {
		all = append(all, gets(t.Context(), h))
	}
	got := map[string]bool{}
	for i := range 20 {
		q.arrive <- &shelfMessage{a: ticket(fmt.Sprint("a", i))}
	}
	for _, c := range all {
		got[<-c] = true
	}
	if len(got) != 20 || q.most != 1 {
		t.Errorf("20 agents got %d assignments over %d pulls at once, want 20 over 1", len(got), q.most)
	}
}

func TestACT05_AFailedPullIsToldToThoseWhoWait(t *testing.T) {
	q := newShelf()
	h := actors.NewHandover(q, q, func() bool { return true })
	defer h.Stop()
	waits := gets(t.Context(), h)
	q.refused <- errors.New("no queue")
	if got := <-waits; got != "no queue" {
		t.Errorf("told %q, want what went wrong", got)
	}
	again := gets(t.Context(), h) // a new pull
	<-q.pulled
	<-q.pulled
	q.arrive <- &shelfMessage{a: ticket("a1")}
	if got := <-again; got != "a1" {
		t.Errorf("got %q, want a1", got)
	}
}

// What comes for an agent that left goes to others at once.
func TestACT05_NothingIsHeldForAnAgentThatLeft(t *testing.T) {
	q := newShelf()
	h := actors.NewHandover(q, q, func() bool { return true })
	ctx, leave := context.WithCancel(t.Context())
	waits := gets(ctx, h)
	<-q.pulled
	leave()
	if got := <-waits; got != context.Canceled.Error() {
		t.Fatalf("got %q, want that it left", got)
	}
	m := &shelfMessage{a: ticket("a1"), naks: make(chan time.Duration, 1)}
	q.arrive <- m
	if delay := <-m.naks; delay != 0 {
		t.Errorf("given back after %s, want at once", delay)
	}
	waits = gets(t.Context(), h)
	<-q.pulled
	h.Stop()
	if got := <-waits; got != context.Canceled.Error() {
		t.Errorf("after the end: %q", got)
	}
}

// Agents come, leave and give back while work is published: each assignment is
// had by somebody, or waits.
func TestACT05_HandoversLoseNothing(t *testing.T) {
	const n = 2000
	q := newShelf()
	q.pulled = make(chan struct{}, 10*n)
	h := actors.NewHandover(q, q, func() bool { return true })
	defer h.Stop()
	done := make(chan string, 2*n)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var agents sync.WaitGroup
	for i := range 8 {
		agents.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				mine, leave := context.WithCancel(ctx)
				if (i+k)%3 == 0 {
					go leave() // it may cross
				}
				d, err := h.Pull(mine, "qa")
				switch leave(); {
				case err != nil:
				case k%5 == 0:
					_ = d.Nak(0)
				default:
					done <- d.Assignment().Attempt
				}
			}
		})
	}
	for i := range n {
		if err := h.PublishWork(ctx, ticket(fmt.Sprint("a", i))); err != nil {
			t.Fatal(err)
		}
	}
	had := map[string]bool{}
	for len(had) < n {
		select {
		case a := <-done:
			had[a] = true
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d were had", len(had), n)
		}
	}
	cancel()
	agents.Wait()
	if q.has() != "" {
		t.Errorf("the queue has %q", q.has())
	}
}

// batchOf returns the sequence of the batch that has the first event that is as wanted.
func (r *rig) batchOf(is func(*loomv1.Event) bool) (sequence uint64) {
	r.t.Helper()
	err := r.log.Memory.Read(context.Background(), 1, func(seq uint64, b *loomv1.Batch) error {
		if sequence == 0 && slices.ContainsFunc(b.Events, is) {
			sequence = seq
		}
		return nil
	})
	if err != nil || sequence == 0 {
		r.t.Fatalf("no batch has the event: %v", err)
	}
	return sequence
}

// handing gives a rig the handover of a host that is alone while alone says so.
func (r *rig) handing(alone func() bool) *actors.Handover {
	h := actors.NewHandover(r.queue, r.queue, alone)
	r.t.Cleanup(h.Stop)
	r.config.Agents, r.work, r.pull = h, h, h
	return h
}

// TestACT05_WorkIsClaimedWhereItIsDispatched has an agent wait when work is filed: the
// claim is in the batch of the dispatch. When there is more work than agents, the next
// claim is in the batch of the answer.
func TestACT05_WorkIsClaimedWhereItIsDispatched(t *testing.T) {
	r := newRig(t)
	h := r.handing(func() bool { return true })
	r.start().register("shop", "researcher")
	begun, goOn := make(chan string, 10), make(chan struct{}, 10)
	r.agents("researcher", 1, func(_ context.Context, b *loomv1.Brief, _ actors.Seat) (*loomv1.Outcome, error) {
		begun <- b.Bead.Id
		<-goOn
		return done(t.Context(), b, nil)
	})
	first := r.must(file("shop", "first")).GetSubmit().Bead // by a ticket: that the project is served is not known yet
	<-begun
	goOn <- struct{}{}
	r.ended(first)
	actors.AwaitIdle(h, "researcher")
	beads := []string{r.must(file("shop", "a")).GetSubmit().Bead}
	<-begun
	for _, key := range []string{"b", "c"} {
		beads = append(beads, r.must(file("shop", key)).GetSubmit().Bead)
		actors.AwaitKept(h, beads[len(beads)-1])
	}
	for range beads {
		goOn <- struct{}{}
	}
	for _, bead := range beads {
		r.ended(bead)
	}
	of := func(bead string, kind func(*loomv1.Event) bool) uint64 {
		return r.batchOf(func(e *loomv1.Event) bool { return e.Bead == bead && kind(e) })
	}
	dispatched := func(e *loomv1.Event) bool { return e.GetAttemptDispatched() != nil }
	claimed := func(e *loomv1.Event) bool { return e.GetAttemptClaimed() != nil }
	answered := func(e *loomv1.Event) bool { return e.GetAttemptEnded() != nil }
	if d, c := of(beads[0], dispatched), of(beads[0], claimed); d != c {
		t.Errorf("an agent waits: dispatched in batch %d, claimed in %d; want one batch", d, c)
	}
	for i := range beads[1:] {
		if a, c := of(beads[i], answered), of(beads[i+1], claimed); a != c {
			t.Errorf("work waits: answered in batch %d, the next claimed in %d; want one batch", a, c)
		}
	}
}

// TestACT05_AnAnswerPassesNobodyOver has work of two projects wait for one agent: the
// project whose work came first is served first, whatever the agent worked on; and
// where another host takes part nothing is claimed but by tickets.
func TestACT05_AnAnswerPassesNobodyOver(t *testing.T) {
	r := newRig(t)
	var others atomic.Bool
	h := r.handing(func() bool { return !others.Load() })
	r.start().register("shop", "researcher").register("farm", "researcher")
	begun, goOn := make(chan string, 10), make(chan struct{}, 10)
	r.agents("researcher", 1, func(_ context.Context, b *loomv1.Brief, _ actors.Seat) (*loomv1.Outcome, error) {
		begun <- b.Bead.Id
		<-goOn
		return done(t.Context(), b, nil)
	})
	var want, got []string
	for i, project := range []string{"shop", "farm", "shop", "farm"} {
		want = append(want, r.must(file(project, fmt.Sprint("k", i))).GetSubmit().Bead)
		if i == 0 {
			got = append(got, <-begun)
		} else {
			actors.AwaitKept(h, want[i]) // the outbox hands it over
		}
	}
	for range want {
		goOn <- struct{}{}
		if len(got) < len(want) {
			got = append(got, <-begun)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("worked on %q, want %q: in the order in which it came", got, want)
	}
	r.ended(want[3])
	others.Store(true)
	last := r.must(file("shop", "last")).GetSubmit().Bead
	goOn <- struct{}{}
	<-begun
	r.ended(last)
	of := func(is func(*loomv1.Event) bool) uint64 {
		return r.batchOf(func(e *loomv1.Event) bool { return e.Bead == last && is(e) })
	}
	if d, c := of(func(e *loomv1.Event) bool { return e.GetAttemptDispatched() != nil }), of(func(e *loomv1.Event) bool { return e.GetAttemptClaimed() != nil }); d == c {
		t.Error("with other hosts the work was claimed where it was dispatched")
	}
}
