package config

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// File reads one file; foreign says that it is a workspace's. All that is wrong
// with it is returned, and then nothing else.
func (s Schema) File(name string, data []byte, foreign bool) (Layer, error) {
	f := &file{reader: reader{file: name}, schema: s, foreign: foreign, dir: filepath.Dir(name)}
	root := f.tree(data)
	for _, top := range root.fields {
		f.top(top)
	}
	if len(f.errs) > 0 {
		slices.SortStableFunc(f.errs, byPlace)
		return nil, fault.Join(f.errs)
	}
	return f.layer, nil
}

// byPlace compares two errors of one file by line and column.
func byPlace(a, b *fault.Error) int {
	la, ca := lineColumn(a.Where)
	lb, cb := lineColumn(b.Where)
	if la != lb {
		return la - lb
	}
	return ca - cb
}

func lineColumn(where string) (line, column int) {
	parts := strings.Split(where, ":")
	if len(parts) < 3 {
		return 0, 0
	}
	line, _ = strconv.Atoi(parts[len(parts)-2])
	column, _ = strconv.Atoi(parts[len(parts)-1])
	return line, column
}

// file reads the settings of one file.
type file struct {
	reader
	schema  Schema
	foreign bool
	dir     string
	layer   Layer
}

// top reads what stands at the top of the file.
func (f *file) top(t field) {
	k := f.schema.find(t.name)
	switch {
	case t.name == ProjectKey:
		f.projects(t.node)
	case k == nil:
		f.unknown(t, false)
	case k.Project && !k.Loose:
		f.add(t.node.at, fault.New("config/unknown-key", "%q is a project's", t.name).Want("put it below [project.NAME]"))
	case !f.may(*k, t.node):
	case k.Keyed && !k.Project:
		f.entries(*k, t.node)
	default:
		loose := *k
		if k.Project {
			loose.Kind = List
		}
		f.set(loose, "", t.node, false)
	}
}

// unknown reports a key that nothing reads. What may be a secret is not echoed.
func (f *file) unknown(t field, project bool) {
	if secretive.MatchString(t.name) {
		f.add(t.node.at, fault.New("config/secret", "a secret does not stand in a configuration").
			Want("set it in the environment, or name its file below [secret-files]"))
		return
	}
	names := f.schema.names(project)
	hint := suggest.Hint(t.name, names)
	if other := f.schema.names(!project); hint == "" && slices.Contains(other, t.name) {
		hint = "it stands outside of projects"
	}
	if hint == "" {
		hint = `"loom up --help" lists what there is`
	}
	f.add(t.node.at, fault.New("config/unknown-key", "nothing reads this key").Got(t.name).Want("%s", hint))
}

// may reports whether the file may set the key at all, and says so if not.
func (f *file) may(k Key, n *node) bool {
	if !f.foreign || k.Workspace {
		return true
	}
	place := "set it in your own configuration"
	if !k.Unflagged {
		place += ", or with --" + k.Name
	}
	f.add(n.at, fault.New("config/workspace", "a workspace cannot set %q, because it may come from a stranger", k.Name).Want("%s", place))
	return false
}

// entries reads the table of a key.
func (f *file) entries(k Key, n *node) {
	if n.kind != unstable.Table {
		f.add(n.at, fault.New("config/type", "%q is a table, and this is %s", k.Name, f.kind(n)).Want("write [%s] and one entry a line", k.Name))
		return
	}
	for _, e := range n.fields {
		one := k
		if kind, other := k.Kinds[e.name]; other {
			one.Kind = kind
		}
		if f.entry(e) {
			f.set(one, e.name, e.node, k.Kind == List)
		}
	}
}

// entry reports whether an entry's name can be one.
func (f *file) entry(e field) bool {
	if !entryName.MatchString(e.name) {
		f.add(e.node.at, fault.New("config/value", "not a name").Got(e.name).Want("letters, digits, dots, lines, at most 128"))
		return false
	}
	return true
}

// projects reads the tables of all projects.
func (f *file) projects(n *node) {
	if n.kind != unstable.Table {
		f.add(n.at, fault.New("config/type", "projects are tables").Want("write [project.NAME]"))
		return
	}
	for _, p := range n.fields {
		switch {
		case !f.entry(p):
		case p.node.kind != unstable.Table:
			f.add(p.node.at, fault.New("config/type", "a project is a table, and this is %s", f.kind(p.node)).Want("write [project.%s]", p.name))
		default:
			f.project(p.name, p.node)
		}
	}
}

func (f *file) project(name string, n *node) {
	if len(n.fields) == 0 {
		f.add(n.at, fault.New("config/value", "nothing is said of project %q", name).Want("repository = \"PATH\", or leave it out"))
	}
	for _, e := range n.fields {
		k := f.schema.find(e.name)
		switch {
		case e.name == repository:
			f.set(Key{Name: repository, Path: true, Workspace: true, Check: f.projectCheck()}, name, e.node, false)
		case e.name == branch:
			f.set(Key{Name: branch, Workspace: true}, name, e.node, false)
		case k == nil || !k.Project:
			f.unknown(e, true)
		case f.may(*k, e.node):
			f.set(*k, name, e.node, true)
		}
	}
}

// projectCheck is how the schema checks the name of a project.
func (f *file) projectCheck() func(string, []string) error {
	if k := f.schema.find(ProjectKey); k != nil {
		return k.Check
	}
	return nil
}

// set adds a setting if its value is right; one says that a string may stand
// for a list of one.
func (f *file) set(k Key, entry string, n *node, one bool) {
	named := k
	if k.Kinds != nil {
		named.Name = Setting{Key: k.Name, Entry: entry}.Name(f.schema)
	}
	values, ok := f.values(named, n, one)
	if !ok {
		return
	}
	for i, v := range values {
		if !f.sound(k, v, n) {
			return
		}
		if k.Path && v != "" && !filepath.IsAbs(v) {
			values[i] = filepath.Join(f.dir, v)
		}
		if f.foreign && k.Path && !f.inside(values[i]) {
			f.add(n.at, fault.New("config/workspace", "the path leads out of the workspace").Got(v).Want("set it in your own configuration"))
			return
		}
	}
	if k.Check != nil {
		if err := k.Check(entry, values); err != nil {
			f.refuse(n, err)
			return
		}
	}
	f.layer = append(f.layer, Setting{k.Name, entry, values, Origin{FromFile, f.file, n.at.line, n.at.column}})
}

// sound refuses what no flag could take, and what a workspace must not say.
func (f *file) sound(k Key, v string, n *node) bool {
	if strings.ContainsRune(v, 0) {
		f.add(n.at, fault.New("config/value", "a value with a zero byte"))
		return false
	}
	if f.foreign && k.Foreign != nil {
		if err := k.Foreign(v); err != nil {
			f.refuse(n, err)
			return false
		}
	}
	return true
}

// refuse reports another package's word against a value, in its own code.
func (f *file) refuse(n *node, err error) {
	e := *fault.From(err)
	e.More = nil
	f.errs = append(f.errs, e.At(Origin{FromFile, f.file, n.at.line, n.at.column}.String()))
}

// inside reports whether a path lies in the directory of the file, also when
// links in it are followed.
func (f *file) inside(path string) bool {
	return within(f.dir, path) && within(resolved(f.dir), resolved(path))
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// resolved follows the links in as much of a path as there is.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolved(dir), filepath.Base(path))
	}
	return path
}

// values returns what a flag would be given.
func (f *file) values(k Key, n *node, one bool) ([]string, bool) {
	if k.Kind == List && n.kind == unstable.Array {
		return f.list(k, n)
	}
	kind := k.Kind
	if kind == List && one {
		kind = Text
	}
	if f.fits(kind, n) {
		return []string{strings.ReplaceAll(n.text, "_", cutUnder(kind))}, true
	}
	f.add(n.at, fault.New("config/type", "%q takes %s, and this is %s", k.Name, k.Kind, f.kind(n)))
	return nil, false
}

// cutUnder is what an underscore in a value stands for: nothing in a number.
func cutUnder(k Kind) string {
	if k == Whole || k == Number {
		return ""
	}
	return "_"
}

func (f *file) list(k Key, n *node) ([]string, bool) {
	values := []string{}
	for _, e := range n.list {
		if e.kind != unstable.String {
			f.add(n.at, fault.New("config/type", "%q takes %s, and this one holds %s", k.Name, k.Kind, f.kind(e)))
			return nil, false
		}
		values = append(values, e.text)
	}
	return values, true
}

func (f *file) fits(k Kind, n *node) bool {
	switch n.kind {
	case unstable.String:
		return k == Text
	case unstable.Bool:
		return k == Switch
	case unstable.Integer:
		return k == Whole || k == Number
	case unstable.Float:
		return k == Number
	}
	return false
}

// kind says what a value is.
func (f *file) kind(n *node) string {
	switch n.kind {
	case unstable.String:
		return "a string"
	case unstable.Bool:
		return n.text
	case unstable.Integer, unstable.Float:
		return "a number"
	case unstable.Array:
		return "an array"
	case unstable.Table:
		return "a table"
	}
	return "a date"
}
