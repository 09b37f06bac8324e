package processes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const detachedProcess = `name: told
version: "1.0"
phases:
  - id: write
    description: Write the report.
    deliverables: [report.md]
  - id: tell
    description: Tell who asked for it.
    depends_on: [write]
    detached: true
`

// The way to the target goes on from what a detached phase follows, and not from it.
func TestPROC18_TheEndOfAProcessDoesNotWaitForADetachedPhase(t *testing.T) {
	for _, name := range []string{"told", "document-pipeline"} {
		def, before, detached := (*loomv1.Definition)(nil), "write", "tell"
		if name == "told" {
			var err error
			if def, err = processes.Parse("p.yaml", []byte(detachedProcess), roles.Builtin()); err != nil {
				t.Fatal(err)
			}
		} else {
			def, _ = processes.Builtin(roles.Builtin()).Get(name)
			before, detached = "materialize", "postlog"
		}
		var to []string
		for _, e := range def.Edges {
			if e.From == detached {
				t.Errorf("%s: %s leads to %s", name, detached, e.To)
			}
			if e.From == before {
				to = append(to, e.To)
			}
		}
		if slices.Sort(to); !slices.Equal(to, []string{"gather", detached}) {
			t.Errorf("%s: %s leads to %v", name, before, to)
		}
		for _, n := range def.Nodes {
			if n.Detached != (n.Id == detached) || n.Detached && n.Criticality != loomv1.Criticality_CRITICALITY_OPTIONAL {
				t.Errorf("%s: node %s is detached: %t, criticality %s", name, n.Id, n.Detached, n.Criticality)
			}
		}
	}
}

// What cannot be done after the end is refused where it stands in the file.
func TestPROC18_NonsenseAboutDetachedPhasesIsRefused(t *testing.T) {
	for name, tt := range map[string]struct{ was, is, want string }{
		"deliverables":   {"detached: true", "detached: true\n    deliverables: [a.md]", `p.yaml:11:19: process/phase: p.yaml:11:19: phase "tell" is detached, so it has no such deliverables`},
		"a gate":         {"detached: true", "detached: true\n    gate: {condition: \"true\"}", "no such gate"},
		"criteria":       {"detached: true", "detached: true\n    acceptance_criteria: Good.", "no such acceptance_criteria"},
		"a tier":         {"detached: true", "detached: true\n    verification_tier: 2", "no such verification_tier"},
		"critical":       {"detached: true", "detached: true\n    is_critical_path: true", "no such is_critical_path"},
		"a stage":        {"detached: true", "detached: true\n    document: render", "no such document"},
		"a process":      {"description: Tell who asked for it.", "process: research-report", "no such process"},
		"waited for":     {"detached: true\n", "detached: true\n  - id: more\n    description: More.\n    depends_on: [tell]\n", `phase "tell" is detached: it is done after the end, and nothing waits for it`},
		"a hook after":   {"detached: true\n", "detached: true\nhooks:\n  between_phases:\n    - {after: [tell], action: Look at it.}\n", `process/hook: p.yaml:13:16: phase "tell" is detached`},
		"nothing else":   {"    deliverables: [report.md]\n", "    detached: true\n", "all phases are detached"},
		"no yes or no":   {"detached: true", "detached: maybe", "p.yaml:10:15: "},
		"a wrong letter": {"detached: true", "detachd: true", `did you mean "detached"?`},
	} {
		text := strings.Replace(detachedProcess, tt.was, tt.is, 1)
		_, err := processes.Parse("p.yaml", []byte(text), roles.Builtin())
		if all := said(err); !strings.Contains(all, tt.want) || strings.Contains(all, "\n") != (name == "nothing else") {
			t.Errorf("%s: %s, want %q", name, all, tt.want)
		}
	}
}

// said is an error with all that is beside it.
func said(err error) string {
	if err == nil {
		return "no error"
	}
	f := fault.From(err)
	lines := []string{f.Where + ": " + f.Code + ": " + f.Error()}
	for _, m := range f.More {
		lines = append(lines, m.Where+": "+m.Code+": "+m.Error())
	}
	return strings.Join(lines, "\n")
}

// A workflow file is held to the same, and comes out as it went in.
func TestPROC18_NonsenseAboutDetachedNodesIsRefused(t *testing.T) {
	const file = `name: told
version: "1.0"
nodes:
  - {id: start, type: start}
  - {id: write, type: task, role: researcher}
  - {id: tell, type: task, role: researcher, detached: true}
  - {id: end, type: end}
edges:
  - {id: e1, from: start, to: write}
  - {id: e2, from: write, to: end}
  - {id: e3, from: write, to: tell}
`
	def, err := processes.Parse("w.yaml", []byte(file), roles.Builtin())
	if err != nil || !def.Nodes[2].Detached {
		t.Fatalf("%v: %v", err, def)
	}
	again, err := processes.Parse("again.yaml", processes.Write(def), roles.Builtin())
	if err != nil || processes.Hash(again) != processes.Hash(def) {
		t.Errorf("written and read it is another: %v", err)
	}
	for name, tt := range map[string]struct{ was, is, want string }{
		"a way out":        {"  - {id: e3", "  - {id: e4, from: tell, to: end}\n  - {id: e3", `w.yaml:11:20: workflow/detached`},
		"only on failure":  {"to: tell}", "to: tell, outcome: failure}", "what has failed is to go on some other way"},
		"an approval":      {"type: task, role: researcher, detached", "type: approval, role: ceo, detached", "no such type"},
		"a gate":           {"detached: true", `detached: true, gate: {condition: "true"}`, "no such gate"},
		"a duty":           {"role: researcher, detached: true", "role: engineering-manager, config: {kind: commit}, detached: true", "no such kind"},
		"no other way out": {"  - {id: e2, from: write, to: end}\n", "  - {id: e2, from: start, to: end}\n", `node "write" `},
	} {
		_, err := processes.Parse("w.yaml", []byte(strings.Replace(file, tt.was, tt.is, 1)), roles.Builtin())
		if all := said(err); !strings.Contains(all, tt.want) {
			t.Errorf("%s: %s, want %q", name, all, tt.want)
		}
	}
}
