package project

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The kinds of beads that the governor counts, and what it lets through where
// the project says nothing else.
const (
	byReport = "reported"   // filed by error reports of services
	byItself = "self-filed" // filed by Loom, its agents, or reports of its own errors

	defaultReported  = 100
	defaultSelfFiled = 10
	defaultWindow    = time.Hour
	longestWindow    = 30 * 24 * time.Hour
)

// storm is the code of what the governor refuses, and of the question to the
// CEO.
const storm = "storm/budget"

// governed returns which budget a bead counts against that the actor files, by
// a report if there is one; "" for none. What the runtime files because work
// needs it, such as approvals and the children of executions, does not come
// this way.
func (d *decision) governed(r *loomv1.ErrorReport) string {
	switch d.actor.GetKind() {
	case loomv1.IdentityKind_IDENTITY_KIND_HOST, loomv1.IdentityKind_IDENTITY_KIND_AGENT:
		return byItself
	}
	switch r.GetService() {
	case "":
		return ""
	case Self:
		return byItself
	}
	return byReport
}

// admit refuses a bead of a kind whose budget is used up. The first refusal of
// a window is a fact and asks the CEO; those that follow write nothing. A
// window that is over is renewed by the first bead after it, so that no timer
// is needed and a quiet project writes nothing.
func (d *decision) admit(kind string) error {
	if kind == "" {
		return nil
	}
	g := d.s.p.Governor
	if g.GetWindowStart() != nil && !d.now.Before(d.s.windowEnd()) {
		if err := d.renew("the window of " + Window(d.s.p.Config).String() + " is over"); err != nil {
			return err
		}
		g = d.s.p.Governor
	}
	used, most := g.GetReported(), MostFiled(d.s.p.Config, kind == byItself)
	if kind == byItself {
		used = g.GetSelfFiled()
	}
	if used < most {
		return nil
	}
	why := fault.New(storm, "%d beads were filed by %s in %s, and no more are before %s", used, kindWord(kind), Window(d.s.p.Config), d.s.windowEnd().UTC().Format(time.RFC3339)).
		Want("the CEO can grant another window: see \"loom inbox\"")
	if slices.Contains(g.GetTripped(), kind) {
		return why
	}
	if err := d.trip(kind, used); err != nil {
		return err
	}
	d.refusalRecorded = true
	return why
}

func kindWord(kind string) string {
	if kind == byItself {
		return "Loom itself"
	}
	return "error reports"
}

// MostFiled returns how many beads the governor of a project lets through in a
// window: filed by error reports, or by Loom itself.
func MostFiled(c *loomv1.ProjectConfig, byLoom bool) uint32 {
	set, otherwise := c.GetGovernor().GetReported(), uint32(defaultReported)
	if byLoom {
		set, otherwise = c.GetGovernor().GetSelfFiled(), defaultSelfFiled
	}
	if set == 0 {
		return otherwise
	}
	return set
}

// Window returns how long a window of a project's governor is.
func Window(c *loomv1.ProjectConfig) time.Duration {
	if w := c.GetGovernor().GetWindow(); w != nil {
		return w.AsDuration()
	}
	return defaultWindow
}

// windowEnd returns when the governor's window is over.
func (s *State) windowEnd() time.Time {
	return asTime(s.p.Governor.GetWindowStart()).Add(Window(s.p.Config))
}

// trip holds back a kind for the rest of the window. The CEO is asked once in a
// window, unless the answer was there before another kind needed one.
func (d *decision) trip(kind string, used uint32) error {
	defer d.aside()()
	d.bead, d.execution, d.node, d.attempt = "", "", "", ""
	approval, ask := d.s.p.Governor.GetApproval(), false
	if !d.s.asks(d.s.approval(approval)) {
		approval, ask = d.nextBead(), true
	}
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_GovernorTripped{GovernorTripped: &loomv1.GovernorTripped{
		Kind: kind, Filed: used, Until: timestamppb.New(d.s.windowEnd()), Approval: approval,
	}}}); err != nil || !ask {
		return err
	}
	reason := fmt.Sprintf("%s: %d beads were filed by %s since %s", storm, used, kindWord(kind), asTime(d.s.p.Governor.WindowStart).Format(time.RFC3339))
	a := &loomv1.Approval{
		Id: approval, Kind: loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION, Reason: reason,
		Question: fmt.Sprintf("Shall beads that nobody asked for be filed again in project %s?", d.s.cfg.ID),
		Options:  []loomv1.ApprovalDecision{loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT},
		NextSteps: []string{
			"approve: a new window begins now, with its whole budget",
			"reject: nothing is filed by itself before the window is over",
			"look at what is filed again and again first: loom bead list --type bug",
		},
	}
	a.Digest = workflow.Digest(a)
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalRequested{ApprovalRequested: &loomv1.ApprovalRequested{Approval: a}}})
}

// renew begins a new window; a question about the old one is moot.
func (d *decision) renew(reason string) error {
	defer d.aside()()
	d.bead, d.execution, d.node, d.attempt = "", "", "", ""
	asked := d.s.p.Governor.GetApproval()
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_GovernorRenewed{GovernorRenewed: &loomv1.GovernorRenewed{Reason: reason}}}); err != nil {
		return err
	}
	if !d.s.asks(d.s.approval(asked)) {
		return nil
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalLapsed{ApprovalLapsed: &loomv1.ApprovalLapsed{Approval: asked, Reason: reason}}})
}

// decideStorm carries out the CEO's answer to the governor's question, the only
// one that is about no execution.
func (d *decision) decideStorm(signed *loomv1.SignedCommand, a *loomv1.Approval, v *loomv1.DecideApproval) error {
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: &loomv1.ApprovalDecided{
		Approval: a.Id, Decision: v.Decision, Comment: v.Comment, Digest: v.Digest, Signed: signed,
	}}}); err != nil {
		return err
	}
	if v.Decision != loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE || a.Id != d.s.p.Governor.GetApproval() {
		return nil
	}
	return d.renew("the CEO granted a new window")
}

func (s *State) applyGovernor(e *loomv1.Event) {
	if s.p.Governor == nil {
		s.p.Governor = &loomv1.GovernorState{}
	}
	g := s.p.Governor
	switch f := e.Fact.(type) {
	case *loomv1.Event_BeadFiled:
		if g.WindowStart == nil {
			g.WindowStart = e.Time
		}
		if f.BeadFiled.Governed == byItself {
			g.SelfFiled++
		} else {
			g.Reported++
		}
	case *loomv1.Event_GovernorTripped:
		g.Tripped, g.Approval = append(g.Tripped, f.GovernorTripped.Kind), f.GovernorTripped.Approval
	case *loomv1.Event_GovernorRenewed:
		s.p.Governor = &loomv1.GovernorState{WindowStart: e.Time}
	}
}

func checkGovernor(g *loomv1.Governor) []*fault.Error {
	if g.GetWindow() == nil {
		return nil
	}
	if w := g.Window.AsDuration(); g.Window.CheckValid() != nil || w < time.Second || w > longestWindow {
		return problem(fault.New("project/invalid", "a window of %s; it can have 1s to %s", w, longestWindow).At("governor.window"))
	}
	return nil
}
