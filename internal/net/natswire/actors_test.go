package natswire_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/natswire"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// host is a process of its own in all but name.
type host struct {
	*natswire.Wire
	sys *actor.ActorSystem
	nc  *nats.Conn
}

func start(t testing.TB, s *server.Server, c natswire.Config) *host {
	t.Helper()
	return join(t, connect(t, s), c)
}

func join(t testing.TB, nc *nats.Conn, c natswire.Config) *host {
	t.Helper()
	if c.Epoch == 0 {
		c.Epoch = 1
	}
	if c.Refresh == 0 {
		c.Refresh = 50 * time.Millisecond
	}
	quiet := func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }
	h := &host{sys: actor.NewActorSystem(actor.WithLoggerFactory(quiet)), nc: nc}
	var err error
	if h.Wire, err = natswire.Start(h.sys, h.nc, c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(); h.sys.Shutdown() })
	return h
}

// spawn starts an actor that stops with the test, and returns its PID as it
// comes to other hosts: one that has been used caches who is behind it.
func (h *host) spawn(t testing.TB, name string, receive actor.ReceiveFunc) *actor.PID {
	t.Helper()
	pid, err := h.sys.Root.SpawnNamed(actor.PropsFromFunc(receive), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.sys.Root.StopFuture(pid).Wait() })
	return at(pid.Address, pid.Id)
}

// stop stops an actor of the host.
func (h *host) stop(pid *actor.PID) { _ = h.sys.Root.StopFuture(at(pid.Address, pid.Id)).Wait() }

// echo answers with what it is asked, and where from.
func echo(c actor.Context) {
	if m, ok := c.Message().(*wrapperspb.StringValue); ok {
		c.Respond(text(m.Value + " " + c.MessageHeader().Get("traceparent")))
	}
}

// at is an actor of a host, as others know it.
func at(address, id string) *actor.PID { return actor.NewPID(address, id) }

func TestACT02_RequestsFromHostToHost(t *testing.T) {
	s := serve(t)
	a, b := start(t, s, natswire.Config{Host: "a"}), start(t, s, natswire.Config{Host: "b", Epoch: 7})
	pid := b.spawn(t, "echo", echo)
	if pid.Address != "nats://b.7" {
		t.Errorf("its address is %s", pid.Address)
	}
	asker := actor.NewFuture(a.sys, patience)
	a.sys.Root.Send(at("nats://b.7", "echo"), &actor.MessageEnvelope{
		Header: map[string]string{"traceparent": "00-1-2-01"}, Message: text("hello"), Sender: asker.PID(),
	})
	got, err := asker.Result()
	if err != nil || got.(*wrapperspb.StringValue).Value != "hello 00-1-2-01" {
		t.Errorf("Request: %v, %v", got, err)
	}
}

// sink counts what comes and says how often it came out of order.
type sink struct {
	got, wrong atomic.Int64
	all        chan struct{}
	want       int64
}

func newSink(want int64) *sink { return &sink{want: want, all: make(chan struct{})} }

func (k *sink) receive(c actor.Context) {
	m, ok := c.Message().(*wrapperspb.Int64Value)
	if !ok {
		return
	}
	n := k.got.Add(1)
	if m.Value != n {
		k.wrong.Add(1)
	}
	if n == k.want {
		close(k.all)
	}
}

func (k *sink) wait(t testing.TB) {
	t.Helper()
	select {
	case <-k.all:
	case <-time.After(patience):
		t.Fatalf("%d of %d messages came", k.got.Load(), k.want)
	}
}

func TestACT02_MessagesKeepTheirOrder(t *testing.T) {
	s := serve(t)
	a, b := start(t, s, natswire.Config{Host: "a"}), start(t, s, natswire.Config{Host: "b"})
	k := newSink(900)
	b.spawn(t, "sink", k.receive)
	for i := range int64(900) {
		a.sys.Root.Send(at("nats://b.1", "sink"), wrapperspb.Int64(i+1))
	}
	k.wait(t)
	if n := k.wrong.Load(); n != 0 {
		t.Errorf("%d messages out of order", n)
	}
}

// Whoever asks hears at once that nobody is there.
func TestACT02_DeadStaysDead(t *testing.T) {
	s := serve(t)
	a, b := start(t, s, natswire.Config{Host: "a"}), start(t, s, natswire.Config{Host: "b", Epoch: 2})
	b.spawn(t, "echo", echo)
	for _, tt := range []struct {
		what string
		pid  *actor.PID
	}{
		{"an actor that is not there", at("nats://b.2", "nobody")},
		{"an earlier start of the host", at("nats://b.1", "echo")},
		{"a host that is not there", at("nats://c.1", "echo")},
		{"an address that is none", at("nats://b.02", "echo")},
		{"another sort of address", at("127.0.0.1:80", "echo")},
	} {
		_, err := a.sys.Root.RequestFuture(tt.pid, text("hello"), patience).Result()
		if !errors.Is(err, actor.ErrDeadLetter) {
			t.Errorf("%s: %v, want a dead letter", tt.what, err)
		}
	}
	a.HostDead("b", 2)
	if _, err := a.sys.Root.RequestFuture(at("nats://b.2", "echo"), text("hello"), patience).Result(); !errors.Is(err, actor.ErrDeadLetter) {
		t.Errorf("a host that is known to be dead: %v", err)
	}
}

// What cannot be taken is answered with the reason.
func TestRefusalsAreAnswered(t *testing.T) {
	s := serve(t)
	a, b := start(t, s, natswire.Config{Host: "a"}), start(t, s, natswire.Config{Host: "b", Mailbox: 1})
	b.spawn(t, "echo", echo)
	for _, tt := range []struct {
		what    string
		message any
		code    string
	}{
		{"what is not protobuf", "hello", "wire/unknown-type"},
		{"what steers the system", &actor.PoisonPill{}, "wire/unknown-type"},
		{"what is too large", text(strings.Repeat("x", 60<<10)), "wire/too-large"},
	} {
		got, err := a.sys.Root.RequestFuture(at("nats://b.1", "echo"), tt.message, patience).Result()
		if e, ok := got.(*loomv1.Error); !ok || e.Code != tt.code {
			t.Errorf("%s: %v, %v, want %s", tt.what, got, err, tt.code)
		}
	}
	release, busy := make(chan struct{}), make(chan struct{}, 100)
	b.spawn(t, "slow", func(c actor.Context) {
		if _, ok := c.Message().(*wrapperspb.StringValue); ok {
			busy <- struct{}{}
			<-release
			c.Respond(text("at last"))
		}
	})
	slow := at("nats://b.1", "slow")
	first := a.sys.Root.RequestFuture(slow, text("1"), patience)
	<-busy
	second := a.sys.Root.RequestFuture(slow, text("2"), patience)
	got, err := a.sys.Root.RequestFuture(slow, text("3"), patience).Result()
	if e, ok := got.(*loomv1.Error); !ok || e.Code != "wire/busy" {
		t.Errorf("a full mailbox: %v, %v", got, err)
	}
	close(release)
	for _, f := range []*actor.Future{first, second} {
		if got, err := f.Result(); err != nil || got.(*wrapperspb.StringValue).Value != "at last" {
			t.Errorf("what was taken: %v, %v", got, err)
		}
	}
}

// A receiver that does not read lets no more come than the window.
func TestTheWindowBoundsWhatIsOnItsWay(t *testing.T) {
	s := serve(t)
	a := start(t, s, natswire.Config{Host: "a", Window: 8})
	deaf := connect(t, s)
	if _, err := deaf.SubscribeSync("loom.v1.actor.b.1"); err != nil || deaf.Flush() != nil {
		t.Fatal(err)
	}
	letters := make(chan *actor.DeadLetterEvent, 100)
	sub := a.sys.EventStream.Subscribe(func(e any) {
		if l, ok := e.(*actor.DeadLetterEvent); ok {
			letters <- l
		}
	})
	defer a.sys.EventStream.Unsubscribe(sub)
	for i := range int64(20) {
		a.sys.Root.Send(at("nats://b.1", "sink"), wrapperspb.Int64(i))
	}
	for i := range int64(12) {
		if l := <-letters; l.Message.(*wrapperspb.Int64Value).Value != 8+i {
			t.Errorf("not taken: %v, want %d", l.Message, 8+i)
		}
	}
}

// watcher watches one actor and reports its end.
func watcher(who *actor.PID, ends chan<- *actor.Terminated) actor.ReceiveFunc {
	return func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Watch(who)
		case *actor.Terminated:
			ends <- m
		case *wrapperspb.StringValue:
			if m.Value == "unwatch" {
				c.Unwatch(who)
			}
			c.Respond(text("yes"))
		}
	}
}

func end(t *testing.T, ends <-chan *actor.Terminated, who *actor.PID, why actor.TerminatedReason) {
	t.Helper()
	select {
	case m := <-ends:
		if m.Who.Id != who.Id || m.Who.Address != who.Address || m.Why != why {
			t.Errorf("ended: %v, want %v for %v", m, who, why)
		}
	case <-time.After(patience):
		t.Fatalf("the end of %v was not told", who)
	}
}

func TestACT02_WatchersHearOfEveryEnd(t *testing.T) {
	s := serve(t)
	a, b := start(t, s, natswire.Config{Host: "a"}), start(t, s, natswire.Config{Host: "b", Epoch: 3})
	ends := make(chan *actor.Terminated, 10)
	watch := func(who *actor.PID) *actor.PID { return a.spawn(t, "watch-"+who.Id, watcher(who, ends)) }

	t.Run("it stops", func(t *testing.T) {
		pid := b.spawn(t, "short", echo)
		w := watch(pid)
		if _, err := a.sys.Root.RequestFuture(w, text("are you watching?"), patience).Result(); err != nil {
			t.Fatal(err)
		}
		// Once it answers somebody who asked later, it knows its watcher.
		if _, err := a.sys.Root.RequestFuture(pid, text(""), patience).Result(); err != nil {
			t.Fatal(err)
		}
		b.stop(pid)
		end(t, ends, pid, actor.TerminatedReason_Stopped)
	})
	t.Run("it was never there", func(t *testing.T) {
		pid := at("nats://b.3", "nobody")
		watch(pid)
		end(t, ends, pid, actor.TerminatedReason_NotFound)
	})
	t.Run("its host dies", func(t *testing.T) {
		pid := b.spawn(t, "long", echo)
		watch(pid)
		a.HostDead("b", 2) // an earlier start
		a.HostAlive("b", 3)
		b.nc.Close() // as a process that dies: it says nothing
		a.HostAlive("b", 4)
		end(t, ends, pid, actor.TerminatedReason_AddressTerminated)
		a.HostDead("b", 3)
	})
	t.Run("its host was dead before", func(t *testing.T) {
		pid := at("nats://b.2", "older")
		watch(pid)
		end(t, ends, pid, actor.TerminatedReason_AddressTerminated)
	})
	if len(ends) != 0 {
		t.Errorf("told twice: %v", <-ends)
	}
}

// The word of an end gets lost; the next refresh asks again.
func TestALostEndIsToldLater(t *testing.T) {
	s := serve(t)
	a := start(t, s, natswire.Config{Host: "a"})
	ends := make(chan *actor.Terminated, 10)
	pid := at("nats://b.1", "gone")
	a.spawn(t, "watcher", watcher(pid, ends)) // nobody hears that it watches
	start(t, s, natswire.Config{Host: "b"})
	end(t, ends, pid, actor.TerminatedReason_NotFound)
}

// gate is a network card that can be pulled out.
type gate struct {
	mu    sync.Mutex
	shut  bool
	conns []net.Conn
}

func (g *gate) Dial(network, address string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return nil, errors.New("there is no network")
	}
	c, err := net.Dial(network, address)
	if err == nil {
		g.conns = append(g.conns, c)
	}
	return c, err
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut = shut; shut {
		for _, c := range g.conns {
			c.Close()
		}
	}
}

// An actor stops while its host has no network: the word of that is lost, and
// comes when the network is back. So do requests that were not taken.
func TestACT02_NothingIsForgottenOverABrokenConnection(t *testing.T) {
	longtest.Skip(t)
	s := serve(t)
	g := &gate{}
	nc, err := nats.Connect(s.ClientURL(), nats.SetCustomDialer(g), nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	a, b := start(t, s, natswire.Config{Host: "a"}), join(t, nc, natswire.Config{Host: "b"})
	defer bear(t, b.Wire, "n", says("yes"))()
	pid, ends := b.spawn(t, "echo", echo), make(chan *actor.Terminated, 10)
	watching := a.spawn(t, "watcher", watcher(pid, ends))
	for _, who := range []*actor.PID{watching, pid} { // now it is watched
		if _, err := a.sys.Root.RequestFuture(who, text("?"), patience).Result(); err != nil {
			t.Fatal(err)
		}
	}
	gone := nc.StatusChanged(nats.RECONNECTING)
	g.set(true)
	<-gone
	b.stop(pid)
	answer := make(chan string, 1)
	go func() {
		m, err := a.Call(soon(t), "n", text("?"))
		answer <- fmt.Sprint(m, err)
	}()
	g.set(false)
	end(t, ends, pid, actor.TerminatedReason_NotFound)
	if got := <-answer; !strings.Contains(got, "yes") {
		t.Errorf("Call: %s", got)
	}
}

func TestUnwatchedIsNotTold(t *testing.T) {
	s := serve(t)
	a, b := start(t, s, natswire.Config{Host: "a"}), start(t, s, natswire.Config{Host: "b"})
	ends := make(chan *actor.Terminated, 10)
	pid := b.spawn(t, "echo", echo)
	w := a.spawn(t, "watcher", watcher(pid, ends))
	if _, err := a.sys.Root.RequestFuture(w, text("unwatch"), patience).Result(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.sys.Root.RequestFuture(pid, text("after that"), patience).Result(); err != nil {
		t.Fatal(err)
	}
	b.stop(pid)
	a.HostDead("b", 1)
	if len(ends) != 0 {
		t.Errorf("told: %v", <-ends)
	}
}

func TestACT02_AnActorBearsAName(t *testing.T) {
	s := serve(t)
	a, b := start(t, s, natswire.Config{Host: "a"}), start(t, s, natswire.Config{Host: "b", Silence: 200 * time.Millisecond})
	var asked atomic.Int32
	pid := a.spawn(t, "lock", func(c actor.Context) {
		if m, ok := c.Message().(*wrapperspb.StringValue); ok && asked.Add(1) > 1 { // the first is lost
			c.Respond(text("granted to " + m.Value))
		}
	})
	stop, err := a.Serve("commit-lock", pid)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if got := ask(t, b.Wire, "commit-lock", "em-1"); got != "granted to em-1" {
		t.Errorf("answered %q", got)
	}
}

func TestStartRefuses(t *testing.T) {
	nc := connect(t, serve(t))
	for _, c := range []natswire.Config{
		{}, {Host: "a"}, {Host: "A", Epoch: 1}, {Host: "a.b", Epoch: 1}, {Host: "a", Epoch: 1, Window: -1}, {Host: "a", Epoch: 1, Silence: 1},
	} {
		if w, err := natswire.Start(nil, nc, c); err == nil {
			w.Close()
			t.Errorf("Start(%+v) is not refused", c)
		}
	}
	nc.Close()
	if _, err := natswire.Start(nil, nc, natswire.Config{Host: "a", Epoch: 1}); err == nil {
		t.Error("Start over a closed connection is not refused")
	}
}
