package approval

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const optionalExecution = "[EXECUTION|BEAD]"

// scopeFlags say what a pause covers.
type scopeFlags struct {
	id, process, project string
	all                  bool
}

func (f *scopeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.process, "process", "", "all work by the process of this `NAME`")
	cmd.Flags().BoolVar(&f.all, "all", false, "all work of the project or, without --project, of all projects")
	console.ProjectFlag(cmd, &f.project)
}

// check refuses what names no scope, or two.
func (f *scopeFlags) check(cmd *cobra.Command) error {
	named := 0
	for _, is := range []bool{f.id != "", f.process != "", f.all} {
		if is {
			named++
		}
	}
	if named != 1 {
		return fault.New("usage/argument", "name one of EXECUTION|BEAD, --process and --all").Want("%s", console.SeeHelp(cmd))
	}
	if f.id != "" {
		return cmp.Or(console.CheckID("EXECUTION|BEAD", f.id), console.CheckName("--project", f.project))
	}
	return cmp.Or(console.CheckName("--process", f.process), console.CheckName("--project", f.project))
}

// scoped is what a pause covers in one project.
type scoped struct {
	project, name string
	scope         loomv1.PauseScope
}

// words says what is covered, for a person.
func (s scoped) words() string {
	switch s.scope {
	case loomv1.PauseScope_PAUSE_SCOPE_EXECUTION:
		return s.name
	case loomv1.PauseScope_PAUSE_SCOPE_PROCESS:
		return fmt.Sprintf("process %s of %s", s.name, s.project)
	}
	return "all work of " + s.project
}

// resolve returns the scope in each project that the flags cover.
func (f *scopeFlags) resolve(ctx context.Context, c *client.Client, about *loomv1.HostReply) ([]scoped, error) {
	if f.id != "" {
		x, err := executionNamed(ctx, c, f.project, f.id)
		if err != nil {
			return nil, err
		}
		return []scoped{{x.Project, x.Id, loomv1.PauseScope_PAUSE_SCOPE_EXECUTION}}, nil
	}
	of, err := f.projects(about.Projects)
	if err != nil {
		return nil, err
	}
	if f.all {
		var list []scoped
		for _, name := range of {
			list = append(list, scoped{project: name, scope: loomv1.PauseScope_PAUSE_SCOPE_PROJECT})
		}
		return list, nil
	}
	if len(of) > 1 {
		return nil, console.NoProject()
	}
	return []scoped{{of[0], f.process, loomv1.PauseScope_PAUSE_SCOPE_PROCESS}}, nil
}

// projects returns the projects that the flags cover, of those that there are.
func (f *scopeFlags) projects(known []string) ([]string, error) {
	switch {
	case len(known) == 0:
		return nil, fault.New("project/unknown", "no project is registered").Want("loom up --project NAME=DIR")
	case f.project == "":
		return known, nil
	case !slices.Contains(known, f.project):
		return nil, fault.New("project/unknown", "no such project").At("--project").Got(f.project).Want("%s", suggest.Among(f.project, known))
	}
	return []string{f.project}, nil
}

// Pause returns the command of that name.
func (a *Commands) Pause() *cobra.Command {
	var list bool
	cmd := a.scoper("pause", "hold work: one execution, a process, or all", "paused", func(s scoped, reason string) *loomv1.CeoCommand {
		return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Scope: s.scope, Name: s.name, Reason: reason}}}
	})
	cmd.Long = `Pause holds work, signed with the CEO's key. Nothing of it is started or given
to agents; those at work give it back at their next step. No deadline runs
meanwhile. Pausing what is paused changes nothing.`
	cmd.Example = "  loom pause shop-1 --reason \"wait for the audit\"\n  loom pause --process auto-bug-workflow --reason \"the model is down\"\n  loom pause --all --reason \"freeze\"\n  loom pause --list"
	cmd.Flags().BoolVar(&list, "list", false, "show what is paused, and pause nothing")
	give := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if list {
			return a.pauses(cmd, args)
		}
		return give(cmd, args)
	}
	return cmd
}

// Resume returns the command of that name.
func (a *Commands) Resume() *cobra.Command {
	cmd := a.scoper("resume", "end a pause", "resumed", func(s scoped, reason string) *loomv1.CeoCommand {
		return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Resume{Resume: &loomv1.ResumeWork{Scope: s.scope, Name: s.name, Reason: reason}}}
	})
	cmd.Long = `Resume ends the pause of just what is named, signed with the CEO's key: an
execution that was paused by itself stays so when its project goes on. Deadlines
move by as long as the work was held.`
	cmd.Example = "  loom resume shop-1 --reason \"the audit is over\"\n  loom resume --all --reason \"the freeze is over\""
	return cmd
}

// scoper is a verb that is about all work within a scope.
func (a *Commands) scoper(verb, short, done string, order func(s scoped, reason string) *loomv1.CeoCommand) *cobra.Command {
	var scope scopeFlags
	var by OrderFlags
	cmd := &cobra.Command{
		Use: verb + " " + optionalExecution + " [flags]", Short: short, Args: console.Takes(optionalExecution),
		RunE: func(cmd *cobra.Command, args []string) error {
			scope.id = append(args, "")[0]
			if len(args) == 1 && args[0] == "" {
				return console.CheckID("EXECUTION|BEAD", "")
			}
			if err := cmp.Or(scope.check(cmd), by.Check(cmd)); err != nil {
				return err
			}
			return a.OrderAll(cmd.Context(), &by, done, func(ctx context.Context, c *client.Client, about *loomv1.HostReply) ([]Ordered, error) {
				list, err := scope.resolve(ctx, c, about)
				var orders []Ordered
				for _, s := range list {
					orders = append(orders, Ordered{s.project, s.words(), order(s, by.Reason)})
				}
				return orders, err
			})
		},
	}
	scope.add(cmd)
	by.Add(cmd)
	return cmd
}

// pauses lists what is paused.
func (a *Commands) pauses(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fault.New("usage/argument", "--list takes no argument").Got(args[0])
	}
	name, _ := cmd.Flags().GetString("project")
	if err := console.CheckName("--project", name); err != nil {
		return err
	}
	return a.Look(cmd, client.Services.Pause, &loomv1.Query{Project: name}, pauseTable)
}

func pauseTable(w io.Writer, v *loomv1.View) {
	if len(v.Pauses) == 0 {
		fmt.Fprintln(w, "nothing is paused")
		return
	}
	rows := make([][]string, 0, len(v.Pauses))
	for _, p := range v.Pauses {
		rows = append(rows, []string{p.Project, project.Word(p.Scope), console.Dash(p.Name), console.Stamp(p.Since), console.Line(p.Reason, 80)})
	}
	console.Table(w, []string{"project", "scope", "name", "since", "reason"}, rows)
}
