package datadir

import (
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// InUse reports whether a process has the directory at path open, and which. It
// changes nothing; while it looks, for less than a millisecond, a process that
// starts waits.
func InUse(path string) (pid int, used bool) {
	name := filepath.Join(path, lockName)
	if _, err := os.Stat(name); err != nil {
		return 0, false
	}
	lock := flock.New(name, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if err == nil && free {
		_ = lock.Close()
		return 0, false
	}
	pid, _ = Holder(path)
	return pid, err == nil
}
