package processes

import (
	"fmt"
	"maps"
	"slices"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// replanAsked tells whoever works on a phase how to have the rest planned anew.
const replanAsked = "\n\nWhere what you find makes the plan of the phases to come a wrong one, say why in the outcome field " + workflow.ReplanField +
	": they are planned anew, once. Else it is \"\"."

// replans says whether a phase may have what comes after it planned anew.
func (w *weaver) replans(p *phaseFile) bool { return p.MayReplan && p.Process == "" && w.plans() }

// replanField gives a phase the field in which it says why, if it may.
func (w *weaver) replanField(p *phaseFile, n *loomv1.NodeDefinition) {
	if !w.replans(p) {
		return
	}
	n.Description += replanAsked
	fields := map[string]string{workflow.ReplanField: "string"}
	maps.Copy(fields, p.Outcome)
	n.Outcome = fields
}

// replanNode makes the node at which what a phase has said sends work back to the planner,
// and returns what others wait for. It is passed the second time: the planner has heard.
func (w *weaver) replanNode(p *phaseFile, at []any, tail string) string {
	if !w.replans(p) {
		return tail
	}
	again := w.node(at, &loomv1.NodeDefinition{
		Id: p.ID + "-replan", Type: loomv1.NodeType_NODE_TYPE_MERGE,
		Description: fmt.Sprintf("Where phase %s says why, what comes after it is planned anew, once.", p.ID),
		Gate:        &loomv1.Gate{Condition: fmt.Sprintf("outcome.`%s`.%s == \"\"", p.ID, workflow.ReplanField), OnFailure: replan, To: Planner, Max: 1, Passes: true},
	})
	w.edge(tail, again, "", at...)
	return again
}

// mayReplan refuses a phase that may have the rest planned anew where nobody plans, or
// whose field for it is of another type.
func (d *draft) mayReplan(p *phaseFile, at func(...any) []any) {
	if !p.MayReplan {
		return
	}
	if !d.plans() {
		d.refuse("process/phase", at("may_replan"), "phase %q may have the rest planned anew, but a strict process has no planner", p.ID).Want("phase_mode: guided")
	}
	if kind, own := p.Outcome[workflow.ReplanField]; own && kind != "string" {
		d.refuse("process/phase", at("outcome", workflow.ReplanField), "phase %q says in this field why the rest is to be planned anew, as a string", p.ID).Got(kind)
	}
}

// replanning refuses a rule that has the rest planned anew where nothing comes of it: a
// broken one that must hold is mended, one that needs judgment is judged too late, and only
// a phase that may have the rest planned anew does.
func (d *draft) replanning(r *ruleFile, at func(...any) []any) {
	if !r.Replan {
		return
	}
	switch {
	case r.Severity == "error":
		d.refuse("process/rule", at("replan"), "rule %q must hold, so its phase is mended and nothing is planned anew", r.Name).Want("severity: warning")
	case r.Type == "" || r.Type == "llm":
		d.refuse("process/rule", at("replan"), "rule %q needs judgment, and only one that needs none has the rest planned anew", r.Name).Want("another type, or an outcome that says why")
	case !slices.ContainsFunc(d.Phases, func(p phaseFile) bool {
		return p.MayReplan && (len(r.Phases) == 0 || slices.Contains(r.Phases, p.ID))
	}):
		d.refuse("process/rule", at("replan"), "no phase that rule %q is about may have the rest planned anew", r.Name).Want("may_replan: true in such a phase")
	}
}
