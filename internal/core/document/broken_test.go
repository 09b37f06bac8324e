package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
)

// broken is a spec with one thing wrong, and the path at which that is told.
type broken struct {
	what, path string
	tree       any
}

// breakEach makes a spec of each value that has another type, each object with a key
// that nobody knows, each needed key that is missing, each list that is too long.
func breakEach(tree any) (list []broken) {
	var walk func(p Path, v any)
	at := func(p Path, value any) any {
		if len(p) == 0 {
			return value
		}
		changed, err := set(tree, p, value)
		if err != nil {
			panic(err)
		}
		return changed
	}
	free := func(p Path) bool { // a cell or a total takes any value that is no list or object
		text := p.String()
		return strings.Contains(text, ".rows[") && strings.Count(text, "[") > 2 || strings.Contains(text, ".totals")
	}
	walk = func(p Path, v any) {
		switch v := v.(type) {
		case map[string]any:
			if len(p) > 0 && !free(p) && !strings.HasSuffix(p.String(), "parameters") {
				list = append(list, broken{"an object that is a text", p.String(), at(p, "x")})
			}
			if text := p.String(); !strings.HasSuffix(text, "totals") && !strings.HasSuffix(text, "formats") && !strings.HasSuffix(text, "aggregates") && !strings.HasSuffix(text, "parameters") {
				more := maps.Clone(v)
				more["zzz"] = 1.0
				list = append(list, broken{"a key that nobody knows", join(text, "zzz"), at(p, more)})
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(below(p, key), v[key])
			}
		case []any:
			if len(p) > 0 {
				list = append(list, broken{"a list that is a number", p.String(), at(p, 5.0)})
			}
			for i, e := range v {
				walk(element(p, i), e)
			}
		case string:
			if !free(p) {
				list = append(list, broken{"a text that is true", p.String(), at(p, true)})
				list = append(list, broken{"a text that is null", p.String(), at(p, nil)})
			} else {
				list = append(list, broken{"a cell that is a list", p.String(), at(p, []any{1.0})})
			}
		case float64, bool:
			if !free(p) {
				list = append(list, broken{"a number that is a text", p.String(), at(p, "many")})
			} else {
				list = append(list, broken{"a cell that is an object", p.String(), at(p, map[string]any{"a": 1.0})})
			}
		}
	}
	walk(nil, tree)
	return list
}

// Each of several hundred broken specs is refused, and told by the path of what is
// wrong; nothing is half read.
func TestDOC01_BrokenSpecsAreRefusedByPath(t *testing.T) {
	tree, err := parse("full", sample(t, "full"))
	if err != nil {
		t.Fatal(err)
	}
	list := breakEach(tree)
	for _, b := range []struct{ path, value, want string }{
		{"title", `""`, "title"},
		{"title", `"` + strings.Repeat("x", 301) + `"`, "title"},
		{"sections", `[]`, "sections"},
		{"sections[0].id", `"a b"`, "sections[0].id"},
		{"sections[1].id", `"summary"`, "sections[1].id"},
		{"sections[0].level", `7`, "sections[0].level"},
		{"sections[0].level", `0`, "sections[0].level"},
		{"sections[0].level", `1.5`, "sections[0].level"},
		{"sections[0].body", `"a\u0007b"`, "sections[0].body"},
		{"sections[0].callouts[0].kind", `"danger"`, "sections[0].callouts[0].kind"},
		{"sections[1].table.headers[1]", `"Quarter"`, "sections[1].table.headers[1]"},
		{"sections[1].table.headers", `["a"]`, "sections[1].table.rows[0]"},
		{"sections[1].table.rows[2]", `[1, 2]`, "sections[1].table.rows[2]"},
		{"sections[1].table.totals", `{"Nothing": 1}`, "sections[1].table.totals.Nothing"},
		{"sections[1].table.aggregates", `{"Fare": "median"}`, "sections[1].table.aggregates.Fare"},
		{"sections[1].table.aggregates", `{"Toll": "sum"}`, "sections[1].table.aggregates.Toll"},
		{"sections[1].table.formats", `{"Toll": "eur"}`, "sections[1].table.formats.Toll"},
		{"sections[1].table.formats", `{"Fare": "yen"}`, "sections[1].table.formats.Fare"},
		{"sections[1].table.merges[0].row", `4`, "sections[1].table.merges[0]"},
		{"sections[1].table.merges[0].row", `-1`, "sections[1].table.merges[0].row"},
		{"sections[1].table.merges[0].rows", `1`, "sections[1].table.merges[0]"},
		{"sections[1].table.merges", `[{"row": 0, "column": 0, "rows": 2}, {"row": 1, "column": 0, "columns": 2}]`, "sections[1].table.merges[1]"},
		{"styles.primaryColor", `"blue"`, "styles.primaryColor"},
		{"styles.bodySize", `80`, "styles.bodySize"},
		{"styles.pageSize", `"a3"`, "styles.pageSize"},
		{"metadata.language", `"english language"`, "metadata.language"},
		{"metadata.date", `"1 February"`, "metadata.date"},
		{"metadata.outlineHash", `"abc"`, "metadata.outlineHash"},
		{"metadata.keywords", `["a", "a"]`, "metadata.keywords[1]"},
		{"clauses[0].name", `"Copyright"`, "clauses[0].name"},
		{"figures[0].image", `"x.png"`, "figures[0]"},
		{"figures[0].chart.series[0].values", `[1]`, "figures[0].chart.series[0].values"},
		{"figures[0].chart.kind", `"radar"`, "figures[0].chart.kind"},
		{"figures[0]", `{"id": "f", "section": "summary"}`, "figures[0]"},
		{"figures[0]", `{"id": "f", "section": "summary", "image": "../x.png"}`, "figures[0].image"},
		{"figures[0]", `{"id": "f", "section": "summary", "image": "/x.png"}`, "figures[0].image"},
		{"figures[0]", `{"id": "f", "section": "summary", "image": "https://example.com/x.png"}`, "figures[0].image"},
		{"figures[0]", `{"id": "f", "chart": {"kind": "pie", "categories": ["a"], "series": [{"name": "x", "values": [1]}, {"name": "y", "values": [1]}]}}`, "figures[0].chart.series"},
	} {
		p, err := ParsePath(b.path)
		if err != nil {
			t.Fatal(err)
		}
		value, err := parse("", []byte(b.value))
		if err != nil {
			t.Fatal(err)
		}
		changed, err := set(tree, p, value)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, broken{b.path + " = " + b.value, b.want, changed})
	}
	if len(list) < 100 {
		t.Fatalf("%d broken specs, want at least 100", len(list))
	}
	for _, b := range list {
		data, err := json.Marshal(b.tree)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Read("", data, "document")
		e, ok := errors.AsType[*fault.Error](err)
		if !ok {
			t.Errorf("%.60s at %s is taken: %v", b.what, b.path, err)
			continue
		}
		var places []string
		for _, p := range append([]*fault.Error{e}, e.More...) {
			places = append(places, p.Where)
		}
		if m != nil || !slices.Contains(places, b.path) {
			t.Errorf("%.60s: told at %v, want %s", b.what, places, b.path)
		}
	}
	t.Log(fmt.Sprint(len(list), " broken specs"))
}

func TestDOC01_BrokenOutlinesSheetsAndDecks(t *testing.T) {
	for _, b := range []struct{ name, path, value, want string }{
		{"outline", "sections[1].dependencies", `["sec-9"]`, "sections[1].dependencies[0]"},
		{"outline", "sections[1].dependencies", `["sec-2"]`, "sections[1].dependencies[0]"},
		{"outline", "sections[0].dependencies", `["sec-2"]`, "sections[0].dependencies"},
		{"outline", "artifactType", `"odt"`, "artifactType"},
		{"outline", "templateSuggestion.confidence", `1.5`, "templateSuggestion.confidence"},
		{"sheet", "sheets[0].name", `"a/b"`, "sheets[0].name"},
		{"sheet", "sheets[0].name", `"` + strings.Repeat("x", 32) + `"`, "sheets[0].name"},
		{"sheet", "sheets[0].computed[0].header", `"Item"`, "sheets[0].computed[0].header"},
		{"sheet", "sheets", `[{"id": "a", "name": "N", "table": {"headers": ["x"]}}, {"id": "b", "name": "n", "table": {"headers": ["x"]}}]`, "sheets[1].name"},
		{"presentation", "slides[0].layout", `"poster"`, "slides[0].layout"},
		{"presentation", "slides[1].table.rows[0]", `[1]`, "slides[1].table.rows[0]"},
		{"patches", "patches[0].action", `"explode"`, "patches[0].action"},
		{"review", "severity", `"fatal"`, "severity"},
		{"record", "createdAt", `"yesterday"`, "createdAt"},
	} {
		tree, err := parse("", sample(t, b.name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParsePath(b.path)
		if err != nil {
			t.Fatal(err)
		}
		value, err := parse("", []byte(b.value))
		if err != nil {
			t.Fatal(err)
		}
		changed, err := set(tree, p, value)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Read("", data, b.name)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Where != b.want {
			t.Errorf("%s with %s = %s: %v, want it told at %s", b.name, b.path, b.value, err, b.want)
		}
	}
}
