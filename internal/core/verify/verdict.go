package verify

import (
	"fmt"
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxJudged is how many rules a verifier is asked about in one phase: each is
// two fields of an outcome, which has at most 32, and the acceptance criteria
// are two more.
const MaxJudged = 15

// Question is what a verifier is asked: a field that says whether it is so, and
// one for the evidence.
type Question struct {
	Field, Evidence string
	Rule            string
	Severity        loomv1.Severity
	Text            string
	Phase           string // that it is about
	Said            bool   // whether it is about what was said, and not about files
}

// acceptance is the question that every phase with acceptance criteria has.
const acceptance = "acceptance"

// Questions returns what the verifier of a phase is asked, in order: whether the
// acceptance criteria are met, then each rule that needs judgment.
func Questions(p *loomv1.Phase, rules []*loomv1.Rule) []Question {
	var list []Question
	if p.GetAcceptanceCriteria() != "" {
		list = append(list, ask(acceptance, acceptance, isError, p.AcceptanceCriteria))
	}
	for _, r := range Judged(rules, p.GetOf()) {
		if len(list) > MaxJudged {
			break
		}
		q := ask(field(r.Name, list), r.Name, severity(r), r.Check)
		q.Said = r.Target == InOutput
		list = append(list, q)
	}
	for i := range list {
		list[i].Phase = p.GetOf()
	}
	return list
}

func ask(name, rule string, s loomv1.Severity, text string) Question {
	return Question{Field: name, Evidence: name + "_evidence", Rule: rule, Severity: s, Text: strings.TrimSpace(text)}
}

// field is a rule's name as an outcome field, where that is possible and not
// taken.
func field(name string, taken []Question) string {
	f := strings.ReplaceAll(name, "-", "_") + "_ok"
	used := slices.ContainsFunc(taken, func(q Question) bool { return q.Field == f })
	if used || len(f) > 23 || f[0] < 'a' || f[0] > 'z' {
		return fmt.Sprintf("rule_%d", len(taken)+1)
	}
	return f
}

// Fields returns the outcome fields that questions need.
func Fields(questions []Question) map[string]string {
	fields := map[string]string{}
	for _, q := range questions {
		fields[q.Field], fields[q.Evidence] = "bool", "string"
	}
	return fields
}

// Verdict counts a verifier's answers: what is not so, or is said to be so
// without evidence, is found.
func Verdict(questions []Question, answers map[string]any) []Finding {
	var found []Finding
	for _, q := range questions {
		ok, _ := answers[q.Field].(bool)
		why, _ := answers[q.Evidence].(string)
		why = strings.TrimSpace(why)
		switch {
		case !ok && why == "":
			why = "it is not so, and no evidence was given"
		case !ok:
		case why == "":
			why = "it is said to be so without evidence"
		default:
			continue
		}
		found = append(found, Finding{Rule: q.Rule, Severity: q.Severity, Text: why, Phase: q.Phase, Tier: 2})
	}
	return found
}

// Errors returns the findings that make a phase fail.
func Errors(found []Finding) []Finding {
	var list []Finding
	for _, f := range found {
		if f.Severity == isError {
			list = append(list, f)
		}
	}
	return list
}

// Bounds of the rules that an outcome names: how many, and bytes of a name.
const (
	maxBroken = 64
	maxRule   = 128
)

// Broken counts findings by phase, rule, tier and severity, in the order in which
// the first of each was found; of at most 64 rules.
func Broken(found []Finding) []*loomv1.BrokenRule {
	var list []*loomv1.BrokenRule
	for _, f := range found {
		f.Rule = strings.ToValidUTF8(f.Rule[:min(len(f.Rule), maxRule)], "")
		i := slices.IndexFunc(list, func(b *loomv1.BrokenRule) bool {
			return b.Phase == f.Phase && b.Rule == f.Rule && b.Tier == f.Tier && b.Severity == f.Severity
		})
		switch {
		case i >= 0:
			list[i].Count++
		case len(list) < maxBroken:
			list = append(list, &loomv1.BrokenRule{Phase: f.Phase, Rule: f.Rule, Tier: f.Tier, Severity: f.Severity, Count: 1})
		}
	}
	return list
}

// VotedDown is what is found of a phase when reviewers did not find it sound.
func VotedDown(phase, why string) []Finding {
	return []Finding{{Rule: "review", Severity: isError, Text: why, Phase: phase, Tier: 3}}
}

// Text lists findings for people and models, one a line, at most 50.
func Text(found []Finding) string {
	var b strings.Builder
	for i, f := range found {
		if i == 50 {
			fmt.Fprintf(&b, "and %d more\n", len(found)-i)
			break
		}
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

// String is the finding in one line: what, where, why.
func (f Finding) String() string {
	word := "warning"
	if f.Severity == isError {
		word = "error"
	}
	where := f.File
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	if where != "" {
		where = " " + where
	}
	return fmt.Sprintf("%s %s%s: %s", word, f.Rule, where, strings.Join(strings.Fields(f.Text), " "))
}

// Review is one reviewer's vote.
type Review struct {
	Reviewer  string
	Sound     bool
	Objection string
}

// Count says whether most of the reviewers who voted found the work sound. A
// tie is not enough, and without any vote nothing was shown.
func Count(votes []Review) (sound bool, why string) {
	good := 0
	var objections []string
	for _, v := range votes {
		if v.Sound {
			good++
		} else {
			objections = append(objections, v.Reviewer+": "+v.Objection)
		}
	}
	why = fmt.Sprintf("%d of %d reviewers found it sound", good, len(votes))
	if len(objections) > 0 {
		why += "\n" + strings.Join(objections, "\n")
	}
	return 2*good > len(votes), why
}
