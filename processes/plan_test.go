package processes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// tender is a process to plan for.
const tender = `
phase_mode: guided
phases:
  - {id: facts, description: Gather facts., is_critical_path: true, deliverables: [facts.md], outcome: {go: bool}}
  - {id: survey, description: Ask customers., depends_on: [facts], deliverables: [survey.csv]}
  - {id: price, description: Find a price., depends_on: [survey], deliverables: [price.csv]}
  - {id: bid, description: Write the bid., depends_on: [price, facts], gate: {condition: outcome.facts.go, on_failure: replan, max: 1}, deliverables: [bid.md]}
  - {id: letter, description: Write the letter., depends_on: [bid], deliverables: [letter.md]}
verification:
  rules:
    - {name: rows, type: table, check: "row.n > 0.0", target: survey.csv, phases: [survey]}
`

func phaseLines(p *loomv1.Plan) (list []string) {
	for _, ph := range p.GetPhases() {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %v %s", ph.Id, ph.Change, ph.DependsOn, strings.Join(ph.Deliverables, ","))))
	}
	return list
}

// What a plan may do with a guided process, and what not.
func TestPROC04_GuidedPlans(t *testing.T) {
	def := read(t, tender).Definition
	all := "{id: facts}, {id: price}, {id: bid}, {id: letter}"
	out := ", left_out: [{phase: survey, reason: nobody to ask}]"
	for _, tt := range []struct{ name, plan, code string }{
		{"as it is", "", ""},
		{"without an optional phase", "{phases: [" + all + "]" + out + "}", ""},
		{"as JSON", `{"phases":[{"id":"facts"},{"id":"price"},{"id":"bid"},{"id":"letter"}],"left_out":[{"phase":"survey","reason":"r"}]}`, ""},
		{"one split", "{phases: [{id: facts}, {id: eu, of: survey, description: Ask EU., deliverables: [survey.csv]}, {id: us, of: survey, description: Ask US.}, {id: price}, {id: bid}, {id: letter}]}", ""},
		{"one more", "{phases: [" + all + ", {id: legal, description: Ask a lawyer., depends_on: [facts]}]" + out + "}", ""},
		{"unexplained", "{phases: [" + all + "]}", "plan/unexplained"},
		{"without a critical phase", "{phases: [{id: price}, {id: bid}, {id: letter}], left_out: [{phase: facts, reason: r}, {phase: survey, reason: r}]}", "plan/critical"},
		{"a critical one made light", "{phases: [{id: facts, is_critical_path: false}, {id: survey}, {id: price}, {id: bid}, {id: letter}]}", "plan/critical"},
		{"around a gate", "{phases: [{id: facts}, {id: survey}, {id: price}, {id: letter}], left_out: [{phase: bid, reason: r}]}", "plan/gate"},
		{"without what it is for", "{phases: [{id: facts}, {id: survey}, {id: price}, {id: bid}], left_out: [{phase: letter, reason: r}]}", "plan/deliverable"},
		{"a file lost", "{phases: [{id: facts}, {id: survey, deliverables: [other.csv]}, {id: price}, {id: bid}, {id: letter}]}", "plan/deliverable"},
		{"in a circle", "{phases: [{id: facts, depends_on: [letter]}, {id: survey}, {id: price}, {id: bid}, {id: letter}]}", "process/cycle"},
		{"waits for nothing that is", "{phases: [{id: facts}, {id: survey, depends_on: [gone]}, {id: price}, {id: bid}, {id: letter}]}", "process/dependency"},
		{"twice the same file", "{phases: [" + all + ", {id: more, description: More., deliverables: [bid.md]}]" + out + "}", "process/deliverable"},
		{"new without words", "{phases: [" + all + ", {id: more}]" + out + "}", "plan/phase"},
		{"part of nothing", "{phases: [" + all + ", {id: more, of: gone, description: D.}]" + out + "}", "plan/phase"},
		{"an unknown key", "{phases: [" + all + ", {id: more, gate: x}]" + out + "}", "yaml/unknown-key"},
		{"no plan", "well, first we", "yaml/type"},
		{"too dear", "{phases: [{id: facts, tokens: 900}, {id: survey, tokens: 101}, {id: price}, {id: bid}, {id: letter}]}", "plan/budget"},
		{"for a role that there is not", "{phases: [" + all + ", {id: more, description: D., role: wizard}]" + out + "}", "workflow/role"},
		{"an outcome lost that a gate reads", "{phases: [{id: f1, of: facts, description: D., deliverables: [facts.md]}, {id: survey}, {id: price}, {id: bid}, {id: letter}]}", "workflow/condition"},
	} {
		t.Run("PROC04 "+tt.name, func(t *testing.T) {
			got, plan, err := processes.Replan(def, tt.plan, processes.PlanOptions{Roles: roles.Builtin(), Tokens: 1000})
			var codes []string
			for _, e := range flat(err) {
				codes = append(codes, e.Code)
			}
			if tt.code != "" {
				if !slices.Contains(codes, tt.code) || got != nil {
					t.Errorf("%v, want %s", err, tt.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := workflow.Compile(got); err != nil || plan.DefinitionHash != processes.Hash(got) {
				t.Errorf("%v, %v", err, plan)
			}
		})
	}
}

// All that is wrong with a plan is told at once, also where it is wrong in one
// place: whoever makes the next one has few attempts.
func TestPROC04_AllThatIsWrongWithAPlan(t *testing.T) {
	_, _, err := processes.Replan(read(t, tender).Definition, "{phases: [{id: price}, {id: more}], left_out: [{phase: letter, reason: r}]}", processes.PlanOptions{Roles: roles.Builtin()})
	text := fault.From(err).Lines()
	for _, want := range []string{
		`phase "more" is none of the process`, `phase "facts" is critical`, `without phase "survey" and does not say why`, `phase "bid" has a gate`, "nothing in the plan delivers letter.md",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// flat returns an error with all that it tells of.
func flat(err error) []*fault.Error {
	if err == nil {
		return nil
	}
	first := fault.From(err)
	return append([]*fault.Error{first}, first.More...)
}

// What waited for a phase that is left out waits for what that waited for; what
// waited for one that was split waits for all its parts; rules go with them.
func TestPROC04_PlansKeepTheOrder(t *testing.T) {
	def := read(t, tender).Definition
	for _, tt := range []struct {
		plan  string
		want  []string
		rules int
	}{
		{
			"{phases: [{id: facts}, {id: price}, {id: bid}, {id: letter, description: Two lines.}], left_out: [{phase: survey, reason: r}]}",
			[]string{"facts kept [] facts.md", "price kept [facts] price.csv", "bid kept [price facts] bid.md", "letter adapted [bid] letter.md"},
			0,
		},
		{
			"{phases: [{id: facts}, {id: eu, of: survey, description: EU., deliverables: [survey.csv]}, {id: us, of: survey, description: US.}, {id: price}, {id: bid}, {id: letter}]}",
			[]string{"facts kept [] facts.md", "eu part [facts] survey.csv", "us part [facts]", "price kept [eu us] price.csv", "bid kept [price facts] bid.md", "letter kept [bid] letter.md"},
			1,
		},
	} {
		got, plan, err := processes.Replan(def, tt.plan, processes.PlanOptions{Roles: roles.Builtin()})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, phaseLines(plan)); diff != "" || len(got.Guide.GetRules()) != tt.rules {
			t.Errorf("%d rules; want -, got +:\n%s", len(got.Guide.GetRules()), diff)
		}
	}
}

// A new plan keeps what has begun, word for word, and a definition that was
// planned can be written and read again.
func TestPROC04_NewPlansKeepWhatHasBegun(t *testing.T) {
	rs := roles.Builtin()
	def := read(t, tender).Definition
	begun := func(node string) bool {
		return slices.Contains([]string{"start", "planner", "facts", "survey"}, node)
	}
	got, plan, err := processes.Replan(def, `{phases: [{id: survey, description: Other.}, {id: legal, description: Law.}, {id: price, depends_on: [legal]}, {id: bid}, {id: letter}]}`,
		processes.PlanOptions{Roles: rs, Begun: begun, Approve: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"facts begun [] facts.md", "survey begun [facts] survey.csv", "legal new []", "price adapted [legal] price.csv", "bid kept [price facts] bid.md",
		"letter kept [bid] letter.md",
	}
	if diff := cmp.Diff(want, phaseLines(plan)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"after-plan-1"}, got.Blueprint.After); diff != "" {
		t.Error(diff)
	}
	again, err := processes.Parse("p.yaml", processes.Write(got), rs)
	if err != nil || processes.Hash(again) != processes.Hash(got) {
		t.Errorf("written and read it is another: %v", err)
	}
	if _, _, err := processes.Replan(got, "", processes.PlanOptions{Roles: rs, Begun: begun}); err != nil {
		t.Errorf("a plan of what was planned: %v", err)
	}
}

// A suggestive process is free, but for what its critical phases deliver; a
// strict one has no plan.
func TestPROC04_Modes(t *testing.T) {
	rs := roles.Builtin()
	free := read(t, strings.Replace(tender, "guided", "suggestive", 1)).Definition
	_, plan, err := processes.Replan(free, "{phases: [{id: one, description: Do all., deliverables: [facts.md]}]}", processes.PlanOptions{Roles: rs})
	if err != nil || len(plan.LeftOut) != 5 {
		t.Errorf("%v, %v", plan, err)
	}
	if _, _, err := processes.Replan(free, "{phases: [{id: one, description: Do all.}]}", processes.PlanOptions{Roles: rs}); fault.Code(err) != "plan/deliverable" {
		t.Error(err)
	}
	strict := read(t, strings.Replace(strings.Replace(tender, "guided", "strict", 1), "replan, max: 1", "block", 1)).Definition
	if _, _, err := processes.Replan(strict, "", processes.PlanOptions{Roles: rs}); fault.Code(err) != "plan/none" || strict.Blueprint != nil {
		t.Error(err)
	}
}

// Whatever a planner says: what is adopted compiles, has all critical phases
// and files, and what had begun as it was.
func TestPROC04_AdoptedPlansAreSound(t *testing.T) {
	rs := roles.Builtin()
	def := read(t, tender).Definition
	ids := []string{"facts", "survey", "price", "bid", "letter", "x", "y"}
	adopted := 0
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for _, id := range rapid.Permutation(ids).Draw(t, "order")[:rapid.IntRange(1, 7).Draw(t, "n")] {
			fmt.Fprintf(&b, "  - id: %s\n", id)
			if rapid.Bool().Draw(t, "says") {
				b.WriteString("    description: D.\n")
			}
			if rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
				fmt.Fprintf(&b, "    depends_on: [%s]\n", rapid.SampledFrom(ids).Draw(t, "on"))
			}
			if rapid.IntRange(0, 4).Draw(t, "of") == 0 {
				fmt.Fprintf(&b, "    of: %s\n", rapid.SampledFrom(ids).Draw(t, "whole"))
			}
		}
		text := "phases:\n" + b.String() + "left_out: [{phase: survey, reason: r}, {phase: price, reason: r}]\n"
		begun := map[string]bool{}
		if rapid.Bool().Draw(t, "again") {
			begun = map[string]bool{"start": true, "planner": true, "facts": true}
		}
		got, plan, err := processes.Replan(def, text, processes.PlanOptions{Roles: rs, Begun: func(n string) bool { return begun[n] }})
		if err != nil {
			return
		}
		adopted++
		if _, err := workflow.Compile(got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, must := range []string{"facts", "bid", "letter"} {
			if !slices.ContainsFunc(plan.Phases, func(p *loomv1.PlannedPhase) bool { return p.Id == must || p.Of == must }) {
				t.Fatalf("%s: without %s: %v", text, must, plan)
			}
		}
		if begun["facts"] && plan.Phases[0].Change != "begun" {
			t.Fatalf("%v", plan)
		}
	})
	if adopted == 0 {
		t.Log("no plan was adopted in this run")
	}
}
