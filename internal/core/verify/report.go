package verify

import (
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of what an outcome says of rules: how many, and bytes of evidence.
const (
	maxJudged   = 64
	MaxEvidence = 240
)

const (
	held      = loomv1.RuleState_RULE_STATE_HELD
	broken    = loomv1.RuleState_RULE_STATE_BROKEN
	notJudged = loomv1.RuleState_RULE_STATE_NOT_JUDGED
)

// Report says what became of each rule that a phase is held against, after a look at its
// files that has found so much. Rules that need judgment are left to the verifier, if the
// phase has one: who then says what became of them.
func Report(id string, p *loomv1.Phase, rules []*loomv1.Rule, found []Finding, verifier bool) (list []*loomv1.JudgedRule) {
	add := func(rule string, state loomv1.RuleState, tier uint32, evidence string) {
		list = append(list, judgedRule(id, rule, state, tier, evidence))
	}
	for _, own := range []string{promised, formatRule} {
		if state, why := stateOf(own, found); len(Deliverables(p)) > 0 || state == broken {
			add(own, state, 1, why)
		}
	}
	for _, r := range rules {
		switch {
		case !Applies(r, id):
		case Deterministic(r) && !About(r, id, p):
			if len(r.Phases) > 0 {
				add(r.Name, notJudged, 0, "the phase delivers no file that it is aimed at")
			}
		case Deterministic(r):
			state, why := stateOf(r.Name, found)
			add(r.Name, state, 1, why)
		case !verifier && About(r, id, p):
			add(r.Name, notJudged, 0, "the phase has no verifier")
		}
	}
	if !verifier && p.GetAcceptanceCriteria() != "" {
		add(acceptance, notJudged, 0, "the phase has no verifier")
	}
	return list[:min(len(list), maxJudged)]
}

// stateOf is what findings say of a rule.
func stateOf(rule string, found []Finding) (state loomv1.RuleState, why string) {
	state = held
	for _, f := range found {
		if f.Rule != rule {
			continue
		}
		_, text, _ := strings.Cut(f.String(), " "+rule)
		text = strings.TrimPrefix(strings.TrimSpace(text), ": ")
		if strings.HasPrefix(f.Text, unseen) {
			if state == held {
				state, why = notJudged, text
			}
			continue
		}
		if state != broken {
			state, why = broken, text
		}
	}
	return state, why
}

// Judgments says what became of each question to a verifier.
func Judgments(questions []Question, answers map[string]any, unproven []Unproven) (list []*loomv1.JudgedRule) {
	for _, q := range questions {
		state, tier := broken, uint32(2)
		if ok, _ := answers[q.Field].(bool); ok {
			state = held
		}
		words, _ := answers[q.Evidence].(string)
		if i := slices.IndexFunc(unproven, func(u Unproven) bool { return u.Field == q.Field }); i >= 0 {
			state, tier, words = notJudged, 0, "the verifier's evidence does not count: "+unproven[i].Why
		}
		list = append(list, judgedRule(q.Phase, q.Rule, state, tier, words))
	}
	return list[:min(len(list), maxJudged)]
}

// VotedOn says what became of a vote of reviewers.
func VotedOn(phase string, sound bool, why string) []*loomv1.JudgedRule {
	state := broken
	if sound {
		state = held
	}
	return []*loomv1.JudgedRule{judgedRule(phase, "review", state, 3, why)}
}

func judgedRule(phase, rule string, state loomv1.RuleState, tier uint32, evidence string) *loomv1.JudgedRule {
	evidence = strings.Join(strings.Fields(evidence), " ")
	if len(evidence) > MaxEvidence {
		evidence = strings.ToValidUTF8(evidence[:MaxEvidence-len("…")], "") + "…"
	}
	return &loomv1.JudgedRule{Phase: phase, Rule: rule, State: state, Tier: tier, Evidence: strings.ToValidUTF8(evidence, "")}
}
