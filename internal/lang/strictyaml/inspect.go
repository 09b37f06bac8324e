package strictyaml

import (
	"bytes"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/internal/base/fault"
)

// extent is what a value amounts to with its aliases followed; a scalar has no
// depth, a list of scalars has depth 1.
type extent struct{ values, depth int }

// measure refuses documents that are too large, too deep, or that refer to
// themselves. It looks at every value once, however often it is aliased.
func (d *Document) measure() *fault.Error {
	m := measurer{done: map[*yaml.Node]extent{}, open: map[*yaml.Node]bool{}}
	all := m.extent(d.root, 1)
	if m.bad == nil && all.values > MaxValues {
		m.bad = fault.New("yaml/limit", "more than %d values with aliases followed", MaxValues)
		m.where = d.root
	}
	if m.bad != nil {
		return m.bad.At(d.at(m.where.Line, m.where.Column))
	}
	return nil
}

type measurer struct {
	done    map[*yaml.Node]extent
	open    map[*yaml.Node]bool
	aliases int
	bad     *fault.Error // the first thing found
	where   *yaml.Node
}

func (m *measurer) extent(n *yaml.Node, level int) extent {
	if m.bad != nil {
		return extent{}
	}
	if e, ok := m.done[n]; ok {
		m.check(n, level-1+e.depth)
		return e
	}
	if m.open[n] {
		m.refuse(n, "an alias that refers to itself")
		return extent{}
	}
	if len(n.Content) > 0 {
		m.check(n, level)
	}
	m.open[n] = true
	e := m.sum(n, level)
	delete(m.open, n)
	m.done[n] = e
	return e
}

func (m *measurer) sum(n *yaml.Node, level int) extent {
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		if m.aliases++; m.aliases > MaxAliases {
			m.refuse(n, "more than 100 anchors and aliases")
		}
	}
	if n.Kind == yaml.AliasNode {
		return m.extent(n.Alias, level)
	}
	e := extent{values: 1}
	for _, c := range n.Content {
		below := m.extent(c, level+1)
		e.values = min(e.values+below.values, MaxValues+1)
		e.depth = max(e.depth, 1+below.depth)
	}
	return e
}

func (m *measurer) check(n *yaml.Node, depth int) {
	if depth > MaxDepth {
		m.refuse(n, "nested more than 50 deep")
	}
}

func (m *measurer) refuse(n *yaml.Node, why string) {
	if m.bad == nil {
		m.bad, m.where = fault.New("yaml/limit", "%s", why), n
	}
}

// inspect reports what no document may have, whatever it is decoded into. It
// goes through the text from front to back.
func (d *Document) inspect(n *yaml.Node, path []any, src *source) {
	if tag := src.tag(n); tag != "" {
		d.report(n, path, fault.New("yaml/tag", "tags are not allowed").Got(tag).Want("leave the tag out"))
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for i, c := range n.Content {
			d.inspect(c, append(path, i), src)
		}
	case yaml.MappingNode:
		seen := make(map[string]*yaml.Node, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			here := append(path, n.Content[i].Value)
			d.inspectKey(n.Content[i], here, seen, src)
			d.inspect(n.Content[i+1], here, src)
		}
	}
}

func (d *Document) inspectKey(key *yaml.Node, path []any, seen map[string]*yaml.Node, src *source) {
	tag := src.tag(key)
	switch first := seen[key.Value]; {
	case tag != "":
		d.report(key, path, fault.New("yaml/tag", "tags are not allowed").Got(tag).Want("leave the tag out"))
	case key.Tag == "!!merge":
		d.report(key, path, fault.New("yaml/unknown-key", "merge keys are not allowed").Got("<<").Want("write the keys out"))
	case key.Kind != yaml.ScalarNode || key.Tag != "!!str":
		d.report(key, path, fault.New("yaml/type", "a key is not a string").Got(key.Value).Want("quote it"))
	case first != nil:
		d.report(key, path, fault.New("yaml/duplicate-key", "the key stands in line %d already", first.Line).Got(key.Value))
	default:
		seen[key.Value] = key
	}
}

// source is the text, to see what the library does not tell. It remembers
// where it looked last, so that looking from front to back costs one pass even
// if all the text is one line.
type source struct {
	lines     [][]byte
	line, col int
	rest      []byte // of the line, from col on
}

func newSource(text []byte) *source { return &source{lines: bytes.Split(text, []byte("\n"))} }

// tag returns the tag that a value is written with. The library forgets a
// lone "!", which it reads past; the text still has it. What stands where a
// mapping without braces begins belongs to its first key.
func (s *source) tag(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle != 0 {
		return n.Tag
	}
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 {
		return ""
	}
	text := s.from(n.Line, n.Column)
	if n.Anchor != "" {
		text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte("&"+n.Anchor)), " ")
	}
	if bytes.HasPrefix(text, []byte("!")) {
		return "!"
	}
	return ""
}

func (s *source) from(line, col int) []byte {
	if line < 1 || line > len(s.lines) {
		return nil
	}
	if line != s.line || col < s.col {
		s.line, s.col, s.rest = line, 1, s.lines[line-1]
	}
	for ; s.col < col && len(s.rest) > 0; s.col++ {
		_, n := utf8.DecodeRune(s.rest)
		s.rest = s.rest[n:]
	}
	return s.rest
}
