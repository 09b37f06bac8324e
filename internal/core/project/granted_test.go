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

// What was granted of one thing stands when a limit of another is set or lowered.
func TestBYD05_WhatIsGrantedOfTokensStandsWhenAnotherLimitIsLowered(t *testing.T) {
	others := map[string]func(*loomv1.Budget){
		"money": func(b *loomv1.Budget) { b.MicroUsd = 1e9 },
		"time":  func(b *loomv1.Budget) { b.WallSeconds = 1e9 },
	}
	ofBead := func(d *desk, bead string, b *loomv1.Budget) {
		d.ok(updates(&loomv1.Bead{Id: bead, Budget: b}, "budget"))
	}
	of := func(set func(*loomv1.ProjectConfig, *loomv1.Budget)) func(*desk, string, *loomv1.Budget) {
		return func(d *desk, _ string, b *loomv1.Budget) {
			d.configured(func(c *loomv1.ProjectConfig) { set(c, b) })
		}
	}
	for _, tt := range []struct {
		name, other string
		give        func(*desk, string, *loomv1.Budget)
	}{
		{"of a bead", "time", ofBead},
		{"of a bead", "money", ofBead},
		{"of each bead", "money", of(func(c *loomv1.ProjectConfig, b *loomv1.Budget) { c.BeadBudget = b })},
		{"of a day", "money", of(func(c *loomv1.ProjectConfig, b *loomv1.Budget) { c.DayBudget = b })},
		{"of the project", "money", of(func(c *loomv1.ProjectConfig, b *loomv1.Budget) { c.Budget = b })},
	} {
		t.Run(tt.name+", "+tt.other, func(t *testing.T) {
			d := newDesk(t)
			f := d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG})
			tt.give(d, f.Bead, &loomv1.Budget{Tokens: 1000})
			b, who := d.claim("qa-engineer")
			if v := d.reserve(b, who, "q1", 1001); v != stops {
				t.Fatalf("a call that does not fit: %s", v)
			}
			d.releases(b, who)
			d.approve()
			d.wait(0)
			b, who = d.take(b.Attempt.Id, "h1")
			next := &loomv1.Budget{Tokens: 1000}
			others[tt.other](next)
			tt.give(d, f.Bead, next)
			d.restart()
			if v := d.reserve(b, who, "q1", 1500); v != goes {
				t.Errorf("what was granted of tokens is gone: %s", v)
			}
			d.answered(b, who, "q1", 1)
			next = proto.CloneOf(next)
			next.Tokens = 900
			tt.give(d, f.Bead, next)
			if v := d.reserve(b, who, "q2", 900); v != stops {
				t.Errorf("a call beyond the lowered limit: %s", v)
			}
		})
	}
}

// A bead's own budget that is less than what the project gives each is a lower one, and
// one that is more is none.
func TestBYD05_ABeadsOwnBudgetIsComparedWithTheProjects(t *testing.T) {
	for _, tt := range []struct{ own, fits int64 }{{1100, 2000}, {900, 900}} {
		d := newDesk(t)
		d.configured(func(c *loomv1.ProjectConfig) { c.BeadBudget = &loomv1.Budget{Tokens: 1000} })
		f := d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG})
		b, who := d.claim("qa-engineer")
		d.reserve(b, who, "q1", 1001)
		d.releases(b, who)
		d.approve() // 2000
		d.wait(0)
		b, who = d.take(b.Attempt.Id, "h1")
		d.ok(updates(&loomv1.Bead{Id: f.Bead, Budget: &loomv1.Budget{Tokens: tt.own}}, "budget"))
		if v := d.reserve(b, who, "q2", tt.fits); v != goes {
			t.Errorf("%d tokens of a bead that was given %d: %s", tt.fits, tt.own, v)
		}
		d.answered(b, who, "q2", 1)
		if v := d.reserve(b, who, "q3", tt.fits); v != stops {
			t.Errorf("%d more: %s", tt.fits, v)
		}
	}
}

// A question that is asked anew since a budget was changed says how that stands now, and
// stays open though there is room: what was asked about is signed for. One about a limit
// that whoever runs the host has raised lapses.
func TestSIGN01_AQuestionThatIsAskedAnewSaysWhatIsTrueNow(t *testing.T) {
	used := func(d *desk, b *loomv1.Brief, who *loomv1.Claimant) {
		d.spend(b, who, &loomv1.Usage{InputTokens: 120, CostMicroUsd: 7, CostKnown: true})
	}
	asked := func(d *desk, b *loomv1.Brief, who *loomv1.Claimant) {
		d.spend(b, who, &loomv1.Usage{InputTokens: 60, CostMicroUsd: 7, CostKnown: true})
		d.reserve(b, who, "next", 50)
	}
	for _, tt := range []struct {
		name  string
		until func(*desk, *loomv1.Brief, *loomv1.Claimant)
		next  *loomv1.Budget
		first string
		want  string
	}{
		{"raised", used, &loomv1.Budget{Tokens: 1000}, "120 tokens are used, of 100", "the budget was changed after it was used up: 120 tokens are used, of 1000"},
		{"raised too little", used, &loomv1.Budget{Tokens: 110}, "120 tokens are used, of 100", "120 tokens are used, of 110"},
		{"another one", used, &loomv1.Budget{MicroUsd: 9}, "120 tokens are used, of 100", "the budget was changed after it was used up: 0.000007 USD are spent, of 0.000009 USD"},
		{"two of them", used, &loomv1.Budget{Tokens: 130, WallSeconds: 3600}, "120 tokens are used, of 100", "the budget was changed after it was used up: 120 tokens are used, of 130; it took 0s of wall time, of 1h0m0s"},
		{"taken away", used, nil, "120 tokens are used, of 100", "the budget was taken away after it was used up"},
		{"raised for a call", asked, &loomv1.Budget{Tokens: 1000}, "60 tokens are used, of 100, and the next call can use 50", "the budget was changed after it was used up: 60 tokens are used, of 1000, and with the call that waits 110"},
		{"lowered for a call", asked, &loomv1.Budget{Tokens: 70}, "60 tokens are used, of 100, and the next call can use 50", "60 tokens are used, of 70, and with the call that waits 110"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			f := d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Budget: &loomv1.Budget{Tokens: 100}})
			b, who := d.claim("qa-engineer")
			d.begin(b, who)
			tt.until(d, b, who)
			was := d.inbox()
			if want := "budget/exhausted: " + tt.first; was.Reason != want {
				t.Fatalf("asked for %q, want %q", was.Reason, want)
			}
			d.ok(updates(&loomv1.Bead{Id: f.Bead, Budget: tt.next}, "budget"))
			d.configured(func(c *loomv1.ProjectConfig) { c.Crashes = 7 }) // which raises nothing
			now := d.inbox()
			if want := "budget/exhausted: " + tt.want; now.Id == was.Id || now.Reason != want {
				t.Errorf("asked anew for %q, want %q", now.Reason, want)
			}
			d.approve()
			if x := d.execution(f.Execution); !proto.Equal(x.Granted, now.Grants) {
				t.Errorf("granted %v, and %v was shown", x.Granted, now.Grants)
			}
		})
	}
	t.Run("by the host", func(t *testing.T) {
		d := newDesk(t)
		d.configured(func(c *loomv1.ProjectConfig) { c.BeadBudget = &loomv1.Budget{Tokens: 100} })
		f := d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG})
		b, who := d.claim("qa-engineer")
		d.begin(b, who)
		used(d, b, who)
		d.configured(func(c *loomv1.ProjectConfig) { c.BeadBudget = &loomv1.Budget{Tokens: 1000} })
		if open := d.inboxes(); len(open) != 0 || d.status(f.Bead) != "in_progress" {
			t.Errorf("asked %v, the bead is %s, once there is room", open, d.status(f.Bead))
		}
	})
}
