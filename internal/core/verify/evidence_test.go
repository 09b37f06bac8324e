package verify_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func evidence(t testing.TB) *verify.Evidence {
	t.Helper()
	return verify.NewEvidence(fstest.MapFS{
		"report.md":   {Data: []byte("# Is the shop worth its rent?\nYes: it takes **6,000** a month\n(40 people, “6 each”, 25 days); the rent is 900.\nCosts are not known – nobody asked.\n")},
		"facts.csv":   {Data: []byte("what,value\nrent,900\n\"people, a day\",40\nmargin,12.50\n")},
		"minutes.md":  {Data: []byte("They agreed on a rent of 900 a month.\n")},
		"deck.docx":   {Data: sample(t, "pandoc.docx")},
		"scan.pdf":    {Data: []byte(soundPDF)},
		"sub/note.md": {Data: []byte("A short note of what was left out.\n")},
	}, []string{"report.md", "facts.csv", "deck.docx", "scan.pdf"}, "the report is written")
}

// Twenty wrong verdicts never count: quotations that somebody made up, true ones in the
// wrong file, numbers that are nowhere, and words that show nothing.
func TestPROC05_WrongEvidenceNeverCounts(t *testing.T) {
	for _, tt := range []struct {
		holds      bool
		words, why string
	}{
		{true, `The moon is green`, "it quotes nothing"},
		{true, `report.md: "The moon is green"`, `"the moon is green" not in report.md`},
		{true, `"The shop is worth its weight in gold"`, "not in report.md or facts.csv or deck.docx"},
		{true, `report.md says “the rent is nine hundred”`, "not in report.md"},
		{true, `facts.csv: "Yes: it takes 6,000 a month"`, "not in facts.csv"},
		{true, `minutes.md: "They agreed on a rent of 700 a month"`, "not in minutes.md"},
		{true, `"They agreed on a rent of 900 a month"`, "not in report.md"}, // of a file that is not named
		{true, `invoice.md: "the rent is 900"`, "there is no file invoice.md"},
		{true, `see costs.xlsx`, "there is no file costs.xlsx"},
		{true, `"the report is written"`, "not in report.md or facts.csv or deck.docx"}, // which its author says
		{true, `seen in the file`, "it quotes nothing"},
		{true, `report.md has all that is asked for`, "it quotes nothing"},
		{true, `"Yes"`, "it quotes nothing"},
		{true, `"the" "is" "rent"`, "it quotes nothing"},
		{true, `report.md: "it takes 6,000 a month", which are 72,000 a year`, "the number 72,000 is not in report.md"},
		{true, `facts.csv: "people, a day" and a margin of 12.75`, "the number 12.75 is not in facts.csv"},
		{true, `report.md: "Costs are not known ... 31 %"`, "leaves too much out"},
		{true, `report.md: "the rent is 900", a margin of 35 %`, "the number 35 is not in report.md"},
		{true, `report.md: "nobody asked … the rent is 900"`, "not in report.md"}, // in the wrong order
		{true, `deck.docx: "The line carried fewer people than ever"`, "not in deck.docx"},
		{true, ``, "there is no evidence"},
		{false, ``, "there is no evidence"},
		{false, `report.md: "The moon is green", without a source`, "not in report.md"},
		{false, `report.md:4 says "costs are 5,000"`, "not in report.md"},
		{false, `costs.csv: "rent,900"`, "there is no file costs.csv"},
		{true, `report.md: "c … o … s … t … s"`, "leaves too much out"},
		{true, `report.md: "shop … rent"`, "leaves too much out"},
		{true, `report.md: "the rent is 9"`, "not in report.md"},
		{true, `report.md: "known - nobody asks"`, "not in report.md"},
	} {
		if why := evidence(t).Wrong(tt.holds, tt.words); !strings.Contains(strings.ToLower(why), strings.ToLower(tt.why)) || why == "" {
			t.Errorf("Wrong(%t, %s) = %q, want %q", tt.holds, tt.words, why, tt.why)
		}
	}
}

// What is in the files counts, however its blanks, dashes, marks and capitals are.
func TestPROC05_TrueEvidenceCounts(t *testing.T) {
	for _, tt := range []struct {
		holds bool
		words string
	}{
		{true, `report.md: "Is the shop worth its rent?"`},
		{true, `report.md:2: "it takes 6,000 a month (40 people, "6 each", 25 days)"`},
		{true, "report.md: \u201eCosts are not known \u2014 nobody asked\u201c"},
		{true, `"YES: it takes 6,000 a month" is what report.md says`},
		{true, `report.md: "it takes … the rent is 900"`},
		{true, `it takes 6,000 a month`},
		{true, `minutes.md: "a rent of 900 a month"`},
		{true, `sub/note.md: "what was left out"`},
		{true, `facts.csv, row 2: "people, a day", 40; the margin is 12.5`},
		{true, `deck.docx: "carried more people than ever"`},
		{true, `"rent,900" (facts.csv) and "the rent is 900" (report.md)`},
		{true, `report.md: "the rent is 900" [1], lines 10 to 120, 3 headings`},
		{false, `report.md has no heading "Risks and mitigations"`},
		{false, `looked for a source of the 6,000 and for 4,711 and found none`},
		{false, `report.md: "Costs are not known", which the goal asks for`},
		{false, `report.md links to sources.md, which does not exist`},
		{false, `report.md has "the rent is 900" and no source (such as https://example.com/a.pdf)`},
		{true, `report.md: "the rent is 900" (https://example.com/a.pdf)`},
		{true, `scan.pdf: "Total 5,000", a rent of 900`},
	} {
		if why := evidence(t).Wrong(tt.holds, tt.words); why != "" {
			t.Errorf("Wrong(%t, %s) = %q", tt.holds, tt.words, why)
		}
	}
}

// What the author of files says of them proves what a rule wants of that, and nothing else.
func TestPROC05_WhatTheAuthorSaysIsNoEvidence(t *testing.T) {
	rules := []*loomv1.Rule{
		{Name: "sold", Type: loomv1.RuleType_RULE_TYPE_LLM, Check: "The report is sold.", Target: "report.md"},
		{Name: "told", Type: loomv1.RuleType_RULE_TYPE_LLM, Check: "The summary says what was done.", Target: verify.InOutput},
	}
	questions := verify.Questions(&loomv1.Phase{Of: "report", AcceptanceCriteria: "A report is there."}, rules)
	answers := map[string]any{}
	for _, q := range questions {
		answers[q.Field], answers[q.Evidence] = true, `"the report is written"`
	}
	_, unproven := verify.Proven(questions, answers, evidence(t))
	var not []string
	for _, u := range unproven {
		not = append(not, u.Rule)
	}
	if strings.Join(not, " ") != "acceptance sold" {
		t.Errorf("not proven are %q of %d questions", not, len(questions))
	}
}

// A row of a table is copied with its commas, and a number of thousands has them, too.
func TestPROC05_NumbersOfRows(t *testing.T) {
	e := verify.NewEvidence(fstest.MapFS{
		"sizes.csv": {Data: []byte("low,base,high\n2024,1500,300\n12,500,300\n")},
		"deep.json": {Data: []byte("[2024,1500,12.5]")},
	}, []string{"sizes.csv", "deep.json"}, "")
	for words, why := range map[string]string{
		`sizes.csv: "2024,1500,300"; revenue is 1500`: "",
		`sizes.csv: "2024,1500"`:                      "",
		`sizes.csv: "12,500,300", of which 500`:       "",
		`deep.json: "2024,1500"; it is 12.50`:         "",
		`sizes.csv: "2024,1500,300"; it is 3000`:      "the number 3000 is not in sizes.csv",
		`sizes.csv: "2024,1500,300"; it is 15,000`:    "the number 15,000 is not in sizes.csv",
	} {
		if got := e.Wrong(true, words); got != why {
			t.Errorf("Wrong(%s) = %q, want %q", words, got, why)
		}
	}
}

// Where nothing can be read, there is nothing to copy, and a verdict is believed; a file
// that was read in part vouches for nothing that does not name it.
func TestPROC05_WhatCannotBeReadVouchesForNothingElse(t *testing.T) {
	blind := verify.NewEvidence(fstest.MapFS{"scan.pdf": {Data: []byte(soundPDF)}}, []string{"scan.pdf"}, "the scan is done")
	for _, words := range []string{`scan.pdf: "Total 5,000"`, `the total is 5,000`} {
		if why := blind.Wrong(true, words); why != "" {
			t.Errorf("Wrong(%s) = %q", words, why)
		}
	}
	if why := blind.Wrong(true, `bill.pdf: "Total 5,000"`); why != "there is no file bill.pdf" {
		t.Errorf("a file that is not there: %q", why)
	}
	var rows strings.Builder
	for n := range 2100 {
		rows.WriteString(row(n+1, "cell"))
	}
	long := verify.NewEvidence(fstest.MapFS{
		"long.xlsx": {Data: workbook(t, [2]string{"Sheet", rows.String()})},
		"report.md": {Data: []byte("The rent is 900 a month.\n")},
	}, []string{"long.xlsx", "report.md"}, "")
	for words, want := range map[string]string{
		`"The moon is green"`:                "not in",
		`long.xlsx: "cell of the last row"`:  "",
		`report.md: "The rent is 900", 4711`: "the number 4711 is not in report.md",
	} {
		if why := long.Wrong(true, words); want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("Wrong(%s) = %q, want %q", words, why, want)
		}
	}
}

// Whoever copies words of a file has evidence, and cutting them in the middle does not
// change that.
func TestPROC05_CopiedWordsCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z0-9]{1,9}`), 4, 40).Draw(t, "words")
		text := strings.Join(words, " ")
		from := rapid.IntRange(0, len(words)-4).Draw(t, "from")
		copied := strings.Join(words[from:from+4], "\n ")
		e := verify.NewEvidence(fstest.MapFS{"a.md": {Data: []byte(text)}}, []string{"a.md"}, "")
		if len(strings.Join(words[from:from+4], " ")) < verify.LeastQuotation {
			return
		}
		if why := e.Wrong(true, `a.md: "`+copied+`"`); why != "" {
			t.Fatalf("of %q %q is refused: %s", text, copied, why)
		}
	})
}

// An answer without evidence is neither for nor against the work.
func TestPROC05_AnswersWithoutEvidenceAreNotJudged(t *testing.T) {
	questions := verify.Questions(&loomv1.Phase{Of: "p", AcceptanceCriteria: "Good."}, []*loomv1.Rule{
		{Name: "cited", Check: "All is cited.", Severity: warning}, {Name: "sound", Check: "It is sound.", Severity: severe},
	})
	answers := map[string]any{
		"acceptance": true, "acceptance_evidence": "The moon is green",
		"cited_ok": false, "cited_ok_evidence": `report.md: "the moon is green"`,
		"sound_ok": false, "sound_ok_evidence": "looked for a list of costs and found none",
	}
	found, unproven := verify.Proven(questions, answers, evidence(t))
	if got := verify.Text(found); got != "error sound: looked for a list of costs and found none\n" {
		t.Errorf("found %q", got)
	}
	if len(unproven) != 2 || !verify.Severe(unproven) || verify.Severe(unproven[1:]) || len(verify.Errors(verify.NotJudged(unproven))) > 0 {
		t.Errorf("unproven: %v", unproven)
	}
}

// A second judge is asked about what a rule wants of what was said, too, with what was
// said; and never about a file's name, which is no evidence.
func TestPROC05_ASecondJudgeIsAskedOfAllThatWasQuoted(t *testing.T) {
	questions := verify.Questions(&loomv1.Phase{Of: "report", AcceptanceCriteria: "A report is there."}, []*loomv1.Rule{
		{Name: "sold", Type: loomv1.RuleType_RULE_TYPE_LLM, Check: "The report is sold.", Target: "report.md"},
		{Name: "told", Type: loomv1.RuleType_RULE_TYPE_LLM, Check: "The summary says what was done.", Target: verify.InOutput},
	})
	e := verify.NewEvidence(fstest.MapFS{
		"report.md": {Data: []byte("All numbers are of data.csv, and the rent is 900.\n")}, "data.csv": {Data: []byte("rent,900\n")},
	}, []string{"report.md", "data.csv"}, "the report is written")
	answers := map[string]any{
		"acceptance": true, "acceptance_evidence": `see "data.csv"`,
		"sold_ok": true, "sold_ok_evidence": `report.md: "the rent is 900"`,
		"told_ok": true, "told_ok_evidence": `"the report is written"`,
	}
	var asked []string
	for _, c := range verify.Quoted(questions, answers, e) {
		for _, q := range c.Quotations {
			asked = append(asked, c.Rule+" "+q.Text+" "+strings.Join(q.Files, ","))
		}
	}
	if got, want := strings.Join(asked, "; "), "sold the rent is 900 report.md; told the report is written "; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	if _, unproven := verify.Proven(questions, answers, e); len(unproven) != 1 || !strings.Contains(unproven[0].Why, "it quotes nothing") {
		t.Errorf("unproven: %v", unproven)
	}
}
