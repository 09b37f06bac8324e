package processes

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (w *writer) in(more string, write func()) {
	before := w.indent
	w.indent += more
	write()
	w.indent = before
}

func (w *writer) guide(g *loomv1.Guide) {
	if g == nil {
		return
	}
	w.line("guide:")
	w.in("  ", func() {
		w.text("persona", g.Persona)
		w.text("tool_guidance", g.ToolGuidance)
		w.key("required_tools", list(g.RequiredTools))
		w.key("excluded_tools", list(g.ExcludedTools))
		w.key("ask_tools", list(g.AskTools))
		if len(g.Rules) > 0 {
			w.line("rules:")
		}
		for _, r := range g.Rules {
			w.rule(r)
		}
		if len(g.MemoryTypes) > 0 {
			w.line("memory_types:")
		}
		for _, t := range g.MemoryTypes {
			w.line("  - type: %s", plain(t.Type))
			w.in("    ", func() { w.text("description", t.Description) })
		}
		w.text("memory_guidance", g.MemoryGuidance)
		w.key("scan_for", list(g.ScanFor))
		w.text("workspace_guidance", g.WorkspaceGuidance)
	})
}

func (w *writer) rule(r *loomv1.Rule) {
	w.line("  - name: %s", plain(r.Name))
	w.in("    ", func() {
		w.text("description", r.Description)
		w.key("type", ruleTypes.word(r.Type))
		w.key("check", plain(r.Check))
		w.told(r.With)
		w.key("target", plain(r.Target))
		w.key("severity", severities.word(r.Severity))
		if r.Wanted {
			w.line("expect: present")
		}
		w.key("phases", list(r.Phases))
		if r.Replans {
			w.line("replan: true")
		}
	})
}

// told writes what a rule is told as JSON, which is YAML in one line.
func (w *writer) told(with *structpb.Struct) {
	if len(with.GetFields()) == 0 {
		return
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(with.AsMap()); err != nil {
		panic("processes: what a rule is told is no JSON: " + err.Error())
	}
	w.key("with", strings.TrimSpace(b.String()))
}

func (w *writer) phase(p *loomv1.Phase) {
	if p == nil {
		return
	}
	w.line("phase:")
	w.in("  ", func() {
		w.key("part", phaseParts.word(p.Part))
		w.key("of", plain(p.Of))
		w.key("deliverables", list(p.Deliverables))
		w.text("acceptance_criteria", p.AcceptanceCriteria)
		if p.Synthesis {
			w.line("synthesis: true")
		}
		if p.ModelTier > 0 {
			w.line("model_tier: %d", p.ModelTier)
		}
		if p.VerificationTier > 0 {
			w.line("verification_tier: %d", p.VerificationTier)
		}
		w.text("check", p.Check)
		if p.Document != 0 {
			w.key("document", documentStages.word(p.Document))
		}
	})
}
