package tool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/fault"
)

const maxFiles = 50_000 // files that a search looks at

// files returns the paths of the files under a directory, sorted: those that
// git knows or would take, where there is a git directory, else all but what
// is git's own. more says that there are others beyond maxFiles.
func (s *Set) files(ctx context.Context, under string) (list []string, more bool, err error) {
	p, err := s.locate(under, how{links: true})
	if err != nil {
		return nil, false, err
	}
	defer p.close()
	info, err := p.dir.Lstat(p.name)
	switch {
	case err != nil:
		return nil, false, trouble(under, err)
	case !info.IsDir():
		return nil, false, fault.New("tool/not-found", "it is not a directory").At("path").Got(under)
	}
	if s.ws.GitDir != "" {
		return s.gitFiles(ctx, p.path)
	}
	return s.walk(ctx, p.path)
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
	return list[:min(len(list), maxFiles)], more, nil
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
// later which have changed. ok is false when there are too many.
func (s *Set) stamps(ctx context.Context) (stamps map[string]stamp, ok bool) {
	const most = 20_000
	list, more, err := s.files(ctx, ".")
	if err != nil || more || len(list) > most {
		return nil, false
	}
	root, err := os.OpenRoot(s.ws.Root)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	stamps = make(map[string]stamp, len(list))
	for _, f := range list {
		if ctx.Err() != nil {
			return nil, false
		}
		if info, err := root.Lstat(f); err == nil {
			stamps[f] = stamp{info.Size(), info.Mode(), info.ModTime().UnixNano()}
		} else if !errors.Is(err, fs.ErrNotExist) {
			stamps[f] = stamp{}
		}
	}
	return stamps, true
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
