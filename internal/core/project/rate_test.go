package project_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// parksUntil parks an attempt until the rate limit of its model ends.
func parksUntil(b *loomv1.Brief, who *loomv1.Claimant, until time.Time) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{
		Attempt: b.Attempt.Id, Claimant: who, WaitsFor: "rate", Until: timestamppb.New(until),
	}}}
}

// F14: who waits for a rate limit holds no agent and loses no attempt and no
// time, and goes on where it was.
func TestAGENT02_ARateLimitParksTheWork(t *testing.T) {
	d := newDesk(t)
	d.report()
	b, who := d.claim("qa-engineer")
	d.begin(b, who)
	d.wait(time.Minute)
	d.ok(parksUntil(b, who, d.now.Add(2*time.Minute)))
	if _, err := d.do(parksUntil(b, who, d.now.Add(time.Hour))); fault.Code(err) != "attempt/claimed" {
		t.Errorf("parked again by who no longer holds it: %v, want attempt/claimed", err)
	}
	d.restart()
	d.wait(2*time.Minute - time.Second)
	if q := d.s.Queued(); len(q) != 0 {
		t.Fatalf("queued before the limit has passed: %v", q)
	}
	d.restart()
	d.wait(time.Second)
	again, _ := d.claim("qa-engineer")
	if again.Attempt.Id != b.Attempt.Id || again.Attempt.Number != 1 || again.Turn.GetModel() == "" || again.Context != nil {
		t.Errorf("went on with %v, want the same attempt and its turn", again.Attempt)
	}
	if moved := again.Attempt.Deadline.AsTime().Sub(b.Attempt.Deadline.AsTime()); moved != 2*time.Minute {
		t.Errorf("the deadline moved by %s, want 2m", moved)
	}
	if left := b.TimeLeft.AsDuration() - again.TimeLeft.AsDuration(); left != time.Minute {
		t.Errorf("%s of its time is gone, want the minute in which it worked", left)
	}
}

// F14: ten minutes in all are enough, however they come together.
func TestAGENT02_ARateLimitThatLastsIsEscalated(t *testing.T) {
	for _, tt := range []struct {
		name  string
		waits []time.Duration // each begins when the last has passed
		asks  time.Duration   // after the first began
	}{
		{"a long one", []time.Duration{24 * time.Hour}, 10 * time.Minute},
		{"just short of it", []time.Duration{10*time.Minute - 1}, 0},
		{"of that very length", []time.Duration{10 * time.Minute}, 10 * time.Minute},
		{"many", []time.Duration{4 * time.Minute, 4 * time.Minute, 4 * time.Minute}, 10 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.report()
			began := d.now
			for _, w := range tt.waits {
				b, who := d.claim("qa-engineer")
				d.ok(parksUntil(b, who, d.now.Add(w)))
				d.wait(min(w, 10*time.Minute-d.now.Sub(began)))
				d.restart()
			}
			if tt.asks == 0 {
				d.claim("qa-engineer")
				return
			}
			a := d.inbox()
			if !strings.HasPrefix(a.Reason, "model/rate-limited: ") || d.now.Sub(began) != tt.asks {
				t.Errorf("asked %q after %s, want model/rate-limited after %s", a.Reason, d.now.Sub(began), tt.asks)
			}
			if err := d.present(ceo, d.sign(a, loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY, nil)); err != nil {
				t.Fatal(err)
			}
			d.wait(time.Minute)
			if b, _ := d.claim("qa-engineer"); b.Attempt.ParkedFor != nil {
				t.Errorf("the next attempt has waited %s already", b.Attempt.ParkedFor.AsDuration())
			}
		})
	}
}

// A pause is no part of the wait: the ten minutes do not run, and the deadline
// gets both back, once.
func TestAGENT02_APauseWhileLimited(t *testing.T) {
	d := newDesk(t)
	r := d.report()
	b, who := d.claim("qa-engineer")
	d.ok(parksUntil(b, who, d.now.Add(5*time.Minute)))
	d.wait(time.Minute)
	d.give(pauses(oneExecution, r.Execution, "lunch"))
	d.wait(time.Hour)
	d.restart()
	d.give(resumes(oneExecution, r.Execution, "back"))
	d.wait(0)
	again, _ := d.claim("qa-engineer")
	if moved := again.Attempt.Deadline.AsTime().Sub(b.Attempt.Deadline.AsTime()); moved != time.Hour+time.Minute {
		t.Errorf("the deadline moved by %s, want 1h1m", moved)
	}
	if waited := again.Attempt.ParkedFor.AsDuration(); waited != time.Minute {
		t.Errorf("it waited %s for the limit, want 1m", waited)
	}
}

func TestAGENT02_ParkedUntilNever(t *testing.T) {
	d := newDesk(t)
	d.report()
	b, who := d.claim("qa-engineer")
	c := parksUntil(b, who, noon)
	c.GetParkAttempt().Until = nil
	if _, err := d.do(c); fault.Code(err) != "command/malformed" {
		t.Errorf("a rate limit without an end: %v, want command/malformed", err)
	}
}
