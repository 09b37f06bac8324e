package simulation

import (
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	noon      = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ceoKey    = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	forger    = ed25519.NewKeyFromSeed([]byte("fedcba9876543210fedcba9876543210"))
	ceoPublic = ceoKey.Public().(ed25519.PublicKey)
	timer     = identity(loomv1.IdentityKind_IDENTITY_KIND_HOST, "timer")
)

const (
	shop       = "shop"
	repository = "/src/shop"
	deployment = "dp-1"
)

// recipe is a run: nothing else decides. A failing one is made smaller by
// switching kinds of trouble off and by leaving steps out; what is left happens
// as before, because every step draws from a source of its own.
type recipe struct {
	Seed uint64 `json:"seed"`
	// Off are kinds of trouble that never happen.
	Off []string `json:"off,omitempty"`
	// OneKey leaves the CEO the first key, in all seeds.
	OneKey bool `json:"one_key,omitempty"`
	// Steps are those that are taken; nil takes all.
	Steps []int `json:"steps,omitempty"`
	// Why says what the run was kept for.
	Why string `json:"why,omitempty"`
}

// world is everything around one project.
type world struct {
	recipe    recipe
	segments  segments // of ended work
	source    *rand.PCG
	rng       *rand.Rand
	careful   bool // events are encoded and decoded, and another host follows
	rate      [troubles]float64
	calm      bool // no more faults
	now       time.Time
	steps     int
	taken     int // of the recipe
	failure   string
	invariant string // of the failure
	brokenAt  int    // the event that it came with
	saw       map[string]int
	tell      func(string)

	lease      time.Duration // of the commit lock
	reports    bool          // whether hosts say which roles they have
	tickets    bool          // whether agents claim any work of their role
	keeper     *keeper
	oracle     *oracle
	queue      []*item
	git        *repo
	hosts      []*host
	agents     []*agent
	ceo        ceo
	keyed      bool // the CEO has several keys, and some approvals take two
	publisher  publisher
	definition *loomv1.Definition // besides auto
	child      *loomv1.Definition // that nodes of it may be done by
	forks      map[string]forked  // by request
	train      int                // how many changes may land together
	delegates  bool               // whether agents give tasks to each other
	leads      map[string]*lead   // by attempt
	votes      bool               // whether people have roles vote
	tender     *loomv1.Definition // whose phases are planned; nil in most worlds
	talks      *talks             // of sessions; nil in most worlds
}

// carefulEvery is which part of the seeds are run with every event on the
// wire, a second host and comparisons of whole states: that takes most of the
// time, and what it finds is seldom rare.
const carefulEvery = 32

func newWorld(r recipe, tell func(string)) *world {
	source := rand.NewPCG(r.Seed, 11)
	w := &world{
		recipe: r, source: source, rng: rand.New(source), careful: r.Seed%carefulEvery == 0,
		now: noon, saw: map[string]int{}, tell: tell,
	}
	w.drawRates()
	w.lease = []time.Duration{30 * time.Second, 5 * time.Minute}[w.rng.IntN(2)]
	w.definition, w.child = drawn(w.rng.IntN(definitions)), subprocess(w.rng.IntN(smallOnes))
	w.forks = map[string]forked{}
	w.ceo.signed, w.ceo.taken = map[string]string{}, map[string]bool{}
	if w.keyed = r.Seed%keyedEvery == 1 && !r.OneKey; w.keyed {
		w.definition = withTwoKeys(w.definition)
	}
	w.reports, w.tickets = w.one(2), !w.one(3)
	if w.one(3) {
		w.train = 2 + w.rng.IntN(3)
	}
	w.delegates, w.leads, w.votes = w.one(4), map[string]*lead{}, w.one(8)
	if w.one(5) {
		w.tender = tenders()[w.rng.IntN(len(tenders()))]
	}
	w.drawSessions()
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
	for _, role := range w.roles() {
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
		a.begin(a.host.epoch)
	}
}

func (w *world) register() {
	calm := w.calm
	w.calm = true
	w.must(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: w.registration(),
	}}})
	for _, d := range w.known() {
		w.must(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: d}}})
	}
	if w.reports {
		w.reportRoles()
	}
	w.calm = calm
}

// roles are those that there are agents of.
func (w *world) roles() []string {
	list := []string{"qa-engineer", "engineering-manager", "backend-engineer", "web-designer", "project-manager", "researcher"}
	if w.tender != nil {
		list = append(list, "lead")
	}
	if w.talks != nil {
		list = append(list, "analyst")
	}
	return list
}

// known are the definitions that there are.
func (w *world) known() []*loomv1.Definition {
	list := []*loomv1.Definition{auto, w.child, w.definition}
	if w.tender != nil {
		list = append(list, w.tender)
	}
	if w.delegates {
		list = append(list, delegate)
	}
	if w.talks != nil {
		list = append(list, wayAround())
	}
	return list
}

// registration draws what a project says of itself.
func (w *world) registration() *loomv1.ProjectConfig {
	c := &loomv1.ProjectConfig{Id: shop, Repository: repository, TargetBranch: "main", Checks: []string{"make"}, Train: uint32(w.train)}
	if w.one(2) {
		c.Governor = &loomv1.Governor{Reported: 1 + w.rng.Uint32N(2), SelfFiled: 1, Window: durationpb.New(time.Duration(1+w.rng.IntN(20)) * time.Minute)}
	}
	if w.one(2) {
		c.Grace = durationpb.New(30 * time.Second)
	}
	if w.talks != nil && w.one(2) {
		c.Budget, c.BeadBudget = &loomv1.Budget{MicroUsd: 1_000_000}, &loomv1.Budget{MicroUsd: 400_000}
	}
	return c
}

// must carries out a command of the host's own, without faults.
func (w *world) must(cmd *loomv1.Command) {
	w.keeper.send(cmd, identity(loomv1.IdentityKind_IDENTITY_KIND_HOST, "h1"), func(a *loomv1.Answer) {
		if a.GetError() != nil {
			w.broken(0, "%T: %v", cmd.Body, fault.FromProto(a.Error))
		}
	})
	w.keeper.flush()
}

func identity(kind loomv1.IdentityKind, name string) *loomv1.Identity {
	return &loomv1.Identity{Kind: kind, Name: name}
}

func (w *world) one(in int) bool { return w.rng.IntN(in) == 0 }

// broken notes the first thing that must not be, under the number of the
// invariant that it breaks; 0 is for what this world does not know of.
func (w *world) broken(invariant int, format string, args ...any) {
	if w.failure == "" {
		w.invariant, w.brokenAt = fmt.Sprint(invariant), w.keeper.events
		w.failure = fmt.Sprintf("invariant %d, step %d, event %d: %s", invariant, w.steps, w.keeper.events, fmt.Sprintf(format, args...))
	}
	if w.tell != nil {
		w.note("BROKEN: "+format, args...)
	}
}

func (w *world) see(what string) { w.saw[what]++ }

func (w *world) note(format string, args ...any) {
	if w.tell != nil {
		w.tell(fmt.Sprintf("%4d %s  %s", w.steps, w.now.Format("15:04:05"), fmt.Sprintf(format, args...)))
	}
}

// play lets the world run with its faults, for as many steps as the seed says
// or for those that the recipe names.
func (w *world) play() {
	steps := 120 + w.rng.IntN(240)
	if w.train > 1 {
		steps += 120 // it takes a while until several wait to land
	}
	if w.talks != nil {
		steps += 120
	}
	for i := range steps {
		if w.failure != "" {
			return
		}
		if w.recipe.Steps == nil || slices.Contains(w.recipe.Steps, i) {
			w.taken++
			w.begin(i)
			w.act(w.step)
		}
	}
}

// begin has a step draw from a source of its own.
func (w *world) begin(step int) {
	w.source.Seed(w.recipe.Seed, 0x9e3779b97f4a7c15*uint64(step+1))
}

// act does something. A step is a command that is decided, a crash, or, where
// there was neither, what else somebody did.
func (w *world) act(do func()) {
	before := w.steps
	if do(); w.steps == before {
		w.steps++
	}
}

func (w *world) step() {
	w.pass()
	switch n := w.rng.IntN(100); {
	case w.talks != nil && w.one(4):
		w.talk()
	case n < 74:
		w.someAgent().step()
	case n < 77:
		w.publish()
	case n < 81:
		w.ask()
	case n < 82:
		w.keeper.sweep()
	case n < 84:
		w.restartHost()
	case n < 85:
		w.git.someoneElse()
	case n < 86:
		w.keeper.snapshot()
	case n < 88:
		w.steer()
	case n < 90:
		w.operate()
	case n < 91:
		w.roleGoes()
	case n < 94:
		w.keeper.tick()
	default:
		w.keeper.flush()
	}
	if w.one(2) {
		w.keeper.flush()
	}
	if w.careful && w.taken%32 == 0 && w.failure == "" {
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
	for _, i := range w.queue {
		if i.a.Role == role && !i.from.After(w.now) {
			return true
		}
	}
	return false
}

// remembered is how long requests are.
const remembered = 24 * time.Hour

// pass lets time go by: some seconds, and now and then as long as makes
// deadlines pass and leases lapse.
func (w *world) pass() {
	w.now = w.now.Add(time.Duration(w.rng.IntN(2500)) * time.Millisecond)
	if w.chance(timeJumps) {
		w.now = w.now.Add(time.Duration(w.rng.IntN(1500)) * time.Second)
		if w.one(60) {
			w.now = w.now.Add(remembered + time.Minute)
		}
	}
}

// calmSteps is how long a world may take to come to its end: longer than any
// that does, of which the slowest have hundreds of executions that call each
// other, and one commit lock.
const calmSteps = 20_000

// settle lets the world run without faults until everything has ended, and
// compares what is left.
func (w *world) settle() {
	w.calm = true
	w.keeper.restart()
	w.allBack()
	for _, h := range w.hosts {
		w.startHost(h)
	}
	for i := range calmSteps {
		if w.failure != "" {
			return
		}
		if w.keeper.flush(); w.oracle.left() == 0 {
			w.keeper.tick()
			w.keeper.flush()
			if w.careful || w.recipe.Seed%4 == 1 {
				w.oracle.still()
			}
			w.oracle.final()
			return
		}
		w.begin(1<<20 + i)
		w.calmStep(i)
	}
	w.broken(32, "it does not end: %d executions and %d beads are open, waiting for %s", w.oracle.running, w.oracle.openBeads, w.oracle.openWork())
}

// calmStep is one step of a world where all do their part.
func (w *world) calmStep(i int) {
	w.now = w.now.Add(time.Second)
	for _, a := range w.agents {
		if a.phase != idle || w.hasWork(a.role) {
			w.act(a.step)
			w.keeper.flush()
		}
	}
	w.ask()
	w.closeTalks()
	w.free()
	w.hurry()
	w.keeper.flush()
	w.keeper.sweep()
	w.offered()
	if at, ok := w.keeper.state.Next(); ok && at.After(w.now) && (i%8 == 0 && !w.busy() || i%100 == 0) {
		w.now = at
	}
	w.keeper.tick()
	w.keeper.flush()
	w.oracle.deadlinesAsked(w.now)
	w.oracle.timesOut()
	w.oracle.closingEnded()
	w.oracle.answersDue(w.now)
}

// offered wants a ticket of each role that anything waits for: where nothing is
// lost, all comes to somebody.
func (w *world) offered() {
	for _, a := range w.keeper.state.Queued() {
		if !slices.ContainsFunc(w.queue, func(i *item) bool { return i.a.Role == a.Role }) {
			w.broken(30, "%s waits for role %s, which the work queue has no ticket of", a.Attempt, a.Role)
		}
	}
}

func (w *world) busy() bool {
	for _, a := range w.agents {
		if a.phase != idle {
			return true
		}
	}
	return len(w.queue) > 0
}
