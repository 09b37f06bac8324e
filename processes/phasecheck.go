package processes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/roles"
)

// How freely a planner may treat the phases.
const (
	Strict     = "strict"
	Guided     = "guided"
	Suggestive = "suggestive"
)

var modes = []string{Strict, Guided, Suggestive}

// phasePattern leaves room for the nodes that are made beside a phase's own.
var phasePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,23}$`)

// check reports what is wrong with a draft beyond what shows in the definition
// that it is compiled to.
func (d *draft) check(rs *roles.Set) {
	d.required()
	if d.main.Has("phase_mode") || d.PhaseMode != "" {
		d.oneOf("process/mode", d.PhaseMode, modes, "phase_mode")
	}
	for i := range d.Phases {
		d.phase(i, rs)
	}
	d.dependencies()
	d.toolLists()
	d.rules()
	d.unjudged()
	d.examples()
	for _, h := range d.allHooks() {
		d.hook(h)
	}
}

func (d *draft) required() {
	for key, given := range map[string]bool{"name": d.Name != "", "version": d.Version != "", "phases": len(d.Phases) > 0} {
		if !given && !d.main.Has(key) {
			d.main.Add(fault.New("yaml/missing-key", "the document lacks the key %q", key))
		}
	}
	if d.main.Has("phases") && len(d.Phases) == 0 {
		d.refuse("process/phase", []any{"phases"}, "there are no phases")
	}
	if !slices.ContainsFunc(d.Phases, func(p phaseFile) bool { return !p.Detached }) && len(d.Phases) > 0 {
		d.refuse("process/phase", []any{"phases"}, "all phases are detached: there is nothing after whose end they could be done")
	}
	if len(d.Phases) > maxPhases {
		d.refuse("process/phase", []any{"phases"}, "%d phases, more than %d", len(d.Phases), maxPhases)
	}
}

// maxPhases keeps what phases are compiled to below [MaxNodes].
const maxPhases = 40

func (d *draft) oneOf(code, word string, known []string, at ...any) {
	if !slices.Contains(known, word) {
		d.refuse(code, at, "unknown %v", at[len(at)-1]).Got(word).Want("%s", suggest.Among(word, known))
	}
}

func (d *draft) phase(i int, rs *roles.Set) {
	p := &d.Phases[i]
	at := func(key ...any) []any { return append([]any{"phases", i}, key...) }
	switch {
	case !d.given(at("id")...):
	case !phasePattern.MatchString(p.ID):
		d.refuse("process/phase", at("id"), "id is not 1 to 24 of a-z, 0-9, _ and -, beginning with a letter or digit").Got(p.ID)
	case d.first(p.ID) != i:
		d.refuse("process/phase", at("id"), "phase %q stands at %s already", p.ID, d.spot("phases", d.first(p.ID), "id"))
	case ownName(p.ID):
		d.refuse("process/phase", at("id"), "id %q is what Loom calls a step of its own", p.ID).Want("choose another")
	}
	if strings.TrimSpace(p.Description) == "" && p.Process == "" {
		d.refuse("process/phase", at("description"), "phase %q has no description", p.ID).Want("say what is to be done: whoever does it knows nothing else")
	}
	d.tier(p.ModelTier, at("model_tier")...)
	d.tier(p.VerificationTier, at("verification_tier")...)
	d.gateWords(p.Gate, at)
	d.delegated(p, at)
	d.synthesis(p, at)
	d.mayReplan(p, at)
	d.detached(p, at)
	d.extracted(p, at)
	d.lightly(i, at("is_critical_path"))
	if d.given(at("document")...) {
		d.oneOf("process/phase", p.Document, documentStages.all(), at("document")...)
	}
	d.writer(p.Role, p.Deliverables, rs, at("deliverables"))
}

func (d *draft) given(at ...any) bool {
	p := d.find(at)
	return p.doc.Has(p.path...)
}

// spot is the place of a value, for people.
func (d *draft) spot(at ...any) string {
	p := d.find(at)
	return p.doc.Place(p.path...)
}

// first returns the index of the first phase of an id, or -1.
func (d *draft) first(id string) int {
	return slices.IndexFunc(d.Phases, func(p phaseFile) bool { return p.ID == id })
}

func (d *draft) gateWords(g *gateFile, at func(...any) []any) {
	if g == nil {
		return
	}
	if d.given(at("gate", "on_failure")...) {
		d.oneOf("workflow/gate", g.OnFailure, gateActions.all(), at("gate", "on_failure")...)
	}
	if g.Max != nil && *g.Max == 0 {
		d.refuse("workflow/gate", at("gate", "max"), "gate.max is 0").Want("it is at least 1")
	}
}

// ownName says whether an id is one of the nodes that Loom makes itself.
func ownName(id string) bool {
	for _, prefix := range []string{"before-plan-", "after-plan-", "after-complete-"} {
		if strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"start", "end", Planner, "gather", "deliver", "commit", "verify", "land"}, id)
}

func (d *draft) tier(t *uint32, at ...any) {
	if t != nil && (*t < 1 || *t > 3) {
		d.refuse("process/phase", at, "%v is not 1, 2 or 3", at[len(at)-1]).Got(fmt.Sprint(*t))
	}
}

// delegated refuses what the process of a phase decides itself.
func (d *draft) delegated(p *phaseFile, at func(...any) []any) {
	if p.Process == "" {
		return
	}
	for key, given := range map[string]bool{
		"role": p.Role != "", "persona": p.Persona != "", "outcome": len(p.Outcome) > 0, "deliverables": len(p.Deliverables) > 0,
		"acceptance_criteria": p.AcceptanceCriteria != "", "verification_tier": p.VerificationTier != nil, "model_tier": p.ModelTier != nil,
		"document": p.Document != "", "may_replan": p.MayReplan,
	} {
		if given {
			d.refuse("process/phase", at(key), "phase %q is done by process %q, which has a word on %s itself", p.ID, p.Process, key)
		}
	}
}

// synthesis warns of a synthesis that is asked too little or knows nothing.
func (d *draft) synthesis(p *phaseFile, at func(...any) []any) {
	if !p.IsSynthesis {
		return
	}
	if p.ModelTier != nil && *p.ModelTier < 2 {
		d.warn("process/synthesis", at("model_tier"), "phase %q puts together what others found, for a model of tier %d", p.ID, *p.ModelTier).Want("tier 2 or 3")
	}
	if len(p.DependsOn) == 0 {
		d.warn("process/synthesis", at("is_synthesis"), "phase %q puts together what others found, but depends on none", p.ID)
	}
}

// writer refuses deliverables of a role that cannot write files.
func (d *draft) writer(role string, deliverables []string, rs *roles.Set, at []any) {
	if r, ok := rs.Get(role); ok && len(deliverables) > 0 && !slices.Contains(r.Tools.All(), "file_write") {
		d.refuse("process/deliverable", at, "role %q may not write files, so it can deliver none", r.Name)
	}
}

// dependencies refuses phases that wait for what is not there, or for each
// other.
func (d *draft) dependencies() {
	for i, p := range d.Phases {
		for j, on := range p.DependsOn {
			at := []any{"phases", i, "depends_on", j}
			switch {
			case on == p.ID:
				d.refuse("process/dependency", at, "phase %q depends on itself", p.ID)
			case d.first(on) < 0:
				d.refuse("process/dependency", at, "there is no phase %q", on).Want("%s", suggest.Among(on, d.ids()))
			case slices.Contains(p.DependsOn[:j], on):
				d.refuse("process/dependency", at, "phase %q depends on %q already", p.ID, on)
			case d.Phases[d.first(on)].Detached:
				d.refuse("process/dependency", at, "phase %q is detached: it is done after the end, and nothing waits for it", on)
			}
		}
	}
	for _, c := range circles(len(d.Phases), d.before) {
		names := make([]string, len(c))
		for k, i := range c {
			names[k] = d.Phases[i].ID
		}
		d.refuse("process/cycle", []any{"phases", c[0], "depends_on"}, "phases depend on each other: %s -> %s", strings.Join(names, " -> "), names[0])
	}
}

func (d *draft) ids() []string {
	var ids []string
	for _, p := range d.Phases {
		if !slices.Contains(ids, p.ID) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// before returns the indices of the phases that one depends on.
func (d *draft) before(i int) (list []int) {
	for _, on := range d.Phases[i].DependsOn {
		if j := d.first(on); j >= 0 && j != i {
			list = append(list, j)
		}
	}
	return list
}

// circles returns a circle of each knot of a graph: the indices along it.
func circles(n int, next func(int) []int) (found [][]int) {
	state := make([]int, n) // 0 new, 1 on the way, 2 done
	var way []int
	var visit func(int)
	visit = func(i int) {
		state[i] = 1
		way = append(way, i)
		for _, j := range next(i) {
			switch state[j] {
			case 0:
				visit(j)
			case 1:
				found = append(found, slices.Clone(way[slices.Index(way, j):]))
			}
		}
		state[i] = 2
		way = way[:len(way)-1]
	}
	for i := range n {
		if state[i] == 0 {
			visit(i)
		}
	}
	return found
}

func (d *draft) toolLists() {
	for i, t := range d.Tools.Excluded {
		at := []any{"tools", "excluded", i}
		switch {
		case slices.Contains(d.Tools.Required, t):
			d.refuse("process/tool", at, "tool %q is required and excluded", t)
		case !slices.Contains(roles.KnownTools(), t) && !roles.PackageTool(t):
			d.warn("process/tool", at, "there is no tool %q that could be excluded", t).Want("%s", suggest.Hint(t, roles.KnownTools()))
		}
	}
	for i, t := range d.Tools.Ask {
		at := []any{"tools", "ask", i}
		switch {
		case slices.Contains(d.Tools.Excluded, t):
			d.refuse("process/tool", at, "tool %q is excluded: nobody can ask for it", t)
		case !slices.Contains(roles.KnownTools(), t) && !roles.PackageTool(t):
			d.refuse("process/tool", at, "there is no tool %q that could be asked about", t).Want("%s", suggest.Hint(t, roles.KnownTools()))
		}
	}
	for key, text := range map[string]string{"tool_guidance": d.ToolGuidance, "tools.guidance": d.Tools.Guidance} {
		for _, t := range absentTools(text) {
			d.warn("process/tool", strictPath(key), "guidance names %q, and there is no such tool", t).Want("%s", insteadOf(t))
		}
	}
}

// inBackticks is a word in backticks that looks like the name of a tool.
var inBackticks = regexp.MustCompile("`([a-z]+(?:_[a-z]+)+)`")

// absentTools lists what a text names as tools that there are not, each once. Those of
// packages and of servers are not known here.
func absentTools(text string) (names []string) {
	for _, m := range inBackticks.FindAllStringSubmatch(text, -1) {
		t := m[1]
		if !slices.Contains(names, t) && !slices.Contains(roles.KnownTools(), t) && !roles.PackageTool(t) && !strings.HasPrefix(t, "mcp_") {
			names = append(names, t)
		}
	}
	return names
}

// rules reports words of rules that mean nothing; what they check is looked at
// in the definition.
func (d *draft) rules() {
	for i, r := range d.Verification.Rules {
		at := func(key ...any) []any { return append([]any{"verification", "rules", i}, key...) }
		if d.given(at("type")...) {
			d.oneOf("process/rule", r.Type, ruleTypes.all(), at("type")...)
		}
		if d.given(at("severity")...) {
			d.oneOf("process/rule", r.Severity, severities.all(), at("severity")...)
		}
		if d.given(at("expect")...) {
			d.oneOf("process/rule", r.Expect, []string{"absent", "present"}, at("expect")...)
			if r.Type != "regex" {
				d.refuse("process/rule", at("expect"), "only a regex rule says whether its pattern is expected")
			}
		}
		d.replanning(&r, at)
		for j, phase := range r.Phases {
			if d.first(phase) < 0 {
				d.refuse("process/rule", at("phases", j), "there is no phase %q", phase).Want("%s", suggest.Among(phase, d.ids()))
			}
		}
	}
}

// examples refuses planner examples that no plan could be like.
func (d *draft) examples() {
	for i, e := range d.PlannerExamples {
		ids := make([]string, len(e.Subtasks))
		for j, s := range e.Subtasks {
			ids[j] = s.ID
		}
		for j, s := range e.Subtasks {
			at := func(key ...any) []any { return append([]any{"planner_examples", i, "subtasks", j}, key...) }
			if !phasePattern.MatchString(s.ID) || slices.Index(ids, s.ID) != j {
				d.refuse("process/example", at("id"), "the subtask has no sound id of its own").Got(s.ID)
			}
			for k, on := range s.DependsOn {
				if !slices.Contains(ids, on) || on == s.ID {
					d.refuse("process/example", at("depends_on", k), "there is no other subtask %q", on).Want("%s", suggest.Among(on, ids))
				}
			}
			d.tier(s.ModelTier, at("model_tier")...)
		}
		next := func(j int) (list []int) {
			for _, on := range e.Subtasks[j].DependsOn {
				if k := slices.Index(ids, on); k >= 0 && k != j {
					list = append(list, k)
				}
			}
			return list
		}
		for _, c := range circles(len(ids), next) {
			d.refuse("process/example", []any{"planner_examples", i, "subtasks", c[0], "depends_on"}, "subtasks depend on each other")
		}
	}
}
