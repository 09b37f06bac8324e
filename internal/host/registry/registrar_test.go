package registry

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Of what an operator asks for while a host runs only this is heeded: a new field of a
// registration is nobody's to say before it stands here.
func TestCLI01_WhatOperatorsMaySayOfAProject(t *testing.T) {
	asked := &loomv1.ProjectConfig{}
	m := asked.ProtoReflect()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("kind").MapKey(), m.NewField(f).Map().NewValue())
		case f.IsList():
			list := m.Mutable(f).List()
			list.Append(list.NewElement())
		case f.Message() != nil:
			m.Mutable(f)
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString("said"))
		case f.Kind() == protoreflect.BoolKind:
			m.Set(f, protoreflect.ValueOfBool(true))
		case f.Kind() == protoreflect.Uint32Kind:
			m.Set(f, protoreflect.ValueOfUint32(7))
		default:
			t.Fatalf("field %s of a registration is of a kind that this test does not fill", f.Name())
		}
	}
	c := sayable(asked, nil)
	forAll(c, nil)
	var heeded []string
	c.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		heeded = append(heeded, string(f.Name()))
		return true
	})
	slices.Sort(heeded)
	want := []string{
		"checks", "governor", "id", "memory", "patch", "processes", "remote", "repository", "routes", "setup", "setup_makes", "setup_reads", "target_branch",
	}
	if !slices.Equal(heeded, want) {
		t.Errorf("heeded are %q, want %q", heeded, want)
	}
}
