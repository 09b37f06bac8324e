package project_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// configured registers the project with something else.
func (d *desk) configured(edit func(*loomv1.ProjectConfig)) {
	d.t.Helper()
	cfg := proto.CloneOf(d.s.Config())
	edit(cfg)
	d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{Config: cfg}}})
}

// daily is a desk whose project may spend so many tokens a day, with a bug that an
// agent has taken a minute before midnight.
func daily(t *testing.T, tokens int64) (*desk, *loomv1.Brief, *loomv1.Claimant) {
	d := newDesk(t)
	d.configured(func(c *loomv1.ProjectConfig) { c.DayBudget = &loomv1.Budget{Tokens: tokens} })
	d.wait(12*time.Hour - time.Minute)
	d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG})
	b, who := d.take(d.s.Queued()[0].Attempt, "h1")
	return d, b, who
}

// The budget of a day ends what is spent on it; at midnight in UTC the question lapses
// by itself, and the work goes on with all of the next day's.
func TestBYD05_TheBudgetOfADayBeginsAnewAtMidnight(t *testing.T) {
	d, b, who := daily(t, 1000)
	if v := d.reserve(b, who, "q1", 900); v != goes {
		t.Fatalf("the first call: %s", v)
	}
	d.answered(b, who, "q1", 900)
	d.restart()
	if v := d.reserve(b, who, "q2", 101); v != stops {
		t.Fatalf("a call for which the day has no room: %s", v)
	}
	a, midnight := d.inbox(), noon.Truncate(24*time.Hour).Add(24*time.Hour)
	if want := "budget/exhausted: of the whole project on " + noon.Format(time.DateOnly) + " (UTC) 900 tokens are used, of 1000, and the next call can use 101"; a.Reason != want {
		t.Errorf("asked %q, want %q", a.Reason, want)
	}
	if !a.DayEnds.AsTime().Equal(midnight) || !strings.Contains(strings.Join(a.NextSteps, "\n"), "no answer: it goes on at "+midnight.Format(time.RFC3339)) {
		t.Errorf("the day ends at %s; it is said %q", a.DayEnds.AsTime(), a.NextSteps)
	}
	d.restart()
	d.wait(midnight.Sub(d.now) - time.Second)
	if len(d.inboxes()) != 1 {
		t.Fatal("the question lapsed before the day was over")
	}
	d.releases(b, who)
	d.wait(time.Second)
	if len(d.inboxes()) != 0 {
		t.Fatal("the question is open on the next day")
	}
	d.wait(0)
	b, who = d.take(b.Attempt.Id, "h1")
	if v := d.reserve(b, who, "q2", 1000); v != goes {
		t.Errorf("a call that needs all of the next day's: %s", v)
	}
	d.restart()
}

// The CEO raises the day's budget for that day alone.
func TestBYD05_TheBudgetOfADayIsRaisedForThatDay(t *testing.T) {
	d, b, who := daily(t, 1000)
	d.reserve(b, who, "q1", 900)
	d.answered(b, who, "q1", 900)
	if v := d.reserve(b, who, "q2", 200); v != stops {
		t.Fatalf("a call for which the day has no room: %s", v)
	}
	d.releases(b, who)
	d.approve()
	d.restart()
	d.wait(0)
	b, who = d.take(b.Attempt.Id, "h1")
	if v := d.reserve(b, who, "q2", 1100); v != goes {
		t.Errorf("with twice the budget there is room for 1100: %s", v)
	}
	d.answered(b, who, "q2", 1100)
	d.wait(2 * time.Minute)
	if v := d.reserve(b, who, "q3", 1001); v != stops {
		t.Errorf("on the next day the limit is the old one: %s", v)
	}
}

// A clock that is set back does not begin a day again, and one that was years ahead
// for a moment leaves no day that lasts for years.
func TestBYD05_TheBudgetOfADayAndAClockThatWasWrong(t *testing.T) {
	d, b, who := daily(t, 1000)
	d.wait(2 * time.Minute) // the next day
	d.reserve(b, who, "q1", 900)
	d.answered(b, who, "q1", 900)
	d.s.Ahead(time.Hour) // and back on the day before, by the wall clock
	if v := d.reserve(b, who, "q2", 101); v != stops {
		t.Errorf("before midnight again: %s", v)
	}

	d, b, who = daily(t, 1000)
	d.s.Ahead(-10 * 365 * 24 * time.Hour)
	d.reserve(b, who, "q1", 900)
	d.answered(b, who, "q1", 900)
	d.s.Ahead(0)
	if v := d.reserve(b, who, "q2", 1000); v != goes {
		t.Errorf("ten years before that day: %s", v)
	}
}

// What a day has spent stands although a clock was years ahead in between, for a moment
// or for several days.
func TestBYD05_ADayIsNotForgottenForAClockThatWasWrong(t *testing.T) {
	d, b, who := daily(t, 1000)
	spends := func(request string, tokens int64, want loomv1.Verdict) {
		t.Helper()
		if v := d.reserve(b, who, request, tokens); v != want {
			t.Fatalf("%s, of %d: %s, want %s", request, tokens, v, want)
		}
		if want == goes {
			d.answered(b, who, request, uint64(tokens)) //nolint:gosec // small
		}
	}
	spends("q1", 900, goes)
	for i, years := range []time.Duration{10, 20, 10} {
		d.s.Ahead(-years * 365 * 24 * time.Hour)
		spends("ahead"+strings.Repeat("!", i), 400, goes)
	}
	d.s.Ahead(0)
	d.restart()
	spends("q2", 101, stops)
	if n := len(d.s.Snapshot().Days); n != 3 {
		t.Errorf("the spending of %d days is kept", n)
	}
}

// An answer about a day that is over leaves the day that has begun as it is.
func TestBYD05_AnAnswerAfterMidnightDoesNotRaiseTheNextDay(t *testing.T) {
	d, b, who := daily(t, 1000)
	d.reserve(b, who, "q1", 900)
	d.answered(b, who, "q1", 900)
	if v := d.reserve(b, who, "q2", 200); v != stops {
		t.Fatalf("a call for which the day has no room: %s", v)
	}
	d.releases(b, who)
	d.now = d.now.Add(2 * time.Minute) // and no tick yet
	d.approve()
	d.wait(0)
	b, who = d.take(b.Attempt.Id, "h1")
	if v := d.reserve(b, who, "q2", 1001); v != stops {
		t.Errorf("more than the new day has: %s", v)
	}
}

// Whoever runs the host and raises a limit answers the questions about it.
func TestBYD05_AQuestionAboutALimitThatWasRaisedLapses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lower  func(*loomv1.ProjectConfig, int64)
		lapses bool
	}{
		{"of a day", func(c *loomv1.ProjectConfig, n int64) { c.DayBudget = &loomv1.Budget{Tokens: n} }, true},
		{"of the project", func(c *loomv1.ProjectConfig, n int64) { c.Budget = &loomv1.Budget{Tokens: n} }, true},
		{"of each bead", func(c *loomv1.ProjectConfig, n int64) { c.BeadBudget = &loomv1.Budget{Tokens: n} }, true},
		{"of something else", func(c *loomv1.ProjectConfig, n int64) {
			c.BeadBudget = &loomv1.Budget{Tokens: 1000}
			c.DayBudget = &loomv1.Budget{Tokens: n}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.configured(func(c *loomv1.ProjectConfig) { tt.lower(c, 1000) })
			d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG})
			b, who := d.take(d.s.Queued()[0].Attempt, "h1")
			if v := d.reserve(b, who, "q1", 1001); v != stops {
				t.Fatalf("a call that does not fit: %s", v)
			}
			d.configured(func(c *loomv1.ProjectConfig) { tt.lower(c, 1000); c.Crashes = 5 })
			if len(d.inboxes()) != 1 {
				t.Fatal("the question lapsed when something else was changed")
			}
			d.configured(func(c *loomv1.ProjectConfig) { tt.lower(c, 1001) })
			if open := len(d.inboxes()); (open == 0) != tt.lapses {
				t.Fatalf("%d questions are open once there is room", open)
			}
			d.restart()
			if !tt.lapses {
				return
			}
			if v := d.reserve(b, who, "q1", 1001); v != goes {
				t.Errorf("once there is room: %s", v)
			}
		})
	}
}

// A bead that has no budget has the project's for each; one that has its own has that,
// and who works for another spends from that one's. The CEO lifts it as any other.
func TestBYD05_ABeadWithoutABudgetHasTheProjectsForEach(t *testing.T) {
	d := newDesk(t)
	d.configured(func(c *loomv1.ProjectConfig) { c.BeadBudget = &loomv1.Budget{Tokens: 1000, MicroUsd: 500} })
	for _, tt := range []struct {
		own    *loomv1.Budget
		tokens int64
		want   loomv1.Verdict
	}{
		{nil, 1000, goes},
		{nil, 1001, stops},
		{&loomv1.Budget{WallSeconds: 3600}, 1001, stops},
		{&loomv1.Budget{Tokens: 5000}, 5000, goes},
		{&loomv1.Budget{Tokens: 500}, 501, stops},
		{&loomv1.Budget{MicroUsd: 9}, 1 << 40, goes},
	} {
		d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Budget: tt.own})
		q := d.s.Queued()
		b, who := d.take(q[len(q)-1].Attempt, "h1")
		if v := d.reserve(b, who, "q", tt.tokens); v != tt.want {
			t.Errorf("a call of %d tokens for a bead with %v: %s, want %s", tt.tokens, tt.own, v, tt.want)
		}
		d.releases(b, who)
	}
}

func TestBYD05_BudgetsThatAreNone(t *testing.T) {
	d := newDesk(t)
	for _, edit := range []func(*loomv1.ProjectConfig){
		func(c *loomv1.ProjectConfig) { c.DayBudget = &loomv1.Budget{Tokens: -1} },
		func(c *loomv1.ProjectConfig) { c.BeadBudget = &loomv1.Budget{MicroUsd: -1} },
		func(c *loomv1.ProjectConfig) { c.DayBudget = &loomv1.Budget{WallSeconds: 5} },
	} {
		cfg := proto.CloneOf(d.s.Config())
		edit(cfg)
		_, err := d.do(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{Config: cfg}}})
		if fault.Code(err) != "project/invalid" {
			t.Errorf("%v: %v", cfg, err)
		}
	}
}
