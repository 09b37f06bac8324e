package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// OrderFlags are those of every command that the CEO signs but an answer.
type OrderFlags struct{ Reason, Key string }

// Add adds the flags.
func (f *OrderFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Reason, "reason", "", "`TEXT` that says why, for the record; required")
	cmd.Flags().StringVar(&f.Key, "key", "", "the CEO's key `FILE` (default: in your configuration directory)")
}

// Check refuses an order without a reason.
func (f *OrderFlags) Check(cmd *cobra.Command) error {
	if strings.TrimSpace(f.Reason) == "" {
		return fault.New("usage/argument", "no reason is given").At("--reason").Want("say why, for the record; %s", console.SeeHelp(cmd))
	}
	return nil
}

// Ordered is a command of the CEO for one project, and what it is about.
type Ordered struct {
	Project, About string
	Cmd            *loomv1.CeoCommand
}

// OrderAll signs commands and presents them one after the other. It says of
// each what became of it, and goes on when one is refused.
func (a *Commands) OrderAll(ctx context.Context, by *OrderFlags, done string, what func(context.Context, *client.Client, *loomv1.HostReply) ([]Ordered, error)) error {
	key, err := OpenKey(by.Key)
	if err != nil {
		return err
	}
	return a.With(ctx, func(c *client.Client) error {
		about, err := c.Host(ctx, &loomv1.HostRequest{})
		if err != nil {
			return err
		}
		list, err := what(ctx, c, about)
		if err != nil {
			return err
		}
		ceo, err := client.OpenCEO(a.Target())
		if err != nil {
			return err
		}
		defer ceo.Close()
		var errs []error
		for _, o := range list {
			err := Give(ctx, ceo, key, about.Deployment, o.Project, o.Cmd)
			errs = append(errs, a.tell(o, done, err, len(list) > 1))
		}
		return errors.Join(errs...)
	})
}

// tell says what became of a command. Among several, an error names its
// project.
func (a *Commands) tell(o Ordered, done string, err error, many bool) error {
	switch {
	case err != nil && many:
		a.Fail(fault.From(err).At("project " + o.Project))
		return console.ExitError{Status: fault.Status(err)}
	case err != nil:
		return err
	}
	o.Cmd.Project = o.Project
	return a.Print(o.Cmd, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", o.About, done) })
}

// Give signs a command for a project, to, and presents it.
func Give(ctx context.Context, ceo *client.Client, key *ceokey.Key, deployment, to string, cmd *loomv1.CeoCommand) error {
	signed, err := key.Sign(deployment, to, cmd)
	if err != nil {
		return err
	}
	return ceo.Present(ctx, verbOf(cmd), signed)
}

// verbOf is the last word of the subject that a command is presented on.
func verbOf(cmd *loomv1.CeoCommand) string {
	m := cmd.ProtoReflect()
	return string(m.WhichOneof(m.Descriptor().Oneofs().ByName("verb")).Name())
}

// executionNamed returns the execution with an id, or of the bead with that id.
func executionNamed(ctx context.Context, c *client.Client, of, id string) (*loomv1.Execution, error) {
	v, err := c.Execution(ctx, &loomv1.Query{Project: cmp.Or(of, project.Of(id)), Id: id})
	if err != nil {
		return nil, err
	}
	return v.Executions[0], nil
}

// Override returns the command of that name.
func (a *Commands) Override() *cobra.Command {
	var node string
	cmd := a.orderer("override", "go on at another node of a workflow", func(x *loomv1.Execution, reason string) *loomv1.CeoCommand {
		return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Move{Move: &loomv1.MoveExecution{Execution: x.Id, Node: node, Reason: reason}}}
	}, func() string { return "goes on at " + node })
	cmd.Long = `Override moves an execution to a node of your choice, signed with the CEO's key:
that node and what follows it begin anew, with their history kept; what else was
not done is skipped. What was asked lapses. Commit, verify and land want their
evidence as ever.`
	cmd.Example = "  loom execution show shop-1\n  loom override shop-1 --node investigate --reason \"the fault lies elsewhere\""
	cmd.Flags().StringVar(&node, "node", "", "the `NODE` to go on at; required")
	give := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if node == "" {
			return fault.New("usage/argument", "no node is named").At("--node").Want("%s", console.SeeHelp(cmd))
		}
		if err := console.CheckToken("--node", node); err != nil {
			return err
		}
		return give(cmd, args)
	}
	return cmd
}

// CloseExecution returns the command of that name.
func (a *Commands) CloseExecution() *cobra.Command {
	var now bool
	cmd := a.orderer("close", "end an execution and its bead", func(x *loomv1.Execution, reason string) *loomv1.CeoCommand {
		return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Close{Close: &loomv1.CloseExecution{Execution: x.Id, Reason: reason, Now: now}}}
	}, func() string {
		if now {
			return "closed"
		}
		return "closes as soon as no agent is in the middle of a step"
	})
	cmd.Long = `Close ends work that is under way, signed with the CEO's key: the execution, its
bead and what they asked. Nothing begins any more, and it ends when the agents
that work on it have ended their step; with --now at once. What was changed so
far is kept for 30 days, and "loom bead show" says so: "loom bead reopen BEAD
--resume" goes on with it. A bead that nothing works on is closed with "loom
bead close".`
	cmd.Example = "  loom execution close shop-1 --reason \"no longer wanted\"\n  loom execution close shop-1 --now --reason \"it deletes the wrong files\""
	cmd.Flags().BoolVar(&now, "now", false, "at once, whoever is in the middle of what")
	return cmd
}

// Recheck returns the command of that name.
func (a *Commands) Recheck() *cobra.Command {
	var before []string
	cmd := a.orderer("recheck", "take over the checks that the project has now", func(x *loomv1.Execution, reason string) *loomv1.CeoCommand {
		before = x.Checks
		return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Recheck{Recheck: &loomv1.RecheckExecution{Execution: x.Id, Reason: reason}}}
	}, func() string { return "takes over the checks of its project" })
	cmd.Long = `Recheck has work under way take over the checks that its project has now, in
place of those that it began with: after a check was mended in loom.toml and the
host was started again. What works for it does so, too. It is signed with the
CEO's key, because checks decide what lands. Checks that nodes have named stay.
It prints what must pass from the next verification on, and what was open about
it is asked anew, under a new id.`
	cmd.Example = "  loom execution recheck shop-1 --reason \"the check named a wrong file\""
	give := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := give(cmd, args); err != nil || a.JSON {
			return err
		}
		return a.With(cmd.Context(), func(c *client.Client) error {
			x, err := executionNamed(cmd.Context(), c, "", args[0])
			if err != nil {
				return err
			}
			for _, check := range x.Checks {
				fmt.Fprintf(a.Out, "  must pass: %s\n", console.Line(check, 1000))
			}
			if slices.Equal(before, x.Checks) {
				fmt.Fprintln(a.Err, "these are the checks that it had: the project has those that its host was started with")
			}
			return nil
		})
	}
	return cmd
}

// orderer is a verb that is about one execution.
func (a *Commands) orderer(verb, short string, order func(x *loomv1.Execution, reason string) *loomv1.CeoCommand, done func() string) *cobra.Command {
	var by OrderFlags
	cmd := &cobra.Command{
		Use: verb + " " + console.ExecutionArg + " [flags]", Short: short, Args: console.Takes(console.ExecutionArg),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(console.CheckID(console.ExecutionArg, args[0]), by.Check(cmd)); err != nil {
				return err
			}
			return a.OrderAll(cmd.Context(), &by, done(), func(ctx context.Context, c *client.Client, _ *loomv1.HostReply) ([]Ordered, error) {
				x, err := executionNamed(ctx, c, "", args[0])
				if err != nil {
					return nil, err
				}
				return []Ordered{{x.Project, x.Id, order(x, by.Reason)}}, nil
			})
		},
	}
	by.Add(cmd)
	return cmd
}
