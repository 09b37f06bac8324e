package condition

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
)

// options extends the base environment by what the scope brings.
func (s Scope) options() []cel.EnvOption {
	known := provider{Provider: types.NewEmptyRegistry(), objects: map[string]objectType{}}
	for _, t := range s.objects() {
		known.objects[typeName(t.path)] = t
	}
	opts := []cel.EnvOption{cel.CustomTypeProvider(known)}
	if s.hasOutcome() {
		opts = append(opts, cel.Variable("outcome", celObject("outcome")))
	}
	return opts
}

// provider tells CEL which fields our objects have and how to read them.
type provider struct {
	types.Provider
	objects map[string]objectType
}

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return nil, false
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	t, ok := p.objects[name]
	var names []string
	for _, f := range t.fields {
		names = append(names, f.name)
	}
	return names, ok
}

func (p provider) FindStructFieldType(name, fieldName string) (*types.FieldType, bool) {
	for _, f := range p.objects[name].fields {
		if f.name == fieldName {
			return &types.FieldType{Type: f.typ, GetFrom: f.get, IsSet: func(any) bool { return true }}, true
		}
	}
	return nil, false
}

// variables resolves the names of an expression, in one evaluation.
type variables struct {
	in *Input
	adapter
}

func (v *variables) Parent() cel.Activation { return nil }

func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case "bead":
		return object{celObject(name), v.in.Bead}, true
	case "execution":
		return object{celObject(name), v.in.Execution}, true
	case "context":
		return v.object(v.in.Context), true
	case "outcome":
		if v.in.Nodes != nil {
			return object{celObject(name), v.in.Nodes}, true
		}
		return object{celObject(name), v.in.Outcome}, true
	}
	return nil, false
}

// object is a value whose fields the provider reads; it can do nothing else.
type object struct {
	typ *types.Type
	of  any
}

func (o object) Type() ref.Type { return o.typ }
func (o object) Value() any     { return o.of }

func (o object) Equal(other ref.Val) ref.Val { return types.MaybeNoSuchOverloadErr(other) }

func (o object) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("%s cannot be made a %s", o.typ, t)
}

func (o object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s cannot be made a %s", o.typ, t)
}

// adapter shows JSON to CEL so that maps are walked in the order of their keys.
// One with a memory shows each map once, so that its keys are sorted once
// however often an expression walks it.
type adapter struct{ seen map[*structpb.Struct]table }

func (a adapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case *structpb.Struct:
		return a.object(v)
	case *structpb.ListValue:
		return types.NewList(a, v.GetValues())
	case *structpb.Value:
		switch k := v.GetKind().(type) {
		case *structpb.Value_StructValue:
			return a.object(k.StructValue)
		case *structpb.Value_ListValue:
			return types.NewList(a, k.ListValue.GetValues())
		}
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

func (a adapter) object(s *structpb.Struct) table {
	t, ok := a.seen[s]
	if !ok {
		t = newTable(a, s.GetFields(), nil)
		if a.seen != nil {
			a.seen[s] = t
		}
	}
	return t
}

// table is a map whose iterator goes by sorted keys, where a missing key has
// the value zero if there is one.
type table struct {
	traits.Mapper
	keys func() []string
	zero ref.Val
}

func newTable[V any](a adapter, m map[string]V, zero ref.Val) table {
	var sorted []string
	return table{types.NewMap(a, m), func() []string {
		if sorted == nil {
			sorted = slices.Sorted(maps.Keys(m))
		}
		return sorted
	}, zero}
}

func (t table) Iterator() traits.Iterator {
	return types.NewStringList(adapter{}, t.keys()).Iterator()
}

func (t table) Find(key ref.Val) (ref.Val, bool) {
	v, ok := t.Mapper.Find(key)
	if !ok && v == nil && t.zero != nil {
		return t.zero, true
	}
	return v, ok
}

func (t table) Get(key ref.Val) ref.Val {
	if v, ok := t.Find(key); ok {
		return v
	}
	return t.Mapper.Get(key)
}
