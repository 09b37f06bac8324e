package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/durable"
)

// Git syncs what it writes, and no directory: a ref that has moved, or an
// object that it names, may be gone under its name after a power cut. So where
// a ref is more than tidiness, the directories of the objects are made durable
// before it moves, and those of the ref itself after.

// settled remembers which directories were made durable as they are, so that
// one in which nothing happened costs a look.
type settled struct {
	mu   sync.Mutex
	seen map[string]time.Time // when it was changed last
}

// still is how old a change must be for the clock of the file system to tell
// the next one from it.
const still = 20 * time.Millisecond

// objects makes the names of all objects of a repository durable.
func (s *settled) objects(gitDir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	root := filepath.Join(gitDir, "objects")
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "info" {
			err = errors.Join(err, s.directory(filepath.Join(root, e.Name())))
		}
	}
	return errors.Join(err, s.directory(root))
}

func (s *settled) directory(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has no refs or objects any more
	}
	if err != nil || info.ModTime().Equal(s.seen[path]) {
		return err
	}
	if err := durable.Directory(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if time.Since(info.ModTime()) > still {
		s.seen[path] = info.ModTime()
	}
	return nil
}

// references makes the names of refs durable, and of the directories that they
// are in.
func (s *settled) references(gitDir string, refs []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	dirs := map[string]bool{}
	for _, ref := range refs {
		for at := filepath.Dir(ref); at != "." && at != string(filepath.Separator); at = filepath.Dir(at) {
			dirs[at] = true
		}
	}
	dirs["."] = true // packed-refs
	var err error
	for dir := range dirs {
		err = errors.Join(err, s.directory(filepath.Join(gitDir, dir)))
	}
	return err
}

// names returns the refs that changes are about.
func names(changes []refChange) []string {
	var list []string
	for _, c := range changes {
		list = append(list, strings.Fields(string(c))[1])
	}
	return list
}
