package chaos

import (
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var fleetFills = flag.Int("chaos.fleet-fills", 0, "how often the disk under one of three hosts becomes full; 0 leaves it out")

// TestP24_ADiskThatIsFullUnderOneOfThree fills the disk of one of three hosts,
// mostly of the one that serves, to the last byte while orders are placed: the
// others do them all, and the host serves again by itself once there is space.
// Nothing is lost, and nothing is done twice.
func TestP24_ADiskThatIsFullUnderOneOfThree(t *testing.T) {
	if *fleetFills == 0 {
		t.Log("NOT RUN: -chaos.fleet-fills says how often")
		return
	}
	*fleetOrders = *fleetFills * ordersAFill
	f := newFleet(t, false)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f.crowded(program)
	for _, p := range f.places {
		if !p.mount(t, 96) {
			return
		}
	}
	c := &cramped{fleet: f}
	f.run(time.Duration(*fleetFills)*patience, c.run)
	c.tell()
}

// cramped is a fleet whose hosts have small disks.
type cramped struct {
	*fleet
	followed, done, back []time.Duration
}

func (c *cramped) run(ctx context.Context) {
	for n := range *fleetFills {
		c.once(ctx, n)
	}
}

// once fills the disk of a host while orders are placed, and makes space again.
func (c *cramped) once(ctx context.Context, n int) {
	c.t.Helper()
	holder := c.serves(ctx)
	victim := holder
	if victim < 0 || n%3 == 2 {
		victim = (victim + 1) % fleetSize
	}
	h := c.host(victim)
	ballast, before := c.places[victim].path("ballast"), strings.Count(h.text(), servesAgain)
	c.release(ordersAFill / 2)
	fill(c.t, ballast)
	began := time.Now()
	c.kills = append(c.kills, kill{began, victim == holder, filled})
	c.release(ordersAFill - ordersAFill/2)
	c.until(ctx, "another host serves", func() bool {
		by := c.servesAs(ctx, (victim+1)%fleetSize) // asked itself, the victim answers late
		return by >= 0 && by != victim
	})
	c.followed = append(c.followed, time.Since(began))
	c.until(ctx, "the others do all orders", func() bool { return c.closed(ctx) == (n+1)*ordersAFill })
	c.done = append(c.done, time.Since(began))
	remove(c.t, ballast)
	began = time.Now()
	c.until(ctx, "the host serves again", func() bool {
		return strings.Count(h.text(), servesAgain) > before || !strings.Contains(h.text(), "could not be written")
	})
	c.back = append(c.back, time.Since(began))
	c.whole(ctx)
}

// whole waits until every host, asked itself, says that all live.
func (c *cramped) whole(ctx context.Context) {
	c.t.Helper()
	said := map[string]bool{}
	c.until(ctx, "all hosts live", func() bool {
		for i := range fleetSize {
			c.ask(ctx, i, func(ctx context.Context, c *client.Client) error {
				reply, err := c.Hosts(ctx, &loomv1.HostsRequest{})
				said[reply.GetBy()] = alive(reply) == fleetSize
				return err
			})
		}
		for i := range fleetSize {
			if !said[c.name(i)] {
				return false
			}
		}
		return true
	})
}

func alive(reply *loomv1.HostsReply) (n int) {
	for _, h := range reply.GetHosts() {
		if h.Alive {
			n++
		}
	}
	return n
}

// tell prints how long everything took.
func (c *cramped) tell() {
	for what, list := range map[string][]time.Duration{
		"until another host serves": c.followed, "until all orders are done": c.done, "from space to serving again": c.back,
	} {
		slices.Sort(list)
		c.t.Logf("%d times full, %s: p50 %s, longest %s", len(list), what, quantile(list, 50), quantile(list, 100))
	}
}
