package project

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Capture is a snapshot that is taken and not written yet. Taking one costs what goes
// on in the project; writing it may be done beside the state, which goes on meanwhile.
// It is not safe for concurrent use.
type Capture struct {
	id       string
	open     []byte               // an encoded ProjectState: what the state itself changes in place
	shared   *loomv1.ProjectState // messages that are replaced and never changed
	graph    graph.Pages          // what of it is in no segment
	ended    map[string][]byte    // records in no segment, by bead
	segments []string
	nodes    []string // segments of the graph
	edges    []string
}

// Capture takes a snapshot.
func (s *State) Capture() *Capture {
	c := &Capture{id: s.cfg.ID, ended: maps.Clone(s.shelf.own), segments: slices.Clone(s.shelf.segments), graph: s.graph.Pages(), shared: &loomv1.ProjectState{
		Memory: s.mem.Snapshot(), Requests: maps.Clone(s.p.Requests), Nonces: maps.Clone(s.p.Nonces),
	}}
	requests, nonces := s.p.Requests, s.p.Nonces
	s.p.Requests, s.p.Nonces, s.p.Locks = nil, nil, s.locks.Snapshot()
	defer func() { s.p.Requests, s.p.Nonces, s.p.Locks = requests, nonces, nil }()
	var err error
	if c.open, err = proto.Marshal(s.p); err != nil {
		panic(err) // state messages hold valid UTF-8 only; Apply refuses others
	}
	return c
}

// Divide moves ended work into segments and returns these, which must be stored before
// the state is. There are none while there are fewer records than least.
func (c *Capture) Divide(least int) []Segment {
	if len(c.ended) < least {
		return nil
	}
	var made []Segment
	for ids := slices.SortedFunc(maps.Keys(c.ended), byNumber); len(ids) > 0; {
		n, size := 0, 0
		for n < len(ids) && (n == 0 || size < segmentAim) {
			size += len(c.ended[ids[n]])
			n++
		}
		segment := segmentOf(c.id, ids[:n], c.ended)
		made, c.segments, ids = append(made, segment), append(c.segments, segment.Name), ids[n:]
	}
	c.ended = nil
	return made
}

// State returns the snapshot, which names the segments and leaves out what is in them.
// Parts of it are those of the live state, and must not be changed.
func (c *Capture) State() (*loomv1.ProjectState, error) {
	p := &loomv1.ProjectState{}
	if err := proto.Unmarshal(c.open, p); err != nil {
		return nil, err
	}
	fillMaps(p)
	for id, data := range c.ended {
		w := &loomv1.EndedWork{}
		if err := proto.Unmarshal(data, w); err != nil {
			return nil, fmt.Errorf("record of bead %q: %w", id, err)
		}
		p.Beads[id] = w.Bead
		for _, x := range w.Executions {
			p.Executions[x.Id] = x
		}
		if w.Approval != nil {
			p.Approvals[id] = w.Approval
		}
	}
	p.Memory, p.Requests, p.Nonces = c.shared.Memory, c.shared.Requests, c.shared.Nonces
	keepGraph(p, c.graph)
	p.Segments, p.GraphNodes, p.GraphEdges = c.segments, c.nodes, c.edges
	return p, nil
}

// chunk is how many pages of the graph are in a segment.
const chunk = 8

// Chunks are the segments that a project's decision graph was divided into last. Pages
// of a graph are replaced and never changed: so a segment stays what it is unless one
// of its nodes was superseded or given up. The zero value has none.
type Chunks struct{ nodes, edges []chunkOf }

type chunkOf struct {
	pages []graph.Page
	name  string
}

// DivideGraph moves the pages of the graph into segments, as far as they fill them, and
// returns those that were not in the last ones. They must be stored before the state is.
func (c *Capture) DivideGraph(last *Chunks) (made []Segment, now *Chunks) {
	now = &Chunks{}
	now.nodes, c.graph.Nodes = divided(last.nodes, c.graph.Nodes, func(pages []graph.Page) string {
		made = append(made, graphSegment(c.id, &loomv1.GraphPages{Nodes: encoded(pages)}))
		return made[len(made)-1].Name
	})
	now.edges, c.graph.Edges = divided(last.edges, c.graph.Edges, func(pages []graph.Page) string {
		made = append(made, graphSegment(c.id, &loomv1.GraphPages{Edges: encoded(pages)}))
		return made[len(made)-1].Name
	})
	for _, n := range now.nodes {
		c.nodes = append(c.nodes, n.name)
	}
	for _, e := range now.edges {
		c.edges = append(c.edges, e.name)
	}
	return made, now
}

// divided returns the chunks of some pages, and what is left at their end. It takes over
// those that have not changed.
func divided(last []chunkOf, pages []graph.Page, segment func([]graph.Page) string) (chunks []chunkOf, rest []graph.Page) {
	for len(pages) >= chunk {
		next := chunkOf{pages: pages[:chunk:chunk]}
		if i := len(chunks); i < len(last) && slices.EqualFunc(last[i].pages, next.pages, samePage) {
			next.name = last[i].name
		} else {
			next.name = segment(next.pages)
		}
		chunks, pages = append(chunks, next), pages[chunk:]
	}
	return chunks, pages
}

// samePage says whether two pages are one in memory.
func samePage(a, b graph.Page) bool { return len(a) == len(b) && &a[0] == &b[0] }

func graphSegment(project string, part *loomv1.GraphPages) Segment {
	records, err := proto.MarshalOptions{Deterministic: true}.Marshal(part)
	if err != nil {
		panic(err) // bytes have no rules
	}
	return newSegment(project, &loomv1.SegmentIndex{}, records)
}

// keepGraph puts a decision graph into a snapshot, as it is kept.
func keepGraph(p *loomv1.ProjectState, kept graph.Pages) {
	p.Graph = kept.Rest
	p.GraphPages = &loomv1.GraphPages{Nodes: encoded(kept.Nodes), Edges: encoded(kept.Edges)}
}

// KeptGraph returns the decision graph of a snapshot, with what is in segments of it.
func KeptGraph(p *loomv1.ProjectState, segments Segments) (*graph.Graph, error) {
	whole := &loomv1.GraphPages{}
	for _, name := range slices.Concat(p.GetGraphNodes(), p.GetGraphEdges()) {
		if segments == nil {
			return nil, fmt.Errorf("segment %q: there are no segments here", name)
		}
		records, err := segments.Records(name)
		if err != nil {
			return nil, fmt.Errorf("segment %q: %w", name, err)
		}
		if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(records, whole); err != nil {
			return nil, fmt.Errorf("segment %q: %w", name, err)
		}
	}
	proto.Merge(whole, p.GetGraphPages())
	return graph.RestorePages(graph.Pages{Nodes: pages(whole.Nodes), Edges: pages(whole.Edges), Rest: p.GetGraph()})
}

func encoded(pages []graph.Page) [][]byte {
	all := make([][]byte, len(pages))
	for i, p := range pages {
		all[i] = p
	}
	return all
}

func pages(encoded [][]byte) []graph.Page {
	all := make([]graph.Page, len(encoded))
	for i, p := range encoded {
		all[i] = p
	}
	return all
}
