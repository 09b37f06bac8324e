package recovery

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/test/play"
)

var million = flag.Bool("million", false, "measure a journal of 1,000,000 events, and 100,000 executions that wait, too")

// shop is the project of all figures.
const shop = "shop"

// BenchmarkRecovery starts a host on a journal of one project, whose every
// execution went from a report to a landed commit: the worst case of a
// partition. Without a snapshot it reads all of it; with one, next to
// nothing.
func BenchmarkRecovery(b *testing.B) {
	sizes := []int{100_000}
	if *million {
		sizes = append(sizes, 1_000_000)
	}
	for _, events := range sizes {
		dir := b.TempDir()
		m := fill(b, dir, events)
		for _, snapshot := range []bool{false, true} {
			if snapshot {
				m.keep(b, dir)
			}
			b.Run(fmt.Sprintf("events=%d/snapshot=%t", events, snapshot), func(b *testing.B) {
				for range b.N {
					// Without its tables, which follow beside what is measured.
					for _, suffix := range []string{"", "-wal", "-shm"} {
						_ = os.Remove(filepath.Join(dir, "data", "projection.db"+suffix))
					}
					report(b, measure(b, dir), m.events)
				}
				b.ReportMetric(float64(bytes(b, filepath.Join(dir, "data"), natsjournal.Stream(m.partition)))/mib, "MiB-journal")
			})
		}
	}
}

func report(b *testing.B, f *figures, events int) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(f.Serving, "ms-to-serving")
	b.ReportMetric(float64(events)/f.Serving*1000, "events/s")
	b.ReportMetric(f.Tables, "ms-to-tables")
	b.ReportMetric(float64(f.Heap)/mib, "MiB-heap")
	b.ReportMetric(float64(f.Resident)/mib, "MiB-resident")
	b.ReportMetric(float64(f.Goroutines), "goroutines")
}

// made is a journal that was made for a measurement.
type made struct {
	partition, events int
	head              journal.Head
	state             *loomv1.ProjectState
}

// fill makes a deployment whose journal has at least so many events.
func fill(b *testing.B, dir string, events int) *made {
	b.Helper()
	m := &made{}
	m.open(b, dir, func(ctx context.Context, br *broker.Broker, partitions int) error {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(shop))
		m.partition = int(hash.Sum32() % uint32(partitions))
		log, err := natsjournal.New(ctx, br.Core(), m.partition)
		if err != nil {
			return err
		}
		var failed error
		s := play.Open(shop, 200, func(b *loomv1.Batch) {
			batch := journal.Seal(m.head, m.partition, b.Epoch, b.Writer, b.Id, b.Events)
			seq, err := log.Append(ctx, m.head.Sequence, batch)
			for fault.Code(err) == "journal/unknown" && ctx.Err() == nil { // a busy disk; the same batch again is harmless
				seq, err = log.Append(ctx, m.head.Sequence, batch)
			}
			if err != nil && failed == nil {
				failed = err
			}
			m.events += len(batch.Events)
			m.head = journal.Head{Sequence: seq, Epoch: batch.Epoch, Hash: batch.Hash}
		})
		for m.events < events && failed == nil {
			play.Landed(s)
		}
		s.Flush()
		m.state = s.State.Snapshot()
		return failed
	})
	return m
}

// keep puts a snapshot of the state as it was made beside the journal.
func (m *made) keep(b *testing.B, dir string) {
	b.Helper()
	m.open(b, dir, func(ctx context.Context, br *broker.Broker, _ int) error {
		store, err := natsjournal.NewSnapshots(ctx, br.Core())
		if err != nil {
			return err
		}
		ref, err := store.Save(ctx, &loomv1.Snapshot{
			Partition: uint32(m.partition), Epoch: m.head.Epoch, Sequence: m.head.Sequence, Hash: m.head.Hash, State: m.state,
		})
		if err != nil {
			return err
		}
		return store.SaveIndex(ctx, &loomv1.SnapshotIndex{
			Partition: uint32(m.partition), Projects: map[string]*loomv1.SnapshotRef{shop: ref}, Floor: m.head.Sequence, FloorHash: m.head.Hash,
		})
	})
}

// open opens a data directory without a host.
func (m *made) open(b *testing.B, dir string, f func(context.Context, *broker.Broker, int) error) {
	b.Helper()
	data, err := datadir.Open(filepath.Join(dir, "data"))
	if err != nil {
		b.Fatal(err)
	}
	defer data.Close()
	br, err := broker.Start(b.Context(), broker.Config{Dir: data})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = br.Close(context.Background()) }()
	if err := f(b.Context(), br, data.Manifest().Partitions); err != nil {
		b.Fatal(err)
	}
}
