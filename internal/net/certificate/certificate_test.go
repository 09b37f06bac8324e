package certificate_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/certificate"
)

// made is a directory with an authority and a certificate.
func made(t *testing.T, names ...string) (string, certificate.Made) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tls")
	m, err := certificate.Init(dir, dir, names, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return dir, m
}

func open(t *testing.T, m certificate.Made) *certificate.Server {
	t.Helper()
	s, err := certificate.Open(m.Certificate, m.Key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shake connects a client to a server and returns what the client says.
func shake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.(*tls.Conn).HandshakeContext(t.Context())
			_ = c.Close()
		}
	}()
	c, err := (&tls.Dialer{Config: client}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err == nil {
		_ = c.Close()
	}
	return err
}

func trust(t *testing.T, file, name string) *tls.Config {
	t.Helper()
	pem, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	config, err := certificate.Trust(pem)
	if err != nil {
		t.Fatal(err)
	}
	config.ServerName = name
	return config
}

func TestSEC01_ACertificateIsTrustedForItsNamesAlone(t *testing.T) {
	_, m := made(t, "loom.example.com", "192.0.2.7")
	_, other := made(t)
	server := open(t, m)
	if !slices.Contains(server.Names(), "loom.example.com") || !slices.Contains(server.Names(), "127.0.0.1") {
		t.Errorf("names %v", server.Names())
	}
	for _, tt := range []struct {
		trusts, name string
		good         bool
	}{
		{m.Authority, "loom.example.com", true},
		{m.Authority, "192.0.2.7", true},
		{m.Authority, "localhost", true},
		{m.Authority, "evil.example.com", false},
		{other.Authority, "loom.example.com", false},
	} {
		if err := shake(t, server.Config(), trust(t, tt.trusts, tt.name)); (err == nil) != tt.good {
			t.Errorf("as %s: %v, want good: %t", tt.name, err, tt.good)
		}
	}
	exactly, err := certificate.TrustExactly(m.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	if err := shake(t, server.Config(), exactly); err != nil {
		t.Errorf("the machine's own client: %v", err)
	}
	if err := shake(t, open(t, other).Config(), exactly); err == nil {
		t.Error("the machine's own client trusts another server")
	}
	old := trust(t, m.Authority, "localhost")
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if err := shake(t, server.Config(), old); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
}

func TestSEC01_ARenewedCertificateIsShownAtOnce(t *testing.T) {
	dir, m := made(t)
	server := open(t, m)
	client := trust(t, m.Authority, "new.example.com")
	if err := shake(t, server.Config(), client); err == nil {
		t.Fatal("trusted for a name that it has not")
	}
	again, err := certificate.Init(dir, dir, []string{"new.example.com"}, time.Now())
	if err != nil || again.NewAuthority {
		t.Fatalf("Init again: %+v, %v; want the same authority", again, err)
	}
	if err := os.Chtimes(m.Certificate, time.Now(), time.Now().Add(time.Minute)); err != nil { // disks with coarse clocks
		t.Fatal(err)
	}
	if err := shake(t, server.Config(), client); err != nil {
		t.Errorf("after the renewal: %v", err)
	}
}

func TestSEC01_AnotherHostGetsItsCertificateFromTheSameAuthority(t *testing.T) {
	dir, m := made(t)
	second := filepath.Join(t.TempDir(), "tls")
	other, err := certificate.Init(second, dir, []string{"h2.example.com"}, time.Now())
	if err != nil || other.NewAuthority {
		t.Fatalf("Init: %+v, %v", other, err)
	}
	if err := shake(t, open(t, other).Config(), trust(t, m.Authority, "h2.example.com")); err != nil {
		t.Errorf("a client of the first: %v", err)
	}
	if _, err := os.Stat(filepath.Join(second, "ca.key")); err == nil {
		t.Error("the authority's key was copied")
	}
	if _, err := certificate.Init(filepath.Join(t.TempDir(), "tls"), t.TempDir(), nil, time.Now()); fault.Code(err) != "data/permissions" {
		t.Errorf("from a directory without an authority: %v, want data/permissions", err)
	}
}

func TestSEC01_FilesThatCannotBeTrustedAreRefused(t *testing.T) {
	_, m := made(t)
	for _, f := range []string{m.Key, m.Certificate, filepath.Join(filepath.Dir(m.Key), "ca.key")} {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 0600", f, info, err)
		}
	}
	if err := os.Chmod(m.Key, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := certificate.Open(m.Certificate, m.Key); fault.Code(err) != "data/permissions" {
		t.Errorf("a key that others can read: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "tls")
	old, err := certificate.Init(dir, dir, nil, time.Now().Add(-366*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := certificate.Open(old.Certificate, old.Key); fault.Code(err) != "data/permissions" {
		t.Errorf("an expired certificate: %v", err)
	}
	for _, name := range []string{"", "a b", "-", "http://x"} {
		if _, err := certificate.Init(dir, dir, []string{name}, time.Now()); fault.Code(err) != "usage/argument" {
			t.Errorf("a certificate for %q: %v, want usage/argument", name, err)
		}
	}
}

func TestSEC01_Loopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:4222": true, "localhost:1": true, "[::1]:0": true, "127.9.9.9:1": true, "::1": true,
		"0.0.0.0:4222": false, ":4222": false, "[::]:1": false, "192.0.2.1:1": false, "example.com:1": false, "": false,
	} {
		if got := certificate.Loopback(address); got != want {
			t.Errorf("Loopback(%q) = %t", address, got)
		}
	}
}
