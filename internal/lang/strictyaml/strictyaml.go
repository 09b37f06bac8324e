// Package strictyaml is the one place that reads YAML: roles, processes and
// configuration come through it. It accepts one document of plain YAML and
// reports all that is wrong with it at once, each problem with a stable code
// ("yaml/...") and the exact FILE:LINE:COL.
//
// It refuses what YAML libraries let through in silence: unknown and duplicate
// keys, 2.5 and 2.0 where a whole number belongs, yes and on as booleans, tags,
// merge keys, a second document, other encodings than UTF-8, and documents
// that are too large, too deep or full of aliases. It never guesses.
package strictyaml

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/internal/base/fault"
)

// The limits of a document; beyond them it is refused with yaml/limit.
const (
	MaxBytes   = 1 << 20 // of the file
	MaxDepth   = 50      // of nested mappings and lists, aliases followed
	MaxAliases = 100     // anchors and aliases together
	MaxValues  = 100_000 // keys and values, aliases followed
)

// maxProblems bounds what is remembered; only 50 are ever shown.
const maxProblems = 1000

// Document is a YAML document that could be parsed. It may still have
// problems; [Document.Err] tells.
type Document struct {
	file     string
	root     *yaml.Node
	problems []problem
}

// problem is one thing that is wrong, and where: path leads to the value, or
// to the mapping that holds or lacks the key.
type problem struct {
	err       *fault.Error
	path      []any
	line, col int
}

// Decode parses data and stores it in the struct that into points to, as
// [Parse], [Document.Decode] and [Document.Err] do.
func Decode(file string, data []byte, into any) error {
	doc, err := Parse(file, data)
	if err != nil {
		return err
	}
	doc.Decode(into)
	return doc.Err()
}

// Parse reads one document. The file's name is only used in places. It returns
// an error when nothing further can be said: yaml/encoding, yaml/syntax,
// yaml/documents or yaml/limit. Tags, merge keys, duplicate keys and keys that
// are not strings become problems of the document.
//
// The place of a syntax error is the first line that cannot be part of a
// document with the lines before it: where a quote or bracket that is never
// closed begins, or the badly indented line itself. Its column is where that
// line's text begins.
func Parse(file string, data []byte) (*Document, error) {
	text, bad := plain(file, data)
	if bad != nil {
		return nil, bad
	}
	root, bad := compose(file, text)
	if bad != nil {
		return nil, bad
	}
	d := &Document{file: file, root: root}
	if bad := d.measure(); bad != nil {
		return nil, bad
	}
	d.inspect(root, nil, newSource(text))
	return d, nil
}

// Decode stores the document in the struct that into points to, and adds what
// does not fit to the document's problems; fields with problems keep their
// value. A field's key is its yaml tag; `loom:"required"` demands the key.
//
// Fields are strings, whole numbers, float64, bool, [time.Duration] (as in
// 1h30m), structs, lists and maps of these by string, any for what the caller looks
// into by itself ([Document.Value] says as what), and pointers to these, which stay nil
// where the key is absent. Any other type panics.
func (d *Document) Decode(into any) {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("strictyaml: cannot decode into %T, want a pointer to a struct", into))
	}
	d.decode(d.root, v.Elem(), nil)
}

// Problems returns what is wrong so far, in the order of the file.
func (d *Document) Problems() []*fault.Error {
	slices.SortStableFunc(d.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.col, b.col))
	})
	errs := make([]*fault.Error, len(d.problems))
	for i, p := range d.problems {
		errs[i] = p.err
	}
	return errs
}

// Err returns all problems as one error, at most 50, or nil.
func (d *Document) Err() error { return fault.Join(d.Problems()) }

// Broken says whether a problem lies at the path or below it, so that what was
// decoded from there cannot be trusted.
func (d *Document) Broken(path ...any) bool {
	return slices.ContainsFunc(d.problems, func(p problem) bool {
		return len(p.path) >= len(path) && slices.Equal(p.path[:len(path)], path)
	})
}

// Doubtful says whether what was decoded from the path may not be what the
// author meant. A value is doubtful when it is broken. Its absence is when the
// nearest value around it is wrong itself, or has a key that nobody knows:
// that may be this one, misspelt.
func (d *Document) Doubtful(path ...any) bool {
	if d.Has(path...) {
		return d.Broken(path...)
	}
	for path = path[:len(path)-1]; !d.Has(path...); path = path[:len(path)-1] {
	}
	return slices.ContainsFunc(d.problems, func(p problem) bool {
		inside := len(p.path) == len(path)+1 && p.err.Code == "yaml/unknown-key"
		return (len(p.path) == len(path) || inside) && slices.Equal(p.path[:len(path)], path)
	})
}

// Place returns FILE:LINE:COL of the value at the path, whose elements are
// keys (string) and indices (int). Where the path leads to nothing it is the
// place of the nearest value around it.
func (d *Document) Place(path ...any) string {
	n, _ := d.find(path)
	return d.at(n.Line, n.Column)
}

// KeyPlace returns FILE:LINE:COL of the key that the path ends in, or what
// [Document.Place] returns where there is none.
func (d *Document) KeyPlace(path ...any) string {
	n, key := d.find(path)
	if key != nil {
		n = key
	}
	return d.at(n.Line, n.Column)
}

// Has says whether the path leads to a value.
func (d *Document) Has(path ...any) bool {
	n := d.root
	for _, step := range path {
		if _, n = child(target(n), step); n == nil {
			return false
		}
	}
	return true
}

func (d *Document) at(line, col int) string { return fmt.Sprintf("%s:%d:%d", d.file, line, col) }

// find walks the path as far as it leads; key is the last step's key when the
// whole path was found and ended in one.
func (d *Document) find(path []any) (n, key *yaml.Node) {
	n = d.root
	for _, step := range path {
		k, next := child(target(n), step)
		if next == nil {
			return n, nil
		}
		n, key = next, k
	}
	return n, key
}

func child(n *yaml.Node, step any) (key, value *yaml.Node) {
	switch s := step.(type) {
	case string:
		if n.Kind != yaml.MappingNode {
			return nil, nil
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == s {
				return n.Content[i], n.Content[i+1]
			}
		}
	case int:
		if n.Kind == yaml.SequenceNode && 0 <= s && s < len(n.Content) {
			return nil, n.Content[s]
		}
	}
	return nil, nil
}

// target follows an alias.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// Add adds a problem of the caller's own and sets its place to that of the
// value at the path.
func (d *Document) Add(err *fault.Error, path ...any) {
	n, _ := d.find(path)
	d.report(n, path, err)
}

// AddAtKey is Add with the place of the key that the path ends in.
func (d *Document) AddAtKey(err *fault.Error, path ...any) {
	n, key := d.find(path)
	if key != nil {
		n = key
	}
	d.report(n, path, err)
}

// report adds a problem unless the same one stands there already, as it does
// when a mapping is reached by several aliases.
func (d *Document) report(n *yaml.Node, path []any, err *fault.Error) {
	p := problem{err.At(d.at(n.Line, n.Column)), slices.Clone(path), n.Line, n.Column}
	same := func(old problem) bool {
		return old.line == p.line && old.col == p.col && old.err.Code == err.Code && old.err.Message == err.Message
	}
	if len(d.problems) < maxProblems && !slices.ContainsFunc(d.problems, same) {
		d.problems = append(d.problems, p)
	}
}
