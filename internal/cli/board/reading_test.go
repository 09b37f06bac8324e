package board

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func at(ago time.Duration) *timestamppb.Timestamp { return timestamppb.New(noon.Add(-ago)) }

// running is an execution with these nodes.
func running(nodes map[string]*loomv1.NodeState) *loomv1.Execution {
	return &loomv1.Execution{Id: "shop-1-x1", Nodes: nodes}
}

func attempt(a *loomv1.Attempt) *loomv1.NodeState {
	a.DispatchedAt = at(time.Minute)
	return &loomv1.NodeState{Status: loomv1.NodeStatus_NODE_STATUS_RUNNING, Attempt: a}
}

func TestCLI01_WhereABeadIs(t *testing.T) {
	claimed := attempt(&loomv1.Attempt{Claimant: &loomv1.Claimant{Agent: "backend-engineer/1", Host: "h-1"}})
	asks := &loomv1.NodeState{Status: loomv1.NodeStatus_NODE_STATUS_WAITING, Approval: "shop-2"}
	used := &loomv1.Usage{CostMicroUsd: 5, CostKnown: true}
	for _, tt := range []struct {
		name   string
		status loomv1.BeadStatus
		x      *loomv1.Execution
		tree   *loomv1.TreeUsage
		want   Row
	}{
		{"filed", loomv1.BeadStatus_BEAD_STATUS_OPEN, nil, nil, Row{Stage: Open, Where: "open", Since: noon.Add(-time.Hour)}},
		{
			"worked on", loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS, running(map[string]*loomv1.NodeState{"investigate": claimed, "done": {Status: loomv1.NodeStatus_NODE_STATUS_SUCCEEDED}}), nil,
			Row{Stage: Running, Where: "investigate by backend-engineer/1", Since: noon.Add(-time.Minute)},
		},
		{
			"worked on while another node asks", loomv1.BeadStatus_BEAD_STATUS_WAITING, running(map[string]*loomv1.NodeState{"approve": asks, "investigate": claimed}), nil,
			Row{Stage: Waiting, Where: "approve waits for you (+1)", Since: noon.Add(-time.Hour)},
		},
		{
			"asks", loomv1.BeadStatus_BEAD_STATUS_WAITING, running(map[string]*loomv1.NodeState{"approve": asks}), nil,
			Row{Stage: Waiting, Where: "approve waits for you", Since: noon.Add(-time.Hour)},
		},
		{"asks as a whole", loomv1.BeadStatus_BEAD_STATUS_WAITING, running(nil), nil, Row{Stage: Waiting, Where: "waits for you", Since: noon.Add(-time.Hour)}},
		{
			"queued", loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS, running(map[string]*loomv1.NodeState{"triage": attempt(&loomv1.Attempt{Role: "qa-engineer"})}), nil,
			Row{Stage: Queued, Where: "triage is queued for qa-engineer", Since: noon.Add(-time.Minute)},
		},
		{
			"parked", loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS, running(map[string]*loomv1.NodeState{"land": attempt(&loomv1.Attempt{Parked: "lock"})}), nil,
			Row{Stage: Parked, Where: "land is parked for the commit lock", Since: noon.Add(-time.Minute)},
		},
		{
			"between attempts", loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS, running(map[string]*loomv1.NodeState{"land": {Status: loomv1.NodeStatus_NODE_STATUS_BACKOFF}}), nil,
			Row{Stage: Queued, Where: "land is tried again soon", Since: noon.Add(-time.Hour)},
		},
		{
			"by another process", loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS, running(map[string]*loomv1.NodeState{"ask": attempt(&loomv1.Attempt{Process: "research"})}), nil,
			Row{Stage: Running, Where: "ask by research", Since: noon.Add(-time.Minute)},
		},
		{"held", loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS, &loomv1.Execution{HeldSince: at(time.Second)}, nil, Row{Stage: Held, Where: "held", Since: noon.Add(-time.Second)}},
		{"blocked", loomv1.BeadStatus_BEAD_STATUS_BLOCKED, nil, nil, Row{Stage: Blocked, Where: "blocked by shop-7, shop-8", Since: noon.Add(-time.Hour)}},
		{
			"its cost", loomv1.BeadStatus_BEAD_STATUS_OPEN, &loomv1.Execution{ModelCalls: 2, Usage: used}, nil,
			Row{Stage: Open, Where: "open", Since: noon.Add(-time.Hour), Calls: true, MicroUSD: 5},
		},
		{
			"the cost of all that works for it", loomv1.BeadStatus_BEAD_STATUS_OPEN, &loomv1.Execution{ModelCalls: 2, Usage: used}, &loomv1.TreeUsage{ModelCalls: 4, Usage: &loomv1.Usage{CostMicroUsd: 9}},
			Row{Stage: Open, Where: "open", Since: noon.Add(-time.Hour), Calls: true, MicroUSD: 9, Unpriced: true},
		},
	} {
		b := &loomv1.Bead{Id: "shop-1", Goal: "a goal", Status: tt.status, CreatedAt: at(2 * time.Hour), UpdatedAt: at(time.Hour), BlockedBy: []string{"shop-7", "shop-8"}}
		tt.want.ID, tt.want.Goal = "shop-1", "a goal"
		if diff := cmp.Diff(tt.want, rowOf(b, tt.x, tt.tree)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestCLI01_WhatHasNoRow(t *testing.T) {
	for _, b := range []*loomv1.Bead{
		{Status: loomv1.BeadStatus_BEAD_STATUS_WAITING, Type: loomv1.BeadType_BEAD_TYPE_APPROVAL},
		{Status: loomv1.BeadStatus_BEAD_STATUS_CLOSED},
		{Status: loomv1.BeadStatus_BEAD_STATUS_FAILED},
		{Status: loomv1.BeadStatus_BEAD_STATUS_ABORTED},
	} {
		if open(b) {
			t.Errorf("%v has a row", b)
		}
	}
}

func TestCLI01_WhatWaitsIsOldestFirst(t *testing.T) {
	var s State
	takeInbox(&s, &loomv1.View{
		Waiting: 3,
		Approvals: []*loomv1.Approval{
			{Id: "shop-4", Kind: loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION, Bead: "shop-3", Question: "q", AskedAt: at(time.Minute)},
			{Id: "shop-2", Kind: loomv1.ApprovalKind_APPROVAL_KIND_PERMISSION, Bead: "shop-1", AskedAt: at(time.Hour)},
		},
		Blocks: []*loomv1.ModelBlock{{Model: "none", Code: "model/none", Message: "this host has no model", Remedy: "start it with one"}},
	})
	want := State{
		Waiting: 3, Mend: []string{"work waits for the operator: this host has no model [model/none]; start it with one"},
		Asks: []Ask{{"shop-2", "permission", "shop-1", "", noon.Add(-time.Hour)}, {"shop-4", "escalation", "shop-3", "q", noon.Add(-time.Minute)}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	v := &loomv1.View{Pauses: []*loomv1.Pause{{Scope: loomv1.PauseScope_PAUSE_SCOPE_EXECUTION, Project: "bank"}, {Scope: loomv1.PauseScope_PAUSE_SCOPE_PROJECT, Project: "shop"}}}
	if got := pausedProjects(v); !slices.Equal(got, []string{"shop"}) {
		t.Errorf("paused are %q, want shop", got)
	}
}

// A session of a pattern that waits for a person is on the board, with what it waits for.
func TestHUM01_ASessionThatWaitsIsOnTheBoard(t *testing.T) {
	var s State
	takeInbox(&s, &loomv1.View{
		Waiting:   1,
		Approvals: []*loomv1.Approval{{Id: "shop-2", Kind: loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION, Bead: "shop-1", AskedAt: at(time.Minute)}},
		Sessions:  []*loomv1.PatternSession{{Id: "s1", Bead: "shop-4", Phase: intent.Completion, Unmet: []string{"success/1"}, ChangedAt: at(time.Hour)}},
	})
	want := []Ask{
		{"s1", askSession, "shop-4", "session s1 is in completion-check and waits for a choice", noon.Add(-time.Hour)},
		{"shop-2", "escalation", "shop-1", "", noon.Add(-time.Minute)},
	}
	if diff := cmp.Diff(want, s.Asks); diff != "" || s.Waiting != 2 {
		t.Errorf("%d wait (-want +got):\n%s", s.Waiting, diff)
	}
}

// Kinds that are listened to exist: another would never be heard.
func TestCLI01_TheKindsThatAreHeardExist(t *testing.T) {
	for _, k := range changing {
		if !slices.Contains(notice.Kinds(), k) {
			t.Errorf("there is no kind %q", k)
		}
	}
	for _, k := range append(slices.Clone(lasting), told...) {
		if !slices.Contains(changing, k) {
			t.Errorf("the board does not hear of %q, of which it has a line", k)
		}
	}
}

func TestCLI01_EachThingIsToldOnce(t *testing.T) {
	claimed := &loomv1.Event{Project: "shop", Bead: "shop-1", Execution: "shop-1-x1", Node: "triage", Time: at(0), Fact: &loomv1.Event_AttemptClaimed{
		AttemptClaimed: &loomv1.AttemptClaimed{Claimant: &loomv1.Claimant{Agent: "qa-engineer/1", Host: "h-aaaaaaaaaaaaaaaa"}},
	}}
	asked := &loomv1.Event{Project: "shop", Bead: "shop-1", Time: at(0), Fact: &loomv1.Event_ApprovalRequested{ApprovalRequested: &loomv1.ApprovalRequested{Approval: &loomv1.Approval{Id: "shop-2", Kind: loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL, Question: "go?"}}}}
	about := &loomv1.Event{Project: "shop", Bead: "shop-2", Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: &loomv1.Bead{Id: "shop-2", About: "shop-1"}}}}
	unsettled := &loomv1.Event{Project: "shop", Bead: "shop-1", Fact: &loomv1.Event_LandingSettled{LandingSettled: &loomv1.LandingSettled{}}}
	ended := &loomv1.Event{Project: "shop", Bead: "shop-1", Execution: "shop-1-x1", Fact: &loomv1.Event_ExecutionEnded{
		ExecutionEnded: &loomv1.ExecutionEnded{Status: loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED},
	}}
	turn := &loomv1.Event{Project: "shop", Fact: &loomv1.Event_TurnStarted{TurnStarted: &loomv1.TurnStarted{}}}
	tell := newTeller(told)
	tell.alone = true
	var got []string
	for _, e := range []*loomv1.Event{claimed, claimed, asked, about, unsettled, turn, ended} {
		if n := notice.Of(e, &loomv1.Position{}); tell.tells(n) {
			_, line, _ := strings.Cut(tell.line(n), "  ")
			got = append(got, line)
		}
	}
	want := []string{
		"shop-1: triage taken by qa-engineer/1\n", "shop-1: approval shop-2 asked: \"go?\": loom inbox shop-2\n", "shop-1: execution shop-1-x1 completed\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
