package workflow_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const withLater = `
	s start
	a task
	b task
	later task detached
	e end
	s -> a
	a -> b
	b -> e
	a -> later`

// The end waits for no detached node, and nobody is asked to work on one before it.
func TestPROC18_TheEndDoesNotWaitForADetachedNode(t *testing.T) {
	w := newWorld(t, define(withLater), nil)
	w.answer(t, "a", good(nil))
	w.want(t, "later detached", "b running")
	w.answer(t, "b", good(nil))
	w.wantEnd(t, completed)
	check(t, w.story(), `s-a taken: success
		a dispatched to researcher: 1.1
		a answered success
		a-b taken: success
		a-later taken: success
		b dispatched to researcher: 1.1
		later set aside
		b answered success
		b-e taken: success
		completed`)
	if got := workflow.Aside(w.x); !slices.Equal(got, []string{"later"}) {
		t.Errorf("set aside: %v", got)
	}
}

// A node to which no way leads is not done after the end either, and one that work was
// sent back past is set aside anew.
func TestPROC18_OnlyWhatWasReachedIsSetAside(t *testing.T) {
	def := define(withLater)
	def.Edges[3].Condition = "false"
	w := newWorld(t, def, nil)
	w.answer(t, "a", good(nil))
	w.want(t, "later skipped")
	w.answer(t, "b", good(nil))
	if got := workflow.Aside(w.x); got != nil || workflow.AfterWork(def, w.x) != nil {
		t.Errorf("set aside: %v", got)
	}

	w = newWorld(t, define(withLater, func(n map[string]*loomv1.NodeDefinition) {
		n["b"].MaxAttempts, n["b"].OnFailure = 1, &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a"}}}
	}), nil)
	w.answer(t, "a", good(nil))
	w.answer(t, "b", bad(nil))
	w.want(t, "later unspecified", "a running")
	w.answer(t, "a", good(nil))
	w.answer(t, "b", good(nil))
	w.want(t, "later detached")
	w.wantEnd(t, completed)
}

// A way to a detached node alone is no way to an end.
func TestPROC18_ADetachedNodeIsNoWayOn(t *testing.T) {
	def := define(withLater)
	def.Edges[1].Condition = "false"
	w := newWorld(t, def, nil)
	w.answer(t, "a", good(nil))
	if a := w.approval("a"); !strings.HasPrefix(a.GetReason(), "workflow/dead-end") {
		t.Fatalf("asked %v, want that nothing leads to an end\n%s", a, w.story())
	}
	w.decide(t, "a", approve, "")
	w.want(t, "b running", "later detached")
}

func TestPROC18_NobodyMovesToADetachedNode(t *testing.T) {
	w := newWorld(t, define(withLater), nil)
	before := proto.CloneOf(w.x)
	wantCode(t, "Move", w.run().Move("later", "now"), "workflow/detached")
	if !proto.Equal(before, w.x) {
		t.Error("the refusal changed something")
	}
}

// after begins what an execution has set aside.
func after(t *testing.T, x *loomv1.Execution, def *loomv1.Definition) *world {
	t.Helper()
	part := workflow.AfterWork(def, x)
	if part == nil {
		t.Fatal("there is nothing to do after the end")
	}
	c, err := workflow.Compile(part)
	if err != nil {
		t.Fatalf("what is done after the end does not compile: %v", err)
	}
	w := &world{def: c, now: noon, approvals: map[string]*loomv1.Approval{}, beads: 1, id: "p-2-x1", bead: &loomv1.Bead{Id: "p-2", Project: "p"}}
	w.x = &loomv1.Execution{}
	if err := w.emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionStarted{ExecutionStarted: &loomv1.ExecutionStarted{Definition: def.Name, After: x.Id}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.run().Begin(); err != nil {
		t.Fatal(err)
	}
	return w
}

// What was set aside is tried as often as its node says. Nobody is asked about it, and
// only where none of it came to anything has the work after the end failed.
func TestPROC18_WhatIsDoneAfterTheEndFailsAlone(t *testing.T) {
	def := define(strings.Replace(withLater, "e end", "more task detached max=2\n\te end", 1) + "\nb -> more")
	done := newWorld(t, def, nil)
	done.answer(t, "a", good(nil))
	done.answer(t, "b", good(nil))
	done.wantEnd(t, completed)

	w := after(t, done.x, def)
	w.answer(t, "later", good(nil))
	for range 2 {
		w.answer(t, "more", bad(nil))
		if w.x.EndedAt == nil {
			w.due(t)
		}
	}
	w.wantEnd(t, withGaps)

	w = after(t, done.x, def)
	for range 3 {
		for _, node := range []string{"later", "more"} {
			if w.attempt(node) != nil {
				w.answer(t, node, bad(nil))
			}
		}
		if w.x.EndedAt == nil {
			w.now = w.now.Add(workflow.DefaultTimeout / 30)
			if err := w.run().Tick(); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.wantEnd(t, loomv1.ExecutionStatus_EXECUTION_STATUS_FAILED)
	if !strings.Contains(w.x.Reason, "later: attempt/exhausted: 3 attempts") || !strings.Contains(w.x.Reason, "more: attempt/exhausted: 2 attempts") {
		t.Errorf("reason %q", w.x.Reason)
	}
	if len(w.approvals) > 0 {
		t.Errorf("the CEO was asked: %v", w.approvals)
	}
}

func TestPROC18_WhatCannotBeDetachedIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(n *loomv1.NodeDefinition)
		want   string
	}{
		"an approval": {func(n *loomv1.NodeDefinition) { n.Type, n.Role = loomv1.NodeType_NODE_TYPE_APPROVAL, "ceo" }, "no type"},
		"a duty": {func(n *loomv1.NodeDefinition) {
			n.Kind, n.Role = loomv1.NodeKind_NODE_KIND_COMMIT, "engineering-manager"
		}, "no kind"},
		"a gate":            {func(n *loomv1.NodeDefinition) { n.Gate = &loomv1.Gate{Condition: "true"} }, "no gate"},
		"a process":         {func(n *loomv1.NodeDefinition) { n.Process, n.Role = "other", "" }, "no process"},
		"a critical one":    {func(n *loomv1.NodeDefinition) { n.Criticality = loomv1.Criticality_CRITICALITY_CRITICAL }, "no criticality"},
		"one that delivers": {func(n *loomv1.NodeDefinition) { n.Phase = &loomv1.Phase{Deliverables: []string{"a.md"}} }, "no phase.deliverables"},
		"a judge":           {func(n *loomv1.NodeDefinition) { n.Phase = &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_CHECK} }, "no phase.part"},
		"a stage that makes": {func(n *loomv1.NodeDefinition) {
			n.Phase = &loomv1.Phase{Document: loomv1.DocumentStage_DOCUMENT_STAGE_PLAN}
		}, "no phase.document"},
		"one by an outcome": {func(n *loomv1.NodeDefinition) {
			n.Role, n.RolesAny, n.RoleFrom = "", []string{"researcher"}, `"researcher"`
		}, "no role_from"},
	} {
		_, err := workflow.Compile(define(withLater, func(n map[string]*loomv1.NodeDefinition) { tt.change(n["later"]) }))
		if f := fault.From(err); f == nil || f.Code != "workflow/detached" || !strings.Contains(f.Message, tt.want) {
			t.Errorf("%s: %v, want workflow/detached with %q", name, err, tt.want)
		}
	}
	_, err := workflow.Compile(define(withLater + "\nlater -> b"))
	if f := fault.From(err); f == nil || f.Code != "workflow/detached" || f.Where != "edges.later-b" {
		t.Errorf("one that others wait for: %v", err)
	}
	failing := define(withLater)
	failing.Edges[3].Outcome = loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE
	if _, err := workflow.Compile(failing); fault.Code(err) != "workflow/detached" {
		t.Errorf("one that only a failure leads to: %v", err)
	}
	many := withLater
	for range workflow.MaxDetached {
		id := "x" + strings.Repeat("x", strings.Count(many, "detached"))
		many = strings.Replace(many, "e end", id+" task detached\n\te end", 1) + "\na -> " + id
	}
	if _, err := workflow.Compile(define(many)); fault.Code(err) != "workflow/detached" {
		t.Errorf("too many: %v", err)
	}
}
