package simulation

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/train"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// journeys is how often an agent makes a train before it lands by itself.
const journeys = 2

// ride is a train that an agent drives.
type ride struct {
	*loomv1.Train
	cars  []car // that could be stacked
	good  int   // of those, from the front
	found map[string]*loomv1.Car
	made  int // trains, by this agent for this attempt
}

type car struct {
	*loomv1.TrainCar
	made *loomv1.Candidate
}

func (c car) asVerified() bool { return c.made.Commit == c.Candidate.Commit }

// form has those that wait to land ride along. It takes its time, so that some do.
func (a *agent) form() {
	if !a.w.calm && !a.w.one(4) {
		return
	}
	a.do(&loomv1.Command{Body: &loomv1.Command_FormTrain{FormTrain: &loomv1.FormTrain{Token: a.token, Holder: a.who()}}}, func(code string, ans *loomv1.Answer) {
		switch code {
		case "":
			a.ride.Train, a.fence = ans.GetTrain(), ans.GetTrain().Fence
			a.board()
		case "train/none":
			a.w.see("train of nobody")
			a.phase = moving
		default:
			a.w.see("train refused: " + code)
			a.out, a.phase = failed(a, code), answering
		}
	})
}

// board stacks the cars and tests them.
func (a *agent) board() {
	r := a.ride
	a.w.oracle.formed(r.Train)
	if r.made++; r.made > journeys {
		a.phase = moving
		return
	}
	if err := a.w.git.raise(a.fence); err != nil {
		a.out, a.phase = failed(a, codeOf(err)), answering
		return
	}
	r.cars = a.w.git.stack(r.Cars)
	if len(r.cars) == 0 || r.cars[0].Attempt != a.brief.Attempt.Id || len(r.cars) == 1 && r.cars[0].asVerified() {
		a.phase = moving
		return
	}
	a.search()
	if a.phase = recording; len(r.found) == 0 {
		a.arrives()
	}
}

// search tests the train, and finds the first car with which it fails: also when
// all is calm, since most trains are made then.
func (a *agent) search() {
	r, bad := a.ride, len(a.ride.cars)
	for i, c := range r.cars {
		if !(i == 0 && c.asVerified()) && a.w.rng.Float64() < a.w.rate[changesClash] {
			bad = i
			break
		}
	}
	known := 0
	if r.cars[0].asVerified() {
		known = 1
	}
	s := train.NewSearch(len(r.cars), known)
	for n, more := s.Next(); more; n, more = s.Next() {
		s = s.Seen(n, n <= bad)
	}
	culprit, failed := s.Culprit()
	r.good, r.found = s.Good(), map[string]*loomv1.Car{}
	for _, c := range r.cars[:r.good] {
		if !(r.good == 1 && c.asVerified()) {
			r.found[c.Attempt] = r.passed(c, a.token)
		}
	}
	if failed {
		a.w.see("train with a culprit")
		c := r.cars[culprit]
		r.found[c.Attempt] = &loomv1.Car{Verified: c.Candidate.Commit, Refused: "it fails", Token: a.token}
	}
}

func (r *ride) passed(c car, token uint64) *loomv1.Car {
	head := r.cars[r.good-1].made.Commit
	out := &loomv1.Car{Verified: c.Candidate.Commit, Candidate: c.made, Head: head, Token: token}
	for _, command := range c.Checks {
		out.Checks = append(out.Checks, &loomv1.CheckRun{Command: command, Commit: head, Passed: true})
	}
	return out
}

// recordTrain makes durable what was found. Where a car has changed meanwhile the
// train is made anew.
func (a *agent) recordTrain() {
	if !a.w.calm && !a.w.one(2) {
		return // the tests run
	}
	if a.w.rng.Float64() < a.w.rate[agentLies] {
		a.lieOfTrain()
		return
	}
	a.do(&loomv1.Command{Body: &loomv1.Command_RecordTrain{RecordTrain: &loomv1.RecordTrain{
		Token: a.token, Holder: a.who(), Cars: a.ride.found,
	}}}, func(code string, _ *loomv1.Answer) {
		switch code {
		case "":
			a.arrives()
		case "train/changed", "outcome/no-evidence":
			a.w.see("train changed")
			a.phase = forming
		default:
			a.w.see("train record refused: " + code)
			a.out, a.phase = failed(a, code), answering
		}
	})
}

// lieOfTrain says of a train that did not pass that it did, which must be refused.
func (a *agent) lieOfTrain() {
	cars := map[string]*loomv1.Car{}
	for attempt, c := range a.ride.found {
		c = proto.CloneOf(c)
		if c.Refused == "" {
			c.Checks[0].Passed, cars[attempt] = false, c
		}
	}
	if len(cars) == 0 {
		return
	}
	a.w.keeper.send(&loomv1.Command{Body: &loomv1.Command_RecordTrain{RecordTrain: &loomv1.RecordTrain{
		Token: a.token, Holder: a.who(), Cars: cars,
	}}}, a.identity, func(ans *loomv1.Answer) {
		if code(ans) != "lost" && code(ans) != "" {
			a.w.see("lie of a train refused")
		}
	})
}

// arrives goes on to what a train that was recorded leads to.
func (a *agent) arrives() {
	switch r := a.ride; {
	case r.good == 0:
		a.out, a.phase = failed(a, "train/refused"), answering
	case r.good == 1 && r.cars[0].asVerified():
		a.phase = moving
	default:
		a.phase = arriving
	}
}

// arrive moves the target past all cars that passed.
func (a *agent) arrive() {
	if !a.w.calm && !a.w.one(4) {
		return // much can happen before it does
	}
	a.phase = answering
	cars := a.ride.cars[:a.ride.good]
	if err := a.w.git.arrive(a, cars); err != nil {
		a.out = failed(a, codeOf(err))
		return
	}
	if len(cars) > 1 {
		a.w.see("train")
		if !a.w.calm && a.w.one(8) { // it dies before it can say so
			a.rest()
			return
		}
	}
	a.out = succeeded(a)
	a.out.Landing = &loomv1.Landing{
		Commit: cars[0].made.Commit, Ref: "refs/heads/main", Target: "main", Token: a.fence, Head: cars[len(cars)-1].made.Commit,
	}
}

// settleTrains says which trains have landed whose drivers did not say so.
func (a *agent) settleTrains() {
	for _, head := range a.trains {
		if !a.w.git.has(head) {
			a.w.see("train that has not landed")
			continue
		}
		a.w.keeper.send(&loomv1.Command{Body: &loomv1.Command_SettleTrain{SettleTrain: &loomv1.SettleTrain{
			Token: a.token, Holder: a.who(),
			Landing: &loomv1.Landing{Commit: head, Ref: "refs/heads/main", Target: "main", Token: a.token, Head: head},
		}}}, a.identity, func(ans *loomv1.Answer) {
			if code(ans) == "" {
				a.w.see("train settled")
			}
		})
	}
	a.trains = nil
}

// drivesTrains says whether an agent that is to land may take others along.
func (a *agent) drivesTrains() bool {
	return a.w.train > 1 && a.brief.Node.Kind == loomv1.NodeKind_NODE_KIND_LAND && a.brief.Execution.Candidate != nil &&
		!workflow.RefusedByTrain(a.brief.Execution)
}

// stack puts changes on each other, but for those that have landed.
func (g *repo) stack(cars []*loomv1.TrainCar) (row []car) {
	head := g.head
	for _, c := range cars {
		if g.copyOf(c.Candidate.Commit) != nil {
			continue
		}
		made := c.Candidate
		if made.Base != head {
			g.stacked++
			made = &loomv1.Candidate{
				Commit: fmt.Sprintf("t%d-%s", g.stacked, c.Execution), Tree: "t", Base: head, PatchDigest: c.Candidate.PatchDigest, Token: c.Token,
			}
		}
		row, head = append(row, car{c, made}), made.Commit
	}
	return row
}

// arrive moves the target past a train, all of it or nothing.
func (g *repo) arrive(a *agent, cars []car) error {
	if last := cars[len(cars)-1].made.Commit; g.has(last) {
		return nil
	}
	if g.head != cars[0].made.Base {
		return fault.New("git/target-moved", "the target is at %s, not at %s", g.head, cars[0].made.Base)
	}
	if err := g.moved(a.brief.Attempt.Id, a.sign(), a.fence); err != nil {
		return err
	}
	for _, c := range cars {
		if g.w.oracle.gone[c.Candidate.Commit] {
			g.w.broken(17, "%s lands with a train after it was said that it has not", c.Candidate.Commit)
		}
		g.head = c.made.Commit
		g.landed = append(g.landed, &made{execution: c.Execution, candidate: c.made, verified: c.Candidate.Commit})
	}
	return nil
}

// has says whether a commit is on the target.
func (g *repo) has(commit string) bool {
	return slices.ContainsFunc(g.landed, func(m *made) bool { return m.candidate.Commit == commit })
}

// copyOf finds a candidate on the target, or the commit of it on a train.
func (g *repo) copyOf(commit string) *made {
	if i := slices.IndexFunc(g.landed, func(m *made) bool { return m.candidate.Commit == commit || m.verified == commit }); i >= 0 {
		return g.landed[i]
	}
	return nil
}

// formed wants a train to be no longer than it may be, nobody on it whom a train
// has refused, and no two to touch the same file.
func (o *oracle) formed(t *loomv1.Train) {
	if len(t.Cars) > o.w.train {
		o.broken(35, "%d changes are to land together, at most %d may", len(t.Cars), o.w.train)
	}
	touched := map[string]string{}
	for _, c := range t.Cars {
		x := o.executions[c.Execution]
		if x.car.GetRefused() != "" && x.car.Verified == c.Candidate.Commit {
			o.broken(35, "%s rides, and a train has refused it", c.Candidate.Commit)
		}
		for _, f := range x.files {
			if by := touched[f.Path]; by != "" {
				o.broken(35, "%s and %s are to land together, and both touch %s", by, c.Candidate.Commit, f.Path)
			}
			touched[f.Path] = c.Candidate.Commit
		}
	}
}

// coupled gives who waits a place in the holder's train.
func (l *lockOracle) coupled(o *oracle, e *loomv1.Event, f *loomv1.LockCoupled) {
	switch {
	case l.holder == "":
		o.broken(35, "%s rides on the train of nobody", f.Request)
	case !slices.ContainsFunc(l.queue, func(q *loomv1.LockClaim) bool { return q.Request == f.Request }):
		o.broken(35, "%s rides on a train and does not wait", f.Request)
	case f.Token <= max(l.newest, l.last):
		o.broken(14, "a place in a train has token %d after token %d", f.Token, max(l.newest, l.last))
	}
	l.last = f.Token
	l.places[f.Token] = place{rider: f.Request, driver: l.holder, claimant: l.claimant, grant: l.newest}
}

// place is one in a train.
type place struct {
	rider, driver, claimant string
	grant                   uint64
}

// tested wants what a train's tests have shown of a change to be of the candidate
// that it is to land, under the present grant, and all of it to have passed.
func (o *oracle) tested(x *execution, n *nodeOracle, e *loomv1.Event, c *loomv1.Car) {
	switch {
	case n.def.Kind != loomv1.NodeKind_NODE_KIND_LAND || n.attempt != e.Attempt:
		o.broken(35, "%s is tested on a train and is not to land", e.Attempt)
	case c.Verified != x.newest.GetCommit() || !x.verified[c.Verified]:
		o.broken(35, "%s rides on a train, and the verified candidate is %s", c.Verified, x.newest.GetCommit())
	case c.Token != o.lock.newest || o.lock.holder == "":
		o.broken(35, "%s was tested under token %d, and %q has %d", e.Attempt, c.Token, o.lock.holder, o.lock.newest)
	case o.held(x):
		o.broken(24, "%s is tested on a train while its execution is held", e.Attempt)
	}
	x.car = c
	if c.Refused != "" {
		o.w.see("refused by a train")
		return
	}
	passed := false
	for _, run := range c.Checks {
		passed = passed || run.Command == "make" && run.Passed && run.Commit == c.Head
	}
	own := o.lock.places[c.Candidate.GetToken()].rider == e.Attempt || c.Candidate.GetCommit() == c.Verified || c.Candidate.GetToken() == c.Token
	if !passed || c.Candidate.GetPatchDigest() != x.patch || !own {
		o.broken(35, "%s may land with a train, and was not tested as it lands: %v", e.Attempt, c)
	}
}

// rode says whether a commit is that of the present candidate on a train that passed.
func (x *execution) rode(commit string) bool {
	return x.car != nil && x.car.Refused == "" && x.car.Candidate.GetCommit() == commit && x.car.Verified == x.newest.GetCommit()
}

// arrived says whether an attempt to land ends because its train has landed,
// whoever said so.
func (o *oracle) arrived(x *execution, n *nodeOracle, e *loomv1.Event, out *loomv1.Outcome) bool {
	l := out.Landing
	if n.def.Kind != loomv1.NodeKind_NODE_KIND_LAND || l.GetHead() == "" || !x.rode(l.Commit) || x.car.Head != l.Head {
		return false
	}
	o.w.see("landed with its train")
	if e.Actor.GetName() != sign(o.attempts[e.Attempt].claimant) && o.held(x) {
		o.broken(24, "%s lands with its train while its execution is held", e.Attempt)
	}
	return true
}

// trainArrived wants all that rode on a train to land with it: in this very
// command, but for what is held, and for who holds the lock and says so itself.
func (o *oracle) trainArrived(x *execution, e *loomv1.Event, l *loomv1.Landing) {
	if l.Head == "" {
		return
	}
	for _, y := range o.begun {
		if y != x && !y.ended && y.car != nil && y.car.Head == l.Head && y.rode(y.car.Candidate.Commit) && !y.landed[y.car.Candidate.Commit] && !o.held(y) && o.lands(y) && o.attempts[o.lock.holder].of() != y {
			o.expected = append(o.expected, arrival{y, proto.CloneOf(y.car), e})
		}
	}
}

// arrival is one that has to come with the command that is being followed.
type arrival struct {
	x   *execution
	car *loomv1.Car
	by  *loomv1.Event
}

// of is the execution of an attempt, nil for none.
func (a *attempt) of() *execution {
	if a == nil {
		return nil
	}
	return a.x
}

// lands says whether an attempt to land is outstanding.
func (o *oracle) lands(x *execution) bool {
	return slices.ContainsFunc(o.open, func(a *attempt) bool {
		return a.x == x && x.nodes[a.node].def.Kind == loomv1.NodeKind_NODE_KIND_LAND
	})
}

// stillTrains wants all that had to land with a train to have landed.
func (o *oracle) stillTrains() {
	for _, a := range o.expected {
		if !a.x.landed[a.car.Candidate.Commit] {
			o.broken(35, "%s of %s has not landed with its train: %s", a.car.Verified, a.x.id, tellEvent(a.by))
		}
	}
	o.expected = nil
}
