package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func reported(list []*loomv1.JudgedRule) (lines []string) {
	for _, r := range list {
		state := strings.ToLower(strings.TrimPrefix(r.State.String(), "RULE_STATE_"))
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", r.Rule, state, r.Tier, r.Evidence)))
	}
	return lines
}

// Of each rule and criterion it is said what became of it, by whom, and why.
func TestPROC05_ReportOfRules(t *testing.T) {
	phase := &loomv1.Phase{Deliverables: []string{"a.md", "b.pdf"}, AcceptanceCriteria: "Good."}
	files := fstest.MapFS{"a.md": {Data: []byte("[TBD]\nhttps://a\n")}, "b.pdf": {Data: []byte(soundPDF)}}
	rules := []*loomv1.Rule{
		{Name: "no-placeholders", Type: regex, Check: `TBD`, Target: "*.md", Severity: severe},
		{Name: "sourced", Type: regex, Check: `https://`, Wanted: true, Target: "a.md", Severity: warning},
		{Name: "scanned", Type: regex, Check: "x", Target: "*.pdf", Severity: severe},
		{Name: "balance", Type: table, Check: "row.a > 1.0", Target: "c.csv", Phases: []string{"p"}},
		{Name: "elsewhere", Type: table, Check: "row.a > 1.0", Target: "c.csv"},
		{Name: "other", Type: regex, Check: "x", Phases: []string{"q"}},
		{Name: "clear", Check: "It is clear."},
	}
	found := verify.Phase(files, "p", phase, rules, "", verify.Run{})
	want := []string{
		"deliverables held 1", "format held 1", `no-placeholders broken 1 a.md:1: no-placeholders: found "TBD"`, "sourced held 1",
		"scanned not_judged 1 b.pdf: not looked at: the pdf is damaged: it has no page", "balance not_judged 0 the phase delivers no file that it is aimed at",
	}
	if diff := cmp.Diff(want, reported(verify.Report("p", phase, rules, found, true))); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	alone := append(want, "clear not_judged 0 the phase has no verifier", "acceptance not_judged 0 the phase has no verifier")
	if diff := cmp.Diff(alone, reported(verify.Report("p", phase, rules, found, false))); diff != "" {
		t.Errorf("without a verifier, want -, got +:\n%s", diff)
	}
	questions := verify.Questions(&loomv1.Phase{Of: "p", AcceptanceCriteria: "Good."}, []*loomv1.Rule{{Name: "clear", Check: "It is clear."}, {Name: "new", Check: "It is new."}})
	answers := map[string]any{
		"acceptance": true, "acceptance_evidence": `report.md: "the rent is 900"`, "clear_ok": false, "clear_ok_evidence": "looked for a summary and found none",
		"new_ok": true, "new_ok_evidence": "seen",
	}
	_, unproven := verify.Proven(questions, answers, evidence(t))
	want = []string{`acceptance held 2 report.md: "the rent is 900"`, "clear broken 2 looked for a summary and found none", "new not_judged 0 the verifier's evidence does not count: it quotes nothing"}
	got := reported(verify.Judgments(questions, answers, unproven))
	if len(got) == 3 {
		got[2], _, _ = strings.Cut(got[2], ": copy words")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of the verifier, want -, got +:\n%s", diff)
	}
	vote := verify.VotedOn("p", false, strings.Repeat("ä", 300)+"\xff")[0]
	if len(vote.Evidence) > verify.MaxEvidence || !utf8.ValidString(vote.Evidence) || vote.Tier != 3 {
		t.Errorf("%v", vote)
	}
}

// A rule that found nothing in the part that it looked at is not broken, and not held.
func TestPROC05_APartThatWasNotLookedAtIsNotJudged(t *testing.T) {
	long := strings.Repeat("All is said here.\n", 20_000)
	p := &loomv1.Phase{Deliverables: []string{"notes.md"}}
	rules := []*loomv1.Rule{{Name: "done", Check: "TBD", Type: loomv1.RuleType_RULE_TYPE_REGEX, Severity: severe}}
	for text, want := range map[string]loomv1.RuleState{
		long:             loomv1.RuleState_RULE_STATE_NOT_JUDGED,
		"TBD\n" + long:   loomv1.RuleState_RULE_STATE_BROKEN,
		"All is said.\n": loomv1.RuleState_RULE_STATE_HELD,
	} {
		found := verify.Phase(fstest.MapFS{"notes.md": {Data: []byte(text)}}, "p", p, rules, "", verify.Run{})
		for _, j := range verify.Report("p", p, rules, found, true) {
			if j.Rule == "done" && j.State != want {
				t.Errorf("of %d bytes the rule is %v, want %v: %s", len(text), j.State, want, j.Evidence)
			}
		}
	}
}
