package errand

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/provenance"
	"github.com/loomrun/loom/internal/place/git"
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
		there, err := root.ReadFile(name)
		return !errors.Is(err, fs.ErrNotExist) && !ofRun(root, name, there, i.Execution)
	})
	text, err := encoded(i)
	if err != nil {
		return "", err
	}
	if err := errors.Join(root.WriteFile(data, text, 0o644), root.WriteFile(readme, []byte(i.Markdown()), 0o644)); err != nil {
		return "", err
	}
	return filepath.Join(out, readme), nil
}

// ofRun says whether what stands there under one of an index's names is of this very run,
// which was taken up again, and as it was written.
func ofRun(root *os.Root, name string, there []byte, execution string) bool {
	text, err := root.ReadFile("run.json")
	i := indexIn(text)
	return err == nil && i != nil && i.Execution == execution && (name == "run.json" || string(there) == i.Markdown())
}

// encoded is an index for programs.
func encoded(i *provenance.Index) ([]byte, error) {
	text, err := json.MarshalIndent(i, "", "  ")
	return append(text, '\n'), err
}

// indexIn is the index that a file holds as it was written, or nil.
func indexIn(text []byte) *provenance.Index {
	var i provenance.Index
	if json.Unmarshal(text, &i) != nil || i.Execution == "" {
		return nil
	}
	if again, err := encoded(&i); err != nil || !bytes.Equal(again, text) {
		return nil
	}
	return &i
}

// withoutIndexes are files without the indexes that earlier runs have left, unless a person
// has changed them: they are no material.
func withoutIndexes(files []git.File) []git.File {
	indexes := map[string]string{} // what is written in both files of each, by path
	for _, f := range files {
		name := path.Base(f.Path)
		if rest, is := strings.CutPrefix(name, "run"); is && strings.HasSuffix(rest, ".json") {
			if i := indexIn(f.Data); i != nil {
				indexes[f.Path] = string(f.Data)
				indexes[path.Join(path.Dir(f.Path), "README"+strings.TrimSuffix(rest, ".json")+".md")] = i.Markdown()
			}
		}
	}
	return slices.DeleteFunc(files, func(f git.File) bool {
		text, is := indexes[f.Path]
		return is && text == string(f.Data)
	})
}
