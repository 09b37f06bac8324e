package notice

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fact"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Summary returns one line for people, at most 300 bytes, without control
// characters. What others wrote (goals, model answers, tool output) is quoted
// as it is but for that; nothing may be decided by it.
func Summary(e *loomv1.Event) string {
	k := fact.Of(e)
	if k == nil {
		return cut(clean(fmt.Sprintf("%s: event %d is of a kind that this version does not know", about(e), e.GetNumber())), most)
	}
	for _, says := range []func(*loomv1.Event) string{func(e *loomv1.Event) string { return say(k, e) }, flow, attempts, turns, people, changes, kin, session, conversed} {
		// An escape that is never ended can take the whole sentence with it.
		if s := cut(clean(says(e)), most); s != "" {
			return s
		}
	}
	return k.Name
}

func filed(e *loomv1.Event, b *loomv1.Bead) string {
	what := word(b.GetType())
	if b.GetAbout() != "" {
		what += " about " + b.GetAbout()
	}
	return fmt.Sprintf("%s: %s filed by %s", about(e), what, who(e)) + after(": ", b.GetGoal())
}

// flow says what was filed, and how work goes on from node to node.
func flow(e *loomv1.Event) string {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_BeadFiled:
		return filed(e, f.BeadFiled.GetBead())
	case *loomv1.Event_EdgeSettled:
		s := f.EdgeSettled
		if !s.GetTaken() {
			return fmt.Sprintf("%s: %s -> %s not taken", about(e), s.GetFrom(), s.GetTo())
		}
		return fmt.Sprintf("%s: %s -> %s", about(e), s.GetFrom(), s.GetTo()) + in(s.GetOutcome())
	case *loomv1.Event_NodeSkipped:
		if f.NodeSkipped.GetDetached() {
			return fmt.Sprintf("%s: %s set aside, %s", about(e), e.Node, f.NodeSkipped.GetReason())
		}
		if why := f.NodeSkipped.GetReason(); why != "" {
			return fmt.Sprintf("%s: %s skipped, %s", about(e), e.Node, why)
		}
		return fmt.Sprintf("%s: %s skipped, no way leads to it", about(e), e.Node)
	case *loomv1.Event_NodeCompleted:
		if f.NodeCompleted.GetSucceeded() {
			return fmt.Sprintf("%s: %s completed", about(e), e.Node)
		}
		return fmt.Sprintf("%s: %s failed", about(e), e.Node)
	case *loomv1.Event_ReworkStarted:
		r := f.ReworkStarted
		if r.GetMovedFrom() != "" {
			return fmt.Sprintf("%s: %s begins again at %s with a fresh candidate", about(e), e.Node, r.GetTo()) + after(": ", r.GetReason())
		}
		return fmt.Sprintf("%s: %s sends work back to %s%s", about(e), e.Node, r.GetTo(), times(r.GetCount())) + after(": ", r.GetReason())
	}
	return ""
}

func attempts(e *loomv1.Event) string {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_AttemptDispatched:
		return fmt.Sprintf("%s: %s dispatched to %s, %s", about(e), e.Node, f.AttemptDispatched.GetRole(), which(f.AttemptDispatched))
	case *loomv1.Event_AttemptParked:
		if b := f.AttemptParked.GetBlock(); b != nil {
			return fmt.Sprintf("%s: %s waits for the operator, and is tried again at %s: %s", about(e), e.Node, clock(f.AttemptParked.GetUntil()), b.GetMessage())
		}
		if until := f.AttemptParked.GetUntil(); until != nil {
			return fmt.Sprintf("%s: %s waits for the model's rate limit until %s", about(e), e.Node, clock(until))
		}
		return fmt.Sprintf("%s: %s waits for the %s", about(e), e.Node, named(f.AttemptParked.GetWaitsFor(), "next step"))
	case *loomv1.Event_AttemptEnded:
		return ended(e, f.AttemptEnded)
	}
	return ""
}

func which(d *loomv1.AttemptDispatched) string {
	if d.GetVisit() > 1 {
		return fmt.Sprintf("visit %d, attempt %d", d.GetVisit(), d.GetNumber())
	}
	return fmt.Sprintf("attempt %d", d.GetNumber())
}

func ended(e *loomv1.Event, a *loomv1.AttemptEnded) string {
	if a.GetTimedOut() {
		return fmt.Sprintf("%s: %s timed out", about(e), e.Node)
	}
	o := a.GetOutcome()
	verb := "ended"
	switch o.GetStatus() {
	case loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS:
		verb = "succeeded"
	case loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE:
		verb = "failed"
	case loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE:
		verb = "asks for another cycle"
	}
	return fmt.Sprintf("%s: attempt at %s %s", about(e), e.Node, verb) + after(": ", o.GetSummary()) + in(o.GetCode())
}

func changes(e *loomv1.Event) string {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ChangeProposed:
		if f.ChangeProposed.GetChange() == nil {
			return about(e) + ": change withdrawn" + after(": ", f.ChangeProposed.GetReason())
		}
		files := f.ChangeProposed.GetChange().GetFiles()
		var added, removed uint32
		for _, file := range files {
			added += file.GetAdded()
			removed += file.GetRemoved()
		}
		return fmt.Sprintf("%s: change proposed: %s, +%d -%d", about(e), fault.Count(len(files), "file"), added, removed)
	case *loomv1.Event_CandidateMade:
		c := f.CandidateMade.GetCandidate()
		if c.GetPresent() {
			return fmt.Sprintf("%s: nothing to commit, %.12s of the target is verified as it is", about(e), c.GetCommit())
		}
		return fmt.Sprintf("%s: candidate commit %s made (token %d)", about(e), short(c.GetCommit()), c.GetToken())
	case *loomv1.Event_TrainTested:
		return about(e) + ": " + tested(f.TrainTested.GetCar())
	case *loomv1.Event_LandingSettled:
		return about(e) + ": " + settled(f.LandingSettled)
	case *loomv1.Event_Landed:
		l := f.Landed.GetLanding()
		return fmt.Sprintf("%s: commit %s landed on %s (token %d)%s", about(e), short(l.GetCommit()), strings.TrimPrefix(l.GetRef(), "refs/heads/"), l.GetToken(), beside(l))
	}
	return ""
}

// beside says of a landing that left the target alone why, and how to take the commit.
func beside(l *loomv1.Landing) string {
	if l.GetCheckout() == "" || !Beside(l) {
		return ""
	}
	return ": " + l.Checkout
}

// Beside says whether a commit landed on a branch of its own, and not on its target.
func Beside(l *loomv1.Landing) bool {
	return l != nil && l.Target != "" && l.Ref != "refs/heads/"+l.Target
}

// settled says what became of a commit whose attempt to land had ended.
func settled(s *loomv1.LandingSettled) string {
	l := s.GetLanding()
	if l == nil {
		return fmt.Sprintf("commit %s has not landed, and its attempt has ended", short(s.GetCommit()))
	}
	return fmt.Sprintf("commit %s landed on %s though its attempt had ended (token %d)%s", short(l.GetCommit()), strings.TrimPrefix(l.GetRef(), "refs/heads/"), l.GetToken(), beside(l))
}

// tested says what a train's tests have shown of a change.
func tested(c *loomv1.Car) string {
	if c.GetRefused() != "" {
		return fmt.Sprintf("candidate %s was taken off its merge train: %s", short(c.GetVerified()), c.GetRefused())
	}
	return fmt.Sprintf("commit %s passed on a merge train that ends in %s (token %d)",
		short(c.GetCandidate().GetCommit()), short(c.GetHead()), c.GetToken())
}

// about names what an event is about: its bead, else its project.
func about(e *loomv1.Event) string { return named(named(e.GetBead(), e.GetProject()), "deployment") }

// who names on whose behalf an event is: an identity's name, else its kind. The
// CEO's name is a key, which tells people nothing.
func who(e *loomv1.Event) string {
	if e.GetActor().GetKind() == loomv1.IdentityKind_IDENTITY_KIND_CEO {
		return word(e.GetActor().GetKind())
	}
	return named(part(e.GetActor().GetName()), word(e.GetActor().GetKind()))
}

// named returns name, or otherwise when there is none.
func named(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}

func because(err *loomv1.Error) string {
	return after(": ", err.GetMessage()) + in(err.GetCode())
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

func clock(t *timestamppb.Timestamp) string { return t.AsTime().UTC().Format(time.RFC3339) }

// times says which time it is; work that a person sends back is not counted.
func times(n uint32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", time %d", n)
}
