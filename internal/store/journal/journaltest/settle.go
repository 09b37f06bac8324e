package journaltest

import (
	"testing"

	"github.com/loomrun/loom/internal/store/journal"
)

func settle(t *testing.T, l journal.Log) {
	h := Fill(t, l, journal.Head{}, 1)
	b := Batch(h, "mine", "")
	if in, head, err := journal.Settle(t.Context(), l, h, b); in || head.Sequence != 1 || err != nil {
		t.Errorf("before: %t, %v, %v; want false at 1", in, head, err)
	}
	after := must(t, l, h, b)
	if in, head, err := journal.Settle(t.Context(), l, h, b); !in || head.Sequence != 2 || string(head.Hash) != string(after.Hash) || err != nil {
		t.Errorf("after: %t, %v, %v; want true at 2", in, head, err)
	}
	in, head, err := journal.Settle(t.Context(), l, h, Batch(h, "yours", ""))
	if in || head.Sequence != 1 {
		t.Errorf("another's: %t, %v; want false at 1", in, head)
	}
	wantCode(t, "Settle of a batch that lost", err, "journal/moved")
}

func settleUnder(t *testing.T, l journal.Log) {
	h := Fill(t, l, journal.Head{}, 1)
	b := Batch(h, "mine", "")
	after := must(t, l, h, b)
	Fill(t, l, after, 3)
	in, head, err := journal.Settle(t.Context(), l, h, b)
	if !in || head.Sequence != 2 {
		t.Errorf("mine: %t, %v; want true at 2", in, head)
	}
	wantCode(t, "Settle under another's batches", err, "journal/moved")
	in, _, err = journal.Settle(t.Context(), l, h, Batch(h, "yours", ""))
	if in {
		t.Error("a batch that is not there is called committed")
	}
	wantCode(t, "Settle of a batch that lost", err, "journal/moved")
}

func settleBehind(t *testing.T, l journal.Log) {
	h := Fill(t, l, journal.Head{}, 2)
	ahead := journal.Head{Sequence: 3, Epoch: 1, Hash: h.Hash}
	_, _, err := journal.Settle(t.Context(), l, ahead, Batch(ahead, "mine", ""))
	wantCode(t, "Settle of a log that ends early", err, "journal/behind")
	other := journal.Head{Sequence: 2, Epoch: 1, Hash: []byte("another")}
	_, _, err = journal.Settle(t.Context(), l, other, Batch(other, "mine", ""))
	wantCode(t, "Settle of a log with another end", err, "journal/chain")
}
