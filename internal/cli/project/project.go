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
	list := a.Viewer("list", "list registered projects", client.Services.Project, func(w io.Writer, v *loomv1.View) {
		rows := make([][]string, 0, len(v.Projects))
		for _, p := range v.Projects {
			rows = append(rows, []string{p.Id, console.Line(p.Repository, 120), p.TargetBranch, processesOf(p)})
		}
		if len(rows) == 0 {
			fmt.Fprintln(w, "no projects; \"loom up --project NAME=PATH\" registers one")
			return
		}
		slices.SortFunc(rows, func(x, y []string) int { return cmp.Compare(x[0], y[0]) })
		console.Table(w, []string{"project", "repository", "branch", "process"}, rows)
	})
	list.Example = "  loom project list"
	return console.Group("project", "registered projects", "  loom project list\n  loom project routes --project shop", list, a.projectRoutes())
}
