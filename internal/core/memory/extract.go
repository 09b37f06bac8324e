package memory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of what is extracted from one phase.
const (
	MaxExtracted     = 12
	MaxExtractedText = 1000 // bytes
)

// ExtractedForm is what a model answers with, in the outcome field memory.
const ExtractedForm = `{"entries": [{"type": "...", "text": "...", "tags": ["..."], "confidence": 1 to 100, "from": "..."}]}`

var extractedKeys = []string{"type", "text", "tags", "confidence", "from"}

// Extracted reads the entries that a model found worth remembering from the fields of its
// outcome. Types are the process's own. It returns memory/invalid or memory/type with all
// that is wrong at once, and nothing then.
func Extracted(fields *structpb.Struct, types []string) ([]*loomv1.MemoryEntry, error) {
	x := extraction{types: types}
	given := fields.GetFields()["memory"].GetStructValue().AsMap()
	for k := range given {
		if k != "entries" {
			x.bad(k, "entries", "there is no such key")
		}
	}
	list, ok := given["entries"].([]any)
	if !ok {
		x.bad("entries", ExtractedForm, "it is no list")
	}
	if len(list) > MaxExtracted {
		x.bad("entries", "those that later work would miss most", "%d entries where %d are the most", len(list), MaxExtracted)
		list = nil
	}
	for i, v := range list {
		x.entry(fmt.Sprintf("entries[%d]", i), v)
	}
	if err := fault.Join(x.problems); err != nil {
		return nil, err
	}
	return x.entries, nil
}

// TypesOf returns the types of memory that a definition has of its own.
func TypesOf(def *loomv1.Definition) (types []string) {
	for _, t := range def.GetGuide().GetMemoryTypes() {
		types = append(types, t.Type)
	}
	return types
}

type extraction struct {
	types    []string
	entries  []*loomv1.MemoryEntry
	problems []*fault.Error
}

// bad notes a problem, and what would be right.
func (x *extraction) bad(at, hint, format string, args ...any) {
	e := fault.New("memory/invalid", format, args...).At(at)
	e.Hint = hint
	x.problems = append(x.problems, e)
}

func (x *extraction) entry(at string, v any) {
	given, ok := v.(map[string]any)
	if !ok {
		x.bad(at, "", "it is no object")
		return
	}
	for k := range given {
		if !slices.Contains(extractedKeys, k) {
			x.bad(at+"."+fault.Echo(k), suggest.Hint(k, extractedKeys), "there is no such key")
		}
	}
	e := &loomv1.MemoryEntry{Type: x.text(at, given, "type"), Text: strings.TrimSpace(x.text(at, given, "text"))}
	if len(e.Text) > MaxExtractedText {
		x.bad(at+".text", "", "%d bytes where %d are the most", len(e.Text), MaxExtractedText)
	}
	x.confidence(at, given, e)
	x.tags(at, given, e)
	switch from := strings.TrimSpace(x.text(at, given, "from")); {
	case strings.Contains(from, "://"):
		e.Sources = []*loomv1.MemorySource{{Address: from}}
	case from != "":
		e.Sources = []*loomv1.MemorySource{{File: from}}
	}
	problems := checkContent(e)
	if err := checkType(e.Type, x.types); err != nil && typeName.MatchString(e.Type) {
		problems = append(problems, err)
	}
	for _, p := range problems {
		x.problems = append(x.problems, p.At(at+strings.ReplaceAll(strings.TrimPrefix(p.Where, "/entry"), "/", ".")))
	}
	x.entries = append(x.entries, e)
}

func (x *extraction) text(at string, given map[string]any, key string) string {
	s, ok := given[key].(string)
	if !ok && given[key] != nil {
		x.bad(at+"."+key, "", "it is no text")
	}
	return s
}

func (x *extraction) confidence(at string, given map[string]any, e *loomv1.MemoryEntry) {
	v := given["confidence"]
	if v == nil {
		return
	}
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &e.Confidence)
	}
	if err != nil || e.Confidence < 1 || e.Confidence > 100 {
		e.Confidence = 0
		x.bad(at+".confidence", "", "it is no whole number from 1 to 100")
	}
}

// tags takes as many as leave room for those of the process and the phase.
func (x *extraction) tags(at string, given map[string]any, e *loomv1.MemoryEntry) {
	list, ok := given["tags"].([]any)
	if !ok && given["tags"] != nil || len(list) > maxTags/2 {
		x.bad(at+".tags", "", "it is no list of at most %d tags", maxTags/2)
		return
	}
	for _, v := range list {
		tag, ok := v.(string)
		if !ok {
			x.bad(at+".tags", "", "a tag is a text")
			return
		}
		e.Tags = append(e.Tags, strings.ToLower(tag))
	}
}
