package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/model"
	"github.com/loomrun/loom/internal/model/provider"
)

func (a *app) up() *cobra.Command {
	c := host.Config{}
	var projects, checks []string
	var spec string
	var closed bool
	cmd := &cobra.Command{
		Use: "up [flags]", Aliases: []string{"host"}, Short: "run a host",
		Long: `Up runs a host until it is interrupted: an embedded NATS server with fsync on
every acknowledged write, the projects' journals, and agents of every role. It
stops cleanly on Ctrl-C; agents give back what they work on, and it goes on from
there at the next start. After kill -9 it does the same.

On loopback, a client without credentials may submit and read notices, and
nothing else. Without --unsandboxed tools, checks and hooks start no processes,
because there is no sandbox yet.`,
		Example: "  loom up --project shop=/src/shop --model openai:gpt-5 --unsandboxed\n  loom up --no-listen",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillProjects(&c, projects, checks); err != nil {
				return err
			}
			if closed {
				c.Listen = ""
			}
			var err error
			if c.Model, err = openForHost(spec); err != nil {
				return err
			}
			c.Data, c.Logger = a.data, a.logger()
			return a.runHost(cmd.Context(), c)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&projects, "project", nil, "register a project, `NAME=PATH` or NAME=PATH@BRANCH; may be given again")
	f.StringArrayVar(&checks, "check", nil, "command that every verification of a project must see pass, `NAME=COMMAND`; may be given again")
	f.StringVar(&c.Listen, "listen", host.DefaultListen, "where clients connect, `HOST:PORT`; port 0 chooses a free one")
	f.BoolVar(&closed, "no-listen", false, "open no port")
	f.BoolVar(&c.RequireAuth, "require-auth", false, "refuse clients without credentials on loopback too")
	f.StringVar(&spec, "model", "", "`MODEL` that answers: anthropic:MODEL, openai:MODEL or scripted:NAME (default: $LOOM_MODEL)")
	f.BoolVar(&c.Unsandboxed, "unsandboxed", false, "let tools, checks and hooks run on this machine as it is")
	f.StringToIntVar(&c.Agents, "agents", nil, "agents of a role on this host, `ROLE=N`, comma-separated")
	f.DurationVar(&c.LockLease, "lock-lease", 5*time.Minute, "`TIME` that a commit lock lasts without renewal, at least 1s")
	f.DurationVar(&c.HookTimeout, "hook-timeout", 5*time.Minute, "`TIME` that each hook of a repository may take")
	f.StringVar(&c.CEOKey, "key", "", "the CEO's key `FILE`, made if it is absent (default: in your configuration directory)")
	return cmd
}

func openForHost(spec string) (model.Provider, error) {
	if spec == "" {
		spec = os.Getenv("LOOM_MODEL")
	}
	if spec == "" {
		return nil, fault.New("usage/argument", "no model is named").At("--model").Want("anthropic:MODEL, openai:MODEL, or scripted:demo for the demo's repository")
	}
	return provider.Open(spec, os.Getenv)
}

func fillProjects(c *host.Config, projects, checks []string) error {
	byName := map[string][]string{}
	for _, s := range checks {
		name, command, ok := strings.Cut(s, "=")
		if !ok || command == "" {
			return fault.New("usage/argument", "not NAME=COMMAND").At("--check").Got(s)
		}
		byName[name] = append(byName[name], command)
	}
	for _, s := range projects {
		name, path, ok := strings.Cut(s, "=")
		if !ok || path == "" {
			return fault.New("usage/argument", "not NAME=PATH").At("--project").Got(s)
		}
		path, branch := cutBranch(path)
		c.Projects = append(c.Projects, host.Project{ID: name, Repository: path, Branch: branch, Checks: byName[name]})
		delete(byName, name)
	}
	for name := range byName {
		return fault.New("usage/argument", "a check for project %q, which no --project names", name).At("--check")
	}
	return nil
}

// cutBranch splits PATH@BRANCH; an @ before the last slash is the path's own.
func cutBranch(s string) (path, branch string) {
	if i := strings.LastIndexByte(s, '@'); i > strings.LastIndexByte(s, '/') {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// stopWithin bounds a clean stop.
const stopWithin = 20 * time.Second

func (a *app) runHost(ctx context.Context, c host.Config) error {
	h, err := host.Start(ctx, c)
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		h.Stop(stop)
		fmt.Fprintln(a.err, "stopped cleanly")
	}()
	a.greet(h, c)
	select {
	case <-ctx.Done():
		return nil
	case <-h.Done():
		return fault.New("host/unavailable", "the embedded server stopped by itself; the log above says why")
	}
}

func (a *app) greet(h *host.Host, c host.Config) {
	w := a.err
	fmt.Fprintf(w, "loom %s, deployment %s, data in %s, up in %d ms\n", host.Version, h.Deployment(), c.Data, h.Startup().Milliseconds())
	if url := h.URL(); url != "" {
		fmt.Fprintf(w, "clients connect to %s\n", url)
		if h.Anonymous() {
			fmt.Fprintln(w, "  without credentials they may submit and read notices, and nothing else (--require-auth refuses them)")
		}
	} else {
		fmt.Fprintln(w, "no port is open: only this process can connect")
	}
	if h.MadeKey() {
		fmt.Fprintln(w, "made the CEO's key; \"loom auth ceo\" shows where: whoever can read that file can approve")
	}
	fmt.Fprintf(w, "model %s", c.Model.Name())
	if c.Model.Scripted() {
		fmt.Fprint(w, " (a script that stands in for a language model)")
	}
	fmt.Fprintln(w)
	if c.Unsandboxed {
		fmt.Fprintln(w, "tools, checks and hooks run on this machine as it is (--unsandboxed)")
	} else {
		fmt.Fprintln(w, "there is no sandbox yet: tools, checks and hooks that start processes are refused (--unsandboxed allows them)")
	}
	for _, p := range c.Projects {
		if len(p.Checks) == 0 {
			fmt.Fprintf(w, "project %s names no --check: its verifications run only what QA's triage names\n", p.ID)
		}
	}
	fmt.Fprintln(w, "Ctrl-C stops; work goes on at the next start")
}

// logger writes what the operator should know to standard error.
func (a *app) logger() *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if a.json {
		return slog.New(slog.NewJSONHandler(a.err, o))
	}
	return slog.New(slog.NewTextHandler(a.err, o))
}
