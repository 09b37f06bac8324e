// Package repomap draws a map of a repository for a model: the files that a
// piece of work is likely about, with what they declare, as much as a budget
// holds.
//
// [Read] makes an [Outline] of one file: its symbols, the names it refers to,
// the modules it imports and the words it is written in. [Rank] orders files
// by how well their words fit the work, and by which files those refer to; it
// is personalised PageRank over the graph of references. [Draw] writes the map.
//
// The package is pure. It reads no files: whoever calls it brings paths and
// outlines, and may keep outlines by the hash of the content they were made of,
// since an outline depends on the content and the name's extension alone.
package repomap

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// MaxSource is the largest file in bytes that [Read] looks into.
const MaxSource = 512 << 10

// File is a file of the repository. Without an outline only its name counts.
type File struct {
	Path    string // slash-separated, from the top
	Outline Outline
}

// Work is what the map is for.
type Work struct {
	// Text is what is said of the work: goal, description, report, stack trace.
	Text string
	// Touched are files that the work has to do with for sure.
	Touched []string
	// Located are files in which somebody has found a line: they come first.
	Located []string
}

// Outline is what the map knows of one file's content.
type Outline struct {
	Symbols []Symbol // by line
	Imports []string // as written
	Refs    []Count  // names that are referred to, by hash
	Words   []Count  // words of the text, by hash
	Dull    bool     // generated or minified
}

// Symbol is a declaration.
type Symbol struct {
	Name string
	Kind Kind
	Line int // 1 is the first
	// Signature is the declaration on one line, without its body; empty in
	// languages of which only names are known.
	Signature string
	// Local symbols are of no use to other files.
	Local bool
}

// Kind is what a symbol is.
type Kind uint8

// Kinds of symbols.
const (
	Func Kind = iota
	Method
	Type
	Value
)

// Count is how often something with that hash occurs.
type Count struct {
	Hash uint32
	N    uint16
}

// Bounds of an outline.
const (
	maxSymbols   = 400
	maxRefs      = 3000
	maxWords     = 3000
	maxImports   = 200
	maxSignature = 140 // bytes
	maxName      = 80  // bytes
)

// Known reports whether [Read] finds more in a file of that name than its words.
func Known(name string) bool { return languageOf(name) != nil }

// Read outlines a file. What cannot be understood is left out; a file over
// [MaxSource] or of an unknown language has an empty outline.
func Read(name string, data []byte) Outline {
	lang := languageOf(name)
	if lang == nil || len(data) > MaxSource || slices.Contains(data[:min(len(data), 8000)], 0) {
		return Outline{}
	}
	if minified(data) {
		return Outline{Dull: true}
	}
	b := builder{refs: map[uint32]int{}}
	if lang.read != nil {
		lang.read(&b, data)
	} else {
		b.scan(lang, data)
	}
	return Outline{
		Symbols: b.sortedSymbols(), Imports: b.imports, Refs: counts(b.refs, maxRefs),
		Words: counts(wordCounts(string(data)), maxWords), Dull: generated(data),
	}
}

// builder gathers an outline.
type builder struct {
	symbols []Symbol
	imports []string
	refs    map[uint32]int
}

func (b *builder) symbol(s Symbol) {
	if len(b.symbols) < maxSymbols && s.Name != "" && s.Name != "_" && len(s.Name) <= maxName {
		s.Name, s.Signature = strings.ToValidUTF8(s.Name, "?"), oneLine(s.Signature)
		b.symbols = append(b.symbols, s)
	}
}

// sortedSymbols returns the symbols by line; the same symbol twice, as of an
// overload, is there once.
func (b *builder) sortedSymbols() []Symbol {
	slices.SortStableFunc(b.symbols, func(x, y Symbol) int { return cmp.Compare(x.Line, y.Line) })
	return slices.CompactFunc(b.symbols, func(x, y Symbol) bool { return x.Name == y.Name && x.Kind == y.Kind && x.Signature == y.Signature })
}

func (b *builder) imported(name string) {
	if len(b.imports) < maxImports && name != "" && len(name) <= 4*maxName {
		b.imports = append(b.imports, strings.ToValidUTF8(name, "?"))
	}
}

func (b *builder) refer(name string) {
	if len(name) > 2 && len(name) <= maxName {
		b.refs[hash(name)]++
	}
}

// counts returns the most frequent limit entries, by hash.
func counts(m map[uint32]int, limit int) []Count {
	list := make([]Count, 0, len(m))
	for h, n := range m {
		list = append(list, Count{h, uint16(min(n, 1<<16-1))})
	}
	if len(list) > limit {
		slices.SortFunc(list, func(x, y Count) int { return cmp.Or(cmp.Compare(y.N, x.N), cmp.Compare(x.Hash, y.Hash)) })
		list = list[:limit]
	}
	slices.SortFunc(list, func(x, y Count) int { return cmp.Compare(x.Hash, y.Hash) })
	return list
}

func numberOf(list []Count, h uint32) int {
	i, ok := slices.BinarySearchFunc(list, h, func(c Count, h uint32) int { return cmp.Compare(c.Hash, h) })
	if !ok {
		return 0
	}
	return int(list[i].N)
}

// hash is FNV-1a.
func hash(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// oneLine is a text without line ends, control characters and doubled spaces,
// cut to the length of a signature.
func oneLine(s string) string {
	if len(s) > 8*maxSignature {
		s = s[:8*maxSignature]
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x200b && r <= 0x202e || r >= 0x2060 && r <= 0x2069 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "( ", "("), ", )", ")")
	if len(s) > maxSignature {
		s = strings.ToValidUTF8(s[:maxSignature-3], "") + "..."
	}
	return s
}

// minified reports whether a text is written for machines: its lines are very
// long on average.
func minified(data []byte) bool {
	lines := 1
	for _, c := range data {
		if c == '\n' {
			lines++
		}
	}
	return len(data) > 4000 && len(data)/lines > 300
}

// generated looks for what generators write at the top of their files.
func generated(data []byte) bool {
	top := string(data[:min(len(data), 1000)])
	return strings.Contains(top, "DO NOT EDIT") || strings.Contains(top, "@generated") || strings.Contains(top, "Do not edit")
}

// Directories of what others wrote, and of what is made of sources.
var foreign = []string{"vendor", "node_modules", "third_party", "dist", "bower_components", "__snapshots__"}

// weight is how much a file counts beside the others: what is seldom changed by
// hand counts little.
func (f File) weight() float64 {
	w := 1.0
	if f.Outline.Dull || strings.HasSuffix(f.Path, ".min.js") || strings.HasSuffix(f.Path, ".d.ts") {
		w *= 0.2
	}
	lower := strings.ToLower(f.Path)
	parts := strings.Split(lower, "/")
	base := parts[len(parts)-1]
	for _, d := range parts[:len(parts)-1] {
		if slices.Contains(foreign, d) {
			w *= 0.1
		}
	}
	if testFile(parts, base) {
		w *= 0.3
	}
	if languageOf(f.Path) == nil {
		w *= 0.3
	}
	return w
}

// testFile reports whether names say that a file is of tests or examples.
func testFile(parts []string, base string) bool {
	for _, d := range parts[:len(parts)-1] {
		switch d {
		case "test", "tests", "testing", "testdata", "__tests__", "__mocks__", "spec", "fixtures", "e2e", "playground", "examples", "example", "testhelpers", "integrationtest", "testscripts":
			return true
		}
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	return strings.HasPrefix(base, "test_") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, ".test") ||
		strings.HasSuffix(stem, ".spec") || strings.HasSuffix(stem, "_spec") || base == "conftest.py"
}
