package process

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/stats"
	"github.com/loomrun/loom/internal/cli/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Process returns the command of that name.
func (a *Commands) Process(test *cobra.Command) *cobra.Command {
	return console.Group("process", "how kinds of work are done: list, show, make and try them",
		"  loom process list\n  loom process show competitive-intel\n  loom process test competitive-intel",
		a.listProcesses(), a.showProcess(), a.validateProcess(), a.drawProcess(), a.planProcess(), a.newProcess(), a.installProcess(), a.trustProcess(), a.revokeProcess(), stats.New(a.Console).ProcessStats(), test)
}

// Catalog returns the processes that a workspace sees, those of the user and the built-in ones included.
func (a *Commands) Catalog(workspace string) (*processes.Catalog, error) {
	list, err := console.Layers(workspace)
	if err != nil {
		return nil, err
	}
	return processes.Open(list, a.RoleSet()), nil
}

// Pick is lookUp among the processes that are found from here.
func (a *Commands) Pick(word string) (*processes.Catalog, *processes.Entry, error) {
	c, err := a.Catalog(".")
	if err != nil {
		return nil, nil, err
	}
	e, err := a.lookUp(c, word)
	return c, e, err
}

// lookUp finds a process by name, or reads the one that a file or directory
// holds. What is wrong with it is printed.
func (a *Commands) lookUp(c *processes.Catalog, word string) (*processes.Entry, error) {
	if !console.IsFile(word) {
		if err := console.CheckToken("NAME", word); err != nil {
			return nil, err
		}
		e, err := c.Find(word)
		if err != nil && fault.Code(err) != "process/unknown" {
			return nil, a.Problems(err)
		}
		return e, err
	}
	s, err := a.source(word)
	if err != nil {
		return nil, err
	}
	r := processes.Read(c.Library(), []processes.Source{s}, a.RoleSet())[0]
	if len(r.Problems) > 0 {
		return nil, a.Problems(fault.Join(r.Problems))
	}
	return &processes.Entry{Name: r.Definition.Name, Layer: "file", Path: s.Path, Dir: s.Dir, Result: r}, nil
}

// source reads a process file, or the process.yaml of a directory, together
// with what it may include: what lies beside or below it, or, for a package, in
// the directory around it.
func (a *Commands) source(name string) (processes.Source, error) {
	if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
		name = filepath.Join(name, "process.yaml")
	}
	data, err := a.ReadFile(name)
	if err != nil || name == "-" {
		return processes.Source{File: name, Data: data}, err
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return processes.Source{}, fault.New("usage/argument", "not a path").At(name)
	}
	dir, path := filepath.Dir(full), filepath.Base(full)
	if path == "process.yaml" {
		dir, path = filepath.Dir(dir), filepath.Base(dir)+"/"+path
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return processes.Source{File: name, Data: data}, nil //nolint:nilerr // then it can include nothing
	}
	return processes.Source{File: name, Data: data, Dir: root.FS(), Path: path}, nil
}

func (a *Commands) listProcesses() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "the processes that can be worked by here, and whose they are", Args: console.Takes(),
		Long: `List prints the processes of the workspace (loom-processes/ and
.loom/processes/), the user's (~/.loom/processes/), those in the directories of
LOOM_PROCESS_PATH, the machine's (/etc/loom/processes/) and those that come with
Loom. Of one name the nearest counts; --all shows the others too. One that is
not sound is listed with its first problem.`,
		Example: "  loom process list\n  loom process list --all --json",
		RunE: func(*cobra.Command, []string) error {
			c, err := a.Catalog(".")
			if err != nil {
				return err
			}
			list := slices.DeleteFunc(slices.Clone(c.Entries()), func(e *processes.Entry) bool { return e.Hidden != "" && !all })
			which, _ := a.StandardProcess(".", c) // whoever runs it is told what is wrong
			shown := a.listed(list, which.Name)
			return a.PrintAny(shown, func(w io.Writer) { processTable(w, shown) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "those too that a nearer one of their name hides")
	return cmd
}

// listedProcess is a process as lists print it.
type listedProcess struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Layer       string `json:"layer"`
	File        string `json:"file"`
	Mode        string `json:"mode,omitempty"`
	Phases      int    `json:"phases"`
	Description string `json:"description,omitempty"`
	Default     bool   `json:"default,omitempty"`
	Hidden      string `json:"hidden_by,omitempty"`
	Problem     string `json:"problem,omitempty"`
	// Tools says whether those of the package are trusted, untrusted or changed.
	Tools string `json:"tools,omitempty"`
}

func (a *Commands) listed(entries []*processes.Entry, standard string) []listedProcess {
	list := []listedProcess{}
	for _, e := range entries {
		l := listedProcess{Name: e.Name, Layer: e.Layer, File: e.File, Hidden: e.Hidden, Default: e.Name == standard && e.Hidden == ""}
		if e.Definition != nil {
			l.Version, l.Description = e.Definition.Version, e.Definition.Description
		}
		if e.Process != nil {
			l.Mode, l.Phases = e.Process.Mode, len(e.Process.Phases)
		}
		if len(e.Problems) > 0 {
			l.Problem = e.Problems[0].Error()
		}
		if t := a.toolsOf(e); t != nil {
			l.Tools = t.State
		}
		list = append(list, l)
	}
	return list
}

func processTable(w io.Writer, list []listedProcess) {
	rows := make([][]string, 0, len(list))
	for _, l := range list {
		name, phases, about := l.Name, "-", l.Description
		if l.Default {
			name += " (default)"
		}
		if l.Phases > 0 {
			phases = strconv.Itoa(l.Phases)
		}
		if l.Tools != "" {
			about = "[tools " + l.Tools + "] " + about
		}
		if l.Problem != "" {
			about = "not sound: " + l.Problem
		}
		if l.Hidden != "" {
			about = "hidden by that of the " + l.Hidden + ": " + about
		}
		rows = append(rows, []string{name, console.Dash(l.Version), l.Layer, phases, console.Line(about, 100)})
	}
	console.Table(w, []string{"process", "version", "of", "phases", "what it is for"}, rows)
}

func (a *Commands) showProcess() *cobra.Command {
	var yaml bool
	cmd := &cobra.Command{
		Use: "show NAME|FILE [flags]", Short: "what a process consists of", Args: console.Takes("NAME|FILE"),
		Long: `Show tells of a process its phases, what they deliver, how they are verified,
its rules, and what it does with a workspace. With --yaml it writes the workflow
that the process is compiled to, as a file that reads as the very same.`,
		Example: "  loom process show due-diligence\n  loom process show ./loom-processes/ours.yaml --yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			_, e, err := a.Pick(args[0])
			if err != nil {
				return err
			}
			if yaml {
				_, err := a.Out.Write(processes.Write(e.Definition))
				return err
			}
			tools := a.toolsOf(e)
			return a.PrintAny(shownProcess(e, tools), func(w io.Writer) { processTextOf(w, e, tools) })
		},
	}
	cmd.Flags().BoolVar(&yaml, "yaml", false, "write the workflow that it is compiled to")
	return cmd
}

func shownProcess(e *processes.Entry, tools *packageTools) any {
	return map[string]any{
		"name": e.Name, "layer": e.Layer, "file": e.File, "hash": processes.Hash(e.Definition), "process": e.Process, "definition": console.JSONOf(e.Definition), "tools": tools,
	}
}

func processTextOf(w io.Writer, e *processes.Entry, tools *packageTools) {
	d := e.Definition
	fmt.Fprintf(w, "%s %s  of the %s\nhash %s\n", d.Name, d.Version, e.Layer, processes.Hash(d))
	if d.Description != "" {
		fmt.Fprintf(w, "\n  %s\n", console.Line(d.Description, 500))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Metadata)) {
		fmt.Fprintf(w, "  %s: %s\n", console.Line(name, 64), console.Line(d.Metadata[name], 200))
	}
	toolsText(w, tools)
	if e.Process == nil {
		fmt.Fprintf(w, "\nIt has nodes and edges of its author's own: \"loom workflow show %s\".\n", d.Name)
		return
	}
	fmt.Fprintf(w, "\nphases, %s:\n\n", e.Process.Mode)
	var rows [][]string
	for _, p := range e.Process.Phases {
		rows = append(rows, []string{
			p.ID, console.Dash(strings.Join(p.DependsOn, ", ")), orProcess(p), tierText(p.ModelTier), tierText(p.Verified), besides(p), console.Dash(filesText(p.Deliverables)),
		})
	}
	console.Table(w, []string{"phase", "after", "who", "model", "verified", "besides", "delivers"}, rows)
	for _, part := range []struct {
		what string
		list []string
	}{{"hooks", e.Process.Hooks}, {"types of memory", memoryTypes(e)}, {"examples for the planner", examples(e)}} {
		if len(part.list) > 0 {
			fmt.Fprintf(w, "\n%s:\n", part.what)
		}
		for _, line := range part.list {
			fmt.Fprintf(w, "  %s\n", console.Line(line, 200))
		}
	}
	rulesText(w, e)
}

func memoryTypes(e *processes.Entry) (list []string) {
	for _, t := range e.Definition.GetGuide().GetMemoryTypes() {
		list = append(list, strings.TrimSuffix(t.Type+": "+t.Description, ": "))
	}
	return list
}

// examples are the goals of a planner's examples, with the phases that they were taken apart into.
func examples(e *processes.Entry) (list []string) {
	for _, x := range e.Process.Examples {
		var ids []string
		for _, p := range x.Subtasks {
			ids = append(ids, p.ID)
		}
		list = append(list, x.Goal+": "+strings.Join(ids, ", "))
	}
	return list
}

func orProcess(p processes.PhaseSummary) string {
	if p.Process != "" {
		return "process " + p.Process
	}
	return p.Role
}

func tierText(n uint32) string {
	if n == 0 {
		return "-"
	}
	return "tier " + strconv.Itoa(int(n))
}

func besides(p processes.PhaseSummary) string {
	var all []string
	if p.Critical {
		all = append(all, criticalText(p))
	}
	if p.Synthesis {
		all = append(all, "synthesis")
	}
	if p.Gate != "" {
		all = append(all, "gate: "+console.Line(p.Gate, 60))
	}
	return console.Dash(strings.Join(all, "; "))
}

// criticalText says that a phase is critical and, where its file does not, by what.
func criticalText(p processes.PhaseSummary) string {
	switch p.Why {
	case "declared", "synthesis": // which are said
		return "critical"
	}
	return "critical: " + p.Why
}

func filesText(list []string) string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i], _, _ = strings.Cut(s, " ")
	}
	return strings.Join(names, ", ")
}

func rulesText(w io.Writer, e *processes.Entry) {
	g := e.Definition.Guide
	if len(g.GetRules()) > 0 {
		var rows [][]string
		for _, r := range g.Rules {
			rows = append(rows, []string{
				r.Name, strings.ToLower(strings.TrimPrefix(r.Type.String(), "RULE_TYPE_")), strings.ToLower(strings.TrimPrefix(r.Severity.String(), "SEVERITY_")),
				r.Target, console.Line(r.Check, 80),
			})
		}
		fmt.Fprintln(w)
		console.Table(w, []string{"rule", "type", "severity", "target", "check"}, rows)
	}
	if list := e.Definition.Parameters; len(list) > 0 {
		var rows [][]string
		for _, p := range list {
			rows = append(rows, []string{p.Name, console.Dash(parameterText(p)), console.Dash(p.Description)})
		}
		fmt.Fprintln(w)
		console.Table(w, []string{"context value", "takes", "what it is"}, rows)
	}
	if list := g.GetRequiredTools(); len(list) > 0 {
		fmt.Fprintf(w, "\ntools that must be there: %s\n", strings.Join(list, ", "))
	}
	if list := g.GetExcludedTools(); len(list) > 0 {
		fmt.Fprintf(w, "\ntools that nobody is offered: %s\n", strings.Join(list, ", "))
	}
	if list := g.GetAskTools(); len(list) > 0 {
		fmt.Fprintf(w, "\ntools whose calls the CEO has to permit: %s\n", strings.Join(list, ", "))
	}
}

func parameterText(p *loomv1.Parameter) string {
	words := []string{cmp.Or(p.Kind, "text")}
	if len(p.OneOf) > 0 {
		words = []string{strings.Join(p.OneOf, ", ")}
	}
	if p.Pattern != "" {
		words = append(words, "of the pattern "+p.Pattern)
	}
	if p.Required {
		words = append(words, "needed")
	}
	return strings.Join(words, "; ")
}

func (a *Commands) validateProcess() *cobra.Command {
	cmd := a.ValidateWorkflow()
	cmd.Short = "print everything that is wrong with process files"
	cmd.Long = `Validate reads process and workflow files, with all that they include, and
prints what is wrong with them, all at once, one FILE:LINE:COL: CODE: sentence a
line; it exits 3 then. What is allowed but probably not meant is told as a
warning. Of a directory it takes each NAME/process.yaml, and files *.yaml and
*.yml where there is none. Processes that phases name are looked for among the
files, and where "loom process list" finds them.`
	cmd.Example = "  loom process validate ./loom-processes/ours.yaml\n  loom process validate loom-processes"
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		c, err := a.Catalog(".")
		if err != nil {
			return err
		}
		return a.validate(args, c.Library())
	}
	return cmd
}

func (a *Commands) drawProcess() *cobra.Command {
	d := &workflow.Drawer{Library: workflow.Library{App: workflow.New(a.Console)}}
	cmd := &cobra.Command{
		Use: "graph NAME|FILE [flags]", Short: "draw the workflow that a process is compiled to", Args: console.Takes("NAME|FILE"),
		Long:    "Graph draws a process with everything that Loom adds to it: verification,\nreviews, hooks, and the way to the target branch.",
		Example: "  loom process graph due-diligence -o due-diligence.svg\n  loom process graph ./ours.yaml --format mermaid",
		RunE: func(_ *cobra.Command, args []string) error {
			write, err := d.Writer()
			if err != nil {
				return err
			}
			_, e, err := a.Pick(args[0])
			if err != nil {
				return err
			}
			return a.WriteTo(d.Output, write(processes.Picture(e.Definition, nil)))
		},
	}
	cmd.Flags().StringVar(&d.Format, "format", "", "`FORMAT`: dot, mermaid or svg (default: what the file is called, else mermaid)")
	cmd.Flags().StringVarP(&d.Output, "output", "o", "", "write to this `FILE`, also -o; - is standard output (default: -)")
	return cmd
}
