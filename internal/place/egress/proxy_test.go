package egress_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/place/egress"
)

// index is a server of packages, and the port that it is at.
func index(t *testing.T, start func(http.Handler) *httptest.Server) (*httptest.Server, string) {
	t.Helper()
	s := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s for %s by %q", r.Method, r.URL, r.Host, r.Header.Get("Proxy-Authorization"))
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s, u.Port()
}

// through returns a client of a proxy, and the proxy.
func through(t *testing.T, p *egress.Proxy) *http.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		p.Serve(l)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-served
	})
	at := &url.URL{Scheme: "http", Host: l.Addr().String(), User: url.UserPassword("user", "password")}
	transport := &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the certificate of a test
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// resolver knows names by a table.
func resolver(table map[string]string) func(context.Context, string) ([]netip.Addr, error) {
	return func(_ context.Context, host string) (all []netip.Addr, err error) {
		for a := range strings.FieldsSeq(table[host]) {
			all = append(all, netip.MustParseAddr(a))
		}
		if len(all) == 0 {
			return nil, errors.New("no such host")
		}
		return all, nil
	}
}

func get(t *testing.T, c *http.Client, at string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(body))
}

func TestREAL02_NamedHostsAreReached(t *testing.T) {
	plain, at := index(t, httptest.NewServer)
	_ = plain
	_, secure := index(t, httptest.NewTLSServer)
	p := &egress.Proxy{Allow: egress.List{"index.example:" + at, "index.example:" + secure}, Name: "the list", Lookup: resolver(map[string]string{"index.example": "127.0.0.1"})}
	c := through(t, p)
	if got, want := get(t, c, "http://INDEX.example:"+at+"/a?b=c"), "GET /a?b=c for INDEX.example:"+at+` by ""`; got != want {
		t.Errorf("a plain request: %q, want %q", got, want)
	}
	if got, want := get(t, c, "https://index.example:"+secure+"/a"), "GET /a for index.example:"+secure+` by ""`; got != want {
		t.Errorf("through a tunnel: %q, want %q", got, want)
	}
	c.CloseIdleConnections()
	report := strings.Join(p.Report(), "\n")
	for _, port := range []string{at, secure} {
		if !strings.Contains(report, "asked for index.example:"+port+" once: ") || strings.Contains(report, " 0 received") {
			t.Errorf("the report: %s", report)
		}
	}
}

// What is not named, and what a name resolves to that must not be reached.
func TestREAL02_OtherHostsAreRefused(t *testing.T) {
	_, at := index(t, httptest.NewServer)
	names := map[string]string{
		"here.example": "127.0.0.1", "metadata.example": "169.254.169.254", "inside.example": "10.0.0.7 fd00::7",
		"mapped.example": "::ffff:127.0.0.1", "nat.example": "64:ff9b::7f00:1", "carrier.example": "100.64.1.1", "nowhere.example": "0.0.0.0 ::",
		"rebound.example": "127.0.0.1", "own.example": "203.0.113.7 2001:db8::7", "site.example": "fec0::1", "teredo.example": "2001::1",
	}
	var allow egress.List
	for name := range names {
		allow = append(allow, name)
	}
	allow = append(allow, "metadata.example:"+at)
	own := func() ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")}, nil
	}
	p := &egress.Proxy{Allow: allow, Name: "the list", Lookup: resolver(names), Own: own}
	c := through(t, p)
	const other, within = "it is not among the list", "only addresses of this machine or of a private network"
	for _, tt := range []struct{ url, want string }{
		{"http://evil.example/", other},
		{"http://127.0.0.1:" + at, other},
		{"http://[::1]:" + at, other},
		{"http://2130706433:" + at, other},
		{"http://here.example:" + at, other}, // named without a port: 80 and 443 alone
		{"http://sub.here.example/", other},
		{"http://here.example.evil.example/", other},
		{"http://here.example/", within},
		{"http://here.example./", within},
		{"http://metadata.example/", within},
		{"http://metadata.example:" + at, within}, // not even with its port
		{"http://inside.example/", within},
		{"http://mapped.example/", within},
		{"http://nat.example/", within},
		{"http://carrier.example/", within},
		{"http://nowhere.example/", within},
		{"http://own.example/", within}, // public, and this machine's
		{"http://site.example/", within},
		{"http://teredo.example/", within},
	} {
		if got := get(t, c, tt.url); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q in it", tt.url, got, tt.want)
		}
	}
	if got := get(t, c, "https://evil.example/"); !strings.Contains(got, "Forbidden") {
		t.Errorf("a tunnel: %q", got)
	}
	if report := p.Report(); !slices.Contains(report, "asked for evil.example:443 once, refused: it is not among the list") {
		t.Errorf("the report: %q", report)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://here.example/", strings.NewReader("a secret"))
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := c.Do(r); err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a plain request that sends something: %v, %v", answer, err)
	}
}

// A name is resolved once: what it means the next time is looked at anew and
// never connected to unseen.
func TestREAL02_TheAddressThatWasLookedAtIsDialed(t *testing.T) {
	_, at := index(t, httptest.NewServer)
	asked := 0
	p := &egress.Proxy{Allow: egress.List{"rebound.example:" + at}, Name: "the list", Lookup: func(context.Context, string) ([]netip.Addr, error) {
		asked++
		return []netip.Addr{netip.MustParseAddr([]string{"127.0.0.1", "169.254.169.254"}[asked-1])}, nil
	}}
	c := through(t, p)
	if got := get(t, c, "http://rebound.example:"+at); !strings.HasPrefix(got, "GET / ") || asked != 1 {
		t.Errorf("%q, resolved %d times", got, asked)
	}
	if got := get(t, c, "http://rebound.example:"+at); !strings.Contains(got, "only addresses of this machine") {
		t.Errorf("%q", got)
	}
}

// A bound on bytes ends a connection, and the report says so.
func TestREAL02_WhatIsSentIsBounded(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	}))
	t.Cleanup(s.Close)
	u, _ := url.Parse(s.URL)
	p := &egress.Proxy{Allow: egress.List{u.Host}, Name: "the list"}
	c := through(t, p)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, io.LimitReader(zeros{}, 80<<20))
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := c.Do(r); err == nil {
		_ = answer.Body.Close()
		t.Errorf("80 MiB went through: %v", answer.Status)
	}
	if report := strings.Join(p.Report(), "\n"); !strings.HasSuffix(report, "refused: a command may receive 4096 MiB and send 64") {
		t.Errorf("the report: %s", report)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestREAL02_AListHasNamesOfHosts(t *testing.T) {
	for entry, sound := range map[string]bool{
		"registry.npmjs.org": true, "Registry.npmjs.org.": true, "localhost:8080": true, "127.0.0.1:8080": true, "[::1]:8080": true,
		"": false, "*": false, "*.npmjs.org": false, "https://registry.npmjs.org": false, "registry.npmjs.org/": false,
		"127.0.0.1": false, "::1": false, "127.1": false, "127.1:80": false, "0x7f.0x1:80": false, "host:0": false, "host:65536": false, "host:": false, "host:http": false, "a b": false, "a..b": false,
	} {
		if err := (egress.List{entry}).Check(); (err == nil) != sound {
			t.Errorf("%q: %v, want sound: %t", entry, err, sound)
		}
	}
	if err := make(egress.List, 65).Check(); err == nil {
		t.Error("65 hosts were taken")
	}
	if diff := cmp.Diff([]string(nil), (&egress.Proxy{}).Report()); diff != "" {
		t.Error(diff)
	}
}
