//go:build amd64 || arm64

package sandbox

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const pidMax = "/proc/sys/kernel/pid_max"

// countsProcesses reports whether the kernel bounds the processes of a PID
// namespace by themselves: since Linux 6.14. Before that the same setting was the
// whole machine's, and is not touched.
func countsProcesses() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	major, rest, _ := strings.Cut(unix.ByteSliceToString(name.Release[:]), ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(strings.TrimRight(minor, "-+abcdefghijklmnopqrstuvwxyz"))
	return errA == nil && errB == nil && (a > 6 || a == 6 && b >= 14)
}

// capProcesses has the kernel refuse more processes than a command may have and
// some: root is bounded by no limit of its own, and one that multiplies is faster
// than whoever counts. The least that the kernel takes grows with the machine.
func capProcesses(most int) {
	if !countsProcesses() {
		return
	}
	spareThreads(8)
	for n := most + Burst; n <= 1<<22; n *= 2 {
		if os.WriteFile(pidMax, []byte(strconv.Itoa(n)), 0) == nil {
			return
		}
	}
}

// spareThreads has this process keep so many threads, so that it needs no new one
// when it looks at what has taken all the numbers.
func spareThreads(n int) {
	var here, gone sync.WaitGroup
	here.Add(n)
	for range n {
		gone.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			here.Done()
			here.Wait() // all at once, so each has one of its own
		})
	}
	gone.Wait()
}
