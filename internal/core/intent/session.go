package intent

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The phases of the lifecycle, by their short names, in their order.
const (
	Primacy       = loomv1.LifecyclePhase_LIFECYCLE_PHASE_PRIMACY
	Capture       = loomv1.LifecyclePhase_LIFECYCLE_PHASE_INTENTION_CAPTURE
	Meta          = loomv1.LifecyclePhase_LIFECYCLE_PHASE_META_VALIDATION
	Activation    = loomv1.LifecyclePhase_LIFECYCLE_PHASE_ACTIVATION
	Inputs        = loomv1.LifecyclePhase_LIFECYCLE_PHASE_INPUT_PREPARATION
	Execution     = loomv1.LifecyclePhase_LIFECYCLE_PHASE_STEP_EXECUTION
	Steering      = loomv1.LifecyclePhase_LIFECYCLE_PHASE_STEERING_HOOKS
	Completion    = loomv1.LifecyclePhase_LIFECYCLE_PHASE_COMPLETION_CHECK
	Delivery      = loomv1.LifecyclePhase_LIFECYCLE_PHASE_OUTPUT_DELIVERY
	Memory        = loomv1.LifecyclePhase_LIFECYCLE_PHASE_MEMORY_UPDATE
	Reintegration = loomv1.LifecyclePhase_LIFECYCLE_PHASE_REINTEGRATION
)

// What a second judge says of a question, by short names.
const (
	Fair      = loomv1.SecondVerdict_SECOND_VERDICT_FAIR
	Unfair    = loomv1.SecondVerdict_SECOND_VERDICT_UNFAIR
	NoVerdict = loomv1.SecondVerdict_SECOND_VERDICT_NONE
)

// PhaseName spells a phase: "meta-validation".
func PhaseName(p loomv1.LifecyclePhase) string { return word(p.String(), "LIFECYCLE_PHASE_") }

// Session is the state of a session. The zero value is one that is not open yet.
// What its methods return is the caller's to read and not to change.
type Session struct {
	id      string
	pattern *loomv1.Pattern
	request string
	phase   loomv1.LifecyclePhase
	back    loomv1.LifecyclePhase // that a revision or resumption goes back to

	// Primacy.
	answers     []*loomv1.IntentAnswer
	round       int // of answers: those before belong to earlier envelopes
	asked       []*loomv1.QuestionAsked
	answered    []*loomv1.QuestionAsked // those of them that have an answer
	answeredBy  []uint32                // the numbers of these answers
	skipped     []*loomv1.QuestionAsked // those of this round to which there was nothing to add
	struck      map[uint32]bool         // numbers of answers that hold no more
	pending     *loomv1.QuestionAsked
	refusals    uint32
	patternAsks bool
	noModel     bool
	noJudge     bool
	heard       uint32 // turns of models, in all
	revision    string // why the intent is revised
	withheld    int    // turns without a question since the last one

	// The envelope.
	shown     *loomv1.IntentDrafted
	envelope  *loomv1.IntentEnvelope // sealed
	seal      *loomv1.IntentSealed
	envelopes int // sealed so far
	replaces  string
	confirm   bool // a rerun shows the sealed envelope again

	// META validation, activation, inputs.
	findings []*loomv1.IntentFinding
	judged   bool
	passed   bool
	means    *loomv1.ActivatePattern
	inputs   []*loomv1.PreparedInput

	// Steps.
	first    uint32 // step that execution begins with
	step     *loomv1.StepStarted
	running  bool
	failed   bool // the last run did not do its work
	stopped  bool // waits for the operator
	runs     uint32
	written  []*loomv1.StepOutput // by the run that is under way
	outputs  map[string]*loomv1.StepOutput
	done     map[uint32]*loomv1.StepEnded // by step, the newest run that has done its work
	active   map[string]bool              // names of the session's own memory
	kept     []*loomv1.WriteLayer
	tempo    loomv1.Tempo
	steering []*loomv1.Steered
	steers   uint32 // said in all, also what was taken back

	// The end.
	abort   *loomv1.AbortPattern
	aborted *loomv1.PatternAborted
	unmet   []string
	gaps    []string
	ended   bool
	failing bool              // unmet is what was to be delivered, and was not
	why     map[string]string // by item that is not met, or was not delivered, in the judge's words
	reasons []reason          // of what is not met, or was not delivered
	again   []reason          // the reasons for which the person had a step done again, until it is judged
}

// ID returns the id of the session.
func (s *Session) ID() string { return s.id }

// Pattern returns what it works by.
func (s *Session) Pattern() *loomv1.Pattern { return s.pattern }

// Phase returns where it is in its lifecycle.
func (s *Session) Phase() loomv1.LifecyclePhase { return s.phase }

// Pending returns the question that waits for its answer, or nil.
func (s *Session) Pending() *loomv1.QuestionAsked { return s.pending }

// AwaitsModel says whether it is a model's turn: to ask, or to say that it has no
// question left.
func (s *Session) AwaitsModel() bool {
	return s.phase == Primacy && s.aborted == nil && s.pending == nil && !s.patternAsks && !s.noModel
}

// Heard returns how many questions, refused ones too, and withheld texts of models there
// were.
func (s *Session) Heard() uint32 { return s.heard }

// Revision returns why the intent is revised, "" where it is not.
func (s *Session) Revision() string { return s.revision }

// Asked returns the questions that have an answer which holds, in order, and then the one
// that waits for it. The n-th with a text has the n-th of [Session.Answers] to that text.
func (s *Session) Asked() (list []*loomv1.QuestionAsked) {
	for i, q := range s.answered {
		if !s.struck[s.answeredBy[i]] {
			list = append(list, q)
		}
	}
	if s.pending != nil {
		list = append(list, s.pending)
	}
	return list
}

// Passed returns the questions of this round to which the person had nothing to add.
func (s *Session) Passed() []*loomv1.QuestionAsked { return s.skipped }

// WithoutJudge says whether no second judge is asked about a model's questions.
func (s *Session) WithoutJudge() bool { return s.noJudge }

// PatternAsks says whether the pattern's own questions are asked, and no model's.
func (s *Session) PatternAsks() bool { return s.patternAsks }

// Answers returns what the person has said and holds, in order.
func (s *Session) Answers() []*loomv1.IntentAnswer { return s.saidAnd(false) }

// Struck returns what the person has said and was struck, in order.
func (s *Session) Struck() []*loomv1.IntentAnswer { return s.saidAnd(true) }

func (s *Session) saidAnd(struck bool) (list []*loomv1.IntentAnswer) {
	for _, a := range s.answers {
		if s.struck[a.Number] == struck {
			list = append(list, a)
		}
	}
	return list
}

// Shown returns the envelope that waits for its seal, with its digest, or nil.
func (s *Session) Shown() *loomv1.IntentDrafted { return s.shown }

// Sealed returns a copy of the sealed envelope and its seal; false before there
// is one, and while a revision is under way.
func (s *Session) Sealed() (*loomv1.IntentEnvelope, *loomv1.IntentSealed, bool) {
	return proto.CloneOf(s.envelope), proto.CloneOf(s.seal), s.seal != nil
}

// Reserved returns what activation has named and reserved: an agent by step, and what the
// steps may spend. It is nil before activation, and again where the session goes on no more.
func (s *Session) Reserved() *loomv1.ActivatePattern {
	if s.ended || s.aborted != nil {
		return nil
	}
	return s.means
}

// Kept returns what steps have written to layers that last, files left out, in order.
func (s *Session) Kept() []*loomv1.WriteLayer { return s.kept }

// Judged says whether META validation has judged the sealed envelope.
func (s *Session) Judged() bool { return s.judged }

// First returns the step that execution begins with.
func (s *Session) First() uint32 { return s.first }

// Request returns what the person asked for at the beginning.
func (s *Session) Request() string { return s.request }

// Findings returns what META validation found.
func (s *Session) Findings() []*loomv1.IntentFinding { return s.findings }

// Running returns the run of a step that is under way, or nil.
func (s *Session) Running() *loomv1.StepStarted {
	if !s.running {
		return nil
	}
	return s.step
}

// Stopped says whether it waits between steps for the operator.
func (s *Session) Stopped() bool { return s.stopped }

// Tempo returns the operator's live tempo; unset where steps and pattern decide.
func (s *Session) Tempo() loomv1.Tempo { return s.tempo }

// Steered returns what the operator has said before a run of a step began.
func (s *Session) Steered(run uint32) (list []*loomv1.Steered) {
	for _, st := range s.steering {
		if st.FromRun <= run {
			list = append(list, st)
		}
	}
	return list
}

// Said returns all that the operator has said for steps and not taken back.
func (s *Session) Said() []*loomv1.Steered { return s.steering }

// Output returns the newest content of an output that a finished step has left.
func (s *Session) Output(name string) (*loomv1.StepOutput, bool) {
	o, ok := s.outputs[name]
	return o, ok
}

// Done returns the newest run of a step that has done its work.
func (s *Session) Done(step uint32) (*loomv1.StepEnded, bool) {
	e, ok := s.done[step]
	return e, ok
}

// Active returns how many entries the session's own memory has.
func (s *Session) Active() int { return len(s.active) }

// Unmet returns the items of the completion check that wait for a choice.
func (s *Session) Unmet() []string { return s.unmet }

// Again returns why a step is done once more by the person's choice: what was not met, or
// why it was not delivered. It is empty once that is judged anew.
func (s *Session) Again() (list []string) {
	for _, r := range s.again {
		list = append(list, r.String())
	}
	return list
}

// DeliveryFailed says whether a choice is awaited because what was to be delivered was not.
// It is delivered all the same where it proves to have landed before the choice is made.
func (s *Session) DeliveryFailed() bool {
	return s.failing && s.phase == Completion && len(s.unmet) > 0 && s.aborted == nil
}

// Waits says whether it waits for a person: for an answer, the seal, a revision, to go on
// after a stop, or for a choice.
func (s *Session) Waits() bool {
	switch {
	case s.ended || s.aborted != nil:
		return false
	case s.phase == Meta:
		return s.judged && !s.passed
	}
	return s.pending != nil || s.phase == Capture || s.stopped || len(s.unmet) > 0
}

// AsksPerson says whether a session waits for a person from a fact on.
func AsksPerson(f *loomv1.IntentFact) bool {
	switch f := f.GetFact().(type) {
	case *loomv1.IntentFact_Asked, *loomv1.IntentFact_Drafted, *loomv1.IntentFact_DeliveryFailed:
		return true
	case *loomv1.IntentFact_Validated:
		return !f.Validated.Passed
	case *loomv1.IntentFact_Entered:
		return f.Entered.Waits
	case *loomv1.IntentFact_Judged:
		return slices.ContainsFunc(f.Judged.Verdicts, func(v *loomv1.CompletionVerdict) bool { return !v.Met })
	}
	return false
}

// Gaps returns the items that were accepted as they are.
func (s *Session) Gaps() []string { return s.gaps }

// Aborted returns the record and draft of the abort that ended it, or nil.
func (s *Session) Aborted() *loomv1.PatternAborted { return s.aborted }

// Ended says whether it has come to its end.
func (s *Session) Ended() bool { return s.ended }

// Next returns when [Session.Tick] has something to do.
func (s *Session) Next() (time.Time, bool) {
	if !s.running {
		return time.Time{}, false
	}
	return s.step.GetDeadline().AsTime(), true
}

func (s *Session) clone() *Session {
	c := *s
	c.answers, c.asked, c.answered = slices.Clone(s.answers), slices.Clone(s.asked), slices.Clone(s.answered)
	c.answeredBy, c.skipped, c.struck = slices.Clone(s.answeredBy), slices.Clone(s.skipped), maps.Clone(s.struck)
	c.written, c.steering, c.kept = slices.Clone(s.written), slices.Clone(s.steering), slices.Clone(s.kept)
	c.outputs, c.done, c.active = maps.Clone(s.outputs), maps.Clone(s.done), maps.Clone(s.active)
	return &c
}

func (s *Session) stepOf(order uint32) *loomv1.PatternStep {
	if order == 0 || int(order) > len(s.pattern.GetSteps()) {
		return nil
	}
	return s.pattern.Steps[order-1]
}

// after returns the step that follows one, 0 for the completion check.
func (s *Session) after(order uint32) uint32 {
	step := s.stepOf(order)
	if to := step.GetHandoffTo(); to != "" {
		for _, other := range s.pattern.GetSteps() {
			if other.Name == to {
				return other.Order
			}
		}
		return 0
	}
	if s.stepOf(order+1) == nil {
		return 0
	}
	return order + 1
}

// limits are those of a step at the tempo that holds now.
func (s *Session) limits(order uint32) *loomv1.TempoLimits {
	step := s.stepOf(order)
	return LimitsOf(TempoOf(s.tempo, step, s.pattern), step)
}

// Apply folds a fact. The error is intent/inconsistent, for one that cannot have
// happened: then the state is as it was.
func (s *Session) Apply(f *loomv1.IntentFact) error {
	if why := s.impossible(f); why != "" {
		return fault.New("intent/inconsistent", "session %q: %s", s.id, why)
	}
	switch f := f.Fact.(type) {
	case *loomv1.IntentFact_Opened:
		s.id, s.pattern, s.request, s.first = f.Opened.Id, f.Opened.Pattern, f.Opened.Request, 1
		s.noModel, s.noJudge = f.Opened.WithoutModel, f.Opened.WithoutJudge
		s.struck = map[uint32]bool{}
		s.outputs, s.done, s.active = map[string]*loomv1.StepOutput{}, map[uint32]*loomv1.StepEnded{}, map[string]bool{}
		s.why = map[string]string{}
	case *loomv1.IntentFact_Entered:
		s.phase, s.back = f.Entered.Phase, 0
		s.stopped = s.stopped && s.phase == Steering
		if s.phase == Delivery { // also where it has landed after all
			s.unmet = nil
		}
	case *loomv1.IntentFact_Asked:
		s.pending = f.Asked
		s.asked = append(s.asked, f.Asked)
		if s.withheld = 0; !f.Asked.OfPattern {
			s.heard++
		}
	case *loomv1.IntentFact_Refused:
		s.refusals = f.Refused.Count
		s.heard++
	case *loomv1.IntentFact_Withheld:
		s.heard++
		s.withheld++
	case *loomv1.IntentFact_PatternAsks:
		s.patternAsks = true
	case *loomv1.IntentFact_Answered:
		s.answers = append(s.answers, f.Answered)
		if s.pending != nil && f.Answered.Question == s.pending.Text {
			s.answered, s.answeredBy, s.pending = append(s.answered, s.pending), append(s.answeredBy, f.Answered.Number), nil
		}
	case *loomv1.IntentFact_Passed:
		s.skipped, s.pending = append(s.skipped, f.Passed), nil
	case *loomv1.IntentFact_Struck:
		if s.struck[f.Struck.Number] = true; f.Struck.Restore {
			delete(s.struck, f.Struck.Number)
		}
	case *loomv1.IntentFact_Drafted:
		s.shown, s.pending = f.Drafted, nil
	case *loomv1.IntentFact_Sealed:
		if !s.confirm {
			s.envelopes++
		}
		s.envelope, s.seal, s.shown, s.confirm = s.shown.Envelope, f.Sealed, nil, false
		s.judged, s.passed = false, false
	case *loomv1.IntentFact_Revised:
		s.replaces, s.envelope, s.seal, s.round = s.seal.Digest, nil, nil, len(s.answers)
		s.refusals, s.withheld, s.patternAsks, s.judged, s.passed = 0, 0, false, false, false
		s.first, s.step, s.stopped, s.failed, s.unmet = 1, nil, false, false, nil
		s.steering, s.skipped, s.back, s.revision = nil, nil, Primacy, f.Revised.Reason
		clear(s.outputs)
		clear(s.done)
	case *loomv1.IntentFact_Validated:
		s.findings, s.judged, s.passed = f.Validated.Findings, true, f.Validated.Passed
	case *loomv1.IntentFact_Activated:
		s.means = f.Activated
	case *loomv1.IntentFact_Prepared:
		s.inputs = f.Prepared.Inputs
	case *loomv1.IntentFact_StepStarted:
		s.step, s.runs, s.running, s.failed, s.stopped, s.written, s.unmet = f.StepStarted, f.StepStarted.Run, true, false, false, nil, nil
	case *loomv1.IntentFact_Written:
		s.write(f.Written)
	case *loomv1.IntentFact_StepEnded:
		s.running, s.written, s.stopped = false, nil, true
		s.failed = f.StepEnded.Status != loomv1.StepStatus_STEP_STATUS_DONE
		for _, o := range f.StepEnded.Outputs {
			s.outputs[o.Name] = o
		}
		if !s.failed {
			s.done[f.StepEnded.Step] = f.StepEnded
		}
	case *loomv1.IntentFact_Steered:
		s.steering, s.steers = append(s.steering, f.Steered), f.Steered.Number
	case *loomv1.IntentFact_TakenBack:
		s.takenBack(f.TakenBack.Number)
	case *loomv1.IntentFact_TempoSet:
		s.tempo = f.TempoSet.Tempo
	case *loomv1.IntentFact_AbortAsked:
		s.abort = f.AbortAsked
	case *loomv1.IntentFact_Aborted:
		s.aborted, s.abort, s.stopped = f.Aborted, nil, false
		clear(s.outputs)
	case *loomv1.IntentFact_Flushed:
		clear(s.active)
	case *loomv1.IntentFact_Resumed:
		s.first, s.judged, s.passed, s.failed, s.unmet = f.Resumed.Step, false, false, false, nil
		if s.first > 0 { // else it goes on after the last one
			s.step = nil
		}
		s.confirm, s.back = f.Resumed.Rerun, Meta
		if s.confirm {
			s.back = Capture
			clear(s.done)
		}
		for _, o := range s.aborted.Draft {
			if !f.Resumed.Rerun {
				s.outputs[o.Name] = o
			}
		}
		s.aborted = nil
	case *loomv1.IntentFact_DeliveryFailed:
		s.unmet, s.back, s.failing = s.undelivered(), Completion, true
		s.reasons = []reason{{said: "What was judged did not come to its place", why: f.DeliveryFailed.Reason}}
		for _, item := range s.unmet {
			s.why[item] = f.DeliveryFailed.Reason
		}
	case *loomv1.IntentFact_Judged:
		s.unmet, s.gaps, s.failing, s.reasons, s.again, s.why = nil, nil, false, nil, nil, map[string]string{}
		for _, v := range f.Judged.Verdicts {
			if !v.Met {
				s.reasons = append(s.reasons, notMet(s.envelope, v))
				s.unmet = append(s.unmet, v.Item)
				s.why[v.Item] = v.Evidence
			}
		}
	case *loomv1.IntentFact_Chosen:
		if f.Chosen.Choice == loomv1.CompletionChoice_COMPLETION_CHOICE_GAP {
			s.gaps = slices.Concat(s.gaps, s.unmet)
		} else {
			s.again = s.reasons
		}
		s.unmet = nil
	case *loomv1.IntentFact_Ended:
		s.ended, s.phase = true, Reintegration
	}
	return nil
}

func (s *Session) write(w *loomv1.WriteLayer) {
	switch w.Layer {
	case LayerActive:
		s.active[w.Name] = true
	case LayerDurable, LayerDecisions:
		s.kept = append(s.kept, w)
	case LayerFiles:
		if slices.Contains(s.stepOf(w.Step).GetDeliverables(), w.Name) {
			s.written = slices.DeleteFunc(slices.Clone(s.written), func(o *loomv1.StepOutput) bool { return o.Name == w.Name })
			s.written = append(s.written, &loomv1.StepOutput{Name: w.Name, Content: w.Content, Step: w.Step})
		}
	}
}
