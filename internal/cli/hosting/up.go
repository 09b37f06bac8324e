package hosting

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/softmemory"
	"github.com/loomrun/loom/internal/cli/cluster"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/models"
	cliproject "github.com/loomrun/loom/internal/cli/project"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/roles"
)

// Up returns the command of that name.
func (a *Commands) Up() *cobra.Command {
	c := host.Config{}
	var budget projectLimits
	var projects, checks, setups, reads, makes, registries, processes, routes, remotes, patches, sources, servers, namespaces, left []string
	var limits map[string]string
	var disk uint64
	chosen := models.Models{Console: a.Console, Later: true}
	var closed, leaf bool
	var record string
	var joining cluster.Joining
	cmd := &cobra.Command{
		Use: "up [flags]", Short: "run a host",
		Long: `Up runs a host until it is interrupted. After Ctrl-C or kill -9 the next start
has the same flags, kept in remembered.toml. Without a model work waits.
Clients on loopback may submit and read notices; others need credentials.`,
		Example: "  loom up --project shop=/src/shop --model openai:gpt-5",
		Args:    console.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			said := a.ToRemember(cmd.Flags())
			if err := FillProjects(&c, projects, checks, setups, reads, makes, registries, namespaces, left); err != nil {
				return err
			}
			if err := fillLanguageServers(&c, servers); err != nil {
				return err
			}
			if err := budget.fill(&c); err != nil {
				return err
			}
			if err := fillRemotes(&c, remotes); err != nil {
				return err
			}
			if err := fillProcesses(&c, processes); err != nil {
				return err
			}
			if err := fillPatches(&c, patches); err != nil {
				return err
			}
			if err := cliproject.New(a.Console).FillReporting(&c, routes); err != nil {
				return err
			}
			var err error
			c.ProjectDisk = disk << 20
			if c.SandboxLimit, err = roles.ParseSandbox(limits); err != nil {
				return err
			}
			if closed {
				c.Listen = ""
			}
			fillHTTP(&c, cmd.Flags().Changed("http"))
			c.Roles = a.Known
			if !c.Unsandboxed {
				_ = host.GroupCommands() // "loom doctor" says why not
			}
			if err := chosen.Open(&c, a.RoleSet()); err != nil {
				return err
			}
			if leaf {
				if err := a.fillSources(&c, sources); err != nil {
					return err
				}
				c.Data, c.Logger, c.Secrets = a.Data, a.logger(), models.New(a.Console).Confidential()
				return a.upLeaf(cmd, c, said)
			}
			if err := cluster.New(a.Console).FillExternal(cmd, &c); err != nil {
				return err
			}
			if err := joining.Fill(&c); err != nil {
				return err
			}
			if err := a.fillSources(&c, sources); err != nil {
				return err
			}
			c.Data, c.Logger, c.Secrets = a.Data, a.logger(), models.New(a.Console).Confidential()
			return models.New(a.Console).Recorded(record, "up", c.Model, func(w *recording.Writer) error {
				c.Tape = w
				return a.runHost(cmd.Context(), c, func() { a.remember(said, c.Secrets) })
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&projects, "project", nil, "project, `NAME=PATH` or NAME=PATH@BRANCH, repeatable")
	f.StringArrayVar(&checks, "check", nil, "`NAME=COMMAND` that a project's work must pass")
	f.StringArrayVar(&setups, "setup", nil, "`NAME=COMMAND` that makes a checkout ready for its own code")
	_ = f.MarkHidden("setup") // docs/setup.md says what it is
	f.StringArrayVar(&reads, "setup-reads", nil, "`NAME=PATH` that the result of a project's setup depends on")
	_ = f.MarkHidden("setup-reads")
	f.StringArrayVar(&makes, "setup-makes", nil, "`NAME=PATH` of a directory that a project's setup makes, to be kept")
	_ = f.MarkHidden("setup-makes")
	f.StringArrayVar(&registries, "setup-registry", nil, "`NAME=HOST` that a project's setup may reach")
	_ = f.MarkHidden("setup-registry")
	f.StringArrayVar(&namespaces, "memory", nil, "`NAME=NAMESPACE` shared/NAME that a project shares its memory under")
	_ = f.MarkHidden("memory")
	f.StringArrayVar(&left, "operators-answer", nil, "`NAME=WHAT` a project leaves to operators: questions, permissions or none")
	_ = f.MarkHidden("operators-answer") // docs/security.md says what it is
	f.StringArrayVar(&remotes, "push", nil, "remote or URL that work lands on first, `NAME=REMOTE`")
	f.StringArrayVar(&processes, "process-for", nil, "process of what names none, `NAME=[RULE=]PROCESS`")
	_ = f.MarkHidden("process-for") // docs/operating.md says what it is
	f.StringArrayVar(&patches, "patch", nil, "what a change may contain, `NAME=KIND=LEVEL`")
	_ = f.MarkHidden("patch") // docs/operating.md has the table
	f.StringArrayVar(&routes, "route-file", nil, "routing rules of error reports, `[NAME=]FILE`")
	f.StringVar(&c.Listen, "listen", host.DefaultListen, "`HOST:PORT` for clients")
	f.StringVar(&c.HTTP, "http", host.DefaultHTTP, "`HOST:PORT` of HTTP, or off (default: $LOOM_HTTP)")
	f.BoolVar(&closed, "no-listen", false, "open no port")
	f.StringVar(&c.Certificate, "tls-cert", "", "certificate `FILE` to show (see \"loom auth tls\")")
	f.StringVar(&c.Key, "tls-key", "", "`FILE` of its key")
	f.BoolVar(&c.Insecure, "insecure-network", false, "open ports to the network without TLS")
	f.StringArrayVar(&c.HTTPHosts, "http-host", nil, "`NAME` of a proxy in front of HTTP, too")
	f.BoolVar(&c.RequireAuth, "require-auth", false, "refuse clients without credentials on loopback too")
	f.BoolVar(&leaf, "agents-only", false, "only run agents, with --creds of a worker")
	joining.Flags(f)
	chosen.Flags(f)
	models.RecordFlag(f, &record)
	f.BoolVar(&c.Unsandboxed, "unsandboxed", false, "run tools, checks and hooks without a sandbox")
	f.StringArrayVar(&c.MCP, "mcp", nil, "`FILE` that names servers of tools, as .mcp.json does")
	f.StringArrayVar(&c.SandboxRead, "sandbox-read", nil, "`PATH` that the sandbox may read, too")
	f.StringToStringVar(&limits, "sandbox-limit", nil, "the most of a limit in the sandbox, `KEY=VALUE,...`")
	_ = f.MarkHidden("sandbox-limit") // docs/operating.md says what it is
	f.StringArrayVar(&servers, "language-server", nil, "who knows files, `.EXT,...=COMMAND`")
	_ = f.MarkHidden("language-server")
	f.StringArrayVar(&sources, "source", nil, "what agents may ask, `KIND=VALUE`: web, search, edgar")
	f.StringToIntVar(&c.Agents, "agents", nil, "agents of a role here, `ROLE=N,...`")
	f.StringToStringVar(&c.Labels, "label", nil, "what this host is, for \"loom scale\", `KEY=VALUE,...`")
	f.DurationVar(&c.LockLease, "lock-lease", 5*time.Minute, "`TIME` of a commit lock, at least 1s")
	f.DurationVar(&c.HookTimeout, "hook-timeout", 5*time.Minute, "`TIME` that a hook may take")
	f.IntVar(&c.Crashes, "crashes", 0, "agents' crashes at an attempt before it ends as failed: `N` (default 3)")
	_ = f.MarkHidden("crashes")
	f.DurationVar(&c.Grace, "grace", 0, "`TIME` that work waits for an absent role (default 2m)")
	budget.flags(f)
	f.IntVar(&c.Train, "train", project.DefaultTrain, "land up to `N` changes tested as one")
	f.Uint64Var(&disk, "project-disk", 0, "`MIB` that a project may have on this disk (default 20480)")
	_ = f.MarkHidden("project-disk")
	f.StringVar(&c.CEOKey, "key", "", "the CEO's key `FILE`, made if absent (default: yours)")
	return cmd
}

// fillHTTP decides where HTTP is served: an address that nobody asked for is
// used only if it is free.
func fillHTTP(c *host.Config, asked bool) {
	c.HTTPIfFree = !asked
	if c.HTTP == "off" {
		c.HTTP = ""
	}
}

// FillProjects fills in the projects that flags name, with what is said of each.
func FillProjects(c *host.Config, projects, checks, setups, reads, makes, registries, namespaces, left []string) error {
	for _, s := range projects {
		name, path, ok := strings.Cut(s, "=")
		if !ok || path == "" {
			return fault.New("usage/argument", "not NAME=PATH").At("--project").Got(s)
		}
		path, branch := console.CutBranch(path)
		c.Projects = append(c.Projects, host.Project{ID: name, Repository: path, Branch: branch})
	}
	for _, given := range []struct {
		flag, what string
		values     []string
		of         func(*host.Project) *[]string
	}{
		{"--check", "COMMAND", checks, func(p *host.Project) *[]string { return &p.Checks }},
		{"--setup", "COMMAND", setups, func(p *host.Project) *[]string { return &p.Setup }},
		{"--setup-reads", "PATH", reads, func(p *host.Project) *[]string { return &p.SetupReads }},
		{"--setup-makes", "PATH", makes, func(p *host.Project) *[]string { return &p.SetupMakes }},
		{"--setup-registry", "HOST", registries, func(p *host.Project) *[]string { return &p.Registries }},
		{"--memory", "NAMESPACE", namespaces, func(p *host.Project) *[]string { return &p.Memory }},
		{"--operators-answer", "WHAT", left, func(p *host.Project) *[]string { return &p.OperatorsAnswer }},
	} {
		for _, s := range given.values {
			name, value, ok := strings.Cut(s, "=")
			if !ok || value == "" {
				return fault.New("usage/argument", "not NAME=%s", given.what).At(given.flag).Got(s).
					Want("NAME is that of a --project, as in %s shop=%s", given.flag, given.what)
			}
			i := slices.IndexFunc(c.Projects, func(p host.Project) bool { return p.ID == name })
			if i < 0 {
				return fault.New("usage/argument", "a value for project %q, which no --project names", name).At(given.flag).Got(value)
			}
			list := given.of(&c.Projects[i])
			*list = append(*list, value)
		}
	}
	return nil
}

// fillRemotes gives projects the remotes that they land on.
func fillRemotes(c *host.Config, remotes []string) error {
	for _, s := range remotes {
		name, remote, ok := strings.Cut(s, "=")
		if !ok || remote == "" {
			return fault.New("usage/argument", "not NAME=REMOTE").At("--push").Got(s)
		}
		i := slices.IndexFunc(c.Projects, func(p host.Project) bool { return p.ID == name })
		if i < 0 {
			return fault.New("usage/argument", "a remote for project %q, which no --project names", name).At("--push")
		}
		c.Projects[i].Remote = remote
	}
	return nil
}

// fillProcesses gives projects the processes of submissions that name none.
func fillProcesses(c *host.Config, rules []string) error {
	for _, s := range rules {
		name, rule, _ := strings.Cut(s, "=")
		i := slices.IndexFunc(c.Projects, func(p host.Project) bool { return p.ID == name })
		if i < 0 {
			return fault.New("usage/argument", "a process for project %q, which no --project names", name).At("--process-for")
		}
		r, err := project.ParseProcess(rule)
		if err != nil {
			return fault.From(err).At("--process-for").Want("NAME=PROCESS, NAME=task=PROCESS, NAME=bug=PROCESS or NAME=label:LABEL=PROCESS")
		}
		c.Projects[i].Processes = append(c.Projects[i].Processes, r)
	}
	return nil
}

// fillPatches reads what becomes of what changes contain, project by project.
func fillPatches(c *host.Config, patches []string) error {
	settings := map[string][]string{}
	for _, s := range patches {
		name, setting, ok := strings.Cut(s, "=")
		if !ok {
			return fault.New("usage/argument", "not NAME=KIND=LEVEL").At("--patch").Got(s)
		}
		settings[name] = append(settings[name], setting)
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		i := slices.IndexFunc(c.Projects, func(p host.Project) bool { return p.ID == name })
		if i < 0 {
			return fault.New("usage/argument", "a policy for project %q, which no --project names", name).At("--patch")
		}
		var err error
		if c.Projects[i].Patch, err = patchscan.ParsePolicy(settings[name]); err != nil {
			return fault.From(err).At("--patch")
		}
	}
	return nil
}

// runHost runs a host until ctx ends, and the one that follows it when the disk
// was full.
func (a *Commands) runHost(ctx context.Context, c host.Config, remember func()) error {
	softmemory.Keep()
	began := false
	err := host.Run(ctx, c, func(h *host.Host, again bool) {
		began = true
		if again {
			fmt.Fprintf(a.Err, "serves again, up in %d ms\n", h.Startup().Milliseconds())
			return
		}
		a.greet(h, c)
		remember()
	})
	if began {
		fmt.Fprintln(a.Err, "stopped cleanly")
	}
	return err
}

func (a *Commands) greet(h *host.Host, c host.Config) {
	w := a.Err
	fmt.Fprintf(w, "loom %s, deployment %s, data in %s, up in %d ms\n", host.Version, h.Deployment(), c.Data, h.Startup().Milliseconds())
	if url := h.URL(); url != "" {
		fmt.Fprintf(w, "clients connect to %s\n", url)
		if h.Anonymous() {
			fmt.Fprintln(w, "  without credentials they may submit and read notices, and nothing else (--require-auth refuses them)")
		}
	} else {
		fmt.Fprintln(w, "no port is open: only this process can connect")
	}
	openText(w, h)
	if url := h.HTTP(); url != "" {
		fmt.Fprintf(w, "HTTP at %s; \"loom auth token create\" makes a token for it\n", url)
	}
	if h.MadeKey() {
		fmt.Fprintln(w, "made the CEO's key; \"loom auth ceo\" shows where: whoever can read that file can approve")
	}
	modelText(w, c.Model)
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		fmt.Fprintf(w, "  %s: %s\n", name, c.Models[name].Name())
	}
	fmt.Fprintln(w, keptApart(c, h.Sandboxed()))
	for _, p := range c.Projects {
		if len(p.Checks) == 0 {
			fmt.Fprintf(w, "project %s names no --check: its verifications run only what QA's triage names\n", p.ID)
		}
	}
	fmt.Fprintln(w, "Ctrl-C stops; work goes on at the next start")
}

// modelText says which model answers where roles have none of their own.
func modelText(w io.Writer, m model.Provider) {
	if _, none := m.(model.None); none {
		fmt.Fprintln(w, "no model is named: what is submitted waits until a start with --model MODEL (anthropic:MODEL, google:MODEL, openai:MODEL)")
		return
	}
	fmt.Fprintf(w, "model %s", m.Name())
	if by := models.StandIn(m); by != "" {
		fmt.Fprintf(w, " (%s that stands in for a language model)", by)
	}
	fmt.Fprintln(w)
}

// openText says what a port that is open to the network has, and lacks.
func openText(w io.Writer, h *host.Host) {
	for _, address := range slices.Sorted(maps.Keys(h.Open())) {
		if h.Open()[address] {
			fmt.Fprintf(w, "%s is open to the network, with TLS; \"loom auth user add\" and \"loom auth token create\" let somebody in\n", address)
		} else {
			fmt.Fprintf(w, "%s IS OPEN TO THE NETWORK WITHOUT TLS (--insecure-network): all that is said there can be read and changed on its way\n", address)
		}
	}
}

// logger writes what the operator should know to standard error.
func (a *Commands) logger() *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if a.JSON {
		return slog.New(slog.NewJSONHandler(a.Err, o))
	}
	return slog.New(slog.NewTextHandler(a.Err, o))
}

// keptApart says how a host keeps what agents run from its machine.
func keptApart(c host.Config, sandboxed bool) string {
	switch {
	case c.Unsandboxed:
		return "tools, checks and hooks run on this machine as it is (--unsandboxed)"
	case !sandboxed:
		return "there is no sandbox on this system: tools, checks and hooks that start processes are refused (--unsandboxed allows them)"
	}
	said := "tools, checks and hooks run in a sandbox, without the network"
	if c.SandboxLimit.Network == roles.NetworkHost {
		said = "tools, checks and hooks run in a sandbox, with the network for roles that ask for it"
	}
	if host.Grouped() {
		said += ", each in a control group of its own"
	}
	return said
}
