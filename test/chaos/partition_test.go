package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	partitions = flag.Int("chaos.partitions", 1, "how often a host is cut off in the middle of a commit")
	oneWay     = flag.Bool("chaos.one-way", false, "a host that is cut off always hears the others, who do not hear it; else every third one does")
)

// TestP5_PartitionOfTheHostThatServes covers P5, P6 and WF10: three hosts do the
// main job, and in the middle of the commit, under the commit lock, the one
// that serves it (every second time the one that commits) is cut off from the
// others. Two never serve; the one alone takes no writes and says so; the job
// is done by the others, lands once, and under the newest grant; the one that
// was cut off comes back and tells the same.
func TestP5_PartitionOfTheHostThatServes(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (-chaos.seed)", *seed)
	d := newDivision(t, *partitions)
	for i := range fleetSize {
		d.fleet.begin(i)
	}
	d.fleet.serve()
	for i := range d.gates {
		d.divide(i)
	}
	slices.Sort(d.took)
	t.Logf("%d partitions, until another host serves: p50 %s, longest %s", len(d.gates), quantile(d.took, 50), quantile(d.took, 100))
}

// division is three hosts of the command under test over wires, and jobs whose
// commits wait to be let go.
type division struct {
	t     *testing.T
	fleet *fleet
	chaos *chaos
	gates []gate
	took  []time.Duration
}

// gate is a commit hook that says that it has begun, and waits.
type gate struct{ begun, open string }

// newDivision makes the places of three hosts, and as many jobs.
func newDivision(t *testing.T, jobs int) *division {
	t.Helper()
	f := newFleet(t, true)
	c := &chaos{t: t, place: f.places[0], record: newRecord(), marks: map[string]int{}, answer: approve}
	d := &division{t: t, fleet: f, chaos: c}
	for i := range jobs {
		j := c.job(fmt.Sprintf("shop-%d", i+1))
		j.direct = true // hosts of a cluster take nothing from strangers
		g := gate{filepath.Join(c.place.dir, j.project+".begun"), filepath.Join(c.place.dir, j.project+".open")}
		hook(t, j.repository, fmt.Sprintf("touch %q\nwhile [ ! -e %q ]; do sleep 0.05; done\n", g.begun, g.open))
		d.gates = append(d.gates, g)
	}
	for i, p := range f.places {
		p.projects = c.place.projects
		p.flags = []string{
			"--http", "off", "--join", filepath.Join(p.dir, "join.json"), "--cluster-listen", f.addresses[i],
			"--cluster-advertise", nowhere, "--routes", strings.Join(f.routes(i), ","),
		}
	}
	return d
}

// patience bounds what a test of a cluster waits for.
const patience = 3 * time.Minute

// until asks again and again until it is true.
func (d *division) until(what string, ok func(context.Context) bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	for !ok(ctx) {
		if rest(ctx, 20*time.Millisecond); ctx.Err() != nil {
			d.t.Fatalf("not within %s: %s%s", patience, what, d.say())
		}
	}
}

// say is what all hosts have said.
func (d *division) say() (text string) {
	for i := range fleetSize {
		text += fmt.Sprintf("\nhost %d says:\n%s", i, d.fleet.host(i).text())
	}
	return text
}

// divide does a job in whose commit a host is cut off.
func (d *division) divide(i int) {
	d.t.Helper()
	j := d.chaos.jobs[i]
	d.commits(i)
	victim := d.victim(i)
	observer := d.fleet.host((victim + 1) % fleetSize)
	d.fleet.wires.isolate(victim, d.how(i))
	began := time.Now()
	d.followed(victim)
	d.took = append(d.took, time.Since(began))
	d.alone(victim, j)
	d.finishes(i, observer)
	d.excused(victim, j)
	d.fleet.wires.heal()
	d.together(victim, j)
	d.judge(j)
}

// commits has job i done until its commit waits.
func (d *division) commits(i int) {
	d.t.Helper()
	leave := d.chaos.attend(d.fleet.host(i%fleetSize), d.chaos.jobs[i])
	defer leave()
	d.until("the commit begins", func(context.Context) bool {
		_, err := os.Stat(d.gates[i].begun)
		return err == nil
	})
}

// finishes lets the commit of job i go on, and waits until the job is done, as
// observer sees it.
func (d *division) finishes(i int, observer *process) {
	d.t.Helper()
	j := d.chaos.jobs[i]
	leave := d.chaos.attend(observer, j)
	defer leave()
	write(d.t, d.gates[i].open, "")
	d.until("the others do the job", func(context.Context) bool {
		return d.chaos.count(func(e *loomv1.Event) bool { return e.Project == j.project && e.GetExecutionEnded() != nil }) > 0
	})
}

// how the host is cut off in whose commit job i is.
func (d *division) how(i int) string {
	if *oneWay {
		return unheard
	}
	return []string{silently, broken, unheard}[i%3]
}

// victim is the host that serves, or, every second time, the one that has the
// commit lock.
func (d *division) victim(i int) int {
	d.t.Helper()
	victim := -1
	d.until("somebody serves", func(ctx context.Context) bool {
		victim = d.fleet.serves(ctx)
		return victim >= 0
	})
	holder := d.fleet.index(d.holder(d.chaos.jobs[i].project))
	d.t.Logf("%s: host %d serves, an agent of host %d commits", d.chaos.jobs[i].project, victim, holder)
	if i%2 == 1 && holder >= 0 {
		return holder
	}
	return victim
}

// holder is the host whose agent asked for the commit lock last.
func (d *division) holder(project string) (host string) {
	list, _, _ := d.chaos.record.from(0, project)
	for _, n := range list {
		if r := n.Event.GetLockRequested(); r != nil {
			host = r.Claim.Holder.Host
		}
	}
	return host
}

// followed waits until one of the others serves.
func (d *division) followed(victim int) {
	d.t.Helper()
	d.until("another host serves", func(ctx context.Context) bool {
		for i := range fleetSize {
			if by := d.fleet.servesAs(ctx, i); i != victim && by >= 0 && by != victim {
				return true
			}
		}
		return false
	})
}

// alone checks that a host which is cut off, and followed by another, does not
// serve and promises nothing.
func (d *division) alone(victim int, j *job) {
	d.t.Helper()
	if d.fleet.servesAs(d.t.Context(), victim) == victim {
		d.t.Errorf("host %d says that it serves, and so does another%s", victim, d.say())
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*time.Second)
	defer cancel()
	if err := d.submit(ctx, victim, j); fault.Status(err) != fault.Unavailable {
		d.t.Errorf("host %d answers %v to what was submitted to it alone", victim, err)
	}
}

// excused waits until a host that is cut off says why it takes nothing: it
// learns that from what it does not hear.
func (d *division) excused(victim int, j *job) {
	d.t.Helper()
	var err error
	defer func() {
		if d.t.Failed() {
			d.t.Logf("its last answer: %v", err)
		}
	}()
	d.until("it says why it takes nothing", func(ctx context.Context) bool {
		err = d.submit(ctx, victim, j)
		if fault.Status(err) != fault.Unavailable {
			d.t.Errorf("host %d answers %v to what was submitted to it alone", victim, err)
		}
		return fault.Code(err) == "cluster/no-quorum" || d.t.Failed()
	})
}

// submit hands the report of a job in again, within the time that a client
// takes: if it comes late, it changes nothing.
func (d *division) submit(ctx context.Context, i int, j *job) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := client.Dial(d.fleet.places[i].data)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Report(ctx, report(d.t, j.project))
	return err
}

// together waits until a host that was cut off knows what the others did.
func (d *division) together(victim int, j *job) {
	d.t.Helper()
	d.until("it knows what the others did", func(ctx context.Context) bool {
		ended := 0
		d.fleet.ask(ctx, victim, func(ctx context.Context, c *client.Client) error {
			list, err := c.History(ctx, &loomv1.HistoryRequest{Execution: execution(j)})
			ended = len(list.Transitions)
			return err
		})
		return ended >= len(smooth)
	})
	d.until("it takes work again", func(ctx context.Context) bool {
		return d.fleet.ask(ctx, victim, func(ctx context.Context, c *client.Client) error {
			_, err := c.Report(ctx, report(d.t, j.project)) // the same again: nothing new
			return err
		})
	})
}

// judge holds journal, tables and repository against the promises.
func (d *division) judge(j *job) {
	d.t.Helper()
	first := d.fleet.events(0, j.project)
	for i := 1; i < fleetSize; i++ {
		d.same(first, d.fleet.events(i, j.project), i)
	}
	for _, problem := range append(audit(first), grants(first)...) {
		d.t.Errorf("%s: %s", j.project, problem)
	}
	d.chaos.inspect(j)
	fence := git(d.t, j.repository, "cat-file", "blob", git(d.t, j.repository, "for-each-ref", "--format=%(objectname)", "refs/loom/fence"))
	if want := fmt.Sprintf("token %d", newBooks(first).token); fence != want {
		d.t.Errorf("%s: the fence says %q, the newest grant %q", j.project, fence, want)
	}
	for i := range fleetSize {
		d.tells(i, j, first)
	}
}

// same checks that two hosts tell the same story, as far as both tell it.
func (d *division) same(want, got []*loomv1.Event, i int) {
	d.t.Helper()
	n := min(len(want), len(got))
	if diff := cmp.Diff(want[:n], got[:n], protocmp.Transform()); diff != "" {
		d.t.Errorf("the journal through host %d (-through host 0):\n%s", i, diff)
	}
}

// tells waits until a host's tables have the transitions of the journal, and no
// others.
func (d *division) tells(i int, j *job, events []*loomv1.Event) {
	d.t.Helper()
	var got []string
	d.until("its tables are complete", func(ctx context.Context) bool {
		return d.fleet.ask(ctx, i, func(ctx context.Context, c *client.Client) error {
			list, err := c.History(ctx, &loomv1.HistoryRequest{Execution: execution(j)})
			got = nil
			for _, t := range list.Transitions {
				got = append(got, t.From+" "+t.To+" "+t.Outcome)
			}
			return err
		})
	})
	if diff := cmp.Diff(newBooks(events).transitions, got); diff != "" {
		d.t.Errorf("tables of host %d (-journal +tables)\n%s", i, diff)
	}
}

// grants lists where the commit lock was granted while somebody else had it.
func grants(events []*loomv1.Event) (problems []string) {
	var held uint64
	for _, e := range events {
		switch f := e.Fact.(type) {
		case *loomv1.Event_LockGranted:
			if held != 0 {
				problems = append(problems, fmt.Sprintf("token %d was granted while %d was held", f.LockGranted.Token, held))
			}
			held = f.LockGranted.Token
		case *loomv1.Event_LockReleased, *loomv1.Event_LockExpired:
			held = 0
		}
	}
	return problems
}

// The oracle can fail.
func TestP6_TwoGrantsAtOnceAreSeen(t *testing.T) {
	list := soundEvents()
	i := first(list, func(e *loomv1.Event) bool { return e.GetLockGranted() != nil })
	if problems := grants(list); len(problems) > 0 {
		t.Errorf("sound events: %q", problems)
	}
	second := proto.CloneOf(list[i])
	second.GetLockGranted().Token = 9
	if problems := grants(slices.Insert(list, i+1, second)); len(problems) != 1 {
		t.Errorf("two grants at once: %q", problems)
	}
	released := &loomv1.Event{Fact: &loomv1.Event_LockReleased{LockReleased: &loomv1.LockReleased{Token: 7}}}
	if problems := grants([]*loomv1.Event{list[i], released, second}); len(problems) > 0 {
		t.Errorf("one after the other: %q", problems)
	}
}
