package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/craft/calculator"
	"github.com/loomrun/loom/internal/craft/sheet"
)

var calculate = &tool{
	Spec: Spec{
		Name:  "calculator",
		Class: reads,
		Description: "Compute with exact decimals; use it for every figure. Give expression (+ - * / ^, 15%, comparisons, " +
			strings.Join(calculator.Functions(), " ") + "; {names with blanks} in braces), or formula with inputs; rates are fractions. " +
			"With rows or table, it is computed for each: names are columns. Formulas: " + formulaList() + ".",
		Schema: schema(``, `
			"expression": {"type": "string", "minLength": 1, "maxLength": 4096},
			"variables": {"type": "object", "description": "of the expression", "additionalProperties": {"type": ["number", "string"]}},
			"formula": {"type": "string", "maxLength": 40},
			"inputs": {"type": "object"},
			"rows": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "object"}},
			"table": `+tableSchema+`,
			"columns": {"type": "object", "description": "input: column that has it", "additionalProperties": {"type": "string"}},
			"places": {"type": "integer", "minimum": 0, "maximum": 20, "description": "digits after the point; default all"}`),
	},
	run: with(calculateAnswer),
}

// formulaList shows all formulas with what they take.
func formulaList() string {
	var list []string
	for _, f := range calculator.Formulas() {
		var inputs []string
		for _, p := range f.Parameters {
			name := p.Name
			if p.Kind == calculator.List {
				name += ": list"
			}
			if p.Kind == calculator.Dated {
				name += ": list of {date,amount}"
			}
			if p.Optional {
				name = "[" + name + "]"
			}
			inputs = append(inputs, name)
		}
		list = append(list, fmt.Sprintf("%s(%s)", f.Name, strings.Join(inputs, ",")))
	}
	return strings.Join(list, "; ")
}

type calculatorArguments struct {
	Expression string                       `json:"expression"`
	Variables  map[string]json.RawMessage   `json:"variables"`
	Formula    string                       `json:"formula"`
	Inputs     map[string]json.RawMessage   `json:"inputs"`
	Rows       []map[string]json.RawMessage `json:"rows"`
	Table      *tableFile                   `json:"table"`
	Columns    map[string]string            `json:"columns"`
	Places     *int                         `json:"places"`
}

func calculateAnswer(ctx context.Context, j job, a calculatorArguments) (Result, error) {
	switch {
	case (a.Expression == "") == (a.Formula == ""):
		return Result{}, unfit("arguments", "give expression or formula, one of them")
	case a.Rows != nil && a.Table != nil:
		return Result{}, unfit("arguments", "give rows or table, not both")
	case a.Expression != "" && (a.Inputs != nil || a.Columns != nil):
		return Result{}, unfit("arguments", "inputs and columns belong to a formula; an expression has variables")
	case a.Formula != "" && a.Variables != nil:
		return Result{}, unfit("variables", "a formula has inputs")
	case a.Rows != nil || a.Table != nil:
		return j.eachRow(ctx, a)
	}
	answer, err := a.answer(nil)
	if err != nil {
		return Result{}, err
	}
	text := a.show(answer)
	first, _, _ := strings.Cut(text, "\n")
	return done(text, "%s", first), nil
}

// answer computes once, with what one row gives.
func (a calculatorArguments) answer(row map[string]json.RawMessage) (calculator.Answer, error) {
	if a.Formula != "" {
		return a.formula(row)
	}
	values := map[string]decimal.Decimal{}
	for _, given := range []map[string]json.RawMessage{a.Variables, row} {
		for name, raw := range given {
			if d, ok := numberIn(raw); ok {
				values[name] = d
			}
		}
	}
	r, err := calculator.Compute(a.Expression, values)
	return calculator.Answer{Values: []calculator.Named{{Name: "result", Value: r.Value, Rounded: r.Rounded}}}, err
}

// numberIn is the number that JSON holds, as such or as text.
func numberIn(raw json.RawMessage) (decimal.Decimal, bool) {
	text := strings.TrimSpace(string(raw))
	if strings.HasPrefix(text, `"`) && json.Unmarshal(raw, &text) != nil {
		return decimal.Decimal{}, false
	}
	if d, err := calculator.ParseNumber(text); err == nil {
		return d, true
	}
	v := sheet.Parse(text)
	return v.Number, v.Numeric
}

func (a calculatorArguments) formula(row map[string]json.RawMessage) (calculator.Answer, error) {
	f, err := calculator.Find(a.Formula)
	if err != nil {
		return calculator.Answer{}, err
	}
	inputs := map[string]json.RawMessage{}
	for _, p := range f.Parameters {
		column := p.Name
		if named, ok := a.Columns[p.Name]; ok {
			column = named
		}
		if raw, ok := row[column]; ok && (p.Kind == calculator.Amount || p.Kind == calculator.Whole) {
			if d, numeric := numberIn(raw); numeric {
				raw = json.RawMessage(d.String())
			}
			inputs[p.Name] = raw
		} else if ok {
			inputs[p.Name] = raw
		}
	}
	for name, raw := range a.Inputs {
		inputs[name] = raw
	}
	return f.Run(inputs)
}

func (a calculatorArguments) places() int {
	if a.Places != nil {
		return *a.Places
	}
	return -1
}

// show writes an answer for the model: values, schedule, notes.
func (a calculatorArguments) show(answer calculator.Answer) string {
	var b strings.Builder
	for _, v := range answer.Values {
		fmt.Fprintf(&b, "%s = %s", v.Name, calculator.Format(v.Value, v.Rounded, a.places()))
		if v.Rate {
			fmt.Fprintf(&b, " (%s %%)", calculator.Format(v.Value.Shift(2), true, 4))
		}
		if v.Rounded && a.Places == nil {
			b.WriteString(" rounded")
		}
		b.WriteString("\n")
	}
	for _, n := range answer.Notes {
		b.WriteString("note: " + n + "\n")
	}
	if answer.Columns == nil {
		return b.String()
	}
	b.WriteString(strings.Join(answer.Columns, ",") + "\n")
	for _, row := range answer.Rows {
		for i, v := range row {
			if i > 0 {
				b.WriteByte(',')
			}
			places := a.places()
			if i == 0 {
				places = 0
			}
			b.WriteString(calculator.Format(v, true, places))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// eachRow computes for every row; one that cannot be computed says why, and
// the others go on.
func (j job) eachRow(ctx context.Context, a calculatorArguments) (Result, error) {
	rows, labels, note, err := j.rows(a)
	if err != nil {
		return Result{}, err
	}
	var b strings.Builder
	failed := 0
	for i, row := range rows {
		if ctx.Err() != nil {
			return Result{}, ended(ctx)
		}
		answer, err := a.answer(row)
		fmt.Fprintf(&b, "%s: ", labels[i])
		if err != nil {
			failed++
			fmt.Fprintf(&b, "no value: %s\n", err)
			continue
		}
		var values []string
		for _, v := range answer.Values {
			values = append(values, v.Name+" = "+calculator.Format(v.Value, v.Rounded, a.places()))
		}
		b.WriteString(strings.Join(append(values, answer.Notes...), ", ") + "\n")
	}
	return done(note+b.String(), "%d rows computed, %d without a value", len(rows)-failed, failed), nil
}

// rows are those that the call gives or names, each with a label.
func (j job) rows(a calculatorArguments) (rows []map[string]json.RawMessage, labels []string, note string, err error) {
	if a.Table == nil {
		for i := range a.Rows {
			labels = append(labels, fmt.Sprintf("row %d", i+1))
		}
		return a.Rows, labels, "", nil
	}
	t, note, err := j.table(*a.Table)
	if err != nil {
		return nil, nil, "", err
	}
	for i, cells := range t.Rows {
		row := map[string]json.RawMessage{}
		for k, v := range cells {
			row[t.Columns[k]] = asJSON(v)
		}
		rows, labels = append(rows, row), append(labels, label(i, cells))
	}
	return rows, labels, note, nil
}

func asJSON(v sheet.Value) json.RawMessage {
	if v.Numeric {
		return json.RawMessage(v.Number.String())
	}
	text, _ := json.Marshal(v.Text) // text always can be
	return text
}

// label names a row by its number and, where that is text, its first cell.
func label(i int, cells []sheet.Value) string {
	if len(cells) > 0 && !cells[0].Numeric && cells[0].Text != "" {
		return fmt.Sprintf("row %d (%s)", i+1, cutEnd(shown(cells[0].Text), 60))
	}
	return fmt.Sprintf("row %d", i+1)
}
