package strictyaml

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

var durationType = reflect.TypeFor[time.Duration]()

// decode stores n in v, or reports why it does not fit. The place of what an
// alias brings is where the alias's target stands.
func (d *Document) decode(n *yaml.Node, v reflect.Value, path []any) {
	n = target(n)
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case n.Style&yaml.TaggedStyle != 0: // inspect has reported it
	case n.Tag == "!!null" && n.Kind == yaml.ScalarNode:
		d.wrong(n, path, "is empty", "give a value or leave the key out")
	case v.Type() == durationType:
		d.duration(n, v, path)
	case v.Kind() == reflect.Interface:
		d.any(n, v, path)
	case v.Kind() == reflect.Struct:
		d.structure(n, v, path)
	case v.Kind() == reflect.Map:
		d.table(n, v, path)
	case v.Kind() == reflect.Slice:
		d.list(n, v, path)
	default:
		d.scalar(n, v, path)
	}
}

// wrong reports that the value at path is not what belongs there.
func (d *Document) wrong(n *yaml.Node, path []any, why, hint string) {
	err := fault.New("yaml/type", "%s %s", spell(path), why)
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		err.Got(n.Value)
	}
	d.report(n, path, err.Want("%s", hint))
}

// asKey says how a value is written that stands in the place of a mapping: under the
// key that the mapping cannot be without, where that is the only one.
func asKey(n *yaml.Node, of reflect.Type) string {
	var needed []string
	for i := range of.NumField() {
		if f := of.Field(i); f.Tag.Get("loom") == "required" && f.Type.Kind() == reflect.String {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			needed = append(needed, name)
		}
	}
	if n.Kind != yaml.ScalarNode || len(needed) != 1 || len(n.Value) > 60 {
		return "write it as key: value"
	}
	return fmt.Sprintf("write it as %s: %q", needed[0], n.Value)
}

// spell writes a path as nodes[3].role.
func spell(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(strings.Trim(fault.Echo(s), `"`))
		}
	}
	if b.Len() == 0 {
		return "the document"
	}
	return b.String()
}

func (d *Document) structure(n *yaml.Node, v reflect.Value, path []any) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, path, "is not a mapping", asKey(n, v.Type()))
		return
	}
	fields, known := fieldsOf(v.Type())
	given := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		here := append(path, key.Value)
		f, ok := fields[key.Value]
		switch {
		case !usable(key) || given[key.Value]: // inspect has reported it
		case !ok:
			d.unknown(key, here, known)
		default:
			given[key.Value] = true
			d.decode(n.Content[i+1], v.FieldByIndex(f.Index), here)
		}
	}
	for _, name := range known {
		if fields[name].Tag.Get("loom") == "required" && !given[name] {
			d.report(n, path, fault.New("yaml/missing-key", "%s lacks the key %q", spell(path), name))
		}
	}
}

// usable says whether a key is one that inspect has nothing against.
func usable(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Tag == "!!str" && key.Style&yaml.TaggedStyle == 0
}

func (d *Document) unknown(key *yaml.Node, path []any, known []string) {
	d.report(key, path, fault.New("yaml/unknown-key", "%s has no such key", spell(path[:len(path)-1])).
		Got(key.Value).Want("%s", suggest.Among(key.Value, known)))
}

// fieldsOf returns the fields of a struct by key, and the keys in their order.
func fieldsOf(t reflect.Type) (map[string]reflect.StructField, []string) {
	fields := map[string]reflect.StructField{}
	var known []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		fields[name] = f
		known = append(known, name)
	}
	return fields, known
}

func (d *Document) table(n *yaml.Node, v reflect.Value, path []any) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, path, "is not a mapping", "write it as key: value")
		return
	}
	m := reflect.MakeMap(v.Type())
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !usable(key) || m.MapIndex(reflect.ValueOf(key.Value)).IsValid() {
			continue // inspect has reported it
		}
		value := reflect.New(v.Type().Elem()).Elem()
		d.decode(n.Content[i+1], value, append(path, key.Value))
		m.SetMapIndex(reflect.ValueOf(key.Value), value)
	}
	v.Set(m)
}

func (d *Document) list(n *yaml.Node, v reflect.Value, path []any) {
	if n.Kind != yaml.SequenceNode {
		d.wrong(n, path, "is not a list", "write it as [a, b]")
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		d.decode(c, s.Index(i), append(path, i))
	}
	v.Set(s)
}

func (d *Document) scalar(n *yaml.Node, v reflect.Value, path []any) {
	switch k := v.Kind(); {
	case k == reflect.String:
		d.text(n, v, path)
	case k == reflect.Bool:
		if b, ok := map[string]bool{"true": true, "false": false}[n.Value]; ok && n.Tag == "!!bool" {
			v.SetBool(b)
			return
		}
		d.wrong(n, path, "is not a boolean", "write true or false")
	case v.CanInt() || v.CanUint():
		d.whole(n, v, path)
	case k == reflect.Float64:
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || !slices.Contains([]string{"!!int", "!!float"}, n.Tag) {
			d.wrong(n, path, "is not a number", "write it in decimal, as 0.5")
			return
		}
		v.SetFloat(f)
	default:
		panic(fmt.Sprintf("strictyaml: %s has type %s, which YAML files cannot hold", spell(path), v.Type()))
	}
}

func (d *Document) text(n *yaml.Node, v reflect.Value, path []any) {
	switch {
	case n.Kind != yaml.ScalarNode:
		d.wrong(n, path, "is not a string", "write one value")
	case n.Tag != "!!str":
		d.wrong(n, path, "is not a string", fmt.Sprintf("quote it: %q", n.Value))
	default:
		v.SetString(n.Value)
	}
}

// whole takes plain decimal numbers alone: 0x10, 1_000 and 010 mean different
// things to different readers.
func (d *Document) whole(n *yaml.Node, v reflect.Value, path []any) {
	const hint = "write a plain decimal number without a point or quotes"
	i, err := strconv.ParseInt(n.Value, 10, 64)
	switch {
	case n.Tag != "!!int" || err != nil || strconv.FormatInt(i, 10) != n.Value:
		d.wrong(n, path, "is not a whole number", hint)
	case v.CanUint() && (i < 0 || v.OverflowUint(uint64(i))), v.CanInt() && v.OverflowInt(i):
		d.wrong(n, path, "is out of range", hint)
	case v.CanUint():
		v.SetUint(uint64(i))
	default:
		v.SetInt(i)
	}
}

func (d *Document) duration(n *yaml.Node, v reflect.Value, path []any) {
	t, err := time.ParseDuration(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		d.wrong(n, path, "is not a duration", "write it with a unit, as 90s, 10m or 1h30m")
		return
	}
	v.SetInt(int64(t))
}
