package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Classes, for short.
const (
	reads    = loomv1.ToolClass_TOOL_CLASS_READ
	writes   = loomv1.ToolClass_TOOL_CLASS_WRITE
	executes = loomv1.ToolClass_TOOL_CLASS_EXEC
)

const maxArguments = 2 << 20 // bytes

// tool is one tool: what models see of it, and what it does.
type tool struct {
	Spec
	schema *jsonschema.Schema
	// needs says what a set lacks that the tool cannot do without, and the caller's
	// way on; nil means that it needs nothing but files.
	needs func(*Set) *fault.Error
	// setUp is what an operator does for it, in an imperative; empty where the host's
	// machine has it or not.
	setUp string
	run   func(context.Context, *Set, *loomv1.ToolCall) Result
	// reconcile is set for tools that can tell what became of a call.
	reconcile func(context.Context, *Set, *loomv1.ToolCall) (Result, bool)
}

// catalogue lists every tool there is, in the order in which models see them.
var catalogue = sync.OnceValue(func() []*tool {
	list := []*tool{
		fileRead, fileWrite, fileEdit, fileRemove, applyPatch, fileSearch, contentSearch, directoryList,
		shell, process, lspDiagnostics, gitStatus, gitDiff, gitLog, gitShow, gitBlame, decisionLog, decisionQuery, decisionVote, decisionBallot, memoryKeep, memorySearch,
		calculate, spreadsheet, documentWrite, chartData, comparisonMatrix, templateFill, dataAnalysis,
		webFetch, webSearch, webFeed, wikipedia, arxiv, openAlex, secEDGAR, alphaVantage, fred, worldBank, referenceData, todo, outputRead,
	}
	list = append(list, teamTools...)
	for _, t := range list {
		t.Timeout = Timeout
		t.compile()
	}
	return list
})

func find(name string) *tool {
	for _, t := range catalogue() {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// schema returns a strict object schema of properties, in JSON.
func schema(required, properties string) json.RawMessage {
	var out bytes.Buffer
	text := fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":[%s],"properties":{%s}}`, required, properties)
	if err := json.Compact(&out, []byte(text)); err != nil {
		panic(fmt.Sprintf("tool: schema %s: %v", text, err))
	}
	return out.Bytes()
}

// compile makes the schema ready, which then is there as models are shown it; the
// schemas are the program's own.
func (t *tool) compile() {
	if err := t.prepare(); err != nil {
		panic(fmt.Sprintf("tool %s: %v", t.Name, err))
	}
	t.Schema = brief(t.Schema)
}

// prepare makes the schema ready.
func (t *tool) prepare() error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(t.Schema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // fetches nothing
	c.AssertFormat()
	if err := c.AddResource("loom:"+t.Name, doc); err != nil {
		return err
	}
	t.schema, err = c.Compile("loom:" + t.Name)
	return err
}

// check returns tool/arguments with all that is wrong with the arguments.
func (t *tool) check(arguments string) error {
	if len(arguments) > maxArguments {
		return fault.New("tool/too-large", "%d bytes of arguments; at most %d are taken", len(arguments), maxArguments).At("arguments")
	}
	if !utf8.ValidString(arguments) {
		return unfit("arguments", "they are not UTF-8")
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	if err != nil {
		return unfit("arguments", "they are not one JSON object: %s", err)
	}
	return t.problems(t.schema.Validate(v))
}

// plainValues returns a call whose numbers and truth values are not in quotes:
// some models write "10" where the schema says integer.
func (t *tool) plainValues(call *loomv1.ToolCall) *loomv1.ToolCall {
	var values map[string]json.RawMessage
	if len(call.GetArguments()) > maxArguments || json.Unmarshal([]byte(call.GetArguments()), &values) != nil {
		return call // check says so
	}
	changed := false
	for name, value := range values {
		var text string
		property := t.schema.Properties[name]
		if property == nil || property.Types == nil || json.Unmarshal(value, &text) != nil {
			continue
		}
		types := property.Types.ToStrings()
		number := slices.Contains(types, "integer") || slices.Contains(types, "number")
		truth := slices.Contains(types, "boolean") && (text == "true" || text == "false")
		if slices.Contains(types, "string") || !truth && !(number && isNumber(text)) {
			continue
		}
		values[name], changed = json.RawMessage(text), true
	}
	if !changed {
		return call
	}
	arguments, err := json.Marshal(values)
	if err != nil {
		return call
	}
	plain := proto.CloneOf(call)
	plain.Arguments = string(arguments)
	return plain
}

func isNumber(text string) bool {
	var n json.Number
	return !strings.HasPrefix(text, `"`) && json.Unmarshal([]byte(text), &n) == nil && n != ""
}

func unfit(where, format string, args ...any) *fault.Error {
	return fault.New("tool/arguments", format, args...).At(where)
}

// problems turns a validator's tree into a flat list.
func (t *tool) problems(err error) error {
	tree, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	var list []*fault.Error
	var leaves func(*jsonschema.ValidationError)
	leaves = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			leaves(c)
		}
		if len(e.Causes) == 0 {
			list = append(list, t.problem(e)...)
		}
	}
	leaves(tree)
	slices.SortFunc(list, func(a, b *fault.Error) int { // the validator has no order
		return cmp.Or(strings.Compare(a.Where, b.Where), strings.Compare(a.Error(), b.Error()))
	})
	return fault.Join(list)
}

var english = message.NewPrinter(language.English)

func (t *tool) problem(e *jsonschema.ValidationError) []*fault.Error {
	where := "/" + strings.Join(e.InstanceLocation, "/")
	extra, ok := e.ErrorKind.(*kind.AdditionalProperties)
	if !ok {
		return []*fault.Error{unfit(where, "%s", e.ErrorKind.LocalizedString(english))}
	}
	var list []*fault.Error
	keys := t.keys(e.InstanceLocation)
	for _, p := range extra.Properties {
		f := unfit(where, "there is no such argument").Got(p)
		if f.Hint = suggest.Hint(p, keys); f.Hint == "" {
			f.Hint = "the arguments are " + strings.Join(keys, ", ")
		}
		list = append(list, f)
	}
	return list
}

// keys returns the names that an object among the arguments can have: those of
// the arguments themselves where location is empty.
func (t *tool) keys(location []string) []string {
	at := t.schema
	for _, step := range location {
		switch {
		case at.Properties[step] != nil:
			at = at.Properties[step]
		case at.Items2020 != nil:
			at = at.Items2020
		}
	}
	return slices.Sorted(maps.Keys(at.Properties))
}

// job is one call at work.
type job struct {
	*Set
	id string // of the call
}

// with makes a tool's function of one that takes its arguments decoded.
func with[A any](f func(context.Context, job, A) (Result, error)) func(context.Context, *Set, *loomv1.ToolCall) Result {
	return func(ctx context.Context, s *Set, call *loomv1.ToolCall) Result {
		var a A
		if err := json.Unmarshal([]byte(call.Arguments), &a); err != nil {
			return refused(unfit("arguments", "%s", err))
		}
		r, err := f(ctx, job{s, call.Id}, a)
		if err != nil {
			if ctx.Err() != nil && fault.Code(err) == "" {
				err = ended(ctx)
			}
			return refused(s.near(ctx, call.Arguments, err))
		}
		return r
	}
}
