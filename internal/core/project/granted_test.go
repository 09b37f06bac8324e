package project_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What is granted beyond a limit is what was shown: a question is asked anew, and the
// old one can be answered no more, when another budget belongs to it by now.
func TestSIGN01_WhatIsGrantedBeyondALimitIsWhatWasShown(t *testing.T) {
	ofBead := func(money int64) func(*desk, string) {
		return func(d *desk, bead string) {
			d.ok(updates(&loomv1.Bead{Id: bead, Budget: &loomv1.Budget{MicroUsd: money}}, "budget"))
		}
	}
	ofEach := func(money int64) func(*desk, string) {
		return func(d *desk, _ string) {
			d.configured(func(c *loomv1.ProjectConfig) { c.BeadBudget.MicroUsd = money })
		}
	}
	ofDay := func(money int64) func(*desk, string) {
		return func(d *desk, _ string) {
			d.configured(func(c *loomv1.ProjectConfig) { c.BeadBudget, c.DayBudget = nil, &loomv1.Budget{MicroUsd: money} })
		}
	}
	for _, tt := range []struct {
		name   string
		first  func(*desk, string)
		change func(*desk, string)
		want   *loomv1.Budget
	}{
		{"nothing changes", nil, nil, &loomv1.Budget{Tokens: 20_000, MicroUsd: 600}},
		{"an operator gives the bead far more", nil, ofBead(500_000), &loomv1.Budget{MicroUsd: 500_000}},
		{"and less", nil, ofBead(200), &loomv1.Budget{MicroUsd: 400}},
		{"the host starts with less for each", nil, ofEach(250), &loomv1.Budget{Tokens: 20_000, MicroUsd: 500}},
		{"the same again", nil, ofEach(300), &loomv1.Budget{Tokens: 20_000, MicroUsd: 600}},
		{"of a day, with less", ofDay(250), ofDay(200), &loomv1.Budget{MicroUsd: 400}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.configured(func(c *loomv1.ProjectConfig) { c.BeadBudget = &loomv1.Budget{Tokens: 20_000, MicroUsd: 300} })
			f := d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG})
			if tt.first != nil {
				tt.first(d, f.Bead)
			}
			b, who := d.claim("qa-engineer")
			if v := d.ok(reserves(b, who, "q1", 100, 301)).GetCall().GetVerdict(); v != stops {
				t.Fatalf("a call that does not fit: %s", v)
			}
			was := d.inbox()
			if tt.change != nil {
				tt.change(d, f.Bead)
			}
			d.restart()
			now := d.inbox()
			if anew := now.Id != was.Id; anew != !proto.Equal(was.Grants, tt.want) {
				t.Fatalf("asked anew: %t, of %v after %v", anew, now.Grants, was.Grants)
			}
			if now.Id != was.Id {
				if err := d.present(ceo, d.sign(was, approves, nil)); fault.Code(err) != "approval/lapsed" {
					t.Errorf("the old question is answered: %v", err)
				}
			}
			if !proto.Equal(now.Grants, tt.want) {
				t.Errorf("it shows %v, want %v", now.Grants, tt.want)
			}
			if err := d.present(ceo, d.sign(now, approves, nil)); err != nil {
				t.Fatal(err)
			}
			var lifted *loomv1.LimitLifted
			for _, e := range d.events {
				if l := e.GetLimitLifted(); l != nil {
					lifted = l
				}
			}
			if got := append([]*loomv1.Budget{lifted.Granted, lifted.Day}, lifted.Project); !proto.Equal(got[0], tt.want) && !proto.Equal(got[1], tt.want) {
				t.Errorf("granted %v, want %v", lifted, tt.want)
			}
			if !strings.Contains(strings.Join(now.NextSteps, "; "), "up to ") {
				t.Errorf("it says %q", now.NextSteps)
			}
		})
	}
}

// Whoever runs the host and lowers a limit takes back what was granted beyond it: what
// the start says holds.
func TestBYD05_ALimitThatIsLoweredHolds(t *testing.T) {
	for name, lower := range map[string]func(*loomv1.ProjectConfig, int64){
		"of a day":       func(c *loomv1.ProjectConfig, n int64) { c.DayBudget = &loomv1.Budget{Tokens: n} },
		"of the project": func(c *loomv1.ProjectConfig, n int64) { c.Budget = &loomv1.Budget{Tokens: n} },
		"of each bead":   func(c *loomv1.ProjectConfig, n int64) { c.BeadBudget = &loomv1.Budget{Tokens: n} },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.configured(func(c *loomv1.ProjectConfig) { lower(c, 1000) })
			d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG})
			b, who := d.take(d.s.Queued()[0].Attempt, "h1")
			if v := d.reserve(b, who, "q1", 1001); v != stops {
				t.Fatalf("a call that does not fit: %s", v)
			}
			d.releases(b, who)
			d.approve()
			d.wait(0)
			b, who = d.take(b.Attempt.Id, "h1")
			if v := d.reserve(b, who, "q1", 1500); v != goes {
				t.Fatalf("a call that was approved: %s", v)
			}
			d.answered(b, who, "q1", 1500)
			d.configured(func(c *loomv1.ProjectConfig) { lower(c, 1000); c.Crashes = 7 })
			if v := d.reserve(b, who, "q2", 400); v != goes {
				t.Fatalf("what was granted is gone though nothing was lowered: %s", v)
			}
			d.configured(func(c *loomv1.ProjectConfig) { lower(c, 900) })
			d.restart()
			if v := d.reserve(b, who, "q3", 1); v != stops {
				t.Errorf("a call beyond the lowered limit: %s", v)
			}
		})
	}
}
