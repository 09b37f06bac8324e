package project

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/permission"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How much of a call a question shows, and how many permissions there can be.
const (
	shownArguments = 4 << 10
	shownSubjects  = 20
	maxPermissions = 1000
)

// askPermission answers whether calls may be made, asks the CEO where she has to
// be asked, and parks the attempt until all that it asked is answered.
func (d *decision) askPermission(c *loomv1.AskPermission) (*loomv1.Answer, error) {
	x, err := d.holding(c.Attempt, c.Claimant)
	switch {
	case err != nil:
		return nil, err
	case len(c.Calls) == 0 || len(c.Calls) > turn.MaxCalls:
		return nil, fault.New("permission/invalid", "%d calls are asked about", len(c.Calls)).At("calls").Want("1 to %d", turn.MaxCalls)
	case d.s.held(x):
		return nil, paused(c.Attempt, x)
	}
	_, a := d.s.attempt(c.Attempt)
	defer d.about(x)()
	d.node, d.attempt = a.Node, a.Id
	permits, waits := &loomv1.Permits{}, false
	for _, request := range c.Calls {
		p, open := d.s.permit(x, a, request)
		if p.Verdict == permission.Ask {
			waits = true
			if !open {
				if err := d.question(x, a, request.GetCall()); err != nil {
					return nil, err
				}
			}
		}
		permits.Permits = append(permits.Permits, p)
	}
	if waits {
		err = d.run(x).Park(c.Attempt, c.Claimant, workflow.WaitsForPermission)
	}
	return &loomv1.Answer{Body: &loomv1.Answer_Permits{Permits: permits}}, err
}

// permit says what holds for a call of an attempt; with Ask, open says whether
// the CEO has been asked.
func (s *State) permit(x *loomv1.Execution, a *loomv1.Attempt, r *loomv1.PermissionRequest) (p *loomv1.Permit, open bool) {
	call := r.GetCall()
	verdict, by := permission.Of(s.p.Permissions, a.Role, call, r.GetAsk())
	p = &loomv1.Permit{Call: call.GetId(), Verdict: verdict}
	switch verdict {
	case permission.Deny:
		p.Reason = fmt.Sprintf("permission %s denies it: %s", by.Id, by.Reason)
	case permission.Ask:
		if q := s.questionOf(x, a, call); q != nil {
			p.Verdict, p.Reason = answerOf(q)
			return p, p.Verdict == permission.Ask
		}
	}
	return p, false
}

// answerOf is what the CEO answered a question, or Ask while she has not.
func answerOf(q *loomv1.Approval) (loomv1.PermissionVerdict, string) {
	switch q.Decision {
	case loomv1.ApprovalDecision_APPROVAL_DECISION_UNSPECIFIED:
		return permission.Ask, ""
	case loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT:
		return permission.Deny, strings.TrimSuffix("the CEO was asked and said no: "+q.Comment, ": ")
	}
	return permission.Allow, ""
}

// questionOf returns the question about this very call of an attempt, or nil.
func (s *State) questionOf(x *loomv1.Execution, a *loomv1.Attempt, call *loomv1.ToolCall) *loomv1.Approval {
	digest := permission.Digest(call)
	for _, id := range slices.Backward(s.asked[x.Id]) {
		q := s.approval(id)
		if p := q.GetPermission(); p != nil && p.Attempt == a.Id && p.Call == call.GetId() && p.Digest == digest {
			return q
		}
	}
	return nil
}

// question asks the CEO about a call.
func (d *decision) question(x *loomv1.Execution, a *loomv1.Attempt, call *loomv1.ToolCall) error {
	var subjects []string
	for _, s := range permission.Subjects(call) {
		subjects = append(subjects, cut(plain(s.Text), 300))
	}
	more := len(subjects) - shownSubjects
	subjects = subjects[:min(len(subjects), shownSubjects)]
	if more > 0 {
		subjects = append(subjects, fmt.Sprintf("and %d more", more))
	}
	about := strings.Join(subjects, ", ")
	q := &loomv1.Approval{
		Id: d.nextBead(), Bead: x.Bead, Execution: x.Id, Node: a.Node, Visit: a.Visit, Kind: loomv1.ApprovalKind_APPROVAL_KIND_PERMISSION,
		Question: cut(fmt.Sprintf("may %s use %s on %s?", a.Claimant.GetAgent(), cut(plain(call.GetTool()), 60), about), workflow.SummaryBytes),
		Reason:   "permission/needed: " + a.Role + " has to ask before it uses " + cut(plain(call.GetTool()), 60) + " so",
		Options: []loomv1.ApprovalDecision{
			loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, loomv1.ApprovalDecision_APPROVAL_DECISION_ALWAYS, loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT,
		},
		NextSteps: []string{
			"approve: make this one call",
			"approve --always: and never ask again about the same; with --pattern GLOB, about all that it matches",
			"reject: the agent is told no, with your comment, and goes on without",
		},
		Permission: &loomv1.PermissionQuestion{
			Attempt: a.Id, Call: call.GetId(), Role: a.Role, Tool: cut(plain(call.GetTool()), 128), Subjects: subjects,
			Arguments: cut(plain(call.GetArguments()), shownArguments), Digest: permission.Digest(call),
		},
	}
	q.Digest = workflow.Digest(q)
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalRequested{ApprovalRequested: &loomv1.ApprovalRequested{Approval: q}}})
}

// decidePermission carries out the CEO's answer about a call, and queues its
// attempt again when nothing else of it is asked.
func (d *decision) decidePermission(x *loomv1.Execution, signed *loomv1.SignedCommand, a *loomv1.Approval, v *loomv1.DecideApproval) error {
	if !slices.Contains(x.GetPermissions(), a.Id) {
		return fault.New("approval/lapsed", "nothing waits for what approval %q decides", a.Id)
	}
	standing, err := d.standing(a, v)
	if err != nil {
		return err
	}
	node, err := d.noteDecision(a, v)
	if err != nil {
		return err
	}
	d.attempt = a.Permission.Attempt
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: &loomv1.ApprovalDecided{
		Approval: a.Id, Decision: v.Decision, Comment: v.Comment, Digest: v.Digest, Signed: signed, DecisionNode: node, Choice: v.Choice,
	}}}); err != nil {
		return err
	}
	if standing != nil {
		if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_PermissionSet{PermissionSet: &loomv1.PermissionSet{Permission: standing}}}); err != nil {
			return err
		}
	}
	if _, at := d.s.attempt(a.Permission.Attempt); d.s.asksFor(x, a.Permission.Attempt) || at.GetParked() == workflow.WaitsForTeam || at.GetParked() == workflow.WaitsForMail {
		return nil
	}
	d.node, d.attempt = "", ""
	return d.run(x).Unpark(a.Permission.Attempt)
}

// standing returns the permission that an answer "always" is, or nil for another
// answer: on what the pattern says that the CEO chose, or on exactly what was
// asked about.
func (d *decision) standing(a *loomv1.Approval, v *loomv1.DecideApproval) (*loomv1.Permission, error) {
	if v.Decision != loomv1.ApprovalDecision_APPROVAL_DECISION_ALWAYS {
		return nil, nil
	}
	q, pattern := a.Permission, v.Choice
	if pattern == "" {
		call := d.s.callOf(q)
		about := permission.Subjects(call)
		ok := call != nil && len(about) == 1
		if ok {
			pattern, ok = permission.Exactly(about[0])
		}
		if !ok {
			return nil, fault.New("permission/invalid", "the call is about more than one pattern can say by itself").At("choice").
				Want("say what is allowed: --pattern GLOB")
		}
	}
	p := d.numbered(&loomv1.Permission{
		Verdict: permission.Allow, Role: q.Role, Tool: q.Tool, Pattern: pattern, Reason: first(v.Comment, "always, as the answer to "+a.Id), Approval: a.Id,
	})
	return p, d.checkPermission(p)
}

// callOf returns the call that a question is about, or nil.
func (s *State) callOf(q *loomv1.PermissionQuestion) *loomv1.ToolCall {
	for _, step := range slices.Backward(s.p.Turns[q.Attempt].GetSteps()) {
		for _, c := range step.GetAnswer().GetCalls() {
			if c.Id == q.Call && permission.Digest(c) == q.Digest {
				return c
			}
		}
	}
	return nil
}

// asksFor says whether a question about a call of an attempt is open.
func (s *State) asksFor(x *loomv1.Execution, attempt string) bool {
	return slices.ContainsFunc(x.GetPermissions(), func(id string) bool { return s.approval(id).GetPermission().GetAttempt() == attempt })
}

// followAsker withdraws the questions of an attempt that has ended.
func (d *decision) followAsker(e *loomv1.Event) error {
	x := d.s.execution(e.Execution)
	for _, id := range slices.Clone(x.GetPermissions()) {
		if d.s.approval(id).GetPermission().GetAttempt() != e.Attempt {
			continue
		}
		if err := d.emit(&loomv1.Event{
			Bead: e.Bead, Execution: e.Execution, Node: e.Node, Attempt: e.Attempt,
			Fact: &loomv1.Event_ApprovalLapsed{ApprovalLapsed: &loomv1.ApprovalLapsed{Approval: id, Reason: "the attempt ended"}},
		}); err != nil {
			return err
		}
	}
	return nil
}

// setPermission makes a permission on the CEO's word. One that says the same of
// the same changes nothing but its place: it is the newest again.
func (d *decision) setPermission(c *loomv1.SetPermission) error {
	p := d.numbered(proto.CloneOf(c.GetPermission()))
	p.Reason, p.Approval = c.GetReason(), ""
	if err := d.checkPermission(p); err != nil {
		return err
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_PermissionSet{PermissionSet: &loomv1.PermissionSet{Permission: p}}})
}

// numbered gives a permission what the project knows of it.
func (d *decision) numbered(p *loomv1.Permission) *loomv1.Permission {
	if p == nil {
		p = &loomv1.Permission{}
	}
	p.Id, p.By, p.At = fmt.Sprintf("p%d", d.s.p.PermissionCount+1), d.actor, d.at
	return p
}

func (d *decision) checkPermission(p *loomv1.Permission) error {
	if len(d.s.p.Permissions) >= maxPermissions {
		return fault.New("permission/invalid", "the project has %d permissions, as many as it can", maxPermissions).Want("revoke what is not needed")
	}
	return permission.Check(p)
}

// revokePermission ends a permission on the CEO's word.
func (d *decision) revokePermission(c *loomv1.RevokePermission) error {
	known := make([]string, len(d.s.p.Permissions))
	for i, p := range d.s.p.Permissions {
		known[i] = p.Id
	}
	if !slices.Contains(known, c.GetId()) {
		return fault.New("permission/unknown", "no permission of project %q that holds", d.s.cfg.ID).At("id").Got(c.GetId()).Want("%s", suggest.Among(c.GetId(), known))
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_PermissionRevoked{PermissionRevoked: &loomv1.PermissionRevoked{Id: c.Id, Reason: c.Reason}}})
}

// applyPermission folds what is allowed. What takes the place of another of the
// same words is the newest.
func (s *State) applyPermission(e *loomv1.Event) error {
	gone := func(id string) {
		s.p.Permissions = slices.DeleteFunc(s.p.Permissions, func(p *loomv1.Permission) bool { return p.Id == id })
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_PermissionSet:
		p := proto.CloneOf(f.PermissionSet.GetPermission())
		if p.GetId() == "" {
			return fmt.Errorf("a permission without an id")
		}
		for _, old := range s.p.Permissions {
			if old.Verdict == p.Verdict && old.Role == p.Role && old.Tool == p.Tool && old.Pattern == p.Pattern {
				gone(old.Id)
				break
			}
		}
		s.p.Permissions = append(s.p.Permissions, p)
		s.p.PermissionCount++
	case *loomv1.Event_PermissionRevoked:
		gone(f.PermissionRevoked.GetId())
	}
	return nil
}

// permitted refuses steps of a turn that begin calls which a permission denies,
// or asks about without an answer. Those of the runtime's own are not the
// agent's, and a call that is recorded as denied is not made.
func (s *State) permitted(x *loomv1.Execution, a *loomv1.Attempt, events []*loomv1.Event) error {
	if len(s.p.Permissions) == 0 {
		return nil
	}
	for _, e := range events {
		step := e.GetToolIntended().GetTool()
		if step == nil || step.Runtime || deniedLater(events, step.GetCall().GetId()) {
			continue
		}
		if p, _ := s.permit(x, a, &loomv1.PermissionRequest{Call: step.Call}); p.Verdict != permission.Allow {
			return fault.New("permission/needed", "call %q of %s may not be made without permission", step.Call.Id, plain(step.Call.Tool)).At("intent.call")
		}
	}
	return nil
}

func deniedLater(events []*loomv1.Event, call string) bool {
	return slices.ContainsFunc(events, func(e *loomv1.Event) bool {
		f := e.GetToolFinished()
		return f.GetCall() == call && f.GetResult().GetStatus() == loomv1.ToolStatus_TOOL_STATUS_DENIED
	})
}

// allowance is an order about what agents may do, in words.
func allowance(cmd *loomv1.CeoCommand) (order, bool) {
	switch v := cmd.GetVerb().(type) {
	case *loomv1.CeoCommand_Permit:
		return order{"permit", PermissionWords(v.Permit.GetPermission()), v.Permit.GetReason()}, true
	case *loomv1.CeoCommand_Revoke:
		return order{"revoke", v.Revoke.GetId(), v.Revoke.GetReason()}, true
	case *loomv1.CeoCommand_Trust:
		return order{"trust", "tools of " + v.Trust.GetToolkit().GetProcess() + ", digest " + v.Trust.GetToolkit().GetDigest(), v.Trust.GetReason()}, true
	case *loomv1.CeoCommand_Distrust:
		return order{"distrust", "tools of " + v.Distrust.GetProcess(), v.Distrust.GetReason()}, true
	}
	return order{}, false
}

// PermissionWords says what a permission is about: "allow shell to implementer
// on go test *".
func PermissionWords(p *loomv1.Permission) string {
	words := fmt.Sprintf("%s %s to %s", Word(p.GetVerdict()), first(p.GetTool(), "every tool"), first(p.GetRole(), "every role"))
	if p.GetPattern() != "" {
		words += " on " + p.GetPattern()
	}
	return words
}
