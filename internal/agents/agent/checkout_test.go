package agent_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// TestREAL04_ALookCostsWhatDiffers has somebody look twice at a repository and an
// author work on it: the checkout of the first serves the second and is the author's
// worktree, and comes back from that, but only where nothing that was started in it
// can live on.
func TestREAL04_ALookCostsWhatDiffers(t *testing.T) {
	longtest.Skip(t)
	contain := func(context.Context, string, []string, []string, []string) (*exec.Cmd, error) {
		return nil, exec.ErrNotFound
	}
	for name, tt := range map[string]struct {
		policy tool.Policy
		kept   int
	}{
		"in a sandbox":                   {tool.Policy{Contain: contain}, 1},
		"on the machine as it is":        {tool.Policy{Allow: true}, 0},
		"where nothing may start at all": {tool.Policy{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, script(finish("success")))
			b.worker.Exec = func(string, roles.Role, string) tool.Policy { return tt.policy }
			for range 2 {
				b.seat = &seat{}
				b.must(brief("qa-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
			}
			kept, err := filepath.Glob(filepath.Join(b.worker.Scratch, "pool", "*", "*"))
			if err != nil || len(kept) != tt.kept {
				t.Errorf("%d checkouts are kept (%v), want %d", len(kept), err, tt.kept)
			}
			b.seat, b.worker.Model = &seat{}, b.asks.count(scripted.New("test", writes()))
			b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
			if kept, _ = filepath.Glob(filepath.Join(b.worker.Scratch, "pool", "*", "*")); len(kept) != 0 {
				t.Errorf("%d checkouts are kept while an author has one", len(kept))
			}
			if gone, err := b.worker.Retire(t.Context(), b.repo, "shop-1-x1", nil); !gone || err != nil {
				t.Fatalf("gone %t, %v", gone, err)
			}
			if kept, _ = filepath.Glob(filepath.Join(b.worker.Scratch, "pool", "*", "*")); len(kept) != tt.kept {
				t.Errorf("%d checkouts are kept after the author's work, want %d", len(kept), tt.kept)
			}
		})
	}
}

// TestREAL04_EveryPlaceOfASparseProcessIsSparse takes a change the whole way in a
// process that names a directory: the author's worktree, the stage of the hooks, the
// checks of the verification and what the verifier looks at have that and what the
// change touches, the author is told so, and all else is on the target afterwards.
func TestREAL04_EveryPlaceOfASparseProcessIsSparse(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, nil,
		git.File{Path: "cmd/go/main.go", Data: []byte("package main\n")},
		git.File{Path: "src/os/file.go", Data: []byte("package os\n")},
		git.File{Path: "doc/read.txt", Data: []byte("read\n")})
	here := "test -e a.txt && test -e cmd/go/main.go && ! test -e doc && "
	hook := filepath.Join(b.top, ".git", "hooks", "pre-commit")
	if err := os.MkdirAll(filepath.Dir(hook), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\n"+here+"test -e src/os/file.go && echo hook >> "+filepath.Join(b.data, "seen")+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	step := func(br *loomv1.Brief, answers ...*model.Response) *loomv1.Outcome {
		t.Helper()
		br.Checkout = &loomv1.Checkout{Sparse: []string{"cmd/go"}}
		b.seat, b.worker.Model = &seat{token: grant}, b.asks.count(scripted.New("test", script(answers...)))
		out := b.must(br)
		if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			t.Fatalf("%s: %s %s %s", br.Node.Kind, out.Code, out.Summary, out.Notes)
		}
		return out
	}
	made := step(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED),
		says(call("file_read", map[string]any{"path": "src/os/file.go"})),
		says(call("shell", map[string]any{"command": here + "! test -e src && mkdir -p src/os && git show HEAD:src/os/file.go > src/os/file.go && echo '// more' >> src/os/file.go"})),
		finish("success"))
	if said := b.text(b.seat.turn.Prompt); !strings.Contains(said, "sparse checkout") || !strings.Contains(said, "cmd/go") {
		t.Errorf("the author is not told what is here:\n%s", said)
	}
	commit := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT)
	commit.Execution.Change = made.Change
	candidate := step(commit, finish("success")).Candidate
	qa := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY)
	qa.Execution.Change, qa.Execution.Candidate = made.Change, candidate
	qa.Execution.Checks = []string{here + "grep more src/os/file.go"}
	out := step(qa, says(call("shell", map[string]any{"command": here + "test -e src/os/file.go"})), finish("success"))
	if len(out.Checks) != 1 || !out.Checks[0].Passed {
		t.Errorf("checks %v", out.Checks)
	}
	for _, s := range b.seat.turn.Steps {
		if c := s.GetTool(); c.GetCall().GetTool() == "shell" && c.Result.GetExitCode() != 0 {
			t.Errorf("%s ended with %d", c.Call.Arguments, c.Result.ExitCode)
		}
	}
	land := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_LAND)
	land.Execution.Change, land.Execution.Candidate = made.Change, candidate
	step(land, finish("success"))
	list, err := exec.CommandContext(t.Context(), "git", "-C", b.top, "ls-tree", "-r", "--name-only", "main").Output()
	if err != nil || string(list) != "a.txt\ncmd/go/main.go\ndoc/read.txt\nsrc/os/file.go\n" {
		t.Errorf("the target has %q (%v)", list, err)
	}
	if seen := read(t, b.data, "seen"); seen != "hook\n" {
		t.Errorf("the hook has run as %q", seen)
	}
}
