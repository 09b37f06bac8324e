package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/loomrun/loom/internal/base/fault"
)

const (
	// MaxFile is the size of the largest file that is read, in bytes.
	MaxFile = 64 << 10
	// maxDepth is how deep values may lie in one another.
	maxDepth = 8
)

// place is where something stands in a file.
type place struct{ line, column int }

// node is a value, or a table of them.
type node struct {
	at     place // of its key
	kind   unstable.Kind
	text   string // of a value that is no array and no table
	list   []*node
	fields []field
	header bool // it has stood in brackets, or is a value
}

type field struct {
	name string
	node *node
}

func (n *node) get(name string) *node {
	for _, f := range n.fields {
		if f.name == name {
			return f.node
		}
	}
	return nil
}

// reader makes a tree of a file.
type reader struct {
	file   string
	parser unstable.Parser
	errs   []*fault.Error
}

func (r *reader) add(at place, e *fault.Error) {
	r.errs = append(r.errs, e.At(fmt.Sprintf("%s:%d:%d", r.file, at.line, at.column)))
}

// tree reads a file. What is wrong with it is in r.errs.
func (r *reader) tree(data []byte) *node {
	root := &node{kind: unstable.Table, at: place{1, 1}}
	if len(data) > MaxFile {
		r.add(root.at, fault.New("config/limit", "%d bytes; a configuration has at most %d", len(data), MaxFile))
		return root
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte-order mark, which some editors write
	r.parser.Reset(data)
	table := root
	for r.parser.NextExpression() {
		switch e := r.parser.Expression(); e.Kind {
		case unstable.KeyValue:
			r.keyValue(table, e, 0)
		case unstable.Table:
			table = r.table(root, e)
		case unstable.ArrayTable:
			table = r.refuseList(e)
		}
	}
	r.whole(data)
	return root
}

// whole reports what the library has against the file that a walk over its
// parts does not show, unless something was found already.
func (r *reader) whole(data []byte) {
	var ignored map[string]any
	err := toml.Unmarshal(data, &ignored)
	if err == nil || r.parser.Error() == nil && len(r.errs) > 0 {
		return
	}
	at := place{1, 1}
	if d, ok := errors.AsType[*toml.DecodeError](err); ok {
		at.line, at.column = d.Position()
	}
	r.add(at, fault.New("config/syntax", "%s", strings.TrimPrefix(err.Error(), "toml: ")))
}

// part is one name of a dotted key.
type part struct {
	name string
	at   place
}

func (r *reader) key(e *unstable.Node) []part {
	var parts []part
	for it := e.Key(); it.Next(); {
		k := it.Node()
		pos := r.parser.Shape(k.Raw).Start
		parts = append(parts, part{string(k.Data), place{pos.Line, pos.Column}})
	}
	return parts
}

// descend returns the table that all but the last of parts name, made on the
// way, or nil where something else stands.
func (r *reader) descend(from *node, parts []part) *node {
	for _, p := range parts {
		next := from.get(p.name)
		if next == nil {
			next = &node{kind: unstable.Table, at: p.at}
			from.fields = append(from.fields, field{p.name, next})
		}
		if next.kind != unstable.Table {
			r.twice(p, next)
			return nil
		}
		from = next
	}
	return from
}

func (r *reader) twice(p part, first *node) {
	r.add(p.at, fault.New("config/duplicate-key", "%q stands here already, at line %d", p.name, first.at.line))
}

func (r *reader) table(root *node, e *unstable.Node) *node {
	parts := r.key(e)
	last := parts[len(parts)-1]
	t := r.descend(root, parts)
	switch {
	case len(parts) > maxDepth:
		r.add(last.at, fault.New("config/limit", "tables lie in one another deeper than %d", maxDepth))
	case t == nil:
	case t.header:
		r.twice(last, t)
	default:
		t.header = true
		return t
	}
	return &node{kind: unstable.Table} // for what follows, which is not looked at
}

func (r *reader) refuseList(e *unstable.Node) *node {
	parts := r.key(e)
	last := parts[len(parts)-1]
	r.add(last.at, fault.New("config/type", "a list of tables").Got(last.name).Want("nothing takes one; write [%s]", last.name))
	return &node{kind: unstable.Table}
}

func (r *reader) keyValue(table *node, e *unstable.Node, depth int) {
	parts := r.key(e)
	last := parts[len(parts)-1]
	if depth+len(parts) > maxDepth {
		r.add(last.at, fault.New("config/limit", "tables lie in one another deeper than %d", maxDepth))
		return
	}
	t := r.descend(table, parts[:len(parts)-1])
	if t == nil {
		return
	}
	if first := t.get(last.name); first != nil {
		r.twice(last, first)
		return
	}
	t.fields = append(t.fields, field{last.name, r.value(e.Value(), last.at, depth+len(parts))})
}

func (r *reader) value(v *unstable.Node, at place, depth int) *node {
	n := &node{at: at, kind: v.Kind, header: true}
	switch v.Kind {
	case unstable.Array:
		for it := v.Children(); it.Next() && depth < maxDepth; {
			n.list = append(n.list, r.value(it.Node(), at, depth+1))
		}
	case unstable.InlineTable:
		n.kind = unstable.Table
		for it := v.Children(); it.Next(); {
			r.keyValue(n, it.Node(), depth)
		}
	default:
		n.text = string(v.Data)
	}
	return n
}
