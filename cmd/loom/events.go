package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *app) events() *cobra.Command {
	var q loomv1.NoticesRequest
	var follow bool
	var after []string
	var since string
	cmd := &cobra.Command{
		Use: "events [flags]", Short: "read what happened, and follow what happens",
		Long: `Events prints every event from the beginning, or after a position, one a line.
With --follow it goes on with what happens, without a gap or a repeat between
the two. Each line begins with its position, which --after takes.`,
		Example: "  loom events --follow\n  loom events --bead shop-1 --kind edge-settled --since 1h\n  loom events --after 2.1.40.0",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkEvents(&q, after, since); err != nil {
				return err
			}
			err := a.with(cmd.Context(), func(c *client.Client) error {
				c.Cut = a.cut
				return c.Follow(cmd.Context(), &q, follow, a.event)
			})
			if follow && errors.Is(err, context.Canceled) {
				return nil // that is how following ends
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Project, "project", "", "only of the project of this `NAME`")
	f.StringVar(&q.Bead, "bead", "", "only of the bead with this `ID`")
	f.StringVar(&q.Execution, "execution", "", "only of the execution with this `ID`")
	f.StringVar(&q.Team, "team", "", "only of the bead with this `ID` and of its parts")
	f.StringVar(&q.Role, "role", "", "only what agents of this `ROLE` did")
	f.StringVar(&q.Agent, "agent", "", "only what this `AGENT` did, for example qa-engineer-1")
	f.StringVar(&q.Host, "host", "", "only what agents of the host with this `ID` did")
	f.StringSliceVar(&q.Kinds, "kind", nil, "only of this `KIND`, as events prints it; more than one may be named")
	f.StringVar(&since, "since", "", "only from this `TIME` on, or what began so long ago (10m)")
	f.StringSliceVar(&after, "after", nil, "begin after this `POSITION`; one for each partition")
	f.BoolVarP(&follow, "follow", "f", false, "go on with what happens")
	return cmd
}

// checkEvents checks what is asked for and fills in the cursor.
func checkEvents(q *loomv1.NoticesRequest, after []string, since string) error {
	if err := checkName("--project", q.Project); err != nil {
		return err
	}
	if q.Bead != "" {
		if err := checkID("--bead", q.Bead); err != nil {
			return err
		}
	}
	if q.Execution != "" {
		if err := checkID("--execution", q.Execution); err != nil {
			return err
		}
	}
	if q.Team != "" {
		if err := checkID("--team", q.Team); err != nil {
			return err
		}
	}
	q.Agent = strings.Replace(q.Agent, "/", "-", 1) // as it is shown
	for flag, name := range map[string]string{"--role": q.Role, "--agent": q.Agent, "--host": q.Host} {
		if err := checkName(flag, name); err != nil {
			return err
		}
	}
	for _, kind := range q.Kinds {
		if !slices.Contains(notice.Kinds(), kind) {
			return fault.New("usage/argument", "no such kind of event").At("--kind").Got(kind).Want("%s", suggest.Among(kind, notice.Kinds()))
		}
	}
	if since != "" {
		t, err := parseTime("--since", since, time.Now())
		if err != nil {
			return err
		}
		q.Since = t
	}
	cursor, err := notice.ParseCursor(strings.Join(after, ","))
	if err != nil {
		return fault.New("id/malformed", "not a position").At("--after").Got(strings.Join(after, ",")).
			Want("PARTITION.EPOCH.SEQUENCE.INDEX, as events prints it, at most one for each partition")
	}
	q.After = cursor
	return nil
}

// cut tells of a journal whose beginning is in an archive.
func (a *app) cut(c *loomv1.JournalCut) {
	fmt.Fprintf(a.err, "note: journal %d was cut at %d; what was before is in archive %s of host %s\n", c.Partition, c.Sequence, printable(c.Archive), printable(c.Host))
}

func (a *app) event(n *loomv1.Notice) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(jsonOf(n))
	}
	_, err := fmt.Fprintf(a.out, "%-12s %s  %-20s %s\n", notice.FormatPosition(n.Position), clock(n.Event.GetTime()), n.Kind, line(n.Summary, 300))
	return err
}
