package project

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxSaid bounds what a person says at once to who works on an execution, in
// bytes.
const MaxSaid = 2 << 10

// maxSaidID bounds the caller's id for it.
const maxSaidID = 64

// tell keeps a message for whoever works on an execution, until an agent has
// heard it.
func (d *decision) tell(c *loomv1.TellExecution) (*loomv1.Answer, error) {
	if err := d.mayTell(); err != nil {
		return nil, err
	}
	x, err := d.known(c.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := d.checkTold(x, c); err != nil {
		return nil, err
	}
	if on := d.s.sessionOf(x); on != nil { // what is said is held against the sealed intent, and recorded there
		return nil, fault.New("intent/phase", "execution %q works for session %s, and hears what is said in that", x.Id, on.ID()).At("execution").
			Want("loom pattern steer %s TEXT, or loom pattern answer %s TEXT before the seal", on.ID(), on.ID())
	}
	if old := workflow.SaidBy(x, c.Request); old != nil {
		if old.Text != c.Text || old.Node != c.Node {
			return nil, fault.New("submit/key-reused", "the request id was used for another message to %s", x.Id).At("request")
		}
		return submitted(x.Bead, x.Id, true), nil
	}
	if !d.s.open[x.Id] {
		return nil, fault.New("override/ended", "nobody works on execution %q any more", x.Id).At("execution")
	}
	if !workflow.RoomToSay(x) {
		return nil, fault.New("say/full", "%d messages to %q have not been heard yet", workflow.MaxSaid, x.Id).At("execution").
			Want("wait until an agent has heard them: they are heard between its tool calls")
	}
	defer d.about(x)()
	said := &loomv1.Said{Id: c.Request, From: d.actor, Text: c.Text, Time: d.at, Node: c.Node}
	if conversing(x) {
		return submitted(x.Bead, x.Id, false), d.sayInConversation(x, c.Request, c.Text)
	}
	return submitted(x.Bead, x.Id, false), d.emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionTold{ExecutionTold: &loomv1.ExecutionTold{Said: said, Request: c.Request}}})
}

func (d *decision) mayTell() error {
	switch d.actor.GetKind() {
	case loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, loomv1.IdentityKind_IDENTITY_KIND_CEO:
		return nil
	}
	return fault.New("request/denied", "agents are told something by operators, not by %s %q", Word(d.actor.GetKind()), d.actor.GetName())
}

func (d *decision) checkTold(x *loomv1.Execution, c *loomv1.TellExecution) error {
	var errs []*fault.Error
	if c.Request == "" || len(c.Request) > maxSaidID {
		errs = append(errs, fault.New("command/malformed", "a message has a request id of %d bytes", len(c.Request)).At("request").Want("1 to %d bytes", maxSaidID))
	}
	if team.IsMailID(c.Request) {
		errs = append(errs, fault.New("command/malformed", "ids of this form are those of mail in a team").At("request").Got(c.Request))
	}
	if oneLine(c.Text) == "" || len(c.Text) > MaxSaid {
		errs = append(errs, fault.New("say/invalid", "a message has %d bytes", len(c.Text)).At("text").Want("1 to %d bytes", MaxSaid))
	}
	if def := d.s.defs[x.DefinitionHash]; c.Node != "" && def.Node(c.Node) == nil {
		errs = append(errs, fault.New("workflow/node", "workflow %q has no such node", x.Definition).At("node").Got(c.Node).Want("%s", suggest.Among(c.Node, nodesOf(def))))
	}
	return fault.Join(errs)
}

// wereSaid refuses to have heard what nobody said, so that no agent can put
// words into a person's mouth, and mail that is not to the attempt or was heard.
func (s *State) wereSaid(x *loomv1.Execution, attempt string, facts []*loomv1.Event) error {
	for _, f := range facts {
		h := f.GetMessageHeard().GetSaid()
		if h == nil {
			continue
		}
		if team.IsMailID(h.Id) {
			if err := s.wasWritten(x, attempt, h); err != nil {
				return err
			}
			continue
		}
		known := workflow.SaidBy(x, h.Id)
		given := proto.CloneOf(h)
		given.Heard = known.GetHeard()
		if known == nil || !proto.Equal(known, given) {
			return fault.New("turn/invalid", "nobody said that").At("facts").Got(h.Id)
		}
	}
	return nil
}

// wasWritten refuses to have heard mail that nobody wrote to an attempt, or that it
// has heard. To record again that it was heard is no second time.
func (s *State) wasWritten(x *loomv1.Execution, attempt string, h *loomv1.Said) error {
	if slices.ContainsFunc(s.p.Turns[attempt].GetSteps(), func(step *loomv1.TurnStep) bool { return proto.Equal(step.GetSaid(), h) }) {
		return nil
	}
	if m := team.FindMail(s.mail(x), h.Id); m == nil || m.To != attempt || m.Heard || !proto.Equal(team.Said(m), h) {
		return fault.New("turn/invalid", "nobody wrote that to attempt %s, or it has heard it", attempt).At("facts").Got(h.Id)
	}
	return nil
}
