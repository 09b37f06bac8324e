package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	"github.com/loomrun/loom/processes"
)

func (a *app) validateWorkflow() *cobra.Command {
	return &cobra.Command{
		Use: "validate FILE|DIR...", Short: "print everything that is wrong with workflow files",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return takes("FILE|DIR")(cmd, args)
			}
			return nil
		},
		Long: `Validate reads workflow files and prints what is wrong with them, all at once,
one FILE:LINE:COL: CODE: sentence a line; it exits 3 then. With --json it prints
a list. It asks no host. Of a directory it takes each NAME/process.yaml, and
files *.yaml and *.yml where there is none; - is standard input. Processes that
nodes name must be among the files or come with Loom.`,
		Example: "  loom workflow validate process.yaml\n  loom workflow validate loom-processes",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.validate(args, processes.Builtin(a.roleSet()))
		},
	}
}

func (a *app) validate(args []string, base *processes.Library) error {
	files, err := workflowFiles(args)
	if err != nil {
		return err
	}
	sources := make([]processes.Source, 0, len(files))
	var all []*fault.Error
	for _, file := range files {
		if filepath.Base(file) == patternFile {
			e, err := a.readPattern(file)
			if err != nil {
				return err
			}
			all = append(all, e.Problems...)
			continue
		}
		s, err := a.source(file)
		if err != nil {
			return err
		}
		sources = append(sources, s)
	}
	for _, r := range processes.Read(base, sources, a.roleSet()) {
		all = append(all, r.Problems...)
		for _, w := range r.Warnings {
			fmt.Fprintf(a.err, "warning: %s\n", printable(w.Error()))
		}
	}
	return a.told(all, len(files))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// workflowFiles returns the files that the arguments name, each once, those of
// a directory in the order of their names.
func workflowFiles(args []string) (files []string, err error) {
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

// patternFile is the file of a pattern that is a package.
const patternFile = "pattern.yaml"

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
		for _, name := range []string{"process.yaml", patternFile} {
			if whole := filepath.Join(path, name); exists(whole) {
				files = append(files, whole)
				return filepath.SkipDir
			}
		}
		return nil
	})
	return files, err
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// input opens a file, or standard input for "-".
func (a *app) input(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fault.New("usage/argument", "cannot be read").At(name).Because(errors.Unwrap(err))
	}
	return f, nil
}

// readFile reads a file, or standard input for "-"; of one that is larger than
// any file of YAML may be, only so much that this shows.
func (a *app) readFile(name string) ([]byte, error) {
	r, err := a.input(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, strictyaml.MaxBytes+1))
	if err != nil {
		return nil, fault.New("usage/argument", "cannot be read").At(name).Because(errors.Unwrap(err))
	}
	return data, nil
}
