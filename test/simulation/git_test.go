package simulation

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// repo is git as the committer sees it: a fence, a target, candidates.
type repo struct {
	w          *world
	fence      uint64
	head       string
	moves      int
	stacked    int
	candidates map[string]*made // by execution, patch and base
	landed     []*made
}

// made is a commit that carries trailers.
type made struct {
	execution string
	candidate *loomv1.Candidate
	verified  string // the candidate that it stands for, if it was made for a train
}

// raise is the first act under a token: nobody older comes after it.
func (g *repo) raise(token uint64) error {
	if token < g.fence {
		g.w.see("late token refused by git")
		return fault.New("git/fenced", "token %d is older than %d", token, g.fence)
	}
	g.fence = token
	g.w.oracle.fenceRaised(token)
	return nil
}

// moved is the last act, in one transaction with the fence.
func (g *repo) moved(attempt, who string, token uint64) error {
	if token != g.fence {
		g.w.see("late token refused by git")
		return fault.New("git/fenced", "token %d is not the fence's %d", token, g.fence)
	}
	g.w.oracle.refMoved(attempt, who, token)
	return nil
}

// candidate makes the commit of a change, or finds the one that was made.
func (g *repo) candidate(attempt, who, execution, patch string, token uint64) (*loomv1.Candidate, error) {
	key := execution + "/" + patch + "/" + g.head
	if m := g.candidates[key]; m != nil {
		c := proto.CloneOf(m.candidate)
		c.Token, m.candidate = token, c
		return c, g.moved(attempt, who, token)
	}
	if err := g.moved(attempt, who, token); err != nil {
		return nil, err
	}
	c := &loomv1.Candidate{Commit: fmt.Sprintf("c%d-%s", len(g.candidates), execution), Tree: "t", Base: g.head, PatchDigest: patch, Token: token}
	g.candidates[key] = &made{execution: execution, candidate: c}
	return c, nil
}

// land moves the target to a candidate, or finds that it has landed.
func (g *repo) land(attempt, who string, x *loomv1.Execution, token uint64) (*loomv1.Landing, error) {
	c := x.Candidate
	l := &loomv1.Landing{Commit: c.Commit, Ref: "refs/heads/main", Target: "main", Token: token}
	if m := g.copyOf(c.Commit); m != nil {
		g.w.see("landing found again")
		if l.Commit = m.candidate.Commit; g.has(x.Car.GetHead()) {
			l.Head = x.Car.Head
		}
		return l, nil
	}
	if g.head != c.Base {
		return nil, fault.New("git/target-moved", "the target is at %s, not at %s", g.head, c.Base)
	}
	if err := g.moved(attempt, who, token); err != nil {
		return nil, err
	}
	if g.w.oracle.gone[c.Commit] {
		g.w.broken(17, "%s lands after it was said that it has not", c.Commit)
	}
	g.head = c.Commit
	g.landed = append(g.landed, &made{execution: x.Id, candidate: c})
	return l, nil
}

// arrived enters the candidate of an execution that landed without a fence, once.
func (g *repo) arrived(x *loomv1.Execution) {
	if !g.has(x.Candidate.Commit) {
		g.landed = append(g.landed, &made{execution: x.Id, candidate: x.Candidate})
	}
}

// find says where a commit is, with its train or by itself, nil for one that has
// not landed.
func (g *repo) find(o *loomv1.OpenLanding, token uint64) *loomv1.Landing {
	l := &loomv1.Landing{Commit: o.Commit, Ref: "refs/heads/main", Target: "main", Token: token}
	switch {
	case o.Head != "" && g.has(o.Head):
		l.Commit, l.Head = o.Car, o.Head
		return l
	case g.has(o.Commit):
		return l
	}
	return nil
}

// someoneElse is a person who pushes to the target.
func (g *repo) someoneElse() {
	if g.w.chance(targetMoves) {
		g.moves++
		g.head = fmt.Sprintf("u%d", g.moves)
		g.w.see("target moved")
	}
}
