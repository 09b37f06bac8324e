package project

import (
	"regexp"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// In primacy a model asks: an attempt of a bead of the session, which is parked while the
// person thinks. What the model says goes to the session and nowhere else.

// interviewTurn has a session hear what its model has answered. A turn that was heard
// before changes nothing.
func (d *decision) interviewTurn(c *loomv1.InterviewTurn) (*loomv1.Answer, error) {
	x, err := d.holding(c.Attempt, c.Claimant)
	if err != nil {
		return nil, err
	}
	s := d.s.interviewOf(x)
	switch {
	case s == nil:
		return nil, fault.New("intent/phase", "attempt %q asks for no session", c.Attempt).At("attempt")
	case d.s.held(x):
		return nil, paused(c.Attempt, x)
	}
	refusal := ""
	if s.AwaitsModel() && s.Heard() == c.Heard {
		if err := d.payTurn(x, c); err != nil {
			return nil, err
		}
		if refusal, err = d.hear(s.ID(), c); err != nil {
			return nil, err
		}
	}
	s = d.s.interviewOf(x)
	if s.Pending() != nil && !s.PatternAsks() {
		defer d.about(x)()
		if err := d.run(x).Park(c.Attempt, c.Claimant, workflow.WaitsForAnswer); err != nil {
			return nil, err
		}
	}
	b := d.s.interviewBrief(x)
	b.Refusal = refusal
	return &loomv1.Answer{Body: &loomv1.Answer_Interview{Interview: b}}, nil
}

// payTurn counts what a turn of a model and the judgment on it have cost, and ends their
// reservations.
func (d *decision) payTurn(x *loomv1.Execution, c *loomv1.InterviewTurn) error {
	_, a := d.s.attempt(c.Attempt)
	defer d.about(x)()
	d.node, d.attempt = a.Node, a.Id
	for _, call := range []*loomv1.CallSettled{{Request: c.Request, Usage: c.Usage}, {Request: c.JudgeRequest, Usage: c.JudgeUsage}} {
		if call.Request == "" {
			continue
		}
		if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_CallSettled{CallSettled: call}}); err != nil {
			return err
		}
	}
	return nil
}

// hear gives a session what a model said. What is not a turn of its own is text that is
// withheld; refusal is what the model is told of it.
func (d *decision) hear(id string, c *loomv1.InterviewTurn) (refusal string, err error) {
	if code, none := c.Said.(*loomv1.InterviewTurn_Unanswered); none {
		return "", d.leaveQuestions(id, "the model could not be asked: "+codeOf(code.Unanswered))
	}
	said, rest := "", c.Beside
	cmd := &loomv1.IntentCommand{}
	switch v := c.Said.(type) {
	case *loomv1.InterviewTurn_Ask:
		said, cmd.Body = v.Ask.GetText(), &loomv1.IntentCommand_ProposeQuestion{ProposeQuestion: v.Ask}
	case *loomv1.InterviewTurn_Finish:
		said, cmd.Body = encodedText(v.Finish), &loomv1.IntentCommand_Draft{Draft: v.Finish}
	default:
		refusal = "call ask_clarifying or finish; what you say beside them reaches nobody"
	}
	if rest != "" || cmd.Body == nil {
		if err := d.carryFor(id, d.actor, withheld(rest)); err != nil {
			return "", err
		}
	}
	if cmd.Body == nil || !d.s.sessions[id].AwaitsModel() {
		return refusal, nil
	}
	before := d.s.sessions[id].Heard()
	err = d.carryFor(id, d.actor, cmd)
	switch s := d.s.sessions[id]; {
	case d.refuses(err):
		return fault.From(err).Error(), d.carryFor(id, d.actor, withheld(said))
	case err != nil:
		return "", err
	case s.AwaitsModel() && s.Heard() > before:
		facts := d.s.p.Sessions[id].Facts
		return fault.From(intent.Refusal(facts[len(facts)-1:])).Error(), nil
	}
	return "", nil
}

// faultCode is what the code of an error looks like. Of what an agent says nothing else
// is repeated.
var faultCode = regexp.MustCompile(`^[a-z]{1,20}/[a-z-]{1,40}$`)

func codeOf(said string) string {
	if faultCode.MatchString(said) {
		return said
	}
	return "model/unavailable"
}

func encodedText(m proto.Message) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return ""
	}
	return string(b)
}

func withheld(text string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_OfferText{OfferText: &loomv1.OfferText{Text: text}}}
}

func (d *decision) leaveQuestions(id, reason string) error {
	return d.carry(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_LeaveQuestions{LeaveQuestions: &loomv1.LeaveQuestions{Reason: reason}}})
}

// interview files the bead in which a model asks, where it is a model's turn, and has one
// that waited for an answer go on. One of a session that goes on no more is closed.
func (d *decision) interview(id string) error {
	s, r := d.s.sessions[id], d.s.p.Sessions[id]
	x := d.s.execution(d.s.bead(r.GetInterview()).GetExecution())
	switch {
	case running(x) && !goesOn(s):
		defer d.about(x)()
		return d.run(x).CloseNow("session " + id + how(s))
	case running(x) && (s.Pending() == nil || s.PatternAsks()):
		return d.answered(x)
	case running(x) || !s.AwaitsModel():
		return nil
	}
	defer d.aside()()
	d.bead, d.execution, d.node, d.attempt = "", "", "", ""
	def := processes.InterviewWorkflow()
	if err := d.storeOwn(def); err != nil {
		return d.leaveQuestions(id, "no model can be asked")
	}
	_, err := d.file(&loomv1.Bead{
		Type: loomv1.BeadType_BEAD_TYPE_TASK, Goal: cut(oneLine("ask what it is for: "+s.Request()), MaxGoal), Session: id, Process: def.Name,
		Priority: loomv1.Priority_PRIORITY_NORMAL,
	}, filing{})
	return err
}

// answered queues an interview again that waited for an answer.
func (d *decision) answered(x *loomv1.Execution) error {
	a := x.Nodes[processes.InterviewNode].GetAttempt()
	if a.GetParked() != workflow.WaitsForAnswer {
		return nil
	}
	defer d.about(x)()
	return d.run(x).Unpark(a.Id)
}

// storeOwn keeps a definition of the runtime's own, and refuses where another one of its
// name is worked by.
func (d *decision) storeOwn(def *loomv1.Definition) error {
	if err := d.store(def, false); err != nil {
		return err
	}
	if d.s.p.Latest[def.Name] != processes.Hash(def) {
		return fault.New("definition/invalid", "process %q of this project stands in the place of the runtime's own", def.Name)
	}
	return nil
}

// interviewOf returns the session that an execution asks for, nil for none. Only the
// newest interview of a session is one.
func (s *State) interviewOf(x *loomv1.Execution) *intent.Session {
	on := s.sessionOf(x)
	if on == nil || s.p.Sessions[on.ID()].GetInterview() != x.GetBead() {
		return nil
	}
	return on
}

// interviewBrief is what whoever asks for a session knows of it, nil for other work.
func (s *State) interviewBrief(x *loomv1.Execution) *loomv1.InterviewBrief {
	on := s.interviewOf(x)
	if on == nil {
		return nil
	}
	waits := on.Phase() == intent.Primacy && on.Pending() != nil && !on.PatternAsks()
	return proto.CloneOf(&loomv1.InterviewBrief{
		Session: on.ID(), Request: on.Request(), Pattern: on.Pattern(), Answers: on.Answers(), Asked: on.Asked(), Passed: on.Passed(),
		Heard: on.Heard(), Revision: on.Revision(), Waits: waits, Over: !waits && !on.AwaitsModel(), Used: x.GetUsage(), WithoutJudge: on.WithoutJudge(),
	})
}

// aroundPrimacy records that somebody wanted to begin the work of a session around it. What
// is submitted, and what is signed, is recorded where it is refused; what a person says in a
// session goes around nothing.
func (d *decision) aroundPrimacy(cmd *loomv1.Command, err error) error {
	if fault.Code(err) != "intent/unsealed" || d.broken != nil || len(d.events) > 0 {
		return err
	}
	var subject string
	switch cmd.Body.(type) {
	case *loomv1.Command_ReopenBead:
		subject = "reopen"
	case *loomv1.Command_ForkExecution:
		subject = "fork"
	default:
		return err
	}
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_SubmissionRejected{SubmissionRejected: &loomv1.SubmissionRejected{
		Error: bounded(fault.From(err).Proto()), Subject: subject,
	}}}); err != nil {
		return err
	}
	d.refusalRecorded = true
	return err
}
