package broker_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/store/datadir"
)

// elsewhere is a broker on a server of somebody else's that knows the
// identities of the matrix.
func elsewhere(t *testing.T) open {
	t.Helper()
	known := opened(t, datadir.Config{Path: t.TempDir()}).Path()
	o := open{nil, t.TempDir(), map[string]identity.Secrets{}}
	var all []identity.User
	for _, kind := range slices.Sorted(maps.Keys(added)) {
		u, secrets, err := identity.Add(t.Context(), identity.NewFile(known), added[kind], time.Now())
		if err != nil {
			t.Fatal(err)
		}
		o.secrets[kind], all = secrets, append(all, u)
	}
	o.Broker = startOn(t, o.path, &brokertest.External(t, 1, "", all...)[0])
	err := o.Identities().Change(t.Context(), func([]identity.User) ([]identity.User, error) { return all, nil })
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// startOn starts a host's broker on other servers.
func startOn(t *testing.T, path string, e *broker.External) *broker.Broker {
	t.Helper()
	b, err := tryOn(t, path, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, b) })
	return b
}

func tryOn(t *testing.T, path string, e *broker.External) (*broker.Broker, error) {
	t.Helper()
	dir := opened(t, datadir.Config{Path: path, External: e.Place()})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	return broker.Start(ctx, broker.Config{Dir: dir, External: e})
}

// TestOPS01_PermissionsOnOtherServers holds servers with the configuration that
// is written for them against the same matrix and probes.
func TestOPS01_PermissionsOnOtherServers(t *testing.T) {
	o := elsewhere(t)
	t.Run("matrix", func(t *testing.T) { o.holdToMatrix(t, append(slices.Clone(kinds[1:]), "control")) })
	t.Run("probes", func(t *testing.T) {
		o.refuseProbes(t, slices.DeleteFunc(slices.Clone(probes), func(p probe) bool { return p.kind == "anonymous" }))
	})
	t.Run("nobody", func(t *testing.T) {
		if nc, err := nats.Connect(o.URL()); err == nil {
			nc.Close()
			t.Error("somebody without a key is let in")
		}
	})
	t.Run("who", func(t *testing.T) {
		if err := o.Serve("submit", func(_ context.Context, r broker.Request) ([]byte, error) {
			return []byte(r.Who.Kind.String() + " " + r.Who.Name + " " + strings.Join(r.Projects, ",")), nil
		}); err != nil {
			t.Fatal(err)
		}
		for kind, want := range map[string]string{
			"publisher": "IDENTITY_KIND_PUBLISHER ci ", "operator": "IDENTITY_KIND_OPERATOR operator ", "narrow": "IDENTITY_KIND_PUBLISHER shopper shop",
		} {
			nc, said := o.as(t, kind), ""
			if _, err := until(t, func() (*nats.Conn, error) { // the host notes identities within seconds
				answer, err := nc.Request("loom.v1.svc.submit", nil, 5*time.Second)
				if err == nil {
					said, err = string(answer.Data), broker.Refusal(answer)
				}
				return nil, err
			}); err != nil || said != want {
				t.Errorf("%s: %q, %v, want %q", kind, said, err, want)
			}
		}
	})
}

// TestOPS01_TwoHostsOnOtherServers begin one deployment, and one comes again.
func TestOPS01_TwoHostsOnOtherServers(t *testing.T) {
	all := brokertest.External(t, 2, "")
	one, path := startOn(t, t.TempDir(), &all[0]), t.TempDir()
	two, err := tryOn(t, path, &all[1])
	if err != nil {
		t.Fatal(err)
	}
	if a, b := one.Dir().Manifest(), two.Dir().Manifest(); a.Deployment != b.Deployment || a.Lineage != b.Lineage || a.Host == b.Host {
		t.Errorf("%+v and %+v are not two hosts of one deployment", a, b)
	}
	if s := one.Status(t.Context()); !s.Whole {
		t.Errorf("it is not whole: %v", s.Waiting)
	}
	stop(t, two)
	<-two.Done()
	if err := two.Dir().Close(); err != nil {
		t.Fatal(err)
	}
	startOn(t, path, &all[1])
}

// TestOPS01_ThreeOtherServersAndOneIsLost keeps streams on three servers, loses
// the one that leads a journal, and has it back.
func TestOPS01_ThreeOtherServersAndOneIsLost(t *testing.T) {
	all, servers := brokertest.ExternalCluster(t, 2, 3)
	one, two := startOn(t, t.TempDir(), &all[0]), startOn(t, t.TempDir(), &all[1])
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	whole := func(when string) {
		t.Helper()
		if err := two.AwaitWhole(ctx); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		for _, s := range two.Status(ctx).Streams {
			if len(s.Replicas) != 2 {
				t.Errorf("%s: stream %s has %d replicas beside its leader, want 2", when, s.Name, len(s.Replicas))
			}
		}
	}
	whole("at the beginning")
	lost := -1
	so(t, "somebody leads the journal", func() bool {
		lost = servers.Leader("CORE", "LOOM_J_00")
		return lost >= 0
	})
	servers.Stop(lost)
	for _, b := range []*broker.Broker{one, two} {
		so(t, "two of three servers take a write", func() bool {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			m, err := b.Core().RequestWithContext(ctx, "loom.v1.journal.00", nil)
			return err == nil && !strings.Contains(string(m.Data), "error")
		})
		so(t, "they say so", func() bool { return b.Quorum(ctx) == nil })
	}
	servers.Start(lost)
	whole("at the end")
}

// so waits until something is so.
func so(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if _, err := until(t, func() (*nats.Conn, error) {
		if ok() {
			return nil, nil
		}
		return nil, errors.New(what)
	}); err != nil {
		t.Fatalf("never: %v", err)
	}
}

// TestOPS01_OtherServersThatWillNotDo are refused with what is wrong.
func TestOPS01_OtherServersThatWillNotDo(t *testing.T) {
	stranger := brokertest.External(t, 1, "")[0]
	for _, tt := range []struct {
		name, more string
		change     func(*broker.External)
		code, says string
	}{
		{"no JetStream", "\n", nil, "host/unavailable", "have no JetStream"},
		{"syncs later", "jetstream { max_mem: 1G, max_file: 100G }\n", nil, "data/sync", "before it is on the disk"},
		{"short messages", "jetstream: enabled\nmax_payload: 1MB\n", nil, "host/unavailable", "1048576 bytes at most"},
		{"one server for three replicas", "", func(e *broker.External) { e.Replicas = 3 }, "host/unavailable", "1 of the NATS servers keeps streams"},
		{"another's keys", "", func(e *broker.External) { e.Keys = stranger.Keys }, "request/denied", "do not know the key"},
		{"nobody there", "", func(e *broker.External) { e.Servers = "nats://127.0.0.1:1" }, "host/unavailable", "no NATS server answers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := brokertest.External(t, 1, tt.more)[0]
			if tt.change != nil {
				tt.change(&e)
			}
			b, err := tryOn(t, t.TempDir(), &e)
			if err == nil {
				stop(t, b)
			}
			if fault.Code(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %s that says %q", err, tt.code, tt.says)
			}
		})
	}
}

// TestOPS01_ADirectoryIsOfOneKind covers hosts of one kind that are started as
// ones of the other.
func TestOPS01_ADirectoryIsOfOneKind(t *testing.T) {
	all, err := broker.NewExternal(broker.External{Cluster: "test", Partitions: 1, Replicas: 1, Servers: "nats://127.0.0.1:1"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	own, other := t.TempDir(), t.TempDir()
	for _, c := range []datadir.Config{{Path: own}, {Path: other, External: all[0].Place()}} {
		d, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	foreign := *all[0].Place()
	foreign.Deployment = "dp-other"
	for want, c := range map[string]datadir.Config{
		"somebody else runs":       {Path: other},
		"a NATS server of its own": {Path: own, External: all[0].Place()},
		"the credentials to":       {Path: other, External: &foreign},
	} {
		if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
