package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/chart"
	"github.com/loomrun/loom/internal/craft/sheet"
)

var chartData = &tool{
	Spec: Spec{
		Name:  "chart_data",
		Class: writes,
		Description: "Draw a chart of a table's columns, or of rows, to .png or .svg files, or write its data to a .json file. " +
			"Column x names the bars, slices or points; each column of values is a series. In a scatter chart x has numbers.",
		Schema: schema(`"kind","title","paths","x","values"`, `
			"kind": {"enum": ["`+strings.Join(chart.Kinds, `","`)+`"]},
			"title": {"type": "string", "minLength": 1, "maxLength": 120, "description": "what it shows"},
			"x_label": {"type": "string", "maxLength": 120}, "y_label": {"type": "string", "maxLength": 120, "description": "with the unit"},
			"paths": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "minLength": 1}},
			"table": `+tableSchema+`,
			"rows": {"type": "array", "minItems": 1, "maxItems": 5000, "items": {"type": "object"}, "description": "values by column name"},
			"x": {"type": "string", "minLength": 1},
			"values": {"type": "array", "minItems": 1, "maxItems": 8, "items": {"type": "string"}}`),
	},
	run: with(makeChart),
}

type chartArguments struct {
	Kind   string            `json:"kind"`
	Title  string            `json:"title"`
	XLabel string            `json:"x_label"`
	YLabel string            `json:"y_label"`
	Paths  []string          `json:"paths"`
	Table  *tableFile        `json:"table"`
	Rows   []json.RawMessage `json:"rows"`
	X      string            `json:"x"`
	Values []string          `json:"values"`
}

func makeChart(ctx context.Context, j job, a chartArguments) (Result, error) {
	for i, p := range a.Paths {
		if _, err := extensionOf(fmt.Sprintf("paths[%d]", i), p, ".png", ".svg", ".json"); err != nil {
			return Result{}, err
		}
	}
	t, note, err := j.charted(a)
	if err != nil {
		return Result{}, err
	}
	c := chart.Chart{Kind: a.Kind, Title: a.Title, X: cmp.Or(a.XLabel, a.X), Y: a.YLabel}
	if err := a.take(&c, &t); err != nil {
		return Result{}, err
	}
	if err := c.Check(); err != nil {
		return Result{}, err
	}
	return j.drawAll(ctx, &c, a.Paths, note+missing(&c))
}

// charted is the table that a chart is of.
func (j job) charted(a chartArguments) (t sheet.Table, note string, err error) {
	switch {
	case (a.Table == nil) == (a.Rows == nil):
		return t, "", unfit("arguments", "give table or rows, one of them")
	case a.Table != nil:
		return j.table(*a.Table)
	}
	if t, err = sheet.New(append([]string{a.X}, a.Values...)); err == nil {
		t.Rows, err = readRows(&t, a.Rows)
	}
	return t, "", err
}

// take fills a chart from a table.
func (a chartArguments) take(c *chart.Chart, t *sheet.Table) error {
	along, err := t.Column(a.X)
	if err != nil {
		return err
	}
	if a.Kind != "scatter" {
		for _, row := range t.Rows {
			c.Categories = append(c.Categories, row[along].Text)
		}
	}
	for _, name := range a.Values {
		place, err := t.Column(name)
		if err != nil {
			return err
		}
		s := chart.Series{Name: name}
		for _, row := range t.Rows {
			addTo(&s, row[along], row[place], a.Kind == "scatter")
		}
		c.Series = append(c.Series, s)
	}
	return nil
}

// addTo adds a row to a series; a point needs both numbers.
func addTo(s *chart.Series, along, value sheet.Value, point bool) {
	v := chart.None()
	if value.Numeric {
		v = chart.Number(value.Number.InexactFloat64())
	}
	switch {
	case !point:
		s.Values = append(s.Values, v)
	case along.Numeric && value.Numeric:
		s.Points = append(s.Points, chart.Point{X: chart.Number(along.Number.InexactFloat64()), Y: v})
	}
}

func (j job) drawAll(ctx context.Context, c *chart.Chart, paths []string, note string) (Result, error) {
	all := done("", "%s chart %q: %s", c.Kind, cutEnd(c.Title, 80), strings.Join(paths, ", "))
	for _, p := range paths {
		if ctx.Err() != nil {
			return Result{}, ended(ctx)
		}
		data, err := render(c, extension(p))
		if err != nil {
			return Result{}, err
		}
		r, err := j.deliver(p, data)
		if err != nil {
			return Result{}, err
		}
		all.Output += r.Summary + "\n"
		all.Changed = append(all.Changed, r.Changed...)
	}
	all.Output += note
	return all, nil
}

func render(c *chart.Chart, ext string) ([]byte, error) {
	switch ext {
	case ".png":
		return c.PNG()
	case ".svg":
		return c.SVG()
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return nil, fault.New("tool/failed", "%s", err)
	}
	return append(data, '\n'), nil
}

// missing says how many values a series has not.
func missing(c *chart.Chart) string {
	without := map[string]int{}
	for _, s := range c.Series {
		for _, v := range s.Values {
			if math.IsNaN(float64(v)) {
				without[s.Name]++
			}
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(without)) {
		fmt.Fprintf(&b, "[%d values of %q are no numbers and not drawn]\n", without[name], name)
	}
	return b.String()
}
