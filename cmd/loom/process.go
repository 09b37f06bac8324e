package main

import (
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
	"github.com/loomrun/loom/processes"
)

func (a *app) process() *cobra.Command {
	return group("process", "how kinds of work are done: list, show, make and try them",
		"  loom process list\n  loom process show competitive-intel\n  loom process test competitive-intel",
		a.listProcesses(), a.showProcess(), a.validateProcess(), a.drawProcess(), a.planProcess(), a.newProcess(), a.installProcess(), a.trustProcess(), a.revokeProcess(), a.processStats(), a.testProcess())
}

// workspaceLayer is the layer of the directory that a command works in.
const workspaceLayer = "workspace"

// userProcesses is where a user's own processes are.
func userProcesses() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New("usage/argument", "there is no home directory").Because(err)
	}
	return filepath.Join(home, ".loom", "processes"), nil
}

// layers returns where processes are looked for, the nearest first: the
// workspace, the user's directory, further paths, the machine's directory, and
// what comes with Loom. What is not there is left out.
func layers(workspace string) ([]processes.Layer, error) {
	places := [][2]string{
		{workspaceLayer, filepath.Join(workspace, "loom-processes")},
		{workspaceLayer, filepath.Join(workspace, ".loom", "processes")},
	}
	if dir, err := userProcesses(); err == nil {
		places = append(places, [2]string{"user", dir})
	}
	for _, dir := range filepath.SplitList(os.Getenv("LOOM_PROCESS_PATH")) {
		places = append(places, [2]string{"path", dir})
	}
	places = append(places, [2]string{"machine", "/etc/loom/processes"})
	var list []processes.Layer
	for _, p := range places {
		root, err := os.OpenRoot(p[1])
		if err != nil {
			if p[0] == "path" && p[1] != "" {
				return nil, fault.New("usage/argument", "no such directory").At("LOOM_PROCESS_PATH").Got(p[1])
			}
			continue
		}
		list = append(list, processes.Layer{Name: p[0], Dir: root.FS(), Shown: p[1]})
	}
	return append(list, processes.BuiltinLayer()), nil
}

func (a *app) catalog(workspace string) (*processes.Catalog, error) {
	list, err := layers(workspace)
	if err != nil {
		return nil, err
	}
	return processes.Open(list, a.roleSet()), nil
}

// pick is lookUp among the processes that are found from here.
func (a *app) pick(word string) (*processes.Catalog, *processes.Entry, error) {
	c, err := a.catalog(".")
	if err != nil {
		return nil, nil, err
	}
	e, err := a.lookUp(c, word)
	return c, e, err
}

// lookUp finds a process by name, or reads the one that a file or directory
// holds. What is wrong with it is printed.
func (a *app) lookUp(c *processes.Catalog, word string) (*processes.Entry, error) {
	if !isFile(word) {
		if err := checkToken("NAME", word); err != nil {
			return nil, err
		}
		e, err := c.Find(word)
		if err != nil && fault.Code(err) != "process/unknown" {
			return nil, a.problems(err)
		}
		return e, err
	}
	s, err := a.source(word)
	if err != nil {
		return nil, err
	}
	r := processes.Read(c.Library(), []processes.Source{s}, a.roleSet())[0]
	if len(r.Problems) > 0 {
		return nil, a.problems(fault.Join(r.Problems))
	}
	return &processes.Entry{Name: r.Definition.Name, Layer: "file", Path: s.Path, Dir: s.Dir, Result: r}, nil
}

// source reads a process file, or the process.yaml of a directory, together
// with what it may include: what lies beside or below it, or, for a package, in
// the directory around it.
func (a *app) source(name string) (processes.Source, error) {
	if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
		name = filepath.Join(name, "process.yaml")
	}
	data, err := a.readFile(name)
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

func (a *app) listProcesses() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "the processes that can be worked by here, and whose they are", Args: takes(),
		Long: `List prints the processes of the workspace (loom-processes/ and
.loom/processes/), the user's (~/.loom/processes/), those in the directories of
LOOM_PROCESS_PATH, the machine's (/etc/loom/processes/) and those that come with
Loom. Of one name the nearest counts; --all shows the others too. One that is
not sound is listed with its first problem.`,
		Example: "  loom process list\n  loom process list --all --json",
		RunE: func(*cobra.Command, []string) error {
			c, err := a.catalog(".")
			if err != nil {
				return err
			}
			list := slices.DeleteFunc(slices.Clone(c.Entries()), func(e *processes.Entry) bool { return e.Hidden != "" && !all })
			which, _ := a.standardProcess(".", c) // whoever runs it is told what is wrong
			shown := a.listed(list, which.name)
			return a.printAny(shown, func(w io.Writer) { processTable(w, shown) })
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

func (a *app) listed(entries []*processes.Entry, standard string) []listedProcess {
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
		rows = append(rows, []string{name, dash(l.Version), l.Layer, phases, line(about, 100)})
	}
	table(w, []string{"process", "version", "of", "phases", "what it is for"}, rows)
}

func (a *app) showProcess() *cobra.Command {
	var yaml bool
	cmd := &cobra.Command{
		Use: "show NAME|FILE [flags]", Short: "what a process consists of", Args: takes("NAME|FILE"),
		Long: `Show tells of a process its phases, what they deliver, how they are verified,
its rules, and what it does with a workspace. With --yaml it writes the workflow
that the process is compiled to, as a file that reads as the very same.`,
		Example: "  loom process show due-diligence\n  loom process show ./loom-processes/ours.yaml --yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			_, e, err := a.pick(args[0])
			if err != nil {
				return err
			}
			if yaml {
				_, err := a.out.Write(processes.Write(e.Definition))
				return err
			}
			tools := a.toolsOf(e)
			return a.printAny(shownProcess(e, tools), func(w io.Writer) { processTextOf(w, e, tools) })
		},
	}
	cmd.Flags().BoolVar(&yaml, "yaml", false, "write the workflow that it is compiled to")
	return cmd
}

func shownProcess(e *processes.Entry, tools *packageTools) any {
	return map[string]any{
		"name": e.Name, "layer": e.Layer, "file": e.File, "hash": processes.Hash(e.Definition), "process": e.Process, "definition": jsonOf(e.Definition), "tools": tools,
	}
}

func processTextOf(w io.Writer, e *processes.Entry, tools *packageTools) {
	d := e.Definition
	fmt.Fprintf(w, "%s %s  of the %s\nhash %s\n", d.Name, d.Version, e.Layer, processes.Hash(d))
	if d.Description != "" {
		fmt.Fprintf(w, "\n  %s\n", line(d.Description, 500))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Metadata)) {
		fmt.Fprintf(w, "  %s: %s\n", line(name, 64), line(d.Metadata[name], 200))
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
			p.ID, dash(strings.Join(p.DependsOn, ", ")), orProcess(p), tierText(p.ModelTier), tierText(p.Verified), besides(p), dash(filesText(p.Deliverables)),
		})
	}
	table(w, []string{"phase", "after", "who", "model", "verified", "besides", "delivers"}, rows)
	rulesText(w, e)
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
		all = append(all, "critical")
	}
	if p.Synthesis {
		all = append(all, "synthesis")
	}
	if p.Gate != "" {
		all = append(all, "gate: "+line(p.Gate, 60))
	}
	return dash(strings.Join(all, "; "))
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
				r.Target, line(r.Check, 80),
			})
		}
		fmt.Fprintln(w)
		table(w, []string{"rule", "type", "severity", "target", "check"}, rows)
	}
	if list := g.GetRequiredTools(); len(list) > 0 {
		fmt.Fprintf(w, "\ntools that must be there: %s\n", strings.Join(list, ", "))
	}
	if list := g.GetExcludedTools(); len(list) > 0 {
		fmt.Fprintf(w, "\ntools that nobody is offered: %s\n", strings.Join(list, ", "))
	}
}

func (a *app) validateProcess() *cobra.Command {
	cmd := a.validateWorkflow()
	cmd.Short = "print everything that is wrong with process files"
	cmd.Long = `Validate reads process and workflow files, with all that they include, and
prints what is wrong with them, all at once, one FILE:LINE:COL: CODE: sentence a
line; it exits 3 then. What is allowed but probably not meant is told as a
warning. Of a directory it takes each NAME/process.yaml, and files *.yaml and
*.yml where there is none. Processes that phases name are looked for among the
files, and where "loom process list" finds them.`
	cmd.Example = "  loom process validate ./loom-processes/ours.yaml\n  loom process validate loom-processes"
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		c, err := a.catalog(".")
		if err != nil {
			return err
		}
		return a.validate(args, c.Library())
	}
	return cmd
}

func (a *app) drawProcess() *cobra.Command {
	d := &drawer{library: library{app: a}}
	cmd := &cobra.Command{
		Use: "graph NAME|FILE [flags]", Short: "draw the workflow that a process is compiled to", Args: takes("NAME|FILE"),
		Long:    "Graph draws a process with everything that Loom adds to it: verification,\nreviews, hooks, and the way to the target branch.",
		Example: "  loom process graph due-diligence -o due-diligence.svg\n  loom process graph ./ours.yaml --format mermaid",
		RunE: func(_ *cobra.Command, args []string) error {
			write, err := d.writer()
			if err != nil {
				return err
			}
			_, e, err := a.pick(args[0])
			if err != nil {
				return err
			}
			return a.writeTo(d.output, write(processes.Picture(e.Definition, nil)))
		},
	}
	cmd.Flags().StringVar(&d.format, "format", "", "`FORMAT`: dot, mermaid or svg (default: what the file is called, else mermaid)")
	cmd.Flags().StringVarP(&d.output, "output", "o", "", "write to this `FILE`, also -o; - is standard output (default: -)")
	return cmd
}
