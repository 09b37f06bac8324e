package project_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// standing is the word for a bead, alone and in a list, and for its execution, which
// are one and the same.
func (d *desk) standing(id string) string {
	d.t.Helper()
	look := func(v project.View, q *loomv1.Query) *loomv1.View {
		all, err := d.s.Look(v, q)
		if err != nil {
			d.t.Fatal(err)
		}
		return all
	}
	one := look(project.Beads, &loomv1.Query{Id: id}).Beads[0]
	word := project.BeadWord(one)
	for _, b := range look(project.Beads, &loomv1.Query{}).Beads {
		if got := project.BeadWord(b); b.Id == id && got != word {
			d.t.Errorf("%s is %s, and %s in a list", id, word, got)
		}
	}
	listed := look(project.Beads, &loomv1.Query{Filter: word}).Beads
	if len(listed) != 1 || listed[0].Id != id {
		d.t.Errorf("beads that are %s: %v, want %s", word, listed, id)
	}
	if one.Execution != "" {
		for _, q := range []*loomv1.Query{{Id: one.Execution}, {}} {
			if got := project.ExecutionWord(look(project.Executions, q).Executions[0]); got != word {
				d.t.Errorf("%s is %s, and its execution %s", id, word, got)
			}
		}
	}
	return word
}

func TestSUB06_OneWordForAStateOfWork(t *testing.T) {
	d := newDesk(t)
	id := d.report().Bead
	at := func(want string) {
		t.Helper()
		if got := d.standing(id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	node := func(want string) {
		t.Helper()
		v, err := d.s.Look(project.Executions, &loomv1.Query{Id: id})
		if err != nil {
			t.Fatal(err)
		}
		x := v.Executions[0]
		if got := project.NodeWord(x, x.Nodes["triage"]); got != want {
			t.Errorf("its node is %s, want %s", got, want)
		}
	}
	at("queued")
	node("queued")
	d.give(pauses(allWork, "", "wait"))
	at("held")
	node("held")
	d.give(resumes(allWork, "", "go on"))
	d.wait(0)
	b, who := d.claim("qa-engineer")
	at("running")
	node("running")
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: triaged()}}})
	node("succeeded")
	d.give(closes(id+"-x1", "no longer wanted"))
	if v, _ := d.s.Look(project.Beads, &loomv1.Query{Id: id}); project.BeadWord(v.Beads[0]) != "aborted" {
		t.Errorf("closed, it is %s, want aborted", project.BeadWord(v.Beads[0]))
	}
}

// What had begun and has not ended when its execution did is not said to run.
func TestSUB06_NothingRunsInWhatHasEnded(t *testing.T) {
	running, done := &loomv1.NodeState{Status: loomv1.NodeStatus_NODE_STATUS_RUNNING}, &loomv1.NodeState{Status: loomv1.NodeStatus_NODE_STATUS_SUCCEEDED}
	over := &loomv1.Execution{EndedAt: timestamppb.Now()}
	for _, tt := range []struct {
		x    *loomv1.Execution
		n    *loomv1.NodeState
		want string
	}{{&loomv1.Execution{}, running, "running"}, {over, running, "stopped"}, {over, done, "succeeded"}} {
		if got := project.NodeWord(tt.x, tt.n); got != tt.want {
			t.Errorf("%v at %v is %s, want %s", tt.n, tt.x, got, tt.want)
		}
	}
}

func TestSUB06_TheStateOfAnExecution(t *testing.T) {
	held := func(x *loomv1.Execution) *loomv1.Execution {
		x.HeldSince = timestamppb.Now()
		return x
	}
	of := func(nodes ...*loomv1.NodeState) *loomv1.Execution {
		x := &loomv1.Execution{Status: loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING, Nodes: map[string]*loomv1.NodeState{}}
		for i, n := range nodes {
			x.Nodes[string(rune('a'+i))] = n
		}
		return x
	}
	claimed := &loomv1.NodeState{Attempt: &loomv1.Attempt{Claimant: &loomv1.Claimant{Agent: "lead/1"}}}
	child := &loomv1.NodeState{Attempt: &loomv1.Attempt{Process: "research"}}
	parked := &loomv1.NodeState{Attempt: &loomv1.Attempt{Parked: "lock"}}
	asks := &loomv1.NodeState{Approval: "shop-2"}
	backoff := &loomv1.NodeState{Status: loomv1.NodeStatus_NODE_STATUS_BACKOFF}
	for _, tt := range []struct {
		x    *loomv1.Execution
		want string
	}{
		{of(), "queued"},
		{of(backoff), "queued"},
		{of(claimed, parked), "running"},
		{of(child), "running"},
		{of(parked, backoff), "parked"},
		{of(asks, claimed), "waiting"},
		{held(of(asks)), "waiting"},
		{held(of(claimed)), "held"},
		{&loomv1.Execution{Status: loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING, Permissions: []string{"shop-2"}}, "waiting"},
		{held(&loomv1.Execution{Status: loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING, LimitApproval: "shop-2"}), "waiting"},
		{&loomv1.Execution{Status: loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED}, "rejected"},
	} {
		tt.x.State = project.StateOf(tt.x)
		if got := project.ExecutionWord(tt.x); got != tt.want {
			t.Errorf("%v is %s, want %s", tt.x, got, tt.want)
		}
	}
}
