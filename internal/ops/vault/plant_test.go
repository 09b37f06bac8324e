package vault_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/ops/vault"
	"github.com/loomrun/loom/internal/store/datadir"
)

// TestOPS01_AHostThatIsAloneBecomesACluster moves a deployment from one host to
// three. Every host has the backup; the one that puts it in fails in the middle
// and does it again.
func TestOPS01_AHostThatIsAloneBecomesACluster(t *testing.T) {
	path := fill(t, false)
	before := heads(t, path)
	file, contents, err := backup(t, path, false)
	if err != nil {
		t.Fatal(err)
	}
	seed := vault.Seed{File: file}
	name, err := seed.Name()
	if err != nil {
		t.Fatal(err)
	}
	store, err := vault.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Move(name); err != nil {
		t.Fatal(err)
	}
	_ = store.Close()
	if _, err := datadir.Open(path); fault.Code(err) != "cluster/moved" {
		t.Errorf("a host starts on a directory that was moved: %v, want cluster/moved", err)
	}
	epoch, _ := seed.Epoch(t.Context(), contents, nil)
	join, err := datadir.NewJoin("test", 3, 0, 1, "")
	if err == nil {
		join, err = join.Seeded(contents.About.Manifest.Deployment, contents.About.Manifest.Partitions, epoch, name)
	}
	if err != nil {
		t.Fatal(err)
	}

	var once sync.Once
	var c *brokertest.Cluster
	planted := func(ctx context.Context, b *broker.Broker, dir *datadir.Dir) (err error) {
		once.Do(func() { // as far as it comes before it is interrupted
			cut, cancel := context.WithCancel(ctx)
			half := vault.Seed{File: file, Progress: func(string) { cancel() }}
			if half.Plant(cut, b, dir) == nil {
				t.Error("a plant that was interrupted is done")
			}
		})
		return seed.Plant(ctx, b, dir)
	}
	c = brokertest.Joined(t, join, broker.Config{Plant: func(ctx context.Context, b *broker.Broker) error {
		return planted(ctx, b, b.Dir())
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for i := range 3 {
		if err := c.Broker(i).AwaitWhole(ctx); err != nil {
			t.Fatal(err)
		}
		if m := c.Dir(i).Manifest(); m.Epoch != 2 || m.Deployment != contents.About.Manifest.Deployment {
			t.Errorf("host %d is of deployment %s in epoch %d, want %s in 2", i, m.Deployment, m.Epoch, contents.About.Manifest.Deployment)
		}
	}
	js, err := jetstream.New(c.Broker(2).Tasked())
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := js.Stream(ctx, "TASKS")
	if err != nil || tasks.CachedInfo().State.Msgs != 1 {
		t.Errorf("tasks that wait: %v, want 1 (%v)", tasks.CachedInfo().State.Msgs, err)
	}
	for i := range 3 {
		c.Stop(i)
		if diff := cmp.Diff(before, heads(t, c.Path(i))); diff != "" {
			t.Errorf("the journals of host %d (-before +after):\n%s", i, diff)
		}
	}
}

// heads returns how far each journal of a directory reaches and with which
// hash, and refuses one that is not sound.
func heads(t *testing.T, path string) map[string]string {
	t.Helper()
	s, err := vault.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	report, err := s.Verify(t.Context())
	if err != nil || report.Err() != nil {
		t.Fatalf("%s is not sound: %v, %v", path, err, report.Err())
	}
	list := map[string]string{}
	for _, j := range report.Journals {
		list[j.Stream] = j.Hash
	}
	return list
}
