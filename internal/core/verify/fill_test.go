package verify_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Deliverables have the names that the context gives them, or their own.
func TestPROC04_DeliverablesAreNamedByTheContext(t *testing.T) {
	const promised = "{context.artifact|document}.{context.type|docx}.record.json — which file"
	for _, tt := range []struct {
		context map[string]any
		name    string // "" for a refusal
	}{
		{nil, "document.docx.record.json"},
		{map[string]any{"artifact": "plans/roof", "type": "pdf"}, "plans/roof.pdf.record.json"},
		{map[string]any{"artifact": "", "other": "x"}, "document.docx.record.json"},
		{map[string]any{"artifact": 7}, "document.docx.record.json"},
		{map[string]any{"artifact": "../roof"}, ""},
		{map[string]any{"artifact": "/etc/roof"}, ""},
		{map[string]any{"artifact": ".git/roof"}, ""},
		{map[string]any{"artifact": "a roof"}, ""},
		{map[string]any{"artifact": "README.md — /../.claude/commands/y"}, ""},
		{map[string]any{"artifact": "README.md - x"}, ""},
	} {
		c, err := structpb.NewStruct(tt.context)
		if err != nil {
			t.Fatal(err)
		}
		was := &loomv1.Phase{Deliverables: []string{promised}, ModelTier: 2}
		p, err := verify.InContext(was, c)
		if tt.name == "" {
			if fault.Code(err) != "process/deliverable" {
				t.Errorf("%v: %v, %v; want process/deliverable", tt.context, p, err)
			}
			continue
		}
		if list := verify.Deliverables(p); err != nil || len(list) != 1 || list[0].Name != tt.name || list[0].About != "which file" || p.ModelTier != 2 {
			t.Errorf("%v: %v, %v; want %s", tt.context, list, err, tt.name)
		}
		if was.Deliverables[0] != promised {
			t.Error("the phase of the definition is changed")
		}
	}
}
