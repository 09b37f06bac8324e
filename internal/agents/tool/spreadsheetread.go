package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/craft/sheet"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	usualRows = 200 // that are read when the call does not say
	tableText = Shown - 4<<10
)

func readSheet(j job, a sheetArguments) (Result, error) {
	t, note, err := j.table(a.file())
	if err != nil {
		return Result{}, err
	}
	if a.Columns != nil {
		if t, err = t.Select(a.Columns); err != nil {
			return Result{}, err
		}
	}
	total, first := len(t.Rows), max(a.Offset, 1)
	if first > max(total, 1) {
		return Result{}, unfit("offset", "the table has %d rows", total).Got(fmt.Sprint(first))
	}
	t.Rows = t.Rows[first-1 : min(total, first-1+cmp.Or(a.Limit, usualRows))]
	text := fit(&t)
	last := first - 1 + len(t.Rows)
	if last < total || first > 1 {
		note += fmt.Sprintf("[rows %d to %d of %d", first, last, total)
		if last < total {
			note += fmt.Sprintf("; go on with offset %d", last+1)
		}
		note += "]\n"
	}
	return done(text+note, "%s: rows %d to %d of %d, %d columns", a.Path, min(first, total), last, total, len(t.Columns)), nil
}

// fit leaves out the last rows that do not fit into a result.
func fit(t *sheet.Table) string {
	text := string(t.CSV())
	for len(text) > tableText && len(t.Rows) > 0 {
		t.Rows = t.Rows[:len(t.Rows)*min(tableText, len(text)-1)/len(text)]
		text = string(t.CSV())
	}
	return text
}

func pivotSheet(j job, a sheetArguments) (Result, error) {
	t, note, err := j.table(a.file())
	if err != nil {
		return Result{}, err
	}
	list, err := aggregates(a.Aggregate)
	if err != nil {
		return Result{}, err
	}
	p, err := t.Pivot(a.GroupBy, list)
	if err != nil {
		return Result{}, err
	}
	if a.To != "" {
		return j.save(a.To, &p)
	}
	groups := len(p.Rows)
	text := fit(&p)
	if len(p.Rows) < groups {
		note += fmt.Sprintf("[%d of %d groups are shown; write them to a file with to]\n", len(p.Rows), groups)
	}
	return done(text+note, "%s: %d groups", a.Path, groups), nil
}

func aggregates(given map[string]json.RawMessage) (list []sheet.Aggregate, err error) {
	for _, column := range slices.Sorted(maps.Keys(given)) {
		var one string
		var several []string
		if json.Unmarshal(given[column], &one) == nil {
			several = []string{one}
		} else if json.Unmarshal(given[column], &several) != nil {
			return nil, unfit("aggregate/"+column, "it is not the name of an aggregate, nor a list of them")
		}
		for _, make := range several {
			list = append(list, sheet.Aggregate{Of: column, Make: make})
		}
	}
	return list, nil
}

func exportSheet(j job, a sheetArguments) (Result, error) {
	t, note, err := j.table(a.file())
	if err != nil {
		return Result{}, err
	}
	r, err := j.save(a.To, &t)
	r.Output += note
	return r, err
}

func listSheets(j job, a sheetArguments) (Result, error) {
	if _, err := extensionOf("path", a.Path, ".xlsx"); err != nil {
		return Result{}, err
	}
	data, err := j.bytes(a.Path)
	if err != nil {
		return Result{}, err
	}
	b, err := sheet.OpenBook(data)
	if err != nil {
		return Result{}, at(a.Path, err)
	}
	defer b.Close()
	var out strings.Builder
	for _, s := range b.Sheets() {
		out.WriteString(shown(s) + "\n")
	}
	return done(out.String(), "%s: %d sheets", a.Path, len(b.Sheets())), nil
}

// reconcileSheet looks at the file: a call that adds something may have added
// it before it was cut off. All others give the same when they are made again.
func reconcileSheet(_ context.Context, s *Set, call *loomv1.ToolCall) (Result, bool) {
	var a sheetArguments
	if json.Unmarshal([]byte(call.Arguments), &a) != nil || s.ws.ReadOnly || a.Action != "add_rows" && a.Action != "add_column" {
		return Result{}, false
	}
	t, _, err := s.table(a.file())
	if err != nil {
		return Result{}, false // it says so itself when it is made again
	}
	if a.Action == "add_column" {
		_, err := t.Column(a.Column)
		if err == nil {
			return unknown("the table has this column now"), true
		}
		return Result{}, false
	}
	rows, err := readRows(&t, a.Rows)
	if err == nil && len(rows) > 0 && endsWith(t.Rows, rows) {
		return unknown("the table ends with these rows"), true
	}
	return Result{}, false
}

func endsWith(rows, last [][]sheet.Value) bool {
	if len(rows) < len(last) {
		return false
	}
	return slices.EqualFunc(rows[len(rows)-len(last):], last, func(a, b []sheet.Value) bool {
		return slices.EqualFunc(a, b, func(v, w sheet.Value) bool {
			return v.Numeric == w.Numeric && (v.Text == w.Text || v.Numeric && v.Number.Equal(w.Number))
		})
	})
}
