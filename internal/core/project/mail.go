package project

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A team is all executions that work for one that works for no other, its top. What
// its members have written to each other is kept by the id of that.

// maxMembers is how many others a member is told of.
const maxMembers = 24

// top returns the execution at the top of the team that x belongs to.
func (s *State) top(x *loomv1.Execution) *loomv1.Execution {
	for range MaxNested {
		up := s.execution(x.GetParent())
		if up == nil {
			break
		}
		x = up
	}
	return x
}

// mail returns what the team of x has written, or nil.
func (s *State) mail(x *loomv1.Execution) *loomv1.Team { return s.p.Teams[s.top(x).GetId()] }

// members returns the attempts of the team of top that agents work on or will, the
// oldest first.
func (s *State) members(top *loomv1.Execution) []*loomv1.Attempt {
	list := s.workOf(top)
	slices.SortFunc(list, func(a, b *loomv1.Attempt) int {
		return cmp.Or(a.DispatchedAt.AsTime().Compare(b.DispatchedAt.AsTime()), strings.Compare(a.Id, b.Id))
	})
	return list
}

// workOf returns those of x and of all that works for it, in any order.
func (s *State) workOf(x *loomv1.Execution) (list []*loomv1.Attempt) {
	if !running(x) {
		return nil
	}
	for _, a := range outstanding(x) {
		if !workflow.OfProcess(a) {
			list = append(list, a)
		}
	}
	for _, a := range attemptsOf(x) {
		helpers := []string{a.GetChild()}
		for _, t := range a.GetTasks() {
			helpers = append(helpers, t.Execution)
		}
		for _, id := range helpers {
			if !s.open[id] {
				continue
			}
			if c := s.execution(id); c.GetParent() == x.Id { // a fork has the history of another
				list = append(list, s.workOf(c)...)
			}
		}
	}
	return list
}

// teamView returns what an attempt's agent knows of its team, or nil where there is
// nobody else and never was.
func (s *State) teamView(x *loomv1.Execution, a *loomv1.Attempt) *loomv1.TeamView {
	top := s.top(x)
	t := s.p.Teams[top.Id]
	v := &loomv1.TeamView{Bead: top.Bead, Log: slices.Clone(t.GetLog())}
	for _, m := range s.members(top) {
		if m.Id != a.Id && len(v.Members) < maxMembers {
			of, _ := s.attempt(m.Id)
			v.Members = append(v.Members, &loomv1.TeamMember{
				Role: m.Role, Agent: m.Claimant.GetAgent(), Bead: of.Bead, Goal: cut(oneLine(s.bead(of.Bead).GetGoal()), 120),
			})
		}
	}
	for _, m := range team.Unheard(t, a.Id) {
		v.Mail = append(v.Mail, team.Said(m))
	}
	if t == nil && len(v.Members) == 0 && top == x {
		return nil
	}
	return v
}

// unheard returns what an attempt should hear next: from people, then mail.
func (s *State) unheard(x *loomv1.Execution, a *loomv1.Attempt) []*loomv1.Said {
	list := workflow.Unheard(x, a.Node)
	for _, m := range team.Unheard(s.mail(x), a.Id) {
		list = append(list, team.Said(m))
	}
	return list
}

// writeMail carries out a call that writes to members of the attempt's team, or
// answers one. The same call again writes nothing.
func (d *decision) writeMail(x *loomv1.Execution, a *loomv1.Attempt, call string, w *loomv1.WriteMail) (*loomv1.TeamReply, error) {
	wrote, written := team.Written(d.s.mail(x), a.Id, call)
	if len(wrote) > 0 {
		return d.s.aboutMail(wrote), nil
	}
	if err := team.CheckMail(w, written); err != nil {
		return nil, err
	}
	if team.IsMailID(w.To) {
		return d.answerMail(x, a, call, w)
	}
	to, err := d.s.addressees(x, a, w)
	if err != nil {
		return nil, err
	}
	kind := loomv1.MailKind_MAIL_KIND_NOTE
	if w.Ask {
		kind = loomv1.MailKind_MAIL_KIND_QUESTION
	}
	for _, m := range to {
		mail := &loomv1.Mail{Kind: kind, From: writer(a), Bead: x.Bead, Attempt: a.Id, Call: call, To: m.Id, Role: m.Role, Text: plain(w.Text)}
		if w.Ask {
			mail.Until = timestamppb.New(d.now.Add(team.AnswerWithin))
		}
		if err := d.send(mail); err != nil {
			return nil, err
		}
	}
	if w.Ask { // whoever waits for tasks or people hears it now; else they could wait for each other
		asked := to[0].Id
		for _, waitsFor := range []string{workflow.WaitsForTeam, workflow.WaitsForPeople} {
			d.later(func() error { return d.wake(asked, waitsFor) })
		}
	}
	wrote, _ = team.Written(d.s.mail(x), a.Id, call)
	return d.s.aboutMail(wrote), nil
}

// addressees returns the attempts that a message is for: the members with that role
// or agent, or those that work on that bead. A question goes to the first of them
// that can answer: not to one that waits for the asker's answer, by way of whomever,
// nor to one that no live agent works on. Whoever waits for tasks alone can: being
// asked, it goes on.
func (s *State) addressees(x *loomv1.Execution, a *loomv1.Attempt, w *loomv1.WriteMail) ([]*loomv1.Attempt, error) {
	var to, circle, alone []*loomv1.Attempt
	var names []string
	for _, m := range s.members(s.top(x)) {
		of, _ := s.attempt(m.Id)
		if m.Id == a.Id {
			continue
		}
		names = append(names, m.Role, of.Bead)
		switch {
		case w.To != m.Role && w.To != m.Claimant.GetAgent() && w.To != of.Bead:
		case len(team.Unheard(s.mail(x), m.Id)) >= team.MaxUnheard:
			return nil, fault.New("team/full", "%s has not heard %d messages yet", s.memberName(m), team.MaxUnheard).At("to").Want("go on without, or write later")
		case w.Ask && s.reaches(s.answerers(m), a.Id):
			circle = append(circle, m)
		case w.Ask && s.unattended(m):
			alone = append(alone, m)
		default:
			to = append(to, m)
		}
	}
	switch {
	case len(to) == 0 && len(circle) > 0:
		return nil, fault.New("team/deadlock", "%s waits for you: neither could go on", s.memberName(circle[0])).At("to").Got(w.To).
			Want("answer what you were asked first, or decide it yourself")
	case len(to) == 0 && len(alone) > 0:
		return nil, fault.New("team/unknown", "no agent of role %s is there to answer", alone[0].Role).At("to").Got(w.To).
			Want("go on without, or leave a note")
	case len(to) == 0 && len(names) == 0:
		return nil, fault.New("team/unknown", "nobody else is in your team now").At("to").Got(w.To)
	case len(to) == 0:
		slices.Sort(names)
		return nil, fault.New("team/unknown", "nobody in your team has this role or name, or works on this bead").At("to").Got(w.To).
			Want("%s", suggest.Among(w.To, slices.Compact(names)))
	case w.Ask:
		return to[:1], nil
	}
	return to, nil
}

// memberName is how others call a member.
func (s *State) memberName(a *loomv1.Attempt) string {
	x, _ := s.attempt(a.Id)
	return fmt.Sprintf("%s (%s)", cmp.Or(a.Claimant.GetAgent(), a.Role), x.GetBead())
}

// answerMail answers a question that the attempt was asked, and has who asked go on.
func (d *decision) answerMail(x *loomv1.Execution, a *loomv1.Attempt, call string, w *loomv1.WriteMail) (*loomv1.TeamReply, error) {
	q := team.FindMail(d.s.mail(x), w.To)
	switch {
	case q == nil || q.To != a.Id || q.Kind != loomv1.MailKind_MAIL_KIND_QUESTION || q.WriterEnded:
		return nil, fault.New("team/unknown", "no question to you has this id, or nobody waits for its answer any more").At("to").Got(w.To)
	case q.Answer != nil:
		return nil, fault.New("team/answered", "the question is answered already").At("to").Got(w.To)
	}
	err := d.send(&loomv1.Mail{
		Kind: loomv1.MailKind_MAIL_KIND_ANSWER, From: writer(a), Bead: x.Bead, Attempt: a.Id, Call: call, To: q.Attempt, Role: roleOfAgent(q.From), Re: q.Id, Text: plain(w.Text),
	})
	if err != nil {
		return nil, err
	}
	wrote, _ := team.Written(d.s.mail(x), a.Id, call)
	return d.s.aboutMail(wrote), nil
}

// writer is who writes at an attempt.
func writer(a *loomv1.Attempt) *loomv1.Identity {
	return &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: name(a.Claimant)}
}

// roleOfAgent is the role of an agent, of "ROLE/N@HOST".
func roleOfAgent(who *loomv1.Identity) string {
	role, _, _ := strings.Cut(who.GetName(), "/")
	return role
}

// send puts a message into the box of its reader. An answer has who asked go on, if
// it waits for no other.
func (d *decision) send(m *loomv1.Mail) error {
	x, a := d.s.attempt(cmp.Or(m.Attempt, m.To))
	top := d.s.top(x)
	m.Id = team.MailID(top.Id, d.s.p.Teams[top.Id])
	defer d.about(x)()
	if a != nil && m.Attempt != "" {
		d.node, d.attempt = a.Node, a.Id
	}
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_MailSent{MailSent: &loomv1.MailSent{Mail: m}}}); err != nil {
		return err
	}
	if m.Kind == loomv1.MailKind_MAIL_KIND_ANSWER {
		d.later(func() error {
			if len(team.Asked(d.s.mail(x), m.To)) > 0 {
				return nil
			}
			return d.wake(m.To, workflow.WaitsForMail)
		})
	}
	return nil
}

// wake queues an attempt again that is parked for that.
func (d *decision) wake(attempt, parked string) error {
	x, a := d.s.attempt(attempt)
	if a == nil || a.Parked != parked || !running(x) {
		return nil
	}
	defer d.about(x)()
	return d.run(x).Unpark(attempt)
}

// aboutMail is what a call is told of the messages that it wrote.
func (s *State) aboutMail(wrote []*loomv1.Mail) *loomv1.TeamReply {
	r := &loomv1.TeamReply{}
	for _, m := range wrote {
		name := m.Role
		if _, a := s.attempt(m.To); a != nil {
			name = s.memberName(a)
		}
		r.Reached = append(r.Reached, name)
		if m.Kind == loomv1.MailKind_MAIL_KIND_QUESTION {
			r.Waits, r.Answered, r.Answer = m.Answer == nil, m.Answered, m.Answer.GetText()
		}
	}
	return r
}

// unattended reports whether an attempt is queued for a role that no live agent
// works in.
func (s *State) unattended(a *loomv1.Attempt) bool {
	_, absent := s.absent(a.Role)
	return absent && a.Claimant == nil && a.Parked == ""
}

// Who waits for whom is a graph without cycles: an attempt waits for those that it has
// asked, whether it is parked or not, since it does nothing before it has all answers;
// and while it is parked for tasks, for those who work on these. A question or a wait
// that would close a cycle is not taken: see addressees and interrupted. So of those
// who wait, somebody waits for nobody, and can go on.

// reaches reports whether an attempt is in a list, or somebody there waits for it, by
// way of whomever.
func (s *State) reaches(list []*loomv1.Attempt, attempt string) bool {
	seen := map[string]bool{}
	for len(list) > 0 {
		a := list[0]
		list = list[1:]
		if a.Id == attempt {
			return true
		}
		if !seen[a.Id] {
			seen[a.Id] = true
			list = append(list, s.awaited(a)...)
		}
	}
	return false
}

// awaited returns the attempts that one waits for.
func (s *State) awaited(a *loomv1.Attempt) []*loomv1.Attempt {
	list := s.answerers(a)
	switch {
	case workflow.OfProcess(a):
		list = append(list, outstandingOf(s.execution(a.Child))...)
	case a.Parked == workflow.WaitsForTeam:
		list = append(list, s.workers(a, a.Awaits)...)
	}
	return list
}

// answerers returns the attempts that one has asked and that have not answered.
func (s *State) answerers(a *loomv1.Attempt) (list []*loomv1.Attempt) {
	x, _ := s.attempt(a.Id)
	for _, q := range team.Asked(s.mail(x), a.Id) {
		if _, asked := s.attempt(q.To); asked != nil {
			list = append(list, asked)
		}
	}
	return list
}

// workers returns the attempts at the tasks of a with these beads.
func (s *State) workers(a *loomv1.Attempt, beads []string) (list []*loomv1.Attempt) {
	for _, bead := range team.Open(a.Tasks, beads) {
		list = append(list, outstandingOf(s.execution(team.Find(a.Tasks, bead).Execution))...)
	}
	return list
}

func outstandingOf(x *loomv1.Execution) []*loomv1.Attempt {
	if !running(x) {
		return nil
	}
	return outstanding(x)
}

// interrupted says why an attempt must not wait for tasks now: it has been asked
// something that it has not heard, or somebody at one of the tasks waits for it.
func (s *State) interrupted(x *loomv1.Execution, a *loomv1.Attempt, awaits []string) (unheard bool, by *loomv1.Attempt) {
	for _, m := range team.Unheard(s.mail(x), a.Id) {
		if m.Kind == loomv1.MailKind_MAIL_KIND_QUESTION && !m.WriterEnded {
			return true, nil
		}
	}
	for _, b := range s.workers(a, awaits) {
		if s.reaches([]*loomv1.Attempt{b}, a.Id) {
			return false, b
		}
	}
	return false, nil
}

// followMail answers the questions that an attempt leaves open as it ends.
func (d *decision) followMail(e *loomv1.Event) {
	x := d.s.execution(e.Execution)
	open := team.AskedOf(d.s.mail(x), e.Attempt)
	if len(open) == 0 {
		return
	}
	why := "it ended without an answer"
	if o := e.GetAttemptEnded().GetOutcome(); o.GetSummary() != "" {
		why += ": " + o.Summary
	}
	for _, q := range open {
		d.later(func() error {
			if still := team.FindMail(d.s.mail(x), q.Id); still == nil || still.Answer != nil {
				return nil // who asked has ended as well
			}
			return d.send(&loomv1.Mail{
				Kind: loomv1.MailKind_MAIL_KIND_ANSWER, To: q.Attempt, Role: roleOfAgent(q.From), Re: q.Id, Text: cut(q.Role+": "+why, team.MaxMail),
			})
		})
	}
}

// answersDue returns when the first question of an execution runs out of time.
func (s *State) answersDue(x *loomv1.Execution) (at time.Time, ok bool) {
	for _, q := range s.questionsOf(x) {
		if due := q.Until.AsTime(); !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}

// questionsOf returns the questions of an execution's attempts that have no answer.
func (s *State) questionsOf(x *loomv1.Execution) (list []*loomv1.Mail) {
	t := s.mail(x)
	if len(t.GetMail()) == 0 {
		return nil
	}
	for _, a := range outstanding(x) {
		list = append(list, team.Asked(t, a.Id)...)
	}
	return list
}

// lapseQuestions answers the questions of an execution whose time is over.
func (d *decision) lapseQuestions(x *loomv1.Execution) error {
	for _, q := range d.s.questionsOf(x) {
		if d.now.Before(q.Until.AsTime()) {
			continue
		}
		why := fmt.Sprintf("%s: it has not answered within %s", q.Role, team.AnswerWithin)
		if err := d.send(&loomv1.Mail{
			Kind: loomv1.MailKind_MAIL_KIND_ANSWER, To: q.Attempt, Role: roleOfAgent(q.From), Re: q.Id, Text: why,
		}); err != nil {
			return err
		}
	}
	return nil
}

// followTrouble tells who gave a task that it is begun again, or what of it failed.
func (d *decision) followTrouble(e *loomv1.Event) {
	x := d.s.execution(e.Execution)
	var what string
	switch f := e.Fact.(type) {
	case *loomv1.Event_ClaimReleased:
		switch {
		case f.ClaimReleased.Crash != "":
			what = "its agent crashed, and another goes on: " + f.ClaimReleased.Crash
		case f.ClaimReleased.HostLost:
			what = "its agent's host is gone, and another goes on"
		}
	case *loomv1.Event_AttemptEnded:
		if o := f.AttemptEnded.GetOutcome(); o.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE {
			what = "an attempt failed: " + cmp.Or(o.Summary, o.Code)
		}
	case *loomv1.Event_ApprovalDecided:
		if a := d.s.approval(f.ApprovalDecided.Approval); a.GetPermission() != nil && a.Decision == loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT {
			what = "it was refused to call " + a.Permission.Tool
		}
	}
	if what == "" || x.GetParentAttempt() == "" || d.s.bead(x.Bead).GetDelegation() == nil {
		return
	}
	d.later(func() error {
		up, lead := d.s.attempt(x.ParentAttempt)
		if lead == nil || !running(up) || !running(x) || len(team.Unheard(d.s.mail(up), lead.Id)) >= team.MaxUnheard {
			return nil // the log has it
		}
		return d.send(&loomv1.Mail{
			Kind: loomv1.MailKind_MAIL_KIND_NEWS, Bead: x.Bead, To: lead.Id, Role: lead.Role, Text: cut(oneLine(plain("task "+x.Bead+": "+what)), 4*maxReason),
		})
	})
}

// applyTeam folds what a team keeps, as long as its top works.
func (s *State) applyTeam(e *loomv1.Event) error {
	x := s.execution(e.Execution)
	if x == nil {
		return nil // a lock's fact, or another that is of no execution
	}
	if e.GetExecutionEnded() != nil {
		delete(s.p.Teams, x.Id)
		return nil
	}
	id := s.top(x).Id
	t := s.p.Teams[id]
	if t == nil {
		t = &loomv1.Team{}
		if e.GetMailSent() != nil || e.GetTaskGiven() != nil {
			s.p.Teams[id] = t
		}
	}
	if err := team.Apply(t, e); err != nil {
		return err
	}
	s.rearm(x) // a question has a time, and its answer ends it
	if asker, _ := s.attempt(e.GetMailSent().GetMail().GetTo()); asker != nil {
		s.rearm(asker)
	}
	return nil
}
