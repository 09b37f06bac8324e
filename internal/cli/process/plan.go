package process

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/plan"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// PlanContext has a submission say who plans, and whether the CEO is asked.
func PlanContext(s *loomv1.Submission, planner string, ask bool) error {
	if planner != "" && planner != plan.ByModel && planner != plan.ByRules {
		return fault.New("usage/argument", "unknown planner").At("--planner").Got(planner).Want("model or rules")
	}
	if s.Context == nil {
		s.Context = &structpb.Struct{}
	}
	if s.Context.Fields == nil {
		s.Context.Fields = map[string]*structpb.Value{}
	}
	if planner != "" {
		s.Context.Fields[plan.PlannerKey] = structpb.NewStringValue(planner)
	}
	if ask {
		s.Context.Fields[plan.ApproveKey] = structpb.NewBoolValue(true)
	}
	return nil
}

func (a *Commands) planProcess() *cobra.Command {
	var workspace, file string
	cmd := &cobra.Command{
		Use: "plan NAME|FILE [GOAL...] [flags]", Short: "what a goal would be planned as", Args: console.TakesSome("NAME|FILE"),
		Long: `Plan shows how a goal would be planned by a guided or suggestive process without
a model: which phases stay, and which the words of the goal and the files of the
workspace leave out. With --file it holds a plan of your own, in YAML or JSON,
against the process, and says all that is wrong with it. Nothing is begun.`,
		Example: "  loom process plan research-report \"Is it worth it? Without interviews\"\n  loom process plan ./tender.yaml --file plan.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			_, e, err := a.Pick(args[0])
			if err != nil {
				return err
			}
			text, err := a.planText(e, strings.Join(args[1:], " "), workspace, file)
			if err != nil {
				return err
			}
			_, p, err := processes.Replan(e.Definition, text, processes.PlanOptions{Roles: a.RoleSet()})
			if err != nil {
				return a.Problems(err)
			}
			return a.PrintAny(console.JSONOf(p), func(w io.Writer) { planTable(w, p) })
		},
	}
	cmd.Flags().StringVarP(&workspace, "workspace", "w", ".", "look at this `DIR`, also -w")
	cmd.Flags().StringVar(&file, "file", "", "hold the plan in this `FILE` against the process")
	return cmd
}

// planText is the plan of a file, or the one that rules make.
func (a *Commands) planText(e *processes.Entry, goal, workspace, file string) (string, error) {
	if file != "" {
		data, err := a.ReadFile(file)
		return string(data), err
	}
	written, _ := processes.Outline(e.Definition, a.RoleSet())
	if written == nil {
		return "", fault.New("plan/none", "process %q is strict: its phases run as they are written", e.Name)
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", fault.New("usage/argument", "no such directory").At("--workspace").Got(workspace)
	}
	defer root.Close()
	return plan.Rules(written, goal, root.FS()), nil
}

func planTable(w io.Writer, p *loomv1.Plan) {
	if p.Why != "" {
		fmt.Fprintf(w, "%s\n\n", console.Line(p.Why, 300))
	}
	rows := make([][]string, 0, len(p.Phases))
	for _, ph := range p.Phases {
		rows = append(rows, []string{
			ph.Id, strings.TrimSpace(ph.Change + " " + ph.Of), console.Dash(strings.Join(ph.DependsOn, ", ")), console.Dash(filesText(ph.Deliverables)), console.Line(ph.Description, 60),
		})
	}
	console.Table(w, []string{"phase", "is", "after", "delivers", "does"}, rows)
	for _, l := range p.LeftOut {
		fmt.Fprintf(w, "without %s: %s\n", l.Phase, console.Line(l.Reason, 300))
	}
}
