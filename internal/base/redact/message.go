package redact

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Message returns a message without the secrets in its strings, in the keys of
// its maps of strings and values too: m itself where it has none, else a copy.
// It leaves alone what is in bytes, and fields whose names are in refers: ids of
// what there is, which tell nobody anything.
func Message[M proto.Message](s *Secrets, m M, refers map[protoreflect.Name]bool) M {
	if s == nil || len(s.forms) == 0 || !m.ProtoReflect().IsValid() {
		return m
	}
	w := &walk{Secrets: s, refers: refers}
	if w.message(m.ProtoReflect()); !w.found {
		return m
	}
	m = proto.CloneOf(m)
	w.write = true
	w.message(m.ProtoReflect())
	return m
}

// walk goes through a message: first to see, then to write.
type walk struct {
	*Secrets
	refers       map[protoreflect.Name]bool
	found, write bool
}

func (w *walk) message(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			w.table(f, v.Map())
		case f.IsList():
			w.list(f, v.List())
		case f.Message() != nil:
			w.message(v.Message())
		default:
			w.value(f, v, func(clean protoreflect.Value) { m.Set(f, clean) })
		}
		return w.write || !w.found
	})
}

// value cleans a string, if it is one.
func (w *walk) value(f protoreflect.FieldDescriptor, v protoreflect.Value, set func(protoreflect.Value)) {
	if f.Kind() != protoreflect.StringKind || w.refers[f.Name()] {
		return
	}
	if clean := w.Text(v.String()); clean != v.String() {
		w.found = true
		if w.write {
			set(protoreflect.ValueOfString(clean))
		}
	}
}

func (w *walk) list(f protoreflect.FieldDescriptor, l protoreflect.List) {
	for i := range l.Len() {
		if f.Message() != nil {
			w.message(l.Get(i).Message())
			continue
		}
		w.value(f, l.Get(i), func(clean protoreflect.Value) { l.Set(i, clean) })
	}
}

// table cleans the values of a map, and its keys where those are not ids.
func (w *walk) table(f protoreflect.FieldDescriptor, m protoreflect.Map) {
	of := f.MapValue()
	texts := of.Kind() == protoreflect.StringKind || of.Message() != nil && of.Message().FullName() == "google.protobuf.Value"
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if of.Message() != nil {
			w.message(v.Message())
		} else {
			w.value(of, v, func(clean protoreflect.Value) { m.Set(k, clean) })
		}
		if texts && w.Text(k.String()) != k.String() {
			keys = append(keys, k)
		}
		return true
	})
	w.found = w.found || len(keys) > 0
	if !w.write {
		return
	}
	for _, k := range keys {
		v := m.Get(k)
		m.Clear(k)
		m.Set(protoreflect.ValueOfString(w.Text(k.String())).MapKey(), v)
	}
}
