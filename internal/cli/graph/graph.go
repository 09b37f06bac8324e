package graph

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/execution"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Graph returns the command of that name.
func (a *Commands) Graph() *cobra.Command {
	return console.Group("graph", "the decision graph: who decided what, and why",
		"  loom graph show shop-1\n  loom graph query rounding --type decision\n  loom graph narrative shop-1",
		a.graphShow("show"), a.graphShow("export"), a.graphImport(), a.graphQuery(), a.graphPath(), a.graphNarrative(), a.graphPulse(),
		a.graphContext(), a.graphAdd(), a.graphLink(), a.graphSupersede(), a.graphAbandon(), a.graphVote(), a.graphWatch())
}

// graphFormats are the ways to write a graph.
var graphFormats = map[string]func(*loomv1.GraphReply) (string, error){
	"text":    func(r *loomv1.GraphReply) (string, error) { return graph.Text(r.Graph, r.Stale), nil },
	"dot":     func(r *loomv1.GraphReply) (string, error) { return graph.DOT(r.Graph), nil },
	"mermaid": func(r *loomv1.GraphReply) (string, error) { return picture(r.Graph, graph.Mermaid) },
	"svg":     func(r *loomv1.GraphReply) (string, error) { return picture(r.Graph, graph.SVG) },
	"json":    func(r *loomv1.GraphReply) (string, error) { return graph.JSON(r.Graph) },
}

// picture draws a graph that is not too large to be looked at.
func picture(g *loomv1.DecisionGraph, draw func(*loomv1.DecisionGraph) string) (string, error) {
	if n := len(g.GetNodes()); n > mostNodes {
		return "", fault.New("graph/too-large", "a picture of %d decisions, and %d is the most", n, mostNodes).At("--format").
			Want("the part about one BEAD, or --format dot or json")
	}
	return draw(g), nil
}

func graphFormat(name string) (func(*loomv1.GraphReply) (string, error), error) {
	if write, ok := graphFormats[name]; ok {
		return write, nil
	}
	names := slices.Sorted(maps.Keys(graphFormats))
	return nil, fault.New("usage/argument", "unknown format").At("--format").Got(name).
		Want("%s", cmp.Or(suggest.Among(name, names), strings.Join(names, ", ")))
}

// graphShow is "show", for people, and "export", for programs: they differ in
// what they write unless they are told.
func (a *Commands) graphShow(use string) *cobra.Command {
	q := &loomv1.GraphRequest{Limit: mostNodes}
	short, format := "show the decision graph, or the part about one bead", "text"
	if use == "export" {
		short, format = "write it, or the part about one bead, for programs", "json"
	}
	var output, at string
	cmd := &cobra.Command{
		Use: use + " [BEAD] [flags]", Short: short, Args: console.Takes("[BEAD]"),
		Example: "  loom graph " + use + " shop-1\n  loom graph " + use + " --format svg -o graph.svg\n  loom graph " + use + " --at 10m",
		RunE: func(cmd *cobra.Command, args []string) error {
			write, err := graphFormat(format)
			if err == nil && len(args) == 1 {
				err = console.CheckID("BEAD", args[0])
				q.Bead = args[0]
			}
			if err != nil {
				return err
			}
			show := func(r *loomv1.GraphReply) error {
				if a.JSON {
					return a.Print(r.Graph, nil)
				}
				text, err := write(r)
				if err != nil {
					return err
				}
				if r.Cut {
					fmt.Fprintf(a.Err, "only the newest %d decisions; \"loom graph query\" finds others\n", mostNodes)
				}
				if format == "text" && (output == "" || output == "-") {
					_, err = io.WriteString(console.Prose(a.Out, 0), text)
					return err
				}
				return a.WriteTo(output, text)
			}
			if use == "export" && q.Bead == "" {
				return a.export(cmd, q, at, show)
			}
			return a.askEach(cmd, q, at, show, func(parts []*loomv1.GraphReply) error {
				if output != "" || format != "text" && !a.JSON {
					return fault.New("project/unknown", "no project is named, and a file or a picture is of one").At("--project")
				}
				return a.inParts(parts, show)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "`FORMAT`: "+strings.Join(slices.Sorted(maps.Keys(graphFormats)), ", "))
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this `FILE` (default: standard output)")
	askFlags(cmd, q, &at)
	return cmd
}

// mostNodes is the most that one answer has.
const mostNodes = 2000

// askFlags are the flags of every question.
func askFlags(cmd *cobra.Command, q *loomv1.GraphRequest, at *string) {
	cmd.Flags().StringVar(at, "at", "", "as of this `MOMENT`: the number of an event, a time, or how long ago (10m)")
	console.AnyProjectFlag(cmd, &q.Project)
}

// ask asks the graph and shows the answer; where several projects answer, one below the
// other.
func (a *Commands) ask(cmd *cobra.Command, q *loomv1.GraphRequest, at string, show func(*loomv1.GraphReply) error) error {
	return a.askEach(cmd, q, at, show, func(parts []*loomv1.GraphReply) error { return a.inParts(parts, show) })
}

// inParts shows what projects answer, one below the other; with --json a line for each.
func (a *Commands) inParts(parts []*loomv1.GraphReply, show func(*loomv1.GraphReply) error) error {
	for i, part := range parts {
		var err error
		if a.JSON {
			err = a.Print(part, nil)
		} else {
			fmt.Fprintf(a.Out, "%sproject %s\n", strings.Repeat("\n", min(i, 1)), part.Project)
			err = show(part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// askEach asks the graph and shows the answer, or what several projects answer.
func (a *Commands) askEach(cmd *cobra.Command, q *loomv1.GraphRequest, at string, show func(*loomv1.GraphReply) error, several func(parts []*loomv1.GraphReply) error) error {
	m, err := execution.ParseMoment("--at", at, time.Now())
	if err == nil && m.At != nil {
		err = fault.New("usage/argument", "a position of the journal").At("--at").Got(at).Want("the number of an event, a time, or how long ago")
	}
	if err = cmp.Or(err, console.CheckName("--project", q.Project)); err != nil {
		return err
	}
	q.At, q.Time = m.Number, m.Time
	q.Project = cmp.Or(q.Project, project.Of(q.Bead), project.Of(q.Execution), project.Of(q.Id))
	return a.With(cmd.Context(), func(c *client.Client) error {
		r, err := c.Ask(cmd.Context(), q)
		if err != nil {
			return err
		}
		a.TellQuarantined(r.Quarantined)
		if len(r.Parts) > 0 {
			return several(r.Parts)
		}
		return show(r)
	})
}

// export asks for the whole graph, page by page, as it is at one event.
func (a *Commands) export(cmd *cobra.Command, q *loomv1.GraphRequest, at string, show func(*loomv1.GraphReply) error) error {
	q.Question, q.Limit = loomv1.GraphQuestion_GRAPH_QUESTION_EXPORT, 0
	whole := &loomv1.GraphReply{Graph: &loomv1.DecisionGraph{}}
	for first := true; first || q.After > 0; first = false {
		err := a.ask(cmd, q, at, func(r *loomv1.GraphReply) error {
			proto.Merge(whole.Graph, r.Graph)
			whole.Number, q.After = r.Number, r.Next
			return nil
		})
		if err != nil {
			return err
		}
		at = strconv.FormatUint(whole.Number, 10)
	}
	g, err := graph.Restore(whole.Graph)
	if err != nil {
		return err
	}
	whole.Stale = g.Stale()
	if !a.JSON {
		fmt.Fprintf(a.Err, "decisions %d, links %d, votes %d, as of event %d\n",
			len(whole.Graph.Nodes), len(whole.Graph.Edges), len(whole.Graph.Ballots), whole.Number)
	}
	return show(whole)
}

// checkDecision refuses what cannot be the id of a decision.
func checkDecision(arg, id string) error {
	if len(id) < 2 || id[0] != 'd' || strings.Trim(id[1:], "0123456789") != "" {
		return fault.New("id/malformed", "not the id of a decision").At(arg).Got(id).Want("d1, d2 and so on")
	}
	return nil
}

func (a *Commands) graphImport() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "import FILE [flags]", Short: "add an exported graph to a project's", Args: console.Takes("FILE"),
		Long: `Import adds what is in a file that "loom graph export" wrote: decisions, links
and votes, with their authors and times. They get new numbers after those that
are there; what they say of beads and executions is about where they came from.
The whole file is tried first, and nothing is sent of one that makes no sense.
Votes that are open go on, with what was cast and the full time again; those on
what no longer counts become void. Importing the same file again within 7 days
adds nothing, and goes on where an interrupted import stopped.`,
		Example: "  loom graph export --project old > old.json\n  loom graph import old.json --project new",
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return fault.New("usage/argument", "the file cannot be read").At("FILE").Got(args[0]).Because(err)
			}
			im, err := newImport(name, data)
			if err = cmp.Or(err, console.CheckName("--project", name)); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				if err := im.run(cmd.Context(), c); err != nil {
					return err
				}
				return a.Print(&loomv1.DecisionGraph{Nodes: im.added, Ballots: im.open}, im.report)
			})
		},
	}
	console.ProjectFlag(cmd, &name)
	return cmd
}
