package project

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// refusedByGit are codes of outcomes that say that a commit has not landed.
var refusedByGit = map[string]bool{
	"git/target-moved": true, "git/fenced": true, "git/damaged": true, "git/no-change": true, "train/refused": true,
}

// doubt keeps that a commit may have landed, though the attempt to land it has ended
// otherwise: its agent could be in the middle of that.
func (s *State) doubt(x *loomv1.Execution, e *loomv1.Event) {
	out, commit := e.GetAttemptEnded().GetOutcome(), x.Candidate.GetCommit()
	lands := s.defs[x.DefinitionHash].Node(e.Node).GetKind() == loomv1.NodeKind_NODE_KIND_LAND
	if !lands || commit == "" || out.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || refusedByGit[out.GetCode()] {
		return
	}
	history := x.Nodes[e.Node].History
	s.wonder(x, history[len(history)-1], x.Candidate, x.Car)
}

// dropped keeps the same of a candidate that another has come for, or none, while an
// attempt to land it was under way: that may still land it.
func (s *State) dropped(x *loomv1.Execution, candidate *loomv1.Candidate, car *loomv1.Car) {
	for _, a := range outstanding(x) {
		if s.defs[x.DefinitionHash].Node(a.Node).GetKind() == loomv1.NodeKind_NODE_KIND_LAND {
			s.wonder(x, a, candidate, car)
		}
	}
}

// wonder keeps a candidate that an attempt may have landed, if anybody ever had that.
func (s *State) wonder(x *loomv1.Execution, a *loomv1.Attempt, c *loomv1.Candidate, car *loomv1.Car) {
	if a.Claimant == nil && a.Generation <= 1 && a.Parked == "" {
		return
	}
	o := &loomv1.OpenLanding{Execution: x.Id, Bead: x.Bead, Attempt: a.Id, Claimant: proto.CloneOf(a.Claimant), Commit: c.Commit, PatchDigest: c.PatchDigest}
	if car.GetRefused() == "" && car.GetVerified() == c.Commit {
		o.Car, o.Head = car.GetCandidate().GetCommit(), car.GetHead()
	}
	s.sure(x.Id, c.Commit)
	s.p.OpenLandings = append(s.p.OpenLandings, o)
}

// mostLanded is how many landings the patches are kept of.
const mostLanded = 64

// landed keeps the patch of a landing on the target.
func (s *State) landed(e *loomv1.Event, patch string, l *loomv1.Landing) {
	if patch == "" || !onTarget(l) {
		return
	}
	s.p.LandedPatches = append(s.p.LandedPatches, &loomv1.LandedPatch{PatchDigest: patch, Bead: e.Bead, Commit: l.Commit, At: e.Time})
	s.p.LandedPatches = s.p.LandedPatches[max(0, len(s.p.LandedPatches)-mostLanded):]
}

// settled keeps what became of a commit that was in doubt.
func (s *State) settled(e *loomv1.Event) {
	f := e.GetLandingSettled()
	for _, o := range s.p.OpenLandings {
		if o.Execution == e.Execution && o.Commit == f.GetCommit() && f.GetLanding() != nil {
			s.landed(e, o.PatchDigest, f.Landing)
		}
	}
	s.sure(e.Execution, f.GetCommit())
}

// landedAs returns the patch that landed on the target as a commit, nil for none.
func (s *State) landedAs(commit string) *loomv1.LandedPatch {
	i := slices.IndexFunc(s.p.LandedPatches, func(l *loomv1.LandedPatch) bool { return l.Commit == commit })
	if i < 0 {
		return nil
	}
	return s.p.LandedPatches[i]
}

// onTarget says whether a landing is on the target, and not beside it on a branch of
// its own.
func onTarget(l *loomv1.Landing) bool { return l.GetRef() == "refs/heads/"+l.GetTarget() }

// landedMeanwhile returns the landing of the same patch since the first attempt of a
// node was dispatched, nil for none.
func (s *State) landedMeanwhile(x *loomv1.Execution, node, patch string) *loomv1.LandedPatch {
	history := x.Nodes[node].GetHistory()
	if len(history) == 0 {
		return nil
	}
	begun := history[0].DispatchedAt.AsTime()
	for _, l := range s.p.LandedPatches {
		if l.PatchDigest == patch && l.Bead != x.Bead && l.At.AsTime().After(begun) {
			return l
		}
	}
	return nil
}

// sure forgets a doubt.
func (s *State) sure(execution, commit string) {
	s.p.OpenLandings = slices.DeleteFunc(s.p.OpenLandings, func(o *loomv1.OpenLanding) bool {
		return o.Execution == execution && o.Commit == commit
	})
}

// openLanding returns what is not known of a commit, nil for one that is no riddle:
// while an attempt is under way that may land it, or one is to come, that finds out.
func (s *State) openLanding(execution, commit string) *loomv1.OpenLanding {
	i := slices.IndexFunc(s.p.OpenLandings, func(o *loomv1.OpenLanding) bool { return o.Execution == execution && o.Commit == commit })
	if i < 0 {
		return nil
	}
	o := s.p.OpenLandings[i]
	if s.open[execution] {
		x, a := s.attempt(o.Attempt)
		if a != nil || x.Candidate.GetCommit() == commit {
			return nil
		}
	}
	return o
}

// mostLandings is the most commits that a holder of the lock is told of at once.
const mostLandings = 64

// openLandings returns the commits that the holder of the lock is to find out about,
// the oldest first.
func (d *decision) openLandings() (list []*loomv1.OpenLanding) {
	if d.s.cfg.Format.Check(settled("", nil), d.s.agreed) != nil {
		return nil
	}
	for _, o := range d.s.p.OpenLandings {
		if len(list) < mostLandings && d.s.openLanding(o.Execution, o.Commit) != nil {
			list = append(list, proto.CloneOf(o))
		}
	}
	return list
}

func settled(commit string, l *loomv1.Landing) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_LandingSettled{LandingSettled: &loomv1.LandingSettled{Commit: commit, Landing: l}}}
}

// settleLanding records what became of a commit whose attempt to land has ended: the
// holder of the lock has looked for it, or who had the attempt says what it has done.
func (d *decision) settleLanding(c *loomv1.SettleLanding) error {
	switch {
	case c.Holder == nil:
		return fault.New("lock/invalid", "a landing that nobody has looked for").At("holder")
	case c.Execution == "" || c.Commit == "":
		return fault.New("command/malformed", "a landing of no commit of an execution").At("commit")
	}
	if c.Token != 0 {
		if err := d.drives(c.Token, c.Holder); err != nil {
			return err
		}
	}
	o := d.s.openLanding(c.Execution, c.Commit)
	if o == nil {
		return nil
	}
	if c.Token == 0 && (c.Landing == nil || !proto.Equal(o.Claimant, c.Holder)) {
		return fault.New("attempt/claimed", "attempt %q was not of %s when it ended", o.Attempt, name(c.Holder)).At("holder")
	}
	if l := c.Landing; l != nil && (l.Ref == "" || l.Commit == "" || l.Commit != o.Commit && l.Commit != o.Car) {
		return fault.New("outcome/no-evidence", "%.12s landed, but the candidate is %.12s", l.Commit, o.Commit).At("landing")
	}
	if err := d.settleOpen(o, c.Landing); err != nil || c.Landing.GetHead() == "" || c.Landing.Head != o.Head {
		return err
	}
	return d.landedWith(c.Landing, func(*loomv1.Execution) bool { return true })
}

// settleOpen records what became of a commit.
func (d *decision) settleOpen(o *loomv1.OpenLanding, l *loomv1.Landing) error {
	defer d.about(d.s.execution(o.Execution))()
	e := settled(o.Commit, l)
	e.Attempt = o.Attempt
	return d.emit(e)
}

// settledWith records of all that rode on the train that a landing names, and whose
// attempts have ended, that they have landed.
func (d *decision) settledWith(l *loomv1.Landing) error {
	for _, o := range d.openLandings() {
		if o.Head == "" || o.Head != l.Head {
			continue
		}
		own := proto.CloneOf(l)
		own.Commit = o.Car
		if err := d.settleOpen(o, own); err != nil {
			return err
		}
	}
	return nil
}
