package processes

import (
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// The shape of a plan.
type (
	planFile struct {
		Why     string        `yaml:"why"`
		Phases  []plannedFile `yaml:"phases" loom:"required"`
		LeftOut []leftOutFile `yaml:"left_out"`
	}
	plannedFile struct {
		ID                 string   `yaml:"id" loom:"required"`
		Of                 string   `yaml:"of"`
		Description        string   `yaml:"description"`
		DependsOn          []string `yaml:"depends_on"`
		Role               string   `yaml:"role"`
		ModelTier          *uint32  `yaml:"model_tier"`
		VerificationTier   *uint32  `yaml:"verification_tier"`
		IsCriticalPath     *bool    `yaml:"is_critical_path"`
		IsSynthesis        *bool    `yaml:"is_synthesis"`
		AcceptanceCriteria string   `yaml:"acceptance_criteria"`
		Deliverables       []string `yaml:"deliverables"`
		Tokens             uint64   `yaml:"tokens"`
	}
	leftOutFile struct {
		Phase  string `yaml:"phase" loom:"required"`
		Reason string `yaml:"reason" loom:"required"`
	}
)

// PlanOptions is what a plan has to reckon with.
type PlanOptions struct {
	Roles *roles.Set
	// Begun says which nodes of the definition have begun; nil means none.
	Begun func(node string) bool
	// Approve has the CEO asked about the plan before anything of it is done.
	Approve bool
	// Tokens is what may still be used; 0 is no limit.
	Tokens uint64
}

// Replan makes of a definition and a plan for it, which is YAML or JSON, the
// definition that the plan asks for, and what people are told of it. Phases
// that have begun stay as they are, whether the plan names them or not. An empty
// plan takes the phases as they are.
//
// Of a guided process no critical phase and none with a gate may be left out,
// what is left out has a reason, and every file is still delivered that a phase
// in the plan or at the end of the process promises; of a suggestive one, what
// critical phases deliver. A plan has no cycle, at most 40 phases, and no more
// tokens than there are. Everything that is wrong is told, with codes plan/...
// and those of processes, and nothing is changed: definitions are never.
func Replan(def *loomv1.Definition, plan string, o PlanOptions) (*loomv1.Definition, *loomv1.Plan, error) {
	b := def.GetBlueprint()
	if b.GetSource() == "" {
		return nil, nil, fault.New("plan/none", "process %q leaves nothing to a planner", def.GetName())
	}
	p := &planning{PlanOptions: o, def: def, base: phasesOf(b.Source), now: phasesOf(orElse(b.Planned, b.Source))}
	if err := p.read(plan); err != nil {
		return nil, nil, err
	}
	p.merge()
	p.covered()
	if err := p.doc.Err(); err != nil {
		return nil, nil, err
	}
	return p.weave()
}

// planning is a plan on its way to a definition.
type planning struct {
	PlanOptions
	def       *loomv1.Definition
	base, now phasesFile
	doc       *strictyaml.Document
	plan      planFile
	merged    []phaseFile
	told      []*loomv1.PlannedPhase
	parts     map[string][]string // what phases of the process were split into
}

// phasesOf reads what a blueprint holds, which was checked when it was written.
func phasesOf(text string) (f phasesFile) {
	if doc, err := strictyaml.Parse("blueprint", []byte(text)); err == nil {
		doc.Decode(&f)
	}
	return f
}

func (p *planning) read(text string) (err error) {
	if strings.TrimSpace(text) == "" {
		text = asItIs(p.now)
	}
	if p.doc, err = strictyaml.Parse("plan", []byte(text)); err != nil {
		return err
	}
	p.doc.Decode(&p.plan)
	return p.doc.Err()
}

// asItIs is the plan that changes nothing.
func asItIs(f phasesFile) string {
	var b strings.Builder
	b.WriteString("why: the phases are taken as they are\nphases:\n")
	for _, ph := range f.Phases {
		b.WriteString("  - id: " + ph.ID + "\n")
	}
	return b.String()
}

func (p *planning) refuse(code string, at []any, format string, args ...any) *fault.Error {
	err := fault.New(code, format, args...)
	p.doc.Add(err, at...)
	return err
}

// phaseOf finds a phase by id, or returns nil.
func (f *phasesFile) phaseOf(id string) *phaseFile {
	if i := slices.IndexFunc(f.Phases, func(p phaseFile) bool { return p.ID == id }); i >= 0 {
		return &f.Phases[i]
	}
	return nil
}

// begun says whether any node of a phase has begun.
func (p *planning) begun(phase string) bool {
	return p.Begun != nil && slices.ContainsFunc(p.def.Nodes, func(n *loomv1.NodeDefinition) bool {
		return (n.Id == phase || n.GetPhase().GetOf() == phase) && p.Begun(n.Id)
	})
}

// merge makes the phases: first what has begun, then what the plan says.
func (p *planning) merge() {
	p.parts = map[string][]string{}
	for i := range p.now.Phases {
		if ph := p.now.Phases[i]; p.begun(ph.ID) {
			is, _ := (&draft{phasesFile: p.now}).critical(i)
			ph.IsCriticalPath = &is // as it began, whatever is done beside it from now on
			p.add(ph, "begun", "")
		}
	}
	for i := range p.plan.Phases {
		if q := &p.plan.Phases[i]; !p.begun(q.ID) || p.now.phaseOf(q.ID) == nil {
			p.phase(i, q)
		}
	}
	for i := range p.merged {
		if p.told[i].Change != "begun" {
			p.merged[i].DependsOn = p.mapped(p.merged[i].DependsOn)
		}
		p.told[i].DependsOn = p.merged[i].DependsOn
	}
}

func (p *planning) add(ph phaseFile, change, of string) {
	p.merged = append(p.merged, ph)
	p.told = append(p.told, &loomv1.PlannedPhase{
		Id: ph.ID, Description: cutText(orElse(strings.TrimSpace(ph.Description), ph.Process), 200), Deliverables: ph.Deliverables, Change: change, Of: of,
	})
}

// cutText cuts a text to at most n bytes of whole runes, on one line.
func cutText(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n-3], "") + "…"
	}
	return s
}

// phase takes a phase of the plan: one of the process, a part of one, or new.
func (p *planning) phase(i int, q *plannedFile) {
	at := []any{"phases", i, "id"}
	known := p.now.phaseOf(q.ID)
	if known == nil {
		known = p.base.phaseOf(q.ID)
	}
	switch {
	case known != nil:
		ph, changed := adapted(*known, q)
		p.add(ph, map[bool]string{true: "adapted", false: "kept"}[changed], "")
		p.weightKept(i, q, known)
	case q.Of != "":
		p.part(i, q)
	case strings.TrimSpace(q.Description) == "":
		p.refuse("plan/phase", at, "phase %q is none of the process, and does not say what is to be done", q.ID).
			Want("a description, or %s", suggest.Among(q.ID, p.ids()))
	default:
		ph, _ := adapted(phaseFile{ID: q.ID}, q)
		p.add(ph, "new", "")
	}
}

func (p *planning) ids() []string {
	ids := make([]string, len(p.base.Phases))
	for i, ph := range p.base.Phases {
		ids[i] = ph.ID
	}
	return ids
}

// keeps says whether a plan has to keep a phase: one that is declared critical, and a
// synthesis that is not declared otherwise. Where in the process a phase stands is the
// plan's to say, and what is critical by its place follows from that.
func (p *phaseFile) keeps() bool {
	if p.IsCriticalPath != nil {
		return *p.IsCriticalPath
	}
	return p.IsSynthesis
}

// weightKept refuses to make light of a critical phase.
func (p *planning) weightKept(i int, q *plannedFile, known *phaseFile) {
	if p.guided() && known.keeps() && q.IsCriticalPath != nil && !*q.IsCriticalPath {
		p.refuse("plan/critical", []any{"phases", i, "is_critical_path"}, "phase %q is critical to the process", q.ID)
	}
	if known.Process != "" && (q.Description != "" || q.Role != "" || len(q.Deliverables) > 0) {
		p.refuse("plan/phase", []any{"phases", i, "id"}, "phase %q is done by process %q, and can only be kept or left out", q.ID, known.Process)
	}
}

func (p *planning) guided() bool { return p.def.Blueprint.Mode != Suggestive }

// part takes one of several phases that a phase of the process was split into.
func (p *planning) part(i int, q *plannedFile) {
	of := p.base.phaseOf(q.Of)
	switch {
	case of == nil:
		p.refuse("plan/phase", []any{"phases", i, "of"}, "there is no phase %q to be a part of", q.Of).Want("%s", suggest.Among(q.Of, p.ids()))
	case of.Process != "" || p.begun(of.ID):
		p.refuse("plan/phase", []any{"phases", i, "of"}, "phase %q cannot be split: a process does it, or it has begun", q.Of)
	case strings.TrimSpace(q.Description) == "":
		p.refuse("plan/phase", []any{"phases", i, "id"}, "part %q of phase %q does not say what is to be done", q.ID, q.Of)
	default:
		ph := *of
		ph.ID, ph.Deliverables = q.ID, nil
		ph, _ = adapted(ph, q)
		p.parts[of.ID] = append(p.parts[of.ID], q.ID)
		p.add(ph, "part", of.ID)
	}
}

// adapted gives a phase what a plan says of it, and says whether that is
// anything new.
func adapted(ph phaseFile, q *plannedFile) (phaseFile, bool) {
	changed := false
	text := func(into *string, value string) {
		if value = strings.TrimSpace(value); value != "" && value != strings.TrimSpace(*into) {
			*into, changed = value, true
		}
	}
	text(&ph.Description, q.Description)
	text(&ph.Role, q.Role)
	text(&ph.AcceptanceCriteria, q.AcceptanceCriteria)
	for _, list := range []struct {
		into *[]string
		with []string
	}{{&ph.DependsOn, q.DependsOn}, {&ph.Deliverables, q.Deliverables}} {
		if list.with != nil && !slices.Equal(*list.into, list.with) {
			*list.into, changed = list.with, true
		}
	}
	for _, flag := range []struct {
		into *bool
		with *bool
	}{{&ph.IsSynthesis, q.IsSynthesis}} {
		if flag.with != nil && *flag.with != *flag.into {
			*flag.into, changed = *flag.with, true
		}
	}
	if c := q.IsCriticalPath; c != nil && (ph.IsCriticalPath == nil || *c != *ph.IsCriticalPath) {
		ph.IsCriticalPath, changed = c, true
	}
	if q.ModelTier != nil && ph.Process == "" {
		ph.ModelTier, changed = q.ModelTier, true
	}
	if q.VerificationTier != nil && ph.Process == "" {
		ph.VerificationTier, changed = q.VerificationTier, true
	}
	return ph, changed
}

// mapped puts in place of phases that are not in the plan what they became:
// their parts, or what they waited for themselves.
func (p *planning) mapped(ids []string) (list []string) {
	var take func(ids []string, deep int)
	take = func(ids []string, deep int) {
		for _, id := range ids {
			left := p.base.phaseOf(id)
			switch {
			case slices.ContainsFunc(p.merged, func(m phaseFile) bool { return m.ID == id }) || left == nil:
				if !slices.Contains(list, id) {
					list = append(list, id)
				}
			case len(p.parts[id]) > 0:
				take(p.parts[id], deep)
			case deep < maxPhases:
				take(left.DependsOn, deep+1)
			}
		}
	}
	take(ids, 0)
	return list
}

// left returns the phases of the process that are neither in the plan nor split.
func (p *planning) left() (list []*phaseFile) {
	for i := range p.base.Phases {
		ph := &p.base.Phases[i]
		if len(p.parts[ph.ID]) == 0 && !slices.ContainsFunc(p.merged, func(m phaseFile) bool { return m.ID == ph.ID }) {
			list = append(list, ph)
		}
	}
	return list
}

// covered refuses a plan that leaves out what the process is for, and one that
// would use more than there is.
func (p *planning) covered() {
	left := p.left()
	for _, ph := range left {
		if p.guided() {
			p.mayLeave(ph)
		}
	}
	var have []string
	for _, ph := range p.merged {
		have = append(have, fileNames(ph.Deliverables)...)
	}
	for _, ph := range p.base.Phases {
		needed := ph.keeps() || p.guided() && (p.last(ph.ID) || !slices.ContainsFunc(left, func(l *phaseFile) bool { return l.ID == ph.ID }))
		for _, name := range fileNames(ph.Deliverables) {
			if needed && !slices.Contains(have, name) {
				p.refuse("plan/deliverable", []any{"phases"}, "nothing in the plan delivers %s, which phase %q of the process promises", name, ph.ID)
			}
		}
	}
	p.affordable()
}

// affordable refuses a plan that reckons with more tokens than there are.
func (p *planning) affordable() {
	var sum uint64
	for _, q := range p.plan.Phases {
		sum += min(q.Tokens, 1<<40)
	}
	if p.Tokens > 0 && sum > p.Tokens {
		p.refuse("plan/budget", []any{"phases"}, "the phases would use %d tokens, and %d are left", sum, p.Tokens)
	}
}

// last says whether no phase of the process depends on one.
func (p *planning) last(id string) bool {
	return !slices.ContainsFunc(p.base.Phases, func(o phaseFile) bool { return slices.Contains(o.DependsOn, id) })
}

func fileNames(deliverables []string) (names []string) {
	for _, s := range deliverables {
		if d, err := verify.ParseDeliverable(s); err == nil {
			names = append(names, strings.ToLower(d.Name))
		}
	}
	return names
}

// mayLeave refuses to leave out a phase that has to stay, or without a word.
func (p *planning) mayLeave(ph *phaseFile) {
	switch {
	case ph.keeps():
		p.refuse("plan/critical", []any{"phases"}, "phase %q is critical to the process, and the plan goes without it", ph.ID)
	case ph.Gate != nil:
		p.refuse("plan/gate", []any{"phases"}, "phase %q has a gate, and the plan goes around it", ph.ID)
	case p.reason(ph.ID) == "":
		p.refuse("plan/unexplained", []any{"phases"}, "the plan goes without phase %q and does not say why", ph.ID).Want("an entry in left_out")
	}
}

func (p *planning) reason(phase string) string {
	for _, l := range p.plan.LeftOut {
		if l.Phase == phase {
			return cutText(l.Reason, 300)
		}
	}
	return ""
}

// weave compiles the process with the phases of the plan.
func (p *planning) weave() (*loomv1.Definition, *loomv1.Plan, error) {
	f := p.base
	f.Phases = p.merged
	f.Verification.Rules = leftOf(p, f.Verification.Rules, func(r *ruleFile) *[]string { return &r.Phases })
	f.Hooks.BetweenPhases = leftOf(p, f.Hooks.BetweenPhases, func(h *hookFile) *[]string { return &h.After })
	plan := &loomv1.Plan{Why: cutText(p.plan.Why, 1000), Phases: p.told}
	for _, ph := range p.left() {
		plan.LeftOut = append(plan.LeftOut, &loomv1.LeftOut{Phase: ph.ID, Reason: p.reason(ph.ID)})
	}
	if p.Approve {
		f.Hooks.AfterPlan = append([]hookFile{{Approve: "Shall this plan be carried out? " + PlanLine(plan)}}, f.Hooks.AfterPlan...)
	}
	text := f.text()
	r := parse(Source{File: "plan", Data: []byte(text)}, p.Roles)
	if errs := r.problems(); len(errs) > 0 {
		return nil, nil, fault.Join(withoutPlaces(errs))
	}
	def := r.def
	def.Blueprint.Mode, def.Blueprint.Source, def.Blueprint.Planned = p.def.Blueprint.Mode, p.def.Blueprint.Source, text
	def.Toolkit = p.def.Toolkit
	plan.DefinitionHash = Hash(def)
	return def, plan, nil
}

// withoutPlaces takes away where problems stand in a text that nobody wrote.
func withoutPlaces(errs []*fault.Error) (list []*fault.Error) {
	for _, e := range errs {
		c := *e
		c.Where = ""
		list = append(list, &c)
	}
	return list
}

// leftOf returns those of a list that are about any phase of the plan, or about
// no phase in particular; phases are where one says what it is about.
func leftOf[T any](p *planning, list []T, phases func(*T) *[]string) (left []T) {
	for _, one := range list {
		about := phases(&one)
		present := p.present(*about)
		if len(*about) == 0 || len(present) > 0 {
			*about = present
			left = append(left, one)
		}
	}
	return left
}

// present returns which of some phases are in the plan, or their parts.
func (p *planning) present(ids []string) (list []string) {
	for _, id := range ids {
		if parts := p.parts[id]; len(parts) > 0 {
			list = append(list, parts...)
		} else if slices.ContainsFunc(p.merged, func(m phaseFile) bool { return m.ID == id }) {
			list = append(list, id)
		}
	}
	return list
}

// PlanLine tells a plan in one line of at most 400 bytes.
func PlanLine(p *loomv1.Plan) string {
	var words []string
	for _, ph := range p.GetPhases() {
		word := ph.Id
		if len(ph.DependsOn) > 0 {
			word += " after " + strings.Join(ph.DependsOn, ", ")
		}
		if ph.Change != "kept" && ph.Change != "" {
			word += " (" + ph.Change + ofPart(ph.Of) + ")"
		}
		words = append(words, word)
	}
	s := strings.Join(words, "; ")
	for _, l := range p.GetLeftOut() {
		s += "; without " + l.Phase + ": " + l.Reason
	}
	return cutText(s, 400)
}

func ofPart(phase string) string {
	if phase == "" {
		return ""
	}
	return " of " + phase
}
