package errand

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The most that is imported from a directory that is no repository.
const (
	maxFiles = 5_000
	maxBytes = 64 << 20
	maxFile  = 16 << 20
)

// Branch is the branch of repositories that Loom makes itself.
const Branch = "main"

// workspace is a directory as a project of a host.
type workspace struct {
	id         string
	dir        string // the person's directory
	repository string
	own        bool              // whether Loom made the repository
	before     map[string]string // SHA-256 of what was imported, by path
}

// open finds the repository of a directory, or makes one beside the data
// directory.
func open(ctx context.Context, dir, data string) (*workspace, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.New("usage/argument", "not a path: %s", err).At("workspace")
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, fault.New("usage/argument", "no such directory").At("workspace").Got(dir)
	case !info.IsDir():
		return nil, fault.New("usage/argument", "not a directory").At("workspace").Got(dir)
	}
	w := &workspace{id: name(dir), dir: dir, before: map[string]string{}}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		w.repository = dir
		return w, nil
	}
	w.own, w.repository = true, filepath.Join(filepath.Clean(data)+"-workspaces", w.id)
	files, err := w.read()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(w.repository), 0o700); err != nil {
		return nil, fault.New("data/permissions", "no directory for workspaces: %s", err)
	}
	return w, git.Import(ctx, w.repository, Branch, "workspace as it was found", files)
}

// name is a project's id for a directory: what it is called, and enough of its
// path's hash to tell it from others of that name.
func name(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	base := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, filepath.Base(dir)), "-")
	if len(base) > 24 {
		base = strings.TrimRight(base[:24], "-")
	}
	return strings.TrimLeft(base+"-"+hex.EncodeToString(sum[:4]), "-")
}

// wanted says whether a file or directory is imported: none that is hidden but the templates
// of documents.
func (w *workspace) wanted(path, name string) bool {
	above, of := filepath.Split(filepath.FromSlash(document.TemplatesDir))
	home := filepath.Join(w.dir, above)
	return path == home || path == filepath.Join(home, of) || !strings.HasPrefix(name, ".") && filepath.Dir(path) != home
}

// read returns the directory's files: no hidden ones, no links, nothing that
// is not a plain file, and no index of an earlier run. It notes what each was.
func (w *workspace) read() (files []git.File, err error) {
	total := 0
	err = filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != w.dir && !w.wanted(path, e.Name()):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !e.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(w.dir, path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		total += int(info.Size())
		if len(files) == maxFiles || total > maxBytes || info.Size() > maxFile {
			return fault.New("process/output", "the directory is too large to be imported: at most %d files, %d MiB in all and %d MiB each", maxFiles, maxBytes>>20, maxFile>>20).
				At(rel).Want("work in a smaller directory, or make this one a git repository")
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		w.before[rel] = hash(data)
		files = append(files, git.File{Path: rel, Data: data, Exec: info.Mode()&0o100 != 0})
		return nil
	})
	return withoutIndexes(files), err
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// File is a file that was delivered.
type File struct {
	Path string `json:"path"`
	// Written says where it is now; empty if it was left, and then Why says why.
	Written string `json:"written,omitempty"`
	Why     string `json:"why,omitempty"`
	// Unverified is true for a file that nobody could judge.
	Unverified bool `json:"unverified,omitempty"`
}

// bring writes what is different in the repository's checkout, and what was
// promised, to out, and says what became of each file. One that a person has changed since, or that
// stands in out and is not what was imported, is left alone.
func (w *workspace) bring(out string, promised map[string]bool) ([]File, error) {
	var all []File
	root, err := os.OpenRoot(w.repository)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		data, err := root.ReadFile(path)
		if err == nil && (hash(data) != w.before[path] || promised[path]) {
			all = append(all, w.write(out, path, data))
		}
		return err
	})
	slices.SortFunc(all, func(x, y File) int { return strings.Compare(x.Path, y.Path) })
	return all, err
}

func (w *workspace) write(out, path string, data []byte) File {
	f := File{Path: path}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // results, for whoever may read the directory
		f.Why = reason(err)
		return f
	}
	root, err := os.OpenRoot(out)
	if err != nil {
		f.Why = reason(err)
		return f
	}
	defer root.Close()
	there, err := root.ReadFile(path)
	switch {
	case err == nil && hash(there) == hash(data):
	case err == nil && hash(there) != w.before[path]:
		f.Why = "a file stands there that Loom has not written"
		return f
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		f.Why = reason(err)
		return f
	default:
		err = root.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = root.WriteFile(path, data, 0o644)
		}
		if err != nil {
			f.Why = reason(err)
			return f
		}
	}
	f.Written = filepath.Join(out, filepath.FromSlash(path))
	return f
}

// reason is an error of the file system without the path that it repeats.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// checkOut refuses, before anything is done, a place that nothing could be
// written to in the end. It leaves nothing there.
func (e *errand) checkOut() error {
	if e.Out != "" && !e.ws.own {
		return fault.New("usage/argument", "the workspace is a git repository: the result is on its branch").At("--out")
	}
	if !e.ws.own || e.Out == "" && !e.delivers() {
		return nil
	}
	where, out := "--out", e.Out
	if out == "" {
		where, out = "workspace", e.ws.dir
	}
	if err := writable(out); err != nil {
		return fault.New("usage/argument", "nothing can be written to this directory").At(where).Got(out).Because(err).Want("another one: --out DIR")
	}
	return nil
}

// delivers says whether the process promises files.
func (e *errand) delivers() bool {
	if e.Config.Processes == nil {
		return false
	}
	def, _ := e.Config.Processes.Get(e.Submission.GetProcess())
	return slices.ContainsFunc(def.GetNodes(), func(n *loomv1.NodeDefinition) bool { return len(n.GetPhase().GetDeliverables()) > 0 })
}

// writable returns why no file can be made in a directory, or, of one that there
// is not, in the nearest above it.
func writable(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".loom-*.draft")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
