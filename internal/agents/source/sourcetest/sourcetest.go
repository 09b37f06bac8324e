// Package sourcetest plays the Internet for tests of sources: names that lead
// to public addresses, and connections to those that end at local servers.
package sourcetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/source/fetch"
)

// Internet is hosts by name. It may be used by several goroutines.
type Internet struct {
	mu    sync.Mutex
	names map[string][]netip.Addr
	hosts map[string]string // address and port, and where it is here
	roots *x509.CertPool
	dials []string
	t     testing.TB
}

// New returns an Internet without hosts.
func New(t testing.TB) *Internet {
	return &Internet{names: map[string][]netip.Addr{}, hosts: map[string]string{}, roots: x509.NewCertPool(), t: t}
}

// Name gives a name addresses, without a server behind them.
func (i *Internet) Name(name string, addresses ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range addresses {
		i.names[name] = append(i.names[name], netip.MustParseAddr(a))
	}
}

// Serve puts a server at a name, for https and http, until the test ends.
func (i *Internet) Serve(name string, h http.Handler) {
	i.mu.Lock()
	defer i.mu.Unlock()
	address := fmt.Sprintf("93.184.215.%d", len(i.names)+1)
	i.names[name] = []netip.Addr{netip.MustParseAddr(address)}
	secure, plain := httptest.NewUnstartedServer(h), httptest.NewServer(h)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(i.t, name)}}
	secure.StartTLS()
	i.t.Cleanup(secure.Close)
	i.t.Cleanup(plain.Close)
	i.roots.AddCert(secure.Certificate())
	i.hosts[address+":443"], i.hosts[address+":80"] = secure.Listener.Addr().String(), plain.Listener.Addr().String()
}

// certificate makes one for a name.
func certificate(t testing.TB, name string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Config fills in what connects a client to this Internet.
func (i *Internet) Config(c fetch.Config) fetch.Config {
	c.Lookup, c.Dial, c.Roots = i.lookup, i.dial, i.roots
	return c
}

// Dials returns the addresses that were connected to.
func (i *Internet) Dials() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string{}, i.dials...)
}

func (i *Internet) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	list, ok := i.names[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return list, nil
}

func (i *Internet) dial(ctx context.Context, network, address string) (net.Conn, error) {
	i.mu.Lock()
	i.dials = append(i.dials, address)
	local, ok := i.hosts[address]
	i.mu.Unlock()
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("nothing at %s", address)}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, local)
}
