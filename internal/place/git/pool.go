package git

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
)

const (
	poolMost = 32              // how many checkouts are kept of a project, at most
	poolRest = 2               // how many of them though nobody wants them
	poolIdle = 2 * time.Minute // when nobody has wanted one
)

// Pool lends checkouts and takes them back, so that one costs what differs from an
// earlier one, and no more are written than are used at once. What somebody has
// written to in one never serves another: a tree that comes back is compared with
// what it was when it was lent, by inode and by the time at which the inode
// changed, which no process in the sandbox can set, and whatever differs is
// removed and written anew from the objects.
//
// Whoever had a checkout must have ended before it is given back: a process that
// lives could write later. Its zero value keeps nothing.
type Pool struct {
	// Dir is where it keeps them, on the file system that they are lent to. What
	// lies there from an earlier process is not used.
	Dir string

	mu       sync.Mutex
	next     int
	kept     map[string][]*Clean // by project, the newest last
	reserved map[shelf]int       // how many of those are for who holds the commit lock
	lent     map[string]*Clean   // worktrees, by path

	probed sync.Once
	hidden bool // content can change on the file system without a trace
}

// shelf is what kept checkouts have in common that can serve one another: those of
// a project that have the same of its files.
type shelf struct{ project, cone string }

func (m mirror) shelf() shelf { return shelf{m.project, m.cone.id()} }

// Clean is a checkout that was lent, or is kept.
type Clean struct {
	mirror
	dir, index string    // the index is out of reach of whoever works in dir
	commit     string    // or the name of a tree
	seal       inventory // nil where changes cannot be told for certain
	returned   time.Time
}

// Checkout writes a commit to dir, which must not exist, with a detached .git of
// its own, as [Workspaces.Checkout] does.
func (p *Pool) Checkout(ctx context.Context, ws *Workspaces, commit, dir string) (*Clean, error) {
	if err := ws.fetch(ctx, commit); err != nil {
		return nil, err
	}
	c, err := p.lay(ctx, ws.mirror, commit, dir, false)
	if err != nil {
		return nil, err
	}
	err = c.giveGit(ctx, dir, c.index, "", commit)
	if err == nil {
		err = p.close(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, c.discard())
	}
	return c, nil
}

// lay makes dir the files of a commit or tree that the mirror has, without a .git:
// of a kept checkout by what differs, else whole. Only who holds the commit lock
// gets one that is reserved.
func (p *Pool) lay(ctx context.Context, m mirror, treeish, dir string, reserved bool) (*Clean, error) {
	for c := p.take(m.shelf(), reserved); c != nil; c = p.take(m.shelf(), reserved) {
		err := c.move(ctx, treeish, dir)
		if err == nil {
			return c, nil
		}
		if gone := c.discard(); gone != nil || ctx.Err() != nil {
			return nil, errors.Join(err, gone)
		}
	}
	index, err := p.newIndex(m)
	if err != nil {
		return nil, err
	}
	c := &Clean{mirror: m, dir: dir, index: index, commit: treeish}
	if err = os.MkdirAll(dir, 0o700); err == nil {
		err = c.over(dir, c.index).writeTree(ctx, treeish)
	}
	if err != nil {
		return nil, errors.Join(err, c.discard())
	}
	return c, nil
}

// newIndex returns a name for an index: git wants none or a whole one.
func (p *Pool) newIndex(m mirror) (string, error) {
	dir := filepath.Dir(m.path())
	if p.Dir != "" {
		dir = p.Dir
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	index, err := os.CreateTemp(dir, ".index-")
	if err != nil {
		return "", err
	}
	return index.Name(), errors.Join(index.Close(), os.Remove(index.Name()))
}

// take returns the newest checkout of a shelf that is kept, or nil.
func (p *Pool) take(s shelf, reserved bool) *Clean {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.on(s); n == 0 || !reserved && n <= p.reserved[s] {
		return nil
	}
	list := p.kept[s.project]
	for i := len(list) - 1; ; i-- {
		if c := list[i]; c.shelf() == s {
			p.kept[s.project] = slices.Delete(list, i, i+1)
			return c
		}
	}
}

// on counts the kept checkouts of a shelf.
func (p *Pool) on(s shelf) (n int) {
	for _, c := range p.kept[s.project] {
		if c.shelf() == s {
			n++
		}
	}
	return n
}

// move takes a kept checkout to dir and to another commit or tree.
func (c *Clean) move(ctx context.Context, treeish, dir string) error {
	differs, err := readPatch(ctx, c.git(), c.commit, treeish)
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
	if _, err := c.over(dir, c.index).run(ctx, "read-tree", "-m", "-u", c.commit, treeish); err != nil {
		return err
	}
	c.commit = treeish
	return nil
}

// close seals a checkout, and waits until the clock of the file system has gone
// on: what is changed from then on has another time.
func (p *Pool) close(ctx context.Context, c *Clean) error {
	if p.Dir == "" {
		return nil // it is not kept, whatever becomes of it
	}
	c.seal = sealOf(c.dir, p.hides(), c.seal)
	if c.seal != nil && !wait(ctx, still) {
		return ctx.Err()
	}
	return nil
}

// hides says whether content can change on the pool's file system without moving
// the time at which the inode changed.
func (p *Pool) hides() bool {
	p.probed.Do(func() { p.hidden = os.MkdirAll(p.Dir, 0o700) != nil || !mappingsTell(p.Dir) })
	return p.hidden
}

// Return gives a checkout back. What was written to in it is written anew; where
// that cannot be told, or cannot be done, it is removed.
func (p *Pool) Return(ctx context.Context, c *Clean) error {
	if p.Dir == "" || c.seal == nil || len(c.cone.Flat) > 0 || ctx.Err() != nil { // what one change touches serves no other
		return c.discard()
	}
	p.mu.Lock()
	p.next++
	to := filepath.Join(p.Dir, c.project, strconv.Itoa(p.next))
	full := len(p.kept[c.project]) >= poolMost
	p.mu.Unlock()
	if full {
		return c.discard()
	}
	if err := c.salvage(ctx, to, p.hides()); err != nil {
		return errors.Join(c.discard(), discard.All(to), notable(err))
	}
	c.dir, c.returned = to, time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[string][]*Clean{}
	}
	p.kept[c.project] = append(p.kept[c.project], c)
	return nil
}

// errSpoiled says that a tree is not kept; that is no failure.
var errSpoiled = errors.New("the tree is not what it was")

func notable(err error) error {
	if errors.Is(err, errSpoiled) {
		return nil
	}
	return err
}

// lend notes a worktree, whose .git stands, so that it can come back.
func (p *Pool) lend(ctx context.Context, c *Clean) error {
	if err := p.close(ctx, c); err != nil {
		return errors.Join(err, c.discard())
	}
	if c.seal == nil {
		return os.Remove(c.index)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lent == nil {
		p.lent = map[string]*Clean{}
	}
	p.lent[c.dir] = c
	return nil
}

// retake removes a worktree, and keeps its files where they were the pool's.
func (p *Pool) retake(ctx context.Context, dir string) error {
	p.mu.Lock()
	c := p.lent[dir]
	delete(p.lent, dir)
	p.mu.Unlock()
	if c == nil {
		return discard.All(dir)
	}
	return p.Return(ctx, c)
}

// Reserve makes sure that one checkout of a project is kept for who holds its
// commit lock, until done is called, so that nobody waits for a whole one then.
func (p *Pool) Reserve(ctx context.Context, ws *Workspaces) (done func(), err error) {
	if p.Dir == "" {
		return func() {}, nil
	}
	p.mu.Lock()
	if p.reserved == nil {
		p.reserved = map[shelf]int{}
	}
	s := ws.shelf()
	p.reserved[s]++
	there := p.on(s) >= p.reserved[s]
	p.next++
	dir := filepath.Join(p.Dir, ws.project, strconv.Itoa(p.next))
	p.mu.Unlock()
	done = sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reserved[s]--
	})
	if there {
		return done, nil
	}
	tip, err := ws.sync(ctx, ws.target)
	if err != nil {
		done()
		return nil, err
	}
	c, err := p.Checkout(ctx, ws, tip, dir)
	if err == nil {
		err = p.Return(ctx, c)
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// Trim removes the kept checkouts of a project that nobody has wanted for some time,
// but for two; all of them where the disk is wanted. It returns how many.
func (p *Pool) Trim(project string, all bool) (int, error) {
	p.mu.Lock()
	var gone []*Clean
	list := p.kept[project] // those at the end are taken first
	for _, c := range list {
		wanted := p.on(c.shelf()) <= p.reserved[c.shelf()]
		if wanted || !all && (len(p.kept[project]) <= poolRest || time.Since(c.returned) <= poolIdle) {
			continue
		}
		gone = append(gone, c)
		p.kept[project] = slices.DeleteFunc(slices.Clone(p.kept[project]), func(k *Clean) bool { return k == c })
	}
	p.mu.Unlock()
	var err error
	for _, c := range gone {
		err = errors.Join(err, c.discard())
	}
	return len(gone), err
}

func (c *Clean) discard() error {
	_ = os.Remove(c.index)
	return discard.All(c.dir)
}
