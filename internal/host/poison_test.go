package host_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// replaceTesting replaces the compiled package testing in the build cache by one
// whose tests never fail, and corrects the entry that names it.
const replaceTesting = `
set -e
from=$(go env GOROOT)/src/testing/testing.go
sed 's/m.exitCode = 1/m.exitCode = 0/' "$from" > "$TMPDIR/testing.go"
printf '{"Replace":{"%s":"%s"}}' "$from" "$TMPDIR/testing.go" > "$TMPDIR/overlay.json"
good=$(go list -export -f '{{.Export}}' testing)
bad=$(go list -export -overlay "$TMPDIR/overlay.json" -f '{{.Export}}' testing)
test "$good" != "$bad"
id=$(basename "$good" -d)
entry=$(grep -rl --include='*-a' "$id" "$GOCACHE")
size=$(printf %20d "$(wc -c < "$bad")")
cp "$bad" "$good"
sed -i -E "s/($id) {1,}[0-9]+/\1 $size/" $entry
`

// lying are where commands leave things for other commands.
const lying = `"$HOME" "$HOME/.npm/_cacache" "$HOME/.cache/pip" "$HOME/.cargo/bin" "$HOME/.local/bin" "$HOME/.config/go" "$TMPDIR" "$XDG_CACHE_HOME" ` +
	`"$XDG_CACHE_HOME/pip" "$GOCACHE" "$GOMODCACHE" "$GOPATH/bin" /tmp /var/tmp /dev/shm /usr/local/bin`

// plant leaves something in all of them, in what the setup has made and wherever it
// could be kept, and the environment of Go.
const plant = `for d in ` + lying + `; do mkdir -p "$d" && echo planted > "$d/planted"; done; go env -w GOFLAGS=-run=nothing
echo planted > deps/lib; find / -path '*/setups/*' -type f 2>/dev/null -exec sh -c 'echo planted > {}' ';'`

// unplanted exits with 42 where something was left. An author's worktree has what the
// author wrote to its copy of the setup's result.
const unplanted = `for d in ` + lying + `; do if [ -e "$d/planted" ]; then echo "$d is planted"; exit 42; fi; done
case "$(go env GOFLAGS)" in *nothing*) exit 42;; esac
[ -e ignored ] || grep -qx good deps/lib || { echo "what the setup has made is planted"; exit 42; }
`

// poisoners are a team whose commands write wherever they can, each time that
// they may run one. What they propose changes a comment.
type poisoners struct {
	check string
	told  []string // of their own commands
}

func (p *poisoners) answer(r *model.Request) (*model.Response, error) {
	say := func(calls ...*loomv1.ToolCall) (*model.Response, error) {
		return &model.Response{Text: "so be it", Stop: model.StopTools, Calls: calls}, nil
	}
	shell := func(command string) *loomv1.ToolCall {
		return &loomv1.ToolCall{Tool: "shell", Arguments: `{"command":` + strconv.Quote(command) + `}`}
	}
	done := func(fields string) (*model.Response, error) {
		return say(&loomv1.ToolCall{Tool: turn.FinishName, Arguments: `{"status":"success","summary":"it is mended","notes":"","fields":{` + fields + `}}`})
	}
	prompt := r.Messages[0].Text
	node := ""
	for _, n := range []string{"triage", "investigate", "verify"} {
		if strings.Contains(prompt, "node: "+n) {
			node = n
		}
	}
	answers := 0
	for _, m := range r.Messages {
		if m.Role == model.RoleAssistant {
			answers++
		}
	}
	switch {
	case node == "investigate" && answers == 0: // its worktree has a file that no commit has, with which the test passes
		return say(shell(plant), shell("echo > ignored; date +%N >> note.txt"))
	case node == "investigate":
		return done("")
	case answers == 0:
		return say(shell(plant), shell(replaceTesting), shell("go test ./..."))
	case node == "triage":
		all := ""
		for _, m := range r.Messages[1:] {
			all += m.Text + "\n"
		}
		p.told = append(p.told, all)
		return done(fmt.Sprintf(`"severity":"high","specialist":"backend-engineer","check":%q`, p.check))
	}
	return done(`"fault":"change"`)
}

// TestREAL03_WhatAgentsWriteServesNoVerification has agents replace the compiled
// package testing in their build cache and leave things wherever a command can
// write, before a change is judged whose test fails. Their own commands are taken
// in by it; the required check and the hooks are not, nor are they the second
// time, after the judge's own agent has done it too.
func TestREAL03_WhatAgentsWriteServesNoVerification(t *testing.T) {
	if !isolation.CanSandbox() {
		t.Log("NO SANDBOX ON THIS MACHINE: without one no cache is kept from agents, and none is said to be")
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	team := &poisoners{check: "sh unplanted.sh && go test ./..."}
	c := config(t, scripted.New("poisoners", team.answer))
	c.Unsandboxed = false
	p := &c.Projects[0]
	p.Repository = filepath.Join(t.TempDir(), "shop")
	p.Setup, p.SetupReads, p.SetupMakes = []string{"mkdir -p deps && cp deps.lock deps/lib"}, []string{"deps.lock"}, []string{"deps"}
	if err := git.Create(t.Context(), c.Projects[0].Repository, "main", "first", []git.File{
		{Path: "go.mod", Data: []byte("module example.com/shop\n\ngo 1.24\n")},
		{Path: ".gitignore", Data: []byte("ignored\ndeps/\n")},
		{Path: "deps.lock", Data: []byte("good\n")},
		{Path: "unplanted.sh", Data: []byte(unplanted)},
		{Path: "note.txt", Data: []byte("note\n")},
		{Path: "shop_test.go", Data: []byte("package shop\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestTotal(t *testing.T) {\n\tif _, err := os.Stat(\"ignored\"); err != nil {\n\t\tt.Error(\"the total is wrong\")\n\t}\n}\n")},
		{Path: ".git/hooks/pre-commit", Data: []byte("#!/bin/sh\n" + unplanted), Exec: true},
	}); err != nil {
		t.Fatal(err)
	}
	h := start(t, c)
	ceo := newOwner(t, c, h)
	if _, err := connect(t, h, "anonymous").Report(ctx, report()); err != nil {
		t.Fatal(err)
	}
	var judged []int32
	var failed []string
	copies := 0
	followUntil(ctx, t, ceo.inbox, "two verifications", func(e *loomv1.Event) bool {
		switch f := e.Fact.(type) {
		case *loomv1.Event_ToolFinished:
			if strings.HasPrefix(f.ToolFinished.GetResult().GetSummary(), "kept result ") {
				copies++
			}
		case *loomv1.Event_ApprovalRequested:
			if err := ceo.decide(ctx, f.ApprovalRequested.Approval, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, ""); err != nil {
				t.Error(err)
			}
		case *loomv1.Event_AttemptEnded:
			out := f.AttemptEnded.Outcome
			if e.Node != "verify" && out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
				failed = append(failed, e.Node+": "+out.Summary+" "+out.Notes)
			}
			if e.Node == "verify" {
				judged = append(judged, out.Checks[0].ExitCode)
			}
		}
		return len(judged) == 2 || len(failed) > 0 || e.GetExecutionEnded() != nil
	})
	if len(failed) > 0 {
		t.Fatalf("a step before the verification failed: %s", failed)
	}
	if !slices.Equal(judged, []int32{1, 1}) {
		t.Errorf("the required check exited with %v, want 1 twice: 0 went by the replaced package, 42 found what was planted", judged)
	}
	if copies < 4 {
		t.Errorf("%d setups were copies, want those of two authors and two verifications at least", copies)
	}
	if len(team.told) == 0 || !strings.Contains(team.told[0], "ok  \texample.com/shop") {
		t.Errorf("the attack did not take in its own author, so that it shows nothing: %q", team.told)
	}
	if tip := gitIn(t, c.Projects[0].Repository, "log", "--format=%s", "main"); tip != "first" {
		t.Errorf("main has\n%s", tip)
	}
}
