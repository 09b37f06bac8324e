package project

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Capture is a snapshot that is taken and not written yet. Taking one costs what goes
// on in the project; writing it may be done beside the state, which goes on meanwhile.
// It is not safe for concurrent use.
type Capture struct {
	id       string
	open     []byte               // an encoded ProjectState: what the state itself changes in place
	shared   *loomv1.ProjectState // messages that are replaced and never changed
	ended    map[string][]byte    // records in no segment, by bead
	segments []string
	nodes    []string // segments of the graph
	edges    []string
}

// Capture takes a snapshot.
func (s *State) Capture() *Capture {
	c := &Capture{id: s.cfg.ID, ended: maps.Clone(s.shelf.own), segments: slices.Clone(s.shelf.segments), shared: &loomv1.ProjectState{
		Graph: s.graph.Snapshot(), Memory: s.mem.Snapshot(), Requests: maps.Clone(s.p.Requests), Nonces: maps.Clone(s.p.Nonces),
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
	p.Graph, p.Memory, p.Requests, p.Nonces = c.shared.Graph, c.shared.Memory, c.shared.Requests, c.shared.Nonces
	p.Segments, p.GraphNodes, p.GraphEdges = c.segments, c.nodes, c.edges
	return p, nil
}

// chunk is how many nodes of the graph, or edges, are in a segment.
const chunk = 1024

// Chunks are the segments that a project's decision graph was divided into last. The
// graph grows at its end, and its nodes are replaced and never changed: so a segment
// stays what it is unless one of its nodes was superseded or given up. The zero value
// has none.
type Chunks struct {
	nodes []chunkOf[*loomv1.DecisionNode]
	edges []chunkOf[*loomv1.DecisionEdge]
}

type chunkOf[T comparable] struct {
	parts []T
	name  string
}

// DivideGraph moves all of the graph but its end into segments, and returns those that
// were not in the last ones. They must be stored before the state is.
func (c *Capture) DivideGraph(last *Chunks) (made []Segment, now *Chunks) {
	g := c.shared.Graph
	now = &Chunks{}
	now.nodes, g.Nodes = divided(last.nodes, g.Nodes, func(parts []*loomv1.DecisionNode) string {
		made = append(made, graphSegment(c.id, &loomv1.DecisionGraph{Nodes: parts}))
		return made[len(made)-1].Name
	})
	now.edges, g.Edges = divided(last.edges, g.Edges, func(parts []*loomv1.DecisionEdge) string {
		made = append(made, graphSegment(c.id, &loomv1.DecisionGraph{Edges: parts}))
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

// divided returns the chunks of a list, and what is left at its end. It takes over those
// that have not changed.
func divided[T comparable](last []chunkOf[T], parts []T, segment func([]T) string) (chunks []chunkOf[T], rest []T) {
	for len(parts) >= chunk {
		next := chunkOf[T]{parts: parts[:chunk:chunk]}
		if i := len(chunks); i < len(last) && slices.Equal(last[i].parts, next.parts) {
			next.name = last[i].name
		} else {
			next.name = segment(next.parts)
		}
		chunks, parts = append(chunks, next), parts[chunk:]
	}
	return chunks, parts
}

func graphSegment(project string, part *loomv1.DecisionGraph) Segment {
	records, err := proto.MarshalOptions{Deterministic: true}.Marshal(part)
	if err != nil {
		panic(err) // a graph holds valid UTF-8 only; Apply refuses others
	}
	return newSegment(project, &loomv1.SegmentIndex{}, records)
}

// WholeGraph returns the decision graph of a snapshot, with what is in segments of it.
func WholeGraph(p *loomv1.ProjectState, segments Segments) (*loomv1.DecisionGraph, error) {
	if len(p.GetGraphNodes())+len(p.GetGraphEdges()) == 0 {
		return p.GetGraph(), nil
	}
	whole := &loomv1.DecisionGraph{Ballots: p.GetGraph().GetBallots(), Imported: p.GetGraph().GetImported()}
	for _, name := range slices.Concat(p.GraphNodes, p.GraphEdges) {
		if segments == nil {
			return nil, fmt.Errorf("segment %q: there are no segments here", name)
		}
		records, err := segments.Records(name)
		if err != nil {
			return nil, fmt.Errorf("segment %q: %w", name, err)
		}
		part := &loomv1.DecisionGraph{}
		if err := proto.Unmarshal(records, part); err != nil {
			return nil, fmt.Errorf("segment %q: %w", name, err)
		}
		whole.Nodes, whole.Edges = append(whole.Nodes, part.Nodes...), append(whole.Edges, part.Edges...)
	}
	whole.Nodes, whole.Edges = append(whole.Nodes, p.GetGraph().GetNodes()...), append(whole.Edges, p.GetGraph().GetEdges()...)
	return whole, nil
}
