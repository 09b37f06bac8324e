package hosting

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/softmemory"
	"github.com/loomrun/loom/internal/cli/board"
	"github.com/loomrun/loom/internal/cli/cluster"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/means"
	"github.com/loomrun/loom/internal/cli/models"
	cliproject "github.com/loomrun/loom/internal/cli/project"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/roles"
)

// Up returns the command of that name.
func (a *Commands) Up() *cobra.Command {
	s := a.newStart()
	cmd := &cobra.Command{
		Use: "up [flags]", Short: "run a host",
		Long: `Up runs a host until Ctrl-C, and shows what waits for you, each open bead and
what the host does. The next start, also after kill -9, has the same flags, kept
in remembered.toml. Without a model work waits. Clients on loopback may submit
and read notices; others need credentials.`,
		Example: "  loom up --project shop=/src/shop --model openai:gpt-5",
		Args:    console.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			said := a.ToRemember(cmd.Flags())
			c, err := a.configure(s, cmd.Flags().Changed("http"))
			if err != nil {
				return err
			}
			live := board.New(a.Console, s.shown)
			a.Err = live.Err()
			c.Logger = live.Logger(a.logger(a.Err))
			s.with.Ready()
			if s.leaf {
				return a.upLeaf(cmd, c, live, said)
			}
			if err := cluster.New(a.Console).FillExternal(cmd, &c); err != nil {
				return err
			}
			return s.with.Recorded("up", &c, func() error {
				return a.runHost(cmd.Context(), c, live, func() { a.remember(said, c.Secrets) })
			})
		},
	}
	s.flags(cmd.Flags())
	return cmd
}

// runHost runs a host until ctx ends, and the one that follows it when the disk
// was full, and shows on a board what they do.
func (a *Commands) runHost(ctx context.Context, c host.Config, live *board.Board, remember func()) error {
	softmemory.Keep()
	began := false
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		live.End() // what has happened is said by a host that can still be asked
		stop()
	})()
	var last *host.Host
	err := host.Run(running, c, func(h *host.Host, again bool) {
		began, last = true, h
		if again {
			fmt.Fprintf(a.Err, "serves again, up in %d ms\n", h.Startup().Milliseconds())
		} else {
			a.greet(h, c)
			remember()
		}
		nc, err := h.Connect("operator")
		if err != nil {
			c.Logger.Warn("what the host does cannot be shown", "error", err)
			return
		}
		live.Begin(ctx, client.New(nc), board.From{Host: h.Name(), At: time.Now().Add(h.ClocksApart())})
	})
	live.End()
	if began {
		if broken := last.BrokenOff(); broken != "" {
			fmt.Fprintln(console.Prose(a.Err, 0), broken)
		}
		fmt.Fprintln(a.Err, "stopped cleanly")
	}
	return err
}

func (a *Commands) greet(h *host.Host, c host.Config) {
	w := console.Prose(a.Err, 0)
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
		fmt.Fprintf(w, "HTTP at %s; \"loom open\" signs a browser in, \"loom auth token create\" makes a token\n", url)
	}
	if h.MadeKey() {
		fmt.Fprintln(w, "made the CEO's key; \"loom auth ceo\" shows where: whoever can read that file can approve")
	}
	modelText(w, c.Model)
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		fmt.Fprintf(w, "  %s: %s\n", name, c.Models[name].Name())
	}
	if limits := means.LimitsText(&c); limits != "" {
		fmt.Fprintln(w, limits)
	}
	fmt.Fprintln(w, keptApart(c, h.Sandboxed()))
	for _, p := range c.Projects {
		switch left, removed := h.LeftAsItWas(p.ID); {
		case h.Away(p.ID) != nil:
			fmt.Fprintf(w, "%s; its work waits: have the repository there again, or say --project %s=PATH\n", console.Printable(fault.From(h.Away(p.ID)).Error()), p.ID)
		case removed:
			fmt.Fprintf(w, "project %s was removed and takes no work: \"loom project add\", or --project here, has it do so again\n", p.ID)
		case left:
			fmt.Fprintf(w, "project %s is as \"loom project add\" has it, whatever earlier starts or files say\n", p.ID)
		case len(p.Checks) == 0:
			fmt.Fprintf(w, cliproject.Unchecked, p.ID)
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
func (a *Commands) logger(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if a.JSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
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
	if isolation.Grouped() {
		said += ", each in a control group of its own"
	}
	return said
}
