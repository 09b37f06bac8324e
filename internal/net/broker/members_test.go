package broker_test

import (
	"context"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/membership"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/natsjournal"
)

const patience = 2 * time.Minute

// complete waits until host i sees a cluster that lacks nothing.
func complete(t *testing.T, c *brokertest.Cluster, i int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Broker(i).AwaitWhole(ctx); err != nil {
		t.Fatal(err)
	}
}

// written appends so many batches to a journal.
func written(t *testing.T, b *broker.Broker, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	log, err := natsjournal.New(ctx, b.Core(), 0)
	if err != nil {
		t.Fatal(err)
	}
	seq, newest, err := log.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Fill(t, log, journal.Head{Sequence: seq, Epoch: newest.GetEpoch(), Hash: newest.GetHash()}, n)
}

// changed changes the hosts of a deployment, once the streams bear it and the
// host that is asked has noticed that the one to remove has stopped.
func changed(ctx context.Context, b *broker.Broker, change membership.Change) error {
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		_, err := b.ChangeMembers(ctx, change, "operator")
		if code := fault.Code(err); code != "cluster/change" && code != "cluster/running" {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return err
		}
	}
}

// invite changes the hosts of a deployment as an operator does who wants a
// newcomer, and returns the newcomer's join file.
func invite(t *testing.T, c *brokertest.Cluster, i int, change membership.Change) datadir.Join {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	invitation, err := datadir.NewInvitation(c.Path(i))
	if err != nil {
		t.Fatal(err)
	}
	change.Authority = invitation.Authority()
	if err := changed(ctx, c.Broker(i), change); err != nil {
		t.Fatal(err)
	}
	join, err := invitation.Join(c.Broker(i).Join())
	if err != nil {
		t.Fatal(err)
	}
	return join
}

// TestOPS01_ALostHostIsReplaced loses a host with its disk, takes it out, and
// has another come in its place with an empty one.
func TestOPS01_ALostHostIsReplaced(t *testing.T) {
	c := brokertest.New(t, 1, broker.Config{})
	complete(t, c, 0)
	written(t, c.Broker(0), 20)
	lost := c.Dir(2).Manifest().Host
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.Broker(0).ChangeMembers(ctx, membership.Change{Remove: lost}, "operator"); fault.Code(err) != "cluster/running" {
		t.Errorf("removing a host that runs: %v, want cluster/running", err)
	}
	c.Stop(2)

	join := invite(t, c, 0, membership.Change{Remove: lost, Reason: "its disk is gone"})
	if err := changed(ctx, c.Broker(1), membership.Change{Remove: lost}); err != nil {
		t.Errorf("removing it again: %v", err)
	}
	newcomer := c.Join(join)
	c.Start(newcomer)
	if t.Failed() {
		return
	}
	complete(t, c, 0)
	complete(t, c, newcomer)
	written(t, c.Broker(newcomer), 5)
	complete(t, c, newcomer)
	for _, i := range []int{0, 1, newcomer} {
		if l := c.Broker(i).Members(); len(l.Members) != 3 || l.Places() != 0 {
			t.Errorf("host %d knows %+v", i, l)
		}
	}
	s := c.Broker(newcomer).Status(ctx)
	if len(s.Removed) != 1 || s.Removed[0].Host != lost || s.Removed[0].Reason != "its disk is gone" {
		t.Errorf("status after the replacement: %+v", s)
	}
	for _, stream := range s.Streams {
		if stream.Name == "LOOM_J_00" && stream.Messages != 25 {
			t.Errorf("the journal has %d messages, want 25", stream.Messages)
		}
	}

	t.Run("SEC01 the removed host and the old join file are refused", func(t *testing.T) {
		if err := tryBriefly(c, 2); fault.Code(err) != "cluster/no-quorum" {
			t.Errorf("the removed host starts: %v", err)
		}
		old := c.First()
		old.Hosts = 5 // so that it looks for all of them
		if err := tryBriefly(c, c.Join(old)); fault.Code(err) != "cluster/no-quorum" {
			t.Errorf("a host with the old join file starts: %v", err)
		}
	})
}

// tryBriefly starts a host that nobody should let in.
func tryBriefly(c *brokertest.Cluster, i int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	return c.Try(ctx, i)
}

// TestOPS01_GrowsAndShrinks goes from three hosts to five and back, with a host
// that was away all the while.
func TestOPS01_GrowsAndShrinks(t *testing.T) {
	c := brokertest.New(t, 1, broker.Config{})
	complete(t, c, 0)
	written(t, c.Broker(0), 5)
	c.Stop(2)
	join := invite(t, c, 0, membership.Change{Hosts: 5})
	four, five := c.Join(join), c.Join(join)
	c.Start(four)
	c.Start(five)
	c.Start(2) // it knows a list of three
	if t.Failed() {
		return
	}
	for _, i := range []int{2, four} {
		complete(t, c, i)
		if l := c.Broker(i).Members(); l.Hosts != 5 || len(l.Members) != 5 {
			t.Errorf("host %d knows %+v", i, l)
		}
	}
	written(t, c.Broker(five), 5)

	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	if _, err := c.Broker(0).ChangeMembers(ctx, membership.Change{Hosts: 3}, "operator"); fault.Code(err) != "cluster/change" {
		t.Errorf("shrinking with five hosts: %v, want cluster/change", err)
	}
	for _, i := range []int{five, four} {
		name := c.Dir(i).Manifest().Host
		c.Stop(i)
		if err := remove(ctx, c.Broker(0), name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Broker(1).ChangeMembers(ctx, membership.Change{Hosts: 3}, "operator"); err != nil {
		t.Fatal(err)
	}
	written(t, c.Broker(2), 5)
	complete(t, c, 2)
	if s := c.Broker(0).Status(ctx); s.HostsWanted != 3 {
		t.Errorf("status after shrinking: %+v", s)
	}
}

// remove takes a host out as soon as the streams bear it.
func remove(ctx context.Context, b *broker.Broker, host string) error {
	return changed(ctx, b, membership.Change{Remove: host})
}
