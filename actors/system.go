package actors

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// System is the actor system of a host: the one place that touches
// protoactor's own defaults, which lose mail and stop actors silently.
type System struct {
	sys    *actor.ActorSystem
	root   *actor.PID
	log    *slog.Logger
	stop   sync.Once
	over   chan struct{}  // closed once it has stopped
	beside sync.WaitGroup // what actors have running beside themselves
	serial atomic.Uint64  // newest incarnation of any partition, and newest life of any project

	proposals atomic.Uint64 // of all projects
}

// NewSystem starts an actor system with its one root actor. onLost is told of
// every top-level actor that failed more often than its budget allows. before
// is given the system before its first actor starts.
func NewSystem(log *slog.Logger, onLost func(name string), before ...func(*actor.ActorSystem)) *System {
	quiet := func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }
	s := &System{sys: actor.NewActorSystem(actor.WithLoggerFactory(quiet)), log: log, over: make(chan struct{})}
	s.sys.EventStream.Subscribe(func(ev any) {
		if f, ok := ev.(*actor.SupervisorEvent); ok {
			log.Error("actor failed", "actor", f.Child.Id, "then", f.Directive.String(), "reason", fmt.Sprint(f.Reason))
		}
	})
	for _, f := range before {
		f(s.sys)
	}
	props := actor.PropsFromProducer(func() actor.Actor { return &root{onLost: onLost, dismissed: map[string]bool{}} },
		actor.WithSupervisor(restarts{max: math.MaxInt, within: time.Minute, backoff: 100 * time.Millisecond, most: 10 * time.Second}))
	s.root, _ = s.sys.Root.SpawnNamed(props, "host") // the name is free in a new system
	return s
}

// start spawns a named top-level actor under the root. Of a system that stops,
// or has stopped, it returns the root, which has no use for any mail.
func (s *System) start(name string, props *actor.Props) *actor.PID {
	done := make(chan *actor.PID, 1)
	s.sys.Root.Send(s.root, &spawn{name, props, done})
	select {
	case pid := <-done:
		return pid
	case <-s.over:
		return s.root
	}
}

// aside runs f beside the actor that calls it, from its Receive. f must end
// soon after the context that it was given.
func (s *System) aside(f func()) { s.beside.Go(f) }

// Stop stops every actor and waits until they, and all that runs beside them,
// have stopped: nothing of theirs touches journal, queue or projection
// afterwards. It may be called more than once.
func (s *System) Stop() {
	s.stop.Do(func() {
		_ = s.sys.Root.StopFuture(s.root).Wait()
		s.beside.Wait()
		s.sys.Shutdown()
		close(s.over)
	})
}

// stopActor stops a top-level actor on purpose and waits for that.
func (s *System) stopActor(pid *actor.PID) {
	done := make(chan struct{})
	s.sys.Root.Send(s.root, &dismiss{pid, done})
	select {
	case <-done:
		_ = s.sys.Root.StopFuture(pid).Wait()
	case <-s.over: // it has stopped with the system
	}
}

// root owns the top-level actors; strategies that reach further up would end
// the process.
type root struct {
	onLost    func(string)
	dismissed map[string]bool // by id; a child's end reaches its parent, watched or not
	stopping  bool
}

// dismiss says that an actor is about to be stopped on purpose.
type dismiss struct {
	who  *actor.PID
	done chan<- struct{}
}

type spawn struct {
	name  string
	props *actor.Props
	done  chan<- *actor.PID
}

func (r *root) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *spawn:
		if r.stopping { // a child more would never be told to stop
			m.done <- c.Self()
			return
		}
		pid, err := c.SpawnNamed(m.props, m.name)
		if err != nil {
			pid = c.SpawnPrefix(m.props, m.name)
		}
		c.Watch(pid)
		m.done <- pid
	case *actor.Terminated:
		if r.onLost != nil && !r.stopping && !r.dismissed[m.Who.Id] {
			r.onLost(m.Who.Id)
		}
	case *dismiss:
		r.dismissed[m.who.Id] = true
		c.Unwatch(m.who)
		close(m.done)
	case *actor.Stopping:
		r.stopping = true
	}
}

// restarts restarts a failed child after a delay that doubles with each
// failure within a window, with a quarter of jitter, and stops it, visibly to
// its watcher, when max is exceeded.
type restarts struct {
	max           int
	within        time.Duration
	backoff, most time.Duration
}

// HandleFailure implements actor.SupervisorStrategy. The child's mailbox stays
// suspended until it is restarted.
func (r restarts) HandleFailure(sys *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID, rs *actor.RestartStatistics, reason, _ any) {
	rs.Fail()
	failures := rs.NumberOfFailures(r.within)
	directive := actor.RestartDirective
	if failures > r.max {
		directive = actor.StopDirective
	}
	sys.EventStream.Publish(&actor.SupervisorEvent{Child: child, Reason: reason, Directive: directive})
	if directive == actor.StopDirective {
		supervisor.StopChildren(child)
		return
	}
	time.AfterFunc(r.delay(failures), func() { supervisor.RestartChildren(child) })
}

func (r restarts) delay(failures int) time.Duration {
	d := min(r.backoff<<min(failures-1, 16), r.most)
	return d*3/4 + rand.N(d/2+1)
}

// stops stops a failed child at once: its watcher decides what comes next.
type stops struct{}

// HandleFailure implements actor.SupervisorStrategy.
func (stops) HandleFailure(sys *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	sys.EventStream.Publish(&actor.SupervisorEvent{Child: child, Reason: reason, Directive: actor.StopDirective})
	supervisor.StopChildren(child)
}
