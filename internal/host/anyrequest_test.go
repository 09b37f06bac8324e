package host

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/anymessage"
	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/broker"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Whatever a request of an operator says, a service answers it: in time, and with no
// error that is Loom's own.
func TestSUB03_AnyRequestHasAnAnswer(t *testing.T) {
	longtest.Skip(t)
	d := newDeployment(t, "shop")
	d.host.Load().Stop(t.Context())
	d.config.Listen = "127.0.0.1:0"
	d.start()
	d.submit(t.Context(), &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: "a goal"})
	const bead = "shop-1"
	operator, err := broker.Dial(d.config.Data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(operator.Close)
	m := anymessage.Maker{Rand: rand.New(rand.NewPCG(1, 2)), Known: map[string][]string{
		"project": {"shop"}, "bead": {bead}, "id": {bead, bead + "-x1"}, "execution": {bead + "-x1"}, "process": {"auto-bug-workflow"},
		"node": {"triage"}, "role": {"lead"}, "pattern": {"clarity-pass"}, "goal": {"a goal"}, "text": {"a text"},
	}}
	for _, e := range endpoint.All() {
		codes := map[string]int{}
		for range 60 {
			request := e.Request.ProtoReflect().New().Interface()
			m.Fill(request)
			data, err := proto.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := operator.RequestMsg(&nats.Msg{Subject: subject.Service(subject.Must(e.Name)), Data: data}, 20*time.Second)
			if err != nil {
				t.Fatalf("%s: %v to %v", e.Name, err, request)
			}
			reply := e.Reply.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(answer.Data, reply); err != nil {
				t.Fatalf("%s: %v to %v", e.Name, err, request)
			}
			code := reply.(interface{ GetError() *loomv1.Error }).GetError().GetCode()
			codes[code]++
			if code == "internal/error" || code == "host/silent" {
				t.Errorf("%s: %v to %v", e.Name, reply, request)
			}
		}
		t.Log(e.Name, fmt.Sprint(codes))
	}
}
