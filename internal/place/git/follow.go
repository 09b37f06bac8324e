package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
)

// While a checkout follows the target, its index.lock is held, as git itself
// does: no commit of the user's can fall between the branch that has moved and
// the index that has not. The lock file says whose it is, so that the next
// landing can finish what a crash has cut off.

const lockWait = 2 * time.Second // for a git command of the user's to end

// hold is a held index.lock. Its file is also locked for as long as this process,
// or a git that it has started, lives: so a crash can be told from a pause.
type hold struct {
	checkout
	lock    string
	scratch string // the index that will take the place of the user's
}

func (c checkout) lockPath() string { return filepath.Join(c.gitDir, "index.lock") }

// hold takes the lock of a checkout, or returns nil if another git command
// keeps it longer than lockWait.
func (c checkout) hold(ctx context.Context, text string) (*hold, error) {
	h := &hold{c, c.lockPath(), filepath.Join(c.gitDir, "index.loom")}
	f, err := os.CreateTemp(c.gitDir, "index.loom-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	h.locked = f
	if _, err := f.WriteString(text); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), flock(f)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for end := time.Now().Add(lockWait); ; {
		err := os.Link(f.Name(), h.lock)
		if err == nil {
			if err := durable.Directory(c.gitDir); err != nil {
				h.release()
				return nil, err
			}
			return h, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, errors.Join(err, f.Close())
		}
		if time.Now().After(end) || !wait(ctx, 20*time.Millisecond) {
			return nil, errors.Join(ctx.Err(), f.Close())
		}
	}
}

// mine reports whether the lock is still the one that was taken.
func (h *hold) mine() bool {
	now, err := os.Lstat(h.lock)
	if err != nil {
		return false
	}
	taken, err := h.locked.Stat()
	return err == nil && os.SameFile(now, taken)
}

func (h *hold) release() {
	for _, path := range []string{h.scratch, h.scratch + ".lock", h.scratch + ".to"} {
		_ = os.Remove(path)
	}
	if h.mine() {
		_ = os.Remove(h.lock)
		_ = durable.Directory(h.gitDir) // if not, the next landing takes it away
	}
	_ = h.locked.Close()
}

// follow takes the files and the index from one commit to another. git checks
// everything before it writes anything: an edit of the user's makes it refuse.
func (h *hold) follow(ctx context.Context, from, to string) error {
	if _, err := h.git(h.scratch).run(ctx, "read-tree", "-m", "-u", from, to); err != nil {
		return err
	}
	if !h.mine() {
		return fault.New("git/failed", "the index.lock of the checkout was taken away")
	}
	if err := h.settle(ctx, from, to); err != nil {
		return err
	}
	return durable.Rename(h.scratch, filepath.Join(h.gitDir, "index"))
}

// settle makes the files that differ between two commits durable, before an
// index says that they are as they should be.
func (h *hold) settle(ctx context.Context, from, to string) error {
	patch, err := readPatch(ctx, h.repo.git(), from, to)
	if err != nil {
		return err
	}
	dirs := map[string]bool{}
	for _, e := range patch {
		path := filepath.Join(h.workTree, filepath.FromSlash(e.path))
		for at := filepath.Dir(path); len(at) >= len(h.workTree); at = filepath.Dir(at) {
			dirs[at] = true
		}
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue // a link, or taken away
		}
		if err := durable.File(path); err != nil {
			return plain(err)
		}
	}
	for dir := range dirs {
		err := durable.Directory(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return plain(err)
		}
	}
	return nil
}

// withCheckouts moves the target together with its checkouts. A reason instead
// of an error means that nothing has moved and the commit should land aside.
func (l *landing) withCheckouts(ctx context.Context, places []checkout) (busy string, err error) {
	var held []*hold
	defer func() {
		for _, h := range held {
			h.release()
		}
	}()
	for _, c := range places {
		h, err := c.hold(ctx, l.lockText())
		if err != nil {
			return "", err
		}
		if h == nil {
			return "a git command is at work in its checkout", nil
		}
		held = append(held, h)
		if busy, err := h.obstacle(ctx, h.scratch, l.heads.target, l.commit); busy != "" || err != nil {
			return busy, err
		}
	}
	l.step("checkouts held")
	return l.move(context.WithoutCancel(ctx), held)
}

// move is the part that is not interrupted: it takes milliseconds.
func (l *landing) move(ctx context.Context, held []*hold) (busy string, err error) {
	if err := l.retarget(ctx, l.heads.target, l.commit); err != nil {
		return "", l.refused(ctx, err)
	}
	l.step("target moved")
	for i, h := range held {
		if err := h.follow(ctx, l.heads.target, l.commit); err != nil {
			return "its checkout was changed meanwhile", l.undo(ctx, held[:i])
		}
		l.step("checkout followed")
	}
	return "", nil
}

// undo takes the target back when a checkout could not follow.
func (l *landing) undo(ctx context.Context, followed []*hold) error {
	if err := l.retarget(ctx, l.commit, l.heads.target); err != nil {
		return l.refused(ctx, err)
	}
	for _, h := range followed {
		if err := h.refreshed(ctx, h.scratch); err != nil {
			return err
		}
		if err := h.follow(ctx, l.commit, l.heads.target); err != nil {
			return err
		}
	}
	return nil
}

// retarget moves the target, only from old and only while the fence is ours.
func (l *landing) retarget(ctx context.Context, old, to string) error {
	return l.transact(ctx, "loom: land "+l.req.Execution, stands(fenceRef(l.req.Deployment), l.fence), set(l.ref, to, old))
}

// lockText is what the lock file of a checkout says while it is held.
func (l *landing) lockText() string {
	return fmt.Sprintf("loom %s %s %s\nLoom is fast-forwarding this checkout, and finishes it when it lands again.\n",
		l.ref, l.heads.target, l.commit)
}
