// Package repomap draws a map of a repository for a model: its directories and
// files, and what Go files declare, as much of it as a budget holds. The same
// files give the same map. It reads names and Go sources and runs nothing.
package repomap

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Bounds of what is looked at.
const (
	maxFiles  = 20_000
	maxParsed = 400
	maxSource = 256 << 10 // bytes of one Go file
)

// Draw returns the map of files in at most limit bytes: what lies near the top
// and what the words name comes first. What is left out is said.
func Draw(files fs.FS, words string, limit int) string {
	m := &drawing{files: files, words: wordsOf(words), limit: limit, shown: map[string]string{}}
	m.walk()
	if len(m.names) == 0 {
		return ""
	}
	m.chart()
	m.declarations()
	return m.text()
}

type drawing struct {
	files fs.FS
	words []string
	limit int

	names []string            // all files, sorted
	dirs  map[string][]string // files by directory
	more  bool                // there are more files than were looked at
	used  int                 // bytes of what is shown
	shown map[string]string   // lines by directory or file; of a file, what it declares
}

// skipped are directories of what others wrote.
var skipped = []string{"vendor", "node_modules", "third_party", "dist", "build", "target"}

func (m *drawing) walk() {
	m.dirs = map[string][]string{}
	_ = fs.WalkDir(m.files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is not on the map
		case name != "." && strings.HasPrefix(e.Name(), "."), e.IsDir() && slices.Contains(skipped, e.Name()):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !e.Type().IsRegular():
			return nil
		case len(m.names) == maxFiles:
			m.more = true
			return fs.SkipAll
		}
		m.names = append(m.names, name)
		m.dirs[path.Dir(name)] = append(m.dirs[path.Dir(name)], name)
		return nil
	})
}

// room takes n bytes if they are left of that many percent of the limit, short
// of what is kept for the last line.
func (m *drawing) room(n, percent int) bool {
	if m.used+n > (m.limit-80)*percent/100 {
		return false
	}
	m.used += n
	return true
}

// chart puts directories on the map, the shallow ones first, with their files
// where those fit.
func (m *drawing) chart() {
	dirs := slices.SortedFunc(maps.Keys(m.dirs), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.fit(b), m.fit(a)), cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
	})
	for _, d := range dirs {
		line := fmt.Sprintf("%s/ (%d files)\n", d, len(m.dirs[d]))
		if !m.room(len(line), 60) {
			break
		}
		m.shown[d] = line
	}
	for _, d := range dirs {
		if m.shown[d] == "" {
			break
		}
		var list []string
		for _, f := range m.dirs[d] {
			list = append(list, path.Base(f))
		}
		if full := fmt.Sprintf("%s/: %s\n", d, strings.Join(list, " ")); m.room(len(full)-len(m.shown[d]), 80) {
			m.shown[d] = full
		}
	}
}

// declarations adds what Go files declare, those that the words name first.
func (m *drawing) declarations() {
	var sources []string
	for _, f := range m.names {
		if path.Ext(f) == ".go" && !strings.HasSuffix(f, "_test.go") {
			sources = append(sources, f)
		}
	}
	slices.SortStableFunc(sources, func(a, b string) int {
		return cmp.Or(cmp.Compare(m.fit(b), m.fit(a)), cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")))
	})
	for _, f := range sources[:min(len(sources), maxParsed)] {
		if _, ok := m.shown[path.Dir(f)]; !ok {
			continue
		}
		said := declared(m.files, f)
		if line := fmt.Sprintf("  %s: %s\n", path.Base(f), strings.Join(said, ", ")); len(said) > 0 && m.room(len(line), 100) {
			m.shown[f] = line
		}
	}
}

func (m *drawing) text() string {
	var b strings.Builder
	left := 0
	for _, d := range slices.Sorted(maps.Keys(m.dirs)) {
		if m.shown[d] == "" {
			left++
			continue
		}
		b.WriteString(m.shown[d])
		for _, f := range m.dirs[d] {
			b.WriteString(m.shown[f])
		}
	}
	switch {
	case m.more:
		fmt.Fprintf(&b, "there are more than %d files\n", maxFiles)
	case left > 0:
		fmt.Fprintf(&b, "%d more directories are left out\n", left)
	}
	return b.String()
}

// fit is how many of the words a name has.
func (m *drawing) fit(name string) (n int) {
	name = strings.ToLower(name)
	for _, w := range m.words {
		if strings.Contains(name, w) {
			n++
		}
	}
	return n
}

// wordsOf returns the longer words of a text, each once.
func wordsOf(text string) []string {
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
	list = slices.DeleteFunc(list, func(w string) bool { return len(w) < 4 })
	slices.Sort(list)
	return slices.Compact(list)
}

// declared returns what a Go file declares for others, as far as it can be read.
func declared(files fs.FS, name string) []string {
	if info, err := fs.Stat(files, name); err != nil || info.Size() > maxSource {
		return nil
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.SkipObjectResolution)
	if f == nil || err != nil && len(f.Decls) == 0 {
		return nil
	}
	var list []string
	for _, d := range f.Decls {
		list = append(list, names(d)...)
	}
	return list
}

func names(d ast.Decl) (list []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() || d.Name.Name == "main" {
			list = append(list, "func "+receiver(d)+d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() {
				list = append(list, "type "+t.Name.Name)
			}
		}
	}
	return list
}

func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if i, ok := t.(*ast.Ident); ok {
		return i.Name + "."
	}
	return ""
}
