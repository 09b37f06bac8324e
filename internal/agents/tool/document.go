package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/manuscript"
	"github.com/loomrun/loom/internal/craft/placeholder"
)

var documentWrite = &tool{
	Spec: Spec{
		Name:  "document_write",
		Class: writes,
		Description: "Write a document of Markdown sections, without their headings, to a .md or .html file, which it replaces. " +
			"Cite sources as [1]; each citation must have its source.",
		Schema: schema(`"path","title","sections"`, `
			"path": {"type": "string", "minLength": 1},
			"title": {"type": "string", "minLength": 1, "maxLength": 300},
			"about": {"type": "string", "maxLength": 300, "description": "a line under the title"},
			"contents": {"type": "boolean"},
			"sections": {"type": "array", "minItems": 1, "maxItems": 200, "items": {"type": "object", "additionalProperties": false,
				"required": ["title", "content"], "properties": {"title": {"type": "string", "minLength": 1},
				"content": {"type": "string"}, "level": {"type": "integer", "minimum": 1, "maximum": 5, "description": "default 1"}}}},
			"sources": {"type": "array", "maxItems": 500, "items": {"type": "object", "additionalProperties": false,
				"required": ["title"], "properties": {"title": {"type": "string", "minLength": 1}, "url": {"type": "string"},
				"accessed": {"type": "string", "description": "day"}}}}`),
	},
	run: with(writeDocument),
}

type documentArguments struct {
	Path     string `json:"path"`
	Title    string `json:"title"`
	About    string `json:"about"`
	Contents bool   `json:"contents"`
	Sections []struct {
		Title   string `json:"title"`
		Content string `json:"content"`
		Level   int    `json:"level"`
	} `json:"sections"`
	Sources []struct {
		Title    string `json:"title"`
		URL      string `json:"url"`
		Accessed string `json:"accessed"`
	} `json:"sources"`
}

func writeDocument(_ context.Context, j job, a documentArguments) (Result, error) {
	ext, err := extensionOf("path", a.Path, ".md", ".html")
	if err != nil {
		return Result{}, err
	}
	d := manuscript.Document{Title: a.Title, About: a.About, Contents: a.Contents}
	for _, s := range a.Sections {
		d.Sections = append(d.Sections, manuscript.Section{Title: s.Title, Level: s.Level, Content: s.Content})
	}
	for _, s := range a.Sources {
		d.Sources = append(d.Sources, manuscript.Source{Title: s.Title, URL: s.URL, Accessed: s.Accessed})
	}
	if err := d.Check(); err != nil {
		return Result{}, err
	}
	text := d.Markdown()
	if ext == ".html" {
		if text, err = d.HTML(); err != nil {
			return Result{}, fault.New("tool/failed", "%s", err)
		}
	}
	r, err := j.deliver(a.Path, []byte(text))
	if list := d.Uncited(); err == nil && len(list) > 0 {
		r.Output += fmt.Sprintf("[no section cites the sources %s]\n", strings.Trim(fmt.Sprint(list), "[]"))
	}
	return r, err
}

var templateFill = &tool{
	Spec: Spec{
		Name:  "template_fill",
		Class: writes,
		Description: "Fill a template: {{name}} or {{client.name}} becomes a value; {{#each list}}...{{/each}} repeats, with each item's names, " +
			"or {{item}}. Every placeholder needs a value, and every value a placeholder.",
		Schema: schema(`"path","values"`, `
			"template": {"type": "string", "minLength": 1, "description": "a file; or give text"},
			"text": {"type": "string", "minLength": 1},
			"values": {"type": "object"},
			"path": {"type": "string", "minLength": 1}`),
	},
	run: with(fillTemplate),
}

type templateArguments struct {
	Template string                     `json:"template"`
	Text     string                     `json:"text"`
	Values   map[string]json.RawMessage `json:"values"`
	Path     string                     `json:"path"`
}

func fillTemplate(_ context.Context, j job, a templateArguments) (Result, error) {
	if (a.Template == "") == (a.Text == "") {
		return Result{}, unfit("arguments", "give template or text, one of them")
	}
	text := a.Text
	if a.Template != "" {
		data, err := j.bytes(a.Template)
		if err != nil {
			return Result{}, err
		}
		text = string(data)
	}
	values := placeholder.Values{}
	var errs []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(a.Values)) {
		if e := spread(values, name, a.Values[name]); e != nil {
			errs = append(errs, e)
		}
	}
	if err := fault.Join(errs); err != nil {
		return Result{}, err
	}
	ext := extension(a.Path)
	filled, err := placeholder.Fill(text, values, ext == ".html" || ext == ".htm")
	if err != nil {
		return Result{}, at(a.Template, err)
	}
	return j.deliver(a.Path, []byte(filled))
}

// spread puts a JSON value under its name: text and numbers as they are
// written, objects by their parts, lists as lists.
func spread(values placeholder.Values, name string, raw json.RawMessage) *fault.Error {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	text, plain := scalar(raw)
	switch {
	case plain:
		values[name] = text
	case json.Unmarshal(raw, &object) == nil && object != nil:
		for _, part := range slices.Sorted(maps.Keys(object)) {
			if e := spread(values, name+"."+part, object[part]); e != nil {
				return e
			}
		}
	case json.Unmarshal(raw, &list) == nil && list != nil:
		return spreadList(values, name, list)
	default:
		return fault.New("template/value", "the value is neither text, a number, an object nor a list").At(name).Got(string(raw))
	}
	return nil
}

func scalar(raw json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text, true
	}
	text = strings.TrimSpace(string(raw))
	return text, text != "" && !strings.ContainsAny(text[:1], "{[n")
}

func spreadList(values placeholder.Values, name string, list []json.RawMessage) *fault.Error {
	items := []placeholder.Values{}
	for i, raw := range list {
		item := placeholder.Values{}
		var object map[string]json.RawMessage
		if text, plain := scalar(raw); plain {
			item["item"] = text
		} else if json.Unmarshal(raw, &object) != nil || object == nil {
			return fault.New("template/value", "items are text, numbers or objects").At(fmt.Sprintf("%s[%d]", name, i))
		}
		for _, part := range slices.Sorted(maps.Keys(object)) {
			if e := spread(item, part, object[part]); e != nil {
				return e.At(fmt.Sprintf("%s[%d].%s", name, i, e.Where))
			}
		}
		items = append(items, item)
	}
	values[name] = items
	return nil
}
