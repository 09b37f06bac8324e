package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/loomrun/loom/internal/fault"
)

// poolMost is how many checkouts are kept of a project.
const poolMost = 2

// Pool lends clean checkouts and takes them back, so that one costs what differs
// from an earlier one. It keeps only those that nobody has written to: each file
// and directory is looked at before it is lent and when it comes back, and a
// change of anything, also one that was undone, shows in the time at which the
// inode changed, which no process can set. Its .git is made anew each time.
//
// Whoever had a checkout must have ended before it is given back: a process that
// lives could write later. Its zero value keeps nothing in Dir "".
type Pool struct {
	// Dir is where it keeps them, on the file system that they are lent to. What
	// lies there from an earlier process is not used.
	Dir string

	mu   sync.Mutex
	next int
	kept map[string][]*Clean // by project, the newest last
}

// Clean is a checkout that was lent.
type Clean struct {
	mirror
	dir, index, commit string
	seal               map[string]stamp // nil where changes cannot be told for certain
}

// Checkout writes a commit to dir, which must not exist, with a detached .git of
// its own, as [Workspaces.Checkout] does.
func (p *Pool) Checkout(ctx context.Context, ws *Workspaces, commit, dir string) (*Clean, error) {
	if err := ws.fetch(ctx, commit); err != nil {
		return nil, err
	}
	for c := p.take(ws.project); c != nil; c = p.take(ws.project) {
		err := c.move(ctx, commit, dir)
		if err == nil {
			return c, c.close(ctx)
		}
		if gone := c.discard(); gone != nil || ctx.Err() != nil {
			return nil, errors.Join(err, gone)
		}
	}
	c := &Clean{mirror: ws.mirror, dir: dir, commit: commit}
	index, err := os.CreateTemp(filepath.Dir(ws.path()), ".index-")
	if err != nil {
		return nil, err
	}
	c.index = index.Name()
	index.Close()
	if err = os.Remove(c.index); err == nil { // git wants none or a whole one
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = c.over(dir, c.index).writeTree(ctx, commit)
	}
	if err == nil {
		err = c.giveGit(ctx, dir, c.index, "", commit)
	}
	if err == nil {
		err = c.close(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.discard())
	}
	return c, nil
}

// take returns a checkout of a project that is kept, or nil.
func (p *Pool) take(project string) *Clean {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.kept[project]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	p.kept[project] = list[:len(list)-1]
	return c
}

// move takes a kept checkout to dir and to another commit.
func (c *Clean) move(ctx context.Context, commit, dir string) error {
	differs, err := readPatch(ctx, c.git(), c.commit, commit)
	if err != nil {
		return err
	}
	for _, e := range differs {
		if path.Base(e.path) == ".gitattributes" || e.oldMode == gitlinkMode || e.newMode == gitlinkMode {
			return fault.New("git/unsupported", "what differs may change how other files are written").Got(e.path)
		}
	}
	if err := os.Rename(c.dir, dir); err != nil {
		return err
	}
	c.dir = dir
	if _, err := c.over(dir, c.index).run(ctx, "read-tree", "-m", "-u", c.commit, commit); err != nil {
		return err
	}
	c.commit = commit
	return c.giveGit(ctx, dir, c.index, "", commit)
}

// close seals a checkout, and waits until the clock of the file system has gone
// on: what is changed from then on has another time.
func (c *Clean) close(ctx context.Context) error {
	c.seal = sealOf(c.dir)
	if c.seal != nil && !wait(ctx, still) {
		return ctx.Err()
	}
	return nil
}

// Return gives a checkout back. One that was written to is removed.
func (p *Pool) Return(c *Clean) error {
	if p.Dir == "" || !c.unchanged() {
		return c.discard()
	}
	if err := removeAll(filepath.Join(c.dir, ".git")); err != nil {
		_ = c.discard()
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	to := filepath.Join(p.Dir, c.project, strconv.Itoa(p.next))
	err := os.MkdirAll(filepath.Dir(to), 0o700)
	if err == nil {
		err = os.Rename(c.dir, to)
	}
	if err != nil {
		_ = c.discard()
		return err
	}
	c.dir = to
	if p.kept == nil {
		p.kept = map[string][]*Clean{}
	}
	p.kept[c.project] = append(p.kept[c.project], c)
	if list := p.kept[c.project]; len(list) > poolMost {
		p.kept[c.project] = list[1:]
		return list[0].discard()
	}
	return nil
}

// unchanged says whether everything but the .git is as it was when it was lent.
func (c *Clean) unchanged() bool {
	if c.seal == nil {
		return false
	}
	now := sealOf(c.dir)
	if len(now) != len(c.seal) {
		return false
	}
	for path, was := range c.seal {
		if is, there := now[path]; !there || is != was {
			return false
		}
	}
	return true
}

func (c *Clean) discard() error {
	_ = os.Remove(c.index)
	return removeAll(c.dir)
}

// sealOf describes everything under a directory but its .git; nil if that cannot
// be told for certain: on file systems whose times are too coarse.
func sealOf(root string) map[string]stamp {
	seal, fine := map[string]stamp{}, false
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if rel == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s, ok := stampOf(info)
		if !ok {
			return fs.ErrInvalid
		}
		fine = fine || s.fine()
		seal[rel] = s
		return nil
	})
	if err != nil || !fine {
		return nil
	}
	return seal
}
