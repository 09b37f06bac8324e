package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	warning = loomv1.Severity_SEVERITY_WARNING
	severe  = loomv1.Severity_SEVERITY_ERROR
	regex   = loomv1.RuleType_RULE_TYPE_REGEX
	table   = loomv1.RuleType_RULE_TYPE_TABLE
)

func TestPROC05_Deliverables(t *testing.T) {
	for _, tt := range []struct{ text, name, about string }{
		{"a.md", "a.md", ""},
		{"market-sizing-model.csv — TAM/SAM/SOM with assumptions", "market-sizing-model.csv", "TAM/SAM/SOM with assumptions"},
		{"out/b_1.csv - what it is", "out/b_1.csv", "what it is"},
		{"../a.md", "", ""},
		{"/a.md", "", ""},
		{"a b.md", "", ""},
		{".git/config", "", ""},
		{"a/../b.md", "", ""},
		{"-rf", "", ""},
		{"", "", ""},
		{strings.Repeat("a", 129), "", ""},
	} {
		d, err := verify.ParseDeliverable(tt.text)
		if (err == nil) != (tt.name != "") || err == nil && (d.Name != tt.name || d.About != tt.about) {
			t.Errorf("ParseDeliverable(%q) = %+v, %v", tt.text, d, err)
		}
	}
}

// What a phase delivered is checked by name and content, and by each rule.
func TestPROC05_Phase(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	phase := &loomv1.Phase{Deliverables: []string{"report.md — the report", "data.csv"}}
	sound := fstest.MapFS{"report.md": file("# Report\nAll is well (https://a.example).\n"), "data.csv": file("Assets,Liabilities,Own Funds\n\"1,000\",$600,400\n")}
	with := func(name, text string) fstest.MapFS {
		m := fstest.MapFS{"report.md": sound["report.md"], "data.csv": sound["data.csv"]}
		if m[name] = file(text); text == "-" {
			delete(m, name)
		}
		return m
	}
	rules := []*loomv1.Rule{
		{Name: "no-placeholders", Type: regex, Check: `\[(TBD|TO-?DO)\]`, Severity: severe},
		{Name: "sourced", Type: regex, Check: `https://`, Wanted: true, Target: "*.md", Severity: warning},
		{Name: "said", Type: regex, Check: `secret`, Target: "output", Severity: severe},
		{Name: "balance", Type: table, Check: "math.abs(row.assets - row.liabilities - row.own_funds) < 1.0", Target: "data.csv", Severity: severe},
		{Name: "judged", Check: "It is good.", Severity: severe},
		{Name: "elsewhere", Type: regex, Check: ".", Phases: []string{"other"}, Severity: severe},
	}
	for _, tt := range []struct {
		name   string
		files  fstest.MapFS
		output string
		want   []string
	}{
		{"all is well", sound, "done", nil},
		{"missing, with a near name", func() fstest.MapFS {
			m := with("report.md", "-")
			m["reprot.md"] = file("x")
			return m
		}(), "", []string{"error deliverables report.md: the file is not there; there is reprot.md"}},
		{"empty", with("report.md", " \n"), "", []string{"error deliverables report.md: the file is empty"}},
		{"a placeholder", with("report.md", "# R\nhttps://a\n[TBD] and [TO-DO]\n"), "", []string{`error no-placeholders report.md:3: no-placeholders: found "[TBD]"`}},
		{"no source", with("report.md", "# R\n"), "", []string{"warning sourced report.md: sourced: nothing there matches https://"}},
		{"in what was said", sound, "the secret is out", []string{`error said output:1: said: found "secret"`}},
		{"out of balance", with("data.csv", "assets,liabilities,own funds\n10,5,5\n10,(5),5\n"), "", []string{
			"error balance data.csv:3: balance: math.abs(row.assets - row.liabilities - row.own_funds) < 1.0 does not hold for assets = 10, liabilities = -5, own_funds = 5",
		}},
		{"a column is missing", with("data.csv", "assets\n10\n"), "", []string{
			"error balance data.csv:2: balance: the expression reads a key that is missing: liabilities; the columns are assets",
		}},
		{"no table", with("data.csv", "a,b\n\"1,2\n"), "", []string{`error format data.csv:2: the table cannot be read: parse error on line 2, column 6: extraneous or missing " in quoted-field`}},
		{"bytes that are no text", with("report.md", "\x00\xff"), "", []string{"error format report.md: it is no md: it is no text in UTF-8"}},
	} {
		t.Run("PROC05 "+tt.name, func(t *testing.T) {
			var got []string
			for _, f := range verify.Phase(tt.files, "p", phase, rules, tt.output, verify.Run{}) {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// A pattern that others backtrack over for ever takes its time in proportion
// to the text, and a rule speaks of one file at most five times.
func TestPROC05_RulesAreBounded(t *testing.T) {
	text := strings.Repeat(strings.Repeat("a", 1000)+"!\n", 300) + strings.Repeat("x\n", 40_000)
	files := fstest.MapFS{"a.md": {Data: []byte(text)}}
	rules := []*loomv1.Rule{{Name: "r", Type: regex, Check: "(a+)+b$|x", Severity: severe}}
	found := verify.Phase(files, "p", &loomv1.Phase{Deliverables: []string{"a.md"}}, rules, "", verify.Run{})
	if len(found) != 1 || !strings.Contains(found[0].Text, "first 256 KiB") {
		t.Errorf("%v", found)
	}
	files["a.md"] = &fstest.MapFile{Data: []byte(strings.Repeat("x\n", 100))}
	if found := verify.Phase(files, "p", &loomv1.Phase{Deliverables: []string{"a.md"}}, rules, "", verify.Run{}); len(found) != 5 {
		t.Errorf("%d findings", len(found))
	}
	if err := verify.CheckRule(&loomv1.Rule{Type: regex, Check: strings.Repeat("a", 513)}); err == nil {
		t.Error("a long pattern was accepted")
	}
}

// A verifier's answers count with evidence, and only then.
func TestPROC05_Verdict(t *testing.T) {
	phase := &loomv1.Phase{Of: "p", AcceptanceCriteria: "It is complete."}
	questions := verify.Questions(phase, []*loomv1.Rule{
		{Name: "sources-cited", Check: "All is cited.", Severity: warning},
		{Name: "a-name-that-is-long-for-a-field", Check: "x", Severity: severe},
		{Name: "no-placeholders", Type: regex, Check: "x"},
	})
	var names []string
	for _, q := range questions {
		names = append(names, q.Field)
	}
	if diff := cmp.Diff([]string{"acceptance", "sources_cited_ok", "rule_3"}, names); diff != "" {
		t.Fatal(diff)
	}
	if len(verify.Fields(questions)) != 6 {
		t.Error(verify.Fields(questions))
	}
	found := verify.Verdict(questions, map[string]any{
		"acceptance": true, "acceptance_evidence": " ",
		"sources_cited_ok": false, "sources_cited_ok_evidence": "line 3 has none",
	})
	want := "error acceptance: it is said to be so without evidence\nwarning sources-cited: line 3 has none\n" +
		"error a-name-that-is-long-for-a-field: it is not so, and no evidence was given\n"
	if got := verify.Text(found); got != want || len(verify.Errors(found)) != 2 {
		t.Errorf("%s", got)
	}
	for _, f := range found {
		if f.Phase != "p" || f.Tier != 2 {
			t.Errorf("found of %q in tier %d: %s", f.Phase, f.Tier, f)
		}
	}
}

// Findings are counted by phase, rule and who found them; of too many some are
// left out, and names stay within what an outcome takes.
func TestPROC09_BrokenRules(t *testing.T) {
	files := fstest.MapFS{"a.md": {Data: []byte("TBD\nTBD\n")}}
	phase := &loomv1.Phase{Deliverables: []string{"a.md", "b.md"}}
	found := verify.Phase(files, "p", phase, []*loomv1.Rule{{Name: "done", Type: regex, Check: "TBD", Severity: warning}}, "", verify.Run{})
	got := verify.Broken(append(found, verify.VotedDown("p", "no")...))
	want := []*loomv1.BrokenRule{
		{Phase: "p", Rule: "deliverables", Tier: 1, Severity: severe, Count: 1},
		{Phase: "p", Rule: "done", Tier: 1, Severity: warning, Count: 2},
		{Phase: "p", Rule: "review", Tier: 3, Severity: severe, Count: 1},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	var many []verify.Finding
	for i := range 100 {
		many = append(many, verify.Finding{Rule: fmt.Sprintf("%d %s", i, strings.Repeat("ä", 200))})
	}
	list := verify.Broken(many)
	if len(list) != 64 || len(list[0].Rule) > 128 || !utf8.ValidString(list[0].Rule) {
		t.Errorf("%d rules, the first of %d bytes", len(list), len(list[0].Rule))
	}
}

func TestPROC05_Count(t *testing.T) {
	vote := func(sound ...bool) (list []verify.Review) {
		for _, s := range sound {
			list = append(list, verify.Review{Reviewer: "lead", Sound: s, Objection: "no"})
		}
		return list
	}
	for _, tt := range []struct {
		votes []verify.Review
		sound bool
	}{{vote(true, true, false), true}, {vote(true, false), false}, {vote(), false}, {vote(false, false, true), false}, {vote(true), true}} {
		if got, why := verify.Count(tt.votes); got != tt.sound {
			t.Errorf("Count(%v) = %t, %s", tt.votes, got, why)
		}
	}
}

// Fields of any rule names can stand in an outcome, and no two are the same.
func TestPROC05_FieldsOfAnyRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rules []*loomv1.Rule
		for i := range rapid.IntRange(0, verify.MaxJudged).Draw(t, "rules") {
			name := rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,31}`).Draw(t, "name")
			rules = append(rules, &loomv1.Rule{Name: name, Check: string(rune('a' + i))})
		}
		questions := verify.Questions(&loomv1.Phase{Of: "p", AcceptanceCriteria: "x"}, rules)
		fields := verify.Fields(questions)
		if len(fields) != 2*len(questions) || len(fields) > 32 {
			t.Fatalf("%d fields of %d questions", len(fields), len(questions))
		}
		for f := range fields {
			if len(f) > 32 || f[0] < 'a' || f[0] > 'z' || strings.Contains(f, "-") {
				t.Fatalf("field %q", f)
			}
		}
	})
}
