package workflow

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ChildStarted links an attempt that a process is to do with the child
// execution that does it. Linking it again does nothing; another child for the
// same attempt is attempt/claimed.
func (r Run) ChildStarted(attempt, bead, execution string) error {
	_, a, err := r.forProcess(attempt)
	switch {
	case err != nil || a.Child == execution && execution != "":
		return err
	case a.EndedAt != nil:
		return stale(a)
	case a.Child != "" || execution == "":
		return fault.New("attempt/claimed", "attempt %q is worked on by execution %q, not %q", a.Id, a.Child, execution)
	}
	return r.Emit(&loomv1.Event{Node: a.Node, Attempt: a.Id, Fact: &loomv1.Event_ChildStarted{
		ChildStarted: &loomv1.ChildStarted{Bead: bead, Execution: execution},
	}})
}

// ChildEnded ends an attempt that a process does, as [Run.Answer] does for an
// agent's: with retries, rework, escalation. Of the outcome status, words, code, gaps
// and change count; a candidate is the child's own. A success with a change does not
// end the attempt yet: an agent that may commit takes the change over into the
// parent's workspace, and its answer is the end. Ending it again in the same way does
// nothing; an attempt that was withdrawn meanwhile is attempt/stale.
func (r Run) ChildEnded(attempt string, out *loomv1.Outcome) error {
	n, a, err := r.forProcess(attempt)
	if err != nil {
		return err
	}
	if out.GetStatus() != success && out.GetStatus() != failure {
		return invalid("status", "a child execution succeeds or fails")
	}
	gaps := out.Gaps[:min(len(out.Gaps), MaxGaps)]
	out = trimmed(&loomv1.Outcome{Status: out.Status, Summary: out.Summary, Notes: out.Notes, Code: out.Code, Gaps: gaps, Change: out.Change, Sources: out.Sources})
	if out.Status != success {
		out.Change = nil
	}
	if a.Given != nil && proto.Equal(a.Given, out) {
		return nil
	}
	if a.EndedAt != nil || a.Given != nil {
		if a.Given == nil && proto.Equal(a.Outcome, out) {
			return nil
		}
		return staleOrGiven(a)
	}
	if out.Change != nil {
		return r.offer(a, out)
	}
	if err := r.conclude(n, a, out); err != nil {
		return err
	}
	return r.advance()
}

// offer queues an attempt for an agent that takes over what its child has delivered.
func (r Run) offer(a *loomv1.Attempt, out *loomv1.Outcome) error {
	return r.Emit(&loomv1.Event{Node: a.Node, Attempt: a.Id, Fact: &loomv1.Event_ChildDelivered{
		ChildDelivered: &loomv1.ChildDelivered{Outcome: out, Role: committer},
	}})
}

func staleOrGiven(a *loomv1.Attempt) error {
	if a.EndedAt != nil {
		return stale(a)
	}
	return fault.New("attempt/stale", "what the child of attempt %q delivered is being taken over", a.Id)
}

// OfProcess says whether a child execution is at work on an attempt, or about to be:
// nobody claims it. What a child has delivered is an agent's to take over.
func OfProcess(a *loomv1.Attempt) bool { return a.GetProcess() != "" && a.GetGiven() == nil }

// takenOver is the end of an attempt whose child has delivered a change: what the
// child says, with the change as it is in the parent's workspace.
func takenOver(a *loomv1.Attempt, out *loomv1.Outcome) *loomv1.Outcome {
	if a.GetGiven() == nil || out.GetStatus() != success {
		return out
	}
	whole := proto.CloneOf(a.Given)
	whole.Change, whole.Unchanged = out.Change, out.Unchanged
	return whole
}

// Nested says whether an execution works for another that can land what it makes. It
// never lands on the target: that is the other's to take over, and the outermost one's to
// land.
func Nested(x *loomv1.Execution) bool { return x.GetParent() != "" && !x.GetLands() }

// Standing is the change that an execution stands on: its own, else the one that it
// began with; nil for none.
func Standing(x *loomv1.Execution) *loomv1.Change {
	if c := x.GetChange(); c != nil {
		return c
	}
	return x.GetBegins()
}

// LandsAfter says whether a landing follows a node, so that what is made there can still
// come to the target.
func (r Run) LandsAfter(id string) bool {
	at := slices.IndexFunc(r.Def.order, func(n *node) bool { return n.Id == id })
	return at >= 0 && slices.ContainsFunc(r.Def.order, func(n *node) bool {
		return n.Kind == loomv1.NodeKind_NODE_KIND_LAND && n.follows(r.Def.order[at])
	})
}

// leftToParent says whether a node is a landing that belongs to the execution that
// this one works for.
func (r Run) leftToParent(n *node) bool {
	return n.Kind == loomv1.NodeKind_NODE_KIND_LAND && Nested(r.X)
}

// forProcess returns an attempt that a process is to do.
func (r Run) forProcess(attempt string) (*node, *loomv1.Attempt, error) {
	n, a, err := r.find(attempt)
	if err == nil && a.Process == "" {
		err = fault.New("attempt/wrong-role", "attempt %q is for %s, not for a process", a.Id, a.Role)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("child execution: %w", err)
	}
	return n, a, nil
}
