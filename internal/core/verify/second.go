package verify

import (
	"fmt"
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a second judge says of quotations: that they show what is claimed, that they say
// the opposite, or neither.
const (
	shows   = "shows"
	opinion = shows + " | contradicts | neither"
)

// SecondFields returns the outcome fields of a second judge: one of its words for each
// question to the first, "" where it is not asked, and why.
func SecondFields(questions []Question) map[string]string {
	fields := map[string]string{}
	for _, q := range questions {
		fields[q.Field], fields[q.Evidence] = opinion, "string"
	}
	return fields
}

// Cited is a question that a verifier said yes to, with the quotations by which it did.
type Cited struct {
	Question
	Quotations []Quotation
}

// Quotation is what a verifier has copied, and the files that have it; none for what was
// said.
type Quotation struct {
	Text  string
	Files []string
}

// Quoted returns the questions that a verifier said yes to by quotations that are in the
// files, with nothing else of its evidence. What has nothing to quote is not among them.
func Quoted(questions []Question, answers map[string]any, e *Evidence) (list []Cited) {
	for _, q := range questions {
		holds, _ := answers[q.Field].(bool)
		words, _ := answers[q.Evidence].(string)
		ev := e.of(q)
		if !holds || ev.Wrong(true, words) != "" {
			continue
		}
		if quoted := ev.quotations(words); len(quoted) > 0 {
			list = append(list, Cited{q, quoted})
		}
	}
	return list
}

// quotations are the parts of evidence that stand in a text; without quotation marks,
// the whole of it.
func (e *Evidence) quotations(words string) (list []Quotation) {
	cited, _, _ := e.cited(true, words)
	if len(cited) == 0 {
		cited = []quotation{{text: strings.TrimSpace(words)}}
	}
	for _, q := range cited {
		in := q.in
		if len(in) == 0 {
			in = e.own
		}
		if !slices.ContainsFunc(in, func(s *source) bool { return s.has(q.text) || s.unread }) {
			continue
		}
		found := Quotation{Text: q.text}
		for _, s := range in {
			if (s.has(q.text) || s.unread) && s.name != InOutput {
				found.Files = append(found.Files, s.name)
			}
		}
		list = append(list, found)
	}
	return list
}

// Seconded says what became of questions about whose evidence a second judge was asked.
// Where it does not see in the quotations what the verifier saw, nobody has judged: the
// question is among the disputed, too.
func Seconded(asked []Cited, answers map[string]any) (judged []*loomv1.JudgedRule, disputed []Unproven) {
	for _, c := range asked {
		said, _ := answers[c.Field].(string)
		why, _ := answers[c.Evidence].(string)
		if said == shows {
			judged = append(judged, judgedRule(c.Phase, c.Rule, held, 2, fmt.Sprintf("%q; a second judge agrees: %s", c.Quotations[0].Text, why)))
			continue
		}
		if said == "" {
			said = "nothing"
		}
		u := Unproven{c.Question, fmt.Sprintf("of %q a second judge says %s: %s", c.Quotations[0].Text, said, why)}
		disputed = append(disputed, u)
		judged = append(judged, judgedRule(c.Phase, c.Rule, notJudged, 0, u.Why))
	}
	return judged[:min(len(judged), maxJudged)], disputed
}

// Became is what became of a rule in a phase, and the node that says so.
type Became struct {
	*loomv1.JudgedRule
	Node *loomv1.NodeDefinition
}

// BecameOf lists what became of the rules and criteria of an execution's process, phase by
// phase. What a second judge says takes the place of what the first said; what the files and
// reviewers were held against as well is told of each.
func BecameOf(def *loomv1.Definition, x *loomv1.Execution) (list []Became) {
	for _, n := range def.GetNodes() {
		for _, r := range x.GetNodes()[n.Id].GetOutcome().GetJudged() {
			of := slices.IndexFunc(list, func(b Became) bool {
				return n.GetPhase().GetPart() == loomv1.PhasePart_PHASE_PART_SECOND && b.Node.Phase.Part == loomv1.PhasePart_PHASE_PART_CHECK && b.Phase == r.Phase && b.Rule == r.Rule
			})
			if of >= 0 {
				list[of] = Became{r, n}
				continue
			}
			list = append(list, Became{r, n})
		}
	}
	return list
}
