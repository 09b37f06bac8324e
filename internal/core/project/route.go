package project

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Limits of routing rules.
const (
	MaxRoutes     = 200 // rules
	MaxPattern    = 63  // characters of a pattern, without its stars
	maxMatched    = 16  // attributes that one rule can ask for
	maxStatus     = 599
	maxPatternLen = 256 // bytes of a pattern
)

// Routes returns the rules that a project's error reports go by: its own, else
// the built-in ones. They are not to be changed.
func Routes(c *loomv1.ProjectConfig) []*loomv1.Route {
	if len(c.GetRoutes()) > 0 {
		return c.GetRoutes()
	}
	return builtinRoutes
}

// RouteOf returns the first rule that a report matches and its place among
// them, or nil and -1. It takes time linear in the report for each rule.
func RouteOf(rules []*loomv1.Route, r *loomv1.ErrorReport) (*loomv1.Route, int) {
	for i, rule := range rules {
		if matches(rule, r) {
			return rule, i
		}
	}
	return nil, -1
}

func matches(rule *loomv1.Route, r *loomv1.ErrorReport) bool {
	if r.Status < rule.StatusFrom || rule.StatusTo != 0 && r.Status > rule.StatusTo {
		return false
	}
	for name, pattern := range rule.Attributes { // in any order: all must match
		if value, ok := r.Attributes[name]; !ok || !Glob(pattern, value) {
			return false
		}
	}
	return Glob(rule.Service, r.Service) && Glob(rule.Kind, r.Kind) && Glob(rule.Message, r.Message)
}

// Glob says whether a text matches a pattern as a whole, in any case: "*"
// stands for any text, "?" for one character, and an empty pattern matches
// everything. A pattern of over [MaxPattern] characters matches nothing.
//
// Each character of the text costs the same few steps, whatever the pattern: a
// bit for each place in the pattern says whether the text so far leads there.
func Glob(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	p, ok := parseGlob(pattern)
	if !ok {
		return false
	}
	at := uint64(1)
	for _, r := range text {
		at = (at&(p.any|p.on[unicode.ToLower(r)]))<<1 | at&p.stars
		if at == 0 {
			return false
		}
	}
	return at&(1<<p.end) != 0
}

// glob is a pattern: bits of the places that a character leads on from, and of
// those that any text leads back to.
type glob struct {
	on         map[rune]uint64
	any, stars uint64
	end        int
}

func parseGlob(pattern string) (glob, bool) {
	g := glob{on: map[rune]uint64{}}
	for _, r := range pattern {
		switch {
		case r == '*':
			g.stars |= 1 << g.end
			continue
		case g.end == MaxPattern:
			return g, false
		case r == '?':
			g.any |= 1 << g.end
		default:
			g.on[unicode.ToLower(r)] |= 1 << g.end
		}
		g.end++
	}
	return g, true
}

// checkRoutes returns all that is wrong with rules.
func checkRoutes(rules []*loomv1.Route) []*fault.Error {
	if len(rules) > MaxRoutes {
		return problem(fault.New("route/invalid", "%d rules, the most is %d", len(rules), MaxRoutes).At("routes"))
	}
	var errs []*fault.Error
	for i, r := range rules {
		for _, w := range checkRoute(r) {
			errs = append(errs, w.err.At(strings.TrimSuffix(fmt.Sprintf("routes[%d].%s", i, w.key), ".")))
		}
	}
	return errs
}

// wrong is a problem of one key of a rule.
type wrong struct {
	key string
	err *fault.Error
}

// checkRoute returns all that is wrong with a rule.
func checkRoute(r *loomv1.Route) []wrong {
	var all []wrong
	add := func(key string, e *fault.Error) { all = append(all, wrong{key, e}) }
	for _, p := range []wrong{{"service", checkGlob(r.GetService())}, {"kind", checkGlob(r.GetKind())}, {"message", checkGlob(r.GetMessage())}} {
		if p.err != nil {
			all = append(all, p)
		}
	}
	if len(r.GetAttributes()) > maxMatched {
		add("attributes", fault.New("route/invalid", "%d attributes, the most is %d", len(r.GetAttributes()), maxMatched))
	}
	for _, name := range sortedKeys(r.GetAttributes()) {
		if e := checkGlob(r.Attributes[name]); e != nil {
			add("attributes."+name, e)
		}
	}
	from, to := r.GetStatusFrom(), r.GetStatusTo()
	if from < 0 || to < 0 || from > maxStatus || to > maxStatus || to != 0 && to < from {
		add("status_from", fault.New("route/invalid", "statuses from %d to %d; they are 0 to %d", from, to, maxStatus))
	}
	for _, name := range []wrongToken{{"assignee", r.GetAssignee()}, {"process", r.GetProcess()}} {
		if _, err := subject.Parse(name.key, name.value); name.value != "" && err != nil {
			add(name.key, fault.From(err))
		}
	}
	if _, known := loomv1.Priority_name[int32(r.GetPriority())]; !known {
		add("priority", fault.New("route/invalid", "priority %d is not known", r.GetPriority()).Want("urgent, normal or low"))
	}
	for _, e := range checkLabels(nil, &loomv1.Bead{Labels: r.GetLabels()}) {
		add(e.Where, e)
	}
	if r.GetIgnore() && (r.GetAssignee() != "" || r.GetProcess() != "" || r.GetPriority() != 0 || len(r.GetLabels()) > 0) {
		add("ignore", fault.New("route/invalid", "a rule that ignores a report says nothing of its bead"))
	}
	return all
}

type wrongToken struct{ key, value string }

func checkGlob(pattern string) *fault.Error {
	switch {
	case len(pattern) > maxPatternLen || !utf8.ValidString(pattern):
		return fault.New("route/invalid", "the pattern has %d bytes, the most is %d of UTF-8", len(pattern), maxPatternLen)
	case utf8.RuneCountInString(strings.ReplaceAll(pattern, "*", "")) > MaxPattern:
		return fault.New("route/invalid", "the pattern has more than %d characters beside its stars", MaxPattern).Got(pattern)
	}
	return nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
