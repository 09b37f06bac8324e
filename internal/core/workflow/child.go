package workflow

import (
	"fmt"

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
// agent's: with retries, rework, escalation. Of the outcome only status, words,
// code and gaps count: a child's change and candidate are its own. Ending it again
// in the same way does nothing; an attempt that was withdrawn meanwhile is
// attempt/stale.
func (r Run) ChildEnded(attempt string, out *loomv1.Outcome) error {
	n, a, err := r.forProcess(attempt)
	if err != nil {
		return err
	}
	if out.GetStatus() != success && out.GetStatus() != failure {
		return invalid("status", "a child execution succeeds or fails")
	}
	gaps := out.Gaps[:min(len(out.Gaps), MaxGaps)]
	out = trimmed(&loomv1.Outcome{Status: out.Status, Summary: out.Summary, Notes: out.Notes, Code: out.Code, Gaps: gaps})
	if a.EndedAt != nil {
		if proto.Equal(a.Outcome, out) {
			return nil
		}
		return stale(a)
	}
	if err := r.conclude(n, a, out); err != nil {
		return err
	}
	return r.advance()
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
