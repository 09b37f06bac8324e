package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Events returns the command of that name.
func (a *Commands) Events() *cobra.Command {
	var q loomv1.NoticesRequest
	var follow, output bool
	var after []string
	var since string
	cmd := &cobra.Command{
		Use: "events [flags]", Short: "read what happened, and follow what happens",
		Long: `Events prints every event from the beginning, or after a position, one a line.
With --follow it goes on with what happens, without a gap or a repeat between
the two, and shows what models write while they write it ("live", which no JSON
has). Each line begins with its position, which --after takes. With --output
each is followed by what was printed or said: of a model's answer its text, of a
tool's call what came of it, whole.`,
		Example: "  loom events --follow\n  loom events --bead shop-1 --kind edge-settled --since 1h\n  loom events --bead shop-1 --kind tool-finished --output\n  loom events --after 2.1.40.0",
		Args:    console.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkEvents(&q, after, since); err != nil {
				return err
			}
			err := a.With(cmd.Context(), func(c *client.Client) error {
				c.Cut = a.cut
				w := &writings{Commands: a, about: &q, alone: a.Alone(cmd.Context(), c), begun: map[string]string{}}
				if follow && !a.JSON {
					stop, err := c.Live(w.project(), w.hear)
					if err != nil {
						return err
					}
					defer stop()
				}
				return c.Follow(cmd.Context(), &q, follow, func(n *loomv1.Notice) error {
					if err := w.event(n); err != nil || !output {
						return err
					}
					return a.eventOutput(cmd.Context(), c, n.Event)
				})
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
	f.BoolVar(&output, "output", false, "print what was printed and said, too")
	f.BoolVarP(&follow, "follow", "f", false, "go on with what happens")
	return cmd
}

// checkEvents checks what is asked for and fills in the cursor.
func checkEvents(q *loomv1.NoticesRequest, after []string, since string) error {
	if err := console.CheckName("--project", q.Project); err != nil {
		return err
	}
	if q.Bead != "" {
		if err := console.CheckID("--bead", q.Bead); err != nil {
			return err
		}
	}
	if q.Execution != "" {
		if err := console.CheckID("--execution", q.Execution); err != nil {
			return err
		}
	}
	if q.Team != "" {
		if err := console.CheckID("--team", q.Team); err != nil {
			return err
		}
	}
	q.Agent = strings.Replace(q.Agent, "/", "-", 1) // as it is shown
	for flag, name := range map[string]string{"--role": q.Role, "--agent": q.Agent, "--host": q.Host} {
		if err := console.CheckName(flag, name); err != nil {
			return err
		}
	}
	for _, kind := range q.Kinds {
		if !slices.Contains(notice.Kinds(), kind) {
			return fault.New("usage/argument", "no such kind of event").At("--kind").Got(kind).Want("%s", suggest.Among(kind, notice.Kinds()))
		}
	}
	if since != "" {
		t, err := console.ParseTime("--since", since, time.Now())
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

// eventOutput prints what an event says was printed or said; in JSON as a line of its
// own, with the name of the blob. What the store does not have any more is told.
func (a *Commands) eventOutput(ctx context.Context, c *client.Client, e *loomv1.Event) error {
	ref := e.GetToolFinished().GetResult().GetOutput()
	if e.GetModelAnswered() != nil {
		ref = e.GetModelAnswered().GetAnswer().GetText()
	}
	if ref.GetSize() == 0 {
		return nil
	}
	data, reply, err := c.ReadBlob(ctx, e.Project, ref.Sha256)
	if code := fault.Code(err); code == "blob/missing" || code == "blob/corrupt" {
		fmt.Fprintf(a.Err, "note: %s\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	return a.PrintAny(map[string]any{"output": text, "sha256": ref.Sha256, "redacted": reply.Redacted}, func(w io.Writer) {
		fmt.Fprint(w, console.Wrapped(console.Printable(text), a.Width(), "  "))
	})
}

// cut tells of a journal whose beginning is in an archive.
func (a *Commands) cut(c *loomv1.JournalCut) {
	fmt.Fprintf(a.Err, "note: journal %d was cut at %d; what was before is in archive %s of host %s\n", c.Partition, c.Sequence, console.Printable(c.Archive), console.Printable(c.Host))
}

// Event prints a notice. Where there is one host alone, agents are named without it.
func (a *Commands) Event(n *loomv1.Notice, alone bool) error {
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(console.JSONOf(n))
	}
	summary := n.Summary
	if alone {
		summary = console.WithoutHost(summary)
	}
	_, err := fmt.Fprintf(console.Prose(a.Out, 27), "%-12s %s  %-20s %s\n", notice.FormatPosition(n.Position), console.Clock(n.Event.GetTime()), n.Kind, console.Line(summary, 300))
	return err
}
