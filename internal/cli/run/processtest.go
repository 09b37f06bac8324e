package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/bead"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/means"
	"github.com/loomrun/loom/internal/cli/models"
	"github.com/loomrun/loom/internal/cli/process"
	"github.com/loomrun/loom/internal/core/plan"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/ops/errand"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestProcess returns the command of that name.
func (a *Commands) TestProcess() *cobra.Command {
	var only, keep, record string
	var unsandboxed bool
	var sources []string
	cmd := &cobra.Command{
		Use: "test NAME|FILE [flags]", Short: "try a process from goal to deliverables", Args: console.Takes("NAME|FILE"),
		Long: `Test runs the tests of a process package, test/*.yaml: each gives a goal, files
to begin with and what is expected, and beside it, in NAME.script.yaml, what the
model answers. Everything but the model is real: host, agents, tools, checks,
commits. It works in a temporary directory, opens no port and needs no key.
Tools of the package are trusted for the length of the test alone. A process
that requires tools is tried where they are set up, as of "loom run".`,
		Example: "  loom process test competitive-intel\n  loom process test ./loom-processes/tender --only no-bid --keep /tmp/tender",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, e, err := process.New(a.Console).Pick(args[0])
			if err != nil {
				return err
			}
			t := &trial{Commands: a, sources: sources, catalog: c, entry: e, keep: keep, unsandboxed: unsandboxed || e.Layer == "built in" && !isolation.CanSandbox()}
			return models.New(a.Console).Recorded(record, "process test "+e.Name, scripted.New(e.Name, nil), func(w *recording.Writer) error {
				t.tape = w
				return t.all(cmd.Context(), only)
			})
		},
	}
	cmd.Flags().StringVar(&only, "only", "", "only the test of this `NAME`")
	cmd.Flags().StringVar(&keep, "keep", "", "work in `DIR`, which must not exist, and leave everything there")
	cmd.Flags().BoolVar(&unsandboxed, "unsandboxed", false, "let tools run on this machine as it is")
	means.SourceFlag(cmd.Flags(), &sources)
	models.RecordFlag(cmd.Flags(), &record)
	return cmd
}

// trial tries a process.
type trial struct {
	*Commands
	catalog     *processes.Catalog
	entry       *processes.Entry
	keep        string
	unsandboxed bool
	sources     []string
	tape        *recording.Writer
}

// verdict is what became of a test.
type verdict struct {
	Test     string         `json:"test"`
	Passed   bool           `json:"passed"`
	Problems []string       `json:"problems,omitempty"`
	Result   *errand.Result `json:"result,omitempty"`
}

func (t *trial) all(ctx context.Context, only string) error {
	names := t.tests(only)
	if len(names) == 0 {
		what := "has no tests"
		if only != "" {
			what = "has no such test"
		}
		return fault.New("process/unknown", "process %q %s", t.entry.Name, what).At("NAME|FILE").Want("a package has tests in test/*.yaml, each beside its *.script.yaml")
	}
	failed := 0
	for _, name := range names {
		v, err := t.one(ctx, name)
		if err != nil {
			return err
		}
		if !v.Passed {
			failed++
		}
		if err := t.PrintAny(v, func(w io.Writer) { verdictText(w, t.entry.Name, v) }); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fault.New("process/test", "%d of %s did not end as expected", failed, console.Count(len(names), "test")).At(t.entry.Name)
	}
	return nil
}

func verdictText(w io.Writer, name string, v verdict) {
	word := "passed"
	if !v.Passed {
		word = "failed"
	}
	fmt.Fprintf(w, "%s %s: %s\n", name, v.Test, word)
	for _, p := range v.Problems {
		fmt.Fprintf(w, "  %s\n", console.Line(p, 300))
	}
	if v.Result != nil {
		fmt.Fprintf(w, "  %s, %s, %d model calls\n", v.Result.Status, console.Count(len(v.Result.Files), "file"), v.Result.ModelCalls)
	}
}

// dir is the directory of the package's tests.
func (t *trial) dir() string { return path.Join(path.Dir(t.entry.Path), "test") }

func (t *trial) tests(only string) (names []string) {
	if t.entry.Dir == nil || path.Base(t.entry.Path) != "process.yaml" {
		return nil
	}
	entries, _ := fs.ReadDir(t.entry.Dir, t.dir())
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".yaml")
		if is && !strings.HasSuffix(name, ".script") && (only == "" || name == only) {
			names = append(names, name)
		}
	}
	return names
}

func (t *trial) one(ctx context.Context, name string) (v verdict, err error) {
	v.Test = name
	file := path.Join(t.dir(), name+".yaml")
	data, err := fs.ReadFile(t.entry.Dir, file)
	if err != nil {
		return v, fault.New("process/unknown", "the test cannot be read").At(file)
	}
	test, err := processes.ParseTest(t.shown(file), data)
	if err != nil {
		return v, t.Problems(err)
	}
	script := path.Join(t.dir(), name+".script.yaml")
	if data, err = fs.ReadFile(t.entry.Dir, script); err != nil {
		return v, fault.New("process/unknown", "there is no script for the model").At(t.shown(script))
	}
	if !bytes.Contains(data, []byte("node: "+processes.Planner+"\n")) && test.Set[plan.PlannerKey] == "" {
		test.Set = maps.Clone(test.Set)
		if test.Set == nil {
			test.Set = map[string]string{}
		}
		test.Set[plan.PlannerKey] = plan.ByRules // nobody answers for a planner
	}
	policy, err := scripted.Parse(t.shown(script), data)
	if err != nil {
		return v, t.Problems(err)
	}
	top, done, err := t.place(name)
	if err != nil {
		return v, err
	}
	defer done()
	o, err := t.options(top, name, test, policy)
	if err != nil {
		return v, err
	}
	if v.Result, err = t.carryOut(ctx, o); err != nil {
		return v, err
	}
	v.Problems = t.judge(top, test, v.Result)
	if v.Passed = len(v.Problems) == 0; !v.Passed {
		v.Problems = append(v.Problems, failures(v.Result)...)
	}
	return v, nil
}

func (t *trial) shown(file string) string {
	if base, ok := strings.CutSuffix(t.entry.File, t.entry.Path); ok {
		return base + file
	}
	return file
}

// place makes the directory that a test works in.
func (t *trial) place(name string) (dir string, done func(), err error) {
	if t.keep != "" {
		dir := filepath.Join(t.keep, name)
		if console.Exists(dir) {
			return "", nil, fault.New("usage/argument", "the directory exists").At("--keep").Got(dir)
		}
		return dir, func() {}, os.MkdirAll(dir, 0o700)
	}
	dir, err = os.MkdirTemp("", "loom-process-")
	return dir, func() { _ = discard.All(dir) }, err
}

func (t *trial) options(top, name string, test *processes.Test, policy scripted.Policy) (errand.Options, error) {
	work := filepath.Join(top, "workspace")
	for file, text := range test.Files {
		full := filepath.Join(work, filepath.FromSlash(file))
		if !filepath.IsLocal(filepath.FromSlash(file)) {
			return errand.Options{}, fault.New("usage/argument", "a file of the test lies outside the workspace").Got(file)
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil { //nolint:gosec // thrown away
			return errand.Options{}, err
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil { //nolint:gosec // thrown away
			return errand.Options{}, err
		}
	}
	if err := os.MkdirAll(work, 0o755); err != nil { //nolint:gosec // thrown away
		return errand.Options{}, err
	}
	s := &loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_TASK, Goal: test.Goal, Process: t.entry.Name}
	if err := bead.FillContext(s, contextWords(test.Set)); err != nil {
		return errand.Options{}, err
	}
	data := filepath.Join(top, "data")
	o := errand.Options{
		Prepared: func(ctx context.Context) error {
			return process.New(t.Console).TrustTools(ctx, data, t.entry, t.unsandboxed)
		},
		Workspace: work, Out: filepath.Join(top, "out"), Submission: s, Project: host.Project{Checks: test.Checks},
		Config: host.Config{
			Data: data, CEOKey: filepath.Join(top, "ceo.nk"), Unsandboxed: t.unsandboxed, Model: scripted.New(name, policy), Tape: t.tape,
			Processes: t.catalog.Library().With(processes.NewLibrary(t.entry.Definition)),
		},
		View: &errandView{demoView: &demoView{Commands: t.quiet(), auto: true, spin: console.NewSpinner(t.Commands.Console)}},
	}
	given := t.sources
	if !means.SearchIsNamed(given) { // a test asks nobody whom it was not told to ask
		given = append(slices.Clone(given), "search=off")
	}
	var err error
	o.Config.Sources, err = means.Sources(t.Console, given)
	o.Config.Sources.AlphaVantageKey, o.Config.Sources.FREDKey = "", "" // nor whom the environment has a key of
	return o, err
}

// quiet shows steps where a person looks, and nothing to a program.
func (t *trial) quiet() *Commands {
	q := *t.Console
	if q.JSON {
		q.Err, q.JSON = io.Discard, false
	}
	q.Out = q.Err
	return New(&q)
}

func contextWords(set map[string]string) (words []string) {
	for k, v := range set {
		words = append(words, k+"="+v)
	}
	slices.Sort(words)
	return words
}

// judge holds a result against what a test expects.
func (t *trial) judge(top string, test *processes.Test, r *errand.Result) (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if want := test.Status(); r.Status != want {
		wrong("it is %s, not %s %s", r.Status, want, r.Reason)
	}
	for _, name := range test.Promised(t.entry.Definition, append(gapNodes(r), leftOut(r)...)) {
		data, err := os.ReadFile(filepath.Join(top, "out", filepath.FromSlash(name)))
		switch {
		case err != nil:
			wrong("%s was not delivered", name)
		case !strings.Contains(string(data), test.Expect.Contains[name]):
			wrong("%s does not contain %q", name, test.Expect.Contains[name])
		}
	}
	for _, name := range test.Expect.Absent {
		if console.Exists(filepath.Join(top, "out", filepath.FromSlash(name))) {
			wrong("%s was delivered", name)
		}
	}
	if got, want := gapNodes(r), test.Expect.Gaps; !slices.Equal(got, sorted(want)) {
		wrong("gaps are %s, not %s", orNone(got), orNone(want))
	}
	for node, want := range test.Expect.Attempts {
		if got := len(history(r)[node]); got != want {
			wrong("%s had %s, not %d", node, console.Count(got, "attempt"), want)
		}
	}
	return problems
}

// failures tells which attempts failed, and why, for whoever looks for the
// reason.
func failures(r *errand.Result) (lines []string) {
	all := history(r)
	for _, node := range slices.Sorted(maps.Keys(all)) {
		for _, at := range all[node] {
			if o := at.Outcome; o.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE {
				lines = append(lines, fmt.Sprintf("%s, attempt %d of visit %d: %s: %s", node, at.Number, at.Visit, o.Code, o.Summary))
			}
		}
	}
	return lines
}

// history is the attempts at each node, also at those that are done after the end.
func history(r *errand.Result) map[string][]*loomv1.Attempt {
	all := map[string][]*loomv1.Attempt{}
	views := []*loomv1.Execution{r.View}
	for _, w := range r.After {
		views = append(views, w.View)
	}
	for _, x := range views {
		for node, st := range x.GetNodes() {
			all[node] = append(all[node], st.GetHistory()...)
		}
	}
	return all
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// leftOut returns the phases that the plan went without.
func leftOut(r *errand.Result) (phases []string) {
	for _, l := range r.View.GetPlan().GetLeftOut() {
		phases = append(phases, l.Phase)
	}
	return phases
}

func gapNodes(r *errand.Result) (nodes []string) {
	for _, g := range r.View.GetGaps() {
		if !slices.Contains(nodes, g.Node) {
			nodes = append(nodes, g.Node)
		}
	}
	slices.Sort(nodes)
	return nodes
}
