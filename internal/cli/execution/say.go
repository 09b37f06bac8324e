package execution

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) say() *cobra.Command {
	q := &loomv1.SayRequest{}
	var wait bool
	cmd := &cobra.Command{
		Use: "say " + console.ExecutionArg + " TEXT [flags]", Short: "say something to the agent that works on it",
		Long: `Say gives a message to the agent that works on an execution, or to the next one
that does. The agent hears it between its tool calls and its next answer, once.
It goes on the record with your name; "loom execution show" says what was heard,
by whom and in which attempt, "loom execution log" where in its work.
With --node only who works on that node is meant. With --wait it stays until the
message was heard: exit 1 if the work ends before that.`,
		Example: "  loom execution say shop-1 --wait \"leave the public API as it is\"",
		Args:    console.Takes(console.ExecutionArg, "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Id, q.Text, q.Request = args[0], args[1], rand.Text()
			if err := checkSaid(q); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				reply, err := c.Say(cmd.Context(), q)
				if err != nil {
					return err
				}
				if wait {
					return a.untilHeard(cmd.Context(), c, reply, q)
				}
				whom, err := hearer(cmd.Context(), c, reply.Execution, q.Node)
				if err != nil {
					return err
				}
				return a.Print(reply, func(w io.Writer) { fmt.Fprintf(w, "%s: pending; %s\n", reply.Execution, whom) })
			})
		},
	}
	cmd.Flags().StringVar(&q.Node, "node", "", "only who works on this `NODE` is meant")
	cmd.Flags().BoolVar(&wait, "wait", false, "stay until it was heard")
	return cmd
}

func checkSaid(q *loomv1.SayRequest) error {
	if err := console.CheckID(console.ExecutionArg, q.Id); err != nil {
		return err
	}
	if strings.TrimSpace(q.Text) == "" {
		return fault.New("usage/argument", "there is nothing to say").At("TEXT")
	}
	if q.Node == "" {
		return nil
	}
	return console.CheckToken("--node", q.Node)
}

// hearer says who will hear what is said to an execution, as far as that is known.
func hearer(ctx context.Context, c *client.Client, execution, node string) (string, error) {
	v, err := c.Execution(ctx, &loomv1.Query{Project: project.Of(execution), Id: execution})
	if err != nil {
		return "", err
	}
	for id, st := range v.Executions[0].Nodes {
		if who := st.GetAttempt().GetClaimant(); who != nil && (node == "" || node == id) {
			return fmt.Sprintf("%s, at %s, hears it before its next answer", who.Agent, id), nil
		}
	}
	return "nobody is at work, so the next agent hears it", nil
}

// untilHeard waits until a message was heard, or nobody is left to hear it.
func (a *Commands) untilHeard(ctx context.Context, c *client.Client, reply *loomv1.SubmitReply, q *loomv1.SayRequest) error {
	errSeen := errors.New("seen")
	var heard *loomv1.Notice
	var saidAt time.Time
	err := c.Follow(ctx, &loomv1.NoticesRequest{Project: project.Of(reply.Execution), Bead: reply.Bead, Execution: reply.Execution}, true, func(n *loomv1.Notice) error {
		switch f := n.Event.Fact.(type) {
		case *loomv1.Event_ExecutionTold:
			if f.ExecutionTold.GetSaid().GetId() == q.Request {
				saidAt = n.Event.Time.AsTime()
			}
		case *loomv1.Event_MessageHeard:
			if f.MessageHeard.GetSaid().GetId() == q.Request {
				heard = n
				return errSeen
			}
		case *loomv1.Event_ExecutionEnded:
			return errSeen
		}
		return nil
	})
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(a.Err, "no longer waiting; it is heard all the same\n")
		return console.ExitError{Status: fault.Interrupted}
	case !errors.Is(err, errSeen):
		return err
	case heard == nil:
		fmt.Fprintf(a.Err, "%s has ended, and nobody has heard it\n", reply.Execution)
		return console.ExitError{Status: fault.WorkFailed}
	}
	return a.Print(heard, func(w io.Writer) {
		e := heard.Event
		fmt.Fprintf(w, "%s: delivered; %s heard it at %s, in attempt %s, after %s\n",
			reply.Execution, e.Actor.GetName(), e.Node, e.Attempt, e.Time.AsTime().Sub(saidAt).Round(100*time.Millisecond))
	})
}

// saidText lists what people have said to who works on an execution, and who heard it.
func saidText(w io.Writer, x *loomv1.Execution) {
	if len(x.Said) == 0 {
		return
	}
	fmt.Fprintln(w, "\nsaid to it:")
	for _, s := range x.Said {
		state := "pending"
		switch {
		case s.Heard != "":
			state = "heard in " + s.Heard
		case x.EndedAt != nil:
			state = "heard by nobody"
		}
		fmt.Fprintf(w, "  %s  %s: %s (%s)\n", console.Stamp(s.Time), console.Who(s.From), console.Line(s.Text, 200), state)
	}
}
