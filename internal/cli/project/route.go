package project

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) projectRoutes() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "routes [flags]", Short: "who is to mend which errors", Args: console.Takes(),
		Long: `Routes lists the rules by which error reports are routed, in their order: the
first that a report matches counts. They are the project's own, which "loom up
--route-file" gave it, or else the built-in ones.`,
		Example: "  loom project routes --project shop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := console.CheckName("--project", name); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				p, err := registered(cmd.Context(), c, name)
				if err != nil {
					return err
				}
				shown := &loomv1.ProjectConfig{Id: p.Id, Routes: project.Routes(p), Governor: p.Governor}
				return a.Print(shown, func(w io.Writer) { routeTable(w, p) })
			})
		},
	}
	cmd.Flags().StringVar(&name, "project", "", "`NAME` of the project (default: the one you are in, else the host's only one)")
	return cmd
}

// registered returns a project's registration: that of the only one without a
// name.
func registered(ctx context.Context, c *client.Client, name string) (*loomv1.ProjectConfig, error) {
	v, err := c.Project(ctx, &loomv1.Query{Project: name})
	if err != nil {
		return nil, err
	}
	if len(v.Projects) != 1 {
		return nil, console.NoProject()
	}
	return v.Projects[0], nil
}

func routeTable(w io.Writer, p *loomv1.ProjectConfig) {
	rows := make([][]string, 0, len(project.Routes(p)))
	for i, r := range project.Routes(p) {
		rows = append(rows, []string{strconv.Itoa(i + 1), console.Line(routeIf(r), 90), routeThen(r)})
	}
	console.Table(w, []string{"rule", "of reports with", "makes a bead with"}, rows)
	fmt.Fprintf(w, "what none of them matches goes to triage; these rules are %s\n", whose(p))
	fmt.Fprintf(w, "in %s, %d beads by reports and %d by Loom itself may be filed without a person\n",
		project.Window(p), project.MostFiled(p, false), project.MostFiled(p, true))
}

func whose(p *loomv1.ProjectConfig) string {
	if len(p.Routes) > 0 {
		return "the project's own"
	}
	return "built in"
}

// routeIf says what a report must have.
func routeIf(r *loomv1.Route) string {
	var parts []string
	for _, f := range [][2]string{{"service", r.Service}, {"kind", r.Kind}, {"message", r.Message}} {
		if f[1] != "" {
			parts = append(parts, f[0]+" "+strconv.Quote(f[1]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		parts = append(parts, name+" "+strconv.Quote(r.Attributes[name]))
	}
	switch {
	case r.StatusTo > 0:
		parts = append(parts, fmt.Sprintf("status %d to %d", r.StatusFrom, r.StatusTo))
	case r.StatusFrom > 0:
		parts = append(parts, fmt.Sprintf("status %d and above", r.StatusFrom))
	}
	return console.Dash(strings.Join(parts, ", "))
}

// routeThen says what becomes of a report.
func routeThen(r *loomv1.Route) string {
	if r.GetIgnore() {
		return "nothing is filed"
	}
	parts := []string{}
	for _, f := range [][2]string{{"assignee", r.GetAssignee()}, {"process", r.GetProcess()}, {"labels", strings.Join(r.GetLabels(), " ")}} {
		if f[1] != "" {
			parts = append(parts, f[0]+" "+f[1])
		}
	}
	if r.GetPriority() != 0 {
		parts = append(parts, "priority "+project.Word(r.Priority))
	}
	return console.Dash(strings.Join(parts, ", "))
}

// DryRun says what a project's rules make of a report.
func (a *Commands) DryRun(ctx context.Context, c *client.Client, r *loomv1.ErrorReport) error {
	p, err := registered(ctx, c, r.Project)
	if err != nil {
		return err
	}
	rule, i := project.RouteOf(project.Routes(p), r)
	if rule == nil {
		rule = &loomv1.Route{}
	}
	if !project.Files(r) {
		rule, i = &loomv1.Route{Ignore: true}, -1
	}
	return a.Print(rule, func(w io.Writer) {
		switch {
		case !project.Files(r):
			fmt.Fprintf(w, "status %d files nothing: only 500 and above, and crashes, do\n", r.Status)
		case i < 0:
			fmt.Fprintf(w, "no rule of project %s matches: triage chooses who is to mend it\n", p.Id)
		default:
			fmt.Fprintf(w, "rule %d of project %s, %s: %s\n", i+1, p.Id, whose(p), routeThen(rule))
		}
	})
}

// FillReporting reads the route files that flags name: NAME=FILE for a project
// that another flag names, or FILE for all projects.
func (a *Commands) FillReporting(c *host.Config, files []string) error {
	var errs []*fault.Error
	for _, s := range files {
		name, file, ok := strings.Cut(s, "=")
		i := slices.IndexFunc(c.Projects, func(p host.Project) bool { return ok && p.ID == name })
		if i < 0 {
			file = s
		}
		r, err := a.reporting(file)
		switch {
		case err != nil:
			errs = append(errs, fault.All(err)...)
		case i < 0:
			c.Reporting = &r
		default:
			c.Projects[i].Reporting = &r
		}
	}
	return fault.Join(errs)
}

func (a *Commands) reporting(file string) (project.Reporting, error) {
	data, err := a.Read(file)
	if err != nil {
		return project.Reporting{}, err
	}
	return project.ParseReporting(file, data, a.RoleSet())
}
