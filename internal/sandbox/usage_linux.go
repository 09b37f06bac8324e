//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"os"
	"strconv"
)

// usage returns how many threads there are in the sandbox, beside this
// process, and the memory that they have, counting what they share once each.
func usage() (threads int, memory int64) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, 0
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err != nil || pid == os.Getpid() {
			continue
		}
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err != nil {
			continue // it has ended
		}
		threads += int(max(field(status, "Threads:"), 1))
		memory += field(status, "RssAnon:")<<10 + field(status, "RssShmem:")<<10
	}
	return threads, memory
}

// field returns the number after a name in a status file, or 0.
func field(status []byte, name string) int64 {
	_, rest, ok := bytes.Cut(status, []byte("\n"+name))
	if !ok {
		return 0
	}
	words := bytes.Fields(rest[:min(len(rest), 40)])
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(words[0]), 10, 64)
	return n
}
