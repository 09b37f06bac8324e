package lease

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// patience bounds every wait of a test; nothing is expected to take so long.
const patience = 2 * time.Minute

// eventually waits until is returns true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !is(); <-tick.C {
		if time.Since(began) > patience {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// serve runs a server, alone or of a cluster with the routes given.
func serve(t testing.TB, name string, routes ...*server.Server) *server.Server {
	t.Helper()
	o := &server.Options{
		ServerName: name, Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
	}
	if name != "alone" {
		o.Cluster = server.ClusterOpts{Name: "leases", Host: "127.0.0.1", Port: -1}
		for _, r := range routes {
			o.Routes = append(o.Routes, server.RoutesFromStr(fmt.Sprintf("nats://%s", r.ClusterAddr()))...)
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	eventually(t, "the server listens", func() bool { return s.ReadyForConnections(10 * time.Millisecond) })
	return s
}

// cluster runs three servers that have found each other.
func cluster(t testing.TB) []*server.Server {
	t.Helper()
	a := serve(t, "a")
	b := serve(t, "b", a)
	c := serve(t, "c", a, b)
	all := []*server.Server{a, b, c}
	eventually(t, "three peers and a leader", func() bool {
		for _, s := range all {
			if s.JetStreamIsLeader() {
				return len(s.JetStreamClusterPeers()) == 3
			}
		}
		return false
	})
	return all
}

// connect returns a connection that goes on trying.
func connect(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// wire is a way to a server that can be cut without anybody being told.
type wire struct {
	to string
	l  net.Listener

	mu   sync.Mutex
	open *sync.Cond
	cut  bool
	over bool
	ends []net.Conn
}

func newWire(t testing.TB, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{to: to, l: l}
	w.open = sync.NewCond(&w.mu)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { w.carry(&running, c) })
		}
	})
	t.Cleanup(func() { w.close(); running.Wait() })
	return w
}

func (w *wire) url() string { return "nats://" + w.l.Addr().String() }

func (w *wire) carry(running *sync.WaitGroup, c net.Conn) {
	up, err := net.Dial("tcp", w.to)
	if err != nil {
		c.Close()
		return
	}
	w.mu.Lock()
	w.ends = append(w.ends, c, up)
	over := w.over
	w.mu.Unlock()
	if over {
		c.Close()
		up.Close()
	}
	running.Go(func() { w.pipe(c, up) })
	w.pipe(up, c)
}

// pipe carries bytes, and holds them back while the wire is cut.
func (w *wire) pipe(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		w.mu.Lock()
		for w.cut && !w.over {
			w.open.Wait()
		}
		w.mu.Unlock()
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// set cuts or mends the wire. What was on its way while it was cut arrives
// late.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	w.open.Broadcast()
}

// drop breaks all connections.
func (w *wire) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.ends {
		c.Close()
	}
	w.ends = nil
}

func (w *wire) close() {
	w.l.Close()
	w.mu.Lock()
	w.over = true
	w.open.Broadcast()
	w.mu.Unlock()
	w.drop()
}
