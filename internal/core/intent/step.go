package intent

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// start enters step execution with a step, or the completion check after the
// last.
func (d *decision) start(order uint32) {
	if order == 0 {
		d.enter(Completion, 0)
		return
	}
	timeout := stepTimeout
	if t := d.stepOf(order).GetTimeout(); t != nil {
		timeout = t.AsDuration()
	}
	d.enter(Execution, order)
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_StepStarted{StepStarted: &loomv1.StepStarted{
		Step: order, Run: d.runs + 1, Limits: d.limits(order), Deadline: timestamppb.New(d.at.AsTime().Add(timeout)),
	}}})
}

func (d *decision) writes(w *loomv1.WriteLayer) error {
	if err := d.allowed(runtime, "a write of a step", Execution); err != nil {
		return err
	}
	step := d.stepOf(w.GetStep())
	switch {
	case !d.running || d.step.Step != w.GetStep():
		return fault.New("intent/step", "step %d does not run", w.GetStep())
	case !slices.Contains(step.Writes, w.Layer):
		return fault.New("intent/layer", "step %d, %q, does not write to layer %s", w.Step, step.Name, LayerName(w.Layer)).At("layer").
			Want("it declares %s", layerNames(step.Writes))
	case w.Name == "" || len(w.Name) > 256:
		return fault.New("intent/invalid", "a write has a name of 1 to 256 bytes").At("name").Got(w.Name)
	case w.Layer == LayerFiles && !isBlob(w.Content):
		return fault.New("intent/invalid", "a file that is written has the SHA-256 of its content").At("content").Got(w.Content.GetSha256())
	case w.Layer == LayerActive && len(d.active) >= maxActive && !d.active[w.Name]:
		return fault.New("intent/limit", "the session's own memory has %d entries", len(d.active))
	case len(d.kept) >= maxKept && w.Layer != LayerFiles:
		return fault.New("intent/limit", "steps of the session have kept %d things", len(d.kept))
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Written{Written: w}})
	return nil
}

// The layers that steps write to, by short names.
const (
	LayerActive    = loomv1.SessionLayer_SESSION_LAYER_ACTIVE
	LayerDurable   = loomv1.SessionLayer_SESSION_LAYER_DURABLE
	LayerFiles     = loomv1.SessionLayer_SESSION_LAYER_FILES
	LayerDecisions = loomv1.SessionLayer_SESSION_LAYER_DECISIONS
)

// LayerName spells a layer: "active".
func LayerName(l loomv1.SessionLayer) string { return word(l.String(), "SESSION_LAYER_") }

// StepName is what a step is called: of one that another pattern brought, with the steps
// that this is used as, and its name: "polish: check, by clarity-pass".
func StepName(s *loomv1.PatternStep) string {
	if len(s.GetWithin()) == 0 {
		return s.GetName()
	}
	var places []string
	for _, use := range s.Within {
		places = append(places, use.Step)
	}
	own := strings.TrimPrefix(s.Name, strings.Join(places, "-")+"-")
	return strings.Join(places, "/") + ": " + own + ", by " + s.Within[len(s.Within)-1].Pattern
}

func layerNames(list []loomv1.SessionLayer) string {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = LayerName(l)
	}
	return orNothing(strings.Join(names, ", "))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func (d *decision) stepEnds(e *loomv1.EndStep) error {
	if err := d.allowed(runtime, "the end of a step", Execution); err != nil {
		return err
	}
	if !d.running || d.step.Step != e.GetStep() || d.step.Run != e.GetRun() {
		return fault.New("intent/step", "run %d of step %d is not under way", e.GetRun(), e.GetStep())
	}
	switch e.Status {
	case loomv1.StepStatus_STEP_STATUS_DONE:
		for _, name := range d.stepOf(e.Step).Deliverables {
			if !slices.ContainsFunc(d.written, func(o *loomv1.StepOutput) bool { return o.Name == name }) {
				return fault.New("intent/step", "step %d has not left %s", e.Step, name).Want("write it, or end the step as failed")
			}
		}
	case loomv1.StepStatus_STEP_STATUS_FAILED, loomv1.StepStatus_STEP_STATUS_TIMED_OUT:
	default:
		return fault.New("intent/invalid", "a step ends as done, failed or timed out").At("status").Got(e.Status.String())
	}
	if len(e.Summary) > maxText {
		return fault.New("intent/invalid", "a summary has at most %d bytes", maxText).At("summary")
	}
	if most := d.step.GetLimits().GetAnswerBytes(); len(e.Summary)+len(e.Notes) > int(most) && e.Status == loomv1.StepStatus_STEP_STATUS_DONE || len(e.Notes) > maxNotes {
		return fault.New("intent/invalid", "summary and notes have %d bytes, and the tempo has %d for them", len(e.Summary)+len(e.Notes), most).At("notes")
	}
	d.endStep(&loomv1.StepEnded{Status: e.Status, Summary: e.Summary, Notes: e.Notes, Outputs: d.written})
	return nil
}

// endStep ends the run that is under way: the boundary at which an abort that
// waited acts, and else the steering hook, which goes on by itself where nothing
// stops it.
func (d *decision) endStep(end *loomv1.StepEnded) {
	step := d.step.Step
	end.Step, end.Run = step, d.step.Run
	if end.Status != loomv1.StepStatus_STEP_STATUS_DONE {
		end.Outputs = nil
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_StepEnded{StepEnded: end}})
	goesOn := end.Status == loomv1.StepStatus_STEP_STATUS_DONE && !d.limits(step).Stops
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Entered{Entered: &loomv1.LifecycleEntered{Phase: Steering, Step: step, Waits: d.abort == nil && !goesOn}}})
	switch {
	case d.abort != nil:
		d.abortNow(step)
	case goesOn:
		d.start(d.after(step))
	}
}

func (d *decision) proceed(p *loomv1.Proceed) error {
	if err := d.allowed(person, "going on", Steering); err != nil {
		return err
	}
	next := d.after(d.step.Step)
	to := p.GetStep()
	switch {
	case !d.stopped:
		return fault.New("intent/phase", "session %q does not wait", d.id)
	case d.runs >= maxRuns:
		return fault.New("intent/limit", "%d steps have run", d.runs).Want("abort")
	case to == 0 && d.failed:
		return fault.New("intent/step", "step %d did not do its work", d.step.Step).Want("name the step to run: %d again, or one before it", d.step.Step)
	case to == 0:
		to = next
	case to > d.step.Step && (d.failed || to != next):
		return fault.New("intent/step", "step %d cannot be reached from step %d", to, d.step.Step).At("step")
	}
	d.start(to)
	return nil
}
