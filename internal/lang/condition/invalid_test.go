package condition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/condition"
)

var byNode = condition.Scope{Nodes: map[string]map[string]string{
	"triage": {"who": "string", "count": "int"}, "qa-check": {"fault": "string", "part": "commit | test"}, "bare": nil,
}}

var words = condition.Scope{Outcome: map[string]string{"part": "commit | test", "any": "string"}}

// A field of words is compared with its words, with none, and with what is read.
func TestWF02_Compile_takesWordsOfTheField(t *testing.T) {
	for _, expr := range []string{
		`outcome.part == "test" || "commit" == outcome.part`, `outcome.part != ""`, `outcome.part in ["test", "commit", ""]`,
		`outcome.part == outcome.any`, `outcome.any == "x"`, `outcome.part in [outcome.any]`, `outcome.part == bead.type`,
	} {
		if _, err := condition.Compile(expr, words, condition.Bool); err != nil {
			t.Errorf("Compile(%q) = %v", expr, err)
		}
	}
	if _, err := condition.Compile("outcome.`qa-check`.part == \"test\"", byNode, condition.Bool); err != nil {
		t.Error(err)
	}
}

func TestWF02_Compile_refuses(t *testing.T) {
	for _, tt := range []struct {
		expr  string
		scope condition.Scope
		want  condition.Result
		text  string // that the error must hold
	}{
		{``, scope, condition.Bool, "column 1"},
		{`1/0 == 1`, scope, condition.Bool, "has no value: division by zero"},
		{`9223372036854775807 + 1 > 0`, scope, condition.Bool, "has no value: integer overflow"},
		{`outcome.sevrity == "x"`, scope, condition.Bool, `undefined field 'sevrity' at column 8`},
		{`outcome.sevrity == "x"`, scope, condition.Bool, `did you mean "outcome.severity"?`},
		{`outcome.severity == none`, scope, condition.Bool, `text is written in quotes: "none"`},
		{`passed`, byNode, condition.Bool, `outcome.NODE.passed, where its outcome declares passed; text is written in quotes: "passed"`},
		{`part == "test"`, byNode, condition.Bool, "a field of an outcome is read as outcome.`qa-check`.part"},
		{`count > 1`, scope, condition.Bool, `a field of an outcome is read as outcome.count`},
		{`outcome.banana`, scope, condition.Bool, `known are outcome.count, outcome.drawn, outcome.missing`},
		{`outcome.severity == ""`, condition.Scope{}, condition.Bool, "there is no outcome here"},
		{`outcome.x == ""`, condition.Scope{Outcome: map[string]string{}}, condition.Bool, "undefined field 'x'"},
		{`outcom.severity == "x"`, scope, condition.Bool, `did you mean "outcome"?`},
		{`bead.typ == "bug"`, scope, condition.Bool, `did you mean "bead.type"?`},
		{`execution.dispatch > 1`, scope, condition.Bool, "undefined field 'dispatch'"},
		{`outcome.count == "2"`, scope, condition.Bool, "there is no == for (int, string) at column 15"},
		{`bead == 1`, scope, condition.Bool, "there is no == for (bead, int)"},
		{`outcome.count`, scope, condition.Bool, "yields int, not bool"},
		{`outcome`, scope, condition.Bool, "yields outcome, not bool"},
		{`outcome.ok`, scope, condition.Text, "yields bool, not string"},
		{`outcome.count =`, scope, condition.Bool, "syntax error"},
		{"true &&\n  outcome.nothing", scope, condition.Bool, "line 2, column 10"},
		{`"a".matches("(")`, scope, condition.Bool, "column"},
		{`context.x.matches("a{1000}{1000}")`, scope, condition.Bool, "column"},
		{`timestamp("2026-01-01T00:00:00Z").getHours("Europe/Berlin") == 1`, scope, condition.Bool, "timestamp() cannot be used"},
		{`duration("1s") == duration("2s")`, scope, condition.Bool, "duration() cannot be used"},
		{`{"a": 1}.exists(k, k == "a")`, scope, condition.Bool, "a map literal cannot be used"},
		{`[1].all(a, [1].all(b, [1].all(c, a == c)))`, scope, condition.Bool, "nest"},
		{strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), scope, condition.Bool, "recursion"},
		{strings.Repeat(" ", condition.MaxLength) + "true", scope, condition.Bool, "1028 bytes, more than 1024"},
		{`outcome.triage.wo`, byNode, condition.Text, `did you mean "outcome.triage.who"?`},
		{`outcome.later.who`, byNode, condition.Text, "undefined field 'later'"},
		{`outcome.triage.count`, byNode, condition.Text, "yields int, not string"},
		{`outcome.part == "comit"`, words, condition.Bool, `did you mean "commit"?`},
		{`outcome.part == "none"`, words, condition.Bool, `one of commit, test`},
		{`outcome.part == "comit"`, words, condition.Bool, `the field is never "comit" at column 14`},
		{`!("none" != outcome.part)`, words, condition.Bool, `the field is never "none" at column 10`},
		{`outcome.part in ["test", "tests"]`, words, condition.Bool, `the field is never "tests"`},
		{"outcome.`qa-check`.part == \"x\"", byNode, condition.Bool, `the field is never "x"`},
		{`outcome.who`, byNode, condition.Text, "undefined field 'who'"},
	} {
		_, err := condition.Compile(tt.expr, tt.scope, tt.want)
		if fault.Code(err) != "condition/invalid" || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("Compile(%.60q) = %v, want condition/invalid with %q", tt.expr, err, tt.text)
		}
	}
}

func TestWF02_Compile_reportsAll(t *testing.T) {
	_, err := condition.Compile(`bead.typ == "bug" && outcome.nothing == beed`, scope, condition.Bool)
	if n := 1 + len(fault.From(err).More); n != 3 {
		t.Errorf("%d problems, want 3: %v", n, err)
	}
}

func TestWF04_Text(t *testing.T) {
	in := input(t)
	in.Nodes = map[string]*structpb.Struct{
		"triage":   object(t, map[string]any{"who": "backend-engineer"}),
		"qa-check": object(t, map[string]any{"fault": "commit"}),
	}
	for _, tt := range []struct{ expr, want string }{
		{`outcome.triage.who`, "backend-engineer"},
		{"outcome.`qa-check`.fault", "commit"},
		{`outcome.triage.count == 0 ? "none" : "some"`, "none"},
		{`bead.type == "bug" ? outcome.triage.who : "lead"`, "backend-engineer"},
		{`context.deep.b`, "x"}, // dynamic, checked when run
	} {
		p, err := condition.Compile(tt.expr, byNode, condition.Text)
		if err != nil {
			t.Errorf("Compile(%s): %v", tt.expr, err)
			continue
		}
		if got, err := p.Text(in); got != tt.want || err != nil {
			t.Errorf("Text(%s) = %q, %v, want %q", tt.expr, got, err, tt.want)
		}
	}
}

func TestWF04_Evaluation_fails(t *testing.T) {
	in := input(t)
	in.Outcome = object(t, map[string]any{"severity": 5, "count": 2.5, "ok": "yes"})
	in.Context.Fields["bomb"] = structpb.NewStringValue(strings.Repeat("a", 64<<10))
	for _, tt := range []struct{ expr, text string }{
		{`context.nothing == 1`, "reads a key that is missing: nothing"},
		{`context.deep.d == 1`, "reads a key that is missing: d"},
		{`context.count`, "yields no boolean"},
		{`1 / (bead.occurrences - 3) == 1`, "has no value"},
		{`outcome.severity == "5"`, `outcome field "severity" is no string`},
		{`outcome.count == 2`, `outcome field "count" is no int`},
		{`outcome.ok`, `outcome field "ok" is no bool`},
		{`bead == bead`, "has no value"},
		{`context.bomb.matches(context.bomb)`, "has no value"},
		{`[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5].all(b, !context.bomb.matches("a*b")))`, "costs too much"},
	} {
		p, err := condition.Compile(tt.expr, scope, condition.Bool)
		if err != nil {
			t.Errorf("Compile(%s): %v", tt.expr, err)
			continue
		}
		got, err := p.Holds(in)
		if fault.Code(err) != "condition/evaluation" || !strings.Contains(err.Error(), tt.text) || got {
			t.Errorf("Holds(%s) = %t, %.200v, want condition/evaluation with %q", tt.expr, got, err, tt.text)
		}
	}
}

// Loops within loops over what somebody put into the context are stopped by
// what they cost, long before they are done: the largest would take days.
func TestWF04_AnExpensiveConditionIsStopped(t *testing.T) {
	var items []any
	deep := map[string]any{}
	for i := range 10_000 {
		items = append(items, fmt.Sprintf("item %d", i))
		deep[fmt.Sprint(i)] = i
	}
	in := condition.Input{Context: object(t, map[string]any{"items": items, "deep": deep, "text": strings.Repeat("a", 100_000)})}
	for _, expr := range []string{
		`context.items.all(a, context.items.exists(b, b == a))`,
		`context.items.map(a, context.items.filter(b, b != a).size()).size() > 0`,
		`context.deep.all(k, context.items.all(v, v != k))`,
		`context.items.all(a, !context.text.contains(a + "b"))`,
		`context.items.all(a, !(("x" + a) in context.items))`,
		`context.items.all(a, context.text + a != context.text + "b")`,
		`context.items.all(a, !(context.text + a).startsWith("b"))`,
		`context.items.map(a, context.text + context.text).size() > 0`,
	} {
		p, err := condition.Compile(expr, scope, condition.Bool)
		if err != nil {
			t.Errorf("Compile(%s): %v", expr, err)
			continue
		}
		if got, err := p.Holds(in); fault.Code(err) != "condition/evaluation" || !strings.Contains(err.Error(), "costs too much") || got {
			t.Errorf("Holds(%s) = %t, %v; want it stopped", expr, got, err)
		}
	}
	p, err := condition.Compile(`context.items.exists(a, a == "item 999")`, scope, condition.Bool)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := p.Holds(in); !ok || err != nil {
		t.Errorf("one loop over the same list: %t, %v; want true", ok, err)
	}
}

// A large map that is walked again and again is put in order once.
func TestWF04_AMapIsSortedOnce(t *testing.T) {
	wide := map[string]any{}
	for i := range 20_000 {
		wide[fmt.Sprint(i)] = true
	}
	in := condition.Input{Context: object(t, map[string]any{"items": slices.Repeat([]any{1}, 5_000), "deep": map[string]any{"wide": wide}})}
	p, err := condition.Compile(`context.items.all(a, context.deep.wide.exists(k, true))`, scope, condition.Bool)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if ok, err := p.Holds(in); !ok || err != nil {
		t.Errorf("Holds: %t, %v", ok, err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("5,000 walks took %s", took)
	}
}

// A map of many keys is walked in one order, whatever Go does with it.
func TestWF04_Deterministic(t *testing.T) {
	wide := map[string]any{}
	for i := range 50 {
		wide[fmt.Sprintf("k%02d", i)] = i
	}
	p, err := condition.Compile(`context.wide.map(k, k)[0] + context.wide.filter(k, context.wide[k] > 30)[0]`, scope, condition.Text)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		in := condition.Input{Context: object(t, map[string]any{"wide": wide})}
		if got, err := p.Text(in); got != "k00k31" || err != nil {
			t.Fatalf("Text = %q, %v, want k00k31", got, err)
		}
	}
}

// Nothing at all is an input too: everything has its zero value.
func TestWF04_EmptyInput(t *testing.T) {
	expr := `bead.goal == "" && size(bead.labels) == 0 && execution.dispatches == 0 && execution.visits["a"] == 0 &&
		outcome.severity == "" && !outcome.ok && outcome.ratio == 0.0 && size(context) == 0 && bead.status == "open"`
	p, err := condition.Compile(expr, scope, condition.Bool)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := p.Holds(condition.Input{}); !ok || err != nil {
		t.Errorf("Holds = %t, %v, want true", ok, err)
	}
}

func ExampleCompile() {
	scope := condition.Scope{Outcome: map[string]string{"fault": "string"}}
	p, err := condition.Compile(`outcome.fault == "change"`, scope, condition.Bool)
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome, _ := structpb.NewStruct(map[string]any{"fault": "change"})
	fmt.Println(p.Holds(condition.Input{Outcome: outcome}))
	fmt.Println(p.Holds(condition.Input{})) // nothing given: the empty string

	_, err = condition.Compile(`outcome.falt == "change"`, scope, condition.Bool)
	fmt.Println(err)
	// Output:
	// true <nil>
	// false <nil>
	// undefined field 'falt' at column 8 (got "outcome.falt == \"change\""); did you mean "outcome.fault"?
}

// Whatever is written, compiling and evaluating end with an answer, and the
// same one when asked again.
func FuzzWF04_Condition(f *testing.F) {
	for _, seed := range []string{
		`outcome.severity == "x"`, `context.?a.orValue(1) > 2`, "outcome.`a-b`.c", `bead.labels.map(l, l + "x").size() > 1`,
		`has(context.a) && context.a.exists(k, k == 1)`, `execution.visits.x == 1u`, `"\u00e9" in ["é"]`, `[1, "a", {}]`, `optional.of(1).hasValue()`,
		`context.list.all(a, context.list.exists(b, a == b))`, `"x".matches("(a+)+$")`, `1 / 0 == 1`, `outcome.count / 2 > -9223372036854775808`,
		`bead.type == "bug" ? outcome.ok : !outcome.ok`, `timestamp("2026-01-01T00:00:00Z") != null`, `bytes("x") == b"x"`, `type(bead) == type(execution)`,
		`"` + "\x00\u202e" + `" != bead.goal`, `context["a"]["b"][0] == dyn(1.0)`, `((((((((((true))))))))))`, `outcome == outcome`, `-(-1) == 1 && !(!true)`,
	} {
		f.Add(seed)
	}
	in := input(f)
	f.Fuzz(func(t *testing.T, expr string) {
		p, err := condition.Compile(expr, scope, condition.Bool)
		if err != nil {
			if fault.Code(err) != "condition/invalid" {
				t.Errorf("Compile(%q): code %q", expr, fault.Code(err))
			}
			return
		}
		a, errA := p.Holds(in)
		b, errB := p.Holds(in)
		if a != b || fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Errorf("%q gave %t, %v and then %t, %v", expr, a, errA, b, errB)
		}
	})
}
