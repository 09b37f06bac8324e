//go:build realwork

package realwork

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/loomrun/loom/internal/git"
)

// repository is one that somebody else wrote, and what is wrong with it.
type repository struct {
	name    string
	about   string // what it is, and whose
	archive archive
	// edits make it a repository to work in, and plant the bug.
	edits []edit
	// hook is a pre-commit hook of the user's clone.
	hook string
	// check must pass before anything lands.
	check string
	goal  string // what is reported
	tells string // what else the report says
	// mended is a piece of a file that is there again in the end, and by no accident.
	mended edit
}

// edit replaces a piece of a file, that is there once.
type edit struct{ path, old, new string }

// files returns the repository's files with the edits made.
func (r repository) files(theirs []git.File) ([]git.File, error) {
	files := slices.Clone(theirs)
	for _, e := range r.edits {
		i := slices.IndexFunc(files, func(f git.File) bool { return f.Path == e.path })
		if i < 0 || bytes.Count(files[i].Data, []byte(e.old)) != 1 {
			return nil, fmt.Errorf("%s: there is not one %q in %s", r.name, e.old, e.path)
		}
		files[i].Data = bytes.Replace(files[i].Data, []byte(e.old), []byte(e.new), 1)
	}
	if r.hook != "" {
		files = append(files, git.File{Path: ".git/hooks/pre-commit", Data: []byte(r.hook), Exec: true})
	}
	return files, nil
}

// repositories are what is mended.
var repositories = []repository{
	{
		name:  "humanize",
		about: "github.com/dustin/go-humanize v1.0.1, a Go library",
		archive: archive{
			url: "https://proxy.golang.org/github.com/dustin/go-humanize/@v/v1.0.1.zip",
			sum: "h1:GzkhY7T5VNhEkwH0PVJgjz+fX1rhBrR7pRT3mDkpeCY=",
			top: "github.com/dustin/go-humanize@v1.0.1",
		},
		edits: []edit{{"ftoa.go", "\t\tif digits <= 0 {\n\t\t\treturn s[:i]\n", "\t\tif digits < 0 {\n\t\t\treturn s[:i]\n"}},
		check: "go vet ./... && go test ./...",
		goal:  "FtoaWithDigits and CommafWithDigits leave a point at the end when no digits are asked for",
		tells: "CommafWithDigits(1234.5, 0) returns \"1,234.\" and should return \"1,234\". Seen in a price list.",
		mended: edit{
			"ftoa.go", "if digits < 0 {", "if digits <= 0 {",
		},
	},
}
