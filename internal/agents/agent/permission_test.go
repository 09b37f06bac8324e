package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// asking gives a bench an engineer that asks before it uses the shell.
func (b *turnBench) asking(t *testing.T) {
	t.Helper()
	r, _ := roles.Builtin().Get("backend-engineer")
	r.Tools.Allow = slices.DeleteFunc(slices.Clone(r.Tools.Allow), func(name string) bool { return name == "shell" })
	r.Tools.Ask = []string{"shell"}
	set, err := roles.Builtin().With(r)
	if err != nil {
		t.Fatal(err)
	}
	b.worker.Roles = set
}

// TestAGENT04_ACallThatAsksParksTheTurn stops before a call that has to be asked
// for, and goes on with that very call when it is answered.
func TestAGENT04_ACallThatAsksParksTheTurn(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		verdict loomv1.PermissionVerdict
		ran     int
	}{
		{loomv1.PermissionVerdict_PERMISSION_VERDICT_ALLOW, 1},
		{loomv1.PermissionVerdict_PERMISSION_VERDICT_DENY, 0},
	} {
		t.Run("AGENT04 "+tt.verdict.String(), func(t *testing.T) {
			b := newTurn(t)
			b.asking(t)
			br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
			if _, err := b.work(br); !errors.Is(err, actors.ErrParked) {
				t.Fatalf("a turn that has to ask returns %v", err)
			}
			if len(b.seat.wanted) != 1 || !b.seat.wanted[0].Ask || b.ran("first") != 0 {
				t.Fatalf("it asked about %v and ran %d", b.seat.wanted, b.ran("first"))
			}
			asked := len(recorded(b.seat.turn))
			b.seat.permits = map[string]loomv1.PermissionVerdict{"shell": tt.verdict}
			br.Turn = proto.CloneOf(b.seat.turn)
			out := b.must(br)
			if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || b.ran("first") != tt.ran || b.ran("second") != tt.ran {
				t.Errorf("outcome %v; its commands ran %d and %d times", out, b.ran("first"), b.ran("second"))
			}
			if n := b.asks.by[b.seat.turn.Steps[0].GetAnswer().Request]; asked != 1 || n != 1 {
				t.Errorf("%d answers were recorded before; the first was asked for %d times", asked, n)
			}
			denied := 0
			for _, s := range b.seat.turn.Steps {
				if r := s.GetTool().GetResult(); r.GetStatus() == loomv1.ToolStatus_TOOL_STATUS_DENIED && strings.Contains(r.Summary, "said no") {
					denied++
				}
			}
			if denied != 2-2*tt.ran {
				t.Errorf("%d calls were answered with a no", denied)
			}
		})
	}
}

// TestAGENT04_AProcessHasCallsAskedAbout stops before a call of a tool that the process
// names, also where a rule of the role allows it; the project's permission settles it.
func TestAGENT04_AProcessHasCallsAskedAbout(t *testing.T) {
	for _, rules := range [][]roles.Rule{nil, {{Allow: "shell", On: "*"}}} {
		b := newTurn(t)
		r, _ := roles.Builtin().Get("backend-engineer")
		r.Tools.Rules = rules
		set, err := roles.Builtin().With(r)
		if err != nil {
			t.Fatal(err)
		}
		b.worker.Roles = set
		br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Definition = &loomv1.Definition{Name: "careful", Guide: &loomv1.Guide{AskTools: []string{"shell"}}}
		if _, err := b.work(br); !errors.Is(err, actors.ErrParked) {
			t.Fatalf("with the rules %v: a turn that has to ask returns %v", rules, err)
		}
		if len(b.seat.wanted) != 1 || !b.seat.wanted[0].Ask || b.ran("first") != 0 {
			t.Fatalf("with the rules %v: it asked about %v and ran %d", rules, b.seat.wanted, b.ran("first"))
		}
		b.seat.permits = map[string]loomv1.PermissionVerdict{"shell": loomv1.PermissionVerdict_PERMISSION_VERDICT_ALLOW}
		br.Turn = proto.CloneOf(b.seat.turn)
		if out := b.must(br); out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || b.ran("first") != 1 {
			t.Errorf("with the rules %v: outcome %v; it ran %d times", rules, out, b.ran("first"))
		}
	}
}

// TestAGENT04_AStandingPermissionIsAskedAbout asks the project about every call
// of a role that it has a permission for, and about none of another.
func TestAGENT04_AStandingPermissionIsAskedAbout(t *testing.T) {
	b := newTurn(t)
	b.seat.permits = map[string]loomv1.PermissionVerdict{
		"shell": loomv1.PermissionVerdict_PERMISSION_VERDICT_ALLOW, "file_write": loomv1.PermissionVerdict_PERMISSION_VERDICT_DENY,
		"file_read": loomv1.PermissionVerdict_PERMISSION_VERDICT_ALLOW,
	}
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Permissions = []*loomv1.Permission{{Id: "p1", Verdict: loomv1.PermissionVerdict_PERMISSION_VERDICT_DENY, Tool: "file_write"}}
	out := b.must(br) // and what the role does not have is refused without a question
	if out.Change != nil || len(b.seat.wanted) != 4 || b.seat.wanted[0].Ask {
		t.Errorf("change %v, asked about %v", out.Change, b.seat.wanted)
	}
}

// TestAGENT04_RulesOfARole have some calls of a tool denied, some asked about and
// some made without a question, by what they name.
func TestAGENT04_RulesOfARole(t *testing.T) {
	longtest.Skip(t)
	r, err := roles.Parse("poet.yaml", []byte(`name: poet
summary: Writes odes.
persona: You write odes.
tools:
  allow: [file_write, file_read]
  ask: [shell]
  rules:
    - {allow: shell, on: "cat *"}
    - {deny: shell, on: "cat secret*"}
    - {ask: file_write, on: "docs/**"}
    - {deny: file_write, on: ".github/**"}
`))
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string) *loomv1.ToolCall {
		return call("file_write", map[string]any{"path": path, "content": "x\n"})
	}
	run := func(command string) *loomv1.ToolCall { return call("shell", map[string]any{"command": command}) }
	for _, tt := range []struct {
		name  string
		call  *loomv1.ToolCall
		asked bool
		want  loomv1.ToolStatus
	}{
		{"what no rule names", write("a.txt"), false, loomv1.ToolStatus_TOOL_STATUS_OK},
		{"a path that is asked about", write("docs/x/y.md"), true, 0},
		{"a path that is denied", write(".github/workflows/ci.yml"), false, loomv1.ToolStatus_TOOL_STATUS_DENIED},
		{"a command that is allowed", run("cat a.txt"), false, loomv1.ToolStatus_TOOL_STATUS_OK},
		{"a command that is denied", run("cat secret.txt"), false, loomv1.ToolStatus_TOOL_STATUS_DENIED},
		{"a command that no rule names", run("echo x"), true, 0},
		{"a command that could be two", run("cat a.txt; echo x"), true, 0},
	} {
		t.Run("AGENT04 "+tt.name, func(t *testing.T) {
			b := newBench(t, script(says(tt.call), finish("success")))
			if b.worker.Roles, err = roles.Builtin().With(r); err != nil {
				t.Fatal(err)
			}
			_, err := b.work(brief("poet", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
			if asked := errors.Is(err, actors.ErrParked); asked != tt.asked || len(b.seat.wanted) > 0 != tt.asked {
				t.Fatalf("%v; asked about %v, want a question: %t", err, b.seat.wanted, tt.asked)
			}
			for _, s := range b.seat.turn.Steps {
				if c := s.GetTool(); c != nil && !tt.asked && c.Result.GetStatus() != tt.want {
					t.Errorf("the call ended %v: %s; want %v", c.Result.GetStatus(), c.Result.GetSummary(), tt.want)
				}
			}
		})
	}
}
