package processes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// compilePattern makes the workflow of a pattern's steps: an approval of the
// intent, the steps as phases one after the other with what each is held to, an
// approval after each step that the ordinary tempo stops after, and the way to
// the target. It is what is drawn and checked. The engine cannot yet bind that
// approval to an envelope, so no library has it and no submission can name it.
func compilePattern(p *loomv1.Pattern, rs *roles.Set) (*loomv1.Definition, []*fault.Error) {
	f := phasesFile{
		Name: p.Name, Version: p.Version, Description: p.Purpose, PhaseMode: Strict,
		Persona: "You work by the pattern " + p.Name + ": " + p.Purpose + "\n\nThe sealed intent of the session is what you work for. You neither widen nor reframe it.",
		Tools:   toolsFile{Required: p.RequiredTools},
		Hooks:   hooksFile{BeforePlan: []hookFile{{Approve: "Shall work begin with this intent?"}}},
	}
	for i, s := range p.Steps {
		f.Phases = append(f.Phases, stepPhase(p, i))
		if s.Stop && i+1 < len(p.Steps) {
			f.Hooks.BetweenPhases = append(f.Hooks.BetweenPhases, hookFile{Approve: fmt.Sprintf("Step %d, %s, has ended. Shall it go on?", s.Order, s.Name), After: []string{s.Name}})
		}
	}
	r := parse(Source{File: p.Name, Data: []byte(f.text())}, rs)
	return r.def, r.problems()
}

func stepPhase(p *loomv1.Pattern, i int) phaseFile {
	s := p.Steps[i]
	limits := intent.LimitsOf(intent.TempoOf(0, s, p), s)
	text := s.Description
	if len(s.Questions) > 0 {
		text += "\n\nAnswer for yourself while you work:\n- " + strings.Join(s.Questions, "\n- ")
	}
	ph := phaseFile{
		ID: s.Name, Description: text, Role: s.Role, Persona: s.Persona, ModelTier: &limits.ModelTier, IsCriticalPath: true,
		IsSynthesis: i > 0 && limits.ModelTier > 1, AcceptanceCriteria: strings.Join(slices.Concat(p.Constraints, s.Constraints), "\n"),
	}
	if i > 0 {
		ph.DependsOn = []string{p.Steps[i-1].Name}
	}
	if s.Timeout != nil {
		t := s.Timeout.AsDuration()
		ph.Timeout = &t
	}
	for _, name := range s.Deliverables {
		last := !slices.ContainsFunc(p.Steps[i+1:], func(o *loomv1.PatternStep) bool { return slices.Contains(o.Deliverables, name) })
		k := slices.IndexFunc(p.Outputs, func(o *loomv1.PatternOutput) bool { return o.Name == name })
		switch {
		case !last:
			ph.Description += "\n\nLeave it in " + name + ", where a later step takes it up."
		case k >= 0 && p.Outputs[k].Description != "":
			ph.Deliverables = append(ph.Deliverables, name+" — "+p.Outputs[k].Description)
		default:
			ph.Deliverables = append(ph.Deliverables, name)
		}
	}
	return ph
}
