// Command server runs a single-process Temporal cluster (frontend, history,
// matching, system worker) the way `temporal server start-dev --db-filename`
// does: one history shard for SQLite, everything on the loopback.
// With -db postgres it runs the same four services over PostgreSQL.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	tlog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func main() {
	port := flag.Int("port", 17233, "frontend port")
	kind := flag.String("db", "sqlite", "sqlite or postgres")
	file := flag.String("file", "temporal.db", "SQLite file")
	pragma := flag.String("pragma", "", "k=v,k=v SQLite pragmas")
	pgAddr := flag.String("pg", "127.0.0.1:15432", "PostgreSQL host:port")
	pgUser := flag.String("pguser", "postgres", "")
	conns := flag.Int("conns", 0, "max DB connections (0: the plugin's default)")
	shards := flag.Int("shards", 1, "history shards")
	pollRPS := flag.Int("pollrps", 0, "history.transferProcessorMaxPollRPS (0: the server's default, 20 a shard)")
	flag.Parse()

	fail := func(what string, err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, what+":", err)
			os.Exit(1)
		}
	}

	var conf config.Config
	conf.Global.Membership.MaxJoinDuration = 30 * time.Second
	conf.Global.Membership.BroadcastAddress = "127.0.0.1"
	conf.Persistence.DefaultStore, conf.Persistence.VisibilityStore = "main", "main"
	conf.Persistence.NumHistoryShards = int32(*shards)
	switch *kind {
	case "sqlite":
		sqlc := &config.SQL{
			PluginName: sqliteplugin.PluginName, DatabaseName: *file, MaxConns: *conns,
			ConnectAttributes: map[string]string{"mode": "rwc"},
		}
		for _, kv := range strings.Split(*pragma, ",") {
			if k, v, ok := strings.Cut(kv, "="); ok {
				sqlc.ConnectAttributes[k] = v
			}
		}
		if _, err := os.Stat(*file); os.IsNotExist(err) {
			fail("schema", sqliteschema.SetupSchema(sqlc))
		}
		ns, err := sqliteschema.NewNamespaceConfig("active", "default", false, nil)
		fail("namespace", err)
		fail("namespaces", sqliteschema.CreateNamespaces(sqlc, ns))
		conf.Persistence.DataStores = map[string]config.DataStore{"main": {SQL: sqlc}}
	case "postgres":
		n := *conns
		if n == 0 {
			n = 20
		}
		mk := func(db string) config.DataStore {
			return config.DataStore{SQL: &config.SQL{
				PluginName: "postgres12_pgx", DatabaseName: db, ConnectAddr: *pgAddr,
				ConnectProtocol: "tcp", User: *pgUser, MaxConns: n, MaxIdleConns: n, MaxConnLifetime: time.Hour,
			}}
		}
		conf.Persistence.VisibilityStore = "vis"
		conf.Persistence.DataStores = map[string]config.DataStore{"main": mk("temporal"), "vis": mk("temporal_visibility")}
	}
	httpPort := freePort()
	addr := func(p int) string { return fmt.Sprintf("127.0.0.1:%d", p) }
	conf.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
		ClusterInformation: map[string]cluster.ClusterInformation{"active": {
			Enabled: true, InitialFailoverVersion: 1,
			RPCAddress: addr(*port), HTTPAddress: addr(httpPort), ClusterID: "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
		}},
	}
	conf.DCRedirectionPolicy.Policy = "noop"
	conf.Archival.History.State, conf.Archival.Visibility.State = "disabled", "disabled"
	conf.NamespaceDefaults.Archival.History.State, conf.NamespaceDefaults.Archival.Visibility.State = "disabled", "disabled"
	conf.PublicClient.HostPort = addr(*port)
	conf.Services = map[string]config.Service{}
	hosts := map[primitives.ServiceName]static.Hosts{}
	for _, s := range []primitives.ServiceName{primitives.FrontendService, primitives.HistoryService, primitives.MatchingService, primitives.WorkerService} {
		rpc := config.RPC{GRPCPort: freePort(), BindOnIP: "127.0.0.1"}
		if s == primitives.FrontendService {
			rpc.GRPCPort, rpc.HTTPPort = *port, httpPort
		}
		conf.Services[string(s)] = config.Service{RPC: rpc}
		hosts[s] = static.SingleLocalHost(addr(rpc.GRPCPort))
	}

	dyn := dynamicconfig.StaticClient{
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key():                        8096,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key():        100,
		dynamicconfig.MakeKey("system.forceSearchAttributesCacheRefreshOnRead"): true,
		dynamicconfig.MakeKey("system.forceNexusEndpointRefreshOnRead"):         true,
		dynamicconfig.MakeKey("frontend.persistenceMaxQPS"):                     1000000,
		dynamicconfig.MakeKey("history.persistenceMaxQPS"):                      1000000,
		dynamicconfig.MakeKey("matching.persistenceMaxQPS"):                     1000000,
		dynamicconfig.MakeKey("frontend.rps"):                                   1000000,
		dynamicconfig.MakeKey("frontend.namespaceRPS"):                          1000000,
		dynamicconfig.MakeKey("frontend.namespaceCount"):                        100000,
		dynamicconfig.MakeKey("history.rps"):                                    1000000,
		dynamicconfig.MakeKey("matching.rps"):                                   1000000,
	}
	if *pollRPS > 0 {
		dyn[dynamicconfig.TransferProcessorMaxPollRPS.Key()] = *pollRPS
	}
	logger := tlog.NewZapLogger(tlog.BuildZapLogger(tlog.Config{Level: "error"}))
	auth, err := authorization.GetAuthorizerFromConfig(&conf.Global.Authorization)
	fail("authorizer", err)
	cm, err := authorization.GetClaimMapperFromConfig(&conf.Global.Authorization, logger)
	fail("claims", err)
	srv, err := temporal.NewServer(
		temporal.WithConfig(&conf), temporal.ForServices(temporal.DefaultServices), temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger), temporal.WithAuthorizer(auth),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return cm }),
		temporal.WithDynamicConfigClient(dyn))
	fail("server", err)
	fail("start", srv.Start())
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, syscall.SIGTERM, syscall.SIGINT)
	<-sig
	_ = srv.Stop()
}
