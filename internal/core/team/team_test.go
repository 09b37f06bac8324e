package team_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/team"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func codes(err error) (list []string) {
	f := fault.From(err)
	if err == nil {
		return nil
	}
	for _, e := range append([]*fault.Error{f}, f.More...) {
		list = append(list, e.Code)
	}
	return list
}

func TestACT03_WhatMayBeGiven(t *testing.T) {
	lead := team.Place{Line: []team.Job{{Role: "lead", Goal: "a shop"}}, Roles: []string{"lead", "researcher"}}
	at := func(edit func(*team.Place)) team.Place { p := lead; edit(&p); return p }
	for _, tt := range []struct {
		name  string
		place team.Place
		task  *loomv1.GiveTask
		want  string
	}{
		{"a task", lead, &loomv1.GiveTask{Role: "researcher", Goal: "look"}, ""},
		{"the last there is room for", at(func(p *team.Place) { p.Depth, p.Given, p.Tree = team.MaxDepth-1, team.MaxTasks-1, team.MaxTree-1 }), &loomv1.GiveTask{Role: "researcher", Goal: "look"}, ""},
		{"too deep", at(func(p *team.Place) { p.Depth = team.MaxDepth }), &loomv1.GiveTask{Role: "researcher", Goal: "look"}, "team/depth"},
		{"too many", at(func(p *team.Place) { p.Given = team.MaxTasks }), &loomv1.GiveTask{Role: "researcher", Goal: "look"}, "team/limit"},
		{"too many in all", at(func(p *team.Place) { p.Tree = team.MaxTree }), &loomv1.GiveTask{Role: "researcher", Goal: "look"}, "team/limit"},
		{"by who answers a question", at(func(p *team.Place) { p.Question = true }), &loomv1.GiveTask{Role: "researcher", Goal: "look"}, "team/depth"},
		{"its own goal to its own role", lead, &loomv1.GiveTask{Role: "lead", Goal: "A  Shop"}, "team/cycle"},
		{"its own goal to another", lead, &loomv1.GiveTask{Role: "researcher", Goal: "a shop"}, ""},
		{"with nothing left", at(func(p *team.Place) { p.Left = &loomv1.Budget{Tokens: -1} }), &loomv1.GiveTask{Role: "researcher", Goal: "look"}, "team/budget"},
		{"everything wrong", lead, &loomv1.GiveTask{Role: "resercher", Description: "\xff", Budget: &loomv1.Budget{Tokens: -1}}, "team/invalid team/invalid team/invalid team/invalid"},
		{"a goal as long as can be", lead, &loomv1.GiveTask{Role: "researcher", Goal: strings.Repeat("a", team.MaxGoal)}, ""},
		{"a longer one", lead, &loomv1.GiveTask{Role: "researcher", Goal: strings.Repeat("a", team.MaxGoal+1)}, "team/invalid"},
	} {
		_, err := tt.place.Give(tt.task)
		if got := strings.Join(codes(err), " "); got != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestACT03_WhatMayBeAsked(t *testing.T) {
	for _, tt := range []struct {
		question string
		answers  int
		asked    int
		want     string
	}{
		{"which?", 0, 0, ""},
		{"which?", team.MaxAnswers, team.MaxAsked - 1, ""},
		{" ", 0, 0, "team/invalid"},
		{strings.Repeat("a", team.MaxQuestion+1), 0, 0, "team/invalid"},
		{"which?", team.MaxAnswers + 1, 0, "team/invalid"},
		{"which?", 0, team.MaxAsked, "team/limit"},
	} {
		err := team.Ask(&loomv1.AskUser{Question: tt.question, Answers: slices.Repeat([]string{"a"}, tt.answers)}, tt.asked)
		if got := strings.Join(codes(err), " "); got != tt.want {
			t.Errorf("Ask(%.10q, %d answers, %d asked) = %q, want %q", tt.question, tt.answers, tt.asked, got, tt.want)
		}
	}
}

// member is a task of a tree that a test grows; the first is the top.
type member struct {
	up     *member
	job    team.Job
	depth  int
	given  int
	budget int64
	spent  int64
	kept   int64 // budgets of its tasks
}

// place is where m stands, as a project would say.
func (m *member) place(tree int) team.Place {
	p := team.Place{Depth: m.depth, Given: m.given, Tree: tree, Roles: []string{"a", "b", "c"}, Left: &loomv1.Budget{}}
	for up := m; up != nil; up = up.up {
		p.Line = append(p.Line, up.job)
		p.Left.Tokens = team.Least(p.Left.Tokens, team.Left(up.budget, up.spent, up.kept))
	}
	return p
}

// TestACT03_ATreeOfTasksHasAnEnd grows trees of tasks at random and holds them to
// what the package promises.
func TestACT03_ATreeOfTasksHasAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := &member{job: team.Job{Role: "a", Goal: "g0"}, budget: rapid.SampledFrom([]int64{0, 1000}).Draw(t, "budget")}
		all := []*member{top}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			m := rapid.SampledFrom(all).Draw(t, "who")
			m.spent += rapid.Int64Range(0, 20).Draw(t, "spends")
			task := &loomv1.GiveTask{
				Role: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "role"), Goal: fmt.Sprint("g", rapid.IntRange(0, 5).Draw(t, "goal")),
				Budget: &loomv1.Budget{Tokens: rapid.Int64Range(0, 600).Draw(t, "asks")},
			}
			before := m.place(len(all) - 1)
			b, err := before.Give(task)
			if err != nil {
				continue
			}
			child := &member{up: m, job: team.Job{Role: task.Role, Goal: task.Goal}, depth: m.depth + 1, budget: b.Tokens}
			m.given++
			m.kept += b.Tokens
			all = append(all, child)
			check(t, child, before, b, len(all)-1)
		}
	})
}

func check(t *rapid.T, m *member, before team.Place, b *loomv1.Budget, tree int) {
	if m.depth > team.MaxDepth || m.up.given > team.MaxTasks || tree > team.MaxTree {
		t.Fatalf("depth %d, %d tasks of one, %d in all", m.depth, m.up.given, tree)
	}
	if left := before.Left.Tokens; left < 0 || left > 0 && b.Tokens > left {
		t.Fatalf("a budget of %d where %d is left", b.Tokens, left)
	}
	for up := m.up; up != nil; up = up.up {
		if up.job == m.job {
			t.Fatalf("%v is a part of itself", m.job)
		}
	}
}

// TestACT03_PartsAreAllThatWasMade gives tasks of which some begin with what earlier
// ones made: each change that was made is a part or within one.
func TestACT03_PartsAreAllThatWasMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tasks []*loomv1.TeamTask
		for n := range rapid.IntRange(0, 8).Draw(t, "tasks") {
			task := &loomv1.TeamTask{Bead: fmt.Sprint("shop-", n), Role: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "role")}
			if rapid.Bool().Draw(t, "later") {
				task.Contains = team.Beads(team.Made(tasks))
			}
			switch rapid.IntRange(0, 3).Draw(t, "end") {
			case 1:
				task.Outcome = &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Change: &loomv1.Change{Commit: "no"}}
			case 2:
				task.Outcome = &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS}
			case 3:
				task.Outcome = &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Change: &loomv1.Change{Commit: task.Bead}}
			}
			tasks = append(tasks, task)
		}
		within := map[string]bool{}
		for _, c := range team.Parts(tasks) {
			if within[c.Commit] {
				t.Fatalf("%s is given, and within one that began with it", c.Commit)
			}
			within[c.Commit] = true
			for _, b := range team.Find(tasks, c.Commit).Contains {
				within[b] = true
			}
		}
		for _, task := range team.Made(tasks) {
			if !within[task.Bead] {
				t.Fatalf("%s is lost", task.Bead)
			}
		}
	})
}

func TestLOCK04_MakersAreNamedOnce(t *testing.T) {
	made := func(role string, makers ...string) *loomv1.TeamTask {
		return &loomv1.TeamTask{Role: role, Outcome: &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Change: &loomv1.Change{Makers: makers}}}
	}
	got := team.Makers([]*loomv1.TeamTask{made("qa-engineer"), made("lead", "implementer", "qa-engineer"), {Role: "researcher"}})
	if want := []string{"qa-engineer", "implementer"}; !slices.Equal(got, want) {
		t.Errorf("made by %q, want %q", got, want)
	}
}
