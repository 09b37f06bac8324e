package git

import (
	"context"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Attest says whether a commit is in this repository what it is said to be: of an
// execution, with its patch, on its base, and in the history of head. It reads
// what the repository has, and reaches no remote.
func (r *Repository) Attest(ctx context.Context, execution string, c *loomv1.Candidate, head string) (bool, error) {
	known, err := r.knows(ctx, c.GetCommit())
	if !known || err != nil {
		return false, err
	}
	if known, err = r.knows(ctx, head); !known || err != nil {
		return false, err
	}
	found, err := r.inspect(ctx, c.Commit)
	if err != nil || found.mark() != (mark{execution, c.PatchDigest}) || found.parent != c.Base || c.PatchDigest == "" {
		return false, err
	}
	return ancestor(ctx, r.git(), c.Commit, head)
}

// Reached says whether the target branch, or loom/landed where changes wait to be
// taken, has a commit. It reads what the repository has, and reaches no remote.
func (r *Repository) Reached(ctx context.Context, target, commit string) (bool, error) {
	if known, err := r.knows(ctx, commit); !known || err != nil {
		return false, err
	}
	name, head, err := r.Branch(ctx, target)
	if err != nil || name == "" {
		return false, err
	}
	if in, err := ancestor(ctx, r.git(), commit, head); in || err != nil {
		return in, err
	}
	landed, err := r.resolve(ctx, landedBranch)
	if err != nil {
		return false, err
	}
	return ancestor(ctx, r.git(), commit, landed)
}

// knows says whether the repository has a commit.
func (r *Repository) knows(ctx context.Context, oid string) (bool, error) {
	if !isObjectID(oid) {
		return false, nil
	}
	known, err := resolve(ctx, r.git(), oid+"^{commit}")
	return known == oid, err
}
