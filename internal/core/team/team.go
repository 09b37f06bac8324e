package team

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How large a tree of tasks can be.
const (
	MaxDepth = 3  // tasks that are parts of each other
	MaxTasks = 16 // given by one execution, in all its attempts
	MaxTree  = 64 // under the execution that nobody gave
	MaxAsked = 8  // questions to a person, by one attempt
)

// Limits of what is said of a task or asked of a person, in bytes unless said
// otherwise.
const (
	MaxGoal        = 500
	MaxDescription = 16 << 10
	MaxAcceptance  = 4 << 10
	MaxQuestion    = 2 << 10
	MaxAnswers     = 10 // answers to choose from
	MaxAnswer      = 200
)

// Job is what one of those does who stand between the top of a tree and a task.
type Job struct{ Role, Goal string }

// Place is where in a tree the one who gives a task stands.
type Place struct {
	// Line is whom it works for, the top first, and its own job last.
	Line []Job
	// Depth is how many of the line were given as tasks.
	Depth int
	// Given is how many tasks its execution has given, Tree how many there are
	// under the top.
	Given, Tree int
	// Question says that it answers a question, and gives no work.
	Question bool
	// Left is what it may still spend: 0 is no limit, less is nothing.
	Left *loomv1.Budget
	// Roles are those that can be given tasks.
	Roles []string
}

// Give returns the budget of a task that may be given: what was asked for, and
// no more than is left. Otherwise it says all that is wrong, with the codes
// team/invalid, team/depth, team/limit, team/cycle and team/budget.
func (p Place) Give(t *loomv1.GiveTask) (*loomv1.Budget, error) {
	errs := p.fits(t)
	for _, err := range []*fault.Error{p.room(), p.circle(t), p.means()} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	b := t.GetBudget()
	return &loomv1.Budget{
		Tokens:      within(b.GetTokens(), p.Left.GetTokens()),
		MicroUsd:    within(b.GetMicroUsd(), p.Left.GetMicroUsd()),
		WallSeconds: within(b.GetWallSeconds(), p.Left.GetWallSeconds()),
	}, nil
}

// within bounds what is asked for by what is left. What asks for nothing has no
// budget of its own, and spends its giver's.
func within(asked, left int64) int64 {
	if left > 0 && asked > left {
		return left
	}
	return max(asked, 0)
}

// fits says what is wrong with the words of a task.
func (p Place) fits(t *loomv1.GiveTask) (errs []*fault.Error) {
	bad := func(e *fault.Error) { errs = append(errs, e) }
	if !slices.Contains(p.Roles, t.GetRole()) {
		bad(fault.New("team/invalid", "no role that tasks can be given to").At("role").Got(t.GetRole()).Want("%s", suggest.Among(t.GetRole(), p.Roles)))
	}
	if strings.TrimSpace(t.GetGoal()) == "" {
		bad(fault.New("team/invalid", "a task without a goal").At("goal"))
	}
	for _, f := range []struct {
		where, text string
		most        int
	}{
		{"goal", t.GetGoal(), MaxGoal},
		{"description", t.GetDescription(), MaxDescription},
		{"acceptance", t.GetAcceptance(), MaxAcceptance},
	} {
		if e := text(f.where, f.text, f.most); e != nil {
			bad(e)
		}
	}
	b := t.GetBudget()
	if b.GetTokens() < 0 || b.GetMicroUsd() < 0 || b.GetWallSeconds() < 0 {
		bad(fault.New("team/invalid", "a budget of less than nothing").At("budget"))
	}
	return errs
}

// text says what is wrong with words, if anything is.
func text(where, s string, most int) *fault.Error {
	switch {
	case len(s) > most:
		return fault.New("team/invalid", "%d bytes, where %d are the most", len(s), most).At(where)
	case !utf8.ValidString(s):
		return fault.New("team/invalid", "it is not UTF-8").At(where)
	}
	return nil
}

// room says why there is none for one more task.
func (p Place) room() *fault.Error {
	switch {
	case p.Question:
		return fault.New("team/depth", "who answers a question gives no tasks").Want("answer with what you can see yourself")
	case p.Depth >= MaxDepth:
		return fault.New("team/depth", "tasks are parts of each other %d deep already, the most is %d", p.Depth, MaxDepth).Want("do it yourself, or say in your outcome what is left")
	case p.Given >= MaxTasks:
		return fault.New("team/limit", "%d tasks were given already, as many as one execution can", p.Given)
	case p.Tree >= MaxTree:
		return fault.New("team/limit", "the whole team was given %d tasks already, as many as it can", p.Tree)
	}
	return nil
}

// circle refuses what somebody in the line is at already.
func (p Place) circle(t *loomv1.GiveTask) *fault.Error {
	for _, j := range p.Line {
		if j.Role == t.GetRole() && same(j.Goal, t.GetGoal()) {
			return fault.New("team/cycle", "%s has this very goal already, and this would be a part of it", j.Role).At("goal").Want("give a part of it")
		}
	}
	return nil
}

// same says whether two goals differ in nothing but spaces and capitals.
func same(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// means refuses when there is nothing left to spend.
func (p Place) means() *fault.Error {
	if p.Left.GetTokens() < 0 || p.Left.GetMicroUsd() < 0 || p.Left.GetWallSeconds() < 0 {
		return fault.New("team/budget", "nothing is left of the budget for another task")
	}
	return nil
}

// Left returns what is left of a limit after what was spent and what is kept for
// others: 0 where there is no limit, less than that where nothing is.
func Left(limit, spent, kept int64) int64 {
	switch left := limit - spent - kept; {
	case limit <= 0:
		return 0
	case left <= 0:
		return -1
	default:
		return left
	}
}

// Least is the smaller of two that are left.
func Least(a, b int64) int64 {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}

// Ask says what is wrong with a question to a person, when asked were put by the
// same attempt before.
func Ask(q *loomv1.AskUser, asked int) error {
	var errs []*fault.Error
	if strings.TrimSpace(q.GetQuestion()) == "" {
		errs = append(errs, fault.New("team/invalid", "nothing is asked").At("question"))
	}
	if e := text("question", q.GetQuestion(), MaxQuestion); e != nil {
		errs = append(errs, e)
	}
	if len(q.GetAnswers()) > MaxAnswers {
		errs = append(errs, fault.New("team/invalid", "%d answers, where %d are the most", len(q.GetAnswers()), MaxAnswers).At("answers"))
	}
	for _, a := range q.GetAnswers() {
		if e := text("answers", a, MaxAnswer); e != nil {
			errs = append(errs, e)
		}
	}
	if asked >= MaxAsked {
		errs = append(errs, fault.New("team/limit", "%d questions were asked already, as many as one attempt can", asked).Want("decide what you can, and say what you supposed"))
	}
	return fault.Join(errs)
}

// Find returns the task of a bead, or nil.
func Find(tasks []*loomv1.TeamTask, bead string) *loomv1.TeamTask {
	if i := slices.IndexFunc(tasks, func(t *loomv1.TeamTask) bool { return t.Bead == bead }); i >= 0 {
		return tasks[i]
	}
	return nil
}

// Made returns the tasks that succeeded with a change.
func Made(tasks []*loomv1.TeamTask) (made []*loomv1.TeamTask) {
	for _, t := range tasks {
		if t.GetOutcome().GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS && t.Outcome.Change != nil {
			made = append(made, t)
		}
	}
	return made
}

// Parts returns the changes that are together all that tasks have made, in the
// order in which the tasks were given: each but those that a later one began
// with.
func Parts(tasks []*loomv1.TeamTask) (parts []*loomv1.Change) {
	made := Made(tasks)
	for _, t := range made {
		within := slices.ContainsFunc(made, func(other *loomv1.TeamTask) bool { return slices.Contains(other.Contains, t.Bead) })
		if !within {
			parts = append(parts, t.Outcome.Change)
		}
	}
	return parts
}

// Makers returns the roles that made what tasks have made, in the order in which
// those were given.
func Makers(tasks []*loomv1.TeamTask) (roles []string) {
	for _, t := range Made(tasks) {
		roles = append(roles, MakersOf(t.Outcome.Change, t.Role)...)
	}
	return Unique(roles)
}

// Unique returns roles in their order, each once.
func Unique(roles []string) (once []string) {
	for _, role := range roles {
		if !slices.Contains(once, role) {
			once = append(once, role)
		}
	}
	return once
}

// MakersOf returns the roles that made a change: who proposed it, unless it names
// others.
func MakersOf(c *loomv1.Change, proposer string) []string {
	if len(c.GetMakers()) > 0 {
		return c.Makers
	}
	return []string{proposer}
}

// Beads returns the beads of tasks.
func Beads(tasks []*loomv1.TeamTask) (beads []string) {
	for _, t := range tasks {
		beads = append(beads, t.Bead)
	}
	return beads
}

// Open returns the beads of the tasks that have not ended, of those in beads.
func Open(tasks []*loomv1.TeamTask, beads []string) (open []string) {
	for _, t := range tasks {
		if t.Outcome == nil && slices.Contains(beads, t.Bead) {
			open = append(open, t.Bead)
		}
	}
	return open
}
