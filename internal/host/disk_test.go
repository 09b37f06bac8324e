package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ended has one bead worked on by somebody who finds nothing to mend, and returns
// its execution when that is over.
func ended(ctx context.Context, t *testing.T, c *client.Client, goal string) string {
	t.Helper()
	filed, err := c.Submit(ctx, &loomv1.Submission{Process: "auto-bug-workflow", Project: "shop", Goal: goal})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Follow(ctx, &loomv1.NoticesRequest{Project: "shop", Bead: filed.Bead}, true, func(n *loomv1.Notice) error {
		if n.Event.GetExecutionEnded() != nil {
			return context.Canceled
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		t.Fatalf("the execution never ended: %v", err)
	}
	return filed.Execution
}

func quickConfig(t *testing.T) Config {
	t.Helper()
	repository := filepath.Join(t.TempDir(), "shop")
	if err := git.Create(t.Context(), repository, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
		t.Fatal(err)
	}
	return Config{
		Data: t.TempDir(), CEOKey: filepath.Join(t.TempDir(), "ceo.nk"), Projects: []Project{{ID: "shop", Repository: repository}}, Unsandboxed: true,
		Model: scripted.New("quick", func(*model.Request) (*model.Response, error) {
			return &model.Response{Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
				Tool: turn.FinishName, Arguments: `{"status":"success","summary":"nothing is wrong","notes":"","fields":{"severity":"none","specialist":"","check":""}}`,
			}}}, nil
		}),
	}
}

// TestREAL04_WorktreesGoWithTheirWork stops a host, leaves it the worktree of work
// that has ended and one of nobody knows whom, and starts it again: the first goes
// by itself, the second stays. What is left is shown, and where it is all that the
// project may have, new work is refused before it begins.
func TestREAL04_WorktreesGoWithTheirWork(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := quickConfig(t)
	begin := func() (*Host, *client.Client) {
		h, err := Start(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		nc, err := h.Connect("operator")
		if err != nil {
			t.Fatal(err)
		}
		return h, client.New(nc)
	}
	h, ops := begin()
	execution := ended(ctx, t, ops, "look at it")
	repo, err := h.repositoryOf(ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	ops.Close()
	h.Stop(context.Background())

	for _, id := range []string{execution, "other-1-x1"} { // as a host leaves it that dies at the end of the work
		if _, err := repo.Workspaces.Open(ctx, id, "b1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(c.Data, "caches", "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Data, "caches", "shop", "much"), make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Projects, c.ProjectDisk = nil, 3<<20
	h, ops = begin()
	defer h.Stop(context.Background())
	defer ops.Close()
	for ctx.Err() == nil && slices.Contains(h.worktrees(), execution) {
		h.tidy(ctx)
	}
	if got := h.worktrees(); !slices.Equal(got, []string{"other-1-x1"}) {
		t.Errorf("worktrees after the restart: %q, want that of nobody knows whom alone", got)
	}
	h.diskUse(ctx, 0)
	said, err := ops.Host(ctx, &loomv1.HostRequest{})
	if err != nil || len(said.Disk) != 1 || said.Disk[0].Project != "shop" || said.Disk[0].Caches != 3<<20 || said.Disk[0].Repository == 0 || said.Disk[0].Total < said.Disk[0].Caches {
		t.Fatalf("the host says of its disk %v, %v", said.GetDisk(), err)
	}
	_, err = ops.Submit(ctx, &loomv1.Submission{Project: "shop", Goal: "more"})
	if fault.Code(err) != "data/project-full" || fault.Status(err) != fault.Unavailable {
		t.Errorf("over the limit: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(c.Data, "caches", "shop")); err != nil {
		t.Fatal(err)
	}
	for h.diskUse(ctx, 0)[0].Caches > 0 && ctx.Err() == nil {
	}
	ended(ctx, t, ops, "there is room again")
}

// TestREAL04_TheFirstFiguresAreWaitedFor says nothing of a disk before something was
// measured: whoever asks first waits for that, even while work is removed.
func TestREAL04_TheFirstFiguresAreWaitedFor(t *testing.T) {
	h, err := Start(t.Context(), quickConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Stop(context.Background())
	h.disk.one.Lock()
	h.disk.mu.Lock()
	h.disk.figures, h.disk.at = nil, time.Time{}
	h.disk.mu.Unlock()
	use := make(chan []*loomv1.ProjectDisk)
	go func() { use <- h.diskUse(t.Context(), measureAfter) }()
	for range 1000 { // it may come to its answer, if it does not wait
		runtime.Gosched()
	}
	h.disk.one.Unlock()
	if list := <-use; len(list) != 1 || list[0].Project != "shop" {
		t.Errorf("the first figures are %v", list)
	}
}

// TestREAL04_WhatIsSavedIsBounded says whose saved work is given up: by age, by
// number, and never of work that somebody may still take up.
func TestREAL04_WhatIsSavedIsBounded(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	old := noon.Add(-savedFor)
	ends := map[string]projection.End{
		"runs":   {},
		"young":  {At: old.Add(time.Second)},
		"old":    {At: old}, // at that very instant
		"older":  {At: old.Add(-time.Hour)},
		"wanted": {At: old.Add(-time.Hour), Wanted: true},
	}
	if got := outlived(ends, noon); !slices.Equal(got, []string{"old", "older"}) {
		t.Errorf("outlived: %q, want old and older", got)
	}
	many := map[string]projection.End{}
	for n := range savedMost + 2 {
		many[fmt.Sprintf("x%d", n)] = projection.End{At: noon.Add(-time.Duration(n) * time.Second)}
	}
	if got := outlived(many, noon); !slices.Equal(got, []string{fmt.Sprintf("x%d", savedMost), fmt.Sprintf("x%d", savedMost+1)}) {
		t.Errorf("of %d young ones %q are given up, want the two oldest", len(many), got)
	}
}
