package processes

import (
	"slices"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// detached refuses what a phase cannot be for which the end does not wait: nobody judges
// it, nothing of it lands, and nobody is asked about it.
func (d *draft) detached(p *phaseFile, at func(...any) []any) {
	if !p.Detached {
		return
	}
	for _, f := range []struct {
		key string
		set bool
	}{
		{"process", p.Process != ""},
		{"gate", p.Gate != nil},
		{"deliverables", len(p.Deliverables) > 0},
		{"acceptance_criteria", p.AcceptanceCriteria != ""},
		{"verification_tier", p.VerificationTier != nil},
		{"is_critical_path", p.IsCriticalPath != nil && *p.IsCriticalPath},
		{"may_replan", p.MayReplan},
		{"document", p.Document != "" && p.Document != documentStages.word(loomv1.DocumentStage_DOCUMENT_STAGE_POSTLOG)},
	} {
		if f.set {
			d.refuse("process/phase", at(f.key), "phase %q is detached, so it has no such %s", p.ID, f.key).Want("leave it out, or have the end wait for the phase")
		}
	}
	if i := d.first(p.ID); slices.IndexFunc(d.Phases, func(q phaseFile) bool { return q.Detached }) == i && d.countDetached() > workflow.MaxDetached {
		d.refuse("process/phase", at("detached"), "%d phases are detached, more than %d", d.countDetached(), workflow.MaxDetached)
	}
}

// detach makes a node one that the end does not wait for. What it cannot have is reported
// where its phase has it.
func detach(n *loomv1.NodeDefinition, p *phaseFile) {
	n.Detached, n.Criticality, n.Gate, n.Phase.Deliverables = true, optional, nil, nil
	n.Process, n.Role = "", orElse(p.Role, Analyst)
	if n.Phase.Document != loomv1.DocumentStage_DOCUMENT_STAGE_POSTLOG {
		n.Phase.Document = loomv1.DocumentStage_DOCUMENT_STAGE_UNSPECIFIED
	}
}

func (d *draft) countDetached() (n int) {
	for _, p := range d.Phases {
		if p.Detached {
			n++
		}
	}
	return n
}

// last returns the nodes of the phases that no other waits for.
func (w *weaver) last(entry []string) (tails []string) {
	leads, aside := map[string]bool{}, map[string]bool{}
	for _, n := range w.def.Nodes {
		aside[n.Id] = n.Detached
	}
	for _, e := range w.def.Edges {
		if !aside[e.To] {
			leads[e.From] = true
		}
	}
	for _, p := range w.Phases {
		for _, t := range w.tails[p.ID] {
			if !leads[t] && !slices.Contains(tails, t) {
				tails = append(tails, t)
			}
		}
	}
	if len(tails) == 0 {
		return entry
	}
	return tails
}

// detached checks a node that is done after the end.
func (v *validator) detached(i int, n *loomv1.NodeDefinition) {
	if !n.Detached {
		return
	}
	for _, field := range workflow.NotDetached(n) {
		v.refuse("workflow/detached", at("nodes", i, "detached"), "node %q is detached, so it has no such %s", n.Id, field)
	}
	for j, e := range v.def.Edges {
		switch {
		case e.From == n.Id:
			v.refuse("workflow/detached", at("edges", j, "from"), "node %q is detached: it is done after the end, and nothing waits for it", n.Id)
		case e.To == n.Id && e.Outcome == failure:
			v.refuse("workflow/detached", at("edges", j, "outcome"), "node %q is detached, and what has failed is to go on some other way", n.Id)
		}
	}
	if before := slices.IndexFunc(v.def.Nodes, func(m *loomv1.NodeDefinition) bool { return m.Detached }); before == i {
		count := 0
		for _, m := range v.def.Nodes {
			if m.Detached && !workflow.Remembers(m) {
				count++
			}
		}
		if count > workflow.MaxDetached {
			v.refuse("workflow/detached", at("nodes", i, "detached"), "%d nodes are detached, more than %d", count, workflow.MaxDetached)
		}
	}
}
