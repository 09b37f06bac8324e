package chaos

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// addAttempt reads an event for what it says of attempts.
func (a *auditor) addAttempt(e *loomv1.Event) {
	at := a.attempts[e.Attempt]
	switch f := e.Fact.(type) {
	case *loomv1.Event_AttemptDispatched:
		a.dispatched(e, f.AttemptDispatched)
	case *loomv1.Event_AttemptClaimed:
		if a.outstanding(e) && at.held {
			a.say("attempt %s is claimed while it is held", e.Attempt)
		}
		if a.paused || a.blocked(e.Bead) != "" {
			a.say("attempt %s is claimed while all work is paused (%t) or %q is open", e.Attempt, a.paused, a.blocked(e.Bead))
		}
		if at != nil {
			at.held, at.claims = true, append(at.claims, f.AttemptClaimed.Claimant.Epoch)
		}
	case *loomv1.Event_ClaimReleased:
		if a.outstanding(e) && (!at.held || !freed(f.ClaimReleased.Reason)) {
			a.say("attempt %s, held %t, is given back: %s", e.Attempt, at.held, f.ClaimReleased.Reason)
		}
		if at != nil {
			at.held = false
		}
	case *loomv1.Event_AttemptEnded:
		if a.outstanding(e) {
			at.held, at.ended = false, f.AttemptEnded
			delete(a.executions[e.Execution].open, e.Node)
		}
	case *loomv1.Event_ChildStarted:
		if a.outstanding(e) && a.paused {
			a.say("a child begins for %s while all work is paused", e.Attempt)
		}
	}
}

// freed says whether a reason is that of a host that died, or stopped.
func freed(reason string) bool {
	return strings.HasSuffix(reason, " started again") || strings.HasSuffix(reason, " is gone") || reason == "host is stopping"
}

// outstanding checks that an event is about the attempt that its node waits for.
func (a *auditor) outstanding(e *loomv1.Event) bool {
	if x := a.executions[e.Execution]; x == nil || x.open[e.Node] != e.Attempt {
		a.say("event %d is about attempt %s, which is not outstanding: %T", e.Number, e.Attempt, e.Fact)
		return false
	}
	return true
}

func (a *auditor) dispatched(e *loomv1.Event, f *loomv1.AttemptDispatched) {
	x := a.executions[e.Execution]
	if x == nil {
		a.say("attempt %s belongs to no execution", e.Attempt)
		return
	}
	if a.attempts[e.Attempt] != nil || x.open[e.Node] != "" {
		a.say("attempt %s is dispatched beside %q, before %t", e.Attempt, x.open[e.Node], a.attempts[e.Attempt] != nil)
	}
	if most := a.limit(e.Execution, e.Node) + a.granted[visit(e.Execution, e.Node, f.Visit)]; f.Number > most {
		a.say("attempt %s is number %d in visit %d of %s, which has %d", e.Attempt, f.Number, f.Visit, e.Node, most)
	}
	if a.paused {
		a.say("attempt %s is dispatched while all work is paused", e.Attempt)
	}
	if on := a.blocked(e.Bead); on != "" {
		a.say("attempt %s is dispatched while %s is not closed", e.Attempt, on)
	}
	x.open[e.Node], x.begun[e.Node] = e.Attempt, true
	a.attempts[e.Attempt] = &auditAttempt{process: f.Process}
}

// addOrder reads an event for what it says of the CEO's commands.
func (a *auditor) addOrder(e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_OverrideGiven:
		a.order, a.acted = e, false
		a.overrides[f.OverrideGiven.Verb]++
		a.nonce(e, f.OverrideGiven.Signed)
	case *loomv1.Event_ApprovalDecided:
		a.nonce(e, f.ApprovalDecided.Signed)
	case *loomv1.Event_ExecutionMoved:
		a.ordered(e, "move", e.Execution)
	case *loomv1.Event_ExecutionEnded:
		if f.ExecutionEnded.Status == loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED && a.executions[e.Execution].parent == "" {
			a.ordered(e, "close", e.Execution)
		}
	case *loomv1.Event_WorkPaused:
		a.ordered(e, "pause", f.WorkPaused.Pause.Name)
		a.paused = a.paused || f.WorkPaused.Pause.Scope == loomv1.PauseScope_PAUSE_SCOPE_PROJECT
	case *loomv1.Event_WorkResumed:
		a.ordered(e, "resume", f.WorkResumed.Name)
		a.paused = a.paused && f.WorkResumed.Scope != loomv1.PauseScope_PAUSE_SCOPE_PROJECT
	}
}

// ordered checks that an event does what the newest override says, as none did
// before.
func (a *auditor) ordered(e *loomv1.Event, verb, about string) {
	if o := a.order.GetOverrideGiven(); o.GetVerb() != verb || o.GetAbout() != about || a.acted {
		a.say("event %d does %s of %q after the order %s of %q, carried out before %t", e.Number, verb, about, o.GetVerb(), o.GetAbout(), a.acted)
	}
	a.acted = true
}

func (a *auditor) nonce(e *loomv1.Event, s *loomv1.SignedCommand) {
	cmd := &loomv1.CeoCommand{}
	if err := proto.Unmarshal(s.GetPayload(), cmd); err != nil || cmd.Nonce == "" || a.nonces[cmd.Nonce] {
		a.say("event %d is the second of nonce %q, or has none: %v", e.Number, cmd.Nonce, err)
	}
	a.nonces[cmd.Nonce] = true
}

// commands checks that every order of the CEO which was acknowledged is there,
// and none that was never signed.
func (a *auditor) commands(acknowledged, signed map[string]int) {
	for _, verb := range []string{"close", "define", "move", "pause", "resume"} {
		if n := a.overrides[verb]; n < acknowledged[verb] || n > signed[verb] {
			a.say("%d orders to %s were given; %d were acknowledged, of %d", n, verb, acknowledged[verb], signed[verb])
		}
	}
}

// ledger holds what agents noted before they worked against the claims: each
// run has a claim of its own; so an attempt was run again only after a claim of
// it that a restart released. What was answered was run.
func (a *auditor) ledger(runs map[string][]uint64) {
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		at := a.attempts[id]
		if at == nil {
			a.say("attempt %s was run, and never dispatched", id)
			continue
		}
		left := slices.Clone(at.claims)
		for _, epoch := range runs[id] {
			i := slices.Index(left, epoch)
			if i < 0 {
				a.say("attempt %s was run at starts %v, and claimed at %v", id, runs[id], at.claims)
				break
			}
			left = slices.Delete(left, i, i+1)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.attempts)) {
		at := a.attempts[id]
		if at.process == "" && at.ended != nil && at.ended.Outcome.Code == "" && len(runs[id]) == 0 {
			a.say("attempt %s was answered, and never run", id)
		}
	}
}

// readLedger returns at which starts of the host each attempt was run.
func readLedger(t *testing.T, p *place) map[string][]uint64 {
	t.Helper()
	f, err := os.Open(filepath.Join(p.dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs := map[string][]uint64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var id string
		var epoch uint64
		if _, err := fmt.Sscanf(lines.Text(), "%s %d", &id, &epoch); err != nil {
			t.Fatalf("ledger: %q: %v", lines.Text(), err)
		}
		runs[id] = append(runs[id], epoch)
	}
	return runs
}
