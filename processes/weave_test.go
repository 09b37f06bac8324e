package processes_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// read reads a process that must be sound.
func read(t *testing.T, text string) processes.Result {
	t.Helper()
	rs := roles.Builtin()
	r := processes.Read(processes.Builtin(rs), []processes.Source{{File: "p.yaml", Data: []byte("name: p\nversion: \"1.0\"\n" + text)}}, rs)[0]
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	if _, err := workflow.Compile(r.Definition); err != nil {
		t.Fatal(err)
	}
	return r
}

// ways lists the edges of a definition.
func ways(def *loomv1.Definition) []string {
	var list []string
	for _, e := range def.Edges {
		list = append(list, strings.TrimSpace(e.From+" -> "+e.To+" "+e.Condition))
	}
	return list
}

// Phases become one workflow: in parallel where nothing holds them, verified as
// their tier says, gathered, and brought to the target.
func TestPROC05_Weave(t *testing.T) {
	r := read(t, `
phases:
  - {id: a, description: A., verification_tier: 2, acceptance_criteria: Good., deliverables: [a.md]}
  - {id: b, description: B.}
  - {id: c, description: C., depends_on: [a, b], verification_tier: 3, acceptance_criteria: Good., is_synthesis: true, is_critical_path: true}
  - {id: d, process: consult, depends_on: [a]}
`)
	want := []string{
		"start -> planner", "a -> a-check", "c -> c-check", "c-check -> c-second", "c-second -> c-rev-1", "c-second -> c-rev-2", "c-second -> c-rev-3", "c-rev-1 -> c-vote", "c-rev-2 -> c-vote", "c-rev-3 -> c-vote",
		"planner -> a", "planner -> b", "a-check -> c", "b -> c", "a-check -> d", "c-vote -> gather", "d -> gather",
		"gather -> commit outcome.files > 0", "gather -> end outcome.files == 0", "commit -> verify", "verify -> land", "land -> end",
	}
	if diff := cmp.Diff(want, ways(r.Definition)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	for _, n := range r.Definition.Nodes {
		switch n.Id {
		case "a":
			if n.Role != processes.Analyst || n.Criticality != loomv1.Criticality_CRITICALITY_OPTIONAL {
				t.Errorf("%v", n)
			}
		case "a-check":
			if n.Role != "qa-engineer" || n.OnFailure.Rework[0].To != "a" || n.Outcome["acceptance"] != "bool" {
				t.Errorf("%v", n)
			}
		case "c", "c-second", "c-vote":
			if n.Criticality != loomv1.Criticality_CRITICALITY_CRITICAL {
				t.Errorf("%v", n)
			}
		}
	}
}

// Hooks become steps before, between and after the phases; whoever asks on the
// way asks about the result, too.
func TestPROC10_Hooks(t *testing.T) {
	r := read(t, `
phases:
  - {id: a, description: A., deliverables: [a.md]}
  - {id: b, description: B., depends_on: [a]}
hooks:
  before_plan:
    - {check: Environment variable KEY is set, action: fail}
  after_plan:
    - approve: Shall we?
  between_phases:
    - {action: Export what there is.}
  after_complete:
    - {action: Write the summary., deliverables: [summary.md], model_tier: 2}
    - approve: Shall it go out?
`)
	want := []string{
		"start -> before-plan-1", "before-plan-1 -> before-plan-1-ok", "before-plan-1-ok -> planner", "planner -> after-plan-1", "a -> a-h1", "after-plan-1 -> a",
		"a-h1 -> b", "b -> after-complete-1", "after-complete-1 -> gather", "deliver -> commit", "gather -> deliver outcome.files > 0",
		"gather -> end outcome.files == 0", "commit -> verify", "verify -> land", "land -> end",
	}
	if diff := cmp.Diff(want, ways(r.Definition)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	i := slices.IndexFunc(r.Definition.Nodes, func(n *loomv1.NodeDefinition) bool { return n.Id == "deliver" })
	if r.Definition.Nodes[i].Description != "Shall it go out?" {
		t.Error(r.Definition.Nodes[i])
	}
}

// What is allowed but probably not meant is told, at its place.
func TestPROC03_Warnings(t *testing.T) {
	r := read(t, `phases:
  - {id: a, description: A., model_tier: 1, is_synthesis: true}
tools: {excluded: [shell_execute]}
tool_guidance: "Use `+"`read_file`, then `file_edit` and `mcp_wiki_find`, and `read_file`"+` again, never `+"`shell`"+`."
`)
	var got []string
	for _, w := range r.Warnings {
		got = append(got, w.Where+" "+w.Code)
	}
	want := []string{"p.yaml:4:42 process/synthesis", "p.yaml:4:59 process/synthesis", "p.yaml:5:20 process/tool", "p.yaml:6:16 process/tool"}
	if text := r.Warnings[len(r.Warnings)-1].Error(); !strings.Contains(text, "\"read_file\"") || !strings.Contains(text, "file_read") {
		t.Errorf("%s: it does not say which tool is meant", text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// A rule that is held against nothing is told, and what nobody judges.
func TestPROC03_NoRuleIsDroppedInSilence(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct{ name, rule, want string }{
		{"aimed at what a phase delivers", `{name: r, type: regex, check: x, target: "*.md"}`, ""},
		{"aimed at no file", `{name: r, type: regex, check: x, target: "*.txt"}`, `p.yaml:8:48 no phase that rule "r" is about delivers a file that it is aimed at; they deliver a.md, b.csv, c.png`},
		{"aimed at no file of its phases", `{name: r, type: regex, check: x, target: a.md, phases: [b]}`, `p.yaml:8:48 no phase that rule "r" is about delivers a file that it is aimed at; they deliver b.csv, c.png`},
		{"aimed at what cannot be looked into", `{name: r, type: regex, check: x}`, `p.yaml:8:14 rule "r" cannot look into c.png; aim it at files that it can look into, or leave it to a rule of type llm`},
		{"said", `{name: r, type: regex, check: x, target: output}`, ""},
		{"judged by nobody", `{name: r, check: x, phases: [b]}`, `p.yaml:8:14 nobody judges rule "r": the verification tier of b is 1, and its severity is warning; verification_tier: 2, or severity: error, brings a verifier`},
		{"judged in one of its phases", `{name: r, check: x}`, ""},
		{"an error brings a judge", `{name: r, check: x, phases: [b], severity: error}`, ""},
	} {
		t.Run("PROC03 "+tt.name, func(t *testing.T) {
			r := read(t, `phases:
  - {id: a, description: A., verification_tier: 2, deliverables: [a.md]}
  - {id: b, description: B., deliverables: [b.csv, c.png]}
verification:
  rules:
    - `+tt.rule+"\n")
			var got []string
			for _, w := range r.Warnings {
				got = append(got, w.Where+" "+w.Message+"; "+w.Hint)
			}
			if len(r.Problems) > 0 || strings.Join(got, "\n") != tt.want {
				t.Errorf("%v\n%s", r.Problems, strings.Join(got, "\n"))
			}
		})
	}
	r := read(t, `phases:
  - {id: a, description: A., acceptance_criteria: Good., deliverables: [a.md]}
  - {id: b, description: B., acceptance_criteria: Good., deliverables: [b.md]}
verification:
  rules:
    - {name: r, check: x, phases: [b], severity: error}
`)
	if len(r.Warnings) != 1 || r.Warnings[0].Where != "p.yaml:4:51" || r.Warnings[0].Message != "nobody judges the criteria of a: the verification tier is 1" {
		t.Errorf("%v", r.Warnings)
	}
	var checks []string
	for _, n := range r.Definition.Nodes {
		if n.GetPhase().GetPart() == loomv1.PhasePart_PHASE_PART_CHECK {
			checks = append(checks, n.Id)
		}
	}
	if strings.Join(checks, " ") != "b-check" {
		t.Errorf("a rule of severity error brings the judge of its phase alone: %v", checks)
	}
}

// A package is its process.yaml with what lies beside it; what it includes
// comes before it, and later values take the place of earlier ones.
func TestPROC02_PackagesAndIncludes(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	dir := fstest.MapFS{
		"common/rules.yaml": file("persona: Be brief.\nverification:\n  rules:\n    - {name: cited, check: All is cited.}\n"),
		"tender/process.yaml": file(`name: tender
version: "1.0"
includes: [common/rules.yaml]
persona: You are careful. {voice}
phases:
  - {id: a, description: "Do it. {sceptic}"}
`),
		"tender/templates/voice.txt":    file("Speak plainly.\n"),
		"tender/personas/sceptic.md":    file("Doubt it."),
		"tender/examples/one.yaml":      file("goal: G\nsubtasks:\n  - {id: a, description: A.}\n"),
		"tender/verification/more.yaml": file("rules:\n  - {name: short, check: It is short.}\n"),
		"tender/tools/size.py":          file("#!/usr/bin/env python3\n"),
	}
	rs := roles.Builtin()
	c := processes.Open([]processes.Layer{{Name: "workspace", Dir: dir, Shown: "w"}, processes.BuiltinLayer()}, rs)
	e, err := c.Find("tender")
	if err != nil {
		t.Fatal(err)
	}
	g := e.Definition.Guide
	if g.Persona != "You are careful. Speak plainly." || len(g.Rules) != 2 || g.Rules[0].Name != "cited" || g.Rules[1].Name != "short" {
		t.Errorf("%v", g)
	}
	if e.Definition.Nodes[2].Description != "Do it. Doubt it." || len(e.Process.Examples) != 1 || e.Process.Tools[0] != "size.py" {
		t.Errorf("%v, %+v", e.Definition.Nodes[2], e.Process)
	}
	if c.Default("workspace") != "tender" || e.File != "w/tender/process.yaml" {
		t.Error(c.Default("workspace"), e.File)
	}
}

// The nearest sound process of a name counts; one that is not sound hides
// nothing, and says what is wrong with it.
func TestPROC02_NearerLayersWin(t *testing.T) {
	proc := func(name, about string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("name: " + name + "\nversion: \"1.0\"\ndescription: " + about + "\nphases:\n  - {id: a, description: A.}\n")}
	}
	near := fstest.MapFS{"x.yaml": proc("x", "near"), "competitive-intel.yaml": {Data: []byte("name: competitive-intel\n")}}
	far := fstest.MapFS{"x.yaml": proc("x", "far"), "y.yaml": proc("y", "far")}
	c := processes.Open([]processes.Layer{
		{Name: "workspace", Dir: near, Shown: "near"}, {Name: "user", Dir: far, Shown: "far"}, processes.BuiltinLayer(),
	}, roles.Builtin())
	for name, want := range map[string]string{"x": "near", "y": "far"} {
		if e, err := c.Find(name); err != nil || e.Definition.Description != want {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	if e, err := c.Find("competitive-intel"); err != nil || e.Layer != "built in" {
		t.Errorf("%v, %v", e, err)
	}
	if _, err := c.Find("competitive-intl"); err == nil || !strings.Contains(err.Error(), `did you mean "competitive-intel"?`) {
		t.Error(err)
	}
	hidden := 0
	for _, e := range c.Entries() {
		if e.Hidden != "" {
			hidden++
		}
	}
	if hidden != 1 || c.Default("workspace") != "" {
		t.Errorf("%d hidden, default %q", hidden, c.Default("workspace"))
	}
}

// unjudgedCriteria says whether a warning is that nobody judges criteria, which phases of
// tier 1 have for those who work on them.
func unjudgedCriteria(w *fault.Error) bool {
	return w.Code == "process/unjudged" && strings.HasPrefix(w.Message, "nobody judges the criteria of ")
}

// Every process that comes with Loom is sound, without other warnings, has two
// examples, a test and a page, and writes as a workflow that reads as the same.
func TestPROC08_BuiltIns(t *testing.T) {
	rs := roles.Builtin()
	c := processes.Open([]processes.Layer{processes.BuiltinLayer()}, rs)
	for _, name := range []string{
		"marketing-strategy", "investment-analysis", "research-report", "competitive-intel", "consulting-engagement", "due-diligence", "feature-delivery",
	} {
		t.Run("PROC08 "+name, func(t *testing.T) {
			e, err := c.Find(name)
			if err != nil || slices.ContainsFunc(e.Warnings, func(w *fault.Error) bool { return !unjudgedCriteria(w) }) {
				t.Fatal(err, e.Warnings)
			}
			p := e.Process
			if len(p.Examples) < 2 || len(p.Phases) < 3 || len(p.Definition.Guide.Rules) < 2 || len(p.Definition.Guide.MemoryTypes) < 3 || p.Triggers == "" || len(p.Scan) == 0 {
				t.Errorf("%d examples, %d phases, rules %v", len(p.Examples), len(p.Phases), p.Definition.Guide.Rules)
			}
			again, err := processes.Parse("again.yaml", processes.Write(e.Definition), rs)
			if err != nil || processes.Hash(again) != processes.Hash(e.Definition) {
				t.Errorf("written as a workflow it is another: %v", err)
			}
			if _, err := workflow.Compile(e.Definition); err != nil {
				t.Error(err)
			}
			tests, _ := filepath.Glob(name + "/test/*.script.yaml")
			if _, err := os.Stat(name + "/README.md"); err != nil || len(tests) == 0 {
				t.Errorf("it lacks a page or a test: %v", err)
			}
		})
	}
}

// What a new process begins with is sound.
func TestPROC09_TheBeginningIsSound(t *testing.T) {
	rs := roles.Builtin()
	r := processes.Read(processes.Builtin(rs), []processes.Source{{File: "n.yaml", Data: []byte(processes.Beginning("ours"))}}, rs)[0]
	if len(r.Problems)+len(r.Warnings) > 0 || r.Definition.Name != "ours" {
		t.Error(r.Problems, r.Warnings)
	}
}

// Any file is refused or becomes a workflow that the engine can run.
func FuzzPROC01_Process(f *testing.F) {
	data, err := os.ReadFile("testdata/phases/marketing-strategy.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add("name: x\nversion: \"1.0\"\nphases:\n  - {id: a, description: A., depends_on: [a]}\n")
	f.Add("name: x\nversion: \"1.0\"\nphases:\n  - {id: a-check, description: A.}\n  - {id: a, description: A., verification_tier: 3, acceptance_criteria: x}\n")
	f.Add("phases: [{id: a}]\nhooks: {between_phases: [{approve: x}]}\n")
	rs := roles.Builtin()
	base := processes.Builtin(rs)
	f.Fuzz(func(t *testing.T, text string) {
		r := processes.Read(base, []processes.Source{{File: "f.yaml", Data: []byte(text)}}, rs)[0]
		if (r.Definition == nil) == (len(r.Problems) == 0) {
			t.Fatalf("%v with %v", r.Definition, r.Problems)
		}
		if r.Definition != nil {
			if _, err := workflow.Compile(r.Definition); err != nil {
				t.Fatalf("the engine refuses what the validator accepts: %v", err)
			}
		}
	})
}
