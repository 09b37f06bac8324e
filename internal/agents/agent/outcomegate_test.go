package agent_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// finds is what a model answers that has triaged a bug.
func finds(check string) *model.Response {
	return says(call(turn.FinishName, map[string]any{"status": "success", "summary": "seen", "fields": map[string]any{"check": check}}))
}

// lastTold is what a model was told last.
func (b *bench) lastTold() string { return b.asks.last.Messages[len(b.asks.last.Messages)-1].Text }

// TestREAL04_TheCheckOfABugMustFailFirst has triage name checks that show nothing:
// one that a pipe lets pass, and one that cannot be run.
func TestREAL04_TheCheckOfABugMustFailFirst(t *testing.T) {
	longtest.Skip(t)
	triage := func() *loomv1.Brief {
		br := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Bead.Type, br.Node.Outcome = loomv1.BeadType_BEAD_TYPE_BUG, map[string]string{"check": "string"}
		return br
	}
	for _, tt := range []struct {
		name, check, told string
		before            []*model.Response
		runs              int // of the runtime's own
	}{
		{name: "it passes", check: "false | cat", told: "It passes now", runs: 1},
		{name: "it cannot be run", check: "no-such-program --test", told: "cannot be run", runs: 1},
		{name: "it fails", check: "grep -q two a.txt", runs: 1},
		{name: "the model saw it fail", check: "grep -q two a.txt", before: []*model.Response{says(call("shell", map[string]any{"command": "grep -q two a.txt"}))}},
		{name: "the model saw it pass", check: "true", before: []*model.Response{says(call("shell", map[string]any{"command": "true"}))}, told: "It passes now", runs: 1},
		{name: "there is nothing to mend", check: ""},
	} {
		b := newBench(t, script(append(tt.before, finds(tt.check), finishFailure())...))
		out := b.must(triage())
		if taken := out.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS; taken != (tt.told == "") {
			t.Errorf("%s: the outcome is %v", tt.name, out)
		}
		if tt.told != "" && (!strings.Contains(b.lastTold(), tt.told) || !strings.Contains(b.lastTold(), tt.check)) {
			t.Errorf("%s: the model is told\n%s\nwithout %q", tt.name, b.lastTold(), tt.told)
		}
		runs := 0
		for _, s := range b.seat.turn.Steps {
			if s.GetTool().GetRuntime() {
				runs++
			}
		}
		if runs != tt.runs {
			t.Errorf("%s: the runtime ran %d commands, want %d", tt.name, runs, tt.runs)
		}
	}
	task := triage()
	task.Bead.Type = loomv1.BeadType_BEAD_TYPE_TASK
	b := newBench(t, script(finds("true")))
	if out := b.must(task); out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		t.Errorf("a task's check need not fail: %v", out)
	}
}

// TestREAL04_RequiredChecksRunOnWhatATeamHasMade has a lead claim success while the
// check that it names, or the project's, fails on the parts brought together.
func TestREAL04_RequiredChecksRunOnWhatATeamHasMade(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, nil)
	x, y := b.delegate("shop-2", "implementer", "a.txt", "one\ntwo\n"), b.delegate("shop-3", "backend-engineer", "b.txt", "blue\n")
	done := func(check string) *model.Response {
		return says(call(turn.FinishName, map[string]any{"status": "success", "summary": "all is made", "fields": map[string]any{"check": check}}))
	}
	var told string
	answered := 0
	br := b.led(func(r *model.Request) (*model.Response, error) {
		answered++
		if answered == 1 {
			return done("grep -q red b.txt"), nil
		}
		told = r.Messages[len(r.Messages)-1].Text
		return done("grep -q blue b.txt"), nil
	}, x, y)
	br.Node.Outcome = map[string]string{"check": "string"}
	br.Execution.ProjectChecks, br.Execution.Checks = []string{"grep -q two a.txt"}, []string{"grep -q two a.txt"}
	out := b.must(br)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || out.Change == nil || answered != 2 {
		t.Fatalf("after %d answers: %v", answered, out)
	}
	for _, want := range []string{"failed (exit 1): grep -q red b.txt", "what your team has made, brought together", "passed: grep -q two a.txt"} {
		if !strings.Contains(told, want) {
			t.Errorf("the lead is told\n%s\nwithout %q", told, want)
		}
	}
}

// TestACT03_ALeadSeesTheChangeThatWasSentBack has what the first visit made in the
// checkout of the second, though no task of this attempt made it.
func TestACT03_ALeadSeesTheChangeThatWasSentBack(t *testing.T) {
	b := newBench(t, nil)
	made := b.delegate("shop-2", "implementer", "a.txt", "one\ntwo\n")
	var seen string
	br := b.led(func(r *model.Request) (*model.Response, error) {
		if answers(r) == 0 {
			return says(call("file_read", map[string]any{"path": "a.txt"})), nil
		}
		seen = r.Messages[len(r.Messages)-1].Text
		return finish("success"), nil
	})
	br.Attempt.Visit, br.Execution.Change = 2, made.Outcome.Change
	b.must(br)
	if !strings.Contains(seen, "two") {
		t.Errorf("the lead looks at %q, want the change that stands", seen)
	}
	if prompt := b.text(b.seat.turn.Prompt); !strings.Contains(prompt, "It has what this work has changed so far") {
		t.Errorf("the prompt does not say what the workspace has:\n%s", prompt)
	}
}

// TestREAL06_AnAttemptIsToldWhatItsWorktreeHas has a first attempt change a file and
// fail: the second is told.
func TestREAL06_AnAttemptIsToldWhatItsWorktreeHas(t *testing.T) {
	b := newBench(t, script(says(call("file_write", map[string]any{"path": "b.txt", "content": "two\n"})), finish("failure")))
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	b.must(br)
	if prompt := b.text(b.seat.turn.Prompt); strings.Contains(prompt, "## Your worktree") {
		t.Errorf("the first attempt is told of changes:\n%s", prompt)
	}
	b.seat.turn = nil
	br = brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Attempt.Id, br.Attempt.Number = "shop-1-x1-a2", 2
	b.worker.Model = b.asks.count(scripted.New("test", script(finish("failure"))))
	b.must(br)
	if prompt := b.text(b.seat.turn.Prompt); !strings.Contains(prompt, "## Your worktree\nIt has what was changed in it before you; git_diff shows it:\n<data>\nb.txt\n</data>\n") {
		t.Errorf("the second attempt is not told what the worktree has:\n%s", prompt)
	}
}

// TestPROC05_ARuleThatDoesNotHoldIsMendedInItsTurn has a phase deliver a placeholder,
// and nothing: both times the model is told, and mends it, within its turn.
func TestPROC05_ARuleThatDoesNotHoldIsMendedInItsTurn(t *testing.T) {
	const process = `name: offer
version: "1.0"
phases:
  - {id: facts, role: analyst, description: Gather facts., deliverables: [facts.md]}
verification:
  rules:
    - {name: no-placeholders, type: regex, target: deliverables, severity: error, description: No placeholder text, check: '\[TBD\]'}
`
	def, err := processes.Parse("offer.yaml", []byte(process), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		told = append(told, r.Messages[len(r.Messages)-1].Text)
		write := func(text string) *model.Response {
			return says(call("file_write", map[string]any{"path": "facts.md", "content": text}), call(turn.FinishName, map[string]any{"status": "success", "summary": "done"}))
		}
		switch len(told) {
		case 1:
			return says(call(turn.FinishName, map[string]any{"status": "success", "summary": "done"})), nil
		case 2:
			return write("[TBD]\n"), nil
		}
		return write("Nine pence.\n"), nil
	})
	br := brief("analyst", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Nodes = map[string]*loomv1.NodeState{"facts": {}}
	at(br, def, "facts")
	out := b.must(br)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(told) != 3 {
		t.Fatalf("after %d answers: %v", len(told), out)
	}
	if len(out.Broken) != 2 || out.Broken[0].Rule != "deliverables" || out.Broken[1].Rule != "no-placeholders" || out.Broken[1].Count != 1 {
		t.Errorf("what was mended is counted as %v", out.Broken)
	}
	for i, want := range []string{"facts.md", "[TBD]"} {
		if text := told[i+1]; !strings.Contains(text, want) || !strings.Contains(text, "call finish again") {
			t.Errorf("answer %d is told\n%s\nwithout %q", i+1, text, want)
		}
	}
}

// TestREAL06_APromptHasNoBookkeeping leaves out what no agent could go by, and says
// to each role what it can do something about.
func TestREAL06_APromptHasNoBookkeeping(t *testing.T) {
	at := func(role, status string) *loomv1.Attempt {
		return &loomv1.Attempt{Id: "a-" + status, Node: "triage", Role: role, Visit: 1, Number: 1, Outcome: &loomv1.Outcome{
			Status: loomv1.OutcomeStatus(loomv1.OutcomeStatus_value["OUTCOME_STATUS_"+strings.ToUpper(status)]), Summary: "it is " + status,
		}}
	}
	b := full()
	b.Bead.Delegation = nil
	b.Execution.Nodes["triage"] = &loomv1.NodeState{History: []*loomv1.Attempt{at("qa-engineer", "failure"), at("qa-engineer", "success")}}
	b.Execution.Checks = []string{"go test ./..."}
	b.Context.Text = "d4 action (100%): change a1dfe8121c6a proposed: 3 files\nd5 decision by the CEO (100%): CEO approved: Shall this be committed?\n" +
		"d6 decision by the CEO (100%): CEO asked for changes: Shall this be committed? - keep the constant\n"
	got := promptOf(b)
	for _, not := range []string{"it is failure", "change a1dfe8121c6a", "CEO approved"} {
		if strings.Contains(got, not) {
			t.Errorf("the prompt has %q:\n%s", not, got)
		}
	}
	for _, want := range []string{"it is success", "keep the constant", "<goal>\nsmaller, please\n</goal>"} {
		if !strings.Contains(got, want) {
			t.Errorf("the prompt has no %q:\n%s", want, got)
		}
	}
	const subject, checks = "becomes the subject of the commit", "## Required checks"
	for _, tt := range []struct {
		role         string
		subject, has bool
		says         string
	}{
		{"backend-engineer", true, true, "on your worktree before it takes your success"},
		{"lead", true, true, "on what your team has made, brought together"},
		{"qa-engineer", false, true, "once the work is done"},
		{"researcher", false, false, ""},
	} {
		b.Attempt.Role = tt.role
		got := promptOf(b)
		if strings.Contains(got, subject) != tt.subject || strings.Contains(got, checks) != tt.has || !strings.Contains(got, tt.says) {
			t.Errorf("%s is told\n%s", tt.role, got)
		}
	}
	b.Node.Outcome = nil
	if got := promptOf(b); !strings.Contains(got, "There are no fields.\n") {
		t.Errorf("it is not told that there are no fields:\n%s", got)
	}
}

// TestREAL06_WhatAFailedCheckPrintedIsToldOnce has the notes of a failed verification
// quote the command's output and nothing of the runtime's.
func TestREAL06_WhatAFailedCheckPrintedIsToldOnce(t *testing.T) {
	b := newBench(t, script(says(call("file_write", map[string]any{"path": "b.txt", "content": "two\n"})), finish("success")))
	made := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	commit := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT)
	commit.Execution.Change, b.seat.token = made.Change, 7
	candidate := b.must(commit)
	b.seat.turn = nil
	qa := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY)
	qa.Execution.Change, qa.Execution.Candidate, qa.Execution.Checks = made.Change, candidate.Candidate, []string{"echo no such thing; exit 3"}
	if out := b.must(qa); strings.TrimSpace(out.Notes) != "no such thing\n[exit code 3]" {
		t.Errorf("the notes are %q", out.Notes)
	}
}

// TestPROC05_EachTypeOfRulesIsToldInItsTurn has a phase break a rule of each type that
// needs no judgment: the model is told all of them, and mends them, within its turn.
func TestPROC05_EachTypeOfRulesIsToldInItsTurn(t *testing.T) {
	longtest.Skip(t)
	const process = `name: offer
version: "1.0"
phases:
  - {id: facts, role: analyst, description: Gather facts., deliverables: [a.md, b.csv]}
verification:
  rules:
    - {name: k-regex, type: regex, check: nothing, severity: error}
    - {name: k-table, type: table, with: {columns: [price]}, target: b.csv, severity: error}
    - {name: k-totals, type: totals, with: {columns: [price]}, target: b.csv, severity: error}
    - {name: k-balance, type: balance, target: b.csv, severity: error}
    - {name: k-range, type: range, with: {figure: WACC, max: 0.2}, target: a.md, severity: error}
    - {name: k-same_value, type: same_value, with: {figure: price, files: [b.csv]}, target: a.md, severity: error}
    - {name: k-word_count, type: word_count, with: {min: 20}, target: a.md, severity: error}
    - {name: k-sections, type: sections, with: {headings: [Prices]}, target: a.md, severity: error}
    - {name: k-dates, type: dates, with: {from: 2026-01-01}, severity: error}
    - {name: k-spelling, type: spelling, with: {name: Harbour Tools}, severity: error}
    - {name: k-placeholder, type: placeholder, severity: error}
    - {name: k-citations, type: citations, severity: error}
    - {name: k-links, type: links, target: a.md, severity: error}
    - {name: k-schema, type: schema, with: {schema: {required: [price]}}, target: b.csv, severity: error}
`
	const (
		badText  = "# Costs\nnothing, WACC 30%, price 7, on 2025-01-01 by harbour tools, TBD, https://made.up/x, [l](c.md)\n"
		badTable = "item,assets,liabilities,equity\na,100,60,30\nTotal,100,60,30\n"
		text     = "# Prices\nThe WACC is 8% and the price 4, as of 2026-02-01, by Harbour Tools, which we have from [the table](b.csv) and from nowhere else at all.\n"
		rows     = "item,price,assets,liabilities,equity\na,4,100,60,40\nTotal,4,100,60,40\n"
	)
	def, err := processes.Parse("offer.yaml", []byte(process), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		told = append(told, r.Messages[len(r.Messages)-1].Text)
		first, second := badText, badTable
		if len(told) > 1 {
			first, second = text, rows
		}
		return says(call("file_write", map[string]any{"path": "a.md", "content": first}), call("file_write", map[string]any{"path": "b.csv", "content": second}),
			call(turn.FinishName, map[string]any{"status": "success", "summary": "done"})), nil
	})
	br := brief("analyst", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Nodes = map[string]*loomv1.NodeState{"facts": {}}
	at(br, def, "facts")
	out := b.must(br)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(told) != 2 {
		t.Fatalf("after %d answers: %v\n%s", len(told), out, strings.Join(told, "\n----\n"))
	}
	for _, k := range verify.Kinds() {
		if k.Name != "llm" && !strings.Contains(told[1], "error k-"+k.Name+" ") {
			t.Errorf("a broken rule of type %s is not told within the turn:\n%s", k.Name, told[1])
		}
	}
}
