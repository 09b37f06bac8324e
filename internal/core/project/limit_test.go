package project_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	approves = loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	rejects  = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
)

// spend has the agent of an attempt pay for a model call.
func (d *desk) spend(b *loomv1.Brief, who *loomv1.Claimant, u *loomv1.Usage) {
	d.t.Helper()
	d.nonce++
	answer := &loomv1.ModelAnswer{Model: "m", Request: fmt.Sprint("q", d.nonce), Usage: u, Problem: "say it again"}
	d.ok(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: b.Attempt.Id, Claimant: who, Facts: []*loomv1.Event{
		turn.AnsweredFact(answer),
	}}}})
}

// begin has an agent begin its turn.
func (d *desk) begin(b *loomv1.Brief, who *loomv1.Claimant) {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: b.Attempt.Id, Claimant: who, Facts: []*loomv1.Event{
		turn.StartedFact(&loomv1.TurnStarted{Model: "m"}),
	}}}})
}

// limits counts the escalations about limits so far.
func (d *desk) limits() (n int) {
	for _, e := range d.events {
		if a := e.GetApprovalRequested().GetApproval(); a != nil && a.Node == "" {
			n++
		}
	}
	return n
}

func TestWF07_ABudgetThatIsUsedUpIsEscalatedOnce(t *testing.T) {
	tokens := func(n uint64) *loomv1.Usage {
		return &loomv1.Usage{InputTokens: n - 10, OutputTokens: 10, CostKnown: true}
	}
	money := func(n uint64) *loomv1.Usage { return &loomv1.Usage{CostMicroUsd: n, CostKnown: true} }
	for _, tt := range []struct {
		name         string
		budget       *loomv1.Budget
		within, over *loomv1.Usage
		granted      *loomv1.Budget
		asked        int
	}{
		{"tokens", &loomv1.Budget{Tokens: 1000}, tokens(1000), tokens(10), &loomv1.Budget{Tokens: 2000}, 1},
		{"tokens of unknown price", &loomv1.Budget{Tokens: 1000, MicroUsd: 1}, &loomv1.Usage{InputTokens: 1000}, tokens(10), &loomv1.Budget{Tokens: 2000, MicroUsd: 1}, 1},
		{"money", &loomv1.Budget{MicroUsd: 500}, money(500), money(1), &loomv1.Budget{MicroUsd: 1000}, 1},
		{"far beyond it", &loomv1.Budget{MicroUsd: 500}, money(500), money(2000), &loomv1.Budget{MicroUsd: 5000}, 2},
		{"beyond what was shown first", &loomv1.Budget{MicroUsd: 500}, money(500), money(400), &loomv1.Budget{MicroUsd: 1500}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			f := d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Budget: tt.budget})
			b, who := d.claim("qa-engineer")
			d.begin(b, who)
			d.spend(b, who, tt.within)
			if d.limits() != 0 {
				t.Fatal("asked at the limit, before it is passed")
			}
			d.spend(b, who, tt.over)
			d.spend(b, who, tt.over) // was under way
			a := d.inbox()
			if d.limits() != tt.asked || a.Node != "" || a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION || !strings.HasPrefix(a.Reason, "budget/exhausted: ") {
				t.Fatalf("asked %d times: %v", d.limits(), a)
			}
			if got := d.status(f.Bead); got != "waiting" {
				t.Errorf("bead %s, want it to wait", got)
			}
			d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "held"}}})
			if q := d.s.Queued(); len(q) != 0 {
				t.Errorf("queued at the limit: %v", q)
			}
			if err := d.present(ceo, d.sign(a, approves, nil)); err != nil {
				t.Fatal(err)
			}
			x := d.execution(f.Execution)
			if want := tt.granted; x.Granted.GetTokens() != want.Tokens || x.Granted.GetMicroUsd() != want.MicroUsd || !proto.Equal(x.Granted, a.Grants) {
				t.Errorf("granted %v, want %v as is shown: %v", x.Granted, want, a.Grants)
			}
			if got := d.status(f.Bead); got != "in_progress" {
				t.Errorf("bead %s after the limit was lifted", got)
			}
			d.wait(0)
			if d.limits() != tt.asked {
				t.Errorf("asked %d times about one limit", d.limits())
			}
			d.claim("qa-engineer")
		})
	}
}

func TestWF07_ALimitThatIsNotLiftedClosesTheWork(t *testing.T) {
	d := newDesk(t)
	f := d.file(&loomv1.Submission{Budget: &loomv1.Budget{Tokens: 1}})
	b, who := d.claim("qa-engineer")
	d.begin(b, who)
	d.spend(b, who, &loomv1.Usage{InputTokens: 5})
	if err := d.present(ceo, d.sign(d.inbox(), rejects, func(c *loomv1.CeoCommand) { c.GetDecide().Comment = "enough" })); err != nil {
		t.Fatal(err)
	}
	if got := d.status(f.Bead); got != "failed" {
		t.Errorf("bead %s, want failed", got)
	}
}

func TestWF07_WallTimeAndDeadlinesAreEscalatedOnceByTheClock(t *testing.T) {
	hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	for _, tt := range []struct {
		name string
		sub  *loomv1.Submission
		code string
		at   time.Time // when it is asked; work is paused from 13:00 to 15:00
	}{
		{"wall time, without the pause", &loomv1.Submission{Budget: &loomv1.Budget{WallSeconds: 4 * 3600}}, "budget/exhausted", hour(6)},
		{"deadline", &loomv1.Submission{Deadline: timestamppb.New(hour(5))}, "deadline/passed", hour(5)},
		{"deadline within the pause", &loomv1.Submission{Deadline: timestamppb.New(hour(2))}, "deadline/passed", hour(3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.store(line("long", "1.0", &loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"}))
			tt.sub.Process = "long"
			f := d.file(tt.sub)
			d.wait(time.Hour)
			d.give(pauses(allWork, "", "r"))
			d.wait(2 * time.Hour)
			d.give(resumes(allWork, "", "r"))
			d.wait(0)
			if d.now.Before(tt.at) {
				d.wait(tt.at.Sub(d.now) - time.Second)
				if d.limits() != 0 {
					t.Fatal("asked too early")
				}
				d.wait(time.Second)
			}
			if d.limits() != 1 {
				t.Fatalf("asked %d times at %s", d.limits(), d.now)
			}
			var a *loomv1.Approval
			for _, e := range d.events {
				if r := e.GetApprovalRequested().GetApproval(); r != nil && r.Node == "" {
					a = r
				}
			}
			if !strings.HasPrefix(a.Reason, tt.code+": ") {
				t.Errorf("asked about %q, want %s", a.Reason, tt.code)
			}
			d.wait(time.Hour)
			if err := d.present(ceo, d.sign(a, approves, nil)); err != nil {
				t.Fatal(err)
			}
			d.wait(time.Hour)
			if x := d.execution(f.Execution); d.limits() != 1 || x.HeldSince != nil || !proto.Equal(x.LiftedDeadline, tt.sub.Deadline) {
				t.Errorf("after it was lifted: asked %d times, %v", d.limits(), x)
			}
		})
	}
}

// What children spend is spent on their parent's account, too.
func TestWF07_ChildrenSpendFromTheirParentsBudget(t *testing.T) {
	d := newDesk(t)
	d.store(line("inner", "1.0", task("only", "qa-engineer")))
	d.store(line("outer", "1.0", &loomv1.NodeDefinition{Id: "part", Process: "inner"}))
	f := d.file(&loomv1.Submission{Process: "outer", Budget: &loomv1.Budget{Tokens: 100}})
	b, who := d.claim("qa-engineer")
	d.begin(b, who)
	d.spend(b, who, &loomv1.Usage{InputTokens: 101})
	if a := d.inbox(); a.Execution != f.Execution || a.Node != "" {
		t.Errorf("asked %v, want about the parent", a)
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "held"}}})
	if q := d.s.Queued(); len(q) != 0 {
		t.Errorf("the child goes on: %v", q)
	}
	d.approve()
	d.wait(0)
	d.work("qa-engineer", outcome(success, nil))
	if got := d.status(f.Bead); got != "closed" {
		t.Errorf("bead %s, want closed", got)
	}
}

// A call of a child is not made when its parent has no room for it.
func TestBYD05_ACallOfAChildNeedsRoomWithItsParents(t *testing.T) {
	for _, tt := range []struct {
		tokens int64
		want   loomv1.Verdict
	}{{100, goes}, {101, stops}} {
		d := newDesk(t)
		d.store(line("inner", "1.0", task("only", "qa-engineer")))
		d.store(line("middle", "1.0", &loomv1.NodeDefinition{Id: "part", Process: "inner"}))
		d.store(line("outer", "1.0", &loomv1.NodeDefinition{Id: "part", Process: "middle"}))
		f := d.file(&loomv1.Submission{Process: "outer", Budget: &loomv1.Budget{Tokens: 100}})
		b, who := d.claim("qa-engineer")
		d.begin(b, who)
		if got := d.reserve(b, who, "q1", tt.tokens); got != tt.want {
			t.Errorf("a call of %d tokens under a parent of 100: %s, want %s", tt.tokens, got, tt.want)
		}
		if asked := d.inboxes(); tt.want == stops && (len(asked) != 1 || asked[0].Execution != f.Execution) {
			t.Errorf("asked %v, want about the execution that has the budget", asked)
		}
	}
}

// late files work that is asked about at its deadline, a minute from now, and
// answers that it may go on.
func (d *desk) late() *loomv1.SubmitReply {
	d.t.Helper()
	f := d.file(&loomv1.Submission{Deadline: timestamppb.New(d.now.Add(time.Minute))})
	d.wait(time.Minute)
	if d.limits() != 1 {
		d.t.Fatalf("asked %d times about the first deadline", d.limits())
	}
	return f
}

func TestWF07_ADeadlineThatIsSetLaterCounts(t *testing.T) {
	in := func(d *desk, after time.Duration) *timestamppb.Timestamp { return timestamppb.New(d.now.Add(after)) }
	t.Run("after the one before was lifted", func(t *testing.T) {
		d := newDesk(t)
		f := d.late()
		d.approve()
		d.wait(time.Minute)
		if err := d.update(&loomv1.Bead{Id: f.Bead, Deadline: in(d, time.Minute)}, "deadline"); err != nil {
			t.Fatal(err)
		}
		d.wait(time.Minute - time.Second)
		if d.limits() != 1 {
			t.Fatalf("asked %d times before the new deadline", d.limits())
		}
		d.wait(time.Second)
		if a := d.inbox(); d.limits() != 2 || !strings.HasPrefix(a.Reason, "deadline/passed: ") {
			t.Fatalf("asked %d times, last about %q; want the new deadline asked about", d.limits(), a.Reason)
		}
		d.approve()
		d.wait(time.Minute)
		if d.limits() != 2 {
			t.Errorf("asked %d times about two deadlines", d.limits())
		}
	})
	t.Run("while the one before is asked about", func(t *testing.T) {
		d := newDesk(t)
		f := d.late()
		if err := d.update(&loomv1.Bead{Id: f.Bead, Deadline: in(d, time.Minute)}, "deadline"); err != nil {
			t.Fatal(err)
		}
		d.approve()
		if x := d.execution(f.Execution); x.LiftedDeadline != nil || x.HeldSince != nil {
			t.Errorf("lifted %v, held %v; want the later deadline to stand, and the work to go on", x.LiftedDeadline, x.HeldSince)
		}
		d.wait(time.Minute)
		if d.limits() != 2 {
			t.Errorf("asked %d times, want once for each deadline", d.limits())
		}
	})
	t.Run("but not what a release waived that did not say which", func(t *testing.T) {
		d := newDesk(t)
		f := d.late()
		d.approve()
		d.s = project.New(d.cfg)
		for _, e := range d.events {
			if l := e.GetLimitLifted(); l != nil {
				l.Deadline = nil
			}
			if err := d.s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.update(&loomv1.Bead{Id: f.Bead, Deadline: in(d, time.Minute)}, "deadline"); err != nil {
			t.Fatal(err)
		}
		d.wait(2 * time.Minute)
		if d.limits() != 1 {
			t.Errorf("asked %d times, want once", d.limits())
		}
	})
}

// Who answers about one limit is asked about the other one that was passed
// meanwhile, before anything goes on.
func TestWF07_TheNextLimitIsAskedAboutAtOnce(t *testing.T) {
	d := newDesk(t)
	f := d.file(&loomv1.Submission{Budget: &loomv1.Budget{Tokens: 100}, Deadline: timestamppb.New(d.now.Add(time.Minute))})
	b, who := d.claim("qa-engineer")
	d.begin(b, who)
	d.wait(time.Minute)
	d.spend(b, who, &loomv1.Usage{InputTokens: 101}) // it was under way
	if a := d.inbox(); d.limits() != 1 || !strings.HasPrefix(a.Reason, "deadline/passed: ") {
		t.Fatalf("asked %d times, about %q", d.limits(), a.Reason)
	}
	d.approve()
	if a := d.inbox(); d.limits() != 2 || !strings.HasPrefix(a.Reason, "budget/exhausted: ") || d.execution(f.Execution).HeldSince == nil {
		t.Fatalf("asked %d times, last about %q; want the budget asked about, and the work held", d.limits(), a.Reason)
	}
	d.approve()
	if got := d.status(f.Bead); got != "in_progress" || d.limits() != 2 {
		t.Errorf("bead %s, asked %d times; want it to go on", got, d.limits())
	}
}

func TestWF07_ABudgetThatIsLoweredIsAskedAboutAtOnce(t *testing.T) {
	d := newDesk(t)
	f := d.file(&loomv1.Submission{Budget: &loomv1.Budget{Tokens: 100}})
	b, who := d.claim("qa-engineer")
	d.begin(b, who)
	d.spend(b, who, &loomv1.Usage{InputTokens: 90})
	if err := d.update(&loomv1.Bead{Id: f.Bead, Budget: &loomv1.Budget{Tokens: 90}}, "budget"); err != nil || d.limits() != 0 {
		t.Fatalf("%v, asked %d times about a budget that is used and not passed", err, d.limits())
	}
	if err := d.update(&loomv1.Bead{Id: f.Bead, Budget: &loomv1.Budget{Tokens: 89}}, "budget"); err != nil || d.limits() != 1 {
		t.Fatalf("%v, asked %d times; want once", err, d.limits())
	}
	d.approve()
	if got := d.status(f.Bead); got != "in_progress" {
		t.Errorf("bead %s, want it to go on", got)
	}
}

func TestWF09_AMoveLeavesTheQuestionAboutALimit(t *testing.T) {
	d := newDesk(t)
	f := d.late()
	d.give(moves(f.Execution, "investigate", "no triage is needed"))
	d.wait(time.Minute)
	if q := d.s.Queued(); d.limits() != 1 || len(q) != 0 {
		t.Fatalf("asked %d times, queued %v; want the one question open and nothing begun", d.limits(), q)
	}
	d.approve()
	d.wait(0)
	if q := d.s.Queued(); d.limits() != 1 || len(q) != 1 || q[0].Role != "backend-engineer" {
		t.Errorf("asked %d times, queued %v; want the node that it was moved to", d.limits(), q)
	}
}
