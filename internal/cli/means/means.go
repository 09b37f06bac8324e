// Package means reads the flags that say what a host works with, for every command that starts one.
package means

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/models"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/disk"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/roles"
)

// Means are what a host works with: models, tools and what they reach, the
// sandbox, how many agents there are, how long things may take, and what work
// may cost. They are the same for a host that serves and for one errand.
type Means struct {
	console         *console.Console
	models          models.Models
	config          host.Config // what flags are read into as it is
	sources         []string
	languageServers []string
	limits          map[string]string
	disk            uint64
	budgets         budgets
	record          string
}

// New returns means that no flag has said anything of yet. With later a model
// may be named later: until then work waits.
func New(c *console.Console, later bool) *Means {
	return &Means{console: c, models: models.Models{Console: c, Later: later}}
}

// Flags adds all flags of means. Those that few people need are hidden;
// docs/operating.md says what they are.
func (m *Means) Flags(f *pflag.FlagSet) {
	c := &m.config
	m.models.Flags(f)
	models.RecordFlag(f, &m.record)
	f.BoolVar(&c.Unsandboxed, "unsandboxed", false, "run tools, checks and hooks without a sandbox")
	f.StringArrayVar(&c.MCP, "mcp", nil, "`FILE` that names servers of tools, as .mcp.json does")
	SourceFlag(f, &m.sources)
	f.StringArrayVar(&m.languageServers, "language-server", nil, "who knows files, `.EXT,...=COMMAND`")
	f.StringArrayVar(&c.SandboxRead, "sandbox-read", nil, "`PATH` that the sandbox may read, too")
	f.StringToStringVar(&m.limits, "sandbox-limit", nil, "the most of a limit in the sandbox, `KEY=VALUE,...`")
	f.StringToIntVar(&c.Agents, "agents", nil, "agents of a role here, `ROLE=N,...`")
	f.DurationVar(&c.Grace, "grace", project.DefaultGrace, "`TIME` to wait for an absent role")
	f.IntVar(&c.Crashes, "crashes", workflow.DefaultCrashes, "agents' crashes at an attempt before it ends as failed: `N`")
	f.DurationVar(&c.LockLease, "lock-lease", 5*time.Minute, "`TIME` of a commit lock, at least 1s")
	f.DurationVar(&c.HookTimeout, "hook-timeout", 5*time.Minute, "`TIME` that a hook may take")
	f.IntVar(&c.Train, "train", project.DefaultTrain, "land up to `N` changes tested as one")
	f.Uint64Var(&m.disk, "project-disk", disk.DefaultLimit>>20, "`MIB` that a project may have on this disk")
	m.budgets.add(f)
	f.StringVar(&c.CEOKey, "key", "", "the CEO's key `FILE`, made if absent (default: yours)")
	Hide(f, "language-server", "sandbox-limit", "crashes", "lock-lease", "hook-timeout", "project-disk")
}

// Hide leaves flags out of a command's help.
func Hide(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = f.MarkHidden(name)
	}
}

// Ready readies this process for the commands of a host.
func (m *Means) Ready() {
	if !m.config.Unsandboxed {
		_ = isolation.GroupCommands() // "loom doctor" says why not
	}
}

// Fill puts what the flags say into a host's configuration, with the roles and the
// secrets of this machine. What stands in it otherwise is left. All that is wrong is
// reported at once.
func (m *Means) Fill(c *host.Config) error {
	said := &m.config
	c.Unsandboxed, c.MCP, c.SandboxRead, c.CEOKey = said.Unsandboxed, said.MCP, said.SandboxRead, said.CEOKey
	c.Agents, c.Crashes, c.Train, c.ProjectDisk = said.Agents, said.Crashes, said.Train, m.disk<<20
	c.Grace, c.LockLease, c.HookTimeout = said.Grace, said.LockLease, said.HookTimeout
	c.Roles = m.console.Known
	c.Data, c.Secrets = m.console.Data, models.New(m.console).Confidential()
	errs := fault.All(fillLanguageServers(c, m.languageServers))
	var err error
	c.SandboxLimit, err = roles.ParseSandbox(m.limits)
	errs = append(errs, fault.All(err)...)
	errs = append(errs, fault.All(m.models.Open(c, m.console.RoleSet()))...)
	errs = append(errs, fault.All(m.budgets.fill(c))...)
	if said.Train == 0 { // who says nothing has the flag's default
		errs = append(errs, fault.New("usage/argument", "a train of no change, where 1 to %d are possible", project.MaxTrain).At("--train").Want("1 lands each change by itself"))
	}
	c.Sources, err = Sources(m.console, m.sources)
	errs = append(errs, fault.All(err)...)
	return fault.Join(errs)
}

// Recorded has do run a host of this configuration, with a recording of what
// models and tools say if one is wanted.
func (m *Means) Recorded(from string, c *host.Config, do func() error) error {
	return models.New(m.console).Recorded(m.record, from, c.Model, func(w *recording.Writer) error {
		c.Tape = w
		return do()
	})
}
