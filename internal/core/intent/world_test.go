package intent_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	ann   = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "ann"}
	owner = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: "owner"}
	model = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "lead/1@here"}
	host  = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "here"}
	guest = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OBSERVER, Name: "guest"}
)

const (
	active  = loomv1.SessionLayer_SESSION_LAYER_ACTIVE
	durable = loomv1.SessionLayer_SESSION_LAYER_DURABLE
	files   = loomv1.SessionLayer_SESSION_LAYER_FILES
	done    = loomv1.StepStatus_STEP_STATUS_DONE
	failed  = loomv1.StepStatus_STEP_STATUS_FAILED
)

// naming is a pattern of three steps: the second may be jumped over, and is
// where the ordinary tempo stops.
func naming() *loomv1.Pattern {
	return &loomv1.Pattern{
		Name: "naming", Version: "1.0", Family: "ideation", Purpose: "Find a name.", WorldScope: "global",
		Inputs:  []*loomv1.PatternInput{{Name: "brief", Type: "text", Required: true}, {Name: "taken", Type: "list"}},
		Outputs: []*loomv1.PatternOutput{{Name: "names.md", Type: "list"}, {Name: "choice.md", Type: "decision"}},
		Questions: []*loomv1.PatternQuestion{
			{Text: "What is the name for?", About: intent.Goal},
			{Text: "What must a name not be?", About: intent.Constraints},
			{Text: "Who hears it first?", About: intent.Audience},
			{Text: "What is not part of this?", About: intent.Scope},
			{Text: "When is a name good?", About: intent.Success},
		},
		DefaultTempo: intent.Andante,
		Steps: []*loomv1.PatternStep{
			{Order: 1, Name: "gather", Role: "researcher", Writes: []loomv1.SessionLayer{active, files}, Deliverables: []string{"names.md"}},
			{Order: 2, Name: "sift", Role: "analyst", Writes: []loomv1.SessionLayer{active}, Stop: true, Timeout: durationpb.New(5 * time.Minute)},
			{Order: 3, Name: "choose", Role: "lead", Writes: []loomv1.SessionLayer{files, durable}, Tempo: intent.Allegro, Deliverables: []string{"choice.md"}, HandoffTo: "complete"},
		},
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func blob(text string) *loomv1.BlobRef {
	sum := sha256.Sum256([]byte(text))
	return &loomv1.BlobRef{Sha256: hex.EncodeToString(sum[:]), Size: uint64(len(text)), MediaType: "text/plain"}
}

// world drives a session as a shell would: it decides, keeps the facts, folds
// them. Its clock goes a second further with each command.
type world struct {
	t testing.TB
	*intent.Session
	now   time.Time
	facts []*loomv1.IntentFact
}

func newWorld(t testing.TB) *world { return &world{t: t, Session: &intent.Session{}, now: noon} }

// try sends a command, whose body is that of a literal, by somebody.
func (w *world) try(by *loomv1.Identity, c *loomv1.IntentCommand) error {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	c.By, c.At = by, timestamppb.New(w.now)
	facts, err := w.Decide(c)
	if err != nil {
		if len(facts) > 0 {
			w.t.Fatalf("a refusal (%v) after %d facts", err, len(facts))
		}
		if fault.Code(err) == "intent/inconsistent" {
			w.t.Fatalf("%v led to facts that cannot be applied: %v", c, err)
		}
		return err
	}
	w.take(facts)
	return nil
}

func (w *world) take(facts []*loomv1.IntentFact) {
	w.t.Helper()
	for _, f := range facts {
		if err := w.Apply(f); err != nil {
			w.t.Fatalf("fact %v: %v", f, err)
		}
	}
	w.facts = append(w.facts, facts...)
}

func (w *world) do(by *loomv1.Identity, c *loomv1.IntentCommand) {
	w.t.Helper()
	if err := w.try(by, c); err != nil {
		w.t.Fatalf("%v: %v", c, err)
	}
}

// refused wants a command refused with a code, and nothing changed.
func (w *world) refused(code string, by *loomv1.Identity, c *loomv1.IntentCommand) {
	w.t.Helper()
	before := len(w.facts)
	if err := w.try(by, c); fault.Code(err) != code || len(w.facts) != before {
		w.t.Errorf("%v: %v with %d facts, want %s", c, err, len(w.facts)-before, code)
	}
}

func (w *world) phases() (names []string) {
	for _, f := range w.facts {
		if e := f.GetEntered(); e != nil {
			names = append(names, intent.PhaseName(e.Phase))
		}
	}
	return names
}

func open(p *loomv1.Pattern) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Open{Open: &loomv1.OpenSession{Id: "s1", Pattern: p, Request: "A name for our bakery."}}}
}

func ask(text string, about loomv1.IntentField) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_ProposeQuestion{ProposeQuestion: &loomv1.ProposeQuestion{Text: text, About: about}}}
}

func answer(number uint32, text string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Answer{Answer: &loomv1.AnswerQuestion{Question: number, Text: text}}}
}

func tell(about loomv1.IntentField, text string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Answer{Answer: &loomv1.AnswerQuestion{About: about, Text: text}}}
}

func draft(d *loomv1.DraftIntent) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Draft{Draft: d}}
}

func ready(digest string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Seal{Seal: &loomv1.SealIntent{Digest: digest}}}
}

func revise() *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Revise{Revise: &loomv1.ReviseIntent{Reason: "it changed"}}}
}

func validate(roles ...string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Validate{Validate: &loomv1.ValidateIntent{Means: &loomv1.IntentMeans{Roles: roles}}}}
}

func activate(agents ...string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Activate{Activate: &loomv1.ActivatePattern{Agents: agents}}}
}

func prepare(inputs ...*loomv1.PreparedInput) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Prepare{Prepare: &loomv1.PrepareInputs{Inputs: inputs}}}
}

var brief = &loomv1.PreparedInput{Name: "brief", Type: "text", Content: blob("the brief")}

func write(step uint32, layer loomv1.SessionLayer, name string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Write{Write: &loomv1.WriteLayer{Step: step, Layer: layer, Name: name, Content: blob(name)}}}
}

func end(step, run uint32, status loomv1.StepStatus) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_EndStep{EndStep: &loomv1.EndStep{Step: step, Run: run, Status: status}}}
}

func proceed(step uint32) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Proceed{Proceed: &loomv1.Proceed{Step: step}}}
}

func steer(text string, redirect bool) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Steer{Steer: &loomv1.Steer{Text: text, Redirect: redirect}}}
}

func tempo(t loomv1.Tempo) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_SetTempo{SetTempo: &loomv1.SetTempo{Tempo: t}}}
}

func abort(reason string, save bool) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Abort{Abort: &loomv1.AbortPattern{Reason: reason, SaveDraft: save}}}
}

func resume(rerun bool) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Resume{Resume: &loomv1.ResumePattern{Rerun: rerun}}}
}

func judge(verdicts ...*loomv1.CompletionVerdict) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Judge{Judge: &loomv1.JudgeCompletion{Verdicts: verdicts}}}
}

func choose(c loomv1.CompletionChoice, step uint32) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Choose{Choose: &loomv1.ChooseCompletion{Choice: c, Step: step}}}
}

func deliver(names ...string) *loomv1.IntentCommand {
	d := &loomv1.DeliverOutputs{}
	for _, n := range names {
		d.Outputs = append(d.Outputs, &loomv1.DeliveredOutput{Name: n, Place: "work/" + n, Content: blob(n)})
	}
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Deliver{Deliver: d}}
}

func failDelivery() *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_FailDelivery{FailDelivery: &loomv1.FailDelivery{Reason: "it did not land"}}}
}

func remember(sources ...string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_UpdateMemory{UpdateMemory: &loomv1.UpdateMemory{Entries: []*loomv1.MemoryUpdate{{Layer: durable, Id: "m1", Sources: sources}}}}}
}

func reintegrate(beads ...string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Reintegrate{Reintegrate: &loomv1.Reintegrate{Beads: beads, Lines: []string{"it is done"}}}}
}

// answered opens a session and brings it to the envelope that is shown, with
// questions of the model.
func (w *world) answered(p *loomv1.Pattern) {
	w.t.Helper()
	w.do(ann, open(p))
	for i, q := range []struct {
		text, answer string
		about        loomv1.IntentField
	}{
		{"What is the bakery known for?", "A name for the bakery. People come for the rye bread.", intent.Goal},
		{"What must a name not be?", "No pun.", intent.Constraints},
		{"Who hears the name first?", "People on the street.", intent.Audience},
		{"What is not part of this?", "Only the name, without a logo.", intent.Scope},
		{"When is a name good?", "Five people can spell it after one hearing.", intent.Success},
	} {
		w.do(model, ask(q.text, q.about))
		if w.Pending() == nil {
			w.t.Fatalf("%q is not asked: %v", q.text, w.facts[len(w.facts)-1])
		}
		w.do(ann, answer(uint32(i+1), q.answer))
	}
	w.do(model, draft(&loomv1.DraftIntent{Goal: []*loomv1.Quotation{{Answer: 1, Text: "A name for the bakery."}}}))
}

func (w *world) sealed(p *loomv1.Pattern) {
	w.t.Helper()
	w.answered(p)
	w.do(ann, ready(w.Shown().Digest))
}

func (w *world) prepared(p *loomv1.Pattern) {
	w.t.Helper()
	w.sealed(p)
	w.begin()
}

// begin brings a sealed session to its step.
func (w *world) begin() {
	w.t.Helper()
	w.do(host, validate("researcher", "analyst", "lead"))
	w.do(host, activate("researcher/1", "analyst/1", "lead/1"))
	w.do(host, prepare(brief))
}

// carryOut does the step that runs.
func (w *world) carryOut() {
	w.t.Helper()
	r := w.Running()
	for _, name := range w.Pattern().Steps[r.Step-1].Deliverables {
		w.do(model, write(r.Step, files, name))
	}
	w.do(host, end(r.Step, r.Run, done))
}

func met() []*loomv1.CompletionVerdict {
	var list []*loomv1.CompletionVerdict
	for _, item := range []string{"success/1", "output/names.md", "output/choice.md"} {
		list = append(list, &loomv1.CompletionVerdict{Item: item, Met: true, Evidence: fmt.Sprintf("%s was seen", item)})
	}
	return list
}
