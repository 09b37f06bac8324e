package actors

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Partition says what a partition actor works with.
type Partition struct {
	Log       journal.Log
	Snapshots journal.Snapshots
	Notices   Notices
	Work      Work
	Clock     Clock
	// Wall says what the wall clock says, read anew each time: time that the
	// machine slept counts. Nil means that it is what Clock says.
	Wall   func() time.Time
	Logger *slog.Logger

	// Base returns what the journal begins with since it was cut, or nil when it
	// begins with its first batch. Nil means that it never was cut.
	Base func(ctx context.Context) (*loomv1.JournalBase, error)

	// Agents are those of this host that wait for work, to whom it can be given in the
	// turn in which it is dispatched. Nil means that all goes through Work.
	Agents *Handover

	// Deployment, CEO and LockLease go to the projects' cores.
	Deployment string
	CEO        ed25519.PublicKey
	LockLease  time.Duration
	// Known are the roles that definitions may name. Nil means the built-in ones.
	Known *roles.Set

	// Host and Start name the writer; claims of earlier starts are released.
	Host  string
	Start uint64
	// Roles says how many live agents of each role this host has, or is about
	// to have. Every project is told before any of its timers fires: what an
	// earlier start said last counts no longer. Nil tells nothing.
	Roles func() map[string]uint32
	// Epoch of the journal.
	Epoch uint64
	// SnapshotEvery is after how many events of a project its state is saved; of
	// one with many beads, after eight times as many events as it has beads. Zero
	// means 2,000.
	SnapshotEvery int
	// Clean returns what may be told and kept of a command that anybody sends, or
	// refuses it. It must not change the command itself. Nil keeps all.
	Clean func(*loomv1.Command) (*loomv1.Command, error)
	// Trouble is told of internal errors, once each, and must not block. Nil
	// tells nobody; the log has them in any case.
	Trouble func(Trouble)
	// Sweep is how often tickets for work are put into the queue again. Zero
	// means 10 s.
	Sweep time.Duration

	// GraphIdle is how long after the last question this host keeps its fold of
	// the decision graphs while another one serves the partition. Zero means 10
	// minutes.
	GraphIdle time.Duration

	// Lease says when it is this host's turn to serve the partition. Nil means
	// always: the host is alone.
	Lease Lease
	// Open has the partition reached by other hosts, until shut is called. It
	// must not block. Nil does nothing.
	Open func() (shut func())
	// Members says which hosts live, this one included. Nil means that this one
	// alone does.
	Members func() Members
	// Format is what this build reads; the zero value is all that it can. Agreed
	// says what all hosts read, and must not block. Nil limits nothing.
	Format format.Build
	Agreed func() format.Agreed

	// TurnMost is how long a turn may last before the project's state is given up
	// and folded anew. Zero means 5 s.
	TurnMost time.Duration

	here      *atomic.Bool // whether this host serves it
	addresses *addresses   // where the cells of its projects are, while it serves
}

// Partition returns the properties of a partition actor.
func (s *System) partitionProps(ctx context.Context, p Partition) *actor.Props {
	if p.SnapshotEvery == 0 {
		p.SnapshotEvery = 2000
	}
	if p.Sweep == 0 {
		p.Sweep = 10 * time.Second
	}
	if p.TurnMost == 0 {
		p.TurnMost = 5 * time.Second
	}
	return actor.PropsFromProducer(func() actor.Actor { return &partition{Partition: p, sys: s, host: ctx, poison: &poison{}} }, actor.WithSupervisor(stops{}))
}

// partition recovers the projects of one partition and routes to them.
type partition struct {
	Partition
	sys  *System
	host context.Context // ends with the host

	ctx         context.Context // ends with this recovery
	cancel      context.CancelFunc
	beside      *group // what runs beside the actors of this recovery
	incarnation uint64
	serving     bool
	stopping    bool   // it waits for its children to stop, and must have no others
	tenure      Tenure // what the partition is held by; nil on a host that is alone
	shut        func() // ends that other hosts reach it
	failures    int
	why         error // what the recovery under way is for
	damaged     error // of the journal: nothing is served any more
	out         *outbox
	keeper      *actor.PID
	projects    map[string]*actor.PID
	quarantined map[string]error
	poison      *poison
	snaps       *snapshotter
	segments    *journal.Segments
	ready       []chan<- error
}

// request asks a project to decide a command. reply is called once.
type request struct {
	cmd   *loomv1.Command
	reply func(*loomv1.Answer)
}

// look asks a project for a view. reply is called once.
type look struct {
	view  project.View
	query *loomv1.Query
	reply func(*loomv1.View)
}

// list asks a partition that serves for the ids of its projects.
type list struct{ reply func(*loomv1.CellReply) }

// awaitReady asks to be told when the partition serves, or why it never will.
type awaitReady struct{ done chan<- error }

// recovered is what a recovery has come to. Its tenure is the partition's once that
// has taken it.
type recovered struct {
	incarnation uint64
	tenure      Tenure
	*recovery
	err   error
	taken sync.Once
	heard chan struct{} // closed when it is taken
}

// take reports whether nobody has taken it before.
func (m *recovered) take() (first bool) {
	m.taken.Do(func() { first = true; close(m.heard) })
	return first
}

type (
	again struct{ incarnation uint64 }
	sweep struct{ incarnation uint64 }

	offerAgain struct{}
)

func (p *partition) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		p.recover(c)
	case *recovered:
		p.recovered(c, m)
	case *again:
		if m.incarnation == p.incarnation && !p.stopping && p.damaged == nil {
			p.recover(c)
		}
	case *request:
		p.route(c, m)
	case *look:
		p.look(c, m)
	case *consult:
		p.consult(c, m)
	case *list:
		p.list(m)
	case *awaitReady:
		p.await(m)
	case *journalFailed:
		p.fail(c, m.from, m.err)
	case *projectLost:
		p.projectLost(c, m)
	case *leaseLost:
		p.lost(c, m)
	case *membersChanged:
		p.tellMembers(c)
	case *handOver:
		p.giveUp(c)
	case *damaged:
		p.refuse(c, m.err)
	case *actor.Terminated:
		p.fail(c, m.Who, fmt.Errorf("actor %s stopped", m.Who.Id))
	case *sweep:
		p.sweep(c, m)
	case *offerAgain:
		p.offer(c)
	case *actor.Stopping, *actor.Restarting:
		p.stopping = true
		p.close()
		p.handOver(func() {})
	}
}

// recover waits for the partition to be this host's and replays the journal,
// beside the actor, once nothing of an earlier recovery runs any more; requests
// are refused with host/unavailable until it is done.
func (p *partition) recover(c actor.Context) {
	before := p.beside
	p.close()
	p.incarnation = p.sys.serial.Add(1)
	p.beside = &group{sys: p.sys}
	p.ctx, p.cancel = context.WithCancel(p.host)
	p.segments = journal.NewSegments(p.ctx, p.Snapshots)
	inc, ctx, held, root, self := p.incarnation, p.ctx, p.tenure, c.ActorSystem().Root, c.Self()
	p.sys.aside(func() {
		if before != nil {
			before.done.Wait()
		}
		m := &recovered{incarnation: inc, heard: make(chan struct{})}
		if m.tenure, m.err = p.tenureOf(ctx, held); m.err == nil {
			m.recovery, m.err = p.replay(ctx)
		}
		root.Send(self, m)
		m.unheard(ctx)
	})
}

// group is what runs beside the actors of one recovery; the next one waits for
// it. Once it is closed nothing more is run.
type group struct {
	sys    *System
	mu     sync.Mutex
	closed bool
	done   sync.WaitGroup
}

func (g *group) aside(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.done.Add(1)
	g.sys.aside(func() { defer g.done.Done(); f() })
}

func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (p *partition) recovered(c actor.Context, m *recovered) {
	if m.incarnation != p.incarnation || !m.take() {
		return
	}
	p.tenure = m.tenure
	if p.stopping { // mail still comes while children stop, and new ones would never
		p.handOver(func() {})
		return
	}
	if p.damaged != nil {
		p.refuse(c, p.damaged)
		return
	}
	if m.err != nil {
		p.Logger.Error("partition cannot be recovered", "partition", p.Log.Partition(), "error", m.err)
		if fault.Status(m.err) == fault.Integrity || fault.Code(m.err) == "journal/newer" && p.Lease == nil {
			p.tellReady(m.err) // trying again will not help, until somebody mends it
		}
		p.why = m.err
		p.retry(c)
		p.yield(m.err)
		return
	}
	for id, err := range m.quarantined {
		p.Logger.Error("project quarantined", "project", id, "error", err)
		if p.quarantined[id] == nil {
			p.tell(Trouble{Kind: "quarantined", Message: fmt.Sprintf("project %q cannot be replayed and is set aside: %s", id, err)}, nil)
		}
	}
	p.quarantined = m.quarantined
	p.Clock.AtLeast(m.last)
	p.out = newOutbox(p.Log, p.Notices, p.Work, p.Logger)
	p.out.put(nil, m.untold...)
	p.snaps = p.newSnapshotter(m.recovery)
	ctx, out, snaps := p.ctx, p.out, p.snaps
	p.beside.aside(func() { out.sendWork(ctx) })
	p.beside.aside(func() { out.sendNotices(ctx) })
	p.beside.aside(func() { snaps.run(ctx) })
	p.keeper = p.child(c, "keeper", &keeper{
		snaps: snaps, sure: p.Lease == nil,
		log: p.Log, head: m.head, epoch: p.Epoch, writer: fmt.Sprintf("%s.%d.%d", p.Host, p.Start, p.incarnation),
		out: p.out, parent: c.Self(), slog: p.Logger, ctx: p.ctx, aside: p.beside.aside,
	}, stops{})
	p.projects = map[string]*actor.PID{}
	p.beside.aside(func() { p.watchTurns(ctx) })
	for id, s := range m.states {
		p.adopt(c, id, s, m.tail[id])
	}
	p.open(c)
	p.tellReady(nil)
	p.schedule(c)
}

// open begins to serve.
func (p *partition) open(c actor.Context) {
	p.serving, p.why = true, nil
	p.here.Store(true)
	if p.Open != nil {
		p.shut = p.Open()
	}
	p.watchTenure(c)
}

// unserve ends that anybody is served.
func (p *partition) unserve() {
	p.serving = false
	p.here.Store(false)
	p.addresses.byID.Clear()
	if p.shut != nil {
		p.shut()
		p.shut = nil
	}
}

func (p *partition) tellReady(err error) {
	for _, done := range p.ready {
		done <- err
	}
	p.ready = nil
}

// adopt spawns the actor of a project, whose work cell frees what dead starts of
// this host held in it and hears which agents there are before it does anything else.
func (p *partition) adopt(c actor.Context, id string, s *project.State, unsaved int) *actor.PID {
	at, tenure, root := &address{}, p.tenure, c.ActorSystem().Root
	a := &projectActor{
		domainConfig: domainConfig{
			id: id, host: p.Host, clock: p.Clock, wall: p.Wall, root: root, keeper: p.keeper, snaps: p.snaps, every: p.SnapshotEvery, agreed: p.Agreed,
			holds: func() bool { return tenure == nil || tenure.Valid() }, poison: p.poison, serial: &p.sys.proposals, agents: p.Agents,
		},
		address: at, parent: c.Self(), log: p.Logger, sys: p.sys, aside: p.beside.aside, ctx: p.ctx, state: s, unsaved: unsaved,
		first: p.firstCommands(id, s), condemn: p.condemn,
		refold: func(ctx context.Context, head journal.Head) (*project.State, error) { return p.refold(ctx, id, head) },
	}
	pid := p.child(c, "project-"+id, a, cellRestarts)
	p.projects[id] = pid
	p.addresses.byID.Store(id, at)
	return pid
}

func (p *partition) child(c actor.Context, name string, a actor.Actor, children actor.SupervisorStrategy) *actor.PID {
	pid := c.SpawnPrefix(actor.PropsFromProducer(func() actor.Actor { return a }, actor.WithSupervisor(children)), name+"$")
	c.Watch(pid)
	return pid
}

func (p *partition) route(c actor.Context, m *request) {
	id := m.cmd.GetProject()
	pid, err := p.find(id)
	if err == nil && pid == nil {
		if m.cmd.GetRegisterProject() == nil && (id != project.System || !ofSystem(m.cmd)) {
			err = fault.New("project/unknown", "project %q is not registered on this deployment", id).At("project").Got(id)
		} else {
			pid = p.adopt(c, id, project.New(p.config(id)), 0)
		}
	}
	if err != nil {
		m.reply(&loomv1.Answer{Error: fault.From(err).Proto()})
		return
	}
	c.Send(pid, m)
}

func (p *partition) look(c actor.Context, m *look) {
	if pid, err := p.known(m.query.GetProject()); err != nil {
		m.reply(&loomv1.View{Error: fault.From(err).Proto()})
	} else {
		c.Send(pid, m)
	}
}

func (p *partition) consult(c actor.Context, m *consult) {
	if pid, err := p.known(m.question.GetProject()); err != nil {
		m.reply(&loomv1.GraphReply{Error: fault.From(err).Proto()})
	} else {
		c.Send(pid, m)
	}
}

// known returns the actor of a project that has been registered.
func (p *partition) known(id string) (*actor.PID, error) {
	pid, err := p.find(id)
	if err == nil && pid == nil {
		err = project.UnknownProject(id)
	}
	return pid, err
}

// find returns the project's actor, nil for one that does not exist.
func (p *partition) find(id string) (*actor.PID, error) {
	if !p.serving || !p.holds() {
		return nil, p.away()
	}
	if err, ok := p.quarantined[id]; ok {
		return nil, fault.New("project/quarantined", "project %q cannot be replayed and is set aside: %s", id, err).At("project")
	}
	return p.projects[id], nil
}

// away says why nobody is served here: damage is told as it is, because asking
// again does not mend it.
func (p *partition) away() *fault.Error {
	if fault.Status(p.why) == fault.Integrity {
		return fault.From(p.why)
	}
	return unavailable(p.Log.Partition()).Because(p.why)
}

func unavailable(partition int) *fault.Error {
	return fault.New("host/unavailable", "partition %d is recovering from its journal", partition).Want("try again in a moment")
}

func (p *partition) list(m *list) {
	if !p.serving || !p.holds() {
		m.reply(&loomv1.CellReply{Error: p.away().Proto()})
		return
	}
	ids := make([]string, 0, len(p.projects))
	for id := range p.projects {
		ids = append(ids, id)
	}
	m.reply(listed(ids))
}

func (p *partition) await(m *awaitReady) {
	if p.serving {
		m.done <- nil
		return
	}
	p.ready = append(p.ready, m.done)
}

// sweep has every project offer its queued attempts again.
func (p *partition) sweep(c actor.Context, m *sweep) {
	if m.incarnation != p.incarnation {
		return
	}
	p.failures = 0 // it served for a whole sweep
	p.tellMembers(c)
	p.offer(c)
	p.schedule(c)
}

func (p *partition) offer(c actor.Context) {
	for _, pid := range p.projects {
		c.Send(pid, &sweep{p.incarnation})
	}
}

func (p *partition) schedule(c actor.Context) {
	inc, root, self := p.incarnation, c.ActorSystem().Root, c.Self()
	timer := time.AfterFunc(p.Sweep, func() { root.Send(self, &sweep{inc}) })
	context.AfterFunc(p.ctx, func() { timer.Stop() })
}

func (p *partition) close() {
	p.unserve()
	if p.cancel != nil {
		p.cancel()
		p.beside.close()
	}
}
