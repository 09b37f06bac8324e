package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/models"
	"github.com/loomrun/loom/internal/host"
)

// Replay returns the command of that name.
func (a *Commands) Replay() *cobra.Command {
	var prompts bool
	var priced string
	cmd := &cobra.Command{
		Use: "replay FILE [flags]", Short: "go through a recording, and say where a run departs from it", Args: console.Takes("FILE"),
		Long: `Replay goes through every turn of a recording as a host would, with the answers
and results that were recorded: no model is asked, no tool is run, nothing is
changed. Where this release asks a model anything else than was recorded, it
stops, names the request and shows the difference, and exits with 5.

"loom demo|run|up --record FILE" make a recording. With --model replay:FILE they
answer from one, and run their tools. --prompts writes what models were asked as
a Markdown document instead, with its tokens and what they cost.`,
		Example: "  loom demo --approve auto --record demo.jsonl\n  loom replay demo.jsonl\n  loom replay demo.jsonl --prompts > prompts.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			if prompts {
				return a.prompts(args[0], priced)
			}
			return a.playBack(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVar(&prompts, "prompts", false, "write what models were asked, as Markdown")
	cmd.Flags().StringVar(&priced, "price-of", "anthropic:claude-sonnet-4-5", "`MODEL` whose prices --prompts counts with")
	return cmd
}

// prompts writes what models were asked in a recording.
func (a *Commands) prompts(file, spec string) error {
	rec, err := recording.Open(file, models.New(a.Console).Confidential())
	if err != nil {
		return err
	}
	kind, name, _ := strings.Cut(spec, ":")
	rate, ok := price.Of(kind, name)
	if !ok {
		return fault.New("price/unknown", "no price is known").At("--price-of").Got(spec).Want("PROVIDER:MODEL of a model that has a list price")
	}
	return rec.Prompts(a.Out, spec, rate)
}

func (a *Commands) playBack(ctx context.Context, file string) error {
	rec, err := recording.Open(file, models.New(a.Console).Confidential())
	if err != nil {
		return err
	}
	turns := []host.Replayed{}
	h := rec.Header
	if !a.JSON {
		fmt.Fprintf(a.Out, "a recording of %s with %s, made %s by loom %s; no model is asked\n", h.From, h.Model, h.Made.Format(time.RFC3339), h.By)
		fmt.Fprintf(a.Out, "roles it wants: %s\n", console.Dash(strings.Join(rec.Roles(), ", ")))
	}
	err = host.Replay(ctx, rec, a.RoleSet(), func(t host.Replayed) {
		turns = append(turns, t)
		if !a.JSON {
			fmt.Fprintf(a.Out, "%s %s: %d requests, %d tool calls, %s\n", t.Attempt, t.Role, t.Requests, t.Calls, console.Line(cmp.Or(t.Outcome, "cut off")+after(t.Summary), 120))
		}
	})
	if err != nil {
		return err
	}
	return a.PrintAny(map[string]any{"recording": h, "roles": rec.Roles(), "turns": turns}, func(w io.Writer) {
		fmt.Fprintf(w, "%d turns, all as recorded\n", len(turns))
	})
}

func after(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
