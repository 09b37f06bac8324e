package git

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// stageMark is in the environment of all that a hook starts, with the stage's
// room: what is left of a hook whose host was killed is found by it.
const stageMark = "LOOM_STAGE"

// killOrphans kills what still runs of the hooks of a room, as far as /proc
// tells. What has removed the mark from its environment is not found.
func killOrphans(room string) {
	wanted := []byte(stageMark + "=" + room + "\x00")
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range list {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append(env, 0), wanted) {
			continue // it has ended, or is somebody else's
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid != os.Getpid() {
			_ = kill(pid)
		}
	}
}
