package processes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// The limits of what a process tells those who work by it.
const (
	maxGuide       = 16 << 10 // bytes of a text
	maxRules       = 64
	maxScans       = 64
	maxMemoryTypes = 64
	maxFiles       = 64 // deliverables of a phase
)

var (
	ruleName   = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	memoryName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
)

// guide makes what a file with nodes tells everybody.
func (c *compiler) guide(f *guideFile) *loomv1.Guide {
	if f == nil {
		return nil
	}
	g := &loomv1.Guide{
		Persona: strings.TrimSpace(f.Persona), ToolGuidance: strings.TrimSpace(f.ToolGuidance),
		RequiredTools: f.RequiredTools, ExcludedTools: f.ExcludedTools, AskTools: f.AskTools, MemoryGuidance: strings.TrimSpace(f.MemoryGuidance),
		ScanFor: f.ScanFor, WorkspaceGuidance: strings.TrimSpace(f.Workspace),
	}
	for i := range f.Rules {
		r := &f.Rules[i]
		lookUp(c, ruleTypes, r.Type, "process/rule", "guide", "rules", i, "type")
		lookUp(c, severities, r.Severity, "process/rule", "guide", "rules", i, "severity")
		g.Rules = append(g.Rules, rule(r))
		if c.doc.Has("guide", "rules", i, "expect") && !slices.Contains([]string{"absent", "present"}, r.Expect) {
			c.add(fault.New("process/rule", "unknown expect").Got(r.Expect).Want("absent or present"), "guide", "rules", i, "expect")
		}
	}
	for _, t := range f.MemoryTypes {
		g.MemoryTypes = append(g.MemoryTypes, &loomv1.MemoryType{Type: t.Type, Description: strings.TrimSpace(t.Description)})
	}
	return g
}

// phase makes what a node is in its process.
func (c *compiler) phase(f *partFile, i int) *loomv1.Phase {
	if f == nil {
		return nil
	}
	return &loomv1.Phase{
		Part: lookUp(c, phaseParts, f.Part, "process/phase", "nodes", i, "phase", "part"), Of: f.Of, Deliverables: f.Deliverables,
		AcceptanceCriteria: strings.TrimSpace(f.AcceptanceCriteria), Synthesis: f.Synthesis, ModelTier: f.ModelTier,
		VerificationTier: f.VerificationTier, Check: strings.TrimSpace(f.Check),
		Document: lookUp(c, documentStages, f.Document, "process/phase", "nodes", i, "phase", "document"),
	}
}

// completeGuide fills in what rules leave open.
func completeGuide(g *loomv1.Guide) {
	if g == nil {
		return
	}
	g.Persona, g.ToolGuidance, g.MemoryGuidance = strings.TrimSpace(g.Persona), strings.TrimSpace(g.ToolGuidance), strings.TrimSpace(g.MemoryGuidance)
	g.WorkspaceGuidance = strings.TrimSpace(g.WorkspaceGuidance)
	for _, t := range g.MemoryTypes {
		t.Description = strings.TrimSpace(t.Description)
	}
	for _, r := range g.Rules {
		r.Description = strings.TrimSpace(r.Description)
		if r.Type == loomv1.RuleType_RULE_TYPE_UNSPECIFIED {
			r.Type = loomv1.RuleType_RULE_TYPE_LLM
		}
		if r.Severity == loomv1.Severity_SEVERITY_UNSPECIFIED {
			r.Severity = loomv1.Severity_SEVERITY_WARNING
		}
		r.Target = orElse(r.Target, verify.InDeliverables)
	}
}

func completePhase(p *loomv1.Phase) {
	if p == nil {
		return
	}
	p.AcceptanceCriteria, p.Check = strings.TrimSpace(p.AcceptanceCriteria), strings.TrimSpace(p.Check)
	if p.Part == loomv1.PhasePart_PHASE_PART_UNSPECIFIED {
		p.Part = loomv1.PhasePart_PHASE_PART_WORK
	}
}

// guide checks what a definition tells everybody.
func (v *validator) guide() {
	g := v.def.Guide
	if g == nil {
		return
	}
	for key, text := range map[string]string{"persona": g.Persona, "tool_guidance": g.ToolGuidance, "memory_guidance": g.MemoryGuidance, "workspace_guidance": g.WorkspaceGuidance} {
		if len(text) > maxGuide {
			v.refuse("workflow/invalid", at("guide", key), "%s has %d bytes, more than %d", key, len(text), maxGuide)
		}
	}
	for i, t := range g.RequiredTools {
		if !slices.Contains(roles.KnownTools(), t) && !roles.PackageTool(t) {
			v.refuse("process/tool", at("guide", "required_tools", i), "there is no tool %q", t).Want("%s", insteadOf(t))
		}
	}
	if len(g.ScanFor) > maxScans {
		v.refuse("workflow/invalid", at("guide", "scan_for"), "%d entries, more than %d", len(g.ScanFor), maxScans)
	}
	if len(g.Rules) > maxRules {
		v.refuse("process/rule", at("guide", "rules"), "%d rules, more than %d", len(g.Rules), maxRules)
	}
	for i, r := range g.Rules {
		v.rule(i, r)
	}
	v.memoryTypes(g)
}

// notBuilt are sources that processes name and that no tool asks, by how they are named.
var notBuilt = map[string]string{
	"google_trends": "Google Trends", "financial_modeling_prep": "Financial Modeling Prep", "fmp": "Financial Modeling Prep", "news_api": "News API", "newsapi": "News API",
}

// insteadOf says what to name in the place of a tool that there is not.
func insteadOf(tool string) string {
	if source, ok := notBuilt[strings.ReplaceAll(strings.ToLower(tool), "-", "_")]; ok {
		return source + " is not built in; web_search, web_feed, alpha_vantage and fred are nearest, or a server of tools (--mcp)"
	}
	return suggest.Among(tool, roles.KnownTools())
}

func (v *validator) rule(i int, r *loomv1.Rule) {
	if !ruleName.MatchString(r.Name) {
		v.refuse("process/rule", at("guide", "rules", i, "name"), "name %s", idForm).Got(r.Name)
	}
	if first := slices.IndexFunc(v.def.Guide.Rules, func(o *loomv1.Rule) bool { return o.Name == r.Name }); first < i {
		v.refuse("process/rule", at("guide", "rules", i, "name"), "there is a rule %q already", r.Name)
	}
	if v.strangeRule(r) {
		v.refuse("process/rule", at("guide", "rules", i), "rule %q has an unknown type or severity", r.Name)
	}
	for _, f := range verify.RuleFaults(r) {
		v.report(f.Err, append(at("guide", "rules", i), f.At...))
	}
}

func (v *validator) strangeRule(r *loomv1.Rule) bool {
	_, known := loomv1.RuleType_name[int32(r.Type)]
	_, weighed := loomv1.Severity_name[int32(r.Severity)]
	return !known || !weighed
}

func (v *validator) report(err *fault.Error, path []any) {
	if !v.broken(path...) {
		v.found = append(v.found, problem{err: err, path: path})
	}
}

func (v *validator) memoryTypes(g *loomv1.Guide) {
	if len(g.MemoryTypes) > maxMemoryTypes {
		v.refuse("process/memory", at("guide", "memory_types"), "%d types of memory, more than %d", len(g.MemoryTypes), maxMemoryTypes)
	}
	for i, t := range g.MemoryTypes {
		path := at("guide", "memory_types", i, "type")
		if !memoryName.MatchString(t.Type) {
			v.refuse("process/memory", path, "a type of memory is 1 to 32 of a-z, 0-9 and _, beginning with a letter").Got(t.Type)
		}
		if first := slices.IndexFunc(g.MemoryTypes, func(o *loomv1.MemoryType) bool { return o.Type == t.Type }); first < i {
			v.refuse("process/memory", path, "there is a type %q already", t.Type)
		}
	}
}

// phase checks what a node is in its process.
func (v *validator) phase(i int, n *loomv1.NodeDefinition) {
	p := n.Phase
	if p == nil {
		return
	}
	if _, known := loomv1.PhasePart_name[int32(p.Part)]; !known {
		v.refuse("process/phase", at("nodes", i, "phase", "part"), "unknown part").Got(p.Part.String())
	}
	if _, known := loomv1.DocumentStage_name[int32(p.Document)]; !known || p.Document != 0 && p.Part > loomv1.PhasePart_PHASE_PART_WORK {
		v.refuse("process/phase", at("nodes", i, "phase", "document"), "only work is a stage of a document").Got(p.Document.String())
	}
	if p.ModelTier > 3 || p.VerificationTier > 3 {
		v.refuse("process/phase", at("nodes", i, "phase"), "a tier of node %q is not 1, 2 or 3", n.Id)
	}
	if len(p.AcceptanceCriteria) > maxGuide {
		v.refuse("workflow/invalid", at("nodes", i, "phase", "acceptance_criteria"), "acceptance_criteria has %d bytes, more than %d", len(p.AcceptanceCriteria), maxGuide)
	}
	if len(p.Deliverables) > maxFiles {
		v.refuse("process/deliverable", at("nodes", i, "phase", "deliverables"), "%d deliverables, more than %d", len(p.Deliverables), maxFiles)
	}
	for j, s := range p.Deliverables {
		path := at("nodes", i, "phase", "deliverables", j)
		d, err := verify.ParseDeliverable(s)
		if err != nil {
			v.report(fault.From(err), path)
		} else if other := v.deliveredBefore(i, j, d.Name); other != "" {
			v.refuse("process/deliverable", path, "%q delivers %s already", other, d.Name)
		}
	}
	v.questions(i, n)
}

// deliveredBefore returns the node before the j-th deliverable of the i-th node
// that delivers a file of that name too, or "".
func (v *validator) deliveredBefore(i, j int, name string) string {
	for k, n := range v.def.Nodes[:i+1] {
		list := n.GetPhase().GetDeliverables()
		if k == i {
			list = list[:j]
		}
		for _, s := range list {
			if d, err := verify.ParseDeliverable(s); err == nil && strings.EqualFold(d.Name, name) {
				return n.Id
			}
		}
	}
	return ""
}

// questions refuses a check with more to judge than an outcome has fields for.
func (v *validator) questions(i int, n *loomv1.NodeDefinition) {
	if n.Phase.Part != loomv1.PhasePart_PHASE_PART_CHECK {
		return
	}
	if many := len(verify.Judged(v.def.Guide.GetRules(), n.Phase.Of)); many > verify.MaxJudged {
		v.refuse("process/rule", at("guide", "rules"), "%d rules of phase %q need judgment, more than %d", many, n.Phase.Of, verify.MaxJudged).
			Want("say in phases which phases a rule is about")
	}
}
