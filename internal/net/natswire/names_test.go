package natswire_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/natswire"
)

func TestMain(m *testing.M) {
	// Of its own it waits a second before it tells of dead letters again.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}

// patience bounds every wait of a test; nothing is expected to take so long.
const patience = 2 * time.Minute

// serve runs a server that carries at most 64 KiB a message.
func serve(t testing.TB) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, MaxPayload: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server is not ready")
	}
	return s
}

func connect(t testing.TB, s *server.Server) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// soon is a context that ends long before a test may be given up.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// nameless puts a host on the wire that has no actors.
func nameless(t testing.TB, s *server.Server, c natswire.Config) *natswire.Wire {
	t.Helper()
	if c.Epoch == 0 {
		c.Epoch = 1
	}
	w, err := natswire.Start(nil, connect(t, s), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func text(s string) *wrapperspb.StringValue { return wrapperspb.String(s) }

// says answers every request with one word.
func says(word string) func(context.Context, proto.Message) proto.Message {
	return func(context.Context, proto.Message) proto.Message { return text(word) }
}

func bear(t testing.TB, w *natswire.Wire, name string, f func(context.Context, proto.Message) proto.Message) (stop func()) {
	t.Helper()
	stop, err := w.ServeFunc(name, f)
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

func ask(t testing.TB, w *natswire.Wire, name, question string) string {
	t.Helper()
	m, err := w.Call(soon(t), name, text(question))
	if err != nil {
		t.Fatal(err)
	}
	return m.(*wrapperspb.StringValue).Value
}

func TestACT02_ANameIsAskedFromEveryHost(t *testing.T) {
	s := serve(t)
	a, b := nameless(t, s, natswire.Config{Host: "a"}), nameless(t, s, natswire.Config{Host: "b"})
	defer bear(t, a, "greeter", func(ctx context.Context, m proto.Message) proto.Message {
		return text("hello " + m.(*wrapperspb.StringValue).Value + " " + natswire.Headers(ctx)["traceparent"])
	})()
	ctx := natswire.WithHeaders(soon(t), map[string]string{"traceparent": "00-1-2-01"})
	for _, w := range []*natswire.Wire{a, b} {
		m, err := w.Call(ctx, "greeter", text("you"))
		if err != nil || m.(*wrapperspb.StringValue).Value != "hello you 00-1-2-01" {
			t.Errorf("Call: %v, %v", m, err)
		}
	}
}

// A call begins before anybody bears the name, and outlives two take-overs.
func TestACT02_CallsOutliveTakeOvers(t *testing.T) {
	s := serve(t)
	a, b := nameless(t, s, natswire.Config{Host: "a"}), nameless(t, s, natswire.Config{Host: "b"})
	caller := nameless(t, s, natswire.Config{Host: "c"})
	got := make(chan string, 1)
	go func() {
		m, err := caller.Call(soon(t), "partition-01", text("who?"))
		if err != nil {
			got <- err.Error()
			return
		}
		got <- m.(*wrapperspb.StringValue).Value
	}()
	begun := make(chan struct{})
	var once sync.Once
	stop := bear(t, a, "partition-01", func(ctx context.Context, _ proto.Message) proto.Message {
		once.Do(func() { close(begun) })
		<-ctx.Done()
		return nil // it does not know the answer in time
	})
	<-begun
	defer bear(t, b, "partition-01", says("b"))()
	stop()
	if answer := <-got; answer != "b" {
		t.Errorf("answered %q", answer)
	}
}

func TestACT02_WhoDiesOverARequestIsFollowed(t *testing.T) {
	s := serve(t)
	caller := nameless(t, s, natswire.Config{Host: "c", Silence: 300 * time.Millisecond})
	nc := connect(t, s)
	dead, err := natswire.Start(nil, nc, natswire.Config{Host: "a", Epoch: 1, Silence: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	begun, release := make(chan struct{}, 10), make(chan struct{})
	bear(t, dead, "n", func(context.Context, proto.Message) proto.Message {
		begun <- struct{}{}
		<-release
		return text("too late")
	})
	defer close(release)
	next := nameless(t, s, natswire.Config{Host: "b"})
	go func() {
		<-begun
		nc.Close() // as a process that dies: it says nothing
		stop, err := next.ServeFunc("n", says("b"))
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(stop)
	}()
	if got := ask(t, caller, "n", "?"); got != "b" {
		t.Errorf("answered %q", got)
	}
}

// What takes long is not asked twice, as long as its host lives.
func TestLongRequestsAreAskedOnce(t *testing.T) {
	longtest.Skip(t)
	s := serve(t)
	a := nameless(t, s, natswire.Config{Host: "a", Silence: time.Second})
	var times atomic.Int32
	defer bear(t, a, "slow", func(context.Context, proto.Message) proto.Message {
		times.Add(1)
		<-time.After(2500 * time.Millisecond)
		return text("done")
	})()
	if got := ask(t, a, "slow", "?"); got != "done" {
		t.Errorf("answered %q", got)
	}
	if n := times.Load(); n != 1 {
		t.Logf("asked %d times: this machine was silent for a second", n)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	longtest.Skip(t)
	s := serve(t)
	a, b := nameless(t, s, natswire.Config{Host: "a", Requests: 2}), nameless(t, s, natswire.Config{Host: "b"})
	var now, most atomic.Int32
	defer bear(t, a, "n", func(context.Context, proto.Message) proto.Message {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		<-time.After(time.Millisecond)
		return text("ok")
	})()
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			if _, err := b.Call(soon(t), "n", text("?")); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if most.Load() > 2 {
		t.Errorf("%d requests at once, at most 2", most.Load())
	}
}

func TestCallsAreRefusedByName(t *testing.T) {
	s := serve(t)
	a := nameless(t, s, natswire.Config{Host: "a"})
	defer bear(t, a, "n", func(_ context.Context, m proto.Message) proto.Message {
		switch m.(*wrapperspb.StringValue).Value {
		case "nothing":
			return nil
		case "much":
			return text(strings.Repeat("x", 64<<10))
		default:
			panic("a secret of the host")
		}
	})()
	for _, tt := range []struct {
		name string
		m    proto.Message
		code string
		says string
	}{
		{"n", text("much"), "wire/too-large", "google.protobuf.StringValue has 65540 bytes"},
		{"n", text("nothing"), "wire/unknown-type", "no message"},
		{"n", text("panic"), "internal/error", "google.protobuf.StringValue has failed"},
		{"n", text(strings.Repeat("x", 64<<10)), "wire/too-large", "65540 bytes"},
		{"n", nil, "wire/unknown-type", "no message"},
		{"n", (*wrapperspb.StringValue)(nil), "wire/unknown-type", "no message"},
		{"n.m", text(""), "id/malformed", ""},
		{"*", text(""), "id/malformed", ""},
		{"", text(""), "id/malformed", ""},
	} {
		_, err := a.Call(soon(t), tt.name, tt.m)
		if fault.Code(err) != tt.code || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Call(%q, %.20v): %v, want %s saying %q", tt.name, tt.m, err, tt.code, tt.says)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := a.Call(ctx, "nobody", text("?"))
	if fault.Code(err) != "wire/unanswered" || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "nobody bears the name") {
		t.Errorf("Call of a name that nobody bears: %v", err)
	}
}
