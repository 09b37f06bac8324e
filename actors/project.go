package actors

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// projectActor supervises the cells of one project. It restarts a cell that fails,
// and only that one. When the project's domain fails, it has the keeper settle what
// was proposed, folds the state from snapshot and journal, and begins the next life;
// other projects of the partition do not notice.
type projectActor struct {
	domainConfig
	address *address
	parent  *actor.PID
	log     *slog.Logger
	sys     *System
	aside   func(func())
	state   *project.State    // to begin with
	unsaved int               // events that no snapshot has
	first   []*loomv1.Command // what is decided before anything else
	// refold returns the state as of an acknowledged head.
	refold func(ctx context.Context, head journal.Head) (*project.State, error)
	// condemn is told what a life failed at, and says whether it can come again.
	condemn  func(cmd *loomv1.Command, err error) (again bool)
	ctx      context.Context // of the recovery
	failures int             // lives that failed since the last sweep
	stopping bool
}

// projectLost tells the partition of a project that cannot be folded.
type projectLost struct {
	from *actor.PID
	id   string
	err  error
}

// refolded is the state for the next life, or why there is none.
type refolded struct {
	after *lifeEnded
	state *project.State
	err   error
}

func (p *projectActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		p.start(c)
	case *lifeFailed:
		p.lifeFailed(c, m)
	case *lifeEnded:
		p.lifeEnded(c, m)
	case *refolded:
		p.refolded(c, m)
	case *sweep:
		p.failures = 0
		c.Send(p.address.work.Load(), m)
	case *membersChanged:
		c.Send(p.address.work.Load(), m)
	case *request, *look, *consult: // of a caller that did not know the cell yet
		c.Send(p.address.of(cellOf(m)).Load(), m)
	case *actor.Terminated:
		p.cellLost(c, m.Who)
	case *actor.Stopping:
		p.stopping = true
		p.address.domain.Load().end()
	}
}

func (p *projectActor) start(c actor.Context) {
	root, self := c.ActorSystem().Root, c.Self()
	p.failed = func(m *lifeFailed) { root.Send(self, m) }
	p.work = p.address.work.Load
	p.begin(p.state, p.unsaved)
	p.state = nil
	for _, name := range cellNames {
		p.spawn(c, name)
	}
	c.Send(p.address.work.Load(), &lifeBegan{p.first})
	p.first = nil
}

// begin begins a life.
func (p *projectActor) begin(s *project.State, unsaved int) {
	p.address.domain.Store(newDomain(p.domainConfig, p.sys.serial.Add(1), s, unsaved))
}

// spawn starts the actor of a cell. One that fails is restarted, however often; its
// mailbox goes on.
func (p *projectActor) spawn(c actor.Context, name loomv1.Core) {
	props := actor.PropsFromProducer(func() actor.Actor { return &cell{name: name, domain: &p.address.domain} })
	pid := c.SpawnPrefix(props, cellName(name)+"$")
	c.Watch(pid)
	p.address.of(name).Store(pid)
}

// cellName returns the name of a cell in addresses: "work", "graph", "lock", "memory".
func cellName(name loomv1.Core) string {
	if name == loomv1.Core_CORE_PROJECT {
		return "work"
	}
	return strings.ToLower(strings.TrimPrefix(name.String(), "CORE_"))
}

// cellRestarts is how cells are restarted.
var cellRestarts = restarts{max: math.MaxInt, within: time.Minute, backoff: 5 * time.Millisecond, most: time.Second}

// lifeFailed ends the life that has failed, if it is the present one, and asks the
// keeper what became of it.
func (p *projectActor) lifeFailed(c actor.Context, m *lifeFailed) {
	d := p.address.domain.Load()
	if m.life != d.life || p.stopping {
		return
	}
	d.end()
	p.log.Error("project begins again from its journal", "project", p.id, "because", m.err)
	if p.condemn(m.cmd, m.err) {
		p.failures++ // it will come again by itself: there has to be a pause
	}
	if m.stuck { // what runs there cannot be stopped
		lost := p.address.of(m.cell).Load()
		p.spawn(c, m.cell)
		c.Unwatch(lost)
		c.Stop(lost)
	}
	for _, name := range cellNames {
		c.Send(p.address.of(name).Load(), &lifeOver{m.life})
	}
	c.Send(p.keeper, &endLife{from: c.Self(), project: p.id, life: m.life})
}

// lifeEnded folds the state that the next life begins with, beside the actor; after
// a pause where lives fail one after the other.
func (p *projectActor) lifeEnded(c actor.Context, m *lifeEnded) {
	if m.life != p.address.domain.Load().life || p.stopping {
		return
	}
	var pause time.Duration
	if p.failures > 0 {
		pause = restarts{backoff: 20 * time.Millisecond, most: 10 * time.Second}.delay(min(p.failures, 12))
	}
	ctx, root, self, refold := p.ctx, c.ActorSystem().Root, c.Self(), p.refold
	p.aside(func() {
		select {
		case <-time.After(pause):
			s, err := refold(ctx, m.head)
			root.Send(self, &refolded{m, s, err})
		case <-ctx.Done():
		}
	})
}

// refolded begins the next life.
func (p *projectActor) refolded(c actor.Context, m *refolded) {
	switch {
	case m.after.life != p.address.domain.Load().life || p.stopping || p.ctx.Err() != nil:
	case m.err == nil:
		p.begin(m.state, 0)
		c.Send(p.address.work.Load(), &lifeBegan{})
	case fault.Status(m.err) == fault.Unavailable:
		p.log.Warn("project cannot be folded yet", "project", p.id, "error", m.err)
		p.failures++
		p.lifeEnded(c, m.after)
	default:
		c.Send(p.parent, &projectLost{c.Self(), p.id, m.err})
	}
}

// cellLost starts a cell again that stopped by itself.
func (p *projectActor) cellLost(c actor.Context, who *actor.PID) {
	for _, name := range cellNames {
		if !p.stopping && who.Equal(p.address.of(name).Load()) {
			p.log.Error("a cell stopped and is started again", "project", p.id, "cell", cellName(name))
			p.spawn(c, name)
		}
	}
}
