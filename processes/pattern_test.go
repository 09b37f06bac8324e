package processes_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

func builtinPatterns(t testing.TB) []*processes.PatternEntry {
	t.Helper()
	all := processes.Patterns([]processes.Layer{processes.BuiltinLayer()}, roles.Builtin())
	for _, e := range all {
		for _, p := range e.Problems {
			t.Error(p)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// The fourteen patterns are there, in their six families, each with questions of
// its own, steps with personas, constraints of its own and of steps, a rubric and
// a session.
func TestPAT06_FourteenPatternsInSixFamilies(t *testing.T) {
	families := map[string][]string{}
	for _, e := range builtinPatterns(t) {
		p := e.Pattern
		families[p.Family] = append(families[p.Family], p.Name)
		ofSteps, personas := 0, 0
		for _, s := range p.Steps {
			ofSteps += len(s.Constraints)
			if s.Persona != "" {
				personas++
			}
		}
		if len(p.Questions) < 5 || len(p.Steps) < 3 || personas < len(p.Steps)-1 || len(p.Constraints) < 3 || ofSteps == 0 || len(p.Rubric) < 4 || len(e.Sessions()) == 0 {
			t.Errorf("%s: %d questions, %d steps with %d personas, %d and %d constraints, %d questions of the rubric, %d sessions",
				p.Name, len(p.Questions), len(p.Steps), personas, len(p.Constraints), ofSteps, len(p.Rubric), len(e.Sessions()))
		}
		if p.WorldScope != "global" {
			t.Errorf("%s has the scope %s", p.Name, p.WorldScope)
		}
	}
	want := map[string][]string{
		"ideation": {"divergent-spread", "metaphor-bloom", "option-burst"}, "structuring": {"cluster-map", "framework-forge", "narrative-spine"},
		"decision": {"compare-and-weigh", "criteria-filter", "direction-lock"}, "production": {"draft-edit-polish", "episode-workflow"},
		"refinement": {"clarity-pass", "coherence-sweep"}, "analysis": {"insight-weave"},
	}
	if diff := cmp.Diff(want, families); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
}

// texts are all that a pattern says, without the keys of its file.
func texts(m protoreflect.Message) (all []string) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			for i := range v.List().Len() {
				all = append(all, texts(v.List().Get(i).Message())...)
			}
		case f.IsList() && f.Kind() == protoreflect.StringKind:
			for i := range v.List().Len() {
				all = append(all, v.List().Get(i).String())
			}
		case f.Kind() == protoreflect.StringKind:
			all = append(all, v.String())
		}
		return true
	})
	return all
}

// shared is how much of the text of one pattern stands in another: runs of three
// words.
func shared(a, b *loomv1.Pattern) float64 {
	runs := func(p *loomv1.Pattern) map[string]bool {
		set := map[string]bool{}
		words := strings.Fields(strings.ToLower(strings.Join(texts(p.ProtoReflect()), " ")))
		for i := range max(0, len(words)-2) {
			set[strings.Join(words[i:i+3], " ")] = true
		}
		return set
	}
	in, of := runs(a), runs(b)
	n := 0
	for r := range in {
		if of[r] {
			n++
		}
	}
	return float64(n) / float64(min(len(in), len(of)))
}

// No two patterns share more than a third of their text.
func TestPAT06_PatternsDiffer(t *testing.T) {
	all := builtinPatterns(t)
	most := 0.0
	for i, a := range all {
		for _, b := range all[:i] {
			share := shared(a.Pattern, b.Pattern)
			most = max(most, share)
			if share > 1.0/3 {
				t.Errorf("%s and %s share %.0f %% of their text", a.Name, b.Name, 100*share)
			}
		}
	}
	copied := proto.CloneOf(all[0].Pattern)
	copied.Name, copied.Purpose = "copy", "Something else entirely."
	if share := shared(all[0].Pattern, copied); share < 0.9 {
		t.Errorf("a copy shares %.0f %%: the measure sees nothing", 100*share)
	}
	t.Logf("the two most alike share %.1f %%", 100*most)
}

// What a pattern is compiled to is a workflow that the engine takes: its steps in
// order between an approval and the way to the target. No library has it.
func TestPAT01_PatternsAreCompiledAndNotSubmitted(t *testing.T) {
	library := processes.Builtin(roles.Builtin())
	for _, e := range builtinPatterns(t) {
		if _, err := workflow.Compile(e.Workflow); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		var nodes []string
		for _, n := range e.Workflow.Nodes {
			nodes = append(nodes, n.Id)
		}
		last := -1
		for _, s := range e.Pattern.Steps {
			at := slices.Index(nodes, s.Name)
			if at <= last {
				t.Errorf("%s: step %s stands at %d of %v", e.Name, s.Name, at, nodes)
			}
			last = at
		}
		if _, there := library.Get(e.Name); there {
			t.Errorf("%s can be submitted past primacy", e.Name)
		}
	}
}

// Each broken file tells all that is wrong with it, each thing at its place.
func TestPAT06_BrokenPatterns(t *testing.T) {
	data, err := os.ReadFile("testdata/broken-patterns.txt")
	if err != nil {
		t.Fatal(err)
	}
	sound := processes.BeginningPattern("ours", "project")
	cases := strings.Split(string(data), "==== ")[1:]
	if len(cases) < 30 {
		t.Fatalf("%d cases, want at least 30", len(cases))
	}
	var again strings.Builder
	again.WriteString(strings.Split(string(data), "==== ")[0])
	for _, c := range cases {
		head, _, _ := strings.Cut(c, "\n")
		old, text, ok := strings.Cut(head, " => ")
		if !ok || !strings.Contains(sound, unescape(old)) {
			t.Fatalf("case %q changes nothing of the sound file", head)
		}
		r := processes.ReadPattern("p.yaml", []byte(strings.Replace(sound, unescape(old), unescape(text), 1)), "project", roles.Builtin(), nil)
		if len(r.Problems) == 0 || r.Pattern != nil || r.Workflow != nil && r.Pattern != nil {
			t.Errorf("case %q is accepted", head)
			continue
		}
		want := "==== " + c
		got := "==== " + head + "\n" + listing(fault.Join(r.Problems))
		again.WriteString(got)
		if want != got && !*update {
			t.Errorf("case %q (-want +got):\n%s", head, cmp.Diff(want, got))
		}
	}
	if *update {
		if err := os.WriteFile("testdata/broken-patterns.txt", []byte(again.String()), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
}

func unescape(s string) string { return strings.ReplaceAll(s, `\n`, "\n") }

// What a new pattern begins with is sound where it lies; elsewhere its scope is
// refused.
func TestPAT06_ScopeAndBeginning(t *testing.T) {
	rs := roles.Builtin()
	for _, tt := range []struct{ scope, lies, code string }{
		{"project", "project", ""}, {"global", "global", ""}, {"project", "", ""}, {"global", "", ""}, {"project", "global", "pattern/scope"}, {"global", "project", "pattern/scope"},
	} {
		r := processes.ReadPattern("p.yaml", []byte(processes.BeginningPattern("ours", tt.scope)), tt.lies, rs, nil)
		if got := fault.Code(fault.Join(r.Problems)); got != tt.code {
			t.Errorf("a %s pattern where they are %q: %v", tt.scope, tt.lies, r.Problems)
		}
	}
	// In a catalog the layer says which scope belongs there, and the nearest sound one hides others.
	ours := func(scope string) fstest.MapFS {
		return fstest.MapFS{
			"patterns/option-burst.yaml":    {Data: []byte(processes.BeginningPattern("option-burst", scope))},
			"patterns/broken/pattern.yaml":  {Data: []byte("kind: pattern\n")},
			"patterns/readme.md":            {Data: []byte("no pattern")},
			"patterns/empty/other.yaml":     {Data: []byte("kind: pattern\n")},
			"elsewhere/option/pattern.yaml": {Data: []byte("kind: pattern\n")},
		}
	}
	layers := []processes.Layer{
		{Name: processes.WorkspaceLayer, Dir: ours("project"), Shown: "w"}, {Name: "user", Dir: ours("project"), Shown: "u"}, processes.BuiltinLayer(),
	}
	all := processes.Patterns(layers, rs)
	found, err := processes.FindPattern(all, "option-burst")
	if err != nil || found.Layer != processes.WorkspaceLayer {
		t.Errorf("found that of the %s, %v", found.Layer, err)
	}
	var seen []string
	for _, e := range all {
		if e.Name == "option-burst" || e.Name == "broken" {
			code := fault.Code(fault.Join(e.Problems))
			seen = append(seen, strings.Join([]string{e.Layer, e.Name, code, e.Hidden}, " "))
		}
	}
	want := []string{"user broken yaml/missing-key ", "workspace broken yaml/missing-key ", "built in option-burst  workspace", "user option-burst pattern/scope ", "workspace option-burst  "}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("catalog (-want +got):\n%s", diff)
	}
	if _, err := processes.FindPattern(all, "option-brust"); fault.Code(err) != "pattern/unknown" || !strings.Contains(err.Error(), "option-burst") {
		t.Errorf("one that is misspelt: %v", err)
	}
	if _, err := processes.FindPattern(all, "broken"); fault.Code(err) != "yaml/missing-key" {
		t.Errorf("one that is broken: %v", err)
	}
}

// A pattern without questions of its own asks four.
func TestPAT02_FourQuestionsByDefault(t *testing.T) {
	text := processes.BeginningPattern("ours", "global")
	from, to := strings.Index(text, "primacy_questions:"), strings.Index(text, "# What holds for all steps.")
	r := processes.ReadPattern("p.yaml", []byte(text[:from]+text[to:]), "", roles.Builtin(), nil)
	if len(r.Problems) > 0 || len(r.Pattern.Questions) != 4 {
		t.Fatalf("%v, %v", r.Problems, r.Pattern.GetQuestions())
	}
	// They pass the rules that hold for questions in files.
	var own strings.Builder
	own.WriteString("primacy_questions:\n")
	for _, q := range r.Pattern.Questions {
		own.WriteString("  - {ask: \"" + q.Text + "\", about: " + strings.ToLower(strings.TrimPrefix(q.About.String(), "INTENT_FIELD_")) + "}\n")
	}
	again := processes.ReadPattern("p.yaml", []byte(text[:from]+own.String()+"\n"+text[to:]), "", roles.Builtin(), nil)
	if len(again.Problems) > 0 || !proto.Equal(again.Pattern, r.Pattern) {
		t.Errorf("%v", again.Problems)
	}
}

// The page tells of every key of a pattern file and of a session.
func TestPAT06_TheDocsTellOfEveryKey(t *testing.T) {
	data, err := os.ReadFile("../docs/patterns.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range processes.PatternShape() {
		for i := range of.NumField() {
			if key := of.Field(i).Tag.Get("yaml"); !strings.Contains(string(data), "`"+key+"`") {
				t.Errorf("docs/patterns.md does not tell of the key %q", key)
			}
		}
	}
}

// Every key of a file finds its way into the pattern.
func TestPAT06_EveryKeyIsRead(t *testing.T) {
	r := processes.ReadPattern("p.yaml", []byte(strings.NewReplacer(
		"default_tempo: andante", "required_tools: [calculator]\ndefault_tempo: andante",
		"  - order: 2\n", "  - {order: 2, name: clear, description: Make them clear., pattern: clarity-pass, inputs: {original: notes}, writes: [active, files]}\n  - order: 3\n",
		"    writes: [active]\n", "    writes: [active]\n    role: analyst\n    tempo: adagio\n    timeout: 5m\n    questions: [\"What is new?\"]\n    withholds: [notes]\n",
	).Replace(processes.BeginningPattern("ours", "global"))), "", roles.Builtin(), processes.PatternTexts([]processes.Layer{processes.BuiltinLayer()}))
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	seen := map[protoreflect.FullName]bool{}
	var walk func(m protoreflect.Message)
	walk = func(m protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			seen[f.FullName()] = true
			if f.IsList() && f.Kind() == protoreflect.MessageKind {
				for i := range v.List().Len() {
					walk(v.List().Get(i).Message())
				}
			}
			return true
		})
	}
	walk(r.Pattern.ProtoReflect())
	for _, m := range []proto.Message{&loomv1.Pattern{}, &loomv1.PatternStep{}, &loomv1.PatternInput{}, &loomv1.PatternOutput{}, &loomv1.PatternQuestion{}, &loomv1.RubricItem{}} {
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			if !seen[fields.Get(i).FullName()] {
				t.Errorf("no key sets %s", fields.Get(i).FullName())
			}
		}
	}
}

// Whatever the bytes, there is an answer; what is accepted can be asked, begun
// and compiled.
func FuzzPAT06_ReadPattern(f *testing.F) {
	for _, e := range builtinPatterns(f) {
		data, err := os.ReadFile(e.Path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	rs := roles.Builtin()
	f.Fuzz(func(t *testing.T, data []byte) {
		r := processes.ReadPattern("p.yaml", data, "", rs, nil)
		if (r.Pattern == nil) == (len(r.Problems) == 0) {
			t.Fatalf("%v with %d problems", r.Pattern, len(r.Problems))
		}
		if r.Pattern == nil {
			return
		}
		if _, err := workflow.Compile(r.Workflow); err != nil {
			t.Fatalf("accepted, and the engine refuses: %v", err)
		}
		if len(r.Pattern.Questions) == 0 || len(r.Pattern.Steps) == 0 {
			t.Fatal("accepted without questions or steps")
		}
	})
}

// A step can withhold inputs of its pattern, each once, and no others.
func TestPAT06_AStepWithholdsInputsOfItsPattern(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"an input", "    withholds: [notes]\n", ""},
		{"no input", "    withholds: [noted]\n", "the pattern has no such input (got \"noted\"); did you mean \"notes\"?"},
		{"twice", "    withholds: [notes, notes]\n", "the input is there already (got \"notes\")"},
	} {
		text := strings.Replace(processes.BeginningPattern("ours", "global"), "    writes: [active]\n", "    writes: [active]\n"+tt.line, 1)
		r := processes.ReadPattern("p.yaml", []byte(text), "", roles.Builtin(), nil)
		got := ""
		for _, e := range r.Problems {
			got += e.Error()
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if tt.want == "" && !slices.Equal(r.Pattern.Steps[0].Withholds, []string{"notes"}) {
			t.Errorf("%s: %v", tt.name, r.Pattern.Steps[0])
		}
	}
}
