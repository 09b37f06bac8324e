package main

import (
	"crypto/sha256"
	"os"
	"runtime"
	"time"
)

// The probes, by the name that the suite and the stored file give them.
const (
	processor = "cpu"  // hashing, small allocations, a map
	disk      = "sync" // a write of 4 KiB and fsync, beside the processor's
)

// probe measures both probes once, in nanoseconds.
func probe(dir string) (map[string]float64, error) {
	synced, err := timeDisk(dir)
	if err != nil {
		return nil, err
	}
	return map[string]float64{processor: timeProcessor(), disk: synced}, nil
}

// timeProcessor takes some 30 ms; the least of five counts.
func timeProcessor() float64 {
	best := time.Duration(1 << 62)
	for range 5 {
		began := time.Now()
		runtime.KeepAlive(compute())
		best = min(best, time.Since(began))
	}
	return float64(best.Nanoseconds())
}

// compute returns something of all it does, so that none of it is left out.
func compute() int {
	block := make([]byte, 4096)
	seen := map[byte][]byte{}
	for i := range 1000 {
		sum := sha256.Sum256(block)
		copy(block, sum[:])
		seen[byte(i)] = append([]byte(nil), block[:200]...)
	}
	return len(seen)
}

// timeDisk is the median of 21 writes with fsync.
func timeDisk(dir string) (float64, error) {
	f, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(f.Name()); _ = f.Close() }()
	block := make([]byte, 4096)
	var took []float64
	for range 21 {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(began).Nanoseconds()))
	}
	return median(took), nil
}
