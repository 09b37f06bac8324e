package project

import (
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// parkForOperator parks an attempt whose model cannot be asked. The first that meets
// a cause tells of it; the others wait in silence.
func (d *decision) parkForOperator(x *loomv1.Execution, c *loomv1.ParkAttempt) error {
	known := slices.ContainsFunc(d.s.blocks(), func(b *loomv1.ModelBlock) bool { return sameBlock(b, c.Block) })
	if err := d.run(x).ParkForOperator(c.Attempt, c.Claimant, c.Block); err != nil || known {
		return err
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_ModelBlocked{ModelBlocked: &loomv1.ModelBlocked{Block: c.Block}}})
}

// sameBlock says whether two blocks have one cause: the words of a provider may differ.
func sameBlock(a, b *loomv1.ModelBlock) bool {
	return a.GetModel() == b.GetModel() && a.GetCode() == b.GetCode()
}

// unblocked tells that work has an answer which waited because of a block, and has
// the rest that waits for the same asked again.
func (d *decision) unblocked(block *loomv1.ModelBlock) error {
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ModelUnblocked{ModelUnblocked: &loomv1.ModelUnblocked{Block: block}}}); err != nil {
		return err
	}
	return d.askAgainFor(func(b *loomv1.ModelBlock) bool { return sameBlock(b, block) })
}

// askAgainFor queues attempts that wait for the operator, at most as many as one
// batch can hold; the others come with their timers.
func (d *decision) askAgainFor(which func(*loomv1.ModelBlock) bool) error {
	left := settleMost
	for _, x := range d.s.running() {
		for _, a := range outstanding(x) {
			if left == 0 {
				return nil
			}
			if a.Parked != workflow.WaitsForOperator || !which(a.Block) {
				continue
			}
			left--
			if err := d.unparkOne(a.Id); err != nil {
				return err
			}
		}
	}
	return nil
}

// startedAgain has a host that started ask the models again that the operator had to
// mend: it may have other keys.
func (d *decision) startedAgain(epoch uint64) error {
	if epoch == math.MaxUint64 { // it is gone
		return nil
	}
	return d.askAgainFor(func(*loomv1.ModelBlock) bool { return true })
}

// Blocked reports whether work waits for the operator.
func (s *State) Blocked() bool { return len(s.blocks()) > 0 }

// blocks returns why models cannot be asked, each cause once.
func (s *State) blocks() (list []*loomv1.ModelBlock) {
	for _, x := range s.running() {
		for _, a := range outstanding(x) {
			if a.Block != nil && !slices.ContainsFunc(list, func(b *loomv1.ModelBlock) bool { return sameBlock(b, a.Block) }) {
				list = append(list, proto.CloneOf(a.Block))
			}
		}
	}
	return list
}
