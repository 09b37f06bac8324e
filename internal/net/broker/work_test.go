package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func assignment(role string, n int) *loomv1.Assignment {
	return &loomv1.Assignment{Project: "p", Attempt: fmt.Sprintf("p-1-x1-a%d", n), Generation: 1, Role: role}
}

func publishWork(t *testing.T, b *broker.Broker, all ...*loomv1.Assignment) {
	t.Helper()
	for _, a := range all {
		if err := b.PublishWork(t.Context(), a); err != nil {
			t.Fatalf("PublishWork(%s): %v", a.Attempt, err)
		}
	}
}

// pull pulls within two minutes.
func pull(t *testing.T, b *broker.Broker, role string) *broker.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	d, err := b.PullWork(ctx, role)
	if err != nil {
		t.Fatalf("PullWork(%s): %v", role, err)
	}
	return d
}

// pullNothing fails the test if there is work for a role.
func pullNothing(t *testing.T, b *broker.Broker, role string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if d, err := b.PullWork(ctx, role); err == nil {
		t.Errorf("PullWork(%s) gives %s, want none", role, d.Assignment.Attempt)
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("PullWork(%s): %v, want the context's error", role, err)
	}
}

func TestWF10_QueueingAnAttemptAgainIsHarmless(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	one := assignment("qa-engineer", 1)
	publishWork(t, b, one, one, one)
	d := pull(t, b, "qa-engineer")
	if !proto.Equal(d.Assignment, one) {
		t.Errorf("pulled %v, want %v", d.Assignment, one)
	}
	publishWork(t, b, one) // while an agent has it
	pullNothing(t, b, "qa-engineer")
	if err := d.InProgress(); err != nil {
		t.Error(err)
	}
	if err := d.Ack(); err != nil {
		t.Error(err)
	}
	pullNothing(t, b, "qa-engineer")
	publishWork(t, b, one) // its holder died: the journal says that it is open
	if d := pull(t, b, "qa-engineer"); d.Assignment.Attempt != one.Attempt {
		t.Errorf("pulled %v, want %v", d.Assignment, one)
	}
}

func TestWF10_WorkOfARoleIsThatRolesAlone(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	publishWork(t, b, assignment("lead", 1), assignment("architect", 2))
	pullNothing(t, b, "implementer")
	for role, want := range map[string]string{"lead": "p-1-x1-a1", "architect": "p-1-x1-a2"} {
		if d := pull(t, b, role); d.Assignment.Attempt != want {
			t.Errorf("%s got %s, want %s", role, d.Assignment.Attempt, want)
		}
	}
}

func TestWF10_WorkThatIsGivenBackComesAgain(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	publishWork(t, b, assignment("lead", 1))
	if err := pull(t, b, "lead").Nak(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if d := pull(t, b, "lead"); d.Assignment.Attempt != "p-1-x1-a1" {
		t.Errorf("got %s", d.Assignment.Attempt)
	}
}

// TestWF10_AnEndedPullHoldsNothingBack queues work just as a puller gives up:
// whoever asks next gets it at once.
func TestWF10_AnEndedPullHoldsNothingBack(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	for i := range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan *broker.Delivery, 1)
		go func() {
			d, _ := b.PullWork(ctx, "lead")
			got <- d
		}()
		if i%2 == 0 {
			go cancel() // at about the same time
		}
		publishWork(t, b, assignment("lead", i))
		cancel() // when it is on its way, or has come
		d := <-got
		if d == nil {
			d = pull(t, b, "lead")
		}
		if want := assignment("lead", i).Attempt; d.Assignment.Attempt != want {
			t.Fatalf("pulled %s, want %s", d.Assignment.Attempt, want)
		}
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWF10_BadAssignments(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	for _, a := range []*loomv1.Assignment{
		{}, {Role: "lead"}, {Role: "lead", Attempt: "a.b"}, {Role: "*", Attempt: "a"}, {Role: "lead", Attempt: ">"},
	} {
		if err := b.PublishWork(t.Context(), a); fault.Code(err) != "id/malformed" {
			t.Errorf("PublishWork(%v): %v, want id/malformed", a, err)
		}
	}
	if _, err := b.PullWork(t.Context(), "a.*"); fault.Code(err) != "id/malformed" {
		t.Errorf("PullWork: %v, want id/malformed", err)
	}
}

// TestWF10_PullingNeverStalls is about a lost wake-up in the client library: a
// busy consumer sat idle for half a minute with work pending. Everything that
// is queued must be pulled promptly, once, by many pullers at once.
func TestWF10_PullingNeverStalls(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	const n, pullers = 3000, 8
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var seen sync.Map
	var got, twice atomic.Int64
	var wg sync.WaitGroup
	slowest := make([]time.Duration, pullers)
	for p := range pullers {
		wg.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				d, err := b.PullWork(ctx, "lead")
				if err != nil {
					return
				}
				slowest[p] = max(slowest[p], time.Since(began))
				if _, again := seen.LoadOrStore(d.Assignment.Attempt, true); again {
					twice.Add(1)
				}
				if err := d.Ack(); err != nil {
					t.Error(err)
				}
				if got.Add(1) == n {
					cancel()
				}
			}
		})
	}
	for i := range n {
		if err := b.PublishWork(t.Context(), assignment("lead", i)); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if got.Load() != n || twice.Load() > 0 {
		t.Errorf("pulled %d of %d, %d of them twice", got.Load(), n, twice.Load())
	}
	if worst := slices.Max(slowest); worst > 25*time.Second {
		t.Errorf("a puller waited %v while work was queued", worst)
	}
}

func TestWF10_ALostWorkQueueIsMadeAnewAndTold(t *testing.T) {
	told := make(chan struct{}, 8)
	b, _ := start(t, t.TempDir(), broker.Config{WorkLost: func() { told <- struct{}{} }})
	js, err := jetstream.New(b.Core())
	if err != nil {
		t.Fatal(err)
	}
	lose := func() {
		t.Helper()
		if err := js.DeleteStream(t.Context(), "WORK"); err != nil {
			t.Fatal(err)
		}
	}
	wait := func(when string) {
		t.Helper()
		select {
		case <-told:
		case <-time.After(2 * time.Minute):
			t.Fatalf("nobody was told %s", when)
		}
	}
	publishWork(t, b, assignment("lead", 1))
	lose()
	publishWork(t, b, assignment("lead", 2))
	wait("when publishing found it gone")
	if d := pull(t, b, "lead"); d.Assignment.Attempt != "p-1-x1-a2" {
		t.Errorf("pulled %s", d.Assignment.Attempt)
	} else if err := d.Ack(); err != nil {
		t.Error(err)
	}
	pulled := make(chan string)
	go func() {
		d, err := b.PullWork(t.Context(), "lead")
		if err != nil {
			pulled <- err.Error()
			return
		}
		pulled <- d.Assignment.Attempt
	}()
	lose()
	wait("when pulling found it gone")
	publishWork(t, b, assignment("lead", 3))
	if got := <-pulled; got != "p-1-x1-a3" {
		t.Errorf("the waiting puller got %s", got)
	}
}
