// Package journaltest holds the contract tests of the journal, which every
// implementation of it must pass.
package journaltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Run runs the contract tests on fresh, empty logs that open returns.
func Run(t *testing.T, open func(t *testing.T) journal.Log) {
	for name, test := range map[string]func(*testing.T, journal.Log){
		"an empty log has nothing":                 empty,
		"what is appended is read back":            readBack,
		"an append past the end or before it":      conflict,
		"appending the newest again is harmless":   again,
		"the size limit is exact":                  size,
		"an ended context leaves nothing behind":   ended,
		"a reader's error ends the read":           readError,
		"reading begins where it is told":          readFrom,
		"following sees old and new, each once":    follow,
		"of concurrent writers exactly one wins":   concurrent,
		"the chain holds over what was appended":   chain,
		"settle tells committed from not":          settle,
		"settle knows our batch under another's":   settleUnder,
		"settle refuses a log that lost its end":   settleBehind,
		"the appended batch stays the caller's":    ownership,
		"a partition has its number":               partition,
		"following goes on after a long silence":   followSilence,
		"many followers see the same":              followMany,
		"an append that lost the race may go on":   goOn,
		"last is read after each acknowledged one": lastAfterEach,
	} {
		t.Run("WF10 "+name, func(t *testing.T) { test(t, open(t)) })
	}
}

// Batch returns a batch that continues the chain at h, with one event whose
// text is text.
func Batch(h journal.Head, id, text string) journal.Sealed {
	return journal.Seal(h, 0, 1, "h-test.1", id, []*loomv1.Event{{
		Number: h.Sequence + 1, Project: "p",
		Fact: &loomv1.Event_BeadStatusChanged{BeadStatusChanged: &loomv1.BeadStatusChanged{Reason: text}},
	}})
}

// Fill appends n batches after h and returns the new head.
func Fill(t *testing.T, l journal.Log, h journal.Head, n int) journal.Head {
	t.Helper()
	for range n {
		b := Batch(h, fmt.Sprintf("b-%d", h.Sequence+1), "")
		h = must(t, l, h, b)
	}
	return h
}

func must(t *testing.T, l journal.Log, h journal.Head, b journal.Sealed) journal.Head {
	t.Helper()
	seq, err := l.Append(t.Context(), h.Sequence, b)
	if err != nil {
		t.Fatalf("Append(%d, %s): %v", h.Sequence, b.Id, err)
	}
	next, err := journal.Check(h, seq, b.Batch)
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	return next
}

func ids(t *testing.T, l journal.Log, from uint64) (got []string) {
	t.Helper()
	if err := l.Read(t.Context(), from, func(seq uint64, b *loomv1.Batch) error {
		got = append(got, fmt.Sprintf("%d:%s", seq, b.Id))
		return nil
	}); err != nil {
		t.Fatalf("Read(%d): %v", from, err)
	}
	return got
}

func wantIDs(t *testing.T, l journal.Log, from uint64, want string) {
	t.Helper()
	if got := strings.Join(ids(t, l, from), " "); got != want {
		t.Errorf("Read(%d) gives %q, want %q", from, got, want)
	}
}

func wantCode(t *testing.T, call string, err error, code string) {
	t.Helper()
	if fault.Code(err) != code {
		t.Errorf("%s: %v, want code %q", call, err, code)
	}
}

func empty(t *testing.T, l journal.Log) {
	if seq, b, err := l.Last(t.Context()); seq != 0 || b != nil || err != nil {
		t.Errorf("Last of an empty log: %d, %v, %v", seq, b, err)
	}
	wantIDs(t, l, 0, "")
	wantIDs(t, l, 7, "")
}

func partition(t *testing.T, l journal.Log) {
	if l.Partition() != 0 {
		t.Errorf("Partition() = %d, want 0", l.Partition())
	}
}

func readBack(t *testing.T, l journal.Log) {
	b := Batch(journal.Head{}, "a", "some text")
	must(t, l, journal.Head{}, b)
	seq, last, err := l.Last(t.Context())
	if seq != 1 || err != nil || !proto.Equal(last, b) {
		t.Errorf("Last: %d, %v, %v; want 1, %v", seq, last, err, b)
	}
	if err := l.Read(t.Context(), 1, func(_ uint64, got *loomv1.Batch) error {
		if !proto.Equal(got, b) {
			t.Errorf("read %v, want %v", got, b)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func conflict(t *testing.T, l journal.Log) {
	h := Fill(t, l, journal.Head{}, 2)
	for _, last := range []uint64{0, 1, 3, 99} {
		_, err := l.Append(t.Context(), last, Batch(h, "other", ""))
		wantCode(t, fmt.Sprintf("Append(%d) to a log that ends at 2", last), err, "journal/moved")
	}
	wantIDs(t, l, 1, "1:b-1 2:b-2")
}

func again(t *testing.T, l journal.Log) {
	h := Fill(t, l, journal.Head{}, 1)
	b := Batch(h, "again", "")
	must(t, l, h, b)
	if seq, err := l.Append(t.Context(), 1, b); seq != 2 || err != nil {
		t.Errorf("the second Append: %d, %v; want 2", seq, err)
	}
	wantIDs(t, l, 1, "1:b-1 2:again")
	_, err := l.Append(t.Context(), 0, Batch(journal.Head{}, "b-1", ""))
	wantCode(t, "Append of a batch that is not the newest", err, "journal/moved")
}

func size(t *testing.T, l journal.Log) {
	over := len(Batch(journal.Head{}, "big", strings.Repeat("x", journal.MaxBytes)).Encoding())
	fits := journal.MaxBytes - (over - journal.MaxBytes)
	_, err := l.Append(t.Context(), 0, Batch(journal.Head{}, "big", strings.Repeat("x", fits+1)))
	wantCode(t, "Append of 1 MiB and a byte", err, "journal/too-large")
	b := Batch(journal.Head{}, "big", strings.Repeat("x", fits))
	if n := len(b.Encoding()); n != journal.MaxBytes {
		t.Fatalf("the batch has %d bytes, want %d", n, journal.MaxBytes)
	}
	must(t, l, journal.Head{}, b)
	wantIDs(t, l, 1, "1:big")
}

func ended(t *testing.T, l journal.Log) {
	h := Fill(t, l, journal.Head{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Append(ctx, 1, Batch(h, "late", "")); err == nil {
		t.Error("Append with an ended context succeeds")
	}
	if err := l.Read(ctx, 1, func(uint64, *loomv1.Batch) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Read with an ended context: %v", err)
	}
	if err := l.Follow(ctx, 1, func(uint64, *loomv1.Batch) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Follow with an ended context: %v", err)
	}
}

func readError(t *testing.T, l journal.Log) {
	Fill(t, l, journal.Head{}, 5)
	stop := errors.New("enough")
	for name, read := range map[string]func(context.Context, uint64, func(uint64, *loomv1.Batch) error) error{
		"Read": l.Read, "Follow": l.Follow,
	} {
		var seen uint64
		err := read(t.Context(), 1, func(seq uint64, _ *loomv1.Batch) error {
			if seen = seq; seq == 3 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || seen != 3 {
			t.Errorf("%s ends with %v after %d, want %v after 3", name, err, seen, stop)
		}
	}
}

func readFrom(t *testing.T, l journal.Log) {
	Fill(t, l, journal.Head{}, 100) // more than one page
	for _, from := range []uint64{0, 1, 2, 32, 33, 100, 101} {
		got := ids(t, l, from)
		if want := 101 - int(max(from, 1)); len(got) != want {
			t.Errorf("Read(%d) gives %d batches, want %d", from, len(got), want)
		}
	}
}

// follower collects what a Follow sees.
type follower struct {
	seen chan uint64
	stop context.CancelFunc
	done chan error
}

func startFollow(t *testing.T, l journal.Log, from uint64) follower {
	ctx, cancel := context.WithCancel(t.Context())
	f := follower{make(chan uint64, 4096), cancel, make(chan error, 1)}
	go func() {
		f.done <- l.Follow(ctx, from, func(seq uint64, _ *loomv1.Batch) error { f.seen <- seq; return nil })
	}()
	t.Cleanup(func() { cancel() })
	return f
}

// expect waits until from..to were seen, in order, each once.
func (f follower) expect(t *testing.T, from, to uint64) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for want := from; want <= to; want++ {
		select {
		case got := <-f.seen:
			if got != want {
				t.Fatalf("Follow gives %d, want %d", got, want)
			}
		case <-deadline:
			t.Fatalf("Follow did not give %d", want)
		}
	}
}

func (f follower) end(t *testing.T) {
	t.Helper()
	f.stop()
	if err := <-f.done; !errors.Is(err, context.Canceled) {
		t.Errorf("Follow ends with %v, want the context's error", err)
	}
	if n := len(f.seen); n > 0 {
		t.Errorf("Follow gave %d batches too many", n)
	}
}

func follow(t *testing.T, l journal.Log) {
	h := Fill(t, l, journal.Head{}, 40)
	f := startFollow(t, l, 3)
	f.expect(t, 3, 40)
	Fill(t, l, h, 60)
	f.expect(t, 41, 100)
	f.end(t)
}

func followSilence(t *testing.T, l journal.Log) {
	f := startFollow(t, l, 0)
	h := journal.Head{}
	for seq := uint64(1); seq <= 5; seq++ {
		h = Fill(t, l, h, 1)
		f.expect(t, seq, seq)
	}
	f.end(t)
}

func followMany(t *testing.T, l journal.Log) {
	var all []follower
	for range 5 {
		all = append(all, startFollow(t, l, 1))
	}
	Fill(t, l, journal.Head{}, 50)
	for _, f := range all {
		f.expect(t, 1, 50)
		f.end(t)
	}
}

func concurrent(t *testing.T, l journal.Log) {
	const rounds, writers = 20, 8
	h := journal.Head{}
	for round := range rounds {
		var wg sync.WaitGroup
		errs := make([]error, writers)
		batches := make([]journal.Sealed, writers)
		for w := range writers {
			batches[w] = Batch(h, fmt.Sprintf("r%d-w%d", round, w), "")
			wg.Go(func() { _, errs[w] = l.Append(t.Context(), h.Sequence, batches[w]) })
		}
		wg.Wait()
		won := -1
		for w, err := range errs {
			switch {
			case err == nil && won >= 0:
				t.Fatalf("round %d: writers %d and %d both won", round, won, w)
			case err == nil:
				won = w
			case fault.Code(err) != "journal/moved":
				t.Errorf("round %d, writer %d: %v, want journal/moved", round, w, err)
			}
		}
		if won < 0 {
			t.Fatalf("round %d: nobody won", round)
		}
		h, _ = journal.Check(h, h.Sequence+1, batches[won].Batch)
		if _, last, err := l.Last(t.Context()); err != nil || last.Id != batches[won].Id {
			t.Fatalf("round %d: the log ends with %v, %v; %s was acknowledged", round, last, err, batches[won].Id)
		}
	}
}

func chain(t *testing.T, l journal.Log) {
	want := Fill(t, l, journal.Head{}, 50)
	h := journal.Head{}
	if err := l.Read(t.Context(), 1, func(seq uint64, b *loomv1.Batch) (err error) {
		h, err = journal.Check(h, seq, b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if h.Sequence != want.Sequence || string(h.Hash) != string(want.Hash) {
		t.Errorf("reading ends at %v, want %v", h, want)
	}
}

func ownership(t *testing.T, l journal.Log) {
	b := Batch(journal.Head{}, "a", "before")
	must(t, l, journal.Head{}, b)
	b.Events[0].GetBeadStatusChanged().Reason = "after"
	_, last, err := l.Last(t.Context())
	if err != nil || last.Events[0].GetBeadStatusChanged().Reason != "before" {
		t.Errorf("the log changed with the caller's batch: %v, %v", last, err)
	}
}

func goOn(t *testing.T, l journal.Log) {
	h := Fill(t, l, journal.Head{}, 1)
	_, err := l.Append(t.Context(), 0, Batch(journal.Head{}, "stale", ""))
	wantCode(t, "a stale Append", err, "journal/moved")
	Fill(t, l, h, 1)
	wantIDs(t, l, 1, "1:b-1 2:b-2")
}

func lastAfterEach(t *testing.T, l journal.Log) {
	h := journal.Head{}
	for n := uint64(1); n <= 50; n++ {
		h = Fill(t, l, h, 1)
		if seq, _, err := l.Last(t.Context()); seq != n || err != nil {
			t.Fatalf("Last after append %d: %d, %v", n, seq, err)
		}
	}
}
