// Package brokertest runs several hosts' brokers in one process, for tests of
// what must hold in a cluster. It promises nothing about speed: a cluster is
// there some seconds after it was asked for.
package brokertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
)

// patience bounds everything that a cluster is waited for.
const patience = 2 * time.Minute

// Cluster is hosts that keep their streams together: three to begin with.
type Cluster struct {
	t    testing.TB
	join datadir.Join
	// joins are what each host joins with.
	joins []datadir.Join
	// config is what every host is started with, beside what is its own.
	config broker.Config
	paths  []string
	listen []string

	mu    sync.Mutex
	hosts []*host
}

type host struct {
	dir    *datadir.Dir
	broker *broker.Broker
}

// New runs three hosts with so many partitions, and stops those that are left
// with the test. Each is started with config and its own directory and
// addresses.
func New(t testing.TB, partitions int, config broker.Config) *Cluster {
	t.Helper()
	join, err := datadir.NewJoin("test", founders, 0, partitions, "")
	if err != nil {
		t.Fatal(err)
	}
	return Joined(t, join, config)
}

// Joined is New with a join file of three hosts.
func Joined(t testing.TB, join datadir.Join, config broker.Config) *Cluster {
	t.Helper()
	longtest.Skip(t)
	c := &Cluster{t: t, join: join, config: config, listen: Addresses(mostHosts)}
	for range founders {
		c.Join(join)
	}
	t.Cleanup(c.stop)
	var group sync.WaitGroup
	for i := range founders {
		group.Go(func() { c.Start(i) })
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// founders is how many hosts begin a cluster.
const founders = 3

// mostHosts is how many hosts a cluster can have, those that are gone included.
const mostHosts = 8

// Join adds a host with a join file and an empty directory, and returns its
// number. It is not started.
func (c *Cluster) Join(join datadir.Join) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths, c.joins, c.hosts = append(c.paths, c.t.TempDir()), append(c.joins, join), append(c.hosts, nil)
	return len(c.hosts) - 1
}

// Addresses returns so many addresses of this machine that hosts of a cluster
// can listen on: on Linux all of 127/8 is here, so that nobody else has them;
// elsewhere ports that are free just now.
func Addresses(hosts int) (list []string) {
	if runtime.GOOS != "linux" {
		return freeAddresses(hosts)
	}
	net := fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(256))
	for i := range hosts {
		list = append(list, fmt.Sprintf("%s%d:6222", net, 1+i))
	}
	return list
}

func freeAddresses(hosts int) (list []string) {
	for range hosts {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			panic(err) // a machine without loopback
		}
		defer func() { _ = l.Close() }()
		list = append(list, l.Addr().String())
	}
	return list
}

// Start starts host i on its directory and waits until it serves. It may be
// called from several goroutines; what goes wrong fails the test.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Try(ctx, i); err != nil {
		c.t.Errorf("host %d: %v", i, err)
	}
}

// Try is Start that waits until ctx ends, and returns what goes wrong.
func (c *Cluster) Try(ctx context.Context, i int) error {
	c.mu.Lock()
	path, join, config := c.paths[i], c.joins[i], c.config
	c.mu.Unlock()
	dir, err := datadir.Config{Path: path, Join: &join}.Open()
	if err != nil {
		return err
	}
	config.Dir, config.Cluster = dir, &broker.Cluster{Listen: c.listen[i], Routes: c.listen[:founders]}
	b, err := broker.Start(ctx, config)
	if err != nil {
		_ = dir.Close()
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts[i] = &host{dir, b}
	return nil
}

// Broker returns the broker of host i, or nil while it is stopped.
func (c *Cluster) Broker(i int) *broker.Broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts[i] == nil {
		return nil
	}
	return c.hosts[i].broker
}

// Dir returns the data directory of host i, which must be running.
func (c *Cluster) Dir(i int) *datadir.Dir {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hosts[i].dir
}

// First returns the join file that the cluster began with.
func (c *Cluster) First() datadir.Join { return c.join }

// Address returns where host i listens for the others.
func (c *Cluster) Address(i int) string { return c.listen[i] }

// Path returns the path of host i's data directory.
func (c *Cluster) Path(i int) string { return c.paths[i] }

// Stop stops host i as a host stops that is told to: it hands over first.
func (c *Cluster) Stop(i int) { c.end(i, (*broker.Broker).Close) }

func (c *Cluster) end(i int, how func(*broker.Broker, context.Context) error) {
	c.mu.Lock()
	h := c.hosts[i]
	c.hosts[i] = nil
	c.mu.Unlock()
	if h == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := how(h.broker, ctx); err != nil {
		c.t.Logf("host %d stops: %v", i, err)
	}
	if err := h.dir.Close(); err != nil {
		c.t.Errorf("host %d: %v", i, err)
	}
}

func (c *Cluster) stop() {
	var group sync.WaitGroup
	for i := range c.hosts {
		group.Go(func() { c.Stop(i) })
	}
	group.Wait()
}
