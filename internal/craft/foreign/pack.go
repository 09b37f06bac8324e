package foreign

import (
	"archive/zip"
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
	in := &counted{r: r, most: min(maxPart, MaxUnpacked-p.unpacked)}
	root, err := parse(in)
	p.unpacked += in.n
	switch {
	case in.n > in.most:
		return nil, fault.New("document/limit", "%s unpacks to more than is read", name)
	case fault.Code(err) != "":
		return nil, fault.From(err).At(name)
	case err != nil:
		return nil, fault.New("document/foreign", "%s is damaged: %s", name, err)
	}
	return root, nil
}

// counted ends a reader behind a bound.
type counted struct {
	r       io.Reader
	n, most int64
}

func (c *counted) Read(data []byte) (int, error) {
	if c.n > c.most {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.r.Read(data)
	c.n += int64(n)
	return n, err
}

// node is an element by its local name; text has the name "".
type node struct {
	name  string
	text  string
	attrs []xml.Attr
	below []*node
}

// parse reads XML as a tree. No declaration of an entity is heeded.
func parse(r io.Reader) (*node, error) {
	d := xml.NewDecoder(r)
	root := &node{}
	stack := []*node{root}
	nodes := 0
	for {
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
			if nodes++; len(stack) > MaxDepth || nodes > maxNodes {
				return nil, fault.New("document/limit", "it has more than %d elements, or they are nested deeper than %d", maxNodes, MaxDepth)
			}
			n := &node{name: t.Name.Local, attrs: t.Copy().Attr}
			top.below = append(top.below, n)
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(strings.TrimSpace(string(t))) > 0 || top.name == "t" {
				top.text += string(t)
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
