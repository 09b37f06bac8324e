package host

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/staffing"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// DefaultListen is where a host listens unless it is told otherwise.
const DefaultListen = broker.DefaultListen

// DefaultClusterListen is where a host listens for the others of its cluster
// unless it is told otherwise.
const DefaultClusterListen = broker.DefaultClusterListen

// Cluster says where a host of a cluster meets the others.
type Cluster = broker.Cluster

// Project registers a repository.
type Project struct {
	// ID is the project's name: a token of at most 40 bytes.
	ID string
	// Repository is the path of its git repository.
	Repository string
	// Branch is where work lands. Empty means the one that is checked out.
	Branch string
	// Checks are commands that every verification must see pass.
	Checks []string
	// Setup are commands that make a checkout ready for its own code. Empty means
	// what its lock files ask for.
	Setup []string
	// SetupReads and SetupMakes are files and directories of a checkout, by path:
	// what the result of Setup depends on, and what it is. With both, it is kept.
	SetupReads, SetupMakes []string
	// Registries are hosts that commands of the setup may reach, through a proxy:
	// HOST or HOST:PORT. Empty means none. They need the sandbox.
	Registries []string
	// Memory names the namespaces, shared/NAME, under which this project shares what
	// it remembers with the others that name them. At most 16.
	Memory []string
	// OperatorsAnswer is what operators answer without the CEO's signature: "questions"
	// of agents, "permissions" for one call, or "none". Empty means both.
	OperatorsAnswer []string
	// Remote is where work lands before the branch here follows: the name of a
	// remote of the repository, or a URL. Empty means nowhere.
	Remote string
	// Processes say by which process submissions are worked on that name none,
	// first match first. Where none matches a bug's is auto-bug-workflow and a
	// task's feature-delivery.
	Processes []*loomv1.ProcessRule
	// Patch says what becomes of what a proposed change contains, by kind. Nil is
	// the default policy, see package patchscan.
	Patch patchscan.Policy
	// Reporting has the rules of error reports for this project. Nil means
	// Config.Reporting.
	Reporting *project.Reporting
	// Standing says that the project is named by earlier starts, files or variables, and
	// by nobody at this start: what operators have added or removed since goes before it.
	Standing bool
	// Kept says that nobody names the project's place at this start, whatever else is said
	// of it: where operators have put it since, or that they have removed it, stands.
	Kept bool
}

// LanguageServer is a program that knows what is wrong with files.
type LanguageServer = tool.LanguageServer

// LanguageServers are those that are asked where nothing is said.
func LanguageServers() []LanguageServer { return tool.LanguageServers() }

// LanguageServersFor are the [Config.LanguageServers] of a host whose only model is m:
// none for a script, so that what it is offered is the same on every machine.
func LanguageServersFor(m model.Provider) []LanguageServer {
	if m != nil && m.Scripted() {
		return []LanguageServer{}
	}
	return nil
}

// Seed is what a deployment of several hosts begins with.
type Seed interface {
	// Plant puts it into empty streams, and what a host keeps beside them into
	// dir. It goes on where an interrupted call has ended.
	Plant(ctx context.Context, b *broker.Broker, dir *datadir.Dir) error
}

// Config says how a host runs. Only Data and Model are required.
type Config struct {
	// Data is the data directory; it is created if absent.
	Data string

	// Secrets are values, as "NAME=VALUE", that go into no log, prompt, turn or
	// change: see package redact for which of them count.
	Secrets []string

	// Listen is the address for clients. Empty means that only this process
	// can connect.
	Listen string

	// Join makes a new data directory that of a host of the join file's
	// deployment. A directory that has joined needs it no more.
	Join *datadir.Join

	// Cluster says where the host meets the others of its cluster. Nil means
	// where it did at the last start of the data directory; for a directory of
	// a host that is alone it must be nil.
	Cluster *Cluster

	// External says that the host runs on NATS servers that somebody else runs.
	// Listen, Join and Cluster then mean nothing.
	External *External

	// Seed is the backup that the deployment begins with, for a host that has it,
	// where the join file says that there is one. Nil waits for the host that
	// has it.
	Seed Seed

	// HTTP is the address for HTTP, HOST:PORT; empty serves none.
	HTTP string

	// HTTPIfFree goes on without HTTP, and says so, when its address is taken.
	HTTPIfFree bool

	// Certificate and Key are files of a certificate to show, on every address.
	// Empty means that of the data directory, on addresses that are not
	// loopback.
	Certificate, Key string

	// Insecure opens ports to the network without TLS, loudly.
	Insecure bool

	// HTTPHosts are more names by which clients may ask for HTTP, NAME or
	// NAME:PORT: those of a proxy in front.
	HTTPHosts []string

	// RequireAuth refuses clients without credentials.
	RequireAuth bool

	// Projects are registered at the start, beside those that were before.
	Projects []Project

	// Held says whether the work of a bead waits as long as this host runs, without costing
	// anything: for a host that is there for one goal. It may block until it knows, or ctx
	// ends. Nil holds nothing.
	Held func(ctx context.Context, bead string) bool

	// Reporting has the rules of error reports for all projects that have none
	// of their own, those included that were registered before. Nil means the
	// built-in rules for those in Projects, and leaves the others as they are.
	Reporting *project.Reporting

	// CheckEvery is how often what is stored is checked beside the running host.
	// Zero means an hour, or more where a check takes long.
	CheckEvery time.Duration

	// Now says what the wall clock says. Nil means [time.Now]; another one is for
	// tests.
	Now func() time.Time

	// Model answers for every role that Models has no other for.
	Model model.Provider

	// Models answer for the roles that they are named by.
	Models map[string]model.Provider

	// Tape records what models answer and what tools give. Nil records nothing.
	Tape *recording.Writer

	// Tiers answer for phases that ask for a model of that tier, 1 to 3 (the
	// strongest), where there is one.
	Tiers map[int]model.Provider

	// Processes are given to every project beside those that come with Loom, and
	// in place of those of their names. Nil means none.
	Processes *processes.Library

	// Worker, if it is set, does the work of agents in the place of models and
	// tools. It is for measuring everything around them.
	Worker actors.Worker

	// Format is what the host reads and says that it reads, for tests of upgrades.
	// The zero value is all that this build can.
	Format format.Build

	// Unsandboxed lets tools, checks and hooks start processes on this machine
	// as it is. Without it they run in the sandbox, and where there is none
	// they are refused.
	Unsandboxed bool

	// Roles are who can work. Nil means the built-in ones. Every host of a
	// deployment should have the same.
	Roles *roles.Set

	// MCP are files that name servers of the Model Context Protocol, beside the
	// .mcp.json of each project's repository. None of them is used that the
	// operator has not trusted.
	MCP []string

	// SandboxRead are files and directories that commands in the sandbox may
	// read beside the system's own: toolchains in odd places. What is not there, the
	// home directory, and what overlaps Data are refused.
	SandboxRead []string

	// SandboxLimit is the most that commands in the sandbox may use, whatever their
	// role asks for. What is not said is as in roles.DefaultSandbox.
	SandboxLimit roles.Sandbox

	// LanguageServers are those that agents may ask what is wrong with files. Nil
	// means tool.LanguageServers.
	LanguageServers []tool.LanguageServer

	// Sources are what agents may ask outside of their workspaces.
	Sources Sources

	// Agents is how many agents of a role run here; a role that is not named
	// has as many as its file says. Zero agents of a role is allowed.
	Agents map[string]int

	// Labels are what this host is or has, by which roles can be confined to
	// hosts: keys and values are tokens.
	Labels map[string]string

	// Grace is how long work of the configured projects waits for an agent of
	// its role to appear before the CEO is asked. Zero means 2 minutes.
	Grace time.Duration

	// Crashes is how often agents may crash at one attempt of the configured
	// projects before it ends as failed. Zero means 3; 100 is the most.
	Crashes int

	// Train is the most changes of a configured project that land together, tested
	// as one. Zero means 10, one has each land by itself, 50 is the most. A change
	// that nobody waits with lands by itself in any case.
	Train int

	// Budget is what each configured project may spend, from its beginning: tokens
	// and money. Nil bounds nothing.
	Budget *loomv1.Budget

	// BeadBudget is what each bead of a configured project may spend that has no budget
	// of tokens or money of its own, and DayBudget what each project may spend on one
	// day in UTC: tokens and money. Nil bounds nothing.
	BeadBudget, DayBudget *loomv1.Budget

	// CEOKey is the path of the CEO's key, made if it is absent. Empty means
	// the user's configuration directory.
	CEOKey string

	// LockLease is how long a commit lock lasts without renewal. Zero means
	// 5 minutes; less than a second is an error.
	LockLease time.Duration

	// HookTimeout bounds each hook of a repository. Zero means 5 minutes.
	HookTimeout time.Duration

	// SnapshotEvery is after how many events a project's state is saved. Zero
	// means 2,000.
	SnapshotEvery int

	// LeastFree is how many bytes of the data directory's disk must be free,
	// at most a tenth of it, before new work is taken. Zero means 512 MiB.
	LeastFree uint64

	// ProjectDisk is how many bytes a project may have in the data directory:
	// worktrees, its repository's copy, caches and setups. From there on nothing
	// new is taken for it. Zero means 20 GiB.
	ProjectDisk uint64

	// Free tells how many bytes of a disk are free, and how many there are. Nil
	// asks the system; it is for tests.
	Free func(path string) (free, total uint64, err error)

	// Told hears what the agents of a leaf host do, whom no notices tell of the deployment's
	// work. Nil means that nobody does; other hosts do not heed it.
	Told actors.Told
	// Logger receives what the operator should know. Nil discards it.
	Logger *slog.Logger
}

// keyPath is where the CEO's key is.
func (c Config) keyPath() (string, error) {
	if c.CEOKey != "" {
		return filepath.Abs(c.CEOKey)
	}
	return ceokey.DefaultPath()
}

// check reports all that is wrong at once.
func (c Config) check() error {
	var errs []*fault.Error
	add := func(e *fault.Error) { errs = append(errs, e) }
	if c.Data == "" {
		add(fault.New("usage/argument", "no data directory").At("data"))
	}
	if c.Model == nil {
		add(fault.New("usage/argument", "no model").At("model"))
	}
	key, _ := c.keyPath()
	commands := c.commands(c.Data)
	errs = append(errs, commands.Check(key)...)
	if c.LockLease < 0 || c.LockLease > 0 && c.LockLease < time.Second {
		add(fault.New("usage/argument", "a lease of less than a second").At("lock lease").Got(c.LockLease.String()))
	}
	if c.Grace < 0 {
		add(fault.New("usage/argument", "nothing waits for less than no time").At("grace").Got(c.Grace.String()))
	}
	if c.Crashes < 0 || c.Crashes > project.MaxCrashes {
		add(fault.New("usage/argument", "an attempt ends after %d crashes, where 0 to %d are possible", c.Crashes, project.MaxCrashes).At("crashes"))
	}
	if c.Train < 0 || c.Train > project.MaxTrain {
		add(fault.New("usage/argument", "a train of %d changes, where 1 to %d are possible", c.Train, project.MaxTrain).At("train"))
	}
	errs = append(errs, c.checkNamed()...)
	if c.HookTimeout < 0 {
		add(fault.New("usage/argument", "a hook cannot have less than no time").At("hook timeout").Got(c.HookTimeout.String()))
	}
	errs = append(errs, checkAgents(c.Agents, c.roles())...)
	if _, err := c.Sources.open(); err != nil {
		add(fault.From(err))
	}
	if err := staffing.CheckLabels(c.Labels); err != nil {
		add(fault.From(err).At("label"))
	}
	seen := map[string]bool{}
	for _, p := range c.Projects {
		if seen[p.ID] {
			add(fault.New("usage/argument", "project %q is named twice", p.ID).At("project"))
		}
		seen[p.ID] = true
		errs = append(errs, c.checkProject(p.Registration())...)
	}
	return fault.Join(errs)
}

// checkProject reports all that is wrong with a project before anybody looks at its
// repository.
func (c Config) checkProject(p *loomv1.ProjectConfig) []*fault.Error {
	commands := c.commands(c.Data)
	said := proto.CloneOf(p)
	if abs, err := filepath.Abs(p.Repository); err == nil {
		said.Repository = abs
	}
	errs := fault.All(project.CheckConfig(said))
	return slices.Concat(errs, commands.CheckRegistries(p), isolation.CheckKept(p))
}

// commands says how what agents run is kept apart, from a data directory among others.
func (c Config) commands(data string) isolation.Commands {
	return isolation.Commands{Data: data, Unsandboxed: c.Unsandboxed, Read: c.SandboxRead, Limits: c.SandboxLimit}
}

func (c Config) roles() *roles.Set {
	if c.Roles != nil {
		return c.Roles
	}
	return roles.Builtin()
}

// log is the logger, without the secrets that it is given.
func (c Config) log(s *redact.Secrets) *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(s.Handler(c.Logger.Handler()))
}
