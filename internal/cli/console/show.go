package console

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// ExecutionArg is what verbs about one execution take.
const ExecutionArg = "EXECUTION|BEAD"

// Group is a command that only has subcommands.
func Group(name, short, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " COMMAND", Short: short, Example: example, Args: OnlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subs...)
	return cmd
}

// Viewer is a verb that shows a view; the word after its name says what id it
// takes, in brackets if it may be left out.
func (a *Console) Viewer(use, short string, view client.View, show func(w io.Writer, v *loomv1.View)) *cobra.Command {
	q := &loomv1.Query{}
	names := strings.Fields(use)[1:]
	cmd := &cobra.Command{
		Use: use + " [flags]", Short: short, Args: Takes(names...),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := CheckID(strings.Trim(names[0], "[]"), args[0]); err != nil {
					return err
				}
				q.Id = args[0]
			}
			if err := CheckName("--project", q.Project); err != nil {
				return err
			}
			q.Project = cmp.Or(q.Project, project.Of(q.Id))
			return a.Look(cmd, view, q, show)
		},
	}
	AnyProjectFlag(cmd, &q.Project)
	return cmd
}

// HasBead returns bead/unknown, or what else the host says, where the bead is not there that
// an id is of: that of a bead, of its execution or of an attempt.
func (a *Console) HasBead(ctx context.Context, id string) error {
	in := project.Of(id)
	number, _, _ := strings.Cut(strings.TrimPrefix(id, in+"-"), "-")
	return a.With(ctx, func(c *client.Client) error {
		_, err := c.Bead(ctx, &loomv1.Query{Project: in, Id: in + "-" + number})
		return err
	})
}

// Look asks for a view and shows it.
func (a *Console) Look(cmd *cobra.Command, view client.View, q *loomv1.Query, show func(w io.Writer, v *loomv1.View)) error {
	return a.With(cmd.Context(), func(c *client.Client) error {
		v, err := view(c.Services, cmd.Context(), q)
		if err != nil {
			return err
		}
		return a.Print(v, func(w io.Writer) { show(w, v) })
	})
}

// ProjectFlag adds the flag --project.
func ProjectFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().Var(&onceText{text: name}, "project", "`NAME` of the project (default: the id's, else the one you are in, else the host's only one)")
}

// AnyProjectFlag adds the flag --project to a verb that lists what all projects have
// unless one is named.
func AnyProjectFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().Var(&onceText{text: name}, "project", "`NAME` of the project (default: the id's, else all)")
}

// onceText is a text that a flag may give once: of two, the last would count without a word.
type onceText struct {
	text  *string
	given bool
}

var errTwice = errors.New("it is given twice")

// Set takes the text.
func (o *onceText) Set(s string) error {
	if o.given && s != *o.text {
		return errTwice
	}
	*o.text, o.given = s, true
	return nil
}

// String returns the text.
func (o *onceText) String() string {
	if o.text == nil { // of the zero value, which pflag asks for the default
		return ""
	}
	return *o.text
}

// Type is what help calls it.
func (o *onceText) Type() string { return "string" }

// CheckID refuses what cannot be the id of a bead, an execution or an
// approval, before anybody is asked about it.
func CheckID(arg, id string) error {
	if err := CheckToken(arg, id); err != nil {
		return err
	}
	if project.Of(id) == "" {
		return fault.New("id/malformed", "not an id of Loom's").At(arg).Got(id).Want("PROJECT-NUMBER, for example shop-1")
	}
	return nil
}

// CheckName refuses what cannot be a name; none at all is fine.
func CheckName(flag, name string) error {
	if name == "" {
		return nil
	}
	return CheckToken(flag, name)
}

// CheckToken refuses what cannot be a token of a subject.
func CheckToken(arg, s string) error {
	what := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(arg, "--"), "|", " or "))
	if _, err := subject.Parse(what, s); err != nil {
		return fault.From(err).At(arg)
	}
	return nil
}
