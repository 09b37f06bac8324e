package softmemory

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestF30_TheLimitFollowsWhatIsAlive(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct{ alive, want int64 }{
		{0, 160 * mib}, {96 * mib, 168 * mib}, {80 * mib, 160 * mib}, {1000 * mib, 1750 * mib},
	} {
		if got := limit(tt.alive); got != tt.want {
			t.Errorf("limit(%d MiB) = %d MiB, want %d", tt.alive/mib, got/mib, tt.want/mib)
		}
	}
}

// TestF30_TheLimitIsAdjustedAfterEachCollection holds much, and then nothing.
func TestF30_TheLimitIsAdjustedAfterEachCollection(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Setenv("GOMEMLIMIT", "1GiB")
	Keep()
	if now := debug.SetMemoryLimit(-1); now != before {
		t.Errorf("with GOMEMLIMIT the limit is set to %d", now)
	}
	t.Setenv("GOMEMLIMIT", "")
	Keep()
	if now := debug.SetMemoryLimit(-1); now != Least {
		t.Errorf("the limit of a process that holds nothing is %d, want %d", now, Least)
	}
	held := make([]byte, 400<<20)
	await(t, func(limit int64) bool { return limit >= 700<<20 })
	runtime.KeepAlive(held) // and not any longer
	await(t, func(limit int64) bool { return limit == Least })
}

// await collects until the limit is as wanted.
func await(t *testing.T, wanted func(limit int64) bool) {
	t.Helper()
	for began := time.Now(); !wanted(debug.SetMemoryLimit(-1)); runtime.Gosched() {
		if runtime.GC(); time.Since(began) > time.Minute {
			t.Fatalf("the limit stays at %d", debug.SetMemoryLimit(-1))
		}
	}
}
