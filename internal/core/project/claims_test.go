package project_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// changing is an outcome that proposes a change of these files.
func changing(digest string, paths ...string) *loomv1.Outcome {
	out := proposed(digest)
	out.Change.Files = nil
	for _, p := range paths {
		out.Change.Files = append(out.Change.Files, &loomv1.ChangedFile{Path: p, Status: "modified"})
	}
	return out
}

// proposes brings a bug with a change of these files to the CEO.
func (d *desk) proposes(report func() *loomv1.SubmitReply, digest string, paths ...string) (bead string) {
	d.t.Helper()
	bead = report().Bead
	d.work("qa-engineer", triaged())
	d.work("backend-engineer", outcome(more, nil))
	d.now = d.now.Add(time.Second)
	d.work("backend-engineer", changing(digest, paths...))
	return bead
}

// claims lists who claims which file, those that wait with a mark.
func (d *desk) claims() (list []string) {
	d.t.Helper()
	v, err := d.s.Look(project.Lock, &loomv1.Query{Filter: project.OfFiles})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, c := range v.Claims {
		if c.Holder.GetAgent() != "backend-engineer/1" || c.Since == nil || c.Execution != c.Bead+"-x1" {
			d.t.Errorf("claim %v", c)
		}
		list = append(list, fmt.Sprintf("%s %s%s", c.Path, c.Bead, map[bool]string{true: " waits"}[c.Waits]))
	}
	return list
}

func (d *desk) overlaps(bead string) (list []string) {
	d.t.Helper()
	v, err := d.s.Look(project.Inbox, &loomv1.Query{Id: bead})
	if err != nil || len(v.Approvals) != 1 {
		d.t.Fatalf("%v, %v", v, err)
	}
	for _, c := range v.Approvals[0].Overlaps {
		list = append(list, c.Path+" "+c.Bead)
	}
	return list
}

func TestLOCK02_FilesAreClaimedByTheChangeThatWasProposedFirst(t *testing.T) {
	d := newDesk(t)
	want := func(what string, got []string, want ...string) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	first := d.proposes(d.report, "p1", "cart.go", "b.go")
	want("one change", d.claims(), "b.go "+first, "cart.go "+first)
	second := d.proposes(d.report2, "p2", "cart.go", "a.go")
	want("two changes", d.claims(), "a.go "+second, "b.go "+first, "cart.go "+first, "cart.go "+second+" waits")
	want("overlaps of the first", d.overlaps(first))
	want("overlaps of the second", d.overlaps(second), "cart.go "+first)
	d.restart()
	want("after a restart", d.overlaps(second), "cart.go "+first)
	d.give(closes(first+"-x1", "given up"))
	want("after the first was given up", d.claims(), "a.go "+second, "cart.go "+second)
	want("overlaps then", d.overlaps(second))
}

// Who works again on a change is told whose files it touches; who begins has no
// change yet.
func TestLOCK02_WhoWorksAgainIsToldWhoHasTheFiles(t *testing.T) {
	d := newDesk(t)
	first := d.proposes(d.report, "p1", "cart.go")
	second := d.proposes(d.report2, "p2", "cart.go", "a.go")
	v, err := d.s.Look(project.Inbox, &loomv1.Query{Id: second})
	if err != nil || len(v.Approvals) != 1 {
		t.Fatalf("%v, %v", v, err)
	}
	if err := d.present(ceo, d.sign(v.Approvals[0], loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES, func(c *loomv1.CeoCommand) {
		c.GetDecide().Comment = "not like this"
	})); err != nil {
		t.Fatal(err)
	}
	b, _ := d.claim("backend-engineer")
	if len(b.Overlaps) != 1 || b.Overlaps[0].Path != "cart.go" || b.Overlaps[0].Bead != first {
		t.Errorf("told of %v, want cart.go held by %s", b.Overlaps, first)
	}
}
