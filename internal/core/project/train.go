package project

import (
	"cmp"
	"maps"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/train"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxTrain is the most changes that a project may let land together.
const MaxTrain = 50

// DefaultTrain is how many land together where nothing else is said: ten changes
// that wait cost one run of the tests, and where one of them fails four more.
const DefaultTrain = 10

// carWords bounds what a commit message is made of, of each of two texts.
const carWords = 8 << 10

// formTrain gives those that wait to land places behind the holder. Where nobody
// may ride along the answer has the holder alone.
func (d *decision) formTrain(c *loomv1.FormTrain) (*loomv1.Answer, error) {
	if err := d.drives(c.Token, c.Holder); err != nil {
		return nil, err
	}
	lock := d.s.locks.Status(d.repository())
	if err := d.s.contradicted(lock.Holder.GetRequest()); err != nil {
		return nil, err
	}
	row := d.row(lock)
	if len(row) == 0 {
		return nil, fault.New("train/none", "the holder's own change cannot ride on a train").Want("land it by itself")
	}
	if err := d.lock(d.s.locks.Couple(d.now, d.repository(), c.Token, row[1:])); err != nil {
		return nil, err
	}
	out := &loomv1.Train{Fence: c.Token}
	for _, attempt := range row {
		claim, _ := d.s.locks.Claim(d.repository(), attempt)
		token := max(claim.GetCar(), claim.GetToken())
		out.Cars, out.Fence = append(out.Cars, d.s.car(attempt, token)), max(out.Fence, token)
	}
	// What an earlier train under the same grant raised the fence to stays.
	out.Fence = max(out.Fence, d.s.locks.Status(d.repository()).LastCar)
	return &loomv1.Answer{Body: &loomv1.Answer_Train{Train: out}}, nil
}

// row returns the attempts that may land together, the holder's first; none if
// the holder's own may not.
func (d *decision) row(lock *loomv1.CommitLock) []string {
	most := int(d.s.p.GetConfig().GetTrain())
	var cars []train.Car
	for i, claim := range append([]*loomv1.LockClaim{lock.Holder}, lock.Queue...) {
		files, ok := d.couples(claim.GetRequest())
		switch {
		case i == 0 && (!ok || most < 1):
			return nil
		case ok:
			cars = append(cars, train.Car{ID: claim.Request, Files: files})
		}
	}
	var row []string
	for _, c := range train.Compose(cars, most) {
		row = append(row, c.ID)
	}
	return row
}

// couples returns the files of the change that an attempt is to land, if it may
// ride. What phases deliver is looked at with their execution's own eyes, which a
// train has not.
func (d *decision) couples(attempt string) ([]string, bool) {
	x, a := d.s.attempt(attempt)
	if a == nil || d.s.held(x) || d.run(x).Couples(attempt) != nil || slices.Contains(x.Checks, verify.Command) || d.s.contradiction(x) != nil {
		return nil, false
	}
	c := x.Change
	if len(c.GetFiles()) == 0 || int(c.FilesTotal) > len(c.Files) || c.PatchDigest != x.Candidate.GetPatchDigest() {
		return nil, false
	}
	files := make([]string, len(c.Files))
	for i, f := range c.Files {
		files[i] = f.Path
	}
	return files, true
}

// car returns what the commit of a change on a train is made of.
func (s *State) car(attempt string, token uint64) *loomv1.TrainCar {
	x, _ := s.attempt(attempt)
	c := &loomv1.TrainCar{
		Attempt: attempt, Bead: x.Bead, Execution: x.Id, Decision: x.Approved.GetDecision(), Token: token,
		Change:    &loomv1.Change{Base: x.Change.Base, Commit: x.Change.Commit, Tree: x.Change.Tree, PatchDigest: x.Change.PatchDigest, Makers: x.Change.Makers},
		Candidate: x.Candidate, Checks: x.Checks, Goal: s.bead(x.Bead).GetGoal(),
		Checkout: s.p.Definitions[x.DefinitionHash].GetCheckout(),
	}
	if by := proposer(x); by != nil {
		c.Role, c.Notes = by.Role, cut(by.Outcome.GetNotes(), carWords)
		if !ofProcess(s.p.Definitions[x.DefinitionHash]) {
			c.Summary = cut(by.Outcome.GetSummary(), carWords)
		}
	}
	return c
}

// drives refuses who does not hold the lock, or no longer.
func (d *decision) drives(token uint64, who *loomv1.Claimant) error {
	if who == nil {
		return fault.New("lock/invalid", "a train without a driver").At("holder")
	}
	if err := d.grantOf(token, who); err != nil {
		return err
	}
	_, err := d.s.locks.Couple(d.now, d.repository(), token, nil)
	return err
}

// recordTrain makes durable what a train's tests have shown: of every car, or of
// none.
func (d *decision) recordTrain(c *loomv1.RecordTrain) error {
	if err := d.drives(c.Token, c.Holder); err != nil {
		return err
	}
	attempts := slices.Sorted(maps.Keys(c.Cars))
	for _, attempt := range attempts { // all of it is looked at before any of it is recorded
		if err := d.rides(attempt, c); err != nil {
			return err
		}
	}
	for _, attempt := range attempts {
		x, _ := d.s.attempt(attempt)
		undo := d.about(x)
		err := d.run(x).Tested(attempt, c.Cars[attempt])
		undo()
		if err != nil {
			return err
		}
	}
	return nil
}

// rides refuses a car that has no place in the train of a grant, or none any more.
func (d *decision) rides(attempt string, c *loomv1.RecordTrain) error {
	claim, ok := d.s.locks.Claim(d.repository(), attempt)
	car := c.Cars[attempt]
	token := max(claim.GetCar(), claim.GetToken())
	own := car.GetRefused() != "" || car.GetCandidate().GetToken() == token || // or the holder's, as it was verified:
		claim.GetToken() == c.Token && car.GetCandidate().GetCommit() == car.GetVerified()
	if !ok || token == 0 || car.GetToken() != c.Token || !own {
		return fault.New("train/changed", "attempt %q has no place in the train of token %d", attempt, c.Token).Want("make the train anew")
	}
	x, a := d.s.attempt(attempt)
	if a == nil || d.s.held(x) {
		return fault.New("train/changed", "attempt %q is not to land now", attempt).Want("make the train anew")
	}
	if err := d.s.contradicted(attempt); err != nil && car.GetRefused() == "" {
		return fault.New("train/changed", "attempt %q may not land now", attempt).Want("make the train anew").Because(err)
	}
	probe := d.run(x)
	probe.Emit = func(*loomv1.Event) error { return nil }
	return probe.Tested(attempt, car)
}

// arrivals ends the landings of all that rode on the train with which a change has
// landed: git moved the target past all of them in one step, and so the journal has
// all of them in one append. What is held learns of it in its turn.
func (d *decision) arrivals(x *loomv1.Execution) error {
	l := x.Landing
	if l.GetHead() == "" || x.Car.GetHead() != l.Head || x.Car.GetCandidate().GetCommit() != l.Commit {
		return nil
	}
	return d.landedWith(l, func(y *loomv1.Execution) bool { return y.Id != x.Id && y.Car.GetToken() == x.Car.Token })
}

// landedWith ends the landings of those that rode on the train that a landing names.
func (d *decision) landedWith(l *loomv1.Landing, which func(*loomv1.Execution) bool) error {
	for _, y := range d.s.running() {
		if d.s.held(y) || !which(y) {
			continue
		}
		undo := d.about(y)
		err := d.run(y).Arrived(l)
		undo()
		if err != nil {
			return err
		}
	}
	return d.settledWith(l)
}

// mostTrains is the most trains that a holder of the lock is told of: the newest.
const mostTrains = 64

// openTrains returns the last commits of trains that landed perhaps, though nobody
// said so to the holder of a claim, the newest first.
func (d *decision) openTrains(claim *loomv1.LockClaim) []string {
	if d.s.p.GetConfig().GetTrain() < 2 && d.s.locks.Status(d.repository()).LastCar == 0 {
		return nil
	}
	heads := map[string]uint64{}
	for id := range d.s.open {
		if x := d.s.execution(id); d.waitsForTrain(x, claim.Request) {
			heads[x.Car.Head] = x.Car.Token
		}
	}
	list := slices.SortedFunc(maps.Keys(heads), func(a, b string) int {
		return cmp.Or(cmp.Compare(heads[b], heads[a]), cmp.Compare(a, b))
	})
	return list[:min(mostTrains, len(list))]
}

// waitsForTrain says whether an execution rode on a train that may have landed, by
// another attempt than the holder's own.
func (d *decision) waitsForTrain(x *loomv1.Execution, holder string) bool {
	return x.Car != nil && d.run(x).Rides(holder) && !d.s.held(x)
}

// settleTrain ends the landings of all that rode on a train which the holder of the
// lock has found on the target, but for the holder's own: it says so itself.
func (d *decision) settleTrain(c *loomv1.SettleTrain) error {
	if err := d.drives(c.Token, c.Holder); err != nil {
		return err
	}
	if c.GetLanding().GetHead() == "" || c.Landing.Ref == "" {
		return fault.New("command/malformed", "a train that has landed without its last commit, or nowhere").At("landing")
	}
	own, _ := d.s.attempt(d.s.locks.Status(d.repository()).GetHolder().GetRequest())
	return d.landedWith(c.Landing, func(y *loomv1.Execution) bool { return y.Id != own.GetId() })
}
