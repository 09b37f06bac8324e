package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loomrun/loom/internal/base/discard"
)

// salvage makes a tree at to, which does not exist, of what is as it was in a
// checkout when it was lent, and writes the rest anew. Nothing that was written to
// since is in it: neither a file nor a directory, nor what hangs on one. The
// checkout itself is gone then.
func (c *Clean) salvage(ctx context.Context, to string, hidden bool) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	s := salvage{was: c.seal, now: c.seal.again(c.dir, hidden), within: map[string][]string{}, whole: map[string]bool{}}
	if _, there := s.now["."]; !there {
		return errSpoiled
	}
	for path := range s.was {
		if path != "." {
			s.within[filepath.Dir(path)] = append(s.within[filepath.Dir(path)], path)
		}
	}
	s.judge(".")
	if err := s.move(c.dir, to, "."); err != nil {
		return errors.Join(err, discard.All(to))
	}
	err := discard.All(c.dir)
	c.dir = to
	if err != nil {
		return err
	}
	return c.mend(ctx, s.lost, hidden)
}

type salvage struct {
	was, now inventory
	within   map[string][]string // what a directory held
	whole    map[string]bool     // directories in which nothing has changed, all the way down
	lost     []string            // files that have to be written anew
}

// judge finds out which directories are whole. A path that was added, removed or
// replaced changes the directory that it is in.
func (s *salvage) judge(dir string) bool {
	whole := s.sound(dir)
	for _, path := range s.within[dir] {
		if s.was[path].dir {
			whole = s.judge(path) && whole
		} else {
			whole = s.sound(path) && whole
		}
	}
	s.whole[dir] = whole
	return whole
}

func (s *salvage) sound(path string) bool {
	now, there := s.now[path]
	return there && now == s.was[path]
}

// move takes what is sound of a directory over, whole directories in one piece, to
// one that is made anew.
func (s *salvage) move(from, to, dir string) error {
	if dir != "." && s.whole[dir] {
		return os.Rename(filepath.Join(from, dir), filepath.Join(to, dir))
	}
	mode := fs.FileMode(0o777) // less the umask, as git makes it
	if dir == "." {
		mode = 0o700
	}
	if err := os.Mkdir(filepath.Join(to, dir), mode); err != nil {
		return err
	}
	for _, path := range s.within[dir] {
		switch {
		case s.was[path].dir:
			if err := s.move(from, to, path); err != nil {
				return err
			}
		case !s.sound(path):
			s.lost = append(s.lost, path)
		default:
			if err := os.Rename(filepath.Join(from, path), filepath.Join(to, path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// mend writes the files that are missing, and looks whether everything is as the
// index says then.
func (c *Clean) mend(ctx context.Context, lost []string, hidden bool) error {
	files := c.over(c.dir, c.index)
	if len(lost) > 0 {
		files.stdin = joinNUL(lost)
		if _, err := files.run(ctx, "checkout-index", "-f", "-u", "-z", "--stdin"); err != nil {
			return err
		}
		files.stdin = nil
	}
	// What was moved by itself has another time than the index knows.
	_, err := files.run(ctx, "update-index", "-q", "--refresh", "--ignore-submodules")
	if exitCode(err) == 1 {
		return errSpoiled
	}
	if err != nil {
		return err
	}
	now := sealOf(c.dir, hidden, c.seal)
	for path := range c.seal {
		if _, there := now[path]; !there {
			return errSpoiled
		}
	}
	if len(now) != len(c.seal) {
		return errSpoiled
	}
	c.seal = now
	return nil
}
