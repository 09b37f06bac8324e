package intent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Validate returns what META validation finds in an envelope, in the order of
// the rules; the findings that block come with a revision or not at all. The
// rules are
//
//   - complete/FIELD: a field has no quotation, or one that says nothing ("I don't
//     know"). It blocks for goal and success;
//   - consistent/contradiction: two constraints, or one and the goal, the scope or a
//     criterion, ask for opposite things: a bound from above that is below one from
//     below, or the same thing demanded and forbidden. It blocks;
//   - consistent/scope: what the scope leaves out is in the goal. It blocks;
//   - consistent/criterion: a success criterion consists of words that nobody can
//     judge by ("good", "schön"). It blocks where all do;
//   - possible/role, possible/tool, possible/budget: what the pattern needs is not
//     at hand. They block.
//
// Rules about words know English and German; of other languages they find
// nothing.
func Validate(e *loomv1.IntentEnvelope, p *loomv1.Pattern, means *loomv1.IntentMeans) []*loomv1.IntentFinding {
	m := &meta{envelope: e}
	m.complete()
	m.contradictions()
	m.scope()
	m.criteria()
	m.possible(p, means)
	return m.found
}

// Blocks says whether work must not begin.
func Blocks(findings []*loomv1.IntentFinding) bool {
	return slices.ContainsFunc(findings, (*loomv1.IntentFinding).GetBlocks)
}

type meta struct {
	envelope *loomv1.IntentEnvelope
	loosely  bool // see bound.sameUnit
	found    []*loomv1.IntentFinding
}

func (m *meta) find(rule string, blocks bool, field loomv1.IntentField, format string, args ...any) {
	m.found = append(m.found, &loomv1.IntentFinding{Rule: rule, Blocks: blocks, Field: field, Text: fmt.Sprintf(format, args...)})
}

var nothing = lazy.Compile(`(?i)^\W*(?:(?:i|we) (?:dont|don['’]t|do not) know(?: yet)?|no idea|not sure|tbd|to be (?:decided|determined)|keine ahnung|wei(?:ß|ss) (?:ich )?(?:noch )?nicht|(?:ich )?wei(?:ß|ss) (?:es )?(?:noch )?nicht|egal|whatever|\?*)\W*$`)

func (m *meta) complete() {
	for _, f := range Fields {
		said := slices.ContainsFunc(Quotations(m.envelope, f), func(q *loomv1.Quotation) bool { return !nothing.MatchString(q.GetText()) })
		if !said {
			m.find("complete/"+FieldName(f), f == Goal || f == Success, f, "nothing is said about %s", FieldName(f))
		}
	}
}

// bound is a limit that a text sets to a number of something: of the next words of the
// text, else of what the question is about that it answers.
type bound struct {
	n     float64
	units vocabulary
	upper bool
	text  string
}

// sameUnit says whether bounds are of the same thing. One that says of nothing is, where they
// are held loosely, of anything.
func (b bound) sameUnit(o bound, loosely bool) bool {
	if len(b.units) == 0 || len(o.units) == 0 {
		return loosely
	}
	return shared(b.units, o.units) != ""
}

// numerals are the number words that bounds are told in.
var numerals = func() map[string]float64 {
	all := map[string]float64{}
	for n, names := range map[float64]string{
		1: "one a an ein eine einen einem einer eins", 2: "two zwei", 3: "three drei", 4: "four vier", 5: "five fünf", 6: "six sechs", 7: "seven sieben", 8: "eight acht",
		9: "nine neun", 10: "ten zehn", 11: "eleven elf", 12: "twelve zwölf dozen dutzend", 13: "thirteen dreizehn", 14: "fourteen vierzehn", 15: "fifteen fünfzehn",
		16: "sixteen sechzehn", 17: "seventeen siebzehn", 18: "eighteen achtzehn", 19: "nineteen neunzehn", 20: "twenty zwanzig", 30: "thirty dreißig", 40: "forty vierzig",
		50: "fifty fünfzig", 60: "sixty sechzig", 70: "seventy siebzig", 80: "eighty achtzig", 90: "ninety neunzig", 100: "hundred hundert", 1000: "thousand tausend",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = n
		}
	}
	return all
}()

// number reads digits, or a number word.
func number(s string) (float64, bool) {
	if n, ok := numerals[strings.ToLower(s)]; ok {
		return n, true
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", "."), 64)
	return n, err == nil
}

var (
	atMost  = lazy.Compile(`(?i)\b(?:at most|no more than|not more than|up to|maximum(?: of)?|max\.?|under|below|fewer than|less than|within|höchstens|maximal|nicht mehr als|bis zu|unter|weniger als)\s+(\d+(?:[.,]\d+)?|\pL+)((?:\s*\pL[\pL-]*){0,2})`)
	atLeast = lazy.Compile(`(?i)\b(?:at least|no (?:less|fewer) than|not (?:less|fewer) than|minimum(?: of)?|min\.?|more than|over|above|mindestens|wenigstens|nicht weniger als|mehr als|über)\s+(\d+(?:[.,]\d+)?|\pL+)((?:\s*\pL[\pL-]*){0,2})`)
	forbids = lazy.Compile(`(?i)(?:\b(?:no|without|never|not(?: use| contain| mention| include)?|avoid|exclude|excluding|except|kein(?:e|en|er|em)?|ohne|nie|nicht|außer|vermeiden?)\s+)((?:\pL[\pL-]*\s?){1,3})`)
	// What a redirect may also say to the same effect.
	drops   = lazy.Compile(`(?i)(?:\b(?:nothing (?:in|on|about|of)|leave out|drop|skip|omit|forget|ignore|nichts (?:in|über|zu|von)|vergiss|vergesst|ignoriere?t?|streiche?|lass(?:e|t)?)\s+)((?:\pL[\pL-]*\s?){1,3})`)
	notLast = lazy.Compile(`(?i)((?:\pL[\pL-]*\s+){1,3})nicht[.!]?$`)
	demands = lazy.Compile(`(?i)(?:\b(?:must (?:use|contain|mention|include|have|be)|has to (?:use|contain|be)|needs?|with|include|muss (?:enthalten|haben|sein)?|mit|braucht|enthält)\s+)((?:\pL[\pL-]*\s?){1,3})`)
)

func (m *meta) bounds(q *loomv1.Quotation) (found []bound) {
	text := q.GetText()
	take := func(re *lazy.Regexp, isUpper bool) {
		for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
			before := strings.ToLower(strings.TrimRight(text[:at[0]], " "))
			negated := strings.HasSuffix(before, " no") || strings.HasSuffix(before, "not") || strings.HasSuffix(before, "nicht") || before == "no"
			n, isNumber := number(text[at[2]:at[3]])
			if !isNumber || negated {
				continue
			}
			units := content(text[at[4]:at[5]])
			if len(units) == 0 {
				units = content(answerOf(m.envelope.GetAnswers(), q.GetAnswer()).GetQuestion())
			}
			found = append(found, bound{n, units, isUpper, text})
		}
	}
	take(atMost, true)
	take(atLeast, false)
	return found
}

// content are the words of a text that name something.
func content(text string) vocabulary {
	v := vocabulary{}
	for _, w := range tokens(text) {
		low := strings.ToLower(w)
		if !lexicons["en"].stop[low] && !lexicons["de"].stop[low] && len(low) > 2 {
			v[stem(low)] = true
		}
	}
	return v
}

func named(re *lazy.Regexp, text string) vocabulary {
	v := vocabulary{}
	for _, found := range re.FindAllStringSubmatch(text, -1) {
		for w := range content(found[1]) {
			v[w] = true
		}
	}
	return v
}

func shared(a, b vocabulary) string {
	var all []string
	for w := range a {
		if b[w] {
			all = append(all, w)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (m *meta) contradictions() {
	var limits []bound
	rules := slices.Concat(m.envelope.GetConstraints(), m.envelope.GetScope(), m.envelope.GetGoal(), m.envelope.GetSuccess())
	for _, q := range rules {
		limits = append(limits, m.bounds(q)...)
	}
	for _, hi := range limits {
		for _, lo := range limits {
			if hi.upper && !lo.upper && hi.sameUnit(lo, m.loosely) && hi.n < lo.n {
				m.find("consistent/contradiction", true, Constraints, "%q and %q cannot both hold", cut(hi.text), cut(lo.text))
			}
		}
	}
	for i, a := range rules {
		for j, b := range rules {
			if i == j || i >= len(m.envelope.GetConstraints()) {
				continue
			}
			if words := shared(named(forbids, a.GetText()), named(demands, b.GetText())); words != "" && shared(named(forbids, a.GetText()), named(forbids, b.GetText())) == "" {
				m.find("consistent/contradiction", true, Constraints, "%q forbids what %q demands", cut(a.GetText()), cut(b.GetText()))
			}
		}
	}
}

// cut shortens a person's words for a finding.
func cut(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}

func (m *meta) scope() {
	for _, s := range m.envelope.GetScope() {
		out := named(forbids, s.GetText())
		for _, g := range m.envelope.GetGoal() {
			in := content(g.GetText())
			for w := range named(forbids, g.GetText()) {
				delete(in, w)
			}
			if words := shared(out, in); words != "" {
				m.find("consistent/scope", true, Scope, "%q leaves out what the goal %q is about", cut(s.GetText()), cut(g.GetText()))
			}
		}
	}
}

var vague = words("good nice great fine better best beautiful cool interesting useful perfect excellent well gut gute guter gutes schön besser toll prima interessant perfekt super should must wants want like result work output text ergebnis")

func (m *meta) criteria() {
	all := m.envelope.GetSuccess()
	var bad []*loomv1.Quotation
	for _, q := range all {
		judged := false
		for w := range content(q.GetText()) {
			judged = judged || !vague.has(w)
		}
		if !judged && !nothing.MatchString(q.GetText()) {
			bad = append(bad, q)
		}
	}
	for _, q := range bad {
		m.find("consistent/criterion", len(bad) == len(all), Success, "nobody can judge by %q", cut(q.GetText()))
	}
}

func (m *meta) possible(p *loomv1.Pattern, means *loomv1.IntentMeans) {
	lacking := func(rule string, need, have []string, what string) {
		var seen []string
		for _, n := range need {
			if !slices.Contains(have, n) && !slices.Contains(seen, n) {
				seen = append(seen, n)
				m.find(rule, true, 0, "%s %q is not at hand", what, n)
			}
		}
	}
	var roles []string
	for _, s := range p.GetSteps() {
		roles = append(roles, s.GetRole())
	}
	lacking("possible/role", roles, means.GetRoles(), "role")
	lacking("possible/tool", p.GetRequiredTools(), means.GetTools(), "tool")
	if means.GetLimited() && means.GetBudgetMicroUsd() <= 0 {
		m.find("possible/budget", true, 0, "nothing is left of the budget")
	}
}
