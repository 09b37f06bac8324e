package processes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

// handbook is a pattern that has its draft made clear by another one.
const handbook = `kind: pattern
name: handbook
version: "1.0"
family: production
purpose: Write a page of a handbook.
world_scope: project
inputs:
  - {name: facts, type: text, required: true}
  - {name: words, type: list}
outputs: [{name: draft.md, type: text}, {name: page.md, type: text}]
steps:
  - {order: 1, name: draft, description: Write it down., writes: [files], deliverables: [draft.md], handoff_to: clear}
  - order: 2
    name: clear
    description: Make the draft clear.
    pattern: clarity-pass
    inputs: {original: draft.md, terms: words}
    writes: [active, files]
    stop: true
  - {order: 3, name: place, description: Put it into its place., writes: [files], deliverables: [page.md], handoff_to: complete}
rubric: [{name: right, question: "Is it right?"}]
`

// thatUses is a small pattern that uses another one, or none.
func thatUses(name, other string) string {
	step := "  - {order: 1, name: do, description: Do it., writes: [files], deliverables: [out.md]}\n"
	if other != "" {
		step = "  - {order: 1, name: in, description: Have it done., writes: [files], pattern: " + other + "}\n" + strings.Replace(step, "order: 1", "order: 2", 1)
	}
	return "kind: pattern\nname: " + name + "\nversion: \"1.0\"\nfamily: production\npurpose: Do a thing.\nworld_scope: project\n" +
		"constraints: [\"" + name + " holds\"]\noutputs: [{name: out.md, type: text}]\nsteps:\n" + step + "rubric: [{name: right, question: \"Is it right?\"}]\n"
}

func builtinTexts() []processes.PatternText {
	return processes.PatternTexts([]processes.Layer{processes.BuiltinLayer()})
}

func TestPAT01_TheStepsOfAUsedPatternStandInItsPlace(t *testing.T) {
	r := processes.ReadPattern("handbook.yaml", []byte(handbook), "project", roles.Builtin(), builtinTexts())
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	var got []string
	for _, s := range r.Pattern.Steps {
		got = append(got, fmt.Sprint(s.Order, " ", s.Name, " ", s.Deliverables, " ", s.Tempo, " ", s.Stop, " ", len(s.Within)))
	}
	want := []string{
		"1 draft [draft.md] TEMPO_UNSPECIFIED false 0", "2 clear-claims [] TEMPO_ALLEGRO false 1", "3 clear-rewrite [clear/clear.md] TEMPO_ALLEGRO false 1",
		"4 clear-check [clear/clear.md clear/meaning.md] TEMPO_ANDANTE true 1", "5 place [page.md] TEMPO_UNSPECIFIED false 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	use := r.Pattern.Steps[2].Within[0]
	if use.Pattern != "clarity-pass" || use.Step != "clear" || len(use.Constraints) != 3 || use.Inputs[0].Output != "draft.md" || use.Inputs[1].Input != "words" {
		t.Errorf("it lies within %v", use)
	}
	var outputs []string
	for _, o := range r.Pattern.Outputs {
		outputs = append(outputs, o.Name)
	}
	if !slices.Equal(outputs, []string{"draft.md", "page.md", "clear/clear.md", "clear/meaning.md"}) {
		t.Errorf("it leaves %v", outputs)
	}
	if len(r.Used) != 1 || !strings.Contains(string(r.Used[0].Data), "\nname: clarity-pass\n") {
		t.Errorf("it uses %d texts", len(r.Used))
	}
	if _, err := workflow.Compile(r.Workflow); err != nil {
		t.Errorf("it is no workflow: %v", err)
	}
	def, err := processes.SessionWorkflow(r.Pattern, 2, roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range def.Nodes {
		if n.Id == "clear-rewrite" && !strings.Contains(n.Description, `It is a step of "clear", by the pattern clarity-pass (`) {
			t.Errorf("whoever works on it is told %q", n.Description)
		}
	}
}

// What is used twice has two folders; a use within a use has its inputs from the pattern
// around both.
func TestPAT01_UsesLieWithinUses(t *testing.T) {
	outer := strings.NewReplacer("name: handbook", "name: book", "order: 2\n    name: clear\n    description: Make the draft clear.\n    pattern: clarity-pass\n    inputs: {original: draft.md, terms: words}",
		"order: 2\n    name: part\n    description: Write a part.\n    pattern: handbook\n    inputs: {facts: draft.md, words: words}", "handoff_to: clear", "handoff_to: part").Replace(handbook)
	others := append([]processes.PatternText{{File: "handbook.yaml", Data: []byte(handbook)}}, builtinTexts()...)
	r := processes.ReadPattern("book.yaml", []byte(outer), "project", roles.Builtin(), others)
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	var names []string
	for _, s := range r.Pattern.Steps {
		names = append(names, s.Name)
	}
	if want := []string{"draft", "part-draft", "part-clear-claims", "part-clear-rewrite", "part-clear-check", "part-place", "place"}; !slices.Equal(names, want) {
		t.Errorf("steps %v, want %v", names, want)
	}
	deep := r.Pattern.Steps[3]
	if !slices.Equal(deep.Deliverables, []string{"part/clear/clear.md"}) || len(deep.Within) != 2 || deep.Within[0].Step != "part" || deep.Within[1].Step != "clear" {
		t.Fatalf("%v", deep)
	}
	if in := deep.Within[1].Inputs; in[0].Output != "part/draft.md" || in[1].Input != "words" {
		t.Errorf("its inputs are %v", in)
	}
	if in := deep.Within[0].Inputs; in[0].Output != "draft.md" || in[1].Input != "words" {
		t.Errorf("those around it are %v", in)
	}
	if len(r.Used) != 2 {
		t.Errorf("%d texts are used", len(r.Used))
	}
}

// What does not fit is told at its line.
func TestPAT02_UsesThatDoNotFit(t *testing.T) {
	for _, tt := range []struct{ old, text, want string }{
		{"pattern: clarity-pass", "pattern: clarity-pas", "handbook.yaml:16:14: pattern/use: there is no such pattern (got \"clarity-pas\"); did you mean \"clarity-pass\"?\n"},
		{"pattern: clarity-pass", "pattern: \"\"", "handbook.yaml:16:14: workflow/invalid: pattern is empty; give a value or leave the key out\nhandbook.yaml:17:13: pattern/use: only a step that is a pattern has inputs; pattern: NAME\n"},
		{"pattern: clarity-pass", "pattern: handbook", "handbook.yaml:16:14: pattern/use: it would be a part of itself: handbook > handbook\n"},
		{"pattern: clarity-pass", "role: analyst\n    pattern: clarity-pass", "handbook.yaml:16:11: pattern/use: a step that is a pattern has that from its steps; leave it out\n"},
		{"writes: [active, files]", "writes: [files]", "handbook.yaml:16:14: pattern/use: its step \"claims\" writes to a layer that this one does not declare (got \"active\"); writes: [active]\n"},
		{"original: draft.md, ", "", "handbook.yaml:16:14: pattern/use: input \"original\" of pattern \"clarity-pass\" is required, and nothing is bound to it; inputs: {original: an input, or an output of an earlier step}\n"},
		{"original: draft.md", "original: page.md", "handbook.yaml:17:24: pattern/use: it is no input of this pattern, and no output that a step before it leaves (got \"page.md\"); known are facts, words, draft.md\n"},
		{"original: draft.md", "original: words", "handbook.yaml:17:24: pattern/use: input \"original\" is required there, and this one is not here (got \"words\"); required: true\n"},
		{"terms: words", "terms: facts", "handbook.yaml:17:41: pattern/use: input \"terms\" is a list, and this is a text (got \"facts\")\n"},
		{"terms: words", "term: words", "handbook.yaml:17:40: pattern/use: pattern \"clarity-pass\" has no such input (got \"term\"); did you mean \"terms\"?\n"},
		{"name: clear\n", "name: so-clear-that-it-is-seen\n", "handbook.yaml:12:113: pattern/handoff: it is no later step (got \"clear\"); known are complete, so-clear-that-it-is-seen, place\n"},
		{"name: page.md, type: text}]", "name: page.md, type: text}, {name: clear/other.md, type: text}]", "handbook.yaml:10:77: pattern/use: the folder of step \"clear\" has what its pattern leaves, of its types, and nothing else (got \"clear/other.md\")\n"},
		{"world_scope: project", "world_scope: global", ""},
	} {
		if !strings.Contains(handbook, tt.old) {
			t.Fatalf("nothing is changed by %q", tt.old)
		}
		text := []byte(strings.Replace(handbook, tt.old, tt.text, 1))
		others := append([]processes.PatternText{{File: "handbook.yaml", Scope: "project", Data: text}}, builtinTexts()...)
		r := processes.ReadPattern("handbook.yaml", text, "", roles.Builtin(), others)
		got := listing(fault.Join(r.Problems))
		if tt.want == "" {
			if len(r.Problems) > 0 {
				t.Errorf("%q: %v", tt.text, r.Problems)
			}
			continue
		}
		if !strings.HasPrefix(got, tt.want) || r.Pattern != nil {
			t.Errorf("%q:\n%s\nwant\n%s", tt.text, got, tt.want)
		}
	}
}

// A circle, what lies too deep, too many steps, too long a name and what is of a project
// are refused.
func TestPAT02_CirclesDepthAndScopeOfUses(t *testing.T) {
	read := func(root string, others ...string) processes.PatternResult {
		var texts []processes.PatternText
		for i, o := range others {
			texts = append(texts, processes.PatternText{File: fmt.Sprintf("o%d.yaml", i), Scope: "project", Data: []byte(o)})
		}
		return processes.ReadPattern("p.yaml", []byte(root), "", roles.Builtin(), texts)
	}
	refused := func(r processes.PatternResult, want string) {
		t.Helper()
		if r.Pattern != nil || !strings.Contains(listing(fault.Join(r.Problems)), want) {
			t.Errorf("%q is not said: %v", want, r.Problems)
		}
	}
	refused(read(thatUses("a", "b"), thatUses("a", "b"), thatUses("b", "c"), thatUses("c", "b")), `pattern "b" is not sound`)
	refused(read(thatUses("a", "a"), thatUses("a", "a")), "it would be a part of itself: a > a")
	deep := read(thatUses("a", "b"), thatUses("b", "c"), thatUses("c", "d"), thatUses("d", ""))
	if len(deep.Problems) > 0 || len(deep.Pattern.Steps[0].Within) != 3 {
		t.Errorf("three within one another: %v", deep.Problems)
	}
	refused(read(thatUses("a", "b"), thatUses("b", "c"), thatUses("c", "d"), thatUses("d", "e"), thatUses("e", "")), `pattern "b" is not sound`)
	// Read by the way of a shorter one first, it is as deep.
	refused(read(strings.Replace(thatUses("a", "d"), "  - {order: 2, name: do", "  - {order: 2, name: x, description: Have it done., writes: [files], pattern: b}\n  - {order: 3, name: do", 1),
		thatUses("b", "c"), thatUses("c", "d"), thatUses("d", "e"), thatUses("e", "")), "more than 3 deep")
	var many strings.Builder
	for i := range 9 {
		fmt.Fprintf(&many, "  - {order: %d, name: u%d, description: Have it done., writes: [files], pattern: two}\n", i+1, i)
	}
	refused(read(strings.Replace(thatUses("a", ""), "  - {order: 1,", many.String()+"  - {order: 10,", 1), thatUses("two", "one"), thatUses("one", "")), "it has 19 steps, more than 16")
	refused(read(strings.Replace(thatUses("a", "b"), "name: in,", "name: in-nineteen-letters,", 1), thatUses("b", "c"), thatUses("c", "")), "which has more than 24 characters")
	refused(read(strings.Replace(thatUses("a", "b"), "world_scope: project", "world_scope: global", 1), thatUses("b", "")), "a global pattern uses global ones, and this is of the project")
	// The nearest sound one of a name is used.
	r := read(thatUses("a", "b"), strings.Replace(thatUses("b", ""), "kind: pattern", "kind: patten", 1), thatUses("b", ""))
	if len(r.Problems) > 0 {
		t.Errorf("one that is not sound hides another: %v", r.Problems)
	}
	if got := r.Pattern.GetSteps(); len(got) != 2 || got[0].GetWithin()[0].Constraints[0] != "b holds" {
		t.Errorf("%v", got)
	}
}
