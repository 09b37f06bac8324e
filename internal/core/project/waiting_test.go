package project_test

import (
	"slices"
	"testing"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What holds up the most beads comes first: its own, those that it blocks, directly or
// not, and those that it is a part of. Of those that hold up as many the oldest does.
func TestHUM01_TheInboxBeginsWithWhatHoldsUpMost(t *testing.T) {
	d := newDesk(t)
	d.store(line("ask", "1.0", &loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"}))
	file := func(s *loomv1.Submission) string {
		s.Process = "ask"
		return d.file(s).Bead
	}
	alone := file(&loomv1.Submission{})
	first := file(&loomv1.Submission{})
	second := file(&loomv1.Submission{BlockedBy: []string{first}})
	file(&loomv1.Submission{BlockedBy: []string{second}})
	whole := file(&loomv1.Submission{})
	part := file(&loomv1.Submission{Parent: whole})
	look := func(q *loomv1.Query) *loomv1.View {
		v, err := d.s.Look(project.Inbox, q)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	type held struct {
		bead  string
		holds uint32
	}
	check := func(q *loomv1.Query, want ...held) {
		t.Helper()
		v := look(q)
		var got []held
		for i, w := range v.Waits {
			got = append(got, held{w.Bead, w.Holds})
			if a := v.Approvals[i]; a.Id != w.Id || w.Kind != "approval" || w.Question != a.Question || w.Project != "shop" || !w.Since.AsTime().Equal(a.AskedAt.AsTime()) {
				t.Errorf("%v stands for %v", w, a)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v waits as %v, want %v", q, got, want)
		}
	}
	all := []held{{first, 3}, {part, 2}, {alone, 1}, {whole, 1}}
	check(&loomv1.Query{}, all...)
	check(&loomv1.Query{Filter: "approval"}, all...)
	check(&loomv1.Query{Filter: "question"})
	check(&loomv1.Query{Limit: 2}, all[:2]...)
	if v := look(&loomv1.Query{Limit: 2}); v.WaitsTotal != 4 || v.Next != "" {
		t.Errorf("of 4: %d, and goes on after %q", v.WaitsTotal, v.Next)
	}
	v := look(&loomv1.Query{})
	if err := d.present(ceo, d.sign(v.Approvals[0], loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, nil)); err != nil {
		t.Fatal(err)
	}
	check(&loomv1.Query{}, held{part, 2}, held{alone, 1}, held{whole, 1}) // what was answered waits no more
}
