package notice

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fact"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A sentence is what the contract says of a kind of event: text with places in curly
// brackets. A place is a value and how it is put, "{VALUE FORM}". Values are
//
//	about who project bead execution node attempt    of the event; about is its bead,
//	                                                 else its project; who is its actor
//	.field.field                                     of the fact
//
// and the forms, of which a place has one or none,
//
//	in           in round brackets behind a blank, or nothing where it is empty
//	after        behind a colon and a blank, or nothing
//	or TEXT      TEXT where it is empty; a value of the event is taken by name
//	quoted       in double quotes, one line, shortened
//	base         the last element of a path, in double quotes
//	hex          the first 12 bytes as hexadecimal digits
//	count NOUN   how many, with the noun in singular or plural
//
// Without a form texts stand as they are, enumerations as words, times in UTC, lists
// with commas.
type sentence []func(*loomv1.Event, protoreflect.Message) string

// sentences are those of the contract, by the number of the kind's field.
var sentences = lazy.Value(parsed)

func parsed() map[protoreflect.FieldNumber]sentence {
	all := map[protoreflect.FieldNumber]sentence{}
	for _, k := range fact.All() {
		if k.Says == "" {
			continue
		}
		s, err := parse(k.Says, k.Field.Message())
		if err != nil {
			panic(fmt.Sprintf("the sentence of %s in event.proto: %v", k.Name, err)) // a fault of the build, seen by every test
		}
		all[k.Field.Number()] = s
	}
	return all
}

// say fills the sentence of k's kind, or returns "" where it has none.
func say(k *fact.Kind, e *loomv1.Event) string {
	s := sentences()[k.Field.Number()]
	if s == nil {
		return ""
	}
	var b strings.Builder
	m := e.ProtoReflect().Get(k.Field).Message()
	for _, piece := range s {
		b.WriteString(piece(e, m))
	}
	return b.String()
}

// ofEvent are the values that every event has.
var ofEvent = map[string]func(*loomv1.Event) string{
	"about": about, "who": who,
	"project": (*loomv1.Event).GetProject, "bead": (*loomv1.Event).GetBead, "execution": (*loomv1.Event).GetExecution,
	"node": (*loomv1.Event).GetNode, "attempt": (*loomv1.Event).GetAttempt,
}

func parse(text string, of protoreflect.MessageDescriptor) (s sentence, err error) {
	for text != "" {
		plain, rest, found := strings.Cut(text, "{")
		if plain != "" {
			s = append(s, func(*loomv1.Event, protoreflect.Message) string { return plain })
		}
		if !found {
			break
		}
		place, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, fmt.Errorf("a place is not closed: %q", rest)
		}
		piece, err := parsePlace(place, of)
		if err != nil {
			return nil, fmt.Errorf("{%s}: %w", place, err)
		}
		s, text = append(s, piece), after
	}
	return s, nil
}

func parsePlace(place string, of protoreflect.MessageDescriptor) (func(*loomv1.Event, protoreflect.Message) string, error) {
	name, form, _ := strings.Cut(place, " ")
	form, with, _ := strings.Cut(form, " ")
	if get := ofEvent[name]; get != nil {
		put, err := formOf(form, with)
		return func(e *loomv1.Event, _ protoreflect.Message) string { return put(e, get(e)) }, err
	}
	way, err := fieldsOf(name, of)
	if err != nil {
		return nil, err
	}
	last := way[len(way)-1]
	switch {
	case form == "count" && last.IsList() && with != "":
		return func(_ *loomv1.Event, m protoreflect.Message) string {
			return fault.Count(walk(m, way).List().Len(), with)
		}, nil
	case form == "hex" && last.Kind() == protoreflect.BytesKind:
		return func(_ *loomv1.Event, m protoreflect.Message) string {
			return fmt.Sprintf("%.12x", walk(m, way).Bytes())
		}, nil
	}
	put, err := formOf(form, with)
	return func(e *loomv1.Event, m protoreflect.Message) string { return put(e, value(last, walk(m, way))) }, err
}

// formOf returns the function that puts a text into a form.
func formOf(form, with string) (func(*loomv1.Event, string) string, error) {
	switch form {
	case "":
		return func(_ *loomv1.Event, s string) string { return s }, nil
	case "in":
		return func(_ *loomv1.Event, s string) string { return in(s) }, nil
	case "after":
		return func(_ *loomv1.Event, s string) string { return after(": ", s) }, nil
	case "quoted":
		return func(_ *loomv1.Event, s string) string { return strconv.Quote(part(s)) }, nil
	case "base":
		return func(_ *loomv1.Event, s string) string { return strconv.Quote(path.Base(s)) }, nil
	case "or":
		if get := ofEvent[with]; get != nil {
			return func(e *loomv1.Event, s string) string { return named(s, get(e)) }, nil
		}
		return func(_ *loomv1.Event, s string) string { return named(s, with) }, nil
	}
	return nil, fmt.Errorf("no such form: %q", form)
}

// fieldsOf finds the fields of a path, each in the message of the one before.
func fieldsOf(name string, of protoreflect.MessageDescriptor) (way []protoreflect.FieldDescriptor, err error) {
	dot, rest := strings.CutPrefix(name, ".")
	if dot == name || !rest {
		return nil, fmt.Errorf("no such value of an event")
	}
	for _, part := range strings.Split(dot, ".") {
		var f protoreflect.FieldDescriptor
		if of != nil {
			f = of.Fields().ByName(protoreflect.Name(part))
		}
		if f == nil {
			return nil, fmt.Errorf("no such field: %s", part)
		}
		way, of = append(way, f), f.Message()
	}
	return way, nil
}

func walk(m protoreflect.Message, way []protoreflect.FieldDescriptor) protoreflect.Value {
	for _, f := range way[:len(way)-1] {
		m = m.Get(f).Message()
	}
	return m.Get(way[len(way)-1])
}

// value is a value as text.
func value(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch {
	case f.IsList():
		all := make([]string, v.List().Len())
		for i := range all {
			all[i] = v.List().Get(i).String()
		}
		return strings.Join(all, ", ")
	case f.Kind() == protoreflect.EnumKind:
		return wordOf(f.Enum(), v.Enum())
	case f.Kind() != protoreflect.MessageKind:
		return v.String()
	}
	switch m := v.Message().Interface().(type) {
	case *timestamppb.Timestamp:
		return clock(m)
	case *loomv1.Claimant:
		return claimant(m)
	}
	return ""
}
