package document

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func fullSpec(t testing.TB) *loomv1.DocumentSpec {
	t.Helper()
	m, err := Read("full.json", sample(t, "full"), "document")
	if err != nil {
		t.Fatal(err)
	}
	return m.(*loomv1.DocumentSpec)
}

func summary(r *loomv1.ReviewReport) (list []string) {
	for _, f := range r.Findings {
		list = append(list, fmt.Sprintf("%s %s %s", f.Severity, f.Rule, f.Path))
	}
	return list
}

func TestDOC03_ASoundDocumentHasNoFindings(t *testing.T) {
	r := Review{}.Run(fullSpec(t))
	if len(r.Findings) > 0 || r.Severity != "ok" || r.GetBlockCommit() {
		t.Errorf("severity %s, blocked %t: %v", r.Severity, r.GetBlockCommit(), r.Findings)
	}
	c := r.Checks
	if c.Readability.Score == nil || *c.Readability.Score < 60 || *c.Readability.Target != 35 || !c.Readability.GetOk() {
		t.Errorf("readability %v", c.Readability)
	}
	if _, err := Read("", JSON(r), "review"); err != nil {
		t.Errorf("the report is none: %v", err)
	}
}

// Each check finds what it is for, at its place, and what it recommends mends it.
func TestDOC03_EachCheckFindsWhatItIsFor(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		rule, patch, path string
		mended            bool
	}{
		{"structure/heading-jump", `replace sections[2].level = 3`, "sections[2].heading", true},
		{"structure/heading-jump", `replace sections[0].level = 2`, "sections[0].heading", true},
		{"structure/empty-section", `append sections = {"id": "empty", "outlineId": "x", "heading": "Nothing"}`, "sections[3]", false},
		{"structure/missing-caption", `remove sections[1].table.caption`, "sections[1].table", false},
		{"structure/missing-caption", `remove figures[0].caption`, "figures[0]", false},
		{"structure/missing-alt", `remove figures[0].alt`, "figures[0]", false},
		{"structure/heading-number", `replace sections[1].heading = "7. Passengers"`, "sections[1].heading", true},
		{"structure/figure-place", `replace figures[0].section = "nowhere"`, "figures[0].section", false},
		{"structure/markup", "append sections[0].bullets = \"as follows\\n## Passengers\\nmany\"", "sections[0].bullets[2]", false},
		{"structure/markup", "append sections[0].bullets = \"as follows\\n| a | b |\\n|---|---|\\n| 1 | 2 |\"", "sections[0].bullets[2]", false},
		{"readability/flesch", `replace sections[0].body = "Organizational restructuring necessitates comprehensive reconsideration of established administrative responsibilities. Interdepartmental communication infrastructure modernization facilitates operational efficiency improvements. Environmental sustainability considerations increasingly determine procurement decisions. Continuous professional development opportunities demonstrably strengthen employee retention. Regulatory compliance documentation requirements substantially complicate international distribution. Northern Ferry Ltd [1] Table 1 Figure 1."`, "", false},
		{"readability/sentence-length", `replace sections[2].body = "One two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven eight nine ten. One two three four five six seven eight nine ten one two three four five six seven eight nine ten Table 2 three."`, "sections[2].body", false},
		{"readability/long-sentence", `replace sections[0].bullets[0] = "one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six"`, "sections[0].bullets[0]", false},
		{"readability/passive", `append sections[0].body = "The ship was sold. It was painted. The crew was paid. The fuel was bought. The plan was changed. It was written. It was given. The quay was built."`, "", false},
		{"readability/jargon", `replace sections[0].bullets = ["Leverage synergy", "Utilize the learnings"]`, "sections[0].bullets[1]", true},
		{"consistency/duplicate-heading", `replace sections[1].heading = "summary"`, "sections[1].heading", false},
		{"consistency/entity-spelling", `append sections[0].bullets = "Northern-Ferry Limited owns the quay"`, "sections[0].bullets[2]", true},
		{"consistency/entity-spelling", `append sections[0].bullets = "GitHub here, Github there, GitHub again"`, "sections[0].bullets[2]", true},
		{"consistency/terms", `append sections[0].bullets = "Send an e-mail"`, "sections[0].bullets[2]", true},
		{"style/fonts", `replace styles.bodyFont = "Comic Sans MS"`, "styles.bodyFont", false},
		{"style/contrast", `replace styles.accentColor = "#FFEE00"`, "styles.accentColor", false},
		{"style/banned-phrase", `append sections[0].bullets = "In order to sell, we paint"`, "sections[0].bullets[2]", true},
		{"style/units", `append sections[0].bullets = "The route has 12km"`, "sections[0].bullets[2]", true},
		{"numeric/totals", `replace sections[1].table.totals.Passengers = 12001`, "sections[1].table.totals.Passengers", true},
		{"numeric/totals", `replace sections[1].table.totals.Fare = 36`, "sections[1].table.totals.Fare", true},
		{"numeric/number-as-text", `replace sections[1].table.rows[0][3] = "1,200"`, "sections[1].table.rows[0][3]", true},
		{"numeric/percent-sum", `replace sections[1].table.rows[0][4] = 12`, "sections[1].table.headers[4]", false},
		{"numeric/date-range", `replace sections[1].table.rows[0][2] = "2024-12-31"`, "sections[1].table.rows[0][2]", false},
		{"numeric/same-figure", `append sections[2].table.rows = ["First", 1300]`, "sections[2].table.rows[2][1]", false},
		{"numeric/same-figure", `append sections[0].bullets = "The total Passengers are 13,000"`, "sections[0].bullets[2]", false},
		{"references/missing-target", `append sections[0].bullets = "See Table 3"`, "sections[0].bullets[2]", false},
		{"references/caption-cited", `replace sections[2].body = "The larger ship carried most."`, "sections[2].table", false},
		{"references/link", `append sections[0].bullets = "[here](javascript:alert)"`, "sections[0].bullets[2]", false},
		{"references/link", `append sections[0].bullets = "[here](#nowhere)"`, "sections[0].bullets[2]", false},
		{"references/citation", `append sections[0].bullets = "As others say [2]"`, "sections[0].bullets[2]", false},
		{"references/citation", `append sections = {"id": "s", "outlineId": "x", "heading": "Sources"}`, "", false},
		{"references/footnote", `append sections[0].bullets = "As others say[^who]"`, "sections[0].bullets[2]", false},
		{"references/footnote", `replace sections[0].bullets[0] = "Passengers rose by a tenth"`, "footnotes[0]", false},
		{"references/footnote", `replace sections[0].bullets[0] = "Passengers rose by a tenth ` + "`[^count]`" + `"`, "footnotes[0]", false},
		{"references/footnote", `replace sections[0].bullets[0] = "Passengers rose [by a tenth[^count]](https://example.com/a)"`, "footnotes[0]", false},
		{"references/footnote", `replace sections[0].body = "    Passengers[^who] rose.\n\nThey did[^who]."`, "sections[0].body", false},
		{"references/footnote", `replace footnotes[1].text = "As asked before[^count]."`, "footnotes[1].text", false},
		{"references/footnote", `replace sections[2].table.rows[0][0] = "Gull[^poll]"`, "sections[2].table.rows[0][0]", false},
		{"references/clause", `replace clauses[0].text = "Copyright 2026. Some rights reserved."`, "clauses[0]", true},
		{"references/clause", `replace clauses[0].name = "arbitration"`, "clauses[0]", false},
	} {
		if tt.path == "" && tt.rule == "references/citation" {
			continue // told below: a source that nobody cites
		}
		before := fullSpec(t)
		after, report := Apply(before, patches(t, tt.patch))
		if report.Refused > 0 {
			t.Errorf("%s: %s", tt.patch, report.Results[0].Message)
			continue
		}
		r := Review{}.Run(after)
		i := slices.IndexFunc(r.Findings, func(f *loomv1.ReviewFinding) bool { return f.Rule == tt.rule && f.Path == tt.path })
		if i < 0 {
			t.Errorf("%s: %s is not found at %q, but %q", tt.patch, tt.rule, tt.path, summary(r))
			continue
		}
		if got := r.Findings[i].Patch != ""; got != tt.mended {
			t.Errorf("%s: %s has a patch: %t, want %t (%s)", tt.patch, tt.rule, got, tt.mended, r.Findings[i].Message)
		}
		mended, result := Apply(after, r.RecommendedPatches)
		if result.Refused > 0 {
			t.Errorf("%s: the recommended patches do not fit: %v", tt.patch, result.Results)
		}
		again := Review{}.Run(mended)
		if tt.mended && slices.ContainsFunc(again.Findings, func(f *loomv1.ReviewFinding) bool { return f.Rule == tt.rule && f.Path == tt.path && f.Patch != "" }) {
			t.Errorf("%s: %s is found again after its own patch: %q", tt.patch, tt.rule, summary(again))
		}
	}
}

// TestDOC03_ARowOfTotalsAddsUp looks at totals that were written as a row, and at those
// that were asked for and are not there.
func TestDOC03_ARowOfTotalsAddsUp(t *testing.T) {
	for _, tt := range []struct{ name, rest, want string }{
		{"wrong", `"rows": [["Paper", 1200], ["Ink", 1800], ["Total", 3500]]`, "sections[0].table.rows[2][1]"},
		{"right", `"rows": [["Paper", 1200], ["Ink", 1800], ["Total", 3000]]`, ""},
		{"an average", `"rows": [["Paper", 1200], ["Ink", 1800], ["Total", 1500]]`, ""},
		{"in German", `"rows": [["Papier", 1200], ["Tinte", 1800], ["Summe", 1]]`, "sections[0].table.rows[2][1]"},
		{"no row of totals", `"rows": [["Paper", 1200], ["Ink", 1800], ["Totality", 3500]]`, ""},
		{"of one row", `"rows": [["Paper", 1200], ["Total", 3500]]`, ""},
		{"as totals", `"rows": [["Paper", 1200], ["Ink", 1800], ["Total loss", 5]], "totals": {"Amount": 3005}`, ""},
		{"asked for and not there", `"rows": [["Paper", 1200], ["Ink", 1800]], "aggregates": {"Amount": "sum"}`, "sections[0].table.aggregates.Amount"},
	} {
		m, err := Read("", []byte(`{"version": "0.2", "title": "T", "sections": [{"id": "a", "outlineId": "a", "heading": "Costs", "table": {"caption": "Costs", "headers": ["What", "Amount"], `+tt.rest+`}}]}`), "document")
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got := ""
		for _, f := range (Review{}).Run(m.(*loomv1.DocumentSpec)).Findings {
			if f.Rule == "numeric/total-row" {
				got += f.Path
			}
		}
		if got != tt.want {
			t.Errorf("%s: found at %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What stands in code or in a link names no footnote, as no writer numbers it there.
func TestDOC06_CodeAndLinksNameNoFootnote(t *testing.T) {
	d := &loomv1.DocumentSpec{Version: "0.2", Title: "Notes", Sections: []*loomv1.DocumentSection{{
		Id: "a", Heading: "One", Body: "    code[^a]\n\nText `[^b]` and [a link[^c]](https://example.com), but [none[^d]](ftp://example.com).",
		Bullets: []string{"    An item[^e], `[^f]`"}, Callouts: []*loomv1.Callout{{Text: "A box [^g] `[^h]`"}},
	}}}
	var named []string
	for _, p := range parts(d) {
		for _, x := range p.texts {
			for _, m := range marks(x) {
				named = append(named, m[1])
			}
		}
	}
	if want := []string{"d", "e", "g"}; !slices.Equal(named, want) {
		t.Errorf("named are %q, want %q", named, want)
	}
}

func TestDOC03_HeadingsAgree(t *testing.T) {
	heads := func(list ...string) *loomv1.DocumentSpec {
		d := &loomv1.DocumentSpec{Version: "0.2", Title: "x"}
		for i, h := range list {
			d.Sections = append(d.Sections, &loomv1.DocumentSection{Id: sectionID(i), Heading: h, Body: "Text."})
		}
		return d
	}
	for _, tt := range []struct {
		spec *loomv1.DocumentSpec
		want []string
	}{
		{heads("The Cost of Fuel", "The State of Ships", "the next year"), []string{"info style/heading-case sections[2].heading"}},
		{heads("The cost of fuel", "The state of ships", "The Next Year"), []string{"info style/heading-case sections[2].heading"}},
		{heads("The cost of fuel", "NATO and the EU"), nil},
		{heads("Planning routes", "Selling ships", "Ships", "Costs", "People"), []string{"info consistency/heading-form sections[0].heading", "info consistency/heading-form sections[1].heading"}},
		{heads("1. Costs", "2. Ships", "4. People"), []string{"warn structure/heading-number sections[2].heading"}},
		{heads("1. Costs", "Ships"), []string{"warn structure/heading-number "}},
		{heads("2026 in figures", "Ships"), nil},
	} {
		if diff := cmp.Diff(tt.want, summary(Review{}.Run(tt.spec))); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.spec.Sections, diff)
		}
	}
}

func TestDOC07_TheOutlineIsKept(t *testing.T) {
	o := read(t, "outline").(*loomv1.PlanningOutline)
	d := spec(t)
	d.Clauses, d.Sections = nil, d.Sections[1:]
	d.Sections[0].Body = "A once in a lifetime chance."
	d.Sections = append(d.Sections, &loomv1.DocumentSection{Id: "x", OutlineId: "sec-9", Heading: "More", Body: "More."})
	got := summary(Review{Outline: o}.Run(d))
	want := []string{
		"error structure/outline ", "error structure/outline sections[1]", "error structure/outline sections[0].body", "error structure/outline clauses",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	links, missing := Trace(o, spec(t))
	if diff := cmp.Diff([]Link{{"sec-1", "sec-1", "sections[0]"}, {"sec-2", "sec-2", "sections[1]"}}, links); diff != "" || len(missing) > 0 {
		t.Errorf("trace: missing %v\n%s", missing, diff)
	}
}

// Words of another language are not judged, and that is said; numbers are.
func TestDOC03_OtherLanguagesAreNotJudgedByEnglishRules(t *testing.T) {
	d := fullSpec(t)
	d.Metadata.Language = "de"
	d.Sections[0].Body = "In order to [1] Table 1 Figure 1[^poll]"
	d.Sections[1].Table.Totals["Passengers"].Kind = d.Sections[1].Table.Totals["Fare"].Kind
	r := Review{}.Run(d)
	if diff := cmp.Diff([]string{"error numeric/totals sections[1].table.totals.Passengers"}, summary(r)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if want := `the rules about words are for "en", and the document is in "de"`; r.Checks.Readability.NotJudged != want || r.Checks.Readability.Score != nil {
		t.Errorf("readability = %v, want not judged: %s", r.Checks.Readability, want)
	}
}

func TestDOC03_BoundsAtTheirEdge(t *testing.T) {
	words := func(n int) *loomv1.DocumentSpec {
		return &loomv1.DocumentSpec{Version: "0.2", Title: "x", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "A", Body: strings.TrimSpace(strings.Repeat("go ", n)) + "."}}}
	}
	rules := func(text string) *RuleSet {
		set, err := ParseRules("r", []byte("name: x\nversion: \"1\"\nlanguage: en\nrules:\n  - "+text))
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	for _, tt := range []struct {
		rule string
		spec *loomv1.DocumentSpec
		want int
	}{
		{"{id: a, check: long-sentence, severity: warn, max: 10}", words(10), 0},
		{"{id: a, check: long-sentence, severity: warn, max: 10}", words(11), 1},
		{"{id: a, check: flesch, severity: warn, min: 10, targets: {professional: 122}}", words(9), 0},
		{"{id: a, check: flesch, severity: warn, min: 10, targets: {professional: 122}}", words(10), 1},
		// 10 words a sentence, one syllable a word: 206.835 - 10.15 - 84.6 = 112.085, rounded 112.1.
		{"{id: a, check: flesch, severity: warn, min: 10, targets: {professional: 112.1}}", words(10), 0},
		{"{id: a, check: flesch, severity: warn, min: 10, targets: {professional: 112.2}}", words(10), 1},
	} {
		r := Review{Rules: rules(tt.rule)}.Run(tt.spec)
		if len(r.Findings) != tt.want {
			t.Errorf("%s with %q: %d findings, want %d", tt.rule, tt.spec.Sections[0].Body, len(r.Findings), tt.want)
		}
	}
}

func TestDOC03_RulesAreReadStrictly(t *testing.T) {
	_, err := ParseRules("own.yaml", []byte(`name: own
version: "1"
language: en
rules:
  - {id: a, check: heading-jmp, severity: error}
  - {id: a, check: totals, severity: fatal, area: stile}
  - {id: c, check: totals, severity: warn, maxx: 1}
`))
	want := `own.yaml:5:20: there is no such check (got "heading-jmp"); did you mean "heading-jump"?
own.yaml:6:10: there are two rules of this name (got "a")
own.yaml:6:38: a severity is info, warn or error (got "fatal")
own.yaml:6:51: there is no such part of a report (got "stile"); did you mean "style"?
own.yaml:7:44: rules[2] has no such key (got "maxx"); did you mean "max"?`
	if got := errorLines(err); got != want {
		t.Errorf("problems:\n%s\nwant:\n%s", got, want)
	}
	if fault.Code(err) != "document/rule" {
		t.Errorf("code %s", fault.Code(err))
	}
	used := map[string]bool{}
	for _, r := range DefaultRules().Rules {
		used[r.Check] = true
	}
	for _, name := range Checks() {
		if !used[name] {
			t.Errorf("no rule of the default set uses the check %s", name)
		}
	}
}

// A review says the same of the same, its patches fit, and it never blocks what it
// says is without errors.
func TestDOC03_ReviewsAreDeterministicAndTheirPatchesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawSpec(t)
		a, b := Review{}.Run(d), Review{}.Run(proto.CloneOf(d))
		if diff := cmp.Diff(a, b, protocmp.Transform()); diff != "" {
			t.Fatalf("two reviews of one document:\n%s", diff)
		}
		if !bytes.Equal(JSON(a), JSON(b)) {
			t.Fatal("two texts of one report")
		}
		mended, report := Apply(d, a.RecommendedPatches)
		if report.Refused > 0 {
			t.Fatalf("a recommended patch does not fit: %v", report.Results)
		}
		again := Review{}.Run(mended)
		if before, after := count(a, "error"), count(again, "error"); after > before {
			t.Fatalf("the patches made %d errors of %d:\n%s\nof\n%s", after, before, JSON(again), JSON(a))
		}
		if a.GetBlockCommit() != (count(a, "error") > 0) {
			t.Fatal("blocked without an error, or the other way round")
		}
	})
}

func count(r *loomv1.ReviewReport, severity string) (n int) {
	for _, f := range r.Findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

func TestDOC07_ClausesAreTheLibrarys(t *testing.T) {
	l := DefaultClauses()
	for _, c := range l.Clauses {
		text, missing := c.Fill(map[string]string{"owner": "A", "year": "2026", "date": "2026-05-01", "recipient": "B"})
		if len(missing) > 0 {
			t.Errorf("clause %s wants %v", c.Name, missing)
		}
		d := spec(t)
		d.Clauses = []*loomv1.Clause{{Name: c.Name, Text: text, Parameters: map[string]string{"owner": "A", "year": "2026", "date": "2026-05-01"}}}
		if r := (Review{}).Run(d); slices.ContainsFunc(r.Findings, func(f *loomv1.ReviewFinding) bool { return f.Rule == "references/clause" }) {
			t.Errorf("the library's own clause %s is refused: %v", c.Name, r.Findings)
		}
	}
	d := spec(t)
	d.Clauses = []*loomv1.Clause{{Name: "copyright", Text: "Copyright {year} {owner}. All rights reserved."}}
	r := Review{}.Run(d)
	if want := `the clause "copyright" lacks a value for year, owner`; !r.GetBlockCommit() || r.Findings[len(r.Findings)-1].Message != want {
		t.Errorf("an unfilled clause: %v, want %s", r.Findings, want)
	}
}
