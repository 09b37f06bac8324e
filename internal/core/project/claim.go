package project

import (
	"iter"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// claim gives a claimant the attempt that it names, or any that waits for its
// role.
func (d *decision) claim(c *loomv1.ClaimAttempt) (*loomv1.Answer, error) {
	if role := roleOf(c.Claimant); c.Any && role != "" {
		return d.claimAny(c, role)
	}
	x, err := d.executionOf(c.Attempt)
	if err != nil {
		return nil, err
	}
	return d.claimOne(x, c.Attempt, c.Generation, c.Claimant)
}

func (d *decision) claimOne(x *loomv1.Execution, attempt string, generation uint32, by *loomv1.Claimant) (*loomv1.Answer, error) {
	defer d.about(x)()
	if err := d.ownWork(x, attempt, by); err != nil {
		return nil, err
	}
	if err := d.run(x).Claim(attempt, generation, by); err != nil {
		return nil, err
	}
	return d.briefed(attempt), nil
}

// ownWork refuses a verification to an agent that made a part of what it is of,
// in a task of the execution. What it made in the execution itself, the workflow
// core knows.
func (d *decision) ownWork(x *loomv1.Execution, attempt string, by *loomv1.Claimant) error {
	_, a := d.s.attempt(attempt)
	if a == nil || a.Claimant != nil || d.kindOf(x, a.Node) != loomv1.NodeKind_NODE_KIND_VERIFY || !d.s.madeForIt(x, by) {
		return nil
	}
	return fault.New("attempt/own-work", "agent %s made a part of the change that attempt %q verifies", by.GetAgent(), attempt)
}

func (d *decision) kindOf(x *loomv1.Execution, node string) loomv1.NodeKind {
	for _, n := range d.s.p.Definitions[x.DefinitionHash].GetNodes() {
		if n.Id == node {
			return n.Kind
		}
	}
	return loomv1.NodeKind_NODE_KIND_UNSPECIFIED
}

func (d *decision) briefed(attempt string) *loomv1.Answer {
	x, a := d.s.attempt(attempt)
	return &loomv1.Answer{Body: &loomv1.Answer_Brief{Brief: d.s.brief(x, a, d.now)}}
}

// claimAny gives the claimant the most urgent attempt that it may work on. One
// that it holds already it is given again: an agent works on one attempt at a
// time, so this is a claim whose answer was lost. What it must not work on is
// left for others, with attempt/own-work when there is nothing else.
func (d *decision) claimAny(c *loomv1.ClaimAttempt, role string) (*loomv1.Answer, error) {
	for _, id := range d.s.queue.held[holderOf(c.Claimant)] {
		if _, a := d.s.attempt(id); a.Role == role {
			return d.briefed(id), nil
		}
	}
	refusal := d.nothing(c, role)
	for p := range d.s.queue.inTurn(role) {
		x, a := d.s.attempt(p.attempt)
		answer, err := d.claimOne(x, a.Id, a.Generation, c.Claimant)
		if fault.Code(err) != "attempt/own-work" {
			return answer, err
		}
		refusal = err
	}
	return nil, refusal
}

// nothing is the refusal of a claim when nothing waits that may run.
func (d *decision) nothing(c *loomv1.ClaimAttempt, role string) error {
	if x, a := d.s.attempt(c.Attempt); a != nil && a.Claimant == nil && d.s.held(x) {
		return paused(a.Id, x)
	}
	return fault.New("attempt/stale", "nothing waits for role %s", role).At("attempt").Got(c.Attempt)
}

func paused(attempt string, x *loomv1.Execution) error {
	return fault.New("attempt/paused", "attempt %q cannot go on: execution %q is held", attempt, x.Id)
}

// roleOf returns ROLE of an agent "ROLE/N", or "".
func roleOf(c *loomv1.Claimant) string {
	return c.GetAgent()[:max(strings.LastIndexByte(c.GetAgent(), '/'), 0)]
}

// compared is how many attempts of one priority are looked at for the bead that
// the fewest agents work on.
const compared = 64

// inTurn yields what waits for a role as it is to be worked on: the most urgent
// first; of the longest waiting of one priority those of the beads that the
// fewest agents of the role work on, so that one bead with much to do does not
// keep others waiting; then by age. The queue must not change meanwhile.
func (q *queue) inTurn(role string) iter.Seq[*place] {
	return func(yield func(*place) bool) {
		lines := q.lines[role]
		if lines == nil {
			return
		}
		for _, l := range lines {
			for chunk := range slices.Chunk(l, compared) {
				chunk = slices.Clone(chunk)
				slices.SortStableFunc(chunk, func(a, b *place) int { return q.busy[a.beadRole] - q.busy[b.beadRole] })
				for _, p := range chunk {
					if !yield(p) {
						return
					}
				}
			}
		}
	}
}

// leftBy returns what agents of a host hold since a start before epoch, in a
// fixed order.
func (q *queue) leftBy(host string, epoch uint64) []string {
	var left []string
	for by, attempts := range q.held {
		if by.host == host && by.epoch < epoch {
			left = append(left, attempts...)
		}
	}
	slices.Sort(left)
	return left
}
