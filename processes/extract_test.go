package processes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const extractingProcess = `name: told
version: "1.0"
phase_mode: strict
memory: {extract: true}
phases:
  - id: frame
    description: Frame the question.
    role: implementer
    deliverables: [question.md]
    verification_tier: 2
    acceptance_criteria: It is a question.
  - id: write
    description: Write the report.
    depends_on: [frame]
    memory: {extract: false}
    deliverables: [report.md]
  - id: tell
    description: Tell who asked for it.
    depends_on: [write]
    detached: true
`

// remembering lists the nodes of a definition that say what is worth remembering of a
// phase, as NODE < NODE BEFORE.
func remembering(t *testing.T, def *loomv1.Definition) (list []string) {
	t.Helper()
	for _, n := range def.GetNodes() {
		if n.GetPhase().GetPart() != loomv1.PhasePart_PHASE_PART_REMEMBER {
			continue
		}
		if !n.Detached || n.Criticality != loomv1.Criticality_CRITICALITY_OPTIONAL || n.Phase.ModelTier != 1 || n.Id != n.Phase.Of+"-memory" {
			t.Errorf("%v", n)
		}
		for _, e := range def.Edges {
			if e.To == n.Id {
				list = append(list, n.Id+" < "+e.From+", "+n.Role)
			}
			if e.From == n.Id {
				t.Errorf("%s waits for %s", e.To, n.Id)
			}
		}
	}
	return list
}

// A node after a phase's verification, which nothing waits for, has its role and asks what
// is worth remembering: where the process says so for all, and a phase for itself.
func TestMEM01_APhaseSaysThatWhatItFoundIsRemembered(t *testing.T) {
	for _, tt := range []struct {
		was, is string
		want    []string
	}{
		{"", "", []string{"frame-memory < frame-check, implementer"}},
		{"extract: false", "extract: true", []string{"frame-memory < frame-check, implementer", "write-memory < write, analyst"}},
		{"memory: {extract: true}\n", "", nil},
		{"memory: {extract: true}\n", "memory: {extract: false}\n", nil},
	} {
		def, err := processes.Parse("p.yaml", []byte(strings.Replace(extractingProcess, tt.was, tt.is, 1)), roles.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		if got := remembering(t, def); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %v, want %v", tt.is, got, tt.want)
		}
		again, err := processes.Parse("again.yaml", processes.Write(def), roles.Builtin())
		if err != nil || processes.Hash(again) != processes.Hash(def) {
			t.Errorf("written and read it is another: %v", err)
		}
		for _, e := range def.Edges {
			if e.To == "gather" && e.From != "write" {
				t.Errorf("%s is gathered after %s", e.To, e.From)
			}
		}
	}
	planned, err := processes.Parse("p.yaml", []byte(strings.Replace(extractingProcess, "phase_mode: strict\n", "", 1)), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	written, _ := processes.Outline(planned, roles.Builtin())
	if written == nil || len(written.Phases) != 3 {
		t.Errorf("a planner is given %v", written)
	}
}

// Of what is done after the end nothing more is done after.
func TestMEM01_NothingIsRememberedOfWhatIsDetached(t *testing.T) {
	_, err := processes.Parse("p.yaml", []byte(strings.Replace(extractingProcess, "detached: true", "detached: true\n    memory: {extract: true}", 1)), roles.Builtin())
	if all := said(err); !strings.Contains(all, `p.yaml:21:23: process/phase: `) || !strings.Contains(all, `phase "tell" is detached, so nothing is done after it`) {
		t.Error(all)
	}
}

// More phases are remembered where eight may be detached.
func TestMEM01_AsManyAreRememberedAsThereArePhases(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: many\nversion: \"1.0\"\nphase_mode: strict\nmemory: {extract: true}\nphases:\n")
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		b.WriteString("  - {id: " + id + ", description: Do it., deliverables: [" + id + ".md]}\n")
	}
	def, err := processes.Parse("p.yaml", []byte(b.String()), roles.Builtin())
	if err != nil || len(remembering(t, def)) != 12 {
		t.Errorf("%v: %v", err, remembering(t, def))
	}
}
