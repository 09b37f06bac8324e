package project_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sets is a command that sets values of an execution's context.
func sets(t *testing.T, x string, values map[string]any) *loomv1.Command {
	t.Helper()
	v, err := structpb.NewStruct(values)
	if err != nil {
		t.Fatal(err)
	}
	return &loomv1.Command{Body: &loomv1.Command_SetContext{SetContext: &loomv1.SetContext{Execution: x, Values: v, Reason: "the offer came"}}}
}

// choosing is a process whose end depends on a value of the context, and one of whose
// files is named by another.
func choosing() *loomv1.Definition {
	def := line("choosing", "1.0", task("first", "qa-engineer"), task("large", "qa-engineer"))
	def.Parameters = []*loomv1.Parameter{{Name: "size", OneOf: []string{"large", "small"}, Required: true}, {Name: "limit", Kind: "number"}}
	for _, n := range def.Nodes {
		if n.Id == "large" {
			n.Phase = &loomv1.Phase{Deliverables: []string{"{context.report|report}.md — what was found"}}
		}
	}
	for _, e := range def.Edges {
		if e.To == "large" {
			e.Condition = `context.size == "large"`
		}
	}
	end := def.Nodes[len(def.Nodes)-1].Id
	def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: "first-end", From: "first", To: end, Condition: `context.size != "large"`})
	return def
}

// choose has a qa-engineer at the first step of that process, of a small thing.
func (d *desk) choose() (execution string, b *loomv1.Brief, who *loomv1.Claimant) {
	d.t.Helper()
	d.store(choosing())
	context, err := structpb.NewStruct(map[string]any{"size": "small", "report": "findings"})
	if err != nil {
		d.t.Fatal(err)
	}
	execution = d.file(&loomv1.Submission{Process: "choosing", Context: context}).Execution
	b, who = d.claim("qa-engineer")
	return execution, b, who
}

// TestPROC18_AValueThatIsSetDecidesWhatComesNext has work go the way that an operator
// set while it ran, on the record and also after a restart.
func TestPROC18_AValueThatIsSetDecidesWhatComesNext(t *testing.T) {
	d := newDesk(t)
	x, b, who := d.choose()
	n := len(d.events)
	if r := d.ok(sets(t, x, map[string]any{"size": "large", "limit": 3.0, "note": "by mail"})).GetSubmit(); r.Duplicate || r.Execution != x {
		t.Errorf("set: %v", r)
	}
	facts := d.since(n)
	if len(facts) != 1 || facts[0].GetContextSet().GetReason() != "the offer came" || facts[0].Actor.GetName() != "ann" || facts[0].Execution != x {
		t.Errorf("it is on the record as %v", facts)
	}
	if r := d.ok(sets(t, x, map[string]any{"size": "large", "other": nil})).GetSubmit(); !r.Duplicate {
		t.Error("the same once more is another change")
	}
	d.ok(sets(t, x, map[string]any{"note": nil}))
	d.restart()
	if f := d.execution(x).Context.GetFields(); f["size"].GetStringValue() != "large" || f["limit"].GetNumberValue() != 3 || f["note"] != nil {
		t.Errorf("after a restart the context is %v", f)
	}
	d.answers(b, who, outcome(success, nil))
	if next, _ := d.claim("qa-engineer"); next.GetNode().GetId() != "large" {
		t.Errorf("the work goes on at %q, want large", next.GetNode().GetId())
	}
}

func TestPROC18_WhichValuesMayBeSet(t *testing.T) {
	d := newDesk(t)
	x, b, who := d.choose()
	by := func(kind loomv1.IdentityKind, c *loomv1.Command) *loomv1.Command {
		c.Actor = &loomv1.Identity{Kind: kind, Name: "a"}
		return c
	}
	n := len(d.events)
	for _, tt := range []struct {
		name string
		cmd  *loomv1.Command
		code string
	}{
		{"by an agent", by(loomv1.IdentityKind_IDENTITY_KIND_AGENT, sets(t, x, map[string]any{"a": 1.0})), "request/denied"},
		{"by a publisher", by(loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, sets(t, x, map[string]any{"a": 1.0})), "request/denied"},
		{"of no execution", sets(t, "shop-9-x1", map[string]any{"a": 1.0}), "execution/unknown"},
		{"nothing", sets(t, x, nil), "command/malformed"},
		{"a word that the process does not know", sets(t, x, map[string]any{"size": "huge"}), "submit/invalid-field"},
		{"a text for a number", sets(t, x, map[string]any{"limit": "three"}), "submit/invalid-field"},
		{"what must be there taken out", sets(t, x, map[string]any{"size": nil}), "submit/invalid-field"},
		{"what files are named by", sets(t, x, map[string]any{"report": "other"}), "context/fixed"},
		{"what the runtime writes", sets(t, x, map[string]any{"last_run_at": "never"}), "context/fixed"},
		{"a control character", sets(t, x, map[string]any{"a": "\x1b[31m"}), "submit/invalid-field"},
		{"too much", sets(t, x, map[string]any{"a": strings.Repeat("x", 1<<20)}), "submit/too-large"},
	} {
		if _, err := d.do(tt.cmd); fault.Code(err) != tt.code {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.code)
		}
	}
	if facts := d.since(n); len(facts) != 0 {
		t.Errorf("what was refused left %v", facts)
	}
	d.ok(sets(t, x, map[string]any{"report": "findings"})) // is so already
	d.answers(b, who, outcome(success, nil))
	d.wait(0)
	if _, err := d.do(sets(t, x, map[string]any{"a": 1.0})); fault.Code(err) != "override/ended" {
		t.Errorf("of work that has ended: %v", err)
	}
}
