package project

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/conversation"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// converse opens a conversation, or is what a person says or does in one. The same
// request again changes nothing.
func (d *decision) converse(c *loomv1.ConverseRequest) (*loomv1.Answer, error) {
	switch {
	case d.mayTell() != nil:
		return nil, fault.New("request/denied", "people talk in a conversation, and not %s %q", Word(d.actor.GetKind()), d.actor.GetName())
	case c.GetRequest() == "" || len(c.Request) > MaxKey:
		return nil, fault.New("command/malformed", "a request has an id of %d bytes", len(c.GetRequest())).At("request").Want("1 to %d bytes", MaxKey)
	}
	if open := c.GetOpen(); open != nil {
		return d.openConversation(c, open)
	}
	x, err := d.s.conversation(c.Conversation)
	if err != nil {
		return nil, err
	}
	if fork := c.GetFork(); fork != nil {
		return d.forkConversation(c, x, fork)
	}
	if !running(x) {
		if c.GetClose() != nil {
			return d.s.conversationAnswer(x), nil
		}
		return nil, fault.New("conversation/closed", "conversation %q is closed", x.Bead).At("conversation").Want("loom cowork opens another one")
	}
	defer d.about(x)()
	switch v := c.Verb.(type) {
	case *loomv1.ConverseRequest_Say:
		err = d.sayInConversation(x, c.Request, v.Say.GetText())
	case *loomv1.ConverseRequest_Stop:
		err = d.stopTurn(x, c.Request)
	case *loomv1.ConverseRequest_Set:
		err = d.setConversation(x, v.Set)
	case *loomv1.ConverseRequest_Close:
		err = d.closeConversation(x, v.Close.GetReason())
	default:
		err = fault.New("command/malformed", "the request asks for nothing that this release knows").At("verb")
	}
	if err != nil {
		return nil, err
	}
	if err := d.catchUp(); err != nil {
		return nil, err
	}
	return d.s.conversationAnswer(x), nil
}

// conversation returns the execution of a conversation by its bead.
func (s *State) conversation(bead string) (*loomv1.Execution, error) {
	b := s.bead(bead)
	if b.GetType() != loomv1.BeadType_BEAD_TYPE_CONVERSATION {
		return nil, fault.New("conversation/unknown", "project %q has no such conversation", s.cfg.ID).At("conversation").Got(bead).
			Want("one that \"loom cowork list\" names")
	}
	return s.execution(b.Execution), nil
}

// openConversation files the bead of a conversation and begins it.
func (d *decision) openConversation(c *loomv1.ConverseRequest, open *loomv1.OpenConversation) (*loomv1.Answer, error) {
	key, digest := d.requestKey(c.Request, open)
	if old, err := d.opened(key, digest); old != nil || err != nil {
		return old, err
	}
	settings, err := d.mayConverse(c, open.GetSettings())
	if err != nil {
		return nil, err
	}
	if open.Text != "" {
		if err := conversation.CheckText(open.Text); err != nil {
			return nil, err
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(open.Text), "\n")
	x, err := d.beginConversation(cut(cmp.Or(settings.Title, oneLine(first), "conversation"), MaxGoal), settings, filing{request: key, digest: digest})
	if err != nil {
		return nil, err
	}
	defer d.about(x)()
	if open.Text != "" {
		if err := d.sayInConversation(x, c.Request, open.Text); err != nil {
			return nil, err
		}
	}
	return d.s.conversationAnswer(x), nil
}

// opened answers a request that has opened a conversation before.
func (d *decision) opened(key, digest string) (*loomv1.Answer, error) {
	r, err := d.recall(key, digest)
	if r == nil || err != nil {
		return nil, err
	}
	return d.s.conversationAnswer(d.s.execution(r.GetSubmit().GetExecution())), nil
}

// mayConverse refuses one conversation too many, and settings that are not sound.
func (d *decision) mayConverse(c *loomv1.ConverseRequest, s *loomv1.ConversationSettings) (*loomv1.ConversationSettings, error) {
	switch {
	case c.Conversation != "":
		return nil, fault.New("conversation/invalid", "a conversation that is opened gets its id").At("conversation").Got(c.Conversation).Want("leave it out")
	case d.s.p.Config == nil:
		return nil, UnknownProject(d.s.cfg.ID)
	}
	settings, err := conversation.Begin(s)
	if err != nil {
		return nil, err
	}
	if err := d.checkConversation(settings); err != nil {
		return nil, err
	}
	return settings, d.roomForConversation()
}

func (d *decision) roomForConversation() error {
	open := 0
	for _, x := range d.s.running() {
		if conversing(x) {
			open++
		}
	}
	if open >= conversation.MaxOpen {
		return fault.New("conversation/limit", "%d conversations of project %q are open", open, d.s.cfg.ID).Want("close one: loom cowork close")
	}
	return nil
}

// checkConversation refuses settings that name what the project does not have.
func (d *decision) checkConversation(s *loomv1.ConversationSettings) error {
	if s.Process == "" {
		return nil
	}
	if d.s.p.Latest[s.Process] == "" {
		return fault.New("submit/unknown-process", "process is not known in project %q", d.s.cfg.ID).At("process").Got(s.Process).Want("%s", d.suggestProcess(s.Process))
	}
	return d.s.ofPattern(s.Process)
}

// beginConversation files the bead of a conversation, and has the lead's attempt at it
// dispatched.
func (d *decision) beginConversation(goal string, s *loomv1.ConversationSettings, f filing) (*loomv1.Execution, error) {
	def := processes.ConversationWorkflow()
	if err := d.storeOwn(def); err != nil {
		return nil, err
	}
	if _, err := d.file(&loomv1.Bead{
		Type: loomv1.BeadType_BEAD_TYPE_CONVERSATION, Goal: goal, Process: def.Name, Priority: loomv1.Priority_PRIORITY_URGENT,
	}, f); err != nil {
		return nil, err
	}
	x := d.s.execution(d.execution)
	defer d.about(x)()
	return x, d.emit(&loomv1.Event{Fact: &loomv1.Event_ConversationSet{ConversationSet: &loomv1.ConversationSet{Settings: s}}})
}

// conversing says whether an execution is a conversation.
func conversing(x *loomv1.Execution) bool { return x.GetConversation() != nil }

// talking is the attempt of the lead in a conversation, nil while there is none.
func talking(x *loomv1.Execution) *loomv1.Attempt {
	return x.GetNodes()[processes.ConversationNode].GetAttempt()
}

// sayInConversation keeps what a person says until the lead has heard it, and has it
// heard.
func (d *decision) sayInConversation(x *loomv1.Execution, id, text string) error {
	if err := conversation.CheckText(text); err != nil {
		return err
	}
	if team.IsMailID(id) || strings.HasPrefix(id, endedPrefix) {
		return fault.New("command/malformed", "ids of this form are those of what the runtime tells").At("request").Got(id)
	}
	if old := d.s.saidInConversation(x, id); old != nil {
		if old.Text != text {
			return fault.New("submit/key-reused", "the request id was used for another message in %s", x.Bead).At("request")
		}
		return nil
	}
	if !workflow.RoomToSay(x) {
		return fault.New("say/full", "%d messages in %q have not been heard yet", workflow.MaxSaid, x.Bead).At("conversation").Want("wait for the lead's reply")
	}
	return d.tellLead(x, &loomv1.Said{Id: id, From: d.actor, Text: text, Time: d.at})
}

// saidInConversation returns the message of that id, whether it was heard or not.
func (s *State) saidInConversation(x *loomv1.Execution, id string) *loomv1.Said {
	for _, step := range s.p.Turns[talking(x).GetId()].GetSteps() {
		if said := step.GetSaid(); said != nil && said.Id == id {
			return said
		}
	}
	return workflow.SaidBy(x, id)
}

// tellLead keeps a message in a conversation, and has the lead go on that rests.
func (d *decision) tellLead(x *loomv1.Execution, s *loomv1.Said) error {
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionTold{ExecutionTold: &loomv1.ExecutionTold{Said: s, Request: s.Id}}}); err != nil {
		return err
	}
	if a := talking(x); a.GetParked() == workflow.WaitsForPeople {
		return d.run(x).Unpark(a.Id)
	}
	return nil
}

// restInConversation parks the lead until somebody says something. What was said
// meanwhile has it go on at once.
func (d *decision) restInConversation(x *loomv1.Execution, c *loomv1.ParkAttempt) error {
	_, a := d.s.attempt(c.Attempt)
	if !conversing(x) || !turn.Resting(d.s.p.Turns[a.Id]) {
		return fault.New("command/malformed", "an attempt waits for people when a conversation rests").At("waits_for")
	}
	if err := d.run(x).Park(c.Attempt, c.Claimant, workflow.WaitsForPeople); err != nil {
		return err
	}
	if len(workflow.Unheard(x, a.Node)) > 0 {
		return d.run(x).Unpark(a.Id)
	}
	return nil
}

// stopTurn breaks off what the lead does. What people had said until then is taken for
// heard, calls under way end, and tasks that it waits for are stopped.
func (d *decision) stopTurn(x *loomv1.Execution, id string) error {
	a := talking(x)
	if a == nil {
		return nil
	}
	t := d.s.p.Turns[a.Id]
	for _, s := range t.GetSteps() {
		if s.GetStopped().GetId() == id {
			return nil
		}
	}
	facts := turn.Halt(t, workflow.Unheard(x, a.Node), &loomv1.TurnStop{
		Id: id, By: d.actor, Code: turn.Stopped, Reason: "stopped by " + cut(d.actor.GetName(), 100),
	})
	if facts == nil {
		return nil
	}
	d.node, d.attempt = a.Node, a.Id
	if err := d.all(facts, nil); err != nil {
		return err
	}
	d.node, d.attempt = "", ""
	for _, bead := range a.Awaits {
		if err := d.closeTask(d.s.bead(bead).GetExecution(), "the conversation that waited for it was stopped"); err != nil {
			return err
		}
	}
	if a = talking(x); a.GetClaimant() != nil {
		return d.run(x).Release(a.Id, a.Claimant, "stopped by "+d.actor.GetName())
	}
	return d.run(x).Unpark(a.Id)
}

// setConversation changes how a conversation is held. What is so already changes nothing.
func (d *decision) setConversation(x *loomv1.Execution, change *loomv1.ConversationSettings) error {
	next, err := conversation.Change(x.Conversation, change)
	if err != nil {
		return err
	}
	if err := d.checkConversation(next); err != nil {
		return err
	}
	if proto.Equal(next, x.Conversation) {
		return nil
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_ConversationSet{ConversationSet: &loomv1.ConversationSet{Settings: next}}})
}

func (d *decision) closeConversation(x *loomv1.Execution, reason string) error {
	if len(reason) > conversation.MaxReason {
		return fault.New("submit/too-large", "reason has %d bytes, the most is %d", len(reason), conversation.MaxReason).At("reason")
	}
	why := "closed by " + d.actor.GetName()
	if reason = plain(oneLine(reason)); reason != "" {
		why += ": " + reason
	}
	return d.run(x).CloseNow(why)
}

// forkConversation begins another conversation with what was said in one that is open.
func (d *decision) forkConversation(c *loomv1.ConverseRequest, x *loomv1.Execution, f *loomv1.ForkConversation) (*loomv1.Answer, error) {
	key, digest := d.requestKey(c.Request, c)
	if old, err := d.opened(key, digest); old != nil || err != nil {
		return old, err
	}
	from := talking(x)
	t := d.s.p.Turns[from.GetId()]
	if !running(x) || !turn.Started(t) {
		return nil, fault.New("conversation/closed", "what was said in conversation %q is in the journal alone", x.Bead).At("conversation").
			Want("one that is open and has begun; \"loom cowork export\" reads any")
	}
	steps, ok := turn.PartBefore(t, int(f.Before))
	if !ok {
		said, _ := turn.Replies(t)
		return nil, fault.New("conversation/invalid", "there is no message %d", f.Before).At("before").Want("1 to %d, or 0 for all", said)
	}
	settings, err := conversation.Change(x.Conversation, &loomv1.ConversationSettings{Title: f.Title})
	if err != nil {
		return nil, err
	}
	settings.ForkedFrom = x.Bead
	if err := d.roomForConversation(); err != nil {
		return nil, err
	}
	goal := d.s.bead(x.Bead).Goal
	fork, err := d.beginConversation(cut(cmp.Or(f.Title, "fork of "+x.Bead+": "+goal), MaxGoal), settings, filing{request: key, digest: digest})
	if err != nil {
		return nil, err
	}
	defer d.about(fork)()
	a := talking(fork)
	d.node, d.attempt = a.Node, a.Id
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_TurnForked{TurnForked: &loomv1.TurnForked{Conversation: x.Bead, Attempt: from.Id, Steps: uint32(steps)}}}); err != nil {
		return nil, err
	}
	return d.s.conversationAnswer(fork), nil
}

// followTurn has the next attempt at a conversation go on with what was said, where the one
// before has ended in the middle: up to its last reply or stop. What it had heard after that
// and not answered is told anew.
func (d *decision) followTurn(e *loomv1.Event) error {
	x := d.s.execution(e.Execution)
	if !conversing(x) {
		return nil
	}
	for _, old := range slices.Backward(x.Nodes[e.Node].GetHistory()) {
		t := d.s.p.Turns[old.Id]
		if !turn.Started(t) {
			continue
		}
		steps, _ := turn.PartBefore(t, 0)
		return d.emit(&loomv1.Event{
			Bead: e.Bead, Execution: e.Execution, Node: e.Node, Attempt: e.Attempt,
			Fact: &loomv1.Event_TurnForked{TurnForked: &loomv1.TurnForked{Conversation: x.Bead, Attempt: old.Id, Steps: uint32(steps)}},
		})
	}
	return nil
}

// takeOver ends the turn that another attempt at the same conversation goes on with.
func (s *State) takeOver(e *loomv1.Event, f *loomv1.TurnForked) {
	if f.Conversation != e.Bead {
		return
	}
	var ids []string
	for _, step := range s.p.Turns[f.Attempt].Steps[f.Steps:] {
		if said := step.GetSaid(); said != nil {
			ids = append(ids, said.Id)
		}
	}
	delete(s.p.Turns, f.Attempt)
	workflow.Rehear(s.execution(e.Execution), ids)
}

// modeAllows refuses calls of tools that the mode of a conversation does not have, but
// those that are recorded as denied.
func (s *State) modeAllows(x *loomv1.Execution, events []*loomv1.Event) error {
	if !conversing(x) {
		return nil
	}
	denied := map[string]bool{}
	for _, e := range events {
		if f := e.GetToolFinished(); f.GetResult().GetStatus() == loomv1.ToolStatus_TOOL_STATUS_DENIED {
			denied[f.Call] = true
		}
	}
	for _, e := range events {
		call := e.GetToolIntended().GetTool().GetCall()
		if call != nil && !denied[call.Id] && given(talking(x), call.Id) == nil && !conversation.Allows(x.Conversation.Mode, call.Tool) {
			return conversation.Denied(x.Conversation.Mode, call.Tool)
		}
	}
	return nil
}
