package actors

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Queue hands out assignments.
type Queue interface {
	// Pull waits for an assignment of a role, or until ctx ends.
	Pull(ctx context.Context, role string) (Delivery, error)
}

// grants is a [Queue] of which an agent can have an assignment that is claimed for it
// already.
type grants interface {
	// pullAs is Pull for an agent that is known by name.
	pullAs(ctx context.Context, role string, by *loomv1.Claimant) (Delivery, error)
	// next returns an assignment of a project that waits for a role, for an agent that
	// is about to answer: nil where none waits, or where others come first.
	next(project, role string) Delivery
}

// Delivery is one assignment from the queue. It comes again, to somebody, if
// it is neither acknowledged nor kept alive.
type Delivery interface {
	Assignment() *loomv1.Assignment
	// InProgress keeps it from being delivered again for ten seconds.
	InProgress() error
	// Ack ends it.
	Ack(ctx context.Context) error
	// Nak has it delivered again after delay.
	Nak(delay time.Duration) error
}

// Worker does the work of an assignment.
type Worker interface {
	// Work carries out the attempt that b describes and returns its outcome,
	// ErrParked when it waits for a lock, or an error, which is recorded as a
	// failed outcome. It may be called again for the same attempt after a
	// crash and then goes on from what b.Turn has.
	Work(ctx context.Context, b *loomv1.Brief, s Seat) (*loomv1.Outcome, error)
}

// Pool says how agents of a role work on this host.
type Pool struct {
	Role   string
	Agents int
	Host   string
	Start  uint64
	Queue  Queue
	// Serves says whether work of a project can be done on this host; what
	// cannot is left to others. Nil means all can.
	Serves   func(project string) bool
	Projects *Projects
	// Sit is the way to a project for one that works on it, in the place of
	// Projects. Nil means Projects.
	Sit    func(project string, who *loomv1.Claimant) Way
	Worker Worker
	Logger *slog.Logger
	// AtWork hears of attempts that end elsewhere. Nil means that none of this pool's is
	// heard of.
	AtWork *AtWork
	// LookAgain is how often an agent asks whether its attempt is still its own, in the
	// place of AtWork. Zero means never.
	LookAgain time.Duration
	// RestartMax, RestartWithin and Backoff bound restarts of a failing agent.
	// Zero means 10 within a minute, from 200 ms on.
	RestartMax     int
	RestartWithin  time.Duration
	RestartBackoff time.Duration
	// Changed is called when the pool has another number of live agents than
	// before. It must not block. Nil ignores it.
	Changed func()
	// Lived is called with what happens to an agent, and why. It must not block. Nil
	// ignores it.
	Lived func(kind loomv1.LifeKind, agent, reason string)
	// Told hears what its agents do. Nil means that nobody does.
	Told    Told
	working *sync.WaitGroup
	busy    *busyCount
	stopped context.Context
}

// sit returns the way to a project for an agent.
func (p *Pool) sit(project string, who *loomv1.Claimant) Way {
	if p.Sit != nil {
		return p.Sit(project, who)
	}
	return p.Projects
}

// MaxAgents is how many agents of a role a host has at most.
const MaxAgents = 1000

// Pools is the role pools of a host.
type Pools struct {
	sys     *System
	cancel  context.CancelFunc
	working sync.WaitGroup
	pools   []*Pool
	pids    []*actor.PID
}

// StartPools starts a pool for each entry.
func (s *System) StartPools(ctx context.Context, list []Pool) *Pools {
	ctx, cancel := context.WithCancel(ctx)
	p := &Pools{sys: s, cancel: cancel}
	for _, pool := range list {
		pool.stopped = ctx
		pool.working = &p.working
		pool.busy = &busyCount{live: pool.Agents, desired: pool.Agents}
		if pool.Changed == nil {
			pool.Changed = func() {}
		}
		if pool.Lived == nil {
			pool.Lived = func(loomv1.LifeKind, string, string) {}
		}
		if pool.RestartMax == 0 {
			pool.RestartMax, pool.RestartWithin = 10, time.Minute
		}
		if pool.RestartBackoff == 0 {
			pool.RestartBackoff = 200 * time.Millisecond
		}
		p.pools = append(p.pools, &pool)
		props := actor.PropsFromProducer(func() actor.Actor { return &poolActor{Pool: &pool} },
			actor.WithSupervisor(restarts{max: pool.RestartMax, within: pool.RestartWithin, backoff: pool.RestartBackoff, most: 30 * time.Second}))
		p.pids = append(p.pids, s.start("pool-"+pool.Role, props))
	}
	return p
}

// Stop has every agent give back what it works on and waits for that.
func (p *Pools) Stop() {
	p.cancel()
	for _, pid := range p.pids {
		p.sys.stopActor(pid)
	}
	p.working.Wait()
}

// Resize has a role come to n agents, at most MaxAgents. Those that are too
// many finish what they work on, and take nothing new. It does not wait, and
// ignores a role that has no pool.
func (p *Pools) Resize(role string, n int) {
	for i, pool := range p.pools {
		if pool.Role == role {
			p.sys.sys.Root.Send(p.pids[i], &resize{min(max(n, 0), MaxAgents)})
		}
	}
}

// Counts says how many agents each role has, and how many work.
func (p *Pools) Counts() []*loomv1.RoleCount {
	var out []*loomv1.RoleCount
	for _, pool := range p.pools {
		desired, actual, busy := pool.busy.read()
		out = append(out, &loomv1.RoleCount{Role: pool.Role, Desired: uint32(desired), Actual: uint32(actual), Busy: uint32(busy)})
	}
	return out
}

// Live says how many agents each role has that work or will, those that start
// again after a failure included, and those that are given up not. A role
// without one is not named.
func (p *Pools) Live() map[string]uint32 {
	live := map[string]uint32{}
	for _, pool := range p.pools {
		if n := pool.busy.alive(0); n > 0 {
			live[pool.Role] = uint32(n)
		}
	}
	return live
}

type busyCount struct {
	mu           sync.Mutex
	desired      int // agents that are wanted
	actual, busy int // agents that run, and that work
	live         int // agents that are wanted and have not been given up
}

// want sets how many agents are wanted.
func (b *busyCount) want(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.desired = n
}

// alive adds to the live agents, and returns how many there are then.
func (b *busyCount) alive(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live += n
	return b.live
}

func (b *busyCount) add(actual, busy int) {
	b.mu.Lock()
	b.actual += actual
	b.busy += busy
	b.mu.Unlock()
}

func (b *busyCount) read() (desired, actual, busy int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.desired, b.actual, b.busy
}

// poolActor keeps the agents of one role. An agent that failed too often is
// replaced by a new one after a pause, so a pool never silently shrinks.
type poolActor struct {
	*Pool
	want   int
	agents map[string]*place // by id of the actor
	gaps   int               // agents that were given up and are replaced later
}

// place is what an agent of a pool has: its number, which nobody else of the
// pool has while it works.
type place struct {
	n        int
	pid      *actor.PID
	retiring bool // it takes nothing new
}

type (
	replace struct{}
	resize  struct{ want int }
	retire  struct{}
)

func (p *poolActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		p.agents, p.want, p.gaps = map[string]*place{}, p.desired(), 0
		p.fill(c)
	case *resize:
		p.resize(c, m.want)
	case *replace:
		p.gaps--
		p.fill(c)
		p.busy.alive(p.staying() - p.busy.alive(0))
		p.Changed()
	case *actor.Terminated:
		p.terminated(c, m.Who)
	}
}

func (p *poolActor) desired() int {
	n, _, _ := p.busy.read()
	return n
}

// resize spawns what is missing, and retires what is too much.
func (p *poolActor) resize(c actor.Context, want int) {
	if want == p.want {
		return
	}
	p.want = want
	p.busy.want(want)
	for _, a := range p.byNumber() {
		if extra := p.staying() - want; extra > 0 && !a.retiring {
			a.retiring = true
			c.Send(a.pid, &retire{})
		}
	}
	p.fill(c)
	p.busy.alive(p.staying() - p.busy.alive(0))
	p.Changed()
}

// byNumber returns the agents, the highest number first.
func (p *poolActor) byNumber() []*place {
	return slices.SortedFunc(maps.Values(p.agents), func(a, b *place) int { return b.n - a.n })
}

// staying returns how many agents there are that do not retire.
func (p *poolActor) staying() int {
	n := 0
	for _, a := range p.agents {
		if !a.retiring {
			n++
		}
	}
	return n
}

// fill spawns agents until there are as many as are wanted, but for those that
// come later.
func (p *poolActor) fill(c actor.Context) {
	for p.staying()+p.gaps < p.want {
		p.spawn(c)
	}
}

func (p *poolActor) terminated(c actor.Context, who *actor.PID) {
	a := p.agents[who.Id]
	if a == nil || p.stopped.Err() != nil {
		return
	}
	delete(p.agents, who.Id)
	if a.retiring {
		return
	}
	p.gaps++
	p.busy.alive(-1)
	p.Changed()
	p.Lived(loomv1.LifeKind_LIFE_KIND_GIVEN_UP, fmt.Sprintf("%s/%d", p.Role, a.n), "it failed too often; a new one takes its place in a minute")
	p.Logger.Error("agent failed too often; a new one takes its place in a minute", "role", p.Role, "agent", a.n)
	root, self := c.ActorSystem().Root, c.Self()
	time.AfterFunc(time.Minute, func() { root.Send(self, &replace{}) })
}

// spawn starts an agent with the lowest number that nobody has.
func (p *poolActor) spawn(c actor.Context) {
	taken := map[int]bool{}
	for _, a := range p.agents {
		taken[a.n] = true
	}
	n := 1
	for taken[n] {
		n++
	}
	retired, starts := new(atomic.Bool), new(atomic.Int32)
	pid := c.SpawnPrefix(actor.PropsFromProducer(func() actor.Actor {
		return &agentActor{pool: p.Pool, name: fmt.Sprintf("%s/%d", p.Role, n), retired: retired, starts: starts}
	}), fmt.Sprintf("agent-%d$", n))
	c.Watch(pid)
	p.agents[pid.Id] = &place{n: n, pid: pid}
}
