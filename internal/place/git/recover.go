package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// cutOff is a landing that a crash left behind, as its lock file tells it.
type cutOff struct{ ref, from, to string }

func parseLock(text string) (cutOff, bool) {
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) != 4 || f[0] != "loom" || !strings.HasPrefix(f[1], "refs/heads/") || !isObjectID(f[2]) || !isObjectID(f[3]) {
		return cutOff{}, false
	}
	return cutOff{f[1], f[2], f[3]}, true
}

// finish ends what a landing that was cut off has begun, of whatever change:
// a checkout whose branch has moved follows it, or, if its user has edited it
// since, the branch goes back.
func (l *landing) finish(ctx context.Context) error {
	dirs, err := l.gitDirs()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		lock := filepath.Join(dir, "index.lock")
		cut, ok := parseLock(readFile(lock))
		if !ok {
			continue
		}
		h, err := l.takeOver(ctx, dir)
		if err != nil {
			return err
		}
		if h == nil {
			continue // it has just ended by itself
		}
		err = l.complete(context.WithoutCancel(ctx), h, cut)
		h.release()
		if err != nil {
			return err
		}
	}
	return nil
}

// takeOver takes the lock that a dead process left. It returns nil if there is
// none any more, and git/timeout while the process, or its git, is alive.
func (l *landing) takeOver(ctx context.Context, dir string) (*hold, error) {
	filters, err := l.filters(ctx)
	if err != nil {
		return nil, err
	}
	top, _ := l.workTreeOf(dir)
	c := checkout{repo: l.Repository, gitDir: dir, workTree: top, filters: filters}
	f, err := os.Open(c.lockPath())
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockWait); flock(f) != nil; {
		if time.Now().After(end) || !wait(ctx, 20*time.Millisecond) {
			return nil, errors.Join(fault.New("git/timeout", "another landing is still at work in a checkout"), f.Close())
		}
	}
	c.locked = f
	h := &hold{c, c.lockPath(), filepath.Join(dir, "index.loom")}
	if !h.mine() {
		return nil, f.Close()
	}
	return h, nil
}

// complete brings one checkout to where its branch is now.
func (l *landing) complete(ctx context.Context, h *hold, cut cutOff) error {
	now, err := l.resolve(ctx, cut.ref)
	if err != nil || now == cut.from || now == "" || h.workTree == "" {
		return err // nothing had moved yet, or nothing is there to follow
	}
	_ = os.Remove(h.scratch + ".lock")
	if err := h.refreshed(ctx, h.scratch); err != nil {
		return err
	}
	if _, err := h.git(h.scratch).run(ctx, "diff-index", "--cached", "--quiet", now); err == nil {
		return nil // only the lock was left
	}
	ours, err := h.adopt(ctx, cut)
	if err != nil {
		return err
	}
	l.step("leftovers adopted")
	if h.follow(ctx, cut.from, now) == nil {
		return nil
	}
	if err := h.putBack(ctx, ours); err != nil {
		return err
	}
	if now != cut.to {
		return nil // others have built on it: the user sees the difference and decides
	}
	return l.transact(ctx, "loom: take back a landing that was cut off",
		stands(fenceRef(l.req.Deployment), l.fence), set(cut.ref, cut.from, cut.to))
}

// adopt finds the files that the crashed landing had written, whole or in
// part, and tells the scratch index that they are as they should be. Anything
// else that differs is the user's.
func (h *hold) adopt(ctx context.Context, cut cutOff) ([]entry, error) {
	p, err := readPatch(ctx, h.repo.git(), cut.from, cut.to)
	if err != nil {
		return nil, err
	}
	var ours []entry
	for _, e := range p {
		whole, part, err := h.written(ctx, e)
		switch {
		case err != nil:
			return nil, err
		case whole:
			_, err = h.git(h.scratch).run(ctx, "update-index", "--add", "--replace", "--cacheinfo", e.newMode+","+e.newBlob+","+e.path)
		case part:
			err = os.Remove(filepath.Join(h.workTree, e.path))
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		ours = append(ours, e)
	}
	_, err = h.git(h.scratch).run(ctx, "update-index", "-q", "--refresh", "--ignore-submodules")
	if exitCode(err) == 1 {
		err = nil
	}
	return ours, err
}

// written reports whether a file is what the landing wrote, or the beginning of
// it, and not what stood there before.
func (h *hold) written(ctx context.Context, e entry) (whole, part bool, err error) {
	if e.deleted() || e.newMode == gitlinkMode {
		return false, false, nil
	}
	is, ok := contentOf(filepath.Join(h.workTree, e.path))
	if !ok {
		return false, false, nil
	}
	shall, err := h.repo.git().run(ctx, "cat-file", "blob", e.newBlob)
	if err != nil || bytes.Equal(is, shall) {
		return err == nil, false, err
	}
	if !e.added() {
		was, err := h.repo.git().run(ctx, "cat-file", "blob", e.oldBlob)
		if err != nil || bytes.Equal(is, was) {
			return false, false, err
		}
	}
	return false, bytes.HasPrefix(shall, is), nil
}

// contentOf returns what git would store of a file or a symbolic link.
func contentOf(path string) ([]byte, bool) {
	info, err := os.Lstat(path)
	switch {
	case err != nil || info.Size() > callOutput:
		return nil, false
	case info.Mode().IsRegular():
		data, err := os.ReadFile(path)
		return data, err == nil
	case info.Mode()&os.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return []byte(to), err == nil
	}
	return nil, false
}

// putBack undoes what a landing had written, as the user's own index has it.
func (h *hold) putBack(ctx context.Context, ours []entry) error {
	var before []string
	for _, e := range ours {
		if !e.added() {
			before = append(before, e.path)
		} else if err := os.Remove(filepath.Join(h.workTree, e.path)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if len(before) == 0 {
		return nil
	}
	if err := copyIndex(filepath.Join(h.gitDir, "index"), h.scratch); err != nil {
		return err
	}
	c := h.git(h.scratch)
	c.stdin = joinNUL(before)
	_, err := c.run(ctx, "checkout-index", "-f", "-z", "--stdin")
	return err
}
