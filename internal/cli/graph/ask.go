package graph

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// enumWord returns the value of an enum by the word that people write.
func enumWord[E interface {
	~int32
	String() string
}](flag, word string, values map[int32]string, prefix string) (E, error) {
	if word == "" {
		return 0, nil
	}
	var words []string
	for n := int32(1); values[n] != ""; n++ {
		w := strings.ToLower(strings.TrimPrefix(values[n], prefix))
		if w == word {
			return E(n), nil
		}
		words = append(words, w)
	}
	return 0, fault.New("usage/argument", "no such value").At(flag).Got(word).Want("%s", suggest.Among(word, words))
}

func (a *Commands) graphQuery() *cobra.Command {
	q := &loomv1.GraphRequest{}
	var at, typ, status, ancestors, descendants, around string
	var recent, goals bool
	cmd := &cobra.Command{
		Use: "query [WORDS] [flags]", Short: "find decisions", Args: cobra.ArbitraryArgs,
		Long: `Query finds decisions by words in title or description (a word stands for all
that begin with it), by what they are, or by what leads to them and what they
lead to.`,
		Example: "  loom graph query rounding --type decision\n  loom graph query --ancestors-of d12\n  loom graph query --around d12 --depth 2\n  loom graph query --recent --limit 10",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text = strings.Join(args, " ")
			var err error
			if q.Type, err = enumWord[loomv1.DecisionType]("--type", typ, loomv1.DecisionType_name, "DECISION_TYPE_"); err != nil {
				return err
			}
			if q.Status, err = enumWord[loomv1.DecisionStatus]("--status", status, loomv1.DecisionStatus_name, "DECISION_STATUS_"); err != nil {
				return err
			}
			if err := chooseQuestion(q, ancestors, descendants, around, recent, goals); err != nil {
				return err
			}
			return a.askEach(cmd, q, at, a.decisionTable, a.decisionsOf)
		},
	}
	f := cmd.Flags()
	f.StringVar(&typ, "type", "", "only decisions of this `TYPE`: goal, decision, option, action, outcome, observation or revisit")
	f.StringVar(&status, "status", "", "only in this `STATUS`: active, superseded or abandoned")
	f.StringVar(&q.Bead, "bead", "", "only about this `BEAD`")
	f.StringVar(&q.Execution, "execution", "", "only about this `EXECUTION`")
	f.StringVar(&ancestors, "ancestors-of", "", "what led to this `DECISION`")
	f.StringVar(&descendants, "descendants-of", "", "what this `DECISION` led to")
	f.StringVar(&around, "around", "", "what is near this `DECISION`")
	f.Uint32Var(&q.Depth, "depth", 1, "links away, with --around; at most 10")
	f.BoolVar(&recent, "recent", false, "the newest")
	f.BoolVar(&goals, "goals", false, "active goals")
	f.Uint32Var(&q.Limit, "limit", 50, "at most so `MANY`")
	askFlags(cmd, q, &at)
	return cmd
}

// chooseQuestion says which question the flags ask; they exclude each other.
func chooseQuestion(q *loomv1.GraphRequest, ancestors, descendants, around string, recent, goals bool) error {
	asked := 0
	for _, c := range []struct {
		is       bool
		question loomv1.GraphQuestion
		flag, id string
	}{
		{q.Text != "", loomv1.GraphQuestion_GRAPH_QUESTION_SEARCH, "", ""},
		{ancestors != "", loomv1.GraphQuestion_GRAPH_QUESTION_ANCESTORS, "--ancestors-of", ancestors},
		{descendants != "", loomv1.GraphQuestion_GRAPH_QUESTION_DESCENDANTS, "--descendants-of", descendants},
		{around != "", loomv1.GraphQuestion_GRAPH_QUESTION_NEIGHBOURHOOD, "--around", around},
		{recent, loomv1.GraphQuestion_GRAPH_QUESTION_RECENT, "", ""},
		{goals, loomv1.GraphQuestion_GRAPH_QUESTION_GOALS, "", ""},
	} {
		if !c.is {
			continue
		}
		if asked++; asked > 1 {
			return fault.New("usage/argument", "words, --ancestors-of, --descendants-of, --around, --recent and --goals exclude each other")
		}
		q.Question, q.Id = c.question, c.id
		if c.id != "" {
			if err := checkDecision(c.flag, c.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// decisionTable shows decisions, one a line.
func (a *Commands) decisionTable(r *loomv1.GraphReply) error {
	return a.Print(r.Graph, func(w io.Writer) {
		decisionRows(w, r)
	})
}

// decisionsOf shows decisions of several projects, one a line.
func (a *Commands) decisionsOf(parts []*loomv1.GraphReply) error {
	if a.JSON {
		return a.inParts(parts, nil)
	}
	decisionRows(a.Out, parts...)
	return nil
}

// decisionRows are decisions, one a line, with their project where there are several.
func decisionRows(w io.Writer, replies ...*loomv1.GraphReply) {
	var rows [][]string
	cut := false
	for _, r := range replies {
		cut = cut || r.Cut
		for _, n := range r.Graph.GetNodes() {
			rows = append(rows, []string{
				r.Project, n.Id, project.Word(n.Type), statusOf(n, r.Stale), fmt.Sprintf("%d%%", n.Confidence), console.Dash(n.Bead), console.Stamp(n.Time),
				console.Dash(strings.TrimPrefix(graph.MadeBy(r.Graph, n), " by ")), console.Line(n.Title, 80),
			})
		}
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "no decisions")
		return
	}
	heads := []string{"id", "type", "status", "sure", "bead", "when", "by", "title"}
	if len(replies) > 1 { // also where one alone has some: ids do not name it
		console.Table(w, append([]string{"project"}, heads...), rows)
	} else {
		console.ProjectTable(w, heads, rows)
	}
	if cut {
		fmt.Fprintln(w, "there are more; --limit shows them")
	}
}

// statusOf is a decision's status, and what it rests on that no longer counts.
func statusOf(n *loomv1.DecisionNode, stale map[string]string) string {
	if because := stale[n.Id]; because != "" {
		return project.Word(n.Status) + ", stale by " + because
	}
	return project.Word(n.Status)
}

func (a *Commands) graphPath() *cobra.Command {
	q := &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_PATH}
	var at string
	cmd := &cobra.Command{
		Use: "path FROM TO [flags]", Short: "a shortest way from one decision to another", Args: console.Takes("FROM", "TO"),
		Example: "  loom graph path d1 d12",
		RunE: func(cmd *cobra.Command, args []string) error {
			for i, arg := range []string{"FROM", "TO"} {
				if err := checkDecision(arg, args[i]); err != nil {
					return err
				}
			}
			q.Id, q.To = args[0], args[1]
			return a.ask(cmd, q, at, func(r *loomv1.GraphReply) error {
				return a.Print(r.Graph, func(w io.Writer) {
					for i, n := range r.Graph.Nodes {
						fmt.Fprintf(w, "%s %s: %s\n", n.Id, project.Word(n.Type), console.Line(n.Title, 100))
						if i < len(r.Graph.Edges) {
							fmt.Fprintf(w, "  %s\n", edgeWord(r.Graph.Edges[i].Type))
						}
					}
				})
			})
		},
	}
	askFlags(cmd, q, &at)
	return cmd
}

func edgeWord(t loomv1.DecisionEdgeType) string {
	return strings.ToLower(strings.TrimPrefix(t.String(), "DECISION_EDGE_TYPE_"))
}

func (a *Commands) graphNarrative() *cobra.Command {
	q := &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_NARRATIVE}
	var at string
	cmd := &cobra.Command{
		Use: "narrative [DECISION|BEAD|EXECUTION] [flags]", Short: "how things came to be, in order", Args: console.Takes("[DECISION|BEAD|EXECUTION]"),
		Example: "  loom graph narrative shop-1\n  loom graph narrative d12",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				q.Id = args[0]
				if checkDecision("", q.Id) != nil {
					if err := console.CheckID("DECISION|BEAD|EXECUTION", q.Id); err != nil {
						return err
					}
				}
			}
			return a.ask(cmd, q, at, func(r *loomv1.GraphReply) error {
				if len(r.Narrative.GetLines()) == 0 && q.Id != "" && checkDecision("", q.Id) != nil {
					if err := a.HasBead(cmd.Context(), q.Id); err != nil {
						return err
					}
				}
				return a.Print(r.Narrative, func(w io.Writer) {
					for _, l := range r.Narrative.GetLines() {
						fmt.Fprintf(w, "%s  %-5s %s\n", console.Stamp(l.Time), l.Node, console.Line(l.Text, 400))
					}
					if len(r.Narrative.GetLines()) == 0 {
						fmt.Fprintln(w, "nothing was decided")
					}
				})
			})
		},
	}
	askFlags(cmd, q, &at)
	return cmd
}

func (a *Commands) graphPulse() *cobra.Command {
	q := &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_PULSE}
	var at string
	cmd := &cobra.Command{
		Use: "pulse [flags]", Short: "what in the graph wants attention", Args: console.Takes(),
		Example: "  loom graph pulse --project shop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd, q, at, func(r *loomv1.GraphReply) error {
				return a.Print(r.Pulse, func(w io.Writer) { pulseText(w, r.Pulse) })
			})
		},
	}
	askFlags(cmd, q, &at)
	return cmd
}

func pulseText(w io.Writer, p *loomv1.Pulse) {
	fmt.Fprintf(w, "%s, %s\n", console.Count(int(p.Nodes), "decision"), console.Count(int(p.Edges), "link"))
	var types, statuses []string
	for _, word := range slices.Sorted(maps.Keys(p.Types)) {
		types = append(types, console.Count(int(p.Types[word]), word))
	}
	for _, word := range slices.Sorted(maps.Keys(p.Statuses)) {
		statuses = append(statuses, fmt.Sprintf("%d %s", p.Statuses[word], word))
	}
	fmt.Fprintf(w, "  %s\n  %s\n", strings.Join(types, ", "), strings.Join(statuses, ", "))
	for _, f := range p.Findings {
		fmt.Fprintf(w, "\n%d %s: %s\n", f.Count, f.Kind, f.Meaning)
		for _, n := range f.Nodes {
			fmt.Fprintf(w, "  %s %s\n", n.Id, console.Line(n.Title, 100))
		}
		if more := int(f.Count) - len(f.Nodes); more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
	}
	if len(p.Findings) == 0 {
		fmt.Fprintln(w, "nothing wants attention")
	}
}

func (a *Commands) graphContext() *cobra.Command {
	q := &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_CONTEXT}
	var at string
	var why bool
	cmd := &cobra.Command{
		Use: "context [WORDS] [flags]", Short: "what an agent would be told, and why", Args: cobra.ArbitraryArgs,
		Long: `Context chooses what somebody who is about to work on something should know of
the decision graph, within a budget of tokens. The order is: goals of the work,
what else is about it, what is linked to it within 3 steps, what has the words,
other active goals, recent decisions; within each, surer and newer ones first.`,
		Example: "  loom graph context --bead shop-1 --tokens 500\n  loom graph context rounding --why",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text = strings.Join(args, " ")
			if q.Id != "" {
				if err := checkDecision("--decision", q.Id); err != nil {
					return err
				}
			}
			return a.ask(cmd, q, at, func(r *loomv1.GraphReply) error {
				return a.Print(r.Context, func(w io.Writer) { contextText(w, r.Context, why) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Bead, "bead", "", "about this `BEAD`")
	f.StringVar(&q.Execution, "execution", "", "about this `EXECUTION`")
	f.StringVar(&q.Id, "decision", "", "from this `DECISION` on")
	f.Uint32Var(&q.Tokens, "tokens", 1024, "budget, by the estimate of 4 bytes a token")
	f.BoolVar(&why, "why", false, "say of each why it was chosen")
	askFlags(cmd, q, &at)
	return cmd
}

func contextText(w io.Writer, c *loomv1.DecisionContext, why bool) {
	lines := strings.Split(strings.TrimSuffix(c.Text, "\n"), "\n")
	for i, item := range c.Items {
		if i < len(lines) {
			fmt.Fprintln(w, console.Printable(lines[i]))
		}
		if why {
			fmt.Fprintf(w, "    %s (rank %d, score %.2f, %d tokens)\n", console.Line(item.Why, 120), item.Rank, item.Score, item.Tokens)
		}
	}
	fmt.Fprintf(w, "[%s, %s; %d had no room]\n", console.Count(len(c.Items), "decision"), console.Count(int(c.Tokens), "token"), c.LeftOut)
}
