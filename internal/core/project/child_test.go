package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func part(id, process string) *loomv1.NodeDefinition {
	return &loomv1.NodeDefinition{Id: id, Process: process, MaxAttempts: 1}
}

// nest stores a process whose one node is done by another.
func (d *desk) nest() *loomv1.SubmitReply {
	d.t.Helper()
	def := line("inner", "1.0", task("look", "qa-engineer"), task("write", "project-manager"))
	def.Nodes[2].Outcome = map[string]string{"pages": "int"}
	d.store(def)
	d.store(line("outer", "1.0", part("research", "inner"), task("sum-up", "project-manager")))
	return d.file(&loomv1.Submission{Goal: "compare three stores", Process: "outer", Priority: loomv1.Priority_PRIORITY_URGENT})
}

func (d *desk) bead(id string) *loomv1.Bead {
	d.t.Helper()
	v, err := d.s.Look(project.Beads, &loomv1.Query{Id: id})
	if err != nil {
		d.t.Fatal(err)
	}
	return v.Beads[0]
}

func TestPROC06_AProcessDoesTheWorkOfANode(t *testing.T) {
	d := newDesk(t)
	f := d.nest()
	up := d.execution(f.Execution)
	child := d.execution(up.Nodes["research"].Attempt.Child)
	b := d.bead(child.Bead)
	if child.Parent != up.Id || child.ParentAttempt != up.Nodes["research"].Attempt.Id || child.Depth != 1 || child.Definition != "inner" {
		t.Errorf("child %v, want one of %s", child, up.Id)
	}
	if b.Parent != f.Bead || b.Priority != loomv1.Priority_PRIORITY_URGENT || b.Process != "inner" || !strings.Contains(b.Goal, "compare three stores") {
		t.Errorf("its bead %v, want a part of %s", b, f.Bead)
	}
	d.work("qa-engineer", outcome(success, nil))
	out := outcome(success, map[string]any{"pages": 12})
	out.Notes = "the third is best"
	d.work("project-manager", out)
	if got := d.status(child.Bead); got != "closed" {
		t.Errorf("the child's bead is %s, want closed", got)
	}
	h := d.execution(f.Execution).Nodes["research"].History[0]
	if h.Outcome.Status != success || !strings.Contains(h.Outcome.Notes, "the third is best") || !strings.Contains(h.Outcome.Notes, "pages = 12") {
		t.Errorf("the parent was told %v, want what the child found", h.Outcome)
	}
	brief := d.work("project-manager", outcome(success, nil))
	if notes := brief.Execution.Nodes["research"].Outcome.GetNotes(); !strings.Contains(notes, "the third is best") {
		t.Errorf("the next node is told %q", notes)
	}
	if got := d.status(f.Bead); got != "closed" {
		t.Errorf("the parent's bead is %s, want closed", got)
	}
}

func TestPROC06_AChildThatDoesNotCompleteFailsTheAttempt(t *testing.T) {
	d := newDesk(t)
	f := d.nest()
	child := d.execution(d.execution(f.Execution).Nodes["research"].Attempt.Child)
	d.give(closes(child.Id, "the wrong question"))
	h := d.execution(f.Execution).Nodes["research"].History[0]
	if h.Outcome.Status != failed || !strings.Contains(h.Outcome.Summary, "the wrong question") {
		t.Errorf("the parent was told %v", h.Outcome)
	}
	if a := d.inbox(); a.Bead != f.Bead || a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		t.Errorf("asked %v, want how the parent is to go on", a)
	}
	// Another attempt is another child.
	if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY, nil)); err != nil {
		t.Fatal(err)
	}
	again := d.execution(f.Execution).Nodes["research"].Attempt.Child
	if again == "" || again == child.Id {
		t.Errorf("the second attempt is done by %q, the first was by %s", again, child.Id)
	}
}

func TestPROC06_WhatEndsTheParentEndsItsChildren(t *testing.T) {
	for name, end := range map[string]func(d *desk, x string){
		"closed": func(d *desk, x string) { d.give(closes(x, "no more")) },
		"moved":  func(d *desk, x string) { d.give(moves(x, "sum-up", "enough is known")) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.store(line("middle", "1.0", part("deeper", "inner")))
			d.nest()
			d.store(line("outer", "1.1", part("research", "middle"), task("sum-up", "project-manager")))
			f := d.file(&loomv1.Submission{Process: "outer"})
			middle := d.execution(d.execution(f.Execution).Nodes["research"].Attempt.Child)
			inner := d.execution(middle.Nodes["deeper"].Attempt.Child)
			end(d, f.Execution)
			for _, x := range []*loomv1.Execution{middle, inner} {
				if x = d.execution(x.Id); x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED || x.Reason == "" || d.status(x.Bead) != "aborted" {
					t.Errorf("%s is %s (%q), its bead %s; want it aborted with a reason", x.Id, x.Status, x.Reason, d.status(x.Bead))
				}
			}
		})
	}
}

func TestPROC06_AChildWaitsWhileItsParentOrItselfIsPaused(t *testing.T) {
	for _, of := range []string{"parent", "child", "inner", "outer"} {
		t.Run(of, func(t *testing.T) {
			d := newDesk(t)
			f := d.nest()
			child := d.execution(f.Execution).Nodes["research"].Attempt.Child
			scope, name := oneExecution, map[string]string{"parent": f.Execution, "child": child}[of]
			if name == "" {
				scope, name = oneProcess, of
			}
			d.give(pauses(scope, name, "r"))
			if q := d.s.Queued(); len(q) != 0 {
				t.Errorf("queued: %v", q)
			}
			d.give(resumes(scope, name, "r"))
			d.wait(0)
			d.work("qa-engineer", outcome(success, nil))
		})
	}
}

func TestPROC06_AProcessThatIsNotThereFailsTheAttempt(t *testing.T) {
	d := newDesk(t)
	d.store(line("outer", "1.0", part("research", "inner")))
	d.file(&loomv1.Submission{Process: "outer"})
	if a := d.inbox(); a.History[0].Outcome.Code != "workflow/process" {
		t.Errorf("asked %v, want because of workflow/process", a)
	}
}

func TestPROC06_NestingHasAnEnd(t *testing.T) {
	d := newDesk(t)
	d.store(line("again", "1.0", part("me", "again")))
	d.file(&loomv1.Submission{Process: "again"})
	d.wait(0)
	deepest, codes := uint32(0), []string{}
	for i := range 9 {
		x := d.execution(fmt.Sprintf("shop-%d-x1", i+1))
		deepest = max(deepest, x.Depth)
		for _, a := range x.Nodes["me"].GetHistory() {
			codes = append(codes, a.Outcome.Code)
		}
	}
	if deepest != project.MaxNested || !slices.Contains(codes, "workflow/depth") {
		t.Errorf("deepest %d with %v, want %d and then workflow/depth", deepest, codes, project.MaxNested)
	}
}

// A process that forks into many that fork is begun in small batches.
func TestPROC06_ManyChildrenBeginAFewAtATime(t *testing.T) {
	d := newDesk(t)
	def := &loomv1.Definition{Name: "wide", Version: "1.0", Nodes: []*loomv1.NodeDefinition{
		{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START}, {Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
	}}
	const many = 40
	for i := range many {
		id := fmt.Sprint("n", i)
		n := part(id, "inner")
		n.Type = loomv1.NodeType_NODE_TYPE_TASK
		def.Nodes = append(def.Nodes, n)
		def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: "a" + id, From: "start", To: id}, &loomv1.EdgeDefinition{Id: "b" + id, From: id, To: "end"})
	}
	d.store(line("inner", "1.0", task("only", "qa-engineer")))
	d.store(def)
	n := len(d.events)
	d.file(&loomv1.Submission{Process: "wide"})
	begun := func() (k int) {
		for _, e := range d.since(n) {
			if e.GetChildStarted() != nil {
				k++
			}
		}
		return k
	}
	if first := begun(); first == 0 || first > many/2 {
		t.Errorf("%d children begun by one command", first)
	}
	d.restart()
	d.wait(0)
	if got := begun(); got != many || len(d.s.Queued()) != many {
		t.Errorf("%d children begun, %d wait for agents; want %d", got, len(d.s.Queued()), many)
	}
}

// duties are the nodes that bring a change to the target.
func duties() []*loomv1.NodeDefinition {
	kind := func(id, role string, k loomv1.NodeKind) *loomv1.NodeDefinition {
		return &loomv1.NodeDefinition{Id: id, Role: role, Kind: k}
	}
	return []*loomv1.NodeDefinition{
		kind("commit", "engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT), kind("verify", "qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY),
		kind("land", "engineering-manager", loomv1.NodeKind_NODE_KIND_LAND),
	}
}

// whole stores a process that has a part done by another, and asks whether to deliver.
func (d *desk) whole() *loomv1.SubmitReply {
	d.t.Helper()
	ask := &loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"}
	d.store(line("inner", "1.0", append([]*loomv1.NodeDefinition{task("write", "backend-engineer")}, duties()...)...))
	d.store(line("outer", "1.0", append([]*loomv1.NodeDefinition{task("begin", "project-manager"), part("do", "inner"), ask}, duties()...)...))
	return d.file(&loomv1.Submission{Goal: "mend it", Process: "outer"})
}

func (d *desk) gives(b *loomv1.Brief, who *loomv1.Claimant, out *loomv1.Outcome) {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: out}}})
}

// A child begins with its parent's change, never lands, and its change is its parent's
// to be approved: refused, nothing of it has landed.
func TestPROC06_WhatAChildMadeIsApprovedWithItsParents(t *testing.T) {
	for _, refused := range []bool{true, false} {
		d := newDesk(t)
		d.configured(func(c *loomv1.ProjectConfig) { c.Checks = []string{"go test ./..."} })
		f := d.whole()
		from := len(d.events)
		d.work("project-manager", proposed("p1"))
		child := d.execution(d.execution(f.Execution).Nodes["do"].Attempt.Child)
		if child.Begins.GetPatchDigest() != "p1" {
			t.Errorf("the child begins with %v, want p1", child.Begins)
		}
		for _, step := range []struct {
			role  string
			patch string
		}{{"backend-engineer", "p2"}, {"engineering-manager", ""}, {"qa-engineer", ""}} {
			b, who := d.claim(step.role)
			out := result(b, success, step.patch)
			if step.patch != "" {
				out = proposed(step.patch)
			}
			d.gives(b, who, out)
		}
		if child = d.execution(child.Id); d.status(child.Bead) != "closed" || child.Landing != nil {
			t.Fatalf("the child is %s, it landed %v", d.status(child.Bead), child.Landing)
		}
		d.restart() // between the child's end and its take-over
		b, who := d.claim("engineering-manager")
		given := b.Attempt.Given.GetChange()
		if b.Attempt.Node != "do" || given.GetPatchDigest() != "p2" || given.Base != child.Begins.Commit || !slices.Contains(given.Makers, "backend-engineer") {
			t.Fatalf("it takes over %v at %s, want p2 of backend-engineer on what the child began with", given, b.Attempt.Node)
		}
		d.gives(b, who, proposed("p3"))
		a := d.inbox()
		if a.Change.GetPatchDigest() != "p3" {
			t.Fatalf("asked about %v, want p3", a.Change)
		}
		verdict := loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
		if refused {
			verdict = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
		}
		if err := d.present(ceo, d.sign(a, verdict, nil)); err != nil {
			t.Fatal(err)
		}
		for _, role := range []string{"engineering-manager", "qa-engineer", "engineering-manager"} {
			if refused {
				break
			}
			b, who := d.claim(role)
			d.gives(b, who, result(b, success, ""))
		}
		var landed []string
		for _, e := range d.since(from) {
			if e.GetLanded() != nil {
				landed = append(landed, e.Execution)
			}
		}
		if want := map[bool][]string{false: {f.Execution}}[refused]; !slices.Equal(landed, want) {
			t.Errorf("refused %t: %v landed, want %v", refused, landed, want)
		}
	}
}

// Where no landing follows, nobody could land for a child what it makes: it lands it by
// itself, as anybody would, and begins with nothing of its parent's.
func TestPROC06_AChildOfWhatLandsNothingLandsByItself(t *testing.T) {
	d := newDesk(t)
	d.configured(func(c *loomv1.ProjectConfig) { c.Checks = []string{"go test ./..."} })
	d.store(line("inner", "1.0", append([]*loomv1.NodeDefinition{task("write", "backend-engineer")}, duties()...)...))
	d.store(line("bare", "1.0", task("begin", "project-manager"), part("do", "inner")))
	f := d.file(&loomv1.Submission{Goal: "mend another", Process: "bare"})
	d.work("project-manager", proposed("p1"))
	child := d.execution(d.execution(f.Execution).Nodes["do"].Attempt.Child)
	if !child.Lands || child.Begins != nil {
		t.Errorf("it lands by itself: %t, and begins with %v", child.Lands, child.Begins)
	}
	d.restart()
	if !d.execution(child.Id).Lands {
		t.Error("a restart has it forgotten")
	}
}

// What a child holds of its parent, which was not approved, goes nowhere else: its
// draft is not gone on with, and it is not forked. A child of the child begins with it.
func TestPROC06_WhatAChildBeganWithGoesNowhereElse(t *testing.T) {
	d := newDesk(t)
	d.store(line("deep", "1.0", task("dig", "backend-engineer")))
	d.store(line("inner", "1.0", part("deeper", "deep"), task("write", "backend-engineer")))
	d.configured(func(c *loomv1.ProjectConfig) { c.Checks = []string{"go test ./..."} })
	d.store(line("outer", "1.0", append([]*loomv1.NodeDefinition{task("begin", "project-manager"), part("do", "inner")}, duties()...)...))
	f := d.file(&loomv1.Submission{Goal: "mend it", Process: "outer"})
	d.work("project-manager", proposed("p1"))
	child := d.execution(d.execution(f.Execution).Nodes["do"].Attempt.Child)
	inmost := d.execution(child.Nodes["deeper"].Attempt.Child)
	if child.Begins.GetPatchDigest() != "p1" || inmost.Begins.GetPatchDigest() != "p1" {
		t.Errorf("they begin with %v and %v, want p1", child.Begins, inmost.Begins)
	}
	_, err := d.do(forks(&loomv1.ForkExecution{Execution: child.Id, Node: "write", Request: "r"}))
	if fault.Code(err) != "bead/invalid" {
		t.Errorf("it is forked: %v", err)
	}
}
