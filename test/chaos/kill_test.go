package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	kills = flag.Int("chaos.kills", 20, "how often the host is killed")
	seed  = flag.Uint64("chaos.seed", 0, "seed of the moments; 0 takes the clock's")
)

// phases are the parts of a job in their order; how many events each has when
// nothing goes wrong; and how long its longest step takes, more or less.
var phases = []struct {
	name   string
	events int
	step   time.Duration
}{
	{starting, 0, 400 * time.Millisecond},
	{"triage", 12, 600 * time.Millisecond},
	{"investigate", 60, 600 * time.Millisecond},
	{"approve", 2, 20 * time.Millisecond},
	{"commit", 4, 200 * time.Millisecond},
	{"verify", 10, 500 * time.Millisecond},
	{"land", 4, 60 * time.Millisecond},
}

// starting is the phase of a host that does not serve yet.
const starting = "start"

// moment is when a host is killed: some events into a phase, and some time
// after that; or some time after its process began.
type moment struct {
	phase  string
	events int
	delay  time.Duration
}

func (m moment) String() string { return fmt.Sprintf("%s+%d+%s", m.phase, m.events, m.delay) }

// moments draws one moment of each phase, in the order of a job. Half of the
// delays are short, which cuts between two steps; half are long, which cuts
// what runs.
func moments(r *rand.Rand) []moment {
	var list []moment
	for _, p := range phases {
		m := moment{phase: p.name, delay: time.Duration(r.Int64N(int64(p.step)))}
		if p.name != starting && r.IntN(2) == 0 {
			m.delay /= 16
		}
		if p.events > 0 {
			m.events = 1 + r.IntN(p.events)
		}
		list = append(list, m)
	}
	return list
}

// job is one run of the main job in a project of its own.
type job struct {
	project, repository string
	base                string // the target's head before
	direct              bool   // submitted by request, not by publishing
	bead                string // what a direct submission was answered
	acknowledged        bool
}

// chaos is a run of the test.
type chaos struct {
	t      *testing.T
	place  *place
	record *record
	jobs   []*job
	killed int
	marks  map[string]int  // kills by phase in which they hit
	answer answer          // of the CEO
	starts []time.Duration // how long hosts took that were begun after a kill
}

func newChaos(t *testing.T) *chaos {
	t.Helper()
	return &chaos{t: t, place: newPlace(t), record: newRecord(), marks: map[string]int{}, answer: approve}
}

// TestWF10_KillNineAtTwentyRandomMoments kills the host again and again while
// it works, and then looks for anything that was lost, done twice or left over.
func TestWF10_KillNineAtTwentyRandomMoments(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (-chaos.seed)", *seed)
	r := rand.New(rand.NewPCG(*seed, 0))
	c := newChaos(t)
	began := time.Now()
	for left := *kills; left > 0; {
		plan := moments(r)
		plan = plan[:min(left, len(plan))]
		left -= len(plan)
		c.run(plan)
	}
	slices.Sort(c.starts)
	t.Logf("%d kills in %d jobs within %s; by phase: %v; start after a kill p50 %s, longest %s", c.killed, len(c.jobs),
		time.Since(began).Round(time.Millisecond), c.marks, c.starts[len(c.starts)/2].Round(time.Millisecond), c.starts[len(c.starts)-1].Round(time.Millisecond))
	c.judge()
}

// job makes a repository with work to do.
func (c *chaos) job(project string) *job {
	c.t.Helper()
	j := &job{project: project, repository: c.place.repository(c.t, project)}
	j.base = git(c.t, j.repository, "rev-parse", "main")
	c.jobs = append(c.jobs, j)
	return j
}

// run does one job on a fresh repository, killed at the moments of plan.
func (c *chaos) run(plan []moment) {
	c.t.Helper()
	j := c.job(fmt.Sprintf("shop-%d", len(c.jobs)+1))
	j.direct = len(c.jobs)%2 == 0
	for _, m := range plan {
		c.life(j, m)
	}
	c.finish(c.place.begin(c.t), j)
}

// finish has a host do the rest of a job, and stops it.
func (c *chaos) finish(h *process, j *job) {
	c.t.Helper()
	leave := c.attend(h, j)
	c.record.await(c.t, h, j.project, func(e *loomv1.Event) bool { return e.GetExecutionEnded() != nil })
	leave()
	h.serves()
	c.look(h, j)
	h.stop(syscall.SIGTERM)
	c.inspect(j)
}

// life is one life of a host: it is begun, works, and is killed at m, or when
// the job has ended before that.
func (c *chaos) life(j *job, m moment) {
	c.t.Helper()
	h := c.place.begin(c.t)
	if m.phase == starting {
		c.after(h, m.delay)
		c.die(h, starting)
		return
	}
	defer c.attend(h, j)()
	phase := c.reach(h, j, m)
	c.after(h, m.delay)
	c.die(h, phase)
}

func (c *chaos) die(h *process, phase string) {
	select {
	case <-h.ended:
		c.t.Fatalf("the host ended by itself with status %d\n%s", h.status(), h.text())
	default:
	}
	h.kill()
	c.killed++
	c.marks[phase]++
	select {
	case <-h.up:
		c.starts = append(c.starts, h.ready)
	default: // it was killed before
	}
}

// after waits, or until the host ends.
func (c *chaos) after(h *process, d time.Duration) {
	select {
	case <-time.After(d):
	case <-h.ended:
	}
}

// reach waits until this life of the host has brought as many events of the
// phase as m wants, or has left the phase behind, and returns where it is.
func (c *chaos) reach(h *process, j *job, m moment) string {
	c.t.Helper()
	ctx := deadline(c.t)
	before, _, _ := c.record.from(0, j.project)
	phase, read, count := starting, 0, 0
	for skip := 0; ; {
		list, all, more := c.record.from(skip, j.project)
		for _, n := range list {
			phase = next(phase, n.Event)
			if read++; read > len(before) && phase == m.phase {
				count++
			}
		}
		skip = all
		if count >= m.events || order(phase) > order(m.phase) {
			return phase
		}
		select {
		case <-more:
		case <-h.ended:
			return phase
		case <-ctx.Done():
			c.t.Fatalf("%s is not reached; the last events:\n%s\nthe host says:\n%s", m, c.record.tail(j.project, 40), h.text())
		}
	}
}

// next is the phase of a job after an event.
func next(phase string, e *loomv1.Event) string {
	switch {
	case e.GetAttemptDispatched() != nil, e.GetApprovalRequested() != nil:
		return e.Node
	case e.GetExecutionEnded() != nil:
		return "end"
	}
	return phase
}

// order is a phase's place in a job; the end's is behind all.
func order(phase string) int {
	for i, p := range phases {
		if p.name == phase {
			return i
		}
	}
	return len(phases)
}

// attend has an observer, the service with its report, and the CEO come to a
// host, and returns what makes them leave.
func (c *chaos) attend(h *process, j *job) (leave func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var visitors sync.WaitGroup
	visitors.Go(func() {
		if o := h.dial(ctx); o != nil {
			defer o.Close()
			c.record.follow(ctx, o)
		}
	})
	visitors.Go(func() { c.submit(ctx, h, j) })
	visitors.Go(func() { c.approve(ctx, h, j) })
	return func() { cancel(); visitors.Wait() }
}

// submit hands the report in until it is acknowledged. It does so in every life
// of the host, with one key: that must change nothing.
func (c *chaos) submit(ctx context.Context, h *process, j *job) {
	o := h.dial(ctx)
	if o == nil {
		return
	}
	defer o.Close()
	r := report(c.t, j.project)
	h.until(ctx, func() bool {
		ask, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if !j.direct {
			running := h.running()
			if err := publish(ask, running.URL, r); err != nil {
				return false
			}
			j.acknowledged = true
			return true
		}
		reply, err := o.Report(ask, r)
		if err != nil {
			return false
		}
		if j.bead != "" && j.bead != reply.Bead {
			c.t.Errorf("the report was answered with bead %q, before with %q", reply.Bead, j.bead)
		}
		j.bead, j.acknowledged = reply.Bead, true
		return true
	})
}

// approve answers what waits, as often as something may have begun to wait.
func (c *chaos) approve(ctx context.Context, h *process, j *job) {
	human := h.ceo(ctx)
	if human == nil {
		return
	}
	defer human.close()
	for ctx.Err() == nil {
		_, _, more := c.record.from(0, j.project)
		err := human.decide(ctx, j.project, c.answer)
		if err != nil && fault.Status(err) != fault.Unavailable && fault.Status(err) != fault.Invalid && ctx.Err() == nil {
			c.t.Errorf("approval in %s: %v", j.project, err)
		}
		select {
		case <-more:
		case <-h.ended:
			return
		case <-ctx.Done():
		}
	}
}

// look asks the host about a job that has ended.
func (c *chaos) look(h *process, j *job) {
	c.t.Helper()
	o := h.client()
	v, err := o.Bead(deadline(c.t), &loomv1.Query{Project: j.project})
	if err != nil {
		c.t.Fatalf("beads of %s: %v", j.project, err)
	}
	var bugs []string
	for _, b := range v.Beads {
		if b.Status != loomv1.BeadStatus_BEAD_STATUS_CLOSED {
			c.t.Errorf("bead %s of %s is %s, want closed", b.Id, j.project, b.Status)
		}
		if b.Type == loomv1.BeadType_BEAD_TYPE_BUG {
			bugs = append(bugs, b.Id)
		}
	}
	if !j.acknowledged || len(bugs) != 1 || j.direct && bugs[0] != j.bead {
		c.t.Errorf("%s: acknowledged %t as %q, bug beads %v: want exactly one", j.project, j.acknowledged, j.bead, bugs)
	}
	idle(c.t, h, o)
}

// idle checks that nobody works and nothing waits to be worked on.
func idle(t *testing.T, h *process, o *client.Client) {
	t.Helper()
	var busy []*loomv1.RoleCount
	if !h.until(deadline(t), func() bool {
		about, err := o.Host(t.Context(), &loomv1.HostRequest{})
		busy = slices.DeleteFunc(about.GetRoles(), func(r *loomv1.RoleCount) bool { return r.Busy == 0 })
		return err == nil && len(busy) == 0
	}) {
		t.Errorf("nothing is left to do, and these work: %v", busy)
	}
}
