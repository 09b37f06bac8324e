package cluster

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/ops/vault"
	"github.com/loomrun/loom/internal/store/datadir"
)

// Cluster returns the command of that name.
func (a *Commands) Cluster() *cobra.Command {
	cmd := console.Group("cluster", "hosts that keep one deployment together",
		"  loom cluster init --name prod --out prod.join\n  loom up --join prod.join --cluster-listen a:6222 --routes a:6222,b:6222,c:6222", append(a.members(), a.clusterInit(), a.clusterStatus())...)
	cmd.Long = clusterLong
	return cmd
}

const clusterLong = `A cluster is 3 or 5 hosts that keep one deployment's streams together. It goes
on while more than half of them are there, and says so when they are not.
Each host is started with "loom up" and:

  --join FILE               the join file, at its first start, on an empty
                            data directory; later starts know what was in it
  --cluster-listen ADDRESS  where the others meet it, HOST:PORT
                            (default ` + host.DefaultClusterListen + `)
  --cluster-advertise ADDR  how they reach it, if that is another address
  --routes A,B,C            all hosts' addresses, its own may be among them
  --cluster NAME            the name that the cluster must have

A data directory of a host that is alone cannot join: its streams would be
deleted. What the flags said last is remembered.`

func (a *Commands) clusterInit() *cobra.Command {
	var name, out, key, from string
	var hosts, replicas, partitions int
	cmd := &cobra.Command{
		Use: "init [flags]", Short: "begin a deployment of several hosts: make its join file", Args: console.Takes(),
		Long: `Init makes a join file: the deployment's id, how many hosts it has, the CEO's
public key, and the secrets by which its hosts know each other. Every host is
started with it once, on an empty data directory; afterwards it is not needed.
Whoever has the file can join and read everything: keep it like a key, and
delete it when all hosts have joined.

With --from the deployment goes on from a backup, or from the data directory of
a host that is alone and stopped: its backup is made beside the join file, and
no host starts on it any more. One host is started with --join and --seed
BACKUP, the others with --join; nobody serves before the backup is in. If it is
interrupted, say it again: without the join file nothing has begun.`,
		Example: "  loom cluster init --name prod --out prod.join\n  loom cluster init --from /var/lib/loom --out prod.join",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return fault.New("usage/argument", "no file is named").At("--out").Want("for example --out prod.join")
			}
			if cmd.Flags().Changed("from") { // an empty one must not begin another deployment
				if cmd.Flags().Changed("partitions") || cmd.Flags().Changed("key") {
					return fault.New("usage/argument", "partitions and the CEO's key are those of the deployment that goes on").At("--from")
				}
				return a.initFrom(cmd.Context(), from, out, name, hosts, replicas)
			}
			ceo, err := PublicKey(key)
			if err != nil {
				return err
			}
			join, err := datadir.NewJoin(name, hosts, replicas, partitions, ceo)
			if err != nil {
				return err
			}
			if err := join.Write(out); err != nil {
				return err
			}
			return a.initialised(join, out)
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "loom", "`NAME` of the cluster, for people")
	f.IntVar(&hosts, "hosts", 3, "how many hosts it has: `N`, 3 or 5; it goes on while more than half are there")
	f.IntVar(&replicas, "replicas", 0, "how many hosts keep each stream: `N`, 3 or 5 (default: all)")
	f.IntVar(&partitions, "partitions", datadir.DefaultPartitions, "how many journals: `N`, 1 to 64, fixed for good")
	f.StringVar(&from, "from", "", "go on from `PATH`: a backup, or a stopped host's data directory")
	f.StringVar(&key, "key", "", "the CEO's key `FILE`, made if absent (default: yours)")
	f.StringVar(&out, "out", "", "`FILE` to write; it must not be there yet")
	return cmd
}

// PublicKey returns the public half of the CEO's key.
func PublicKey(path string) (string, error) {
	if path == "" {
		var err error
		if path, err = ceokey.DefaultPath(); err != nil {
			return "", err
		}
	}
	key, _, err := ceokey.OpenOrCreate(path)
	if err != nil {
		return "", err
	}
	return key.Public(), nil
}

// initialised says what was made, without its secrets.
func (a *Commands) initialised(j datadir.Join, out string) error {
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(map[string]any{
			"deployment": j.Deployment, "cluster": j.Cluster, "hosts": j.Hosts, "replicas": j.Replicas,
			"partitions": j.Partitions, "ceo": j.CEO, "file": out,
		})
	}
	fmt.Fprintf(a.Out, "deployment %s, cluster %s of %d hosts, %d replicas, %d journals\n", j.Deployment, j.Cluster, j.Hosts, j.Replicas, j.Partitions)
	fmt.Fprintf(a.Out, "on each host: loom up --join %s --cluster-listen HOST:PORT --routes HOST:PORT,HOST:PORT,...\n", suggest.Arg(out))
	_, err := fmt.Fprintf(a.Out, "whoever has %s can join: keep it like a key, and delete it when all hosts have joined\n", out)
	return err
}

// Joining are the flags by which a host joins a cluster.
type Joining struct {
	file    string
	seed    string
	cluster host.Cluster
}

// Flags adds the flags that it is read from.
func (j *Joining) Flags(f *pflag.FlagSet) {
	f.StringVar(&j.file, "join", "", "join `FILE`, at the first start of a host of a cluster")
	f.StringVar(&j.seed, "seed", "", "the backup `FILE` that the deployment begins with")
	f.StringVar(&j.cluster.Name, "cluster", "", "`NAME` that the cluster must have")
	f.StringVar(&j.cluster.Listen, "cluster-listen", "", "where its hosts meet this one, `HOST:PORT` (default "+host.DefaultClusterListen+")")
	f.StringVar(&j.cluster.Advertise, "cluster-advertise", "", "how they reach it, if not there, `HOST:PORT`")
	f.StringSliceVar(&j.cluster.Routes, "routes", nil, "all hosts of the cluster, `HOST:PORT,...`")
	for _, name := range []string{"join", "seed", "cluster", "cluster-listen", "cluster-advertise", "routes"} {
		_ = f.MarkHidden(name) // "loom cluster" says what they are
	}
}

// Fill puts what the flags say into the host's configuration.
func (j *Joining) Fill(c *host.Config) error {
	if j.file != "" {
		join, err := datadir.ReadJoin(j.file)
		if err != nil {
			return err
		}
		c.Join = &join
	}
	if j.seed != "" {
		c.Seed = vault.Seed{File: j.seed}
	}
	if said := j.cluster; j.file != "" || said.Name != "" || said.Listen != "" || said.Advertise != "" || len(said.Routes) > 0 {
		c.Cluster = &said
	}
	return nil
}

// FillExternal has the host run on other servers, if it is said which.
func (a *Commands) FillExternal(cmd *cobra.Command, c *host.Config) (err error) {
	url, creds := cmd.Flags().Changed("nats"), cmd.Flags().Changed("creds")
	if !url && !creds {
		return nil
	}
	if !creds {
		return fault.New("usage/argument", "a host on other NATS servers needs credentials for them").At("--creds").
			Want("make them with: loom auth nats init; --agents-only is for a host that only runs agents")
	}
	for _, flag := range append(NoLeaf, "seed", "listen", "tls-cert", "no-listen") {
		if cmd.Flags().Changed(flag) {
			return fault.New("usage/argument", "a host on other NATS servers has none of its own").At("--" + flag)
		}
	}
	if c.External, err = host.ReadExternal(a.Creds); err == nil && url {
		c.External.Servers = a.URL
	}
	return err
}

// NoLeaf are the flags of "loom up" that would make the host another kind of
// one. Those that mean nothing to it, such as --listen, are not heeded: a
// configuration file may have them for all hosts.
var NoLeaf = []string{"join", "cluster", "cluster-listen", "cluster-advertise", "routes"}
