package git

import (
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TrainRequest asks for verified changes to be stacked, so that they can be tested
// together.
type TrainRequest struct {
	Deployment string
	Token      uint64 // the fence of the whole: the newest token of its cars, or above
	Target     string // branch
	Cars       []CarRequest
}

// CarRequest is one change of a train. Its token, deployment and target are the
// train's, but for the token of its commit.
type CarRequest struct {
	CandidateRequest
	Verified *loomv1.Candidate
}

// Stacked is what became of one car: its commit, or why it has none.
type Stacked struct {
	Candidate *loomv1.Candidate
	Hooks     []HookRun
	Err       error
}

// trainRefs is where a deployment keeps the commits of its trains.
func trainRefs(deployment string) string { return "refs/loom/train/" + deployment + "/" }

// Stack puts the patches of cars on the newest tip of the target, each on the one
// before it, runs the repository's hooks on each, and keeps the commits under
// refs/loom/train/DEPLOYMENT/TOKEN, all under the fence at Token. A verified
// candidate that sits on the tip already is taken as it is, as the first. A car
// that cannot be stacked is left out, with the reason that [Committer.Candidate]
// would give; git/no-change is one that has landed. Nothing but the fence and that
// ref has changed then. Called again, it makes everything anew.
func (c *Committer) Stack(ctx context.Context, req TrainRequest) ([]Stacked, error) {
	if err := checkTokens("deployment", req.Deployment); err != nil {
		return nil, err
	}
	fence, err := c.repo.raise(ctx, req.Deployment, req.Token)
	if err != nil {
		return nil, err
	}
	c.step("fence raised")
	tip, err := c.sync(ctx, req.Target)
	if err != nil {
		return nil, err
	}
	c.repo.dropTrains(ctx, req.Deployment, fence)
	c.step("old trains dropped")
	row := make([]Stacked, len(req.Cars))
	head := tip
	for i, car := range req.Cars {
		car.Deployment, car.Target, car.ref = req.Deployment, req.Target, fmt.Sprintf("%s%d", trainRefs(req.Deployment), req.Token)
		row[i] = c.couple(ctx, car, fence, tip, head)
		if err := c.repo.overtaken(ctx, req.Deployment, req.Token, row[i].Err); fatal(ctx, err) {
			return nil, err
		}
		if made := row[i].Candidate; made != nil {
			head = made.Commit
		}
		c.step("car stacked")
	}
	return row, nil
}

// fatal reports whether an error is one of the whole train and not of a car.
func fatal(ctx context.Context, err error) bool {
	switch fault.Code(err) {
	case "git/conflict", "git/patch-changed", "git/no-change", "git/hook-failed", "setup/failed", "git/hook-timeout", "git/hook-changed", "git/unsupported":
		return ctx.Err() != nil
	}
	return err != nil
}

// couple stacks one car on head.
func (c *Committer) couple(ctx context.Context, car CarRequest, fence, tip, head string) Stacked {
	if err := car.check(); err != nil {
		return Stacked{Err: err}
	}
	want := mark{car.Execution, car.Change.GetPatchDigest()}
	if oid, err := c.repo.marked(ctx, want, car.Change.GetBase(), tip); err != nil || oid != "" {
		if err == nil {
			err = fault.New("git/no-change", "the change has landed already, as %.12s", oid)
		}
		return Stacked{Err: err}
	}
	if ready, err := c.ready(ctx, car, want, head); ready != nil || err != nil {
		return Stacked{Candidate: ready, Err: err}
	}
	tree, err := c.apply(ctx, car.Change, head)
	if err != nil {
		return Stacked{Err: err}
	}
	made, runs, err := c.commit(ctx, car.CandidateRequest, fence, head, tree)
	return Stacked{made, runs, err}
}

// ready returns the verified candidate if it sits on head as it is, else nil.
func (c *Committer) ready(ctx context.Context, car CarRequest, want mark, head string) (*loomv1.Candidate, error) {
	v := car.Verified
	if v.GetBase() != head || !isObjectID(v.GetCommit()) {
		return nil, nil
	}
	if known, err := resolve(ctx, c.repo.git(), v.Commit+"^{commit}"); err != nil || known == "" {
		return nil, err
	}
	found, err := c.repo.inspect(ctx, v.Commit)
	if err != nil || found.mark() != want || found.parent != head {
		return nil, err
	}
	return v, c.fetch(ctx, v.Commit)
}

// dropTrains removes the refs of trains that are over: whoever holds the lock
// drives the only one, as the fence at its object says. It is tidiness; what is left
// is removed by the next.
func (r *Repository) dropTrains(ctx context.Context, deployment, fence string) {
	out, err := r.git().run(ctx, "for-each-ref", "--format=%(refname) %(objectname)", trainRefs(deployment))
	if err != nil {
		return
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if ref, oid, ok := strings.Cut(line, " "); ok {
			_ = r.transact(ctx, "loom: train is over", stands(fenceRef(deployment), fence), drop(ref, oid))
		}
	}
}

// ArrivedRequest asks whether a train has landed.
type ArrivedRequest struct {
	Deployment string
	Token      uint64 // of the grant that the caller holds
	Target     string // branch
	Head       string // the train's last commit, or one that lands by itself
	Execution  string // of that; empty for a train
}

// Arrived says whether a train, or a commit by itself, has landed whose driver may
// have died before it said so, or was heard no more: it finishes what was begun, under the fence at Token, and returns where the
// train's last commit is, or nil where it is not. Then an older driver can neither
// land it any more nor take it back. It moves nothing else, and may be repeated.
func (c *Committer) Arrived(ctx context.Context, req ArrivedRequest) (*loomv1.Landing, error) {
	if err := checkTokens("deployment", req.Deployment); err != nil {
		return nil, err
	}
	fence, err := c.repo.raise(ctx, req.Deployment, req.Token)
	if err != nil {
		return nil, err
	}
	c.step("fence raised")
	name, _, err := c.repo.Branch(ctx, req.Target)
	if err != nil {
		return nil, err
	}
	l := &landing{
		Repository: c.repo, req: LandRequest{Deployment: req.Deployment, Token: req.Token, Target: name, Head: req.Head, Execution: req.Execution},
		ref: "refs/heads/" + name, fence: fence, step: c.step,
	}
	if err := l.finish(ctx); err != nil {
		return nil, err
	}
	return l.whereTrainIs(ctx)
}

// whereTrainIs looks for the train's last commit where a train can land.
func (l *landing) whereTrainIs(ctx context.Context) (*loomv1.Landing, error) {
	places := []string{l.ref, landedBranch}
	if l.req.Execution != "" {
		places = append(places, l.ownBranch())
	}
	if l.remote != nil {
		if _, err := l.newest(ctx, l.req.Target); err != nil {
			return nil, err
		}
		places = []string{remoteRef(l.ref)}
	}
	for _, ref := range places {
		head, err := l.arrivedWith(ctx, ref)
		if err != nil {
			return nil, err
		}
		if head == "" {
			continue
		}
		if err := l.settled.references(l.common, []string{ref}); err != nil {
			return nil, undurable(l.path, err)
		}
		l.dropLanded(ctx, head)
		if ref == remoteRef(l.ref) {
			ref = l.ref
		}
		done := l.describe(head, ref, l.howToTake(ref, "the target was checked out and in use"))
		done.Head = head
		return done, nil
	}
	return nil, nil
}

// dropLanded removes the candidates that a landed commit has in its history, which
// is tidiness.
func (l *landing) dropLanded(ctx context.Context, head string) {
	out, err := l.git().run(ctx, "for-each-ref", "--format=%(refname) %(objectname)", candidateRef(""))
	if err != nil {
		return
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		ref, oid, _ := strings.Cut(line, " ")
		m, err := l.inspect(ctx, oid)
		if err != nil || m.mark() == (mark{}) {
			continue
		}
		if copied, err := l.marked(ctx, m.mark(), m.parent, head); err == nil && copied != "" {
			_ = l.transact(ctx, "loom: landed", drop(ref, oid))
		}
	}
}

// bottom returns the commit that the candidate, or the train below it, sits on. It
// checks that the train is what it is said to be, commit by commit.
func (l *landing) bottom(ctx context.Context) (string, error) {
	base := l.req.Candidate.GetBase()
	for i := len(l.req.Below) - 1; i >= 0; i-- {
		car := l.req.Below[i]
		if car.GetCommit() != base {
			return "", fault.New("git/damaged", "commit %.12s of the train does not sit on %.12s", base, car.GetCommit())
		}
		found, err := l.inspect(ctx, base)
		if err != nil {
			return "", err
		}
		if found.mark() != (mark{found.execution, car.PatchDigest}) || found.parent != car.Base {
			return "", fault.New("git/damaged", "commit %.12s of the train is not what it is said to be", base)
		}
		base = car.Base
	}
	return base, nil
}
