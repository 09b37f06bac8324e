package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// becomes calls f until it returns nil, and fails the test with what it
// says when that takes two minutes.
func becomes(t *testing.T, what string, f func() error) {
	t.Helper()
	err := f()
	for began := time.Now(); err != nil; err = f() {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestOPS01_ThreeHostsMakeOneDeployment forms a cluster, stops its hosts one
// after the other, brings them back, and damages it.
func TestOPS01_ThreeHostsMakeOneDeployment(t *testing.T) {
	c := brokertest.New(t, 1, broker.Config{})
	ctx := t.Context()
	for i := range 3 {
		b, m := c.Broker(i), c.Dir(i).Manifest()
		if !b.Clustered() || b.Replicas() != 3 || b.Anonymous() || b.URL() == "" {
			t.Errorf("host %d: clustered %t, replicas %d, anonymous %t, URL %q", i, b.Clustered(), b.Replicas(), b.Anonymous(), b.URL())
		}
		becomes(t, "quorum", func() error { return b.Quorum(ctx) })
		if got := strings.Join(m.Truth, " "); got != "DLQ KV_LOOM_DEPLOYMENT KV_LOOM_IDENTITIES LOOM_J_00 OBJ_LOOM_BLOB TASKS" {
			t.Errorf("host %d: the manifest lists %s", i, got)
		}
		if m.Lineage == "" || m.Lineage != c.Dir(0).Manifest().Lineage {
			t.Errorf("host %d: lineage %q, that of host 0 is %q", i, m.Lineage, c.Dir(0).Manifest().Lineage)
		}
	}
	t.Run("every stream has three replicas, and none answers for its leader", func(t *testing.T) {
		js := stream(t, c.Broker(0))
		for _, name := range []string{"DLQ", "KV_LOOM_DEPLOYMENT", "LOOM_J_00", "OBJ_LOOM_BLOB", "OBJ_LOOM_SNAP", "WORK"} {
			s, err := js.Stream(ctx, name)
			if err != nil {
				t.Fatal(name, err)
			}
			if i := s.CachedInfo(); i.Config.Replicas != 3 || i.Config.AllowDirect {
				t.Errorf("%s: %d replicas, direct %t", name, i.Config.Replicas, i.Config.AllowDirect)
			}
		}
	})
	t.Run("a notice of one host is heard on another", func(t *testing.T) {
		sub, err := c.Broker(1).Edge().SubscribeSync("loom.v1.notice.*.p-1.>")
		if err != nil {
			t.Fatal(err)
		}
		becomes(t, "interest", func() error {
			if !c.Broker(0).Heard(event(1).Event) {
				return errors.New("host 0 does not know that somebody listens on host 1")
			}
			return nil
		})
		if err := c.Broker(0).PublishNotice(ctx, event(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := sub.NextMsg(5 * time.Second); err != nil {
			t.Error(err)
		}
		if err := sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
		becomes(t, "silence", func() error {
			if c.Broker(0).Heard(event(1).Event) {
				return errors.New("host 0 believes that somebody listens")
			}
			return nil
		})
	})
	t.Run("its status names the hosts and the streams' leaders", func(t *testing.T) {
		becomes(t, "whole", func() error { return whole(c.Broker(1).Status(ctx), 3) })
	})
	t.Run("with one host gone it goes on", func(t *testing.T) {
		c.Stop(0)
		becomes(t, "two of three", func() error { return whole(c.Broker(1).Status(ctx), 2) })
		becomes(t, "quorum of two", func() error { return c.Broker(1).Quorum(ctx) })
	})
	t.Run("with two gone it says so", func(t *testing.T) {
		c.Stop(1)
		becomes(t, "no quorum", func() error {
			if err := c.Broker(2).Quorum(ctx); fault.Code(err) != "cluster/no-quorum" || !strings.Contains(err.Error(), "1 of 3 hosts are here") {
				return errWant(err)
			}
			return nil
		})
	})
	t.Run("they come back", func(t *testing.T) {
		c.Start(0)
		c.Start(1)
		for i := range 3 {
			becomes(t, "quorum", func() error { return c.Broker(i).Quorum(ctx) })
		}
	})
	t.Run("missing truth is damage, also for a host that knows nothing of it", func(t *testing.T) {
		c.Stop(0)
		if err := stream(t, c.Broker(1)).DeleteStream(ctx, "LOOM_J_00"); err != nil {
			t.Fatal(err)
		}
		edit(t, c.Path(0), func(m *datadir.Manifest) {
			m.Truth = slices.DeleteFunc(m.Truth, func(s string) bool { return s == "LOOM_J_00" })
		})
		if err := startHost(t, c, 0); fault.Code(err) != "data/stream-missing" || !strings.Contains(err.Error(), "LOOM_J_00") {
			t.Errorf("Start: %v, want data/stream-missing of LOOM_J_00", err)
		}
	})
	t.Run("a deployment that was made anew is refused", func(t *testing.T) {
		edit(t, c.Path(0), func(m *datadir.Manifest) { m.Lineage = "another" })
		if err := startHost(t, c, 0); fault.Code(err) != "data/manifest" || !strings.Contains(err.Error(), "anew") {
			t.Errorf("Start: %v, want data/manifest", err)
		}
	})
}

// whole returns what is not as it should be with so many of three hosts there.
func whole(s *loomv1.ClusterStatus, there int) error {
	here := 0
	for _, h := range s.Hosts {
		if h.Connected {
			here++
		}
	}
	if here != there || len(s.Hosts) != 3 || s.HostsWanted != 3 || s.Replicas != 3 || !s.Quorum || s.Cluster != "test" {
		return fmt.Errorf("status %v", s)
	}
	for _, t := range s.Streams {
		if replicated := !strings.HasPrefix(t.Name, "LOOM_PROOF"); replicated && (t.Leader == "" || len(t.Replicas) != 2) {
			return fmt.Errorf("stream %v", t)
		}
	}
	return nil
}

type errWanted struct{ error }

func errWant(err error) error { return errWanted{err} }

func (e errWanted) Error() string {
	if e.error == nil {
		return "there was no error"
	}
	return e.error.Error()
}

// startHost starts host i of c by hand, and stops it if that succeeds.
func startHost(t *testing.T, c *brokertest.Cluster, i int) error {
	t.Helper()
	dir, err := datadir.Open(c.Path(i))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b, err := broker.Start(ctx, broker.Config{Dir: dir}) // it knows its addresses from before
	if err == nil {
		stop(t, b)
	}
	return err
}

func stream(t *testing.T, b *broker.Broker) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(b.Core())
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestOPS01_AHostThatIsAloneTakesNoRoutes(t *testing.T) {
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	config := broker.Config{Dir: dir, Cluster: &broker.Cluster{Routes: []string{"127.0.0.1:6223"}}}
	if _, err := broker.Start(t.Context(), config); fault.Code(err) != "cluster/mode" {
		t.Errorf("Start: %v, want cluster/mode", err)
	}
}

func TestOPS01_RoutesAreCheckedBeforeAnythingStarts(t *testing.T) {
	const a, b, c = "10.0.0.1:6222", "10.0.0.2:6222", "10.0.0.3:6222"
	for _, tt := range []struct {
		name    string
		hosts   int
		cluster *broker.Cluster
		says    string
	}{
		{"none", 3, &broker.Cluster{}, "0 other hosts"},
		{"nothing said", 3, nil, "0 other hosts"},
		{"itself alone", 3, &broker.Cluster{Listen: a, Routes: []string{a}}, "0 other hosts"},
		{"itself by the name of its address", 3, &broker.Cluster{Listen: "127.0.0.1:6222", Routes: []string{"localhost:6222"}}, "0 other hosts"},
		{"itself as it is advertised", 3, &broker.Cluster{Listen: "0.0.0.0:6222", Advertise: a, Routes: []string{a}}, "0 other hosts"},
		{"itself on any of its addresses", 3, &broker.Cluster{Listen: "0.0.0.0:6222", Routes: []string{"127.0.0.1:6222"}}, "0 other hosts"},
		{"half of five", 5, &broker.Cluster{Listen: a, Routes: []string{a, b, c}}, "2 other hosts"},
		{"too many", 3, &broker.Cluster{Listen: "127.0.0.1:6222", Routes: []string{a, b, c}}, "3 other hosts"},
		{"the same twice is once", 3, &broker.Cluster{Listen: a, Routes: []string{b, b, b, "no address"}}, "HOST:PORT"},
		{"no port", 3, &broker.Cluster{Listen: "10.0.0.1", Routes: []string{b, c}}, "HOST:PORT"},
		{"a free port that the others cannot know", 3, &broker.Cluster{Listen: "10.0.0.1:0", Routes: []string{b, c}}, "HOST:PORT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			join, err := datadir.NewJoin("test", tt.hosts, 0, 1, "")
			if err != nil {
				t.Fatal(err)
			}
			dir, err := datadir.Config{Path: t.TempDir(), Join: &join}.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = dir.Close() }()
			_, err = broker.Start(t.Context(), broker.Config{Dir: dir, Cluster: tt.cluster})
			if fault.Code(err) != "usage/argument" || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Start: %v; want usage/argument and %q", err, tt.says)
			}
		})
	}
}

// TestOPS01_AHostWaitsAndSaysForWhat starts one host of three.
func TestOPS01_AHostWaitsAndSaysForWhat(t *testing.T) {
	longtest.Skip(t)
	join, err := datadir.NewJoin("test", 3, 0, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := datadir.Config{Path: t.TempDir(), Join: &join}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	listen := brokertest.Addresses(3)
	_, err = broker.Start(ctx, broker.Config{Dir: dir, Cluster: &broker.Cluster{Listen: listen[0], Routes: listen}})
	if fault.Code(err) != "cluster/no-quorum" || !strings.Contains(err.Error(), "1 of 3 hosts are here") || !strings.Contains(err.Error(), listen[2]) {
		t.Errorf("Start: %v, want cluster/no-quorum that names %s", err, listen[2])
	}
}

// TestOPS01_WorkAndTasksOutliveAHost queues on one host, stops another, and
// takes what was queued on the third.
func TestOPS01_WorkAndTasksOutliveAHost(t *testing.T) {
	c := brokertest.New(t, 1, broker.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	const n = 20
	operator, err := c.Broker(0).Local("operator")
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	for i := range n {
		if err := c.Broker(0).PublishWork(ctx, &loomv1.Assignment{Attempt: fmt.Sprintf("a-%d", i), Role: "qa-engineer", Generation: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := operator.RequestWithContext(ctx, "loom.v1.task.p", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	c.Stop(0)
	tasks := make(chan string, n)
	reading, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- c.Broker(1).ConsumeTasks(reading, func(_ context.Context, task broker.Task) error { tasks <- string(task.Data); return nil })
	}()
	work, told := map[string]bool{}, map[string]bool{}
	for len(work) < n {
		d, err := c.Broker(2).PullWork(ctx, "qa-engineer")
		if err != nil {
			t.Fatal(err)
		}
		work[d.Assignment.Attempt] = true
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	for len(told) < n {
		select {
		case task := <-tasks:
			told[task] = true
		case <-ctx.Done():
			t.Fatalf("%d of %d tasks were handled", len(told), n)
		}
	}
	end()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ConsumeTasks: %v", err)
	}
}

// TestOPS01_AHostAnswersWhatItsServerIsAsked has each host of a cluster answer the
// requests of those who are connected to it, and the others while it does not serve: a
// host that sleeps would keep what it is given of others' requests.
func TestOPS01_AHostAnswersWhatItsServerIsAsked(t *testing.T) {
	longtest.Skip(t)
	c := brokertest.New(t, 1, broker.Config{})
	asked := func(i int) (who string) {
		t.Helper()
		operator, err := broker.Dial(c.Path(i))
		if err != nil {
			t.Fatal(err)
		}
		defer operator.Close()
		for range 30 {
			m, err := operator.Request("loom.v1.svc.host", nil, 10*time.Second)
			if err != nil {
				t.Fatalf("host %d: %v", i, err)
			}
			if got := string(m.Data); who != "" && got != who {
				return "one and another"
			} else {
				who = got
			}
		}
		return who
	}
	serve := func(i int) {
		t.Helper()
		if err := c.Broker(i).Serve("host", func(_ context.Context, r broker.Request) ([]byte, error) {
			return fmt.Appendf(nil, "%d on %s", i, r.Subject), nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	serve(2)
	becomes(t, "host 2 is known to host 0", func() error {
		operator, err := broker.Dial(c.Path(0))
		if err != nil {
			return err
		}
		defer operator.Close()
		_, err = operator.Request("loom.v1.svc.host", nil, 10*time.Second)
		return err
	})
	if got := asked(0); got != "2 on loom.v1.svc.host" {
		t.Errorf("what host 0 is asked, which serves nothing yet, answers %q", got)
	}
	serve(0)
	serve(1)
	for i := range 3 {
		if got, want := asked(i), fmt.Sprintf("%d on loom.v1.svc.host", i); got != want {
			t.Errorf("what host %d is asked answers %q", i, got)
		}
	}
}
