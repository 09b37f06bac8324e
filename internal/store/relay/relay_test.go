package relay_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/relay"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF11_ContractOfTheRelay(t *testing.T) {
	for _, alone := range []bool{true, false} {
		journaltest.Run(t, func(*testing.T) journal.Log { return relay.New(journal.NewMemory(0), alone).Follower() })
	}
}

// counted is a log that counts the batches which followers read from it.
type counted struct {
	*journal.Memory
	read atomic.Int64
}

func (l *counted) Follow(ctx context.Context, from uint64, fn func(uint64, *loomv1.Batch) error) error {
	return l.Memory.Follow(ctx, from, func(sequence uint64, b *loomv1.Batch) error {
		l.read.Add(1)
		return fn(sequence, b)
	})
}

// fed is a relay with its follower, who checks the chain.
type fed struct {
	*relay.Relay
	log  *counted
	own  journal.Head // of whoever appends through the relay
	seen atomic.Uint64
	gate chan struct{} // closed while the follower may go on
	done chan error
}

func feed(ctx context.Context, alone bool) *fed {
	f := &fed{log: &counted{Memory: journal.NewMemory(0)}, gate: make(chan struct{}), done: make(chan error, 1)}
	f.Relay = relay.New(f.log, alone)
	close(f.gate)
	go func() {
		h := journal.Head{}
		f.done <- f.Follower().Follow(ctx, 1, func(sequence uint64, b *loomv1.Batch) (err error) {
			<-f.gate
			h, err = journal.Check(h, sequence, b)
			f.seen.Store(h.Sequence)
			return err
		})
	}()
	synctest.Wait()
	return f
}

// append writes a batch through the relay, and goes on as a keeper would.
func (f *fed) append(t interface{ Fatal(...any) }, to journal.Log) {
	b := journaltest.Batch(f.own, "b", "text")
	next, err := journal.Check(f.own, f.own.Sequence+1, b.Batch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Append(context.Background(), f.own.Sequence, b); err == nil {
		f.own = next
		return
	}
	in, head, err := journal.Settle(context.Background(), f.log, f.own, b)
	if err != nil {
		t.Fatal(err)
	}
	if in {
		f.own = head
	}
}

// What one host appends is not read back, but for what came before it was followed.
func TestWF11_TheRelayReadsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		f := feed(ctx, true)
		for range 1000 {
			f.append(t, f.Relay)
			synctest.Wait()
		}
		if f.seen.Load() != 1000 || f.log.read.Load() != 1 {
			t.Errorf("followed up to %d of 1000, %d read from the log; want the first alone", f.seen.Load(), f.log.read.Load())
		}
		stop()
		if err := <-f.done; !errors.Is(err, context.Canceled) {
			t.Errorf("Follow ended with %v", err)
		}
	})
}

// A follower that is slower than the appends reads the log, and is fed again then.
func TestWF11_TheRelayIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		f := feed(ctx, true)
		f.append(t, f.Relay)
		synctest.Wait()
		f.gate = make(chan struct{})
		for range 2000 {
			f.append(t, f.Relay)
		}
		close(f.gate)
		synctest.Wait()
		read := f.log.read.Load()
		if f.seen.Load() != 2001 || read < 1000 {
			t.Errorf("followed up to %d of 2001, %d read from the log; want most of them", f.seen.Load(), read)
		}
		for range 100 {
			f.append(t, f.Relay)
			synctest.Wait()
		}
		if f.seen.Load() != 2101 || f.log.read.Load() > read+1 {
			t.Errorf("followed up to %d of 2101, %d more read from the log; want one at most", f.seen.Load(), f.log.read.Load()-read)
		}
		stop()
		<-f.done
	})
}

// Whatever becomes of appends, through the relay and by others, the follower has each
// batch once and in order, a second after the last at the latest.
func TestWF11_TheRelayLeavesNothingOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		alone := rapid.Bool().Draw(rt, "alone")
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 60).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			f := feed(ctx, alone)
			for _, step := range steps {
				switch step {
				case 0:
					f.log.FailNext(journal.LoseReply)
					f.append(t, f.Relay)
				case 1:
					f.log.FailNext(journal.LandLate)
					f.append(t, f.Relay)
				case 2:
					f.log.FailNext(journal.Refuse)
					f.append(t, f.Relay)
				case 3:
					if !alone { // another host's
						f.append(t, f.log)
					}
				case 4:
					synctest.Wait()
				case 5:
					for range 20 {
						f.append(t, f.Relay)
					}
				default:
					f.append(t, f.Relay)
				}
			}
			<-time.After(2 * time.Second) // of the bubble's own time
			last, _, err := f.log.Last(ctx)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if f.seen.Load() != last {
				t.Errorf("alone: %t, steps %v: followed up to %d of %d", alone, steps, f.seen.Load(), last)
			}
			stop()
			if err := <-f.done; !errors.Is(err, context.Canceled) {
				t.Errorf("alone: %t, steps %v: Follow ended with %v", alone, steps, err)
			}
		})
	})
}
