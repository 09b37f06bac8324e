package bead

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Bead returns the command of that name.
func (a *Commands) Bead() *cobra.Command {
	show := a.Viewer("show BEAD", "show one bead", client.Services.Bead, func(w io.Writer, v *loomv1.View) {
		for _, b := range v.Beads {
			beadText(w, b)
		}
	})
	show.Example = "  loom bead show shop-1"
	return console.Group("bead", "list, show and change beads", "  loom bead list --status waiting\n  loom bead show shop-1\n  loom bead update shop-1 --priority urgent",
		a.beadList(), show, a.beadUpdate(), a.beadClose(), a.beadReopen())
}

func (a *Commands) beadList() *cobra.Command {
	q := &loomv1.Query{}
	var removed bool
	list := &cobra.Command{
		Use: "list [flags]", Short: "list beads, newest first", Args: console.Takes(),
		Long: `List lists beads, the newest first; where no project is named and there are
several, project by project. Of several flags all must hold. What does
not fit on a page is listed by --after, with the last id of the page.
Beads of projects that were removed are listed with --removed.`,
		Example: "  loom bead list --status waiting\n  loom bead list --search \"shipping 50.00\" --type bug --label web\n  loom bead list --parent shop-7 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFilters(q); err != nil {
				return err
			}
			q.Project = cmp.Or(q.Project, project.Of(q.Parent))
			return a.With(cmd.Context(), func(c *client.Client) (err error) {
				var gone []string
				if q.Project == "" {
					if gone, err = removedProjects(cmd.Context(), c); err != nil {
						return err
					}
				}
				v, err := c.List(cmd.Context(), c.Bead, q)
				if err == nil && removed {
					err = addBeadsOf(cmd.Context(), c, v, q, gone)
				}
				if err != nil {
					return err
				}
				return a.Print(v, func(w io.Writer) {
					beadTable(w, v)
					if len(gone) > 0 && !removed {
						fmt.Fprintf(w, "left out: beads of %s (removed); --removed lists them, too\n", some(gone))
					}
				})
			})
		},
	}
	f := list.Flags()
	f.StringVar(&q.Filter, "status", "", "only beads in this `STATUS`: "+strings.Join(statuses(), ", "))
	f.StringVar(&q.Text, "search", "", "only beads whose id, goal, description or labels have all words of this `TEXT`, in any case")
	f.StringVar(&q.Type, "type", "", "only beads of this `TYPE`: "+strings.Join(types, ", "))
	f.StringSliceVar(&q.Labels, "label", nil, "only beads with this `LABEL`; may be given again")
	f.StringVar(&q.Parent, "parent", "", "only parts of this `BEAD`")
	f.StringVar(&q.Assignee, "assignee", "", "only beads meant for this `ROLE`")
	f.StringVar(&q.Process, "process", "", "only beads worked by this `NAME` of a process")
	f.Uint32Var(&q.Limit, "limit", 100, "at most `N`, up to 1000")
	f.StringVar(&q.After, "after", "", "list on after this `BEAD`")
	f.BoolVar(&removed, "removed", false, "also beads of projects that were removed")
	console.AnyProjectFlag(list, &q.Project)
	completes(list, map[string][]string{"status": statuses(), "type": types, "assignee": roleNames()})
	return list
}

// removedProjects are the projects that take no work any more.
func removedProjects(ctx context.Context, c *client.Client) (list []string, err error) {
	v, err := c.Project(ctx, &loomv1.Query{Filter: "all"})
	for _, p := range v.GetProjects() {
		if p.Removed != nil {
			list = append(list, p.Id)
		}
	}
	return list, err
}

// addBeadsOf adds to a list the beads of some projects that a query asks for.
func addBeadsOf(ctx context.Context, c *client.Client, v *loomv1.View, q *loomv1.Query, projects []string) error {
	for _, id := range projects {
		of := proto.CloneOf(q)
		of.Project, of.After = id, ""
		more, err := c.List(ctx, c.Bead, of)
		if err != nil {
			return err
		}
		v.Beads = append(v.Beads, more.Beads...)
	}
	return nil
}

// types are the words for a bead's type.
var types = []string{"task", "bug", "approval"}

// statuses lists the words for a bead's status, and for where its work is.
func statuses() []string {
	var list []string
	for i := int32(1); loomv1.BeadStatus_name[i] != ""; i++ {
		list = append(list, project.Word(loomv1.BeadStatus(i)))
	}
	return append(list, project.WorkStates...)
}

// roleNames are the roles that work can be meant for.
func roleNames() []string {
	set := roles.Builtin()
	return slices.DeleteFunc(set.Names(), func(name string) bool {
		r, _ := set.Get(name)
		return r.Human
	})
}

// checkFilters refuses what no bead could match.
func checkFilters(q *loomv1.Query) error {
	for _, id := range [][2]string{{"--parent", q.Parent}, {"--after", q.After}} {
		if id[1] != "" {
			if err := console.CheckID(id[0], id[1]); err != nil {
				return err
			}
		}
	}
	if q.Limit < 1 || q.Limit > project.MaxListed {
		return fault.New("usage/argument", "not a number of beads that a list can have").At("--limit").Got(strconv.Itoa(int(q.Limit))).Want("1 to %d", project.MaxListed)
	}
	return cmp.Or(console.CheckName("--project", q.Project), checkWord("--status", q.Filter, statuses()), checkWord("--type", q.Type, types),
		console.CheckName("--assignee", q.Assignee), console.CheckName("--process", q.Process))
}

// checkWord refuses a word that is none of the known ones; none at all is fine.
func checkWord(flag, word string, known []string) error {
	if word == "" || slices.Contains(known, word) {
		return nil
	}
	return fault.New("usage/argument", "no such %s", strings.TrimPrefix(flag, "--")).At(flag).Got(word).Want("%s", suggest.Among(word, known))
}

// completes has flags complete by words.
func completes(cmd *cobra.Command, words map[string][]string) {
	for flag, list := range words {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // there is no such flag
		}
	}
}

func beadTable(w io.Writer, v *loomv1.View) {
	if len(v.Beads) == 0 {
		fmt.Fprintln(w, "no beads")
	} else {
		rows := make([][]string, 0, len(v.Beads))
		for _, b := range v.Beads {
			rows = append(rows, []string{b.Project, b.Id, project.Word(b.Type), project.BeadWord(b), project.Word(b.Priority), console.Stamp(b.UpdatedAt), console.Line(b.Goal, 70)})
		}
		console.ProjectTable(w, []string{"bead", "type", "status", "priority", "updated", "goal"}, rows)
	}
	if v.Next != "" {
		fmt.Fprintf(w, "there is more: --after %s\n", v.Next)
	}
}

func beadText(w io.Writer, b *loomv1.Bead) {
	fmt.Fprintf(w, "%s  %s  %s", b.Id, project.Word(b.Type), project.BeadWord(b))
	if b.Reason != "" {
		fmt.Fprintf(w, " (%s)", console.Line(b.Reason, 160))
	}
	fmt.Fprintf(w, "\n\n  %s\n\n", console.Line(b.Goal, 500))
	for _, f := range beadFields(b) {
		if f[1] != "" {
			fmt.Fprintf(console.Hung(w, 13), "%-11s  %s\n", f[0], console.Line(f[1], 400))
		}
	}
	if b.Description != "" {
		fmt.Fprintf(w, "\n%s\n", console.Printable(b.Description))
	}
}

// beadFields are the lines of a bead, each with its head.
func beadFields(b *loomv1.Bead) [][2]string {
	execution := b.Execution
	if b.Executions > 1 {
		execution += fmt.Sprintf(", the last of %d", b.Executions)
	}
	fields := [][2]string{
		{"process", b.Process},
		{"execution", execution},
		{"about", b.About},
		{"follows", b.Follows},
		{"parent", b.Parent},
		{"after", b.After},
		{"children", some(b.Children)},
		{"blocked by", some(b.BlockedBy)},
		{"blocks", some(b.Blocks)},
		{"assignee", b.Assignee},
		{"priority", project.Word(b.Priority)},
		{"labels", strings.Join(b.Labels, ", ")},
		{"stakeholders", strings.Join(b.Stakeholders, "; ")},
		{"budget", budgetText(b.Budget)},
		{"filed", console.Stamp(b.CreatedAt) + " by " + console.Who(b.FiledBy)},
		{"updated", console.Stamp(b.UpdatedAt)},
	}
	if b.Deadline != nil {
		fields = append(fields, [2]string{"deadline", console.Stamp(b.Deadline)})
	}
	if l := b.Landing; l != nil {
		fields = append(fields, [2]string{"landed", fmt.Sprintf("%.12s on %s: %s", l.Commit, strings.TrimPrefix(l.Ref, "refs/heads/"), l.Checkout)})
	}
	if d := b.Draft; d != nil {
		fields = append(fields, [2]string{"draft", fmt.Sprintf("%s, +%d -%d, of %s; go on with it: %s", console.Count(int(d.Files), "file"), d.Added, d.Removed, d.Execution, goOnWith(b))})
	}
	if b.BlockedSince != nil {
		fields = append(fields, [2]string{"blocked", "since " + console.Stamp(b.BlockedSince)})
	}
	if b.Report != nil {
		fields = append(fields, [2]string{"service", b.Report.Service}, [2]string{"occurrences", strconv.Itoa(int(b.Occurrences))})
	}
	return fields
}

// goOnWith is the command that goes on with the draft of a bead. That of a session is gone on
// with there.
func goOnWith(b *loomv1.Bead) string {
	if b.Session != "" {
		return "loom pattern resume " + b.Session
	}
	return "loom bead reopen " + b.Id + " --resume"
}

// some lists ids, a screen's worth of them.
func some(ids []string) string {
	const most = 20
	if len(ids) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
	}
	return strings.Join(ids, ", ")
}
