package brokertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/identity"
)

// synced is JetStream as a deployment needs it.
const synced = "jetstream { max_mem: 1G, max_file: 100G, sync_interval: always }\n"

// External runs a NATS server of somebody else's, with the configuration that
// lets in so many hosts and the identities, and returns the hosts' credentials.
// It has JetStream with more, where that is not empty.
func External(t testing.TB, hosts int, more string, identities ...identity.User) []broker.External {
	t.Helper()
	longtest.Skip(t)
	all, text := credentials(t, hosts, 1, identities)
	if more == "" {
		more = synced
	}
	s := serve(t, configured(t, text+more))
	ready(t, s)
	for i := range all {
		all[i].Servers = s.ClientURL()
	}
	return all
}

// Servers are three NATS servers of somebody else's that keep streams together.
type Servers struct {
	t       testing.TB
	configs []string
	dirs    []string

	mu  sync.Mutex
	all []*server.Server
}

// ExternalCluster runs three NATS servers of somebody else's, which let in so
// many hosts, and returns the hosts' credentials: each stream has so many
// replicas.
func ExternalCluster(t testing.TB, hosts, replicas int) ([]broker.External, *Servers) {
	t.Helper()
	longtest.Skip(t)
	all, text := credentials(t, hosts, replicas, nil)
	c := &Servers{t: t, all: make([]*server.Server, founders)}
	meet, clients := Addresses(founders), Addresses(founders)
	for i := range founders {
		c.configs = append(c.configs, fmt.Sprintf("%s%sserver_name: n%d\nlisten: %q\ncluster { name: theirs, listen: %q, routes: [%s] }\n",
			text, synced, i, clients[i], meet[i], "nats://"+strings.Join(without(meet, i), ", nats://")))
		c.dirs = append(c.dirs, t.TempDir())
		c.Start(i)
	}
	for _, s := range c.all {
		ready(t, s)
	}
	for i := range all {
		all[i].Servers = "nats://" + strings.Join(clients, ",nats://")
	}
	return all, c
}

func without(list []string, i int) []string { return slices.Delete(slices.Clone(list), i, i+1) }

// Start runs server i and does not wait for it.
func (c *Servers) Start(i int) {
	c.t.Helper()
	options := configured(c.t, c.configs[i])
	options.StoreDir = c.dirs[i]
	s := serve(c.t, options)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[i] = s
}

// Leader returns which server leads a stream of an account, -1 if none does.
func (c *Servers) Leader(account, stream string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.all {
		if s != nil && s.JetStreamIsStreamLeader(account, stream) {
			return i
		}
	}
	return -1
}

// Stop stops server i, as if its machine were gone.
func (c *Servers) Stop(i int) {
	c.mu.Lock()
	s := c.all[i]
	c.all[i] = nil
	c.mu.Unlock()
	s.Shutdown()
	s.WaitForShutdown()
}

// credentials are those of hosts, and what servers must include for them.
func credentials(t testing.TB, hosts, replicas int, identities []identity.User) (all []broker.External, text string) {
	t.Helper()
	all, err := broker.NewExternal(broker.External{Cluster: "test", Partitions: 2, Replicas: replicas, Servers: "nats://nowhere"}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = broker.Configuration(all, identities); err != nil {
		t.Fatal(err)
	}
	return all, text
}

// configured are the options of a server on loopback with a directory of its
// own, on a free port where the configuration names none.
func configured(t testing.TB, configuration string) *server.Options {
	t.Helper()
	options := &server.Options{}
	if err := options.ProcessConfigString(configuration); err != nil {
		t.Fatalf("%v in:\n%s", err, configuration)
	}
	if options.Port == 0 {
		options.Host, options.Port = "127.0.0.1", server.RANDOM_PORT
	}
	options.NoSigs, options.NoLog, options.StoreDir = true, true, t.TempDir()
	return options
}

// serve runs a server until the test ends.
func serve(t testing.TB, options *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

func ready(t testing.TB, s *server.Server) {
	t.Helper()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not come up")
	}
}
