// Package processes reads, checks and compiles processes: YAML files of nodes
// and edges that become the definitions workflows run by. The built-in ones
// are directories beside this file. Every problem of a file is reported at
// once, as FILE:LINE:COL with a stable code; the same rules hold for
// definitions that come in a message. The package runs nothing.
package processes

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Library is a collection of definitions by name. It never changes.
type Library struct {
	byName    map[string]*loomv1.Definition
	processes map[string]*Process
}

// NewLibrary returns a library of definitions, which it keeps as they are. Of
// two with one name it keeps the last.
func NewLibrary(defs ...*loomv1.Definition) *Library {
	l := &Library{byName: make(map[string]*loomv1.Definition, len(defs)), processes: map[string]*Process{}}
	for _, def := range defs {
		l.byName[def.Name] = def
	}
	return l
}

//go:embed */process.yaml */README.md */test/*.yaml patterns/*/pattern.yaml patterns/*/test/*.yaml
var builtin embed.FS

// Builtin returns the processes that Loom comes with, for roles that include
// the built-in ones, for these alone always the same; it panics where they do not.
func Builtin(rs *roles.Set) *Library {
	if rs == roles.Builtin() {
		return forBuiltinRoles()
	}
	return readBuiltin(rs)
}

var forBuiltinRoles = lazy.Value(func() *Library { return readBuiltin(roles.Builtin()) })

func readBuiltin(rs *roles.Set) *Library {
	l, err := Load(&Library{}, builtin, ".", rs)
	if err != nil {
		panic(err)
	}
	return l
}

// Get returns a definition by name; it is the caller's own.
func (l *Library) Get(name string) (*loomv1.Definition, bool) {
	def, ok := l.byName[name]
	return proto.CloneOf(def), ok
}

// With returns a library with further definitions, which take the place of
// those of their names; more may be nil.
func (l *Library) With(more *Library) *Library {
	c := l.clone()
	if more == nil {
		return c
	}
	for name, def := range more.byName {
		c.byName[name] = def
		delete(c.processes, name)
	}
	maps.Copy(c.processes, more.processes)
	return c
}

// Process returns what a process with phases says beside its definition; false
// for one that has nodes, or that there is not.
func (l *Library) Process(name string) (*Process, bool) {
	p, ok := l.processes[name]
	return p, ok
}

func (l *Library) clone() *Library {
	c := &Library{byName: map[string]*loomv1.Definition{}, processes: map[string]*Process{}}
	maps.Copy(c.byName, l.byName)
	maps.Copy(c.processes, l.processes)
	return c
}

// Names returns all names, sorted.
func (l *Library) Names() []string { return slices.Sorted(maps.Keys(l.byName)) }

// Suggest returns the name nearest to one that is unknown, or "".
func (l *Library) Suggest(name string) string { return suggest.Nearest(name, l.Names()) }

// Load returns base with the processes of a directory: NAME/process.yaml and
// files NAME.yaml or NAME.yml. One whose name base has already takes its
// place, so load the nearest directory last. The problems of all files are
// reported at once, two processes of one name as workflow/duplicate. A
// directory that does not exist adds nothing.
func Load(base *Library, dir fs.FS, name string, rs *roles.Set) (*Library, error) {
	files, err := processFiles(dir, name)
	if err != nil {
		return nil, fault.New("workflow/invalid", "the directory cannot be read").At(name).Because(err)
	}
	l := base.clone()
	var sources []Source
	var errs []*fault.Error
	for _, file := range files {
		data, err := fs.ReadFile(dir, file)
		if err != nil {
			errs = append(errs, fault.New("workflow/invalid", "the file cannot be read").At(file).Because(err))
			continue
		}
		sources = append(sources, Source{File: file, Data: data, Dir: dir, Path: file})
	}
	for _, r := range l.add(sources, rs) {
		errs = append(errs, r.problems()...)
	}
	if len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	return l, nil
}

// processFiles lists the process files of a directory in the order of names.
func processFiles(dir fs.FS, name string) ([]string, error) {
	entries, err := fs.ReadDir(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var files []string
	for _, e := range entries {
		file := path.Join(name, e.Name())
		if e.IsDir() {
			file = path.Join(file, "process.yaml")
			if _, err := fs.Stat(dir, file); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		} else if ext := path.Ext(file); ext != ".yaml" && ext != ".yml" {
			continue
		}
		files = append(files, file)
	}
	return files, err
}

// Hash returns the lower-case hex SHA-256 of a definition's deterministic
// protobuf encoding. An execution is pinned to the hash of its definition as
// [Complete] left it.
func Hash(def *loomv1.Definition) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(def)
	if err != nil {
		panic(err) // only text that is not UTF-8 can do this, and no definition with it is valid
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
