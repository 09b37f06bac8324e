// Package broker runs the embedded NATS server, and is the host's way to
// everything on it: streams, work queue, notices, tasks and services.
//
// It promises that an acknowledged write of a truth stream is on the disk,
// that a missing or changed truth stream is refused by name and never made
// anew, and that a connection can do what its row in the table of users says
// and nothing else. It never decides anything about a bead.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// DefaultListen is where a host listens unless it is told otherwise.
const DefaultListen = "127.0.0.1:4222"

// Config says how to run a broker. Only Dir is required.
type Config struct {
	// Dir is the open data directory; it must stay open until Close.
	Dir *datadir.Dir

	// Listen is the TCP address to listen on, for example DefaultListen; port
	// 0 chooses a free one, and the same again at the next start if it is still
	// free. Empty means none: only this process can connect.
	Listen string

	// RequireAuth refuses clients without credentials. It is implied when
	// Listen is not a loopback address.
	RequireAuth bool

	// TLS is the certificate that clients are shown. Nil speaks plain NATS,
	// which is refused on addresses that are not loopback, unless Insecure.
	TLS *certificate.Server

	// Insecure opens a port to the network without TLS, loudly.
	Insecure bool

	// Identities are who may connect beside those that every host lets in. Nil
	// means the file of the data directory.
	Identities identity.Store

	// Cluster says where the host meets the others of its cluster, for a data
	// directory of a host that has joined one; nil means where it did at its
	// last start. For any other directory it must be nil.
	Cluster *Cluster

	// External says that the host runs on NATS servers that somebody else runs,
	// and with whose keys. Listen, TLS and Cluster then mean nothing.
	External *External

	// JournalBytes bounds all journals together. Zero means 20 GiB; less
	// than 64 KiB a partition is an error.
	JournalBytes int64

	// BlobBytes bounds the blobs. Zero means 20 GiB; less than 64 KiB is an
	// error.
	BlobBytes int64

	// Logger receives what the server and the broker have to say. Nil
	// discards it.
	Logger *slog.Logger

	// WorkLost is called, from a goroutine of its own, when the work queue
	// turned out to be gone and has been made anew: whatever is assigned and
	// not claimed must be published again. Nil ignores it.
	WorkLost func()

	// Plant puts the backup that the deployment begins with into the streams,
	// where the manifest says that there is one. It may be called again after a
	// crash, and must put nothing in twice. Nil waits until another host has.
	Plant func(context.Context, *Broker) error

	// Aside is called when a task is set aside, with its subject and why. It
	// must not block. Nil ignores it.
	Aside func(subject string, why error)
	// Clean returns what may be kept of a message that is set aside, without
	// changing it. Nil keeps all.
	Clean func(*loomv1.SetAside) *loomv1.SetAside
}

// Broker is a running server and the host's connections to it.
type Broker struct {
	config  Config
	log     *slog.Logger
	users   []user
	gate    *gate
	unwatch context.CancelFunc // ends the watch over identities
	server  *server.Server
	conns   map[string]*nats.Conn // by account
	js      map[string]jetstream.JetStream
	files   []string // written at start, removed by Close
	done    chan struct{}
	broken  chan struct{}  // closed when the server said that it writes no more
	ended   sync.Once      // done, where there is no server
	looked  atomic.Int64   // when identities were last asked for because of a key
	running sync.WaitGroup // handlers of requests
	workers workers
	asides  *budget // of lines about tasks that are set aside

	// deployment is what the hosts have agreed on, and trust whom the others
	// are; nil for a host that is alone.
	deployment jetstream.KeyValue
	trust      *trust
	untell     context.CancelFunc // ends telling the others the list
	unsign     context.CancelFunc // ends saying that this host lives
	still      standstill

	mu       sync.Mutex
	services []micro.Service
	heres    []string // subjects on which this host itself answers what its server is asked
	closing  bool     // no handler begins any more
}

// Start runs a server on the data directory and returns when it is ready: the
// streams are as they must be, and writes are proven to be synced. It blocks
// for some ten milliseconds, more when there is much to recover, and for some
// seconds a GiB that is stored: all of it is checked before the server opens it.
//
// In a cluster it waits for the other hosts until ctx ends, and says in the log
// what it waits for.
// It returns host/port when the address is taken, data/damaged, journal/chain
// or journal/behind when a stored stream is not what was written, data/sync when
// an acknowledged write was not on the disk, data/stream-missing and
// data/stream-drift with the stream's name, host/unavailable when the
// server does not come up, and cluster/no-quorum when ctx ends before enough
// hosts are there.
func Start(ctx context.Context, config Config) (*Broker, error) {
	config = config.withDefaults()
	if err := config.checkSizes(); err != nil {
		return nil, err
	}
	config, err := config.meet()
	if err != nil {
		return nil, err
	}
	if err := config.checkNetwork(); err != nil {
		return nil, err
	}
	if err := config.checkListen(ctx); err != nil {
		return nil, err
	}
	users, err := config.users()
	if err != nil {
		return nil, err
	}
	var trust *trust
	if config.clustered() && config.External == nil {
		if trust, err = newTrust(config.Dir, config.Logger); err != nil {
			return nil, err
		}
	}
	b := &Broker{
		config: config, log: config.Logger, users: users, gate: newGate(config.Logger, users), done: make(chan struct{}), broken: make(chan struct{}),
		asides: newBudget(strangeLines, strangeEvery), conns: map[string]*nats.Conn{}, js: map[string]jetstream.JetStream{}, workers: workers{made: map[string]bool{}},
		trust: trust,
	}
	for _, step := range []func(context.Context) error{b.serve, b.connect, b.shareList, b.awaitQuorum, b.proveSync, b.agree, b.enlist, b.ensureStreams, b.plant, b.forgetIntake, b.watchIdentities, b.keepPort, b.announce} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
		}
	}
	return b, nil
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.JournalBytes == 0 {
		c.JournalBytes = 20 << 30
	}
	if c.BlobBytes == 0 {
		c.BlobBytes = 20 << 30
	}
	return c
}

func (c Config) checkSizes() error {
	const least = 64 << 10
	partitions := int64(c.Dir.Manifest().Partitions)
	if c.JournalBytes < least*partitions || c.BlobBytes < least {
		return fault.New("usage/argument", "journals of %d bytes and blobs of %d: each of %d journals, and the blobs, need %d",
			c.JournalBytes, c.BlobBytes, partitions, least)
	}
	return nil
}

// anonymous says whether clients without credentials are let in.
func (c Config) anonymous() bool {
	if c.Listen == "" {
		return !c.RequireAuth // this process alone can connect
	}
	host, _, err := net.SplitHostPort(c.Listen)
	return err == nil && !c.RequireAuth && loopback(host)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// startWithin bounds recovery of the streams.
const startWithin = 2 * time.Minute

// serve starts the server.
func (b *Broker) serve(ctx context.Context) error {
	if b.config.External != nil {
		return nil
	}
	if err := os.MkdirAll(b.config.Dir.Path("jetstream"), 0o700); err != nil {
		return fault.New("data/permissions", "the store cannot be made").At(b.config.Dir.Path("jetstream")).Because(err)
	}
	if err := errors.Join(b.dropRest(), b.completeDescriptions()); err != nil {
		return err
	}
	if err := b.inspect(ctx); err != nil {
		return err
	}
	options, err := b.config.options(b.gate, b.trust)
	if err != nil {
		return err
	}
	s, err := server.NewServer(options)
	if err != nil {
		return fault.New("host/unavailable", "the embedded server refuses its configuration").Because(err)
	}
	logger := newServerLog(b.log, b.broken)
	s.SetLoggerV2(logger, false, false, false)
	b.server = s
	b.gate.guard(s)
	s.Start()
	go func() { s.WaitForShutdown(); close(b.done) }()
	for began := time.Now(); !s.ReadyForConnections(100 * time.Millisecond); {
		if reason := logger.reason(); reason != nil || time.Since(began) > startWithin {
			return fault.New("host/unavailable", "the embedded server does not come up").Because(reason)
		}
	}
	return nil
}

// reach connects as u.
func (b *Broker) reach(u user, options ...nats.Option) (*nats.Conn, error) {
	if b.config.External != nil {
		return b.config.External.dial(u, options...)
	}
	nc, err := nats.Connect("", append(append(u.options(), nats.InProcessServer(b.server)), options...)...)
	if err != nil {
		return nil, fault.New("host/unavailable", "no connection as %s %s", u.kind, u.account).Because(err)
	}
	return nc, nil
}

// connect opens the host's connections, one an account.
func (b *Broker) connect(ctx context.Context) error {
	for _, u := range b.users {
		if u.kind != host {
			continue
		}
		nc, err := b.reach(u, nats.Name("host"), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ErrorHandler(b.complain))
		if err != nil && b.config.External != nil && u.account == system {
			continue // it only asks there
		}
		if err != nil {
			return err
		}
		js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(answerWithin))
		if err != nil {
			return fmt.Errorf("broker: %w", err)
		}
		b.conns[u.account], b.js[u.account] = nc, js
	}
	if b.config.External != nil {
		return b.checkServers(ctx)
	}
	return nil
}

// watchIdentities keeps who may connect as the deployment has it, from now on.
func (b *Broker) watchIdentities(ctx context.Context) error {
	store := b.Identities()
	list, err := store.List(ctx)
	b.gate.admit(list, err) // at once, so that whoever finds the host finds itself known
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.unwatch = cancel
	b.running.Go(func() { b.gate.watch(watching, store) })
	return nil
}

// answerWithin bounds a request to the server whose context has no deadline.
const answerWithin = 5 * time.Second

// complain logs what a connection could not hand to anybody.
func (b *Broker) complain(_ *nats.Conn, sub *nats.Subscription, err error) {
	args := []any{"error", err}
	if sub != nil {
		args = append(args, "subject", sub.Subject)
	}
	b.log.Error("broker connection", args...)
}

// Core returns the host's connection to the account of journals and queues.
func (b *Broker) Core() *nats.Conn { return b.conns[core] }

// Tasked returns the host's connection to the account of what was published.
func (b *Broker) Tasked() *nats.Conn { return b.conns[tasked] }

// Edge returns the host's connection to the account of clients with credentials.
func (b *Broker) Edge() *nats.Conn { return b.conns[edge] }

// Control returns the host's connection to the account of the CEO.
func (b *Broker) Control() *nats.Conn { return b.conns[control] }

// URL returns where clients connect, or "" when there is no listener.
func (b *Broker) URL() string {
	if b.config.External != nil {
		return b.config.External.Servers
	}
	if b.config.Listen == "" {
		return ""
	}
	return reachable(b.server.ClientURL())
}

// Secure says whether clients connect with TLS.
func (b *Broker) Secure() bool { return b.config.TLS != nil }

// Done is closed when the server has stopped, by Close or by itself.
func (b *Broker) Done() <-chan struct{} { return b.done }

// Broken is closed when the server could not write to the disk. It never
// writes to that stream again: only a broker that is started anew does.
func (b *Broker) Broken() <-chan struct{} { return b.broken }

// Close stops the services, lets their handlers end, drains the connections
// and stops the server. It blocks until the server has written everything, or
// until ctx ends: then it stops the server without waiting for handlers.
func (b *Broker) Close(ctx context.Context) error {
	b.retract()
	for _, end := range []context.CancelFunc{b.unwatch, b.untell, b.unsign} {
		if end != nil {
			end()
		}
	}
	b.mu.Lock()
	services := b.services
	b.services = nil
	b.mu.Unlock()
	b.elsewhere()
	var errs []error
	for _, s := range services {
		errs = append(errs, s.Stop())
	}
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	b.still.stop()
	errs = append(errs, b.await(ctx))
	for _, nc := range b.conns {
		errs = append(errs, flush(ctx, nc))
		nc.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
	if b.config.External != nil {
		b.ended.Do(func() { close(b.done) })
	}
	return errors.Join(errs...)
}

// handle runs f beside the caller, unless the broker has begun to await the end
// of what runs: a service that was stopped still passes on what it had.
func (b *Broker) handle(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closing {
		b.running.Go(f)
	}
	return !b.closing
}

// await blocks until no handler runs.
func (b *Broker) await(ctx context.Context) error {
	ended := make(chan struct{})
	go func() { b.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("broker: handlers still run: %w", ctx.Err())
	}
}

// flush sends what is buffered, within a second.
func flush(ctx context.Context, nc *nats.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := nc.FlushWithContext(ctx); err != nil && !nc.IsClosed() {
		return fmt.Errorf("broker: flush: %w", err)
	}
	return nil
}
