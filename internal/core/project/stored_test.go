package project_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// oneTask is a workflow in which one role does all.
func oneTask(name, version, role string) *loomv1.Definition {
	return &loomv1.Definition{
		Name: name, Version: version,
		Nodes: []*loomv1.NodeDefinition{
			{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START},
			{Id: "work", Type: loomv1.NodeType_NODE_TYPE_TASK, Role: role},
			{Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
		},
		Edges: []*loomv1.EdgeDefinition{{Id: "a", From: "start", To: "work"}, {Id: "b", From: "work", To: "end"}},
	}
}

// define presents a definition with the CEO's signature.
func (d *desk) define(def *loomv1.Definition) error {
	return d.present(ceo, d.sign(&loomv1.Approval{}, 0, func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Define{Define: &loomv1.ChangeDefinition{Definition: def, Reason: "better"}}
	}))
}

// definitions spells a list: name version changed executions/running.
func (d *desk) definitions(q *loomv1.Query) (string, error) {
	v, err := d.s.Look(project.Definitions, q)
	var all []string
	for _, s := range v.GetDefinitions() {
		all = append(all, fmt.Sprintf("%s %s %t %t %d/%d", s.Name, s.Version, s.Latest, s.Changed, s.Executions, s.Running))
	}
	return strings.Join(all, ", "), err
}

func TestWF01_DefinitionsAreListedAndShown(t *testing.T) {
	d := newDesk(t)
	first := processes.Complete(oneTask("fix", "1.0", "lead"), roles.Builtin())
	for i, def := range []*loomv1.Definition{first, oneTask("fix", "1.1", "implementer")} {
		d.now = d.now.Add(time.Minute)
		if err := d.define(def); err != nil {
			t.Fatal(err)
		}
		d.ok(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{
			Submission: &loomv1.Submission{Goal: fmt.Sprint("goal ", i), Process: "fix"},
		}}})
	}
	hash := processes.Hash(first)
	for _, tt := range []struct {
		q    *loomv1.Query
		want string
		code string
	}{
		{&loomv1.Query{}, "auto-bug-workflow 1.0 true false 0/0, fix 1.1 true true 1/1", ""},
		{&loomv1.Query{Filter: "all"}, "auto-bug-workflow 1.0 true false 0/0, fix 1.1 true true 1/1, fix 1.0 false false 1/1", ""},
		{&loomv1.Query{Limit: 1}, "auto-bug-workflow 1.0 true false 0/0", ""},
		{&loomv1.Query{Id: "fix"}, "fix 1.1 true true 1/1", ""},
		{&loomv1.Query{Id: "fix@" + hash[:8]}, "fix 1.0 false false 1/1", ""},
		{&loomv1.Query{Id: "fix@" + hash}, "fix 1.0 false false 1/1", ""},
		{&loomv1.Query{Id: "fix@"}, "", "definition/unknown"}, // both
		{&loomv1.Query{Id: "fix@" + hash + "0"}, "", "definition/unknown"},
		{&loomv1.Query{Id: "auto-bug-workflow@" + hash}, "", "definition/unknown"},
		{&loomv1.Query{Id: "fxi"}, "", "definition/unknown"},
		{&loomv1.Query{Filter: "old"}, "", "usage/argument"},
	} {
		got, err := d.definitions(tt.q)
		if got != tt.want || fault.Code(err) != tt.code {
			t.Errorf("%v: %q, %v; want %q, %s", tt.q, got, err, tt.want, tt.code)
		}
	}
	v, err := d.s.Look(project.Definitions, &loomv1.Query{Id: "fix@" + hash})
	if err != nil || !proto.Equal(v.Definitions[0].Definition, first) || v.Definitions[0].Hash != hash || !v.Definitions[0].StoredAt.AsTime().Equal(noon.Add(time.Minute)) {
		t.Errorf("shown: %v, %v", v, err)
	}
	if _, err := d.definitions(&loomv1.Query{Id: "fxi"}); !strings.Contains(err.Error(), `did you mean "fix"?`) {
		t.Errorf("no hint in %v", err)
	}
}

// A definition by message is held to what a file is held to, all at once, and
// what it leaves open is filled in.
func TestWF09_AChangedDefinitionIsValidated(t *testing.T) {
	d := newDesk(t)
	bad := oneTask("fix", "2.0", "nobody")
	bad.Nodes[1].Id = "Work Work"
	bad.Nodes = append(bad.Nodes, &loomv1.NodeDefinition{Id: "sub", Type: loomv1.NodeType_NODE_TYPE_TASK, Process: "nothing"})
	for _, tt := range []struct {
		def  *loomv1.Definition
		want []string
	}{
		{nil, nil},
		{bad, []string{
			"version workflow/version",
			"nodes[1].id workflow/invalid", "nodes[1].role workflow/role", "edges[0].to workflow/edge", "edges[1].from workflow/edge", "nodes[3].process workflow/process",
		}},
		{&loomv1.Definition{
			Name: "auto-bug-workflow", Version: "1.0", Edges: bad.Edges[:0],
			Nodes: []*loomv1.NodeDefinition{{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START}},
		}, []string{"nodes workflow/end"}},
	} {
		err := d.define(tt.def)
		var got []string
		for _, e := range fault.From(err).More {
			got = append(got, e.Where+" "+e.Code)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || fault.Code(err) != "definition/invalid" {
			t.Errorf("%v: want -, got +:\n%s", err, diff)
		}
	}
	if got, _ := d.definitions(&loomv1.Query{Filter: "all"}); got != "auto-bug-workflow 1.0 true false 0/0" {
		t.Errorf("after refusals there are %s", got)
	}
	if err := d.define(oneTask("fix", "1.0", "qa")); err != nil {
		t.Fatal(err)
	}
	v, err := d.s.Look(project.Definitions, &loomv1.Query{Id: "fix"})
	if err != nil || v.Definitions[0].Definition.Nodes[1].Role != "qa-engineer" || v.Definitions[0].Definition.Nodes[1].MaxAttempts != 3 {
		t.Errorf("stored %v, %v", v, err)
	}
}
