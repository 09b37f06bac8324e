package workflow

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Couples refuses a candidate that cannot ride on a merge train for an attempt to
// land it: it must be verified, with required commands that the train can be
// tested by, and not have been refused by an earlier one.
func (r Run) Couples(attempt string) error {
	n, _, err := r.outstanding(attempt)
	if err != nil {
		return err
	}
	if err := r.couples(n); err != nil {
		return err
	}
	if RefusedByTrain(r.X) {
		return fault.New("train/refused", "%s", r.X.Car.Refused)
	}
	return nil
}

func (r Run) couples(n *node) *fault.Error {
	commit := r.X.Candidate.GetCommit()
	switch {
	case n.Kind != loomv1.NodeKind_NODE_KIND_LAND || commit == "":
		return noEvidence("node %q has no candidate to land", n.Id)
	case len(r.X.Checks) == 0:
		return fault.New("verify/no-check", "no check is required, so a train would show nothing")
	}
	return r.vouched(n, commit)
}

// Tested records what a train's tests have shown of the candidate that an attempt
// is to land. A car that may land must have the candidate's patch, and every
// required command must have passed on the train's last commit. It is refused for
// a candidate that is not, or no longer, the one that the car stands for. What is
// recorded already is not recorded again.
func (r Run) Tested(attempt string, c *loomv1.Car) error {
	n, a, err := r.outstanding(attempt)
	if err != nil {
		return err
	}
	if c.GetVerified() == "" || c.Verified != r.X.Candidate.GetCommit() {
		return noEvidence("the train has %s, and the candidate is %s", short(c.GetVerified()), short(r.X.Candidate.GetCommit()))
	}
	if err := r.couples(n); err != nil {
		return err
	}
	if c.Refused == "" {
		if err := r.passed(c); err != nil {
			return err
		}
	}
	if proto.Equal(c, r.X.Car) {
		return nil
	}
	return r.Emit(&loomv1.Event{Node: n.Id, Attempt: a.Id, Fact: &loomv1.Event_TrainTested{TrainTested: &loomv1.TrainTested{Car: c}}})
}

// passed wants a car to hold the candidate's patch, and its train to have passed.
func (r Run) passed(c *loomv1.Car) error {
	if c.Candidate.GetCommit() == "" || c.Head == "" || c.Candidate.PatchDigest != r.X.Candidate.PatchDigest {
		return noEvidence("commit %s of the train does not hold the verified patch", short(c.Candidate.GetCommit()))
	}
	for _, command := range r.X.Checks {
		if err := passed(command, c.Head, c.Checks); err != nil {
			return err
		}
	}
	return nil
}

// rode says whether a commit is that of the present candidate's patch on a train
// that passed.
func (r Run) rode(commit string) bool {
	c := r.X.Car
	return commit != "" && c.GetCandidate().GetCommit() == commit && c.Refused == "" && c.Verified == r.X.Candidate.GetCommit()
}

// Rides says whether an attempt, other than that of an id, waits to land a change
// that was found good on a train, of which it is not known whether it landed.
func (r Run) Rides(other string) bool {
	c := r.X.Car
	if c.GetHead() == "" || !r.rode(c.Candidate.GetCommit()) || r.X.Landing.GetCommit() == c.Candidate.Commit {
		return false
	}
	_, a := r.landing()
	return a != nil && a.Id != other
}

// landing returns the attempt to land that is not over, if there is one.
func (r Run) landing() (*node, *loomv1.Attempt) {
	for _, n := range r.Def.order {
		if a := r.state(n).GetAttempt(); n.Kind == loomv1.NodeKind_NODE_KIND_LAND && a != nil && a.EndedAt == nil {
			return n, a
		}
	}
	return nil, nil
}

// Arrived ends the attempt to land of a change that rode on a train which has
// landed as far as a landing says, with the evidence that the train has left. It
// emits nothing for one that rode on no such train, has landed, or waits for no
// landing; so it may be repeated. Whoever has the attempt has it no more.
func (r Run) Arrived(l *loomv1.Landing) error {
	c := r.X.Car
	commit := c.GetCandidate().GetCommit()
	if l.GetHead() == "" || c.GetHead() != l.Head || !r.rode(commit) || r.X.Landing.GetCommit() == commit {
		return nil
	}
	n, a := r.landing()
	if a == nil {
		return nil
	}
	own := proto.CloneOf(l)
	own.Commit = commit
	out := &loomv1.Outcome{Status: success, Summary: short(commit) + " landed on " + l.Ref + " with a train", Landing: own, Fields: blank(n)}
	if err := r.conclude(n, a, r.judged(n, out)); err != nil {
		return err
	}
	return r.advance()
}

// blank gives every field that a node declares, without a value.
func blank(n *node) *structpb.Struct {
	fields := map[string]*structpb.Value{}
	for name, kind := range n.Outcome {
		switch kind {
		case "string":
			fields[name] = structpb.NewStringValue("")
		case "bool":
			fields[name] = structpb.NewBoolValue(false)
		default:
			fields[name] = structpb.NewNumberValue(0)
		}
	}
	return &structpb.Struct{Fields: fields}
}

// RefusedByTrain says whether a train has found that the present candidate must
// not land as it is.
func RefusedByTrain(x *loomv1.Execution) bool {
	return x.GetCar().GetRefused() != "" && x.Car.Verified == x.Candidate.GetCommit()
}

// PassedByTrain says whether a train has found the present candidate good: then
// it may have landed already, and its own attempt finds out.
func PassedByTrain(x *loomv1.Execution) bool {
	c := x.GetCar()
	return c != nil && c.Refused == "" && c.Verified == x.Candidate.GetCommit()
}
