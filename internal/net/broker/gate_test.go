package broker_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/store/datadir"
)

// closed returns a channel that is closed when the server has ended a
// connection for good.
func closed() (nats.Option, <-chan struct{}) {
	c := make(chan struct{})
	return nats.ClosedHandler(func(*nats.Conn) { close(c) }), c
}

// TestSEC01_RevokedIsRefusedWithinFiveSeconds also of connections that are open.
func TestSEC01_RevokedIsRefusedWithinFiveSeconds(t *testing.T) {
	o := listen(t)
	for kind, change := range map[string]func() error{
		"publisher": func() error { return identity.Revoke(t.Context(), o.store(), "ci", time.Now()) },
		"observer": func() error {
			_, _, err := identity.Rotate(t.Context(), o.store(), "eve", 0, time.Now())
			return err
		},
		"control": func() error { return identity.Revoke(t.Context(), o.store(), "ann", time.Now()) },
	} {
		handler, ended := closed()
		nc, err := o.dial(t, kind, handler, nats.MaxReconnects(1), nats.ReconnectWait(time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended: // the server ended it, and did not let it in again
		case <-time.After(2 * time.Minute):
			t.Errorf("%s: the connection is still open", kind)
		}
		if !nc.IsClosed() {
			t.Errorf("%s: the connection is not closed", kind)
		}
	}
	if _, err := o.dial(t, "narrow"); err != nil {
		t.Errorf("another identity is refused: %v", err)
	}
}

func TestSEC01_ExpiredIsRefused(t *testing.T) {
	path := t.TempDir()
	dir, err := datadir.Config{Path: path, Partitions: 2}.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	const life = 10 * time.Second
	_, secrets, err := identity.Add(t.Context(), identity.NewFile(path), identity.Request{Name: "short", Kind: identity.Publisher, Life: life}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b, _ := start(t, path, broker.Config{Listen: "127.0.0.1:0"})
	handler, ended := closed()
	if _, err := broker.DialAs(identity.Credentials{Name: "short", Kind: identity.Publisher, Secrets: secrets}, b.URL(), false, handler, nats.NoReconnect()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Error("the connection outlives its identity")
	}
}

// TestSEC01_AListThatCannotBeTrustedLetsNobodyIn and puts out those who are in.
func TestSEC01_AListThatCannotBeTrustedLetsNobodyIn(t *testing.T) {
	o := listen(t)
	handler, ended := closed()
	if _, err := o.dial(t, "publisher", handler, nats.MaxReconnects(1), nats.ReconnectWait(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(o.path, identity.FileName), 0o644); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Error("the connection is still open")
	}
	nc, err := broker.Dial(o.path)
	if err != nil {
		t.Fatalf("the operator of this machine is refused, too: %v", err)
	}
	nc.Close()
}

// secure is a broker with TLS, and the authority of its certificate.
func secure(t *testing.T) (open, identity.Credentials) {
	t.Helper()
	path := t.TempDir()
	made, err := certificate.Init(filepath.Join(path, "tls"), filepath.Join(path, "tls"), nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server, err := certificate.Open(made.Certificate, made.Key)
	if err != nil {
		t.Fatal(err)
	}
	b, dir := start(t, path, broker.Config{Listen: "0.0.0.0:0", TLS: server})
	o := open{b, path, nil}
	u, secrets, err := identity.Add(t.Context(), o.store(), identity.Request{Name: "remote", Kind: identity.CEO}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(made.Authority)
	if err != nil {
		t.Fatal(err)
	}
	return o, identity.Credentials{
		Name: u.Name, Kind: u.Kind, Deployment: dir.Manifest().Deployment, URL: b.URL(), Secrets: secrets, Authority: authority,
	}
}

func TestSEC01_CredentialsOverTLS(t *testing.T) {
	o, c := secure(t)
	if !strings.HasPrefix(o.URL(), "tls://127.0.0.1:") {
		t.Errorf("URL %s", o.URL())
	}
	echo := func(_ context.Context, r broker.Request) ([]byte, error) {
		return []byte(r.Subject + " for " + r.Who.GetName()), nil
	}
	if err := o.Serve("host", echo); err != nil {
		t.Fatal(err)
	}
	if err := o.ServeCEO(echo); err != nil {
		t.Fatal(err)
	}
	for control, subject := range map[bool]string{false: "loom.v1.svc.host", true: "loom.v1.ceo.remote.approve"} {
		nc, err := until(t, func() (*nats.Conn, error) { return broker.DialAs(c, "", control) })
		if err != nil {
			t.Fatal(err)
		}
		answer, err := nc.Request(subject, nil, 30*time.Second)
		want := map[bool]string{false: subject + " for remote", true: subject + " for "}[control]
		if err != nil || string(answer.Data) != want {
			t.Errorf("%s: %v, %v; want %q", subject, answer, err, want)
		}
		if _, err := nc.TLSConnectionState(); err != nil {
			t.Errorf("no TLS: %v", err)
		}
		nc.Close()
	}
	nc, err := broker.Dial(o.path)
	if err != nil {
		t.Fatalf("the operator of this machine: %v", err)
	}
	nc.Close()
}

func TestSEC01_NobodyComesInPastTLS(t *testing.T) {
	o, c := secure(t)
	other, err := certificate.Init(filepath.Join(t.TempDir(), "tls"), "", nil, time.Now())
	if err == nil {
		t.Fatal("a certificate without an authority")
	}
	dir := filepath.Join(t.TempDir(), "tls")
	if other, err = certificate.Init(dir, dir, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	stranger, err := os.ReadFile(other.Authority)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nats.Connect(strings.Replace(o.URL(), "tls://", "nats://", 1)); err == nil {
		t.Error("a client without credentials is let in")
	}
	c.Authority = stranger
	if _, err := broker.DialAs(c, "", false); fault.Code(err) != "request/denied" || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a host with another's certificate: %v, want request/denied", err)
	}
}

func TestSEC01_AnOpenPortNeedsTLS(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:4222"} {
		err := reopen(t, t.TempDir(), broker.Config{Listen: address})
		if fault.Code(err) != "host/insecure" || !strings.Contains(err.Error(), "loom auth tls init") {
			t.Errorf("Listen %s: %v, want host/insecure", address, err)
		}
	}
}

func TestSEC01_CredentialsThatCannotBeUsed(t *testing.T) {
	o := listen(t)
	c := identity.Credentials{Name: "ci", Kind: identity.Publisher, Secrets: o.secrets["publisher"]}
	if _, err := broker.DialAs(c, "", false); fault.Code(err) != "usage/argument" {
		t.Errorf("without an address: %v, want usage/argument", err)
	}
	if _, err := broker.DialAs(c, o.URL(), true); fault.Code(err) != "request/denied" {
		t.Errorf("a publisher as the CEO: %v, want request/denied", err)
	}
	if _, err := broker.DialAs(c, "nats://127.0.0.1:1", false); fault.Code(err) != "host/not-running" {
		t.Errorf("nobody there: %v, want host/not-running", err)
	}
	if err := identity.Revoke(t.Context(), o.store(), "ci", time.Now()); err != nil {
		t.Fatal(err)
	}
	_, err := until(t, func() (*nats.Conn, error) {
		nc, err := broker.DialAs(c, o.URL(), false)
		if err == nil { // not noted yet
			nc.Close()
			return nil, errStillIn
		}
		return nil, nil //nolint:nilnil // it is refused, as it should be
	})
	if err != nil {
		t.Errorf("revoked: %v", err)
	}
	if _, err := broker.DialAs(c, o.URL(), false); fault.Code(err) != "request/denied" {
		t.Errorf("revoked: %v, want request/denied", err)
	}
}
