// Package discard removes directories that others have written to, whatever they
// did in them: made them read-only, or nested them so deep that no path can name
// what is in them, and no process can have all of them open.
package discard

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
)

// mostOpen is how many directories are held open at once. What lies deeper is first
// moved to the top.
const mostOpen = 32

// All removes a path with all that is in it, and follows no link. What is not there
// is no error. Nothing may write to it meanwhile.
func All(dir string) error {
	dir = filepath.Clean(dir)
	root, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return In(root, filepath.Base(dir))
}

// In does the same for what has a name in a root.
func In(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return root.Remove(name)
	}
	if err := root.Chmod(name, 0o700); err != nil {
		return err
	}
	top, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	d := discarder{top: top}
	for again := true; again && err == nil; { // until nothing was moved to the top
		before := d.moved
		err = d.empty(top, ".", mostOpen)
		again = d.moved > before
	}
	if err = errors.Join(err, top.Close()); err != nil {
		return err
	}
	return root.Remove(name)
}

type discarder struct {
	top   *os.Root
	moved int // directories, to the top
}

// empty removes what is in a directory, which is at a path below the top.
func (d *discarder) empty(dir *os.Root, at string, left int) error {
	list, err := dir.Open(".")
	if err != nil {
		return err
	}
	entries, err := list.ReadDir(-1)
	if err = errors.Join(err, list.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case !e.IsDir():
			err = dir.Remove(name)
		case dir.Remove(name) == nil: // it was empty
		case left == 0:
			err = d.lift(dir, path.Join(at, name), name)
		default:
			err = d.below(dir, name, path.Join(at, name), left)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// below empties and removes a directory of another one.
func (d *discarder) below(dir *os.Root, name, at string, left int) error {
	if err := dir.Chmod(name, 0o700); err != nil {
		return err
	}
	inner, err := dir.OpenRoot(name)
	if err != nil {
		return err
	}
	if err := errors.Join(d.empty(inner, at, left-1), inner.Close()); err != nil {
		return err
	}
	return dir.Remove(name)
}

// lift moves a directory to the top, under a name that nothing there has. To be
// moved it must be its owner's to write.
func (d *discarder) lift(dir *os.Root, at, name string) error {
	if err := dir.Chmod(name, 0o700); err != nil {
		return err
	}
	for {
		d.moved++
		to := "lifted-" + strconv.Itoa(d.moved)
		if _, err := d.top.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return d.top.Rename(at, to)
		}
	}
}
