package actors_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func isFiled(e *loomv1.Event) bool { return e.GetBeadFiled() != nil }

func TestWF10_GroupCommitSharesAppends(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	before, _, err := r.log.Last(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	entered, release := r.log.hold()
	const commands = 60
	var all sync.WaitGroup
	for i := range commands {
		all.Go(func() { r.must(file("shop", fmt.Sprintf("k%d", i))) })
		if i == 0 {
			<-entered // the others come while its append is under way
		}
	}
	r.await("nothing but what was there", func(e *loomv1.Event) bool { return e.GetDefinitionStored() != nil })
	if n := count(r.events(), isFiled); n != 0 {
		t.Errorf("%d beads are in the journal before an append came back", n)
	}
	r.decided(commands)
	release()
	all.Wait()
	after, _, err := r.log.Last(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(r.events(), isFiled); n != commands || after-before > 10 {
		t.Errorf("%d beads in %d batches, want %d in a few", n, after-before, commands)
	}
}

// decided waits until so many more commands were decided than registration
// needed: each asks for the time once or twice.
func (r *rig) decided(n int) {
	for {
		r.clock.mu.Lock()
		asked := r.clock.asked
		r.clock.mu.Unlock()
		if asked >= n+3 || r.ctx.Err() != nil {
			return
		}
	}
}

func TestWF10_NobodyIsToldBeforeItIsDurable(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	entered, release := r.log.hold()
	answered := make(chan string, 2)
	go func() { answered <- "write " + r.must(file("shop", "k")).GetSubmit().GetBead() }()
	<-entered
	go func() { // it was asked after the write was decided, and must not see it before it is durable
		v, err := r.projects.Look(r.ctx, "bead", &loomv1.Query{Project: "shop"})
		answered <- fmt.Sprint("read ", len(v.GetBeads()), err)
	}()
	select {
	case a := <-answered:
		t.Fatalf("%s was answered while the append was held up", a)
	case <-time.After(100 * time.Millisecond): // long enough for an answer that must not come
	}
	release()
	got := map[string]bool{<-answered: true, <-answered: true}
	if !got["write shop-1"] || !got["read 1 <nil>"] {
		t.Errorf("answers %v", got)
	}
}

// TestF44_UnknownOutcomeIsSettled loses acknowledgements and writes. Whatever
// becomes of them, the caller is answered once, and hears the same again.
func TestF44_UnknownOutcomeIsSettled(t *testing.T) {
	for name, f := range map[string]journal.Fault{"acknowledgement lost": journal.LoseReply, "write lost": journal.LoseWrite, "write late": journal.LandLate} {
		t.Run("P5 "+name, func(t *testing.T) {
			r := newRig(t).start().register("shop", "researcher")
			r.log.FailNext(f)
			first := r.must(file("shop", "k")).GetSubmit()
			if n := count(r.events(), func(e *loomv1.Event) bool { return e.GetBeadFiled().GetBead().GetId() == first.Bead }); n != 1 {
				t.Errorf("%s was acknowledged and is in the journal %d times", first.Bead, n)
			}
			again := r.must(file("shop", "k")).GetSubmit()
			if again.Bead != first.Bead || !again.Duplicate {
				t.Errorf("asked again: %v, first: %v", again, first)
			}
			if n := count(r.events(), isFiled); n != 1 {
				t.Errorf("%d beads were filed, want 1", n)
			}
		})
	}
}

func TestF32_CommandsWithoutAKeyAreRepeatedWithoutHarm(t *testing.T) {
	for _, f := range []journal.Fault{journal.LoseWrite, journal.LandLate, journal.LoseReply} {
		r := newRig(t).start().register("shop", "researcher")
		r.log.FailNext(f)
		one, two := r.must(file("shop", "")).GetSubmit(), r.must(file("shop", "")).GetSubmit()
		if n := count(r.events(), isFiled); n != 2 || one.Bead == two.Bead {
			t.Errorf("fault %d: %d beads of two submissions, %v and %v", f, n, one, two)
		}
	}
}

// TestF43_MovedLogEndsTheIncarnation has another writer extend the log.
func TestF43_MovedLogEndsTheIncarnation(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	for i := range 3 {
		seq, b, err := r.log.Last(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		foreign := journal.Seal(journal.Head{Sequence: seq, Epoch: b.Epoch, Hash: b.Hash}, 0, 1, "h9.1", fmt.Sprint("foreign-", i), nil)
		if _, err := r.log.Memory.Append(r.ctx, seq, foreign); err != nil {
			t.Fatal(err)
		}
		r.must(file("shop", fmt.Sprint("k", i)))
	}
	if n := count(r.events(), isFiled); n != 3 {
		t.Errorf("%d beads, want 3", n)
	}
}

func TestWF10_RefusedAppendIsRepeated(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	r.log.FailNext(journal.Refuse, journal.Refuse)
	r.must(file("shop", "k"))
	if n := count(r.events(), isFiled); n != 1 {
		t.Errorf("%d beads, want 1", n)
	}
}

func TestP21_DamagedJournalIsNamed(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	r.log.FailNext(journal.Corrupt)
	r.must(file("shop", "k"))
	r.stop()
	r.start()
	wantCode(t, "Ready of a damaged journal", r.projects.Ready(r.ctx), "journal/chain")
	short, cancel := context.WithCancel(r.ctx)
	cancel()
	_, err := r.projects.Do(short, file("shop", "k2"))
	if code := fault.Code(err); code != "host/unavailable" && code != "journal/chain" { // whichever came first
		t.Errorf("a command on a damaged journal: %v", err)
	}
}
