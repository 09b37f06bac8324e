package demo

import (
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loomrun/loom/internal/place/git"
)

//go:embed shop.txtar
var shop []byte

// Branch is the demo repository's branch.
const Branch = "main"

// MakeRepository makes the demo's repository in dir: a small Go module with a
// bug, the test that shows it, and a pre-commit hook that runs gofmt and go
// vet. One that is there already is left as it is.
func MakeRepository(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var files []git.File
	for _, f := range txtar.Parse(shop).Files {
		if f.Name == reportFile {
			continue
		}
		if hook, ok := strings.CutPrefix(f.Name, "hooks/"); ok {
			files = append(files, git.File{Path: ".git/hooks/" + hook, Data: f.Data, Exec: true})
			continue
		}
		files = append(files, git.File{Path: f.Name, Data: f.Data})
	}
	return git.Create(ctx, dir, Branch, "shop: price a cart", files)
}

const reportFile = "report.json"

// Report returns the error report that a service of the demo publishes, as
// JSON.
func Report() []byte {
	for _, f := range txtar.Parse(shop).Files {
		if f.Name == reportFile {
			return f.Data
		}
	}
	panic("demo: the report is missing from shop.txtar")
}
