package git

import (
	"cmp"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// inventory describes everything under a directory but its .git, by path.
type inventory map[string]trace

// trace is what a path is known again by. Where the file system tells of each
// change of a file's content the stamp says all; elsewhere the content is summed up
// too.
type trace struct {
	dir   bool
	stamp [16]byte // a digest, for it is kept of every file
	sum   [sha256.Size]byte
}

// sealOf returns the inventory of a directory; nil if changes cannot be told for
// certain: on file systems whose times are too coarse. Contents that an earlier
// one knows are not read again.
func sealOf(root string, hidden bool, earlier inventory) inventory {
	s, fine := inventory{}, false
	err := s.walk(root, func(path, rel string, stamp stamp, m trace, regular bool) (err error) {
		fine = fine || stamp.fine()
		if was, known := earlier[rel]; known && was.stamp == m.stamp {
			m.sum = was.sum
		} else if hidden && regular {
			m.sum, err = sumOf(path)
		}
		s[rel] = m
		return err
	}, nil)
	if err != nil || !fine {
		return nil
	}
	return s
}

// again returns what there is now of what was sealed. What cannot be looked at is
// not in it.
func (s inventory) again(root string, hidden bool) inventory {
	now := inventory{}
	_ = now.walk(root, func(path, rel string, _ stamp, m trace, regular bool) error {
		var err error
		if hidden && regular {
			m.sum, err = sumOf(path)
		}
		if err == nil {
			now[rel] = m
		}
		return nil
	}, s)
	return now
}

// walk looks at every path but the .git. With known, it looks at those alone, and
// past what cannot be looked at.
func (inventory) walk(root string, visit func(path, rel string, stamp stamp, m trace, regular bool) error, known inventory) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel := cmp.Or(strings.TrimPrefix(path[len(root):], string(filepath.Separator)), ".")
		_, was := known[rel]
		skip := fs.SkipDir
		if d == nil || !d.IsDir() {
			skip = nil
		}
		switch {
		case rel == ".git", known != nil && !was:
			return skip
		case err != nil && known != nil:
			return nil // of a directory that was visited and cannot be read: what is in it is not there
		case err != nil:
			return err
		}
		info, err := d.Info()
		if err != nil && known != nil {
			return skip
		}
		if err != nil {
			return err
		}
		stamp, ok := stampOf(info)
		if !ok {
			return fs.ErrInvalid
		}
		return visit(path, rel, stamp, trace{dir: d.IsDir(), stamp: stamp.digest()}, info.Mode().IsRegular())
	})
}

func sumOf(path string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return [sha256.Size]byte(h.Sum(nil)), err
}
