package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const engineer, researcher = "backend-engineer", "researcher"

// packed gives a bench a package with a tool of each class, and counts the calls.
func (b *bench) packed(ran map[string]int) {
	b.worker.Toolkit = func(_ context.Context, q agent.OutsideQuery) (list []tool.Outside, done func(), err error) {
		if q.Toolkit != "d1" || q.Process != "tender" {
			return nil, nil, fault.New("process/tool-untrusted", "not trusted")
		}
		for name, class := range map[string]loomv1.ToolClass{
			"pkg_read": loomv1.ToolClass_TOOL_CLASS_READ, "pkg_write": loomv1.ToolClass_TOOL_CLASS_WRITE, "pkg_exec": loomv1.ToolClass_TOOL_CLASS_EXEC,
		} {
			list = append(list, tool.Outside{
				Spec: tool.Spec{Name: name, Description: "Does it.", Class: class, Schema: json.RawMessage(`{"type":"object"}`)},
				Run: func(context.Context, *loomv1.ToolCall) (string, bool, error) {
					ran[name]++
					return "did it", false, nil
				},
			})
		}
		return list, func() {}, nil
	}
}

// tender is work by a process with tools.
func tender(role string) *loomv1.Brief {
	br := brief(role, loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Definition = &loomv1.Definition{Name: "tender", Toolkit: "d1"}
	return br
}

// Tools of a package are there for who works by the process, and for nobody else;
// where nothing may be changed, those that only read.
func TestPROC07_ToolsOfAPackageAreForItsProcess(t *testing.T) {
	longtest.Skip(t)
	plain := tender(engineer)
	plain.Definition.Toolkit = ""
	excluding := tender(engineer)
	excluding.Definition.Guide = &loomv1.Guide{ExcludedTools: []string{"pkg_exec"}}
	several := tender(engineer)
	several.Definition.Guide = &loomv1.Guide{ExcludedTools: []string{"pkg_w*"}}
	for name, tt := range map[string]struct {
		br   *loomv1.Brief
		want []string
	}{
		"who changes files":       {tender(engineer), []string{"pkg_exec", "pkg_read", "pkg_write"}},
		"who only looks":          {tender(researcher), []string{"pkg_read"}},
		"a process that has none": {plain, nil},
		"one that excludes":       {excluding, []string{"pkg_read", "pkg_write"}},
		"one that excludes some":  {several, []string{"pkg_exec", "pkg_read"}},
	} {
		b := newBench(t, script(finish("success")))
		b.packed(map[string]int{})
		b.must(tt.br)
		var got []string
		for _, spec := range reachable(b.asks.last.Tools) {
			if strings.HasPrefix(spec.Name, "pkg_") {
				got = append(got, spec.Name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, tt.want) {
			t.Errorf("%s is offered %q, want %q", name, got, tt.want)
		}
	}
}

// Work is refused where the tools are not trusted, before anything is asked.
func TestPROC07_WorkWithoutTrustIsRefused(t *testing.T) {
	b := newBench(t, script(finish("success")))
	b.packed(map[string]int{})
	br := tender(engineer)
	br.Definition.Toolkit = "d2"
	if _, err := b.work(br); fault.Code(err) != "process/tool-untrusted" || b.asks.last != nil {
		t.Errorf("%v, and the model was asked %v", err, b.asks.last)
	}
}

// A role may have the CEO asked before a package's tool is used.
func TestPROC07_ARoleAsksAboutAPackagesTool(t *testing.T) {
	r, _ := roles.Builtin().Get(engineer)
	r.Tools.Ask = []string{"pkg_*"}
	set, err := roles.Builtin().With(r)
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	b := newBench(t, script(says(call("pkg_write", map[string]any{})), finish("success")))
	b.worker.Roles = set
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

// A host that dies before a call's end is recorded: what only reads or writes is
// done again, anything else is not, and the model is told.
func TestACT04_APackagesToolIsNotRepeatedBlindly(t *testing.T) {
	longtest.Skip(t)
	for name, again := range map[string]int{"pkg_read": 2, "pkg_write": 2, "pkg_exec": 1} {
		ran := map[string]int{}
		b := newBench(t, script(says(call(name, map[string]any{})), finish("success")))
		b.packed(ran)
		br := tender(engineer)
		b.seat.cutAt = 4 // start, answer, intent, and not the end
		if _, err := b.work(br); !errors.Is(err, errCut) || ran[name] != 1 {
			t.Fatalf("%s: %v, ran %v", name, err, ran)
		}
		br.Turn = proto.CloneOf(b.seat.turn)
		if b.must(br); ran[name] != again {
			t.Errorf("%s ran %d times, want %d", name, ran[name], again)
		}
		last := b.asks.last.Messages[len(b.asks.last.Messages)-1].Text
		if unknown := strings.Contains(last, "not known whether this ran"); unknown != (again == 1) {
			t.Errorf("%s: the model is told %q", name, last)
		}
	}
}
