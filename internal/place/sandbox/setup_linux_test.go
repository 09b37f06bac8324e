//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"runtime"
	"testing"

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
