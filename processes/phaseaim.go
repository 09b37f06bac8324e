package processes

import (
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// unjudged warns of rules that are held against nothing, and of what nobody judges: to
// whoever reads the file, both look as if they were.
func (d *draft) unjudged() {
	rules := make([]*loomv1.Rule, len(d.Verification.Rules))
	for i := range d.Verification.Rules {
		rules[i] = rule(&d.Verification.Rules[i])
	}
	for i, r := range rules {
		d.aim(i, r, rules)
	}
	first, names := 0, []string(nil)
	for i := range d.Phases {
		p := &d.Phases[i]
		if p.Process != "" || strings.TrimSpace(p.AcceptanceCriteria) == "" || d.judged(p, rules) {
			continue
		}
		if names = append(names, p.ID); len(names) == 1 {
			first = i
		}
	}
	if len(names) > 0 {
		d.warn("process/unjudged", []any{"phases", first, "acceptance_criteria"}, "nobody judges the criteria of %s: the verification tier is 1", strings.Join(names, ", ")).
			Want("verification_tier: 2 brings a verifier")
	}
}

// judged says whether a verifier judges a phase.
func (d *draft) judged(p *phaseFile, rules []*loomv1.Rule) bool {
	return tierOf(p.VerificationTier, 1) >= 2 || verify.NeedsJudge(p.ID, phasePart(p), rules)
}

// aim warns of a rule that no phase is held against, or that cannot look into all that it
// is aimed at.
func (d *draft) aim(i int, r *loomv1.Rule, all []*loomv1.Rule) {
	at := func(key string) []any { return []any{"verification", "rules", i, key} }
	place := at("target")
	if !d.given(place...) {
		place = at("name")
	}
	if len(d.Phases) == 0 || slices.ContainsFunc(r.Phases, func(id string) bool { return d.first(id) < 0 }) {
		return // which is reported
	}
	var blind, tiers []string
	judged, aimed := false, d.hooked(r)
	for k := range d.Phases {
		p := &d.Phases[k]
		if p.Process != "" || !verify.About(r, p.ID, phasePart(p)) { // the rules of the other process hold for what it delivers
			continue
		}
		aimed = true
		if !verify.Deterministic(r) {
			judged = judged || d.judged(p, all)
			tiers = append(tiers, p.ID)
			continue
		}
		for _, name := range verify.Aimed(r, phasePart(p)) {
			if verify.Blind(name) {
				blind = append(blind, name)
			}
		}
	}
	switch {
	case !aimed:
		d.warn("process/unjudged", place, "no phase that rule %q is about delivers a file that it is aimed at", r.Name).Want("%s", d.delivers(r))
	case len(blind) > 0:
		d.warn("process/unjudged", place, "rule %q cannot look into %s", r.Name, strings.Join(blind, ", ")).Want("aim it at files that it can look into, or leave it to a rule of type llm")
	case len(tiers) > 0 && !judged:
		d.warn("process/unjudged", at("name"), "nobody judges rule %q: the verification tier of %s is 1, and its severity is warning", r.Name, strings.Join(tiers, ", ")).
			Want("verification_tier: 2, or severity: error, brings a verifier")
	}
}

// hooked says whether a rule is aimed at what a hook delivers.
func (d *draft) hooked(r *loomv1.Rule) bool {
	return len(r.Phases) == 0 && slices.ContainsFunc(d.allHooks(), func(h placedHook) bool {
		return len(verify.Aimed(r, &loomv1.Phase{Deliverables: h.Deliverables})) > 0
	})
}

// delivers names what could be meant by a target.
func (d *draft) delivers(r *loomv1.Rule) string {
	var names []string
	for k := range d.Phases {
		if !verify.Applies(r, d.Phases[k].ID) {
			continue
		}
		for _, f := range verify.Deliverables(phasePart(&d.Phases[k])) {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return "a phase delivers files where it has deliverables"
	}
	return "they deliver " + strings.Join(names[:min(len(names), 8)], ", ")
}
