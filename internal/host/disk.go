package host

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	// DefaultProjectDisk is what a project may have on a host's disk.
	DefaultProjectDisk = 20 << 30

	tidyEvery    = 2 * time.Second  // how often it is looked for what ended work has left
	tidyAgain    = time.Minute      // when a removal that failed is tried again
	measureEvery = 30 * time.Second // how often the disk is measured by itself
	measureAfter = 3 * time.Second  // how old a figure may be that somebody asks for

	savedFor  = 30 * 24 * time.Hour // how long the work of an execution that ended is kept
	savedMost = 1000                // of how many executions of a project
)

// disk is what projects have on this host's disk. What work has left that ended
// is removed, on every host what it has itself: right after the end, after a
// restart, and after a failure. The rest is measured against the limit.
type disk struct {
	one     sync.Mutex           // held by who removes or measures
	failed  map[string]time.Time // when an execution's worktree could not be removed
	forgets time.Time            // when it was last looked for saved work that is too old

	mu      sync.Mutex
	figures map[string]*loomv1.ProjectDisk
	at      time.Time // of the figures
}

// startDisk begins to keep the disk tidy.
func (h *Host) startDisk(context.Context) error {
	h.own.done.Go(func() {
		look := time.NewTicker(tidyEvery)
		defer look.Stop()
		for h.ctx.Err() == nil {
			h.tidy(h.ctx)
			h.diskUse(h.ctx, measureEvery)
			select {
			case <-look.C:
			case <-h.ctx.Done():
			}
		}
	})
	return nil
}

// tidy removes the worktrees of executions that have ended, and gives up saved
// work that is too old. What cannot be done now is done another time.
func (h *Host) tidy(ctx context.Context) {
	h.disk.one.Lock()
	defer h.disk.one.Unlock()
	here := h.worktrees()
	if len(here) > 0 {
		ends, err := h.projection.Ends(ctx, here)
		if err != nil {
			return // the tables are being made again
		}
		for _, id := range here {
			if e := ends[id]; !e.At.IsZero() {
				h.retire(ctx, e.Project, id)
			}
		}
	}
	if time.Since(h.disk.forgets) > time.Hour {
		h.disk.forgets = time.Now()
		for _, id := range h.known.All() {
			h.forgetSaved(ctx, id)
		}
	}
}

// worktrees lists the executions that have a worktree on this host, or a part of
// one that a crash has left.
func (h *Host) worktrees() []string {
	var list []string
	for _, dir := range []string{"worktrees", "index"} {
		entries, _ := os.ReadDir(h.dir.Path("git", dir)) // none was made yet
		for _, e := range entries {
			id, _, _ := strings.Cut(e.Name(), ".") // an index has others beside it while git works
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// retire removes the worktree of an execution that has ended, unless somebody
// still works in it.
func (h *Host) retire(ctx context.Context, id, execution string) {
	if h.worked == nil || time.Since(h.disk.failed[execution]) < tidyAgain {
		return
	}
	repo, err := h.repositoryOf(ctx, id)
	gone := false
	if err == nil {
		gone, err = h.worked.Retire(ctx, repo, execution, func(s *git.Saved) error { return h.recordDraft(ctx, id, execution, s) })
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if h.disk.failed == nil {
			h.disk.failed = map[string]time.Time{}
		}
		h.disk.failed[execution] = time.Now()
		h.log.Warn("the worktree of work that ended is not removed; it is tried again", "execution", execution, "error", err)
	case gone:
		delete(h.disk.failed, execution)
		h.log.Debug("the worktree of work that ended is removed", "execution", execution)
	}
}

// recordDraft tells the project what an execution had changed that has ended. A host
// that only runs agents tells nothing of it.
func (h *Host) recordDraft(ctx context.Context, id, execution string, s *git.Saved) error {
	if h.projects == nil {
		return nil
	}
	return h.do(ctx, id, &loomv1.Command{Body: &loomv1.Command_RecordDraft{RecordDraft: &loomv1.RecordDraft{Draft: &loomv1.Draft{
		Execution: execution, Commit: s.Commit, Files: uint32(s.Files), Added: s.Added, Removed: s.Removed,
	}}}})
}

// repositoryOf opens the repository of a registered project.
func (h *Host) repositoryOf(ctx context.Context, id string) (*agent.Repository, error) {
	p, err := h.projectOf(ctx, id)
	if err != nil {
		return nil, err
	}
	return h.repository(ctx, p)
}

// projectOf returns how a project is registered; on a host that only runs agents,
// what it was started with.
func (h *Host) projectOf(ctx context.Context, id string) (*loomv1.ProjectConfig, error) {
	if h.projects == nil {
		for _, p := range h.config.Projects {
			if p.ID == id {
				path, err := filepath.Abs(p.Repository)
				return &loomv1.ProjectConfig{Id: id, Repository: path}, err
			}
		}
		return nil, fault.New("project/unknown", "project %q is not one of this host's", id)
	}
	view, err := h.projects.Look(ctx, project.Projects, &loomv1.Query{Project: id})
	if err != nil {
		return nil, err
	}
	if len(view.Projects) != 1 {
		return nil, fault.New("project/unknown", "project %q is not registered", id)
	}
	return view.Projects[0], nil
}

// forgetSaved gives up the saved work of a project's executions that ended long ago,
// and of the oldest where there are many. What an execution that runs may still
// take up is kept.
func (h *Host) forgetSaved(ctx context.Context, id string) {
	repo, err := h.repositoryOf(ctx, id)
	if err != nil {
		return // it is not on this host
	}
	saved, err := repo.Workspaces.Saved(ctx)
	if err != nil || len(saved) == 0 {
		return
	}
	ends, err := h.projection.Ends(ctx, saved)
	if err == nil {
		err = repo.Workspaces.Forget(ctx, outlived(ends, time.Now())...)
	}
	if err != nil && ctx.Err() == nil {
		h.log.Warn("saved work that is too old is not given up", "project", id, "error", err)
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

// diskUse returns what each project has on this host's disk, measured at most so
// long ago.
func (h *Host) diskUse(ctx context.Context, within time.Duration) []*loomv1.ProjectDisk {
	h.disk.mu.Lock()
	fresh, none := time.Since(h.disk.at) < within, h.disk.at.IsZero()
	h.disk.mu.Unlock()
	if !fresh {
		h.measure(ctx, none)
	}
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	var list []*loomv1.ProjectDisk
	for _, d := range h.disk.figures {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *loomv1.ProjectDisk) int { return strings.Compare(a.Project, b.Project) })
	return list
}

// measure adds up what lies in the data directory, by project. While another removes
// or measures, it waits for that or leaves the figures of before as they are.
func (h *Host) measure(ctx context.Context, wait bool) {
	if wait {
		h.disk.one.Lock()
	} else if !h.disk.one.TryLock() {
		return
	}
	defer h.disk.one.Unlock()
	at, figures := time.Now(), map[string]*loomv1.ProjectDisk{}
	of := func(id string) *loomv1.ProjectDisk {
		if figures[id] == nil {
			figures[id] = &loomv1.ProjectDisk{Project: id, Limit: h.projectDisk(), MeasuredAt: timestamppb.New(at)}
		}
		return figures[id]
	}
	for _, id := range h.known.All() {
		d := of(id)
		d.Repository = sizeOfTree(ctx, h.dir.Path("git", "repos", id+".git"))
		d.Caches = sizeOfTree(ctx, h.dir.Path("caches", id))
		d.Setups = sizeOfTree(ctx, h.dir.Path("setups", id))
		d.Checkouts = h.checkouts(ctx, id)
	}
	here := h.worktrees()
	ends, err := h.projection.Ends(ctx, here)
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
		d.WorktreeBytes += sizeOfTree(ctx, h.dir.Path("git", "worktrees", execution)) + sizeOfTree(ctx, h.dir.Path("git", "index", execution))
	}
	for _, d := range figures {
		d.Total = d.Repository + d.Caches + d.Setups + d.Checkouts + d.WorktreeBytes
		h.trim(ctx, d)
	}
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.disk.figures, h.disk.at = figures, at
}

// trim removes kept checkouts of a project: those that nobody has wanted for some
// time, and all of them where the project has more than half of its disk.
func (h *Host) trim(ctx context.Context, d *loomv1.ProjectDisk) {
	if h.worked == nil {
		return
	}
	gone, err := h.worked.Trim(d.Project, d.Total > d.Limit/2)
	if err != nil {
		h.log.Warn("a kept checkout is not removed", "project", d.Project, "error", err)
	}
	if gone == 0 {
		return
	}
	was := d.Checkouts
	d.Checkouts = h.checkouts(ctx, d.Project)
	d.Total += d.Checkouts - was
}

// checkouts is what stages and kept checkouts of a project take.
func (h *Host) checkouts(ctx context.Context, id string) uint64 {
	return sizeOfTree(ctx, h.dir.Path("git", "committer", id)) + sizeOfTree(ctx, h.dir.Path("scratch", "pool", id))
}

func (h *Host) projectDisk() uint64 {
	if h.config.ProjectDisk == 0 {
		return DefaultProjectDisk
	}
	return h.config.ProjectDisk
}

// roomFor returns data/project-full when a project has all of the disk that it
// may have on this host. It is asked before work begins; work under way goes on.
func (h *Host) roomFor(id string) error {
	h.disk.mu.Lock()
	d := h.disk.figures[id]
	h.disk.mu.Unlock()
	if d == nil || d.Total < d.Limit {
		return nil
	}
	return fault.New("data/project-full", "project %q has %s of the %s that it may have on the disk of this host: %s of %d worktrees, %s of its repository, %s of caches, %s of setups, %s of checkouts",
		id, mebibytes(d.Total), mebibytes(d.Limit), mebibytes(d.WorktreeBytes), d.Worktrees, mebibytes(d.Repository), mebibytes(d.Caches), mebibytes(d.Setups), mebibytes(d.Checkouts)).
		At("project "+id).Want("%s", h.makeRoom(d))
}

// makeRoom says what to remove: the largest part.
func (h *Host) makeRoom(d *loomv1.ProjectDisk) string {
	most := max(d.WorktreeBytes, d.Repository, d.Caches, d.Setups, d.Checkouts)
	raise := "or start the host with a higher --project-disk"
	switch most {
	case d.Caches:
		return fmt.Sprintf("remove %s, which commands fill again, %s", h.dir.Path("caches", d.Project), raise)
	case d.Setups:
		return fmt.Sprintf("remove %s, which is made again, %s", h.dir.Path("setups", d.Project), raise)
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
