package board

import (
	"slices"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// lasting are the kinds of events of which a line stays above the board: what the board
// itself does not show any more, or never did.
var lasting = []string{
	"landed", "landing-settled", "execution-ended", "draft-kept", "work-paused", "work-resumed", "model-unblocked",
	"governor-tripped", "host-drained", "agent-given-up", "project-registered", "project-removed",
}

// told are the kinds of events that have a line each where there is no board.
var told = append([]string{
	"bead-filed", "attempt-claimed", "approval-requested", "approval-decided", "approval-lapsed", "model-blocked", "session-advanced",
}, lasting...)

// changing are the kinds of events after which the board shows something else.
var changing = append([]string{
	"bead-updated", "bead-status-changed", "governor-renewed", "execution-started", "execution-forked", "execution-moved", "edge-settled",
	"attempt-dispatched", "claim-released", "attempt-parked", "attempt-ended", "retry-scheduled", "model-answered", "child-started",
}, told...)

// teller says in lines what happens, each thing once.
type teller struct {
	kinds []string
	alone bool            // there is one host, which is not named
	begun map[string]bool // executions that somebody works on
}

func newTeller(kinds []string) *teller { return &teller{kinds: kinds, begun: map[string]bool{}} }

// tells reports whether a notice has a line.
func (t *teller) tells(n *loomv1.Notice) bool {
	if !slices.Contains(t.kinds, n.GetKind()) {
		return false
	}
	switch e := n.GetEvent(); f := e.GetFact().(type) {
	case *loomv1.Event_BeadFiled:
		return f.BeadFiled.GetBead().GetAbout() == "" // an approval is told when it is asked for
	case *loomv1.Event_AttemptClaimed:
		again := t.begun[e.GetExecution()]
		t.begun[e.GetExecution()] = true
		return !again
	case *loomv1.Event_SessionAdvanced:
		return intent.AsksPerson(f.SessionAdvanced.GetFact())
	case *loomv1.Event_ExecutionEnded:
		delete(t.begun, e.GetExecution())
	case *loomv1.Event_LandingSettled:
		return f.LandingSettled.GetLanding() != nil
	}
	return true
}

// line is what a person reads of a notice.
func (t *teller) line(n *loomv1.Notice) string {
	text := n.GetSummary()
	if t.alone {
		text = console.WithoutHost(text)
	}
	text = console.Clock(n.GetEvent().GetTime()) + "  " + console.Line(text, 300)
	if a := n.GetEvent().GetApprovalRequested().GetApproval(); a != nil {
		text += ": loom inbox " + console.Line(a.GetId(), 100)
	}
	return text + "\n"
}
