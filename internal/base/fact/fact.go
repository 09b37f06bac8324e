// Package fact reads what the contract says of each kind of event, where the kind
// is declared: which cores fold it, from which format on builds read it, and the
// sentence of its notice; and of each kind of command the core that decides it. The
// options stand in loom.v1.Event and loom.v1.Command, and are described in
// proto/loom/v1/fact.proto.
//
// It promises one [Kind] for each kind of event that this build knows, made once and
// never changed. It folds and decides nothing.
package fact

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Kind is what the contract says of a kind of event.
type Kind struct {
	// Field is its member of the fact of loom.v1.Event.
	Field protoreflect.FieldDescriptor
	// Name is that of the field in kebab case, for example "edge-settled".
	Name string
	// Cores fold it, in this order.
	Cores []loomv1.Core
	// Tables of the projection have it, in this order, beside the row of its execution.
	Tables []loomv1.FactTable
	// Since is the format from which on builds read it, at least 1.
	Since uint32
	// Says is the sentence of its notice, with places, or empty where package notice
	// has a function for it.
	Says string
}

// FoldedBy reports whether a core folds this kind. Nil is folded by none.
func (k *Kind) FoldedBy(c loomv1.Core) bool { return k != nil && slices.Contains(k.Cores, c) }

var oneof = (*loomv1.Event)(nil).ProtoReflect().Descriptor().Oneofs().ByName("fact")

// all are the kinds in the order of the contract, byNumber by their field's number.
var (
	all      = described()
	byNumber = numbered()
)

func described() []*Kind {
	fields := oneof.Fields()
	list := make([]*Kind, fields.Len())
	for i := range list {
		f := fields.Get(i)
		said, _ := proto.GetExtension(f.Options(), loomv1.E_Kind).(*loomv1.FactKind)
		list[i] = &Kind{
			Field:  f,
			Name:   strings.ReplaceAll(string(f.Name()), "_", "-"),
			Cores:  said.GetCores(),
			Tables: said.GetTables(),
			Since:  max(said.GetSince(), 1),
			Says:   said.GetSays(),
		}
	}
	return list
}

func numbered() []*Kind {
	number := func(k *Kind) int { return int(k.Field.Number()) }
	last := slices.MaxFunc(all, func(a, b *Kind) int { return cmp.Compare(number(a), number(b)) })
	list := make([]*Kind, number(last)+1)
	for _, k := range all {
		list[number(k)] = k
	}
	return list
}

// Of returns the kind of e, or nil when this build does not know its fact.
func Of(e *loomv1.Event) *Kind {
	f := e.ProtoReflect().WhichOneof(oneof)
	if f == nil {
		return nil
	}
	return byNumber[f.Number()]
}

// deciders are the cores that decide commands, by the number of the command's field.
var deciders = lazy.Value(func() map[protoreflect.FieldNumber]loomv1.Core {
	fields := commands.Fields()
	list := map[protoreflect.FieldNumber]loomv1.Core{}
	for i := range fields.Len() {
		f := fields.Get(i)
		core, _ := proto.GetExtension(f.Options(), loomv1.E_DecidedBy).(loomv1.Core)
		list[f.Number()] = cmp.Or(core, loomv1.Core_CORE_PROJECT)
	}
	return list
})

var commands = (*loomv1.Command)(nil).ProtoReflect().Descriptor().Oneofs().ByName("body")

// DecidedBy returns the core whose cell decides a command: CORE_PROJECT, the work
// cell, where the contract names none and for a command without a body.
func DecidedBy(cmd *loomv1.Command) loomv1.Core {
	f := cmd.ProtoReflect().WhichOneof(commands)
	if f == nil {
		return loomv1.Core_CORE_PROJECT
	}
	return deciders()[f.Number()]
}

// All returns every kind there is, in the order of the contract. Nobody may change
// the list.
func All() []*Kind { return all }
