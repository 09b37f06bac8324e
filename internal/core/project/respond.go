package project

import (
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a project can leave to operators.
const (
	Questions   = "questions"   // of agents, in words
	Permissions = "permissions" // of agents, for one call that their role has to ask for
	Nothing     = "none"
)

// leaves returns what a project leaves to operators.
func leaves(c *loomv1.ProjectConfig) []string {
	if len(c.GetOperatorsAnswer()) == 0 {
		return []string{Questions, Permissions}
	}
	return c.OperatorsAnswer
}

func checkOperators(c *loomv1.ProjectConfig) []*fault.Error {
	for _, what := range c.GetOperatorsAnswer() {
		if !slices.Contains([]string{Questions, Permissions, Nothing}, what) || what == Nothing && len(c.OperatorsAnswer) > 1 {
			return problem(fault.New("project/invalid", "operators cannot be left this").At("operators_answer").Got(what).
				Want("%s, %s, or %s alone", Questions, Permissions, Nothing))
		}
	}
	return nil
}

// respond carries out an operator's answer, that no key has signed: to a question of an
// agent, or about one call of an agent whose role has to ask. All else is the CEO's.
func (d *decision) respond(v *loomv1.DecideApproval) (*loomv1.Answer, error) {
	a := d.s.approval(v.GetApproval())
	switch {
	case d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR:
		return nil, fault.New("answer/signature", "%s %q is no operator", d.actor.GetKind(), d.actor.GetName())
	case a == nil:
		return nil, fault.New("approval/unknown", "approval %q is not known in project %q", v.GetApproval(), d.s.cfg.ID).At("approval")
	}
	done := &loomv1.Answer{Body: &loomv1.Answer_Submit{Submit: &loomv1.SubmitReply{Bead: a.Bead, Execution: a.Execution}}}
	if a.DecidedBy.GetKind() == d.actor.Kind && d.decidedSo(a, v) {
		return done, nil
	}
	if err := d.checkDecision(a, v); err != nil {
		return nil, err
	}
	if err := d.leftToOperators(a, v); err != nil {
		return nil, err
	}
	x := d.s.execution(a.Execution)
	defer d.about(x)()
	d.node = a.Node
	return done, d.decidePermission(x, nil, a, v)
}

// leftToOperators returns answer/signature unless the project leaves this very answer to
// operators.
func (d *decision) leftToOperators(a *loomv1.Approval, v *loomv1.DecideApproval) error {
	signed := fault.New("answer/signature", "approval %q takes the CEO's signature", a.Id).At("approval").Want("loom approve, or loom reject")
	what := Permissions
	switch p := a.Permission; {
	case p == nil || d.s.execution(a.Execution) == nil:
		return signed
	case p.Tool == AskUserTool:
		what = Questions
	}
	switch v.Decision {
	case loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT:
	default: // what holds from then on is a permission, and those are signed
		return signed
	}
	if !slices.Contains(leaves(d.s.p.Config), what) {
		return signed
	}
	return nil
}
