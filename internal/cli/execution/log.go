package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// log is the verb that prints a transcript.
func (a *Commands) log() *cobra.Command {
	q := &loomv1.TranscriptRequest{}
	var follow, prompts bool
	cmd := &cobra.Command{
		Use: "log " + console.ExecutionArg + " [flags]", Short: "read what the agents of an execution said, did and got", Args: console.Takes(console.ExecutionArg),
		Long: `Log prints everything that the agents of an execution said and got, in order:
their words, the calls of tools with their arguments, whole results, what they
thought where that was kept, what they were told, and how each attempt ended.
Of a prompt it says where to read it, unless --prompts asks for it. With
--follow it goes on until the execution ends.`,
		Example: "  loom execution log shop-1\n  loom execution log shop-1 --node verify --follow\n  loom execution log shop-1-x2 --attempt 3 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Execution = args[0]
			if err := checkLog(q); err != nil {
				return err
			}
			err := a.With(cmd.Context(), func(c *client.Client) error {
				c.Cut = a.cut
				w := &logWriter{a: a, c: c, prompts: prompts}
				return c.FollowTranscript(cmd.Context(), q, follow, func(e *loomv1.TranscriptEntry) error { return w.entry(cmd.Context(), e) })
			})
			if follow && errors.Is(err, context.Canceled) {
				return nil // that is how following ends
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Node, "node", "", "only of this `NODE` of the workflow")
	f.StringVar(&q.Attempt, "attempt", "", "only of this `ATTEMPT`, by its id or its number in the execution")
	f.BoolVarP(&follow, "follow", "f", false, "go on with what happens, until the execution ends")
	f.BoolVar(&prompts, "prompts", false, "print prompts whole, too")
	return cmd
}

func checkLog(q *loomv1.TranscriptRequest) error {
	if err := console.CheckID(console.ExecutionArg, q.Execution); err != nil {
		return err
	}
	if err := console.CheckName("--node", q.Node); err != nil {
		return err
	}
	return console.CheckName("--attempt", q.Attempt)
}

// logWriter prints the entries of a transcript.
type logWriter struct {
	a       *Commands
	c       *client.Client
	prompts bool
}

func (w *logWriter) entry(ctx context.Context, e *loomv1.TranscriptEntry) error {
	if err := w.complete(ctx, e); err != nil {
		return err
	}
	if w.a.JSON {
		return json.NewEncoder(w.a.Out).Encode(console.JSONOf(e))
	}
	ink, head, text := told(e)
	if e.Kind == loomv1.TranscriptKind_TRANSCRIPT_KIND_PROMPT && !w.prompts {
		text = fmt.Sprintf("%d bytes: loom output %.12s", e.Blob.GetSize(), e.Blob.GetSha256())
	}
	if e.Clipped {
		text += fmt.Sprintf("\n[not all of it: %s]", rest(e))
	}
	return w.print(e, ink, head, text)
}

// rest says where the rest of a text is.
func rest(e *loomv1.TranscriptEntry) string {
	if e.Blob == nil {
		return "the rest is in loom events --json"
	}
	if strings.HasPrefix(e.Code, "blob/") {
		return "blob " + e.Blob.Sha256 + " is " + strings.TrimPrefix(e.Code, "blob/")
	}
	return "loom output " + e.Blob.Sha256
}

// complete gets the rest of a text of which the entry has the beginning.
func (w *logWriter) complete(ctx context.Context, e *loomv1.TranscriptEntry) error {
	if !e.Clipped || e.Blob == nil || e.Kind == loomv1.TranscriptKind_TRANSCRIPT_KIND_PROMPT && !w.prompts {
		return nil
	}
	data, _, err := w.c.ReadBlob(ctx, project.Of(e.Attempt), e.Blob.Sha256)
	if code := fault.Code(err); code == "blob/missing" || code == "blob/corrupt" {
		return nil // the entry says so
	}
	if err == nil {
		e.Text, e.Clipped = strings.ToValidUTF8(string(data), "\uFFFD"), false
	}
	return err
}

func (w *logWriter) print(e *loomv1.TranscriptEntry, ink console.Ink, head, text string) error {
	who, _, _ := strings.Cut(e.Agent, "@")
	if who == "" {
		who = "loom"
	}
	where := console.Clock(e.Time) + "  " + e.Node + numberOf(e.Attempt) + "  " + console.Line(who, 40)
	title := console.Line(head, max(24, cmp.Or(w.a.Width(), 160)-len([]rune(where))-1))
	if _, err := fmt.Fprintf(w.a.Out, "%s %s\n", w.a.Paint(console.Faint, where), w.a.Paint(ink, title)); err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	_, err := fmt.Fprint(w.a.Out, console.Wrapped(console.Printable(text), w.a.Width(), "  "))
	return err
}

// numberOf is an attempt's number in its execution.
func numberOf(attempt string) string {
	if i := strings.LastIndex(attempt, "-a"); i >= 0 {
		return " " + attempt[i+1:]
	}
	return ""
}

// told is what an entry says in a line, and the text below it.
func told(e *loomv1.TranscriptEntry) (ink console.Ink, head, text string) {
	switch e.Kind {
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_PROMPT:
		return console.Strong, "begins with " + e.Model, e.Text
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_THOUGHT:
		return console.Faint, "thinks", e.Text
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_SAID:
		if e.Summary != "" {
			return console.Bad, "says what cannot be acted on: " + e.Summary, e.Text
		}
		return console.Strong, "says", e.Text
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_CALL:
		if e.Runtime {
			return console.Place, "is made to call " + e.Tool, argumentsText(e.Text)
		}
		return console.Place, "calls " + e.Tool, argumentsText(e.Text)
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_RESULT:
		return gave(e)
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_TOLD:
		return console.Waits, "tells it", e.Text
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_COMPACTED:
		return console.Faint, "goes on with a summary", e.Text
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_STOPPED:
		return console.Waits, "is stopped [" + e.Code + "]", e.Text
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_OUTCOME:
		return ended(e)
	}
	return console.Faint, "did what this version does not know", e.Text
}

// gave is what a tool's result says.
func gave(e *loomv1.TranscriptEntry) (ink console.Ink, head, text string) {
	ink, head = console.Good, "got of "+e.Tool
	switch {
	case e.Status != loomv1.ToolStatus_TOOL_STATUS_OK:
		word := strings.ToLower(strings.TrimPrefix(e.Status.String(), "TOOL_STATUS_"))
		ink, head = console.Bad, head+", "+word
	case e.ExitCode != 0:
		ink, head = console.Bad, fmt.Sprintf("%s, exit %d", head, e.ExitCode)
	}
	if e.Summary != "" && !strings.Contains(e.Text, e.Summary) {
		head += ": " + e.Summary
	}
	return ink, head, e.Text
}

// ended is how an attempt ended.
func ended(e *loomv1.TranscriptEntry) (ink console.Ink, head, text string) {
	if ink = console.Good; e.Outcome != "success" {
		ink = console.Bad
	}
	head = "ended: " + e.Outcome
	if e.Code != "" {
		head += " [" + e.Code + "]"
	}
	return ink, head, strings.TrimSpace(e.Summary + "\n" + e.Text)
}

// argumentsText shows arguments one below the other, and texts in them as they are;
// what is no JSON object as it is.
func argumentsText(arguments string) string {
	var all map[string]any
	if json.Unmarshal([]byte(arguments), &all) != nil {
		return arguments
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, ok := all[name].(string)
		if !ok {
			data, err := json.Marshal(all[name])
			if err != nil {
				return arguments
			}
			text = string(data)
		}
		if strings.Contains(strings.TrimRight(text, "\n"), "\n") {
			fmt.Fprintf(&b, "%s:\n  %s\n", name, strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  "))
		} else {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.TrimRight(text, "\n"))
		}
	}
	return b.String()
}
