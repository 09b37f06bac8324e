package project_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func removal() *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_RemoveProject{RemoveProject: &loomv1.RemoveProject{Reason: "sold"}}}
}

func registration(c *loomv1.ProjectConfig) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{Config: c}}}
}

// A project is removed once nothing of it is open; who asks too early is told how much
// is, and to remove it again changes nothing.
func TestCLI01_AProjectIsRemovedOnceNothingIsOpen(t *testing.T) {
	d := newDesk(t)
	filed := d.report()
	before := d.s.Hash()
	_, err := d.do(removal())
	if fault.Code(err) != "project/has-work" || !strings.Contains(err.Error(), "1 open bead and 1 execution under way") {
		t.Errorf("with work open: %v", err)
	}
	if d.s.Hash() != before {
		t.Error("what was refused has changed something")
	}
	d.give(closes(filed.Execution, "no longer wanted"))
	n := len(d.events)
	d.ok(removal())
	d.ok(removal())
	if facts := d.since(n); len(facts) != 1 || facts[0].GetProjectRemoved().GetReason() != "sold" || facts[0].Actor.GetName() != "ann" {
		t.Errorf("removed twice gave %v", facts)
	}
	v, err := d.s.Look(project.Projects, &loomv1.Query{})
	if err != nil || len(v.Projects) != 1 || !v.Projects[0].Removed.AsTime().Equal(d.now) {
		t.Errorf("it is shown as %v, %v", v, err)
	}
	if d.status(filed.Bead) == "" {
		t.Error("its history is gone")
	}
	if _, answer, err := project.New(d.cfg).Do(d.now, removal()); err != nil || answer.GetError().GetCode() != "project/unknown" {
		t.Errorf("removing what was never registered: %v, %v", answer, err)
	}
}

// What is removed takes nothing new, by whichever way, until it is registered again;
// what hosts note, and what the CEO signs, it still takes.
func TestCLI01_WhatIsRemovedTakesNothingNew(t *testing.T) {
	d := newDesk(t)
	filed := d.report()
	d.give(closes(filed.Execution, "no longer wanted"))
	d.ok(removal())
	before := d.s.Hash()
	for _, cmd := range []*loomv1.Command{
		{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: "one more"}}}},
		{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: &loomv1.ErrorReport{Service: "s", Status: 500, Kind: "panic", Message: "m"}}}},
		{Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{}}},
		{Body: &loomv1.Command_ReopenBead{ReopenBead: &loomv1.ReopenBead{Bead: filed.Bead}}},
		{Body: &loomv1.Command_ForkExecution{ForkExecution: &loomv1.ForkExecution{}}},
		{Body: &loomv1.Command_TellExecution{TellExecution: &loomv1.TellExecution{Execution: filed.Execution, Text: "hello"}}},
		{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: line("small", "1.0", task("only", "qa-engineer"))}}},
		remark("a thought"),
		{Body: &loomv1.Command_LinkDecision{LinkDecision: &loomv1.LinkDecision{}}},
		{Body: &loomv1.Command_SupersedeDecision{SupersedeDecision: &loomv1.SupersedeDecision{}}},
		{Body: &loomv1.Command_AbandonDecision{AbandonDecision: &loomv1.AbandonDecision{}}},
		{Body: &loomv1.Command_ImportDecisions{ImportDecisions: &loomv1.ImportDecisions{}}},
		{Body: &loomv1.Command_OpenBallot{OpenBallot: &loomv1.OpenBallot{}}},
		{Body: &loomv1.Command_CastVote{CastVote: &loomv1.CastVote{}}},
		{Body: &loomv1.Command_KeepMemory{KeepMemory: &loomv1.KeepMemory{}}},
		{Body: &loomv1.Command_ChangeMemory{ChangeMemory: &loomv1.ChangeMemory{}}},
	} {
		if _, err := d.do(cmd); fault.Code(err) != "project/removed" {
			t.Errorf("%T: %v, want project/removed", cmd.Body, err)
		}
	}
	if d.s.Hash() != before {
		t.Error("what was refused has changed something")
	}
	d.ok(&loomv1.Command{Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h1"}, Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{
		Host: "h1", Roles: &loomv1.HostRoles{Epoch: 1, Agents: map[string]uint32{"qa-engineer": 1}},
	}}})
	phone := d.enrol("phone")
	c := proto.CloneOf(d.s.Config())
	c.Removed = nil
	d.ok(registration(c))
	d.report()
	if err := d.by(phone, func() error { return d.present(ceo, d.order(closes("shop-2-x1", "r"))) }); err != nil {
		t.Errorf("a key that was enrolled meanwhile: %v", err)
	}
}

// A registration names who asked for it, where a host registers in somebody's name, and
// is never one of a removed project.
func TestCLI01_ARegistrationNamesWhoAskedForIt(t *testing.T) {
	d := newDesk(t)
	bob := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "bob"}
	c := proto.CloneOf(d.s.Config())
	c.Added, c.Checks = true, []string{"go test ./..."}
	cmd := registration(c)
	cmd.GetRegisterProject().AskedBy = bob
	if _, err := d.do(cmd); fault.Code(err) != "command/unauthorized" {
		t.Errorf("in the name of another, by an operator: %v", err)
	}
	cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h1"}
	n := len(d.events)
	d.ok(cmd)
	if facts := d.since(n); len(facts) != 1 || !proto.Equal(facts[0].Actor, bob) || !facts[0].GetProjectRegistered().GetConfig().GetAdded() {
		t.Errorf("it gave %v", facts)
	}
	gone := proto.CloneOf(c)
	gone.Removed = timestamppb.New(noon)
	if _, err := d.do(registration(gone)); fault.Code(err) != "project/invalid" {
		t.Errorf("registered as removed: %v", err)
	}
}

// Whatever happens in whatever order: a removed project has nothing open, and gets
// nothing.
func TestCLI01_ARemovedProjectHasNothingOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := watched(t)
		steps := w.steps()
		for name, f := range w.lateSteps() {
			steps[name] = f
		}
		steps["remove"] = func(*rapid.T) { w.do(removal()) }
		steps["close all and remove"] = func(*rapid.T) {
			for _, x := range sortedOpen(w.one.Snapshot()) {
				w.sign(closes(x.Id, "r"))
			}
			w.do(removal())
		}
		steps["add again"] = func(*rapid.T) {
			c := proto.CloneOf(w.one.Config())
			c.Removed = nil
			w.do(registration(c))
		}
		steps[""] = func(*rapid.T) {
			w.check()
			p := w.one.Snapshot()
			if p.Config.Removed == nil {
				return
			}
			for _, b := range p.Beads {
				switch project.Word(b.Status) {
				case "closed", "failed", "aborted":
				default:
					t.Fatalf("the project is removed, and bead %s is %s", b.Id, project.Word(b.Status))
				}
			}
			if open := sortedOpen(p); len(open) > 0 {
				t.Fatalf("the project is removed, and %s goes on", open[0].Id)
			}
		}
		t.Repeat(steps)
	})
}
