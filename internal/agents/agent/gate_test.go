package agent_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestREAL04_RequiredChecksRunBeforeASuccessIsTaken has an engineer claim success
// while the required check fails on its worktree: it is told, mends it, and only
// then its success is taken.
func TestREAL04_RequiredChecksRunBeforeASuccessIsTaken(t *testing.T) {
	var told string
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		switch answers(r) {
		case 1:
			told = r.Messages[len(r.Messages)-1].Text
			return says(call("file_write", map[string]any{"path": "b.txt", "content": "two\n"})), nil
		default:
			return finish("success"), nil
		}
	})
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Checks = []string{"true", "cat b.txt"}
	out := b.must(br)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || out.Change == nil {
		t.Fatalf("the outcome is %v", out)
	}
	for _, want := range []string{"failed (exit 1): cat b.txt", "your worktree"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model is told\n%s\nwithout %q", told, want)
		}
	}
	var gates []string
	for _, s := range b.seat.turn.Steps {
		if c := s.GetTool(); c.GetRuntime() {
			gates = append(gates, c.Call.Id)
		}
	}
	if got, want := strings.Join(gates, " "), "gate-1-1 gate-1-2 gate-3-1 gate-3-2"; got != want {
		t.Errorf("the gates were %s, want %s", got, want)
	}
	if !strings.Contains(b.text(b.seat.turn.Prompt), "cat b.txt") {
		t.Error("the prompt does not name the required checks")
	}
	var tried []string
	for _, c := range out.Checks {
		tried = append(tried, c.Command)
		if !c.Passed || c.ExitCode != 0 || c.Commit != "" || b.text(c.Output) == "" {
			t.Errorf("the outcome says of the check %v", c)
		}
	}
	if got, want := strings.Join(tried, "; "), strings.Join(br.Execution.Checks, "; "); got != want {
		t.Errorf("who approves is shown the checks %q, want those that were run: %q", got, want)
	}
}

// TestREAL04_WhatAGateLeavesIsNoPartOfTheChange has a required check that builds
// beside the sources and changes one, where nothing is ignored.
func TestREAL04_WhatAGateLeavesIsNoPartOfTheChange(t *testing.T) {
	b := newBench(t, script(says(call("file_write", map[string]any{"path": "b.txt", "content": "two\n"})), finish("success")))
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Checks = []string{"mkdir built && echo x > built/b.o && echo more >> b.txt"}
	out := b.must(br)
	var paths []string
	for _, f := range out.Change.GetFiles() {
		paths = append(paths, f.Path)
	}
	if got := strings.Join(paths, " "); got != "b.txt" {
		t.Errorf("the change has %q, want b.txt alone", got)
	}
	if diff := b.text(out.Change.GetDiff()); !strings.Contains(diff, "+two") || strings.Contains(diff, "more") {
		t.Errorf("the change is\n%s\nand should be what its author wrote", diff)
	}
}

// TestREAL04_AGateOutlivesAKill cuts the host off at every record of such a turn.
func TestREAL04_AGateOutlivesAKill(t *testing.T) {
	longtest.Skip(t)
	for at := 1; ; at++ {
		b := newBench(t, script(finish("success"), says(call("file_write", map[string]any{"path": "b.txt", "content": "two\n"})), finish("success")))
		br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Execution.Checks = []string{"cat b.txt"}
		b.seat.cutAt = at
		_, err := b.work(br)
		if err == nil {
			if at < 8 {
				t.Fatalf("the turn has only %d records", at)
			}
			return
		}
		br.Turn, b.seat.cutAt = b.seat.turn, 0
		if out := b.must(br); out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			t.Fatalf("cut off at record %d: %v", at, out)
		}
		for digest, n := range b.asks.by {
			if n > 2 {
				t.Errorf("cut off at record %d: request %.12s was made %d times", at, digest, n)
			}
		}
	}
}

// TestREAL04_AVerifierSeesThePatch has the patch in the first message, unless a
// required check has failed: then no model is asked.
func TestREAL04_AVerifierSeesThePatch(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		check string
		asked bool
	}{{"cat b.txt", true}, {"echo no such thing; exit 3", false}} {
		b := newBench(t, func(r *model.Request) (*model.Response, error) {
			if answers(r) == 0 && r.Messages[0].Role == model.RoleUser && !strings.Contains(r.Messages[0].Text, "## Patch") {
				return says(call("file_write", map[string]any{"path": "b.txt", "content": "two\n"})), nil
			}
			return finish("success"), nil
		})
		br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		made := b.must(br)
		commit := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT)
		commit.Execution.Change, b.seat.token = made.Change, 7
		candidate := b.must(commit)
		if candidate.Candidate == nil {
			t.Fatalf("no candidate: %v", candidate)
		}
		b.seat.turn, b.asks.last = nil, nil
		qa := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY)
		qa.Execution.Change, qa.Execution.Candidate, qa.Execution.Checks = made.Change, candidate.Candidate, []string{tt.check}
		out := b.must(qa)
		if asked := b.asks.last != nil; asked != tt.asked {
			t.Fatalf("with check %q the model was asked: %t, want %t", tt.check, asked, tt.asked)
		}
		if prompt := b.text(b.seat.turn.Prompt); !strings.Contains(prompt, "+two") {
			t.Errorf("the prompt has no patch:\n%s", prompt)
		}
		if !tt.asked && (out.Code != "verify/failed" || !strings.Contains(out.Notes, "no such thing") || out.Fields.Fields["fault"].GetStringValue() != "change") {
			t.Errorf("the outcome is %v", out)
		}
	}
}

// TestAGENT08_NestedInstructions reads those of the directories of the files at
// hand, 32 KiB together.
func TestAGENT08_NestedInstructions(t *testing.T) {
	b := newBench(t, script(finish("success")),
		git.File{Path: "CLAUDE.md", Data: []byte("at the top\n")},
		git.File{Path: "cart/AGENTS.md", Data: []byte("in the cart\n")},
		git.File{Path: "cart/sum/LOOM.md", Data: []byte("in the sum\n" + strings.Repeat("x", 40<<10))},
		git.File{Path: "cart/sum/sum.go", Data: []byte("package sum\n")},
		git.File{Path: "other/AGENTS.md", Data: []byte("elsewhere\n")})
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Bead.Description = "the panic is in cart/sum/sum.go, line 3"
	b.must(br)
	prompt := b.text(b.seat.turn.Prompt)
	for _, want := range []string{"CLAUDE.md:\n<data>\nat the top\n", "cart/AGENTS.md:\n<data>\nin the cart\n", "in the sum", "only the first "} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt has no %q", want)
		}
	}
	if strings.Contains(prompt, "elsewhere") {
		t.Error("the prompt has what is said of other files")
	}
	if len(prompt) > 40<<10 {
		t.Errorf("the prompt has %d bytes", len(prompt))
	}
}

// text returns the text of a blob.
func (b *bench) text(ref *loomv1.BlobRef) string {
	b.t.Helper()
	data, err := b.worker.Blobs.Get(b.t.Context(), ref)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// Who claims success against a check that fails is ended after some refusals; whoever is
// asked about it then sees which check that was, and the end of what it printed.
func TestREAL04_WhatRefusedTheOutcomeIsTold(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		if answers(r) == 0 {
			return says(call("file_write", map[string]any{"path": "b.txt", "content": "two\n"})), nil
		}
		return finish("success"), nil
	})
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Checks = []string{"true", "echo no such thing; exit 3"}
	out := b.must(br)
	if out.Code != "verify/failed" || !strings.Contains(out.Notes, `"echo no such thing; exit 3" was run`) || !strings.Contains(out.Notes, "\nno such thing\n") || strings.Contains(out.Notes, "<data>") {
		t.Errorf("the outcome is %v", out)
	}
	if len(out.Checks) > 0 {
		t.Errorf("its checks are %v, and work names only those that passed: the project would refuse it", out.Checks)
	}
}

// TestREAL04_ARedBaseIsToldFromARedChange has a check that fails on the target branch
// already, and one that fails with the change alone: who decides how to go on is told which
// it is, where the agent gives up and where the candidate is verified.
func TestREAL04_ARedBaseIsToldFromARedChange(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct{ name, check, want string }{
		{"red already", "test -f never.txt", "without the change too (exit 1)"},
		{"red with the change", "test ! -f b.txt", "without the change"},
	} {
		b := newBench(t, func(r *model.Request) (*model.Response, error) {
			if answers(r) == 0 {
				return says(call("file_write", map[string]any{"path": "b.txt", "content": "two\n"})), nil
			}
			return finish("success"), nil
		})
		br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		made := b.must(br)
		commit := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT)
		commit.Execution.Change, b.seat.token = made.Change, 7
		candidate := b.must(commit)
		b.seat.turn = nil
		check := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY)
		check.Execution.Candidate, check.Execution.Checks = candidate.Candidate, []string{tt.check}
		if out := b.must(check); !strings.HasSuffix(out.Summary, tt.want) || strings.Contains(out.Summary, "too") != strings.Contains(tt.want, "too") {
			t.Errorf("%s, verified: %q, want it to end in %q", tt.name, out.Summary, tt.want)
		}
		b.seat.turn = nil
		br = brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Execution.Checks = []string{tt.check}
		out := b.must(br)
		if out.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || !strings.Contains(out.Notes, tt.want) || strings.Contains(out.Notes, "change too") != strings.Contains(tt.want, "too") {
			t.Errorf("%s, given up: %v %q\n%s", tt.name, out.Status, out.Summary, out.Notes)
		}
	}
}
