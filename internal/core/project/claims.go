package project

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A change that is proposed claims its files until it lands, another takes its
// place, or its work ends. Claims are read off the executions and kept nowhere.
// They tell who is at what, the CEO with a question and an agent with its work;
// they keep nobody from working: whichever change lands first, git has the others
// made anew on the newest target. Only on a merge train they have who came later
// wait.

// OfFiles is the filter by which a view of the lock shows claims on files.
const OfFiles = "files"

// maxClaims bounds how many claims are listed.
const maxClaims = 10_000

// claims returns the files that changes under way touch, by path and, for each,
// in the order in which the changes were proposed.
func (s *State) claims() []*loomv1.FileClaim {
	var list []*loomv1.FileClaim
	for _, x := range s.running() {
		if x.Change != nil && x.Landing == nil {
			list = append(list, claimsOf(x)...)
		}
	}
	slices.SortStableFunc(list, func(a, b *loomv1.FileClaim) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), a.Since.AsTime().Compare(b.Since.AsTime()), cmp.Compare(a.Execution, b.Execution))
	})
	for i := range list {
		list[i].Waits = i > 0 && list[i-1].Path == list[i].Path
	}
	return list[:min(len(list), maxClaims)]
}

// claimsOf returns the listed files of a change that stands.
func claimsOf(x *loomv1.Execution) []*loomv1.FileClaim {
	by := proposer(x)
	list := make([]*loomv1.FileClaim, len(x.Change.Files))
	for i, f := range x.Change.Files {
		list[i] = &loomv1.FileClaim{
			Path: f.Path, Bead: x.Bead, Execution: x.Id, Holder: proto.CloneOf(by.GetClaimant()), Since: by.GetEndedAt(),
		}
	}
	return list
}

// proposer returns the first attempt that proposed the change that stands, nil
// for none: a fork begins with its origin's.
func proposer(x *loomv1.Execution) *loomv1.Attempt {
	var first *loomv1.Attempt
	for _, n := range x.Nodes {
		for _, a := range n.History {
			proposed := a.Outcome.GetChange().GetCommit() == x.Change.Commit
			if proposed && (first == nil || cmp.Or(a.EndedAt.AsTime().Compare(first.EndedAt.AsTime()), cmp.Compare(a.Id, first.Id)) < 0) {
				first = a
			}
		}
	}
	return first
}

// overlaps returns the claims of others, made before, on the files of the change
// that an open approval shows.
func (s *State) overlaps(a *loomv1.Approval) []*loomv1.FileClaim {
	if a.Change == nil || a.DecidedAt != nil {
		return nil
	}
	return s.before(a.Execution)
}

// maxBriefed bounds how many claims of others an agent is told of.
const maxBriefed = 50

// inTheWay returns the claims that an agent is told of who works again on a
// change: those of others, made before, on the same files.
func (s *State) inTheWay(x *loomv1.Execution, n *loomv1.NodeDefinition) []*loomv1.FileClaim {
	if x.Change == nil || x.Landing != nil || n.GetKind() != loomv1.NodeKind_NODE_KIND_UNSPECIFIED {
		return nil
	}
	list := s.before(x.Id)
	return list[:min(len(list), maxBriefed)]
}

// before returns the claims on files of an execution's change that others made
// before it.
func (s *State) before(execution string) []*loomv1.FileClaim {
	var before, list []*loomv1.FileClaim
	for _, c := range s.claims() {
		if len(before) > 0 && before[0].Path != c.Path {
			before = before[:0]
		}
		if c.Execution == execution {
			list = append(list, before...)
		}
		before = append(before, c)
	}
	return list
}
