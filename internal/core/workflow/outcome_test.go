package workflow_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF08_OutcomesMustFitTheirNode(t *testing.T) {
	all := map[string]any{"s": "x", "w": "high", "i": 3, "b": true, "d": 1.5, "o": map[string]any{"why": "w", "phases": []any{1.0}}}
	nested := func(n int) (v any) {
		for range n {
			v = map[string]any{"in": v}
		}
		return v
	}
	with := func(key string, v any) map[string]any {
		m := map[string]any{key: v}
		for k, old := range all {
			if k != key {
				m[k] = old
			}
		}
		return m
	}
	for _, tt := range []struct {
		name  string
		out   *loomv1.Outcome
		where string // empty when it fits
	}{
		{"all fields", good(all), ""},
		{"a double that is whole", good(with("d", 2)), ""},
		{"a large int", good(with("i", 1<<53)), ""},
		{"failure may omit fields", bad(nil), ""},
		{"failure may give some", bad(map[string]any{"s": "x"}), ""},
		{"no outcome", nil, "status"},
		{"no status", &loomv1.Outcome{}, "status"},
		{"unknown status", &loomv1.Outcome{Status: 9}, "status"},
		{"success without fields", good(nil), "fields.b"},
		{"one missing", good(map[string]any{"b": true, "d": 1, "s": "", "w": "low", "o": map[string]any{}}), "fields.i"},
		{"null is missing", good(with("s", nil)), "fields.s"},
		{"undeclared", good(with("x", 1)), "fields.x"},
		{"undeclared on failure", bad(map[string]any{"x": 1}), "fields.x"},
		{"string for int", good(with("i", "3")), "fields.i"},
		{"fraction for int", good(with("i", 3.5)), "fields.i"},
		{"int that is not exact", good(with("i", 1<<54)), "fields.i"},
		{"a word that does not apply", good(with("w", "")), ""},
		{"another word", good(with("w", "urgent")), "fields.w"},
		{"number for a word", good(with("w", 1)), "fields.w"},
		{"number for string", good(with("s", 1)), "fields.s"},
		{"string for bool", bad(map[string]any{"b": "true"}), "fields.b"},
		{"list for string", good(with("s", []any{"x"})), "fields.s"},
		{"text for an object", good(with("o", "{}")), "fields.o"},
		{"a list for an object", good(with("o", []any{})), "fields.o"},
		{"an object as deep as it may be", good(with("o", nested(workflow.ObjectDepth))), ""},
		{"an object that is deeper", good(with("o", nested(workflow.ObjectDepth+1))), "fields.o"},
		{"an object that is too large", good(with("o", map[string]any{"x": strings.Repeat("x", workflow.ObjectBytes)})), "fields.o"},
		{"not a number in an object", &loomv1.Outcome{Status: failure, Fields: &structpb.Struct{Fields: map[string]*structpb.Value{
			"o": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewNumberValue(nan())}}),
		}}}, "fields.o"},
		{"not a number", &loomv1.Outcome{Status: failure, Fields: &structpb.Struct{Fields: map[string]*structpb.Value{
			"d": structpb.NewNumberValue(nan()),
		}}}, "fields.d"},
		{"a candidate", &loomv1.Outcome{Status: failure, Candidate: &loomv1.Candidate{}}, "candidate"},
		{"a landing", &loomv1.Outcome{Status: failure, Landing: &loomv1.Landing{}}, "landing"},
		{"a check of what it proposes", &loomv1.Outcome{Status: failure, Checks: []*loomv1.CheckRun{{Command: "make", Passed: true}}}, ""},
		{"a check without a command", &loomv1.Outcome{Status: failure, Checks: []*loomv1.CheckRun{{Passed: true}}}, "checks[0]"},
		{"a check of a candidate", &loomv1.Outcome{Status: failure, Checks: []*loomv1.CheckRun{{Command: "make", Passed: true, Commit: "abc"}}}, "checks[0]"},
		{"a check that failed", &loomv1.Outcome{Status: failure, Checks: []*loomv1.CheckRun{{Command: "make"}}}, "checks[0]"},
		{"more checks than are kept", &loomv1.Outcome{Status: failure, Checks: make([]*loomv1.CheckRun, workflow.MaxTried+1)}, "checks"},
		{"a change without a digest", &loomv1.Outcome{Status: failure, Change: &loomv1.Change{}}, "change.patch_digest"},
		{"a broken rule where there is no phase", &loomv1.Outcome{Status: failure, Broken: []*loomv1.BrokenRule{{Phase: "p", Rule: "r", Tier: 1, Count: 1}}}, "broken"},
		{"a judged rule where there is no phase", &loomv1.Outcome{Status: failure, Judged: []*loomv1.JudgedRule{{Phase: "p", Rule: "r", State: loomv1.RuleState_RULE_STATE_HELD}}}, "judged"},
		{"a refusal of its own", &loomv1.Outcome{Status: failure, Refusal: "x"}, "refusal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e", func(n map[string]*loomv1.NodeDefinition) {
				n["a"].Outcome = map[string]string{"s": "string", "i": "int", "b": "bool", "d": "double", "o": "object", "w": "low | high"}
			}), nil)
			n := len(w.events)
			err := w.run().Answer(w.attempt("a").Id, by("researcher"), tt.out)
			if tt.where == "" {
				if err != nil {
					t.Errorf("Answer: %v, want it to fit", err)
				}
				return
			}
			if f := fault.From(err); f == nil || f.Code != "outcome/invalid" || f.Where != tt.where {
				t.Errorf("Answer: %v, want outcome/invalid at %s", err, tt.where)
			}
			if len(w.events) != n {
				t.Errorf("a refusal emitted %s", w.since(n))
			}
		})
	}
}

func nan() float64 { var zero float64; return zero / zero }

func TestWF08_VerifyAndLandChangeNothing(t *testing.T) {
	for _, node := range []string{"verify", "land"} {
		w := bug(t, node)
		a := w.attempt(node)
		out := bad(nil)
		out.Change = changed("p2").Change
		wantCode(t, node, w.run().Answer(a.Id, by(a.Role), out), "outcome/invalid")
	}
}

func TestWF08_LongWordsAreCutAtARune(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
	a := w.attempt("a")
	given := &loomv1.Outcome{Status: failure, Summary: "x" + strings.Repeat("é", 300), Notes: strings.Repeat("x", workflow.NotesBytes+1)}
	w.answer(t, "a", given)
	got := w.x.Nodes["a"].History[0].Outcome
	if len(got.Summary) > workflow.SummaryBytes || !utf8.ValidString(got.Summary) || !strings.HasSuffix(got.Summary, "é [cut]") {
		t.Errorf("summary has %d bytes and ends in %q", len(got.Summary), got.Summary[len(got.Summary)-9:])
	}
	if len(got.Notes) != workflow.NotesBytes || !strings.HasSuffix(got.Notes, "x [cut]") {
		t.Errorf("notes have %d bytes", len(got.Notes))
	}
	if len(given.Notes) != workflow.NotesBytes+1 {
		t.Error("the caller's outcome was changed")
	}
	if n := len(w.events); w.run().Answer(a.Id, by(a.Role), given) != nil || len(w.events) != n {
		t.Error("the same long outcome again is not the same again")
	}
	exact := &loomv1.Outcome{Status: failure, Summary: strings.Repeat("s", workflow.SummaryBytes)}
	w.due(t)
	w.answer(t, "a", exact)
	if got := w.x.Nodes["a"].History[1].Outcome.Summary; got != exact.Summary {
		t.Error("a summary of exactly the limit was cut")
	}
}

func TestWF13_RoleFromAnEarlierOutcome(t *testing.T) {
	for specialist, want := range map[string]string{
		"project-manager":     "project-manager",
		"engineering-manager": "backend-engineer", // not listed: the first that is
		"":                    "backend-engineer",
	} {
		w := newWorld(t, autoBug(), nil)
		w.answer(t, "triage", good(map[string]any{"severity": "low", "specialist": specialist, "check": ""}))
		if a := w.attempt("investigate"); a.GetRole() != want {
			t.Errorf("specialist %q gives role %q, want %q", specialist, a.GetRole(), want)
		}
	}
}
