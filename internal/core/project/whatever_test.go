package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// watched are twins with processes of more kinds: of duties, gates, criticality,
// cycles and children.
func watched(t *rapid.T) *twins {
	w := newTwins(t)
	c := proto.CloneOf(w.one.Config())
	c.Checks = []string{"go test ./..."}
	w.do(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{Config: c}}})
	kind := func(id, role string, k loomv1.NodeKind) *loomv1.NodeDefinition {
		return &loomv1.NodeDefinition{Id: id, Role: role, Kind: k, MaxAttempts: 2}
	}
	verify := kind("verify", "qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY)
	verify.OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "one"}}}
	duty := line("duty", "1.0", &loomv1.NodeDefinition{Id: "one", Role: "qa-engineer", MaxAttempts: 2, MultiDispatch: true},
		&loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"},
		kind("commit", "engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT), verify,
		kind("land", "engineering-manager", loomv1.NodeKind_NODE_KIND_LAND))
	gated := fan("gated", 4, &loomv1.NodeDefinition{Role: "qa-engineer", MaxAttempts: 1, Timeout: durationpb.New(time.Minute)})
	gated.Nodes[2].Outcome = map[string]string{"good": "bool"}
	gated.Nodes[3].Criticality = loomv1.Criticality_CRITICALITY_OPTIONAL
	gated.Nodes[4].Criticality = loomv1.Criticality_CRITICALITY_CRITICAL
	gated.Nodes[5].Role, gated.Nodes[5].Process = "", "ask"
	gated.Nodes = append(gated.Nodes, &loomv1.NodeDefinition{
		Id: "two", Type: loomv1.NodeType_NODE_TYPE_TASK, Role: "project-manager", MaxAttempts: 2,
		Gate: &loomv1.Gate{Condition: "outcome.n0.good", OnFailure: loomv1.GateAction_GATE_ACTION_REPLAN, To: "n0", Max: 1},
	})
	gated.Edges[1].To = "two"
	gated.Edges = append(gated.Edges, &loomv1.EdgeDefinition{Id: "last", From: "two", To: "end"})
	for _, def := range []*loomv1.Definition{duty, gated} {
		if a := w.do(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}}); a.Error != nil {
			t.Fatal(a.Error)
		}
	}
	return w
}

// result is an outcome that a node can have, with the evidence that it needs.
func result(b *loomv1.Brief, status loomv1.OutcomeStatus, patch string) *loomv1.Outcome {
	x := b.Execution
	out := &loomv1.Outcome{Status: status, Summary: "done"}
	switch {
	case b.Node.Kind == loomv1.NodeKind_NODE_KIND_COMMIT && status == success:
		out.Candidate = &loomv1.Candidate{Commit: "c-" + x.Change.GetPatchDigest(), PatchDigest: x.Change.GetPatchDigest(), Base: "b0", Tree: "t"}
	case b.Node.Kind == loomv1.NodeKind_NODE_KIND_VERIFY:
		out.Checks = []*loomv1.CheckRun{{Command: "go test ./...", Passed: status == success, Commit: x.Candidate.GetCommit()}}
	case b.Node.Kind == loomv1.NodeKind_NODE_KIND_LAND && status == success:
		out.Landing = &loomv1.Landing{Commit: x.Candidate.GetCommit(), Ref: "refs/heads/main"}
	case b.Node.Outcome["good"] != "" && status == success:
		out.Fields = &structpb.Struct{Fields: map[string]*structpb.Value{"good": structpb.NewBoolValue(patch != "p1")}}
	case x.Definition == "duty" && b.Node.Id == "one" && status == success:
		out.Change = proposed(patch).Change
	}
	return out
}

// hand is work that agents took, whose answers may come at any time.
type hand struct {
	brief *loomv1.Brief
	who   *loomv1.Claimant
}

var workers = []string{"qa-engineer", "project-manager", "engineering-manager"}

func (w *twins) take(who *loomv1.Claimant) *loomv1.Brief {
	return w.do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: "shop-1-x1-a1", Generation: 1, Claimant: who, Any: true,
	}}}).GetBrief()
}

func (w *twins) answer(h hand, out *loomv1.Outcome) {
	w.do(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: h.brief.Attempt.Id, Claimant: h.who, Outcome: out}}})
}

// lateSteps are what agents do at any time: claim, answer, answer again, give
// back, spend, wait for the lock; and what services and hosts report.
func (w *twins) lateSteps() map[string]func(*rapid.T) {
	var hands []hand
	some := func(t *rapid.T, do func(hand)) {
		if len(hands) > 0 {
			do(draw(t, "hand", hands...))
		}
	}
	spend := func(h hand, records ...*loomv1.Event) {
		w.do(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: h.brief.Attempt.Id, Claimant: h.who, Facts: records}}})
	}
	return map[string]func(*rapid.T){
		"take": func(t *rapid.T) {
			who := agentOf(draw(t, "role", workers...), rapid.IntRange(1, 2).Draw(t, "agent"))
			if b := w.take(who); b != nil {
				hands = append(hands, hand{b, who})
			}
		},
		"answer late": func(t *rapid.T) {
			some(t, func(h hand) {
				w.answer(h, result(h.brief, draw(t, "status", success, success, success, failed, more), draw(t, "patch", "p1", "p2")))
			})
		},
		"give back": func(t *rapid.T) {
			some(t, func(h hand) {
				w.do(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: h.brief.Attempt.Id, Claimant: h.who, Reason: "r"}}})
			})
		},
		"spend": func(t *rapid.T) {
			some(t, func(h hand) {
				w.nonce++
				spend(h, turn.StartedFact(&loomv1.TurnStarted{Model: "m"}))
				spend(h, turn.AnsweredFact(&loomv1.ModelAnswer{
					Model: "m", Request: fmt.Sprint("q", w.nonce), Usage: &loomv1.Usage{InputTokens: 60, CostKnown: true}, Problem: "again",
				}))
			})
		},
		"lock": func(t *rapid.T) {
			some(t, func(h hand) {
				a := w.do(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: h.brief.Attempt.Id, Holder: h.who}}})
				if l := a.GetLock(); l != nil && l.Token == 0 {
					w.do(&loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{Attempt: h.brief.Attempt.Id, Claimant: h.who, WaitsFor: "lock"}}})
				}
			})
		},
		"file more": func(t *rapid.T) {
			sub := &loomv1.Submission{Goal: "work", Process: draw(t, "process", "duty", "duty", "gated")}
			if rapid.Bool().Draw(t, "limit") {
				sub.Budget = &loomv1.Budget{Tokens: 100, WallSeconds: draw[int64](t, "wall", 0, 200)}
			}
			w.do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: sub}}})
		},
		"report": func(t *rapid.T) {
			w.do(fileError(draw(t, "who", publisher, &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h1"}), bug(rapid.IntRange(1, 40).Draw(t, "bug"))))
		},
		"new limits": func(t *rapid.T) {
			b := &loomv1.Bead{Id: w.id(t), Budget: &loomv1.Budget{Tokens: draw[int64](t, "tokens", 0, 50, 500)}, Deadline: timestamppb.New(w.now.Add(draw(t, "left", time.Second, time.Hour)))}
			w.do(updates(b, "budget", "deadline"))
		},
		"new grace": func(t *rapid.T) {
			c := proto.CloneOf(w.one.Config())
			c.Grace = durationpb.New(draw(t, "grace", 10*time.Second, 2*time.Minute))
			w.do(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{Config: c}}})
		},
		"move more": func(t *rapid.T) {
			w.sign(moves(w.id(t)+"-x1", draw(t, "node", "one", "ok", "commit", "verify", "land", "n0", "n3", "two"), "r"))
		},
		"fork more": func(t *rapid.T) {
			w.nonce++
			w.do(forks(&loomv1.ForkExecution{Execution: w.id(t) + "-x1", Node: draw(t, "node", "commit", "verify", "land", "n0", "n3", "two", "again"), Request: fmt.Sprint("f", w.nonce)}))
		},
	}
}

// calm has everybody do their part: nothing is paused, all roles are there, the
// CEO lets everything go on, and agents succeed. What then does not end waits
// for a bead that did not come to a good end, which only a person can change.
func (w *twins) calm() {
	agents := map[string]uint32{"qa-engineer": 2, "project-manager": 2, "engineering-manager": 2, "backend-engineer": 1}
	w.do(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{Host: "h1", Roles: &loomv1.HostRoles{Epoch: 9, Agents: agents}}}})
	w.do(&loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: "h1", Epoch: 2}}})
	for round := range 80 {
		p := w.one.Snapshot()
		if round > 2 && len(unfinished(p)) == 0 {
			return
		}
		for _, pause := range p.Pauses {
			w.sign(resumes(pause.Scope, pause.Name, "r"))
		}
		for _, e := range sortedOpen(p) {
			if e.Paused != nil {
				w.sign(resumes(oneExecution, e.Id, "r"))
			}
		}
		w.pass(10 * time.Second)
		v, err := w.one.Look(project.Inbox, &loomv1.Query{})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, a := range v.Approvals {
			w.sign(letGoOn(p, a))
		}
		for _, role := range []string{"qa-engineer", "project-manager", "engineering-manager", "backend-engineer"} {
			for i := range 4 {
				who := &loomv1.Claimant{Agent: fmt.Sprintf("%s/%d", role, 10+i), Host: "h9", Epoch: 1}
				if b := w.take(who); b != nil {
					w.answer(hand{b, who}, result(b, success, fmt.Sprint("p", 10+round)))
				}
			}
		}
	}
}

// letGoOn is what a CEO orders who wants something to end well: where a duty
// failed, the work before it is done again.
func letGoOn(p *loomv1.ProjectState, a *loomv1.Approval) func(*loomv1.CeoCommand) {
	if a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION && a.Node != "" && p.Executions[a.Execution].GetDefinition() == "duty" {
		return moves(a.Execution, "one", "do it again")
	}
	return func(c *loomv1.CeoCommand) {
		c.Verb = &loomv1.CeoCommand_Decide{Decide: &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: approves}}
	}
}

// unfinished returns the running executions that nothing keeps from ending: no
// bead that they or their parents wait for. Those of "outer" are not looked at:
// it nests itself three times at each level, and is at it for long.
func unfinished(p *loomv1.ProjectState) []*loomv1.Execution {
	return slices.DeleteFunc(sortedOpen(p), func(x *loomv1.Execution) bool {
		for up := x; up != nil; up = p.Executions[up.Parent] {
			if up.Definition == "outer" || p.Beads[up.Bead].Status == loomv1.BeadStatus_BEAD_STATUS_BLOCKED {
				return true
			}
		}
		return false
	})
}

func sortedOpen(p *loomv1.ProjectState) (list []*loomv1.Execution) {
	for _, x := range p.Executions {
		if x.Status == loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *loomv1.Execution) int { return strings.Compare(a.Id, b.Id) })
	return list
}

// TestWF12_WhateverHappensInWhateverOrder lets everything happen at random that
// can, on time and late, and holds the facts to the invariants; then all do
// their part, and everything comes to its end.
func TestWF12_WhateverHappensInWhateverOrder(t *testing.T) {
	longtest.Skip(t)
	rapid.Check(t, func(t *rapid.T) {
		w := watched(t)
		o := newWatch(w)
		steps := w.steps()
		for name, f := range w.lateSteps() {
			steps[name] = f
		}
		steps[""] = func(*rapid.T) {
			w.check()
			o.follow()
			o.queueIsDerivable()
		}
		t.Repeat(steps)
		w.calm()
		o.follow()
		p := w.one.Snapshot()
		for _, x := range unfinished(p) {
			b := p.Beads[x.Bead]
			t.Fatalf("invariant 32: %s of %s never ends: bead %s (%s)\n%v", x.Id, x.Definition, project.Word(b.Status), b.Reason, x)
		}
	})
}
