package actors

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// cell is the actor of one core of a project: the work cell, the decision graph, the
// commit lock or the memory. It decides the commands that the contract gives to its core, and
// answers reads of it, in turns of the project's [domain], and answers once the
// keeper has acknowledged. All that it owns is conversations, which callers begin
// again by repeating their request: a cell that fails is restarted alone.
type cell struct {
	name    loomv1.Core
	domain  *atomic.Pointer[domain] // the project's present life
	waiting map[uint64]conversation // by ticket
}

// conversation is what follows from a proposal.
type conversation struct {
	life      uint64
	then      func(*acked)       // once it is durable
	otherwise func(*fault.Error) // when it is not known to be
}

type (
	// tick says that a deadline of a life's cores is due.
	tick struct{ life uint64 }
	// capture asks for a snapshot.
	capture struct{ life uint64 }
	// lifeOver says that nothing of a life that is not acknowledged yet ever will be.
	lifeOver struct{ life uint64 }
	// lifeBegan says that a project has a new life.
	lifeBegan struct{ first []*loomv1.Command }
)

func (c *cell) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		c.waiting = map[uint64]conversation{}
	case *request:
		c.decide(ctx, m)
	case *look:
		c.look(ctx, m)
	case *consult:
		c.consult(ctx, m)
	case *acked:
		c.acked(m)
	case *tick:
		if m.life == c.domain.Load().life {
			c.carryOut(ctx, fromHost(c.domain.Load().id, "timer", &loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}}))
		}
	case *lifeBegan:
		for _, cmd := range m.first {
			c.carryOut(ctx, cmd)
		}
		c.sweep(ctx)
	case *sweep:
		c.sweep(ctx)
	case *capture:
		c.capture(ctx, m.life)
	case *membersChanged:
		c.release(ctx, m.members)
	case *lifeOver:
		c.refuse(m.life)
	case *actor.Stopping, *actor.Restarting:
		c.refuse(anyLife)
	}
}

// decide decides a command and answers once its facts are durable.
func (c *cell) decide(ctx actor.Context, m *request) {
	d := c.domain.Load()
	ticket, answer, refusal := d.decide(ctx.Self(), c.name, m.cmd)
	if refusal != nil {
		m.reply(&loomv1.Answer{Error: refusal.Proto()})
		return
	}
	c.waiting[ticket] = conversation{d.life, func(*acked) { m.reply(answer) }, func(e *fault.Error) { m.reply(&loomv1.Answer{Error: e.Proto()}) }}
}

// carryOut decides a command of the runtime's own, which nobody waits for.
func (c *cell) carryOut(ctx actor.Context, cmd *loomv1.Command) {
	c.decide(ctx, &request{cmd: cmd, reply: func(*loomv1.Answer) {}})
}

// look answers with a view once everything that it shows is durable: a caller reads
// its own writes, and nobody reads what may be lost.
func (c *cell) look(ctx actor.Context, m *look) {
	var view *loomv1.View
	c.read(ctx, func(s *project.State) (err error) {
		view, err = s.Look(m.view, m.query)
		return err
	}, func() { m.reply(view) }, func(e *fault.Error) { m.reply(&loomv1.View{Error: e.Proto()}) })
}

// consult answers a question to the decision graph likewise.
func (c *cell) consult(ctx actor.Context, m *consult) {
	var reply *loomv1.GraphReply
	c.read(ctx, func(s *project.State) (err error) {
		if reply, err = s.Ask(m.question); err != nil {
			reply = &loomv1.GraphReply{Error: fault.From(err).Proto(), Number: s.Number()}
		}
		return nil
	}, func() { m.reply(reply) }, m.otherwise)
}

func (c *cell) read(ctx actor.Context, f func(*project.State) error, then func(), otherwise func(*fault.Error)) {
	d := c.domain.Load()
	var err error
	ticket, refusal := d.read(ctx.Self(), c.name, func(s *project.State) { err = f(s) })
	if refusal != nil {
		otherwise(refusal)
		return
	}
	if err != nil {
		then = func() { otherwise(fault.From(err)) }
	}
	c.waiting[ticket] = conversation{d.life, func(*acked) { then() }, otherwise}
}

// acked ends the conversation about a proposal. One of before a restart of the cell
// has nobody waiting; its facts count all the same.
func (c *cell) acked(m *acked) {
	if d := c.domain.Load(); d.life == m.life {
		d.settleGrants(m.ticket, true)
		if m.events > 0 {
			d.acknowledged(m.events, m.size)
		}
	}
	if done, ok := c.waiting[m.ticket]; ok {
		delete(c.waiting, m.ticket)
		done.then(m)
	}
}

// acked tells a cell that what it proposed is durable.
type acked struct {
	life, ticket uint64
	before       journal.Head // everything up to there was proposed before
	events       int
	size         int // of these, encoded
}

// anyLife is that of each conversation.
const anyLife = ^uint64(0)

// refuse ends the conversations of a life: what was asked for may or may not become
// durable, and asking again is harmless.
func (c *cell) refuse(life uint64) {
	for ticket, w := range c.waiting {
		if life == anyLife || w.life == life {
			delete(c.waiting, ticket)
			w.otherwise(away(c.domain.Load().id))
		}
	}
}

// sweep has all assignments that wait put into the work queue again, and saves a
// state that keeps the snapshots of others from being of use.
func (c *cell) sweep(ctx actor.Context) {
	d := c.domain.Load()
	ticket, refusal := d.offerAgain(ctx.Self(), c.name)
	if refusal != nil {
		return // the next sweep does it
	}
	c.waiting[ticket] = conversation{d.life, func(*acked) {
		if d.snaps.holdsBack(d.id) {
			c.capture(ctx, d.life)
		}
	}, func(*fault.Error) {}}
}

// capture takes a snapshot of the state in a turn, and has it kept once all that is in
// it is durable.
func (c *cell) capture(ctx actor.Context, life uint64) {
	d := c.domain.Load()
	if d.life != life {
		return
	}
	var taken *project.Capture
	ticket, refusal := d.read(ctx.Self(), c.name, func(s *project.State) { taken = s.Capture() })
	if refusal != nil {
		return // a later one does it
	}
	c.waiting[ticket] = conversation{life, func(m *acked) { d.snaps.save(d.id, m.before, taken) }, func(*fault.Error) {}}
}

// release releases the claims and locks of hosts that left the deployment.
func (c *cell) release(ctx actor.Context, m Members) {
	d := c.domain.Load()
	var list []*loomv1.Command
	c.read(ctx, func(s *project.State) error {
		list = freeing(d.id, d.host, s, s.Hosts(), m)
		return nil
	}, func() {}, func(*fault.Error) {})
	for _, cmd := range list {
		c.carryOut(ctx, cmd)
	}
}
