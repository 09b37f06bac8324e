package web

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/session"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Services are what a host answers, by name, as it does over NATS.
type Services interface {
	// Call asks a service. The body is protobuf, or JSON if the content type
	// says so. It returns nil when there is no such service.
	Call(ctx context.Context, name string, from *loomv1.Identity, contentType string, body []byte) proto.Message
	// Watch returns a channel that is sent to when there may be new notices,
	// until stop is called. It may be sent to for no reason.
	Watch() (wake <-chan struct{}, stop func())
	// Live calls fn with what models write just now in a project, or in any where that
	// is empty, until stop is called. fn must not block.
	Live(project string, fn func(*loomv1.Writing)) (stop func(), err error)
	// Ready says what a host needs to be ready, and what of it is not.
	Ready(ctx context.Context) []Part
}

// Part is something that a host needs to be ready.
type Part struct {
	Name string `json:"name"`
	// Code says why it is not ready; empty if it is.
	Code string `json:"code,omitempty"`
}

// Keys know the bearer tokens.
type Keys interface {
	// Check returns the name of the token with this secret, token/unknown if
	// there is none, or token/scope if it has none of the scopes.
	Check(secret string, scopes ...string) (string, error)
}

// Client is who has shown a token, or has signed in with a browser.
type Client struct {
	// Name is "token-NAME" or "session-NAME".
	Name string
	// Scopes that it has, of read, submit and operate.
	Scopes []string
}

// Identity is on whose behalf the client asks for something that needs a scope.
func (c Client) Identity(scope string) *loomv1.Identity {
	kind := loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER
	if scope == endpoint.Operate {
		kind = loomv1.IdentityKind_IDENTITY_KIND_OPERATOR
	}
	return &loomv1.Identity{Kind: kind, Name: c.Name}
}

// Config says how to serve. Listen, Services and Keys are required.
type Config struct {
	// Listen is the address, HOST:PORT; port 0 chooses a free one.
	Listen string
	// TLS is what connections are accepted with. Nil speaks plain HTTP, which is
	// refused on addresses that are not loopback, unless Insecure.
	TLS *tls.Config
	// Insecure serves plain HTTP to the network.
	Insecure bool
	// Hosts are names that requests may be for, NAME or NAME:PORT, beside those
	// of loopback.
	Hosts    []string
	Services Services
	Keys     Keys
	// Sessions are those of browsers. Nil lets nobody sign in with one.
	Sessions *session.Keeper
	// Page has the files that a browser shows at the root. Nil shows none.
	Page fs.FS
	// Clean returns an error as it may be told to whoever asks. Nil tells all.
	Clean func(error) error
	// MCP serves the Model Context Protocol to a client. Nil answers that it is
	// not served.
	MCP func(Client) http.Handler
	// Meters are shown at /metrics. Nil shows those of the process alone.
	Meters *Meters
	// Logger receives what went wrong inside. Nil discards it.
	Logger *slog.Logger
	// Now is the clock that requests are counted by. Nil is time.Now.
	Now func() time.Time
}

// Limits of the interface.
const (
	maxHeader  = 16 << 10
	maxBody    = 1 << 20
	maxStreams = 64 // of each token and session
	perSecond  = 20 // requests of each token

	perSecondPage = 100 // of each session: all tabs of a browser

	headerWithin = 5 * time.Second
	answerWithin = 30 * time.Second
	slowWithin   = 90 * time.Second // of what may read a journal
	idleFor      = 60 * time.Second
	beat         = 5 * time.Second // how often a stream is looked after
	writeWithin  = 10 * time.Second
)

// Server is a running interface.
type Server struct {
	config   Config
	log      *slog.Logger
	http     *http.Server
	listener net.Listener
	named    bool               // "localhost" leads to nobody else
	stop     context.CancelFunc // ends streams
	streams  context.Context
	hosts    []string // names that a request may be for
	callers  callers
	ready    readiness
	// description is made when it is first asked for.
	description func() []byte
	serving     sync.WaitGroup
	once        sync.Once
}

// Start serves until Stop is called. It returns host/insecure for an address
// that is not on loopback and has no TLS, host/port for one that is taken.
func Start(ctx context.Context, c Config) (*Server, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Meters == nil {
		c.Meters = NewMeters()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.TLS != nil { // one connection for all tabs of a browser, where it can
		c.TLS = c.TLS.Clone()
		c.TLS.NextProtos = []string{"h2", "http/1.1"}
	}
	listener, err := c.listen(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, log: c.Logger, listener: listener, hosts: c.names(listener.Addr()), description: sync.OnceValue(describe)}
	s.streams, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headerWithin, ReadTimeout: answerWithin, IdleTimeout: idleFor,
		MaxHeaderBytes:               maxHeader - 4096, // the library reads 4 KiB more
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	serve := func(l net.Listener) {
		s.serving.Go(func() {
			if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				s.log.Error("HTTP is not served any more", "error", err)
			}
		})
	}
	serve(listener)
	twin, named := c.twin(ctx, listener.Addr())
	if s.named = named; twin != nil {
		serve(twin)
	}
	return s, nil
}

// twin listens on the other loopback address at the same port, where the first is on one
// of them, and reports whether "localhost" then leads to nobody else: browsers try both
// addresses, and any account of the machine could be at the one that was left free. A
// machine without the other family has nobody there.
func (c Config) twin(ctx context.Context, first net.Addr) (l net.Listener, named bool) {
	host, port, _ := net.SplitHostPort(first.String())
	other, is := map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"}[host]
	if !is {
		return nil, c.TLS != nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(other, port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		c.Logger.Warn("another program has the port on the other loopback address: browsers are sent to the address, not to localhost", "address", net.JoinHostPort(other, port))
		return nil, false
	case err != nil:
		return nil, true
	case c.TLS != nil:
		l = tls.NewListener(l, c.TLS)
	}
	return l, true
}

func (c Config) listen(ctx context.Context) (net.Listener, error) {
	address := c.Listen
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fault.New("usage/argument", "not HOST:PORT").At("http").Got(address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) && c.TLS == nil {
		if !c.Insecure {
			return nil, fault.New("host/insecure", "HTTP would be open to the network without TLS").At("--http").Got(address).
				Want("make a certificate with \"loom auth tls init --host NAME\", or give --tls-cert and --tls-key")
		}
		c.Logger.Warn("HTTP IS OPEN TO THE NETWORK WITHOUT TLS: tokens can be read on their way", "address", address)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fault.New("host/port", "address is taken").At("http").Got(address).Want("name another, port 0 for a free one, or \"off\"")
	}
	if err != nil {
		return nil, fault.New("host/port", "address cannot be listened on").At("http").Got(address).Because(err)
	}
	if c.TLS != nil {
		l = tls.NewListener(l, c.TLS)
	}
	return l, nil
}

// names are the names under which clients reach an address. Others are
// refused: a page that has its own name resolve to it would send them.
func (c Config) names(a net.Addr) []string {
	_, port, _ := net.SplitHostPort(a.String())
	list := []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("localhost", port), net.JoinHostPort("loom.localhost", port), net.JoinHostPort("::1", port), a.String()}
	for _, h := range c.Hosts {
		if _, _, err := net.SplitHostPort(h); err == nil {
			list = append(list, strings.ToLower(h))
			continue
		}
		list = append(list, strings.ToLower(net.JoinHostPort(h, port)))
		if c.TLS != nil && port == "443" || c.TLS == nil && port == "80" {
			list = append(list, strings.ToLower(h)) // browsers leave it out
		}
	}
	return list
}

// URL returns where the interface is, for clients of this machine.
func (s *Server) URL() string {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return s.scheme() + net.JoinHostPort(host, port)
}

// PageURL returns where browsers of this machine find the interface: by name, which
// passkeys want, where nobody else can be there by that name.
func (s *Server) PageURL() string {
	base := s.URL()
	for _, address := range []string{"127.0.0.1", "[::1]"} {
		if rest, is := strings.CutPrefix(base, s.scheme()+address+":"); is && s.named {
			return s.scheme() + "localhost:" + rest
		}
	}
	return base
}

func (s *Server) scheme() string {
	if s.config.TLS != nil {
		return "https://"
	}
	return "http://"
}

// Stop ends streams with a comment, lets requests end until ctx does, and
// returns when nothing is served any more. It may be called again.
func (s *Server) Stop(ctx context.Context) {
	s.once.Do(func() {
		s.stop()
		if err := s.http.Shutdown(ctx); err != nil {
			_ = s.http.Close()
		}
		s.serving.Wait()
	})
}
