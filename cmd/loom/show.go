package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
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

// processesOf says by which process submissions to a project are worked on that name
// none, as loom.toml says it.
func processesOf(p *loomv1.ProjectConfig) string {
	var rules []string
	for _, r := range p.Processes {
		when := ""
		switch {
		case r.Label != "":
			when = "label:" + r.Label + "="
		case r.Type != loomv1.BeadType_BEAD_TYPE_UNSPECIFIED:
			when = project.Word(r.Type) + "="
		}
		rules = append(rules, when+r.Process)
	}
	if p.DefaultProcess != "" {
		return strings.Join(append(rules, p.DefaultProcess), ", ")
	}
	return strings.Join(append(rules, "bug="+project.AutoBug, project.Feature), ", ")
}

func (a *app) project() *cobra.Command {
	list := a.viewer("list", "list registered projects", "project", func(w io.Writer, v *loomv1.View) {
		rows := make([][]string, 0, len(v.Projects))
		for _, p := range v.Projects {
			rows = append(rows, []string{p.Id, line(p.Repository, 120), p.TargetBranch, processesOf(p)})
		}
		if len(rows) == 0 {
			fmt.Fprintln(w, "no projects; \"loom up --project NAME=PATH\" registers one")
			return
		}
		slices.SortFunc(rows, func(x, y []string) int { return cmp.Compare(x[0], y[0]) })
		table(w, []string{"project", "repository", "branch", "process"}, rows)
	})
	list.Example = "  loom project list"
	return group("project", "registered projects", "  loom project list\n  loom project routes --project shop", list, a.projectRoutes())
}
