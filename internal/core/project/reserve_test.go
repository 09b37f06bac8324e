package project_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	goes  = loomv1.Verdict_VERDICT_GO
	parks = loomv1.Verdict_VERDICT_WAIT
	stops = loomv1.Verdict_VERDICT_HELD
)

func reserves(b *loomv1.Brief, who *loomv1.Claimant, request string, tokens, money int64) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_ReserveCall{ReserveCall: &loomv1.ReserveCall{
		Attempt: b.Attempt.Id, Claimant: who, Reservation: &loomv1.CallReservation{Request: request, Tokens: tokens, MicroUsd: money},
	}}}
}

// reserve asks for room for a call.
func (d *desk) reserve(b *loomv1.Brief, who *loomv1.Claimant, request string, tokens int64) loomv1.Verdict {
	d.t.Helper()
	return d.ok(reserves(b, who, request, tokens, 0)).GetCall().GetVerdict()
}

// answered records the answer to a reserved call.
func (d *desk) answered(b *loomv1.Brief, who *loomv1.Claimant, request string, tokens uint64) {
	d.t.Helper()
	answer := &loomv1.ModelAnswer{Model: "m", Request: request, Usage: &loomv1.Usage{InputTokens: tokens, CostKnown: true}, Problem: "say it again"}
	d.ok(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: b.Attempt.Id, Claimant: who, Facts: []*loomv1.Event{
		turn.AnsweredFact(answer),
	}}}})
}

func (d *desk) settled(b *loomv1.Brief, who *loomv1.Claimant, request string, tokens uint64) {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_SettleCall{SettleCall: &loomv1.SettleCall{
		Attempt: b.Attempt.Id, Claimant: who, Request: request, Usage: &loomv1.Usage{InputTokens: tokens, CostKnown: true},
	}}})
}

func (d *desk) releases(b *loomv1.Brief, who *loomv1.Claimant) {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "lost"}}})
}

// take has an agent of a host take an attempt that is queued.
func (d *desk) take(attempt, host string) (*loomv1.Brief, *loomv1.Claimant) {
	d.t.Helper()
	for _, q := range d.s.Queued() {
		if q.Attempt != attempt {
			continue
		}
		who := &loomv1.Claimant{Agent: q.Role + "/1", Host: host, Epoch: 1}
		b := d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: attempt, Generation: q.Generation, Claimant: who}}}).GetBrief()
		if b.Turn.GetModel() == "" {
			d.begin(b, who)
		}
		return b, who
	}
	d.t.Fatalf("%s is not queued", attempt)
	return nil, nil
}

// budgeted sets what the whole project may spend.
func (d *desk) budgeted(b *loomv1.Budget) {
	d.t.Helper()
	cfg := proto.CloneOf(d.s.Config())
	cfg.Budget = b
	d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{Config: cfg}}})
}

// P14: what calls under way can use is held back; who finds no room waits for
// them, and the CEO is asked only when there will be none.
func TestBYD05_CallsUnderWayAreHeldBack(t *testing.T) {
	d := newDesk(t)
	d.budgeted(&loomv1.Budget{Tokens: 1000})
	d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG})
	first, one := d.take(d.s.Queued()[0].Attempt, "h1")
	d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG})
	second, two := d.take(d.s.Queued()[0].Attempt, "h2")
	if v := d.reserve(first, one, "q1", 600); v != goes {
		t.Fatalf("the first call: %s", v)
	}
	number := d.s.Number()
	if v := d.reserve(first, one, "q1", 600); v != goes || d.s.Number() != number {
		t.Errorf("the same again: %s, and %d events", v, d.s.Number()-number)
	}
	if v := d.reserve(second, two, "q1", 600); v != parks {
		t.Fatalf("a second call that does not fit beside the first: %s", v)
	}
	d.restart()
	if q := d.s.Queued(); len(q) != 0 {
		t.Fatalf("queued while there is no room: %v", q)
	}
	d.answered(first, one, "q1", 100)
	second, two = d.take(second.Attempt.Id, "h2")
	if v := d.reserve(second, two, "q1", 600); v != goes {
		t.Errorf("once the first is settled: %s", v)
	}
	if d.limits() != 0 {
		t.Error("the CEO was asked while there was room")
	}
	d.settled(second, two, "q1", 50)
	d.settled(second, two, "q1", 50)
	if v := d.reserve(second, two, "q2", 851); v != stops {
		t.Errorf("a call that will never fit: %s", v)
	}
	if a := d.inbox(); !strings.Contains(a.Reason, "budget/exhausted: of the whole project 150 tokens are used, of 1000, and the next call can use 851") {
		t.Errorf("asked %q", a.Reason)
	}
	if v := d.reserve(first, one, "q2", 851); v != parks || d.limits() != 1 {
		t.Errorf("another while the CEO is asked: %s, asked %d times", v, d.limits())
	}
	d.releases(second, two)
	if err := d.present(ceo, d.sign(d.inbox(), approves, nil)); err != nil {
		t.Fatal(err)
	}
	d.restart()
	d.wait(0)
	second, two = d.take(second.Attempt.Id, "h2")
	if v := d.reserve(second, two, "q2", 851); v != goes {
		t.Errorf("after the raise: %s", v)
	}
	first, one = d.take(first.Attempt.Id, "h1")
	if v := d.reserve(first, one, "q2", 851); v != goes {
		t.Errorf("who waited for the raise: %s", v)
	}
}

// A bead's budget that the next call does not fit into is asked about before
// the call, and raised by as much as it takes.
func TestBYD05_ACallThatDoesNotFitIsNotMade(t *testing.T) {
	for _, tt := range []struct {
		name          string
		budget        *loomv1.Budget
		tokens, money int64
		want          string
	}{
		{"tokens", &loomv1.Budget{Tokens: 1000}, 4000, 0, "0 tokens are used, of 1000, and the next call can use 4000"},
		{"money", &loomv1.Budget{MicroUsd: 1_000_000}, 4000, 2_500_000, "0.000000 USD are spent, of 1.000000 USD, and the next call can cost 2.500000 USD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Budget: tt.budget})
			b, who := d.take(d.s.Queued()[0].Attempt, "h1")
			ask := func() loomv1.Verdict { return d.ok(reserves(b, who, "q1", tt.tokens, tt.money)).GetCall().GetVerdict() }
			if v := ask(); v != stops {
				t.Fatalf("verdict %s", v)
			}
			if _, err := d.do(reserves(b, who, "q1", 1, 1)); fault.Code(err) != "attempt/paused" {
				t.Errorf("while the CEO is asked: %v", err)
			}
			d.releases(b, who)
			if a := d.inbox(); !strings.Contains(a.Reason, tt.want) {
				t.Errorf("asked %q, want %q", a.Reason, tt.want)
			}
			if err := d.present(ceo, d.sign(d.inbox(), approves, nil)); err != nil {
				t.Fatal(err)
			}
			d.wait(0)
			b, who = d.take(b.Attempt.Id, "h1")
			if v := ask(); v != goes || d.limits() != 1 {
				t.Errorf("after the raise: %s, and asked %d times", v, d.limits())
			}
		})
	}
}

// What a call has used whose agent was lost is not known: it counts as all that
// it can have used, also when the attempt has ended.
func TestBYD05_BYD06_ALostCallStaysSpent(t *testing.T) {
	d := newDesk(t)
	d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Budget: &loomv1.Budget{Tokens: 1000}})
	b, who := d.take(d.s.Queued()[0].Attempt, "h1")
	d.reserve(b, who, "q1", 400)
	d.releases(b, who)
	d.restart()
	b, who = d.take(b.Attempt.Id, "h2")
	if v := d.reserve(b, who, "q1", 400); v != goes {
		t.Fatalf("beside the one that was lost: %s", v)
	}
	d.answered(b, who, "q1", 400)
	if got := d.execution(b.Execution.Id); got.Usage.InputTokens != 800 {
		t.Errorf("used %v", got.Usage)
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: outcome(failed, nil)}}})
	if got := d.execution(b.Execution.Id); got.Usage.InputTokens != 800 {
		t.Errorf("in the end used %v", got.Usage)
	}
	d.wait(30 * time.Second)
	d.restart()
	b, who = d.take(d.s.Queued()[0].Attempt, "h2")
	if v := d.reserve(b, who, "q1", 200); v != goes {
		t.Errorf("what is left: %s", v)
	}
	d.settled(b, who, "q1", 0)
	if v := d.reserve(b, who, "q2", 201); v != stops {
		t.Errorf("more than is left: %s", v)
	}
	if a := d.inbox(); !strings.Contains(a.Reason, "800 tokens are used, of 1000, and the next call can use 201") {
		t.Errorf("asked %q", a.Reason)
	}
}

// An agent that lost its attempt in a call, and has it again, makes the same call
// once more: that is reserved for anew, and both are spent.
func TestBYD05_BYD06_TheSameAgentMakesALostCallAgain(t *testing.T) {
	d := newDesk(t)
	d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Budget: &loomv1.Budget{Tokens: 1000}})
	b, who := d.take(d.s.Queued()[0].Attempt, "h1")
	d.reserve(b, who, "q1", 400)
	d.releases(b, who)
	b, who = d.take(b.Attempt.Id, "h1")
	if v := d.reserve(b, who, "q1", 601); v != stops {
		t.Errorf("what is left is 600, and a call may use 601: %s", v)
	}
	if a := d.inbox(); !strings.Contains(a.Reason, "400 tokens are used, of 1000") {
		t.Errorf("asked %q", a.Reason)
	}
}

// Nothing is written where nothing bounds the work, and nonsense is refused.
func TestBYD05_ReservationsThatAreNone(t *testing.T) {
	d := newDesk(t)
	d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG})
	b, who := d.take(d.s.Queued()[0].Attempt, "h1")
	number := d.s.Number()
	if v := d.reserve(b, who, "q1", 1<<50); v != goes {
		t.Errorf("without a budget: %s", v)
	}
	d.settled(b, who, "q1", 1<<50)
	for _, tt := range []struct {
		cmd  *loomv1.Command
		code string
	}{
		{reserves(b, who, "", 1, 1), "command/malformed"},
		{reserves(b, who, strings.Repeat("q", 129), 1, 1), "command/malformed"},
		{reserves(b, who, "q", -1, 1), "command/malformed"},
		{reserves(b, who, "q", 1, 1<<60), "command/malformed"},
		{reserves(b, &loomv1.Claimant{Agent: who.Agent, Host: "h9"}, "q", 1, 1), "attempt/claimed"},
		{&loomv1.Command{Body: &loomv1.Command_SettleCall{SettleCall: &loomv1.SettleCall{Attempt: b.Attempt.Id, Claimant: who}}}, "command/malformed"},
		{&loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{Attempt: b.Attempt.Id, Claimant: who, WaitsFor: "budget"}}}, "command/malformed"},
	} {
		if _, err := d.do(tt.cmd); fault.Code(err) != tt.code {
			t.Errorf("%v: %v, want %s", tt.cmd, err, tt.code)
		}
	}
	if d.s.Number() != number {
		t.Errorf("%d events were written", d.s.Number()-number)
	}
}

// inboxes are the open questions.
func (d *desk) inboxes() []*loomv1.Approval {
	v, err := d.s.Look(project.Inbox, &loomv1.Query{})
	if err != nil {
		d.t.Fatal(err)
	}
	return v.Approvals
}

// granted is what the CEO has lifted the budget of an execution to, or of the
// project: of its day if there is one.
func (d *desk) granted(execution string) int64 {
	if execution == "" {
		p := d.s.Snapshot()
		for _, b := range p.Days {
			if p.Config.DayBudget != nil && b.Ends.AsTime().After(d.now) {
				return b.GetGranted().GetTokens()
			}
		}
		return p.Granted.GetTokens()
	}
	return d.execution(execution).Granted.GetTokens()
}

// call is a model call under way: what it holds back, and what it will have
// used, which is no more.
type call struct {
	b         *loomv1.Brief
	who       *loomv1.Claimant
	request   string
	held, use int64
}

// P14: whatever agents of two hosts ask for, however calls end and hosts are
// lost, what was used and what calls under way can use is never more than may
// be; and nobody waits for nothing.
func TestBYD05_NoBudgetIsOverspentByAnybody(t *testing.T) {
	longtest.Skip(t)
	rapid.Check(t, func(r *rapid.T) {
		d := newDesk(t)
		d.light = true
		most := rapid.Int64Range(100, 2000).Draw(r, "budget")
		of := rapid.SampledFrom([]string{"a bead", "each bead", "the project", "a day"}).Draw(r, "of")
		budget, ofProject, midnights, carried := &loomv1.Budget{Tokens: most}, of == "the project" || of == "a day", 0, int64(0)
		d.configured(func(c *loomv1.ProjectConfig) {
			switch of {
			case "each bead":
				c.BeadBudget = budget
			case "the project":
				c.Budget = budget
			case "a day":
				c.DayBudget = budget
				d.wait(12*time.Hour - time.Minute)
			}
		})
		for range 3 {
			sub := &loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG}
			if of == "a bead" {
				sub.Budget = budget
			}
			d.file(sub)
		}
		held := map[string]*call{} // by attempt
		used := map[string]int64{} // by execution; "" is the project
		asks := 0
		lose := func(c *call, kill bool) {
			if kill && c.held > 0 { // its call goes on where nobody hears of it
				used[""] += c.use
				used[c.b.Execution.Id] += c.use
			}
			d.releases(c.b, c.who)
			delete(held, c.b.Attempt.Id)
		}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch queued := d.s.Queued(); {
			case len(queued) > 0 && rapid.Bool().Draw(r, "take"):
				host := rapid.SampledFrom([]string{"h1", "h2"}).Draw(r, "host")
				b, who := d.take(rapid.SampledFrom(queued).Draw(r, "queued").Attempt, host)
				held[b.Attempt.Id] = &call{b: b, who: who}
			case len(held) > 0:
				c := held[rapid.SampledFrom(slices.Sorted(maps.Keys(held))).Draw(r, "attempt")]
				switch end := rapid.IntRange(0, 5).Draw(r, "end"); {
				case c.held == 0:
					asks++
					request, want := fmt.Sprint("q", asks), rapid.Int64Range(1, 900).Draw(r, "want")
					answer, err := d.do(reserves(c.b, c.who, request, want, 0))
					switch v := answer.GetCall().GetVerdict(); {
					case err != nil || v == stops:
						lose(c, false)
					case v == parks:
						delete(held, c.b.Attempt.Id)
					default:
						c.request, c.held, c.use = request, want, rapid.Int64Range(0, want).Draw(r, "use")
					}
				case end == 0:
					lose(c, true)
				default:
					used[""] += c.use
					used[c.b.Execution.Id] += c.use
					if end < 3 {
						d.settled(c.b, c.who, c.request, uint64(c.use))
					} else {
						d.answered(c.b, c.who, c.request, uint64(c.use))
					}
					c.held = 0
				}
			case len(d.inboxes()) > 0:
				if err := d.present(ceo, d.sign(d.inboxes()[0], approves, nil)); err != nil {
					r.Fatal(err)
				}
				d.wait(0)
			}
			if rapid.IntRange(0, 9).Draw(r, "restart") == 0 {
				d.restart()
			}
			if of == "a day" && midnights == 0 && rapid.IntRange(0, 9).Draw(r, "midnight") == 0 {
				d.wait(2 * time.Minute)
				midnights, used[""] = 1, 0
				for _, c := range held { // what is under way at midnight was let through the day before
					carried += c.held
				}
			}
			flight := map[string]int64{}
			for _, c := range held {
				flight[""] += c.held
				flight[c.b.Execution.Id] += c.held
			}
			for x, n := range used {
				limit := max(most, d.granted(x)) + carried
				if (x == "") == ofProject && n+flight[x] > limit {
					r.Fatalf("of %q %d tokens are used and %d held back, of %d", x, n, flight[x], limit)
				}
			}
			if len(held) == 0 && len(d.s.Queued()) == 0 && len(d.inboxes()) == 0 {
				r.Fatal("nobody works, nothing is queued, and nobody is asked")
			}
		}
	})
}

// A call for a summary of the turn is let through where the next answer has as much
// room beside it, and is else no reason to park or to ask anybody. What it has used
// counts once its compaction is recorded.
func TestBYD05_AGENT03_ASummaryLeavesRoomForTheNextAnswer(t *testing.T) {
	d := newDesk(t)
	d.file(&loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_BUG, Budget: &loomv1.Budget{Tokens: 1000}})
	b, who := d.take(d.s.Queued()[0].Attempt, "h1")
	d.reserve(b, who, "q1", 100)
	d.answered(b, who, "q1", 100)
	summary := func(request string, tokens int64) loomv1.Verdict {
		c := reserves(b, who, request, tokens, 0)
		c.GetReserveCall().Reservation.Optional = true
		return d.ok(c).GetCall().GetVerdict()
	}
	number := d.s.Number()
	if v := summary("s1", 451); v != parks || d.s.Number() != number || d.limits() != 0 {
		t.Errorf("without room for the next answer: %s, %d events, the CEO is asked %d times", v, d.s.Number()-number, d.limits())
	}
	if v := summary("s1", 450); v != goes {
		t.Fatalf("with room for the next answer: %s", v)
	}
	compact := &loomv1.Compaction{Answers: 1, Steps: 1, Summary: &loomv1.BlobRef{Sha256: "s"}, Answer: &loomv1.ModelAnswer{
		Model: "m", Request: "s1", Usage: &loomv1.Usage{InputTokens: 300, CostMicroUsd: 7, CostKnown: true},
	}}
	d.ok(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: b.Attempt.Id, Claimant: who, Facts: []*loomv1.Event{
		turn.CompactedFact(compact),
	}}}})
	d.restart()
	if x := d.execution(b.Execution.Id); x.Usage.InputTokens != 400 || x.Usage.CostMicroUsd != 7 || x.ModelCalls != 2 {
		t.Errorf("used %v in %d calls", x.Usage, x.ModelCalls)
	}
	if v := d.reserve(b, who, "q2", 600); v != goes {
		t.Errorf("all that is left: %s", v)
	}
}

// What work has spent that has ended counts once after a restart from segments, also where
// what goes on has waited for it.
func TestBYD05_EndedWorkCountsOnceAfterARestart(t *testing.T) {
	d := small(t)
	store := &project.MemorySegments{}
	d.budgeted(&loomv1.Budget{Tokens: 1000})
	first := d.file(&loomv1.Submission{Process: "small"})
	b, who := d.take(first.Bead+"-x1-a1", "h1")
	d.reserve(b, who, "q1", 600)
	d.answered(b, who, "q1", 600)
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: outcome(success, nil)}}})
	second := d.file(&loomv1.Submission{Process: "small", BlockedBy: []string{first.Bead}})
	d.cfg.Segments = store
	d.restart()
	d.s.Pack()
	taken := d.s.Capture()
	store.Put(taken.Divide(1)...)
	remains, err := taken.State()
	if err != nil || remains.Beads[first.Bead] != nil {
		t.Fatalf("%s remains, %v", first.Bead, err)
	}
	if d.s, err = project.Restore(d.cfg, remains); err != nil {
		t.Fatal(err)
	}
	b, who = d.take(second.Bead+"-x1-a1", "h1")
	if v := d.reserve(b, who, "q1", 300); v != goes {
		t.Errorf("300 of the 400 tokens that are left: %s", v)
	}
}
