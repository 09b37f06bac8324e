package actors

import (
	"mime"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// MaxSubmission is the most bytes a submission or an error report may have.
const MaxSubmission = 256 << 10

// maxDepth is how deep messages may be nested in a publisher's message.
const maxDepth = 100

// Decode reads a message from a publisher: protobuf, or its canonical JSON when
// the content type says so. Fields that this release does not know are refused,
// because the publisher means something by them.
func Decode(contentType string, data []byte, into proto.Message) error {
	if len(data) > MaxSubmission {
		return fault.New("submit/too-large", "message has %d bytes, the most is %d", len(data), MaxSubmission).At("body")
	}
	if IsJSON(contentType) {
		return decodeJSON(data, into)
	}
	if err := (proto.UnmarshalOptions{RecursionLimit: maxDepth}).Unmarshal(data, into); err != nil {
		return fault.New("submit/malformed", "body is not the message %s in protobuf", name(into)).At("body").Got(string(data)).
			Want("send canonical JSON with the header \"Content-Type: application/json\", or protobuf")
	}
	if unknown(into.ProtoReflect()) {
		return fault.New("submit/unknown-field", "body has fields that %s does not have", name(into)).At("body")
	}
	return nil
}

// unknown reports whether a message, or one within it, has unknown fields.
func unknown(m protoreflect.Message) bool {
	if len(m.GetUnknown()) > 0 {
		return true
	}
	found := false
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				found = found || unknown(v.Message())
				return !found
			})
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				found = found || unknown(v.List().Get(i).Message())
			}
		case f.Message() != nil && !f.IsMap():
			found = unknown(v.Message())
		}
		return !found
	})
	return found
}

// IsJSON reports whether a content type means JSON.
func IsJSON(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && t == "application/json"
}

func name(m proto.Message) string { return string(m.ProtoReflect().Descriptor().Name()) }

// fromSubject fills in what the subject says and refuses a contradiction.
func fromSubject(subj, what string, field *string) error {
	area := map[string]string{"project": "task", "service": "error"}[what]
	rest := subject.After(subject.Must(area), subj)
	if len(rest) != 1 {
		return nil // a request to a service: the field alone counts
	}
	if *field == "" {
		*field = rest[0]
	}
	if *field != rest[0] {
		return fault.New("submit/invalid-field", "the subject says %s %q, the body something else", what, rest[0]).At(what).Got(*field)
	}
	_, err := subject.Parse(what, *field)
	return err
}

func isReport(subj string) bool {
	return subject.After(subject.Must("error"), subj) != nil || subj == subject.Service(subject.Must("report"))
}

func refused(err error) *loomv1.SubmitReply {
	return &loomv1.SubmitReply{Error: fault.From(err).Proto()}
}
