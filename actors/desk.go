package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
	"google.golang.org/protobuf/proto"
)

// Desk is the operator desk: it takes the CEO's signed commands to the project
// that each is signed for. It believes nothing: the project checks signature,
// digest and nonce, and records what it refuses.
type Desk struct {
	sys  *System
	self *actor.PID
}

type signed struct {
	ctx   context.Context // the caller's
	cmd   *loomv1.SignedCommand
	from  *loomv1.Identity
	reply func(*loomv1.Answer)
}

// StartDesk starts the operator desk, which serves until ctx ends.
func (s *System) StartDesk(ctx context.Context, projects *Projects) *Desk {
	props := actor.PropsFromProducer(func() actor.Actor { return &deskActor{s, ctx, projects} })
	return &Desk{sys: s, self: s.start("desk", props)}
}

// Decide carries out a signed command and answers once that is durable.
// Sending the same one again is answered as done and changes nothing.
func (d *Desk) Decide(ctx context.Context, from *loomv1.Identity, cmd *loomv1.SignedCommand) *loomv1.Answer {
	got := make(chan *loomv1.Answer, 1)
	d.sys.sys.Root.Send(d.self, &signed{ctx, cmd, from, func(a *loomv1.Answer) { got <- a }})
	select {
	case a := <-got:
		return a
	case <-ctx.Done():
		return &loomv1.Answer{Error: fault.New("host/unavailable", "the operator desk did not answer in time").Proto()}
	}
}

type deskActor struct {
	sys      *System
	host     context.Context
	projects *Projects
}

func (d *deskActor) Receive(c actor.Context) {
	m, ok := c.Message().(*signed)
	if !ok {
		return
	}
	d.sys.aside(func() {
		ctx, cancel := context.WithCancel(m.ctx)
		defer cancel()
		defer context.AfterFunc(d.host, cancel)()
		m.reply(d.present(ctx, m))
	})
}

// present takes a command to its project. One that can be of no project is
// refused by Loom's own, which records that.
func (d *deskActor) present(ctx context.Context, m *signed) *loomv1.Answer {
	to := func(id string) (*loomv1.Answer, error) {
		return d.projects.Do(ctx, &loomv1.Command{Project: id, Actor: m.from, Body: &loomv1.Command_Signed{Signed: m.cmd}})
	}
	cmd := &loomv1.CeoCommand{}
	if err := proto.Unmarshal(m.cmd.GetPayload(), cmd); err != nil {
		cmd.Project = project.System
	}
	answer, err := to(cmd.Project)
	if fault.Code(err) == "submit/unknown-project" {
		_, _ = to(project.System) // it is refused there, too; the caller hears why here
	}
	if fault.Code(err) == "command/secret" { // the project has not seen it
		body := &loomv1.RecordRejection{Error: fault.From(err).Proto(), Subject: subject.CEOs()}
		_, _ = d.projects.Do(ctx, &loomv1.Command{Project: cmd.Project, Actor: m.from, Body: &loomv1.Command_RecordRejection{RecordRejection: body}})
	}
	if err != nil {
		return &loomv1.Answer{Error: fault.From(err).Proto()}
	}
	return answer
}
