package natswire_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/net/natswire"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// FuzzWhatComesIn sends anything to a host's subject and to a name: each is
// answered, nobody stops, and nobody's message comes to another.
func FuzzWhatComesIn(f *testing.F) {
	body, err := proto.Marshal(text("hello"))
	if err != nil {
		f.Fatal(err)
	}
	refs := []*loomv1.ActorRef{nil, {Id: "echo"}, {Address: "nats://b.1", Id: "echo"}, {Address: "nats://..", Id: "\x00"}}
	for kind := range int32(12) {
		for _, r := range refs {
			data, err := proto.Marshal(&loomv1.Envelope{
				Kind: loomv1.EnvelopeKind(kind), Type: "google.protobuf.StringValue", Body: body, Target: &loomv1.ActorRef{Id: "echo"}, Sender: r,
			})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(nil))
	f.Add([]byte("\xff\xff"))
	s := serve(f)
	h := start(f, s, natswire.Config{Host: "b"})
	h.spawn(f, "echo", echo)
	stop, err := h.ServeFunc("n", says("yes"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(stop)
	nc := connect(f, s)
	inbox, err := nc.SubscribeSync("answers")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, subj := range []string{subject.Actor(subject.Must("b"), 1), subject.Name(subject.Must("n"))} {
			if len(data) > 60<<10 || nc.PublishRequest(subj, "answers", data) != nil {
				return
			}
		}
		// It still answers those who ask rightly.
		asked, err := proto.Marshal(&loomv1.Envelope{
			Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_MESSAGE, Type: "google.protobuf.StringValue", Body: body,
			Target: &loomv1.ActorRef{Id: "echo"}, Serial: 4711,
		})
		if err != nil || nc.PublishRequest(subject.Actor(subject.Must("b"), 1), "answers", asked) != nil {
			t.Fatal(err)
		}
		for {
			m, err := inbox.NextMsg(patience)
			if err != nil {
				t.Fatal(err)
			}
			var e loomv1.Envelope
			if err := proto.Unmarshal(m.Data, &e); err != nil {
				t.Fatalf("answered with %q", m.Data)
			}
			if e.Serial == 4711 && e.Kind == loomv1.EnvelopeKind_ENVELOPE_KIND_ARRIVED {
				return
			}
		}
	})
}
