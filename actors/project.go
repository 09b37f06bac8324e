package actors

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// projectActor runs the cores of one project, one command at a time. Its state
// is ahead of the journal by what the keeper has not acknowledged; nobody is
// told of that. If it fails, the partition recovers: it never restarts alone.
type projectActor struct {
	id     string
	host   string // this one
	state  *project.State
	keeper *actor.PID
	parent *actor.PID
	clock  Clock
	log    *slog.Logger
	snaps  *snapshotter
	every  int
	first  []*loomv1.Command // what is decided before anything else
	agreed func() format.Agreed

	graph, lock *actor.PID
	ticket      uint64
	pending     map[uint64]*proposed
	unsaved     int          // events since the last snapshot
	head        journal.Head // of the last acknowledgement
	tickets     project.Tickets
	timer       *time.Timer
	due         time.Time
	over        bool // the state is worth nothing any more, or is given up
}

// proposed is what happens once the keeper has acknowledged, or if it will not.
type proposed struct {
	events    []*loomv1.Event
	then      func()
	otherwise func(*fault.Error)
}

// projectFailed tells the partition which command a project could not decide.
type projectFailed struct {
	from *actor.PID
	cmd  *loomv1.Command
	err  error
}

type tick struct{}

// committed tells the actors below a project what the journal has.
type committed struct{ events []*loomv1.Event }

func (p *projectActor) Receive(c actor.Context) {
	if p.over {
		p.turnAway(c.Message())
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		p.start(c)
	case *request:
		p.decide(c, m)
	case *look:
		p.look(c, m)
	case *consult:
		p.consult(c, m)
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
		p.sweep(c)
	case *membersChanged:
		p.bereave(c, m)
	case *actor.Terminated:
		panic(fmt.Sprintf("project %q lost actor %s", p.id, m.Who.Id))
	case *actor.Stopping:
		p.stop()
	}
}

func (p *projectActor) start(c actor.Context) {
	p.pending = map[uint64]*proposed{}
	from := p.state.Cores()
	p.graph = c.Spawn(actor.PropsFromProducer(func() actor.Actor { return newGraphActor(from) }))
	p.lock = c.Spawn(actor.PropsFromProducer(func() actor.Actor { return newLockActor(from.Locks) }))
	c.Watch(p.graph)
	c.Watch(p.lock)
	for _, cmd := range p.first {
		if !p.over {
			p.decide(c, &request{cmd: cmd, reply: func(*loomv1.Answer) {}})
		}
	}
	if p.first = nil; !p.over {
		p.sweep(c)
		p.arm(c)
	}
}

// stop answers everybody who still waits: what they asked for may or may not
// become durable, and asking again is harmless.
func (p *projectActor) stop() {
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
	for _, ticket := range slices.Sorted(maps.Keys(p.pending)) {
		p.pending[ticket].otherwise(given(p.id))
	}
	p.pending = nil
}

func given(id string) *fault.Error {
	return fault.New("host/unavailable", "project %q recovers from its journal", id).Want("try again in a moment")
}

// turnAway answers what comes to a project that is over.
func (p *projectActor) turnAway(message any) {
	switch m := message.(type) {
	case *request:
		m.reply(&loomv1.Answer{Error: given(p.id).Proto()})
	case *look:
		m.reply(&loomv1.View{Error: given(p.id).Proto()})
	case *consult:
		m.otherwise(given(p.id))
	}
}

// sweep puts into the work queue again what should be there, and saves a state
// that keeps the others' snapshots from being of use.
func (p *projectActor) sweep(c actor.Context) {
	work := append(p.tickets.Again(), p.tickets.Offer(p.state)...)
	p.propose(c, nil, work, func() {
		if p.snaps.holdsBack(p.id) {
			p.save()
		}
	}, func(*fault.Error) {})
}

// eventsPerBead is how many events a project with many beads gathers for each of
// them before its state is saved again. What a snapshot costs grows with the
// beads, so snapshots together cost no more than a multiple of the work; what a
// recovery reads beside the snapshot grows with them, too.
const eventsPerBead = 8

// save has the state kept as of what was acknowledged last.
func (p *projectActor) save() {
	p.snaps.save(p.id, p.head)
	p.unsaved = 0
}

// decide runs the cores. A command that makes them panic is answered, and is
// the last of this incarnation; the partition does not let it come again.
func (p *projectActor) decide(c actor.Context, m *request) {
	defer func() {
		if r := recover(); r != nil {
			m.reply(&loomv1.Answer{Error: fault.New("internal/error", "project %q could not decide %T", p.id, m.cmd.Body).Proto()})
			p.stop()
			c.Send(p.parent, &projectFailed{c.Self(), m.cmd, fmt.Errorf("project %q on %T: %v", p.id, m.cmd.Body, r)})
		}
	}()
	if p.agreed != nil {
		p.state.Agree(p.agreed())
	}
	events, answer, err := p.state.Do(p.clock.Now(), m.cmd)
	if err != nil {
		panic(err)
	}
	if claim := m.cmd.GetClaimAttempt(); claim != nil && answer.GetError().GetCode() != notForMe {
		p.tickets.Spent(claim)
	}
	if size := sizeOf(events); size > batchMost {
		panic(fmt.Sprintf("events of %d bytes do not fit into a batch", size))
	}
	if answer.Error == nil {
		answer.Number = p.state.Number()
	}
	offers := p.tickets.Offer(p.state)
	p.state.Rest()
	p.propose(c, events, offers, func() { m.reply(answer) }, func(err *fault.Error) { m.reply(&loomv1.Answer{Error: err.Proto()}) })
	p.arm(c)
}

// propose has the keeper make events durable and hand out work; then runs once
// that is so, otherwise when it is not known to have happened.
func (p *projectActor) propose(c actor.Context, events []*loomv1.Event, work []*loomv1.Assignment, then func(), otherwise func(*fault.Error)) {
	p.ticket++
	p.pending[p.ticket] = &proposed{events, then, otherwise}
	c.Send(p.keeper, &propose{from: c.Self(), ticket: p.ticket, events: events, work: work})
}

func (p *projectActor) acked(c actor.Context, m *acked) {
	done := p.pending[m.ticket]
	delete(p.pending, m.ticket)
	if done == nil {
		return
	}
	p.head = m.head
	if len(done.events) > 0 {
		c.Send(p.graph, &committed{done.events})
		c.Send(p.lock, &committed{done.events})
		p.unsaved += len(done.events)
	}
	done.then()
	if p.unsaved >= max(p.every, eventsPerBead*p.state.Beads()) {
		p.save()
	}
}

// look answers once everything decided before is durable, so that a caller
// reads its own writes and nobody reads what may be lost.
func (p *projectActor) look(c actor.Context, m *look) {
	otherwise := func(err *fault.Error) { m.reply(&loomv1.View{Error: err.Proto()}) }
	switch m.view {
	case project.Graph:
		if err := p.state.Knows(m.query.Id); err != nil {
			m.reply(&loomv1.View{Error: fault.From(err).Proto()})
			return
		}
		p.propose(c, nil, nil, func() { c.Send(p.graph, m) }, otherwise)
		return
	case project.Lock:
		if m.query.GetFilter() != project.OfFiles { // those are not the lock's
			p.propose(c, nil, nil, func() { c.Send(p.lock, m) }, otherwise)
			return
		}
	}
	view, err := p.state.Look(m.view, m.query)
	if err != nil {
		view = &loomv1.View{Error: fault.From(err).Proto()}
	}
	p.state.Rest()
	p.propose(c, nil, nil, func() { m.reply(view) }, otherwise)
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
	here       []*atomic.Bool // which of them this host serves
	of         func(project string) int
	elsewhere  Elsewhere  // nil on a host that is alone
	replicas   []*replica // that answer reads of graphs which others serve
	clean      func(*loomv1.Command) (*loomv1.Command, error)
}

// StartPartitions starts the partition actors of this host. of says which
// partition a project belongs to; elsewhere asks those that other hosts serve,
// and is nil on a host that is alone.
func (s *System) StartPartitions(ctx context.Context, list []Partition, of func(project string) int, elsewhere Elsewhere) *Projects {
	p := &Projects{sys: s, of: of, elsewhere: elsewhere}
	for i, part := range list {
		part.here = new(atomic.Bool)
		p.clean = part.Clean
		p.here = append(p.here, part.here)
		p.replicas = append(p.replicas, newReplica(ctx, s, part))
		p.partitions = append(p.partitions, s.start(fmt.Sprintf("partition-%02d", i), s.partitionProps(ctx, part)))
	}
	return p
}

// Here returns the partitions that this host serves.
func (p *Projects) Here() []int {
	var all []int
	for n, here := range p.here {
		if here.Load() {
			all = append(all, n)
		}
	}
	return all
}

// Ready waits until every partition is served, here or on another host, and
// returns what is wrong with the journal of one that this host cannot recover.
func (p *Projects) Ready(ctx context.Context) error {
	if p.elsewhere != nil {
		_, err := p.List(ctx)
		return err
	}
	for i, pid := range p.partitions {
		done := make(chan error, 1)
		p.sys.sys.Root.Send(pid, &awaitReady{done})
		select {
		case err := <-done:
			if err != nil {
				return err
			}
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
	cmd, err := p.cleaned(once(cmd))
	if err != nil {
		return nil, err
	}
	remote := &loomv1.PartitionRequest{Body: &loomv1.PartitionRequest_Command{Command: cmd}}
	refuse := func(e *loomv1.Error) *loomv1.Answer { return &loomv1.Answer{Error: e} }
	return retry(ctx, func(reply func(*loomv1.Answer)) {
		p.send(ctx, p.of(cmd.Project), &request{cmd: cmd, reply: reply}, remote, unwrap((*loomv1.PartitionReply).GetAnswer, refuse, reply))
	}, (*loomv1.Answer).GetError)
}

// cleaned is a command as it may be told and kept.
func (p *Projects) cleaned(cmd *loomv1.Command) (*loomv1.Command, error) {
	if p.clean == nil {
		return cmd, nil
	}
	return p.clean(cmd)
}

// OfferAgain has every project put into the work queue again what should be
// there: for a queue that was lost.
func (p *Projects) OfferAgain() {
	for _, pid := range p.partitions {
		p.sys.sys.Root.Send(pid, &offerAgain{})
	}
}

// Look asks a project for a view; it sees everything that was acknowledged
// before.
func (p *Projects) Look(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error) {
	if v == project.Graph && p.far(q.GetProject()) {
		return p.replicas[p.of(q.Project)].look(ctx, q)
	}
	remote := &loomv1.PartitionRequest{Body: &loomv1.PartitionRequest_View{View: &loomv1.ViewRequest{View: string(v), Query: q}}}
	refuse := func(e *loomv1.Error) *loomv1.View { return &loomv1.View{Error: e} }
	return retry(ctx, func(reply func(*loomv1.View)) {
		p.send(ctx, p.of(q.Project), &look{view: v, query: q, reply: reply}, remote, unwrap((*loomv1.PartitionReply).GetView, refuse, reply))
	}, (*loomv1.View).GetError)
}

// List returns the ids of all projects, unsorted.
func (p *Projects) List(ctx context.Context) ([]string, error) {
	var all []string
	remote := &loomv1.PartitionRequest{Body: &loomv1.PartitionRequest_List{List: &loomv1.ListProjects{}}}
	for n := range p.partitions {
		r, err := retry(ctx, func(reply func(*loomv1.PartitionReply)) {
			p.send(ctx, n, &list{reply}, remote, reply)
		}, (*loomv1.PartitionReply).GetError)
		if err != nil {
			return nil, err
		}
		all = append(all, r.GetProjects().GetIds()...)
	}
	return all, nil
}

// once gives a command that would have its effect again each time it is sent a
// key of its own, the same for every try, so that the project knows it again.
// All others are known by what they say: an attempt, a token, a nonce.
func once(cmd *loomv1.Command) *loomv1.Command {
	key := fmt.Sprintf("once-%016x%016x", rand.Uint64(), rand.Uint64())
	switch b := cmd.Body.(type) {
	case *loomv1.Command_FileBead:
		if s := b.FileBead.GetSubmission(); s != nil && s.IdempotencyKey == "" {
			cmd = proto.CloneOf(cmd)
			cmd.GetFileBead().Submission.IdempotencyKey = key
		}
	case *loomv1.Command_FileError:
		if r := b.FileError.GetReport(); r != nil && r.IdempotencyKey == "" {
			cmd = proto.CloneOf(cmd)
			cmd.GetFileError().Report.IdempotencyKey = key
		}
	case *loomv1.Command_ReopenBead:
		if b.ReopenBead.GetRequest() == "" {
			cmd = proto.CloneOf(cmd)
			cmd.GetReopenBead().Request = key
		}
	case *loomv1.Command_AddDecision:
		if b.AddDecision.GetRequest() == "" {
			cmd = proto.CloneOf(cmd)
			cmd.GetAddDecision().Request = key
		}
	}
	return cmd
}

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
