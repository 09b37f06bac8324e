package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/loomrun/loom/internal/git"
)

// checkout makes a clean checkout of a commit, of what differs from one that was
// given back untouched; done gives it back.
func (j *job) checkout(ctx context.Context, commit string) (dir string, done func(), err error) {
	top, err := os.MkdirTemp(j.Scratch, j.brief.Attempt.Id+"-")
	if err != nil {
		return "", nil, fmt.Errorf("directory for checkouts: %w", err)
	}
	var clean *git.Clean
	done = sync.OnceFunc(func() {
		var kept error
		if clean != nil {
			kept = j.pool.Return(clean)
		}
		if err := errors.Join(kept, git.Discard(top)); err != nil {
			j.Logger.Warn("checkout not removed", "attempt", j.brief.Attempt.Id, "error", err)
		}
	})
	dir = filepath.Join(top, j.brief.Project.Id)
	if j.place.policy.Contain == nil { // what it started may live on, and write
		err = j.repo.Workspaces.Checkout(ctx, commit, dir)
	} else {
		j.pooled.Do(func() { j.pool.Dir = filepath.Join(j.Scratch, "pool") })
		clean, err = j.pool.Checkout(ctx, j.repo.Workspaces, commit, dir)
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return dir, done, nil
}
