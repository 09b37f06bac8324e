package cgroup

import (
	"io"
	"strings"
)

// Killed says whether the kernel has ended a process of a group because there
// was no memory left, from its Events.
func Killed(events io.ReaderAt) bool {
	text := make([]byte, 1024)
	n, _ := events.ReadAt(text, 0)
	for line := range strings.Lines(string(text[:n])) {
		if times, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strings.TrimSpace(times) != "0"
		}
	}
	return false
}
