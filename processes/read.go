package processes

import (
	"io/fs"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Source is a process file: the name that problems are reported under, and
// what it holds. With Dir, the directory of all processes, and Path, the file's
// path in it, the file may include others from there, and one that is called
// process.yaml is a package together with what lies beside it.
type Source struct {
	File string
	Data []byte
	Dir  fs.FS
	Path string
}

// Result is what became of a file: a definition, or all that is wrong with it,
// at most 50 problems. Process is what a file with phases says beside its
// definition, nil for one with nodes; Warnings are what is allowed, but probably
// not meant.
type Result struct {
	File       string
	Definition *loomv1.Definition
	Process    *Process
	Problems   []*fault.Error
	Warnings   []*fault.Error
}

// Read is [Parse] for files that may name each other, and what base has, as
// the processes of their nodes; see [Compose]. One whose name base has takes
// its place; a second one of a name is refused with workflow/duplicate. Where
// the name of a file cannot be read, no process counts as unknown.
func Read(base *Library, files []Source, rs *roles.Set) []Result {
	results := make([]Result, 0, len(files))
	for i, r := range base.clone().add(files, rs) {
		result := Result{File: files[i].File, Warnings: r.warnings()}
		if result.Problems = r.problems(); len(result.Problems) == 0 {
			result.Definition, result.Process = r.def, r.process()
		}
		result.Problems = result.Problems[:min(len(result.Problems), maxProblems)]
		results = append(results, result)
	}
	return results
}

const maxProblems = 50

// add reads files and takes what has a name into the library.
func (l *Library) add(files []Source, rs *roles.Set) []*reading {
	first := map[string]string{}
	all := make([]*reading, len(files))
	complete := true
	for i, f := range files {
		r := parse(f, rs)
		all[i] = r
		if !r.named() {
			complete = false
			continue
		}
		if there, twice := first[r.def.Name]; twice {
			r.doc.Add(fault.New("workflow/duplicate", "process %q stands at %s already", r.def.Name, there), "name")
			continue
		}
		first[r.def.Name], l.byName[r.def.Name] = r.doc.Place("name"), r.def
		delete(l.processes, r.def.Name)
		if p := r.process(); p != nil {
			l.processes[r.def.Name] = p
		}
	}
	for _, r := range all {
		if r.doc == nil {
			continue
		}
		for _, p := range compose(r.def, l, complete) {
			if doc, at := r.locate(p.path); !doc.Broken(at...) {
				r.report(p)
			}
		}
	}
	return all
}
