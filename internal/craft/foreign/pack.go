package foreign

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// pack is a package of Office Open XML.
type pack struct {
	files    map[string]*zip.File
	unpacked int64
	alive    func() error // why reading is to end; nil for nothing
}

// xml reads a part; nil for one that is not there.
func (p *pack) xml(name string) (*node, error) {
	f := p.files[name]
	if f == nil {
		return nil, nil //nolint:nilnil // what is not there is no error
	}
	r, err := f.Open()
	if err != nil {
		return nil, fault.New("document/foreign", "%s cannot be unpacked: %s", name, err)
	}
	defer r.Close()
	in := &bounded{r: r, most: min(maxPart, MaxUnpacked-p.unpacked)}
	root, err := parse(in, p.alive)
	p.unpacked += in.n
	switch {
	case in.n > in.most:
		return nil, fault.New("document/limit", "%s unpacks to more than is read", name)
	case in.run > maxRun:
		return nil, fault.New("document/limit", "%s has a tag or a text of more than %d MiB", name, maxRun>>20)
	case p.alive() != nil:
		return nil, p.alive()
	case fault.Code(err) != "":
		return nil, fault.From(err).At(name)
	case err != nil:
		return nil, fault.New("document/foreign", "%s is damaged: %s", name, err)
	}
	return root, nil
}

// bounded ends a reader behind a bound, and in a tag or a text that is longer than any is:
// the decoder has all attributes of a tag before it gives one.
type bounded struct {
	r            io.Reader
	n, most, run int64
}

func (b *bounded) Read(data []byte) (int, error) {
	if b.n > b.most || b.run > maxRun {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.r.Read(data)
	b.n += int64(n)
	if end := bytes.LastIndexByte(data[:n], '>'); end >= 0 {
		b.run = int64(n - 1 - end)
	} else {
		b.run += int64(n)
	}
	return n, err
}

// node is an element by its local name; text has the name "".
type node struct {
	name  string
	text  string
	attrs []xml.Attr
	below []*node
}

// parse reads XML as a tree, in time that its length bounds. No declaration of an entity
// is heeded.
func parse(r io.Reader, alive func() error) (*node, error) {
	d := xml.NewDecoder(r)
	root := &node{}
	stack := []*node{root}
	texts := [][]byte{nil} // of the elements on the stack: it may come in many pieces
	nodes := 0
	for tokens := 0; ; tokens++ {
		if tokens%4096 == 0 {
			if err := alive(); err != nil {
				return nil, err
			}
		}
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		top := stack[len(stack)-1]
		switch t := t.(type) {
		case xml.StartElement:
			if nodes += 1 + len(t.Attr)/4; len(stack) > MaxDepth || nodes > maxNodes {
				return nil, fault.New("document/limit", "it has more than %d elements and attributes, or they are nested deeper than %d", maxNodes, MaxDepth)
			}
			n := &node{name: t.Name.Local, attrs: t.Copy().Attr}
			top.below = append(top.below, n)
			stack, texts = append(stack, n), append(texts, nil)
		case xml.EndElement:
			last := len(stack) - 1
			top.text = string(texts[last])
			stack, texts = stack[:last], texts[:last]
		case xml.CharData:
			if top.name == "t" || len(bytes.TrimSpace(t)) > 0 {
				texts[len(texts)-1] = append(texts[len(texts)-1], t...)
			}
		}
	}
}

func (n *node) attr(name string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// relation is the link that an element names: r:id, where it has an id of its own, too.
func (n *node) relation() string {
	for _, a := range n.attrs {
		if a.Name.Local == "id" && strings.HasSuffix(a.Name.Space, "/relationships") {
			return a.Value
		}
	}
	return ""
}

// all are the elements of a name below, in order; those in one of them are not among them.
func (n *node) all(name string) (list []*node) {
	if n == nil {
		return nil
	}
	for _, c := range n.below {
		if c.name == name {
			list = append(list, c)
		} else {
			list = append(list, c.all(name)...)
		}
	}
	return list
}

// first is the first element of a name below, or nil.
func (n *node) first(name string) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.below {
		if c.name == name {
			return c
		}
		if f := c.first(name); f != nil {
			return f
		}
	}
	return nil
}

// child is a direct child of a name, or nil.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.below {
		if c.name == name {
			return c
		}
	}
	return nil
}
