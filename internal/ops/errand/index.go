package errand

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/provenance"
)

// index writes beside what was delivered who made it, from which sources, who judged it
// and what it cost. Where files of these names are delivered, or stand there, it has other
// names. That it cannot be written is said, and spoils nothing.
func (e *errand) index(r *Result) {
	out := e.into()
	var names []string
	for _, f := range r.Files {
		if f.Why == "" {
			names = append(names, f.Path)
		}
	}
	if out == "" || len(names) == 0 {
		return
	}
	i := e.record.IndexOf(r.Definition, r.View, names)
	i.Goal, i.Status, i.Gaps = e.Submission.Goal, r.Status, r.Gaps
	for n := range i.Files {
		i.Files[n].Unverified = slices.ContainsFunc(r.Files, func(f File) bool { return f.Path == i.Files[n].Path && f.Unverified })
	}
	if path, err := writeIndex(out, i, r.Files); err != nil {
		e.View.Say("no list of what was made was written: " + reason(err))
	} else {
		r.Index = path
	}
}

func writeIndex(out string, i *provenance.Index, files []File) (string, error) {
	root, err := os.OpenRoot(out)
	if err != nil {
		return "", err
	}
	defer root.Close()
	readme, data := provenance.Names(i.Execution, func(name string) bool {
		if slices.ContainsFunc(files, func(f File) bool { return strings.EqualFold(f.Path, name) }) {
			return true
		}
		_, err := root.Lstat(name)
		return !errors.Is(err, fs.ErrNotExist) && !ofRun(root, i.Execution)
	})
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return "", err
	}
	if err := errors.Join(root.WriteFile(data, append(text, '\n'), 0o644), root.WriteFile(readme, []byte(i.Markdown()), 0o644)); err != nil {
		return "", err
	}
	return filepath.Join(out, readme), nil
}

// ofRun says whether the list that stands there is of this very run, which was taken up
// again.
func ofRun(root *os.Root, execution string) bool {
	text, err := root.ReadFile("run.json")
	var i provenance.Index
	return err == nil && json.Unmarshal(text, &i) == nil && i.Execution == execution
}
