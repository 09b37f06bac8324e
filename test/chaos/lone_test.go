package chaos

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// lone is a host with instant agents that works on orders and is not killed.
type lone struct {
	t     *testing.T
	place *place
	host  *process
}

func newLone(t *testing.T) lone {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := lone{t: t, place: newPlace(t)}
	s.place.repository(t, crowd)
	s.place.crowded(program)
	return s
}

// begin starts the host, which then knows the process of orders.
func (s *lone) begin() {
	s.t.Helper()
	s.host = s.place.start(s.t)
	s.host.define("component")
}

// ask asks the host something, over a connection of its own: hosts come and go.
func (s *lone) ask(do func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	c, err := client.Dial(s.place.data)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(ctx, c)
}

// await waits until something is so.
func (s *lone) await(what string, ok func() bool) {
	s.t.Helper()
	if !s.host.until(deadline(s.t), ok) {
		s.t.Fatalf("not: %s\n%s", what, s.host.text())
	}
}

func (s *lone) order(n int) error {
	return s.ask(func(ctx context.Context, c *client.Client) error {
		_, err := c.Submit(ctx, &loomv1.Submission{
			Project: crowd, Goal: describe(n), Process: "component", IdempotencyKey: fmt.Sprintf("order-%d", n),
		})
		return err
	})
}

// closed returns how many orders are done, or -1 if the host does not say.
func (s *lone) closed() int {
	n := 0
	err := s.ask(func(ctx context.Context, c *client.Client) error {
		v, err := c.Bead(ctx, &loomv1.Query{Project: crowd, Limit: 1000})
		for _, b := range v.GetBeads() {
			if b.Status == loomv1.BeadStatus_BEAD_STATUS_CLOSED && b.Type != loomv1.BeadType_BEAD_TYPE_APPROVAL {
				n++
			}
		}
		return err
	})
	if err != nil {
		return -1
	}
	return n
}

// TestWF11_TablesDeleted deletes the tables under a host that works: it says so,
// makes them again, and they are what the journal says.
func TestWF11_TablesDeleted(t *testing.T) {
	const orders = 16
	s := newLone(t)
	s.begin()
	place := func(first, end int) {
		for n := first; n < end; n++ {
			s.await("an order is taken", func() bool { return s.order(n) == nil })
		}
	}
	place(0, orders/2)
	remove(t, s.place.path("projection.db")) // at one stroke: what is beside it goes by itself
	place(orders/2, orders)
	s.await("the tables are made again", func() bool {
		_, err := os.Stat(s.place.path("projection.db"))
		return err == nil
	})
	s.await("all is done", func() bool { return s.closed() == orders })
	a, all := newAuditor(), newRecord().history(t, s.host.client())
	for _, n := range all {
		if n.Event.Project == crowd {
			a.add(n.Event)
		}
	}
	a.end()
	for _, problem := range a.told() {
		t.Error(problem)
	}
	// What was deleted stays readable for the host until it looks, up to a second.
	s.await("the new tables are in use", func() bool { return executions(s.place.data) == orders })
	s.await("the tables have everything", func() bool {
		return s.ask(func(ctx context.Context, c *client.Client) error {
			_, err := c.History(ctx, &loomv1.HistoryRequest{Execution: fmt.Sprintf("%s-%d-x1", crowd, orders)})
			return err
		}) == nil
	})
	if err := s.host.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.host.wait()
	rows := tables(t, s.place.data)
	sameTransitions(t, rows, all)
	sameStatuses(t, "beads", rows["beads"], 3, a.beadStatuses())
	sameStatuses(t, "workflow_executions", rows["workflow_executions"], 6, a.executionStatuses())
}
