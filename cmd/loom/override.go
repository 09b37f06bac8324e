package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// orderFlags are those of every command that the CEO signs but an answer.
type orderFlags struct{ reason, key string }

func (f *orderFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "`TEXT` that says why, for the record; required")
	cmd.Flags().StringVar(&f.key, "key", "", "the CEO's key `FILE` (default: in your configuration directory)")
}

func (f *orderFlags) check(cmd *cobra.Command) error {
	if strings.TrimSpace(f.reason) == "" {
		return fault.New("usage/argument", "no reason is given").At("--reason").Want("say why, for the record; %s", seeHelp(cmd))
	}
	return nil
}

// ordered is a command of the CEO for one project, and what it is about.
type ordered struct {
	project, about string
	cmd            *loomv1.CeoCommand
}

// orderAll signs commands and presents them one after the other. It says of
// each what became of it, and goes on when one is refused.
func (a *app) orderAll(ctx context.Context, by *orderFlags, done string, what func(context.Context, *client.Client, *loomv1.HostReply) ([]ordered, error)) error {
	key, err := openKey(by.key)
	if err != nil {
		return err
	}
	return a.with(ctx, func(c *client.Client) error {
		about, err := c.Host(ctx)
		if err != nil {
			return err
		}
		list, err := what(ctx, c, about)
		if err != nil {
			return err
		}
		ceo, err := client.OpenCEO(a.target())
		if err != nil {
			return err
		}
		defer ceo.Close()
		var errs []error
		for _, o := range list {
			signed, err := key.Sign(about.Deployment, o.project, o.cmd)
			if err == nil {
				err = ceo.Present(ctx, verbOf(o.cmd), signed)
			}
			errs = append(errs, a.tell(o, done, err, len(list) > 1))
		}
		return errors.Join(errs...)
	})
}

// tell says what became of a command. Among several, an error names its
// project.
func (a *app) tell(o ordered, done string, err error, many bool) error {
	switch {
	case err != nil && many:
		a.fail(fault.From(err).At("project " + o.project))
		return exitError{fault.Status(err)}
	case err != nil:
		return err
	}
	o.cmd.Project = o.project
	return a.print(o.cmd, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", o.about, done) })
}

// verbOf is the last word of the subject that a command is presented on.
func verbOf(cmd *loomv1.CeoCommand) string {
	m := cmd.ProtoReflect()
	return string(m.WhichOneof(m.Descriptor().Oneofs().ByName("verb")).Name())
}

// executionNamed returns the execution with an id, or of the bead with that id.
func executionNamed(ctx context.Context, c *client.Client, of, id string) (*loomv1.Execution, error) {
	v, err := c.Look(ctx, "execution", &loomv1.Query{Project: cmp.Or(of, project.Of(id)), Id: id})
	if err != nil {
		return nil, err
	}
	return v.Executions[0], nil
}

func (a *app) override() *cobra.Command {
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
			return fault.New("usage/argument", "no node is named").At("--node").Want("%s", seeHelp(cmd))
		}
		if err := checkToken("--node", node); err != nil {
			return err
		}
		return give(cmd, args)
	}
	return cmd
}

func (a *app) closeExecution() *cobra.Command {
	cmd := a.orderer("close", "end an execution and its bead", func(x *loomv1.Execution, reason string) *loomv1.CeoCommand {
		return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Close{Close: &loomv1.CloseExecution{Execution: x.Id, Reason: reason}}}
	}, func() string { return "closed" })
	cmd.Long = `Close ends work that is under way, signed with the CEO's key: the execution, its
bead and what they asked. A bead that nothing works on is closed with "loom bead
close".`
	cmd.Example = "  loom execution close shop-1 --reason \"no longer wanted\""
	return cmd
}

// orderer is a verb that is about one execution.
func (a *app) orderer(verb, short string, order func(x *loomv1.Execution, reason string) *loomv1.CeoCommand, done func() string) *cobra.Command {
	var by orderFlags
	cmd := &cobra.Command{
		Use: verb + " [flags] " + executionArg, Short: short, Args: takes(executionArg),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(checkID(executionArg, args[0]), by.check(cmd)); err != nil {
				return err
			}
			return a.orderAll(cmd.Context(), &by, done(), func(ctx context.Context, c *client.Client, _ *loomv1.HostReply) ([]ordered, error) {
				x, err := executionNamed(ctx, c, "", args[0])
				if err != nil {
					return nil, err
				}
				return []ordered{{x.Project, x.Id, order(x, by.reason)}}, nil
			})
		},
	}
	by.add(cmd)
	return cmd
}
