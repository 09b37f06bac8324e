package blob

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Refs calls fn for every blob that m names, however deep. References that name
// none are passed over.
func Refs(m proto.Message, fn func(*loomv1.BlobRef)) { refs(m.ProtoReflect(), fn) }

var blobRef = (*loomv1.BlobRef)(nil).ProtoReflect().Descriptor().FullName()

func refs(m protoreflect.Message, fn func(*loomv1.BlobRef)) {
	if m.Descriptor().FullName() == blobRef {
		if ref, ok := m.Interface().(*loomv1.BlobRef); ok && ref.GetSha256() != "" {
			fn(ref)
		}
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			if f.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { refs(v.Message(), fn); return true })
			}
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				refs(v.List().Get(i).Message(), fn)
			}
		default:
			refs(v.Message(), fn)
		}
		return true
	})
}
