package processes_test

import (
	"slices"
	"testing"

	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

// TestREAL04_AProcessNamesWhatItsWorkNeeds reads the directories of a process with
// phases: they are in its definition, in what is written of it, and in what a plan
// makes of it.
func TestREAL04_AProcessNamesWhatItsWorkNeeds(t *testing.T) {
	def := read(t, tender+"checkout: {sparse: [cmd/go, src/net]}\n").Definition
	planned, _, err := processes.Replan(def, "", processes.PlanOptions{Roles: roles.Builtin()})
	if err != nil {
		t.Fatal(err)
	}
	again, err := processes.Parse("again.yaml", processes.Write(def), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"cmd/go", "src/net"}
	for name, got := range map[string][]string{
		"the definition": def.Checkout.GetSparse(), "the plan": planned.Checkout.GetSparse(), "what is written": again.Checkout.GetSparse(),
	} {
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	if c := read(t, tender).Definition.Checkout; c != nil {
		t.Errorf("a process that names nothing has %v", c)
	}
}
