package natsjournal_test

import (
	"context"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/natsjournal"
)

// start runs a broker on a fresh directory and stops it with the test.
func start(t *testing.T) *broker.Broker {
	t.Helper()
	dir, err := datadir.Config{Path: t.TempDir(), Partitions: 1}.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
		_ = dir.Close()
	})
	return b
}

func open(t *testing.T, b *broker.Broker) *natsjournal.Log {
	t.Helper()
	l, err := natsjournal.New(t.Context(), b.Core(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestWF10_ContractOfTheJournal(t *testing.T) {
	longtest.Skip(t)
	journaltest.Run(t, func(t *testing.T) journal.Log { return open(t, start(t)) })
}

func TestWF10_ContractOfSnapshots(t *testing.T) {
	journaltest.RunSnapshots(t, func(t *testing.T) journal.Snapshots {
		s, err := natsjournal.NewSnapshots(t.Context(), start(t).Core())
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
