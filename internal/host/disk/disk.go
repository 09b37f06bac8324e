// Package disk keeps what projects have on a host's disk: it removes what work that ended
// has left, measures the rest, and refuses new work of a project that has too much.
package disk

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	// DefaultLimit is what a project may have on a host's disk.
	DefaultLimit = 20 << 30

	tidyEvery    = 2 * time.Second  // how often it is looked for what ended work has left
	tidyAgain    = time.Minute      // when a removal that failed is tried again
	measureEvery = 30 * time.Second // how often the disk is measured by itself

	// Fresh is how old a figure may be that somebody asks for.
	Fresh = 3 * time.Second

	savedFor  = 30 * 24 * time.Hour // how long the work of an execution that ended is kept
	savedMost = 1000                // of how many executions of a project
)

// Config says what a keeper works with.
type Config struct {
	Dir *datadir.Dir
	// Tables say which executions have ended. Nil on a host that only runs agents, which
	// is told.
	Tables interface {
		Ends(ctx context.Context, executions []string) (map[string]projection.End, error)
	}
	// Projects returns the ids of the registered projects.
	Projects func() []string
	// Repository opens the repository of a project.
	Repository func(ctx context.Context, project string) (*agent.Repository, error)
	// Draft records what an execution that ended has left. Nil records nothing.
	Draft func(ctx context.Context, project string, d *loomv1.Draft) error
	// Limit is how many bytes a project may have. Zero means DefaultLimit.
	Limit uint64
	Log   *slog.Logger
}

// Keeper keeps the disk. What work has left that ended is removed, on every host what it
// has itself: right after the end, after a restart, and after a failure. The rest is
// measured against the limit. All methods may be called at the same time, but Retire: it
// is for a host that does not Run, one call after the other.
type Keeper struct {
	Config
	// Worker has the workspaces. It is set once, before Run or Retire; nil removes
	// nothing.
	Worker *agent.Worker

	one     sync.Mutex           // held by who removes or measures
	failed  map[string]time.Time // when an execution's worktree could not be removed
	forgets time.Time            // when it was last looked for saved work that is too old

	mu      sync.Mutex
	figures map[string]*loomv1.ProjectDisk
	at      time.Time // of the figures
}

// New returns a keeper that does nothing yet.
func New(c Config) *Keeper {
	c.Limit = cmp.Or(c.Limit, DefaultLimit)
	return &Keeper{Config: c}
}

// Run keeps the disk tidy until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	look := time.NewTicker(tidyEvery)
	defer look.Stop()
	for ctx.Err() == nil {
		k.Tidy(ctx)
		k.Use(ctx, measureEvery)
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// Tidy removes the worktrees of executions that have ended, and gives up saved
// work that is too old. What cannot be done now is done another time.
func (k *Keeper) Tidy(ctx context.Context) {
	k.one.Lock()
	defer k.one.Unlock()
	here := k.Worktrees()
	if len(here) > 0 {
		ends, err := k.Tables.Ends(ctx, here)
		if err != nil {
			return // the tables are being made again
		}
		for _, id := range here {
			if e := ends[id]; !e.At.IsZero() {
				k.Retire(ctx, e.Project, id)
			}
		}
	}
	if time.Since(k.forgets) > time.Hour {
		k.forgets = time.Now()
		for _, id := range k.Projects() {
			k.forgetSaved(ctx, id)
		}
	}
}

// Worktrees lists the executions that have a worktree on this host, or a part of
// one that a crash has left.
func (k *Keeper) Worktrees() []string {
	var list []string
	for _, dir := range []string{"worktrees", "index"} {
		entries, _ := os.ReadDir(k.Dir.Path("git", dir)) // none was made yet
		for _, e := range entries {
			id, _, _ := strings.Cut(e.Name(), ".") // an index has others beside it while git works
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Retire removes the worktree of an execution that has ended, unless somebody
// still works in it.
func (k *Keeper) Retire(ctx context.Context, id, execution string) {
	if k.Worker == nil || time.Since(k.failed[execution]) < tidyAgain {
		return
	}
	repo, err := k.Repository(ctx, id)
	gone := false
	if err == nil {
		gone, err = k.Worker.Retire(ctx, repo, execution, func(s *git.Saved) error { return k.record(ctx, id, execution, s) })
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if k.failed == nil {
			k.failed = map[string]time.Time{}
		}
		k.failed[execution] = time.Now()
		k.Log.Warn("the worktree of work that ended is not removed; it is tried again", "execution", execution, "error", err)
	case gone:
		delete(k.failed, execution)
		k.Log.Debug("the worktree of work that ended is removed", "execution", execution)
	}
}

// record tells the project what an execution had changed that has ended.
func (k *Keeper) record(ctx context.Context, id, execution string, s *git.Saved) error {
	if k.Draft == nil {
		return nil
	}
	return k.Draft(ctx, id, &loomv1.Draft{Execution: execution, Commit: s.Commit, Files: uint32(s.Files), Added: s.Added, Removed: s.Removed})
}

// forgetSaved gives up the saved work of a project's executions that ended long ago,
// and of the oldest where there are many. What an execution that runs may still
// take up is kept.
func (k *Keeper) forgetSaved(ctx context.Context, id string) {
	repo, err := k.Repository(ctx, id)
	if err != nil {
		return // it is not on this host
	}
	saved, err := repo.Workspaces.Saved(ctx)
	if err != nil || len(saved) == 0 {
		return
	}
	ends, err := k.Tables.Ends(ctx, saved)
	if err == nil {
		err = repo.Workspaces.Forget(ctx, outlived(ends, time.Now())...)
	}
	if err != nil && ctx.Err() == nil {
		k.Log.Warn("saved work that is too old is not given up", "project", id, "error", err)
	}
}

// outlived returns the executions whose saved work is no longer kept.
func outlived(ends map[string]projection.End, now time.Time) []string {
	var ended []string
	for id, e := range ends {
		if !e.At.IsZero() && !e.Wanted {
			ended = append(ended, id)
		}
	}
	slices.SortFunc(ended, func(a, b string) int {
		if c := ends[b].At.Compare(ends[a].At); c != 0 {
			return c // the newest first
		}
		return strings.Compare(a, b)
	})
	young, _ := slices.BinarySearchFunc(ended, now.Add(-savedFor), func(id string, t time.Time) int {
		return t.Compare(ends[id].At)
	})
	return ended[min(young, savedMost):]
}

// Use returns what each project has on this host's disk, measured at most so
// long ago.
func (k *Keeper) Use(ctx context.Context, within time.Duration) []*loomv1.ProjectDisk {
	k.mu.Lock()
	young, none := time.Since(k.at) < within, k.at.IsZero()
	k.mu.Unlock()
	if !young {
		k.measure(ctx, none)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []*loomv1.ProjectDisk
	for _, d := range k.figures {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *loomv1.ProjectDisk) int { return strings.Compare(a.Project, b.Project) })
	return list
}

// measure adds up what lies in the data directory, by project. While another removes
// or measures, it waits for that or leaves the figures of before as they are.
func (k *Keeper) measure(ctx context.Context, wait bool) {
	if wait {
		k.one.Lock()
	} else if !k.one.TryLock() {
		return
	}
	defer k.one.Unlock()
	at, figures := time.Now(), map[string]*loomv1.ProjectDisk{}
	of := func(id string) *loomv1.ProjectDisk {
		if figures[id] == nil {
			figures[id] = &loomv1.ProjectDisk{Project: id, Limit: k.Limit, MeasuredAt: timestamppb.New(at)}
		}
		return figures[id]
	}
	for _, id := range k.Projects() {
		d := of(id)
		d.Repository = sizeOfTree(ctx, k.Dir.Path("git", "repos", id+".git"))
		d.Caches = sizeOfTree(ctx, k.Dir.Path("caches", id))
		d.Setups = sizeOfTree(ctx, k.Dir.Path("setups", id))
		d.Checkouts = k.checkouts(ctx, id)
	}
	here := k.Worktrees()
	ends, err := k.Tables.Ends(ctx, here)
	if err != nil || ctx.Err() != nil {
		return
	}
	for _, execution := range here {
		id := ends[execution].Project
		if id == "" {
			continue // nobody knows whose it is
		}
		d := of(id)
		d.Worktrees++
		d.WorktreeBytes += sizeOfTree(ctx, k.Dir.Path("git", "worktrees", execution)) + sizeOfTree(ctx, k.Dir.Path("git", "index", execution))
	}
	for _, d := range figures {
		d.Total = d.Repository + d.Caches + d.Setups + d.Checkouts + d.WorktreeBytes
		k.trim(ctx, d)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.figures, k.at = figures, at
}

// trim removes kept checkouts of a project: those that nobody has wanted for some
// time, and all of them where the project has more than half of its disk.
func (k *Keeper) trim(ctx context.Context, d *loomv1.ProjectDisk) {
	if k.Worker == nil {
		return
	}
	gone, err := k.Worker.Trim(d.Project, d.Total > d.Limit/2)
	if err != nil {
		k.Log.Warn("a kept checkout is not removed", "project", d.Project, "error", err)
	}
	if gone == 0 {
		return
	}
	was := d.Checkouts
	d.Checkouts = k.checkouts(ctx, d.Project)
	d.Total += d.Checkouts - was
}

// checkouts is what stages and kept checkouts of a project take.
func (k *Keeper) checkouts(ctx context.Context, id string) uint64 {
	return sizeOfTree(ctx, k.Dir.Path("git", "committer", id)) + sizeOfTree(ctx, k.Dir.Path("scratch", "pool", id))
}

// Room returns data/project-full when a project has all of the disk that it
// may have on this host. It is asked before work begins; work under way goes on.
func (k *Keeper) Room(id string) error {
	k.mu.Lock()
	d := k.figures[id]
	k.mu.Unlock()
	if d == nil || d.Total < d.Limit {
		return nil
	}
	return fault.New("data/project-full", "project %q has %s of the %s that it may have on the disk of this host: %s of %d worktrees, %s of its repository, %s of caches, %s of setups, %s of checkouts",
		id, mebibytes(d.Total), mebibytes(d.Limit), mebibytes(d.WorktreeBytes), d.Worktrees, mebibytes(d.Repository), mebibytes(d.Caches), mebibytes(d.Setups), mebibytes(d.Checkouts)).
		At("project "+id).Want("%s", k.makeRoom(d))
}

// makeRoom says what to remove: the largest part.
func (k *Keeper) makeRoom(d *loomv1.ProjectDisk) string {
	most := max(d.WorktreeBytes, d.Repository, d.Caches, d.Setups, d.Checkouts)
	raise := "or start the host with a higher --project-disk"
	switch most {
	case d.Caches:
		return fmt.Sprintf("remove %s, which commands fill again, %s", k.Dir.Path("caches", d.Project), raise)
	case d.Setups:
		return fmt.Sprintf("remove %s, which is made again, %s", k.Dir.Path("setups", d.Project), raise)
	case d.Repository:
		return "start the host with a higher --project-disk: the copy of the repository is most of it"
	}
	return "let work end, or abort what is not wanted: worktrees go with it, " + raise
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }

// sizeOfTree adds up the files under a path; 0 for what is not there. What is
// removed meanwhile is not counted.
func sizeOfTree(ctx context.Context, path string) (n uint64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ctx.Err()
		}
		if info, err := d.Info(); err == nil {
			n += uint64(max(0, info.Size()))
		}
		return nil
	})
	return n
}
