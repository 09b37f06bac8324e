package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// used is a call of a tool through the one that it stands behind.
func used(name string, args map[string]any) *loomv1.ToolCall {
	return call(model.UseName, map[string]any{"tool": name, "arguments": args})
}

// many gives a bench a package with so many tools, and counts the calls.
func (b *bench) many(n int, ran map[string]int) {
	b.worker.Toolkit = func(context.Context, agent.OutsideQuery) (list []tool.Outside, done func(), err error) {
		for i := range n {
			name := fmt.Sprintf("pkg_an_operation_with_a_long_name_%03d", i)
			list = append(list, tool.Outside{
				Spec: tool.Spec{Name: name, Description: "Changes much.", Class: loomv1.ToolClass_TOOL_CLASS_WRITE, Schema: json.RawMessage(`{"type":"object","properties":{"where":{"type":"string"}}}`)},
				Run: func(context.Context, *loomv1.ToolCall) (string, bool, error) {
					ran[name]++
					return "did it", false, nil
				},
			})
		}
		return list, func() {}, nil
	}
}

// However small the zone and however many the tools, each is told of.
func TestAGENT03_NoToolIsLostBehindAnother(t *testing.T) {
	b := newBench(t, script(finish("success")))
	b.many(150, map[string]int{})
	b.as(engineer, func(r *roles.Role) { r.Context.Tools = 256 })
	b.must(tender(engineer))
	for _, s := range b.asks.last.Tools {
		for _, behind := range s.Behind {
			if !strings.Contains(s.Description, "\n"+behind.Name) {
				t.Errorf("the model is not told of %s", behind.Name)
			}
		}
	}
}

// To ask what a tool from outside takes does nothing, also where permissions are looked
// at for each call.
func TestAGENT03_ANameAloneIsAnsweredAndNotCalled(t *testing.T) {
	longtest.Skip(t)
	for _, permissions := range [][]*loomv1.Permission{nil, {{Id: "p1", Verdict: loomv1.PermissionVerdict_PERMISSION_VERDICT_DENY, Tool: "shell"}}} {
		asksByName(t, permissions)
	}
}

func asksByName(t *testing.T, permissions []*loomv1.Permission) {
	t.Helper()
	const name = "pkg_an_operation_with_a_long_name_001"
	ran, told := map[string]int{}, ""
	turns := []*model.Response{says(call(model.UseName, map[string]any{"tool": name})), says(used(name, nil)), finish("success")}
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		n := answers(r)
		if n == 1 {
			told = r.Messages[len(r.Messages)-1].Text
			if ran[name] != 0 {
				t.Errorf("%s was called", name)
			}
		}
		return turns[n], nil
	})
	b.many(2, ran)
	b.seat.permits = map[string]loomv1.PermissionVerdict{name: loomv1.PermissionVerdict_PERMISSION_VERDICT_ALLOW}
	br := tender(engineer)
	br.Permissions = permissions
	b.must(br)
	if !strings.Contains(told, name+": Changes much.\nIts arguments: {") || ran[name] != 1 {
		t.Errorf("it ran %d times, and the model was told %q", ran[name], told)
	}
}

// A tool from outside that the model is told takes nothing is called by its name alone.
func TestAGENT03_AToolThatTakesNothingIsCalledByName(t *testing.T) {
	ran := map[string]int{}
	b := newBench(t, script(says(call(model.UseName, map[string]any{"tool": "pkg_write"})), finish("success")))
	b.packed(ran)
	if b.must(tender(engineer)); ran["pkg_write"] != 1 {
		t.Errorf("ran %v", ran)
	}
}

// What a call through another tool may do is what the tool itself may.
func TestAGENT03_UseWidensNothing(t *testing.T) {
	longtest.Skip(t)
	for name, tt := range map[string]struct {
		c    *loomv1.ToolCall
		role func(*roles.Role)
		said string
	}{
		"a tool that the role lacks": {used("git_blame", map[string]any{"path": "a.txt"}), func(r *roles.Role) { r.Tools.Allow = []string{"file_read", "git_log", "git_diff"} }, "your role may not use git_blame"},
		"a path that is denied": {used("file_write", map[string]any{"path": "x/a", "content": "1"}), func(r *roles.Role) {
			r.Tools.Rules = []roles.Rule{{Deny: "file_write", On: "x/**"}}
		}, "the file of your role denies it"},
		"one that is nowhere": {used("git_push", nil), func(*roles.Role) {}, "there is no tool of this name"},
		"itself":              {used("use", map[string]any{"tool": "git_log", "arguments": map[string]any{}}), func(*roles.Role) {}, "it does not say which tool"},
		"the plan of nobody":  {used("plan", map[string]any{"summary": "s"}), func(*roles.Role) {}, "there is no tool of this name"},
	} {
		told := ""
		b := newBench(t, func(r *model.Request) (*model.Response, error) {
			if answers(r) == 0 {
				return says(tt.c), nil
			}
			told = r.Messages[len(r.Messages)-1].Text
			return finish("failure"), nil
		})
		b.as(engineer, tt.role)
		b.must(brief(engineer, loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
		if !strings.Contains(told, tt.said) {
			t.Errorf("%s: told %q", name, told)
		}
	}
}

// A tool that is asked about is asked about through another one, too, and the turn
// that waited makes the call once.
func TestAGENT03_UseAsksFirst(t *testing.T) {
	ran := map[string]int{}
	b := newBench(t, script(says(used("pkg_write", nil)), finish("success")))
	b.as(engineer, func(r *roles.Role) { r.Tools.Ask = []string{"pkg_*"} })
	b.packed(ran)
	br := tender(engineer)
	if _, err := b.work(br); !errors.Is(err, actors.ErrParked) || ran["pkg_write"] != 0 {
		t.Fatalf("before she has answered: %v, ran %v", err, ran)
	}
	b.seat.permits = map[string]loomv1.PermissionVerdict{"pkg_write": loomv1.PermissionVerdict_PERMISSION_VERDICT_ALLOW}
	br.Turn = proto.CloneOf(b.seat.turn)
	if b.must(br); ran["pkg_write"] != 1 {
		t.Errorf("ran %v", ran)
	}
}

// A turn is a circle whichever way its calls are made, and ends whichever way finish is.
func TestAGENT03_UseIsTheCallItself(t *testing.T) {
	direct, through := call("git_log", map[string]any{}), used("git_log", nil)
	b := newBench(t, script(says(direct), says(through), says(direct), says(through), says(direct), finish("success")))
	if out := b.must(brief(engineer, loomv1.NodeKind_NODE_KIND_UNSPECIFIED)); out.Code != "turn/loop" {
		t.Errorf("it ends with %v", out)
	}
	end := used("finish", map[string]any{"status": "failure", "summary": "no"})
	b = newBench(t, script(says(used("file_write", map[string]any{"path": "n.txt", "content": "<n>"}), used("file_read", map[string]any{"path": "n.txt"}), end)))
	if out := b.must(brief(engineer, loomv1.NodeKind_NODE_KIND_UNSPECIFIED)); out.Summary != "no" {
		t.Errorf("it ends with %v", out)
	}
	for _, s := range b.seat.turn.Steps {
		if c := s.GetTool(); c != nil && c.Result.GetStatus() != loomv1.ToolStatus_TOOL_STATUS_OK {
			t.Errorf("%v", c)
		}
	}
}

// A process excludes tools of servers also where the role has all of a server, and where
// it excludes all of one.
func TestAGENT03_AProcessExcludesToolsOfServers(t *testing.T) {
	longtest.Skip(t)
	for excluded, want := range map[string]string{"mcp_x_drop": "mcp_x_find", "mcp_x_*": "", "mcp_y_*": "mcp_x_drop mcp_x_find"} {
		b := newBench(t, script(finish("success")))
		b.worker.Outside = func(context.Context, agent.OutsideQuery) (list []tool.Outside, done func()) {
			for _, name := range []string{"mcp_x_drop", "mcp_x_find"} {
				list = append(list, tool.Outside{Spec: tool.Spec{Name: name, Schema: json.RawMessage(`{"type":"object"}`)}})
			}
			return list, func() {}
		}
		b.as(engineer, func(r *roles.Role) {
			r.Tools.Allow, r.Tools.Ask = append(r.Tools.Allow, "mcp_x_*"), []string{"mcp_x_drop"}
		})
		br := brief(engineer, loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Definition = &loomv1.Definition{Guide: &loomv1.Guide{ExcludedTools: []string{excluded}}}
		b.must(br)
		var got []string
		for _, s := range reachable(b.asks.last.Tools) {
			if strings.HasPrefix(s.Name, "mcp_") {
				got = append(got, s.Name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("without %s there are %q, want %q", excluded, got, want)
		}
	}
}

// A host that dies between an answer and the end of a call through use finds the tool
// itself in the record.
func TestAGENT03_ACutCallOfUseIsThatOfTheTool(t *testing.T) {
	longtest.Skip(t)
	for cut := 2; cut <= 5; cut++ {
		ran := map[string]int{}
		b := newBench(t, script(says(used("pkg_exec", nil)), finish("success")))
		b.packed(ran)
		br := tender(engineer)
		b.seat.cutAt, b.seat.durable = cut, true
		if _, err := b.work(br); !errors.Is(err, errCut) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		br.Turn = proto.CloneOf(b.seat.turn)
		if b.must(br); ran["pkg_exec"] > 1 {
			t.Errorf("cut at %d: ran %v", cut, ran)
		}
		for _, s := range b.seat.turn.Steps {
			if c := s.GetTool(); c != nil && c.Call.Tool != "pkg_exec" {
				t.Errorf("cut at %d: the record has a call of %s", cut, c.Call.Tool)
			}
		}
		for _, m := range b.asks.last.Messages {
			for _, c := range m.Calls {
				if c.Tool != model.UseName {
					t.Errorf("cut at %d: the model is shown a call of %s", cut, c.Tool)
				}
			}
		}
	}
}
