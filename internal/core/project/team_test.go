package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// newTeam is a desk with a bead that a lead works on.
func newTeam(t *testing.T, budget *loomv1.Budget) (d *desk, bead string) {
	d = newDesk(t)
	def, _ := processes.Builtin(roles.Builtin()).Get(project.Delegate)
	d.store(def)
	plan := task("plan", "lead")
	plan.Timeout = durationpb.New(10 * time.Minute)
	d.store(line("led", "1.0", plan))
	return d, d.file(&loomv1.Submission{Goal: "a shop", Process: "led", Budget: budget}).Bead
}

// give is a call that gives a task.
func give(n int, role, goal string, waits bool) *loomv1.TeamCall {
	return &loomv1.TeamCall{Call: fmt.Sprint("c1-", n), Verb: &loomv1.TeamCall_Give{Give: &loomv1.GiveTask{
		Role: role, Goal: goal, Acceptance: "it is there", Waits: waits,
	}}}
}

func watches(n int, waits bool) *loomv1.TeamCall {
	return &loomv1.TeamCall{Call: fmt.Sprint("c2-", n), Verb: &loomv1.TeamCall_Watch{Watch: &loomv1.WatchTasks{Waits: waits}}}
}

func asksUser(n int, question string) *loomv1.TeamCall {
	return &loomv1.TeamCall{Call: fmt.Sprint("c3-", n), Verb: &loomv1.TeamCall_Ask{Ask: &loomv1.AskUser{Question: question}}}
}

func (d *desk) team(b *loomv1.Brief, who *loomv1.Claimant, calls ...*loomv1.TeamCall) ([]*loomv1.TeamReply, error) {
	d.t.Helper()
	answer, err := d.do(&loomv1.Command{
		Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: who.Agent + "@" + who.Host},
		Body:  &loomv1.Command_AskTeam{AskTeam: &loomv1.AskTeam{Attempt: b.Attempt.Id, Claimant: who, Calls: calls}},
	})
	return answer.GetTeam().GetReplies(), err
}

// takes claims what waits for a role, if anything does.
func (d *desk) takes(role string, n int) (*loomv1.Brief, *loomv1.Claimant) {
	d.t.Helper()
	who := agentOf(role, n)
	answer, err := d.do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: "shop-1-x1-a1", Generation: 1, Claimant: who, Any: true}}})
	if err != nil {
		return nil, who
	}
	return answer.GetBrief(), who
}

func (d *desk) answers(b *loomv1.Brief, who *loomv1.Claimant, out *loomv1.Outcome) {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: out}}})
}

func (d *desk) later(after time.Duration) {
	d.t.Helper()
	d.now = d.now.Add(after)
	d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
}

// queuedRoles are the roles that something waits for.
func (d *desk) queuedRoles() (list []string) {
	for _, a := range d.s.Queued() {
		list = append(list, a.Role)
	}
	slices.Sort(list)
	return list
}

// standing says in words what replies say.
func standing(list []*loomv1.TeamReply) string {
	var words []string
	for _, r := range list {
		switch {
		case r.Error != nil:
			words = append(words, r.Error.Code)
		case r.Waits:
			words = append(words, "waits")
		case r.Answered:
			words = append(words, "answered "+r.Answer)
		}
		for _, t := range r.Tasks {
			word := "open"
			if t.Outcome != nil {
				word = strings.TrimSpace(project.Word(t.Outcome.Status) + " " + t.Outcome.Code)
			}
			words = append(words, t.Role+": "+word)
		}
	}
	return strings.Join(words, ", ")
}

// TestACT03_ALeadIsParkedUntilItsTasksAreDone follows two tasks from the command
// that gives them to the lead's outcome.
func TestACT03_ALeadIsParkedUntilItsTasksAreDone(t *testing.T) {
	d, bead := newTeam(t, nil)
	b, who := d.claim("lead")
	calls := []*loomv1.TeamCall{give(1, "researcher", "look", true), give(2, "implementer", "build", true)}
	if got, err := d.team(b, who, calls...); err != nil || standing(got) != "waits, researcher: open, waits, implementer: open" {
		t.Fatalf("%s, %v", standing(got), err)
	}
	if got := d.queuedRoles(); !slices.Equal(got, []string{"implementer", "researcher"}) {
		t.Fatalf("queued for %q, want those who were given work, and not the lead", got)
	}
	if _, err := d.team(b, who, calls...); fault.Code(err) != "attempt/claimed" {
		t.Errorf("a parked attempt is still its agent's: %v", err)
	}
	r, researcher := d.takes("researcher", 1)
	for _, e := range d.events {
		want := ""
		if e.Bead != "" && e.Bead != bead {
			want = bead
		}
		if e.Team != want {
			t.Errorf("an event of bead %q is of team %q, want %q: %v", e.Bead, e.Team, want, e)
		}
	}
	if r.Bead.Parent != bead || r.Bead.Goal != "look" || !strings.Contains(r.Bead.Description, "it is there") || r.Execution.Parent != b.Execution.Id {
		t.Errorf("the researcher works on %v, want a part of %s", r.Bead, bead)
	}
	d.later(30 * time.Minute) // much longer than the lead's attempt may take
	out := outcome(success, nil)
	out.Notes = "see cart.go:12"
	d.answers(r, researcher, out)
	if got := d.queuedRoles(); !slices.Equal(got, []string{"implementer"}) {
		t.Fatalf("queued for %q, though a task is open", got)
	}
	i, implementer := d.takes("implementer", 1)
	d.answers(i, implementer, proposed("p1"))
	again, other := d.takes("lead", 2) // another agent goes on
	if again == nil || again.Attempt.Id != b.Attempt.Id || again.Attempt.Number != 1 {
		t.Fatalf("the lead is not called back for its first attempt: %v, queued for %q", again, d.queuedRoles())
	}
	beads := d.s.Beads()
	if got, err := d.team(again, other, calls...); err != nil || standing(got) != "researcher: success, implementer: success" || d.s.Beads() != beads {
		t.Errorf("asked again: %s, %v, %d beads after %d", standing(got), err, d.s.Beads(), beads)
	}
	d.answers(again, other, outcome(success, nil))
	if got := d.status(bead); got != "closed" {
		t.Errorf("the bead is %s, want closed", got)
	}
}

// TestACT03_EveryEndOfATaskIsToldTheLead has a task end in each way that there is:
// a lead must never wait for what has ended.
func TestACT03_EveryEndOfATaskIsToldTheLead(t *testing.T) {
	longtest.Skip(t)
	works := func(out func() *loomv1.Outcome) func(*desk, *loomv1.TeamTask) {
		return func(d *desk, _ *loomv1.TeamTask) {
			for range 3 {
				if b, who := d.takes("implementer", 1); b != nil {
					d.answers(b, who, out())
				}
				d.later(2 * time.Minute)
			}
		}
	}
	for _, tt := range []struct {
		name, want string
		end        func(*desk, *loomv1.TeamTask)
	}{
		{"success", "implementer: success", works(func() *loomv1.Outcome { return outcome(success, nil) })},
		{"a change", "implementer: success", works(func() *loomv1.Outcome { return proposed("p1") })},
		{"failure", "implementer: failure git/conflict", works(func() *loomv1.Outcome {
			out := outcome(failed, nil)
			out.Code = "git/conflict"
			return out
		})},
		{"too slow", "implementer: failure attempt/timeout", func(d *desk, _ *loomv1.TeamTask) {
			d.takes("implementer", 1)
			d.later(2 * time.Hour)
		}},
		{"nobody there", "implementer: failure agent/none-live", func(d *desk, _ *loomv1.TeamTask) {
			d.ok(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{Host: "h1", Roles: &loomv1.HostRoles{Epoch: 1, Agents: map[string]uint32{"lead": 2}}}}})
			d.later(30 * time.Minute)
			d.later(time.Minute)
		}},
		{"closed by a person", "implementer: failure child/aborted", func(d *desk, task *loomv1.TeamTask) {
			if err := d.say(closes(task.Execution, "no longer wanted")); err != nil {
				d.t.Fatal(err)
			}
		}},
		{"its host is gone", "implementer: success", func(d *desk, _ *loomv1.TeamTask) {
			d.takes("implementer", 1)
			d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: "h1", Epoch: 9}}})
			works(func() *loomv1.Outcome { return outcome(success, nil) })(d, nil)
		}},
		{"it spent what it had", "implementer: failure child/aborted", func(d *desk, _ *loomv1.TeamTask) {
			b, who := d.takes("implementer", 1)
			d.ok(recordOf(b, who, turn.StartedFact(&loomv1.TurnStarted{Model: "m"})))
			d.ok(recordOf(b, who, turn.AnsweredFact(&loomv1.ModelAnswer{
				Model: "m", Request: "q", Usage: &loomv1.Usage{InputTokens: 600, CostKnown: true}, Problem: "again",
			})))
		}},
	} {
		t.Run("ACT03 "+tt.name, func(t *testing.T) {
			d, bead := newTeam(t, nil)
			b, who := d.claim("lead")
			call := give(1, "implementer", "build", true)
			call.GetGive().Budget = &loomv1.Budget{Tokens: 500}
			got, err := d.team(b, who, call)
			if err != nil || standing(got) != "waits, implementer: open" {
				t.Fatalf("%s, %v", standing(got), err)
			}
			tt.end(d, got[0].Tasks[0])
			b, who = d.takes("lead", 1)
			if b == nil {
				t.Fatalf("the lead still waits: queued for %q, the task %s", d.queuedRoles(), d.status(got[0].Tasks[0].Bead))
			}
			if got, err := d.team(b, who, call); err != nil || standing(got) != tt.want {
				t.Errorf("the lead is told %s, %v, want %s", standing(got), err, tt.want)
			}
			d.answers(b, who, outcome(success, nil))
			if got := d.status(bead); got != "closed" {
				t.Errorf("the bead is %s, want closed", got)
			}
		})
	}
}

// TestACT03_WhatEndsTheLeadEndsItsTeam has a lead, and a person, end work that
// others do parts of, at two levels.
func TestACT03_WhatEndsTheLeadEndsItsTeam(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(d *desk, bead string, b *loomv1.Brief, who *loomv1.Claimant)
	}{
		{"the lead is done", func(d *desk, _ string, b *loomv1.Brief, who *loomv1.Claimant) {
			d.answers(b, who, outcome(success, nil))
		}},
		{"a person closes it", func(d *desk, _ string, b *loomv1.Brief, _ *loomv1.Claimant) {
			if err := d.say(closes(b.Execution.Id, "no longer wanted")); err != nil {
				d.t.Fatal(err)
			}
		}},
		{"the lead is too slow", func(d *desk, _ string, _ *loomv1.Brief, _ *loomv1.Claimant) { d.later(24 * time.Hour) }},
		{"the lead stops them", func(d *desk, _ string, b *loomv1.Brief, who *loomv1.Claimant) {
			for _, task := range must(d.team(b, who, watches(1, false)))[0].Tasks {
				stop := &loomv1.TeamCall{Call: "c9-1", Verb: &loomv1.TeamCall_Stop{Stop: &loomv1.StopTask{Bead: task.Bead, Reason: "enough"}}}
				if got, err := d.team(b, who, stop); err != nil || standing(got) != task.Role+": failure child/aborted" {
					d.t.Errorf("stopped: %s, %v", standing(got), err)
				}
			}
		}},
	} {
		t.Run("ACT03 "+tt.name, func(t *testing.T) {
			d, bead := newTeam(t, nil)
			b, who := d.claim("lead")
			if got, err := d.team(b, who, give(1, "architect", "draw", false), give(2, "implementer", "build", false)); err != nil || standing(got) != "architect: open, implementer: open" {
				t.Fatalf("%s, %v", standing(got), err)
			}
			a, architect := d.takes("architect", 1)
			if got, err := d.team(a, architect, give(1, "researcher", "look", true)); err != nil || standing(got) != "waits, researcher: open" {
				t.Fatalf("%s, %v", standing(got), err)
			}
			tt.end(d, bead, b, who)
			d.later(time.Second)
			if x := d.execution(b.Execution.Id); tt.name != "the lead stops them" && project.Word(x.Status) == "running" && x.Nodes["plan"].Attempt != nil {
				t.Errorf("the lead still works: %v", x.Nodes["plan"].Attempt)
			}
			if got := d.queuedRoles(); len(got) > 0 {
				t.Errorf("still queued for %q", got)
			}
			for _, c := range d.s.Snapshot().Beads {
				if c.Delegation != nil && project.Word(c.Status) != "aborted" {
					t.Errorf("%s for %s is %s (%s), want aborted", c.Id, c.Delegation.Role, project.Word(c.Status), c.Reason)
				}
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestACT03_BadTasksAreRefusedAndChangeNothing makes calls that have no effect,
// beside one that has.
func TestACT03_BadTasksAreRefusedAndChangeNothing(t *testing.T) {
	d, _ := newTeam(t, &loomv1.Budget{Tokens: 1000})
	b, who := d.claim("lead")
	again := give(2, "researcher", "look again", true)
	again.GetGive().Again = "shop-77"
	got, err := d.team(b, who, give(1, "juggler", "juggle", true), again, give(3, "lead", "a shop", true),
		&loomv1.TeamCall{Call: "c4"}, &loomv1.TeamCall{Call: "c5", Verb: &loomv1.TeamCall_Stop{Stop: &loomv1.StopTask{Bead: "shop-77"}}},
		&loomv1.TeamCall{Call: "c6", Verb: &loomv1.TeamCall_Watch{Watch: &loomv1.WatchTasks{Beads: []string{"shop-77"}, Waits: true}}}, asksUser(1, ""))
	if want := "team/invalid, team/unknown, team/cycle, team/invalid, team/unknown, team/unknown, team/invalid"; err != nil || standing(got) != want {
		t.Errorf("%s, %v, want %s", standing(got), err, want)
	}
	if n := d.s.Beads(); n != 1 {
		t.Errorf("%d beads, want the one that there was", n)
	}
	if _, err := d.team(b, who); fault.Code(err) != "team/invalid" {
		t.Errorf("no calls: %v", err)
	}
	if _, err := d.team(b, agentOf("lead", 7), give(1, "researcher", "look", true)); fault.Code(err) != "attempt/claimed" {
		t.Errorf("calls of somebody else: %v", err)
	}
	large := give(7, "researcher", "look", false)
	large.GetGive().Budget = &loomv1.Budget{Tokens: 5000}
	task := must(d.team(b, who, large))[0].Tasks[0]
	if got := d.bead(task.Bead).Budget.GetTokens(); got != 1000 {
		t.Errorf("a task of a bead with 1000 tokens may use %d", got)
	}
	if got, _ := d.team(b, who, give(8, "researcher", "more", false)); standing(got) != "team/budget" {
		t.Errorf("a task beyond what is left: %s", standing(got))
	}
}

// TestACT03_TasksHaveBounds gives as many, and as deep, as can be.
func TestACT03_TasksHaveBounds(t *testing.T) {
	d, _ := newTeam(t, nil)
	b, who := d.claim("lead")
	for n := range team.MaxTasks + 1 {
		got := must(d.team(b, who, give(n, "researcher", fmt.Sprint("part ", n), false)))
		if standing(got) != "researcher: open" && (n < team.MaxTasks || standing(got) != "team/limit") {
			t.Fatalf("task %d: %s", n, standing(got))
		}
	}
	d, _ = newTeam(t, nil)
	b, who = d.claim("lead")
	for n := range team.MaxDepth + 1 {
		got := must(d.team(b, who, give(1, "lead", fmt.Sprint("part ", n), true)))
		if n == team.MaxDepth {
			if standing(got) != "team/depth" {
				t.Errorf("a task %d deep: %s", n+1, standing(got))
			}
			return
		}
		b, who = d.takes("lead", n+2)
	}
}

// TestTOOL01_AQuestionToAPersonWaitsForItsAnswer asks twice, beside a task.
func TestTOOL01_AQuestionToAPersonWaitsForItsAnswer(t *testing.T) {
	d, bead := newTeam(t, nil)
	b, who := d.claim("lead")
	calls := []*loomv1.TeamCall{asksUser(1, "red or blue?"), give(1, "researcher", "look", true)}
	if got, err := d.team(b, who, calls...); err != nil || standing(got) != "waits, waits, researcher: open" {
		t.Fatalf("%s, %v", standing(got), err)
	}
	q := d.inbox()
	if !strings.Contains(q.Question, "lead/1 asks: red or blue?") || d.status(bead) != "waiting" {
		t.Errorf("asked %q while the bead is %s", q.Question, d.status(bead))
	}
	if err := d.present(ceo, d.sign(q, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, func(c *loomv1.CeoCommand) { c.GetDecide().Comment = "blue" })); err != nil {
		t.Fatal(err)
	}
	if got := d.queuedRoles(); !slices.Equal(got, []string{"researcher"}) {
		t.Fatalf("queued for %q, want the researcher alone: the lead waits for it", got)
	}
	r, researcher := d.takes("researcher", 1)
	d.answers(r, researcher, outcome(success, nil))
	b, who = d.takes("lead", 1)
	if got, err := d.team(b, who, calls...); err != nil || standing(got) != "answered blue, researcher: success" {
		t.Errorf("%s, %v", standing(got), err)
	}
	if got := must(d.team(b, who, asksUser(2, "sure?"))); standing(got) != "waits" {
		t.Fatalf("a second question: %s", standing(got))
	}
	if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, nil)); err != nil {
		t.Fatal(err)
	}
	b, who = d.takes("lead", 1)
	if got := must(d.team(b, who, asksUser(2, "sure?"))); len(got) != 1 || got[0].Waits || got[0].Answered {
		t.Errorf("what she does not answer: %v", got)
	}
}

// TestACT03_ATaskWaitsForNobodyWhoWaitsForIt links a task with the bead of who gave
// it, which would never end.
func TestACT03_ATaskWaitsForNobodyWhoWaitsForIt(t *testing.T) {
	d, bead := newTeam(t, nil)
	b, who := d.claim("lead")
	task := must(d.team(b, who, give(1, "researcher", "look", true)))[0].Tasks[0].Bead
	for id, on := range map[string]string{task: bead, bead: task} {
		if _, err := d.do(updates(&loomv1.Bead{Id: id, BlockedBy: []string{on}}, "blocked_by")); fault.Code(err) != "bead/cycle" {
			t.Errorf("%s may wait for %s: %v", id, on, err)
		}
	}
}

// TestP10_NobodyVerifiesATaskOfTheirOwn keeps the maker of a part from verifying
// the whole.
func TestP10_NobodyVerifiesATaskOfTheirOwn(t *testing.T) {
	d, _ := newTeam(t, nil)
	commit, check := task("commit", "engineering-manager"), task("check", "qa-engineer")
	commit.Kind, check.Kind = loomv1.NodeKind_NODE_KIND_COMMIT, loomv1.NodeKind_NODE_KIND_VERIFY
	d.store(line("checked", "1.0", task("plan", "lead"), commit, check))
	d.takes("lead", 9) // the other bead's
	d.file(&loomv1.Submission{Goal: "a house", Process: "checked"})
	b, who := d.takes("lead", 1)
	must(d.team(b, who, give(1, "qa-engineer", "mend the test", true)))
	part, maker := d.takes("qa-engineer", 1)
	d.answers(part, maker, proposed("p1"))
	b, who = d.takes("lead", 1)
	d.answers(b, who, proposed("p1"))
	b, who = d.takes("engineering-manager", 1)
	made := candidate("p1", 1)
	made.Fields = nil
	d.answers(b, who, made)
	claim := func(n int) error {
		_, err := d.do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
			Attempt: "shop-1-x1-a1", Generation: 1, Claimant: agentOf("qa-engineer", n), Any: true,
		}}})
		return err
	}
	if err := claim(1); fault.Code(err) != "attempt/own-work" {
		t.Errorf("who made the part may verify the whole: %v", err)
	}
	if err := claim(2); err != nil {
		t.Errorf("somebody else may not: %v", err)
	}
}

// TestACT03_ATaskBeginsWithWhatOthersHaveMade gives tasks after others of which some
// have changed something, and one below.
func TestACT03_ATaskBeginsWithWhatOthersHaveMade(t *testing.T) {
	d, _ := newTeam(t, nil)
	b, who := d.claim("lead")
	must(d.team(b, who, give(1, "implementer", "build", true), give(2, "researcher", "look", true)))
	i, implementer := d.takes("implementer", 1)
	if c := i.Bead.Delegation.Changes; len(c) > 0 {
		t.Errorf("the first begins with %v", c)
	}
	d.answers(i, implementer, proposed("p1"))
	r, researcher := d.takes("researcher", 1)
	d.answers(r, researcher, outcome(success, nil))
	b, who = d.takes("lead", 1)
	must(d.team(b, who, give(3, "lead", "the next", true)))
	below, lead2 := d.takes("lead", 2)
	must(d.team(below, lead2, give(1, "implementer", "a part of it", true)))
	part, _ := d.takes("implementer", 2)
	for _, on := range []*loomv1.Brief{below, part} {
		if c := on.Bead.Delegation.Changes; len(c) != 1 || c[0].PatchDigest != "p1" || len(c[0].Files) > 0 {
			t.Errorf("%s begins with %v, want the first's change", on.Bead.Goal, c)
		}
	}
	tasks := d.execution(b.Execution.Id).Nodes["plan"].Attempt.Tasks
	if got := tasks[2].Contains; !slices.Equal(got, []string{i.Bead.Id}) {
		t.Errorf("the third contains %q", got)
	}
}
