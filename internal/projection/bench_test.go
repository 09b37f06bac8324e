package projection_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/projection"
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
