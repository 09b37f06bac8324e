package verify

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var english = message.NewPrinter(language.English)

// jsonText is a value as JSON, shortened.
func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return short(string(data))
}

// compileSchema reads a JSON Schema. It fetches nothing: what it refers to is in itself.
func compileSchema(v any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	c.AssertFormat()
	if err := c.AddResource("loom:rule", v); err != nil {
		return nil, err
	}
	return c.Compile("loom:rule")
}

func schemaSound(r *loomv1.Rule) []RuleFault {
	if _, err := compileSchema(toldOf(r)["schema"]); err != nil {
		why := strings.ReplaceAll(strings.ReplaceAll(err.Error(), "loom:rule", ""), "\n", "; ")
		return []RuleFault{wrongAt(ruleError("it is no JSON Schema: %s", short(why)), "with", "schema")}
	}
	return nil
}

// schema holds what a file holds against the rule's schema.
func (l *look) schema(c *content) {
	if unsound(c.wrong) {
		return // it cannot be read, which was said
	}
	s, err := compileSchema(l.with["schema"])
	if err != nil {
		l.unseen(c, "the schema cannot be read")
		return
	}
	if c.kind == "json" || c.kind == "yaml" {
		doc, err := strictyaml.Parse(c.name, []byte(c.whole)) // which has places, of JSON too
		var v any
		place := func([]any) int { return 0 }
		if err == nil {
			v, place = doc.Value(), func(path []any) int { return doc.Line(path...) }
		}
		if err == nil && c.kind == "json" {
			err = json.Unmarshal([]byte(c.whole), &v) // numbers as floats: the library fails on long exponents
		}
		if err != nil {
			l.unseen(c, "%s", firstLine(err))
			return
		}
		l.unfit(c, s.Validate(v), place, "")
		return
	}
	for _, g := range c.tables() {
		header := make([]string, len(g.header))
		for i, column := range g.header {
			header[i] = Column(column)
		}
		for i, cells := range g.rows {
			line, where := g.place(i)
			l.unfit(c, s.Validate(rowOf(header, cells)), func([]any) int { return line }, where)
		}
	}
}

// unfit reports each place where a value is not as the schema says.
func (l *look) unfit(c *content, err error, place func([]any) int, where string) {
	tree, ok := err.(*jsonschema.ValidationError) //nolint:errorlint // the library returns it as it is
	if !ok {
		return
	}
	var leaves []*jsonschema.ValidationError
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 {
			leaves = append(leaves, e)
		}
	}
	walk(tree)
	at := func(e *jsonschema.ValidationError) string { return "/" + strings.Join(e.InstanceLocation, "/") }
	text := func(e *jsonschema.ValidationError) string { return e.ErrorKind.LocalizedString(english) }
	slices.SortFunc(leaves, func(a, b *jsonschema.ValidationError) int { // the library has no order
		return cmp.Or(strings.Compare(at(a), at(b)), strings.Compare(text(a), text(b)))
	})
	for _, e := range leaves {
		l.wrong(c, place(steps(e.InstanceLocation)), "%sat %s %s", where, short(at(e)), short(text(e)))
	}
}

// steps is a location as paths are written: numbers lead into lists.
func steps(location []string) (list []any) {
	for _, s := range location {
		if n, err := strconv.Atoi(s); err == nil {
			list = append(list, n)
		} else {
			list = append(list, s)
		}
	}
	return list
}
