package workflow

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Workflow returns the command of that name.
func (a *Commands) Workflow(validate *cobra.Command) *cobra.Command {
	return console.Group("workflow", "validate, change, list, show and draw workflows",
		"  loom workflow validate small-change.yaml\n  loom workflow show auto-bug-workflow --yaml > small-change.yaml",
		validate, a.applyWorkflow(), a.listWorkflows(), a.showWorkflow(), a.drawWorkflow())
}

// Library is where a verb looks for workflows: in a project, or among those
// that come with Loom.
type Library struct {
	App     *Commands
	project string
	builtin bool
}

func (l *Library) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.builtin, "builtin", false, "those that come with Loom; no host is asked")
	console.AnyProjectFlag(cmd, &l.project)
}

// look answers a query about workflows.
func (l *Library) look(cmd *cobra.Command, q *loomv1.Query) (*loomv1.View, error) {
	if err := cmp.Or(console.CheckName("--project", l.project), checkWorkflow(q.Id)); err != nil {
		return nil, err
	}
	if l.builtin {
		return builtins(q)
	}
	var v *loomv1.View
	err := l.App.With(cmd.Context(), func(c *client.Client) (err error) {
		q.Project = l.project
		v, err = c.Workflow(cmd.Context(), q)
		return err
	})
	return v, err
}

// checkWorkflow refuses what cannot be NAME or NAME@HASH; nothing is fine.
func checkWorkflow(id string) error {
	name, hash, exact := strings.Cut(id, "@")
	if exact && (hash == "" || strings.Trim(hash, "0123456789abcdef") != "") {
		return fault.New("id/malformed", "not the beginning of a hash").At("NAME@HASH").Got(hash).Want("1 to 64 of 0-9 and a-f")
	}
	if id == "" {
		return nil
	}
	return console.CheckToken("NAME", name)
}

// builtins answers a query about workflows from those that come with Loom.
func builtins(q *loomv1.Query) (*loomv1.View, error) {
	lib := processes.Builtin(roles.Builtin())
	name, prefix, _ := strings.Cut(q.Id, "@")
	v := &loomv1.View{}
	for _, known := range lib.Names() {
		def, _ := lib.Get(known)
		d := &loomv1.StoredDefinition{Name: known, Version: def.Version, Hash: processes.Hash(def), Latest: true}
		if q.Id != "" && (known != name || !strings.HasPrefix(d.Hash, prefix)) {
			continue
		}
		if q.Id != "" {
			d.Definition = def
		}
		v.Definitions = append(v.Definitions, d)
	}
	if q.Id != "" && len(v.Definitions) == 0 {
		return nil, fault.New("definition/unknown", "no workflow %q comes with Loom", q.Id).At("NAME").Want("%s", didYouMean(lib.Suggest(name)))
	}
	return v, nil
}

func didYouMean(name string) string {
	if name == "" {
		return `"loom workflow list --builtin" lists them`
	}
	return fmt.Sprintf("did you mean %q?", name)
}

func (a *Commands) listWorkflows() *cobra.Command {
	from := &Library{App: a}
	var all bool
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "the workflows of a project, and who works by them", Args: console.Takes(),
		Example: "  loom workflow list\n  loom workflow list --all\n  loom workflow list --builtin --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := &loomv1.Query{Limit: 1000}
			if all {
				q.Filter = "all"
			}
			v, err := from.look(cmd, q)
			if err != nil {
				return err
			}
			return a.Print(v, func(w io.Writer) { workflowTable(w, v.Definitions) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all versions, and not the newest of each name only")
	from.flags(cmd)
	return cmd
}

func workflowTable(w io.Writer, list []*loomv1.StoredDefinition) {
	rows := make([][]string, 0, len(list))
	for _, d := range list {
		rows = append(rows, []string{d.Project, d.Name, d.Version, d.Hash[:min(12, len(d.Hash))], inForce(d), console.Stamp(d.StoredAt), strconv.Itoa(int(d.Executions)), strconv.Itoa(int(d.Running))})
	}
	console.ProjectTable(w, []string{"workflow", "version", "hash", "is", "stored", "executions", "running"}, rows)
}

// inForce says what a version of a definition is among the others.
func inForce(d *loomv1.StoredDefinition) string {
	switch {
	case d.Changed:
		return "in force, by the CEO"
	case d.Latest:
		return "in force"
	}
	return "earlier"
}

func (a *Commands) showWorkflow() *cobra.Command {
	from := &Library{App: a}
	var yaml bool
	cmd := &cobra.Command{
		Use: "show NAME[@HASH] [flags]", Short: "show a workflow, or write it as a file", Args: console.Takes("NAME[@HASH]"),
		Long:    "Show tells what a workflow is made of: the newest of that name, or the one whose\nhash begins with HASH. With --yaml it writes the file, which reads as the very\nsame workflow again.",
		Example: "  loom workflow show auto-bug-workflow\n  loom workflow show auto-bug-workflow@53ab --yaml > small-change.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return console.CheckToken("NAME", "")
			}
			v, err := from.look(cmd, &loomv1.Query{Id: args[0]})
			if err != nil {
				return err
			}
			d := v.Definitions[0]
			if yaml {
				_, err := a.Out.Write(processes.Write(d.Definition))
				return err
			}
			return a.Print(v, func(w io.Writer) { workflowText(w, d) })
		},
	}
	cmd.Flags().BoolVar(&yaml, "yaml", false, "write it as a file")
	from.flags(cmd)
	return cmd
}

func workflowText(w io.Writer, d *loomv1.StoredDefinition) {
	fmt.Fprintf(w, "%s %s  %s\nhash %s\n", d.Name, d.Version, inForce(d), d.Hash)
	if d.StoredAt != nil {
		fmt.Fprintf(w, "stored %s, %s, %d running\n", console.Stamp(d.StoredAt), console.Count(int(d.Executions), "execution"), d.Running)
	}
	if text := d.Definition.Description; text != "" {
		fmt.Fprintf(w, "\n  %s\n", console.Line(text, 500))
	}
	var rows [][]string
	for _, n := range d.Definition.Nodes {
		rows = append(rows, []string{n.Id, nodeType(n), console.Dash(worker(n)), number(n.MaxAttempts), limit(n.Timeout), rest(n)})
	}
	fmt.Fprintln(w)
	console.Table(w, []string{"node", "type", "who", "attempts", "timeout", "besides"}, rows)
	rows = nil
	for _, e := range d.Definition.Edges {
		on := ""
		if e.Outcome == loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE {
			on = "failure"
		}
		rows = append(rows, []string{e.From, e.To, console.Dash(on), console.Line(e.Condition, 80)})
	}
	fmt.Fprintln(w)
	console.Table(w, []string{"from", "to", "on", "if"}, rows)
}

func nodeType(n *loomv1.NodeDefinition) string {
	if n.Kind != 0 {
		return strings.ToLower(strings.TrimPrefix(n.Kind.String(), "NODE_KIND_"))
	}
	return strings.ToLower(strings.TrimPrefix(n.Type.String(), "NODE_TYPE_"))
}

func worker(n *loomv1.NodeDefinition) string {
	if n.Process != "" {
		return "process " + n.Process
	}
	return cmp.Or(n.Role, strings.Join(n.RolesAny, " or "))
}

func number(n uint32) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(int(n))
}

func limit(d *durationpb.Duration) string {
	if d == nil {
		return "-"
	}
	return d.AsDuration().String()
}

// rest tells what else a node says.
func rest(n *loomv1.NodeDefinition) string {
	var all []string
	if n.Gate != nil {
		all = append(all, "gate: "+n.Gate.Condition)
	}
	switch n.Criticality {
	case loomv1.Criticality_CRITICALITY_CRITICAL:
		all = append(all, "critical")
	case loomv1.Criticality_CRITICALITY_OPTIONAL:
		all = append(all, "optional")
	}
	var to []string
	for _, r := range n.OnFailure.GetRework() {
		if !slices.Contains(to, r.To) {
			to = append(to, r.To)
		}
	}
	if len(to) > 0 {
		all = append(all, "rework to "+strings.Join(to, " or "))
	}
	return console.Line(strings.Join(all, "; "), 80)
}
