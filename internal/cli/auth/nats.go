package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/cluster"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/store/datadir"
)

func (a *Commands) elsewhere() *cobra.Command {
	return console.Group("nats", "hosts on NATS servers that somebody else runs",
		"  loom auth nats init nats --nats tls://nats.example.com:4222 --hosts 2\n  loom auth nats users nats", a.elsewhereInit(), a.elsewhereUsers())
}

// accountsFile is what the servers include, of a directory of credentials.
const accountsFile = "accounts.conf"

func (a *Commands) elsewhereInit() *cobra.Command {
	var of host.External
	var hosts int
	var authority, key string
	cmd := &cobra.Command{
		Use: "init DIR --nats URL [flags]", Short: "begin a deployment on other servers", Args: console.Takes("DIR"),
		Long: `Init makes a directory for whoever runs the NATS servers:

  accounts.conf  accounts, users by their keys, permissions; each server
                 includes it, and has JetStream with "sync_interval: always"
  host-N.json    the credentials of a host: three keys of its own, one for each
                 account, and one that asks how the servers sync

Each host is started with "loom up --nats URL --creds host-N.json" on a data
directory of its own. Keep the directory like a key.`,
		Example: "  loom auth nats init nats --nats nats://a:4222,nats://b:4222 --replicas 3\n  loom up --nats nats://a:4222 --creds nats/host-1.json",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if of.Servers = a.URL; of.Servers == "" {
				return fault.New("usage/argument", "it is not said where the servers are").At("--nats").Want("--nats tls://HOST:4222")
			}
			if authority != "" {
				pem, err := os.ReadFile(authority)
				if err != nil {
					return fault.New("usage/argument", "the authority cannot be read").At("--authority").Because(err)
				}
				of.Authority = string(pem)
			}
			if of.CEO, err = cluster.PublicKey(key); err != nil {
				return err
			}
			if of.Replicas == 0 {
				of.Replicas = replicasOn(of.Servers)
			}
			all, err := host.NewExternal(of, hosts)
			if err != nil {
				return err
			}
			if err := writeElsewhere(args[0], all); err != nil {
				return err
			}
			return a.begunElsewhere(args[0], all)
		},
	}
	f := cmd.Flags()
	f.StringVar(&of.Cluster, "name", "loom", "`NAME` of the deployment, for people")
	f.IntVar(&hosts, "hosts", 2, "how many hosts get credentials: `N`, 1 to 64")
	f.IntVar(&of.Replicas, "replicas", 0, "how many servers keep each stream: `N`, 1, 3 or 5\n(default: 3 where three are named, else 1)")
	f.IntVar(&of.Partitions, "partitions", datadir.DefaultPartitions, "how many journals: `N`, 1 to 64, fixed for good")
	f.StringVar(&authority, "authority", "", "who signs the servers' certificates: PEM `FILE`")
	f.StringVar(&key, "key", "", "the CEO's key `FILE`, made if absent (default: yours)")
	return cmd
}

// replicasOn is how many of the servers that are named keep each stream.
func replicasOn(servers string) int {
	if strings.Count(servers, ",") >= 2 {
		return 3
	}
	return 1
}

// writeElsewhere makes the directory, which must not be there yet.
func writeElsewhere(dir string, all []host.External) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fault.New("usage/argument", "the directory cannot be made").At("DIR").Got(dir).Because(err).Want("name one that is not there yet")
	}
	for i, e := range all {
		data, err := json.MarshalIndent(e, "", "  ")
		if err != nil {
			return fmt.Errorf("credentials: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("host-%d.json", i+1)), append(data, '\n'), 0o600); err != nil {
			return fault.New("data/permissions", "the credentials cannot be written").At(dir).Because(err)
		}
	}
	return writeAccounts(dir, all, nil)
}

// writeAccounts writes what the servers include, in the place of what was there.
func writeAccounts(dir string, all []host.External, identities []identity.User) error {
	text, err := host.ExternalConfiguration(all, identities)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, accountsFile)
	err = os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = durable.Rename(path+".new", path)
	}
	if err != nil {
		return fault.New("data/permissions", "the configuration cannot be written").At(path).Because(err)
	}
	return nil
}

func (a *Commands) begunElsewhere(dir string, all []host.External) error {
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(map[string]any{"deployment": all[0].Deployment, "hosts": len(all), "replicas": all[0].Replicas, "directory": dir})
	}
	fmt.Fprintf(a.Out, "deployment %s for %d hosts, %d replicas, %d journals\n", all[0].Deployment, len(all), all[0].Replicas, all[0].Partitions)
	fmt.Fprintf(a.Out, "on each server: include %q, and jetstream { sync_interval: always }\n", filepath.Join(dir, accountsFile))
	_, err := fmt.Fprintf(a.Out, "on each host: loom up --nats %s --creds %s, with a file of its own\n", all[0].Servers, suggest.Arg(filepath.Join(dir, "host-1.json")))
	return err
}

func (a *Commands) elsewhereUsers() *cobra.Command {
	return &cobra.Command{
		Use: "users DIR", Short: "write the servers' configuration anew, with all identities", Args: console.Takes("DIR"),
		Long: `Users writes DIR/accounts.conf anew, with the identities that the deployment has
now ("loom auth user"). The servers let them in, and those that were revoked or
have expired no more, when they have it and were reloaded. The hosts refuse the
requests of who was revoked within seconds in any case.`,
		Example: "  loom auth user add ci --as publisher --out ci.creds\n  loom auth nats users nats\n  nats-server --signal reload",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := readElsewhere(args[0])
			if err != nil {
				return err
			}
			list, err := a.identityList(cmd.Context())
			if err != nil {
				return err
			}
			if err := writeAccounts(args[0], all, list); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "%s has %d identities; reload the servers\n", filepath.Join(args[0], accountsFile), len(list))
			return err
		},
	}
}

// readElsewhere reads the credentials of all hosts.
func readElsewhere(dir string) (all []host.External, err error) {
	files, _ := filepath.Glob(filepath.Join(dir, "host-*.json")) // no pattern but a bad one is an error
	if len(files) == 0 {
		return nil, fault.New("usage/argument", "there are no credentials of hosts in it").At("DIR").Got(dir).Want("make them with: loom auth nats init")
	}
	for _, f := range files {
		e, err := host.ReadExternal(f)
		if err != nil {
			return nil, err
		}
		all = append(all, *e)
	}
	return all, nil
}

// identityList returns the deployment's identities.
func (a *Commands) identityList(ctx context.Context) ([]identity.User, error) {
	store, done, err := a.identities()
	if err != nil {
		return nil, err
	}
	defer done()
	return store.List(ctx)
}
