package agent_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// ruled is the brief of a phase that delivers facts.md under a rule of a severity.
func ruled(t *testing.T, severity string) *loomv1.Brief {
	t.Helper()
	def, err := processes.Parse("offer.yaml", []byte(`name: offer
version: "1.0"
phases:
  - {id: facts, role: analyst, description: Gather facts., deliverables: [facts.md]}
verification:
  rules:
    - {name: no-placeholders, type: regex, target: deliverables, severity: `+severity+`, description: No placeholder text, check: '\[TBD\]'}
`), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	br := brief("analyst", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Nodes = map[string]*loomv1.NodeState{"facts": {}}
	at(br, def, "facts")
	return br
}

// leaves is an answer that writes facts.md and claims success.
func leaves(text string) *model.Response {
	return says(call("file_write", map[string]any{"path": "facts.md", "content": text}), call(turn.FinishName, map[string]any{"status": "success", "summary": "done"}))
}

// Who breaks a rule that need not hold is told so once, in the turn in which it can be
// mended; nobody after is told again.
func TestPROC05_AWarningIsToldOnceToWhoCanMendIt(t *testing.T) {
	for _, tt := range []struct {
		name, second string
		broken       bool // in what became of the rule
	}{
		{"it is mended", "Nine pence.\n", false},
		{"it stays", "[TBD]\n", true},
	} {
		var told []string
		b := newBench(t, func(r *model.Request) (*model.Response, error) {
			told = append(told, r.Messages[len(r.Messages)-1].Text)
			if len(told) == 1 {
				return leaves("[TBD]\n"), nil
			}
			return leaves(tt.second), nil
		})
		out := b.must(ruled(t, "warning"))
		if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(told) != 2 {
			t.Fatalf("%s: after %d answers: %v", tt.name, len(told), out)
		}
		if !strings.Contains(told[1], "no-placeholders") || !strings.Contains(told[1], "said this once") {
			t.Errorf("%s: it is told\n%s", tt.name, told[1])
		}
		if strings.Contains(out.Notes, "no-placeholders") {
			t.Errorf("%s: whoever comes next is told again:\n%s", tt.name, out.Notes)
		}
		for _, r := range out.Judged {
			if is := r.State == loomv1.RuleState_RULE_STATE_BROKEN; r.Rule == "no-placeholders" && is != tt.broken {
				t.Errorf("%s: what became of the rule: %v", tt.name, r)
			}
		}
	}
}

// What was found of a refused outcome is counted also where another host ends the turn.
func TestPROC05_WhatWasRefusedIsCountedAfterAKill(t *testing.T) {
	answers := 0
	b := newBench(t, func(*model.Request) (*model.Response, error) {
		if answers++; answers == 1 {
			return leaves("[TBD]\n"), nil
		}
		return nil, errors.New("the host is killed")
	})
	br := ruled(t, "error")
	if out, err := b.worker.Work(t.Context(), br, b.seat); err == nil {
		t.Fatalf("the first host ended the turn: %v", out)
	}
	br = ruled(t, "error")
	br.Turn = proto.CloneOf(b.seat.turn)
	b.worker.Model = b.asks.count(scripted.New("test", func(*model.Request) (*model.Response, error) { return leaves("Nine pence.\n"), nil }))
	out := b.must(br)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(out.Broken) != 1 || out.Broken[0].Rule != "no-placeholders" {
		t.Errorf("%v: broken are %v", out.Status, out.Broken)
	}
}
