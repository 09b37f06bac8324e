package natswire_test

import (
	"context"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/loomrun/loom/internal/net/natswire"
)

// BenchmarkAsk sets a request from host to host beside what core NATS alone
// takes for the same message there and back, over TCP on one machine.
func BenchmarkAsk(b *testing.B) {
	s := serve(b)
	near, far := start(b, s, natswire.Config{Host: "a"}), start(b, s, natswire.Config{Host: "b"})
	question := wrapperspb.String("a question of some fifty bytes, as commands may have")
	b.Run("core", func(b *testing.B) {
		data, err := proto.Marshal(question)
		if err != nil {
			b.Fatal(err)
		}
		sub, err := far.nc.Subscribe("core", func(m *nats.Msg) { _ = m.Respond(m.Data) })
		if err != nil || far.nc.Flush() != nil {
			b.Fatal(err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		for b.Loop() {
			if _, err := near.nc.Request("core", data, patience); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("actor", func(b *testing.B) {
		pid := far.spawn(b, "echo", echo)
		for b.Loop() {
			if _, err := near.sys.Root.RequestFuture(pid, question, patience).Result(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("name", func(b *testing.B) {
		defer bear(b, far.Wire, "echo", func(_ context.Context, m proto.Message) proto.Message { return m })()
		for b.Loop() {
			if _, err := near.Call(b.Context(), "echo", question); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTell sets messages that nobody answers beside what core NATS takes
// to carry them.
func BenchmarkTell(b *testing.B) {
	s := serve(b)
	near, far := start(b, s, natswire.Config{Host: "a", Window: 1 << 16}), start(b, s, natswire.Config{Host: "b", Mailbox: 1 << 20})
	b.Run("core", func(b *testing.B) {
		all := make(chan struct{})
		var n int
		sub, err := far.nc.Subscribe("core", func(*nats.Msg) {
			if n++; n == b.N {
				close(all)
			}
		})
		if err != nil || sub.SetPendingLimits(-1, -1) != nil || far.nc.Flush() != nil {
			b.Fatal(err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		data, err := proto.Marshal(wrapperspb.Int64(1 << 40))
		if err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		for range b.N {
			if err := near.nc.Publish("core", data); err != nil {
				b.Fatal(err)
			}
		}
		<-all
	})
	b.Run("actor", func(b *testing.B) {
		// Eight thousand at a time, less than what may be on its way.
		b.ResetTimer()
		for done := 0; done < b.N; {
			n := min(8192, b.N-done)
			k := newSink(int64(n))
			pid := far.sys.Root.Spawn(actor.PropsFromFunc(k.receive))
			remote := at(pid.Address, pid.Id)
			for i := range n {
				near.sys.Root.Send(remote, wrapperspb.Int64(int64(i)+1))
			}
			k.wait(b)
			done += n
			_ = far.sys.Root.StopFuture(pid).Wait()
		}
	})
}
