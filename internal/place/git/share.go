package git

import (
	"context"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
)

// sharedRef is where the hosts of a deployment find, in the registered
// repository, what has been done for an execution.
func sharedRef(execution string) string { return wipRef(execution) }

// seenRef is what a mirror knew of the shared ref last.
func seenRef(execution string) string { return "refs/loom/shared/" + execution }

// Share keeps the content of the work tree in the registered repository, under
// refs/loom/wip/EXECUTION, so that another host can go on with it. It changes
// nothing when the content is there already. Content that cannot be a commit
// stays on this host.
//
// It returns git/taken when another host has gone on with the work meanwhile:
// whoever is here no longer has it.
func (w *Worktree) Share(ctx context.Context) error {
	there, ours, err := w.shared(ctx, w.execution)
	if err != nil {
		return err
	}
	if !ours {
		return fault.New("git/taken", "another host goes on with %s", w.execution)
	}
	tree, err := w.snapshot(ctx)
	if fault.Code(err) == "git/unsupported" {
		return nil
	}
	if err != nil {
		return err
	}
	commit, err := w.save(ctx, tree)
	if err != nil || there == commit {
		return err
	}
	if err := transfer(ctx, w.git(), w.repo.git(), asLoose, []string{commit}, w.base); err != nil {
		return err
	}
	if err := w.repo.transact(ctx, "loom: work in progress of "+w.execution, set(sharedRef(w.execution), commit, there)); err != nil {
		return err
	}
	return w.set(ctx, seenRef(w.execution), commit)
}

// shared returns what is shared of an execution, "" for nothing, and whether
// it is what this host shared or saw last.
func (m mirror) shared(ctx context.Context, execution string) (there string, ours bool, err error) {
	if there, err = m.repo.resolve(ctx, sharedRef(execution)); err != nil || there == "" {
		return "", err == nil, err
	}
	for _, ref := range []string{seenRef(execution), wipRef(execution)} { // a crash may have left the second alone
		known, err := m.resolve(ctx, ref)
		if err != nil || known == there {
			return there, err == nil, err
		}
	}
	return there, false, nil
}

// Follow makes the workspace of an execution what the host that worked on it
// last has shared, if that was another one. Open then returns it. What this
// host has and nobody shared is replaced: no journal has its steps.
func (ws *Workspaces) Follow(ctx context.Context, execution string) error {
	if err := checkTokens("execution", execution); err != nil {
		return err
	}
	if err := ws.make(ctx); err != nil {
		return err
	}
	there, ours, err := ws.shared(ctx, execution)
	if err != nil || ours {
		return err
	}
	if err := ws.fetch(ctx, there); err != nil {
		return err
	}
	w := &Worktree{mirror: ws.mirror, execution: execution}
	if _, err := ws.git().run(ctx, "update-ref", "-d", baseRef(execution)); err != nil {
		return err
	}
	for _, path := range []string{w.Path(), w.indexPath(execution)} {
		if err := discard.All(path); err != nil {
			return err
		}
	}
	if err := ws.set(ctx, wipRef(execution), there); err != nil {
		return err
	}
	return ws.set(ctx, seenRef(execution), there)
}
