package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/loomrun/loom/internal/base/fault"
)

const (
	lockName = "lock"
	// patience is how long a starting process waits for a holder that is on
	// its way out, or that has not written its process id yet.
	patience = 300 * time.Millisecond
	pause    = 10 * time.Millisecond
)

// acquire takes the lock of the directory at path and writes our process id
// into it, or returns data/locked.
func acquire(path string) (*flock.Flock, error) {
	name := filepath.Join(path, lockName)
	lock := flock.New(name, flock.SetPermissions(0o600))
	for began := time.Now(); ; time.Sleep(pause) {
		free, err := lock.TryLock()
		if err != nil {
			return nil, fault.New("data/permissions", "the lock cannot be taken").At(name).Because(err)
		}
		if free {
			return lock, sign(lock, name)
		}
		if time.Since(began) > patience {
			return nil, locked(path)
		}
	}
}

// sign writes our process id into the lock that we hold.
func sign(lock *flock.Flock, name string) error {
	pid := strconv.Itoa(os.Getpid()) + "\n"
	if err := os.WriteFile(name, []byte(pid), 0o600); err != nil {
		return errors.Join(fault.New("data/permissions", "the lock cannot be written").At(name).Because(err), lock.Close())
	}
	return nil
}

func locked(path string) error {
	who := "another process"
	if pid, ok := Holder(path); ok {
		who = "process " + strconv.Itoa(pid)
	}
	return fault.New("data/locked", "%s uses the data directory", who).At(path).
		Want("stop it, or name another directory")
}

// Holder returns the process id that last locked the directory at path. That
// process may have ended since.
func Holder(path string) (int, bool) {
	data, err := os.ReadFile(filepath.Join(path, lockName))
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid, err == nil
}
