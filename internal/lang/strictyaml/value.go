package strictyaml

import (
	"math"
	"reflect"
	"strconv"

	"gopkg.in/yaml.v3"
)

// Value returns the document as JSON would have it: mappings and lists, texts, numbers as
// float64, truth values and nil. What is no number of JSON is text, as dates are.
func (d *Document) Value() any { return value(d.root) }

// Line is the line of the value at the path, from 1, or of the nearest around it.
func (d *Document) Line(path ...any) int {
	n, _ := d.find(path)
	return n.Line
}

func value(n *yaml.Node) any {
	n = target(n)
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[target(n.Content[i]).Value] = value(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			list[i] = value(c)
		}
		return list
	}
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		if b, err := strconv.ParseBool(n.Value); err == nil {
			return b
		}
	case "!!int", "!!float":
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
	}
	return n.Value
}

// any stores a value of any form. An empty one in it is refused, as everywhere.
func (d *Document) any(n *yaml.Node, v reflect.Value, path []any) {
	if d.hasEmpty(n, path) {
		return
	}
	v.Set(reflect.ValueOf(value(n)))
}

// hasEmpty reports the values that are empty.
func (d *Document) hasEmpty(n *yaml.Node, path []any) (some bool) {
	n = target(n)
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		d.wrong(n, path, "is empty", "give a value or leave the key out")
		return true
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			some = d.hasEmpty(n.Content[i+1], append(path[:len(path):len(path)], n.Content[i].Value)) || some
		}
	case n.Kind == yaml.SequenceNode:
		for i, c := range n.Content {
			some = d.hasEmpty(c, append(path[:len(path):len(path)], i)) || some
		}
	}
	return some
}
