package project

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

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

// Project returns the command of that name.
func (a *Commands) Project() *cobra.Command {
	return console.Group("project", "registered projects", "  loom project list\n  loom project add shop=../shop", a.list(), a.add(), a.remove(), a.projectRoutes())
}

func (a *Commands) list() *cobra.Command {
	q := &loomv1.Query{}
	var all bool
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "list registered projects", Args: console.Takes(),
		Example: "  loom project list\n  loom project list --all",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := console.CheckName("--project", q.Project); err != nil {
				return err
			}
			if all {
				q.Filter = "all"
			}
			return a.Look(cmd, client.Services.Project, q, func(w io.Writer, v *loomv1.View) { table(w, v.Projects, all || q.Project != "") })
		},
	}
	console.AnyProjectFlag(cmd, &q.Project)
	cmd.Flags().BoolVar(&all, "all", false, "also those that were removed, and since when they are")
	return cmd
}

// table lists projects, with what has become of them where that is asked for.
func table(w io.Writer, projects []*loomv1.ProjectConfig, stands bool) {
	head, rows := []string{"project", "repository", "branch", "process"}, make([][]string, 0, len(projects))
	for _, p := range projects {
		rows = append(rows, []string{p.Id, console.Line(p.Repository, 120), p.TargetBranch, processesOf(p)})
		if stands {
			rows[len(rows)-1] = append(rows[len(rows)-1], standing(p))
		}
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "no projects; \"loom project add NAME=PATH\" registers one")
		return
	}
	if stands {
		head = append(head, "state")
	}
	slices.SortFunc(rows, func(x, y []string) int { return cmp.Compare(x[0], y[0]) })
	console.Table(w, head, rows)
}

func standing(p *loomv1.ProjectConfig) string {
	if p.Removed != nil {
		return "removed " + console.Stamp(p.Removed)
	}
	return "takes work"
}
