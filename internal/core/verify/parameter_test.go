package verify_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A context is held against what a process takes, all at once, each at its key.
func TestPROC01_ParametersOfAProcess(t *testing.T) {
	def := &loomv1.Definition{
		Parameters: []*loomv1.Parameter{
			{Name: "artifact", Kind: "file"},
			{Name: "type", OneOf: []string{"docx", "pdf"}},
			{Name: "town", Pattern: "[A-Z][a-z]*"},
			{Name: "copies", Kind: "number"},
			{Name: "final", Kind: "bool"},
		},
		Nodes: []*loomv1.NodeDefinition{
			{Id: "plan", Phase: &loomv1.Phase{Deliverables: []string{"{context.artifact|document}.{context.ending|md}", "{context.artifact|document}.json"}}},
			{Id: "end"},
		},
	}
	for _, tt := range []struct {
		context map[string]any
		want    string // the places, and what must be said
	}{
		{nil, ""},
		{map[string]any{"artifact": "plans/roof", "type": "pdf", "town": "Ulm", "copies": 3, "final": true, "other": []any{}}, ""},
		{map[string]any{"artifact": "../roof"}, "context.artifact: not part of the name of a file"},
		{map[string]any{"artifact": ""}, "context.artifact: not part of the name of a file"},
		{map[string]any{"artifact": 7}, "context.artifact: the value is no text"},
		{map[string]any{"artifact": nil}, "context.artifact: the value is no text"},
		{map[string]any{"artifact": []any{"a"}}, "context.artifact: the value is no text"},
		{map[string]any{"type": "odt"}, "context.type: the process does not take this value"},
		{map[string]any{"type": ""}, "context.type: the process does not take this value"},
		{map[string]any{"town": "Ulm-Nord"}, "context.town: the value does not match the process's pattern"},
		{map[string]any{"copies": "3"}, "context.copies: the value is no number"},
		{map[string]any{"final": 1}, "context.final: the value is no bool"},
		{map[string]any{"ending": "a b"}, "context.ending: not part of the name of a file"}, // of no declared parameter
		{map[string]any{"artifact": strings.Repeat("x", 300)}, "context.artifact: not part of the name"},
		{map[string]any{"artifact": strings.Repeat("x", verify.MaxName-2)}, "context: a deliverable of plan would be called so"},
		{map[string]any{"artefact": "roof"}, "context.artefact: the process takes no such value"},
		{map[string]any{"artifcat": "roof", "artifact": "roof"}, ""}, // nothing is missing
		{map[string]any{"coopies": 3, "tpye": "pdf"}, "context.coopies: the process takes no such value"},
		{map[string]any{"artifact": "a b", "type": "odt"}, "context.artifact: not part; context.type: the process"},
	} {
		x, err := structpb.NewStruct(tt.context)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range verify.Parameters(def, x) {
			got = append(got, e.Where+": "+e.Message)
		}
		wants := strings.Split(tt.want, "; ")
		if tt.want == "" {
			wants = nil
		}
		for i, want := range wants {
			if i >= len(got) || !strings.HasPrefix(got[i], want) {
				t.Errorf("%v: %q, want %q", tt.context, got, tt.want)
				break
			}
		}
		if len(got) != len(wants) {
			t.Errorf("%v: %q, want %q", tt.context, got, tt.want)
		}
	}
	def.Parameters[1].Required = true
	if errs := verify.Parameters(def, nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), "--set type=VALUE") {
		t.Errorf("of one that is needed: %v", errs)
	}
}
