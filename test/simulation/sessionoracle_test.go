package simulation

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// session is what the oracle knows of a session of a pattern: from events alone.
type session struct {
	id, bead, interview string
	beads               []string // all that worked for it
	pattern             *loomv1.Pattern
	inputs              []*loomv1.PreparedInput
	phase               loomv1.LifecyclePhase
	back                bool // the next phase is that of a revision or resumption

	question *loomv1.QuestionAsked // that waits
	asksOwn  bool                  // the pattern asks
	noModel  bool
	answers  []*loomv1.IntentAnswer
	struck   map[uint32]bool
	shown    *loomv1.IntentDrafted
	seen     string            // digest of an envelope that was shown once
	digest   string            // of the sealed envelope, "" for none
	sealed   map[string][]byte // all that were, by digest
	replaces string
	confirm  bool // a rerun shows the sealed one again
	judged   bool // by META validation
	passed   bool

	means    int64 // micro-dollars that are held back for it
	named    bool  // roles are named
	prepared bool

	afterLast bool // it was taken up after its last step

	running      *loomv1.StepStarted
	step         uint32 // of the newest run
	runs         uint32
	begunBy      map[uint32]string // digest of the envelope that held, by run
	failed       bool
	stopped      bool
	mayGoOn      bool // after the newest run, without a person
	tempo        loomv1.Tempo
	said         []*loomv1.Steered
	tookBack     uint32 // run during which something was taken back
	failing      bool   // what was judged did not come to its place
	active       map[string]bool
	outputs      blobs // of finished steps
	checkedFiles blobs // as the completion check has judged them
	unmet        []string
	gaps         []string
	delivered    *loomv1.DeliverOutputs
	filed        []string // beads of gaps

	abort      *loomv1.AbortPattern
	aborted    *loomv1.PatternAborted
	owesRecord bool     // memory has to have it at the end of the command
	records    []string // entries of memory
	owesFlush  bool
	ended      bool
	tried      int // steps that failed, choices and revisions, while all is calm
}

// waits says whether a session waits for a person.
func (s *session) waits() bool {
	return s.goesOn() && (s.question != nil || s.phase == intent.Capture || s.phase == intent.Meta && s.judged && !s.passed || s.stopped || len(s.unmet) > 0)
}

func (s *session) goesOn() bool { return !s.ended && s.aborted == nil }

// holds says whether nothing of an execution may begin because its session waits.
func (s *session) holds(x *execution) bool {
	return s != nil && s.bead == x.bead && s.running == nil && (s.phase < intent.Completion || len(s.unmet) > 0)
}

// follows are the phases that may come after each, of themselves.
var nextPhases = map[loomv1.LifecyclePhase][]loomv1.LifecyclePhase{
	0: {intent.Primacy}, intent.Primacy: {intent.Capture}, intent.Capture: {intent.Meta}, intent.Meta: {intent.Activation},
	intent.Activation: {intent.Inputs}, intent.Inputs: {intent.Execution, intent.Completion}, intent.Execution: {intent.Steering},
	intent.Steering: {intent.Execution, intent.Completion}, intent.Completion: {intent.Delivery, intent.Execution},
	intent.Delivery: {intent.Memory}, intent.Memory: {intent.Reintegration},
}

// sawSession checks a fact of a session.
func (o *oracle) sawSession(e *loomv1.Event) {
	a := e.GetSessionAdvanced()
	s, f := o.sessions[a.Session], a.Fact
	if f.GetOpened() != nil {
		if s != nil {
			o.broken(47, "session %s is opened twice", a.Session)
		}
		s = &session{
			id: a.Session, pattern: f.GetOpened().Pattern, inputs: a.Inputs, noModel: f.GetOpened().WithoutModel, struck: map[uint32]bool{},
			sealed: map[string][]byte{}, begunBy: map[uint32]string{}, active: map[string]bool{}, outputs: blobs{},
		}
		o.sessions[s.id], o.talked = s, append(o.talked, s)
		o.onlyPerson(s, f, "a session is opened")
		o.w.see("session opened")
	}
	if s == nil {
		o.broken(2, "a fact of session %s, which was never opened", a.Session)
		return
	}
	if key := a.Request; key != "" {
		if o.words[key] {
			o.broken(7, "what was said in session %s is done twice", s.id)
		}
		o.words[key] = true
	}
	switch {
	case s.ended:
		o.broken(51, "%T in session %s, which has ended", f.Fact, s.id)
	case s.aborted != nil && f.GetFlushed() == nil && f.GetResumed() == nil:
		o.broken(51, "%T in session %s, which was aborted", f.Fact, s.id)
	case s.owesFlush && f.GetFlushed() == nil:
		o.broken(48, "%T in session %s, whose own memory is to be emptied first", f.Fact, s.id)
	}
	if !slices.Contains(o.touched, s) {
		o.touched = append(o.touched, s)
	}
	switch {
	case !o.sawPrimacy(s, f) && !o.sawSteps(s, f):
		o.sawEnding(s, f)
	}
	o.rehold()
}

// onlyPerson wants what only a person may say to be said by one.
func (o *oracle) onlyPerson(s *session, f *loomv1.IntentFact, what string) {
	if k := f.By.GetKind(); k != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR && k != loomv1.IdentityKind_IDENTITY_KIND_CEO {
		o.broken(50, "in session %s %s by %s", s.id, what, f.By)
	}
}

// sawPrimacy checks facts of primacy and of the envelope.
func (o *oracle) sawPrimacy(s *session, f *loomv1.IntentFact) bool {
	switch g := f.Fact.(type) {
	case *loomv1.IntentFact_Opened, *loomv1.IntentFact_Refused, *loomv1.IntentFact_Withheld:
	case *loomv1.IntentFact_Entered:
		o.entered(s, g.Entered)
	case *loomv1.IntentFact_Asked:
		if s.phase != intent.Primacy || s.question != nil {
			o.broken(47, "session %s asks in phase %s, beside %v", s.id, intent.PhaseName(s.phase), s.question)
		}
		s.question = g.Asked
	case *loomv1.IntentFact_PatternAsks:
		s.asksOwn = true
	case *loomv1.IntentFact_Answered:
		o.onlyPerson(s, f, "a question is answered")
		if s.answers = append(s.answers, g.Answered); s.question != nil && g.Answered.Question == s.question.Text {
			s.question = nil
		}
	case *loomv1.IntentFact_Passed:
		s.question = nil
	case *loomv1.IntentFact_Struck:
		if s.phase != intent.Primacy && s.phase != intent.Capture {
			o.broken(46, "an answer in session %s is struck after the seal", s.id)
		}
		s.struck[g.Struck.Number] = !g.Struck.Restore
		o.w.see("an answer is struck")
	case *loomv1.IntentFact_Drafted:
		o.drafted(s, g.Drafted)
	case *loomv1.IntentFact_Sealed:
		o.sealed(s, f)
	case *loomv1.IntentFact_Revised:
		o.onlyPerson(s, f, "the intent is revised")
		o.w.see("session revised")
		s.replaces, s.digest, s.judged, s.passed, s.asksOwn, s.back = s.digest, "", false, false, false, true
		s.stopped, s.failed, s.unmet, s.said, s.outputs, s.owesFlush = false, false, nil, nil, blobs{}, true
		s.named, s.prepared, s.step, s.mayGoOn = false, false, 0, true
		s.try(o.w)
	default:
		return false
	}
	return true
}

// try counts what goes in circles while all is calm.
func (s *session) try(w *world) {
	if w.calm {
		s.tried++
	}
}

// entered wants phases in the order of the lifecycle, each with what it needs.
func (o *oracle) entered(s *session, f *loomv1.LifecycleEntered) {
	to := f.Phase
	o.w.see("phase " + intent.PhaseName(to))
	order := slices.Contains(nextPhases[s.phase], to) || s.back && (to == intent.Primacy || to == intent.Capture || to == intent.Meta || to == intent.Completion)
	switch {
	case !order:
		o.broken(47, "session %s enters %s after %s", s.id, intent.PhaseName(to), intent.PhaseName(s.phase))
	case to >= intent.Meta && (s.digest == "" || s.confirm):
		o.broken(47, "session %s enters %s, and its intent is not sealed", s.id, intent.PhaseName(to))
	case to >= intent.Activation && !s.passed:
		o.broken(47, "session %s enters %s, and META validation has not passed", s.id, intent.PhaseName(to))
	case to >= intent.Inputs && !s.named, to >= intent.Execution && !s.prepared:
		o.broken(47, "session %s enters %s before what it needs is there", s.id, intent.PhaseName(to))
	case to == intent.Completion && !s.back && s.failed, to >= intent.Steering && s.running != nil:
		o.broken(47, "session %s enters %s after a step that has not done its work", s.id, intent.PhaseName(to))
	case to == intent.Completion && s.phase == intent.Inputs && !s.afterLast:
		o.broken(47, "session %s enters %s, and no step has run since it was taken up", s.id, intent.PhaseName(to))
	case to == intent.Delivery && len(s.unmet) > 0 && !s.failing:
		o.broken(47, "session %s enters %s, and %v is not met", s.id, intent.PhaseName(to), s.unmet)
	case to == intent.Memory && s.delivered == nil:
		o.broken(47, "session %s enters %s, and nothing is delivered", s.id, intent.PhaseName(to))
	}
	s.phase, s.back = to, false
	if to == intent.Delivery {
		s.unmet = nil
	}
	if to == intent.Steering {
		if s.stopped = f.Waits; !f.Waits && s.abort == nil && !s.mayGoOn {
			o.broken(54, "session %s does not stop after step %d", s.id, s.step)
		}
	} else {
		s.stopped = false
	}
}

// drafted wants an envelope of words that the person has said, and that holds.
func (o *oracle) drafted(s *session, f *loomv1.IntentDrafted) {
	e := f.Envelope
	switch {
	case s.phase != intent.Capture:
		o.broken(47, "session %s shows an envelope in phase %s", s.id, intent.PhaseName(s.phase))
	case f.Digest != intent.Digest(e):
		o.broken(46, "session %s shows an envelope under another digest", s.id)
	case s.confirm && f.Digest != s.digest:
		o.broken(46, "session %s is run again, and shows another envelope than was sealed", s.id)
	case !s.confirm && e.Supersedes != s.replaces:
		o.broken(46, "session %s shows an envelope that supersedes %q, and %q was sealed before", s.id, e.Supersedes, s.replaces)
	}
	for _, field := range intent.Fields {
		for _, q := range intent.Quotations(e, field) {
			n := int(q.Answer)
			if n < 1 || n > len(s.answers) || !s.confirm && s.struck[q.Answer] || !strings.Contains(s.answers[n-1].Text, q.Text) {
				o.broken(46, "session %s shows %q about %s, which nobody has said in answer %d", s.id, q.Text, intent.FieldName(field), q.Answer)
			}
		}
	}
	s.shown, s.question = f, nil
	if s.seen == "" {
		s.seen = f.Digest
	}
}

// sealed wants the seal of a person on what was shown last, and none in its place but
// through primacy.
func (o *oracle) sealed(s *session, f *loomv1.IntentFact) {
	seal := f.GetSealed()
	o.onlyPerson(s, &loomv1.IntentFact{By: seal.By}, "an intent is sealed")
	switch {
	case s.phase != intent.Capture || s.shown == nil || seal.Digest != s.shown.Digest:
		o.broken(46, "session %s is sealed with %s, and %s was shown", s.id, seal.Digest, s.shown.GetDigest())
		return
	case s.digest != "" && !s.confirm:
		o.broken(46, "session %s is sealed twice", s.id)
	}
	s.digest, s.confirm, s.judged, s.passed = seal.Digest, false, false, false
	s.sealed[s.digest] = canonical(s.shown.Envelope)
	o.w.see("session sealed")
}

func canonical(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// sameEnvelope wants an envelope that somebody is shown to be one that was sealed.
func (o *oracle) sameEnvelope(s *session, e *loomv1.IntentEnvelope, digest, who string) {
	if was := s.sealed[digest]; was == nil || !bytes.Equal(was, canonical(e)) {
		o.broken(46, "%s is shown another envelope of session %s than was sealed", who, s.id)
	}
}

// answeredSession checks what an operator is shown of a session.
func (o *oracle) answeredSession(v *loomv1.PatternSession) {
	s := o.sessions[v.GetId()]
	switch {
	case s == nil:
		o.broken(1, "session %q was acknowledged, which the journal does not have", v.GetId())
	case v.Seal != nil:
		o.sameEnvelope(s, v.Envelope, v.Seal.Digest, "the operator")
	}
}

// briefed checks what an agent is told of the session that it works for.
func (o *oracle) briefed(b *loomv1.Brief) {
	st := b.Step
	s := o.sessions[st.GetSession()]
	if s == nil {
		return
	}
	digest := intent.Digest(st.Envelope)
	o.sameEnvelope(s, st.Envelope, digest, b.Attempt.Id)
	if st.Run == nil {
		return
	}
	o.w.see("a step is handed out")
	if s.begunBy[st.Run.Run] != digest {
		o.broken(45, "%s does run %d of session %s for envelope %s, and it began for %q", b.Attempt.Id, st.Run.Run, s.id, digest, s.begunBy[st.Run.Run])
	}
	if s.running == nil || s.running.Run != st.Run.Run {
		return // it is over by now
	}
	var want, told []string
	for _, said := range s.said {
		if said.FromRun <= st.Run.Run {
			want = append(want, said.Text)
		}
	}
	for _, said := range st.Steering {
		told = append(told, said.Text)
	}
	has := blobs{}
	for _, out := range st.Earlier {
		has[strings.TrimPrefix(out.Name, intent.Folder(s.id)+"/")] = out.Content.Sha256
	}
	switch {
	case s.tookBack != st.Run.Run && !slices.Equal(want, told):
		o.broken(54, "%s is told %q, and the operator has said %q", b.Attempt.Id, told, want)
	case !maps.Equal(has, s.outputs):
		o.broken(48, "%s begins with %v, and session %s has %v", b.Attempt.Id, has, s.id, s.outputs)
	}
}

// handedOut wants no work of a session in anybody's hands but that of the step that runs,
// or what comes after the last one.
func (o *oracle) handedOut(x *execution, e *loomv1.Event) {
	s := x.session
	switch {
	case s == nil || o.held(x):
	case !s.goesOn():
		o.broken(51, "%s is handed out, and session %s is over", e.Attempt, s.id)
	case x.bead == s.interview:
	case x.bead != s.bead:
		o.broken(51, "%s is handed out, and session %s goes on in bead %s", e.Attempt, s.id, s.bead)
	case s.digest == "" || s.confirm || !s.passed:
		o.broken(45, "%s is handed out, and the intent of session %s is not sealed and validated", e.Attempt, s.id)
	case s.running != nil && s.pattern.Steps[s.running.Step-1].Name != e.Node:
		o.broken(45, "%s is handed out, and session %s is at step %d", e.Attempt, s.id, s.running.Step)
	case s.running == nil && slices.ContainsFunc(s.pattern.Steps, func(p *loomv1.PatternStep) bool { return p.Name == e.Node }):
		o.broken(45, "%s is handed out, and no step of session %s runs", e.Attempt, s.id)
	}
}

// stillSessions wants every session whose facts came with a command to be where it can go
// on: somebody has work of it in hand or can take it, or a person is waited for; and what
// it does no longer to have ended.
func (o *oracle) stillSessions() {
	for _, s := range o.touched {
		o.stillSession(s)
	}
	o.touched = o.touched[:0]
}

func (o *oracle) stillSession(s *session) {
	switch {
	case s.owesFlush:
		o.broken(48, "session %s is aborted, revised or ended, and its own memory is not emptied", s.id)
	case s.owesRecord:
		o.broken(48, "session %s is aborted, and memory has no record of it", s.id)
	}
	for _, bead := range s.beads {
		x := o.worked[bead]
		if x == nil || x.ended {
			continue
		}
		if !s.goesOn() || s.digest == "" && bead != s.interview || bead != s.bead && bead != s.interview {
			o.broken(51, "%s goes on, and session %s does not need it", x.id, s.id)
		}
	}
	if why := o.stuck(s); why != "" {
		o.broken(52, "session %s waits for nobody in phase %s: %s", s.id, intent.PhaseName(s.phase), why)
	}
}

// stuck says why a session that does not wait for a person cannot go on, or "".
func (o *oracle) stuck(s *session) string {
	runs := func(bead string) bool { x := o.worked[bead]; return x != nil && !x.ended }
	switch {
	case !s.goesOn() || s.waits():
	case s.phase == intent.Primacy && !runs(s.interview):
		return "no model is asked"
	case s.phase == intent.Primacy:
	case s.phase < intent.Execution || s.phase > intent.Delivery || s.phase == intent.Steering:
		return "nobody does what is the runtime's"
	case !runs(s.bead):
		return "bead " + s.bead + " is not worked on"
	}
	return ""
}

// toldOfSessions wants each session that waits for a person to stand in the inbox, and no
// other, when nothing is pending.
func (o *oracle) toldOfSessions() {
	if len(o.w.keeper.pending) > 0 || len(o.talked) == 0 || o.w.failure != "" {
		return
	}
	v, err := o.w.keeper.state.Look(project.Inbox, &loomv1.Query{})
	if err != nil {
		o.broken(52, "the inbox cannot be read: %v", err)
		return
	}
	var told, want []string
	for _, s := range v.Sessions {
		told = append(told, s.Id)
	}
	for _, s := range o.talked {
		if s.waits() {
			want = append(want, s.id)
		}
	}
	slices.Sort(told)
	if slices.Sort(want); !slices.Equal(told, want) {
		o.broken(52, "the inbox has sessions %v, and a person is waited for by %v", told, want)
	}
}

// ofSession notes the bead that is filed for a session.
func (o *oracle) ofSession(b *loomv1.Bead) {
	s := o.sessions[b.Session]
	switch {
	case b.Session == "":
		return
	case s == nil:
		o.broken(2, "bead %s is of session %s, which does not exist", b.Id, b.Session)
		return
	case b.Process == processes.InterviewProcess:
		s.interview = b.Id
	case s.digest == "" || !s.passed:
		o.broken(45, "bead %s is filed for session %s, whose intent is not sealed and validated", b.Id, s.id)
		fallthrough
	default:
		s.bead = b.Id
	}
	s.beads = append(s.beads, b.Id)
}

// begunForSession wants the work of patterns to be that of sessions, and of no submission
// or child.
func (o *oracle) begunForSession(x *execution) {
	s := o.sessions[o.beads[x.bead].GetSession()]
	if x.def.Pattern != "" && (s == nil || x.parent != nil) {
		o.broken(50, "%s does the work of pattern %s, and of no session", x.id, x.def.Pattern)
	}
	x.session = s
}
