package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/comparison"
	"github.com/loomrun/loom/internal/craft/sheet"
)

var comparisonMatrix = &tool{
	Spec: Spec{
		Name:  "comparison_matrix",
		Class: writes,
		Description: "Rank options by criteria with a weight, which need a score for each option, and say how firm the ranking is; criteria " +
			"without are described in words. path writes it to a .md, .csv or .xlsx file.",
		Schema: schema(`"criteria","options"`, `
			"criteria": {"type": "array", "minItems": 1, "maxItems": 30, "items": {"type": "object", "additionalProperties": false, "required": ["name"],
				"properties": {"name": {"type": "string", "minLength": 1}, "weight": {"type": "number", "exclusiveMinimum": 0},
				"lower_is_better": {"type": "boolean"}}}},
			"options": {"type": "array", "minItems": 2, "maxItems": 30, "items": {"type": "object", "additionalProperties": false, "required": ["name", "entries"],
				"properties": {"name": {"type": "string", "minLength": 1}, "entries": {"type": "object", "description": "criterion: score or words"}}}},
			"least": {"type": "number", "description": "of the scale; default 1"},
			"most": {"type": "number", "description": "default 5"},
			"path": {"type": "string", "minLength": 1}`),
	},
	run: with(compareOptions),
}

type comparisonArguments struct {
	Criteria []struct {
		Name   string          `json:"name"`
		Weight json.RawMessage `json:"weight"`
		Lower  bool            `json:"lower_is_better"`
	} `json:"criteria"`
	Options []struct {
		Name    string                     `json:"name"`
		Entries map[string]json.RawMessage `json:"entries"`
	} `json:"options"`
	Least json.RawMessage `json:"least"`
	Most  json.RawMessage `json:"most"`
	Path  string          `json:"path"`
}

func compareOptions(_ context.Context, j job, a comparisonArguments) (Result, error) {
	m, err := a.matrix()
	if err != nil {
		return Result{}, err
	}
	t, err := m.Table()
	if err != nil {
		return Result{}, err
	}
	list, err := m.Rank()
	if err != nil {
		return Result{}, err
	}
	remarks, err := m.Remarks(list)
	if err != nil {
		return Result{}, err
	}
	text := t.Markdown()
	for _, r := range remarks {
		text += "note: " + r + "\n"
	}
	summary := fmt.Sprintf("%d options by %d criteria", len(m.Options), len(m.Criteria))
	if len(list) > 0 {
		summary += fmt.Sprintf("; first is %s", cutEnd(shown(list[0].Name), 60))
	}
	if a.Path == "" {
		return done(text, "%s", summary), nil
	}
	r, err := j.save(a.Path, &t)
	r.Output += text
	r.Summary += "; " + summary
	return r, err
}

// matrix reads the arguments, and checks what comes out.
func (a comparisonArguments) matrix() (comparison.Matrix, error) {
	m := comparison.Matrix{Least: orNumber(a.Least, 1), Most: orNumber(a.Most, 5)}
	for _, c := range a.Criteria {
		m.Criteria = append(m.Criteria, comparison.Criterion{Name: c.Name, Weight: orNumber(c.Weight, 0), Lower: c.Lower})
	}
	for _, o := range a.Options {
		entries := map[string]sheet.Value{}
		for _, name := range slices.Sorted(maps.Keys(o.Entries)) {
			v, err := cell(o.Entries[name])
			if err != nil {
				return m, fault.From(err).At(strings.Join([]string{"options", o.Name, name}, "/"))
			}
			entries[name] = v
		}
		m.Options = append(m.Options, comparison.Option{Name: o.Name, Entries: entries})
	}
	return m, m.Check()
}

func orNumber(raw json.RawMessage, otherwise int64) decimal.Decimal {
	if d, ok := numberIn(raw); ok {
		return d
	}
	return decimal.NewFromInt(otherwise)
}
