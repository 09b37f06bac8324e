package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/execution"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// graphKinds are the kinds of events that change a decision graph.
var graphKinds = []string{
	"decision-added", "decision-linked", "decision-superseded", "decision-abandoned", "decisions-imported", "ballot-opened", "vote-cast", "ballot-referred", "ballot-closed",
}

func (a *Commands) graphWatch() *cobra.Command {
	q := &loomv1.NoticesRequest{Kinds: slices.Clone(graphKinds)}
	var since string
	cmd := &cobra.Command{
		Use: "watch [BEAD] [flags]", Short: "decisions and votes as they come", Args: console.Takes("[BEAD]"),
		Long: `Watch prints each decision, link and vote as it is recorded, one a line, until
Ctrl-C. It begins with what comes from now on, or with what came since a time.`,
		Example: "  loom graph watch shop-1\n  loom graph watch --since 1h --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkWatch(q, args, since); err != nil {
				return err
			}
			err := a.With(cmd.Context(), func(c *client.Client) error {
				return c.Follow(cmd.Context(), q, true, a.watched)
			})
			if errors.Is(err, context.Canceled) {
				return nil // that is how watching ends
			}
			return err
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "begin with this `TIME`, or so long ago (10m)")
	console.ProjectFlag(cmd, &q.Project)
	return cmd
}

func (a *Commands) checkWatch(q *loomv1.NoticesRequest, args []string, since string) error {
	q.Since = timestamppb.Now()
	if since != "" {
		t, err := console.ParseTime("--since", since, time.Now())
		if err != nil {
			return err
		}
		q.Since = t
	}
	if len(args) == 1 {
		q.Bead = args[0]
		if err := console.CheckID("BEAD", q.Bead); err != nil {
			return err
		}
		q.Project = project.Of(q.Bead)
	}
	return console.CheckName("--project", q.Project)
}

// watched prints an event as a line of a story, or as it is.
func (a *Commands) watched(n *loomv1.Notice) error {
	if a.JSON {
		return execution.New(a.Console).Event(n, false)
	}
	_, err := fmt.Fprintf(console.Prose(a.Out, 14), "%s  %s\n", console.Clock(n.Event.GetTime()), console.Line(n.Summary, 400))
	return err
}
