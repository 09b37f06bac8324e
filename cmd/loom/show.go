package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/project"
	"github.com/loomrun/loom/internal/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// group is a command that only has subcommands.
func group(name, short, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " COMMAND", Short: short, Example: example, Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subs...)
	return cmd
}

// viewer is a verb that shows a view; the word after its name says what id it
// takes, in brackets if it may be left out.
func (a *app) viewer(use, short, view string, show func(w io.Writer, v *loomv1.View)) *cobra.Command {
	q := &loomv1.Query{}
	names := strings.Fields(use)[1:]
	cmd := &cobra.Command{
		Use: use + " [flags]", Short: short, Args: takes(names...),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := checkID(strings.Trim(names[0], "[]"), args[0]); err != nil {
					return err
				}
				q.Id = args[0]
			}
			if err := checkName("--project", q.Project); err != nil {
				return err
			}
			q.Project = cmp.Or(q.Project, project.Of(q.Id))
			return a.look(cmd, view, q, show)
		},
	}
	projectFlag(cmd, &q.Project)
	return cmd
}

// look asks for a view and shows it.
func (a *app) look(cmd *cobra.Command, view string, q *loomv1.Query, show func(w io.Writer, v *loomv1.View)) error {
	return a.with(cmd.Context(), func(c *client.Client) error {
		v, err := c.Look(cmd.Context(), view, q)
		if err != nil {
			return err
		}
		return a.print(v, func(w io.Writer) { show(w, v) })
	})
}

func projectFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "project", "", "`NAME` of the project (default: the id's, else the host's only one)")
}

// checkID refuses what cannot be the id of a bead, an execution or an
// approval, before anybody is asked about it.
func checkID(arg, id string) error {
	if err := checkToken(arg, id); err != nil {
		return err
	}
	if project.Of(id) == "" {
		return fault.New("id/malformed", "not an id of Loom's").At(arg).Got(id).Want("PROJECT-NUMBER, for example shop-1")
	}
	return nil
}

// checkName refuses what cannot be a name; none at all is fine.
func checkName(flag, name string) error {
	if name == "" {
		return nil
	}
	return checkToken(flag, name)
}

func checkToken(arg, s string) error {
	what := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(arg, "--"), "|", " or "))
	if _, err := subject.Parse(what, s); err != nil {
		return fault.From(err).At(arg)
	}
	return nil
}

func (a *app) bead() *cobra.Command {
	q := &loomv1.Query{}
	list := &cobra.Command{
		Use: "list [flags]", Short: "list beads, newest first", Args: takes(),
		Example: "  loom bead list\n  loom bead list --status waiting --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(checkName("--project", q.Project), checkStatus(q.Filter)); err != nil {
				return err
			}
			return a.look(cmd, "bead", q, beadTable)
		},
	}
	list.Flags().StringVar(&q.Filter, "status", "", "only beads in this `STATUS`: "+strings.Join(statuses(), ", "))
	projectFlag(list, &q.Project)
	show := a.viewer("show BEAD", "show one bead", "bead", func(w io.Writer, v *loomv1.View) {
		for _, b := range v.Beads {
			beadText(w, b)
		}
	})
	show.Example = "  loom bead show shop-1"
	return group("bead", "list and show beads", "  loom bead list --status waiting\n  loom bead show shop-1", list, show)
}

// statuses lists the words for a bead's status.
func statuses() []string {
	var list []string
	for i := int32(1); loomv1.BeadStatus_name[i] != ""; i++ {
		list = append(list, project.Word(loomv1.BeadStatus(i)))
	}
	return list
}

func checkStatus(s string) error {
	if s == "" || slices.Contains(statuses(), s) {
		return nil
	}
	return fault.New("usage/argument", "no such status").At("--status").Got(s).Want("%s", suggest.Among(s, statuses()))
}

func beadTable(w io.Writer, v *loomv1.View) {
	if len(v.Beads) == 0 {
		fmt.Fprintln(w, "no beads")
		return
	}
	rows := make([][]string, 0, len(v.Beads))
	for _, b := range v.Beads {
		rows = append(rows, []string{b.Id, project.Word(b.Type), project.Word(b.Status), project.Word(b.Priority), stamp(b.UpdatedAt), line(b.Goal, 70)})
	}
	table(w, []string{"bead", "type", "status", "priority", "updated", "goal"}, rows)
}

func beadText(w io.Writer, b *loomv1.Bead) {
	fmt.Fprintf(w, "%s  %s  %s", b.Id, project.Word(b.Type), project.Word(b.Status))
	if b.Reason != "" {
		fmt.Fprintf(w, " (%s)", line(b.Reason, 120))
	}
	fmt.Fprintf(w, "\n\n  %s\n\n", line(b.Goal, 500))
	fields := [][2]string{
		{"process", b.Process},
		{"execution", b.Execution},
		{"about", b.About},
		{"priority", project.Word(b.Priority)},
		{"labels", strings.Join(b.Labels, ", ")},
		{"filed", stamp(b.CreatedAt) + " by " + who(b.FiledBy)},
		{"updated", stamp(b.UpdatedAt)},
	}
	if b.Deadline != nil {
		fields = append(fields, [2]string{"deadline", stamp(b.Deadline)})
	}
	if b.Report != nil {
		fields = append(fields, [2]string{"service", b.Report.Service}, [2]string{"occurrences", strconv.Itoa(int(b.Occurrences))})
	}
	for _, f := range fields {
		if f[1] != "" {
			fmt.Fprintf(w, "%-11s  %s\n", f[0], line(f[1], 200))
		}
	}
	if b.Description != "" {
		fmt.Fprintf(w, "\n%s\n", printable(b.Description))
	}
}

func (a *app) lock() *cobra.Command {
	status := a.viewer("status", "who holds the commit lock, and who waits", "lock", func(w io.Writer, v *loomv1.View) {
		for _, l := range v.Locks {
			lockText(w, l)
		}
		if len(v.Locks) == 0 {
			fmt.Fprintln(w, "free; nobody ever asked for it")
		}
	})
	status.Example = "  loom lock status --project shop"
	return group("lock", "the commit lock", "  loom lock status", status)
}

func lockText(w io.Writer, l *loomv1.CommitLock) {
	fmt.Fprintf(w, "%s\n", printable(l.Repository))
	if h := l.Holder; h != nil {
		fmt.Fprintf(w, "  held by %s@%s for %s since %s until %s (token %d)\n", h.Holder.GetAgent(), h.Holder.GetHost(), h.Request, stamp(h.GrantedAt), stamp(h.Until), h.Token)
	} else {
		fmt.Fprintf(w, "  free (last token %d)\n", l.LastToken)
	}
	for i, q := range l.Queue {
		fmt.Fprintf(w, "  %d. %s for %s, since %s\n", i+1, q.Holder.GetAgent(), q.Request, stamp(q.AskedAt))
	}
}

func (a *app) project() *cobra.Command {
	list := a.viewer("list", "list registered projects", "project", func(w io.Writer, v *loomv1.View) {
		rows := make([][]string, 0, len(v.Projects))
		for _, p := range v.Projects {
			rows = append(rows, []string{p.Id, line(p.Repository, 120), p.TargetBranch, p.DefaultProcess})
		}
		if len(rows) == 0 {
			fmt.Fprintln(w, "no projects; \"loom up --project NAME=PATH\" registers one")
			return
		}
		slices.SortFunc(rows, func(x, y []string) int { return cmp.Compare(x[0], y[0]) })
		table(w, []string{"project", "repository", "branch", "process"}, rows)
	})
	list.Example = "  loom project list"
	return group("project", "registered projects", "  loom project list", list)
}
