package project

import (
	"fmt"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/memory"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A step of a session writes to the layers that it declares: to files by what it leaves, to
// memory and decisions by what its agents keep and log while it runs.

// stepOf returns the step of a session's pattern that a node of its work does, nil for any
// other node.
func (s *State) stepOf(x *loomv1.Execution, node string) *loomv1.PatternStep {
	on := s.sessionOf(x)
	if on == nil {
		return nil
	}
	for _, step := range on.Pattern().GetSteps() {
		if step.Name == node {
			return step
		}
	}
	return nil
}

// stepRunning returns the step that an execution does for its session now, nil for none.
func (s *State) stepRunning(x *loomv1.Execution) *loomv1.PatternStep {
	on := s.sessionOf(x)
	if on == nil {
		return nil
	}
	if run := on.Running(); run != nil && s.p.Sessions[on.ID()].GetBead() == x.GetBead() {
		return on.Pattern().Steps[run.Step-1]
	}
	return nil
}

// stepAccess narrows what a node may write to memory to the layers of the step that it
// does: its own session for one that writes to active memory, and the project's too for one
// that writes to durable memory.
func (s *State) stepAccess(x *loomv1.Execution, node string, access *loomv1.MemoryAccess) *loomv1.MemoryAccess {
	step := s.stepOf(x, node)
	if step == nil {
		return access
	}
	narrowed := &loomv1.MemoryAccess{Read: memory.Readable(access, s.p.Config.GetMemory())}
	if slices.Contains(step.Writes, intent.LayerActive) || slices.Contains(step.Writes, intent.LayerDurable) {
		narrowed.Write = append(narrowed.Write, memory.Session)
	}
	if slices.Contains(step.Writes, intent.LayerDurable) {
		narrowed.Write = append(append(narrowed.Write, memory.Project), s.p.Config.GetMemory()...)
	}
	return narrowed
}

// mayDecide refuses a decision that a step would log without the layer for it.
func (d *decision) mayDecide(execution string) error {
	x := d.s.execution(execution)
	step := d.s.stepRunning(x)
	if d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_AGENT || step == nil || slices.Contains(step.Writes, intent.LayerDecisions) {
		return nil
	}
	return fault.New("intent/layer", "step %d, %q, does not write to layer %s", step.Order, step.Name, intent.LayerName(intent.LayerDecisions)).
		At("execution").Got(execution).Want("say it in the notes; a later step may decide it")
}

// followKept has a session hear what an agent keeps in memory for the step that runs.
func (d *decision) followKept(e *loomv1.Event) {
	entry := e.GetMemoryKept().GetEntry()
	if entry.GetTrust() == loomv1.MemoryTrust_MEMORY_TRUST_RUNTIME {
		return
	}
	d.wroteLayer(entry.GetExecution(), entry.GetNode(), entry.GetId(), intent.LayerActive, intent.LayerDurable)
}

// followLogged has a session hear what an agent decides in the step that runs.
func (d *decision) followLogged(e *loomv1.Event) {
	n := e.GetDecisionAdded().GetNode()
	if e.GetActor().GetKind() == loomv1.IdentityKind_IDENTITY_KIND_AGENT {
		d.wroteLayer(n.GetExecution(), "", n.GetId(), intent.LayerDecisions)
	}
}

// wroteLayer tells a session of a write of the step that runs, to each of layers that it
// declares.
func (d *decision) wroteLayer(execution, node, name string, layers ...loomv1.SessionLayer) {
	x := d.s.execution(execution)
	step := d.s.stepRunning(x)
	if step == nil || node != "" && node != step.Name || name == "" {
		return
	}
	id := d.s.sessionOf(x).ID()
	d.later(func() error {
		for _, layer := range layers {
			now := d.s.stepRunning(x)
			if now != step || !slices.Contains(step.Writes, layer) {
				continue
			}
			w := &loomv1.WriteLayer{Step: step.Order, Layer: layer, Name: name}
			if err := d.carry(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Write{Write: w}}); err != nil && !d.refuses(err) {
				return err // at the limits of a session what was kept stays kept
			}
		}
		return nil
	})
}

// keptBy lists what the steps of a session have written to layers that last and is there
// still, as memory's update has it.
func (s *State) keptBy(on *intent.Session) (list []*loomv1.MemoryUpdate) {
	for _, w := range on.Kept() {
		switch w.Layer {
		case intent.LayerDurable:
			if e, ok := s.mem.Entry(w.Name); !ok || e.Layer != loomv1.MemoryLayer_MEMORY_LAYER_DURABLE || e.Status != loomv1.MemoryStatus_MEMORY_STATUS_ACTIVE {
				continue
			}
		case intent.LayerDecisions:
			if n, ok := s.graph.Node(w.Name); !ok || n.Abandoned != nil {
				continue
			}
		}
		list = append(list, &loomv1.MemoryUpdate{Layer: w.Layer, Id: w.Name, Sources: []string{fmt.Sprintf("step/%d", w.Step)}})
	}
	return list
}
