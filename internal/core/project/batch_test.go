package project_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// enough is more than any command's facts may have, and less than a batch of the
// journal takes.
const enough = 900 << 10

// size does a command, which must be accepted, and returns how large all facts
// are.
func (y *yard) size(cmd *loomv1.Command) int {
	cmd.Project = "shop"
	events, answer, err := y.s.Do(y.now, cmd)
	if err != nil || answer.Error != nil {
		y.fatal.Fatalf("Do(%T): %v, %v", cmd.Body, answer.GetError(), err)
	}
	return bytesOf(events)
}

func bytesOf(events []*loomv1.Event) (n int) {
	for _, e := range events {
		n += proto.Size(e) + 8
	}
	return n
}

// fan is a definition with n tasks beside each other.
func fan(name string, n int, task *loomv1.NodeDefinition) *loomv1.Definition {
	def := &loomv1.Definition{Name: name, Version: "1.0", Nodes: []*loomv1.NodeDefinition{
		{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START}, {Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
	}}
	for i := range n {
		t := proto.CloneOf(task)
		t.Id, t.Type = fmt.Sprint("n", i), loomv1.NodeType_NODE_TYPE_TASK
		def.Nodes = append(def.Nodes, t)
		def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: "a" + t.Id, From: "start", To: t.Id}, &loomv1.EdgeDefinition{Id: "b" + t.Id, From: t.Id, To: "end"})
	}
	return def
}

func (y *yard) store(def *loomv1.Definition) {
	y.must(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
}

// A batch that is too large takes its project down, and with a tick again and
// again: so what a bead says is repeated for a few children at a time only.
func TestWF10_ChildrenOfALargeBeadBeginInBatchesThatFit(t *testing.T) {
	y := newYard(t, "researcher")
	y.store(fan("outer", 40, &loomv1.NodeDefinition{Process: "fan"}))
	context, err := structpb.NewStruct(map[string]any{"k": strings.Repeat("x", project.MaxContext-100)})
	if err != nil {
		t.Fatal(err)
	}
	if n := y.size(&loomv1.Command{Actor: publisher, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
		Goal: "g", Process: "outer", Description: strings.Repeat("d", project.MaxDescription), Context: context,
	}}}}); n > enough {
		t.Errorf("filing has %d bytes of facts, the most is %d", n, enough)
	}
	for due := true; due; {
		if _, n := y.tick(); n > enough {
			t.Fatalf("a tick has %d bytes of facts, the most is %d", n, enough)
		}
		at, any := y.s.Next()
		due = any && !at.After(y.now)
	}
	if got := len(y.s.Queued()); got != 40 {
		t.Errorf("%d children have begun, want 40", got)
	}
}

// An escalation tells what was tried, and not all that it said.
func TestWF10_AnEscalationAfterLargeOutcomesFits(t *testing.T) {
	for _, last := range []string{"a failure", "a timeout"} {
		y := newYard(t, "researcher")
		y.store(fan("large", 1, &loomv1.NodeDefinition{Role: "researcher", MaxAttempts: 10, Outcome: map[string]string{"f": "string"}}))
		y.file("large", normal)
		who, fields := agentOf("researcher", 1), map[string]any{"f": strings.Repeat("x", 150<<10)}
		for i := range 10 {
			b, err := y.take(who)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			if i < 9 || last == "a failure" {
				n = y.size(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
					Attempt: b.Attempt.Id, Claimant: who, Outcome: outcome(failed, fields),
				}}})
				y.now = y.now.Add(2 * time.Minute)
				y.tick()
			} else {
				y.now = y.now.Add(time.Hour)
				_, n = y.tick()
			}
			if n > enough {
				t.Errorf("%s as attempt %d has %d bytes of facts, the most is %d", last, i+1, n, enough)
			}
		}
		v, err := y.s.Look(project.Inbox, &loomv1.Query{})
		if err != nil || len(v.Approvals) != 1 {
			t.Fatalf("after %s: asked %v, %v", last, v, err)
		}
		if h := v.Approvals[0].History; len(h) != 10 || h[0].Outcome.Status != failed || h[0].Outcome.Summary != "done" {
			t.Errorf("after %s: told of %d attempts, the first %v", last, len(h), h[0])
		}
	}
}

// Whatever times out at once is asked about in batches that fit.
func TestWF10_ManyTimeoutsOfOneExecutionFit(t *testing.T) {
	longtest.Skip(t)
	y := newYard(t, "researcher")
	y.store(fan("wide", 250, &loomv1.NodeDefinition{Role: "researcher"}))
	y.file("wide", normal)
	y.takeAll("researcher")
	y.now = y.now.Add(time.Hour)
	for due := true; due; {
		if _, n := y.tick(); n > 256<<10 {
			t.Fatalf("a tick has %d bytes of facts", n)
		}
		at, any := y.s.Next()
		due = any && !at.After(y.now)
	}
	v, err := y.s.Look(project.Inbox, &loomv1.Query{Limit: 1000})
	if err != nil || len(v.Approvals) != 250 {
		t.Errorf("asked about %d attempts, %v; want all 250", len(v.GetApprovals()), err)
	}
}

func TestWF09_ARetryThatIsGrantedUnderAPauseBeginsAtItsEnd(t *testing.T) {
	d := newDesk(t)
	once := task("one", "qa-engineer")
	once.MaxAttempts = 1
	d.store(line("l", "1.0", once))
	f := d.file(&loomv1.Submission{Process: "l"})
	d.work("qa-engineer", outcome(failed, nil))
	d.give(pauses(oneExecution, f.Execution, "the night"))
	d.wait(10 * time.Hour)
	if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY, nil)); err != nil {
		t.Fatal(err)
	}
	d.wait(time.Minute)
	if q := d.s.Queued(); len(q) != 0 {
		t.Errorf("queued under the pause: %v", q)
	}
	d.give(resumes(oneExecution, f.Execution, "the morning"))
	d.wait(0)
	if q := d.s.Queued(); len(q) != 1 {
		t.Errorf("queued at the end of the pause: %v, want the attempt that was granted", q)
	}
}

func TestWF07_ANewGraceIsForWorkThatWaitsAlready(t *testing.T) {
	for _, tt := range []struct{ grace, at time.Duration }{{time.Minute, time.Minute}, {5 * time.Minute, 5 * time.Minute}} {
		d := newDesk(t)
		d.store(line("l", "1.0", task("one", "qa-engineer")))
		d.ok(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{Host: "h1", Roles: &loomv1.HostRoles{Epoch: 1}}}})
		f := d.file(&loomv1.Submission{Process: "l"})
		d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
			Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", Grace: durationpb.New(tt.grace)},
		}}})
		d.wait(tt.at - time.Second)
		if got := d.status(f.Bead); got != "in_progress" {
			t.Errorf("a second before a grace of %s is over: %s", tt.grace, got)
		}
		d.wait(time.Second)
		if got := d.status(f.Bead); got != "waiting" {
			t.Errorf("after a grace of %s: %s, want an escalation", tt.grace, got)
		}
	}
}

func TestWF07_ALargerBudgetCountsAfterAGrant(t *testing.T) {
	d := newDesk(t)
	f := d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Budget: &loomv1.Budget{Tokens: 100}})
	b, who := d.claim("qa-engineer")
	d.begin(b, who)
	use := func(n uint64) { d.spend(b, who, &loomv1.Usage{InputTokens: n, CostKnown: true}) }
	use(101)
	if err := d.present(ceo, d.sign(d.inbox(), approves, nil)); err != nil {
		t.Fatal(err)
	}
	d.ok(updates(&loomv1.Bead{Id: f.Bead, Budget: &loomv1.Budget{Tokens: 1000}}, "budget"))
	if use(899); d.limits() != 1 {
		t.Errorf("asked %d times within the larger budget, want once about the first", d.limits())
	}
	if use(1); d.limits() != 2 {
		t.Errorf("asked %d times beyond the larger budget, want twice", d.limits())
	}
}

func TestWF16_AForkIsAsUrgentAsItsBead(t *testing.T) {
	d := newDesk(t)
	d.store(line("l", "1.0", task("one", "qa-engineer")))
	f := d.file(&loomv1.Submission{Process: "l"})
	then := d.execution(f.Execution)
	d.ok(updates(&loomv1.Bead{Id: f.Bead, Priority: urgent}, "priority"))
	g := d.ok(forks(&loomv1.ForkExecution{Execution: f.Execution, Node: "one", Request: "r1", State: then, Number: 3})).GetSubmit()
	if b, x := d.bead(g.Bead), d.execution(g.Execution); b.Priority != urgent || x.Priority != urgent {
		t.Errorf("the fork's bead is %s and its execution %s, want both urgent", b.Priority, x.Priority)
	}
}

// What waits for the next tick is not looked at by this one again and again.
func TestWF12_ATickLooksOnceAtWhatWaitsForTheNext(t *testing.T) {
	y := newYard(t, "researcher")
	y.store(fan("outer", 200, &loomv1.NodeDefinition{Process: "fan"}))
	y.file("outer", normal)
	if n := testing.AllocsPerRun(5, func() { y.tick() }); n > 50_000 {
		t.Errorf("a tick that begins a few children of 200 makes %.0f allocations", n)
	}
}

func TestSUB02_AllThatIsSubmittedIsOnTheBead(t *testing.T) {
	d := newDesk(t)
	d.store(line("l", "1.0", task("one", "qa-engineer")))
	up, on := d.file(&loomv1.Submission{Process: "l"}).Bead, d.file(&loomv1.Submission{Process: "l"}).Bead
	context, err := structpb.NewStruct(map[string]any{"region": "eu"})
	if err != nil {
		t.Fatal(err)
	}
	sub := &loomv1.Submission{
		Project: "shop", Type: loomv1.BeadType_BEAD_TYPE_BUG, Goal: "mend it", Description: "all of it", Process: "l", Context: context,
		Priority: urgent, Deadline: timestamppb.New(noon.Add(time.Hour)), Labels: []string{"web", "cart"},
		Budget: &loomv1.Budget{Tokens: 1, MicroUsd: 2, WallSeconds: 3}, IdempotencyKey: "k", Parent: up, BlockedBy: []string{on}, Assignee: "web-designer",
		Stakeholders: []string{"Ann, finance: pays"},
	}
	for fields, i := sub.ProtoReflect().Descriptor().Fields(), 0; i < fields.Len(); i++ {
		if f := fields.Get(i); !sub.ProtoReflect().Has(f) {
			t.Errorf("this test leaves field %s out", f.Name())
		}
	}
	b := d.bead(d.file(proto.CloneOf(sub)).Bead)
	want := &loomv1.Bead{
		Id: b.Id, Project: "shop", Type: sub.Type, Status: loomv1.BeadStatus_BEAD_STATUS_BLOCKED, Goal: sub.Goal, Description: sub.Description,
		Process: "l", Context: context, Priority: urgent, Deadline: sub.Deadline, Labels: sub.Labels, Budget: sub.Budget, Parent: up,
		BlockedBy: sub.BlockedBy, Assignee: sub.Assignee, Stakeholders: sub.Stakeholders,
		Reason: b.Reason, CreatedAt: timestamppb.New(noon), UpdatedAt: timestamppb.New(noon), State: loomv1.WorkState_WORK_STATE_BLOCKED, BlockedSince: timestamppb.New(noon), FiledBy: b.FiledBy,
	}
	if !proto.Equal(b, want) {
		t.Errorf("submitted\n%v\nthe bead is\n%v\nwant\n%v", sub, b, want)
	}
}

// Thousands that work for one execution are closed with it, a batch after the
// other, and none of them goes on meanwhile.
func TestWF10_AFamilyIsClosedInBatchesThatFit(t *testing.T) {
	y := newYard(t, "researcher")
	y.store(fan("middle", 8, &loomv1.NodeDefinition{Process: "fan"}))
	y.store(fan("outer", 100, &loomv1.NodeDefinition{Process: "middle"}))
	bead := y.file("outer", normal)
	settle := func(see func(n int)) {
		for due := true; due; {
			_, n := y.tick()
			see(n)
			at, any := y.s.Next()
			due = any && !at.After(y.now)
		}
	}
	settle(func(int) {})
	if got := len(y.s.Queued()); got != 800 {
		t.Fatalf("%d children have begun, want 800", got)
	}
	before := y.s.Number()
	if err := y.command(closes(bead+"-x1", "enough")); err != nil {
		t.Fatal(err)
	}
	if got := y.s.Number() - before; got > 4_000 {
		t.Errorf("closing has %d facts at once", got)
	}
	if got := len(y.s.Queued()); got != 0 {
		t.Errorf("%d children of what is closed may still be claimed", got)
	}
	settle(func(n int) {
		if n > enough {
			t.Fatalf("a tick has %d bytes of facts, the most is %d", n, enough)
		}
	})
	v, err := y.s.Look(project.Executions, &loomv1.Query{Filter: "running", Limit: 10})
	if err != nil || len(v.Executions) != 0 {
		t.Errorf("%d executions run, %v", len(v.Executions), err)
	}
	if _, any := y.s.Next(); any {
		t.Error("something is still due")
	}
}
