package document

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a field takes that does not say so itself.
const (
	defaultItems = 1000
	defaultBytes = 64 << 10
)

// mostProblems bounds what is remembered; only 50 are ever shown.
const mostProblems = 200

// takes is what the contract says of a field.
func takes(f protoreflect.FieldDescriptor) *loomv1.FieldRule {
	rule, _ := proto.GetExtension(f.Options(), loomv1.E_Takes).(*loomv1.FieldRule)
	return rule
}

// checker holds a tree of JSON against the contract.
type checker struct{ problems []*fault.Error }

func (c *checker) refuse(path, format string, args ...any) told {
	return c.add(fault.New("document/invalid", format, args...).At(path))
}

func (c *checker) add(e *fault.Error) told {
	if len(c.problems) < mostProblems {
		c.problems = append(c.problems, e)
	}
	return told{e}
}

// told is a problem that is in a list already: what it got and what would be right can
// still be said.
type told struct{ problem *fault.Error }

func (t told) Got(value string) told { t.problem.Got(value); return t }

func (t told) Want(format string, args ...any) { t.problem.Want(format, args...) }

// join appends a key to a path, in brackets where it is no plain word.
func join(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + quoteKey(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

var plainKey = lazy.Compile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func (c *checker) message(d protoreflect.MessageDescriptor, tree any, path string) {
	object, ok := tree.(map[string]any)
	if !ok {
		c.refuse(path, "%s is %s, not an object", shown(path), nameOf(tree))
		return
	}
	known := map[string]protoreflect.FieldDescriptor{}
	var names []string
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		known[f.JSONName()] = f
		names = append(names, f.JSONName())
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		f, ok := known[key]
		if !ok {
			c.refuse(join(path, key), "%s has no such key", shown(path)).Got(key).Want("%s", suggest.Among(key, names))
			continue
		}
		c.field(f, object[key], join(path, key))
	}
	for _, name := range names {
		f := known[name]
		if v, there := object[name]; takes(f).GetRequired() && (!there || empty(v)) {
			c.refuse(join(path, name), "%s is missing", name)
		}
	}
}

// empty says that a value is there and says nothing.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	}
	return false
}

func (c *checker) field(f protoreflect.FieldDescriptor, v any, path string) {
	rule := takes(f)
	switch {
	case f.IsMap():
		object, ok := v.(map[string]any)
		if !ok {
			c.refuse(path, "%s is %s, not an object", shown(path), nameOf(v))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			c.one(f.MapValue(), rule, object[key], join(path, key))
		}
	case f.IsList():
		list, ok := v.([]any)
		if !ok {
			c.refuse(path, "%s is %s, not a list", shown(path), nameOf(v))
			return
		}
		most := int(rule.GetMaxItems())
		if most == 0 {
			most = defaultItems
		}
		if len(list) > most {
			c.add(fault.New("document/limit", "%d elements; at most %d are taken", len(list), most).At(path))
			return
		}
		for i, e := range list {
			c.one(f, rule, e, fmt.Sprintf("%s[%d]", path, i))
		}
		c.distinct(rule, list, path)
	default:
		c.one(f, rule, v, path)
	}
}

// distinct refuses two elements of one name.
func (c *checker) distinct(rule *loomv1.FieldRule, list []any, path string) {
	if !rule.GetUnique() && rule.GetKey() == "" {
		return
	}
	seen := map[string]bool{}
	for i, e := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if object, ok := e.(map[string]any); ok {
			e, at = object[rule.GetKey()], join(at, rule.GetKey())
		}
		name, ok := e.(string)
		if ok && seen[name] {
			c.refuse(at, "there are two of this name").Got(name)
		}
		seen[name] = ok
	}
}

// one checks one value, or one element of a list.
func (c *checker) one(f protoreflect.FieldDescriptor, rule *loomv1.FieldRule, v any, path string) {
	switch f.Kind() {
	case protoreflect.MessageKind:
		switch f.Message().FullName() {
		case "google.protobuf.Value":
		case "google.protobuf.ListValue":
			if _, ok := v.([]any); !ok {
				c.refuse(path, "%s is %s, not a list", shown(path), nameOf(v))
			}
		default:
			c.message(f.Message(), v, path)
		}
	case protoreflect.StringKind:
		if text, ok := v.(string); ok {
			c.text(rule, text, path)
			return
		}
		c.refuse(path, "%s is %s, not a text", shown(path), nameOf(v))
	case protoreflect.BoolKind:
		if _, ok := v.(bool); !ok {
			c.refuse(path, "%s is %s, not true or false", shown(path), nameOf(v))
		}
	case protoreflect.Int32Kind, protoreflect.DoubleKind:
		n, ok := v.(float64)
		whole := f.Kind() == protoreflect.Int32Kind
		switch {
		case !ok:
			c.refuse(path, "%s is %s, not a number", shown(path), nameOf(v))
		case whole && (n != math.Trunc(n) || math.Abs(n) > math.MaxInt32):
			c.refuse(path, "%s is not a whole number", shown(path)).Got(fmt.Sprint(n))
		case rule.GetMinimum() != rule.GetMaximum() && (n < rule.GetMinimum() || n > rule.GetMaximum()):
			c.refuse(path, "%s is not within %v and %v", shown(path), rule.GetMinimum(), rule.GetMaximum()).Got(fmt.Sprint(n))
		}
	default:
		panic("document: no check for " + string(f.FullName()))
	}
}

func (c *checker) text(rule *loomv1.FieldRule, text, path string) {
	most := int(rule.GetMaxBytes())
	if most == 0 {
		most = defaultBytes
	}
	control := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7F || r == 0xFFFE || r == 0xFFFF })
	switch {
	case len(text) > most:
		c.add(fault.New("document/limit", "%d bytes; at most %d are taken", len(text), most).At(path))
	case control >= 0:
		c.refuse(path, "%s has a control character at byte %d", shown(path), control)
	case len(rule.GetWords()) > 0 && !slices.Contains(rule.GetWords(), text):
		c.refuse(path, "%s does not take this word", shown(path)).Got(text).Want("%s", suggest.Among(text, rule.GetWords()))
	case rule.GetPattern() != "" && text != "" && !whole(rule.GetPattern()).MatchString(text):
		c.refuse(path, "%s is not of the form %s", shown(path), rule.GetPattern()).Got(text)
	}
}

// patterns are the contract's, compiled when one is first asked for.
var patterns = lazy.Value(func() map[string]*regexp.Regexp {
	found := map[string]*regexp.Regexp{}
	var walk func(d protoreflect.MessageDescriptor)
	seen := map[protoreflect.FullName]bool{}
	walk = func(d protoreflect.MessageDescriptor) {
		if seen[d.FullName()] {
			return
		}
		seen[d.FullName()] = true
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			if p := takes(f).GetPattern(); p != "" {
				found[p] = regexp.MustCompile("^(?:" + p + ")$")
			}
			if f.Message() != nil && !f.IsMap() {
				walk(f.Message())
			}
		}
	}
	for _, k := range kinds {
		walk(k.zero.ProtoReflect().Descriptor())
	}
	return found
})

func whole(pattern string) *regexp.Regexp { return patterns()[pattern] }

func nameOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "a list"
	}
	return "an object"
}
