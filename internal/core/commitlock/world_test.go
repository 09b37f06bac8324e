package commitlock_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/commitlock"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const repo = "/srv/repo"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// world is what a project does with a table: it numbers facts, stamps grants,
// applies and logs. Its judge sees the log alone.
type world struct {
	t interface {
		Helper()
		Fatalf(string, ...any)
	}
	table  *commitlock.Table
	now    time.Time
	epoch  uint64
	number uint64
	log    []*loomv1.Event
	judge  judge
}

func newWorld(t *testing.T) *world {
	return &world{t: t, table: commitlock.New(0), now: noon, epoch: 1}
}

// take applies what a decider returned; a refusal fails the test.
func (w *world) take(events []*loomv1.Event, err error) []*loomv1.Event {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("refused at %s: %v", w.now, err)
	}
	for _, e := range events {
		w.number++
		e.Number, e.Time = w.number, timestamppb.New(w.now)
		commitlock.Stamp(e, w.epoch)
		if err := w.table.Apply(e); err != nil {
			w.t.Fatalf("Apply(%v): %v", e, err)
		}
		if err := w.judge.see(e); err != nil {
			w.t.Fatalf("event %d (%v): %v", e.Number, e, err)
		}
		w.log = append(w.log, e)
	}
	return events
}

func (w *world) acquire(request, host string) []*loomv1.Event {
	w.t.Helper()
	return w.take(w.table.Acquire(w.now, repo, ask(request, host)))
}

func (w *world) token() uint64 { return w.table.Status(repo).GetHolder().GetToken() }

func (w *world) holder() string { return w.table.Status(repo).GetHolder().GetRequest() }

func ask(request, host string) *loomv1.AcquireLock {
	return &loomv1.AcquireLock{
		Request: request, Execution: "demo-1-x1",
		Holder: &loomv1.Claimant{Agent: "engineering-manager/1", Host: host, Epoch: 7},
	}
}

// kinds returns what sort of facts events are, with whom they are about.
func kinds(events []*loomv1.Event) []string {
	var list []string
	for _, e := range events {
		switch f := e.Fact.(type) {
		case *loomv1.Event_LockRequested:
			list = append(list, "requested "+f.LockRequested.Claim.Request)
		case *loomv1.Event_LockGranted:
			list = append(list, "granted "+f.LockGranted.Request)
		case *loomv1.Event_LockRenewed:
			list = append(list, "renewed")
		case *loomv1.Event_LockReleased:
			list = append(list, "released")
		case *loomv1.Event_LockExpired:
			list = append(list, "expired")
		case *loomv1.Event_LockWithdrawn:
			list = append(list, "withdrawn "+f.LockWithdrawn.Request)
		case *loomv1.Event_LockCoupled:
			list = append(list, "coupled "+f.LockCoupled.Request)
		}
	}
	return list
}

// judge holds a log to the promises, by an account of its own: one holder in
// every prefix (invariant 13), tokens that rise (14), grants in the order of
// the requests (19).
type judge struct {
	live  map[string]uint64 // by repository: the token that holds
	who   map[string]string // by repository: the request that holds
	last  map[string]uint64
	queue map[string][]string
}

func (j *judge) see(e *loomv1.Event) error {
	if j.live == nil {
		*j = judge{map[string]uint64{}, map[string]string{}, map[string]uint64{}, map[string][]string{}}
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_LockRequested:
		j.asked(f.LockRequested.Repository, f.LockRequested.Claim.Request)
	case *loomv1.Event_LockGranted:
		return j.granted(f.LockGranted)
	case *loomv1.Event_LockCoupled:
		return j.coupled(f.LockCoupled)
	case *loomv1.Event_LockRenewed:
		return j.must(f.LockRenewed.Repository, f.LockRenewed.Token)
	case *loomv1.Event_LockReleased:
		defer delete(j.live, f.LockReleased.Repository)
		return j.must(f.LockReleased.Repository, f.LockReleased.Token)
	case *loomv1.Event_LockExpired:
		defer delete(j.live, f.LockExpired.Repository)
		return j.must(f.LockExpired.Repository, f.LockExpired.Token)
	case *loomv1.Event_LockWithdrawn:
		r := f.LockWithdrawn.Repository
		j.queue[r] = slices.DeleteFunc(j.queue[r], func(q string) bool { return q == f.LockWithdrawn.Request })
	}
	return nil
}

func (j *judge) asked(repository, request string) {
	_, held := j.live[repository]
	switch {
	case slices.Contains(j.queue[repository], request):
	case held && j.who[repository] == request:
		j.queue[repository] = slices.Insert(j.queue[repository], 0, request)
	default:
		j.queue[repository] = append(j.queue[repository], request)
	}
}

func (j *judge) granted(g *loomv1.LockGranted) error {
	r := g.Repository
	if token, held := j.live[r]; held {
		return fmt.Errorf("second holder beside token %d", token)
	}
	if err := j.rises(r, g.Token); err != nil {
		return err
	}
	if len(j.queue[r]) == 0 || j.queue[r][0] != g.Request {
		return fmt.Errorf("%q served before %q", g.Request, j.queue[r])
	}
	j.live[r], j.who[r], j.queue[r] = g.Token, g.Request, j.queue[r][1:]
	return nil
}

// rises wants a token above all that were given before, to whomever.
func (j *judge) rises(repository string, token uint64) error {
	if token <= j.last[repository] {
		return fmt.Errorf("token %d after %d", token, j.last[repository])
	}
	j.last[repository] = token
	return nil
}

// coupled wants somebody to hold, and another one to wait.
func (j *judge) coupled(c *loomv1.LockCoupled) error {
	if _, held := j.live[c.Repository]; !held || !slices.Contains(j.queue[c.Repository], c.Request) {
		return fmt.Errorf("%q is coupled, held: %t, queue %q", c.Request, held, j.queue[c.Repository])
	}
	return j.rises(c.Repository, c.Token)
}

func (j *judge) must(repository string, token uint64) error {
	if held, ok := j.live[repository]; !ok || held != token {
		return fmt.Errorf("token %d does not hold %s", token, repository)
	}
	return nil
}

// same returns how two messages differ, or "".
func same(a, b proto.Message) string {
	if proto.Equal(a, b) {
		return ""
	}
	return cmp.Diff(a, b, protocmp.Transform())
}
