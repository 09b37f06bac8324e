package simulation

import (
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/project"
	"github.com/loomrun/loom/internal/workflow/workflowtest"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// trouble is a kind of fault.
type trouble int

const (
	requestLost trouble = iota
	requestTwice
	acknowledgementLost
	appendLost
	appendLate
	crashBefore
	crashAfter
	epochRaised
	assignmentLost
	assignmentTwice
	assignmentLate
	agentDies
	agentSleeps
	agentFails
	agentGoesOn
	agentLies
	agentGivesBack
	agentRepeats
	hostStartsAgain
	zombieLives
	timeJumps
	targetMoves
	ceoIsSlow
	ceoClicksTwice
	ceoContradicts
	ceoReadsOld
	ceoIsForged
	publisherRepeats
	errorRepeats
	troubles
)

var (
	noon   = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ceoKey = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	forger = ed25519.NewKeyFromSeed([]byte("fedcba9876543210fedcba9876543210"))
	// auto is compiled once; every world stores the same.
	auto, _ = processes.Builtin(roles.Builtin()).Get(project.AutoBug)
)

const (
	shop       = "shop"
	repository = "/src/shop"
	deployment = "dp-1"
)

// world is everything around one project.
type world struct {
	seed    uint64
	rng     *rand.Rand
	rate    [troubles]float64
	calm    bool // no more faults
	now     time.Time
	steps   int
	failure string
	saw     map[string]int
	tell    func(string)

	lease      time.Duration // of the commit lock
	keeper     *keeper
	oracle     *oracle
	queue      []*item
	git        *repo
	hosts      []*host
	agents     []*agent
	ceo        ceo
	publisher  publisher
	definition *loomv1.Definition // besides auto
}

func newWorld(seed uint64, tell func(string)) *world {
	w := &world{seed: seed, rng: rand.New(rand.NewPCG(seed, 11)), now: noon, saw: map[string]int{}, tell: tell}
	for i := range w.rate {
		if w.rng.IntN(2) == 0 {
			w.rate[i] = 0.01 + 0.24*w.rng.Float64()
		}
	}
	for _, k := range []trouble{appendLost, appendLate, crashBefore, crashAfter} {
		w.rate[k] /= 4 // each costs a replay, and all work on the way
	}
	w.rate[zombieLives] *= 3
	w.lease = []time.Duration{30 * time.Second, 5 * time.Minute}[w.rng.IntN(2)]
	w.definition = workflowtest.Random(w.rng)
	w.oracle = newOracle(w)
	w.keeper = newKeeper(w)
	w.git = &repo{w: w, head: "b0", candidates: map[string]*made{}}
	w.people()
	w.register()
	return w
}

// people puts two hosts in place, with a few agents of each role.
func (w *world) people() {
	for i := range 2 {
		w.hosts = append(w.hosts, &host{name: fmt.Sprintf("h%d", i+1), epoch: 1})
	}
	for _, role := range []string{"qa-engineer", "engineering-manager", "backend-engineer", "web-designer", "project-manager", "researcher"} {
		count := 1 + w.rng.IntN(2)
		if role == "engineering-manager" {
			count = 3 // so that somebody waits for the lock
		}
		for n := range count {
			w.agents = append(w.agents, &agent{w: w, role: role, name: fmt.Sprintf("%s/%d", role, n+1), host: w.hosts[w.rng.IntN(2)]})
		}
	}
	// Somebody besides the author must be there to verify.
	w.agents = append(w.agents, &agent{w: w, role: "qa-engineer", name: "qa-engineer/9", host: w.hosts[0]})
	w.agents = append(w.agents, &agent{w: w, role: "qa-engineer", name: "qa-engineer/8", host: w.hosts[1]})
	for _, a := range w.agents {
		a.epoch = a.host.epoch
	}
}

func (w *world) register() {
	calm := w.calm
	w.calm = true
	w.must(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: shop, Repository: repository, TargetBranch: "main", Checks: []string{"make"}},
	}}})
	for _, d := range []*loomv1.Definition{auto, w.definition} {
		w.must(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: d}}})
	}
	w.calm = calm
}

// must carries out a command of the host's own, without faults.
func (w *world) must(cmd *loomv1.Command) {
	w.keeper.send(cmd, identity(loomv1.IdentityKind_IDENTITY_KIND_HOST, "h1"), func(a *loomv1.Answer) {
		if a.GetError() != nil {
			w.broken("%T: %v", cmd.Body, fault.FromProto(a.Error))
		}
	})
	w.keeper.flush()
}

func identity(kind loomv1.IdentityKind, name string) *loomv1.Identity {
	return &loomv1.Identity{Kind: kind, Name: name}
}

// chance reports whether a kind of fault happens now.
func (w *world) chance(k trouble) bool {
	return !w.calm && w.rate[k] > 0 && w.rng.Float64() < w.rate[k]
}

func (w *world) one(in int) bool { return w.rng.IntN(in) == 0 }

// broken notes the first thing that must not be.
func (w *world) broken(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf("step %d, event %d: %s", w.steps, w.keeper.events, fmt.Sprintf(format, args...))
	}
	w.note("BROKEN: "+format, args...)
}

func (w *world) see(what string) { w.saw[what]++ }

func (w *world) note(format string, args ...any) {
	if w.tell != nil {
		w.tell(fmt.Sprintf("%4d %s  %s", w.steps, w.now.Format("15:04:05"), fmt.Sprintf(format, args...)))
	}
}

// play lets the world run with its faults.
func (w *world) play() {
	for range 120 + w.rng.IntN(240) {
		if w.failure != "" {
			return
		}
		w.step()
	}
}

func (w *world) step() {
	w.steps++
	w.pass()
	switch n := w.rng.IntN(100); {
	case n < 70:
		w.someAgent().step()
	case n < 73:
		w.publish()
	case n < 81:
		w.ask()
	case n < 83:
		w.keeper.sweep()
	case n < 85:
		w.restartHost()
	case n < 87:
		w.git.someoneElse()
	case n < 88:
		w.keeper.snapshot()
	case n < 92:
		w.keeper.tick()
	default:
		w.keeper.flush()
	}
	if w.one(2) {
		w.keeper.flush()
	}
	if w.steps%32 == 0 && w.failure == "" {
		w.keeper.flush()
		w.oracle.still()
	}
}

// someAgent prefers those who have something to do.
func (w *world) someAgent() *agent {
	a := w.agents[w.rng.IntN(len(w.agents))]
	for range 16 {
		if !w.now.Before(a.asleep) && (a.phase != idle || w.hasWork(a.role)) {
			break
		}
		a = w.agents[w.rng.IntN(len(w.agents))]
	}
	return a
}

func (w *world) hasWork(role string) bool {
	return slices.ContainsFunc(w.queue, func(i *item) bool { return i.a.Role == role && !i.from.After(w.now) })
}

// pass lets time go by: some seconds, and now and then as long as makes
// deadlines pass and leases lapse.
func (w *world) pass() {
	w.now = w.now.Add(time.Duration(w.rng.IntN(2500)) * time.Millisecond)
	if w.chance(timeJumps) {
		w.now = w.now.Add(time.Duration(w.rng.IntN(1500)) * time.Second)
	}
}

// settle lets the world run without faults until everything has ended, and
// compares what is left.
func (w *world) settle() {
	w.calm = true
	w.keeper.restart()
	for _, h := range w.hosts {
		w.startHost(h)
	}
	for range 6000 {
		if w.failure != "" {
			return
		}
		if w.keeper.flush(); w.oracle.open() == 0 {
			w.oracle.still()
			w.oracle.final()
			return
		}
		w.calmStep()
	}
	w.broken("it does not end: %d executions run on, waiting for %s", w.oracle.open(), w.oracle.waitsFor())
}

// calmStep is one step of a world where all do their part.
func (w *world) calmStep() {
	w.steps++
	w.now = w.now.Add(time.Second)
	for _, a := range w.agents {
		a.step()
		w.keeper.flush()
	}
	w.ask()
	w.keeper.flush()
	w.keeper.sweep()
	if at, ok := w.keeper.state.Next(); ok && at.After(w.now) && (w.steps%8 == 0 && !w.busy() || w.steps%100 == 0) {
		w.now = at
	}
	w.keeper.tick()
}

func (w *world) busy() bool {
	for _, a := range w.agents {
		if a.phase != idle {
			return true
		}
	}
	return len(w.queue) > 0
}
