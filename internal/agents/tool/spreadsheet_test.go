package tool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A model's day at a table, in both formats, without a cell's address.
func TestTOOL05_Spreadsheet(t *testing.T) {
	for _, path := range []string{"out/sales.csv", "out/sales.xlsx"} {
		s, root := workspace(t, nil)
		sheet := func(a args) tool.Result {
			t.Helper()
			a["path"] = path
			return ok(t, do(t, s, "spreadsheet", a))
		}
		r := sheet(args{"action": "create", "columns": []string{"Region", "Revenue", "Cost"}, "rows": []any{
			[]any{"North", 1200.5, 800}, args{"Cost": "$950.25", "Region": "South", "Revenue": 900}, []any{"=1+1", nil, true},
		}})
		if r.Changed[0] != path || !strings.Contains(r.Output, "3 rows of 3 columns") {
			t.Errorf("create: %v %s", r.Changed, r.Output)
		}
		sheet(args{"action": "add_rows", "rows": []any{[]any{"North", 10, 2}}})
		r = sheet(args{"action": "add_column", "column": "Margin", "formula": "round(({Revenue} - Cost) / Revenue, 3)"})
		says(t, r, "4 rows of 4 columns", "row 3 has no value: Cost: it is not a number")
		sheet(args{"action": "add_column", "column": "Note", "values": []any{"a", nil, "c", "007"}})
		r = sheet(args{"action": "read", "columns": []string{"Region", "Margin", "Note"}})
		if want := "Region,Margin,Note\nNorth,0.334,a\nSouth,-0.056,\n'=1+1,,c\nNorth,0.8,007\n"; r.Output != want {
			t.Errorf("read\n%swant\n%s", r.Output, want)
		}
		r = sheet(args{"action": "read", "columns": []string{"Region"}, "offset": 2, "limit": 1})
		if want := "Region\nSouth\n[rows 2 to 2 of 4; go on with offset 3]\n"; r.Output != want {
			t.Errorf("a part\n%swant\n%s", r.Output, want)
		}
		r = sheet(args{"action": "pivot", "group_by": []string{"Region"}, "aggregate": args{"Revenue": []string{"sum", "count"}, "Cost": "min"}})
		says(t, r, "Region,min of Cost,sum of Revenue,count of Revenue\nNorth,2,1210.5,2\n")
		sheet(args{"action": "pivot", "group_by": []string{"Region"}, "aggregate": args{"Revenue": "sum"}, "to": "pivot.xlsx"})
		sheet(args{"action": "export", "to": "sales.md"})
		if got := get(t, root, "sales.md"); !strings.HasPrefix(got, "| Region | Revenue | Cost | Margin | Note |\n| --- | ---: | --- | ---: | --- |\n| North |") {
			t.Errorf("Markdown\n%s", got)
		}
		sheet(args{"action": "export", "to": "copy.csv"})
		says(t, ok(t, do(t, s, "spreadsheet", args{"action": "read", "path": "pivot.xlsx"})), "sum of Revenue\nNorth,1210.5\n")
	}
}

func TestTOOL05_SpreadsheetRefuses(t *testing.T) {
	s, root := workspace(t, map[string]string{"a.csv": "A,B\n1,2\n", "bad.xlsx": "no zip"})
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"action": "create", "path": "x.csv"}, "tool/arguments: columns: create needs it\n"},
		{args{"action": "read", "path": "a.csv", "formula": "1", "to": "b.csv"}, "tool/arguments: formula: read does not take it\ntool/arguments: to: read does not take it\n"},
		{args{"action": "create", "path": "x.ods", "columns": []string{"A"}}, "tool/arguments: path: the file's name does not end in .csv or .xlsx (got \"x.ods\")\n"},
		{args{"action": "create", "path": "../x.csv", "columns": []string{"A"}}, "tool/outside"},
		{args{"action": "create", "path": "x.csv", "columns": []string{"A", "A"}}, "table/column: two columns have this name (got \"A\")\n"},
		{args{"action": "create", "path": "x.csv", "columns": []string{"A"}, "rows": []any{[]any{1}, []any{1, 2}}}, "tool/arguments: rows[1]: it has 2 values for 1 columns\n"},
		{args{"action": "create", "path": "x.csv", "columns": []string{"A"}, "rows": []any{args{"B": 1}}}, "table/column: rows[0]: there is no such column"},
		{args{"action": "create", "path": "x.csv", "columns": []string{"A"}, "rows": []any{[]any{[]any{}}}}, "tool/arguments: rows[0]: a cell is text, a number, true, false or null (got \"[]\")\n"},
		{args{"action": "read", "path": "a.csv", "columns": []string{"C"}}, "table/column"},
		{args{"action": "read", "path": "a.csv", "offset": 9}, "tool/arguments: offset: the table has 1 rows (got \"9\")\n"},
		{args{"action": "read", "path": "a.csv", "sheet": "S"}, "tool/arguments: sheet: only an .xlsx file has sheets\n"},
		{args{"action": "read", "path": "bad.xlsx"}, "table/invalid: bad.xlsx: it is not a workbook"},
		{args{"action": "read", "path": "no.csv"}, "tool/not-found"},
		{args{"action": "add_column", "path": "a.csv", "column": "C"}, "tool/arguments: arguments: give formula or values, one of them\n"},
		{args{"action": "add_column", "path": "a.csv", "column": "C", "formula": "{D} + 1"}, "table/column"},
		{args{"action": "add_column", "path": "a.csv", "column": "B", "formula": "A"}, "table/column: two columns have this name"},
		{args{"action": "pivot", "path": "a.csv", "group_by": []string{"A"}, "aggregate": args{"B": "median"}}, "table/invalid"},
		{args{"action": "export", "path": "a.csv", "to": "a.pdf"}, "tool/arguments: to: the file's name does not end in .csv or .xlsx or .md"},
		{args{"action": "sheets", "path": "a.csv"}, "tool/arguments: path"},
	} {
		if r := do(t, s, "spreadsheet", tt.args); r.Code == "" || !strings.HasPrefix(r.Output, tt.want) {
			t.Errorf("%v: %s\nwant %s", tt.args, r.Output, tt.want)
		}
	}
	frozen := tool.New(tool.Workspace{Root: root, ReadOnly: true}, nil)
	if r := do(t, frozen, "spreadsheet", args{"action": "add_rows", "path": "a.csv", "rows": []any{}}); r.Code != "tool/denied" {
		t.Errorf("a read-only workspace: %s", r.Output)
	}
	ok(t, do(t, frozen, "spreadsheet", args{"action": "read", "path": "a.csv"}))
}

// What does not fit into an answer is left out, and that is said.
func TestTOOL02_SpreadsheetIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("Number,Text\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "%d,%s\n", i, strings.Repeat("x", 100))
	}
	s, _ := workspace(t, map[string]string{"long.csv": b.String()})
	r := ok(t, do(t, s, "spreadsheet", args{"action": "read", "path": "long.csv", "limit": 5000}))
	if len(r.Output) > tool.Shown || !strings.Contains(r.Output, "of 5000; go on with offset ") || strings.Contains(r.Output, "bytes cut") {
		t.Errorf("%d bytes, the end is %q", len(r.Output), r.Output[len(r.Output)-80:])
	}
}

// A call that adds is not made twice in silence.
func TestACT04_SpreadsheetReconcile(t *testing.T) {
	for _, tt := range []struct {
		args  args
		again bool
	}{
		{args{"action": "create", "path": "a.csv", "columns": []string{"A"}}, true},
		{args{"action": "read", "path": "a.csv"}, true},
		{args{"action": "add_rows", "path": "a.csv", "rows": []any{[]any{5, "x"}}}, true},
		{args{"action": "add_rows", "path": "a.csv", "rows": []any{[]any{3, "y"}}}, false},
		{args{"action": "add_rows", "path": "no.csv", "rows": []any{[]any{3, "y"}}}, true},
		{args{"action": "add_column", "path": "a.csv", "column": "B", "formula": "A"}, false},
		{args{"action": "add_column", "path": "a.csv", "column": "C", "formula": "A"}, true},
	} {
		s, _ := workspace(t, map[string]string{"a.csv": "A,B\n1,x\n3.0,y\n"})
		r, settled := s.Reconcile(context.Background(), call(t, "spreadsheet", tt.args))
		if settled == tt.again || settled && r.Status != loomv1.ToolStatus_TOOL_STATUS_UNKNOWN {
			t.Errorf("%v: settled %t, %s", tt.args, settled, r.Output)
		}
	}
}
