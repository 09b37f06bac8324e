package project_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Work under way keeps the checks that it began with until the CEO has it take over
// those that its project has now; what nodes named stays, and what is open is asked
// anew with the checks that count.
func TestWF10_ChecksAreTakenOver(t *testing.T) {
	d := newDesk(t)
	execution := d.bead(d.toApproval("p1")).Execution // triage has named a check
	before := d.execution(execution)
	old, named := d.inbox(), before.Checks[len(before.ProjectChecks):]
	v, err := d.s.Look(project.Projects, &loomv1.Query{})
	if err != nil {
		t.Fatal(err)
	}
	config := proto.CloneOf(v.Projects[0])
	config.Checks = []string{"make mended"}
	d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{Config: config}}})
	if x := d.execution(execution); !slices.Equal(x.Checks, before.Checks) {
		t.Errorf("without an order it has %q", x.Checks)
	}
	recheck := func(id, reason string) func(*loomv1.CeoCommand) {
		return func(c *loomv1.CeoCommand) {
			c.Verb = &loomv1.CeoCommand_Recheck{Recheck: &loomv1.RecheckExecution{Execution: id, Reason: reason}}
		}
	}
	for id, reason := range map[string]string{execution: " ", "shop-9-x1": "r"} {
		if err := d.present(ceo, d.order(recheck(id, reason))); !slices.Contains([]string{"override/invalid", "execution/unknown"}, fault.Code(err)) {
			t.Errorf("recheck of %s because %q: %v", id, reason, err)
		}
	}
	if err := d.present(loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, d.order(recheck(execution, "r"))); fault.Code(err) != "approval/identity" {
		t.Errorf("recheck by an operator: %v", err)
	}
	d.give(recheck(execution, "the check was wrong"))
	x := d.execution(execution)
	if want := append([]string{"make mended"}, named...); !slices.Equal(x.Checks, want) || len(named) == 0 {
		t.Errorf("it must see %q pass, want %q", x.Checks, want)
	}
	anew := d.inbox()
	if anew.Id == old.Id || !slices.Equal(anew.Checks, x.Checks) || anew.Digest == old.Digest || anew.Kind != old.Kind || anew.Question != old.Question {
		t.Errorf("asked is %v, and was %v", anew, old)
	}
	n := len(d.events)
	d.give(recheck(execution, "again"))
	if facts := d.since(n); len(facts) != 1 {
		t.Errorf("the same checks once more gave %v", facts)
	}
	d.approve()
	if x := d.execution(execution); x.Approved.GetApproval() != anew.Id {
		t.Errorf("approved is %v, want by %s", x.Approved, anew.Id)
	}
}

// What works for an execution takes the checks over with it, and what has ended does not.
func TestWF10_ChecksAreTakenOverByTheWholeTree(t *testing.T) {
	d := newDesk(t)
	f := d.nest()
	child := d.execution(f.Execution).Nodes["research"].Attempt.Child
	other := d.nest()
	d.configured(func(c *loomv1.ProjectConfig) { c.Checks = []string{"make mended"} })
	d.give(func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Recheck{Recheck: &loomv1.RecheckExecution{Execution: f.Execution, Reason: "the check was wrong"}}
	})
	for id, want := range map[string][]string{f.Execution: {"make mended"}, child: {"make mended"}, other.Execution: nil} {
		if x := d.execution(id); !slices.Equal(x.ProjectChecks, want) {
			t.Errorf("%s has the checks %q, want %q", id, x.ProjectChecks, want)
		}
	}
	d.restart()

	d.give(closes(child, "the wrong question"))
	d.configured(func(c *loomv1.ProjectConfig) { c.Checks = []string{"make again"} })
	n := len(d.events)
	d.give(func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Recheck{Recheck: &loomv1.RecheckExecution{Execution: f.Execution, Reason: "mended again"}}
	})
	for _, e := range d.since(n) {
		if e.GetChecksTaken() != nil && e.Execution == child {
			t.Errorf("%s has ended, and took checks over", child)
		}
	}
}
