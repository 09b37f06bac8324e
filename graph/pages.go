package graph

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// PageSize is how many nodes, or edges, there are in a page.
const PageSize = 128

// pagesOpen is how many pages of each kind stay unpacked when they were read.
const pagesOpen = 64

// Page is [PageSize] nodes or edges in the order of their numbers: each encoded
// behind its length, and all compressed with S2. It is never changed.
type Page []byte

// Pages are a whole graph: the pages of its first nodes and edges, and in Rest what
// follows them, with ballots and imports. They are shared with the graph, and must
// not be changed.
type Pages struct {
	Nodes, Edges []Page
	Rest         *loomv1.DecisionGraph
}

// Pages returns the graph as it is kept. It costs a copy of what is in no page.
func (g *Graph) Pages() Pages {
	return Pages{
		Nodes: slices.Clone(g.nodes.sealed), Edges: slices.Clone(g.edges.sealed),
		Rest: &loomv1.DecisionGraph{
			Nodes: slices.Clone(g.nodes.loose), Edges: slices.Clone(g.edges.loose),
			Ballots: g.Ballots(false), Imported: slices.Clone(g.foreign),
		},
	}
}

// list has messages by number, those of the newest two pages as they are and those
// before as pages. A graph is nearly all history, and hardly any of it is looked at
// again: as a message a node takes some ten times what it takes in a page, and each
// garbage collection follows its pointers.
type list[T proto.Message] struct {
	size   int // of a page
	make   func() T
	sealed []Page
	loose  []T
	opened []*openPage[T] // pages that were read, the newest last
}

// openPage is a page that is unpacked; its messages are decoded when somebody asks.
type openPage[T proto.Message] struct {
	number  int
	plain   []byte
	spans   []span // of each message in plain
	decoded map[int]T
}

// span is a part of a page.
type span struct{ from, to uint32 }

func newList[T proto.Message](size int, make func() T) list[T] {
	return list[T]{size: size, make: make}
}

func (l *list[T]) len() int { return len(l.sealed)*l.size + len(l.loose) }

func (l *list[T]) at(i int) T {
	if first := len(l.sealed) * l.size; i >= first {
		return l.loose[i-first]
	}
	page, err := l.open(i / l.size)
	if err == nil {
		var m T
		if m, err = page.at(i%l.size, l.make); err == nil {
			return m
		}
	}
	panic(fmt.Sprintf("page %d of the decision graph, which it made itself: %v", i/l.size, err))
}

// add puts a message at the end, and what is old by that into a page.
func (l *list[T]) add(m T) {
	l.loose = append(l.loose, m)
	if len(l.loose) >= 2*l.size {
		l.sealed = append(l.sealed, sealed(l.loose[:l.size]))
		l.loose = slices.Clone(l.loose[l.size:])
	}
}

// set replaces a message.
func (l *list[T]) set(i int, m T) {
	if first := len(l.sealed) * l.size; i >= first {
		l.loose[i-first] = m
		return
	}
	number := i / l.size
	all := make([]T, l.size)
	for k := range all {
		all[k] = l.at(number*l.size + k)
	}
	all[i%l.size] = m
	l.sealed[number] = sealed(all)
	l.forget(number)
}

// cut leaves the first n messages.
func (l *list[T]) cut(n int) {
	for len(l.sealed)*l.size > n {
		number := len(l.sealed) - 1
		all := make([]T, l.size)
		for k := range all {
			all[k] = l.at(number*l.size + k)
		}
		l.forget(number)
		l.sealed, l.loose = l.sealed[:number], append(all, l.loose...)
	}
	l.loose = l.loose[:n-len(l.sealed)*l.size]
}

// all yields every message by its number.
func (l *list[T]) all(yield func(int, T) bool) {
	for i := range l.len() {
		if !yield(i, l.at(i)) {
			return
		}
	}
}

// whole returns every message.
func (l *list[T]) whole() []T {
	all := make([]T, 0, l.len())
	for _, m := range l.all {
		all = append(all, m)
	}
	return all
}

// take adds a page, whose messages are told to each; there is nothing loose yet.
func (l *list[T]) take(p Page, each func(T) *fault.Error) *fault.Error {
	page, err := unpacked[T](p, l.size)
	if err != nil {
		return wrong("page %d", len(l.sealed)).Because(err)
	}
	for i := range l.size {
		m, err := page.at(i, l.make)
		if err != nil {
			return wrong("page %d", len(l.sealed)).Because(err)
		}
		if err := each(m); err != nil {
			return err
		}
	}
	l.sealed = append(l.sealed, p)
	return nil
}

func (l *list[T]) open(number int) (*openPage[T], error) {
	for i, p := range l.opened {
		if p.number == number {
			copy(l.opened[i:], l.opened[i+1:])
			l.opened[len(l.opened)-1] = p
			return p, nil
		}
	}
	p, err := unpacked[T](l.sealed[number], l.size)
	if err != nil {
		return nil, err
	}
	p.number = number
	if len(l.opened) == pagesOpen {
		l.opened = slices.Delete(l.opened, 0, 1)
	}
	l.opened = append(l.opened, p)
	return p, nil
}

func (l *list[T]) forget(number int) {
	l.opened = slices.DeleteFunc(l.opened, func(p *openPage[T]) bool { return p.number == number })
}

// sealed returns the page of some messages.
func sealed[T proto.Message](messages []T) Page {
	var plain []byte
	for _, m := range messages {
		plain = binary.AppendUvarint(plain, uint64(proto.Size(m)))
		var err error
		if plain, err = (proto.MarshalOptions{Deterministic: true, UseCachedSize: true}).MarshalAppend(plain, m); err != nil {
			panic(err) // a graph holds valid UTF-8 only; Apply refuses others
		}
	}
	return s2.EncodeBetter(nil, plain)
}

func unpacked[T proto.Message](p Page, size int) (*openPage[T], error) {
	plain, err := s2.Decode(nil, p)
	if err != nil {
		return nil, err
	}
	page := &openPage[T]{plain: plain, spans: make([]span, 0, size), decoded: map[int]T{}}
	for at := 0; at < len(plain); {
		n, k := binary.Uvarint(plain[at:])
		if at += k; k <= 0 || n > uint64(len(plain)-at) || len(page.spans) == size {
			return nil, fmt.Errorf("message %d of a page has no end", len(page.spans))
		}
		page.spans = append(page.spans, span{uint32(at), uint32(at) + uint32(n)})
		at += int(n)
	}
	if len(page.spans) != size {
		return nil, fmt.Errorf("%d messages in a page of %d", len(page.spans), size)
	}
	return page, nil
}

func (p *openPage[T]) at(i int, empty func() T) (T, error) {
	if m, known := p.decoded[i]; known {
		return m, nil
	}
	m := empty()
	if err := proto.Unmarshal(p.plain[p.spans[i].from:p.spans[i].to], m); err != nil {
		return m, fmt.Errorf("message %d of a page: %w", i, err)
	}
	p.decoded[i] = m
	return m, nil
}
