package project_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// withLater stores a process whose work lands, and leaves a task for afterwards.
func (d *desk) withLater(tasks ...*loomv1.NodeDefinition) *loomv1.Definition {
	d.t.Helper()
	d.configured(func(c *loomv1.ProjectConfig) { c.Checks = []string{"go test ./..."} })
	def := line("later", "1.0", append(append([]*loomv1.NodeDefinition{task("write", "backend-engineer")}, tasks...), duties()...)...)
	later := task("record", "project-manager")
	later.Type, later.Detached, later.Description = loomv1.NodeType_NODE_TYPE_TASK, true, "Record what was made."
	def.Nodes = append(def.Nodes, later)
	def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: "write-record", From: "write", To: "record"})
	d.store(def)
	return def
}

// lands has the work of a process with a detached node come to its end.
func (d *desk) lands() *loomv1.SubmitReply {
	d.t.Helper()
	d.withLater()
	f := d.file(&loomv1.Submission{Goal: "mend it", Process: "later", Priority: loomv1.Priority_PRIORITY_URGENT})
	d.work("backend-engineer", proposed("p1"))
	for _, role := range []string{"engineering-manager", "qa-engineer", "engineering-manager"} {
		b, who := d.claim(role)
		d.gives(b, who, result(b, success, ""))
	}
	return f
}

// afterOf is the bead of what was left for after a bead's end.
func (d *desk) afterOf(bead string) *loomv1.Bead {
	d.t.Helper()
	children := d.bead(bead).Children
	if len(children) != 1 {
		d.t.Fatalf("%v are parts of %s, want what is done after its end", children, bead)
	}
	return d.bead(children[0])
}

// The end waits for nothing that is detached. That begins with the fact of the end, once,
// on what has landed.
func TestPROC18_WorkAfterTheEndBeginsWithIt(t *testing.T) {
	d := newDesk(t)
	f := d.lands()
	if d.status(f.Bead) != "closed" {
		t.Fatalf("the bead is %s", d.status(f.Bead))
	}
	b := d.afterOf(f.Bead)
	x := d.execution(b.Execution)
	if b.After != f.Execution || b.Parent != f.Bead || b.Priority != loomv1.Priority_PRIORITY_URGENT || x.After != f.Execution || x.Parent != "" {
		t.Errorf("bead %v, execution after %q of %q", b, x.After, x.Parent)
	}
	if x.Begins.GetCommit() != "c-p1" || x.Begins.GetPatchDigest() != "p1" {
		t.Errorf("it begins with %v, want what has landed", x.Begins)
	}
	var end, begun []int
	for i, e := range d.events {
		switch {
		case e.GetExecutionEnded() != nil && e.Execution == f.Execution:
			end = append(end, i)
		case e.GetExecutionStarted().GetAfter() != "":
			begun = append(begun, i)
		case end != nil && e.Execution == f.Execution:
			if e.GetDecisionAdded() == nil && e.GetDecisionLinked() == nil && e.GetBeadStatusChanged() == nil {
				t.Errorf("%T about what has ended", e.Fact)
			}
		}
	}
	if len(end) != 1 || len(begun) != 1 {
		t.Errorf("it ended %d times, and what is done afterwards began %d times", len(end), len(begun))
	}
	d.restart()
	brief := d.work("project-manager", outcome(success, nil))
	if !strings.Contains(brief.CameTo, "completed") || !strings.Contains(brief.CameTo, "write: done") || brief.Node.Description != "Record what was made." {
		t.Errorf("whoever does it is told %q", brief.CameTo)
	}
	if d.status(b.Id) != "closed" || len(d.s.Queued()) > 0 {
		t.Errorf("what was left is %s", d.status(b.Id))
	}
	d.tick()
	if n := len(d.bead(f.Bead).Children); n != 1 {
		t.Errorf("%d were begun", n)
	}
}

// What is done after the end is tried as often as its node says. Its failure is told, and
// changes nothing about what has ended; nobody is asked.
func TestPROC18_WorkAfterTheEndFailsAlone(t *testing.T) {
	d := newDesk(t)
	f := d.lands()
	before := d.execution(f.Execution)
	for range 3 {
		d.work("project-manager", outcome(failed, nil))
		d.wait(time.Minute)
	}
	b := d.afterOf(f.Bead)
	if d.status(b.Id) != "failed" || !strings.Contains(b.Reason, "record: attempt/exhausted: 3 attempts") {
		t.Errorf("what was left is %s: %q", d.status(b.Id), b.Reason)
	}
	after := d.execution(f.Execution)
	if d.status(f.Bead) != "closed" || after.Status != before.Status || after.Transitions != before.Transitions || after.Reason != before.Reason {
		t.Errorf("what had ended is %v, was %v", after, before)
	}
	v, err := d.s.Look(project.Inbox, &loomv1.Query{})
	if err != nil || len(v.Approvals) > 0 {
		t.Errorf("the CEO is asked %v (%v)", v.Approvals, err)
	}
	if got := d.s.Snapshot().Lessons["later"]; got.GetExecutions() != 1 {
		t.Errorf("the process has %d executions to learn from, want 1", got.GetExecutions())
	}
}

// Work that has delivered nothing leaves nothing to be done.
func TestPROC18_WorkThatIsNotDeliveredHasNoWorkAfterIt(t *testing.T) {
	for _, how := range []string{"closed", "rejected"} {
		d := newDesk(t)
		d.withLater(&loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"})
		f := d.file(&loomv1.Submission{Goal: "mend it", Process: "later"})
		d.work("backend-engineer", proposed("p1"))
		if st := d.execution(f.Execution).Nodes["record"].GetStatus(); st != loomv1.NodeStatus_NODE_STATUS_DETACHED {
			t.Fatalf("the node is %s", st)
		}
		if how == "closed" {
			d.give(closes(f.Execution, "no more"))
		} else if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, nil)); err != nil {
			t.Fatal(err)
		}
		if n := len(d.bead(f.Bead).Children); n != 0 {
			t.Errorf("%s: %d were begun", how, n)
		}
	}
}

// Its definition is a part of another one and nobody's newest. A pause of the process
// covers it, no fork begins with what it began with, and its work is not taken for a part
// that its parent's bead waits for.
func TestPROC18_WorkAfterTheEndIsOfItsProcess(t *testing.T) {
	d := newDesk(t)
	f := d.lands()
	b := d.afterOf(f.Bead)
	d.give(pauses(oneProcess, "later", "r"))
	if q := d.s.Queued(); len(q) > 0 {
		t.Errorf("queued: %v", q)
	}
	d.give(resumes(oneProcess, "later", "r"))
	d.wait(0)
	x := d.execution(b.Execution)
	_, err := d.do(&loomv1.Command{Body: &loomv1.Command_ForkExecution{ForkExecution: &loomv1.ForkExecution{Request: "r1", Execution: x.Id, Node: "record"}}})
	if fault.Code(err) != "bead/invalid" {
		t.Errorf("forked: %v", err)
	}
	v, err := d.s.Look(project.Definitions, &loomv1.Query{Id: "later"})
	if err != nil || v.Definitions[0].Hash == x.DefinitionHash {
		t.Errorf("the newest definition is %v (%v), which is a part", v.Definitions, err)
	}
	g := d.file(&loomv1.Submission{Goal: "again", Process: "later"})
	if next := d.execution(g.Execution); next.DefinitionHash == x.DefinitionHash || len(next.Nodes) == 0 || next.Nodes["write"] == nil {
		t.Errorf("the next work goes by %s", next.DefinitionHash)
	}
	if got := d.list(&loomv1.Query{Parent: f.Bead}); !slices.Equal(got, []string{b.Id}) {
		t.Errorf("parts of %s: %v", f.Bead, got)
	}
}
