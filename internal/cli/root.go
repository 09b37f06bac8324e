// Package cli is the command line of Loom. A package below it has the verbs of one
// noun, and console what they share; this one puts them together.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/auth"
	"github.com/loomrun/loom/internal/cli/bead"
	"github.com/loomrun/loom/internal/cli/cluster"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/cowork"
	"github.com/loomrun/loom/internal/cli/data"
	"github.com/loomrun/loom/internal/cli/doc"
	"github.com/loomrun/loom/internal/cli/execution"
	"github.com/loomrun/loom/internal/cli/graph"
	"github.com/loomrun/loom/internal/cli/hosting"
	"github.com/loomrun/loom/internal/cli/key"
	"github.com/loomrun/loom/internal/cli/mcp"
	"github.com/loomrun/loom/internal/cli/memory"
	"github.com/loomrun/loom/internal/cli/notify"
	"github.com/loomrun/loom/internal/cli/pattern"
	"github.com/loomrun/loom/internal/cli/process"
	"github.com/loomrun/loom/internal/cli/project"
	"github.com/loomrun/loom/internal/cli/role"
	"github.com/loomrun/loom/internal/cli/run"
	"github.com/loomrun/loom/internal/cli/setting"
	"github.com/loomrun/loom/internal/cli/stats"
	"github.com/loomrun/loom/internal/cli/why"
	"github.com/loomrun/loom/internal/cli/workflow"
	"github.com/loomrun/loom/internal/host"
)

// Run carries out one command line and returns the status to exit with. What went
// wrong is on errOut.
func Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) fault.Exit {
	signals := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results, words := console.NewOutput(out, "standard output", cancel), console.NewOutput(errOut, "standard error", cancel)
	status := carryOut(ctx, signals, args, in, results, words)
	if words.Unread() {
		return fault.Unread
	}
	return status
}

// carryOut is Run with what notes whether its output is read; signals ends alone where
// ctx ends by a signal.
func carryOut(ctx, signals context.Context, args []string, in io.Reader, out, errOut *console.Output) fault.Exit {
	c := &console.Console{In: in, Out: out, Err: errOut, Tree: Tree, Interrupts: new(atomic.Pointer[func()])}
	root := root(c)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	begun := belowInterrupt(signals, c)
	err := root.ExecuteContext(ctx)
	begun()
	if out.Unread() {
		return fault.Unread
	}
	if lost := out.Err(); lost != nil && (err == nil || fault.From(err).Code == "internal/error") {
		err = lost
	}
	if err == nil {
		return fault.Done
	}
	var quiet console.ExitError
	if errors.As(err, &quiet) {
		return quiet.Status
	}
	if signals.Err() != nil && (errors.Is(err, context.Canceled) || fault.Status(err) == fault.Unavailable) { // who waited for a host was not answered
		fmt.Fprintln(c.Err, "interrupted")
		return fault.Interrupted
	}
	c.JSON = c.JSON || slices.Contains(args, "--json") // the flags may not have been read that far
	c.Fail(c.Whence(err))
	return fault.Status(err)
}

// belowInterrupt begins a new line as soon as ctx ends, where a person looks: a terminal
// leaves the cursor behind the "^C" that it shows. The function that it returns waits
// for that line, if it is due.
func belowInterrupt(ctx context.Context, c *console.Console) func() {
	if !console.Terminal(c.Err) {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.Interrupted()
		close(done)
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// Tree returns all commands, none of which may be carried out: they have no console.
func Tree() *cobra.Command { return root(&console.Console{}) }

func root(c *console.Console) *cobra.Command {
	root := &cobra.Command{
		Use:           "loom COMMAND",
		Short:         "A supervised team of agents, working through durable workflows on NATS.",
		Long:          "A supervised team of agents, working through durable workflows on NATS.\nNew here? \"loom demo\" runs the main job with nothing installed and no key.",
		Example:       "  loom demo\n  loom up --project shop=/src/shop\n  loom submit --project shop \"The total is wrong for orders of exactly 50.00\"",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          console.OnlyCommands,
	}
	version := root.Flags().BoolP("version", "v", false, "what this is, as \"loom version\" says it")
	_ = root.Flags().MarkHidden("version") // the verb is listed
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			return hosting.New(c).Version().RunE(cmd, args)
		}
		return cmd.Help()
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { console.Help(cmd, c.Out) })
	root.SetHelpCommand(c.Helper())
	root.SetFlagErrorFunc(console.BadFlag)
	root.PersistentFlags().StringVar(&c.Data, "data", "", "`DIR` of the host (default: $LOOM_DATA, "+defaultData()+")")
	root.PersistentFlags().StringVar(&c.Creds, "creds", "", "credentials `FILE`, for a host elsewhere (default: $LOOM_CREDS)")
	root.PersistentFlags().StringVar(&c.URL, "nats", "", "`URL` of that host (default: what the credentials say)")
	root.PersistentFlags().BoolVar(&c.JSON, "json", false, "print JSON, one value a line")
	root.PersistentFlags().StringVar(&c.Colour, "color", "auto", "`WHEN` to print in colour: auto, always or never")
	root.PersistentFlags().StringVar(&c.RolesDir, "roles", "", "`DIR` of role files, beside and in the place of the built-in ones")
	root.PersistentFlags().StringVar(&c.ConfigFile, "config", "", "configuration `FILE`, read in the place of all others")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmp.Or(console.CheckEmpty(cmd), c.CheckColour()); err != nil {
			return err
		}
		return c.Configure(cmd)
	}
	runs := run.New(c)
	hosts := hosting.New(c)
	beads := bead.New(c)
	executions := execution.New(c)
	answers := approval.New(c)
	graphs := graph.New(c)
	figures := stats.New(c)
	clusters := cluster.New(c)
	store := data.New(c)
	settings := setting.New(c)
	root.AddCommand(
		runs.Demo(), runs.Run(), cowork.New(c).Cowork(), runs.Replay(),
		hosts.Up(), hosts.Open(), hosts.Status(), hosts.Health(), hosts.Version(),
		beads.Submit(), beads.Report(), beads.Bead(),
		executions.Execution(), executions.Events(), executions.Output(),
		answers.Inbox(), answers.Approve(), answers.Reject(), answers.Answer(), answers.Override(), answers.Pause(), answers.Resume(), answers.Permission(), key.New(c).Key(),
		workflow.New(c).Workflow(process.New(c).ValidateWorkflow()),
		process.New(c).Process(run.New(c).TestProcess()),
		pattern.New(c).Pattern(),
		project.New(c).Project(),
		role.New(c).Role(),
		graphs.Graph(), graphs.Lock(),
		memory.New(c).Memory(),
		why.New(c).Why(),
		doc.New(c).Doc(),
		figures.Stats(), figures.Cost(),
		clusters.Host(), clusters.Scale(), clusters.Drain(), clusters.Cluster(),
		auth.New(c).Auth(),
		store.Verify(), store.Audit(), store.Backup(), store.Restore(), store.Retention(),
		settings.Init(func(ctx context.Context, args ...string) fault.Exit { return Run(ctx, args, c.In, c.Out, c.Err) }),
		settings.Configuration(), settings.Doctor(),
		mcp.New(c).MCP(),
		notify.New(c).Notify(),
		c.Completion(),
	)
	completeAll(c, root)
	return root
}

// defaultData is the data directory of this user's host, as help names it.
func defaultData() string {
	dir, err := host.DefaultData()
	if err != nil {
		return "none, as HOME is not set"
	}
	return console.Tilde(dir)
}
