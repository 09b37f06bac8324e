package project_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Another agent that goes on with an attempt repeats the call; it adds nothing.
func TestACT04_ADecisionThatIsLoggedAgainIsTheSameOne(t *testing.T) {
	d := newDesk(t)
	d.report()
	log := func(agent string) string {
		return d.ok(&loomv1.Command{
			Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: agent},
			Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{Request: "shop-1-x1-a1/c1-1", Node: &loomv1.DecisionNode{
				Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Title: "mend it", Bead: "shop-1", Execution: "shop-1-x1",
			}}},
		}).GetDecision().GetId()
	}
	if first, again := log("qa-engineer/1@h1"), log("qa-engineer/2@h1"); first != again {
		t.Errorf("one call became two decisions, %s and %s", first, again)
	}
}

// What was approved for one branch does not land on another.
func TestP09_AProjectStaysWhereItsWorkWasApprovedFor(t *testing.T) {
	d := newDesk(t)
	move := &loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "feature"},
	}}}
	d.toApproval("p1")
	if _, err := d.do(move); fault.Code(err) != "project/conflict" {
		t.Errorf("another branch while a change waits for approval: %v, want project/conflict", err)
	}
	if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, nil)); err != nil {
		t.Fatal(err)
	}
	d.ok(move)
}

// A command whose facts could not be made durable is refused before there are any.
func TestWF10_AnOutcomeThatOutgrowsABatchIsRefused(t *testing.T) {
	d := newDesk(t)
	d.report()
	d.work("qa-engineer", triaged())
	b, who := d.claim("backend-engineer")
	out := proposed("p1")
	for range 5000 {
		out.Change.Files = append(out.Change.Files, &loomv1.ChangedFile{Path: "internal/some/package/of/some/length/file.go", Status: "modified"})
	}
	answer := &loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: out}}}
	if _, err := d.do(answer); fault.Code(err) != "outcome/invalid" {
		t.Errorf("an outcome of %d bytes: %v, want outcome/invalid", proto.Size(out), err)
	}
}

// A list is not a dump: a hundred large beads fit into one answer.
func TestSUB06_AListLeavesOutWhatIsLarge(t *testing.T) {
	d := newDesk(t)
	large := make([]byte, project.MaxDescription)
	for i := range large {
		large[i] = 'x'
	}
	for range 100 {
		if _, _, err := d.s.Do(d.now, &loomv1.Command{Project: "shop", Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{
			Submission: &loomv1.Submission{Goal: "large", Description: string(large)},
		}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range []project.View{project.Beads, project.Executions} {
		list, err := d.s.Look(v, &loomv1.Query{})
		if err != nil || proto.Size(list) > 256<<10 {
			t.Errorf("list of %ss: %d bytes, %v", v, proto.Size(list), err)
		}
	}
	one, err := d.s.Look(project.Beads, &loomv1.Query{Id: "shop-7"})
	if err != nil || len(one.Beads[0].Description) != project.MaxDescription {
		t.Errorf("one bead: %v, want its whole description", err)
	}
}

// A node that named a wrong check can name another; the project's stay.
func TestBYD12_ANodesNewestWordOnChecksCounts(t *testing.T) {
	d := newDesk(t)
	d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", Checks: []string{"make lint"}},
	}}})
	d.report()
	name := func(check string) {
		d.work("qa-engineer", outcome(success, map[string]any{"severity": "high", "specialist": "backend-engineer", "check": check}))
	}
	want := func(checks ...string) {
		t.Helper()
		v, err := d.s.Look(project.Executions, &loomv1.Query{Id: "shop-1"})
		if err != nil || !slices.Equal(v.Executions[0].Checks, checks) {
			t.Errorf("checks %q, %v, want %q", v.GetExecutions()[0].GetChecks(), err, checks)
		}
	}
	name("gp test ./...")
	want("make lint", "gp test ./...")
	for range 5 {
		for len(d.s.Queued()) == 0 { // the backoff before another attempt
			d.now, _ = d.s.Next()
			d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
		}
		d.work("backend-engineer", outcome(failed, nil))
	}
	if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES, nil)); err != nil {
		t.Fatal(err)
	}
	name("go test ./...")
	want("make lint", "go test ./...")
}
