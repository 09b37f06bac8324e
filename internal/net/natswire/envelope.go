package natswire

import (
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// mostHeaders is how many bytes headers may have.
const mostHeaders = 8 << 10

// room is what an envelope may add to its message, headers apart.
const room = 2 << 10

// seal puts a message into an envelope. It returns wire/too-large, naming the
// type, for one that the server would not carry, and wire/unknown-type for
// what only one host understands.
func (w *Wire) seal(e *loomv1.Envelope, m proto.Message) (*loomv1.Envelope, error) {
	if m == nil || !m.ProtoReflect().IsValid() {
		return nil, fault.New("wire/unknown-type", "there is no message to send")
	}
	name := m.ProtoReflect().Descriptor().FullName()
	if private(name) {
		return nil, fault.New("wire/unknown-type", "%s is not for other hosts", name)
	}
	body, err := proto.Marshal(m)
	if err != nil {
		return nil, fault.New("wire/malformed", "%s cannot be encoded", name).Because(err)
	}
	if most := w.nc.MaxPayload() - mostHeaders - room; int64(len(body)) > most {
		return nil, fault.New("wire/too-large", "%s has %d bytes, at most %d", name, len(body), most)
	}
	e.Type, e.Body = string(name), body
	for k, v := range e.Headers {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return nil, fault.New("wire/malformed", "a header of %s is not text", name).Got(k)
		}
	}
	if size := sizeOf(e.Headers); size > mostHeaders {
		return nil, fault.New("wire/too-large", "the headers of %s have %d bytes, at most %d", name, size, mostHeaders)
	}
	return e, nil
}

func sizeOf(headers map[string]string) (size int) {
	for k, v := range headers {
		size += len(k) + len(v) + 8
	}
	return size
}

// private says whether a type steers an actor system from within: others may
// not stop a host's actors.
func private(name protoreflect.FullName) bool { return name.Parent() == "actor" }

// open takes the message out of an envelope.
func open(e *loomv1.Envelope) (proto.Message, error) {
	name := protoreflect.FullName(e.Type)
	if !name.IsValid() || private(name) {
		return nil, fault.New("wire/unknown-type", "messages of this type are not taken").Got(e.Type)
	}
	t, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		return nil, fault.New("wire/unknown-type", "messages of this type are not known").Got(e.Type).
			Want("the hosts of a deployment must be of releases that work together")
	}
	m := t.New().Interface()
	if err := proto.Unmarshal(e.Body, m); err != nil {
		return nil, fault.New("wire/malformed", "%s cannot be decoded", name)
	}
	return m, nil
}

// parse reads an envelope.
func parse(data []byte) (*loomv1.Envelope, error) {
	var e loomv1.Envelope
	if err := proto.Unmarshal(data, &e); err != nil || e.Kind == loomv1.EnvelopeKind_ENVELOPE_KIND_UNSPECIFIED {
		return nil, fault.New("wire/malformed", "what came is not an envelope")
	}
	return &e, nil
}

// encode never fails: what is not valid UTF-8 never gets into an envelope.
func encode(e *loomv1.Envelope) []byte {
	data, err := proto.Marshal(e)
	if err != nil {
		data, _ = proto.Marshal(refusal(fault.New("wire/malformed", "%s is not text that can be sent", e.Kind)))
	}
	return data
}

func refusal(err error) *loomv1.Envelope {
	return &loomv1.Envelope{Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_REFUSED, Error: fault.From(err).Proto()}
}

func uitoa(n uint64) string { return strconv.FormatUint(n, 10) }

// atou reads what uitoa writes, and nothing else.
func atou(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && uitoa(n) == s
}
