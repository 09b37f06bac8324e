package cowork

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/conversation"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// conversationArg is the argument that names a conversation.
const conversationArg = "CONVERSATION"

func (a *Commands) list() *cobra.Command {
	q := &loomv1.Query{}
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "conversations, newest first", Args: console.Takes(),
		Long:    "List lists the conversations of a project, or of all, and what each waits for.",
		Example: "  loom cowork list --status open",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.looked(cmd, q) },
	}
	a.listFlags(cmd, q)
	return cmd
}

func (a *Commands) search() *cobra.Command {
	q := &loomv1.Query{}
	cmd := &cobra.Command{
		Use: "search WORDS... [flags]", Short: "conversations in which words were said", Args: console.TakesSome("WORDS"),
		Long: `Search lists the conversations that have all of the words in their titles, in
what people have said in them, or at the beginnings of answers. Of one that is
closed only the title and the last messages are looked at.`,
		Example: "  loom cowork search pricing competitors",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text = strings.Join(args, " ")
			return a.looked(cmd, q)
		},
	}
	a.listFlags(cmd, q)
	return cmd
}

func (a *Commands) listFlags(cmd *cobra.Command, q *loomv1.Query) {
	cmd.Flags().StringVar(&q.Filter, "status", "", "only those of this `STATUS`: open or closed")
	cmd.Flags().Uint32Var(&q.Limit, "limit", 100, "at most `N`")
	cmd.Flags().StringVar(&q.After, "after", "", "list on after this `"+conversationArg+"`")
	console.AnyProjectFlag(cmd, &q.Project)
}

func (a *Commands) looked(cmd *cobra.Command, q *loomv1.Query) error {
	if err := console.CheckName("--project", q.Project); err != nil {
		return err
	}
	return a.Look(cmd, client.Services.Conversation, q, func(w io.Writer, v *loomv1.View) { table(w, v) })
}

func table(w io.Writer, v *loomv1.View) {
	if len(v.Conversations) == 0 {
		fmt.Fprintln(w, "no conversations")
		return
	}
	rows := make([][]string, 0, len(v.Conversations))
	for _, c := range v.Conversations {
		rows = append(rows, []string{
			c.Project, c.Id, stateWord(c), conversation.Word(c.GetSettings().GetMode()), fmt.Sprint(c.Messages), console.Stamp(c.ChangedAt),
			console.Line(c.GetSettings().GetTitle(), 60), console.Line(c.Last, 60),
		})
	}
	console.ProjectTable(w, []string{"conversation", "state", "mode", "messages", "last", "title", "said last"}, rows)
	if v.Next != "" {
		fmt.Fprintf(w, "there are more: --after %s\n", v.Next)
	}
}

func (a *Commands) show() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show " + conversationArg, Short: "a conversation: what it waits for, its mode, model, cost and work", Args: console.Takes(conversationArg),
		Long:    "Show tells how a conversation stands. What was said in it \"loom cowork export\"\nhas, and \"loom execution log\" with every step of the lead.",
		Example: "  loom cowork show shop-7",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withOne(cmd.Context(), args[0], func(_ *client.Client, v *loomv1.Conversation) error {
				return a.Print(v, func(w io.Writer) { showText(w, v) })
			})
		},
	}
	return cmd
}

func showText(w io.Writer, v *loomv1.Conversation) {
	fmt.Fprintln(w, standing(v))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-10s %s\n", name, value)
		}
	}
	row("project", v.Project)
	row("model", v.Model)
	if t := v.GetSettings().GetModelTier(); t > 0 {
		row("tier", fmt.Sprint(t))
	}
	row("thinking", v.GetSettings().GetThinking())
	row("process", v.GetSettings().GetProcess())
	row("said", fmt.Sprintf("%s, %d answered", console.Count(int(v.Messages), "message"), v.Replies))
	row("opened", console.Stamp(v.OpenedAt))
	row("last", console.Stamp(v.ChangedAt))
	row("forked", v.ForkedFrom)
	row("work", strings.Join(v.Works, " "))
}

// withOne calls f with a conversation as it stands.
func (a *Commands) withOne(ctx context.Context, id string, f func(*client.Client, *loomv1.Conversation) error) error {
	if err := console.CheckID(conversationArg, id); err != nil {
		return err
	}
	return a.With(ctx, func(c *client.Client) error {
		v, err := c.Conversation(ctx, &loomv1.Query{Project: project.Of(id), Id: id})
		if err != nil {
			return err
		}
		return f(c, v.Conversations[0])
	})
}

// acted has a conversation do something, and prints how it stands then.
func (a *Commands) acted(ctx context.Context, id string, r *loomv1.ConverseRequest) error {
	if err := console.CheckID(conversationArg, id); err != nil {
		return err
	}
	return a.With(ctx, func(c *client.Client) error {
		t := &talk{a: a, c: c, project: project.Of(id), v: &loomv1.Conversation{Id: id}}
		if err := t.act(ctx, r); err != nil {
			return err
		}
		return a.Print(t.v, func(w io.Writer) { fmt.Fprintln(w, standing(t.v)) })
	})
}

func (a *Commands) rename() *cobra.Command {
	return &cobra.Command{
		Use: "rename " + conversationArg + " TITLE", Short: "list a conversation by another title", Args: console.Takes(conversationArg, "TITLE"),
		Long:    "Rename gives a conversation the title that it is listed and searched by.",
		Example: "  loom cowork rename shop-7 \"pricing for spring\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[1]) == "" {
				return fault.New("usage/argument", "there is no title").At("TITLE")
			}
			return a.acted(cmd.Context(), args[0], &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Set{Set: &loomv1.ConversationSettings{Title: args[1]}}})
		},
	}
}

func (a *Commands) fork() *cobra.Command {
	f := &loomv1.ForkConversation{}
	cmd := &cobra.Command{
		Use: "fork " + conversationArg + " [flags]", Short: "begin another conversation with what was said in one", Args: console.Takes(conversationArg),
		Long: `Fork begins a conversation that knows what was said in another one, up to the
message that --before names, and leaves that as it is. A closed one cannot be
forked; what was said in it "loom cowork export" has.`,
		Example: "  loom cowork fork shop-7 --before 3 --title \"the other way\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.acted(cmd.Context(), args[0], &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Fork{Fork: f}})
		},
	}
	cmd.Flags().Uint32Var(&f.Before, "before", 0, "only what came before message `N` of a person, from 1")
	cmd.Flags().StringVar(&f.Title, "title", "", "`TEXT` that it is listed by")
	return cmd
}

func (a *Commands) closeIt() *cobra.Command {
	c := &loomv1.CloseConversation{}
	cmd := &cobra.Command{
		Use: "close " + conversationArg + " [flags]", Short: "end a conversation for good", Args: console.Takes(conversationArg),
		Long:    "Close ends a conversation: nothing more is said in it. Work that was begun in it\ngoes on. What was said stays in the journal.",
		Example: "  loom cowork close shop-7 --reason \"all is done\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.acted(cmd.Context(), args[0], &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Close{Close: c}})
		},
	}
	cmd.Flags().StringVar(&c.Reason, "reason", "", "`TEXT` for the record")
	return cmd
}

func (a *Commands) export() *cobra.Command {
	out := ""
	cmd := &cobra.Command{
		Use: "export " + conversationArg + " [flags]", Short: "write a conversation as Markdown", Args: console.Takes(conversationArg),
		Long: `Export writes what was said in a conversation as Markdown: each message with its
time and who said it, and between them the lead's steps, one line each. A closed
conversation is exported as well.`,
		Example: "  loom cowork export shop-7 -o pricing.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withOne(cmd.Context(), args[0], func(c *client.Client, v *loomv1.Conversation) error {
				if out == "" {
					return exportTo(cmd.Context(), c, v, a.Out)
				}
				return toFile(out, func(w io.Writer) error { return exportTo(cmd.Context(), c, v, w) }, new(int64))
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to this `FILE`")
	return cmd
}

// exportTo writes a conversation as Markdown.
func exportTo(ctx context.Context, c *client.Client, v *loomv1.Conversation, w io.Writer) error {
	title := v.GetSettings().GetTitle()
	if title == "" {
		title = v.Id
	}
	fmt.Fprintf(w, "# %s\n\nConversation %s of project %s, opened %s.\n", console.Line(title, 200), v.Id, v.Project, console.Stamp(v.OpenedAt))
	if v.ForkedFrom != "" {
		fmt.Fprintf(w, "It goes on with what was said in %s.\n", v.ForkedFrom)
	}
	steps := false
	return c.FollowTranscript(ctx, &loomv1.TranscriptRequest{Execution: v.Execution}, false, func(e *loomv1.TranscriptEntry) error {
		if !told(e) {
			return nil
		}
		text, err := wholeText(ctx, c, e)
		if err != nil {
			return err
		}
		text = console.Printable(strings.TrimSpace(text))
		switch e.Kind {
		case loomv1.TranscriptKind_TRANSCRIPT_KIND_RESULT:
			if !steps {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "- `%s`\n", strings.ReplaceAll(console.Line(resultText(e), 200), "`", "'"))
		case loomv1.TranscriptKind_TRANSCRIPT_KIND_STOPPED:
			fmt.Fprintf(w, "\n*%s, %s*\n", console.Line(text, 400), console.Stamp(e.Time))
		case loomv1.TranscriptKind_TRANSCRIPT_KIND_TOLD:
			fmt.Fprintf(w, "\n## %s, %s\n\n%s\n", e.Agent, console.Stamp(e.Time), text)
		default:
			if text != "" {
				fmt.Fprintf(w, "\n## lead, %s\n\n%s\n", console.Stamp(e.Time), text)
			}
		}
		steps = e.Kind == loomv1.TranscriptKind_TRANSCRIPT_KIND_RESULT
		return nil
	})
}

// toFile has a file written, which is there whole or not at all.
func toFile(path string, write func(io.Writer) error, size *int64) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".loom-*")
	if err != nil {
		return fault.New("usage/argument", "the file cannot be written").At("FILE").Got(path)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	if info, err := f.Stat(); err == nil {
		*size = info.Size()
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
