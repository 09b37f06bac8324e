package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// writing draws what an agent writes to others: of its own team, now and then of
// another, or to nobody, which must be refused.
func (a *agent) writing() *loomv1.TeamCall {
	to := []string{"backend-engineer", "researcher", "web-designer", "qa-engineer", a.brief.Bead.Parent, a.brief.GetTeam().GetBead(), "juggler"}
	for _, open := range a.w.oracle.open { // of any team
		to = append(to, open.x.bead)
	}
	if members := a.brief.GetTeam().GetMembers(); len(members) > 0 && !a.w.one(4) {
		to = nil
		for _, m := range members {
			to = append(to, m.Role, m.Bead)
		}
	}
	return &loomv1.TeamCall{Verb: &loomv1.TeamCall_Write{Write: &loomv1.WriteMail{
		To: to[a.w.rng.IntN(len(to))], Text: "how far is it?", Ask: a.w.one(2),
	}}}
}

// told has an agent answer most of what it has heard, and now and then ask back.
func (a *agent) told(said *loomv1.Said) {
	does := a.w.rng.IntN(4)
	if said.Kind != loomv1.MailKind_MAIL_KIND_QUESTION || does == 0 {
		return
	}
	l := a.w.leads[a.brief.Attempt.Id]
	if l == nil {
		l = &lead{}
		a.w.leads[a.brief.Attempt.Id] = l
	}
	back := &loomv1.WriteMail{To: said.Id, Text: "half way"}
	if does == 1 {
		back = &loomv1.WriteMail{To: said.Bead, Text: "how far are you?", Ask: true}
	}
	l.calls = append(l.calls, l.next(&loomv1.TeamCall{Verb: &loomv1.TeamCall_Write{Write: back}}))
}

// hearing returns what an agent records that it has heard, between two answers.
func (a *agent) hearing(t *loomv1.Turn) (facts []*loomv1.Event) {
	for _, s := range a.news {
		if !slices.ContainsFunc(t.Steps, func(step *loomv1.TurnStep) bool { return step.GetSaid().GetId() == s.Id }) {
			facts = append(facts, turn.HeardFact(s))
		}
	}
	return facts
}

// letter is a message, as the journal has it.
type letter struct {
	*loomv1.Mail
	from, to *attempt // from is nil for the runtime
	heard    bool
	answered bool
	heldFor  time.Duration // of the asker's execution, before it was asked
}

// due says whether the time of a question is over, without that in which its asker
// was held.
func (l *letter) due(now time.Time) bool {
	return !now.Before(l.Time.AsTime().Add(team.AnswerWithin + l.from.x.heldFor - l.heldFor))
}

// topOf is the execution at the top of a team.
func topOf(x *execution) *execution {
	for x.parent != nil {
		x = x.parent
	}
	return x
}

// wrote checks a message: from who holds the attempt to one that is outstanding, of
// the same team, and of a question one answer.
func (o *oracle) wrote(x *execution, e *loomv1.Event, m *loomv1.Mail) {
	l := &letter{Mail: m, from: o.attempts[m.Attempt], to: o.attempts[m.To], heldFor: x.heldFor}
	m.Time = e.Time
	if l.to == nil || l.to.done {
		o.broken(36, "mail %s is to %s, which is not outstanding", m.Id, m.To)
		return
	}
	if m.Attempt != "" {
		o.fromClaimant(e)
		if l.from == nil || l.from.done || e.Attempt != m.Attempt {
			o.broken(36, "mail %s is from %s, which is not outstanding", m.Id, m.Attempt)
			return
		}
		if topOf(l.from.x) != topOf(l.to.x) {
			o.broken(36, "mail %s goes from %s to %s of another team", m.Id, m.Attempt, m.To)
		}
	}
	for _, old := range o.letters {
		if old.Id == m.Id || m.Attempt != "" && old.Attempt == m.Attempt && old.Call == m.Call && old.To == m.To {
			o.broken(36, "mail %s is sent again as %s", old.Id, m.Id)
		}
	}
	switch m.Kind {
	case loomv1.MailKind_MAIL_KIND_ANSWER:
		i := slices.IndexFunc(o.letters, func(q *letter) bool { return q.Id == m.Re && q.Kind == loomv1.MailKind_MAIL_KIND_QUESTION })
		switch {
		case i < 0:
			o.broken(36, "mail %s answers %q, which is no question", m.Id, m.Re)
			return
		case o.letters[i].answered:
			o.broken(36, "question %s is answered twice", m.Re)
		case o.letters[i].from != l.to:
			o.broken(36, "the answer to %s goes to %s", m.Re, m.To)
		case m.Attempt == "" && !o.letters[i].to.done && !o.letters[i].due(o.now):
			o.broken(36, "the runtime answers %s, and %s could", m.Re, o.letters[i].To)
		case m.Attempt != "" && o.letters[i].to != l.from:
			o.broken(36, "%s answers %s, which was asked of %s", m.Attempt, m.Re, o.letters[i].To)
		}
		o.letters[i].answered = true
		if m.Attempt == "" && !o.letters[i].to.done {
			o.w.see("mail: not answered in time")
		}
		o.w.see(map[bool]string{true: "mail: the runtime answers", false: "mail: answered"}[m.Attempt == ""])
	case loomv1.MailKind_MAIL_KIND_NEWS:
		o.w.see("mail: news")
	default:
		o.w.see("mail: " + team.Word(m.Kind))
	}
	o.letters = append(o.letters, l)
}

// hearsMail wants a message heard once, by who it is to.
func (o *oracle) hearsMail(e *loomv1.Event, s *loomv1.Said) {
	i := slices.IndexFunc(o.letters, func(l *letter) bool { return l.Id == s.Id })
	switch {
	case s.Kind == loomv1.MailKind_MAIL_KIND_UNSPECIFIED:
		return
	case i < 0:
		o.broken(36, "%s hears %s, which nobody wrote", e.Attempt, s.Id)
		return
	case o.letters[i].heard:
		o.broken(36, "mail %s is heard twice", s.Id)
	case o.letters[i].To != e.Attempt || o.letters[i].Text != s.Text:
		o.broken(36, "%s hears mail %s, which is to %s", e.Attempt, s.Id, o.letters[i].To)
	}
	o.letters[i].heard = true
	o.w.see("mail: heard")
}

// waitsForMail says whether an attempt has a question without an answer.
func (o *oracle) waitsForMail(a *attempt) bool {
	return slices.ContainsFunc(o.letters, func(l *letter) bool {
		return l.from == a && l.Kind == loomv1.MailKind_MAIL_KIND_QUESTION && !l.answered
	})
}

// asked says whether an attempt has been asked something that it has not heard.
func (o *oracle) isAsked(a *attempt) bool {
	return slices.ContainsFunc(o.letters, func(l *letter) bool {
		return l.to == a && l.Kind == loomv1.MailKind_MAIL_KIND_QUESTION && !l.heard && !l.from.done
	})
}

// parksForMail wants an attempt to wait for an answer that can come.
func (o *oracle) parksForMail(a *attempt, p *loomv1.AttemptParked) {
	if a.waitsMail = p.WaitsFor == workflow.WaitsForMail; a.waitsMail && !o.waitsForMail(a) {
		o.broken(36, "%s waits for an answer, and has asked nothing", a.id)
	}
	if len(a.awaits) > 0 || a.waitsMail {
		if o.circular(a) {
			o.broken(36, "%s begins to wait for itself, by way of others", a.id)
		}
	}
}

// stillMail wants no question to wait for who has ended; nobody for answers that are
// there, or for tasks while somebody asks; and nobody for themselves, by way of
// whomever: of those who wait, somebody can go on.
func (o *oracle) stillMail() {
	for _, l := range o.letters {
		if l.Kind != loomv1.MailKind_MAIL_KIND_QUESTION || l.answered || l.from.done {
			continue
		}
		if l.to.done {
			o.broken(36, "%s waits for an answer of %s, which has ended", l.Attempt, l.To)
		}
	}
	for _, a := range o.open {
		if a.waitsMail && !o.waitsForMail(a) {
			o.broken(36, "%s waits for answers that are there", a.id)
		}
		if len(a.awaits) > 0 && o.isAsked(a) {
			o.broken(36, "%s waits for tasks, and does not hear what it is asked", a.id)
		}
		if o.circular(a) {
			o.broken(36, "%s waits for itself by way of those it has asked", a.id)
		}
	}
}

// answersDue wants every question whose time is over to be answered, when no tick is
// due.
func (o *oracle) answersDue(now time.Time) {
	for _, l := range o.letters {
		if l.Kind == loomv1.MailKind_MAIL_KIND_QUESTION && !l.answered && !l.from.done && !o.held(l.from.x) && l.due(now) {
			o.broken(36, "%s waits for an answer of %s for longer than %s", l.Attempt, l.To, team.AnswerWithin)
		}
	}
}

// circular says whether an attempt can only go on when it has gone on. Whoever has
// asked does nothing before all is answered, parked or not; and whoever is asked stops
// waiting for tasks.
func (o *oracle) circular(from *attempt) bool {
	seen := map[*attempt]bool{}
	var reaches func(a *attempt) bool
	reaches = func(a *attempt) bool {
		if seen[a] {
			return false
		}
		seen[a] = true
		var next []*attempt
		for _, l := range o.letters {
			if l.from == a && l.Kind == loomv1.MailKind_MAIL_KIND_QUESTION && !l.answered {
				next = append(next, l.to)
			}
		}
		for _, b := range o.open {
			for _, bead := range a.awaits {
				if !o.isAsked(a) && strings.HasPrefix(b.id, o.tasks[bead].Execution+"-a") {
					next = append(next, b)
				}
			}
			if a.child != "" && strings.HasPrefix(b.id, a.child+"-a") {
				next = append(next, b)
			}
		}
		return slices.ContainsFunc(next, func(b *attempt) bool { return b == from || reaches(b) })
	}
	return reaches(from)
}
