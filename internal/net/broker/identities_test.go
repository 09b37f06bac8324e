package broker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/net/identity"
)

var errStillIn = errors.New("still let in")

// TestSEC01_IdentitiesAreTheSameOnEveryHost of a cluster: added on one, known to
// all, as who it is also when another host answers; and revoked everywhere.
func TestSEC01_IdentitiesAreTheSameOnEveryHost(t *testing.T) {
	c := brokertest.New(t, 1, broker.Config{Listen: "127.0.0.1:0"})
	store, done, err := broker.DialIdentities(c.Path(0))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	_, secrets, err := identity.Add(t.Context(), store, identity.Request{Name: "ci", Kind: identity.Publisher, Projects: []string{"shop"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Broker(2).Serve("submit", func(_ context.Context, r broker.Request) ([]byte, error) {
		return []byte(r.Who.GetName() + " of " + strings.Join(r.Projects, " ")), nil
	}); err != nil {
		t.Fatal(err)
	}
	creds := identity.Credentials{Name: "ci", Kind: identity.Publisher, Secrets: secrets}
	for i := range 3 {
		nc, err := until(t, func() (*nats.Conn, error) { return broker.DialAs(creds, c.Broker(i).URL(), false) })
		if err != nil {
			t.Fatalf("host %d: %v", i, err)
		}
		answer, err := nc.Request("loom.v1.svc.submit", nil, 30*time.Second)
		if err != nil || string(answer.Data) != "ci of shop" {
			t.Errorf("asked over host %d: %v, %v", i, answer, err)
		}
		nc.Close()
		operator, err := broker.Dial(c.Path(i))
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := operator.Request("loom.v1.svc.submit", nil, 30*time.Second); err != nil || string(answer.Data) != "operator of " {
			t.Errorf("the operator of host %d: %v, %v", i, answer, err)
		}
		operator.Close()
	}
	if err := identity.Revoke(t.Context(), store, "ci", time.Now()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := until(t, func() (*nats.Conn, error) {
			nc, err := broker.DialAs(creds, c.Broker(i).URL(), false)
			if err == nil {
				nc.Close()
				return nil, errStillIn
			}
			if fault.Code(err) != "request/denied" {
				return nil, err
			}
			return nil, nil //nolint:nilnil // it is refused, as it should be
		}); err != nil {
			t.Errorf("host %d: %v", i, err)
		}
	}
}

// TestSEC01_TwoChangesOfIdentitiesAtOnce lose nothing: each is made again over
// the other.
func TestSEC01_TwoChangesOfIdentitiesAtOnce(t *testing.T) {
	c := brokertest.New(t, 1, broker.Config{})
	errs := make(chan error, 6)
	for i := range 6 {
		go func() {
			_, _, err := identity.Add(t.Context(), c.Broker(i%3).Identities(), identity.Request{Name: "n" + string(rune('0'+i)), Kind: identity.Observer}, time.Now())
			errs <- err
		}()
	}
	for range 6 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	all, err := c.Broker(0).Identities().List(t.Context())
	if err != nil || len(all) != 6 {
		t.Errorf("%d identities, %v; want 6", len(all), err)
	}
}
