package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/loomrun/loom/internal/base/fault"
)

const (
	maxFiles   = 500_000 // files that a search looks at
	maxIgnored = 1 << 20 // bytes of git's list of what it ignores
)

// cutListing is said where a tree has more files than are listed.
var cutListing = fmt.Sprintf("the tree has more files than the %d that were looked at; search in parts of it with path", maxFiles)

// listing is the files that a search looks at, and what it leaves out.
type listing struct {
	files   []string // sorted
	prefix  string   // of all of them, up to the directory that was asked for
	more    bool     // there are others beyond maxFiles
	ignored []string // by git, or dependencies; directories end with a slash
	absent  string   // how much a sparse checkout has not; "" for nothing
}

// notes says what is not among the files.
func (l listing) notes() (list []string) {
	if l.more {
		list = append(list, cutListing)
	}
	if len(l.ignored) > 0 {
		list = append(list, "ignored and not searched, unless path names it: "+some(l.ignored))
	}
	if l.absent != "" {
		list = append(list, l.absent)
	}
	return list
}

// searchable lists the files to search under a directory, or the one file that
// is named: those that git knows or would take, where there is a git directory,
// else all but what is git's own. Dependencies that a package manager has
// installed are left out. What git ignores can be searched by its own path.
func (s *Set) searchable(ctx context.Context, under string) (listing, error) {
	p, err := s.locate(under, how{links: true})
	if err != nil {
		return listing{}, err
	}
	defer p.close()
	info, err := p.dir.Lstat(p.name)
	switch {
	case err != nil:
		return listing{}, trouble(under, err)
	case info.Mode().IsRegular():
		if err := p.single(info); err != nil {
			return listing{}, err
		}
		return listing{files: []string{p.path}, prefix: strings.TrimSuffix(p.path, p.name)}, nil
	case !info.IsDir():
		return listing{}, fault.New("tool/not-found", "it is neither a directory nor a regular file").At("path").Got(under)
	}
	l := listing{prefix: p.path + "/"}
	if p.path == "." {
		l.prefix = ""
	}
	if l.files, l.more, err = s.files(ctx, p.path); err != nil {
		return listing{}, err
	}
	if len(l.files) == 0 && s.ws.GitDir != "" {
		l.files, l.more, err = s.walk(ctx, p.path) // git ignores all of it
	} else {
		l.ignored, err = s.ignored(ctx, p.path, l.prefix)
	}
	if err == nil {
		l.absent, err = s.countAbsent(ctx, p.path)
	}
	l.leaveOutDependencies()
	return l, err
}

// leaveOutDependencies drops what lies in a directory of dependencies below the
// one that was asked for.
func (l *listing) leaveOutDependencies() {
	l.files = slices.DeleteFunc(l.files, func(f string) bool {
		below := strings.TrimPrefix(f, l.prefix)
		for _, name := range []string{"node_modules/", ".venv/"} {
			if at := strings.Index("/"+below, "/"+name); at >= 0 {
				l.ignored = append(l.ignored, l.prefix+below[:at]+name)
				return true
			}
		}
		return false
	})
	slices.Sort(l.ignored)
	l.ignored = slices.Compact(l.ignored)
}

// ignored names what git ignores under a directory, a directory of such files
// as one. Git also lists directories whose names begin like that of under.
func (s *Set) ignored(ctx context.Context, under, prefix string) ([]string, error) {
	if s.ws.GitDir == "" {
		return nil, nil
	}
	out, err := s.git(ctx, maxIgnored, "ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-standard", "--", under)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(strings.Split(out.text, "\x00"), func(f string) bool { return f == "" || !strings.HasPrefix(f, prefix) })
	if out.cut > 0 && len(list) > 0 {
		list = list[:len(list)-1]
	}
	return list, nil
}

// files returns the paths of the files under a directory, sorted: those that
// git knows or would take, where there is a git directory, else all but what
// is git's own. more says that there are others beyond maxFiles.
func (s *Set) files(ctx context.Context, under string) (list []string, more bool, err error) {
	if s.ws.GitDir != "" {
		return s.gitFiles(ctx, under)
	}
	return s.walk(ctx, under)
}

func (s *Set) gitFiles(ctx context.Context, under string) ([]string, bool, error) {
	out, err := s.git(ctx, maxListing, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", under)
	if err != nil {
		return nil, false, err
	}
	list := slices.DeleteFunc(strings.Split(out.text, "\x00"), func(f string) bool {
		return f == "" || strings.HasSuffix(f, "/")
	})
	if out.cut > 0 && len(list) > 0 {
		list = list[:len(list)-1] // it may not be whole
	}
	slices.Sort(list)
	list = slices.Compact(list)
	more := out.cut > 0 || len(list) > maxFiles
	list = list[:min(len(list), maxFiles)]
	absent, err := s.absent(ctx, under)
	if len(absent) == 0 || err != nil {
		return list, more, err
	}
	return slices.DeleteFunc(list, func(f string) bool {
		_, not := slices.BinarySearch(absent, f)
		return not
	}), more, nil
}

// walk lists all files below a directory without following links.
func (s *Set) walk(ctx context.Context, under string) (list []string, more bool, err error) {
	root, err := os.OpenRoot(s.ws.Root)
	if err != nil {
		return nil, false, fault.New("tool/failed", "the workspace cannot be opened").Because(err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), under, func(at string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		readable := err == nil // else it is gone, or not ours to read
		switch {
		case !readable:
		case at != "." && gitsOwn(path.Base(at)):
			return skip(e)
		case len(list) == maxFiles:
			more = true
			return fs.SkipAll
		case e.Type().IsRegular():
			list = append(list, at)
		}
		return nil
	})
	slices.Sort(list)
	return list, more, err
}

func skip(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// stamps tells the files of the workspace apart by size, mode and time, to see
// later which have changed. ok is false when they cannot all be looked at
// before ctx ends.
func (s *Set) stamps(ctx context.Context) (stamps map[string]stamp, ok bool) {
	list, more, err := s.files(ctx, ".")
	if err != nil || more {
		return nil, false
	}
	found := make([]stamp, len(list))
	var looking sync.WaitGroup
	share := max(1, (len(list)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for first := 0; first < len(list); first += share {
		looking.Go(func() {
			for i := first; i < min(first+share, len(list)) && ctx.Err() == nil; i++ {
				found[i] = stampOf(filepath.Join(s.ws.Root, list[i]))
			}
		})
	}
	looking.Wait()
	if ctx.Err() != nil {
		return nil, false
	}
	stamps = make(map[string]stamp, len(list))
	for i, f := range list {
		if found[i] != noFile {
			stamps[f] = found[i]
		}
	}
	return stamps, true
}

// noFile is the stamp of what git lists and the directory does not have.
var noFile = stamp{time: -1}

// stampOf looks at an entry by its whole path: only whether the answer differs
// from an earlier one is told, so a link on the way, which an os.Root would
// find at five times the price, gives nothing away.
func stampOf(path string) stamp {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noFile
	case err != nil:
		return stamp{}
	}
	return stamp{info.Size(), info.Mode(), info.ModTime().UnixNano()}
}

type stamp struct {
	size int64
	mode fs.FileMode
	time int64
}

// changes lists what is different between two sets of stamps, sorted.
func changes(before, after map[string]stamp) []string {
	var list []string
	for f, s := range after {
		if old, there := before[f]; !there || old != s {
			list = append(list, f)
		}
	}
	for f := range before {
		if _, there := after[f]; !there {
			list = append(list, f)
		}
	}
	slices.Sort(list)
	return list
}
