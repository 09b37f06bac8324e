package agent_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// TestREAL02_EveryCheckoutIsSetUp has a project whose code runs only where its
// setup has run: in the author's worktree, in the checkout that required checks
// run in, in that of the one who verifies, and where hooks run.
func TestREAL02_EveryCheckoutIsSetUp(t *testing.T) {
	longtest.Skip(t)
	setUp := func(br *loomv1.Brief) *loomv1.Brief {
		br.Project.Setup = []string{"mkdir -p made && cp a.txt made/a.txt"}
		return br
	}
	needs := map[string]any{"command": "cat made/a.txt"}
	write := says(call("shell", needs), call("file_write", map[string]any{"path": "new.txt", "content": "new\n"}))
	b := newBench(t, script(write, finish("success")), git.File{Path: ".gitignore", Data: []byte("made/\n")},
		git.File{Path: ".git/hooks/pre-commit", Data: []byte("#!/bin/sh\ncat made/a.txt\n"), Exec: true})
	out := b.must(setUp(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)))
	if out.Status != success || len(out.Change.GetFiles()) != 1 {
		t.Fatalf("the change is %v: what the setup made must not be in it", out)
	}
	ran := map[string]int32{}
	for _, s := range b.seat.turn.Steps {
		if c := s.GetTool(); c != nil {
			ran[c.Call.Id] = c.Result.ExitCode
		}
	}
	if code, recorded := ran["setup-1"]; !recorded || code != 0 || ran["c1-1"] != 0 {
		t.Errorf("the worktree's steps ended with %v, want the setup and what needs it among them, with 0", ran)
	}

	commit := setUp(brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT))
	commit.Execution.Change = out.Change
	b.seat = &seat{token: 7}
	made := b.must(commit)
	if made.Status != success || !strings.Contains(made.Notes, "hook pre-commit passed\none") {
		t.Fatalf("the commit: %v", made)
	}

	verify := setUp(brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY))
	verify.Execution.Candidate, verify.Execution.Checks = made.Candidate, []string{"cat made/a.txt"}
	b.seat = &seat{}
	b.worker.Model = b.asks.count(scripted.New("qa", script(says(call("shell", needs)), finish("success"))))
	if out := b.must(verify); out.Status != success || !out.Checks[0].Passed {
		t.Errorf("the verification: %v", out)
	}
}

// TestREAL02_TheSetupAloneHasRegistries has a project that names one: its setup
// runs with what reaches it, wherever it runs, and nothing else does.
func TestREAL02_TheSetupAloneHasRegistries(t *testing.T) {
	longtest.Skip(t)
	setUp := func(br *loomv1.Brief) *loomv1.Brief {
		br.Project.Setup, br.Project.SetupRegistries = []string{"mkdir -p made && echo ${WAY-no way} >> made/by"}, []string{"registry.example"}
		return br
	}
	needs := map[string]any{"command": "echo ${WAY-no way} here; cat made/by"}
	write := says(call("shell", needs), call("file_write", map[string]any{"path": "new.txt", "content": "new\n"}))
	b := newBench(t, script(write, finish("success")), git.File{Path: ".gitignore", Data: []byte("made/\n")},
		git.File{Path: ".git/hooks/pre-commit", Data: []byte("#!/bin/sh\necho ${WAY-no way} in the hook; cat made/by\n"), Exec: true})
	setups := 0
	b.worker.ExecSetup = func(p *loomv1.ProjectConfig, _ roles.Role, _ string) tool.Policy {
		told := func() []string {
			setups++
			return []string{"asked for " + p.SetupRegistries[0] + " once"}
		}
		return tool.Policy{Allow: true, Env: []string{"WAY=a way"}, Told: told}
	}
	out := b.must(setUp(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)))
	said := map[string]string{}
	for _, s := range b.seat.turn.Steps {
		if c := s.GetTool(); c != nil {
			data, err := b.worker.Blobs.Get(t.Context(), c.Result.Output)
			if err != nil {
				t.Fatal(err)
			}
			said[c.Call.Id] = string(data)
		}
	}
	if !strings.Contains(said["setup-1"], "[asked for registry.example once]") || !strings.Contains(said["c1-1"], "no way here\na way\n") || strings.Contains(said["c1-1"], "asked for") {
		t.Errorf("the steps say %q", said)
	}
	commit := setUp(brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT))
	commit.Execution.Change = out.Change
	b.seat = &seat{token: 7}
	made := b.must(commit)
	if !strings.Contains(made.Notes, "setup for the hooks\nasked for registry.example once\n") || !strings.Contains(made.Notes, "no way in the hook\n") {
		t.Fatalf("the commit: %v", made)
	}
	verify := setUp(brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY))
	verify.Execution.Candidate, verify.Execution.Checks = made.Candidate, []string{"test -z \"$WAY\" && grep 'a way' made/by"}
	b.seat = &seat{}
	b.worker.Model = b.asks.count(scripted.New("qa", script(says(call("shell", needs)), finish("success"))))
	if out := b.must(verify); out.Status != success || !out.Checks[0].Passed {
		t.Errorf("the verification: %v", out)
	}
	if setups != 4 {
		t.Errorf("%d setups were told of, want those of the worktree, the hooks and the two checkouts of the verification", setups)
	}
}

// TestREAL02_ASetupThatFailsIsNobodysAttempt tells what failed with its output,
// and asks no model.
func TestREAL02_ASetupThatFailsIsNobodysAttempt(t *testing.T) {
	longtest.Skip(t)
	for _, role := range []string{"backend-engineer", "qa-engineer"} {
		b := newBench(t, script(finish("success")))
		br := brief(role, loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Project.Setup = []string{"true", "echo the index is away; exit 3"}
		out := b.must(br)
		if out.Status != failure || out.Code != "setup/failed" || !strings.Contains(out.Notes, "the index is away") || len(b.asks.by) != 0 {
			t.Errorf("%s: %v, and the model was asked %d times", role, out, len(b.asks.by))
		}
	}
}

// A setup that changes what a change would have is told of by name, before a model
// is asked: its work would be in every change, and nobody's.
func TestREAL02_ASetupThatChangesFilesIsToldOf(t *testing.T) {
	longtest.Skip(t)
	for name, setup := range map[string]string{"a.txt": "echo more >> a.txt", "new.txt": "echo new > new.txt"} {
		b := newBench(t, script(finish("success")))
		br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Project.Setup = []string{"true", setup}
		out := b.must(br)
		if out.Status != failure || out.Code != "setup/failed" || !strings.Contains(out.Summary, `"`+name+`"`) || len(b.asks.by) != 0 {
			t.Errorf("%s: %v, and the model was asked %d times", setup, out, len(b.asks.by))
		}
	}
}

// Nor may the setup for the hooks change what was approved.
func TestREAL02_ASetupForHooksThatChangesFilesIsToldOf(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, script(says(call("file_write", map[string]any{"path": "new.txt", "content": "new\n"})), finish("success")),
		git.File{Path: ".git/hooks/pre-commit", Data: []byte("#!/bin/sh\nexit 0\n"), Exec: true})
	out := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	commit := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT)
	commit.Project.Setup, commit.Execution.Change = []string{"echo more >> a.txt"}, out.Change
	b.seat = &seat{token: 7}
	if made := b.must(commit); made.Status != failure || made.Code != "setup/failed" || !strings.Contains(made.Summary, `"a.txt"`) {
		t.Errorf("the commit: %v", made)
	}
}
