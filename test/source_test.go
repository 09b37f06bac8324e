package test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// module is the path that our own packages begin with.
const module = "github.com/loomrun/loom"

// file is one text file of the tree; syntax is set if it is Go.
type file struct {
	path   string // relative to the root, with slashes
	text   []byte
	set    *token.FileSet
	syntax *ast.File
}

// dir is the package's path within the module.
func (f *file) dir() string { return path.Dir(f.path) }

func (f *file) isGo() bool { return f.syntax != nil }

func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// supportsTests reports whether the file is of a package that only tests use,
// such as journaltest.
func (f *file) supportsTests() bool { return strings.HasSuffix(f.dir(), "test") }

func (f *file) isGenerated() bool { return f.isGo() && ast.IsGenerated(f.syntax) }

// problem says what is wrong at a place of the file.
func (f *file) problem(at token.Pos, format string, args ...any) string {
	return f.problemAt(f.set.Position(at).Line, format, args...)
}

func (f *file) problemAt(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", f.path, line, fmt.Sprintf(format, args...))
}

// imports calls do for each import of the file.
func (f *file) imports(do func(at token.Pos, name string)) {
	for _, spec := range f.syntax.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			do(spec.Pos(), name)
		}
	}
}

// load reads every text file below root but what tools keep there.
func load(t *testing.T, root string) []*file {
	t.Helper()
	var files []*file
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if passOver[entry.Name()] && name != root {
				return fs.SkipDir
			}
			return nil
		}
		if entry.Name() == ".git" { // of a linked worktree: git's own, and about one machine
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := read(set, name, filepath.ToSlash(rel))
		if err == nil && f != nil {
			files = append(files, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var passOver = map[string]bool{".git": true, "node_modules": true, "testdata": true, "bin": true, "dist": true}

// read returns nil for what is not a text file.
func read(set *token.FileSet, name, rel string) (*file, error) {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	text, err := os.ReadFile(name)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return nil, err
	}
	f := &file{path: rel, text: text, set: set}
	if strings.HasSuffix(rel, ".go") {
		f.syntax, err = parser.ParseFile(set, rel, text, parser.ParseComments|parser.SkipObjectResolution)
	}
	return f, err
}

// matches reports whether a package's path is that of a pattern, or lies
// below one that ends in "/...".
func matches(pattern, dir string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == below || strings.HasPrefix(dir, below+"/")
	}
	return dir == pattern
}

func matchesAny(patterns []string, dir string) bool {
	for _, p := range patterns {
		if matches(p, dir) {
			return true
		}
	}
	return false
}

// report fails t for each problem.
func report(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}
