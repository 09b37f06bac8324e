package agent_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// token is a key in the form of an issuer's, made here so that nothing in this
// repository looks like one.
func token(prefix string, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	r := rand.New(rand.NewPCG(3, 4))
	b := []byte(prefix)
	for range n {
		b = append(b, letters[r.IntN(len(letters))])
	}
	return string(b)
}

// plant returns the command of an agent that hides much in one change, and the key.
func plant(t *testing.T) (command, key string) {
	t.Helper()
	key = token("sk-"+"ant-api03-", 93) + "AA"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("timeout: 3\nkey: "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{
		"head -c 2097152 /dev/zero > big.bin", "ln -s /etc/passwd passwd", "ln -s a.txt alias", "echo '*.txt filter=run' > .gitattributes",
		"mkdir -p .github/workflows", "echo 'on: push' > .github/workflows/x.yml", "rm b_test.go", "echo 'run: true' > .pre-commit-config.yaml",
		"printf '#!/bin/sh\\n' > run.sh", "chmod +x run.sh", "echo x > go.sum", "cp " + file + " conf.yaml",
	}, " && "), key
}

func kindsOf(list []*loomv1.PatchWarning) (kinds []string) {
	for _, w := range list {
		kinds = append(kinds, w.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// TestREAL09_WhatIsRefusedIsToldWithinTheTurn has an engineer put a key and a link
// to a file of the machine into a change: it is told where they stand, takes them
// out, and its change is proposed with warnings about the rest.
func TestREAL09_WhatIsRefusedIsToldWithinTheTurn(t *testing.T) {
	longtest.Skip(t)
	command, key := plant(t)
	var told string
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		switch answers(r) {
		case 0:
			return says(call("shell", map[string]any{"command": command})), nil
		case 2:
			told = r.Messages[len(r.Messages)-1].Text
			return says(call("shell", map[string]any{"command": "rm passwd && printf 'timeout: 3\\n' > conf.yaml"})), nil
		default:
			return finish("success"), nil
		}
	}, git.File{Path: "b_test.go", Data: []byte("package b\n\nfunc TestB(t *testing.T) {}\n")})
	out := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || out.Change == nil {
		t.Fatalf("the outcome is %v", out)
	}
	for _, want := range []string{`"conf.yaml", line 2`, "anthropic-api-key", `"passwd"`, "/etc/passwd", "leave it out of the change"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model is told\n%s\nwithout %q", told, want)
		}
	}
	if strings.Contains(told, key[20:40]) {
		t.Error("the model is told the key")
	}
	got := strings.Join(kindsOf(out.Change.Warnings), " ")
	if want := "attributes binary ci executable hooks large link lock tests"; got != want {
		t.Errorf("the change has warnings of %s, want %s", got, want)
	}
}

// TestREAL09_APipeIsRefusedBeforeChecksRun has an engineer leave a pipe where a required
// command reads every file: it is told before that runs, which would never end.
func TestREAL09_APipeIsRefusedBeforeChecksRun(t *testing.T) {
	var told string
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		switch answers(r) {
		case 0:
			return says(call("shell", map[string]any{"command": "echo x > new.txt && mkdir -p d && mkfifo d/pipe.txt"})), nil
		case 2:
			told = r.Messages[len(r.Messages)-1].Text
			return says(call("shell", map[string]any{"command": "rm d/pipe.txt"})), nil
		default:
			return finish("success"), nil
		}
	})
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Checks = []string{"find . -name '*.txt' -exec cat {} +"}
	out := b.must(br)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || out.Change == nil {
		t.Fatalf("the outcome is %v", out)
	}
	for _, want := range []string{"d/pipe.txt", "pipes, sockets or devices", "remove them"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model is told\n%s\nwithout %q", told, want)
		}
	}
}

// TestREAL09_APolicyThatWarnsShowsWhatWouldBeRefused has the same change proposed
// in a project that only wants to be told.
func TestREAL09_APolicyThatWarnsShowsWhatWouldBeRefused(t *testing.T) {
	longtest.Skip(t)
	command, key := plant(t)
	b := newBench(t, script(says(call("shell", map[string]any{"command": command})), finish("success")), git.File{Path: "b_test.go", Data: []byte("package b\n\nfunc TestB(t *testing.T) {}\n")})
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Project.Patch = patchscan.Policy{"secret": patchscan.Warn, "link-outside": patchscan.Warn, "lock": patchscan.Allow}
	out := b.must(br)
	if out.Change == nil {
		t.Fatalf("nothing was proposed: %v", out)
	}
	got := strings.Join(kindsOf(out.Change.Warnings), " ")
	if want := "attributes binary ci executable hooks large link link-outside secret tests"; got != want {
		t.Errorf("the change has warnings of %s, want %s", got, want)
	}
	if strings.Contains(out.String(), key[20:40]) {
		t.Error("a warning quotes the key")
	}
}

// TestREAL09_WhoDoesNotMendItFails has an engineer insist.
func TestREAL09_WhoDoesNotMendItFails(t *testing.T) {
	longtest.Skip(t)
	n := 0
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		if n++; answers(r) == 0 {
			return says(call("shell", map[string]any{"command": "ln -s /etc/passwd passwd"})), nil
		}
		return finish("success"), nil
	})
	out := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || out.Change != nil || !strings.Contains(out.Summary, "passwd") {
		t.Errorf("%v, want a failure that names the file", out)
	}
	if n > 10 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestREAL09_ACommitsMessageHasNoKey has an engineer, who takes a key out, quote it
// in the words that become the commit's message, as the bead's goal does.
func TestREAL09_ACommitsMessageHasNoKey(t *testing.T) {
	longtest.Skip(t)
	key := token("gh"+"p_", 36)
	for _, tt := range []struct {
		policy patchscan.Policy
		said   string
	}{{nil, "[a key: github-pat]"}, {patchscan.Policy{"secret": patchscan.Warn}, "[a key: github-pat]"}, {patchscan.Policy{"secret": patchscan.Allow}, key}} {
		outcome := finish("success")
		outcome.Calls[0].Arguments = `{"status":"success","summary":"take ` + key + ` out","notes":"It was ` + key + `.","fields":{"fault":""}}`
		b, br := proposed(t, "", script(says(call("file_write", map[string]any{"path": "new.txt", "content": "new\n"})), outcome))
		br.Bead.Goal = "the log shows " + key
		br.Project.Patch = tt.policy
		out := b.must(br)
		if out.Candidate == nil {
			t.Fatalf("there is no candidate: %v", out)
		}
		message, err := exec.CommandContext(t.Context(), "git", "-C", b.top, "show", "-s", "--format=%B", out.Candidate.Commit).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"take " + tt.said + " out\n", "It was " + tt.said + ".\n", "asked for this: the log shows " + tt.said + "\n"} {
			if !strings.Contains(string(message), want) {
				t.Errorf("with policy %v the commit says\n%s\nwithout %q", tt.policy, message, want)
			}
		}
	}
}
