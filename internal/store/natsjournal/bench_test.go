package natsjournal_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/natsjournal"
)

func BenchmarkAppend(b *testing.B) {
	br, err := serve(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = br.Close(context.Background()) }()
	log, err := natsjournal.New(b.Context(), br.Core(), 0)
	if err != nil {
		b.Fatal(err)
	}
	h := journal.Head{}
	for b.Loop() {
		batch := journaltest.Batch(h, fmt.Sprint(h.Sequence), strings.Repeat("x", 200))
		seq, err := log.Append(b.Context(), h.Sequence, batch)
		if err != nil {
			b.Fatal(err)
		}
		h = journal.Head{Sequence: seq, Epoch: 1, Hash: batch.Hash}
	}
}

func BenchmarkRead1000(b *testing.B) {
	br, err := serve(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = br.Close(context.Background()) }()
	log, err := natsjournal.New(b.Context(), br.Core(), 0)
	if err != nil {
		b.Fatal(err)
	}
	h := journal.Head{}
	for range 1000 {
		batch := journaltest.Batch(h, fmt.Sprint(h.Sequence), strings.Repeat("x", 8000))
		seq, err := log.Append(b.Context(), h.Sequence, batch)
		if err != nil {
			b.Fatal(err)
		}
		h = journal.Head{Sequence: seq, Epoch: 1, Hash: batch.Hash}
	}
	for b.Loop() {
		if got, err := head(b.Context(), log); err != nil || got.Sequence != 1000 {
			b.Fatal(got, err)
		}
	}
}
