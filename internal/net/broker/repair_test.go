package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/streamfile"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// grow appends so many batches to the journal of a cluster's only partition.
func grow(t *testing.T, b *broker.Broker, n int) journal.Head {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := natsjournal.New(ctx, b.Core(), 0)
	if err != nil {
		t.Fatal(err)
	}
	seq, newest, err := l.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var head journal.Head
	if newest != nil {
		head = journal.Head{Sequence: seq, Epoch: newest.Epoch, Hash: newest.Hash}
	}
	for i := range n {
		e := &loomv1.Event{Project: "p", Time: timestamppb.Now(), Bead: fmt.Sprintf("b-%d-%d", head.Sequence, i)}
		b := journal.Seal(head, 0, max(1, head.Epoch), "h.1", fmt.Sprintf("batch-%d", head.Sequence), []*loomv1.Event{e})
		if seq, err = l.Append(ctx, head.Sequence, b); err != nil {
			t.Fatal(err)
		}
		head = journal.Head{Sequence: seq, Epoch: b.Epoch, Hash: b.Hash}
	}
	return head
}

// lastIn returns the last sequence of a stream in the files of a host.
func lastIn(t *testing.T, path, stream string) (last uint64) {
	t.Helper()
	files, err := streamfile.Open(filepath.Join(path, "jetstream", "CORE", "streams", stream))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Scan(func(r streamfile.Record) error { last = r.Sequence; return nil }); err != nil {
		t.Fatal(err)
	}
	return last
}

// flipInBlock flips a bit in the middle of the first block of a stream.
func flipInBlock(t *testing.T, path, stream string) (block string, damaged []byte) {
	t.Helper()
	block = filepath.Join(path, "jetstream", "CORE", "streams", stream, "msgs", "1.blk")
	data, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 4
	if err := os.WriteFile(block, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return block, data
}

// repair is broker.Repair of a directory that nobody uses.
func repair(t *testing.T, path string) ([]broker.Aside, error) {
	t.Helper()
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	return broker.Repair(t.Context(), dir)
}

// TestP3_ADamagedJournalComesBackFromTheOtherHosts flips a bit in the journal of
// one of three hosts, each in turn.
func TestP3_ADamagedJournalComesBackFromTheOtherHosts(t *testing.T) {
	c := brokertest.New(t, 1, broker.Config{})
	name := natsjournal.Stream(0)
	for i := range 3 {
		grow(t, c.Broker(i), 40)
		c.Stop(i)
		_, damaged := flipInBlock(t, c.Path(i), name)
		other := (i + 1) % 3
		grow(t, c.Broker(other), 5) // what is written meanwhile
		if err := startHost(t, c, i); fault.Status(err) != fault.Integrity || !strings.Contains(err.Error(), name) ||
			!strings.Contains(fault.From(err).Hint, "loom cluster repair") {
			t.Fatalf("host %d starts with a damaged journal: %v", i, err)
		}
		list, err := repair(t, c.Path(i))
		if err != nil || len(list) != 1 || list[0].Stream != name {
			t.Fatalf("Repair: %v, %v", list, err)
		}
		if kept, err := os.ReadFile(filepath.Join(list[0].Path, "msgs", "1.blk")); err != nil || !bytes.Equal(kept, damaged) {
			t.Errorf("what was damaged is not kept as it was: %v", err)
		}
		if again, err := repair(t, c.Path(i)); err != nil || len(again) != 0 {
			t.Errorf("a second repair: %v, %v", again, err)
		}
		c.Start(i)
		becomes(t, "restored", func() error {
			whole, bad, err := c.Broker(i).Restored(t.Context())
			if err != nil || bad.Err() != nil {
				t.Fatalf("Restored: %v, %v", err, bad.Err())
			}
			if len(whole) == 0 {
				return errors.New("not yet")
			}
			return nil
		})
		if left, err := c.Broker(i).Awaited(); err != nil || len(left) != 0 {
			t.Errorf("still awaited: %v, %v", left, err)
		}
		// It has all of it, from the first sequence on, and takes new batches.
		head := grow(t, c.Broker(i), 3)
		becomes(t, "equal files", func() error {
			for j := range 3 {
				if got := lastIn(t, c.Path(j), name); got != head.Sequence {
					return fmt.Errorf("host %d has %d of %d", j, got, head.Sequence)
				}
			}
			return nil
		})
		for j := range 3 {
			if report, err := c.Broker(j).Check(t.Context()); err != nil || report.Err() != nil {
				t.Errorf("host %d: %v, %v", j, err, report.Err())
			}
		}
	}
}

// TestP3_WhereNobodyElseHasItNothingIsTakenOut has a host that is alone.
func TestP3_WhereNobodyElseHasItNothingIsTakenOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	dir, err := datadir.Config{Path: path, Partitions: 1}.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	grow(t, b, 20)
	if err := errors.Join(b.Close(t.Context()), dir.Close()); err != nil {
		t.Fatal(err)
	}
	if list, err := repair(t, path); err != nil || len(list) != 0 {
		t.Errorf("Repair of what is sound: %v, %v", list, err)
	}
	block, damaged := flipInBlock(t, path, natsjournal.Stream(0))
	list, err := repair(t, path)
	if fault.Code(err) != "data/lone" || len(list) != 0 || !strings.Contains(err.Error(), natsjournal.Stream(0)) || !strings.Contains(fault.From(err).Hint, "backup") {
		t.Errorf("Repair: %v, %v, want data/lone that names the stream and what helps", list, err)
	}
	if now, err := os.ReadFile(block); err != nil || !bytes.Equal(now, damaged) {
		t.Errorf("the refusal has changed the block: %v", err)
	}
}
