package processes

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/roles"
)

// Layer is a directory of processes.
type Layer struct {
	// Name says whose it is: "workspace", "user", "machine", "built in".
	Name string
	Dir  fs.FS
	// Shown is how the directory is called in problems; empty for no prefix.
	Shown string
}

// Entry is a process of a catalog: sound or not.
type Entry struct {
	// Name is the process's own, or the file's where that cannot be read.
	Name string
	// Layer is whose it is, and Path its file in the layer's directory.
	Layer, Path string
	// Dir is the layer's directory.
	Dir fs.FS
	Result
	// Hidden says which nearer layer has a process of this name.
	Hidden string
}

// Catalog is what there is in several layers. It never changes.
type Catalog struct {
	entries []*Entry
	library *Library
}

// BuiltinLayer is the layer of the processes that come with Loom.
func BuiltinLayer() Layer { return Layer{Name: "built in", Dir: builtin} }

// Open reads layers, the nearest first. A nearer process takes the place of a
// further one of its name; one that is not sound hides nothing and is kept with
// its problems.
func Open(layers []Layer, rs *roles.Set) *Catalog {
	c := &Catalog{library: NewLibrary()}
	for _, l := range slices.Backward(layers) {
		c.layer(l, rs)
	}
	slices.SortStableFunc(c.entries, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
	return c
}

func (c *Catalog) layer(l Layer, rs *roles.Set) {
	files, err := processFiles(l.Dir, ".")
	if err != nil {
		c.entries = append(c.entries, &Entry{Name: l.Shown, Layer: l.Name, Result: Result{
			File: l.Shown, Problems: []*fault.Error{fault.New("workflow/invalid", "the directory cannot be read").At(l.Shown).Because(err)},
		}})
		return
	}
	var sources []Source
	for _, file := range files {
		data, err := readLimited(l.Dir, file)
		if err != nil {
			data = nil
		}
		sources = append(sources, Source{File: path.Join(l.Shown, file), Data: data, Dir: l.Dir, Path: file})
	}
	for i, r := range Read(c.library, sources, rs) {
		c.take(l, sources[i], r)
	}
}

func (c *Catalog) take(l Layer, s Source, r Result) {
	e := &Entry{Name: fileName(s.Path), Layer: l.Name, Path: s.Path, Dir: l.Dir, Result: r}
	c.entries = append(c.entries, e)
	if r.Definition == nil {
		return
	}
	e.Name = r.Definition.Name
	for _, o := range c.entries {
		if o != e && o.Name == e.Name && o.Hidden == "" && o.Definition != nil {
			o.Hidden = l.Name
		}
	}
	c.library.byName[e.Name] = r.Definition
	delete(c.library.processes, e.Name)
	if r.Process != nil {
		c.library.processes[e.Name] = r.Process
	}
}

// fileName is what a process is called whose name cannot be read.
func fileName(file string) string {
	if path.Base(file) == "process.yaml" {
		return path.Base(path.Dir(file))
	}
	return strings.TrimSuffix(path.Base(file), path.Ext(file))
}

// Entries returns all that there is, by name; of one name the nearest last.
func (c *Catalog) Entries() []*Entry { return c.entries }

// Of returns the names of the processes of a layer, in their order.
func (c *Catalog) Of(layer string) []string {
	var names []string
	for _, e := range c.entries {
		if e.Layer == layer && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// Library returns the sound processes, the nearest of each name.
func (c *Catalog) Library() *Library { return c.library }

// Find returns the nearest process of a name. The error is process/unknown, or
// all that is wrong with a process that is there.
func (c *Catalog) Find(name string) (*Entry, error) {
	var broken *Entry
	for _, e := range slices.Backward(c.entries) {
		switch {
		case e.Name == name && e.Definition != nil && e.Hidden == "":
			return e, nil
		case e.Name == name && e.Definition == nil:
			broken = e
		}
	}
	if broken != nil {
		return nil, fault.Join(broken.Problems)
	}
	return nil, fault.New("process/unknown", "there is no process %q", name).At("NAME").Want("%s", suggest.Among(name, c.library.Names()))
}

// Default returns the name of the only process of the layers of that name, or
// "": then that is what is meant where none is named.
func (c *Catalog) Default(layer string) string {
	name := ""
	for _, e := range c.entries {
		if e.Layer != layer || e.Hidden != "" {
			continue
		}
		if name != "" {
			return ""
		}
		name = e.Name
	}
	return name
}
