// Package egress is an HTTP proxy that reaches the hosts of a list and no other.
//
// It promises that a connection goes to a host that is named, at a port that is
// named, and to the very address that was looked at: names are resolved once, and
// an address of the machine itself, of its link or of a private network is
// refused unless the list names the host with that port. Every host that was
// asked for is in its [Proxy.Report].
//
// It does not look into what goes through a tunnel: whoever may use it can send
// to a named host whatever that host takes.
package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// Bounds of one proxy, that is of one command.
const (
	maxConns    = 64               // at once
	maxReceived = int64(4) << 30   // bytes from all hosts
	maxSent     = int64(64) << 20  // bytes to all hosts: packages are fetched, not published
	maxListed   = 40               // hosts in a report
	dialTimeout = 20 * time.Second // for each address
	headTimeout = 20 * time.Second
	idleTimeout = 2 * time.Minute // without a byte in either direction
)

// Proxy serves one command. Its zero value reaches nothing.
type Proxy struct {
	// Allow is what it reaches.
	Allow List
	// Name says in answers and reports what Allow is called where a person sets it.
	Name string
	// Lookup resolves names; nil is the resolver of the system.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Own returns the addresses of this machine; nil asks the system.
	Own func() ([]netip.Addr, error)

	sent, received atomic.Int64
	slots          chan struct{}

	mu    sync.Mutex
	hosts map[string]*contact
	more  int // hosts that are not listed
}

// contact is what is known of a host that was asked for.
type contact struct {
	asked          int
	refusal        string // why, when it was last refused
	sent, received int64
}

// Serve answers on l until it is closed, and then ends what is under way.
func (p *Proxy) Serve(l net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.slots = make(chan struct{}, maxConns)
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: headTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0), // what a command sends is none of the host's log
	}
	_ = server.Serve(&gate{l, p.slots})
	_ = server.Close()
}

// gate accepts no more connections at once than there are slots.
type gate struct {
	net.Listener
	slots chan struct{}
}

func (g *gate) Accept() (net.Conn, error) {
	g.slots <- struct{}{}
	c, err := g.Listener.Accept()
	if err != nil {
		<-g.slots
		return nil, err
	}
	return &slotted{Conn: c, free: sync.OnceFunc(func() { <-g.slots })}, nil
}

type slotted struct {
	net.Conn
	free func()
}

func (s *slotted) Close() error {
	defer s.free()
	return s.Conn.Close()
}

// ServeHTTP opens a tunnel, or forwards a plain request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, port, ok := target(r)
	if !ok {
		http.Error(w, "loom: this is a proxy: CONNECT HOST:PORT, or GET http://HOST/PATH", http.StatusBadRequest)
		return
	}
	c := p.note(host, port)
	conn, err := p.dial(r.Context(), host, port)
	if err != nil {
		p.refuse(c, err)
		status := http.StatusBadGateway
		if errors.As(err, new(denial)) {
			status = http.StatusForbidden
		}
		http.Error(w, "loom: "+shown(host, port)+": "+err.Error(), status)
		return
	}
	counted := &meter{Conn: conn, p: p, c: c}
	defer counted.Close()
	if r.Method == http.MethodConnect {
		p.tunnel(w, r, counted)
		return
	}
	p.forward(w, r, counted)
}

// target returns where a request goes.
func target(r *http.Request) (host, port string, ok bool) {
	if r.Method == http.MethodConnect {
		host, port, err := net.SplitHostPort(r.Host)
		return host, port, err == nil && host != "" && port != ""
	}
	if !r.URL.IsAbs() || r.URL.Scheme != "http" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return "", "", false
	}
	return r.URL.Hostname(), cmp.Or(r.URL.Port(), "80"), r.URL.Hostname() != ""
}

// dial connects to a host that may be reached, at an address that may be: the
// one that was looked at, whatever the name means the next time.
func (p *Proxy) dial(ctx context.Context, host, port string) (net.Conn, error) {
	permit := p.Allow.permits(host, port)
	if permit == refused {
		return nil, denial("it is not among " + p.Name)
	}
	if p.sent.Load() >= maxSent || p.received.Load() >= maxReceived {
		return nil, errBound
	}
	ctx, cancel := context.WithTimeout(ctx, 3*dialTimeout)
	defer cancel()
	literal, named := address(host)
	addresses := []netip.Addr{literal}
	if !named {
		var err error
		if addresses, err = p.lookup(ctx, plainName(host)); err != nil {
			return nil, fmt.Errorf("its address is not known: %w", err)
		}
	}
	own := p.Own
	if own == nil {
		own = interfaces
	}
	mine, err := own()
	if err != nil {
		return nil, fmt.Errorf("the addresses of this machine are not known: %w", err)
	}
	addresses = slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool { return !mayDial(a, named, permit, mine) })
	if len(addresses) == 0 {
		return nil, denial("it has only addresses of this machine or of a private network, and no entry of " + p.Name + " names it with its port")
	}
	var errs []error
	for _, a := range addresses {
		d := net.Dialer{Timeout: dialTimeout}
		conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("it cannot be reached: %w", errors.Join(errs...))
}

func (p *Proxy) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if p.Lookup != nil {
		return p.Lookup(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// tunnel carries bytes both ways until one side ends.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request, to net.Conn) {
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	defer context.AfterFunc(r.Context(), func() { _, _ = from.Close(), to.Close() })()
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := io.Copy(to, buffered.Reader); err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
		if half, ok := to.(*meter).Conn.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	}()
	_, _ = io.Copy(from, to)
	_ = from.Close()
	<-done
}

// hopByHop are headers that are between a client and its proxy alone.
var hopByHop = []string{"Connection", "Proxy-Connection", "Proxy-Authorization", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// forward sends a plain request on, with its own host's name, and its answer back.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, to net.Conn) {
	out := r.Clone(r.Context())
	out.RequestURI, out.Host, out.Close, out.Body = "", r.URL.Host, true, nil
	out.ContentLength, out.TransferEncoding = 0, nil
	for _, name := range append(strings.Split(r.Header.Get("Connection"), ","), hopByHop...) {
		out.Header.Del(strings.TrimSpace(name))
	}
	transport := &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return to, nil },
		DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: idleTimeout, MaxResponseHeaderBytes: 1 << 20,
	}
	answer, err := transport.RoundTrip(out)
	if err != nil {
		http.Error(w, "loom: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	for _, name := range hopByHop {
		answer.Header.Del(name)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	if _, err := io.Copy(w, answer.Body); err != nil {
		panic(http.ErrAbortHandler) // the client must not take half of it for all
	}
}

// note counts that a host was asked for. Those beyond the bound share one entry.
func (p *Proxy) note(host, port string) *contact {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts == nil {
		p.hosts = map[string]*contact{}
	}
	at := shown(host, port)
	c := p.hosts[at]
	switch {
	case c != nil:
	case len(p.hosts) >= maxListed:
		p.more++
		c = &contact{}
	default:
		c = &contact{}
		p.hosts[at] = c
	}
	c.asked++
	return c
}

// shown is a host that a command has asked for, as it can be printed.
func shown(host, port string) string {
	name := plainName(host)
	if _, literal := address(name); !literal && !isName(name) {
		return fault.Echo(net.JoinHostPort(name, port))
	}
	return net.JoinHostPort(name, port)
}

func (p *Proxy) refuse(c *contact, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.refusal = err.Error()
}

// Report has a line for each host that was asked for, by name: those that were
// refused, and what went to and came from the others.
func (p *Proxy) Report() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for at, c := range p.hosts {
		if c.refusal != "" {
			lines = append(lines, fmt.Sprintf("asked for %s %s, refused: %s", at, times(c.asked), c.refusal))
			continue
		}
		lines = append(lines, fmt.Sprintf("asked for %s %s: %d bytes sent, %d received", at, times(c.asked), c.sent, c.received))
	}
	slices.Sort(lines)
	if p.more > 0 {
		lines = append(lines, fmt.Sprintf("asked %d times for further hosts", p.more))
	}
	return lines
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// meter is a connection to a host: it counts, ends it when a bound is met, and
// when nothing moves.
type meter struct {
	net.Conn
	p *Proxy
	c *contact
}

func (m *meter) Read(b []byte) (int, error) {
	_ = m.SetDeadline(time.Now().Add(idleTimeout))
	n, err := m.Conn.Read(b)
	return n, m.count(n, 0, err)
}

func (m *meter) Write(b []byte) (int, error) {
	if m.p.sent.Load()+int64(len(b)) > maxSent {
		_ = m.count(0, len(b), nil)
		return 0, errBound
	}
	_ = m.SetDeadline(time.Now().Add(idleTimeout))
	n, err := m.Conn.Write(b)
	return n, m.count(0, n, err)
}

// denial is why a host may not be reached.
type denial string

func (d denial) Error() string { return string(d) }

var errBound error = denial(fmt.Sprintf("a command may receive %d MiB and send %d", maxReceived>>20, maxSent>>20))

func (m *meter) count(received, sent int, err error) error {
	over := m.p.received.Add(int64(received)) > maxReceived
	over = m.p.sent.Add(int64(sent)) > maxSent || over
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.c.received, m.c.sent = m.c.received+int64(received), m.c.sent+int64(sent)
	if over {
		m.c.refusal = errBound.Error()
		return errBound
	}
	return err
}
