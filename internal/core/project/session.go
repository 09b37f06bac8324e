package project

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of the sessions of patterns in a project.
const (
	maxSessions  = 64      // that go on
	keptSessions = 64      // that have ended; older ones are in the journal alone
	sessionMost  = 2 << 20 // bytes of what happened in one
)

// actInSession has a session decide a command of a person, or opens one. The session's
// facts are all that it leads to: what they mean to the rest of the project is in the
// table of reactions.
func (d *decision) actInSession(c *loomv1.ActInSession) (*loomv1.Answer, error) {
	if d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR && d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_CEO {
		return nil, fault.New("request/denied", "what is said in a session is the word of a person, and not of %s %q", Word(d.actor.GetKind()), d.actor.GetName())
	}
	if len(c.GetRequest()) > MaxKey {
		return nil, fault.New("intent/invalid", "a request id has at most %d bytes", MaxKey).At("request")
	}
	key, digest := d.requestKey(c.GetRequest(), c)
	if r, ok := d.s.p.Requests[key]; key != "" && ok {
		if r.Digest != digest {
			return nil, fault.New("submit/key-reused", "the request id was used for something else in session %s", r.Id).At("request")
		}
		return d.s.sessionAnswer(r.Id), nil
	}
	id, cmd := c.GetSession(), proto.CloneOf(c.GetCommand())
	if cmd == nil {
		return nil, fault.New("intent/invalid", "the command asks for nothing").At("command")
	}
	cmd.By, cmd.At = d.actor, d.at
	s := d.s.sessions[id]
	switch open := cmd.GetOpen(); {
	case id == "" && open != nil:
		if err := d.mayOpen(open, c.Inputs); err != nil {
			return nil, err
		}
		id, s = d.nextSession(), &intent.Session{}
		open.Id = id
	case s == nil:
		return nil, d.s.unknownSession(id)
	case cmd.GetAbort() == nil && proto.Size(d.s.p.Sessions[id]) > sessionMost:
		return nil, fault.New("intent/limit", "what happened in session %q has more than %d bytes", id, sessionMost).Want("abort it, and open another one")
	}
	facts, err := s.Decide(cmd)
	if err != nil {
		return nil, err
	}
	first := &loomv1.SessionAdvanced{Request: key, RequestDigest: digest, Inputs: c.Inputs}
	if err := d.advance(id, facts, first); err != nil {
		return nil, err
	}
	if err := d.catchUp(); err != nil { // what the runtime does next belongs to the answer
		return nil, err
	}
	return d.s.sessionAnswer(id), nil
}

// sealSession has a session decide the seal of the CEO, which a key has signed.
func (d *decision) sealSession(c *loomv1.SealSession) error {
	s := d.s.sessions[c.GetSession()]
	if s == nil {
		return d.s.unknownSession(c.GetSession())
	}
	facts, err := s.Decide(&loomv1.IntentCommand{By: d.actor, At: d.at, Body: &loomv1.IntentCommand_Seal{Seal: &loomv1.SealIntent{Digest: c.GetDigest()}}})
	if err != nil {
		return err
	}
	return d.advance(c.GetSession(), facts, nil)
}

// advance emits facts of a session; what the first of them says beside it may be given.
func (d *decision) advance(id string, facts []*loomv1.IntentFact, first *loomv1.SessionAdvanced) error {
	for _, f := range facts {
		e := &loomv1.SessionAdvanced{Session: id, Fact: f, Request: first.GetRequest(), RequestDigest: first.GetRequestDigest(), Inputs: first.GetInputs()}
		first = nil
		if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_SessionAdvanced{SessionAdvanced: e}}); err != nil {
			return err
		}
	}
	return nil
}

// mayOpen refuses a session that is one too many, or lacks what it starts from.
func (d *decision) mayOpen(o *loomv1.OpenSession, inputs []*loomv1.PreparedInput) error {
	open := 0
	for _, s := range d.s.sessions {
		if goesOn(s) {
			open++
		}
	}
	if open >= maxSessions {
		return fault.New("intent/limit", "%d sessions of project %q go on", open, d.s.cfg.ID).Want("end or abort one: loom pattern sessions")
	}
	if d.s.p.Config == nil {
		return UnknownProject(d.s.cfg.ID)
	}
	if _, err := processes.SessionWorkflow(o.GetPattern(), 1, d.s.cfg.Roles); err != nil {
		return fault.New("intent/invalid", "the pattern makes no sound workflow").At("pattern").Got(o.GetPattern().GetName()).Because(err)
	}
	return intent.CheckInputs(o.GetPattern(), inputs)
}

// nextSession returns the id of the next session. After a restore it carries the epoch,
// as those of beads do.
func (d *decision) nextSession() string {
	id := fmt.Sprintf("s%d", d.s.p.SessionCount+1)
	if d.s.cfg.Epoch > 1 {
		id += fmt.Sprintf("e%d", d.s.cfg.Epoch)
	}
	return id
}

func (s *State) unknownSession(id string) error {
	return fault.New("intent/unknown", "project %q has no such session", s.cfg.ID).At("session").Got(id).Want("one that \"loom pattern sessions\" lists")
}

// goesOn says whether a session is neither at its end nor aborted.
func goesOn(s *intent.Session) bool { return !s.Ended() && s.Aborted() == nil }

// applySession folds a fact of a session.
func (s *State) applySession(e *loomv1.Event) error {
	f := e.GetSessionAdvanced()
	r, on := s.p.Sessions[f.Session], s.sessions[f.Session]
	switch opens := f.GetFact().GetOpened() != nil; {
	case opens && r != nil:
		return fmt.Errorf("session %q is opened twice", f.Session)
	case opens:
		r, on = &loomv1.SessionRecord{Id: f.Session, Inputs: f.Inputs}, &intent.Session{}
	case r == nil:
		return fmt.Errorf("a fact of session %q, which was never opened", f.Session)
	}
	if err := on.Apply(f.GetFact()); err != nil {
		return err
	}
	if f.Fact.GetOpened() != nil {
		s.p.Sessions[f.Session], s.sessions[f.Session] = r, on
		s.p.SessionCount++
	}
	r.Facts = append(withoutDraft(r.Facts, f.Fact), f.Fact)
	s.reholdBead(r.Bead, e.Time)
	if !goesOn(on) {
		s.forgetSessions()
	}
	return nil
}

// withoutDraft returns facts without the envelope in whose place another one is shown
// before its seal: it has all that was answered, and the journal has it.
func withoutDraft(facts []*loomv1.IntentFact, next *loomv1.IntentFact) []*loomv1.IntentFact {
	if next.GetDrafted() == nil {
		return facts
	}
	for i, f := range slices.Backward(facts) {
		switch {
		case f.GetSealed() != nil || f.GetRevised() != nil || f.GetResumed() != nil:
			return facts
		case f.GetDrafted() != nil:
			return slices.Concat(facts[:i], facts[i+1:])
		}
	}
	return facts
}

// forgetSessions keeps the newest of the sessions that have ended.
func (s *State) forgetSessions() {
	var over []string
	for _, id := range s.sessionIDs() {
		if !goesOn(s.sessions[id]) {
			over = append(over, id)
		}
	}
	for _, id := range over[min(len(over), keptSessions):] {
		delete(s.p.Sessions, id)
		delete(s.sessions, id)
	}
}

// restoreSessions folds the sessions of a snapshot.
func (s *State) restoreSessions() error {
	for id, r := range s.p.Sessions {
		on := &intent.Session{}
		for _, f := range r.Facts {
			if err := on.Apply(f); err != nil {
				return err
			}
		}
		s.sessions[id] = on
	}
	return nil
}

// sessionIDs are those of all sessions, the newest first.
func (s *State) sessionIDs() []string {
	return slices.SortedFunc(maps.Keys(s.sessions), func(a, b string) int {
		return cmp.Or(cmp.Compare(sessionNumber(b), sessionNumber(a)), cmp.Compare(b, a))
	})
}

func sessionNumber(id string) int {
	n, _ := beadNumber(strings.TrimPrefix(id, "s"))
	return n
}

// The filters of the view of sessions.
const (
	openSessions  = "open"
	endedSessions = "ended"
)

// lookSessions lists sessions, or shows one with all that happened in it.
func (s *State) lookSessions(out *loomv1.View, q *loomv1.Query, limit int) error {
	if q.Id != "" {
		if s.sessions[q.Id] == nil {
			return s.unknownSession(q.Id)
		}
		v := s.viewSession(q.Id)
		v.Facts, v.Definition = s.p.Sessions[q.Id].Facts, s.sessions[q.Id].Pattern()
		out.Sessions = []*loomv1.PatternSession{proto.CloneOf(v)}
		return nil
	}
	switch q.Filter {
	case "", openSessions, endedSessions:
	default:
		return fault.New("usage/argument", "no such filter of sessions").At("filter").Got(q.Filter).Want("%s or %s", openSessions, endedSessions)
	}
	for _, id := range s.sessionIDs() {
		if q.Filter != "" && goesOn(s.sessions[id]) != (q.Filter == openSessions) || q.After != "" && sessionNumber(id) >= sessionNumber(q.After) {
			continue
		}
		if len(out.Sessions) == limit {
			out.Next = out.Sessions[limit-1].Id
			return nil
		}
		out.Sessions = append(out.Sessions, s.listedSession(id))
	}
	return nil
}

// listedSession is a session with what it takes to choose one of a list.
func (s *State) listedSession(id string) *loomv1.PatternSession {
	v := s.viewSession(id)
	v.Answers, v.Struck, v.Shown, v.Envelope, v.Inputs = nil, nil, nil, nil, nil
	return proto.CloneOf(v)
}

// sessionsThatWait are those that wait for a person, the newest first.
func (s *State) sessionsThatWait() (list []*loomv1.PatternSession) {
	for _, id := range s.sessionIDs() {
		if s.sessions[id].Waits() {
			list = append(list, s.listedSession(id))
		}
	}
	return list
}

func (s *State) sessionAnswer(id string) *loomv1.Answer {
	return &loomv1.Answer{Body: &loomv1.Answer_Session{Session: proto.CloneOf(s.viewSession(id))}}
}

// viewSession tells how a session stands, nil for one that is forgotten. The messages in
// it are the session's own.
func (s *State) viewSession(id string) *loomv1.PatternSession {
	on, r := s.sessions[id], s.p.Sessions[id]
	if on == nil {
		return nil
	}
	first, last := r.Facts[0], r.Facts[len(r.Facts)-1]
	v := &loomv1.PatternSession{
		Id: id, Project: s.cfg.ID, Pattern: on.Pattern().GetName(), Request: first.GetOpened().GetRequest(), Phase: on.Phase(),
		Question: on.Pending(), Answers: on.Answers(), Struck: on.Struck(), Shown: on.Shown(), Findings: on.Findings(), Tempo: on.Tempo(),
		Running: on.Running(), Stopped: on.Stopped(), Unmet: on.Unmet(), Gaps: on.Gaps(), Aborted: on.Aborted(), Ended: on.Ended(),
		OpenedAt: first.At, OpenedBy: first.By, ChangedAt: last.At, Inputs: r.Inputs, Bead: r.Bead,
	}
	if envelope, seal, sealed := on.Sealed(); sealed {
		v.Envelope, v.Seal = envelope, seal
	}
	for _, asked := range s.index.asking {
		if r.Bead != "" && s.p.Approvals[asked].Bead == r.Bead {
			v.Asked = append(v.Asked, asked)
		}
	}
	return v
}
