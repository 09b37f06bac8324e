package host

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/host/clean"
	"github.com/loomrun/loom/internal/host/disk"
	"github.com/loomrun/loom/internal/host/fleet"
	"github.com/loomrun/loom/internal/host/heads"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/host/lives"
	"github.com/loomrun/loom/internal/host/outside"
	"github.com/loomrun/loom/internal/host/reading"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/host/staff"
	"github.com/loomrun/loom/internal/host/writing"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/natswire"
	"github.com/loomrun/loom/internal/net/web"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/place/repomap/index"
	"github.com/loomrun/loom/internal/place/setups"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/headmark"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/projection"
	"github.com/loomrun/loom/internal/store/relay"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Host is a running Loom process.
type Host struct {
	config  Config
	log     *slog.Logger
	secrets clean.Secrets
	started time.Time

	dir        *datadir.Dir
	commands   isolation.Commands // how what agents run is kept apart
	addresses  addresses
	broker     *broker.Broker
	journals   journals.Set
	retention  *journals.Retention
	relays     []*relay.Relay // under the logs
	marks      *headmark.Keeper
	heads      *heads.Checks
	space      *space
	disk       *disk.Keeper
	clocks     *clocks
	stored     *stored
	blobs      blob.Store
	projection *projection.DB
	tables     reading.Tables
	reading    *reading.Reader
	roles      *roles.Set
	library    *processes.Library
	model      model.Provider

	ctx        context.Context // ends the actors' work
	cancel     context.CancelFunc
	system     *actors.System
	projects   *actors.Projects
	intake     *actors.Intake
	writing    *writing.Writer
	known      registry.Projects // those that are registered
	registrar  *registry.Registrar
	crew       *crew
	repos      repositories
	own        *ownErrors
	notes      securityNotes
	background sync.WaitGroup // what runs beside until ctx ends
	wire       *natswire.Wire // to other hosts; nil on a host that is alone
	fleet      *fleet.Fleet
	handover   *actors.Handover
	places     places
	tools      toolset
	atWork     actors.AtWork // what agents of this host work on
	broken     brokenCalls
	staff      *staff.Staff
	meters     *web.Meters
	web        *web.Server

	mu     sync.Mutex
	closed sync.Once
	ceoNew bool
}

// Start runs a host and returns when it serves. What it cannot do it refuses
// with the reason, and leaves nothing running.
func Start(ctx context.Context, c Config) (*Host, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	secrets := clean.Secrets{Secrets: redact.Of(c.Secrets)}
	h := &Host{
		meters: web.NewMeters(),
		config: c, secrets: secrets, log: c.log(secrets.Secrets), started: time.Now(), model: c.Model, roles: c.roles(),
	}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	h.crew = newCrew(c, h.roles)
	h.own = newOwnErrors(h.do, h.known.Only, h.log)
	h.clocks, h.stored = newClocks(c.Now, h.log), newStored(h.log)
	h.library = processes.Builtin(h.roles).With(c.Processes)
	for _, step := range []func(context.Context) error{
		h.checkMachine, h.openData, h.watchSpace, h.openAddresses, h.startBroker, h.watchWrites, h.enrol, h.openStores, h.openToolset,
		h.startSystem, h.startFleet, h.startActors, h.register, h.noteSecurity, func(ctx context.Context) error { return h.heads.Fences(ctx, h.projects, h.known.All()) }, func(ctx context.Context) error { return h.retention.Finish(ctx) },
		h.watchClocks, h.watchStored, h.startAgents, h.startDisk, h.startReports, h.startStaff, h.serve, h.startWeb,
	} {
		if err := step(ctx); err != nil {
			err = h.space.orFull(err)
			h.Stop(context.WithoutCancel(ctx))
			return nil, err
		}
	}
	return h, nil
}

func (h *Host) checkMachine(ctx context.Context) error { return git.Available(ctx) }

func (h *Host) openData(context.Context) error {
	var err error
	open := datadir.Config{Path: h.config.Data, Join: h.config.Join}
	if h.config.Cluster != nil {
		open.Mode = datadir.ModeCluster
	}
	if h.config.External != nil {
		open.External = h.config.External.Place()
	}
	h.dir, err = open.Open()
	if err != nil {
		return err
	}
	h.notes.host, h.notes.do, h.notes.log = h.dir.Manifest().Host, h.do, h.log
	h.repos.dir, h.commands = h.dir, h.config.commands(h.dir.Path())
	return nil
}

// enrol makes sure that the deployment has a CEO: at the first start the key's
// public half goes into the manifest. Later starts do not need the key.
func (h *Host) enrol(context.Context) error {
	if h.dir.Manifest().CEO != "" {
		return nil
	}
	if h.broker.Clustered() { // each host would make another
		return fault.New("data/manifest", "the cluster has no CEO").At("join file").Want("make it again where the CEO's key is: loom cluster init")
	}
	path, err := h.config.keyPath()
	if err != nil {
		return err
	}
	key, created, err := ceokey.OpenOrCreate(path)
	if err != nil {
		return err
	}
	h.ceoNew = created
	return h.dir.SetCEO(key.Public())
}

func (h *Host) startBroker(ctx context.Context) error {
	var err error
	var plant func(context.Context, *broker.Broker) error
	if h.config.Seed != nil {
		plant = func(ctx context.Context, b *broker.Broker) error { return h.config.Seed.Plant(ctx, b, h.dir) }
	}
	h.broker, err = broker.Start(ctx, broker.Config{
		Dir: h.dir, Listen: h.config.Listen, TLS: h.addresses.tls(h.config.Listen), Insecure: h.config.Insecure, RequireAuth: h.config.RequireAuth, Cluster: h.config.Cluster, External: h.config.External, Logger: h.log,
		Aside: h.own.setAside, Clean: h.secrets.Aside, WorkLost: h.workLost, Plant: plant,
	})
	return err
}

func (h *Host) openStores(ctx context.Context) error {
	var err error
	if h.marks, err = headmark.Open(h.dir.Path(), h.log); err != nil {
		return err
	}
	var streams []*natsjournal.Log
	for i := range h.dir.Manifest().Partitions {
		log, err := natsjournal.New(ctx, h.broker.Core(), i)
		if err != nil {
			return err
		}
		streams = append(streams, log)
		feed := relay.New(headmark.Watch(log, h.marks), !h.broker.Clustered() && h.config.External == nil)
		h.relays = append(h.relays, feed)
		h.journals.Logs = append(h.journals.Logs, &journals.Timed{Log: feed, Appended: h.meters.Appended, Doubt: h.stored.doubt})
	}
	snapshots, err := natsjournal.NewSnapshots(ctx, h.broker.Core())
	if err != nil {
		return err
	}
	if h.blobs, err = blob.New(ctx, h.broker.Core()); err != nil {
		return err
	}
	h.journals.Blobs, h.journals.Hint = h.blobs, snapshots.Cut
	h.retention = &journals.Retention{
		Set: &h.journals, Dir: h.dir, Streams: streams, Snapshots: snapshots, Heads: h.marks, Core: h.coreConfig, Do: h.do, Log: h.log, Running: h.ctx,
	}
	return h.openProjection(ctx)
}

// openProjection opens the tables and checks that the journals still reach
// what the tables have seen: a journal that ends earlier has lost events.
func (h *Host) openProjection(ctx context.Context) error {
	db, opening, err := projection.Open(ctx, h.dir.Path("projection.db"))
	if err != nil {
		return err
	}
	h.projection = db
	h.tables = reading.Tables{DB: db, Journals: &h.journals, Projects: &h.known}
	db.SetBases(h.journals.BaseBefore)
	if opening.SetAside != "" {
		h.log.Warn("projection set aside and rebuilt", "kept", opening.SetAside, "because", opening.Reason)
	}
	checks := heads.Config{Dir: h.dir, Journals: &h.journals, Marks: h.marks, Tables: db, Log: h.log}
	if !h.broker.Clustered() && h.config.External == nil {
		checks.Renew = h.broker.RenewJournal
	}
	h.heads = heads.New(checks)
	for i, log := range h.journals.Logs {
		if err := h.heads.Unwritten(ctx, h.retention.Streams[i]); err != nil {
			return err
		}
		if err := h.heads.Journal(ctx, log); err != nil {
			return err
		}
	}
	return nil
}

// startSystem starts the actor system, on the wire to other hosts if there are
// any.
func (h *Host) startSystem(context.Context) error {
	h.handover = actors.NewHandover(queue{h.broker}, h.broker, h.alone)
	var err error
	lost := func(name string) {
		h.log.Error("an actor failed for good; the host is no longer whole", "actor", name)
		h.own.note(actors.Trouble{Kind: "lost-actor", Message: "actor " + name + " failed for good"})
	}
	if !h.broker.Clustered() {
		h.system = actors.NewSystem(h.log, lost)
		return nil
	}
	m := h.dir.Manifest()
	h.system = actors.NewSystem(h.log, lost, func(s *actor.ActorSystem) {
		h.wire, err = natswire.Start(s, h.broker.Core(), natswire.Config{Host: m.Host, Epoch: m.Starts, Logger: h.log})
	})
	return err
}

func (h *Host) startActors(ctx context.Context) error {
	m := h.dir.Manifest()
	ceo, err := ceokey.Parse(m.CEO)
	if err != nil {
		return err
	}
	snapshots := h.retention.Snapshots
	var parts []actors.Partition
	for _, log := range h.journals.Logs {
		parts = append(parts, h.partitionConfig(log, snapshots, m, ceo))
	}
	began := time.Now()
	h.setProjects(h.system.StartPartitions(h.ctx, parts, h.journals.Partition, h.fleet.Elsewhere()))
	h.disk = disk.New(disk.Config{
		Dir: h.dir, Tables: h.projection, Projects: h.known.All, Repository: h.repositoryOf, Draft: h.recordDraft, Limit: h.config.ProjectDisk, Log: h.log,
	})
	h.reading = reading.New(reading.Config{
		States: h.projects, Projects: &h.known, Journals: &h.journals, Snapshots: snapshots, Tables: &h.tables,
		Dir: h.dir.Path(), Blobs: h.blobs, Secrets: h.secrets.Secrets, Roles: h.roles, Core: h.coreConfig, Room: h.disk.Room,
	})
	if err := h.projects.Ready(ctx); err != nil {
		return err
	}
	h.meters.Recovered(time.Since(began))
	for _, r := range h.relays {
		h.system.StartFollower(h.ctx, r.Follower(), h.atWork.Listen(h.projection))
	}
	return nil
}

func (h *Host) partitionConfig(log journal.Log, s journal.Snapshots, m datadir.Manifest, ceo ed25519.PublicKey) actors.Partition {
	p := actors.Partition{
		Log: log, Snapshots: s, Notices: h.broker, Work: h.handover, Agents: h.handover, Clock: h.clocks.journal(), Wall: h.clocks.wall, Logger: h.log,
		Deployment: m.Deployment, CEO: ceo, LockLease: h.config.LockLease, Known: h.roles,
		Host: m.Host, Start: m.Starts, Roles: h.crew.live, Epoch: m.Epoch, SnapshotEvery: h.config.SnapshotEvery, Trouble: h.own.note,
	}
	p.Clean = h.secrets.Command
	p.Members, p.Format, p.Agreed = h.fleet.Members, h.config.Format, h.fleet.Agreed
	p.Base = func(ctx context.Context) (*loomv1.JournalBase, error) { return h.journals.Base(ctx, log.Partition()) }
	if n := log.Partition(); h.fleet.Clustered() { // there are other hosts
		p.Lease = h.fleet.Lease(n)
		p.Open = func() func() { return h.fleet.Open(n) }
	}
	return p
}

// worker returns who does the work of agents, with nothing left of what an
// earlier start threw away.
func (h *Host) worker() (actors.Worker, error) {
	if h.config.Worker != nil {
		return h.config.Worker, nil
	}
	kept, err := setups.Open(h.dir.Path("setups"))
	if err != nil {
		h.log.Warn("unfinished results of setups are not removed", "error", err)
	}
	tools := outside.New(outside.Config{
		Dir: h.dir, Commands: &h.commands, Files: h.config.MCP, Blobs: h.blobs, NoteTrust: h.notes.trusted, Version: Version, Log: h.log,
	})
	h.broken.log = h.log
	w := &agent.Worker{
		Model: h.model, Models: h.config.Models, Tiers: h.config.Tiers, Roles: h.roles, Blobs: h.blobs, Repository: h.repos.Open, Exec: h.commands.Exec, ExecSetup: h.commands.ExecSetup,
		Scratch: h.dir.Path("scratch"), HookTimeout: h.config.HookTimeout, Sources: h.tools.sources, Servers: h.config.LanguageServers, Outside: tools.Servers, Toolkit: tools.Package, Logger: h.log, Live: h.live, Broken: h.broken.note, Shared: h.shared,
		Held: h.config.Held, Tape: h.config.Tape, Played: recording.PlayedBy(h.model), Secrets: h.secrets.Secrets,
		Maps: index.New(h.dir.Path("maps")), Setups: kept,
	}
	if err := discard.All(w.Scratch); err != nil {
		h.log.Warn("what an earlier start left is not removed", "error", err)
	}
	if err := os.MkdirAll(w.Scratch, 0o700); err != nil {
		return nil, fault.New("data/permissions", "no directory for scratch files").At(w.Scratch).Because(err)
	}
	h.disk.Worker = w
	return w, nil
}

// openAddresses reads the certificate that the host shows.
func (h *Host) openAddresses(context.Context) (err error) {
	h.addresses, err = openAddresses(h.config, h.dir)
	return err
}

// watchClocks has it said when journal time and the wall clock come apart.
func (h *Host) watchClocks(context.Context) error {
	said := h.clocks.say(0)
	h.background.Go(func() { h.clocks.watch(h.ctx, said) })
	return nil
}

// recordDraft tells a project what an execution of it has left.
func (h *Host) recordDraft(ctx context.Context, id string, d *loomv1.Draft) error {
	return h.do(ctx, id, &loomv1.Command{Body: &loomv1.Command_RecordDraft{RecordDraft: &loomv1.RecordDraft{Draft: d}}})
}

// startDisk begins to keep the disk tidy.
func (h *Host) startDisk(context.Context) error {
	h.background.Go(func() { h.disk.Run(h.ctx) })
	return nil
}

// sayLimits tells the operator which roles ask for more than there is here.
func (h *Host) sayLimits() {
	for _, name := range h.roles.Names() {
		role, _ := h.roles.Get(name)
		if over := role.Sandbox.Beyond(h.commands.Limit()); len(over) > 0 && h.Sandboxed() {
			h.log.Warn("a role asks for more than the sandbox gives here, and has what it gives", "role", name, "limits", strings.Join(over, ", "))
		}
	}
}

// Sandboxed reports whether what agents run is kept apart from this machine.
func (h *Host) Sandboxed() bool { return h.commands.Sandboxed() }

func (h *Host) startAgents(context.Context) error {
	m := h.dir.Manifest()
	h.sayLimits()
	h.commands.SayHidden(h.log)
	worker, err := h.worker()
	if err != nil {
		return err
	}
	kept := lives.New(lives.Config{Host: m.Host, Epoch: m.Starts, Do: h.do, Log: h.log}, time.Now())
	h.background.Go(func() { kept.Run(h.ctx) })
	way := h.memories().Way(h.projects)
	var pools []actors.Pool
	for _, name := range h.roles.Names() {
		role, _ := h.roles.Get(name)
		if role.Human {
			continue
		}
		pools = append(pools, actors.Pool{
			Role: name, Agents: h.crew.of(name), Changed: h.fleet.Reports.Changed, Host: m.Host, Start: m.Starts, Queue: h.handover, Serves: h.hasRepository, Projects: h.projects, Worker: worker, Logger: h.log, AtWork: &h.atWork,
			Sit:        func(string, *loomv1.Claimant) actors.Way { return way },
			Lived:      func(kind loomv1.LifeKind, agent, reason string) { kept.Note(time.Now(), kind, name, agent, reason) },
			RestartMax: role.Restart.Max, RestartWithin: role.Restart.Within, RestartBackoff: role.Restart.Backoff,
		})
	}
	h.crew.start(h.system.StartPools(h.ctx, pools))
	return nil
}

// Stop stops the host cleanly: agents give their work back, what is under way
// is made durable, then everything ends. It may be called more than once.
func (h *Host) Stop(ctx context.Context) {
	h.closed.Do(func() {
		h.broken.stopping()
		h.stopWeb(ctx)
		h.crew.stop()
		if h.handover != nil {
			h.handover.Stop()
		}
		if h.fleet != nil {
			h.fleet.Reports.Leave(ctx)
		}
		h.cancel()
		h.background.Wait()
		if h.retention != nil {
			h.retention.Close()
		}
		if h.system != nil {
			h.system.Stop()
		}
		if h.wire != nil {
			h.wire.Close()
		}
		if h.fleet != nil {
			h.fleet.Stop(ctx)
		}
		if h.broker != nil {
			if err := h.broker.Close(ctx); err != nil {
				h.log.Warn("broker did not stop cleanly", "error", err)
			}
		}
		if h.projection != nil {
			_ = h.projection.Close()
		}
		if h.marks != nil {
			_ = h.marks.Close()
		}
		if h.space != nil {
			h.space.Close()
		}
		if h.dir != nil {
			_ = h.dir.Close()
		}
	})
}

// Done is closed when the broker has stopped, by Stop or by itself.
func (h *Host) Done() <-chan struct{} { return h.broker.Done() }

// URL returns where clients connect, or "".
func (h *Host) URL() string { return h.broker.URL() }

// Anonymous reports whether a client without credentials may connect.
func (h *Host) Anonymous() bool { return h.broker.Anonymous() }

// Traffic lists what the connections at the host's own server have said and
// heard so far.
func (h *Host) Traffic() ([]broker.Traffic, error) { return h.broker.Traffic() }

// Connect connects a client of this process: as "anonymous", "operator" or
// "ceo", with that user's rights.
func (h *Host) Connect(as string) (*nats.Conn, error) { return h.broker.Local(as) }

// Deployment returns the deployment's id.
func (h *Host) Deployment() string { return h.dir.Manifest().Deployment }

// Name returns the host's id.
func (h *Host) Name() string { return h.dir.Manifest().Host }

// Startup says how long Start took.
func (h *Host) Startup() time.Duration { return time.Since(h.started) }

// MadeKey reports whether this start made the CEO's key.
func (h *Host) MadeKey() bool { return h.ceoNew }
