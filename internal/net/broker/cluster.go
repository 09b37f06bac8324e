package broker

import (
	"math"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/datadir"
)

// DefaultClusterListen is where a host listens for the others of its cluster
// unless it is told otherwise.
const DefaultClusterListen = "127.0.0.1:6222"

const (
	// domain is that of the deployment's streams: a host that is alone and
	// grows into a cluster meets it under another.
	domain = "loom"
	// routeUser is the name that hosts tell each other with their secret.
	routeUser = "loom-host"
)

// Cluster says where a host of a cluster meets the others. What is empty is as
// at the last start of the data directory.
type Cluster struct {
	// Name must be the cluster's, if it is given.
	Name string

	// Listen is the address for the other hosts, HOST:PORT; at the first start
	// empty means DefaultClusterListen.
	Listen string

	// Advertise is how the others reach Listen, HOST:PORT, if that is another
	// address. Empty means Listen.
	Advertise string

	// Routes are the hosts of the cluster, HOST:PORT. This host's own address
	// may be among them and is left out. At the first start there must be more
	// than half of the hosts, with this one, so that two halves of a cluster
	// can never begin as two.
	Routes []string

	// listed are where the hosts of the deployment's list meet each other.
	listed []string
}

// clustered says whether the host keeps the streams together with others.
func (c Config) clustered() bool { return c.Dir.Manifest().Mode == datadir.ModeCluster }

// replicas is how many hosts keep each stream.
func (c Config) replicas() int {
	if m := c.Dir.Manifest(); m.Cluster != nil {
		return m.Cluster.Replicas
	}
	return 1
}

// meet fills in where the host meets the others, and records it. Nobody comes
// in without credentials where there are routes.
func (c Config) meet() (Config, error) {
	m := c.Dir.Manifest()
	switch {
	case c.External != nil:
		c.Listen, c.RequireAuth = "", true
		return c, nil
	case m.Mode == datadir.ModeCluster:
	case c.Cluster != nil:
		return c, fault.New("cluster/mode", "the data directory is that of a host that is alone: in a cluster its streams would be deleted").
			At(c.Dir.Path()).Want("join with an empty directory, --data DIR")
	default:
		return c, nil
	}
	if c.Cluster != nil && c.Cluster.Name != "" && c.Cluster.Name != m.Cluster.Name {
		return c, fault.New("cluster/deployment", "the data directory belongs to cluster %q, not to %q", m.Cluster.Name, c.Cluster.Name).
			At(c.Dir.Path()).Want("name another directory, --data DIR")
	}
	known := Cluster{Listen: m.Cluster.Listen, Advertise: m.Cluster.Advertise, Routes: m.Cluster.Routes}
	met := known.with(c.Cluster)
	list, err := c.Dir.List()
	if err != nil {
		return c, err
	}
	met.listed = list.Addresses(m.Host)
	c.Cluster, c.RequireAuth = &met, true
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0" // the server meets no others without a listener
	}
	if err := met.check(m.Cluster.Hosts, list.Lineage != ""); err != nil {
		return c, err
	}
	return c, c.Dir.SetCluster(met.Listen, met.Advertise, met.Routes)
}

// with returns c with what is said in other.
func (c Cluster) with(other *Cluster) Cluster {
	if other != nil && other.Listen != "" {
		c.Listen, c.Advertise = other.Listen, "" // how it is reached goes with where it is
	}
	if other != nil && other.Advertise != "" {
		c.Advertise = other.Advertise
	}
	if other != nil && len(other.Routes) > 0 {
		c.Routes = other.Routes
	}
	if c.Listen == "" {
		c.Listen = DefaultClusterListen
	}
	return c
}

// check returns all that is wrong with the addresses, for a cluster of so many
// hosts. One that runs already needs to be found at one place.
func (c Cluster) check(hosts int, runs bool) error {
	var errs []*fault.Error
	for _, a := range append([]string{c.Listen}, c.Routes...) {
		if e := checkAddress(a); e != nil {
			errs = append(errs, e)
		}
	}
	if c.Advertise != "" {
		if e := checkAddress(c.Advertise); e != nil {
			errs = append(errs, e)
		}
	}
	if len(errs) > 0 {
		return fault.Join(errs)
	}
	others := len(c.others())
	if runs && others > 0 {
		return nil
	}
	// The server waits for as many hosts as it has routes, and at least for two.
	if most := hosts - 1; others < 1 || max(2, others) <= hosts/2 {
		return fault.New("usage/argument", "the routes name %d other hosts, and together with this one they must be more than half of %d", others, hosts).
			At("--routes").Want("name all hosts: --routes HOST:PORT,HOST:PORT,...")
	} else if others > most {
		return fault.New("usage/argument", "the routes name %d other hosts, and the deployment has %d hosts in all", others, hosts).
			At("--routes").Want("name its hosts alone")
	}
	return nil
}

// checkAddress returns what is wrong with an address of a host.
func checkAddress(address string) *fault.Error {
	host, port, err := splitAddress(address)
	if err != nil || host == "" || port == 0 {
		return fault.New("usage/argument", "the address of a host of a cluster is not HOST:PORT").Got(address).
			Want("for example %s", DefaultClusterListen)
	}
	return nil
}

// cluster sets how the server meets the others.
func (c Config) cluster(options *server.Options, t *trust) error {
	if !c.clustered() {
		return nil
	}
	m := c.Dir.Manifest()
	member := t.member
	config, err := member.TLS(t.known)
	if err != nil {
		return fault.New("data/manifest", "the host's certificate cannot be used").At(c.Dir.Path()).Because(err)
	}
	host, port, err := splitAddress(c.Cluster.Listen)
	options.JetStreamDomain = domain
	options.Tags.Add(m.Host)
	options.Cluster = server.ClusterOpts{
		Name: m.Cluster.Name, Host: host, Port: port, Advertise: c.Cluster.told(),
		Username: routeUser, Password: member.Secret, TLSConfig: config, TLSTimeout: 10, AuthTimeout: 11,
		// Clients are not sent to other hosts, which may not know them.
		NoAdvertise: true,
		// A host that learns late that another belongs to the deployment has
		// refused it before.
		ConnectRetries: math.MaxInt32,
		// A route over which nothing comes is given up after 8 s, not 90: until
		// then who asked for what still counts, at a host that is not reached.
		PingInterval: 2 * time.Second, MaxPingsOut: 3,
	}
	for _, route := range c.Cluster.others() {
		options.Routes = append(options.Routes, &url.URL{Scheme: "nats-route", Host: route, User: url.UserPassword(routeUser, member.Secret)})
	}
	return err
}

// Clustered reports whether several hosts keep the deployment's streams.
func (b *Broker) Clustered() bool { return b.config.clustered() }

// Replicas returns how many hosts keep each stream: 1 unless the broker is
// clustered. Who makes a stream or a bucket of its own makes it with so many.
func (b *Broker) Replicas() int { return b.config.replicas() }

// others returns the routes, and where the hosts of the list are, without this
// host's own address and without doubles: a host that waits for itself waits for all others as well.
func (c Cluster) others() []string {
	var others []string
	for _, route := range slices.Concat(c.Routes, c.listed) {
		if !c.own(route) && !slices.Contains(others, route) {
			others = append(others, route)
		}
	}
	return others
}

// own says whether a route leads to this host.
func (c Cluster) own(route string) bool {
	if route == c.Listen || route == c.Advertise {
		return true
	}
	host, port, err := net.SplitHostPort(route)
	ourHost, ourPort, ourErr := net.SplitHostPort(c.Listen)
	if err != nil || ourErr != nil || port != ourPort {
		return false
	}
	return sameHost(host, ourHost)
}
