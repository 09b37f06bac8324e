package strictyaml

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/internal/fault"
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

// inspect reports what no document may have, whatever it is decoded into.
func (d *Document) inspect(n *yaml.Node, path []any, src source) {
	if tag := src.tag(n); tag != "" {
		d.report(n, path, fault.New("yaml/tag", "tags are not allowed").Got(tag).Want("leave the tag out"))
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for i, c := range n.Content {
			d.inspect(c, append(path, i), src)
		}
	case yaml.MappingNode:
		d.inspectKeys(n, path, src)
		for i := 0; i+1 < len(n.Content); i += 2 {
			d.inspect(n.Content[i+1], append(path, n.Content[i].Value), src)
		}
	}
}

func (d *Document) inspectKeys(n *yaml.Node, path []any, src source) {
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		here := append(path, key.Value)
		switch first := seen[key.Value]; {
		case src.tag(key) != "":
			d.report(key, here, fault.New("yaml/tag", "tags are not allowed").Got(src.tag(key)).Want("leave the tag out"))
		case key.Tag == "!!merge":
			d.report(key, here, fault.New("yaml/unknown-key", "merge keys are not allowed").Got("<<").Want("write the keys out"))
		case key.Kind != yaml.ScalarNode || key.Tag != "!!str":
			d.report(key, here, fault.New("yaml/type", "a key is not a string").Got(key.Value).Want("quote it"))
		case first != nil:
			d.report(key, here, fault.New("yaml/duplicate-key", "the key stands in line %d already", first.Line).Got(key.Value))
		default:
			seen[key.Value] = key
		}
	}
}

// source is the text by lines, to see what the library does not tell.
type source [][]byte

func newSource(text []byte) source { return bytes.Split(text, []byte("\n")) }

// tag returns the tag that a value is written with. The library forgets a
// lone "!", which it reads past; the text still has it.
func (s source) tag(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle != 0 {
		return n.Tag
	}
	text := s.from(n.Line, n.Column)
	if n.Anchor != "" {
		text = strings.TrimLeft(strings.TrimPrefix(text, "&"+n.Anchor), " ")
	}
	if strings.HasPrefix(text, "!") {
		return "!"
	}
	return ""
}

func (s source) from(line, col int) string {
	if line < 1 || line > len(s) {
		return ""
	}
	text := s[line-1]
	for i := range string(text) {
		if col--; col == 0 {
			return string(text[i:])
		}
	}
	return ""
}
