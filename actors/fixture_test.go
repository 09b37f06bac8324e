package actors_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestMain(m *testing.M) {
	// Of its own it waits a second before it tells of dead letters again.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}

// within is how long anything here may take.
const within = 2 * time.Minute

var ceoKey = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))

// rig is one partition and pools over fakes of everything outside.
type rig struct {
	t        *testing.T
	ctx      context.Context
	log      *gate
	snaps    journal.Snapshots
	clock    *clock
	queue    *queue
	work     actors.Work  // nil is queue
	pull     actors.Queue // nil is queue
	notices  *notices
	config   actors.Partition // what a test changes before start
	sys      *actors.System
	projects *actors.Projects
	lost     chan string
	lives    struct { // of agents, in words
		sync.Mutex
		list []string
	}
	cancel context.CancelFunc
}

func newRig(t *testing.T) *rig {
	r := &rig{
		t: t, log: &gate{Memory: journal.NewMemory(0)}, snaps: journal.NewMemorySnapshots(), clock: &clock{real: actors.NewClock()},
		queue: newQueue(), notices: &notices{}, lost: make(chan string, 100),
	}
	return r
}

// start starts the actors over what the rig has, also a second time.
func (r *rig) start() *rig {
	r.t.Helper()
	r.ctx, r.cancel = context.WithTimeout(context.Background(), within)
	r.sys = actors.NewSystem(slog.New(slog.DiscardHandler), func(name string) { r.lost <- name })
	p := r.config
	p.Snapshots, p.Notices, p.Work, p.Clock = r.snaps, r.notices, r.queue, r.clock
	if r.work != nil {
		p.Work = r.work
	}
	if p.Log == nil {
		p.Log = r.log
	}
	p.Logger, p.Deployment, p.CEO, p.Host, p.Epoch = slog.New(slog.DiscardHandler), "dp-1", ceoKey.Public().(ed25519.PublicKey), "h1", 1
	p.Start = r.config.Start + 1
	r.config.Start++
	if p.Sweep == 0 {
		p.Sweep = time.Hour
	}
	r.projects = r.sys.StartPartitions(r.ctx, []actors.Partition{p}, func(string) int { return 0 }, nil)
	sys, cancel := r.sys, r.cancel
	r.t.Cleanup(func() { cancel(); sys.Stop() })
	return r
}

func (r *rig) stop() {
	r.cancel()
	r.sys.Stop()
}

func (r *rig) do(cmd *loomv1.Command) (*loomv1.Answer, error) {
	if cmd.Project == "" {
		cmd.Project = "shop"
	}
	if cmd.Actor == nil {
		cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h1"}
	}
	return r.projects.Do(r.ctx, cmd)
}

func (r *rig) must(cmd *loomv1.Command) *loomv1.Answer {
	r.t.Helper()
	a, err := r.do(cmd)
	if err != nil {
		r.t.Fatalf("%T: %v", cmd.Body, err)
	}
	return a
}

// register makes a project known, with a workflow of one task for a role.
func (r *rig) register(project, role string) *rig {
	r.t.Helper()
	r.must(&loomv1.Command{Project: project, Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: project, Repository: "/src/" + project, TargetBranch: "main"},
	}}})
	task := loomv1.NodeType_NODE_TYPE_TASK
	r.must(&loomv1.Command{Project: project, Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: &loomv1.Definition{
		Name: "one", Version: "1.0",
		Nodes: []*loomv1.NodeDefinition{
			{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START}, {Id: "work", Type: task, Role: role, MaxAttempts: 2}, {Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
		},
		Edges: []*loomv1.EdgeDefinition{{Id: "e1", From: "start", To: "work"}, {Id: "e2", From: "work", To: "end"}},
	}}}})
	return r
}

func file(project, key string) *loomv1.Command {
	who := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, Name: "somebody"}
	return &loomv1.Command{Project: project, Actor: who, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{
		Submission: &loomv1.Submission{Goal: "mend it", Process: "one", IdempotencyKey: key},
	}}}
}

// agents starts a pool of a role.
func (r *rig) agents(role string, n int, work worker) *actors.Pools {
	var q actors.Queue = r.queue
	if r.pull != nil {
		q = r.pull
	}
	pools := r.sys.StartPools(r.ctx, []actors.Pool{{
		Role: role, Agents: n, Host: "h1", Start: r.config.Start, Queue: q, Projects: r.projects, Worker: work,
		Logger: slog.New(slog.DiscardHandler), RestartMax: 10, RestartWithin: time.Minute, RestartBackoff: time.Millisecond,
		Lived: func(kind loomv1.LifeKind, agent, reason string) {
			r.lives.Lock()
			defer r.lives.Unlock()
			r.lives.list = append(r.lives.list, fmt.Sprint(kind, " ", agent, " ", reason))
		},
	}})
	r.t.Cleanup(pools.Stop)
	return pools
}

// events returns every event of the journal.
func (r *rig) events() (all []*loomv1.Event) {
	r.t.Helper()
	var head journal.Head
	err := r.log.Memory.Read(context.Background(), 1, func(seq uint64, b *loomv1.Batch) (err error) {
		head, err = journal.Check(head, seq, b)
		all = append(all, b.Events...)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func count(events []*loomv1.Event, is func(*loomv1.Event) bool) (n int) {
	for _, e := range events {
		if is(e) {
			n++
		}
	}
	return n
}

// await follows the journal until an event is as wanted.
func (r *rig) await(what string, is func(*loomv1.Event) bool) *loomv1.Event {
	r.t.Helper()
	var found *loomv1.Event
	err := r.log.Memory.Follow(r.ctx, 1, func(_ uint64, b *loomv1.Batch) error {
		for _, e := range b.Events {
			if found == nil && is(e) {
				found = e
			}
		}
		if found != nil {
			return context.Canceled
		}
		return nil
	})
	if found == nil {
		r.t.Fatalf("never saw %s: %v", what, err)
	}
	return found
}

// ended waits until a bead's execution has ended well.
func (r *rig) ended(bead string) {
	r.t.Helper()
	r.await("the end of "+bead, func(e *loomv1.Event) bool {
		return e.Bead == bead && e.GetExecutionEnded().GetStatus() == loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED
	})
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if fault.Code(err) != code {
		t.Errorf("%s: %v (code %q), want code %q", what, err, fault.Code(err), code)
	}
}

// gate is a log whose appends can be held up.
type gate struct {
	*journal.Memory
	mu      sync.Mutex
	held    chan struct{} // appends wait until it is closed; nil when they need not
	entered chan struct{}
}

// hold makes appends wait, and returns what tells of each that does, and how
// to let them go.
func (g *gate) hold() (entered <-chan struct{}, release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := make(chan struct{})
	g.held, g.entered = held, make(chan struct{}, 100)
	return g.entered, func() {
		g.mu.Lock()
		g.held = nil
		g.mu.Unlock()
		close(held)
	}
}

func (g *gate) Append(ctx context.Context, last uint64, b journal.Sealed) (uint64, error) {
	g.mu.Lock()
	held, entered := g.held, g.entered
	g.mu.Unlock()
	if held != nil {
		entered <- struct{}{}
		select {
		case <-held:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return g.Memory.Append(ctx, last, b)
}

// clock is the real one, and panics when it is told to: the way to make a
// project fail while it decides.
type clock struct {
	real  actors.Clock
	mu    sync.Mutex
	booms int
	asked int
	stuck chan chan struct{} // told of the next who asks, who then waits; nil when nobody need wait
}

func (c *clock) AtLeast(t time.Time) { c.real.AtLeast(t) }

func (c *clock) Now() time.Time {
	c.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if c.booms > 0 {
		c.booms--
		panic("no time")
	}
	return c.real.Now()
}

// hold makes the next who asks for the time wait. The channel that it returns
// has, once somebody does, the one to close to let them go.
func (c *clock) hold() <-chan chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stuck = make(chan chan struct{}, 1)
	return c.stuck
}

func (c *clock) wait() {
	c.mu.Lock()
	stuck := c.stuck
	c.stuck = nil
	c.mu.Unlock()
	if stuck != nil {
		free := make(chan struct{})
		stuck <- free
		<-free
	}
}

func (c *clock) boom(times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.booms = times
}

// notices keeps what was told.
type notices struct {
	mu   sync.Mutex
	list []*loomv1.Notice
}

func (n *notices) Heard(*loomv1.Event) bool { return true }

func (n *notices) PublishNotice(_ context.Context, m *loomv1.Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, m)
	return nil
}

// worker does the work of an attempt.
type worker func(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error)

func (w worker) Work(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
	return w(ctx, b, s)
}

func done(context.Context, *loomv1.Brief, actors.Seat) (*loomv1.Outcome, error) {
	return &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Summary: "done"}, nil
}

// queue is a work queue in memory, which loses what it is told to lose.
type queue struct {
	mu      sync.Mutex
	list    []*loomv1.Assignment
	lose    int
	odd     int // when not 0, tickets are lost and doubled by its count
	changed chan struct{}
}

func newQueue() *queue { return &queue{changed: make(chan struct{})} }

func (q *queue) PublishWork(_ context.Context, a *loomv1.Assignment) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lose > 0 {
		q.lose--
		return nil
	}
	if q.odd > 0 {
		q.odd++
		switch q.odd % 5 {
		case 0: // lost
			return nil
		case 1: // doubled
			q.put(proto.CloneOf(a))
		case 2: // of nothing that ever was
			q.put(&loomv1.Assignment{Project: a.Project, Role: a.Role, Attempt: "none-1-x1-a1", Generation: 1})
		}
	}
	for _, other := range q.list {
		if other.Attempt == a.Attempt && other.Generation == a.Generation {
			return nil
		}
	}
	q.put(proto.CloneOf(a))
	return nil
}

func (q *queue) put(a *loomv1.Assignment) {
	q.list = append(q.list, a)
	close(q.changed)
	q.changed = make(chan struct{})
}

// empty forgets everything, as a queue in memory does with its server.
func (q *queue) empty() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = nil
}

// unreliable has the queue lose, double and make up tickets from now on.
func (q *queue) unreliable() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.odd = 1
}

// settle waits until there are tickets.
func (q *queue) settle(t *testing.T) {
	t.Helper()
	for deadline := time.After(within); ; {
		q.mu.Lock()
		n, changed := len(q.list), q.changed
		q.mu.Unlock()
		if n > 0 {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatal("nothing was put into the queue")
		}
	}
}

func (q *queue) losing(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lose = n
}

func (q *queue) Pull(ctx context.Context, role string) (actors.Delivery, error) {
	for {
		q.mu.Lock()
		for i, a := range q.list {
			if a.Role == role {
				q.list = append(q.list[:i:i], q.list[i+1:]...)
				q.mu.Unlock()
				return &delivery{q, a}, nil
			}
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

type delivery struct {
	q *queue
	a *loomv1.Assignment
}

func (d *delivery) Assignment() *loomv1.Assignment { return d.a }
func (d *delivery) InProgress() error              { return nil }
func (d *delivery) Ack(context.Context) error      { return nil }

func (d *delivery) Nak(time.Duration) error {
	d.q.mu.Lock()
	defer d.q.mu.Unlock()
	d.q.put(d.a)
	return nil
}
