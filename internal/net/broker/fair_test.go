package broker_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
)

// TestACT02_AHundredAgentsOverThreeHostsPullFairly has a hundred agents of one
// role on three hosts pull as agents do, one assignment at a time. As long as
// all of them are busy, each has one: in five rounds, five. Then they pull as
// they like, and the spread is told.
func TestACT02_AHundredAgentsOverThreeHostsPullFairly(t *testing.T) {
	c := brokertest.New(t, 1, broker.Config{})
	inRounds(t, c)
	asTheyLike(t, c)
}

const pullers = 100

func inRounds(t *testing.T, c *brokertest.Cluster) {
	t.Helper()
	const rounds, role = 5, "qa-engineer"
	var got [pullers]int
	for round := range rounds {
		var pulling sync.WaitGroup
		deliveries := make([]*broker.Delivery, pullers)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		for n := range pullers {
			pulling.Go(func() {
				d, err := c.Broker(n%3).PullWork(ctx, role)
				if err != nil {
					t.Errorf("agent %d, round %d: %v", n, round, err)
					return
				}
				deliveries[n] = d
			})
		}
		for n := range pullers {
			publishWork(t, c.Broker(n%3), assignment(role, round*pullers+n))
		}
		pulling.Wait() // nobody is done before all have begun
		cancel()
		if t.Failed() {
			return
		}
		for n, d := range deliveries {
			got[n]++
			if err := d.Ack(); err != nil {
				t.Error(err)
			}
		}
	}
	if least, most := spread(t, got); least != rounds || most != rounds {
		t.Errorf("the least has %d, the most %d, want %d", least, most, rounds)
	}
}

// asTheyLike has agents work for a moment on each assignment.
func asTheyLike(t *testing.T, c *brokertest.Cluster) {
	t.Helper()
	const all, role = 1000, "backend-engineer"
	var got [pullers]int
	var done atomic.Int64
	var seen sync.Map // a message comes again whose acknowledgement is late
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var pulling sync.WaitGroup
	for n := range pullers {
		pulling.Go(func() {
			for {
				d, err := c.Broker(n%3).PullWork(ctx, role)
				if err != nil {
					return
				}
				<-time.After(20 * time.Millisecond)
				got[n]++
				if d.Ack() != nil {
					cancel()
				}
				if _, again := seen.LoadOrStore(d.Assignment.Attempt, true); !again && done.Add(1) == all {
					cancel()
				}
			}
		})
	}
	for n := range all {
		publishWork(t, c.Broker(n%3), assignment(role, n))
	}
	pulling.Wait()
	if n := done.Load(); n != all {
		t.Errorf("%d of %d assignments were done", n, all)
	}
	spread(t, got)
}

// spread tells how many assignments agents had, and returns the least and the
// most.
func spread(t *testing.T, got [pullers]int) (least, most int) {
	t.Helper()
	all, hosts := 0, [3]int{}
	for n, k := range got {
		all += k
		hosts[n%3] += k
	}
	least, most = slices.Min(got[:]), slices.Max(got[:])
	t.Logf("%d assignments to %d agents: the least has %d, the most %d; by host %v", all, pullers, least, most, hosts)
	return least, most
}
