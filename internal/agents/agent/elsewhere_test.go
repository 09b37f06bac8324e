package agent_test

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/agent"
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
