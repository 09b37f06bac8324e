package lease

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/test/wire"
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

// serve runs a server, alone or in a cluster whose other servers are reached
// over routes.
func serve(t testing.TB, name, dir string, routes ...*wire.Wire) *server.Server {
	t.Helper()
	o := &server.Options{
		ServerName: name, Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir,
	}
	if len(routes) > 0 {
		o.Cluster = server.ClusterOpts{
			Name: "leases", Host: "127.0.0.1", Port: -1, NoAdvertise: true, PoolSize: -1,
			Advertise: "127.0.0.1:1", // servers tell each other of third ones: nobody gets round the wires
		}
	}
	for _, r := range routes {
		o.Routes = append(o.Routes, server.RoutesFromStr("nats://"+r.Address())...)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// single runs one server that stands alone.
func single(t testing.TB) *server.Server {
	t.Helper()
	s := serve(t, "alone", t.TempDir())
	ready(t, s)
	return s
}

func ready(t testing.TB, s *server.Server) {
	t.Helper()
	eventually(t, "the server is ready", func() bool { return s.ReadyForConnections(10 * time.Millisecond) })
}

// trio is a cluster of three servers that reach each other over wires.
type trio struct {
	servers []*server.Server
	wires   [3][3]*wire.Wire // from, to
}

// cluster runs a trio and returns once it has a leader.
func cluster(t testing.TB) *trio {
	t.Helper()
	c := &trio{}
	for i := range 3 {
		for j := range 3 {
			c.wires[i][j] = newWire(t)
		}
	}
	for i, name := range []string{"a", "b", "c"} {
		s := serve(t, name, t.TempDir(), c.wires[i][(i+1)%3], c.wires[i][(i+2)%3])
		eventually(t, "it listens for routes", func() bool { return s.ClusterAddr() != nil })
		for j := range 3 {
			c.wires[j][i].Lead(s.ClusterAddr().String())
		}
		c.servers = append(c.servers, s)
	}
	for _, s := range c.servers {
		ready(t, s)
	}
	eventually(t, "three peers and a leader", func() bool {
		for _, s := range c.servers {
			if s.JetStreamIsLeader() {
				return len(s.JetStreamClusterPeers()) == 3
			}
		}
		return false
	})
	return c
}

// isolate cuts a server off from the others, or mends that.
func (c *trio) isolate(i int, cut bool) {
	for j := range 3 {
		stall(c.wires[i][j], cut)
		stall(c.wires[j][i], cut)
	}
}

// leader returns the server that leads the bucket, or -1.
func (c *trio) leader() int {
	return slices.IndexFunc(c.servers, func(s *server.Server) bool { return s.JetStreamIsStreamLeader("$G", "KV_LEASES") })
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

// newWire returns a wire that ends with the test.
func newWire(t testing.TB) *wire.Wire {
	t.Helper()
	w, err := wire.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// stall has a wire hold everything back, or heals it.
func stall(w *wire.Wire, held bool) {
	if held {
		w.Stall()
	} else {
		w.Heal()
	}
}
