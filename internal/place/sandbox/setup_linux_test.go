//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The order can be read again by the next process, however often the memory of
// this one is collected in between.
func TestTOOL03_TheOrderIsLeftOpen(t *testing.T) {
	data, err := json.Marshal(order{Argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := memory(data)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 {
		o, err := told(int(f.Fd()))
		if err != nil || len(o.Argv) != 1 {
			t.Fatalf("%v, %v", o, err)
		}
		for range 3 {
			collect()
		}
		if _, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil {
			t.Fatalf("the descriptor of the order after a collection: %v", err)
		}
	}
}

// collect has the memory collected and waits until what was found is cleaned up.
func collect() {
	cleaned := make(chan struct{})
	runtime.AddCleanup(new([]byte), func(c chan struct{}) { close(c) }, cleaned)
	runtime.GC()
	<-cleaned
}

// A look at the disk can take as long as a command makes it: memory is watched
// meanwhile.
func TestTOOL03_MemoryIsWatchedWhileTheDiskIsLookedAt(t *testing.T) {
	looking, ended := make(chan struct{}), make(chan string, 1)
	w := watch{limits: Limits{Memory: 1, Processes: math.MaxInt}}
	w.written = func() (int64, bool) {
		close(looking)
		<-t.Context().Done()
		runtime.Goexit()
		return 0, false
	}
	w.end = func(reason string) {
		<-looking
		ended <- reason
		runtime.Goexit()
	}
	go w.keep()
	if reason := <-ended; !strings.Contains(reason, "MiB of memory") {
		t.Errorf("it was ended for %q", reason)
	}
}

// After a look that found less than the limit there is none for a while, unless as
// much more is on the disk meanwhile as a command may write.
func TestTOOL03_ADiskThatGrowsIsLookedAtAgain(t *testing.T) {
	d := newDisks(Spec{Write: []string{t.TempDir()}})
	looks := 0
	nameless := func([]string) (map[file]int64, bool) {
		looks++
		return nil, false
	}
	for _, tt := range []struct {
		grown int64 // of the device, in MiB
		looks int
	}{{10, 0}, {5000, 1}, {5100, 1}, {8900, 1}, {9500, 2}, {9600, 2}} {
		device, used, _ := onDisk(d.places[0])
		d.before[device] = used - tt.grown<<20
		if looks > 0 {
			d.next = time.Now().Add(time.Hour) // as after a look that took long
		}
		if _, over := d.over(4096<<20, nameless); over || looks != tt.looks {
			t.Errorf("grown by %d MiB: %d looks, want %d (over: %t)", tt.grown, looks, tt.looks, over)
		}
	}
}
