package graph

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// writeGraph sends a change of the graph and shows what came of it.
func (a *Commands) writeGraph(cmd *cobra.Command, r *loomv1.DecisionRequest, show func(w io.Writer, answer *loomv1.Answer)) error {
	if err := console.CheckName("--project", r.Project); err != nil {
		return err
	}
	return a.With(cmd.Context(), func(c *client.Client) error {
		answer, err := c.Decide(cmd.Context(), r)
		if err != nil {
			return err
		}
		return a.Print(answer, func(w io.Writer) { show(w, answer) })
	})
}

func (a *Commands) graphAdd() *cobra.Command {
	add := &loomv1.AddDecision{Node: &loomv1.DecisionNode{}}
	r := &loomv1.DecisionRequest{Verb: &loomv1.DecisionRequest_Add{Add: add}}
	var from, to []string
	var scope string
	cmd := &cobra.Command{
		Use: "add TYPE TITLE [flags]", Short: "add a decision, and how it is linked", Args: console.Takes("TYPE", "TITLE"),
		Long: `Add adds a decision of a type: goal, decision, option, action, outcome,
observation or revisit. --from links others to it and --to links it to others,
each as TYPE:DECISION with the type of the link: leads_to, chosen, rejected,
requires, blocks, enables or supersedes.`,
		Example: "  loom graph add decision \"round once\" --from leads_to:d2 --to chosen:d4",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			add.Node.Title = args[1]
			if add.Node.Type, err = enumWord[loomv1.DecisionType]("TYPE", args[0], loomv1.DecisionType_name, "DECISION_TYPE_"); err != nil {
				return err
			}
			if add.Links, err = parseLinks(from, to); err != nil {
				return err
			}
			r.Project = cmp.Or(r.Project, project.Of(add.Node.Bead))
			graph.SetScope(add.Node, scope)
			add.Request = rand.Text()
			return a.writeGraph(cmd, r, func(w io.Writer, answer *loomv1.Answer) { fmt.Fprintln(w, answer.GetDecision().GetId()) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&add.Node.Description, "description", "", "`TEXT` that says more")
	f.Uint32Var(&add.Node.Confidence, "confidence", 100, "how `SURE` one is, 0 to 100")
	f.StringVar(&scope, "scope", "", "of an option: what it `ANSWERS`; of those of one scope only one is right")
	f.StringVar(&add.Node.Bead, "bead", "", "about this `BEAD`")
	f.StringArrayVar(&from, "from", nil, "a link from `TYPE:DECISION`; may be given again")
	f.StringArrayVar(&to, "to", nil, "a link to `TYPE:DECISION`; may be given again")
	console.ProjectFlag(cmd, &r.Project)
	return cmd
}

// parseLinks reads the links of a decision that is added.
func parseLinks(from, to []string) ([]*loomv1.DecisionEdge, error) {
	var links []*loomv1.DecisionEdge
	for _, end := range []struct {
		flag string
		list []string
	}{{"--from", from}, {"--to", to}} {
		flag := end.flag
		for _, s := range end.list {
			t, id, ok := strings.Cut(s, ":")
			if !ok {
				return nil, fault.New("usage/argument", "not TYPE:DECISION").At(flag).Got(s).Want("for example leads_to:d2")
			}
			edge := &loomv1.DecisionEdge{}
			var err error
			if edge.Type, err = enumWord[loomv1.DecisionEdgeType](flag, t, loomv1.DecisionEdgeType_name, "DECISION_EDGE_TYPE_"); err != nil {
				return nil, err
			}
			if err := checkDecision(flag, id); err != nil {
				return nil, err
			}
			if edge.From = id; flag == "--to" {
				edge.From, edge.To = "", id
			}
			links = append(links, edge)
		}
	}
	return links, nil
}

func (a *Commands) graphLink() *cobra.Command {
	edge := &loomv1.DecisionEdge{}
	r := &loomv1.DecisionRequest{Verb: &loomv1.DecisionRequest_Link{Link: &loomv1.LinkDecision{Edge: edge}}}
	cmd := &cobra.Command{
		Use: "link FROM TYPE TO [flags]", Short: "link two decisions", Args: console.Takes("FROM", "TYPE", "TO"),
		Example: "  loom graph link d5 chosen d3 --rationale \"fewer surprises\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(checkDecision("FROM", args[0]), checkDecision("TO", args[2])); err != nil {
				return err
			}
			var err error
			if edge.Type, err = enumWord[loomv1.DecisionEdgeType]("TYPE", args[1], loomv1.DecisionEdgeType_name, "DECISION_EDGE_TYPE_"); err != nil {
				return err
			}
			edge.From, edge.To = args[0], args[2]
			return a.writeGraph(cmd, r, func(w io.Writer, _ *loomv1.Answer) { fmt.Fprintf(w, "%s %s %s\n", edge.From, args[1], edge.To) })
		},
	}
	cmd.Flags().StringVar(&edge.Rationale, "rationale", "", "`TEXT` that says why")
	cmd.Flags().Float64Var(&edge.Weight, "weight", 1, "how `MUCH` it counts, 0 to 1")
	console.ProjectFlag(cmd, &r.Project)
	return cmd
}

func (a *Commands) graphSupersede() *cobra.Command {
	s := &loomv1.SupersedeDecision{}
	r := &loomv1.DecisionRequest{Verb: &loomv1.DecisionRequest_Supersede{Supersede: s}}
	cmd := &cobra.Command{
		Use: "supersede OLD NEW [flags]", Short: "put one decision in the place of another", Args: console.Takes("OLD", "NEW"),
		Example: "  loom graph supersede d3 d7 --rationale \"a decimal type has no rounding\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(checkDecision("OLD", args[0]), checkDecision("NEW", args[1])); err != nil {
				return err
			}
			s.Old, s.New = args[0], args[1]
			return a.writeGraph(cmd, r, func(w io.Writer, _ *loomv1.Answer) { fmt.Fprintf(w, "%s is superseded by %s\n", s.Old, s.New) })
		},
	}
	cmd.Flags().StringVar(&s.Rationale, "rationale", "", "`TEXT` that says why")
	console.ProjectFlag(cmd, &r.Project)
	return cmd
}

func (a *Commands) graphAbandon() *cobra.Command {
	give := &loomv1.AbandonDecision{}
	r := &loomv1.DecisionRequest{Verb: &loomv1.DecisionRequest_Abandon{Abandon: give}}
	var by approval.OrderFlags
	var ceo bool
	cmd := &cobra.Command{
		Use: "abandon DECISION [flags]", Short: "give up a decision, with nothing in its place", Args: console.Takes("DECISION"),
		Long: `Abandon gives up a decision that you recorded, or any decision with the CEO's
signature (--ceo). What rests on it is stale, work that was approved because of
it is asked about again, and votes that it is part of are void. It stays in the
record and cannot be taken back: add a new one.`,
		Example: "  loom graph abandon d3 --reason \"nobody needs it any more\"\n  loom graph abandon d7 --reason \"too dear\" --ceo",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(checkDecision("DECISION", args[0]), console.CheckName("--project", r.Project), by.Check(cmd)); err != nil {
				return err
			}
			give.Id, give.Reason = args[0], by.Reason
			if ceo || by.Key != "" {
				return approval.New(a.Console).OrderAll(cmd.Context(), &by, "given up", func(_ context.Context, _ *client.Client, about *loomv1.HostReply) ([]approval.Ordered, error) {
					of, err := approval.TheProject(about, r.Project)
					return []approval.Ordered{{Project: of, About: give.Id, Cmd: &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Abandon{Abandon: give}}}}, err
				})
			}
			return a.writeGraph(cmd, r, func(w io.Writer, _ *loomv1.Answer) { fmt.Fprintf(w, "%s: given up\n", give.Id) })
		},
	}
	cmd.Flags().BoolVar(&ceo, "ceo", false, "sign it with the CEO's key, whoever recorded it")
	console.ProjectFlag(cmd, &r.Project)
	by.Add(cmd)
	return cmd
}
