package verify

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	isError   = loomv1.Severity_SEVERITY_ERROR
	isWarning = loomv1.Severity_SEVERITY_WARNING

	regex = loomv1.RuleType_RULE_TYPE_REGEX
	table = loomv1.RuleType_RULE_TYPE_TABLE
)

// Targets that are not globs.
const (
	InDeliverables = "deliverables"
	InOutput       = "output"
)

// maxPattern is the size of a pattern in bytes, and maxFound how often a rule
// speaks of one file.
const (
	maxPattern = 512
	maxFound   = 5
)

func pattern(text string) (*regexp.Regexp, error) {
	if len(text) > maxPattern {
		return nil, fault.New("process/rule", "the pattern has %d bytes, more than %d", len(text), maxPattern)
	}
	p, err := regexp.Compile(text)
	if err != nil {
		return nil, fault.New("process/rule", "the pattern does not compile: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: ")).
			Got(text).Want("the syntax is RE2: no look-around and no back-references")
	}
	return p, nil
}

// Applies says whether a rule is about a phase.
func Applies(r *loomv1.Rule, phase string) bool {
	return len(r.Phases) == 0 || slices.Contains(r.Phases, phase)
}

// Judged returns the rules about a phase that need a verifier's judgment.
func Judged(rules []*loomv1.Rule, phase string) []*loomv1.Rule {
	var list []*loomv1.Rule
	for _, r := range rules {
		if !Deterministic(r) && Applies(r, phase) {
			list = append(list, r)
		}
	}
	return list
}

// NeedsJudge says whether somebody must judge a phase, whatever its tier: a rule of
// severity error is about what it delivers or says, and only judgment can tell.
func NeedsJudge(id string, p *loomv1.Phase, rules []*loomv1.Rule) bool {
	return slices.ContainsFunc(Judged(rules, id), func(r *loomv1.Rule) bool { return severity(r) == isError && About(r, id, p) })
}

// About says whether a rule has something to be held against in a phase: what it says, or
// a deliverable. A judge who is sent to a phase by its name judges its change, too.
func About(r *loomv1.Rule, id string, p *loomv1.Phase) bool {
	named := !Deterministic(r) && len(r.Phases) > 0 && (r.Target == "" || r.Target == InDeliverables)
	return Applies(r, id) && (r.Target == InOutput || named || len(Aimed(r, p)) > 0)
}

// Aimed returns the deliverables of a phase that a rule's target means.
func Aimed(r *loomv1.Rule, p *loomv1.Phase) (names []string) {
	for _, d := range Deliverables(p) {
		if r.Target != InOutput && aimedAt(r.Target, d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

// Tested says for whoever does the work what of it a rule is held against, and how.
func Tested(r *loomv1.Rule) string {
	in := "the deliverables"
	switch r.Target {
	case "", InDeliverables:
	case InOutput:
		in = "what you say"
	default:
		in = r.Target
	}
	k := kindOfRule(r)
	switch {
	case k == nil || k.look == nil:
		return strings.TrimSpace(r.Check)
	case r.Type == regex && r.Wanted:
		return fmt.Sprintf("tested: a line of %s matches `%s`", in, r.Check)
	case r.Type == regex:
		return fmt.Sprintf("tested: no line of %s matches `%s`", in, r.Check)
	case r.Type == table && len(r.With.GetFields()) == 0:
		return fmt.Sprintf("tested: `%s` for each row of %s", r.Check, in)
	}
	text := fmt.Sprintf("tested in %s: %s", in, k.About)
	if with := k.spell(toldOf(r)); with != "" {
		text += " (" + with + ")"
	}
	if strings.TrimSpace(r.Check) != "" {
		text += fmt.Sprintf("; `%s`", r.Check)
	}
	return text
}

// Deterministic says whether a rule needs no judgment.
func Deterministic(r *loomv1.Rule) bool {
	k := kindOfRule(r)
	return k != nil && k.look != nil
}

// Phase returns what is wrong with what a phase has delivered: promised files
// first, whether each is what its name says, then the rules that need no judgment, in
// their order. Files are looked at in files; output is what the outcome says.
func Phase(files fs.FS, id string, p *loomv1.Phase, rules []*loomv1.Rule, output string, run Run) []Finding {
	var found []Finding
	var there []*content
	for _, d := range Deliverables(p) {
		data, f := delivered(files, d)
		if f != nil {
			found = append(found, *f)
			continue
		}
		c := lookInto(d.Name, data)
		found = append(found, c.wrong...)
		there = append(there, c)
	}
	for _, r := range rules {
		if Applies(r, id) {
			found = append(found, examine(r, there, output, files, run)...)
		}
	}
	for i := range found {
		found[i].Phase, found[i].Tier = id, 1
	}
	return found
}

// unseen is how a finding begins that is about what could not be looked into.
const unseen = "not looked at: "

func unsound(found []Finding) bool { return len(Errors(found)) > 0 }

// aimedAt says whether a target means a deliverable.
func aimedAt(target, name string) bool {
	if target == "" || target == InDeliverables {
		return true
	}
	whole, _ := path.Match(target, name)
	base, _ := path.Match(target, path.Base(name))
	return whole || base
}

// search looks for a pattern line by line.
func search(r *loomv1.Rule, name, text string) []Finding {
	p, err := pattern(r.Check)
	if err != nil {
		return []Finding{{Rule: r.Name, Severity: severity(r), File: name, Text: fault.From(err).Message}}
	}
	var found []Finding
	n := 0
	for line := range strings.Lines(text) {
		n++
		at := p.FindString(strings.TrimRight(line, "\r\n"))
		switch {
		case at == "":
			continue
		case r.Wanted:
			return nil
		case len(found) < maxFound:
			found = append(found, Finding{Rule: r.Name, Severity: severity(r), File: name, Line: n, Text: fmt.Sprintf("%s: found %q", about(r), short(at))})
		}
	}
	if r.Wanted {
		return []Finding{{Rule: r.Name, Severity: severity(r), File: name, Text: fmt.Sprintf("%s: nothing there matches %s", about(r), r.Check)}}
	}
	return found
}

func severity(r *loomv1.Rule) loomv1.Severity {
	if r.Severity == isError {
		return isError
	}
	return isWarning
}

func about(r *loomv1.Rule) string {
	if r.Description != "" {
		return r.Description
	}
	return r.Name
}

// short is evidence as people read it.
func short(s string) string {
	r := []rune(s)
	if len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return s
}
