package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
)

// recordFlag adds the switch that records a run.
func recordFlag(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "record", "", "write what models and tools say to a new `FILE`")
}

// recorded has do record into a file; without one nothing is recorded.
func (a *app) recorded(file, from string, m model.Provider, do func(*recording.Writer) error) error {
	if file == "" {
		return do(nil)
	}
	w, err := recording.Create(file, recording.Header{Made: time.Now().UTC(), By: host.Version, From: from, Model: m.Name()}, a.confidential())
	if err != nil {
		return err
	}
	err = do(w)
	if bad := w.Close(); bad != nil {
		return cmp.Or(err, bad)
	}
	fmt.Fprintf(a.err, "recorded in %s: \"loom replay %s\" goes through it, and --model replay:%s answers from it\n", file, file, file)
	return err
}

// confidential are the variables that may hold some, those of files included.
func (a *app) confidential() []string {
	list := os.Environ()
	names := slices.Clone(secretNames)
	if a.config != nil { // the demo has none
		for _, s := range a.config.Get(secretFiles) {
			names = append(names, s.Entry)
		}
	}
	for _, name := range names {
		if value := a.env(name); value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// standIn says what answers in the place of a language model, or "".
func standIn(m model.Provider) string {
	switch {
	case recording.PlayedBy(m) != nil:
		return "a recording"
	case m.Scripted():
		return "a script"
	}
	return ""
}

func (a *app) replay() *cobra.Command {
	var prompts bool
	var priced string
	cmd := &cobra.Command{
		Use: "replay FILE [flags]", Short: "go through a recording, and say where a run departs from it", Args: takes("FILE"),
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
func (a *app) prompts(file, spec string) error {
	rec, err := recording.Open(file, a.confidential())
	if err != nil {
		return err
	}
	kind, name, _ := strings.Cut(spec, ":")
	rate, ok := price.Of(kind, name)
	if !ok {
		return fault.New("price/unknown", "no price is known").At("--price-of").Got(spec).Want("PROVIDER:MODEL of a model that has a list price")
	}
	return rec.Prompts(a.out, spec, rate)
}

func (a *app) playBack(ctx context.Context, file string) error {
	rec, err := recording.Open(file, a.confidential())
	if err != nil {
		return err
	}
	turns := []host.Replayed{}
	h := rec.Header
	if !a.json {
		fmt.Fprintf(a.out, "a recording of %s with %s, made %s by loom %s; no model is asked\n", h.From, h.Model, h.Made.Format(time.RFC3339), h.By)
	}
	err = host.Replay(ctx, rec, a.roleSet(), func(t host.Replayed) {
		turns = append(turns, t)
		if !a.json {
			fmt.Fprintf(a.out, "%s %s: %d requests, %d tool calls, %s\n", t.Attempt, t.Role, t.Requests, t.Calls, line(cmp.Or(t.Outcome, "cut off")+after(t.Summary), 120))
		}
	})
	if err != nil {
		return err
	}
	return a.printAny(map[string]any{"recording": h, "turns": turns}, func(w io.Writer) {
		fmt.Fprintf(w, "%d turns, all as recorded\n", len(turns))
	})
}

func after(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
