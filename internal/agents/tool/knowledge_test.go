package tool_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/tool"
)

// writers are the tools that write files: a call of each that is sound but for
// the path, which is the argument named.
var writers = map[string]struct {
	path string
	args args
}{
	"spreadsheet":       {"path", args{"action": "create", "columns": []string{"A"}}},
	"document_write":    {"path", args{"title": "T", "sections": []any{args{"title": "A", "content": ""}}}},
	"template_fill":     {"path", args{"text": "{{x}}", "values": args{"x": 1}}},
	"comparison_matrix": {"path", args{"criteria": []any{args{"name": "C"}}, "options": []any{args{"name": "A", "entries": args{}}, args{"name": "B", "entries": args{}}}}},
	"chart_data":        {"paths", args{"kind": "bar", "title": "T", "x": "a", "values": []string{"s"}, "rows": []any{args{"a": "one", "s": 1}}}},
}

// No tool writes outside of the workspace, in .git, or where nothing may be
// written.
func TestTOOL03_WritersStayInside(t *testing.T) {
	for name, w := range writers {
		ext := map[string]string{"spreadsheet": ".csv", "chart_data": ".svg"}[name]
		if ext == "" {
			ext = ".md"
		}
		{
			for path, code := range map[string]string{"../x": "tool/outside", "/tmp/x": "tool/outside", ".git/x": "tool/outside", "link/x": "tool/outside", "a/": ""} {
				s, root := workspace(t, nil)
				if err := os.Symlink(t.TempDir(), filepath.Join(root, "link")); err != nil {
					t.Fatal(err)
				}
				a := args{}
				for k, v := range w.args {
					a[k] = v
				}
				a[w.path] = path + ext
				if w.path == "paths" {
					a[w.path] = []string{path + ext}
				}
				r := do(t, s, name, a)
				if code != "" && r.Code != code && r.Code != "tool/arguments" {
					t.Errorf("%s to %s: %s %s", name, path+ext, r.Code, r.Output)
				}
				frozen := tool.New(tool.Workspace{Root: root, ReadOnly: true}, nil)
				if r := do(t, frozen, name, a); r.Code == "" || len(r.Changed) > 0 {
					t.Errorf("%s in a read-only workspace: %s", name, r.Output)
				}
			}
		}
	}
}

func TestTOOL05_DocumentWrite(t *testing.T) {
	s, root := workspace(t, nil)
	a := args{
		"path": "report.md", "title": "Prices", "about": "A. Author, 2026-11-21", "contents": true,
		"sections": []any{args{"title": "Summary", "content": "They rise [1]."}, args{"title": "Detail", "content": "| a |\n|---|\n| 1 |", "level": 2}},
		"sources":  []any{args{"title": "Register", "url": "https://example.com"}, args{"title": "Notes"}},
	}
	r := ok(t, do(t, s, "document_write", a))
	says(t, r, "report.md: written", "[no section cites the sources 2]")
	if got := get(t, root, "report.md"); !strings.Contains(got, "## Summary\n\nThey rise [1].\n\n### Detail\n") || !strings.Contains(got, "1. Register <https://example.com>\n") {
		t.Errorf("%s", got)
	}
	says(t, ok(t, do(t, s, "document_write", a)), "the file had this content already")
	a["path"] = "report.html"
	ok(t, do(t, s, "document_write", a))
	if got := get(t, root, "report.html"); !strings.HasPrefix(got, "<!DOCTYPE html>") || !strings.Contains(got, "<td>1</td>") {
		t.Errorf("%s", got)
	}
	a["path"] = "report.pdf"
	if r := do(t, s, "document_write", a); r.Code != "tool/arguments" {
		t.Errorf("%s", r.Output)
	}
	a["path"], a["sources"] = "report.md", []any{}
	if r := do(t, s, "document_write", a); r.Output != "tool/arguments: sections[0].content: it cites [1], and there are 0 sources\n" {
		t.Errorf("%s", r.Output)
	}
}

func TestTOOL01_ChartData(t *testing.T) {
	longtest.Skip(t)
	s, root := workspace(t, map[string]string{"sales.csv": "Quarter,Revenue,Cost\nQ1,\"1,200\",800\nQ2,900,n/a\nQ3,1500,950\n"})
	r := ok(t, do(t, s, "chart_data", args{
		"kind": "bar", "title": "Revenue and cost", "y_label": "USD k", "paths": []string{"c/sales.png", "c/sales.svg", "c/sales.json"},
		"table": args{"path": "sales.csv"}, "x": "Quarter", "values": []string{"Revenue", "Cost"},
	}))
	says(t, r, `[1 values of "Cost" are no numbers and not drawn]`)
	if strings.Join(r.Changed, " ") != "c/sales.png c/sales.svg c/sales.json" {
		t.Errorf("changed %q", r.Changed)
	}
	if img, err := png.Decode(bytes.NewReader([]byte(get(t, root, "c/sales.png")))); err != nil || img.Bounds().Dx() != 1600 {
		t.Errorf("the picture: %v", err)
	}
	var data struct {
		X, Y       string
		Categories []string
		Series     []struct{ Values []*float64 }
	}
	if err := json.Unmarshal([]byte(get(t, root, "c/sales.json")), &data); err != nil || data.X != "Quarter" || *data.Series[0].Values[0] != 1200 || data.Series[1].Values[1] != nil {
		t.Errorf("%+v %v", data, err)
	}
	ok(t, do(t, s, "chart_data", args{"kind": "scatter", "title": "Cost by revenue", "paths": []string{"s.svg"}, "table": args{"path": "sales.csv"}, "x": "Revenue", "values": []string{"Cost"}}))
	for want, a := range map[string]args{
		"chart/invalid":  {"kind": "pie", "title": "Shares", "paths": []string{"p.png"}, "x": "a", "values": []string{"s"}, "rows": []any{args{"a": "one", "s": -1}}},
		"table/column":   {"kind": "bar", "title": "T", "paths": []string{"p.png"}, "table": args{"path": "sales.csv"}, "x": "Qarter", "values": []string{"Cost"}},
		"tool/arguments": {"kind": "bar", "title": "T", "paths": []string{"p.gif"}, "table": args{"path": "sales.csv"}, "x": "Quarter", "values": []string{"Cost"}},
	} {
		if r := do(t, s, "chart_data", a); r.Code != want || len(r.Changed) > 0 {
			t.Errorf("%v: %s, want %s", a, r.Output, want)
		}
	}
}

func TestTOOL01_ComparisonMatrix(t *testing.T) {
	s, root := workspace(t, nil)
	a := args{
		"criteria": []any{args{"name": "Quality", "weight": 0.6}, args{"name": "Price", "weight": 0.4, "lower_is_better": true}, args{"name": "Licence"}},
		"options": []any{
			args{"name": "Acme", "entries": args{"Quality": 3, "Price": 1, "Licence": "MIT"}},
			args{"name": "Bolt", "entries": args{"Quality": 5, "Price": 4, "Licence": "closed"}},
		},
	}
	r := ok(t, do(t, s, "comparison_matrix", a))
	says(t, r, "| Criterion | Weight | Acme | Bolt |", "| Score |  | 3.80 | 3.80 |", "note: Acme and Bolt have the same score", `note: without "Price", Bolt would be first`)
	a["path"] = "matrix.xlsx"
	r = ok(t, do(t, s, "comparison_matrix", a))
	says(t, ok(t, do(t, s, "spreadsheet", args{"action": "read", "path": "matrix.xlsx"})), "Criterion,Weight,Acme,Bolt\nQuality,0.6,3,5\n")
	if len(r.Changed) != 1 || !strings.HasPrefix(get(t, root, "matrix.xlsx"), "PK") {
		t.Errorf("%v", r)
	}
	a["least"], a["most"] = 0, 3
	if r := do(t, s, "comparison_matrix", a); r.Output != "tool/arguments: options/Bolt/Quality: the score 5 is not from 0 to 3\ntool/arguments: options/Bolt/Price: the score 4 is not from 0 to 3\n" {
		t.Errorf("%s", r.Output)
	}
}

func TestTOOL01_TemplateFill(t *testing.T) {
	s, root := workspace(t, map[string]string{"t/letter.md": "# {{title}}\n{{#each client.orders}}- {{n}} x {{what}}\n{{/each}}{{#each tags}}#{{item}} {{/each}}\n"})
	values := args{"title": "To <Acme>", "client": args{"orders": []any{args{"n": 2, "what": "pens"}, args{"n": 1.5, "what": "{{n}}"}}}, "tags": []any{"a", 7}}
	ok(t, do(t, s, "template_fill", args{"template": "t/letter.md", "values": values, "path": "out/letter.md"}))
	if got := get(t, root, "out/letter.md"); got != "# To <Acme>\n- 2 x pens\n- 1.5 x {{n}}\n#a #7 \n" {
		t.Errorf("%q", got)
	}
	ok(t, do(t, s, "template_fill", args{"text": "<p>{{x}}</p>", "values": args{"x": "<b>"}, "path": "x.html"}))
	if got := get(t, root, "x.html"); got != "<p>&lt;b&gt;</p>" {
		t.Errorf("%q", got)
	}
	for want, a := range map[string]args{
		"template/value: t/letter.md: 1:3: there is no value for this placeholder (got \"title\")": {"template": "t/letter.md", "values": args{"tags": []any{}, "client": args{"orders": []any{}}}, "path": "x"},
		"template/value: x: the value is neither text":                                             {"text": "{{x}}", "values": args{"x": nil}, "path": "x"},
		"template/invalid: 1:1:":                   {"text": "{{x", "values": args{}, "path": "x"},
		"tool/arguments: arguments: give template": {"values": args{}, "path": "x"},
	} {
		if r := do(t, s, "template_fill", a); !strings.HasPrefix(r.Output, want) {
			t.Errorf("%s, want %s", r.Output, want)
		}
	}
}

const anscombe = "Day,x,y,kind\n2026-01-01,10,8.04,a\n2026-01-02,8,6.95,b\n2026-01-03,13,7.58,a\n2026-01-04,9,8.81,a\n2026-01-05,11,8.33,\n" +
	"2026-01-06,14,9.96,b\n2026-01-07,6,7.24,a\n2026-01-08,4,4.26,c\n2026-01-09,12,10.84,a\n2026-01-10,7,4.82,a\n2026-01-11,5,5.68,a\n2026-01-12,n/a,1,a\n"

func TestTOOL01_DataAnalysis(t *testing.T) {
	s, _ := workspace(t, map[string]string{"a.csv": anscombe, "empty.csv": "a,b\n"})
	table := args{"path": "a.csv"}
	says(t, ok(t, do(t, s, "data_analysis", args{"action": "summary", "table": table})),
		"x: 11 numbers, 1 other, 0 empty\n  sum 99, mean 9, standard deviation 3.31662\n  least 4, quartiles 6.5 9 11.5, most 14\n",
		"kind: 0 numbers, 11 other, 1 empty; 3 different, a (8), b (2), c (1)\n")
	says(t, ok(t, do(t, s, "data_analysis", args{"action": "correlation", "table": table})), "x, y: pearson 0.8164, p 0.00216963, of 11 rows\n")
	says(t, ok(t, do(t, s, "data_analysis", args{"action": "regression", "table": table, "target": "y", "columns": []string{"x"}})),
		"y by 1 columns, 11 rows used, 1 left out\nconstant: 3.00009, error 1.12475, t 2.66735, p 0.0257341\nx: 0.500091, error 0.117906, t 4.24146, p 0.00216963\nR2 0.666542")
	says(t, ok(t, do(t, s, "data_analysis", args{"action": "trend", "table": table, "at": "Day", "columns": []string{"y"}})), "y: no clear trend; -0.395", "for each day", "from 8.04 to 1 (-87.56 %)")
	for want, a := range map[string]args{
		"tool/arguments: target": {"action": "summary", "table": table, "target": "y"},
		"tool/arguments: at":     {"action": "summary", "table": table, "at": "Day"},
		"tool/arguments: table":  {"action": "summary", "table": args{"path": "empty.csv"}},
		"table/column":           {"action": "summary", "table": table, "columns": []string{"z"}},
		"calculation/domain":     {"action": "regression", "table": table, "target": "y", "columns": []string{"kind"}},
	} {
		if r := do(t, s, "data_analysis", a); !strings.HasPrefix(r.Output, want) {
			t.Errorf("%v: %s, want %s", a, r.Output, want)
		}
	}
}
