package processes_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// What a process says of the context is in its definition, in what is written of it,
// and in what a plan makes of it.
func TestPROC01_AProcessNamesItsParameters(t *testing.T) {
	def := read(t, tender+`parameters:
  - {name: lot, description: which lot, kind: number, required: true}
  - {name: town, pattern: "[A-Z].*", one_of: [Ulm, Bonn]}
`).Definition
	planned, _, err := processes.Replan(def, "", processes.PlanOptions{Roles: roles.Builtin()})
	if err != nil {
		t.Fatal(err)
	}
	again, err := processes.Parse("again.yaml", processes.Write(def), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	want := []*loomv1.Parameter{
		{Name: "lot", Description: "which lot", Kind: "number", Required: true},
		{Name: "town", Pattern: "[A-Z].*", OneOf: []string{"Ulm", "Bonn"}},
	}
	for name, got := range map[string]*loomv1.Definition{"the definition": def, "the plan": planned, "what is written": again} {
		if !proto.Equal(&loomv1.Definition{Parameters: got.Parameters}, &loomv1.Definition{Parameters: want}) {
			t.Errorf("%s has %v", name, got.Parameters)
		}
	}
}

// What is wrong with a parameter is told where it stands.
func TestPROC03_BrokenParameters(t *testing.T) {
	for yaml, want := range map[string]string{
		"{name: Lot}":                                                "parameters[0].name",
		"{name: lot, kind: date}":                                    "there is no such kind of parameter",
		"{name: lot, pattern: \"(\"}":                                "no pattern in RE2 syntax",
		"{name: lot, kind: bool, pattern: a}":                        "only a text has a pattern",
		"{name: lot, kind: number, one_of: [a]}":                     "of a text alone",
		"{name: lot, one_of: [a, a]}":                                "a text is named once",
		"{name: lot, description: " + strings.Repeat("x", 501) + "}": "it has 501 bytes",
		"{name: lot}\n  - {name: lot}":                               `parameter "lot" is there already`,
	} {
		_, err := processes.Parse("tender.yaml", []byte("name: p\nversion: \"1.0\"\n"+tender+"parameters:\n  - "+yaml+"\n"), roles.Builtin())
		if err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "no name of a value") {
			t.Errorf("%s: %v, want %q", yaml, err, want)
		}
	}
}
