package natswire_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/loomrun/loom/internal/net/natswire"
)

// network runs a server and puts hosts on the wire, each with an actor system
// of its own, as processes on different machines would.
func network() (join func(host string, epoch uint64) (*natswire.Wire, *actor.ActorSystem), end func()) {
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true})
	if err != nil {
		panic(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		panic("the server is not ready")
	}
	var ends []func()
	join = func(host string, epoch uint64) (*natswire.Wire, *actor.ActorSystem) {
		nc, err := nats.Connect("", nats.InProcessServer(s))
		if err != nil {
			panic(err)
		}
		system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
			return slog.New(slog.DiscardHandler)
		}))
		wire, err := natswire.Start(system, nc, natswire.Config{Host: host, Epoch: epoch})
		if err != nil {
			panic(err)
		}
		ends = append(ends, func() { wire.Close(); system.Shutdown(); nc.Close() })
		return wire, system
	}
	return join, func() {
		for _, end := range ends {
			end()
		}
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// An actor on one host is asked from another, as if it were there.
func Example() {
	join, end := network()
	defer end()
	_, far := join("h2", 7)
	_, near := join("h1", 3)

	_, err := far.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
		if m, ok := c.Message().(*wrapperspb.StringValue); ok {
			c.Respond(wrapperspb.String(strings.ToUpper(m.Value)))
		}
	}), "shout")
	if err != nil {
		fmt.Println(err)
		return
	}

	shout := actor.NewPID(natswire.Address("h2", 7), "shout")
	answer, err := near.Root.RequestFuture(shout, wrapperspb.String("hello"), time.Minute).Result()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(shout.Address, "says", answer.(*wrapperspb.StringValue).Value)

	// An earlier start of the host is dead, and says so at once.
	_, err = near.Root.RequestFuture(actor.NewPID(natswire.Address("h2", 6), "shout"), wrapperspb.String("hello"), time.Minute).Result()
	fmt.Println("asking an earlier start:", errors.Is(err, actor.ErrDeadLetter))
	// Output:
	// nats://h2.7 says HELLO
	// asking an earlier start: true
}

// A watcher hears of the end of an actor whose host died.
func ExampleWire_HostDead() {
	join, end := network()
	defer end()
	wire, system := join("h1", 3)
	ended := make(chan *actor.Terminated, 1)
	worker := actor.NewPID(natswire.Address("h2", 7), "worker")
	system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Watch(worker)
		case *actor.Terminated:
			ended <- m
		}
	}))
	wire.HostDead("h2", 7) // as the table of hosts says
	m := <-ended
	fmt.Println(m.Who.Address, m.Who.Id, m.Why)
	// Output:
	// nats://h2.7 worker AddressTerminated
}

// A service is asked by its name, whichever host bears it.
func ExampleWire_Call() {
	join, end := network()
	defer end()
	h1, _ := join("h1", 3)
	h2, _ := join("h2", 7)
	serve := func(w *natswire.Wire, host string) (stop func()) {
		stop, err := w.ServeFunc("partition-01", func(_ context.Context, m proto.Message) proto.Message {
			return wrapperspb.String(host + " heard " + m.(*wrapperspb.StringValue).Value)
		})
		if err != nil {
			panic(err)
		}
		return stop
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ask := func(word string) {
		answer, err := h1.Call(ctx, "partition-01", wrapperspb.String(word))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(answer.(*wrapperspb.StringValue).Value)
	}
	stop := serve(h1, "h1")
	ask("one")
	stop()
	defer serve(h2, "h2")()
	ask("two")
	// Output:
	// h1 heard one
	// h2 heard two
}
