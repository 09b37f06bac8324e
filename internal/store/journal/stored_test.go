package journal_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
)

// TestP3_AReadStopsAtWhatIsNotWhole reads three stored batches of which every bit
// of the second is flipped in turn: what comes before is passed on, and the read
// ends there, or at the third, which does not continue what the second has become.
func TestP3_AReadStopsAtWhatIsNotWhole(t *testing.T) {
	var stored [][]byte
	for _, b := range chain(3) {
		stored = append(stored, journal.Encode(b))
	}
	read := func(list [][]byte) (n int, err error) {
		r := new(journal.Reading)
		for i, data := range list {
			if err := r.Next(uint64(i+1), data); err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	if n, err := read(stored); n != 3 || err != nil {
		t.Fatalf("%d whole batches are read, %v", n, err)
	}
	for bit := range 8 * len(stored[1]) {
		spoilt := bytes.Clone(stored[1])
		spoilt[bit/8] ^= 1 << (bit % 8)
		n, err := read([][]byte{stored[0], spoilt, stored[2]})
		if n != 1 || fault.Code(err) != "journal/chain" || !strings.Contains(err.Error(), "sequence 2") {
			t.Errorf("bit %d is flipped: %d batches, %v", bit, n, err)
		}
	}
}

// TestP22_AGapIsNamed reads from anywhere, with batches that are left out, come
// twice or are of another journal.
func TestP22_AGapIsNamed(t *testing.T) {
	b := chain(5)
	other := journal.Seal(journal.Head{Sequence: 2, Hash: b[0].Hash, Epoch: 1}, 0, 1, "w", "id", b[2].Events).Batch
	for _, tt := range []struct {
		sequences []uint64
		says      string
	}{
		{[]uint64{1, 2, 3, 4, 5}, ""},
		{[]uint64{3, 4, 5}, ""},
		{[]uint64{5}, ""},
		{[]uint64{1, 3}, "sequence 3: the batch after 1 is missing"},
		{[]uint64{2, 3, 5}, "sequence 5: the batch after 3 is missing"},
		{[]uint64{2, 2}, "sequence 2: the batch after 2 is missing"},
		{[]uint64{2, 103}, "sequence 3: batch 3 does not continue batch 2"},
	} {
		r, err := new(journal.Reading), error(nil)
		for _, seq := range tt.sequences {
			batch := other
			if seq < 100 {
				batch = b[seq-1]
			}
			if err = r.Next(seq%100, journal.Encode(batch)); err != nil {
				break
			}
		}
		if got := fmt.Sprint(err); err == nil && tt.says != "" || err != nil && (tt.says == "" || !strings.Contains(got, tt.says)) {
			t.Errorf("%v: %v, want %q", tt.sequences, err, tt.says)
		}
	}
}
