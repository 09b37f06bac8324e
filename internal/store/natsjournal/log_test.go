package natsjournal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF10_AMissingJournalIsNamed(t *testing.T) {
	b := start(t)
	if _, err := natsjournal.New(t.Context(), b.Core(), 7); fault.Code(err) != "data/stream-missing" || !strings.Contains(err.Error(), "LOOM_J_07") {
		t.Errorf("New: %v, want data/stream-missing of LOOM_J_07", err)
	}
}

func TestWF10_AClosedConnection(t *testing.T) {
	longtest.Skip(t)
	b := start(t)
	log := open(t, b)
	h := journaltest.Fill(t, log, journal.Head{}, 1)
	done := make(chan error, 1)
	seen := make(chan struct{}, 1)
	go func() {
		done <- log.Follow(t.Context(), 1, func(uint64, *loomv1.Batch) error { seen <- struct{}{}; return nil })
	}()
	<-seen
	b.Core().Close()
	select {
	case err := <-done:
		if fault.Code(err) != "journal/closed" {
			t.Errorf("Follow: %v, want journal/closed", err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("Follow does not end")
	}
	if _, err := log.Append(t.Context(), 1, journaltest.Batch(h, "b", "")); fault.Code(err) != "journal/closed" {
		t.Errorf("Append: %v, want journal/closed", err)
	}
	if _, _, err := log.Last(t.Context()); fault.Code(err) != "journal/closed" {
		t.Errorf("Last: %v, want journal/closed", err)
	}
}

func TestWF10_NoAnswerIsUnknown(t *testing.T) {
	b := start(t)
	log := open(t, b)
	h := journaltest.Fill(t, log, journal.Head{}, 1)
	raw := func(subj string) {
		t.Helper()
		if m, err := b.Core().Request(subj, nil, 5*time.Second); err != nil || !json.Valid(m.Data) {
			t.Fatal(m, err)
		}
	}
	raw("$JS.API.STREAM.DELETE.LOOM_J_00")
	if _, err := log.Append(t.Context(), 1, journaltest.Batch(h, "b", "")); fault.Code(err) != "journal/unknown" || !errors.Is(err, nats.ErrNoResponders) && !strings.Contains(err.Error(), "no response") {
		t.Errorf("Append without a stream: %v, want journal/unknown", err)
	}
	if _, _, err := log.Last(t.Context()); err == nil {
		t.Error("Last of a deleted stream succeeds")
	}
}

func TestWF10_AFullJournalRefuses(t *testing.T) {
	dir, err := datadir.Config{Path: t.TempDir(), Partitions: 1}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir, JournalBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	log, h := open(t, b), journal.Head{}
	for err == nil {
		batch := journaltest.Batch(h, fmt.Sprint("b-", h.Sequence+1), strings.Repeat("x", 50<<10))
		var seq uint64
		if seq, err = log.Append(t.Context(), h.Sequence, batch); err == nil {
			h, err = journal.Check(h, seq, batch.Batch)
		}
	}
	if fault.Code(err) != "journal/full" {
		t.Errorf("Append to a full journal: %v, want journal/full", err)
	}
	if got, err := head(t.Context(), log); err != nil || got.Sequence != h.Sequence || h.Sequence < 3 {
		t.Errorf("what was acknowledged before ends at %d (%v), want %d", got.Sequence, err, h.Sequence)
	}
}

func TestWF10_ReadersLeaveNoConsumersBehind(t *testing.T) {
	b := start(t)
	log := open(t, b)
	journaltest.Fill(t, log, journal.Head{}, 3)
	for range 20 {
		if _, err := head(t.Context(), log); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Core().Request("$JS.API.CONSUMER.NAMES.LOOM_J_00", nil, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var names struct{ Total int }
	if err := json.Unmarshal(m.Data, &names); err != nil || names.Total != 0 {
		t.Errorf("consumers left behind: %s, %v", m.Data, err)
	}
}

func TestWF10_AFollowerOutlivesItsConsumer(t *testing.T) {
	b := start(t)
	log := open(t, b)
	seen := make(chan uint64, 100)
	go func() {
		_ = log.Follow(t.Context(), 1, func(seq uint64, _ *loomv1.Batch) error { seen <- seq; return nil })
	}()
	h := journaltest.Fill(t, log, journal.Head{}, 1)
	<-seen
	m, err := b.Core().Request("$JS.API.CONSUMER.NAMES.LOOM_J_00", nil, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var names struct{ Consumers []string }
	if err := json.Unmarshal(m.Data, &names); err != nil || len(names.Consumers) != 1 {
		t.Fatalf("consumers: %s, %v", m.Data, err)
	}
	if _, err := b.Core().Request("$JS.API.CONSUMER.DELETE.LOOM_J_00."+names.Consumers[0], nil, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	journaltest.Fill(t, log, h, 2)
	for want := uint64(2); want <= 3; want++ {
		select {
		case got := <-seen:
			if got != want {
				t.Fatalf("the follower got %d, want %d", got, want)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("the follower did not get %d", want)
		}
	}
}
