package project_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestF31_EmptyCommandsAreRefused sends every command without its content, and
// with empty content, as a stranger's message may have it: a panic on it would
// come back on every host.
func TestF31_EmptyCommandsAreRefused(t *testing.T) {
	d := newDesk(t)
	d.report()
	bodies := (&loomv1.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("body").Fields()
	for i := range bodies.Len() {
		f := bodies.Get(i)
		for depth := range 3 {
			cmd := &loomv1.Command{Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO}}
			fill(cmd.ProtoReflect().Mutable(f).Message(), depth)
			t.Run(string(f.Name()), func(t *testing.T) {
				before := d.s.Number()
				_, err := d.do(cmd)
				harmless := f.Name() == "tick" || f.Name() == "release_host" || f.Name() == "record_rejection"
				if err == nil && !harmless {
					t.Errorf("an empty command is carried out: %v", cmd)
				}
				recorded := f.Name() == "record_rejection" || f.Name() == "signed" && d.events[len(d.events)-1].GetCommandRefused() != nil
				if n := d.s.Number() - before; n != 0 && !(n == 1 && recorded) {
					t.Errorf("an empty command adds %d events", d.s.Number()-before)
				}
			})
		}
	}
	if _, answer, err := project.New(d.cfg).Do(noon, &loomv1.Command{}); err != nil || answer.GetError() == nil {
		t.Errorf("a command without a body: %v, %v", answer, err)
	}
}

// fill sets every message in m to an empty one, so deep.
func fill(m protoreflect.Message, depth int) {
	if depth == 0 {
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Message() != nil && !f.IsMap() && !f.IsList() && f.ContainingOneof() == nil {
			fill(m.Mutable(f).Message(), depth-1)
		}
	}
	_ = proto.Size(m.Interface())
}
