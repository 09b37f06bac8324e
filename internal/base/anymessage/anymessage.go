// Package anymessage fills messages of protobuf with values that nobody would send:
// names that are none, numbers at their ends, enums that do not exist, times before the
// first year, trees of messages. It is for tests of what decides and what serves: for
// each input there is an answer, and none is a panic or a broken state.
//
// It promises the same messages for the same source of numbers. It never sends anything.
package anymessage

import (
	"math"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Maker makes messages.
type Maker struct {
	// Rand decides everything.
	Rand *rand.Rand
	// Known are names that exist, by the name of a field: with them some messages are
	// understood. The other half of the texts are names of nothing.
	Known map[string][]string
	// Sound are messages that exist, by their name: about half of those of their kind are
	// one of them.
	Sound map[protoreflect.FullName][]proto.Message
	// Depth is how deep messages lie in each other at most; 0 means 4.
	Depth int
}

// strange are texts that are names of nothing.
var strange = []string{
	"", " ", "*", ">", "..", "../x", "-1", "X", "a\n", "a\x00b", "\x1b[31m", "ö", "\u202e", "$JS", "a.b", "0", "1e999", "{}", "true",
	strings.Repeat("x", 65), strings.Repeat("x", 3000),
}

var (
	integers = []int64{0, 1, 2, 3, -1, 100, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}
	doubles  = []float64{0, 1, -1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}
)

// Fill fills a message. About one field in three stays as it is; of a oneof at most one
// is filled.
func (m Maker) Fill(msg proto.Message) {
	depth := m.Depth
	if depth == 0 {
		depth = 4
	}
	m.fill(msg.ProtoReflect(), depth)
}

func (m Maker) fill(msg protoreflect.Message, depth int) {
	fields := msg.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
			if o.Fields().Get(0) == f { // the first asks for all of them
				m.field(msg, o.Fields().Get(m.Rand.IntN(o.Fields().Len())), depth)
			}
			continue
		}
		if m.Rand.IntN(3) > 0 {
			m.field(msg, f, depth)
		}
	}
}

func (m Maker) field(msg protoreflect.Message, f protoreflect.FieldDescriptor, depth int) {
	switch {
	case f.IsMap():
		entries := msg.Mutable(f).Map()
		for range m.Rand.IntN(3) {
			value := entries.NewValue()
			if f.MapValue().Message() != nil {
				m.deeper(value.Message(), depth)
			} else {
				value = m.scalar(f.MapValue())
			}
			entries.Set(m.scalar(f.MapKey()).MapKey(), value)
		}
	case f.IsList():
		list := msg.Mutable(f).List()
		for range m.Rand.IntN(3) {
			value := list.NewElement()
			if f.Message() != nil {
				m.deeper(value.Message(), depth)
			} else {
				value = m.scalar(f)
			}
			list.Append(value)
		}
	case f.Message() != nil:
		m.deeper(msg.Mutable(f).Message(), depth)
	default:
		msg.Set(f, m.scalar(f))
	}
}

func (m Maker) deeper(msg protoreflect.Message, depth int) {
	sound := m.Sound[msg.Descriptor().FullName()]
	switch {
	case len(sound) > 0 && m.Rand.IntN(3) > 0:
		proto.Merge(msg.Interface(), sound[m.Rand.IntN(len(sound))])
	case depth > 0:
		m.fill(msg, depth-1)
	}
}

func (m Maker) scalar(f protoreflect.FieldDescriptor) protoreflect.Value {
	n := integers[m.Rand.IntN(len(integers))]
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n&1 == 1)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(m.word(string(f.Name())))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(m.word(string(f.Name()))))
	case protoreflect.EnumKind:
		values := f.Enum().Values()
		if k := m.Rand.IntN(values.Len() + 1); k < values.Len() {
			return protoreflect.ValueOfEnum(values.Get(k).Number())
		}
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)) // truncated, it may be one
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(doubles[m.Rand.IntN(len(doubles))]))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(doubles[m.Rand.IntN(len(doubles))])
	default:
		return protoreflect.ValueOfInt64(n)
	}
}

func (m Maker) word(field string) string {
	if known := m.Known[field]; len(known) > 0 && m.Rand.IntN(4) > 0 {
		return known[m.Rand.IntN(len(known))]
	}
	return strange[m.Rand.IntN(len(strange))]
}
