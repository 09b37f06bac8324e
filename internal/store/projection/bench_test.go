package projection_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/store/projection"
)

// BenchmarkApply measures events a second, by how many batches share a
// transaction; a batch holds four events on average.
func BenchmarkApply(b *testing.B) {
	j := journals(source(b, 1), 200)[1]
	events := 0
	for _, batch := range j {
		events += len(batch.Events)
	}
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("batches=%d", size), func(b *testing.B) {
			for b.Loop() {
				db, _, err := projection.Open(b.Context(), filepath.Join(b.TempDir(), "loom.db"))
				if err != nil {
					b.Fatal(err)
				}
				for from := 0; from < len(j); from += size {
					apply(b, db, j, from, min(len(j), from+size))
				}
				db.Close()
			}
			b.ReportMetric(float64(events*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkWork measures what it costs to follow 1,000 executions of the bug
// workflow, 100 at once, by how many batches share a transaction.
func BenchmarkWork(b *testing.B) {
	p := newPlayer(b, source(b, 1), "shop")
	p.work(1000, 100)
	j := p.journal(0)
	b.Logf("%d events in %d batches", len(p.events), len(j))
	for _, size := range []int{1, 16, 128, 400} {
		b.Run(fmt.Sprintf("batches=%d", size), func(b *testing.B) {
			before := cpu(b)
			for b.Loop() {
				db, _, err := projection.Open(b.Context(), filepath.Join(b.TempDir(), "loom.db"))
				if err != nil {
					b.Fatal(err)
				}
				for from := 0; from < len(j); from += size {
					apply(b, db, j, from, min(len(j), from+size))
				}
				db.Close()
			}
			b.ReportMetric((cpu(b)-before).Seconds()/float64(b.N), "cpu-s/1000")
		})
	}
}

// cpu returns the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
