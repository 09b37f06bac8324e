package graph

import loomv1 "github.com/loomrun/loom/proto/loom/v1"

// WithVote, Count and Certain are what a vote makes of a ballot, the option that is
// chosen, and whether that can change.
func WithVote(b *loomv1.Ballot, v *loomv1.Vote) *loomv1.Ballot { return withVote(b, v) }

func Count(b *loomv1.Ballot) string { option, _ := count(b); return option }

func Certain(b *loomv1.Ballot) bool { return certain(b) }
