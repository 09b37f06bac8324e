package execution

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/sourcelist"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sources is the verb that lists what was read.
func (a *Commands) sources() *cobra.Command {
	return &cobra.Command{
		Use: "sources " + console.ExecutionArg + " [NUMBER] [flags]", Short: "list what was read outside, or print what one source said",
		Args: console.Takes(console.ExecutionArg, "[NUMBER]"),
		Long: `Sources lists what tools have read outside of the workspace, as Markdown:
address, when, by which tool, and the SHA-256 of what came. It has all
executions of the bead, and the work that was filed for it. The runtime makes
the list, and no model. With a NUMBER of it, it prints the words of that page
as they were read, so that a citation can be held against them.`,
		Example: "  loom execution sources desk-1-x1 > SOURCES.md\n  loom execution sources desk-1-x1 3\n  loom execution sources desk-1-x1 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := console.CheckID(console.ExecutionArg, args[0]); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				list, err := sourcesOf(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				if len(args) == 2 {
					return a.printSource(cmd.Context(), c, list, args[1])
				}
				return a.PrintAny(append([]sourcelist.Entry{}, list...), func(w io.Writer) { fmt.Fprint(w, console.Printable(sourcelist.Markdown(list))) })
			})
		},
	}
}

// sourcesOf reads from the journal what was read for the bead of an execution.
func sourcesOf(ctx context.Context, c *client.Client, id string) ([]sourcelist.Entry, error) {
	v, err := c.Execution(ctx, &loomv1.Query{Id: id})
	if err != nil {
		return nil, err
	}
	x := v.Executions[0]
	tree := sourcelist.Of(x.Bead)
	archive := ""
	c.Cut = func(cut *loomv1.JournalCut) { archive = cut.Archive }
	q := &loomv1.NoticesRequest{Project: x.Project, Kinds: []string{"bead-filed", "tool-finished"}}
	err = c.Follow(ctx, q, false, func(n *loomv1.Notice) error {
		tree.Add(n.Event)
		return nil
	})
	if err == nil && !tree.Whole() {
		err = fault.New("journal/archived", "the journal was cut after work on %s had begun: the list would lack what was read before, and its numbers would be others", x.Bead).
			At(console.ExecutionArg).Got(id).Want("restore archive %q elsewhere and ask there", archive)
	}
	return tree.Entries(), err
}

// printSource prints the words of one source.
func (a *Commands) printSource(ctx context.Context, c *client.Client, list []sourcelist.Entry, number string) error {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(list) {
		return fault.New("usage/argument", "the execution has %s", console.Count(len(list), "source")).At("NUMBER").Got(number)
	}
	s := list[n-1]
	if s.Kept() == "" {
		return fault.New("source/too-large", "what came had %d bytes and was not kept; its SHA-256 is %s", s.Size, s.SHA256).At("NUMBER").Got(number)
	}
	data, _, err := c.ReadBlob(ctx, project.Of(s.Execution), s.Kept())
	if err != nil {
		return err
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	return a.PrintAny(map[string]any{"source": s, "text": text}, func(w io.Writer) { fmt.Fprintln(w, console.Printable(text)) })
}
