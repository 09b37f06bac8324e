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

	"github.com/loomrun/loom/internal/chart"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/sheet"
)

var chartData = &tool{
	Spec: Spec{
		Name:  "chart_data",
		Class: writes,
		Description: "Draw a chart (" + strings.Join(chart.Kinds, ", ") + ") from a table or from series, to a .png or .svg file, or write its " +
			"data to a .json file; give several paths for several files. A table's category column names the bars or points of a line, and each " +
			"value column is a series; a scatter chart takes the column x and the value columns against it.",
		Schema: schema(`"kind","title","paths"`, `
			"kind": {"enum": ["`+strings.Join(chart.Kinds, `","`)+`"]},
			"title": {"type": "string", "minLength": 1, "maxLength": 120, "description": "what the chart shows"},
			"x_label": {"type": "string", "maxLength": 120}, "y_label": {"type": "string", "maxLength": 120, "description": "with the unit"},
			"paths": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "minLength": 1}},
			"table": `+tableSchema+`,
			"category": {"type": "string", "description": "column of the table"},
			"x": {"type": "string", "description": "column of the table, for scatter"},
			"values": {"type": "array", "minItems": 1, "maxItems": 8, "items": {"type": "string"}, "description": "columns of the table"},
			"categories": {"type": "array", "maxItems": 60, "items": {"type": "string"}},
			"series": {"type": "array", "minItems": 1, "maxItems": 8, "items": {"type": "object", "additionalProperties": false, "required": ["name"],
				"properties": {"name": {"type": "string"}, "values": {"type": "array", "items": {"type": ["number", "null"]}, "description": "in the order of categories"},
				"points": {"type": "array", "maxItems": 5000, "items": {"type": "object", "additionalProperties": false, "required": ["x", "y"],
				"properties": {"x": {"type": "number"}, "y": {"type": "number"}}}}}}}`),
	},
	run: with(makeChart),
}

type chartArguments struct {
	Kind       string         `json:"kind"`
	Title      string         `json:"title"`
	XLabel     string         `json:"x_label"`
	YLabel     string         `json:"y_label"`
	Paths      []string       `json:"paths"`
	Table      *tableFile     `json:"table"`
	Category   string         `json:"category"`
	X          string         `json:"x"`
	Values     []string       `json:"values"`
	Categories []string       `json:"categories"`
	Series     []chart.Series `json:"series"`
}

func makeChart(ctx context.Context, j job, a chartArguments) (Result, error) {
	for i, p := range a.Paths {
		if _, err := extensionOf(fmt.Sprintf("paths[%d]", i), p, ".png", ".svg", ".json"); err != nil {
			return Result{}, err
		}
	}
	c := chart.Chart{Kind: a.Kind, Title: a.Title, X: cmp.Or(a.XLabel, a.X, a.Category), Y: a.YLabel, Categories: a.Categories, Series: a.Series}
	note := ""
	switch {
	case (a.Table == nil) == (a.Series == nil):
		return Result{}, unfit("arguments", "give table or series, one of them")
	case a.Table != nil:
		t, more, err := j.table(*a.Table)
		if err != nil {
			return Result{}, err
		}
		if err := a.take(&c, &t); err != nil {
			return Result{}, err
		}
		note = more + missing(&c)
	}
	if err := c.Check(); err != nil {
		return Result{}, err
	}
	return j.drawAll(ctx, &c, a.Paths, note)
}

// take fills a chart from a table.
func (a chartArguments) take(c *chart.Chart, t *sheet.Table) error {
	column := cmp.Or(a.Category, a.X)
	if column == "" || (a.Kind == "scatter") != (a.Category == "") || len(a.Values) == 0 {
		return unfit("arguments", "with table, a scatter chart takes x and values, every other category and values")
	}
	along, err := t.Column(column)
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
