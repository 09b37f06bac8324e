package journal

import (
	"bytes"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Told returns err, or journal/newer in its place when err is journal/chain and
// data, which the log holds at seq, is whole as it was written: its hash is that
// of its bytes, and it has fields that this build does not know. Those come
// after the others when they are encoded again, which looks like an alteration.
func Told(seq uint64, data []byte, err error) error {
	if fault.Code(err) != "journal/chain" {
		return err
	}
	b := new(loomv1.Batch)
	if proto.Unmarshal(data, b) != nil || !unknown(b.ProtoReflect()) || bytes.Equal(b.Hash, hash(b)) {
		return err
	}
	if _, altered := seen(seq, data); altered != nil {
		return err
	}
	return fault.New("journal/newer", "journal sequence %d: a newer build of Loom wrote batch %d", seq, seq).Want(wantNewer)
}

// Newer returns journal/newer if e is of a kind that this build does not know,
// else nil. It costs nothing for events that are known.
func Newer(e *loomv1.Event) error {
	if e.GetFact() != nil || len(e.ProtoReflect().GetUnknown()) == 0 {
		return nil
	}
	return fault.New("journal/newer", "project %q: event %d is of a kind that only a newer build of Loom knows", e.Project, e.Number).Want(wantNewer)
}

const wantNewer = "nothing is damaged; start the build that the other hosts have, or that ran here before"

// unknown says whether a message, or one within it, has fields that this build
// does not know.
func unknown(m protoreflect.Message) bool {
	found := len(m.GetUnknown()) > 0
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				found = found || unknown(v.Message())
				return !found
			})
		case f.IsList() && f.Message() != nil:
			for i := 0; i < v.List().Len() && !found; i++ {
				found = unknown(v.List().Get(i).Message())
			}
		case !f.IsMap() && !f.IsList() && f.Message() != nil:
			found = found || unknown(v.Message())
		}
		return !found
	})
	return found
}
