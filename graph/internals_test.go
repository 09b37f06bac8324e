package graph

import loomv1 "github.com/loomrun/loom/proto/loom/v1"

// WithVote, Count and Certain are what a vote makes of a ballot, the option that is
// chosen, and whether that can change.
func WithVote(b *loomv1.Ballot, v *loomv1.Vote) *loomv1.Ballot { return withVote(b, v) }

func Count(b *loomv1.Ballot) string { option, _ := count(b); return option }

func Certain(b *loomv1.Ballot) bool { return certain(b) }

// NewPaged is an empty graph with pages of so many nodes and edges.
func NewPaged(size int) *Graph {
	g := New()
	g.nodes.size, g.edges.size = size, size
	return g
}

// RestorePaged is RestorePages of a graph with pages of that size.
func RestorePaged(p Pages, size int) (*Graph, error) {
	g := NewPaged(size)
	if err := g.load(p); err != nil {
		return nil, err
	}
	return g, nil
}
