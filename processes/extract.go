package processes

import (
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How often a model is asked what of a phase is worth remembering, and the field that has
// its answer.
const (
	rememberAttempts = 2
	memoryField      = "memory"
)

// extracts says whether a model is asked after the end what of a phase is worth
// remembering: where the phase says so or, of phases that a model works on, the process.
func (d *draft) extracts(p *phaseFile) bool {
	if p.Memory != nil && p.Memory.Extract != nil {
		return *p.Memory.Extract && !p.Detached
	}
	return d.Memory.Extract && !p.Detached && !ofRuntime(p.Document)
}

// extracted refuses to ask about what is itself done after the end.
func (d *draft) extracted(p *phaseFile, at func(...any) []any) {
	if p.Detached && p.Memory != nil && p.Memory.Extract != nil && *p.Memory.Extract {
		d.refuse("process/phase", at("memory", "extract"), "phase %q is detached, so nothing is done after it", p.ID).Want("leave it out, or have the end wait for the phase")
	}
}

// extraction makes the node that asks what of a phase is worth remembering, once it is
// verified. Its role is the phase's: nobody comes to write what they could not.
func (w *weaver) extraction(p *phaseFile, at []any, tail string) {
	if !w.extracts(p) {
		return
	}
	id := w.node(at, &loomv1.NodeDefinition{
		Id: p.ID + "-memory", Type: task, Role: orElse(p.Role, Analyst), Criticality: optional, Detached: true, MaxAttempts: rememberAttempts,
		Description: fmt.Sprintf("Say what of phase %s is worth remembering for later work.", p.ID),
		Phase:       &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_REMEMBER, Of: p.ID, ModelTier: 1},
		Outcome:     map[string]string{memoryField: "object"},
	})
	w.edge(tail, id, "", at...)
}
