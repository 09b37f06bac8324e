package git

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A git that is killed in the middle of a reference transaction leaves the lock
// files of its refs. Nothing in them says whose they are, so such a file goes
// only on proof: no git that is old enough to have made it still lives here.

// newLock is the age below which nothing is asked about a lock: git itself waits
// for it that long.
const newLock = 2 * time.Second

// unlock removes the lock that a dead git left on a ref which nobody but Loom
// moves, and reports whether it did.
func unlock(gitDir, ref string) bool {
	if !strings.HasPrefix(ref, "refs/loom/") && !strings.HasPrefix(ref, landedBranch) {
		return false
	}
	lock := filepath.Join(gitDir, filepath.FromSlash(ref)+".lock")
	info, err := os.Lstat(lock)
	if err != nil || !abandoned(gitDir, info.ModTime()) {
		return false
	}
	return os.Remove(lock) == nil
}

// abandoned says whether whoever made a lock file at a time is dead. On a file
// system that other machines share, only those of this machine can be looked at,
// so that a lock has to be old as well.
func abandoned(gitDir string, made time.Time) bool {
	age := newLock
	if shared(gitDir) {
		age = sharedLock
	}
	return time.Since(made) > age && !livesSince(made)
}

// sharedLock is the age at which no living git of another machine has a lock on a
// ref: no transaction takes a hundredth of it.
const sharedLock = time.Minute
