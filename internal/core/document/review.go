package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Review is what a spec is held against.
type Review struct {
	// Rules are those of Loom if nil.
	Rules *RuleSet
	// Clauses are those of Loom if nil.
	Clauses *ClauseLibrary
	// Outline is what the spec was written from; without it, what was planned is not
	// compared.
	Outline *loomv1.PlanningOutline
	// Final says that the spec is about to become a file that somebody is given: what is
	// still to be written is an error then, whatever the rules say of it.
	Final bool
}

// MostFindings is how many findings a report has at most; more are counted in its
// last one.
const MostFindings = 1000

// Run holds a spec against the rules and returns the report: findings with path, rule
// and severity, and a recommended patch for those that can be mended without a writer.
// The same spec and rules give the same report. The patches can be given to [Apply]
// as they are.
func (r Review) Run(spec proto.Message) *loomv1.ReviewReport {
	if r.Rules == nil {
		r.Rules = DefaultRules()
	}
	if r.Clauses == nil {
		r.Clauses = DefaultClauses()
	}
	v := &validation{
		Review: r, spec: spec, parts: parts(spec), edits: map[string]*rewriting{}, byTarget: map[string]string{},
		report: &loomv1.ReviewReport{SpecVersion: VersionOf(spec), SpecHash: Hash(spec), Severity: "ok", Checks: emptyChecks()},
	}
	v.language, _, _ = strings.Cut(strings.ToLower(metadataOf(spec).GetLanguage()), "-")
	if v.language == "" {
		v.language = "en"
	}
	v.settle()
	rules := slices.Clone(r.Rules.Rules)
	if r.Final {
		rules = slices.DeleteFunc(rules, func(x Rule) bool { return x.Check == "unwritten" })
		rules = append(rules, Rule{ID: "style/unwritten", Check: "unwritten", Severity: "error", Words: []string{"PLACEHOLDER", "TBD"}})
	}
	for i := range rules {
		v.rule = &rules[i]
		c := checks[v.rule.Check]
		if c.words && v.language != r.Rules.Language {
			v.report.Checks.Readability.NotJudged = fmt.Sprintf("the rules about words are for %q, and the document is in %q", r.Rules.Language, v.language)
			continue
		}
		c.run(v)
	}
	v.finish()
	return v.report
}

// settle has levels that jump be those that mend them, so that what is found by levels is
// found before they are mended and after.
func (v *validation) settle() {
	i := slices.IndexFunc(v.Rules.Rules, func(r Rule) bool { return r.Check == "heading-jump" })
	if i < 0 {
		return
	}
	most, last := int(bound(v.Rules.Rules[i].Max, 1)), 0
	for j := range v.parts {
		if p := &v.parts[j]; p.level > last+most {
			p.jumps, p.level = p.level, last+1
		}
		last = v.parts[j].level
	}
}

func emptyChecks() *loomv1.ReviewChecks {
	yes, also, none, zero := true, true, int32(0), int32(0)
	return &loomv1.ReviewChecks{
		Structure: &loomv1.StructureCheck{Ok: &yes}, Readability: &loomv1.ReadabilityCheck{},
		Consistency: &loomv1.ConsistencyCheck{DuplicateHeadings: &none}, Style: &loomv1.StyleCheck{},
		Tables: &loomv1.TableCheck{MissingCaptions: &zero}, References: &loomv1.ReferenceCheck{Ok: &also},
	}
}

// validation is one run of a review.
type validation struct {
	Review
	spec     proto.Message
	parts    []part
	language string
	rule     *Rule
	report   *loomv1.ReviewReport
	edits    map[string]*rewriting // of texts, by path
	byTarget map[string]string     // of other patches: target to id
	beyond   int                   // findings that the report has no room for
	worst    int                   // index into severities
}

// rewriting gathers what several rules change in one text, so that one patch has it all.
type rewriting struct{ old, now, id string }

// check is a validator: the part of the report that it fills, and whether it needs to
// know the language.
type check struct {
	area  string
	words bool
	run   func(v *validation)
}

// found adds a finding. The patch is "" for none.
func (v *validation) found(path, patch, format string, args ...any) {
	v.worst = max(v.worst, slices.Index(severities, v.rule.Severity))
	if len(v.report.Findings) >= MostFindings {
		v.beyond++
		return
	}
	message := cut(fmt.Sprintf(format, args...), 1000)
	v.report.Findings = append(v.report.Findings, &loomv1.ReviewFinding{Rule: v.rule.ID, Path: path, Severity: v.rule.Severity, Message: message, Patch: patch})
	area := v.rule.Area
	if area == "" {
		area = checks[v.rule.Check].area
	}
	line := message
	if path != "" {
		line = path + ": " + message
	}
	c := v.report.Checks
	switch area {
	case "structure":
		if v.rule.Severity == "error" {
			c.Structure.Errors = append(c.Structure.Errors, line)
			no := false
			c.Structure.Ok = &no
		} else {
			c.Structure.Warnings = append(c.Structure.Warnings, line)
		}
	case "readability":
		c.Readability.Warnings = append(c.Readability.Warnings, line)
	case "consistency":
		c.Consistency.Warnings = append(c.Consistency.Warnings, line)
	case "style":
		c.Style.Violations = append(c.Style.Violations, line)
	case "tables":
		c.Tables.NumericFormatIssues = append(c.Tables.NumericFormatIssues, line)
	case "references":
		c.References.Violations = append(c.References.Violations, line)
		if v.rule.Severity == "error" {
			no := false
			c.References.Ok = &no
		}
	}
}

// patch recommends a change and returns its id.
func (v *validation) patch(target, action string, value any) string {
	key := action + " " + target
	if id, there := v.byTarget[key]; there {
		return id
	}
	p := &loomv1.Patch{Id: fmt.Sprintf("patch-%d", len(v.report.RecommendedPatches)+1), Target: target, Action: action, By: "validator", Reason: v.rule.ID}
	if value != nil {
		p.Value, _ = structpb.NewValue(value) // of the types that JSON has
	}
	v.report.RecommendedPatches = append(v.report.RecommendedPatches, p)
	v.byTarget[key] = p.Id
	return p.Id
}

// rewrite recommends another text at a path; several rules may change the same text,
// one after the other, and one patch has it all.
func (v *validation) rewrite(path, old string, do func(string) string) string {
	e := v.edits[path]
	if e == nil {
		e = &rewriting{old: old, now: old}
	}
	now := do(e.now)
	if now == e.now || strings.TrimSpace(now) == "" || v.excluded(now) && !v.excluded(e.now) {
		return e.id
	}
	if e.now = now; e.id == "" {
		e.id = v.patch(path, "replace", now)
		v.edits[path] = e
	}
	return e.id
}

// excluded reports whether a text has a phrase that the outline wants left out.
func (v *validation) excluded(s string) bool {
	return slices.ContainsFunc(v.Outline.GetConstraints().GetExclude(), func(phrase string) bool {
		return strings.Contains(strings.ToLower(s), strings.ToLower(phrase))
	})
}

// unlike takes back the edits of headings after which one would stand there twice that
// does not now.
func (v *validation) unlike() {
	now := v.headings()
	twice := len(v.twins(now))
	for i := range now {
		e := v.edits[now[i].path]
		if e == nil {
			continue
		}
		old := now[i].text
		if now[i].text = e.now; len(v.twins(now)) <= twice {
			continue
		}
		now[i].text = old
		delete(v.edits, now[i].path)
		v.report.RecommendedPatches = slices.DeleteFunc(v.report.RecommendedPatches, func(p *loomv1.Patch) bool { return p.Id == e.id })
		for _, f := range v.report.Findings {
			if f.Patch == e.id {
				f.Patch = ""
			}
		}
	}
}

// finish writes the texts that were gathered into their patches, and the verdict.
func (v *validation) finish() {
	v.unlike()
	for _, path := range slices.Sorted(maps.Keys(v.edits)) {
		e := v.edits[path]
		for _, p := range v.report.RecommendedPatches {
			if p.Id == e.id {
				p.Value = structpb.NewStringValue(e.now)
			}
		}
	}
	if v.beyond > 0 {
		v.report.Findings = append(v.report.Findings, &loomv1.ReviewFinding{Rule: "review/limit", Severity: "info", Message: fmt.Sprintf("%d more findings are left out", v.beyond)})
	}
	v.report.Severity = severities[v.worst]
	block := v.report.Severity == "error"
	v.report.BlockCommit = &block
}

// bound is a parameter of the rule, or what it is by itself.
func bound(p *float64, standard float64) float64 {
	if p == nil {
		return standard
	}
	return *p
}

// Metrics are a report's figures, as a record keeps them.
func Metrics(r *loomv1.ReviewReport) *loomv1.ReviewMetrics {
	warnings := int32(len(r.GetChecks().GetStructure().GetWarnings()))
	findings := int32(len(r.GetFindings()))
	m := &loomv1.ReviewMetrics{StructureWarnings: &warnings, Findings: &findings}
	if s := r.GetChecks().GetReadability().GetScore(); r.GetChecks().GetReadability() != nil && r.Checks.Readability.Score != nil {
		m.Readability = &s
	}
	return m
}
