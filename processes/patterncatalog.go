package processes

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/roles"
)

// PatternEntry is a pattern of a catalog: sound or not.
type PatternEntry struct {
	// Name is the pattern's own, or the file's where that cannot be read.
	Name string
	// Layer is whose it is; Dir is the layer's directory, and Path its file there.
	Layer, Path string
	Dir         fs.FS
	PatternResult
	// Hidden says which nearer layer has a pattern of this name.
	Hidden string
}

// WorkspaceLayer is the name of the layer of a project.
const WorkspaceLayer = "workspace"

// PatternScope returns the world_scope of patterns in a layer.
func PatternScope(layer string) string {
	if layer == WorkspaceLayer {
		return ProjectScope
	}
	return GlobalScope
}

// Patterns reads the patterns of layers, the nearest first: of each the files
// patterns/NAME/pattern.yaml and patterns/NAME.yaml. The list is sorted by
// name; of one name the nearest comes last, and hides the others if it is sound.
func Patterns(layers []Layer, rs *roles.Set) []*PatternEntry {
	var all []*PatternEntry
	others := PatternTexts(layers)
	for _, l := range slices.Backward(layers) {
		for _, file := range patternFiles(l.Dir) {
			e := &PatternEntry{Name: patternName(file), Layer: l.Name, Path: file, Dir: l.Dir}
			shown := path.Join(l.Shown, file)
			if data, err := readLimited(l.Dir, file); err != nil {
				e.PatternResult = PatternResult{File: shown, Problems: []*fault.Error{fault.New("pattern/invalid", "the file cannot be read").At(shown)}}
			} else {
				e.PatternResult = ReadPattern(shown, data, PatternScope(l.Name), rs, others)
			}
			if e.Pattern != nil {
				e.Name = e.Pattern.Name
				for _, o := range all {
					if o.Name == e.Name && o.Hidden == "" && o.Pattern != nil {
						o.Hidden = l.Name
					}
				}
			}
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b *PatternEntry) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func patternFiles(dir fs.FS) (files []string) {
	entries, _ := fs.ReadDir(dir, "patterns")
	for _, e := range entries {
		file := path.Join("patterns", e.Name())
		if e.IsDir() {
			file = path.Join(file, "pattern.yaml")
			if _, err := fs.Stat(dir, file); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		} else if ext := path.Ext(file); ext != ".yaml" && ext != ".yml" {
			continue
		}
		files = append(files, file)
	}
	return files
}

func patternName(file string) string {
	if path.Base(file) == "pattern.yaml" {
		return path.Base(path.Dir(file))
	}
	return strings.TrimSuffix(path.Base(file), path.Ext(file))
}

// FindPattern returns the nearest pattern of a name. The error is
// pattern/unknown, or all that is wrong with one that is there.
func FindPattern(all []*PatternEntry, name string) (*PatternEntry, error) {
	var names []string
	var broken *PatternEntry
	for _, e := range slices.Backward(all) {
		switch {
		case e.Pattern == nil && e.Name == name:
			broken = e
		case e.Pattern != nil && e.Hidden == "" && e.Name == name:
			return e, nil
		case e.Pattern != nil:
			names = append(names, e.Name)
		}
	}
	if broken != nil {
		return nil, fault.Join(broken.Problems)
	}
	return nil, fault.New("pattern/unknown", "there is no pattern %q", name).At("NAME").Want("%s", suggest.Among(name, names))
}

// Sessions returns the files of the example sessions that lie beside a pattern,
// by name.
func (e *PatternEntry) Sessions() (files []string) {
	if e.Dir == nil || path.Base(e.Path) != "pattern.yaml" {
		return nil
	}
	dir := path.Join(path.Dir(e.Path), "test")
	entries, _ := fs.ReadDir(e.Dir, dir)
	for _, f := range entries {
		if path.Ext(f.Name()) == ".yaml" {
			files = append(files, path.Join(dir, f.Name()))
		}
	}
	return files
}
