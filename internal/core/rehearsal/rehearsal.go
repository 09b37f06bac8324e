// Package rehearsal plays example sessions of patterns through the core of
// sessions, offline: people and model say what a file has them say, and the
// facts that come of it are held against what the file expects. It decides
// nothing itself, and has no clock: a command comes a second after the one
// before.
package rehearsal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Report is what became of an example session.
type Report struct {
	// Phases of the lifecycle in the order in which they were entered, steering and
	// steps once for each run.
	Phases []string
	// Asked are the questions that a person was asked, HeldBack the rules by which
	// others were not, and Withheld how many texts of the model reached nobody.
	Asked    []string
	HeldBack []string
	Withheld int
	// Digest is that of the sealed envelope.
	Digest string
	// Findings of META validation, by rule.
	Findings []string
	// Runs of steps, and how often it stopped for the operator.
	Runs, Stops int
	// Outputs are the last contents, by name.
	Outputs map[string]string
	Gaps    []string
	// Problems are what did not go as the file expects; empty where all did.
	Problems []string
	// Facts of the session, in order.
	Facts []*loomv1.IntentFact
}

var (
	operator = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "operator"}
	agent    = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "script"}
	host     = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "rehearsal"}
)

// beginning is when every rehearsal begins.
var beginning = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)

// Play plays a session of a pattern to its end, or to what keeps it from going
// on.
func Play(p *loomv1.Pattern, example *processes.ExampleSession) *Report {
	s := &stage{Session: &intent.Session{}, pattern: p, example: example, now: beginning, report: &Report{Outputs: map[string]string{}}}
	for _, part := range []func(){s.primacy, s.capture, s.prepare, s.steps, s.finish} {
		if part(); s.stuck {
			break
		}
	}
	s.account()
	return s.report
}

// stage is a session being played.
type stage struct {
	*intent.Session
	pattern *loomv1.Pattern
	example *processes.ExampleSession
	now     time.Time
	report  *Report
	stuck   bool
}

func (s *stage) problem(format string, args ...any) {
	s.report.Problems = append(s.report.Problems, fmt.Sprintf(format, args...))
}

// try sends a command, and folds what comes of it.
func (s *stage) try(by *loomv1.Identity, c *loomv1.IntentCommand) ([]*loomv1.IntentFact, error) {
	s.now = s.now.Add(time.Second)
	c.By, c.At = by, timestamppb.New(s.now)
	facts, err := s.Decide(c)
	for _, f := range facts {
		if err := s.Apply(f); err != nil {
			return nil, err
		}
	}
	s.report.Facts = append(s.report.Facts, facts...)
	return facts, err
}

// must sends a command that belongs to the session; where it is refused, the
// session is stuck.
func (s *stage) must(by *loomv1.Identity, c *loomv1.IntentCommand) []*loomv1.IntentFact {
	if s.stuck {
		return nil
	}
	facts, err := s.try(by, c)
	if err != nil {
		s.stuck = true
		s.problem("%s: %v", intent.PhaseName(s.Phase()), err)
	}
	return facts
}

// primacy plays the conversation, and tries to skip it.
func (s *stage) primacy() {
	open := &loomv1.OpenSession{Id: "rehearsal", Pattern: s.pattern, Request: s.example.Request, WithoutModel: len(s.example.Primacy) == 0}
	s.must(operator, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Open{Open: open}})
	if _, err := s.try(operator, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Proceed{Proceed: &loomv1.Proceed{Step: 1}}}); fault.Code(err) != "intent/unsealed" {
		s.problem("primacy could be skipped: %v", err)
	}
	for i, t := range s.example.Primacy {
		s.turn(i, t)
	}
	own := s.example.Own
	for s.Pending() != nil && s.PatternAsks() && !s.stuck {
		if len(own) == 0 {
			s.problem("nobody answers %q", s.Pending().Text)
			s.stuck = true
			return
		}
		s.answer(own[0], 0)
		own = own[1:]
	}
	if len(own) > 0 {
		s.problem("%d answers are left: the pattern's own questions were not asked, or are fewer", len(own))
	}
}

func (s *stage) turn(i int, t processes.ExampleTurn) {
	about := intentField(t.About)
	switch {
	case t.Say != "":
		s.must(agent, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_OfferText{OfferText: &loomv1.OfferText{Text: t.Say}}})
	case t.Ask == "":
		s.answer(t.Answer, about)
	default:
		refused := ""
		for _, f := range s.must(agent, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_ProposeQuestion{ProposeQuestion: &loomv1.ProposeQuestion{Text: t.Ask, About: about}}}) {
			if r := f.GetRefused(); r != nil {
				refused = r.Rule
			}
		}
		if refused != t.Refused {
			s.problem("primacy[%d]: %q was held back by %q, expected %q", i, t.Ask, refused, t.Refused)
		}
		if refused == "" && !s.stuck {
			s.answer(t.Answer, 0)
		}
	}
}

// answer says what the person says: to the question that waits, or unasked about
// a field.
func (s *stage) answer(text string, about loomv1.IntentField) {
	a := &loomv1.AnswerQuestion{Text: text, About: about}
	if about == 0 {
		a.Question = s.Pending().GetNumber()
	}
	s.must(operator, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Answer{Answer: a}})
}

func intentField(name string) loomv1.IntentField {
	for _, f := range intent.Fields {
		if intent.FieldName(f) == name {
			return f
		}
	}
	return 0
}

// capture makes the envelope that the file quotes, and seals it.
func (s *stage) capture() {
	by, draft := agent, &loomv1.DraftIntent{}
	if s.PatternAsks() {
		by = operator // then no agent drafts
	}
	into := map[string]*[]*loomv1.Quotation{"goal": &draft.Goal, "constraints": &draft.Constraints, "audience": &draft.Audience, "scope": &draft.Scope, "success": &draft.Success}
	for _, field := range slices.Sorted(maps.Keys(s.example.Envelope)) {
		list, known := into[field]
		if !known {
			s.problem("envelope: there is no field %q", field)
			continue
		}
		for _, text := range s.example.Envelope[field] {
			*list = append(*list, &loomv1.Quotation{Answer: s.saying(text), Text: text})
		}
	}
	if s.Phase() == intent.Primacy || len(s.example.Envelope) > 0 {
		s.must(by, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Draft{Draft: draft}})
	}
	s.report.Digest = s.Shown().GetDigest()
	s.must(operator, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Seal{Seal: &loomv1.SealIntent{Digest: s.report.Digest}}})
}

// saying returns the number of the answer that has a text, 0 where none has.
func (s *stage) saying(text string) uint32 {
	for _, a := range s.Answers() {
		if strings.Contains(a.Text, text) {
			return a.Number
		}
	}
	return 0
}

// prepare validates, activates and prepares inputs, with everything at hand that
// the pattern needs.
func (s *stage) prepare() {
	means := &loomv1.IntentMeans{Tools: s.pattern.RequiredTools}
	var agents []string
	for _, step := range s.pattern.Steps {
		means.Roles = append(means.Roles, step.Role)
		agents = append(agents, step.Role+"/1")
	}
	s.must(host, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Validate{Validate: &loomv1.ValidateIntent{Means: means}}})
	for _, f := range s.Findings() {
		s.report.Findings = append(s.report.Findings, f.Rule)
	}
	if !slices.Equal(s.report.Findings, s.example.Findings) {
		s.problem("META validation found %v, expected %v", s.report.Findings, s.example.Findings)
	}
	s.must(host, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Activate{Activate: &loomv1.ActivatePattern{Agents: agents}}})
	inputs := &loomv1.PrepareInputs{}
	for _, in := range s.pattern.Inputs {
		if text, given := s.example.Inputs[in.Name]; given {
			inputs.Inputs = append(inputs.Inputs, &loomv1.PreparedInput{Name: in.Name, Type: in.Type, Content: blob(text)})
		}
	}
	for name := range s.example.Inputs {
		if !slices.ContainsFunc(s.pattern.Inputs, func(in *loomv1.PatternInput) bool { return in.Name == name }) {
			s.problem("inputs: the pattern has no input %q", name)
		}
	}
	s.must(host, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Prepare{Prepare: inputs}})
}

func blob(text string) *loomv1.BlobRef {
	sum := sha256.Sum256([]byte(text))
	return &loomv1.BlobRef{Sha256: hex.EncodeToString(sum[:]), Size: uint64(len(text)), MediaType: "text/plain"}
}

// steps runs the steps, with what the operator says between them.
func (s *stage) steps() {
	for i, run := range s.example.Steps {
		r := s.Running()
		if s.stuck {
			return
		}
		if name := s.stepName(r); name != run.Step {
			s.problem("steps[%d]: %q runs, expected %q", i, name, run.Step)
			s.stuck = true
			return
		}
		s.run(r, run)
		s.steer(i, run)
		if s.Stopped() && !s.stuck {
			s.report.Stops++
			to := uint32(0)
			if run.Fails {
				to = r.Step
			}
			s.must(operator, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Proceed{Proceed: &loomv1.Proceed{Step: to}}})
		}
	}
	if r := s.Running(); r != nil {
		s.problem("step %q runs, and the file does not say how", s.stepName(r))
		s.stuck = true
	}
}

func (s *stage) stepName(r *loomv1.StepStarted) string {
	if r == nil {
		return ""
	}
	return s.pattern.Steps[r.Step-1].Name
}

func (s *stage) run(r *loomv1.StepStarted, run processes.ExampleStep) {
	write := func(layer loomv1.SessionLayer, name, text string) {
		s.must(agent, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Write{Write: &loomv1.WriteLayer{Step: r.Step, Layer: layer, Name: name, Content: blob(text)}}})
	}
	for _, name := range slices.Sorted(maps.Keys(run.Notes)) {
		write(loomv1.SessionLayer_SESSION_LAYER_ACTIVE, name, run.Notes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(run.Files)) {
		write(loomv1.SessionLayer_SESSION_LAYER_FILES, name, run.Files[name])
		s.report.Outputs[name] = run.Files[name]
	}
	status := loomv1.StepStatus_STEP_STATUS_DONE
	if run.Fails {
		status = loomv1.StepStatus_STEP_STATUS_FAILED
	}
	s.report.Runs++
	s.must(host, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_EndStep{EndStep: &loomv1.EndStep{Step: r.Step, Run: r.Run, Status: status}}})
}

func (s *stage) steer(i int, run processes.ExampleStep) {
	if run.Tempo != "" {
		s.must(operator, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_SetTempo{SetTempo: &loomv1.SetTempo{Tempo: processes.TempoNamed(run.Tempo)}}})
	}
	if run.Comment != "" {
		s.must(operator, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Steer{Steer: &loomv1.Steer{Text: run.Comment}}})
	}
	if run.Redirect != "" {
		_, err := s.try(operator, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Steer{Steer: &loomv1.Steer{Text: run.Redirect, Redirect: true}}})
		if outside := fault.Code(err) == "intent/outside"; outside != run.Outside || err != nil && !outside {
			s.problem("steps[%d]: the redirection %q: %v, expected to lie outside the intent: %t", i, run.Redirect, err, run.Outside)
		}
	}
}

// finish judges, delivers, remembers and reintegrates. The evidence of an item
// stands in an output, word for word.
func (s *stage) finish() {
	envelope, _, _ := s.Sealed()
	judged := &loomv1.JudgeCompletion{}
	items := intent.Items(envelope, s.pattern)
	for _, item := range items {
		evidence, met := s.example.Completion[item]
		if met && !s.shown(evidence) {
			s.problem("completion: no output has the evidence for %s: %q", item, evidence)
		}
		judged.Verdicts = append(judged.Verdicts, &loomv1.CompletionVerdict{Item: item, Met: met, Evidence: evidence})
	}
	for item := range s.example.Completion {
		if !slices.Contains(items, item) {
			s.problem("completion: there is no item %q, only %s", item, strings.Join(items, ", "))
		}
	}
	s.must(host, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Judge{Judge: judged}})
	if unmet := s.Unmet(); !slices.Equal(unmet, s.example.Gaps) {
		s.problem("completion: %v is not met, expected %v", unmet, s.example.Gaps)
	}
	if len(s.Unmet()) > 0 {
		s.must(operator, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Choose{Choose: &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_GAP}}})
	}
	delivered, kept, home := &loomv1.DeliverOutputs{}, &loomv1.UpdateMemory{}, &loomv1.Reintegrate{Lines: s.example.Told}
	for _, out := range s.pattern.Outputs {
		if made, ok := s.Output(out.Name); ok {
			delivered.Outputs = append(delivered.Outputs, &loomv1.DeliveredOutput{Name: out.Name, Place: out.Name, Content: made.Content})
			kept.Entries = append(kept.Entries, &loomv1.MemoryUpdate{Layer: loomv1.SessionLayer_SESSION_LAYER_DURABLE, Id: "m-" + strconv.Itoa(len(kept.Entries)+1), Sources: []string{out.Name}})
		}
	}
	for i := range s.Gaps() {
		home.Beads = append(home.Beads, fmt.Sprintf("bead-%d", i+1))
	}
	s.must(host, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Deliver{Deliver: delivered}})
	s.must(host, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_UpdateMemory{UpdateMemory: kept}})
	s.must(host, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Reintegrate{Reintegrate: home}})
}

// shown says whether an output has a text, however its lines are broken.
func (s *stage) shown(text string) bool {
	for _, content := range s.report.Outputs {
		if strings.Contains(strings.Join(strings.Fields(content), " "), strings.Join(strings.Fields(text), " ")) {
			return true
		}
	}
	return false
}

// account reads from the facts alone what happened, and that the lifecycle was
// gone through whole and in order.
func (s *stage) account() {
	r := s.report
	first := []loomv1.LifecyclePhase{}
	for _, f := range r.Facts {
		switch {
		case f.GetEntered() != nil:
			phase := f.GetEntered().Phase
			r.Phases = append(r.Phases, intent.PhaseName(phase))
			if !slices.Contains(first, phase) {
				first = append(first, phase)
			}
		case f.GetAsked() != nil:
			r.Asked = append(r.Asked, f.GetAsked().Text)
		case f.GetRefused() != nil:
			r.HeldBack = append(r.HeldBack, f.GetRefused().Rule)
		case f.GetWithheld() != nil:
			r.Withheld++
		}
	}
	r.Gaps = s.Gaps()
	if !s.Ended() {
		s.problem("the session did not end; it is in %s", intent.PhaseName(s.Phase()))
	}
	if s.Ended() && (len(first) != 11 || !slices.IsSorted(first)) {
		s.problem("the phases were entered as %s", strings.Join(r.Phases, ", "))
	}
}
