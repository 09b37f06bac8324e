package git

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// LandRequest asks for a candidate to be put on the target branch.
type LandRequest struct {
	Deployment, Bead, Execution string // ids
	Token                       uint64 // of the grant that the caller holds
	Target                      string // branch
	Candidate                   *loomv1.Candidate
	// Below are the commits of a train between the target and the candidate, the
	// lowest first: all land together, or none does.
	Below []*loomv1.Candidate
	// Head is the last commit of the train that the change was tested on, if any: of
	// what has landed already, the landing says whether it came with it.
	Head string
}

// landing is one request under way.
type landing struct {
	*Repository
	req    LandRequest
	ref    string // of the target
	fence  string // object that the fence stands at
	commit string
	heads  heads
	step   func(string)
}

// Land moves the target to a candidate that sits on its newest commit, under
// the fence at Token. Where the target is checked out and clean, the checkout
// goes with it. Where it is in use, the target stays as it is: the commit lands
// on branch loom/landed, or on loom/landed-EXECUTION when that branch has
// other work that the target does not have, and Landing.checkout says how to
// take it. The next candidate is made on loom/landed while that is ahead.
//
// With a remote the commit is pushed first, in one atomic push of target and
// fence, and the target here follows; then git/remote and git/push-refused say
// that it is not there, and asking again is safe.
//
// Asked again after a crash it finishes what was begun and returns the same
// landing; a commit never lands twice. It returns git/target-moved when the
// candidate does not sit on the newest commit, git/fenced when another holder
// has begun; then nothing has moved.
func (c *Committer) Land(ctx context.Context, req LandRequest) (*loomv1.Landing, error) {
	l, err := c.landing(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := l.finish(ctx); err != nil {
		return nil, err
	}
	if l.remote != nil {
		if l.commit, err = l.deliver(ctx); err != nil {
			return nil, l.overtaken(ctx, req.Deployment, req.Token, err)
		}
		l.step("delivered")
	}
	if done, err := l.landed(ctx); done != nil || err != nil {
		return done, err
	}
	if l.remote == nil {
		if err := l.verify(ctx); err != nil {
			return nil, err
		}
	}
	done, err := l.forward(ctx)
	if err != nil {
		return nil, err
	}
	l.tidy(ctx)
	return done, nil
}

func (c *Committer) landing(ctx context.Context, req LandRequest) (*landing, error) {
	if err := checkTokens("deployment", req.Deployment, "bead", req.Bead, "execution", req.Execution); err != nil {
		return nil, err
	}
	if !isObjectID(req.Candidate.GetCommit()) || !isObjectID(req.Candidate.GetBase()) {
		return nil, fault.New("usage/argument", "the candidate names no commit or base")
	}
	fence, err := c.repo.raise(ctx, req.Deployment, req.Token)
	if err != nil {
		return nil, err
	}
	c.step("fence raised")
	l := &landing{Repository: c.repo, req: req, fence: fence, commit: req.Candidate.GetCommit(), step: c.step}
	name, _, err := c.repo.Branch(ctx, req.Target)
	l.ref = "refs/heads/" + name
	return l, err
}

// landed returns the landing if the commit, or another copy of it, is on the
// target or on a branch of Loom's already.
func (l *landing) landed(ctx context.Context) (*loomv1.Landing, error) {
	var err error
	if l.heads, err = l.Repository.heads(ctx, l.ref); err != nil {
		return nil, err
	}
	for _, ref := range []string{l.ref, landedBranch, l.ownBranch()} {
		oid, err := l.copyOn(ctx, ref)
		if err != nil {
			return nil, err
		}
		if oid != "" {
			if err := l.settled.references(l.common, []string{ref}); err != nil {
				return nil, undurable(l.path, err) // who moved it may have died before that
			}
			l.tidy(ctx)
			done := l.describe(oid, ref, l.howToTake(ref, "the target was checked out and in use"))
			done.Head, err = l.arrivedWith(ctx, ref)
			return done, err
		}
	}
	return nil, nil
}

// arrivedWith returns the train's last commit if a branch has it.
func (l *landing) arrivedWith(ctx context.Context, ref string) (string, error) {
	if !isObjectID(l.req.Head) {
		return "", nil
	}
	at, err := l.resolve(ctx, ref)
	if err != nil {
		return "", err
	}
	head, err := resolve(ctx, l.git(), l.req.Head+"^{commit}")
	if err != nil {
		return "", err
	}
	if in, err := ancestor(ctx, l.git(), head, at); !in || err != nil {
		return "", err
	}
	return head, nil
}

func (l *landing) ownBranch() string { return landedBranch + "-" + l.req.Execution }

// copyOn returns the commit on a branch that carries this change, or "". Of a
// train it is the last commit alone: a copy of that change, which somebody took by
// hand, says nothing of the changes below it.
func (l *landing) copyOn(ctx context.Context, ref string) (string, error) {
	head, err := l.resolve(ctx, ref)
	if err != nil || head == "" {
		return "", err
	}
	known, err := resolve(ctx, l.git(), l.commit+"^{commit}")
	if err != nil {
		return "", err
	}
	if in, err := ancestor(ctx, l.git(), known, head); in || err != nil {
		return known, err
	}
	if len(l.req.Below) > 0 {
		return "", nil
	}
	return l.marked(ctx, mark{l.req.Execution, l.req.Candidate.GetPatchDigest()}, l.req.Candidate.GetBase(), head)
}

// verify checks that the candidate is what it is said to be and that it sits
// on the newest commit.
func (l *landing) verify(ctx context.Context) error {
	known, err := resolve(ctx, l.git(), l.commit+"^{commit}")
	if err != nil {
		return err
	}
	if known == "" {
		return fault.New("git/failed", "the repository does not have the candidate any more").Got(l.commit).
			Want("make the candidate again")
	}
	found, err := l.inspect(ctx, l.commit)
	if err != nil {
		return err
	}
	want := l.req.Candidate
	if found.mark() != (mark{l.req.Execution, want.GetPatchDigest()}) || found.bead != l.req.Bead || found.parent != want.GetBase() {
		return fault.New("git/damaged", "the commit is not the candidate of %q that it is said to be", l.req.Execution).Got(l.commit)
	}
	base, err := l.bottom(ctx)
	if err != nil {
		return err
	}
	if base != l.heads.tip {
		return fault.New("git/target-moved", "the target has moved from %.12s to %.12s since the candidate was made", base, l.heads.tip).
			Want("make the candidate again and verify it")
	}
	return nil
}

// forward moves the target, or loom/landed when its checkout cannot follow.
func (l *landing) forward(ctx context.Context) (*loomv1.Landing, error) {
	places, busy, err := l.checkouts(ctx, l.ref)
	if err != nil {
		return nil, err
	}
	if busy == "" && l.remote != nil {
		busy, err = l.apart(ctx)
	}
	if err != nil {
		return nil, err
	}
	if busy == "" {
		busy, err = l.withCheckouts(ctx, places)
	}
	if err != nil {
		return nil, err
	}
	if busy != "" {
		return l.aside(ctx, busy)
	}
	words := "the target is checked out nowhere"
	if len(places) > 0 {
		words = "the checkout of the target was clean and has been fast-forwarded"
	}
	return l.describe(l.commit, l.ref, words), nil
}

// apart says why the target here cannot follow the remote's.
func (l *landing) apart(ctx context.Context) (busy string, err error) {
	follows, err := ancestor(ctx, l.git(), l.heads.target, l.commit)
	if err == nil && !follows {
		busy = "it has commits that the remote does not have"
	}
	return busy, err
}

// aside lands on a branch of Loom's own.
func (l *landing) aside(ctx context.Context, busy string) (*loomv1.Landing, error) {
	ref, old, err := l.asideRef(ctx)
	if err != nil {
		return nil, err
	}
	l.step("before landing aside")
	err = l.transact(ctx, "loom: land "+l.req.Execution, stands(fenceRef(l.req.Deployment), l.fence),
		stands(l.ref, l.heads.target), set(ref, l.commit, old))
	if err != nil {
		return nil, l.refused(ctx, err)
	}
	l.step("landed aside")
	return l.describe(l.commit, ref, l.howToTake(ref, busy)), nil
}

// asideRef returns loom/landed if the commit follows on it and nobody has it
// checked out, else the execution's own branch.
func (l *landing) asideRef(ctx context.Context) (ref, old string, err error) {
	places, busy, err := l.checkouts(ctx, landedBranch)
	if err != nil {
		return "", "", err
	}
	follows, err := ancestor(ctx, l.git(), l.heads.landed, l.commit)
	if err != nil {
		return "", "", err
	}
	if len(places) == 0 && busy == "" && (l.heads.landed == "" || follows) {
		return landedBranch, l.heads.landed, nil
	}
	if len(l.req.Below) > 0 { // one branch of several executions would be nobody's
		return "", "", fault.New("git/target-moved", "loom/landed has work that the target does not have").Want("land each change by itself")
	}
	old, err = l.resolve(ctx, l.ownBranch())
	return l.ownBranch(), old, err
}

func (l *landing) howToTake(ref, busy string) string {
	if ref == l.ref {
		return "the commit is on the target"
	}
	branch := strings.TrimPrefix(ref, "refs/heads/")
	return fmt.Sprintf("%s was left alone because %s; take the commit with: git merge %s",
		strings.TrimPrefix(l.ref, "refs/heads/"), busy, branch)
}

// refused says why a transaction that moves a branch did not go through.
func (l *landing) refused(ctx context.Context, err error) error {
	if err = l.overtaken(ctx, l.req.Deployment, l.req.Token, err); fault.Code(err) == "git/fenced" {
		return err
	}
	if now, readErr := l.Repository.heads(ctx, l.ref); readErr == nil && now != l.heads {
		return fault.New("git/target-moved", "the target moved while the candidate was landing").Because(err)
	}
	return err
}

func (l *landing) describe(oid, ref, words string) *loomv1.Landing {
	name := ""
	if l.remote != nil {
		name = l.remote.name
		words = "the remote " + name + " has it; " + words
	}
	head := ""
	if len(l.req.Below) > 0 {
		head = l.commit
	}
	return &loomv1.Landing{Remote: name, Head: head, Commit: oid, Ref: ref, Target: strings.TrimPrefix(l.ref, "refs/heads/"), Token: l.req.Token, Checkout: words}
}

// tidy removes the refs of the candidates, which the landed branch has replaced.
// It is only tidiness: the next candidate of the bead would move its ref. Like the
// move before it, it is not interrupted: nobody would come back for it.
func (l *landing) tidy(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	l.dropCandidate(ctx, l.req.Bead, func(oid string) bool { return oid == l.commit })
	if len(l.req.Below) == 0 {
		return
	}
	for _, car := range append(slices.Clone(l.req.Below), l.req.Candidate) {
		m, err := l.inspect(ctx, car.GetCommit())
		if err != nil || m.mark() == (mark{}) {
			continue
		}
		l.dropCandidate(ctx, m.bead, func(oid string) bool {
			made, err := l.inspect(ctx, oid)
			return err == nil && made.mark() == m.mark()
		})
	}
	l.dropTrains(ctx, l.req.Deployment, l.fence)
}

// dropCandidate removes the candidate of a bead, if it is one that has landed.
func (l *landing) dropCandidate(ctx context.Context, bead string, landed func(oid string) bool) {
	if old, err := l.resolve(ctx, candidateRef(bead)); err == nil && old != "" && landed(old) {
		_ = l.transact(ctx, "loom: landed", drop(candidateRef(bead), old))
	}
}
