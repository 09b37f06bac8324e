package pattern

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
)

// WorkflowFiles returns the files that the arguments name, each once, those of
// a directory in the order of their names.
func WorkflowFiles(args []string) (files []string, err error) {
	for _, arg := range args {
		found := []string{arg}
		if info, err := os.Stat(arg); arg != "-" && err == nil && info.IsDir() {
			if found, err = walk(arg); err != nil {
				return nil, fault.New("usage/argument", "cannot be read").At(arg).Because(errors.Unwrap(err))
			}
			if len(found) == 0 {
				return nil, fault.New("usage/argument", "the directory has no workflow files").At(arg).Want("NAME/process.yaml, *.yaml or *.yml")
			}
		}
		for _, file := range found {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// PatternFile is the file of a pattern that is a package.
const PatternFile = "pattern.yaml"

// walk lists the workflow files below a directory. What lies beside or below a
// process.yaml or pattern.yaml belongs to that, and what begins with a point to
// nobody.
func walk(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != dir && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !e.IsDir():
			if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
				files = append(files, path)
			}
			return nil
		}
		for _, name := range []string{"process.yaml", PatternFile} {
			if whole := filepath.Join(path, name); console.Exists(whole) {
				files = append(files, whole)
				return filepath.SkipDir
			}
		}
		return nil
	})
	return files, err
}
