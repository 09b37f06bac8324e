package agent

import (
	"context"
	"fmt"

	"github.com/loomrun/loom/internal/core/verify"
)

// onBase says whether a required command that failed with a change fails without it, too:
// on a clean checkout of the commit that the change is of, where it is run once. A branch
// that is red already is no fault of the change, and no agent can know that from its own
// worktree. It is what a sentence about the failure goes on with, and nothing where that
// cannot be found out.
func (r *run) onBase(ctx context.Context, base, command string) (string, error) {
	if base == "" || command == "" || command == verify.Command || r.silent || !r.canRun() {
		return "", nil
	}
	dir, done, err := r.checkout(ctx, base)
	if err != nil {
		return "", err
	}
	defer done()
	if out, err := r.makeReadyAll(ctx, r.workspace(dir), "base-setup"); out != nil || err != nil {
		return "", err
	}
	runs, err := r.runChecks(ctx, r.workspace(dir), []string{command}, "base", fmt.Sprintf("a clean checkout of %.12s, without the change", base))
	if err != nil {
		return "", err
	}
	if runs[0].Passed {
		return fmt.Sprintf("; it passes on %.12s without the change", base), nil
	}
	return fmt.Sprintf("; it fails on %.12s without the change too (exit %d)", base, runs[0].ExitCode), nil
}
