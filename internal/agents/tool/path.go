package tool

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
)

// Bounds of paths.
const (
	maxPath  = 4096 // bytes
	maxName  = 255  // bytes of one element
	maxLinks = 10   // symbolic links followed for one path
)

// elements splits a path of the workspace, as a call gives it; the root has
// none. It refuses what could leave the workspace, or reach into .git.
func elements(p string) ([]string, error) {
	switch {
	case len(p) > maxPath:
		return nil, outside(p, "it is longer than %d bytes", maxPath)
	case !utf8.ValidString(p) || strings.ContainsFunc(p, control):
		return nil, outside(p, "it has control characters or is not UTF-8")
	case strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\`) || strings.HasPrefix(p, "~") || len(p) > 1 && p[1] == ':':
		return nil, outside(p, "it is not relative").Want("paths begin at the workspace, as in %q", "cmd/main.go")
	}
	var list []string
	for e := range strings.SplitSeq(p, "/") {
		switch {
		case e == "" || e == ".":
		case e == "..":
			return nil, outside(p, "it has a %q", "..")
		case len(e) > maxName:
			return nil, outside(p, "an element is longer than %d bytes", maxName)
		case gitsOwn(e):
			return nil, gitDenied(p)
		default:
			list = append(list, e)
		}
	}
	return list, nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

func outside(p, format string, args ...any) *fault.Error {
	return fault.New("tool/outside", "not a path of the workspace: "+format, args...).At("path").Got(p)
}

func gitDenied(p string) *fault.Error {
	return fault.New("tool/outside", "what git keeps for itself is not a tool's to read or write").At("path").Got(p).
		Want("use git_status, git_diff, git_log and git_show")
}

// gitsOwn reports whether a path element is .git to some file system: in any
// case, with the characters that HFS+ passes over, with what NTFS cuts off the
// end, or by its short name there.
func gitsOwn(element string) bool {
	for e := range strings.SplitSeq(element, `\`) {
		e = strings.Map(visible, e)
		e, _, _ = strings.Cut(e, ":")
		e = strings.ToLower(strings.TrimRight(e, " ."))
		short, ok := strings.CutPrefix(e, "git~")
		if e == ".git" || ok && short != "" && strings.Trim(short, "0123456789") == "" {
			return true
		}
	}
	return false
}

// visible drops the runes that HFS+ ignores in names.
func visible(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}

// place is an entry of a directory that is held open, so that nothing on the
// way to it can be exchanged any more.
type place struct {
	dir  *os.Root
	name string // "." is the directory itself
	path string // from the root of the workspace, with slashes
}

func (p place) close() { _ = p.dir.Close() }

// how says how a path is followed.
type how struct {
	links bool // through symbolic links, where they stay inside
	make  bool // and missing directories are made
}

// locate finds the place that a path names; the entry itself need not exist.
// The caller closes it.
func (s *Set) locate(p string, h how) (place, error) {
	list, err := elements(p)
	if err != nil {
		return place{}, err
	}
	root, err := os.OpenRoot(s.ws.Root)
	if err != nil {
		return place{}, fault.New("tool/failed", "the workspace cannot be opened").Because(err)
	}
	if h.links {
		if list, err = follow(root, list, p); err != nil {
			_ = root.Close()
			return place{}, err
		}
	}
	if len(list) == 0 {
		return place{root, ".", "."}, nil
	}
	last := len(list) - 1
	dir, err := descend(root, list[:last], h.make, p)
	if err != nil {
		return place{}, err
	}
	return place{dir, list[last], path.Join(list...)}, nil
}

// follow replaces the symbolic links in a path by where they lead.
func follow(root *os.Root, list []string, asked string) ([]string, error) {
	var real []string
	links := 0
	for len(list) > 0 {
		e := list[0]
		list = list[1:]
		switch {
		case e == "" || e == ".":
			continue
		case e == ".." && len(real) == 0:
			return nil, outside(asked, "a symbolic link leads out of it")
		case e == "..":
			real = real[:len(real)-1]
			continue
		case gitsOwn(e):
			return nil, gitDenied(asked)
		}
		real = append(real, e)
		at := path.Join(real...)
		info, err := root.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue // what does not exist is found out where it is opened
		}
		target, err := root.Readlink(at)
		if links++; err != nil || links > maxLinks || path.IsAbs(target) {
			return nil, outside(asked, "a symbolic link leads out of it, or in a circle")
		}
		real = real[:len(real)-1]
		list = append(strings.Split(target, "/"), list...)
	}
	return real, nil
}

// descend opens a directory step by step and closes root. Each step is what it
// was when it was looked at, and no symbolic link.
func descend(root *os.Root, list []string, make bool, asked string) (*os.Root, error) {
	for _, e := range list {
		next, err := enter(root, e, make, asked)
		_ = root.Close()
		if err != nil {
			return nil, err
		}
		root = next
	}
	return root, nil
}

func enter(dir *os.Root, name string, make bool, asked string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && make {
		if err := dir.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, trouble(asked, err)
		}
		info, err = dir.Lstat(name)
	}
	switch {
	case err != nil:
		return nil, trouble(asked, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, linked(asked, name)
	case !info.IsDir():
		return nil, fault.New("tool/not-found", "%q on the way there is not a directory", name).At("path").Got(asked)
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, trouble(asked, err)
	}
	now, err := next.Stat(".")
	if err != nil || !os.SameFile(info, now) {
		_ = next.Close()
		return nil, outside(asked, "%q changed while it was opened", name)
	}
	return next, nil
}

func linked(asked, name string) *fault.Error {
	return fault.New("tool/outside", "%q is a symbolic link, and nothing is written through one", name).At("path").Got(asked).
		Want("name what it leads to")
}

// trouble is what the file system has to say about a path, in words that give
// away nothing of the host.
func trouble(asked string, err error) *fault.Error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New("tool/not-found", "there is no such file or directory").At("path").Got(asked)
	case errors.Is(err, fs.ErrPermission):
		return fault.New("tool/failed", "the file system does not permit it").At("path").Got(asked)
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	return fault.New("tool/failed", "%s", err).At("path").Got(asked)
}
