package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/broker/brokertest"
	"github.com/loomrun/loom/internal/ceokey"
	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/datadir"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

var (
	fleetOrders = flag.Int("chaos.fleet-orders", 40, "how many executions are ordered of three hosts")
	fleetKills  = flag.Int("chaos.fleet-kills", 3, "how often one of the three hosts is killed at least")
	fleetBeat   = flag.Duration("chaos.fleet-beat", 2*time.Second, "how long after a kill the next one comes, once all hosts serve")
)

// fleetHost is the variable that makes a host with instant agents one of three:
// its number, and the addresses of all.
const fleetHost = "LOOM_CHAOS_FLEET"

const fleetSize = 3

// joinFleet makes a host one of a fleet, if the environment says so.
func joinFleet(dir string, c *host.Config) error {
	words := strings.Fields(os.Getenv(fleetHost))
	if len(words) == 0 {
		return nil
	}
	join, err := datadir.ReadJoin(filepath.Join(dir, "join.json"))
	if err != nil {
		return err
	}
	c.Data, c.Join = filepath.Join(dir, "data-"+words[0]), &join
	n := int(words[0][0] - '0')
	c.Cluster = &host.Cluster{Listen: words[1+n], Routes: words[1:]}
	return nil
}

// fleet is three hosts of a deployment, each a process, and what is done to
// them.
type fleet struct {
	t      *testing.T
	places [fleetSize]*place
	random *rand.Rand

	mu    sync.Mutex
	hosts [fleetSize]*process

	filed atomic.Int64
	kills []kill
}

// kill is a host that was killed, or that slept.
type kill struct {
	at     time.Time
	served bool // the partition of the orders
	slept  bool
}

// sleep is how long a host is stopped: longer than it is thought to live.
const sleep = 6 * time.Second

func newFleet(t *testing.T) *fleet {
	t.Helper()
	p := newPlace(t)
	p.repository(t, crowd)
	key, _, err := ceokey.OpenOrCreate(p.key)
	if err != nil {
		t.Fatal(err)
	}
	join, err := datadir.NewJoin("chaos", fleetSize, 0, 1, key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if err := join.Write(filepath.Join(p.dir, "join.json")); err != nil {
		t.Fatal(err)
	}
	if p.program, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, random: rand.New(rand.NewPCG(*seed, 7))}
	addresses := strings.Join(brokertest.Addresses(fleetSize), " ")
	for i := range fleetSize {
		mine := *p
		mine.data = filepath.Join(p.dir, fmt.Sprintf("data-%d", i))
		mine.env = append(slices.Clone(p.env), crowdHost+"="+p.dir, fmt.Sprintf("%s=%d %s", fleetHost, i, addresses))
		f.places[i] = &mine
	}
	return f
}

// begin starts a host and does not wait for it.
func (f *fleet) begin(i int) *process {
	h := f.places[i].begin(f.t)
	f.mu.Lock()
	f.hosts[i] = h
	f.mu.Unlock()
	return h
}

func (f *fleet) host(i int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hosts[i]
}

// serve waits until all hosts serve.
func (f *fleet) serve() {
	f.t.Helper()
	for i := range fleetSize {
		f.host(i).serves()
	}
}

// define has the CEO give the process of the orders.
func (f *fleet) define() {
	f.t.Helper()
	data, err := os.ReadFile("testdata/component.yaml")
	if err != nil {
		f.t.Fatal(err)
	}
	def, err := processes.Parse("component.yaml", data, roles.Builtin())
	if err != nil {
		f.t.Fatal(err)
	}
	ctx := deadline(f.t)
	human := f.host(0).ceo(ctx)
	if human == nil {
		f.t.Fatal("the CEO cannot come")
	}
	defer human.close()
	signed, err := human.key.Define(human.deployment, crowd, &loomv1.ChangeDefinition{Definition: def, Reason: "the work to come"})
	if err == nil {
		err = human.control.Present(ctx, "define", signed)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// order places one order with whichever host answers, until it is promised.
func (f *fleet) order(ctx context.Context, n int) {
	for try := n; ctx.Err() == nil; try++ {
		if f.ask(ctx, try%fleetSize, func(ctx context.Context, c *client.Client) error {
			_, err := c.Submit(ctx, &loomv1.Submission{
				Project: crowd, Goal: describe(n), Process: "component", IdempotencyKey: fmt.Sprintf("order-%d", n),
			})
			return err
		}) {
			f.filed.Add(1)
			return
		}
	}
}

// ask asks a host something, within a time that lets another one be asked when
// it is dead; it returns whether it was done.
func (f *fleet) ask(ctx context.Context, i int, do func(context.Context, *client.Client) error) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h := f.host(i)
	if h.running().URL == "" {
		return rest(ctx, 50*time.Millisecond)
	}
	c, err := client.Dial(h.place.data)
	if err != nil {
		return rest(ctx, 50*time.Millisecond)
	}
	defer c.Close()
	return do(ctx, c) == nil
}

// rest waits a moment and says that nothing was done.
func rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return false
}

// serves returns which host serves the partition of the orders, -1 when none
// says so.
func (f *fleet) serves(ctx context.Context) int {
	holder := -1
	for i := range fleetSize {
		asked := f.ask(ctx, i, func(ctx context.Context, c *client.Client) error {
			reply, err := c.Hosts(ctx)
			if err != nil {
				return err
			}
			for _, p := range reply.Hosts {
				if p.Host == reply.By && len(p.Partitions) > 0 {
					holder = i
				}
			}
			return nil
		})
		if asked && holder >= 0 {
			return holder
		}
	}
	return holder
}

// strike kills a random host, more often the one that serves the orders, and
// starts it again; every third time the one that serves the orders sleeps
// until it is thought dead, and wakes.
func (f *fleet) strike(ctx context.Context) {
	holder := f.serves(ctx)
	victim := f.random.IntN(fleetSize)
	if holder >= 0 && f.random.IntN(2) == 0 {
		victim = holder
	}
	h := f.host(victim)
	if holder >= 0 && len(f.kills)%3 == 1 {
		f.kills = append(f.kills, kill{time.Now(), true, true})
		f.freeze(ctx, f.host(holder))
		return
	}
	at := time.Now()
	h.kill()
	f.kills = append(f.kills, kill{at, victim == holder, false})
	f.begin(victim).serves()
}

// freeze stops a host in the middle of what it does, and lets it go on.
func (f *fleet) freeze(ctx context.Context, h *process) {
	f.t.Helper()
	if err := h.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		f.t.Fatal(err)
	}
	rest(ctx, sleep)
	if err := h.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		f.t.Fatal(err)
	}
}

// closed returns how many orders are done, as some host says.
func (f *fleet) closed(ctx context.Context) int {
	n := -1
	for i := 0; n < 0 && ctx.Err() == nil; i++ {
		f.ask(ctx, i%fleetSize, func(ctx context.Context, c *client.Client) error {
			v, err := c.Look(ctx, "bead", &loomv1.Query{Project: crowd, Limit: 1000})
			if err != nil {
				return err
			}
			n = 0
			for _, b := range v.Beads {
				if b.Status == loomv1.BeadStatus_BEAD_STATUS_CLOSED && b.Type != loomv1.BeadType_BEAD_TYPE_APPROVAL {
					n++
				}
			}
			return nil
		})
	}
	return n
}

// events reads the whole journal through a host.
func (f *fleet) events() []*loomv1.Event {
	f.t.Helper()
	var all []*loomv1.Event
	c := f.host(0).client()
	err := c.Follow(deadline(f.t), &loomv1.NoticesRequest{Project: crowd}, false, func(n *loomv1.Notice) error {
		all = append(all, n.Event)
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

// TestOPS01_ThreeHostsThroughKills covers P1, P5 and WF10 on a cluster: three
// hosts work on orders while one of them is killed every two seconds. All are
// done, nothing is lost, nothing is done twice.
func TestOPS01_ThreeHostsThroughKills(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (-chaos.seed)", *seed)
	f := newFleet(t)
	for i := range fleetSize {
		f.begin(i)
	}
	f.serve()
	f.define()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), fleetPatience())
	defer cancel()
	var publishers sync.WaitGroup
	for who := range 4 {
		publishers.Go(func() {
			for n := who; n < *fleetOrders; n += 4 {
				f.order(ctx, n)
			}
		})
	}
	for len(f.kills) < *fleetKills || f.closed(ctx) < *fleetOrders {
		if ctx.Err() != nil {
			t.Fatalf("after %s %d of %d orders are done, %d filed", time.Since(began), f.closed(t.Context()), *fleetOrders, f.filed.Load())
		}
		if len(f.kills) < *fleetKills || *fleetKills > 3 {
			f.strike(ctx)
		}
		rest(ctx, *fleetBeat)
	}
	publishers.Wait()
	took := time.Since(began)
	f.judge(took)
}

// fleetPatience is how long a run may take: three hosts on few processors come
// up slowly.
func fleetPatience() time.Duration {
	return 4*time.Minute + time.Duration(*fleetKills)*15*time.Second
}

// judge holds the journal and the ledger against the promises.
func (f *fleet) judge(took time.Duration) {
	f.t.Helper()
	events := f.events()
	a := newAuditor()
	for _, e := range events {
		a.add(e)
	}
	a.end()
	a.ledger(readLedger(f.t, f.places[0]))
	for _, problem := range a.told() {
		f.t.Error(problem)
	}
	if n := len(a.beads); n != *fleetOrders {
		f.t.Errorf("%d beads were filed for %d orders", n, *fleetOrders)
	}
	for i := range fleetSize {
		for line := range strings.Lines(f.host(i).text()) {
			if strings.Contains(line, "DATA RACE") || strings.Contains(line, "quarantined") {
				f.t.Errorf("host %d says: %s", i, line)
			}
		}
	}
	f.t.Logf("%d orders, %d kills, %d events in %s", *fleetOrders, len(f.kills), len(events), took.Round(time.Millisecond))
	for _, c := range []struct {
		served, slept bool
		what          string
	}{{true, false, "kill of a host that served the orders"}, {false, false, "kill of a host that did not"}, {true, true, "sleep of the host that served them"}} {
		gaps := f.gaps(events, c.served, c.slept)
		if len(gaps) == 0 {
			continue
		}
		f.t.Logf("from the %s to the next event: %d times, p50 %s, p90 %s, max %s", c.what, len(gaps),
			quantile(gaps, 50).Round(time.Millisecond), quantile(gaps, 90).Round(time.Millisecond), gaps[len(gaps)-1].Round(time.Millisecond))
	}
}

// gaps returns, sorted, how long after each strike of a kind the journal went
// on, where it did.
func (f *fleet) gaps(events []*loomv1.Event, served, slept bool) []time.Duration {
	var gaps []time.Duration
	for _, k := range f.kills {
		i := slices.IndexFunc(events, func(e *loomv1.Event) bool { return e.Time.AsTime().After(k.at) })
		if k.served == served && k.slept == slept && i >= 0 {
			gaps = append(gaps, events[i].Time.AsTime().Sub(k.at))
		}
	}
	slices.Sort(gaps)
	return gaps
}
