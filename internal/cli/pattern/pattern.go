package pattern

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/workflow"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Pattern returns the command of that name.
func (a *Commands) Pattern() *cobra.Command {
	return console.Group("pattern", "governed work that begins with a sealed intent: list, show, make and try",
		"  loom pattern list\n  loom pattern show option-burst\n  loom pattern test option-burst",
		a.listPatterns(), a.showPattern(), a.drawPattern(), a.validatePattern(), a.newPattern(), a.testPattern(),
		a.runPattern(), a.resumeSession(), a.listSessions(), a.showSession(), a.exportSession(), a.answerSession(), a.strikeAnswer(), a.sealSession(), a.reviseSession(), a.abortSession(),
		a.proceedSession(), a.steerSession(), a.setTempo(), a.chooseCompletion())
}

// patterns are those that are found from a directory.
func (a *Commands) patterns() ([]*processes.PatternEntry, error) {
	list, err := console.Layers(".")
	if err != nil {
		return nil, err
	}
	return processes.Patterns(list, a.RoleSet()), nil
}

// pickPattern finds a pattern by name, or reads the one that a file or directory
// holds. What is wrong with it is printed.
func (a *Commands) pickPattern(word string) (*processes.PatternEntry, error) {
	if !console.IsFile(word) {
		if err := console.CheckToken("NAME", word); err != nil {
			return nil, err
		}
		all, err := a.patterns()
		if err != nil {
			return nil, err
		}
		e, err := processes.FindPattern(all, word)
		if err != nil && fault.Code(err) != "pattern/unknown" {
			return nil, a.Problems(err)
		}
		return e, err
	}
	e, err := a.ReadPattern(word)
	if err != nil {
		return nil, err
	}
	if len(e.Problems) > 0 {
		return nil, a.Problems(fault.Join(e.Problems))
	}
	e.Name = e.Pattern.Name
	return e, nil
}

// ReadPattern reads a pattern file, or the pattern.yaml of a directory. Where it
// lies in a directory that patterns are looked for in, its scope is held to that.
func (a *Commands) ReadPattern(name string) (*processes.PatternEntry, error) {
	if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
		name = filepath.Join(name, PatternFile)
	}
	data, err := a.ReadFile(name)
	if err != nil {
		return nil, err
	}
	e := &processes.PatternEntry{Layer: "file", Path: name}
	scope := ""
	if full, err := filepath.Abs(name); name != "-" && err == nil {
		if root, err := os.OpenRoot(filepath.Dir(full)); err == nil {
			e.Dir, e.Path = root.FS(), filepath.Base(full)
		}
		scope = scopeOf(full)
	}
	list, err := console.Layers(".")
	if err != nil {
		return nil, err
	}
	e.PatternResult = processes.ReadPattern(name, data, scope, a.RoleSet(), append(neighbours(name, data), processes.PatternTexts(list)...))
	return e, nil
}

// neighbours are the pattern files that lie beside one that uses others, which it may mean.
func neighbours(name string, data []byte) (texts []processes.PatternText) {
	if name == "-" || !bytes.Contains(data, []byte("pattern:")) {
		return nil
	}
	dir := filepath.Dir(name)
	if filepath.Base(name) == PatternFile {
		dir = filepath.Dir(dir)
	}
	for _, form := range []string{"*/" + PatternFile, "*.yaml", "*.yml"} {
		files, _ := filepath.Glob(filepath.Join(dir, form))
		for _, file := range files[:min(len(files), mostBeside)] {
			info, err := os.Stat(file)
			if err != nil || !info.Mode().IsRegular() || info.Size() > strictyaml.MaxBytes {
				continue
			}
			if other, err := os.ReadFile(file); err == nil && processes.IsPattern(other) { //nolint:gosec // beside a file that the user names
				texts = append(texts, processes.PatternText{File: file, Data: other})
			}
		}
	}
	return texts
}

// mostBeside bounds the files beside a pattern that are read for it.
const mostBeside = 200

// scopeOf returns the world_scope of patterns where a file lies, "" where none is
// looked for.
func scopeOf(full string) string {
	list, err := console.Layers(".")
	if err != nil {
		return ""
	}
	for _, l := range list {
		dir, err := filepath.Abs(l.Shown)
		if l.Shown == "" || err != nil {
			continue
		}
		if strings.HasPrefix(full, filepath.Join(dir, "patterns")+string(filepath.Separator)) {
			return processes.PatternScope(l.Name)
		}
	}
	return ""
}

// listedPattern is a pattern as lists print it.
type listedPattern struct {
	Name    string `json:"name"`
	Family  string `json:"family,omitempty"`
	Version string `json:"version,omitempty"`
	Layer   string `json:"layer"`
	File    string `json:"file"`
	Steps   int    `json:"steps"`
	Tempo   string `json:"tempo,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	Hidden  string `json:"hidden_by,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func (a *Commands) listPatterns() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "the patterns that there are here, and whose they are", Args: console.Takes(),
		Long: `List prints the patterns that come with Loom, and those in patterns/ of the
directories in which processes are looked for: patterns/NAME.yaml, or packages
patterns/NAME/pattern.yaml. Of one name the nearest counts; --all shows the
others too. One that is not sound is listed with its first problem.`,
		Example: "  loom pattern list\n  loom pattern list --all --json",
		RunE: func(*cobra.Command, []string) error {
			entries, err := a.patterns()
			if err != nil {
				return err
			}
			shown := []listedPattern{}
			for _, e := range entries {
				if e.Hidden == "" || all {
					shown = append(shown, listPattern(e))
				}
			}
			slices.SortStableFunc(shown, func(x, y listedPattern) int { return cmp.Compare(x.Family, y.Family) })
			return a.PrintAny(shown, func(w io.Writer) { patternTable(w, shown) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "those too that a nearer one of their name hides")
	return cmd
}

func listPattern(e *processes.PatternEntry) listedPattern {
	l := listedPattern{Name: e.Name, Layer: e.Layer, File: e.File, Hidden: e.Hidden}
	if p := e.Pattern; p != nil {
		l.Family, l.Version, l.Steps, l.Tempo, l.Purpose = p.Family, p.Version, len(p.Steps), processes.TempoName(p.DefaultTempo), p.Purpose
	}
	if len(e.Problems) > 0 {
		l.Problem = e.Problems[0].Error()
	}
	return l
}

func patternTable(w io.Writer, list []listedPattern) {
	rows := make([][]string, 0, len(list))
	for _, l := range list {
		steps, about := "-", l.Purpose
		if l.Steps > 0 {
			steps = strconv.Itoa(l.Steps)
		}
		if l.Problem != "" {
			about = "not sound: " + l.Problem
		}
		if l.Hidden != "" {
			about = "hidden by that of the " + l.Hidden + ": " + about
		}
		rows = append(rows, []string{console.Dash(l.Family), l.Name, l.Layer, steps, console.Dash(l.Tempo), console.Line(about, 100)})
	}
	console.Table(w, []string{"family", "pattern", "of", "steps", "tempo", "what it is for"}, rows)
}

func (a *Commands) showPattern() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME|FILE", Short: "what a pattern asks, does and leaves behind", Args: console.Takes("NAME|FILE"),
		Long: `Show tells of a pattern what it is for, the questions of primacy, its steps
with what each writes and is held to at its tempo, its constraints, and the
rubric that its outcome is marked by.`,
		Example: "  loom pattern show option-burst\n  loom pattern show ./loom-processes/patterns/ours --json",
		RunE: func(_ *cobra.Command, args []string) error {
			e, err := a.pickPattern(args[0])
			if err != nil {
				return err
			}
			v := map[string]any{"name": e.Name, "layer": e.Layer, "file": e.File, "digest": intent.PatternDigest(e.Pattern), "pattern": console.JSONOf(e.Pattern)}
			return a.PrintAny(v, func(w io.Writer) { patternText(w, e) })
		},
	}
}

func patternText(w io.Writer, e *processes.PatternEntry) {
	p := e.Pattern
	fmt.Fprintf(w, "%s %s  %s, %s\ndigest %s\n\n  %s\n", p.Name, p.Version, p.Family, ofLayer(e.Layer), intent.PatternDigest(p), console.Line(p.Purpose, 300))
	fmt.Fprintf(w, "\nBefore anything is done it asks:\n\n")
	for _, q := range p.Questions {
		fmt.Fprintf(w, "  %-11s  %s\n", intent.FieldName(q.About), console.Line(q.Text, 300))
	}
	if len(p.Inputs) > 0 {
		fmt.Fprintf(w, "\nIt takes:\n\n")
		for _, in := range p.Inputs {
			needed := ""
			if in.Required {
				needed = ", required"
			}
			fmt.Fprintf(w, "  %s (%s%s)  %s\n", console.Line(in.Name, 64), in.Type, needed, console.Line(in.Description, 200))
		}
	}
	fmt.Fprintf(w, "\nSteps, at %s unless they or the operator say otherwise:\n\n", processes.TempoName(p.DefaultTempo))
	var rows [][]string
	for _, s := range p.Steps {
		limits := intent.LimitsOf(intent.TempoOf(0, s, p), s)
		var writes []string
		for _, l := range s.Writes {
			writes = append(writes, intent.LayerName(l))
		}
		rows = append(rows, []string{
			strconv.Itoa(int(s.Order)), s.Name, s.Role, processes.TempoName(limits.Tempo), limitsText(limits), console.Dash(strings.Join(writes, ", ")), console.Dash(strings.Join(s.Deliverables, ", ")),
		})
	}
	console.Table(w, []string{"", "step", "role", "tempo", "held to", "writes", "leaves"}, rows)
	for _, s := range p.Steps {
		if len(s.Withholds) > 0 {
			fmt.Fprintf(w, "Whoever works on step %s is not shown: %s\n", s.Name, strings.Join(s.Withholds, ", "))
		}
	}
	usesText(w, p)
	bullets(w, "Throughout", p.Constraints)
	for _, s := range p.Steps {
		bullets(w, "In "+s.Name, s.Constraints)
	}
	var marks []string
	for _, r := range p.Rubric {
		marks = append(marks, r.Name+": "+r.Question)
	}
	bullets(w, "The outcome is marked by", marks)
}

// usesText tells which steps are those of other patterns, what these take, and what holds
// for them.
func usesText(w io.Writer, p *loomv1.Pattern) {
	told := map[string]bool{}
	for _, s := range p.Steps {
		place := ""
		for _, use := range s.Within {
			if place = path.Join(place, use.Step); told[place] {
				continue
			}
			told[place] = true
			fmt.Fprintf(w, "\nThe steps of %s are those of %s %s, digest %s: %s\n", place, use.Pattern, use.Version, use.Digest, console.Line(use.Purpose, 300))
			for _, in := range use.Inputs {
				from := cmp.Or(in.Output, "the input "+in.Input)
				fmt.Fprintf(w, "  its %s is %s\n", console.Line(in.Name, 64), console.Line(from, 200))
			}
			bullets(w, "In all of "+place, use.Constraints)
		}
	}
}

// limitsText tells what a step is held to: the table of tempos has all of it.
func limitsText(l *loomv1.TempoLimits) string {
	text := fmt.Sprintf("tier %d, %d calls", l.ModelTier, l.Iterations)
	if l.Questions > 0 {
		text += fmt.Sprintf(", asks %d times", l.Questions)
	}
	if l.Stops {
		text += ", stops after it"
	}
	return text
}

func bullets(w io.Writer, head string, list []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", head)
	for _, s := range list {
		fmt.Fprintf(w, "  - %s\n", console.Line(s, 500))
	}
}

func (a *Commands) drawPattern() *cobra.Command {
	d := &workflow.Drawer{Library: workflow.Library{App: workflow.New(a.Console)}}
	cmd := &cobra.Command{
		Use: "graph NAME|FILE [flags]", Short: "draw the workflow of a pattern's steps", Args: console.Takes("NAME|FILE"),
		Long:    "Graph draws the steps of a pattern as the workflow that they are compiled to:\nthe approval of the intent, the steps, the stops between them, and the way to\nthe target branch.",
		Example: "  loom pattern graph option-burst -o option-burst.svg\n  loom pattern graph ./ours.yaml --format mermaid",
		RunE: func(_ *cobra.Command, args []string) error {
			write, err := d.Writer()
			if err != nil {
				return err
			}
			e, err := a.pickPattern(args[0])
			if err != nil {
				return err
			}
			return a.WriteTo(d.Output, write(processes.Picture(e.Workflow, nil)))
		},
	}
	cmd.Flags().StringVar(&d.Format, "format", "", "`FORMAT`: dot, mermaid or svg (default: what the file is called, else mermaid)")
	cmd.Flags().StringVarP(&d.Output, "output", "o", "", "write to this `FILE`, also -o; - is standard output (default: -)")
	return cmd
}

func (a *Commands) validatePattern() *cobra.Command {
	return &cobra.Command{
		Use: "validate FILE|DIR...", Short: "print everything that is wrong with pattern files",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.Takes("FILE|DIR")(cmd, args)
			}
			return nil
		},
		Long: `Validate reads pattern files and prints what is wrong with them, all at once,
one FILE:LINE:COL: CODE: sentence a line; it exits 3 then. With --json it prints
a list. Of a directory it takes each NAME/pattern.yaml with the example sessions
beside it, and files *.yaml and *.yml that are patterns. The world_scope is held
to where a file lies, if patterns are looked for there.`,
		Example: "  loom pattern validate ./ours.yaml\n  loom pattern validate loom-processes/patterns",
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := WorkflowFiles(args)
			if err != nil {
				return err
			}
			all := []*fault.Error{}
			read := 0
			for _, file := range files {
				if filepath.Base(file) == "process.yaml" {
					continue
				}
				e, err := a.ReadPattern(file)
				if err != nil {
					return err
				}
				read++
				all = append(all, e.Problems...)
				for _, s := range e.Sessions() {
					if _, err := a.session(e, s); err != nil {
						f := fault.From(err)
						all = append(append(all, f), f.More...)
					}
				}
			}
			return a.Validated(all, read)
		},
	}
}

func (a *Commands) newPattern() *cobra.Command {
	var from, dir string
	cmd := &cobra.Command{
		Use: "new NAME [flags]", Short: "begin a pattern of your own", Args: console.Takes("NAME"),
		Long: `New makes a package patterns/NAME in loom-processes/: a pattern that is small,
sound and explained, with an example session, or with --from a copy of another
one and its sessions under a new name. It is of the project.`,
		Example: "  loom pattern new retrospective\n  loom pattern new our-burst --from option-burst",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := console.CheckToken("NAME", args[0]); err != nil {
				return err
			}
			files, err := a.patternFiles(args[0], from)
			if err != nil {
				return err
			}
			top := filepath.Join(dir, "patterns", args[0])
			if console.Exists(top) {
				return fault.New("process/output", "there is such a directory already").At(top)
			}
			for _, f := range files {
				file := filepath.Join(top, filepath.FromSlash(f.name))
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a file of the workspace
					return fault.New("usage/argument", "cannot be made").At(file).Because(errors.Unwrap(err))
				}
				if err := console.WriteNew(file, []byte(f.text)); err != nil {
					return err
				}
			}
			file := filepath.Join(top, PatternFile)
			return a.PrintAny(map[string]string{"file": file}, func(w io.Writer) { fmt.Fprintln(w, file) })
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "begin with a copy of the pattern of this `NAME`")
	cmd.Flags().StringVar(&dir, "dir", "loom-processes", "make it in patterns/ of this `DIR`")
	return cmd
}

// namedText is a file by its path in a package.
type namedText struct{ name, text string }

// patternFiles are the files of a new pattern.
func (a *Commands) patternFiles(name, from string) ([]namedText, error) {
	if from == "" {
		return []namedText{{PatternFile, processes.BeginningPattern(name, processes.ProjectScope)}, {"test/example.yaml", processes.BeginningSession()}}, nil
	}
	e, err := a.pickPattern(from)
	if err != nil {
		return nil, err
	}
	if e.Dir == nil {
		return nil, fault.New("usage/argument", "standard input cannot be copied").At("--from")
	}
	var files []namedText
	for _, file := range append([]string{e.Path}, e.Sessions()...) {
		data, err := fs.ReadFile(e.Dir, file)
		if err != nil {
			return nil, fault.New("usage/argument", "cannot be read").At("--from").Got(file)
		}
		text, to := string(data), "test/"+path.Base(file)
		if file == e.Path {
			text = strings.Replace(strings.Replace(text, "\nname: "+e.Name, "\nname: "+name, 1), "\nworld_scope: "+processes.GlobalScope, "\nworld_scope: "+processes.ProjectScope, 1)
			to = PatternFile
		}
		files = append(files, namedText{to, text})
	}
	return files, nil
}

// ofLayer says of which layer a pattern is.
func ofLayer(layer string) string {
	switch layer {
	case "built in", "file":
		return layer
	}
	return "of the " + layer
}
