package git

import (
	"context"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// PresentRequest asks for what the target has, where there is nothing to commit.
type PresentRequest struct {
	Deployment string
	Token      uint64         // of the grant that the caller holds
	Target     string         // branch
	Change     *loomv1.Change // that was proposed, if any was
}

// Present returns the newest commit that candidates are made on, under the fence at
// Token, in the place of a candidate: what is verified is what the target has. Of a
// change that a commit of Loom's on the target holds, it says which one and of which
// bead. It moves nothing but the fence.
func (c *Committer) Present(ctx context.Context, req PresentRequest) (*loomv1.Candidate, error) {
	if err := checkTokens("deployment", req.Deployment); err != nil {
		return nil, err
	}
	if _, err := c.repo.raise(ctx, req.Deployment, req.Token); err != nil {
		return nil, err
	}
	c.step("fence raised")
	tip, err := c.sync(ctx, req.Target)
	if err != nil {
		return nil, c.repo.overtaken(ctx, req.Deployment, req.Token, err)
	}
	found, err := c.repo.inspect(ctx, tip)
	if err != nil {
		return nil, err
	}
	out := &loomv1.Candidate{Commit: tip, Tree: found.tree, Base: tip, Token: req.Token, Present: true}
	out.DoneByCommit, out.DoneByBead, err = c.repo.holder(ctx, req.Change, tip)
	return out, err
}

// Holder returns the commit of Loom's that is on the newest target and has the same
// patch as a change that was made before it, and its bead; nothing for none.
func (ws *Workspaces) Holder(ctx context.Context, change *loomv1.Change) (commit, bead string, err error) {
	tip, err := ws.sync(ctx, ws.target)
	if err != nil {
		return "", "", err
	}
	return ws.repo.holder(ctx, change, tip)
}

// holder returns the commit since a change was made that holds the same patch, and
// its bead; nothing where no commit of Loom's does.
func (r *Repository) holder(ctx context.Context, change *loomv1.Change, tip string) (commit, bead string, err error) {
	patch := change.GetPatchDigest()
	if known, err := r.knows(ctx, change.GetBase()); patch == "" || !known || err != nil {
		return "", "", err
	}
	out, err := r.git().run(ctx, "rev-list", "--fixed-strings", "--grep="+patch, tip, "^"+change.GetBase())
	if err != nil {
		return "", "", err
	}
	for _, oid := range strings.Fields(string(out)) {
		m, err := r.inspect(ctx, oid)
		if err != nil {
			return "", "", err
		}
		if m.mark().patch == patch {
			return oid, m.bead, nil
		}
	}
	return "", "", nil
}
