package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// player is a crew that does anything in any order, and what a test knows of its
// questions from the facts alone.
type player struct {
	*crew
	roles   []string
	pending map[string][]*loomv1.TeamCall // of a turn, which does nothing else before they are answered
	made    int
	play    *rapid.T

	read      int
	questions map[string]*question
	parked    map[string]*loomv1.AttemptParked // by attempt
	ended     map[string]bool
	heard     map[string]bool
	given     map[string]*loomv1.TeamTask
}

type question struct {
	*loomv1.Mail
	asked    time.Time
	answered bool
}

func newPlayer(t *testing.T, play *rapid.T) *player {
	roles := []string{"researcher", "implementer", "web-designer"}
	p := &player{
		crew: newCrew(t, false, roles...), roles: append(roles, "lead"), pending: map[string][]*loomv1.TeamCall{}, play: play,
		questions: map[string]*question{}, parked: map[string]*loomv1.AttemptParked{}, ended: map[string]bool{}, heard: map[string]bool{}, given: map[string]*loomv1.TeamTask{},
	}
	p.light = true
	return p
}

// has says whether an agent of a role is at its attempt, after it has taken up what is
// queued for it.
func (p *player) has(role string) bool {
	last := p.at[role].Attempt.Id
	if p.parked[last] == nil && !p.ended[last] && p.who[role] != nil {
		return true
	}
	b, who := p.takes(role, 1)
	if b == nil {
		return false
	}
	if b.Attempt.Id != last {
		p.pending[role] = nil
	}
	p.follow()
	p.at[role], p.who[role] = b, who
	return true
}

// calling makes the calls of a turn that have no answer yet.
func (p *player) calling(role string) {
	replies := p.calls(role, p.pending[role]...)
	p.follow()
	if p.parked[p.at[role].Attempt.Id] == nil {
		p.pending[role] = nil
	} else if !slices.ContainsFunc(replies, func(r *loomv1.TeamReply) bool { return r.Waits }) {
		p.play.Fatalf("%s is parked, and no call waits: %v", role, replies)
	}
}

func (p *player) call(role string, c *loomv1.TeamCall) {
	p.made++
	c.Call = fmt.Sprint("p", p.made)
	p.pending[role] = append(p.pending[role], c)
}

// act has a role do something, or nothing while it waits.
func (p *player) act(role string) {
	if !p.has(role) {
		return
	}
	if len(p.pending[role]) > 0 {
		p.calling(role)
		return
	}
	switch rapid.IntRange(0, 11).Draw(p.play, "does") {
	case 0, 1, 2, 3:
		to := rapid.SampledFrom(p.roles).Draw(p.play, "to")
		p.call(role, writes(0, to, "how far?", true))
	case 4:
		p.call(role, writes(0, rapid.SampledFrom(p.roles).Draw(p.play, "to"), "so far", false))
	case 5, 6:
		p.call(role, watches(0, true))
		if rapid.Bool().Draw(p.play, "asks too") {
			p.call(role, writes(0, rapid.SampledFrom(p.roles).Draw(p.play, "to"), "how far?", true))
		}
	case 7:
		_, ids := p.hears(role)
		for _, id := range ids {
			if p.questions[id] != nil && rapid.Bool().Draw(p.play, "answers") {
				p.call(role, writes(0, id, "half", false))
			}
		}
	case 8:
		p.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{
			Attempt: p.at[role].Attempt.Id, Claimant: p.who[role], Reason: "drain",
		}}})
		p.follow()
	case 9:
		p.finish(role)
	case 10: // nobody answers that
		if rapid.IntRange(0, 3).Draw(p.play, "of a person") == 0 {
			p.call(role, asksUser(0, "red or blue?"))
		}
	}
	if len(p.pending[role]) > 0 {
		p.calling(role)
	}
}

func (p *player) finish(role string) {
	p.answers(p.at[role], p.who[role], outcome(success, nil))
	p.follow()
}

// follow reads what is new, and checks each fact against all before.
func (p *player) follow() {
	for _, e := range p.events[p.read:] {
		p.read++
		switch f := e.Fact.(type) {
		case *loomv1.Event_TaskGiven:
			p.given[f.TaskGiven.Task.Bead] = f.TaskGiven.Task
		case *loomv1.Event_AttemptParked:
			p.parked[e.Attempt] = f.AttemptParked
		case *loomv1.Event_ClaimReleased:
			delete(p.parked, e.Attempt)
			for role, b := range p.at {
				if b.Attempt.Id == e.Attempt {
					p.who[role] = nil
				}
			}
		case *loomv1.Event_AttemptEnded:
			p.ended[e.Attempt] = true
			delete(p.parked, e.Attempt)
		case *loomv1.Event_MessageHeard:
			if id := f.MessageHeard.Said.Id; p.heard[id] {
				p.play.Fatalf("%s is heard twice", id)
			} else {
				p.heard[id] = true
			}
		case *loomv1.Event_MailSent:
			m := f.MailSent.Mail
			switch m.Kind {
			case loomv1.MailKind_MAIL_KIND_QUESTION:
				p.questions[m.Id] = &question{Mail: m, asked: e.Time.AsTime()}
			case loomv1.MailKind_MAIL_KIND_ANSWER:
				q := p.questions[m.Re]
				if q == nil || q.answered || m.To != q.Attempt {
					p.play.Fatalf("an answer to no open question: %v", m)
				}
				if late := !e.Time.AsTime().Before(q.asked.Add(team.AnswerWithin)); m.Attempt == "" && !p.ended[q.To] && !late {
					p.play.Fatalf("the runtime answers %s, and %s has time", q.Id, q.To)
				}
				q.answered = true
			}
		}
	}
	p.still()
}

// passes lets time go by: then no question has waited for longer than it may.
func (p *player) passes(d time.Duration) {
	p.later(d)
	p.follow()
	for id, q := range p.questions {
		if !q.answered && !p.ended[q.Attempt] && !p.now.Before(q.asked.Add(team.AnswerWithin)) {
			p.play.Fatalf("%s waits since %s, now %s", id, q.asked, p.now)
		}
	}
}

// still checks what is so between two commands.
func (p *player) still() {
	for id, q := range p.questions {
		open := !q.answered && !p.ended[q.Attempt]
		if open && p.ended[q.To] {
			p.play.Fatalf("%s waits for %s, which has ended", id, q.To)
		}
		if open && !p.heard[id] && p.parked[q.To].GetWaitsFor() == workflow.WaitsForTeam {
			p.play.Fatalf("%s waits for tasks, and is asked %s", q.To, id)
		}
	}
	for a, parked := range p.parked {
		if parked.WaitsFor == workflow.WaitsForMail && len(p.asked(a)) == 0 {
			p.play.Fatalf("%s waits for answers that are there", a)
		}
	}
	for _, q := range p.questions {
		if way := p.circle(q.Attempt, q.Attempt, nil); way != nil {
			p.play.Fatalf("they wait for each other: %q", way)
		}
	}
}

// asked are those who owe an attempt an answer.
func (p *player) asked(a string) (list []string) {
	for _, q := range p.questions {
		if q.Attempt == a && !q.answered && !p.ended[a] {
			list = append(list, q.To)
		}
	}
	return list
}

// circle is a way from an attempt to another by who waits for whom, or nil.
func (p *player) circle(from, to string, way []string) []string {
	if slices.Contains(way, from) {
		return nil
	}
	way = append(slices.Clone(way), from)
	next := p.asked(from)
	for _, bead := range p.parked[from].GetAwaits() {
		for _, b := range p.at {
			if !p.ended[b.Attempt.Id] && strings.HasPrefix(b.Attempt.Id, p.given[bead].Execution+"-a") {
				next = append(next, b.Attempt.Id)
			}
		}
	}
	for _, a := range next {
		if a == to {
			return append(way, to)
		}
		if found := p.circle(a, to, way); found != nil {
			return found
		}
	}
	return nil
}

// Whatever members of a team ask, answer, wait for and leave undone: who waits for whom
// has no circle, a question ends exactly once, mail is heard at most once; and where
// nobody answers any more, time alone has all go on to their end.
func TestACT03_WhoeverWaitsForMailGoesOn(t *testing.T) {
	longtest.Skip(t)
	rapid.Check(t, func(rt *rapid.T) {
		p := newPlayer(t, rt)
		p.follow()
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			p.act(rapid.SampledFrom(p.roles).Draw(rt, "role"))
			p.follow()
			if rapid.IntRange(0, 9).Draw(rt, "passes") == 0 {
				p.passes(time.Duration(rapid.IntRange(1, 1200).Draw(rt, "seconds")) * time.Second)
			}
		}
		for range 2 * len(p.roles) { // in each round somebody can end: there is no circle
			for _, role := range p.roles {
				if !p.has(role) {
					continue
				}
				if len(p.pending[role]) > 0 {
					p.calling(role)
				}
				if len(p.pending[role]) == 0 {
					p.finish(role)
				}
			}
			p.passes(team.AnswerWithin)
		}
		for a, parked := range p.parked {
			if parked.WaitsFor == workflow.WaitsForMail {
				rt.Fatalf("%s waits for %q for ever", a, p.asked(a))
			}
		}
	})
}
