package natswire

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/proto/subject"
)

// Config says who a host is. Host and Epoch are required.
type Config struct {
	// Host is the host's name, a token (see package subject) that no other
	// host of the deployment has.
	Host string

	// Epoch is greater than that of all earlier starts of the host, and not 0.
	Epoch uint64

	// Requests is how many requests to one name a host works on at once; what
	// is more is refused, and tried again by whoever asks. Zero means 256.
	Requests int

	// Window is how many messages to the actors of another host may be on
	// their way. Zero means 4,096.
	Window int

	// Mailbox is how many messages may wait in the mailbox of an actor before
	// no more are taken for it from other hosts. Zero means 1,000.
	Mailbox int

	// Refresh is how often other hosts are reminded of who watches their
	// actors, so that a lost word of an end comes after all. Zero means 5
	// seconds.
	Refresh time.Duration

	// Silence is how long a caller waits without a sign of life from whoever
	// bears a name before it asks again. Zero means 3 seconds; less than 100
	// ms is an error. All hosts of a deployment should agree on it.
	Silence time.Duration

	// Logger receives what is lost or refused. Nil discards it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Requests == 0 {
		c.Requests = 256
	}
	if c.Window == 0 {
		c.Window = 4096
	}
	if c.Mailbox == 0 {
		c.Mailbox = 1000
	}
	if c.Refresh == 0 {
		c.Refresh = 5 * time.Second
	}
	if c.Silence == 0 {
		c.Silence = 3 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) check() error {
	if _, err := subject.Parse("host", c.Host); err != nil {
		return err
	}
	if c.Epoch == 0 || c.Requests < 1 || c.Window < 1 || c.Mailbox < 1 || c.Refresh < 0 || c.Silence < 100*time.Millisecond {
		return fault.New("usage/argument", "epoch %d, %d requests, window %d, mailbox %d, refresh %v, silence %v: all must be positive, the last at least 100ms",
			c.Epoch, c.Requests, c.Window, c.Mailbox, c.Refresh, c.Silence)
	}
	return nil
}

// Wire is a host's end of the wire. Its methods may be called from many
// goroutines.
type Wire struct {
	config  Config
	log     *slog.Logger
	nc      *nats.Conn
	system  *actor.ActorSystem
	address string
	replies *replies
	over    context.Context // ends with Close
	stop    context.CancelFunc

	sub     *nats.Subscription // to what is sent to its actors
	running sync.WaitGroup

	mu      sync.Mutex
	names   map[*name]bool // that it bears
	remotes map[string]*remote
	watches map[pair]*actor.PID // who of this host watches whom
	dead    map[string]uint64   // newest epoch of each host that is over
}

// Start puts a host on the wire: from when it returns, its actors have
// addresses that all hosts understand, and it can ask and bear names. Call it
// before any actor of system runs: it gives the system its address. A system
// can be put on the wire once. Without one (nil) there are names alone, and
// Serve, HostAlive and HostDead must not be called. The connection stays the
// caller's, and must be open until Close.
//
// It returns id/malformed and usage/argument for a wrong Config, and
// host/unavailable when the connection is closed.
func Start(system *actor.ActorSystem, nc *nats.Conn, config Config) (*Wire, error) {
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	w := &Wire{
		config: config, log: config.Logger.With("host", config.Host, "epoch", config.Epoch), nc: nc, system: system,
		address: Address(config.Host, config.Epoch), names: map[*name]bool{}, remotes: map[string]*remote{},
		watches: map[pair]*actor.PID{}, dead: map[string]uint64{config.Host: config.Epoch - 1},
	}
	w.over, w.stop = context.WithCancel(context.Background())
	if err := w.connect(); err != nil {
		w.Close()
		return nil, fault.New("host/unavailable", "host %s cannot be put on the wire", config.Host).Because(err)
	}
	return w, nil
}

// connect begins to listen.
func (w *Wire) connect() (err error) {
	if w.replies, err = listen(w.nc); err != nil || w.system == nil {
		return err
	}
	w.system.ProcessRegistry.Address = w.address
	w.system.ProcessRegistry.RegisterAddressResolver(w.resolve)
	subj := subject.Actor(subject.Must(w.config.Host), w.config.Epoch)
	if w.sub, err = w.nc.Subscribe(subj, w.heard); err != nil {
		return err
	}
	// What other hosts may have on their way, unless there are very many.
	if err := w.sub.SetPendingLimits(8*w.config.Window, 64<<20); err != nil {
		return err
	}
	w.running.Go(w.refresh)
	return w.nc.Flush()
}

// Close takes the host off the wire: names that it bears are free, and its
// actors are gone for all others. It ends the contexts of requests that are
// worked on and waits until they are. It may be called more than once.
func (w *Wire) Close() {
	w.mu.Lock()
	w.stop()
	names := maps.Clone(w.names)
	w.mu.Unlock()
	for n := range names {
		n.end()
	}
	w.running.Wait()
	for _, sub := range []*nats.Subscription{w.sub, w.replies.sub} {
		if sub != nil {
			_ = sub.Unsubscribe() // it fails only when the connection is gone
		}
	}
}

// Address returns the address of the actors of one start of a host.
func Address(host string, epoch uint64) string {
	return scheme + host + "." + uitoa(epoch)
}

const scheme = "nats://"

// parseAddress is the opposite of Address.
func parseAddress(address string) (host string, epoch uint64, ok bool) {
	rest, ok := strings.CutPrefix(address, scheme)
	if !ok {
		return "", 0, false
	}
	host, number, ok := strings.Cut(rest, ".")
	if !ok {
		return "", 0, false
	}
	if _, err := subject.Parse("host", host); err != nil {
		return "", 0, false
	}
	epoch, ok = atou(number)
	return host, epoch, ok
}
