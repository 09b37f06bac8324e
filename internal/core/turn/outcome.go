package turn

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of an outcome's declared fields.
const (
	maxField = 4 << 10                  // bytes of a string
	maxBytes = workflow.ObjectBytes / 2 // of an object, as JSON
	maxInt   = 1 << 53                  // above it a double is not exact
)

// FaultField is the outcome field that says whose fault a failure is: a success need
// not give it.
const FaultField = "fault"

// Tool offers [FinishName] to a model.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments.
	Schema json.RawMessage
}

// FinishTool returns the tool that ends a turn: its arguments are the status, a
// summary, notes, and outcome fields. Which fields a node declares, and whether it
// has cycles, stands in the assignment: tools come before everything else that a
// server keeps, so they are the same at every node.
func FinishTool() Tool {
	fields := map[string]any{"type": "object"}
	schema, err := json.Marshal(object(map[string]any{
		"status": map[string]any{
			"type": "string", "enum": []string{"success", "failure", "continue"},
		},
		"summary": text("one line"),
		"notes":   text("for the next cycle or agent; it is all they get from you"),
		"fields":  fields,
	}, "status", "summary"))
	if err != nil {
		panic(err) // strings alone
	}
	return Tool{
		Name: FinishName, Schema: schema,
		Description: "End your turn, as \"How to end\" says. Call it once, after all other calls.",
	}
}

func object(properties map[string]any, required ...string) map[string]any {
	o := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func text(about string) map[string]any {
	return map[string]any{"type": "string", "description": about}
}

func statuses(n *loomv1.NodeDefinition) []string {
	if n.GetMultiDispatch() {
		return []string{"success", "failure", "continue"}
	}
	return []string{"success", "failure"}
}

// ParseOutcome reads the arguments of a call of finish at node n. It returns
// outcome/invalid with everything that is wrong at once, so that a model can
// mend it: unknown keys, a status that the node does not have, an empty
// summary, undeclared or mistyped fields, and on success missing ones but
// [FaultField] and [workflow.ReplanField]. A declared field beside "fields" counts as one in it. The summary
// becomes one line.
func ParseOutcome(n *loomv1.NodeDefinition, args string) (*loomv1.Outcome, error) {
	values, err := decode(args)
	if err != nil {
		return nil, wrong("", "the arguments are not one JSON object: %s", err)
	}
	p := outcomeParser{node: n, values: values, out: &loomv1.Outcome{}}
	p.keys()
	p.status()
	p.out.Summary = strings.Join(strings.Fields(p.text("summary")), " ")
	if _, given := values["summary"].(string); p.out.Summary == "" && (given || values["summary"] == nil) {
		p.wrong("summary", "it is missing or empty")
	}
	p.out.Notes = p.text("notes")
	p.fields()
	if err := fault.Join(p.errs); err != nil {
		return nil, err
	}
	return p.out, nil
}

func decode(args string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	if values == nil {
		return nil, errors.New("it is null")
	}
	return values, nil
}

type outcomeParser struct {
	node   *loomv1.NodeDefinition
	values map[string]any
	out    *loomv1.Outcome
	errs   []*fault.Error
}

func wrong(where, format string, args ...any) *fault.Error {
	return fault.New("outcome/invalid", format, args...).At(where)
}

func (p *outcomeParser) wrong(where, format string, args ...any) *fault.Error {
	e := wrong(where, format, args...)
	p.errs = append(p.errs, e)
	return e
}

func (p *outcomeParser) keys() {
	known := []string{"status", "summary", "notes", "fields"}
	for _, k := range slices.Sorted(maps.Keys(p.values)) {
		if slices.Contains(known, k) {
			continue
		}
		if _, declared := p.node.GetOutcome()[k]; declared && p.beside(k) {
			continue
		}
		p.wrong(fault.Echo(k), "there is no such key").Hint = suggest.Hint(k, known)
	}
}

// beside takes a declared field that stands beside "fields" and not in it, where
// many models put it first; false where both have it.
func (p *outcomeParser) beside(k string) bool {
	given, ok := p.values["fields"].(map[string]any)
	if !ok && p.values["fields"] != nil || given[k] != nil {
		return false
	}
	if given == nil {
		given = map[string]any{}
	}
	given[k] = p.values[k]
	p.values["fields"] = given
	return true
}

func (p *outcomeParser) status() {
	given, isText := p.values["status"].(string)
	known := statuses(p.node)
	switch {
	case p.values["status"] == nil:
		p.wrong("status", "it is missing").Want("one of %s", strings.Join(known, ", "))
	case !isText:
		p.wrong("status", "it must be a string").Want("one of %s", strings.Join(known, ", "))
	case !slices.Contains(known, given):
		p.wrong("status", "there is no such status here").Got(given).Want("one of %s", strings.Join(known, ", "))
	default:
		p.out.Status = map[string]loomv1.OutcomeStatus{
			"success":  loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS,
			"failure":  loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE,
			"continue": loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE,
		}[given]
	}
}

// text returns a value that must be a string, if it is given.
func (p *outcomeParser) text(key string) string {
	s, ok := p.values[key].(string)
	if !ok && p.values[key] != nil {
		p.wrong(key, "it must be a string")
	}
	return clean(s)
}

func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func (p *outcomeParser) fields() {
	given, ok := p.values["fields"].(map[string]any)
	if !ok && p.values["fields"] != nil {
		p.wrong("fields", "it must be an object")
		return
	}
	declared := slices.Sorted(maps.Keys(p.node.GetOutcome()))
	out := map[string]*structpb.Value{}
	for _, k := range slices.Sorted(maps.Keys(given)) {
		if kind, ok := p.node.GetOutcome()[k]; !ok {
			p.wrong("fields."+fault.Echo(k), "this task declares no such field").Hint = suggest.Hint(k, declared)
		} else if given[k] != nil {
			out[k] = p.field("fields."+k, kind, given[k])
		}
	}
	for _, k := range declared {
		if p.out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || given[k] != nil {
			continue
		}
		if (k == FaultField || k == workflow.ReplanField) && p.node.Outcome[k] == "string" {
			out[k] = structpb.NewStringValue("")
		} else {
			p.wrong("fields."+k, "a success gives it").Want("a value that is %s", wanted(p.node.Outcome[k]))
		}
	}
	if len(out) > 0 {
		p.out.Fields = &structpb.Struct{Fields: out}
	}
}

// field returns a declared field's value; a mistyped one is a problem.
func (p *outcomeParser) field(where, kind string, v any) *structpb.Value {
	switch v := v.(type) {
	case string:
		if object, err := decode(v); kind == "object" && err == nil { // some models quote it
			return p.object(where, object)
		}
		if kind == "string" && len(v) > maxField {
			p.wrong(where, "it has %d bytes; at most %d are taken", len(v), maxField)
			return nil
		} else if kind == "string" {
			return structpb.NewStringValue(clean(v))
		}
		if condition.Choices(kind) != nil {
			word := strings.ToLower(strings.TrimSpace(v))
			if condition.Allows(kind, word) {
				return structpb.NewStringValue(word)
			}
			p.wrong(where, "it must be %s", wanted(kind)).Got(v)
			return nil
		}
	case bool:
		if kind == "bool" {
			return structpb.NewBoolValue(v)
		}
	case map[string]any:
		if kind == "object" {
			return p.object(where, v)
		}
	case json.Number:
		if x, err := v.Float64(); err == nil && fitsNumber(kind, x) {
			return structpb.NewNumberValue(x)
		}
	}
	p.wrong(where, "it must be %s", wanted(kind))
	return nil
}

// wanted says what a field of a type takes.
func wanted(kind string) string {
	if words := condition.Choices(kind); words != nil {
		return "one of " + strings.Join(words, ", ")
	}
	return "of type " + kind
}

// object returns the value of a field that is an object. What it takes as JSON is
// bounded so that its protobuf fits.
func (p *outcomeParser) object(where string, given map[string]any) *structpb.Value {
	data, err := json.Marshal(given)
	if err == nil && len(data) > maxBytes {
		p.wrong(where, "it has %d bytes; at most %d are taken", len(data), maxBytes)
		return nil
	}
	s, err := structpb.NewStruct(cleaned(given).(map[string]any))
	if err != nil { // texts are clean
		p.wrong(where, "it must be of type object: a number in it is out of range")
		return nil
	}
	if !workflow.Nests(s, workflow.ObjectDepth) {
		p.wrong(where, "objects and lists stand in each other deeper than %d", workflow.ObjectDepth)
		return nil
	}
	return structpb.NewStructValue(s)
}

// cleaned is a value of JSON with every text in it clean.
func cleaned(v any) any {
	switch v := v.(type) {
	case string:
		return clean(v)
	case []any:
		for i := range v {
			v[i] = cleaned(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, of := range v {
			out[clean(key)] = cleaned(of)
		}
		return out
	}
	return v
}

func fitsNumber(kind string, x float64) bool {
	return kind == "double" || kind == "int" && x == math.Trunc(x) && math.Abs(x) <= maxInt
}

// explain lists what is wrong with an outcome, for the model.
func explain(err error) string {
	return listed("your call of "+FinishName+" was not taken; mend this and call it again:", fault.From(err))
}

// listed writes a line for each problem below a first line.
func listed(first string, e *fault.Error) string {
	var b strings.Builder
	b.WriteString(first)
	for _, p := range append([]*fault.Error{e}, e.More...) {
		b.WriteString("\n- " + p.Error())
	}
	return b.String()
}

func firstLine(s string) string {
	line, rest, more := strings.Cut(s, "\n")
	if next, _, _ := strings.Cut(rest, "\n"); more {
		line += " " + strings.TrimPrefix(next, "- ")
	}
	return line
}
