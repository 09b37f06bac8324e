package agent_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// at has a brief be about a node of a definition.
func at(br *loomv1.Brief, def *loomv1.Definition, node string) {
	br.Definition, br.Attempt.Node = def, node
	for _, n := range def.Nodes {
		if n.Id == node {
			br.Node = n
		}
	}
}

// judged describes the attempt of a verifier on what a phase has delivered.
func judged(t *testing.T, text string) *loomv1.Brief {
	t.Helper()
	def, err := processes.Parse("memo.yaml", []byte(text), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	br := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Nodes = map[string]*loomv1.NodeState{}
	for _, n := range def.Nodes {
		br.Execution.Nodes[n.Id] = &loomv1.NodeState{}
	}
	at(br, def, "memo-check")
	br.Execution.Nodes["memo"] = &loomv1.NodeState{Status: loomv1.NodeStatus_NODE_STATUS_SUCCEEDED, Outcome: &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Summary: "the memo is written"}}
	return br
}

const memoProcess = `name: memo
version: "1.0"
phases:
  - {id: memo, description: Write it., verification_tier: 2, acceptance_criteria: It names the rent., deliverables: [memo.md]}
`

// verdict is what a verifier answers.
func verdict(holds bool, evidence string) *model.Response {
	return says(call(turn.FinishName, map[string]any{"status": "success", "summary": "judged", "notes": "", "fields": map[string]any{"acceptance": holds, "acceptance_evidence": evidence}}))
}

// A verifier whose evidence is not in the files is told so within its turn, twice; then
// its answer is no verdict, neither for the work nor against it.
func TestPROC05_EvidenceIsLookedUp(t *testing.T) {
	longtest.Skip(t)
	memo := git.File{Path: "memo.md", Data: []byte("The rent is 900 a month.\n")}
	made := verdict(true, `memo.md: "The moon is green"`)
	for _, tt := range []struct {
		name      string
		answers   []*model.Response
		code      string
		told      int
		broken    bool
		lastWords string
	}{
		{"true at once", []*model.Response{verdict(true, `memo.md: "The rent is 900"`)}, "", 0, false, ""},
		{"true when told", []*model.Response{made, verdict(true, `memo.md: "The rent is 900"`)}, "", 1, false, `acceptance_evidence: "The moon is green" not in memo.md`},
		{"made up to the end", []*model.Response{made, made, made}, "verify/evidence", 2, false, `acceptance_evidence: "The moon is green" not in memo.md`},
		{"against the work, and made up", []*model.Response{verdict(false, `memo.md: "The rent is 0"`), verdict(false, `memo.md: "The rent is 0"`), verdict(false, `memo.md: "The rent is 0"`)}, "verify/evidence", 2, false, `"The rent is 0" not in memo.md`},
		{"against the work", []*model.Response{verdict(false, "looked for the currency of the rent and found none")}, "verify/rule", 0, true, ""},
	} {
		t.Run("PROC05 "+tt.name, func(t *testing.T) {
			b := newBench(t, script(tt.answers...), memo)
			out := b.must(judged(t, memoProcess))
			told := 0
			for _, s := range b.seat.turn.Steps {
				if s.GetTool().GetCall().GetTool() == "examine_outcome" {
					told++
				}
			}
			if out.Code != tt.code || told != tt.told || (len(out.Broken) > 0) != tt.broken {
				t.Errorf("told %d times, then %v", told, out)
			}
			if want := map[string]loomv1.RuleState{"": loomv1.RuleState_RULE_STATE_HELD, "verify/evidence": loomv1.RuleState_RULE_STATE_NOT_JUDGED, "verify/rule": loomv1.RuleState_RULE_STATE_BROKEN}[tt.code]; len(out.Judged) != 1 || out.Judged[0].State != want {
				t.Errorf("of the criteria it says %v", out.Judged)
			}
			if tt.lastWords != "" && !strings.Contains(b.lastTold(), tt.lastWords) {
				t.Errorf("the verifier was told %q", b.lastTold())
			}
		})
	}
}

// What a phase delivers that is not what its name says is told where it calls finish.
func TestPROC05_AWrongFormatIsToldInTheSameTurn(t *testing.T) {
	br := judged(t, strings.Replace(memoProcess, "memo.md", "memo.json", 1))
	br.Attempt.Role = "analyst"
	at(br, br.Definition, "memo")
	br.Execution.Nodes["memo"] = &loomv1.NodeState{}
	write := func(text string) *model.Response {
		return says(call("file_write", map[string]any{"path": "memo.json", "content": text}))
	}
	done := says(call(turn.FinishName, map[string]any{"status": "success", "summary": "written", "notes": ""}))
	turns := []*model.Response{write("{\"rent\": \n"), done, write("{\"rent\": 900}\n"), done}
	told := ""
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		n := answers(r)
		if n == 2 {
			told = r.Messages[len(r.Messages)-1].Text
		}
		return turns[n], nil
	})
	out := b.must(br)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || !strings.Contains(told, "error format memo.json:1: it is no JSON: unexpected end of JSON input") {
		t.Errorf("told %q, then %v", told, out)
	}
	if n := len(out.Judged); n != 2 || out.Judged[n-1].Rule != "format" || out.Judged[n-1].State != loomv1.RuleState_RULE_STATE_HELD {
		t.Errorf("of the rules it says %v", out.Judged)
	}
}
