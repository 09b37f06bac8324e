package strictyaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/strictyaml"
)

// sample has a field of every type that a file can hold.
type sample struct {
	Name   string            `yaml:"name,omitempty" loom:"required"`
	Count  int               `yaml:"count,omitempty"`
	Small  uint8             `yaml:"small,omitempty"`
	Ratio  float64           `yaml:"ratio,omitempty"`
	On     bool              `yaml:"on,omitempty"`
	Wait   time.Duration     `yaml:"wait,omitempty"`
	Tags   []string          `yaml:"tags,omitempty"`
	Fields map[string]string `yaml:"fields,omitempty"`
	Limit  *int64            `yaml:"limit,omitempty"`
	Parts  []part            `yaml:"parts,omitempty"`
}

type part struct {
	ID   string   `yaml:"id,omitempty" loom:"required"`
	Args []string `yaml:"args,omitempty"`
}

// listing prints every problem as LINE:COL CODE, and what it is about.
func listing(err error) []string {
	first, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return nil
	}
	var all []string
	for _, e := range append([]*fault.Error{first}, first.More...) {
		all = append(all, strings.TrimSpace(strings.TrimPrefix(e.Where, "f:")+" "+e.Code+" "+e.Value))
	}
	return all
}

func TestF36_SoundDocument(t *testing.T) {
	text := "\uFEFF# comments are fine\n" + `
name: "yes"
count: -3
small: 255
ratio: 2
on: true
wait: 1h30m
tags: [a, &b "b", *b]
fields: {on: y, off: no}
limit: 7
parts:
  - id: x
  - {id: y, args: [">"]}
`
	limit := int64(7)
	want := sample{
		Name: "yes", Count: -3, Small: 255, Ratio: 2, On: true, Wait: 90 * time.Minute,
		Tags: []string{"a", "b", "b"}, Fields: map[string]string{"on": "y", "off": "no"}, Limit: &limit,
		Parts: []part{{ID: "x"}, {ID: "y", Args: []string{">"}}},
	}
	var got sample
	if err := strictyaml.Decode("f", []byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestF36_Refusals(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"1:1 yaml/documents"}},
		{"only a comment", "# nothing\n", []string{"1:1 yaml/documents"}},
		{"two documents", "name: a\n---\nname: b\n", []string{"2:1 yaml/documents"}},
		{"a second one that is broken", "name: a\n---\n[\n", []string{`3:1 yaml/syntax "["`}},
		{"a list", "- name\n", []string{"1:1 yaml/type"}},
		{"a scalar", "name\n", []string{`1:1 yaml/type "name"`}},
		{"unknown key", "name: a\ncuont: 1\n", []string{`2:1 yaml/unknown-key "cuont"`}},
		{"unknown key below", "name: a\nparts:\n  - {id: x, arg: []}\n", []string{`3:13 yaml/unknown-key "arg"`}},
		{"duplicate key", "name: a\nname: b\n", []string{`2:1 yaml/duplicate-key "name"`}},
		{"duplicate key in a map", "name: a\nfields: {x: a, x: b}\n", []string{`2:16 yaml/duplicate-key "x"`}},
		{"missing keys", "parts:\n  - {}\n", []string{"1:1 yaml/missing-key", "2:5 yaml/missing-key"}},
		{"float for int", "name: a\ncount: 2.5\n", []string{`2:8 yaml/type "2.5"`}},
		{"whole float for int", "name: a\ncount: 2.0\n", []string{`2:8 yaml/type "2.0"`}},
		{"exponent for int", "name: a\ncount: 1e3\n", []string{`2:8 yaml/type "1e3"`}},
		{"hex for int", "name: a\ncount: 0x10\n", []string{`2:8 yaml/type "0x10"`}},
		{"octal for int", "name: a\ncount: 010\n", []string{`2:8 yaml/type "010"`}},
		{"underscores in int", "name: a\ncount: 1_000\n", []string{`2:8 yaml/type "1_000"`}},
		{"quoted int", "name: a\ncount: '1'\n", []string{`2:8 yaml/type "1"`}},
		{"too large for its type", "name: a\nsmall: 256\n", []string{`2:8 yaml/type "256"`}},
		{"negative for unsigned", "name: a\nsmall: -1\n", []string{`2:8 yaml/type "-1"`}},
		{"too large for any type", "name: a\ncount: 9223372036854775808\n", []string{`2:8 yaml/type "9223372036854775808"`}},
		{"y as bool", "name: a\non: y\n", []string{`2:5 yaml/type "y"`}},
		{"yes as bool", "name: a\non: yes\n", []string{`2:5 yaml/type "yes"`}},
		{"on as bool", "name: a\non: on\n", []string{`2:5 yaml/type "on"`}},
		{"True as bool", "name: a\non: True\n", []string{`2:5 yaml/type "True"`}},
		{"int for string", "name: 5\n", []string{`1:7 yaml/type "5"`}},
		{"bool for string", "name: true\n", []string{`1:7 yaml/type "true"`}},
		{"date for string", "name: 2026-01-02\n", []string{`1:7 yaml/type "2026-01-02"`}},
		{"null for string", "name:\n", []string{"1:6 yaml/type"}},
		{"infinite", "name: a\nratio: .inf\n", []string{`2:8 yaml/type ".inf"`}},
		{"number for duration", "name: a\nwait: 10\n", []string{`2:7 yaml/type "10"`}},
		{"scalar for list", "name: a\ntags: x\n", []string{`2:7 yaml/type "x"`}},
		{"list for map", "name: a\nfields: [x]\n", []string{"2:9 yaml/type"}},
		{"custom tag", "name: !exec rm\n", []string{`1:7 yaml/tag "!exec"`}},
		{"standard tag", "name: !!str 5\n", []string{`1:7 yaml/tag "!!str"`}},
		{"lone tag", "name: ! x\n", []string{`1:7 yaml/tag "!"`}},
		{"lone tag after an anchor", "name: &a ! x\n", []string{`1:7 yaml/tag "!"`}},
		{"tagged key", "!x name: a\n", []string{`1:1 yaml/tag "!x"`, "1:1 yaml/missing-key"}},
		{"merge key", "name: a\nparts: [&p {id: x}, {<<: *p}]\n", []string{"2:21 yaml/missing-key", `2:22 yaml/unknown-key "<<"`}},
		{"key that is a number", "name: a\nfields: {1: x}\n", []string{`2:10 yaml/type "1"`}},
		{"key that is a list", "name: a\n? [x]\n: y\n", []string{`2:3 yaml/type ""`}},
		{"alias to itself", "name: a\ntags: &t [*t]\n", []string{"2:7 yaml/limit"}},
		{"unknown alias", "name: *nothing\n", []string{`1:1 yaml/syntax "name: *nothing"`}},
		{"UTF-16", "\xff\xfen\x00", []string{"1:1 yaml/encoding"}},
		{"not UTF-8", "name: a\n# \u00e9 \xff\n", []string{`2:5 yaml/encoding "\xff"`}},
		{"NUL", "name: a\x00b\n", []string{`1:8 yaml/encoding "\x00"`}},
		{"bad indentation", "name: a\nparts:\n  - id: x\n   args: []\n", []string{`4:4 yaml/syntax "args: []"`}},
		{"a quote that is not closed", "name: a\ntags: ['x]\non: true\n", []string{`2:1 yaml/syntax "tags: ['x]"`}},
		{"a tab", "name: a\nparts:\n\t- id: x\n", []string{`3:1 yaml/syntax "- id: x"`}},
		{"no colon", "name: a\ncount 3\non: true\n", []string{`2:1 yaml/syntax "count 3"`}},
		{"several at once", "count: x\nname: [a]\nzzz: 1\non: no\n", []string{
			`1:8 yaml/type "x"`, "2:7 yaml/type", `3:1 yaml/unknown-key "zzz"`, `4:5 yaml/type "no"`,
		}},
	} {
		t.Run("F36 "+tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, listing(strictyaml.Decode("f", []byte(tt.text), &sample{}))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// The edges of the limits, just inside and just outside.
func TestF36_Limits(t *testing.T) {
	longtest.Skip(t)
	list := func(n int) string { return strings.TrimSuffix(strings.Repeat("x,", n), ",") }
	aliases := func(n int) string { return "name: &a x\ntags: [" + strings.Repeat("*a,", n-1) + "]\n" }
	for _, tt := range []struct {
		name, text string
		limit      bool
	}{
		{"bytes", "name: a #" + strings.Repeat("x", strictyaml.MaxBytes-10) + "\n", false},
		{"bytes, one more", "name: a #" + strings.Repeat("x", strictyaml.MaxBytes-9) + "\n", true},
		{"depth", "name: " + strings.Repeat("[", 49) + "x" + strings.Repeat("]", 49), false},
		{"depth, one more", "name: " + strings.Repeat("[", 50) + "x" + strings.Repeat("]", 50), true},
		{"depth by alias", "name: [&a [[x]], " + strings.Repeat("[", 46) + "*a" + strings.Repeat("]", 46) + "]", false},
		{"depth by alias, one more", "name: [&a [[x]], " + strings.Repeat("[", 47) + "*a" + strings.Repeat("]", 47) + "]", true},
		{"aliases", aliases(100), false},
		{"aliases, one more", aliases(101), true},
		{"values", "name: [" + list(99_997) + "]", false},
		{"values, one more", "name: [" + list(99_998) + "]", true},
		{"values by alias", "name: [&a [" + list(50_000) + "], *a]", true},
		{"20,000 deep", "name: " + strings.Repeat("[", 20_000), true},
	} {
		t.Run("F36 "+tt.name, func(t *testing.T) {
			err := strictyaml.Decode("f", []byte(tt.text), &sample{})
			if limit := fault.Code(err) == "yaml/limit" || fault.Code(err) == "yaml/syntax"; limit != tt.limit {
				t.Errorf("code %q (%.100v), want refused for a limit: %t", fault.Code(err), err, tt.limit)
			}
		})
	}
}

// Nine levels of nine aliases each would be 387 million values.
func TestF36_AliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c <= 'i'; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9))
	}
	if err := strictyaml.Decode("f", []byte(b.String()), &sample{}); fault.Code(err) != "yaml/limit" {
		t.Errorf("a bomb gave %v, want yaml/limit", err)
	}
}

func TestF36_AtMostFiftyProblems(t *testing.T) {
	text := "name: a\n"
	for i := range 3000 {
		text += fmt.Sprintf("k%d: 1\n", i)
	}
	if got := len(listing(strictyaml.Decode("f", []byte(text), &sample{}))); got != 50 {
		t.Errorf("%d problems listed, want 50", got)
	}
}

func TestPlaces(t *testing.T) {
	doc, err := strictyaml.Parse("f.yaml", []byte("name: a\nparts:\n  - {id: x}\n  - id: &y y\n    args: [*y]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path       []any
		value, key string
		has        bool
	}{
		{nil, "1:1", "1:1", true},
		{[]any{"name"}, "1:7", "1:1", true},
		{[]any{"parts"}, "3:3", "2:1", true},
		{[]any{"parts", 0, "id"}, "3:10", "3:6", true},
		{[]any{"parts", 1, "args", 0}, "5:12", "5:12", true}, // the alias, not its target
		{[]any{"parts", 1, "none"}, "4:5", "4:5", false},     // the mapping that lacks it
		{[]any{"parts", 7, "id"}, "3:3", "3:3", false},
		{[]any{"name", "x"}, "1:7", "1:7", false},
	} {
		if got := doc.Place(tt.path...); got != "f.yaml:"+tt.value {
			t.Errorf("Place(%v) = %s, want %s", tt.path, got, tt.value)
		}
		if got := doc.KeyPlace(tt.path...); got != "f.yaml:"+tt.key {
			t.Errorf("KeyPlace(%v) = %s, want %s", tt.path, got, tt.key)
		}
		if got := doc.Has(tt.path...); got != tt.has {
			t.Errorf("Has(%v) = %t, want %t", tt.path, got, tt.has)
		}
	}
}

func TestBroken(t *testing.T) {
	doc, err := strictyaml.Parse("f", []byte("name: a\nparts:\n  - {id: 5}\n  - {id: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	doc.Decode(&sample{})
	for _, tt := range []struct {
		path []any
		want bool
	}{
		{nil, true},
		{[]any{"parts"}, true},
		{[]any{"parts", 0}, true},
		{[]any{"parts", 0, "id"}, true},
		{[]any{"parts", 1}, false},
		{[]any{"name"}, false},
	} {
		if got := doc.Broken(tt.path...); got != tt.want {
			t.Errorf("Broken(%v) = %t, want %t", tt.path, got, tt.want)
		}
	}
}

func TestDoubtful(t *testing.T) {
	doc, err := strictyaml.Parse("f", []byte("name: a\nparts:\n  - {id: 5}\n  - {id: x}\n  - {id: y, arg: []}\n  - {args: []}\n  - 7\n"))
	if err != nil {
		t.Fatal(err)
	}
	doc.Decode(&sample{})
	for _, tt := range []struct {
		path []any
		want bool
	}{
		{[]any{"count"}, false},            // absent, with trouble elsewhere
		{[]any{"parts", 0, "id"}, true},    // broken itself
		{[]any{"parts", 0, "args"}, false}, // absent beside a broken one
		{[]any{"parts", 1, "id"}, false},
		{[]any{"parts", 1, "args"}, false},
		{[]any{"parts", 2, "args"}, true}, // absent beside an unknown key
		{[]any{"parts", 2, "id"}, false},
		{[]any{"parts", 3, "id"}, true}, // absent though required
		{[]any{"parts", 4, "args", 0}, true},
		{[]any{"parts", 9, "args", 0}, false},
		{nil, true},
	} {
		if got := doc.Doubtful(tt.path...); got != tt.want {
			t.Errorf("Doubtful(%v) = %t, want %t", tt.path, got, tt.want)
		}
	}
}

// A caller's own problems stand among the others in the order of the file.
func ExampleDocument_Add() {
	doc, err := strictyaml.Parse("role.yaml", []byte("count: many\nname: qa\nsize: 3\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	var role struct {
		Name  string `yaml:"name" loom:"required"`
		Count int    `yaml:"count"`
	}
	doc.Decode(&role)
	doc.Add(fault.New("role/duplicate", "role %q exists", role.Name), "name")
	for _, e := range doc.Problems() {
		fmt.Println(e)
	}
	// Output:
	// role.yaml:1:8: count is not a whole number (got "many"); write a plain decimal number without a point or quotes
	// role.yaml:2:7: role "qa" exists
	// role.yaml:3:1: the document has no such key (got "size"); known are name, count
}

func ExampleDecode() {
	var file struct {
		Retries int `yaml:"max_attempts"`
	}
	err := strictyaml.Decode("w.yaml", []byte("max_atempts: 3\n"), &file)
	fmt.Println(fault.Code(err), err)
	// Output:
	// yaml/unknown-key w.yaml:1:1: the document has no such key (got "max_atempts"); did you mean "max_attempts"?
}

// A value in the place of a mapping that needs one key is told that key.
func TestPROC03_AValueInThePlaceOfAMapping(t *testing.T) {
	for text, want := range map[string]string{
		"name: x\nparts: [\"score > 0.8\"]\n": `write it as id: "score > 0.8"`,
		"name: x\nparts: [[a]]\n":             "write it as key: value",
	} {
		doc, err := strictyaml.Parse("f.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		doc.Decode(&sample{})
		if err := doc.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
