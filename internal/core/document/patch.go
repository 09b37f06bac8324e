package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Actions of patches.
var actions = []string{"replace", "append", "remove", "rename", "move", "normalize"}

// Apply carries out patches one after the other, those of a person before the others,
// and returns the changed artifact and what became of each patch. The artifact given
// is not changed.
//
// A patch whose target is not there, whose value does not fit, or after which the
// artifact would not be one that [Read] takes, is refused by itself: the others go on,
// and the artifact has the same canonical bytes as without it.
//
// What goes by a name follows it: a header that is renamed takes its total, format
// and aggregate along, and the formulas that compute with it; removed or moved, its
// cells; a section whose id is renamed keeps its figures and its outline id.
//
// What a person's patch replaced or appended stays: a patch of anybody else after which it
// would be gone is refused.
func Apply(m proto.Message, patches []*loomv1.Patch) (proto.Message, *loomv1.PatchReport) {
	return ApplyAfter(m, patches, nil)
}

// ApplyAfter is [Apply] on an artifact that a person's patches were carried out on before.
func ApplyAfter(m proto.Message, patches, persons []*loomv1.Patch) (proto.Message, *loomv1.PatchReport) {
	kind, tree, report := KindOf(m), treeOf(m), &loomv1.PatchReport{}
	theirs := slices.Clone(persons)
	for _, p := range ordered(patches) {
		result := &loomv1.PatchResult{Id: p.Id, Target: p.Target, Action: p.Action}
		changed, now, err := one(kind, tree, p)
		if err == nil && p.By != "person" {
			err = keeps(theirs, m, now)
		}
		if err == nil && p.By == "person" {
			theirs = append(theirs, p)
		}
		if err == nil {
			tree, m, result.Applied = changed, now, true
			report.Applied++
		} else {
			e := fault.From(err)
			result.Code, result.Message = e.Code, e.Error()
			report.Refused++
		}
		report.Results = append(report.Results, result)
	}
	report.SpecHash = Hash(m)
	return m, report
}

// ordered has the patches of persons first, each group in its own order.
func ordered(patches []*loomv1.Patch) []*loomv1.Patch {
	list := slices.Clone(patches)
	slices.SortStableFunc(list, func(a, b *loomv1.Patch) int {
		switch {
		case a.By == "person" && b.By != "person":
			return -1
		case a.By != "person" && b.By == "person":
			return 1
		}
		return 0
	})
	return list
}

// one carries out a patch on an artifact of a kind.
func one(kind Kind, tree any, p *loomv1.Patch) (any, proto.Message, error) {
	changed, err := edit(tree, p)
	if err != nil {
		return nil, nil, err
	}
	m, problems := build(kind, changed)
	if len(problems) > 0 {
		return nil, nil, fault.New("document/patch", "the artifact would not be valid: %s", problems[0].Error())
	}
	return treeOf(m), m, nil
}

// edit carries out a patch on a tree, whatever that is.
func edit(tree any, p *loomv1.Patch) (any, error) {
	path, err := ParsePath(p.Target)
	if err != nil {
		return nil, err
	}
	path = path.resolved(tree)
	var value any
	if p.Value != nil {
		value = p.Value.AsInterface()
	}
	e := &editor{tree: tree, path: path, value: value, given: p.Value != nil}
	do, ok := map[string]func() (any, error){
		"replace": e.replace, "append": e.append, "remove": e.remove, "rename": e.rename, "move": e.move, "normalize": e.normalize,
	}[p.Action]
	if !ok {
		return nil, fault.New("document/patch", "there is no such action").Got(p.Action).Want("%s", suggest.Among(p.Action, actions))
	}
	return do()
}

// Mend carries out patches on a draft, JSON that [Read] refuses, and reads what comes of it.
// The first patch whose target is not there or whose value does not fit is returned as the
// error; what is wrong with the draft after all of them is told as [Read] does.
func Mend(file string, draft []byte, kind string, patches []*loomv1.Patch) (proto.Message, error) {
	tree, err := parse(file, draft)
	if err != nil {
		return nil, err
	}
	for _, p := range ordered(patches) {
		if tree, err = edit(tree, p); err != nil {
			return nil, err
		}
	}
	return readTree(file, tree, kind)
}

// editor carries out one patch on a tree, which it does not change.
type editor struct {
	tree  any
	path  Path
	value any
	given bool
}

func (e *editor) refuse(format string, args ...any) *fault.Error {
	return fault.New("document/patch", format, args...).At(e.path.String())
}

func (e *editor) needValue() error {
	if !e.given {
		return e.refuse("the patch has no value")
	}
	return nil
}

func (e *editor) replace() (any, error) {
	if err := e.needValue(); err != nil {
		return nil, err
	}
	return set(e.tree, e.path, e.value)
}

// append adds an element to a list, a paragraph to a text, or keys to an object that
// does not have them; a list or text that is not there yet begins with it.
func (e *editor) append() (any, error) {
	if err := e.needValue(); err != nil {
		return nil, err
	}
	if table, ok := e.headers(); ok {
		return e.addColumn(table)
	}
	now, _, err := alter(e.tree, e.path, 0, func(old any, there bool) (any, bool, error) {
		switch old := old.(type) {
		case []any:
			return append(slices.Clone(old), e.value), true, nil
		case string:
			text, ok := e.value.(string)
			if !ok {
				return nil, false, e.refuse("only a text can be appended to a text")
			}
			return strings.TrimRight(old, "\n") + "\n\n" + text, true, nil
		case nil:
			if there {
				break
			}
			if text, ok := e.value.(string); ok && e.textual() {
				return text, true, nil
			}
			return []any{e.value}, true, nil
		}
		return nil, false, e.refuse("nothing can be appended to %s", nameOf(old))
	})
	return now, err
}

// textual says that the field that is not there yet is a text.
func (e *editor) textual() bool {
	return slices.Contains([]string{"body", "notes", "note", "subtitle", "goal"}, e.path[len(e.path)-1].key)
}

func (e *editor) remove() (any, error) {
	if table, i, ok := e.header(); ok {
		return e.dropColumn(table, i)
	}
	now, _, err := alter(e.tree, e.path, 0, func(_ any, there bool) (any, bool, error) {
		if !there {
			return nil, false, fault.New("document/target", "there is nothing to remove").At(e.path.String())
		}
		return nil, false, nil
	})
	return now, err
}

// rename gives a text, or the key of a table's total, format or aggregate, another
// name, and what goes by the old one with it.
func (e *editor) rename() (any, error) {
	name, ok := e.value.(string)
	if !ok || strings.TrimSpace(name) == "" {
		return nil, e.refuse("a new name is a text that is not empty")
	}
	if table, i, ok := e.header(); ok {
		return e.renameColumn(table, i, name)
	}
	last := e.path[len(e.path)-1]
	if parent := e.path[:len(e.path)-1]; len(parent) > 0 && slices.Contains([]string{"totals", "aggregates", "formats", "parameters"}, parent[len(parent)-1].key) {
		now, _, err := alter(e.tree, parent, 0, func(old any, _ bool) (any, bool, error) {
			object, _ := old.(map[string]any)
			value, there := object[last.key]
			if !there {
				return nil, false, fault.New("document/target", "there is no such key").At(e.path.String())
			}
			if _, taken := object[name]; taken && name != last.key {
				return nil, false, e.refuse("the name is taken").Got(name)
			}
			return renamed(object, last.key, name, value), true, nil
		})
		return now, err
	}
	old, err := get(e.tree, e.path)
	if err != nil {
		return nil, err
	}
	text, ok := old.(string)
	if !ok {
		return nil, e.refuse("%s has no name to change", nameOf(old))
	}
	now, err := set(e.tree, e.path, name)
	if err != nil {
		return nil, err
	}
	if last.key == "id" {
		return e.follow(now, text, name)
	}
	if n := len(e.path); last.key == "header" && n >= 3 && e.path[n-3].key == "computed" {
		return renameInFormulas(now, e.path[:n-3], text, name)
	}
	return now, nil
}

// move takes an element to another index of its list, or a value to another path.
func (e *editor) move() (any, error) {
	if err := e.needValue(); err != nil {
		return nil, err
	}
	taken, err := get(e.tree, e.path)
	if err != nil {
		return nil, err
	}
	last := e.path[len(e.path)-1]
	if n, ok := e.value.(float64); ok {
		if !last.isIndex() {
			return nil, e.refuse("only an element of a list has an index to move to")
		}
		list, err := get(e.tree, e.path[:len(e.path)-1])
		if err != nil {
			return nil, err
		}
		if n != math.Trunc(n) || n < 0 || int(n) >= len(list.([]any)) {
			return nil, e.refuse("the new index is no element of a list of %d", len(list.([]any)))
		}
		if table, i, ok := e.header(); ok {
			return e.moveColumn(table, i, int(n))
		}
		return set(e.tree, e.path[:len(e.path)-1], relocate(list.([]any), last.index, int(n)))
	}
	text, ok := e.value.(string)
	if !ok {
		return nil, e.refuse("the value of a move is an index or a path")
	}
	to, err := ParsePath(text)
	if err != nil {
		return nil, err
	}
	rest, err := e.remove()
	if err != nil {
		return nil, err
	}
	return insert(rest, to.resolved(rest), taken)
}

// insert puts a value before the element that the path names, at the end of the list
// for the index behind its last, or at a key that is not there.
func insert(tree any, to Path, value any) (any, error) {
	last, parent := to[len(to)-1], to[:len(to)-1]
	if len(parent) > 0 {
		list, err := get(tree, parent)
		if err != nil && last.isIndex() && last.index == 0 {
			return set(tree, parent, []any{value})
		}
		if err != nil {
			return nil, err
		}
		if list, ok := list.([]any); ok {
			i, ok := last.at(len(list) + 1)
			if last.pointer && last.key == "-" {
				i, ok = len(list), true
			}
			if !ok {
				return nil, fault.New("document/target", "a list of %d has no such place", len(list)).At(to.String())
			}
			return set(tree, parent, slices.Insert(slices.Clone(list), i, value))
		}
	}
	now, _, err := alter(tree, to, 0, func(_ any, there bool) (any, bool, error) {
		if there {
			return nil, false, fault.New("document/target", "there is something already").At(to.String())
		}
		return value, true, nil
	})
	return now, err
}

func relocate(list []any, from, to int) []any {
	out := slices.Delete(slices.Clone(list), from, from+1)
	return slices.Insert(out, to, list[from])
}

// normalize brings a text, or all texts below, into one form.
func (e *editor) normalize() (any, error) {
	how, ok := e.value.(string)
	if !ok && e.given && e.value != nil {
		return nil, e.refuse("the value of normalize is a word").Want("%s", suggest.Among("", forms()))
	}
	if how == "" {
		how = "whitespace"
	}
	form, ok := normalForms[how]
	if !ok {
		return nil, e.refuse("there is no such form").Got(how).Want("%s", suggest.Among(how, forms()))
	}
	old, err := get(e.tree, e.path)
	if err != nil {
		return nil, err
	}
	_, isText := old.(string)
	now := everyText(old, func(s string) any { return form(s, e.names()) })
	if how == "number" && isText {
		if _, still := now.(string); still {
			return nil, e.refuse("the text is no number").Got(fmt.Sprint(old))
		}
	}
	if table, i, ok := e.header(); ok {
		if name, ok := now.(string); ok && isText {
			return e.renameColumn(table, i, name)
		}
	}
	return set(e.tree, e.path, now)
}

// names are the words that keep their capitals.
func (e *editor) names() []string {
	var names []string
	if list, err := get(e.tree, Path{{key: "metadata"}, {key: "entities"}}); err == nil {
		for _, n := range list.([]any) {
			names = append(names, fmt.Sprint(n))
		}
	}
	return names
}

func everyText(v any, do func(string) any) any {
	switch v := v.(type) {
	case string:
		return do(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = everyText(e, do)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = everyText(e, do)
		}
		return out
	}
	return v
}

// Holds says whether an artifact has a value somewhere: a text within a text, anything
// else as it stands.
func Holds(m proto.Message, value any) bool {
	want, err := json.Marshal(value)
	if err != nil {
		return false
	}
	text, isText := value.(string)
	var in func(v any) bool
	in = func(v any) bool {
		if s, ok := v.(string); ok && isText {
			return strings.Contains(s, text)
		}
		if is, err := json.Marshal(v); err == nil && bytes.Equal(is, want) {
			return true
		}
		switch v := v.(type) {
		case map[string]any:
			return slices.ContainsFunc(slices.Collect(maps.Values(v)), in)
		case []any:
			return slices.ContainsFunc(v, in)
		}
		return false
	}
	return in(treeOf(m))
}
