package project_test

import (
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	pattern "github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// landing brings a session to where somebody lands what it has left, under the lock.
func landing(t *testing.T) (*desk, *loomv1.PatternSession, waits) {
	t.Helper()
	d := newDesk(t)
	s := d.sealed()
	d.work("analyst", leaves("claims.md"))
	d.speak(s.Id, proceeds(0))
	return d, s, d.toLanding(s)
}

// toLanding does what is left of a session of notes after its first step, to where it lands.
func (d *desk) toLanding(s *loomv1.PatternSession) waits {
	d.t.Helper()
	d.toGathered()
	d.work("engineering-manager", candidate("p1", 1))
	checked := verified("c-p1", true)
	checked.Checks[0].Command = verify.Command
	d.work("qa-engineer", checked)
	b, who := d.claim("engineering-manager")
	if s = d.sessionNow(s.Id); s.Phase != pattern.Delivery || b.Node.Kind != loomv1.NodeKind_NODE_KIND_LAND {
		d.t.Fatalf("in %v, at %v", s.Phase, b.Node)
	}
	return waits{bead: s.Bead, attempt: b.Attempt.Id, who: who, digest: "p1"}
}

func delivered(s *loomv1.PatternSession) (n int) {
	for _, f := range s.Facts {
		n += len(f.GetDelivered().GetOutputs())
	}
	return n
}

func chooses(c loomv1.CompletionChoice, step uint32) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Choose{Choose: &loomv1.ChooseCompletion{Choice: c, Step: step}}}
}

// Work that is closed while it lands has delivered if it has landed: at the end of that
// step, or after its end, as long as nobody has chosen what becomes of the outputs.
func TestPAT01_ADeliveryThatLandsLateIsOne(t *testing.T) {
	longtest.Skip(t)
	const gap, step = loomv1.CompletionChoice_COMPLETION_CHOICE_GAP, loomv1.CompletionChoice_COMPLETION_CHOICE_STEP
	for _, tt := range []struct {
		name   string
		close  func(string, string) func(*loomv1.CeoCommand)
		choose *loomv1.IntentCommand // before it is known
		landed bool
		want   int // outputs
		ended  bool
	}{
		{"its step comes to its end", closesAfterStep, nil, true, 2, true},
		{"after its end", closes, nil, true, 2, true},
		{"it has not landed", closes, nil, false, 0, false},
		{"after it was accepted as it is", closes, chooses(gap, 0), true, 0, true},
		{"after a step was chosen", closes, chooses(step, 2), true, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, s, w := landing(t)
			d.give(tt.close(s.Bead+"-x1", "not wanted any more"))
			if d.execution(s.Bead+"-x1").Status == loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING {
				d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: w.attempt, Claimant: w.who, Outcome: landed("c-p1")}}})
			} else {
				if got := d.sessionNow(s.Id); got.Phase != pattern.Completion || len(got.Unmet) != 2 {
					t.Fatalf("after its work was closed: %v", got)
				}
				d.dies()
				if tt.choose != nil {
					d.speak(s.Id, tt.choose)
				}
				c := &loomv1.SettleLanding{Execution: s.Bead + "-x1", Commit: "c-p1", Holder: w.who, Landing: found("c-p1")}
				if !tt.landed {
					next := d.toLand(2, "b.go") // who holds the lock next has looked for it
					c.Landing, c.Holder, c.Token = nil, next.who, next.token
				}
				if err := d.settle(c); err != nil {
					t.Fatal(err)
				}
			}
			d.dies()
			got := d.sessionNow(s.Id)
			if n := delivered(got); n != tt.want || got.Ended != tt.ended {
				t.Errorf("delivered %d outputs, want %d; in %v, ended %t, unmet %v", n, tt.want, got.Phase, got.Ended, got.Unmet)
			}
			if tt.want > 0 && (len(got.Gaps) > 0 || len(got.Unmet) > 0) {
				t.Errorf("gaps %v, unmet %v", got.Gaps, got.Unmet)
			}
			if v := got.Running.GetStep(); tt.choose.GetChoose().GetStep() != v {
				t.Errorf("step %d runs", v)
			}
		})
	}
}

// Whoever works on a step, or judges, is told of all that other steps have left, whether it
// is an output of the pattern or not.
func TestPAT03_AStepIsToldOfFilesThatAreNoOutputs(t *testing.T) {
	d := newDesk(t)
	p := notes(t)
	p.Outputs = p.Outputs[1:] // claims.md is for step 2 alone
	s := d.sealedWith(p)
	d.work("analyst", leaves("claims.md"))
	d.speak(s.Id, proceeds(0))
	if b := d.work("analyst", leaves("findings.md")); len(b.Step.Earlier) != 1 || b.Step.Earlier[0].Name != "sessions/s1/claims.md" {
		t.Errorf("step 2 is told of %v", b.Step.Earlier)
	}
	b, _ := d.claim("qa-engineer")
	if e := b.Step.Earlier; len(e) != 2 || e[0].Name != "sessions/s1/findings.md" || e[1].Name != "sessions/s1/claims.md" {
		t.Errorf("the judge is told of %v", e)
	}
}
