// Package softmemory keeps a process small while it holds little.
//
// Go's collector lets a heap grow to twice of what was alive after the last
// collection. Of a host, whose messages come in bursts, that is memory that is
// allocated once and never needed again. So a soft limit has it collect earlier,
// and moves up with what is alive: a host that really holds much does not spend
// its time collecting.
package softmemory

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// Least is the limit of a process that holds little.
	Least = 160 << 20
	// room is what there is at least beside what is alive.
	room = 64 << 20
)

// limit returns the soft limit, in bytes, of a process of whose heap so many
// bytes are alive: three quarters of that more, and at least room.
func limit(alive int64) int64 { return max(Least, alive+max(room, alive/4*3)) }

// Keep sets the limit and adjusts it after every collection from now on, unless
// the variable GOMEMLIMIT of the environment sets one. Once is enough for a
// process.
func Keep() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	adjust()
}

// collected is garbage as soon as it is made: its finalizer runs after each
// collection.
type collected struct{ _ *byte }

func adjust() {
	alive := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(alive)
	if alive[0].Value.Kind() == metrics.KindUint64 {
		debug.SetMemoryLimit(limit(int64(alive[0].Value.Uint64())))
	}
	runtime.SetFinalizer(new(collected), func(*collected) { adjust() })
}
