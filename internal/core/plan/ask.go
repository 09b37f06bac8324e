package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// maxExamples is how many of a process's examples a planner is shown.
const maxExamples = 3

// Ask words what a planner is asked: what form a plan has, how free it is, the
// phases of the process, examples, and, where work has begun, what stays and
// when and how to plan anew. The process is as its author wrote it, now as it is
// planned at present. The same arguments give the same text.
func Ask(written, now *processes.Process, begun func(phase string) bool) string {
	var b strings.Builder
	b.WriteString(form)
	b.WriteString(freedom[written.Mode])
	b.WriteString("\nThe phases of process " + written.Name + ":\n")
	for _, p := range written.Phases {
		phaseText(&b, p)
	}
	standing(&b, now, begun)
	for i, e := range written.Examples {
		if i < maxExamples {
			example(&b, e)
		}
	}
	return b.String()
}

const form = `Call finish with status success and the plan, an object, in the field "plan":
{"why": "...", "phases": [{"id": "..."}, ...], "left_out": [{"phase": "...", "reason": "..."}]}
A phase of the process is kept by its id alone; give description, depends_on, role, model_tier, verification_tier,
is_synthesis, acceptance_criteria or deliverables only where it is to be different. Two or more phases that are part of
one each name it in "of", with an id, a description and deliverables of their own. A phase of your own has an id and a
description that says all that is to be done: whoever does it knows nothing else. Phases that do not wait for each other
run at once. No two phases deliver the same file. "tokens" of a phase is what you reckon it takes.
`

var freedom = map[string]string{
	processes.Guided: `Keep to the phases of the process. You may leave out one that this goal does not need, say why in left_out, adapt
one to the goal, split one, or add one. Critical phases, those with a gate, and every file that the process is for stay.
`,
	processes.Suggestive: `The phases of the process are a suggestion: make the phases that this goal needs. What critical phases deliver must
be delivered.
`,
}

func phaseText(b *strings.Builder, p processes.PhaseSummary) {
	fmt.Fprintf(b, "- id: %s\n", p.ID)
	for _, line := range []struct{ key, value string }{
		{"depends_on", strings.Join(p.DependsOn, ", ")},
		{"role", p.Role},
		{"process", p.Process},
		{"critical", map[bool]string{true: "yes"}[p.Kept]},
		{"synthesis", map[bool]string{true: "yes"}[p.Synthesis]},
		{"gate", p.Gate},
		{"deliverables", strings.Join(p.Deliverables, "; ")},
		{"description", strings.Join(strings.Fields(p.Description), " ")},
	} {
		if line.value != "" {
			fmt.Fprintf(b, "  %s: %s\n", line.key, line.value)
		}
	}
}

// standing tells what has begun and stays.
func standing(b *strings.Builder, now *processes.Process, begun func(phase string) bool) {
	var stays []processes.PhaseSummary
	for _, p := range now.Phases {
		if begun != nil && begun(p.ID) {
			stays = append(stays, p)
		}
	}
	if len(stays) == 0 {
		return
	}
	b.WriteString("\nThis is a new plan for work under way. These phases have begun and stay as they are; plan what comes after them:\n")
	for _, p := range stays {
		phaseText(b, p)
	}
	for _, text := range []string{now.Triggers, now.Replanning} {
		if text != "" {
			b.WriteString(strings.TrimSpace(text) + "\n")
		}
	}
}

func example(b *strings.Builder, e processes.Example) {
	fmt.Fprintf(b, "\nAn example. The goal %q was taken apart into:\n", e.Goal)
	for _, p := range e.Subtasks {
		phaseText(b, p)
	}
}

// Begun says which phases of a definition have begun in an execution of it, and
// by [BegunNode] which nodes.
func Begun(def *loomv1.Definition, x *loomv1.Execution) func(phase string) bool {
	return func(phase string) bool {
		for _, n := range def.GetNodes() {
			if (n.Id == phase || n.GetPhase().GetOf() == phase) && BegunNode(x)(n.Id) {
				return true
			}
		}
		return false
	}
}

// BegunNode says which nodes of an execution have begun.
func BegunNode(x *loomv1.Execution) func(node string) bool {
	return func(node string) bool {
		return x.GetNodes()[node].GetStatus() != loomv1.NodeStatus_NODE_STATUS_UNSPECIFIED
	}
}

// Keys of a bead's context that say how its work is planned: "planner" is
// "model" (the default) or "rules", and "approve_plan" true has the CEO asked.
const (
	PlannerKey = "planner"
	ApproveKey = "approve_plan"
	ByRules    = "rules"
	ByModel    = "model"
)

// Options are what a plan for an execution has to reckon with, but for roles.
func Options(b *loomv1.Bead, x *loomv1.Execution, tokens int64) processes.PlanOptions {
	return processes.PlanOptions{Begun: BegunNode(x), Approve: b.GetContext().GetFields()[ApproveKey].GetBoolValue(), Tokens: left(tokens, x)}
}

// left is what is left of the tokens that an execution may use; 0 is no limit.
func left(tokens int64, x *loomv1.Execution) uint64 {
	used := x.GetUsage().GetInputTokens() + x.GetUsage().GetOutputTokens()
	switch {
	case tokens <= 0:
		return 0
	case used >= uint64(tokens):
		return 1
	}
	return uint64(tokens) - used
}

// Text is the plan of a planner's outcome as JSON, "" for one that has none. The
// same plan gives the same text.
func Text(out *loomv1.Outcome) string {
	given := out.GetFields().GetFields()["plan"].GetStructValue()
	if len(given.GetFields()) == 0 {
		return ""
	}
	data, err := json.Marshal(given.AsMap())
	if err != nil {
		panic(err) // every value of a Struct has its JSON
	}
	return string(data)
}

// WithRules says whether a bead's work is planned without a model.
func WithRules(b *loomv1.Bead) bool {
	return b.GetContext().GetFields()[PlannerKey].GetStringValue() == ByRules
}
