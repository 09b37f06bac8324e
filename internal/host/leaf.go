package host

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/host/clean"
	"github.com/loomrun/loom/internal/host/disk"
	"github.com/loomrun/loom/internal/host/fleet"
	"github.com/loomrun/loom/internal/host/seat"
	"github.com/loomrun/loom/internal/host/staff"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Leaf is a running host that only runs agents: it has no partitions, journals
// or tables. It asks hosts of the deployment over NATS, with the rights of a
// worker.
type Leaf struct {
	h      *Host // what agents need of one
	name   string
	epoch  uint64
	nc     *nats.Conn
	way    *seat.Client
	hello  *loomv1.LeafHello
	roles  []string            // those that its credentials are for
	first  *loomv1.LeafWelcome // what was wanted of it when it joined
	ended  chan struct{}
	reason error // why it ended by itself
	stop   sync.Once
	done   sync.WaitGroup
}

// helloEvery is how often a leaf host asks whether it may still be one, and what
// is wanted of it; helloWithin is how long it waits for the answer.
const (
	helloEvery  = staff.LookAgain
	helloWithin = 5 * time.Second
	// leafLook is how often each of its agents asks whether the attempt that it works
	// on is still its own: a leaf host follows no journal.
	leafLook = time.Second
	// helloWorktrees is of how many worktrees it asks at once whether they are
	// still wanted.
	helloWorktrees = 200
)

// StartLeaf starts a host that only runs agents, of the projects in c and of the
// roles of its credentials. Of c it heeds what concerns agents: Data, Projects'
// ids and repositories, models, sandbox, sources, Agents, Labels, Logger and Told. An
// empty url means the one in the credentials. It returns when agents pull work;
// request/denied when the credentials are no worker's or not let in,
// project/unknown and project/conflict for projects that the deployment has not
// or has elsewhere, and host/unavailable when ctx ends before a host answers.
func StartLeaf(ctx context.Context, c Config, credentials identity.Credentials, url string) (*Leaf, error) {
	if err := c.checkLeaf(credentials); err != nil {
		return nil, err
	}
	secrets := clean.Secrets{Secrets: redact.Of(c.Secrets)}
	h := &Host{config: c, secrets: secrets, log: c.log(secrets.Secrets), started: time.Now(), model: c.Model, roles: c.roles()}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	h.crew = newCrew(c, h.roles)
	l := &Leaf{h: h, name: credentials.Name, epoch: uint64(time.Now().UnixMilli()), ended: make(chan struct{})}
	for _, step := range []func(context.Context) error{
		h.checkMachine, l.openData, func(context.Context) error { return l.connect(credentials, url) }, h.openToolset, l.join, l.startAgents,
	} {
		if err := step(ctx); err != nil {
			l.Stop(context.WithoutCancel(ctx))
			return nil, err
		}
	}
	return l, nil
}

func (c Config) checkLeaf(credentials identity.Credentials) error {
	if err := c.check(); err != nil {
		return err
	}
	switch {
	case credentials.Kind != identity.Worker:
		return fault.New("usage/argument", "a host that only runs agents has the credentials of a worker, not of kind %q", credentials.Kind).
			At("--creds").Want("loom auth user add NAME --as worker --role ROLE")
	case len(c.Projects) == 0:
		return fault.New("usage/argument", "no project is named whose work it takes").At("--project").Want("--project NAME=PATH")
	}
	return nil
}

func (l *Leaf) openData(context.Context) (err error) {
	l.h.dir, err = datadir.Config{Path: l.h.config.Data, Mode: datadir.ModeLeaf}.Open()
	if err != nil {
		return err
	}
	l.h.notes.host, l.h.notes.log = l.h.dir.Manifest().Host, l.h.log
	l.h.repos.dir, l.h.commands = l.h.dir, l.h.config.commands(l.h.dir.Path())
	l.h.disk = disk.New(disk.Config{Dir: l.h.dir, Repository: l.repositoryOf, Log: l.h.log})
	return nil
}

// repositoryOf opens the repository of a project that this host was started with.
func (l *Leaf) repositoryOf(ctx context.Context, id string) (*agent.Repository, error) {
	for _, p := range l.h.config.Projects {
		if p.ID == id {
			path, err := filepath.Abs(p.Repository)
			if err != nil {
				return nil, err
			}
			return l.h.repos.Open(ctx, &loomv1.ProjectConfig{Id: id, Repository: path})
		}
	}
	return nil, fault.New("project/unknown", "project %q is not one of this host's", id)
}

// connect connects as the worker. What is said on the way can be read where
// there is no TLS, so that is for loopback.
func (l *Leaf) connect(credentials identity.Credentials, url string) (err error) {
	if url == "" {
		url = credentials.URL
	}
	if len(credentials.Authority) == 0 && !secured(url) {
		if !l.h.config.Insecure {
			return fault.New("host/insecure", "everything would be said without TLS over the network").At("--nats").Got(url).Want("tls://HOST:4222")
		}
		l.h.log.Warn("THIS HOST ASKS OVER THE NETWORK WITHOUT TLS: everything that is said there can be read and changed on its way", "address", url)
	}
	l.nc, err = broker.DialAs(credentials, url, false, nats.ReconnectWait(200*time.Millisecond), nats.MaxPingsOutstanding(2), nats.PingInterval(5*time.Second))
	return err
}

// secured says whether an address has TLS or is on this machine.
func secured(url string) bool {
	scheme, rest, ok := strings.Cut(url, "://")
	return ok && scheme == "tls" || certificate.Loopback(rest)
}

// join asks a host whether this one may run agents, until one answers.
func (l *Leaf) join(ctx context.Context) error {
	l.way = &seat.Client{Send: asks(l.nc)}
	for _, p := range l.h.config.Projects {
		path, err := filepath.Abs(p.Repository)
		if err != nil {
			return fault.New("git/not-a-repository", "not a path: %s", err).At("project " + p.ID)
		}
		repo, err := git.Open(ctx, path)
		if err != nil {
			return err
		}
		l.hello = &loomv1.LeafHello{Projects: append(l.hello.GetProjects(), &loomv1.ProjectConfig{Id: p.ID, Repository: repo.Path()})}
	}
	ctx, cancel := context.WithTimeout(ctx, serveWithin)
	defer cancel()
	welcome, err := l.greet(ctx)
	if err != nil {
		return err
	}
	l.roles, l.first = welcome.Roles, welcome
	for name := range l.h.config.Agents {
		if r, _ := l.h.roles.Get(name); !slices.Contains(l.roles, r.Name) {
			return fault.New("request/denied", "the credentials of %q are not for role %q", l.name, name).At("--agents")
		}
	}
	return nil
}

// asks returns a [seat.Client]'s way to ask, over a connection.
func asks(nc *nats.Conn) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, data []byte) ([]byte, error) {
		m, err := nc.RequestWithContext(ctx, subject.Seat(), data)
		switch {
		case errors.Is(err, nats.ErrMaxPayload):
			return nil, fault.New("wire/too-large", "%d bytes are more than the server carries", len(data))
		case errors.Is(err, nats.ErrConnectionClosed): // for good: it tries again until it is refused
			return nil, fault.New("request/denied", "the deployment does not let this host in any more").Because(err)
		case err != nil:
			return nil, fault.New("host/unavailable", "no host answers").Because(err)
		}
		return m.Data, broker.Refusal(m)
	}
}

// farQueue pulls assignments with the rights of a worker.
type farQueue struct{ nc *nats.Conn }

// Pull implements actors.Queue.
func (q farQueue) Pull(ctx context.Context, role string) (actors.Delivery, error) {
	d, err := broker.Pull(ctx, q.nc, role)
	if err != nil {
		return nil, err
	}
	return delivery{d}, nil
}

func (l *Leaf) greet(ctx context.Context) (*loomv1.LeafWelcome, error) {
	l.hello.Presence = l.presence(true)
	l.hello.Worktrees = l.h.disk.Worktrees()
	l.hello.Worktrees = l.hello.Worktrees[:min(len(l.hello.Worktrees), helloWorktrees)]
	reply, err := l.way.Request(ctx, &loomv1.SeatRequest{Body: &loomv1.SeatRequest_Hello{Hello: l.hello}})
	return reply.GetWelcome(), err
}

func (l *Leaf) presence(alive bool) *loomv1.HostPresence {
	p := &loomv1.HostPresence{
		Host: l.name, Epoch: l.epoch, Version: Version, StartedAt: timestamppb.New(l.h.started), Labels: l.h.config.Labels, Alive: alive, Leaf: true,
		Own: l.h.crew.own(), Unsandboxed: l.h.config.Unsandboxed, Roles: l.h.crew.counts(), Lacks: l.h.tools.lacks(),
	}
	for _, project := range l.h.config.Projects {
		p.Projects = append(p.Projects, project.ID)
	}
	return p
}

// startAgents starts the agents, and says that they are there.
func (l *Leaf) startAgents(context.Context) error {
	h := l.h
	h.blobs = l.way.Blobs()
	h.sayLimits()
	worker, err := h.worker()
	if err != nil {
		return err
	}
	h.system = actors.NewSystem(h.log, func(name string) {
		h.log.Error("an actor failed for good; the host is no longer whole", "actor", name)
	})
	var pools []actors.Pool
	for _, name := range l.roles {
		role, known := h.roles.Get(name)
		if !known || role.Human || role.Name != name {
			h.log.Warn("the credentials are for a role that no agent can have here", "role", name)
			continue
		}
		agents, known := l.due(l.first, name)
		if !known {
			agents = h.crew.of(name)
		}
		pools = append(pools, actors.Pool{
			Role: name, Agents: agents, Host: l.name, Start: l.epoch, Queue: farQueue{l.nc}, Serves: l.serves,
			Sit: l.way.Sit, Worker: seat.Worker(worker), Logger: h.log, LookAgain: leafLook, Told: h.config.Told,
			RestartMax: role.Restart.Max, RestartWithin: role.Restart.Within, RestartBackoff: role.Restart.Backoff,
		})
	}
	h.crew.start(h.system.StartPools(h.ctx, pools))
	l.done.Go(l.live)
	l.done.Go(l.stay)
	return nil
}

// serves says whether work of a project is done here.
func (l *Leaf) serves(id string) bool {
	return slices.ContainsFunc(l.h.config.Projects, func(p Project) bool { return p.ID == id })
}

// live says that this host lives, until it stops.
func (l *Leaf) live() {
	beat := time.NewTicker(fleet.LeafEvery)
	defer beat.Stop()
	for {
		l.say(l.presence(true))
		select {
		case <-beat.C:
		case <-l.h.ctx.Done():
			l.say(l.presence(false))
			return
		}
	}
}

func (l *Leaf) say(p *loomv1.HostPresence) {
	data, err := proto.Marshal(p)
	if err == nil {
		err = l.nc.Publish(subject.Leaf(subject.Must(l.name)), data)
	}
	if err != nil {
		l.h.log.Warn("this host cannot say that it lives", "error", err)
	}
}

// stay heeds what is wanted of this host, and ends it when its credentials are
// not good any more.
func (l *Leaf) stay() {
	again := time.NewTicker(helloEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-l.h.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(l.h.ctx, helloWithin)
		welcome, err := l.greet(ctx)
		cancel()
		switch {
		case fault.Code(err) == "request/denied":
			l.reason = err
			close(l.ended)
			return
		case err == nil:
			l.heed(welcome)
		}
	}
}

// heed has each role come to what is wanted of this leaf host.
func (l *Leaf) heed(w *loomv1.LeafWelcome) {
	for _, role := range l.roles {
		if n, known := l.due(w, role); known {
			l.h.crew.resize(role, n)
		}
	}
	for execution, project := range w.GetEnded() {
		l.h.disk.Retire(l.h.ctx, project, execution)
	}
}

// due is how many agents of a role a host says that this one is to have, if it
// says anything.
func (l *Leaf) due(w *loomv1.LeafWelcome, role string) (n int, known bool) {
	if w.GetDrained() {
		return 0, true
	}
	return int(w.GetStaff().GetAgents()[role]), w.GetStaff() != nil
}

// Name returns the name by which the deployment knows this host.
func (l *Leaf) Name() string { return l.name }

// Roles returns the roles that it has agents of, with their numbers.
func (l *Leaf) Roles() []*loomv1.RoleCount { return l.h.crew.counts() }

// Done is closed when the deployment does not let this host in any more; then
// Reason says why.
func (l *Leaf) Done() <-chan struct{} { return l.ended }

// Reason says why Done was closed.
func (l *Leaf) Reason() error { return l.reason }

// BrokenOff is [Host.BrokenOff].
func (l *Leaf) BrokenOff() string { return l.h.BrokenOff() }

// Sandboxed says whether commands run in a sandbox.
func (l *Leaf) Sandboxed() bool { return l.h.Sandboxed() }

// Stop has every agent give back what it works on, and ends. It may be called
// more than once.
func (l *Leaf) Stop(context.Context) {
	l.stop.Do(func() {
		l.h.broken.stopping()
		l.h.crew.stop()
		l.h.cancel()
		l.done.Wait()
		if l.h.system != nil {
			l.h.system.Stop()
		}
		if l.nc != nil {
			_ = l.nc.FlushTimeout(time.Second)
			l.nc.Close()
		}
		if l.h.dir != nil {
			_ = l.h.dir.Close()
		}
	})
}
