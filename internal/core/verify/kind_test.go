package verify_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

type told = map[string]any

// ruleOf is a rule of severity error on one file.
func ruleOf(t testing.TB, kind string, with told, target string) *loomv1.Rule {
	t.Helper()
	for _, k := range verify.Kinds() {
		if k.Name != kind {
			continue
		}
		r := &loomv1.Rule{Name: "r", Type: k.Type, Target: target, Severity: severe}
		if with != nil {
			s, err := structpb.NewStruct(with)
			if err != nil {
				t.Fatal(err)
			}
			r.With = s
		}
		return r
	}
	t.Fatalf("no type %s", kind)
	return nil
}

var began = time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)

// lookInto is what a rule finds in the first of files, and each line of it.
func lookInto(r *loomv1.Rule, name, text string, others map[string]string) []string {
	files := fstest.MapFS{name: {Data: []byte(text)}}
	for n, t := range others {
		files[n] = &fstest.MapFile{Data: []byte(t)}
	}
	run := verify.Run{
		Began: began, Sources: []string{"https://www.example.org/a/", "https://www.example.org/b", "https://doi.example/10.1234/abc"},
		Page: func(address string) string {
			return map[string]string{"https://example.org/a": "Viper reads “many formats”, and\nit has [three](/deps) **dependencies**. It watches files."}[address]
		},
	}
	var list []string
	for _, f := range verify.Phase(files, "p", &loomv1.Phase{Deliverables: []string{name}}, []*loomv1.Rule{r}, "", run) {
		list = append(list, strings.TrimPrefix(f.String(), "error r "))
	}
	return list
}

// Each type finds what breaks it, and says where, what it found and what it wanted.
func TestPROC05_RuleTypes(t *testing.T) {
	sheet := "year,assets,liabilities,equity\n2024,100,60,40\n"
	for _, tt := range []struct {
		kind       string
		with       told
		name, text string
		others     map[string]string
		want       string // the findings, joined by " | "; "" for none
	}{
		{"table", told{"columns": []any{"name", "Price per month"}, "rows": 2}, "a.md", "# A\n\n| Name | Price per month (USD) |\n|---|---:|\n| a | 3 |\n| b | 4 |\n", nil, ""},
		{"table", told{"columns": []any{"name", "score"}}, "a.md", "\n| Name | Price |\n|---|---|\n| a | 3 |\n", nil, `a.md:2: r: found the columns "Name", "Price", wanted "score", too`},
		{"table", told{"rows": 3}, "a.html", "<p>x</p>\n<table><tr><th>n<tr><td>1<tr><td>2</table>", nil, `a.html:2: r: found 2 rows, wanted at least 3`},
		{"table", told{"columns": []any{"n"}}, "a.md", "no table\n```\n| n |\n|---|\n```\n", nil, `a.md: r: found no table, wanted one with the columns "n"`},
		{"table", told{"columns": []any{"n"}}, "a.csv", "n,m\n1,2\n", nil, ""},

		{"word_count", told{"min": 3, "max": 4}, "a.md", "one two — three ```\n", nil, ""},
		{"word_count", told{"min": 5}, "a.md", "one [two](https://a.example/b c) three\n", nil, `a.md: r: found 3 words, wanted a number of at least 5`},
		{"word_count", told{"max": 2}, "a.html", "<p>one two <b>three</b></p><script>var x = y</script>", nil, `a.html: r: found 3 words, wanted a number of at most 2`},

		{"sections", told{"headings": []any{"Summary", "Risks"}}, "a.md", "# 1. Summary\nx\n## 2.1 Risks: what may go wrong\n", nil, ""},
		{"sections", told{"headings": []any{"Summary", "Risks"}}, "a.md", "Risks\n=====\n\nSummary\n---\n", nil, `a.md:1: r: found the heading "Risks" before "Summary", wanted it behind`},
		{"sections", told{"headings": []any{"Summary", "Risks"}, "ordered": false}, "a.md", "# Risks\n# Summary\n", nil, ""},
		{"sections", told{"headings": []any{"Risks"}}, "a.html", "<h1>Summary</h1>", nil, `a.html: r: found the headings "Summary", wanted "Risks"`},
		{"sections", told{"headings": []any{"Risks"}, "words": 3}, "a.md", "# Risks\n\ntwo words\n# Next\nmany more words here\n", nil, `a.md:1: r: found 2 words under "Risks", wanted at least 3`},
		{"sections", told{"headings": []any{"Risks"}}, "a.md", "```\n# Risks\n```\n", nil, `a.md: r: found no headings, wanted "Risks"`},

		{"dates", told{"days": 30}, "a.md", "as of 2026-06-01, 5 June 2026 and June 6, 2026\n", nil, ""},
		{"dates", told{"days": 30}, "a.md", "x\nas of May 30, 2026\n", nil, `a.md:2: r: found "May 30, 2026", wanted 2026-05-31 or later`},
		{"dates", told{"from": "2026-01-01", "to": "2026-12-31"}, "a.csv", "day\n2027-01-01\n2026-02-31\n", nil, `a.csv:2: r: found "2027-01-01", wanted 2026-12-31 or earlier | a.csv:3: r: found "2026-02-31", wanted a day that there is`},
		{"dates", told{"days": 30, "behind": []any{"as of"}}, "a.md", "founded 1 May 1998; price as of: 2026-06-29\n", nil, ""},
		{"dates", told{"days": 30, "behind": []any{"as of"}}, "a.md", "founded 1 May 1998\n", nil, `a.md: r: found no date behind "as of", wanted one`},

		{"dates", told{"days": 30}, "a.md", "x\n2019-06-01T00:00:00Z https://e.example/2019-05-01/x\n", nil, `a.md:2: r: found "2019-06-01", wanted 2026-05-31 or later`},

		{"dates", told{"days": 30}, "a.md", "as of 2026-07-01, and 2027-01-01\n", nil, `a.md:1: r: found "2027-01-01", wanted 2026-07-01 or earlier`},
		{"dates", told{"days": 30, "to": "2027-12-31"}, "a.md", "as of 2027-01-01\n", nil, ""},

		{"totals", nil, "a.csv", "item,amount\na,10\nb,20.5\nTotal,30.5\n", nil, ""},
		{"totals", nil, "a.csv", "item,amount\na,10\nb,20\nSubtotal,30\nc,5\nSubtotal,5\nTotal,35\n", nil, ""},
		{"totals", nil, "a.csv", "item,amount\na,10\nb,20\nTotal,31\n", nil, `a.csv:4: r: found 31 as the total of "amount", wanted 30, which is the sum`},
		{"totals", told{"tolerance": 0.1}, "a.csv", "item,amount\na,10\nb,20\nTotal,31\n", nil, ""},
		{"totals", nil, "a.md", "| x | a | b | total |\n|-|-|-|-|\n| q | 1 | 2 | 4 |\n", nil, `a.md:3: r: found 4 as the total of "total", wanted 3, which is the sum`},
		{"totals", nil, "a.csv", "item,amount\na,10\n", nil, `a.csv: r: found no row or column with numbers that is called total, wanted one`},

		{"totals", nil, "a.csv", "item,amount\na,10\nTotal,10\nb,20\nTotal,20\nGrand total,30\n", nil, ""},
		{"totals", nil, "a.csv", "item,amount\na,10\nTotal,10\nb,20\nTotal,20\nGrand total,31\n", nil, `a.csv:6: r: found 31 as the total of "amount", wanted 30, which is the sum`},
		{"totals", nil, "a.csv", "item,amount\na,10\nTotal a,10\nb,20\nTotal b,20\nTotal,31\n", nil, `a.csv:6: r: found 31 as the total of "amount", wanted 30, which is the sum`},
		{"totals", nil, "a.csv", "no,item,amount\n1,a,10\n2,b,20\n,Total,31\n", nil, `a.csv:4: r: found 31 as the total of "amount", wanted 30, which is the sum`},
		{"totals", nil, "a.html", "<table><tr><th>no<th>item<th>amount<tr><td>1<td>a<td>10\n<tr><td colspan=2>Total<td>11</table>", nil, `a.html:2: r: found 11 as the total of "amount", wanted 10, which is the sum`},
		{"totals", nil, "a.csv", "Posten;,Betrag\na,\"10,5\"\nb,\"1.000,25\"\nTotal,\"1.010,75\"\n", nil, ""},

		{"balance", nil, "a.csv", sheet, nil, ""},
		{"balance", nil, "a.csv", sheet + "2025,100,60,30\n", nil, `a.csv:3: r: found assets 100, wanted 90, which is liabilities 60 plus equity 30`},
		{"balance", nil, "a.csv", sheet + "2025,120 m,60,40\nnote,,,\n2026,120,60\n", nil, `warning format a.csv:5: the row has 3 cells, the header 4 | a.csv:3: r: found "120 m" as assets, wanted a number | a.csv:5: r: found "" as equity, wanted a number`},
		{"balance", nil, "a.md", "| USD m | 2024 | 2025 |\n|-|-|-|\n| Total assets | 100 | 120 |\n| Total liabilities | 60 | 60 |\n| Shareholders' equity | 40 | 50 |\n", nil, `a.md:3: r: column "2025": found assets 120, wanted 110, which is liabilities 60 plus equity 50`},
		{"balance", nil, "a.csv", "a,b\n1,2\n", nil, `a.csv: r: found no table with numbers for assets, liabilities, equity, wanted one`},

		{"range", told{"figure": "WACC", "min": 0.03, "max": 0.2}, "a.md", "The WACC in 2026 is 8.5%.\n| x | WACC (%) |\n|-|-|\n| base | 9% |\n", nil, ""},
		{"range", told{"figure": "wacc", "max": 0.2}, "a.csv", "case,wacc\nlow,0.08\nhigh,0.3\n", nil, `a.csv:3: r: found wacc 0.3, wanted of at most 0.2`},
		{"range", told{"figure": "WACC", "min": 0.03}, "a.md", "nothing\n", nil, `a.md: r: found no WACC with a number, wanted one of at least 0.03`},
		{"range", told{"figure": "net loss", "min": -10, "max": 0}, "a.md", "Net loss: (3.5) million\n", nil, `a.md:1: r: found net loss (3.5) million, wanted from -10 to 0`},

		{"range", told{"figure": "WACC", "min": 0.03, "max": 0.2}, "a.md", "A WACC (8.5%) and a WACC of 9 %\n", nil, ""},
		{"range", told{"figure": "free cash flow", "min": 0}, "a.md", "Free cash flow: −5 million\n", nil, `a.md:1: r: found free cash flow −5 million, wanted of at least 0`},
		{"range", told{"figure": "rent", "min": 0}, "a.csv", "rent\n-$12\n12 €\n\"8,5\"\n", nil, `a.csv:2: r: found rent -$12, wanted of at least 0`},

		{"range", told{"figure": "WACC", "max": 0.2}, "a.csv", "case,WACC (%)\nlow,8.5\nmid,9%\nhigh,25\n", nil, `a.csv:4: r: found WACC 25, wanted of at most 0.2`},
		{"range", told{"figure": "margin", "max": 0.2}, "a.md", "| | 2025 | 2026 |\n|-|-|-|\n| Margin [in %] | 12 | 21,5 |\n", nil, `a.md:3: r: found margin 21,5, wanted of at most 0.2`},
		{"range", told{"figure": "WACC", "max": 0.2}, "a.md", "Der WACC ist 8,5 %, die Miete 1.234,50.\n", nil, ""},
		{"range", told{"figure": "Miete", "max": 1000}, "a.md", "Der WACC ist 8,5 %, die Miete 1.234,50.\n", nil, `a.md:1: r: found Miete 1.234,50, wanted of at most 1000`},

		{"same_value", told{"figure": "value per share", "files": []any{"v.csv"}}, "a.md", "A value per share of $41.20.\n", map[string]string{"v.csv": "case,value_per_share\nlow,35\nbase,41.2\n"}, ""},
		{"same_value", told{"figure": "value per share", "files": []any{"v.csv"}}, "a.md", "x\nA value per share of $44.\n", map[string]string{"v.csv": "case,value_per_share\nlow,35\nbase,41.2\n"}, `a.md:2: r: found value per share $44, wanted 35 or 41.2 as in v.csv`},
		{"same_value", told{"figure": "price", "files": []any{"v.csv"}}, "a.md", "price 4\n", nil, `warning r a.md: not looked at: v.csv: the file is not there; its name must be exactly this`},

		{"spelling", told{"name": "Harbour Tools", "wrong": []any{"Harbor Tools"}}, "a.md", "Harbour Tools, https://harbourtools.example and Harbour\tTools\n", nil, ""},
		{"spelling", told{"name": "Harbour Tools", "wrong": []any{"Harbor Tools"}}, "a.md", "x\nharbour tools and HarbourTools and harbor-tools\n", nil, `a.md:2: r: found "harbour tools", wanted "Harbour Tools" | a.md:2: r: found "HarbourTools", wanted "Harbour Tools" | a.md:2: r: found "harbor-tools", wanted "Harbour Tools"`},

		{"placeholder", nil, "a.md", "[a link](b.md), [1], [Source: a.md], XX and TBDs\n```\n{{name}}\n```\n", nil, ""},
		{"placeholder", nil, "a.md", "[Insert name here]\nLorem ipsum\n[...] and {{name}}\n", nil, `a.md:1: r: found "[Insert name here]", wanted what belongs there | a.md:2: r: found "Lorem ipsum", wanted what belongs there | a.md:3: r: found "[...]", wanted what belongs there | a.md:3: r: found "{{name}}", wanted what belongs there`},
		{"placeholder", told{"allow": []any{"TBD"}}, "a.csv", "a\nTBD\n#REF!\n", nil, `a.csv:3: r: found "#REF!", wanted what belongs there`},

		{"placeholder", nil, "a.md", "````md\n```sh\nTBD\n```\n````\nTBD\n", nil, `a.md:6: r: found "TBD", wanted what belongs there`},
		{"placeholder", nil, "a.md", "```foo``` is a command\nTBD\n", nil, `a.md:2: r: found "TBD", wanted what belongs there`},
		{"schema", told{"schema": map[string]any{"properties": map[string]any{"n": map[string]any{"minimum": 1}}}}, "a.json", `{"n": 1e1000001}`, nil, `warning r a.json: not looked at: json: cannot unmarshal number 1e1000001 into Go value of type float64`},

		{"citations", told{"least": 2}, "a.md", "So it is [1] (https://example.org/a), says doi:10.1234/abc.\n\n## Sources\n1. The page, https://example.org/a\n", nil, ""},
		{"citations", nil, "a.md", "x\nSee https://made.up/page.\n", nil, `a.md:2: r: found the address https://made.up/page, which was not read in this run; wanted one of the 3 that were`},
		{"citations", nil, "a.md", "It is so [2].\n\n# References\n1. https://example.org/a\n", nil, `a.md:1: r: found [2], wanted an entry [2] in its list of sources`},
		{"citations", nil, "a.md", "So [^x] and [Source: notes.md] and [Source: hearsay].\n\n[^x]: somebody\n", map[string]string{"notes.md": "n"}, `a.md:1: r: found [^x], whose entry "somebody" has neither an address nor a file of the workspace | a.md:1: r: found the source "hearsay", wanted an address that was read or a file of the workspace`},
		{"citations", nil, "a.md", "They say “it has three dependencies” [1], and\n\"Viper reads 'many formats' ... watches files\" https://example.org/a.\n\n## Sources\n1. https://example.org/a\n", nil, ""},
		{"citations", nil, "a.md", "x\n\n- \"Viper is the fastest configuration library\"\n  (https://example.org/a)\n- \"some other words of nobody\"\n", nil, `a.md:3: r: found the quotation "Viper is the fastest configuration library", wanted words of https://example.org/a as it was read`},
		{"citations", nil, "a.md", "The \"fastest library\" is \"what nobody has ever said\" [1].\n\n[1]: https://example.org/a\n", nil, `a.md:1: r: found the quotation "what nobody has ever said", wanted words of https://example.org/a as it was read`},
		{"citations", nil, "a.md", "\"Of this page nothing is at hand\" https://example.org/b https://example.org/a.\n", nil, ""},
		{"citations", told{"of": "quotations"}, "a.md", "\"Words that nobody has ever said\" https://example.org/a, https://made.up/page\n", nil, ""},
		{"citations", told{"of": "quotations"}, "a.md", "\"Words that nobody has ever said\" https://example.org/a, [9]\n", nil, `a.md:1: r: found the quotation "Words that nobody has ever said", wanted words of https://example.org/a as it was read`},
		{"citations", told{"of": "citations"}, "a.md", "\"Words that nobody has ever said\" https://example.org/a\n", nil, ""},
		{"citations", told{"style": "number"}, "a.md", "See https://example.org/a.\n", nil, `a.md:1: r: found the citation https://example.org/a., wanted all as [1]`},
		{"citations", told{"least": 1}, "a.md", "nothing\n", nil, `a.md: r: found 0 sources that it cites and that there are, wanted at least 1`},

		{"citations", told{"least": 1}, "a.md", "So [1].\n\n## Quellen\n\n1. Die Seite,\n   https://example.org/a\n", nil, ""},
		{"citations", nil, "a.md", "So [1] and [2], with `list[7]` and `https://code.example`.\n\n## Sources\n1. The page\n   by somebody\n2. https://example.org/a\n", nil, `a.md:1: r: found [1], whose entry "The page by somebody" has neither an address nor a file of the workspace`},
		{"citations", told{"least": 1}, "a.html", "<p>So [1].</p>\n<h2>Sources</h2>\n<ol>\n<li>The page\n<a href='https://example.org/a'>here</a></li></ol>", nil, ""},
		{"citations", nil, "a.html", "<p>So [2].</p>\n<h2>Sources</h2><ol><li>https://example.org/a</ol><ol>", nil, `a.html:1: r: found [2], wanted an entry [2] in its list of sources`},
		{"citations", told{"least": 1}, "a.md", "See https://example.org/%61.\n", nil, ""},

		{"links", nil, "a.md", "[b](b.md#part-two) [c](#top) [w](https://x.example) [s](b%2Emd)\n# Top\n", map[string]string{"b.md": "## Part two\n"}, ""},
		{"links", nil, "a.md", "[b](c.md)\n[b](b.md#none)\n[x](/etc/x) [y](../y.md)\n", map[string]string{"b.md": "# One\n"}, `a.md:1: r: found the link "c.md", wanted a file of the workspace: there is no c.md | a.md:2: r: found the link "b.md#none", wanted a heading or id "none" in b.md | a.md:3: r: found the link "/etc/x", wanted one that is relative to the file | a.md:3: r: found the link "../y.md", wanted a file of the workspace: there is no ../y.md`},
		{"links", nil, "a.md", "[b](c%23.md) [d](b.md#one-1) [e](b.md#one-2)\n", map[string]string{"b.md": "# One\n# One\n", "c#.md": ""}, `a.md:1: r: found the link "b.md#one-2", wanted a heading or id "one-2" in b.md`},
		{"links", nil, "a.html", "<a href='b.html#x'>x</a>\n<img src=p.png>", map[string]string{"b.html": "<p id=x>"}, `a.html:2: r: found the link "p.png", wanted a file of the workspace: there is no p.png`},

		{"schema", told{"schema": told{"type": "object", "required": []any{"name"}}}, "a.json", `{"name": "x"}`, nil, ""},
		{"schema", told{"schema": told{"properties": told{"n": told{"type": "integer", "minimum": 3}}}}, "a.json", "{\n  \"n\": 2\n}", nil, `a.json:2: r: at /n minimum: got 2, want 3`},
		{"schema", told{"schema": told{"items": told{"required": []any{"id"}}}}, "a.yaml", "- id: 1\n- name: x\n", nil, `a.yaml:2: r: at /1 missing property 'id'`},
		{"schema", told{"schema": told{"properties": told{"price": told{"type": "number"}}}}, "a.csv", "name,Price\na,12\nb,cheap\n", nil, `a.csv:3: r: at /price got string, want number`},
	} {
		t.Run("PROC05 "+tt.kind, func(t *testing.T) {
			r := ruleOf(t, tt.kind, tt.with, tt.name)
			if err := verify.CheckRule(r); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(lookInto(r, tt.name, tt.text, tt.others), " | "); got != tt.want {
				t.Errorf("%s %v of %q\ngot:  %s\nwant: %s", tt.kind, tt.with, tt.text, got, tt.want)
			}
		})
	}
}

// What a rule is told and does not take, or lacks, is refused.
func TestPROC03_WhatRulesAreTold(t *testing.T) {
	for _, tt := range []struct {
		kind   string
		with   told
		target string
		want   string
	}{
		{"word_count", nil, "a.md", "neither min nor max"},
		{"word_count", told{"min": 3, "max": 2}, "a.md", "min is more than max"},
		{"word_count", told{"min": "3"}, "a.md", "min is not a number"},
		{"word_count", told{"min": 0.5}, "a.md", "min is not a whole number"},
		{"word_count", told{"maximum": 5}, "a.md", `takes no such key (got "maximum")`},
		{"sections", told{}, "a.md", "lacks headings"},
		{"sections", told{"headings": "Summary"}, "a.md", "headings is not a list of texts"},
		{"sections", told{"headings": []any{"Summary"}}, "a.csv", "which its target does not name"},
		{"dates", told{"from": "yesterday"}, "a.md", "from is not a day"},
		{"dates", told{}, "a.md", "neither days, from nor to"},
		{"dates", told{"from": "2026-02-01", "to": "2026-01-01"}, "a.md", "from is behind to"},
		{"range", told{"figure": "x"}, "a.md", "neither min nor max"},
		{"range", told{"figure": "!", "min": 1}, "a.md", "figure names nothing"},
		{"same_value", told{"figure": "x"}, "a.md", "compares the sheets of a workbook"},
		{"same_value", told{"figure": "x", "files": []any{"../a.md"}}, "a.md", "not the name of a file"},
		{"schema", told{"schema": told{"type": "thing"}}, "a.json", "it is no JSON Schema"},
		{"schema", told{"schema": told{"$ref": "https://elsewhere.example/s"}}, "a.json", "it is no JSON Schema"},
		{"schema", told{"schema": "x"}, "a.json", "schema is not a mapping"},
		{"citations", told{"style": "apa"}, "a.md", "there is no such style"},
		{"citations", told{"of": "notes"}, "a.md", "that is not looked at"},
		{"links", told{"x": 1}, "a.md", "takes nothing under with"},
		{"spelling", told{"wrong": []any{"x"}}, "a.md", "lacks name"},
		{"balance", told{"tolerance": -1}, "a.csv", "tolerance is less than 0"},
		{"links", nil, "output", "not at what is said"},
		{"table", nil, "a.csv", "checks nothing"},
	} {
		if err := verify.CheckRule(ruleOf(t, tt.kind, tt.with, tt.target)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %v of %s: %v, want %s", tt.kind, tt.with, tt.target, err, tt.want)
		}
	}
	r := ruleOf(t, "placeholder", nil, "")
	if r.Check = "x"; verify.CheckRule(r) == nil {
		t.Error("a check that nobody reads was taken")
	}
}

// Totals that are sums break nothing, and one that is off by more than the tolerance does,
// whatever the numbers.
func TestPROC05_TotalsOfAnyNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOfN(rapid.Int64Range(-1_000_000, 1_000_000), 1, 30).Draw(rt, "rows")
		off := rapid.Int64Range(0, 1).Draw(rt, "off") * 100_000
		var b strings.Builder
		b.WriteString("item,amount\n")
		sum := int64(0)
		for _, n := range rows {
			sum += n
			b.WriteString("x," + spell(n) + "\n")
		}
		b.WriteString("Total," + spell(sum+off) + "\n")
		got := lookInto(ruleOf(t, "totals", nil, "a.csv"), "a.csv", b.String(), nil)
		if wantBroken := off != 0; (len(got) > 0) != wantBroken {
			rt.Fatalf("%d rows, off by %d: %v", len(rows), off, got)
		}
	})
}

func spell(n int64) string {
	return structpb.NewNumberValue(float64(n)).String()[len("number_value:"):]
}

// Whatever a file holds, each type answers, and the same again.
func FuzzRuleTypes(f *testing.F) {
	f.Add("| a | total |\n|---|---|\n| WACC 8% [1] [^x] | 2 |\n# h\n[l](b.md#c) https://a.example TBD 2026-02-30")
	f.Add("<table><tr><th>a<table><td>1</table></table><h1>x<script>")
	f.Add("a,b\n\"1,2\n")
	f.Add("{\"a\": [1, {\"b\": null}]}")
	with := map[string]told{
		"table": {"columns": []any{"a"}, "rows": 1}, "word_count": {"min": 1}, "sections": {"headings": []any{"h"}}, "dates": {"days": 1},
		"range": {"figure": "WACC", "min": 0}, "same_value": {"figure": "a", "files": []any{"b.md"}}, "spelling": {"name": "a b"},
		"schema": {"schema": told{"type": "object"}},
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range verify.Kinds() {
			if k.Name == "regex" || k.Name == "llm" {
				continue
			}
			for _, name := range []string{"a.md", "a.html", "a.csv", "a.json", "a.yaml"} {
				r := ruleOf(t, k.Name, with[k.Name], name)
				if verify.CheckRule(r) != nil {
					continue // a type that does not look into such files
				}
				first, again := lookInto(r, name, text, nil), lookInto(r, name, text, nil)
				if strings.Join(first, "\n") != strings.Join(again, "\n") || len(first) > 20 {
					t.Fatalf("%s of %s: %q, then %q", k.Name, name, first, again)
				}
			}
		}
	})
}

// A page that many paragraphs cite is read once, and entries and paragraphs of many lines
// are whole.
func TestPROC05_ACitedPageIsReadOnce(t *testing.T) {
	asked := 0
	run := verify.Run{Sources: []string{"https://example.org/a"}, Page: func(string) string { asked++; return "It watches all the files." }}
	text := strings.Repeat("They say\n\"it watches all the files\"\n[1].\n\n", 40) + "And \"nobody has ever said this\" [1].\n\n## Sources\n1. The page\n" + strings.Repeat("   of somebody\n", 40) + "   https://example.org/a\n"
	rule := ruleOf(t, "citations", nil, "a.md")
	found := verify.Text(verify.Phase(fstest.MapFS{"a.md": {Data: []byte(text)}}, "p", &loomv1.Phase{Deliverables: []string{"a.md"}}, []*loomv1.Rule{rule}, "", run))
	if want := "error r a.md:161: r: found the quotation \"nobody has ever said this\", wanted words of https://example.org/a as it was read\n"; asked != 1 || found != want {
		t.Errorf("asked %d times, found %q, want %q", asked, found, want)
	}
}
