package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
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
	longtest.Skip(t)
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
	for ctx.Err() == nil && slices.Contains(h.disk.Worktrees(), execution) {
		h.disk.Tidy(ctx)
	}
	if got := h.disk.Worktrees(); !slices.Equal(got, []string{"other-1-x1"}) {
		t.Errorf("worktrees after the restart: %q, want that of nobody knows whom alone", got)
	}
	h.disk.Use(ctx, 0)
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
	for h.disk.Use(ctx, 0)[0].Caches > 0 && ctx.Err() == nil {
	}
	ended(ctx, t, ops, "there is room again")
}
