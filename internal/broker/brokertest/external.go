package brokertest

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/loomrun/loom/internal/broker"
	"github.com/loomrun/loom/internal/identity"
)

// External runs a NATS server of somebody else's, with the configuration that
// lets in so many hosts and the identities, and returns the hosts' credentials.
// It has JetStream with more, where that is not empty.
func External(t testing.TB, hosts int, more string, identities ...identity.User) []broker.External {
	t.Helper()
	all, err := broker.NewExternal(broker.External{Cluster: "test", Partitions: 2, Replicas: 1, Servers: "nats://nowhere"}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	text, err := broker.Configuration(all, identities)
	if err != nil {
		t.Fatal(err)
	}
	if more == "" {
		more = "jetstream { max_mem: 1G, max_file: 100G, sync_interval: always }\n"
	}
	url := serve(t, text+more)
	for i := range all {
		all[i].Servers = url
	}
	return all
}

// serve runs a server on a free port of loopback and returns its URL.
func serve(t testing.TB, configuration string) string {
	t.Helper()
	options := &server.Options{}
	if err := options.ProcessConfigString(configuration); err != nil {
		t.Fatalf("%v in:\n%s", err, configuration)
	}
	options.Host, options.Port, options.NoSigs, options.NoLog, options.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, true, t.TempDir()
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not come up")
	}
	return s.ClientURL()
}
