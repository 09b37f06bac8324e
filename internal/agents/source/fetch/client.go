package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/time/rate"

	"github.com/loomrun/loom/internal/base/fault"
)

// MaxPage is how much of an answer is taken when nobody says otherwise.
const MaxPage = 1 << 20 // bytes

const (
	maxRedirects = 5
	maxHeader    = 64 << 10 // bytes
	maxWait      = 10 * time.Second
	maxLookup    = 5 * time.Second
)

// Config says what a client may do.
type Config struct {
	// Hosts are the names that may be asked: "example.com", "*.example.com"
	// for all below it, or "*" for any name that leads to a public address.
	// Empty means none.
	Hosts []string

	// Keys are the parameters of an address that are keys: nobody is told their values.
	Keys []string

	// Agent is the User-Agent. Empty means "loom".
	Agent string

	// Header is sent with each request that goes to the first host asked.
	Header http.Header

	// Limits must all have room for a request; it waits up to 10 seconds for
	// that. None means no limit.
	Limits []*rate.Limiter

	// Most is how much of an answer is taken, in bytes; more is an error.
	// Zero means MaxPage.
	Most int64

	// Private permits addresses of private networks and of this machine, and
	// any port: for a server that the operator has named himself.
	Private bool

	// Roots are the authorities of TLS. Nil means the system's.
	Roots *x509.CertPool

	// Lookup finds the addresses of a name. Nil means the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	// Dial connects to an address that was checked. Nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client fetches pages. It may be used by several goroutines.
type Client struct {
	config Config
	http   *http.Client
	silent silences
}

// Page is what was fetched.
type Page struct {
	// URL is where it came from, after redirects.
	URL *url.URL
	// Type is the media type, as the server says.
	Type string
	Body []byte
}

// New returns a client.
func New(config Config) *Client {
	if config.Lookup == nil {
		config.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if config.Dial == nil {
		config.Dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	if config.Most == 0 {
		config.Most = MaxPage
	}
	if config.Agent == "" {
		config.Agent = "loom"
	}
	c := &Client{config: config}
	c.http = &http.Client{
		CheckRedirect: c.redirect,
		Transport: &http.Transport{
			Proxy:       nil, // a proxy would look names up by itself
			DialContext: c.dial, TLSClientConfig: &tls.Config{RootCAs: config.Roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeader, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 30 * time.Second,
		},
	}
	return c
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get fetches a page. It blocks until all of it is there, ctx ends, or a limit
// of requests leaves no room within 10 seconds, and returns source/denied for
// what may not be asked, source/rate, source/unavailable when the host was not
// reached, source/too-large, and for an answer other than 200 a
// [*StatusError].
func (c *Client) Get(ctx context.Context, address string) (*Page, error) {
	u, err := c.allowed(address)
	if err != nil {
		return nil, err
	}
	if err := c.silent.over(ctx, u.Hostname()); err != nil {
		return nil, err
	}
	if err := c.room(ctx); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, denied("url", "it is not an address of http or https")
	}
	for name, values := range c.config.Header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.config.Agent)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreached(ctx, u, err)
	}
	defer resp.Body.Close()
	return c.page(ctx, resp)
}

// page reads an answer.
func (c *Client) page(ctx context.Context, resp *http.Response) (*Page, error) {
	u := resp.Request.URL
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.config.Most+1))
	switch {
	case err != nil:
		return nil, unreached(ctx, u, err)
	case int64(len(body)) > c.config.Most:
		return nil, fault.New("source/too-large", "%s gave more than %d bytes", u.Hostname(), c.config.Most).At("url")
	case resp.StatusCode != http.StatusOK:
		c.silent.asked(u.Hostname(), resp)
		return nil, &StatusError{Host: u.Hostname(), Code: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After"), Body: body[:min(len(body), 4096)]}
	}
	p := &Page{URL: u, Type: resp.Header.Get("Content-Type"), Body: body}
	if watch, ok := ctx.Value(watcher{}).(func(address string, p *Page)); ok {
		watch(c.shown(u), p)
	}
	return p, nil
}

// watcher is the key of who watches, in a context.
type watcher struct{}

// Watched has each page that is fetched with the context told, with an address that has
// no key in it, before it is returned. Nobody may change the page.
func Watched(ctx context.Context, tell func(address string, p *Page)) context.Context {
	return context.WithValue(ctx, watcher{}, tell)
}

// shown is an address without keys.
func (c *Client) shown(u *url.URL) string {
	if len(c.config.Keys) == 0 {
		return u.String()
	}
	clean, values := *u, u.Query()
	for _, k := range c.config.Keys {
		values.Del(k)
	}
	clean.RawQuery = values.Encode()
	return clean.String()
}

// StatusError is an answer that is not the page.
type StatusError struct {
	Host       string
	Code       int
	RetryAfter string
	Body       []byte // its beginning
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answered %d %s", e.Host, e.Code, http.StatusText(e.Code))
}

// Fault is the refusal that the answer amounts to.
func (e *StatusError) Fault() *fault.Error {
	switch e.Code {
	case http.StatusTooManyRequests:
		f := fault.New("source/rate", "%s takes no more requests now", e.Host)
		if e.RetryAfter != "" {
			f.Want("it says to try again after %.20q", e.RetryAfter)
		}
		return f
	case http.StatusUnauthorized:
		return fault.New("source/credentials", "%s asks for credentials", e.Host)
	case http.StatusNotFound, http.StatusGone:
		return fault.New("source/unknown", "%s has nothing there", e.Host)
	}
	return fault.New("source/refused", "%s", e.Error())
}

// Explain turns any error of Get into a refusal.
func Explain(err error) error {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Fault()
	}
	return err
}

// room waits until all limits have room.
func (c *Client) room(ctx context.Context) error {
	for _, l := range c.config.Limits {
		r := l.Reserve()
		delay := r.Delay()
		if !r.OK() || delay > maxWait {
			r.Cancel()
			return fault.New("source/rate", "the limit of requests is reached").Want("there is room again in %s", delay.Round(time.Second))
		}
		if err := pause(ctx, delay); err != nil {
			r.Cancel()
			return err
		}
	}
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// redirect holds each step of the way to the same rules, waits until its host may be
// asked, and takes away what was meant for the first host.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return denied("url", "more than %d redirects", maxRedirects)
	}
	u, err := c.allowed(req.URL.String())
	if err != nil {
		return err
	}
	if via[0].URL.Scheme == "https" && u.Scheme != "https" {
		return denied("url", "the redirect to %s is not encrypted", u.Hostname())
	}
	if err := c.silent.over(req.Context(), u.Hostname()); err != nil {
		return err
	}
	if u.Host != via[0].URL.Host {
		for name := range c.config.Header {
			req.Header.Del(name)
		}
	}
	req.Header.Del("Referer") // it may hold a key
	return nil
}

// dial resolves a name, refuses it if any of its addresses is not public, and
// connects to one of those that were looked at.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	list, err := c.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		if !c.config.Private && !Public(a) {
			return nil, denied("url", "%s leads to an address of a private network or of this machine", host)
		}
	}
	for _, a := range list {
		conn, failed := c.config.Dial(ctx, network, netip.AddrPortFrom(a.Unmap(), portOf(port)).String())
		if failed == nil {
			return conn, nil
		}
		err = failed
	}
	return nil, err
}

func (c *Client) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxLookup)
	defer cancel()
	list, err := c.config.Lookup(ctx, host)
	if err == nil && len(list) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return list, err
}

func portOf(text string) uint16 {
	var p uint16
	if _, err := fmt.Sscan(text, &p); err != nil {
		return 0
	}
	return p
}

// unreached says why there is no answer, by the host alone.
func unreached(ctx context.Context, u *url.URL, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why := "the connection failed"
	_, dns := errors.AsType[*net.DNSError](err)
	network, isNet := errors.AsType[net.Error](err)
	certificate, isCert := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case dns:
		why = "its name is not known here"
	case isCert:
		why = "its certificate is not valid: " + certificate.Err.Error()
	case isNet && network.Timeout():
		why = "it did not answer in time"
	}
	return fault.New("source/unavailable", "%s was not reached: %s", u.Hostname(), why).
		Want("go on without it, and say so")
}
