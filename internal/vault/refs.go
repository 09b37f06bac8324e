package vault

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/streamfile"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// blobRefs calls fn for every blob that m names, however deep.
func blobRefs(m proto.Message, fn func(*loomv1.BlobRef)) { refs(m.ProtoReflect(), fn) }

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

// records passes the messages of a stream that are still there to visit, if it
// is not nil, and returns the first damage.
func (s *Store) records(name string, visit func(streamfile.Record) error) error {
	stream, err := s.stream(name)
	if err != nil {
		return err
	}
	found, err := stream.Scan(func(streamfile.Record) error { return nil })
	if err != nil || visit == nil {
		return firstOf(err, found.Err(), stream.Consumers())
	}
	_, err = stream.Scan(func(r streamfile.Record) error {
		if found.Deleted[r.Sequence] {
			return nil
		}
		return visit(r)
	})
	return firstOf(err, found.Err())
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
