package processes

import (
	"github.com/loomrun/loom/internal/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Source is a process file: the name that problems are reported under, and
// what it holds.
type Source struct {
	File string
	Data []byte
}

// Result is what became of a file: a definition, or all that is wrong with it,
// at most 50 problems.
type Result struct {
	File       string
	Definition *loomv1.Definition
	Problems   []*fault.Error
}

// Read is [Parse] for files that may name each other, and what base has, as
// the processes of their nodes; see [Compose]. One whose name base has takes
// its place; a second one of a name is refused with workflow/duplicate. Where
// the name of a file cannot be read, no process counts as unknown.
func Read(base *Library, files []Source, rs *roles.Set) []Result {
	results := make([]Result, 0, len(files))
	for i, r := range base.clone().add(files, rs) {
		result := Result{File: files[i].File}
		if result.Problems = r.problems(); len(result.Problems) == 0 {
			result.Definition = r.def
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
	}
	for _, r := range all {
		if r.doc == nil {
			continue
		}
		for _, p := range compose(r.def, l, complete) {
			if !r.doc.Broken(inFile(p.path)...) {
				r.report(p)
			}
		}
	}
	return all
}
