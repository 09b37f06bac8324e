package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF10_ContractOfTheMemory(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journal.Log { return journal.NewMemory(0) })
}

func TestWF10_ContractOfMemorySnapshots(t *testing.T) {
	journaltest.RunSnapshots(t, func(*testing.T) journal.Snapshots { return journal.NewMemorySnapshots() })
}

func TestWF10_LostSnapshotsAreNoError(t *testing.T) {
	s := journal.NewMemorySnapshots()
	ref, err := s.Save(t.Context(), journaltest.Snapshot("p", 1))
	if err != nil {
		t.Fatal(err)
	}
	s.Lose()
	if got, err := s.Load(t.Context(), ref); got != nil || err != nil {
		t.Errorf("Load of a lost snapshot: %v, %v; want nil", got, err)
	}
}

// chain returns n sealed batches.
func chain(n int) (batches []*loomv1.Batch) {
	h := journal.Head{}
	for i := range n {
		b := journaltest.Batch(h, fmt.Sprint("b-", i+1), "text")
		h, _ = journal.Check(h, h.Sequence+1, b.Batch)
		batches = append(batches, b.Batch)
	}
	return batches
}

func TestWF10_DamageIsNamed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(b []*loomv1.Batch) []*loomv1.Batch
		at     string
		says   string
	}{
		{"none", func(b []*loomv1.Batch) []*loomv1.Batch { return b }, "", ""},
		{"an event altered", func(b []*loomv1.Batch) []*loomv1.Batch { b[2].Events[0].Bead = "x"; return b }, "3", "altered"},
		{"the writer altered", func(b []*loomv1.Batch) []*loomv1.Batch { b[0].Writer += "x"; return b }, "1", "altered"},
		{"the epoch altered", func(b []*loomv1.Batch) []*loomv1.Batch { b[1].Epoch++; return b }, "2", "altered"},
		{"the id altered", func(b []*loomv1.Batch) []*loomv1.Batch { b[1].Id = "x"; return b }, "2", "altered"},
		{"the partition altered", func(b []*loomv1.Batch) []*loomv1.Batch { b[1].Partition++; return b }, "2", "altered"},
		{"the hash cut off", func(b []*loomv1.Batch) []*loomv1.Batch { b[1].Hash = nil; return b }, "2", "altered"},
		{"an unknown field added", func(b []*loomv1.Batch) []*loomv1.Batch {
			b[1].ProtoReflect().SetUnknown([]byte{0xf8, 0x7f, 1})
			return b
		}, "2", "altered"},
		{"two swapped", func(b []*loomv1.Batch) []*loomv1.Batch { b[1], b[2] = b[2], b[1]; return b }, "2", "does not continue"},
		{"one put in twice", func(b []*loomv1.Batch) []*loomv1.Batch { return append(b[:2], b[1]) }, "3", "does not continue"},
		{"another log's", func(b []*loomv1.Batch) []*loomv1.Batch {
			b[1] = journaltest.Batch(journal.Head{}, "alien", "").Batch
			return b
		}, "2", "does not continue"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := checkAll(tt.damage(chain(4)))
			if tt.at == "" && err != nil || tt.at != "" && (fault.Code(err) != "journal/chain" ||
				!strings.Contains(err.Error(), "sequence "+tt.at+":") || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%v; want sequence %s and %q", err, tt.at, tt.says)
			}
		})
	}
}

func checkAll(batches []*loomv1.Batch) (err error) {
	h := journal.Head{}
	for i, b := range batches {
		if h, err = journal.Check(h, uint64(i+1), b); err != nil {
			return err
		}
	}
	return nil
}

func TestWF10_HolesAndOldEpochsAreNamed(t *testing.T) {
	b := chain(3)
	h, err := journal.Check(journal.Head{}, 1, b[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Check(h, 3, b[2]); fault.Code(err) != "journal/chain" || !strings.Contains(err.Error(), "batch after 1 is missing") {
		t.Errorf("a hole: %v", err)
	}
	h.Epoch = 2
	old := journal.Seal(h, 0, 1, "w", "id", nil)
	if _, err := journal.Check(h, 2, old.Batch); fault.Code(err) != "journal/chain" || !strings.Contains(err.Error(), "epoch 1, after epoch 2") {
		t.Errorf("an old epoch: %v", err)
	}
}

func TestWF10_AnyFlippedBitIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "batches")
		batches := chain(n)
		at := rapid.IntRange(0, n-1).Draw(t, "batch")
		data := journal.Encode(batches[at])
		bit := rapid.IntRange(0, len(data)*8-1).Draw(t, "bit")
		data[bit/8] ^= 1 << (bit % 8)
		b, err := journal.Decode(uint64(at+1), data)
		if err == nil && proto.Equal(b, batches[at]) {
			return // the same message, written otherwise
		}
		if err == nil {
			batches[at] = b
			err = checkAll(batches)
		}
		if fault.Code(err) != "journal/chain" || !strings.Contains(err.Error(), fmt.Sprintf("sequence %d:", at+1)) {
			t.Fatalf("bit %d of batch %d: %v", bit, at+1, err)
		}
	})
}

// TestWF10_NothingIsLostOrDoubledByFaults drives a writer over a log that
// fails at random, as a keeper would: it settles what is unknown and never
// retries blindly. Every batch that it counts as committed is there, once.
func TestWF10_NothingIsLostOrDoubledByFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, log, h := t.Context(), journal.NewMemory(0), journal.Head{}
		var committed, unknown []string
		for i := range rapid.IntRange(1, 40).Draw(t, "appends") {
			kind := rapid.SampledFrom([]journal.Fault{0, 0, journal.Refuse, journal.LoseReply, journal.LoseWrite, journal.LandLate}).Draw(t, "fault")
			log.FailNext(kind)
			b := journaltest.Batch(h, fmt.Sprint("b-", i), "")
			seq, err := log.Append(ctx, h.Sequence, b)
			switch fault.Code(err) {
			case "":
				h, err = journal.Check(h, seq, b.Batch)
				committed = append(committed, b.Id)
			case "journal/full":
				err = nil
			case "journal/moved": // a write that was thought lost has landed
				h, err = replay(ctx, log)
			case "journal/unknown":
				var in bool
				if in, h, err = journal.Settle(ctx, log, h, b); in {
					committed = append(committed, b.Id)
				} else {
					unknown = append(unknown, b.Id)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		verify(t, log, committed, unknown)
	})
}

func replay(ctx context.Context, log journal.Log) (h journal.Head, err error) {
	err = log.Read(ctx, 1, func(seq uint64, b *loomv1.Batch) error {
		h, err = journal.Check(h, seq, b)
		return err
	})
	return h, err
}

// verify reads the log and compares it with what its writer believes.
func verify(t *rapid.T, log journal.Log, committed, unknown []string) {
	times := map[string]int{}
	if err := log.Read(t.Context(), 1, func(_ uint64, b *loomv1.Batch) error {
		times[b.Id]++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, id := range committed {
		if times[id] != 1 {
			t.Fatalf("committed %s is in the log %d times", id, times[id])
		}
		delete(times, id)
	}
	for id, n := range times {
		if n != 1 || !slices.Contains(unknown, id) {
			t.Fatalf("%s is in the log %d times, and was never unknown", id, n)
		}
	}
}

func TestWF10_FaultsOfTheMemory(t *testing.T) {
	for _, tt := range []struct {
		fault      journal.Fault
		code       string
		in, landed bool // at the first Settle, and at the second
	}{
		{journal.Refuse, "journal/full", false, false},
		{journal.LoseReply, "journal/unknown", true, true},
		{journal.LoseWrite, "journal/unknown", false, false},
		{journal.LandLate, "journal/unknown", false, true},
	} {
		log := journal.NewMemory(0)
		h := journaltest.Fill(t, log, journal.Head{}, 1)
		b := journaltest.Batch(h, "b", "")
		log.FailNext(tt.fault)
		if _, err := log.Append(t.Context(), 1, b); fault.Code(err) != tt.code {
			t.Errorf("fault %d: %v, want %s", tt.fault, err, tt.code)
		}
		for i, want := range []bool{tt.in, tt.landed} {
			if in, _, err := journal.Settle(t.Context(), log, h, b); in != want || err != nil {
				t.Errorf("fault %d, Settle %d: %t, %v; want %t", tt.fault, i+1, in, err, want)
			}
		}
	}
}

func TestWF10_CorruptIsFoundByCheck(t *testing.T) {
	log := journal.NewMemory(0)
	h := journaltest.Fill(t, log, journal.Head{}, 2)
	log.FailNext(journal.Corrupt)
	if _, err := log.Append(t.Context(), 2, journaltest.Batch(h, "b", "")); err != nil {
		t.Fatal(err)
	}
	if _, err := replay(t.Context(), log); fault.Code(err) != "journal/chain" || !strings.Contains(err.Error(), "sequence 3") {
		t.Errorf("replay: %v, want journal/chain at 3", err)
	}
}

func TestWF10_TruncatedAndClosed(t *testing.T) {
	log := journal.NewMemory(3)
	h := journaltest.Fill(t, log, journal.Head{}, 3)
	log.Truncate(1)
	if _, _, err := journal.Settle(t.Context(), log, h, journaltest.Batch(h, "b", "")); fault.Code(err) != "journal/behind" ||
		!strings.Contains(err.Error(), "partition 3 ends at 1, before 3") {
		t.Errorf("Settle of a truncated log: %v", err)
	}
	log.Close()
	if _, err := log.Append(t.Context(), 1, journaltest.Batch(h, "b", "")); fault.Code(err) != "journal/closed" {
		t.Errorf("Append to a closed log: %v", err)
	}
	if err := log.Follow(t.Context(), 1, func(uint64, *loomv1.Batch) error { return nil }); fault.Code(err) != "journal/closed" {
		t.Errorf("Follow of a closed log: %v", err)
	}
}

func BenchmarkSealAndCheck(b *testing.B) {
	for b.Loop() {
		batch := journaltest.Batch(journal.Head{}, "id", strings.Repeat("x", 64<<10))
		if _, err := journal.Check(journal.Head{}, 1, batch.Batch); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleCheck() {
	first := journal.Seal(journal.Head{}, 0, 1, "h1.1", "a", nil)
	h, _ := journal.Check(journal.Head{}, 1, first.Batch)
	second := journal.Seal(h, 0, 1, "h1.1", "b", nil)
	_, err := journal.Check(h, 3, second.Batch) // something was at 2
	fmt.Println(err)
	second.Writer = "h2.1"
	_, err = journal.Check(h, 2, second.Batch)
	fmt.Println(err)
	// Output:
	// journal sequence 3: the batch after 1 is missing
	// journal sequence 2: batch 2 was altered: its hash is not that of its content
}

// TestWF10_ABatchIsEncodedOnce compares what a sealed batch is stored as with its
// encoding, whatever its fields are.
func TestWF10_ABatchIsEncodedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := journal.Head{Sequence: rapid.Uint64().Draw(t, "sequence"), Hash: rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "previous")}
		var events []*loomv1.Event
		for _, text := range rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "texts") {
			events = append(events, &loomv1.Event{Number: 1, Project: text})
		}
		b := journal.Seal(h, rapid.IntRange(0, 300).Draw(t, "partition"), rapid.Uint64().Draw(t, "epoch"), rapid.String().Draw(t, "writer"), rapid.String().Draw(t, "id"), events)
		if got := b.Encoding(); !bytes.Equal(got, journal.Encode(b.Batch)) {
			t.Fatalf("stored as %x, encoded %x", got, journal.Encode(b.Batch))
		}
		if _, err := journal.Check(journal.Head{Sequence: h.Sequence, Hash: h.Hash}, h.Sequence+1, b.Batch); err != nil {
			t.Fatal(err)
		}
		if _, err := journal.CheckStored(journal.Head{Sequence: h.Sequence, Hash: h.Hash}, h.Sequence+1, b.Encoding()); err != nil {
			t.Fatal(err)
		}
	})
}
