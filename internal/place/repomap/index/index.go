// Package index brings the files of a directory to the map of a repository, and
// keeps what package repomap found in them by the object id of their content, so
// that a change costs what it changed: for all beads of a project together.
//
// What is kept is only ever looked up by an id and only ever stored under the id
// of bytes that this process has read and hashed itself: whatever stands in a
// worktree, it cannot give another worktree a false outline. It may be lost at
// any time, and is made anew then.
package index

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's object ids
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/loomrun/loom/internal/place/repomap"
)

// Bounds of what is looked at for one map.
const (
	maxFiles = 20_000
	// patience is how long files are outlined for one map; those that are left
	// then are there by name, and the next map goes on with them.
	patience = 20 * time.Second
)

// Index keeps outlines of projects in a directory. The zero value keeps none. It
// is safe for concurrent use by one process; two may not share a directory.
type Index struct {
	dir string

	mu       sync.Mutex
	projects map[string]chan struct{} // holds one while nobody reads or writes the project's file
}

// New returns the index in a directory, which is made when it is needed.
func New(dir string) *Index { return &Index{dir: dir} }

// Entry is a file that a directory is known to have.
type Entry struct {
	Path string
	// ID is git's object id of the content, where it is known that the file has
	// just that; empty where it has to be read.
	ID string
}

// Report says what a call cost.
type Report struct {
	Files    int // in the list
	Read     int // whose content was read
	Outlined int // of which there was no outline
	Left     int // of which none was made, for lack of time
}

// Files returns the files of a directory with their outlines: those that are
// given, or, if listed is nil, all but hidden ones and what others wrote. What
// cannot be read is left out or there by name alone. The error is the context's.
func (x *Index) Files(ctx context.Context, project, dir string, listed []Entry) ([]repomap.File, Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, Report{}, ctx.Err()
	}
	defer root.Close()
	if listed == nil {
		listed = walk(root.FS())
	}
	listed = listed[:min(len(listed), maxFiles)]
	if x == nil || x.dir == "" {
		g := gathering{root: root, shelf: &shelf{}}
		return g.files(ctx, listed)
	}
	free, err := x.lock(ctx, project)
	if err != nil {
		return nil, Report{}, err
	}
	defer free()
	g := gathering{root: root, shelf: load(filepath.Join(x.dir, project+".outlines"))}
	files, report, err := g.files(ctx, listed)
	g.shelf.save(g.used) // also after a context error: what was made is kept
	return files, report, err
}

// lock waits until no other call reads or writes a project's outlines.
func (x *Index) lock(ctx context.Context, project string) (free func(), err error) {
	x.mu.Lock()
	if x.projects == nil {
		x.projects = map[string]chan struct{}{}
	}
	turn := x.projects[project]
	if turn == nil {
		turn = make(chan struct{}, 1)
		x.projects[project] = turn
	}
	x.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// skipped are directories of what others wrote or what is built.
var skipped = []string{"vendor", "node_modules", "third_party", "dist", "build", "target", "__pycache__"}

// walk lists the files of a directory that git says nothing of.
func walk(files fs.FS) (list []Entry) {
	_ = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is not on the map
		case name != "." && strings.HasPrefix(e.Name(), "."), e.IsDir() && slices.Contains(skipped, e.Name()):
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.Type().IsRegular():
			list = append(list, Entry{Path: name})
		}
		if len(list) == maxFiles {
			return fs.SkipAll
		}
		return nil
	})
	return list
}

// gathering is one call.
type gathering struct {
	root   *os.Root
	shelf  *shelf
	used   map[string]bool // keys
	report Report
}

func (g *gathering) files(ctx context.Context, listed []Entry) (list []repomap.File, r Report, err error) {
	g.used = map[string]bool{}
	end := time.Now().Add(patience)
	for _, e := range listed {
		if ctx.Err() != nil {
			return nil, g.report, ctx.Err()
		}
		file := repomap.File{Path: e.Path}
		switch {
		case !repomap.Known(e.Path):
		case time.Now().After(end):
			g.report.Left++
		default:
			file.Outline = g.outline(e)
		}
		list = append(list, file)
	}
	g.report.Files = len(list)
	return list, g.report, nil
}

// outline finds what is known of a file's content, or reads it.
func (g *gathering) outline(e Entry) repomap.Outline {
	if e.ID != "" {
		if o, ok := g.known(key(e.ID, e.Path)); ok {
			return o
		}
	}
	data, ok := read(g.root, e.Path)
	if !ok {
		return repomap.Outline{}
	}
	g.report.Read++
	k := key(objectID(data, len(e.ID) == 2*sha256.Size), e.Path)
	if o, ok := g.known(k); ok {
		return o
	}
	g.report.Outlined++
	o := repomap.Read(e.Path, data)
	g.shelf.put(k, o.Encode())
	g.used[k] = true
	return o
}

func (g *gathering) known(k string) (repomap.Outline, bool) {
	data, ok := g.shelf.get(k)
	if !ok {
		return repomap.Outline{}, false
	}
	o, err := repomap.Decode(data)
	g.used[k] = err == nil
	return o, err == nil
}

// key is that of a content: its language is told by the name.
func key(id, name string) string { return id + strings.ToLower(path.Ext(name)) }

// read returns the content of a plain file, without waiting for what is none.
func read(root *os.Root, name string) ([]byte, bool) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > repomap.MaxSource {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(f, repomap.MaxSource+1))
	return data, err == nil && len(data) <= repomap.MaxSource
}

// objectID is the id that git gives to a file of this content.
func objectID(data []byte, long bool) string {
	h := sha1.New() //nolint:gosec // git's object ids
	if long {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}
