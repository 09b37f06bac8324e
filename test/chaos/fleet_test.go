package chaos

import (
	"context"
	"encoding/json"
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

	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

var (
	fleetOrders = flag.Int("chaos.fleet-orders", 40, "how many executions are ordered of three hosts")
	fleetKills  = flag.Int("chaos.fleet-kills", 3, "how often one of the three hosts is killed at least")
	fleetWires  = flag.Bool("chaos.fleet-wires", false, "hosts meet over wires, and some are cut off where others would be stopped")
	fleetServer = flag.Bool("chaos.fleet-server", false, "the host that serves the orders is killed each time, and none sleeps: how long take-overs take")
	fleetBeat   = flag.Duration("chaos.fleet-beat", 2*time.Second, "how long after a kill the next one comes, once all hosts serve")
)

// fleetHost is the variable that makes a host with instant agents one of three:
// its number, and the addresses of all. fleetRoutes names the ways to the
// others, where they are not those addresses.
const (
	fleetHost   = "LOOM_CHAOS_FLEET"
	fleetRoutes = "LOOM_CHAOS_ROUTES"
)

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
	if ways := strings.Fields(os.Getenv(fleetRoutes)); len(ways) > 0 {
		c.Cluster.Advertise, c.Cluster.Routes = nowhere, ways
	}
	return nil
}

// fleet is three hosts of a deployment, each a process, and what is done to
// them.
type fleet struct {
	t         *testing.T
	places    [fleetSize]*place
	addresses []string // where hosts listen for each other
	wires     *wires   // the ways from host to host; nil where they meet directly
	random    *rand.Rand
	process   string // of the orders

	mu    sync.Mutex
	hosts [fleetSize]*process
	lives []*process // all that there ever were

	may   chan struct{} // a token for each order that may be placed
	filed atomic.Int64
	kills []kill
}

// kill is what was done to a host.
type kill struct {
	at     time.Time
	served bool // the partition of the orders
	how    string
}

// What is done to hosts.
const (
	killed   = "kill"
	slept    = "sleep"
	apart    = "partition"
	upgraded = "upgrade"
	filled   = "full disk"
)

// sleep is how long a host is stopped or cut off: longer than it is thought to
// live.
const sleep = 6 * time.Second

// newFleet makes the places of three hosts. With wires, the ways between them
// can be cut.
func newFleet(t *testing.T, wired bool) *fleet {
	t.Helper()
	p := newPlace(t)
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
	f := &fleet{
		t: t, process: "component", random: rand.New(rand.NewPCG(*seed, 7)), addresses: brokertest.Addresses(fleetSize),
		may: make(chan struct{}, *fleetOrders),
	}
	if wired {
		f.wires = newWires(t, f.addresses)
	}
	for i := range fleetSize {
		mine := *p
		mine.data = filepath.Join(p.dir, fmt.Sprintf("data-%d", i))
		mine.env = slices.Clone(p.env)
		f.places[i] = &mine
	}
	return f
}

// crowded makes the hosts programs with instant agents.
func (f *fleet) crowded(program string) {
	f.t.Helper()
	f.places[0].repository(f.t, crowd)
	f.populated(program)
}

// populated makes the hosts programs whose agents are as the environment has it.
func (f *fleet) populated(program string, env ...string) {
	for i, p := range f.places {
		p.crowded(program)
		p.env = append(p.env, env...)
		p.env = append(p.env, fmt.Sprintf("%s=%d %s", fleetHost, i, strings.Join(f.addresses, " ")))
		if f.wires != nil {
			p.env = append(p.env, fleetRoutes+"="+strings.Join(f.routes(i), " "))
		}
	}
}

// crowded makes the host of a place a program with instant agents.
func (p *place) crowded(program string) {
	p.program = program
	p.env = append(p.env, crowdHost+"="+p.dir)
}

// routes are where host i meets the others.
func (f *fleet) routes(i int) []string {
	if f.wires == nil {
		return f.addresses
	}
	return append([]string{f.addresses[i]}, f.wires.from(i)...)
}

// begin starts a host and does not wait for it.
func (f *fleet) begin(i int) *process {
	h := f.places[i].begin(f.t)
	f.mu.Lock()
	f.hosts[i], f.lives = h, append(f.lives, h)
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
	f.host(0).define(f.process)
}

// define has the CEO give a process of orders.
func (h *process) define(name string) {
	h.t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		h.t.Fatal(err)
	}
	def, err := processes.Parse(name+".yaml", data, roles.Builtin())
	if err != nil {
		h.t.Fatal(err)
	}
	ctx := deadline(h.t)
	human := h.ceo(ctx)
	if human == nil {
		h.t.Fatal("the CEO cannot come")
	}
	defer human.close()
	signed, err := human.key.Define(human.deployment, crowd, &loomv1.ChangeDefinition{Definition: def, Reason: "the work to come"})
	if err == nil {
		err = human.control.Present(ctx, "define", signed)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// order places one order with whichever host answers, until it is promised.
func (f *fleet) order(ctx context.Context, n int) {
	for try := n; ctx.Err() == nil; try++ {
		if f.ask(ctx, try%fleetSize, func(ctx context.Context, c *client.Client) error {
			_, err := c.Submit(ctx, &loomv1.Submission{
				Project: crowd, Goal: describe(n), Process: f.process, IdempotencyKey: fmt.Sprintf("order-%d", n),
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

// name is how host i is called; empty before it has started.
func (f *fleet) name(i int) string {
	var m struct{ Host string }
	data, err := os.ReadFile(filepath.Join(f.places[i].data, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return ""
	}
	return m.Host
}

// serves returns which host serves the partition of the orders, -1 when none
// is said to.
func (f *fleet) serves(ctx context.Context) int {
	for i := range fleetSize {
		if holder := f.servesAs(ctx, i); holder >= 0 {
			return holder
		}
	}
	return -1
}

// servesAs returns which host serves, as whoever answers at host i says, or -1.
// It may be any host that host i reaches.
func (f *fleet) servesAs(ctx context.Context, i int) int {
	holder := -1
	f.ask(ctx, i, func(ctx context.Context, c *client.Client) error {
		reply, err := c.Hosts(ctx, &loomv1.HostsRequest{})
		for _, p := range reply.GetHosts() {
			if p.Alive && len(p.Partitions) > 0 {
				holder = f.index(p.Host)
			}
		}
		return err
	})
	return holder
}

// index is which host has a name, -1 if none has.
func (f *fleet) index(name string) int {
	for i := range fleetSize {
		if f.name(i) == name {
			return i
		}
	}
	return -1
}

// strike kills a random host, more often the one that serves the orders, and
// starts it again; every third time the one that serves the orders sleeps until
// it is thought dead, and wakes, or is cut off where there are wires.
func (f *fleet) strike(ctx context.Context) {
	holder := f.serves(ctx)
	victim := f.random.IntN(fleetSize)
	if holder >= 0 && (*fleetServer || f.random.IntN(2) == 0) {
		victim = holder
	}
	k := kill{time.Now(), victim == holder, killed}
	if holder >= 0 && !*fleetServer && len(f.kills)%3 == 1 {
		victim, k.served, k.how = holder, true, slept
		if f.wires != nil && len(f.kills)%2 == 1 {
			k.how = apart
		}
	}
	f.kills = append(f.kills, k)
	switch k.how {
	case slept:
		f.freeze(ctx, f.host(victim))
	case apart:
		how := broken
		if len(f.kills)%4 == 0 {
			how = silently
		}
		f.wires.isolate(victim, how)
		rest(ctx, sleep)
		f.wires.heal()
	default:
		f.host(victim).kill()
		if *fleetServer {
			rest(ctx, sleep) // or it would be back before another host takes over
		}
		f.begin(victim).serves()
	}
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
			v, err := c.Bead(ctx, &loomv1.Query{Project: crowd, Limit: 1000})
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

// events reads the journal of a project through host i. After what was done to
// the hosts, an election may be under way.
func (f *fleet) events(i int, project string) (all []*loomv1.Event) {
	f.t.Helper()
	c := f.host(i).client()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	for {
		all = nil
		err := c.Follow(ctx, &loomv1.NoticesRequest{Project: project}, false, func(n *loomv1.Notice) error {
			all = append(all, n.Event)
			return nil
		})
		if err == nil {
			return all
		}
		if rest(ctx, 50*time.Millisecond); ctx.Err() != nil {
			f.t.Fatalf("the journal through host %d: %v; it says:\n%s", i, err, f.host(i).text())
		}
	}
}

// TestOPS01_ThreeHostsThroughKills covers P1, P5 and WF10 on a cluster: three
// hosts work on orders while one of them is killed every two seconds. All are
// done, nothing is lost, nothing is done twice.
func TestOPS01_ThreeHostsThroughKills(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (-chaos.seed)", *seed)
	f := newFleet(t, *fleetWires)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f.crowded(program)
	f.run(fleetPatience(), func(ctx context.Context) {
		f.release(*fleetOrders)
		for len(f.kills) < *fleetKills || f.closed(ctx) < *fleetOrders {
			if ctx.Err() != nil {
				t.Fatalf("%d of %d orders are done, %d filed", f.closed(t.Context()), *fleetOrders, f.filed.Load())
			}
			if len(f.kills) < *fleetKills || *fleetKills > 3 {
				f.strike(ctx)
			}
			rest(ctx, *fleetBeat)
		}
	})
}

// run starts the hosts, has orders placed while something is done to them, and
// holds all of it against the promises.
func (f *fleet) run(most time.Duration, do func(context.Context)) {
	f.t.Helper()
	for i := range fleetSize {
		f.begin(i)
	}
	f.serve()
	f.define()
	began := time.Now()
	ctx, cancel := context.WithTimeout(f.t.Context(), most)
	var publishers sync.WaitGroup
	defer func() { cancel(); publishers.Wait() }()
	for who := range 4 {
		publishers.Go(func() {
			for n := who; n < *fleetOrders && f.allowed(ctx); n += 4 {
				f.order(ctx, n)
			}
		})
	}
	do(ctx)
	publishers.Wait()
	f.judge(time.Since(began))
}

// release lets publishers place n more orders. It never blocks.
func (f *fleet) release(n int) {
	for range n {
		f.may <- struct{}{}
	}
}

// allowed waits until one more order may be placed; false if ctx ends first.
func (f *fleet) allowed(ctx context.Context) bool {
	select {
	case <-f.may:
		return true
	case <-ctx.Done():
		return false
	}
}

// fleetPatience is how long a run may take: three hosts on few processors come
// up slowly.
func fleetPatience() time.Duration {
	return 4*time.Minute + time.Duration(*fleetKills)*15*time.Second
}
