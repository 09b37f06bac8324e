package project_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF09_OnlyTheCEOsSignatureCountsForAnyVerb(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		name string
		kind loomv1.IdentityKind
		edit func(*loomv1.CeoCommand)
		mend func(*loomv1.SignedCommand)
		want string
	}{
		{"an operator", loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, nil, nil, "approval/identity"},
		{"an agent", loomv1.IdentityKind_IDENTITY_KIND_AGENT, nil, nil, "approval/identity"},
		{"a host", loomv1.IdentityKind_IDENTITY_KIND_HOST, nil, nil, "approval/identity"},
		{"another key", ceo, nil, func(c *loomv1.SignedCommand) { c.Signature[0] ^= 1 }, "approval/signature"},
		{"no signature", ceo, nil, func(c *loomv1.SignedCommand) { c.Signature = nil }, "approval/signature"},
		{"changed after signing", ceo, nil, func(c *loomv1.SignedCommand) { c.Payload = append(c.Payload, 0x1a, 0) }, "approval/signature"},
		{"another deployment", ceo, func(c *loomv1.CeoCommand) { c.Deployment = "dp-2" }, nil, "approval/identity"},
		{"another project", ceo, func(c *loomv1.CeoCommand) { c.Project = "bank" }, nil, "approval/identity"},
		{"expired at this instant", ceo, func(c *loomv1.CeoCommand) { c.NotAfter = c.IssuedAt }, nil, "approval/expired"},
		{"not yet valid", ceo, func(c *loomv1.CeoCommand) { c.IssuedAt = timestamppb.New(noon.Add(time.Hour)) }, nil, "approval/expired"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			x := d.execution(d.toApproval("p1")).Id
			for verb, edit := range d.verbs(x) {
				c := d.order(func(c *loomv1.CeoCommand) {
					edit(c)
					if tt.edit != nil {
						tt.edit(c)
					}
				})
				if tt.mend != nil {
					tt.mend(c)
				}
				n, before := len(d.events), d.s.Snapshot()
				if err := d.present(tt.kind, c); fault.Code(err) != tt.want {
					t.Errorf("%s: %v, want %s", verb, err, tt.want)
				}
				facts := d.since(n)
				if len(facts) != 1 {
					t.Fatalf("%s: %d facts, want the refusal recorded and nothing else", verb, len(facts))
				}
				e := facts[0]
				if r := e.GetCommandRefused(); verb == "decide" && e.GetApprovalRefused() == nil || verb != "decide" && (r.GetVerb() != verb || r.GetError().GetCode() != tt.want) {
					t.Errorf("%s is recorded as %v", verb, e)
				}
				if e.Actor.GetKind() != tt.kind || e.Actor.GetName() != "somebody" {
					t.Errorf("%s: presented by %v, want somebody", verb, e.Actor)
				}
				after := d.s.Snapshot()
				after.LastNumber, after.LastTime = before.LastNumber, before.LastTime
				if !proto.Equal(before, after) {
					t.Errorf("%s changed something though it was refused", verb)
				}
			}
		})
	}
}

func TestWF09_WhatTheCEOAsksForMustMakeSense(t *testing.T) {
	longtest.Skip(t)
	broken := line("small", "1.0", task("only", ""))
	broken.Nodes = append(broken.Nodes, task("stray", ""))
	for _, tt := range []struct {
		name string
		edit func(*loomv1.CeoCommand)
		want string
	}{
		{"move without a reason", moves("shop-1-x1", "triage", ""), "override/invalid"},
		{"close without a reason", closes("shop-1-x1", " "), "override/invalid"},
		{"pause without a reason", pauses(allWork, "", ""), "override/invalid"},
		{"resume without a reason", resumes(allWork, "", ""), "override/invalid"},
		{"define without a reason", defines(line("small", "1.0", task("only", "qa-engineer")), ""), "override/invalid"},
		{"a long reason", closes("shop-1-x1", strings.Repeat("x", project.MaxReason+1)), "submit/too-large"},
		{"no nonce", func(c *loomv1.CeoCommand) { closes("shop-1-x1", "r")(c); c.Nonce = "" }, "override/invalid"},
		{"a long nonce", func(c *loomv1.CeoCommand) { closes("shop-1-x1", "r")(c); c.Nonce = strings.Repeat("n", 200) }, "override/invalid"},
		{"no verb", func(*loomv1.CeoCommand) {}, "command/malformed"},
		{"an empty verb", func(c *loomv1.CeoCommand) { c.Verb = &loomv1.CeoCommand_Move{} }, "override/invalid"},
		{"move of nothing", moves("shop-9-x1", "triage", "r"), "execution/unknown"},
		{"move to nowhere", moves("shop-1-x1", "trige", "r"), "workflow/node"},
		{"close of nothing", closes("", "r"), "execution/unknown"},
		{"pause without a scope", pauses(0, "", "r"), "override/invalid"},
		{"pause of a scope that is none", pauses(9, "", "r"), "override/invalid"},
		{"pause of no execution", pauses(oneExecution, "shop-1", "r"), "execution/unknown"},
		{"pause of no process", pauses(oneProcess, "auto-bug", "r"), "submit/unknown-process"},
		{"pause of all by name", pauses(allWork, "shop", "r"), "override/invalid"},
		{"resume of what goes on", resumes(oneExecution, "shop-1-x1", "r"), "pause/none"},
		{"resume of a project that goes on", resumes(allWork, "", "r"), "pause/none"},
		{"define of nothing", defines(nil, "r"), "definition/invalid"},
		{"define of what does not compile", defines(broken, "r"), "definition/invalid"},
		{"decide about nothing", func(c *loomv1.CeoCommand) {
			c.Verb = &loomv1.CeoCommand_Decide{Decide: &loomv1.DecideApproval{Approval: "shop-77"}}
		}, "approval/unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.report()
			n := len(d.events)
			err := d.present(ceo, d.order(tt.edit))
			if fault.Code(err) != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
			facts := d.since(n)
			if len(facts) != 1 || facts[0].GetCommandRefused().GetError().GetCode() != tt.want {
				t.Fatalf("facts %v, want the refusal", facts)
			}
			if size := proto.Size(facts[0]); size > 4<<10 {
				t.Errorf("the refusal takes %d bytes of the journal", size)
			}
		})
	}
	t.Run("a wrong node is told from the right one", func(t *testing.T) {
		d := newDesk(t)
		d.report()
		if err := d.present(ceo, d.order(moves("shop-1-x1", "trige", "r"))); err == nil || !strings.Contains(err.Error(), `did you mean "triage"?`) {
			t.Errorf("%v, want the node that was meant", err)
		}
	})
	t.Run("all problems of a definition are told", func(t *testing.T) {
		d := newDesk(t)
		if err := d.present(ceo, d.order(defines(broken, "r"))); len(fault.From(err).More) < 2 {
			t.Errorf("%v with %v, want every problem", err, fault.From(err).More)
		}
	})
}

func TestWF09_AnOverrideIsRecordedBeforeWhatItDoes(t *testing.T) {
	for verb, want := range map[string]func(*loomv1.Event) bool{
		"move":   func(e *loomv1.Event) bool { return e.GetExecutionMoved() != nil },
		"close":  func(e *loomv1.Event) bool { return e.GetExecutionEnded() != nil },
		"pause":  func(e *loomv1.Event) bool { return e.GetWorkPaused() != nil },
		"define": func(e *loomv1.Event) bool { return e.GetDefinitionStored().GetChanged() },
	} {
		t.Run(verb, func(t *testing.T) {
			d := newDesk(t)
			x := d.execution(d.toApproval("p1")).Id
			n := len(d.events)
			c := d.order(d.verbs(x)[verb])
			if err := d.present(ceo, c); err != nil {
				t.Fatal(err)
			}
			facts := d.since(n)
			o := facts[0].GetOverrideGiven()
			if o.GetVerb() != verb || o.Reason == "" || !proto.Equal(o.Signed, c) || facts[0].Actor.GetKind() != ceo {
				t.Errorf("first fact %v, want the override with reason, signature and identity", facts[0])
			}
			done := 0
			for _, e := range facts {
				if want(e) {
					done++
				}
			}
			if done != 1 {
				t.Errorf("done %d times: %v", done, facts)
			}

			n = len(d.events)
			if err := d.present(ceo, c); err != nil || len(d.since(n)) != 0 {
				t.Errorf("the same command again: %v, %d facts; want it done and nothing changed", err, len(d.since(n)))
			}
			d.now = d.now.Add(time.Second)
			other := d.order(func(c *loomv1.CeoCommand) { closes(x, "another command")(c); c.Nonce = fmt.Sprint("n", d.nonce-1) })
			if err := d.present(ceo, other); fault.Code(err) != "approval/replayed" {
				t.Errorf("another command with the same nonce: %v, want approval/replayed", err)
			}
		})
	}
}

func TestWF09_AMoveGoesOnAtTheNodeAndTheHistoryStays(t *testing.T) {
	d := newDesk(t)
	x := d.execution(d.toApproval("p1")).Id
	asked := d.inbox()
	d.give(moves(x, "investigate", "think of the tests, too"))
	v := d.execution(x)
	if v.Nodes["approve"].GetApproval() != "" || v.Approved != nil || len(v.Nodes["investigate"].History) != 2 {
		t.Errorf("after the move: %v", v.Nodes)
	}
	if err := d.present(ceo, d.sign(asked, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, nil)); fault.Code(err) != "approval/lapsed" {
		t.Errorf("answer to what was moved away from: %v, want approval/lapsed", err)
	}
	b := d.work("backend-engineer", proposed("p2"))
	if b.Attempt.Visit != 2 || b.Comment != "think of the tests, too" {
		t.Errorf("visit %d of investigate, told %q; want visit 2, with the reason", b.Attempt.Visit, b.Comment)
	}
	if got := d.status(v.Bead); got != "waiting" {
		t.Errorf("bead %s, want it to wait for the new approval", got)
	}
}

func TestWF09_ACloseEndsTheExecutionItsBeadAndWhatWasAsked(t *testing.T) {
	d := newDesk(t)
	bead := d.toApproval("p1")
	asked := d.inbox()
	x := d.execution(bead).Id
	d.give(closes(x, "the shop is sold"))
	v, err := d.s.Look(project.Beads, &loomv1.Query{Id: bead})
	if err != nil || v.Beads[0].Status != loomv1.BeadStatus_BEAD_STATUS_ABORTED || v.Beads[0].Reason != "the shop is sold" {
		t.Errorf("bead %v, %v; want it aborted with the reason", v, err)
	}
	if got := d.status(asked.Id); got != "closed" {
		t.Errorf("approval %s, want it closed", got)
	}
	if err := d.present(ceo, d.order(closes(x, "again"))); fault.Code(err) != "override/ended" {
		t.Errorf("close of what is closed: %v, want override/ended", err)
	}
	if _, ok := d.s.Next(); ok {
		t.Error("a timer runs for nothing")
	}
}

func TestWF09_AChangedDefinitionIsForWhatBeginsLater(t *testing.T) {
	d := newDesk(t)
	d.store(line("small", "1.0", task("one", "qa-engineer")))
	first := d.file(&loomv1.Submission{Process: "small"})
	d.give(defines(line("small", "1.1", task("one", "qa-engineer"), task("two", "project-manager")), "two pairs of eyes"))
	second := d.file(&loomv1.Submission{Process: "small"})
	if v := d.execution(first.Execution); v.Version != "1.0" {
		t.Errorf("running execution is on %s, want the version it started with", v.Version)
	}
	if v := d.execution(second.Execution); v.Version != "1.1" {
		t.Errorf("new execution is on %s, want 1.1", v.Version)
	}
	done := func(node string) {
		t.Helper()
		for _, q := range d.s.Queued() {
			who := &loomv1.Claimant{Agent: q.Role + "/1", Host: "h1", Epoch: 1}
			d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: q.Attempt, Generation: q.Generation, Claimant: who}}})
			d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: q.Attempt, Claimant: who, Outcome: outcome(success, nil)}}})
		}
	}
	done("one")
	if a, b := d.status(first.Bead), d.status(second.Bead); a != "closed" || b != "in_progress" {
		t.Errorf("after one node the beads are %s and %s, want closed and in_progress", a, b)
	}

	t.Run("what comes with a host no longer takes its place", func(t *testing.T) {
		n := len(d.events)
		d.store(line("small", "1.2", task("other", "qa-engineer")))
		if third := d.file(&loomv1.Submission{Process: "small"}); d.execution(third.Execution).Version != "1.1" {
			t.Errorf("after a host gave 1.2 work is done by %s, want the CEO's 1.1", d.execution(third.Execution).Version)
		}
		if e := d.since(n)[0].GetDefinitionStored(); e == nil || e.Changed {
			t.Errorf("the host's version is not kept: %v", d.since(n)[0])
		}
		n = len(d.events)
		d.store(line("small", "1.2", task("other", "qa-engineer")))
		if len(d.since(n)) != 0 {
			t.Error("the host's version is stored each time it is given")
		}
		d.give(defines(line("small", "1.2", task("other", "qa-engineer")), "back to what comes with it"))
		if fourth := d.file(&loomv1.Submission{Process: "small"}); d.execution(fourth.Execution).Version != "1.2" {
			t.Error("the CEO cannot take the host's version back")
		}
	})
}

// Each of several questions is answered on its own.
func TestWF09_SeveralApprovalsAreOutstandingInOneInbox(t *testing.T) {
	d := newDesk(t)
	d.store(line("ask", "1.0", &loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"}))
	for range 5 {
		d.file(&loomv1.Submission{Process: "ask"})
	}
	v, err := d.s.Look(project.Inbox, &loomv1.Query{})
	if err != nil || len(v.Approvals) != 5 {
		t.Fatalf("inbox %v, %v; want 5 approvals", v, err)
	}
	for i, a := range v.Approvals {
		decision := loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
		if i%2 == 1 {
			decision = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
		}
		c := d.sign(a, decision, nil)
		if swapped := d.sign(a, decision, func(c *loomv1.CeoCommand) { c.GetDecide().Approval = v.Approvals[(i+1)%5].Id }); i < 4 && fault.Code(d.present(ceo, swapped)) != "approval/digest" {
			t.Error("the answer to one question was taken for another")
		}
		if err := d.present(ceo, c); err != nil {
			t.Fatal(err)
		}
		want := map[int]string{0: "closed", 1: "failed"}[i%2]
		if got := d.status(a.Bead); got != want {
			t.Errorf("bead %s is %s, want %s", a.Bead, got, want)
		}
	}
	if v, err := d.s.Look(project.Inbox, &loomv1.Query{}); err != nil || len(v.Approvals) != 0 {
		t.Errorf("inbox %v, %v; want it empty", v, err)
	}
}

// What the CEO was told is refused is not done later because somebody kept it:
// it is refused in the same way for good, and its nonce is used up.
func TestWF09_WhatWasRefusedStaysRefused(t *testing.T) {
	d := newDesk(t)
	x := d.execution(d.report().Execution).Id
	resume := d.order(resumes(oneExecution, x, "go on"))
	nonce := func(c *loomv1.CeoCommand) { c.Nonce = nonceIn(t, resume) }
	if err := d.present(ceo, resume); fault.Code(err) != "pause/none" {
		t.Fatalf("%v, want pause/none", err)
	}
	d.give(pauses(oneExecution, x, "wait"))
	d.restart()
	n := len(d.events)
	if err := d.present(ceo, resume); fault.Code(err) != "pause/none" || len(d.since(n)) != 0 || d.execution(x).Paused == nil {
		t.Errorf("once more: %v with %v; want it refused as before, and nothing recorded", err, d.since(n))
	}
	other := d.order(func(c *loomv1.CeoCommand) { closes(x, "another command")(c); nonce(c) })
	if err := d.present(ceo, other); fault.Code(err) != "approval/replayed" {
		t.Errorf("another command with its nonce: %v, want approval/replayed", err)
	}
	d.give(resumes(oneExecution, x, "signed anew"))

	d.work("qa-engineer", triaged())
	d.work("backend-engineer", proposed("p1"))
	asked := d.inbox()
	digest := d.sign(asked, approves, func(c *loomv1.CeoCommand) { c.GetDecide().Digest = strings.Repeat("0", 64) })
	for range 2 {
		if err := d.present(ceo, digest); fault.Code(err) != "approval/digest" {
			t.Errorf("an answer about something else: %v, want approval/digest", err)
		}
	}
	if err := d.present(ceo, d.sign(asked, approves, func(c *loomv1.CeoCommand) { c.Nonce = nonceIn(t, digest) })); fault.Code(err) != "approval/replayed" {
		t.Errorf("another answer with its nonce: %v, want approval/replayed", err)
	}
	if err := d.present(ceo, d.sign(asked, approves, nil)); err != nil {
		t.Errorf("signed anew: %v", err)
	}
}

// Who presents what is not theirs, or too late, uses up nothing that is hers.
func TestWF09_OthersCannotUseUpWhatTheCEOSigned(t *testing.T) {
	d := newDesk(t)
	x := d.execution(d.report().Execution).Id
	c := d.order(closes(x, "enough"))
	broken := proto.CloneOf(c)
	broken.Signature[0] ^= 1
	for kind, c := range map[loomv1.IdentityKind]*loomv1.SignedCommand{loomv1.IdentityKind_IDENTITY_KIND_AGENT: c, ceo: broken} {
		if err := d.present(kind, c); err == nil {
			t.Errorf("%s is heard", kind)
		}
	}
	if err := d.present(ceo, c); err != nil {
		t.Errorf("the CEO herself: %v", err)
	}
}

func nonceIn(t *testing.T, c *loomv1.SignedCommand) string {
	t.Helper()
	cmd := &loomv1.CeoCommand{}
	if err := proto.Unmarshal(c.Payload, cmd); err != nil {
		t.Fatal(err)
	}
	return cmd.Nonce
}
