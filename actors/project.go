package actors

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// projectActor runs the cores of one project, one command at a time. Its state
// is ahead of the journal by what the keeper has not acknowledged; nobody is
// told of that. If it fails, the partition recovers: it never restarts alone.
type projectActor struct {
	id     string
	state  *project.State
	keeper *actor.PID
	clock  Clock
	log    *slog.Logger
	snaps  *snapshotter
	every  int

	graph, lock *actor.PID
	ticket      uint64
	pending     map[uint64]*proposed
	unsaved     int // events since the last snapshot
	timer       *time.Timer
	due         time.Time
}

// proposed is what happens once the keeper has acknowledged.
type proposed struct {
	events []*loomv1.Event
	then   func()
}

type tick struct{}

// committed tells the actors below a project what the journal has.
type committed struct{ events []*loomv1.Event }

func (p *projectActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		p.start(c)
	case *request:
		p.decide(c, m)
	case *look:
		p.look(c, m)
	case *acked:
		p.acked(c, m)
	case *tick:
		p.due = time.Time{}
		p.decide(c, &request{
			cmd: &loomv1.Command{
				Project: p.id, Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "timer"},
				Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}},
			},
			reply: func(*loomv1.Answer) {},
		})
	case *sweep:
		p.propose(c, nil, p.state.Queued(), func() {})
	case *actor.Stopping:
		p.stop()
	}
}

func (p *projectActor) start(c actor.Context) {
	p.pending = map[uint64]*proposed{}
	snap := p.state.Snapshot()
	p.graph = c.Spawn(actor.PropsFromProducer(func() actor.Actor { return newGraphActor(snap.Graph) }))
	p.lock = c.Spawn(actor.PropsFromProducer(func() actor.Actor { return newLockActor(snap.Locks) }))
	c.Watch(p.graph)
	c.Watch(p.lock)
	p.arm(c)
}

// stop answers everybody who still waits: what they asked for may or may not
// become durable, and asking again is harmless.
func (p *projectActor) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// decide runs the cores. A command that makes them panic is answered and ends
// this incarnation; it is not tried again.
func (p *projectActor) decide(c actor.Context, m *request) {
	defer func() {
		if r := recover(); r != nil {
			m.reply(&loomv1.Answer{Error: fault.New("internal/error", "project %q could not decide %T", p.id, m.cmd.Body).Proto()})
			panic(fmt.Sprintf("project %q on %T: %v", p.id, m.cmd.Body, r))
		}
	}()
	events, answer, err := p.state.Do(p.clock.Now(), m.cmd)
	if err != nil {
		panic(err)
	}
	var work []*loomv1.Assignment
	for _, e := range events {
		if a := p.state.Assignment(e); a != nil {
			work = append(work, a)
		}
	}
	if size := sizeOf(events); size > batchMost {
		panic(fmt.Sprintf("events of %d bytes do not fit into a batch", size))
	}
	p.propose(c, events, work, func() { m.reply(answer) })
	p.arm(c)
}

func (p *projectActor) propose(c actor.Context, events []*loomv1.Event, work []*loomv1.Assignment, then func()) {
	p.ticket++
	p.pending[p.ticket] = &proposed{events, then}
	if len(events) == 0 && len(work) > 0 {
		work = work[:min(len(work), 512)]
	}
	c.Send(p.keeper, &propose{from: c.Self(), ticket: p.ticket, events: events, work: work})
}

func (p *projectActor) acked(c actor.Context, m *acked) {
	done := p.pending[m.ticket]
	delete(p.pending, m.ticket)
	if done == nil {
		return
	}
	if len(done.events) > 0 {
		c.Send(p.graph, &committed{done.events})
		c.Send(p.lock, &committed{done.events})
		p.unsaved += len(done.events)
		p.snaps.touched(p.id, m.head)
	}
	done.then()
	if p.unsaved >= p.every && len(p.pending) == 0 {
		p.snaps.save(p.id, p.state.Snapshot(), m.head)
		p.unsaved = 0
	}
}

// look answers once everything decided before is durable, so that a caller
// reads its own writes and nobody reads what may be lost.
func (p *projectActor) look(c actor.Context, m *look) {
	switch m.view {
	case project.Graph:
		p.propose(c, nil, nil, func() { c.Send(p.graph, m) })
		return
	case project.Lock:
		p.propose(c, nil, nil, func() { c.Send(p.lock, m) })
		return
	}
	view, err := p.state.Look(m.view, m.query)
	if err != nil {
		view = &loomv1.View{Error: fault.From(err).Proto()}
	}
	p.propose(c, nil, nil, func() { m.reply(view) })
}

// arm sets the timer for the cores' next deadline.
func (p *projectActor) arm(c actor.Context) {
	at, ok := p.state.Next()
	if !ok || (!p.due.IsZero() && !at.Before(p.due)) {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	p.due = at
	root, self := c.ActorSystem().Root, c.Self()
	p.timer = time.AfterFunc(max(at.Sub(p.clock.Now()), 0), func() { root.Send(self, &tick{}) })
}

// Projects is the way to every project of a deployment.
type Projects struct {
	sys        *System
	partitions []*actor.PID
	of         func(project string) int
}

// StartPartitions starts the partition actors of this host. of says which
// partition a project belongs to.
func (s *System) StartPartitions(ctx context.Context, list []Partition, of func(project string) int) *Projects {
	p := &Projects{sys: s, of: of}
	for i, part := range list {
		p.partitions = append(p.partitions, s.start(fmt.Sprintf("partition-%02d", i), s.partitionProps(ctx, part)))
	}
	return p
}

// Ready waits until every partition has recovered.
func (p *Projects) Ready(ctx context.Context) error {
	for i, pid := range p.partitions {
		done := make(chan struct{})
		p.sys.sys.Root.Send(pid, &awaitReady{done})
		select {
		case <-done:
		case <-ctx.Done():
			return unavailable(i).Because(ctx.Err())
		}
	}
	return nil
}

// tryFor is how long one try of a command may take before it is sent again.
// Mail can be lost when a partition recovers; commands may be repeated.
const tryFor = 3 * time.Second

// Do sends a command to its project and returns the answer once what it says
// is durable. While the project's partition is away it tries again until ctx
// ends. A refusal is returned as an error.
func (p *Projects) Do(ctx context.Context, cmd *loomv1.Command) (*loomv1.Answer, error) {
	if _, err := proto.Marshal(cmd); err != nil { // what has no encoding could never be made durable
		return nil, fault.New("command/malformed", "command %T cannot be encoded: %s", cmd.Body, err)
	}
	answer, err := retry(ctx, func(reply func(*loomv1.Answer)) {
		p.sys.sys.Root.Send(p.partition(cmd.Project), &request{cmd: cmd, reply: reply})
	}, (*loomv1.Answer).GetError)
	return answer, err
}

// Look asks a project for a view; it sees everything that was acknowledged
// before.
func (p *Projects) Look(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error) {
	return retry(ctx, func(reply func(*loomv1.View)) {
		p.sys.sys.Root.Send(p.partition(q.Project), &look{view: v, query: q, reply: reply})
	}, (*loomv1.View).GetError)
}

// List returns the ids of all projects, unsorted.
func (p *Projects) List(ctx context.Context) ([]string, error) {
	var all []string
	for _, pid := range p.partitions {
		ids, err := retry(ctx, func(reply func([]string)) {
			p.sys.sys.Root.Send(pid, &list{reply})
		}, func([]string) *loomv1.Error { return nil })
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	return all, nil
}

func (p *Projects) partition(id string) *actor.PID { return p.partitions[p.of(id)] }

// retry sends until it is answered with something else than "unavailable".
func retry[T any](ctx context.Context, send func(reply func(T)), refusal func(T) *loomv1.Error) (T, error) {
	wait := 5 * time.Millisecond
	for {
		got := make(chan T, 1)
		send(func(v T) {
			select {
			case got <- v:
			default:
			}
		})
		select {
		case v := <-got:
			err := fault.FromProto(refusal(v))
			if fault.Status(err) != fault.Unavailable {
				return v, err
			}
		case <-time.After(tryFor):
		case <-ctx.Done():
			var none T
			return none, fault.New("host/unavailable", "no answer in time").Because(ctx.Err())
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, time.Second)
		case <-ctx.Done():
		}
	}
}
