package simulation

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var bubbles = flag.Uint64("bubbles", defaultBubbles, "how many seeds to run the real actors with, each in a bubble of its own")

// bench is the real actors of a host, partition, keeper, project and pools, over
// a journal in memory whose appends fail, a queue that loses and doubles, and
// workers that draw what they do. Time is that of the bubble: an hour of it
// takes as long as what happens in it.
type bench struct {
	t        *testing.T
	mu       sync.Mutex
	rng      *rand.Rand
	calm     bool
	log      *journal.Memory
	snaps    journal.Snapshots
	clock    actors.Clock
	starts   uint64
	world    *world // signs for the CEO, and has the oracle
	queued   []*loomv1.Assignment
	changed  chan struct{}
	sys      *actors.System
	pools    *actors.Pools
	projects *actors.Projects
	cancel   context.CancelFunc
	ctx      context.Context
	acked    map[string]string // bead by key
}

func (b *bench) one(in int) bool { return b.intN(in) == 0 }

func (b *bench) intN(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rng.IntN(n)
}

// TestWF10_RealActorsInABubble runs the shells themselves. Which goroutine goes
// first is not drawn from the seed, so a failure need not come again; what is
// checked is the same journal by the same oracle.
func TestWF10_RealActorsInABubble(t *testing.T) {
	longtest.Skip(t)
	events, saw := 0, map[string]int{}
	for seed := range *bubbles {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, seed)
				b.run()
				events += b.world.keeper.events
				for what, n := range b.world.saw {
					saw[what] += n
				}
			})
		})
	}
	t.Logf("%d bubbles, %d events: %v", *bubbles, events, saw)
	for _, what := range []string{
		"append failed", "host started again", "completed", "landed", "escalation", "timeout", "backoff", "rework",
		"lock queue of two", "unparked", "agent panicked", "ticket lost",
	} {
		if saw[what] < int(*bubbles/50) {
			t.Errorf("in %d bubbles there was %d times: %s", *bubbles, saw[what], what)
		}
	}
}

// see counts what happens in a bubble, whichever goroutine it happens in.
func (b *bench) see(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.world.see(what)
}

func newBench(t *testing.T, seed uint64) *bench {
	w := newWorld(recipe{Seed: seed, OneKey: true}, nil)
	w.keeper, w.now = &keeper{w: w}, time.Now()
	w.careful = true
	w.oracle = newOracle(w)
	w.hosts[0].epoch = 1000 // nobody is taken for living
	return &bench{
		t: t, rng: rand.New(rand.NewPCG(seed, 5)), world: w, log: journal.NewMemory(0), snaps: journal.NewMemorySnapshots(),
		clock: actors.NewClock(), changed: make(chan struct{}), acked: map[string]string{},
	}
}

// start starts a host over what there is; it may be called again after stop.
func (b *bench) start() {
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.starts++
	quiet := slog.New(slog.DiscardHandler)
	b.sys = actors.NewSystem(quiet, func(string) {})
	b.projects = b.sys.StartPartitions(b.ctx, []actors.Partition{{
		Log: b.log, Snapshots: b.snaps, Notices: b, Work: b, Clock: b.clock, Logger: quiet,
		Deployment: deployment, CEO: ceoPublic, LockLease: b.world.lease, Host: "h1", Start: b.starts, Epoch: 1,
		SnapshotEvery: 50, Sweep: 5 * time.Second,
	}}, func(string) int { return 0 }, nil)
	var pools []actors.Pool
	for _, role := range []string{"qa-engineer", "engineering-manager", "backend-engineer", "web-designer", "project-manager", "researcher"} {
		pools = append(pools, actors.Pool{
			Role: role, Agents: 3, Host: "h1", Start: b.starts, Queue: b, Projects: b.projects, Worker: b, Logger: quiet,
			RestartMax: 1000, RestartWithin: time.Minute,
		})
	}
	b.pools = b.sys.StartPools(b.ctx, pools)
}

func (b *bench) stop() {
	if b.one(2) {
		b.pools.Stop() // in good order; else agents are cut off in the middle
	}
	b.cancel()
	b.pools.Stop()
	b.sys.Stop()
	pass(5 * time.Second) // protoactor waits so long before it tells of dead letters again
}

func (b *bench) run() {
	b.start()
	b.register()
	for n := range 6 {
		b.submit(n)
		b.fail()
		b.wait(40)
		b.answerInbox()
		if b.one(4) {
			b.see("host started again")
			b.stop()
			b.start()
		}
	}
	b.settle()
	b.stop()
	b.check()
}

// pass lets time go by in the bubble, where nobody waits for it.
func pass(d time.Duration) { <-time.After(d) }

func (b *bench) wait(seconds int) { pass(time.Duration(1+b.intN(seconds)) * time.Second) }

// fail has some of the appends that follow fail.
func (b *bench) fail() {
	for range b.intN(3) {
		b.see("append failed")
		b.log.FailNext([]journal.Fault{journal.Refuse, journal.LoseReply, journal.LoseWrite, journal.LandLate}[b.intN(4)])
	}
}

func (b *bench) register() {
	host := identity(loomv1.IdentityKind_IDENTITY_KIND_HOST, "h1")
	b.do(&loomv1.Command{Actor: host, Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: shop, Repository: repository, TargetBranch: "main", Checks: []string{"make"}},
	}}})
	for _, d := range []*loomv1.Definition{auto, b.world.child, b.world.definition} {
		b.do(&loomv1.Command{Actor: host, Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: d}}})
	}
}

// do sends a command until it is answered; what is refused is no harm.
func (b *bench) do(cmd *loomv1.Command) *loomv1.Answer {
	cmd.Project = shop
	a, err := b.projects.Do(b.ctx, proto.CloneOf(cmd))
	if err != nil {
		return nil
	}
	return a
}

// submit files work under a key, now and then twice.
func (b *bench) submit(n int) {
	cmd := &loomv1.Command{
		Actor: identity(loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, "p"),
		Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
			Goal: "mend it", Process: []string{project.AutoBug, b.world.definition.Name}[n%2], IdempotencyKey: fmt.Sprint("key-", n),
		}}},
	}
	for range 1 + b.intN(2) {
		if bead := b.do(cmd).GetSubmit().GetBead(); bead != "" {
			if old := b.acked[cmd.GetFileBead().Submission.IdempotencyKey]; old != "" && old != bead {
				b.t.Errorf("invariant 1: key-%d was answered with %s and then with %s", n, old, bead)
			}
			b.acked[cmd.GetFileBead().Submission.IdempotencyKey] = bead
		}
	}
}

// answerInbox decides what is open, as a CEO does who is tired of questions.
func (b *bench) answerInbox() {
	v, err := b.projects.Look(b.ctx, project.Inbox, &loomv1.Query{Project: shop, Limit: 100, Newest: true})
	if err != nil {
		return
	}
	for _, a := range v.Approvals {
		d := approve
		if b.calm && b.one(6) {
			d = reject
		}
		b.mu.Lock()
		b.world.now = b.clock.Now()
		c := b.world.sign(ceoKey, b.world.command(a, a.Digest, d, b.world.nonce()))
		b.mu.Unlock()
		b.do(&loomv1.Command{Actor: identity(loomv1.IdentityKind_IDENTITY_KIND_CEO, "ceo"), Body: &loomv1.Command_Signed{Signed: c}})
	}
}

// settle runs without faults until everything has ended.
func (b *bench) settle() {
	b.mu.Lock()
	b.calm = true
	b.mu.Unlock()
	for range 600 {
		v, err := b.projects.Look(b.ctx, project.Beads, &loomv1.Query{Project: shop, Limit: 1000})
		if err == nil && allEnded(v.Beads) {
			return
		}
		b.answerInbox()
		pass(30 * time.Second)
	}
	v, err := b.projects.Look(b.ctx, project.Beads, &loomv1.Query{Project: shop, Limit: 1000})
	b.t.Errorf("invariant 32: it does not end: %v %v", v, err)
}

func allEnded(beads []*loomv1.Bead) bool {
	for _, x := range beads {
		switch x.Status {
		case loomv1.BeadStatus_BEAD_STATUS_CLOSED, loomv1.BeadStatus_BEAD_STATUS_FAILED, loomv1.BeadStatus_BEAD_STATUS_ABORTED:
		default:
			return false
		}
	}
	return true
}

// check shows the journal to the oracle, and wants all that was acknowledged.
func (b *bench) check() {
	var head journal.Head
	err := b.log.Read(context.Background(), 1, func(seq uint64, batch *loomv1.Batch) (err error) {
		head, err = journal.Check(head, seq, batch)
		for _, e := range batch.Events {
			b.world.keeper.events++
			b.world.oracle.saw(entry{event: e})
		}
		return err
	})
	if err != nil {
		b.t.Errorf("invariant 31: %v", err)
	}
	if f := b.world.failure; f != "" {
		b.t.Error(f)
	}
	for key, bead := range b.acked {
		if b.world.oracle.beads[bead] == nil {
			b.t.Errorf("invariant 1: %s was acknowledged with %s, which is not in the journal", key, bead)
		}
	}
	b.world.oracle.acyclic()
}

// Heard says that somebody listens.
func (b *bench) Heard(*loomv1.Event) bool { return true }

// PublishNotice loses one in twenty.
func (b *bench) PublishNotice(context.Context, *loomv1.Notice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.calm && b.rng.IntN(20) == 0 {
		return errors.New("nobody listens")
	}
	return nil
}

// PublishWork loses tickets and doubles them.
func (b *bench) PublishWork(_ context.Context, a *loomv1.Assignment) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.rng.IntN(10); n == 0 && !b.calm {
		b.world.see("ticket lost")
		return nil
	} else if n == 1 {
		b.queued = append(b.queued, proto.CloneOf(a))
	}
	b.put(proto.CloneOf(a))
	return nil
}

func (b *bench) put(a *loomv1.Assignment) {
	b.queued = append(b.queued, a)
	close(b.changed)
	b.changed = make(chan struct{})
}

// Pull gives out any ticket of a role.
func (b *bench) Pull(ctx context.Context, role string) (actors.Delivery, error) {
	for {
		b.mu.Lock()
		for i, a := range b.queued {
			if a.Role == role {
				b.queued = append(b.queued[:i:i], b.queued[i+1:]...)
				b.mu.Unlock()
				return delivery{b, a}, nil
			}
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

type delivery struct {
	b *bench
	a *loomv1.Assignment
}

func (d delivery) Assignment() *loomv1.Assignment { return d.a }
func (d delivery) InProgress() error              { return nil }
func (d delivery) Ack(context.Context) error      { return nil }

func (d delivery) Nak(after time.Duration) error {
	time.AfterFunc(after, func() {
		d.b.mu.Lock()
		defer d.b.mu.Unlock()
		d.b.put(d.a)
	})
	return nil
}

// Work takes its time, records a turn, and succeeds, fails, or panics.
func (b *bench) Work(ctx context.Context, brief *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
	b.mu.Lock()
	a := &agent{w: b.world, role: brief.Attempt.Role, brief: brief}
	calm, n := b.calm, b.rng.IntN(20)
	b.mu.Unlock()
	select {
	case <-time.After(time.Duration(1+b.intN(60)) * time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	start := turn.StartedFact(&loomv1.TurnStarted{Model: "m", Prompt: &loomv1.BlobRef{Sha256: "p"}})
	if err := s.Record(ctx, start); err != nil {
		return nil, err
	}
	switch {
	case n == 0 && !calm:
		b.see("agent panicked")
		panic("an agent breaks down")
	case n < 4 && !calm:
		b.mu.Lock()
		defer b.mu.Unlock()
		return failed(a, "tool/failed"), nil
	}
	return b.outcome(ctx, a, s)
}

// outcome is what an agent says, duties under the lock.
func (b *bench) outcome(ctx context.Context, a *agent, s actors.Seat) (*loomv1.Outcome, error) {
	k := a.brief.Node.Kind
	if k != loomv1.NodeKind_NODE_KIND_COMMIT && k != loomv1.NodeKind_NODE_KIND_LAND {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.world.calm = b.calm
		return a.outcome(), nil
	}
	claim, err := s.AcquireLock(ctx)
	if err != nil {
		return nil, err
	}
	if claim.Token == 0 {
		return nil, errors.Join(actors.ErrParked, s.Park(ctx))
	}
	pass(time.Duration(b.intN(20)) * time.Second)
	b.mu.Lock()
	defer b.mu.Unlock()
	x, out := a.brief.Execution, succeeded(a)
	switch {
	case k == loomv1.NodeKind_NODE_KIND_COMMIT && x.Change != nil:
		out.Candidate = &loomv1.Candidate{Commit: fmt.Sprintf("c-%s-%d", x.Id, claim.Token), Tree: "t", Base: "b0", PatchDigest: x.Change.PatchDigest, Token: claim.Token}
	case k == loomv1.NodeKind_NODE_KIND_COMMIT: // the target has it
		out.Candidate = &loomv1.Candidate{Commit: "b0", Base: "b0", Token: claim.Token, Present: true}
	case k == loomv1.NodeKind_NODE_KIND_LAND && x.Candidate != nil:
		out.Landing = &loomv1.Landing{Commit: x.Candidate.Commit, Ref: "refs/heads/main", Target: "main", Token: claim.Token}
		b.world.git.arrived(x)
	default:
		return failed(a, "git/no-change"), nil
	}
	return out, nil
}
