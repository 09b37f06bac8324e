package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/loomrun/loom/internal/base/fault"
)

const (
	maxEntries   = 1000   // that are listed
	maxDirectory = 10_000 // entries of one directory that are read
)

var directoryList = &tool{
	Spec: Spec{
		Name:  "directory_list",
		Class: reads,
		Description: "List a directory: directories end in /, files have their size. " +
			"With depth, what lies below too.",
		Schema: schema(``, `
			"path": {"type": "string", "description": "default the workspace"},
			"depth": {"type": "integer", "minimum": 1, "maximum": 8, "description": "levels; default 1"}`),
	},
	run: with(listDirectory),
}

type listArguments struct {
	Path  string `json:"path"`
	Depth int    `json:"depth"`
}

func listDirectory(ctx context.Context, j job, a listArguments) (Result, error) {
	l := lister{set: j.Set}
	if err := l.list(ctx, a.Path, "", max(a.Depth, 1)); err != nil {
		return Result{}, err
	}
	if l.entries == 0 {
		l.out.WriteString("the directory is empty\n")
	}
	if l.cut {
		fmt.Fprintf(&l.out, "[cut: there is more than the %d entries listed]\n", l.entries)
	}
	if absent, err := j.absent(ctx, path.Clean("./"+a.Path)); err == nil && len(absent) > 0 {
		fmt.Fprintf(&l.out, "[not listed: %d files of the repository that are not checked out here; here are %s]\n", len(absent), j.here())
	}
	return done(l.out.String(), "%s: %d entries", path.Clean("./"+a.Path), l.entries), nil
}

type lister struct {
	set     *Set
	out     strings.Builder
	entries int
	cut     bool
}

// list writes the entries of a directory, sorted, each with what lies below.
func (l *lister) list(ctx context.Context, dir, indent string, depth int) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	p, err := l.set.locate(dir, how{links: true})
	if err != nil {
		return err
	}
	defer p.close()
	entries, err := l.read(p)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if l.entries == maxEntries {
			l.cut = true
			return nil
		}
		l.entries++
		l.out.WriteString(indent + l.describe(p, e) + "\n")
		if e.IsDir() && depth > 1 {
			if err := l.list(ctx, path.Join(p.path, e.Name()), indent+"  ", depth-1); err != nil && fault.Code(err) == "tool/timeout" {
				return err
			}
		}
	}
	return nil
}

func (l *lister) read(p place) ([]fs.DirEntry, error) {
	info, err := p.dir.Lstat(p.name)
	if err != nil {
		return nil, trouble(p.path, err)
	}
	if !info.IsDir() {
		return nil, fault.New("tool/not-found", "it is not a directory").At("path").Got(p.path)
	}
	f, err := p.dir.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, trouble(p.path, err)
	}
	defer f.Close()
	entries, err := f.ReadDir(maxDirectory)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, trouble(p.path, err)
	}
	l.cut = l.cut || len(entries) == maxDirectory
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return gitsOwn(e.Name()) })
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// describe names an entry on one line, whatever its name has in it.
func (l *lister) describe(p place, e fs.DirEntry) string {
	name := shown(e.Name())
	info, err := e.Info()
	switch {
	case e.IsDir():
		return name + "/"
	case e.Type()&fs.ModeSymlink != 0:
		target, _ := p.dir.Readlink(path.Join(p.name, e.Name()))
		return name + " -> " + fault.Echo(target)
	case !e.Type().IsRegular():
		return name + " (special)"
	case err != nil:
		return name
	}
	return fmt.Sprintf("%s  %d", name, info.Size())
}

// shown is a path as it may stand in a list: on one line.
func shown(path string) string {
	if strings.ContainsFunc(path, control) {
		return fault.Echo(path)
	}
	return path
}
