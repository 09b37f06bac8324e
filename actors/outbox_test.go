package actors

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// slow is an observer that hears nothing until it is let go.
type slow struct {
	let  chan struct{}
	want int
	all  chan struct{} // closed once it has heard want
	mu   sync.Mutex
	got  []*loomv1.Notice
}

func (s *slow) Heard(*loomv1.Event) bool { return true }

func (s *slow) PublishNotice(_ context.Context, n *loomv1.Notice) error {
	<-s.let // however long that takes: what is given up is not told
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, n)
	if len(s.got) == s.want {
		close(s.all)
	}
	return nil
}

func (s *slow) PublishWork(context.Context, *loomv1.Assignment) error { return nil }

// TestWF10_OutboxIsBoundedAndTellsAll puts in far more than has a place: what
// has none is read from the journal, in order, and nothing is told twice.
func TestWF10_OutboxIsBoundedAndTellsAll(t *testing.T) {
	const batches, each = 50, 400
	s := newScribe(journal.NewMemorySnapshots())
	to := &slow{let: make(chan struct{}), want: batches * each, all: make(chan struct{})}
	o := newOutbox(s.log, to, to, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { o.sendNotices(ctx) })
	running.Go(func() { o.sendWork(ctx) })
	for range batches {
		o.put(nil, s.batch(t, each))
		o.mu.Lock()
		n := o.events
		o.mu.Unlock()
		if n > mostQueued {
			t.Fatalf("%d notices wait, the most is %d", n, mostQueued)
		}
	}
	close(to.let)
	select {
	case <-to.all:
	case <-time.After(2 * time.Minute):
		to.mu.Lock()
		t.Errorf("%d of %d notices were told", len(to.got), to.want)
		to.mu.Unlock()
	}
	cancel()
	running.Wait()
	last := ""
	for _, n := range to.got {
		p := n.Position
		at := fmt.Sprintf("%08d.%08d", p.Sequence, p.Index)
		if at <= last {
			t.Fatalf("%s was told after %s", at, last)
		}
		last = at
	}
}

// batch appends a batch of so many events and returns it.
func (s *scribe) batch(t *testing.T, n int) told {
	var events []*loomv1.Event
	for i := range n {
		events = append(events, &loomv1.Event{Number: uint64(i), Project: "a", Fact: &loomv1.Event_NodeSkipped{NodeSkipped: &loomv1.NodeSkipped{}}})
	}
	s.n++
	b := journal.Seal(s.head, 0, 1, "h.1", fmt.Sprint("b", s.n), events)
	seq, err := s.log.Append(t.Context(), s.head.Sequence, b)
	if err != nil {
		t.Fatal(err)
	}
	s.head = journal.Head{Sequence: seq, Epoch: 1, Hash: b.Hash}
	return told{epoch: 1, sequence: seq, events: events}
}

func TestWF10_AssignmentsBeyondTheBoundAreLeftToTheSweep(t *testing.T) {
	o := newOutbox(journal.NewMemory(0), nil, nil, slog.New(slog.DiscardHandler))
	for range 3 {
		o.put(make([]*loomv1.Assignment, mostQueued/2))
	}
	if len(o.tasks) != mostQueued || o.dropped != mostQueued/2 {
		t.Errorf("%d assignments wait and %d were dropped, want %d and %d", len(o.tasks), o.dropped, mostQueued, mostQueued/2)
	}
}
