package agent_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/place/sandbox"
	"github.com/loomrun/loom/internal/place/setups"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// keptBench is a bench whose host keeps what setups have made. Each time that this
// one runs it makes something else.
func keptBench(t *testing.T, policy scripted.Policy) (b *bench, setUp func(*loomv1.Brief) *loomv1.Brief, said func(id string) string) {
	t.Helper()
	if len(sandbox.Check().Missing) > 0 {
		t.Log("NO SANDBOX ON THIS MACHINE: without one nothing is kept of a setup")
		return nil, nil, nil
	}
	b = newBench(t, policy, git.File{Path: ".gitignore", Data: []byte("made/\n")}, git.File{Path: "lock", Data: []byte("1\n")},
		git.File{Path: ".git/hooks/pre-commit", Data: []byte("#!/bin/sh\ncat made/run\n"), Exec: true})
	b.worker.Exec = func(string, roles.Role, string) tool.Policy { return tool.Policy{Contain: contain} }
	var err error
	if b.worker.Setups, err = setups.Open(filepath.Join(t.TempDir(), "setups")); err != nil {
		t.Fatal(err)
	}
	setUp = func(br *loomv1.Brief) *loomv1.Brief {
		br.Project.Setup = []string{"mkdir -p made && cp lock made/lock", "od -An -N8 -tx8 /dev/urandom > made/run"}
		br.Project.SetupReads, br.Project.SetupMakes = []string{"lock"}, []string{"made"}
		return br
	}
	said = func(id string) string {
		for _, s := range b.seat.turn.Steps {
			if c := s.GetTool(); c.GetCall().GetId() == id {
				data, err := b.worker.Blobs.Get(t.Context(), c.Result.Output)
				if err != nil {
					t.Fatal(err)
				}
				return string(data)
			}
		}
		return ""
	}
	return b, setUp, said
}

// runOf is what the setup left that made what a command printed.
func runOf(t *testing.T, output string) string {
	t.Helper()
	for line := range strings.SplitSeq(output, "\n") {
		if line = strings.TrimSpace(line); len(line) == 16 && !strings.Contains(line, " ") {
			return line
		}
	}
	t.Fatalf("no run of the setup is named in %q", output)
	return ""
}

// TestREAL03_AKeptResultIsNobodysToWrite has an author overwrite what its worktree
// has of a kept result, and what it would be kept in. Hooks and verification have the
// result that the runtime made of the target.
func TestREAL03_AKeptResultIsNobodysToWrite(t *testing.T) {
	longtest.Skip(t)
	read := map[string]any{"command": "cat made/run made/lock"}
	poison := map[string]any{"command": "cat made/run; for f in made/run made/lock; do echo poison > $f; done; echo x > made/planted; find / -path '*setups*' -type f -name '[0-9a-f]*' 2>/dev/null -exec sh -c 'echo poison > {}' ';'; echo new > new.txt"}
	b, setUp, said := keptBench(t, script(says(call("shell", poison)), finish("success")))
	if b == nil {
		return
	}
	out := b.must(setUp(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)))
	if out.Status != success || len(out.Change.GetFiles()) != 1 {
		t.Fatalf("the change is %v", out)
	}
	if !strings.Contains(said("setup-1"), "[kept result ") || said("setup-2") != "" {
		t.Errorf("the author's setup: %q", said("setup-1"))
	}
	first := runOf(t, said("c1-1"))

	commit := setUp(brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT))
	commit.Execution.Change = out.Change
	b.seat = &seat{token: 7}
	made := b.must(commit)
	if made.Status != success || !strings.Contains(made.Notes, "setup for the hooks\nkept result ") || runOf(t, made.Notes) != first {
		t.Fatalf("the commit: %v", made)
	}

	verify := setUp(brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY))
	verify.Execution.Candidate, verify.Execution.Checks = made.Candidate, []string{"test ! -e made/planted && grep -q 1 made/lock && cat made/run && echo poison > made/run"}
	b.seat = &seat{}
	b.worker.Model = b.asks.count(scripted.New("qa", script(says(call("shell", read)), finish("success"))))
	if out := b.must(verify); out.Status != success || !out.Checks[0].Passed || runOf(t, said("check-1")) != first || runOf(t, said("c1-1")) != first {
		t.Errorf("the verification: %v, %q", out, said("c1-1"))
	}
	if !strings.Contains(said("setup-look-1"), "[kept result ") {
		t.Errorf("the second checkout: %q", said("setup-look-1"))
	}
}

// TestREAL03_AChangedLockFileIsSetUpForReal has an author change what the setup
// reads: from then on its own setup runs, in each of its checkouts, and what that
// leaves serves nobody, until the change has landed.
func TestREAL03_AChangedLockFileIsSetUpForReal(t *testing.T) {
	longtest.Skip(t)
	b, setUp, said := keptBench(t, script(says(call("file_write", map[string]any{"path": "lock", "content": "2\n"})), finish("success")))
	if b == nil {
		return
	}
	out := b.must(setUp(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)))
	commit := setUp(brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT))
	commit.Execution.Change = out.Change
	b.seat = &seat{token: 7}
	made := b.must(commit)
	if made.Status != success || strings.Contains(made.Notes, "kept result") {
		t.Fatalf("the commit: %v", made)
	}
	runs := map[string]bool{runOf(t, made.Notes): true}

	verify := setUp(brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY))
	verify.Execution.Candidate, verify.Execution.Checks = made.Candidate, []string{"grep 2 made/lock && cat made/run"}
	again := func(kept bool) {
		t.Helper()
		b.seat = &seat{}
		b.worker.Model = b.asks.count(scripted.New("qa", script(says(call("shell", map[string]any{"command": "cat made/run"})), finish("success"))))
		if out := b.must(proto.CloneOf(verify)); out.Status != success || !out.Checks[0].Passed {
			t.Fatalf("the verification: %v", out)
		}
		for _, id := range []string{"setup-1", "setup-look-1"} {
			if strings.Contains(said(id), "[kept result ") != kept {
				t.Errorf("%s: %q, want a kept result: %t", id, said(id), kept)
			}
		}
		runs[runOf(t, said("check-1"))], runs[runOf(t, said("c1-1"))] = true, true
	}
	again(false)
	if len(runs) != 3 {
		t.Errorf("the setup made %d results, want one for each of three checkouts", len(runs))
	}

	land := setUp(brief("engineering-manager", loomv1.NodeKind_NODE_KIND_LAND))
	land.Execution.Candidate = made.Candidate
	b.seat = &seat{token: 8}
	if out := b.must(land); out.Status != success {
		t.Fatalf("the landing: %v", out)
	}
	again(true)
	if len(runs) != 4 {
		t.Errorf("the setup made %d results, want one more that serves both checkouts", len(runs))
	}
}

// TestREAL02_ManyAttemptsMakeOneResult has several begin at once.
func TestREAL02_ManyAttemptsMakeOneResult(t *testing.T) {
	longtest.Skip(t)
	b, setUp, _ := keptBench(t, script(finish("success")))
	if b == nil {
		return
	}
	var log bytes.Buffer
	b.worker.Logger = slog.New(slog.NewTextHandler(&log, nil))
	var all sync.WaitGroup
	for range 4 {
		br := setUp(brief("qa-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
		all.Go(func() {
			if out, err := b.worker.Work(t.Context(), br, &seat{}); err != nil || out.Status != success {
				t.Errorf("%v, %v", out, err)
			}
		})
	}
	all.Wait()
	if n := strings.Count(log.String(), "the result of a setup is kept"); n != 1 {
		t.Errorf("%d results were made:\n%s", n, log.String())
	}
}

// waiting is a seat that looks around when the commit lock is asked for.
type waiting struct {
	*seat
	look func()
}

func (w waiting) AcquireLock(ctx context.Context) (*loomv1.LockClaim, error) {
	w.look()
	return w.seat.AcquireLock(ctx)
}

// TestREAL02_TheCommitLockWaitsForNoInstallation: what is kept for the hooks is made
// before the lock is asked for.
func TestREAL02_TheCommitLockWaitsForNoInstallation(t *testing.T) {
	longtest.Skip(t)
	b, setUp, _ := keptBench(t, script(says(call("file_write", map[string]any{"path": "new.txt", "content": "new\n"})), finish("success")))
	if b == nil {
		return
	}
	kept := b.worker.Setups
	b.worker.Setups = nil
	out := b.must(setUp(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)))
	b.worker.Setups = kept
	commit := setUp(brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT))
	commit.Execution.Change = out.Change
	var log bytes.Buffer
	b.worker.Logger = slog.New(slog.NewTextHandler(&log, nil))
	before := ""
	made, err := b.worker.Work(t.Context(), commit, waiting{&seat{token: 7}, func() { before = log.String() }})
	if err != nil || made.Status != success || !strings.Contains(made.Notes, "kept result ") {
		t.Fatalf("the commit: %v, %v", made, err)
	}
	const line = "the result of a setup is kept"
	if strings.Count(before, line) != 1 || strings.Count(log.String(), line) != 1 {
		t.Errorf("before the lock was asked for: %s\nin all: %s", before, log.String())
	}
}

// TestREAL02_APhaseBesideOthersTakesNothingAway has a second author begin in the
// worktree in which a first one works: what the setup has made stays as it is there.
func TestREAL02_APhaseBesideOthersTakesNothingAway(t *testing.T) {
	longtest.Skip(t)
	begun, done := make(chan struct{}), make(chan struct{})
	b, setUp, said := keptBench(t, func(r *model.Request) (*model.Response, error) {
		if answers(r) == 0 {
			return says(call("shell", map[string]any{"command": "echo own > made/own"})), nil
		}
		close(begun)
		<-done
		return finish("failure"), nil
	})
	if b == nil {
		return
	}
	b.worker.Models = map[string]model.Provider{"web-designer": scripted.New("second", func(r *model.Request) (*model.Response, error) {
		if answers(r) == 0 {
			return says(call("shell", map[string]any{"command": "cat made/own made/lock"})), nil
		}
		return finish("failure"), nil
	})}
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := b.worker.Work(t.Context(), setUp(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)), &seat{}); err != nil {
			t.Error(err)
		}
	})
	<-begun
	second := setUp(brief("web-designer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	second.Attempt.Id = "shop-1-x1-a2"
	b.must(second)
	close(done)
	first.Wait()
	if !strings.Contains(said("setup-1"), "which is here for others") || !strings.Contains(said("c1-1"), "own\n1\n") {
		t.Errorf("the second author: %q, %q", said("setup-1"), said("c1-1"))
	}
	second.Attempt.Id = "shop-1-x1-a3"
	b.seat = &seat{}
	if b.must(second); strings.Contains(said("setup-1"), "for others") || strings.Contains(said("c1-1"), "own\n") {
		t.Errorf("who comes after both: %q, %q", said("setup-1"), said("c1-1"))
	}
}

// TestREAL02_WithoutASandboxNothingIsKept: a command could write it.
func TestREAL02_WithoutASandboxNothingIsKept(t *testing.T) {
	longtest.Skip(t)
	b, setUp, said := keptBench(t, script(finish("success")))
	if b == nil {
		return
	}
	dir := filepath.Join(t.TempDir(), "setups")
	var err error
	if b.worker.Setups, err = setups.Open(dir); err != nil {
		t.Fatal(err)
	}
	b.worker.Exec = func(string, roles.Role, string) tool.Policy { return tool.Policy{Allow: true} }
	if out := b.must(setUp(brief("qa-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))); out.Status != success || strings.Contains(said("setup-1"), "kept") {
		t.Errorf("%v: %q", out, said("setup-1"))
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("there is something in the directory of kept results: %v", err)
	}
}
