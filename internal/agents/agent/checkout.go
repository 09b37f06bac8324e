package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// cone is what the places of the execution's work have of the repository.
func (j *job) cone() git.Cone { return git.NewCone(j.brief.Checkout.GetSparse()) }

// checkout makes a clean checkout of a commit, with what the process names and what
// the change touches.
func (j *job) checkout(ctx context.Context, commit string) (dir string, done func(), err error) {
	return j.checkoutOf(ctx, j.cone(), j.baseOf(commit), commit)
}

// checkoutOf makes a clean checkout of a commit, of what differs from one that was
// given back untouched; done gives it back. What differs from base is in it, whatever
// the cone.
func (j *job) checkoutOf(ctx context.Context, cone git.Cone, base, commit string) (dir string, done func(), err error) {
	workspaces, err := j.repo.Workspaces.Sparse(cone).Showing(ctx, base, commit)
	if err != nil {
		return "", nil, err
	}
	top, err := os.MkdirTemp(j.Scratch, j.brief.Attempt.Id+"-")
	if err != nil {
		return "", nil, fmt.Errorf("directory for checkouts: %w", err)
	}
	var clean *git.Clean
	done = sync.OnceFunc(func() {
		var kept error
		if clean != nil {
			kept = j.pool.Return(context.WithoutCancel(ctx), clean)
		}
		if err := errors.Join(kept, discard.All(top)); err != nil {
			j.Logger.Warn("checkout not removed", "attempt", j.brief.Attempt.Id, "error", err)
		}
	})
	dir = filepath.Join(top, j.brief.Project.Id)
	if !j.contained() {
		err = workspaces.Checkout(ctx, commit, dir)
	} else {
		clean, err = j.kept().Checkout(ctx, workspaces, commit, dir)
	}
	if err == nil {
		err = git.CopyIndex(dir, lookIndex(dir))
	}
	if err != nil {
		done()
		return "", nil, err
	}
	j.looks.Store(dir, look{commit, base, workspaces.Cone()})
	return dir, done, nil
}

// look is what a checkout shows, the commit that it is compared with, and what it has
// of the repository.
type look struct {
	head, base string
	cone       git.Cone
}

// lookIndex is where the index of a checkout is kept beside it, out of reach of
// those who look at it.
func lookIndex(dir string) string { return filepath.Join(filepath.Dir(dir), "index") }

// baseOf is the commit that a change was made on, where a commit is that of the
// candidate or of what was proposed; else the commit itself.
func (j *job) baseOf(commit string) string {
	x := j.brief.Execution
	made := []*loomv1.Change{x.GetChange()}
	for _, n := range x.GetNodes() {
		made = append(made, n.GetOutcome().GetChange())
	}
	if c := x.GetCandidate(); c.GetCommit() == commit && !c.GetPresent() {
		return c.GetBase()
	}
	for _, c := range made {
		if c.GetCommit() == commit && c.GetBase() != "" {
			return c.GetBase()
		}
	}
	return commit
}

// kept is the pool of this host's checkouts.
func (w *Worker) kept() *git.Pool {
	w.pooled.Do(func() { w.pool.Dir = filepath.Join(w.Scratch, "pool") })
	return &w.pool
}

// contained says that what is started in a checkout ends with its command. What lives
// on could write later, so that a checkout of a host without a sandbox serves once.
func (j *job) contained() bool { return j.place.policy.Contain != nil }

// worktrees makes and removes worktrees: in a sandbox, of files that the pool lends.
func (j *job) worktrees() *git.Workspaces {
	workspaces := j.repo.Workspaces.Sparse(j.cone())
	if !j.contained() {
		return workspaces
	}
	return workspaces.Pooled(j.kept())
}
