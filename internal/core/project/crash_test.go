package project_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// crash has the agent of the one queued attempt of a role fail, on a host of its own.
func (d *desk) crash(role, host, text string) *loomv1.Brief {
	d.t.Helper()
	b := d.claimOn(role, host)
	d.ok(&loomv1.Command{
		Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: role + "/1@" + host},
		Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{
			Attempt: b.Attempt.Id, Claimant: &loomv1.Claimant{Agent: role + "/1", Host: host, Epoch: 1}, Reason: "agent failed",
			Crash: &loomv1.AgentCrash{Message: text, Stack: "cart.Total\n\tcart.go:12"},
		}},
	})
	return b
}

// claimOn has an agent of a host take what is queued for a role: in the bead that
// has the work, not in those that were filed because of it.
func (d *desk) claimOn(role, host string) *loomv1.Brief {
	d.t.Helper()
	for _, w := range d.s.Queued() {
		if w.Role == role && strings.HasPrefix(w.Attempt, "shop-1-") {
			return d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
				Attempt: w.Attempt, Generation: w.Generation, Claimant: &loomv1.Claimant{Agent: role + "/1", Host: host, Epoch: 1},
			}}}).GetBrief()
		}
	}
	d.t.Fatalf("nothing is queued for %s: %v", role, d.s.Queued())
	return nil
}

// ownBugs returns the beads that crashes were filed as.
func (d *desk) ownBugs() (bugs []*loomv1.Bead) {
	for _, e := range d.events {
		if b := e.GetBeadFiled().GetBead(); b.GetReport().GetKind() == workflow.Crashed {
			bugs = append(bugs, b)
		}
	}
	return bugs
}

// attemptCodes returns how the attempts of the first bead ended.
func (d *desk) attemptCodes() (codes []string) {
	for _, e := range d.events {
		if out := e.GetAttemptEnded().GetOutcome(); out != nil && e.Bead == "shop-1" {
			codes = append(codes, out.Code)
		}
	}
	return codes
}

func TestACT01_CrashesEndAnAttemptAndFileOneBug(t *testing.T) {
	d := newDesk(t)
	d.report()
	for i := range 9 { // on three hosts in turn: the journal counts, and no agent
		d.crash("qa-engineer", fmt.Sprintf("h%d", i%3), fmt.Sprintf("index %d is out of range", i))
		d.now = d.now.Add(time.Minute)
		d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
		if n := (i + 1) / 3; len(d.attemptCodes()) != n || len(d.ownBugs()) != min(1, n) {
			t.Fatalf("after %d crashes attempts ended as %q, and %d bugs were filed", i+1, d.attemptCodes(), len(d.ownBugs()))
		}
	}
	why := d.inbox().Reason
	if !strings.Contains(why, "attempt/exhausted: 3 attempts") || !strings.Contains(why, "agent/crashed") || !strings.Contains(why, "index 8 is out of range") {
		t.Errorf("the CEO is asked because %q", why)
	}
	b := d.ownBugs()[0]
	if b.Report.Service != "loom" || !strings.Contains(b.Description, "an agent of role qa-engineer crashed: index 2 is out of range") || b.Report.Stack == "" {
		t.Errorf("filed %v", b)
	}
	if n := d.bead(b.Id).Occurrences; n != 3 {
		t.Errorf("the bug occurred %d times, want once for each attempt", n)
	}
}

func TestACT01_OneCrashCostsNoAttempt(t *testing.T) {
	d := newDesk(t)
	d.report()
	first := d.crash("qa-engineer", "h1", "it broke down")
	second := d.claimOn("qa-engineer", "h2")
	if second.Attempt.Id != first.Attempt.Id || second.Attempt.Number != 1 || second.Attempt.Crashes != 1 || len(d.ownBugs()) != 0 {
		t.Errorf("after one crash the attempt is %v, and %d bugs were filed", second.Attempt, len(d.ownBugs()))
	}
}

func TestACT01_HowManyCrashesIsTheProjects(t *testing.T) {
	d := newDesk(t)
	if err := d.register(func(c *loomv1.ProjectConfig) { c.Crashes = 1 }); err != nil {
		t.Fatal(err)
	}
	d.report()
	d.crash("qa-engineer", "h1", "it broke down")
	if got := d.attemptCodes(); len(got) != 1 || got[0] != workflow.Crashed {
		t.Errorf("after the only crash attempts ended as %q", got)
	}
}

// TestBYD10_CrashesAreGoverned wants the attempt to end where no bug may be filed.
func TestBYD10_CrashesAreGoverned(t *testing.T) {
	d := newDesk(t)
	if err := d.register(func(c *loomv1.ProjectConfig) {
		c.Crashes, c.Governor = 1, &loomv1.Governor{SelfFiled: 1}
	}); err != nil {
		t.Fatal(err)
	}
	d.report()
	for _, text := range []string{"it broke down", "something else broke down"} {
		d.crash("qa-engineer", "h1", text)
		d.now = d.now.Add(time.Minute)
		d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
	}
	if got := d.attemptCodes(); len(got) != 2 || len(d.ownBugs()) != 1 {
		t.Errorf("attempts ended as %q and %d bugs were filed, want two and one", got, len(d.ownBugs()))
	}
}

// TestACT04_LostHostsCountUntilAStepIsMade loses hosts at one attempt: nine before it
// makes a step, and ten after.
func TestACT04_LostHostsCountUntilAStepIsMade(t *testing.T) {
	d := newDesk(t)
	d.report()
	gone := &loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: "h1", Epoch: math.MaxUint64}}}
	lose := func(n int) {
		for range n {
			d.claimOn("qa-engineer", "h1")
			d.ok(gone)
		}
	}
	lose(9)
	b := d.claimOn("qa-engineer", "h1")
	who := &loomv1.Claimant{Agent: "qa-engineer/1", Host: "h1", Epoch: 1}
	d.ok(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: b.Attempt.Id, Claimant: who, Facts: []*loomv1.Event{
		turn.StartedFact(&loomv1.TurnStarted{Model: "m", Prompt: &loomv1.BlobRef{Sha256: "p"}}),
		turn.AnsweredFact(&loomv1.ModelAnswer{Model: "m", Request: "r", Text: &loomv1.BlobRef{Sha256: "t"}, Usage: &loomv1.Usage{}}),
	}}}})
	d.ok(gone)
	lose(8)
	if got := d.attemptCodes(); len(got) != 0 || len(d.ownBugs()) != 0 {
		t.Fatalf("after nine lost hosts, a step, and nine more, attempts ended as %q", got)
	}
	lose(1)
	if got := d.attemptCodes(); len(got) != 1 || got[0] != workflow.Crashed || len(d.ownBugs()) != 1 {
		t.Errorf("after ten lost hosts since a step attempts ended as %q, and %d bugs were filed", got, len(d.ownBugs()))
	}
}
