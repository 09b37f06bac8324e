package document

import (
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
)

// headers says whether the target is the list of a table's headers, and which path
// leads to the table.
func (e *editor) headers() (table Path, ok bool) {
	n := len(e.path)
	if n < 2 || e.path[n-1].key != "headers" || e.path[n-2].key != "table" {
		return nil, false
	}
	return e.path[:n-1], true
}

// header says whether the target is one of a table's headers, and which.
func (e *editor) header() (table Path, i int, ok bool) {
	n := len(e.path)
	if n < 3 || !e.path[n-1].isIndex() {
		return nil, 0, false
	}
	above := editor{path: e.path[:n-1]}
	table, ok = above.headers()
	if _, err := get(e.tree, e.path); err != nil {
		return nil, 0, false
	}
	return table, e.path[n-1].index, ok
}

// keyed are the objects of a table that go by its headers.
var keyed = []string{"totals", "aggregates", "formats"}

// edit changes a copy of the table at the path.
func (e *editor) edit(table Path, do func(t map[string]any) error) (any, error) {
	now, _, err := alter(e.tree, table, 0, func(old any, _ bool) (any, bool, error) {
		object, ok := old.(map[string]any)
		if !ok {
			return nil, false, fault.New("document/target", "there is no table").At(table.String())
		}
		t := maps.Clone(object)
		return t, true, do(t)
	})
	return now, err
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return slices.Clone(list)
}

// rowsWith changes each row of a table.
func rowsWith(t map[string]any, do func(row []any) []any) {
	rows := listOf(t["rows"])
	for i, r := range rows {
		rows[i] = do(listOf(r))
	}
	if len(rows) > 0 {
		t["rows"] = rows
	}
}

func (e *editor) addColumn(table Path) (any, error) {
	return e.edit(table, func(t map[string]any) error {
		t["headers"] = append(listOf(t["headers"]), e.value)
		rowsWith(t, func(row []any) []any { return append(row, nil) })
		return nil
	})
}

func (e *editor) dropColumn(table Path, i int) (any, error) {
	return e.edit(table, func(t map[string]any) error {
		headers := listOf(t["headers"])
		if len(listOf(t["merges"])) > 0 {
			return e.refuse("the table has merged cells: remove them first")
		}
		name, _ := headers[i].(string)
		t["headers"] = slices.Delete(headers, i, i+1)
		rowsWith(t, func(row []any) []any { return slices.Delete(row, i, i+1) })
		for _, key := range keyed {
			if object, ok := t[key].(map[string]any); ok {
				object = maps.Clone(object)
				delete(object, name)
				t[key] = object
			}
		}
		return nil
	})
}

func (e *editor) moveColumn(table Path, from, to int) (any, error) {
	return e.edit(table, func(t map[string]any) error {
		if len(listOf(t["merges"])) > 0 {
			return e.refuse("the table has merged cells: remove them first")
		}
		t["headers"] = relocate(listOf(t["headers"]), from, to)
		rowsWith(t, func(row []any) []any { return relocate(row, from, to) })
		return nil
	})
}

func (e *editor) renameColumn(table Path, i int, name string) (any, error) {
	old := ""
	now, err := e.edit(table, func(t map[string]any) error {
		headers := listOf(t["headers"])
		old, _ = headers[i].(string)
		if j := slices.Index(headers, any(name)); j >= 0 && j != i {
			return e.refuse("the table has a column of this name already").Got(name)
		}
		headers[i] = name
		t["headers"] = headers
		for _, key := range keyed {
			object, _ := t[key].(map[string]any)
			if value, there := object[old]; there {
				t[key] = renamed(object, old, name, value)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return renameInFormulas(now, table[:len(table)-1], old, name)
}

func renamed(object map[string]any, old, name string, value any) map[string]any {
	out := maps.Clone(object)
	delete(out, old)
	out[name] = value
	return out
}

var word = lazy.Compile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// renameInFormulas lets the computed columns of a sheet compute with a column under
// its new name.
func renameInFormulas(tree any, sheet Path, old, name string) (any, error) {
	at := append(slices.Clone(sheet), step{key: "computed"})
	list, err := get(tree, at)
	if err != nil {
		return tree, nil //nolint:nilerr // nothing is computed there
	}
	columns := listOf(list)
	for i, c := range columns {
		column := maps.Clone(c.(map[string]any))
		formula, _ := column["formula"].(string)
		column["formula"] = inFormula(formula, old, name)
		columns[i] = column
	}
	return set(tree, at, columns)
}

// inFormula replaces a name in a formula: {Unit price}, or a single word outside of
// braces that is no function's.
func inFormula(formula, old, name string) string {
	now := "{" + name + "}"
	if word.MatchString(name) {
		now = name
	}
	return token.ReplaceAllStringFunc(formula, func(t string) string {
		if t == "{"+old+"}" || t == old {
			return now
		}
		return t
	})
}

var token = lazy.Compile(`\{[^}]*\}|[A-Za-z_][A-Za-z0-9_]*`)

// follow lets what names a section go on naming it: figures, dependencies, and what
// the section carries out of the outline.
func (e *editor) follow(tree any, old, name string) (any, error) {
	list := e.path[0].key
	if len(e.path) == 3 && list == "footnotes" {
		return everyText(tree, func(s string) any { return strings.ReplaceAll(s, "[^"+old+"]", "[^"+name+"]") }), nil
	}
	if len(e.path) != 3 || !slices.Contains([]string{"sections", "slides", "sheets"}, list) {
		return tree, nil
	}
	root := maps.Clone(tree.(map[string]any))
	elements := listOf(root[list])
	_, outline := root["artifactType"]
	for i, el := range elements {
		section := maps.Clone(el.(map[string]any))
		if _, traced := section["outlineId"]; !outline && !traced && section["id"] == name && i == e.path[1].index {
			section["outlineId"] = old
		}
		if deps, ok := section["dependencies"].([]any); ok {
			section["dependencies"] = replaced(deps, old, name)
		}
		elements[i] = section
	}
	root[list] = elements
	if figures := listOf(root["figures"]); len(figures) > 0 {
		for i, f := range figures {
			if figure := maps.Clone(f.(map[string]any)); figure["section"] == old {
				figure["section"] = name
				figures[i] = figure
			}
		}
		root["figures"] = figures
	}
	return root, nil
}

func replaced(list []any, old, now string) []any {
	out := slices.Clone(list)
	for i := range out {
		if out[i] == old {
			out[i] = now
		}
	}
	return out
}

// normalForms are what a text can be brought into; names keep their capitals.
var normalForms = map[string]func(s string, names []string) any{
	"whitespace":    func(s string, _ []string) any { return whitespace(s) },
	"sentence-case": func(s string, names []string) any { return sentenceCase(whitespace(s), names) },
	"title-case":    func(s string, _ []string) any { return titleCase(whitespace(s)) },
	"number": func(s string, _ []string) any {
		if n, ok := NumberIn(s); ok {
			return n
		}
		return s
	},
}

func forms() []string { return slices.Sorted(maps.Keys(normalForms)) }

// whitespace leaves one blank between words and one empty line between paragraphs.
func whitespace(s string) string {
	var paragraphs []string
	for p := range strings.SplitSeq(s, "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(p, "\n") {
			if line = strings.Join(strings.Fields(line), " "); line != "" {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			paragraphs = append(paragraphs, strings.Join(lines, "\n"))
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
