package agent_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// move has the bench go on as another host: with its own data directory, over
// the same repository, journal and blobs.
func (b *bench) move() {
	b.t.Helper()
	data := b.t.TempDir()
	repo := &agent.Repository{Source: b.repo.Source}
	var err error
	if repo.Workspaces, err = git.NewWorkspaces(data, "shop", "main", b.repo.Source); err != nil {
		b.t.Fatal(err)
	}
	if repo.Committer, err = git.NewCommitter(data, "shop", b.repo.Source); err != nil {
		b.t.Fatal(err)
	}
	b.repo = repo
}

// TestACT04_AnotherHostGoesOnWithTheTurn cuts a turn at every step and lets a
// host go on that has none of the first one's files.
func TestACT04_AnotherHostGoesOnWithTheTurn(t *testing.T) {
	longtest.Skip(t)
	steps := func() int {
		b := newTurn(t)
		b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
		return b.seat.calls
	}()
	for at := 1; at <= steps; at++ {
		for _, durable := range []bool{false, true} {
			t.Run(fmt.Sprintf("ACT04 at %d of %d, durable %t", at, steps, durable), func(t *testing.T) {
				b := newTurn(t)
				b.worker.Shared = func() bool { return true }
				b.seat.cutAt, b.seat.durable = at, durable
				br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
				if _, err := b.work(br); !errors.Is(err, errCut) {
					t.Fatalf("the cut turn returns %v", err)
				}
				b.move()
				br.Turn = proto.CloneOf(b.seat.turn)
				out := b.must(br)
				if out.Status != success || out.Change == nil {
					t.Fatalf("outcome %v", out)
				}
				for _, command := range []string{"first", "second"} {
					if n := b.ran(command); n > 1 {
						t.Errorf("command %q ran %d times", command, n)
					}
				}
				b.move() // the committer is on a third
				b.seat = &seat{token: 7}
				commit := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT)
				commit.Execution.Change = out.Change
				commit.Execution.Approved = &loomv1.ApprovedChange{Decision: "d9", PatchDigest: out.Change.PatchDigest}
				commit.Execution.Nodes["work"].History = []*loomv1.Attempt{{Id: "shop-1-x1-a1", Role: "backend-engineer", Outcome: out}}
				if out := b.must(commit); out.Status != success || out.Candidate == nil {
					t.Errorf("the commit on a third host: %v", out)
				}
			})
		}
	}
}

// TestPROC05_PhasesAreWorkedOnAtAnyHost has three hosts work on phases of one execution, the
// second while the first has not ended: what one proposes has what the others have left, and
// who judges it needs none of their files.
func TestPROC05_PhasesAreWorkedOnAtAnyHost(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, nil)
	b.worker.Shared = func() bool { return true }
	phase := func(node, file string, during func()) *loomv1.Outcome {
		br := brief("implementer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Attempt.Node, br.Attempt.Id, br.Node.Id = node, "shop-1-x1-"+node, node
		br.Node.Phase = &loomv1.Phase{Deliverables: []string{file}}
		b.seat = &seat{}
		b.worker.Model = scripted.New("test", func(r *model.Request) (*model.Response, error) {
			if answers(r) == 0 {
				return says(call("file_write", map[string]any{"path": file, "content": node + "\n"})), nil
			}
			if during != nil {
				during()
			}
			return finish("success"), nil
		})
		return b.must(br)
	}
	var second *loomv1.Outcome
	first := phase("one", "one.md", func() {
		here, at, asks := b.repo, b.seat, b.worker.Model
		b.move()
		second = phase("two", "two.md", nil)
		b.repo, b.seat, b.worker.Model = here, at, asks
	})
	b.move()
	third := phase("three", "three.md", nil)
	for out, want := range map[*loomv1.Outcome][]string{second: {"one.md", "two.md"}, first: {"one.md", "two.md"}, third: {"one.md", "three.md", "two.md"}} {
		var files []string
		for _, f := range out.GetChange().GetFiles() {
			files = append(files, f.Path)
		}
		if !slices.Equal(files, want) {
			t.Errorf("%s proposes %q, want %q", out.GetSummary(), files, want)
		}
		b.move()
		if err := b.repo.Workspaces.Checkout(t.Context(), out.GetChange().GetCommit(), filepath.Join(t.TempDir(), "look")); err != nil {
			t.Error(err)
		}
	}
}
