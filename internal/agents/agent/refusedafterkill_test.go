package agent_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// ruled is the brief of a phase that delivers facts.md under a rule.
func ruled(t *testing.T) *loomv1.Brief {
	t.Helper()
	def, err := processes.Parse("offer.yaml", []byte(`name: offer
version: "1.0"
phases:
  - {id: facts, role: analyst, description: Gather facts., deliverables: [facts.md]}
verification:
  rules:
    - {name: no-placeholders, type: regex, target: deliverables, severity: error, description: No placeholder text, check: '\[TBD\]'}
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

// What was found of a refused outcome is counted also where another host ends the turn.
func TestPROC05_WhatWasRefusedIsCountedAfterAKill(t *testing.T) {
	longtest.Skip(t)
	answers := 0
	b := newBench(t, func(*model.Request) (*model.Response, error) {
		if answers++; answers == 1 {
			return leaves("[TBD]\n"), nil
		}
		return nil, errors.New("the host is killed")
	})
	br := ruled(t)
	if out, err := b.worker.Work(t.Context(), br, b.seat); err == nil {
		t.Fatalf("the first host ended the turn: %v", out)
	}
	br = ruled(t)
	br.Turn = proto.CloneOf(b.seat.turn)
	b.worker.Model = b.asks.count(scripted.New("test", func(*model.Request) (*model.Response, error) { return leaves("Nine pence.\n"), nil }))
	out := b.must(br)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(out.Broken) != 1 || out.Broken[0].Rule != "no-placeholders" {
		t.Errorf("%v: broken are %v", out.Status, out.Broken)
	}
}
