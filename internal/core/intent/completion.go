package intent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Added names, as an item of the completion check, the constraints that the operator has
// added since the seal.
const Added = "constraint/added"

// ConstraintItems returns the items of an envelope's constraints and of its scope, which binds
// as they do, and [Added]. A verdict on one may be left out: then it counts as kept.
func ConstraintItems(e *loomv1.IntentEnvelope) (items []string) {
	for i := range e.GetConstraints() {
		items = append(items, fmt.Sprintf("constraint/%d", i+1))
	}
	for i := range e.GetScope() {
		items = append(items, fmt.Sprintf("scope/%d", i+1))
	}
	return append(items, Added)
}

// Items returns what the completion check has to judge: each success criterion and
// each output.
func Items(e *loomv1.IntentEnvelope, p *loomv1.Pattern) (items []string) {
	for i := range e.GetSuccess() {
		items = append(items, fmt.Sprintf("success/%d", i+1))
	}
	for _, o := range p.GetOutputs() {
		items = append(items, "output/"+o.Name)
	}
	return items
}

func (d *decision) judge(j *loomv1.JudgeCompletion) error {
	if err := d.allowed(runtime, "a verdict", Completion); err != nil {
		return err
	}
	if len(d.unmet) > 0 {
		return fault.New("intent/phase", "%d items wait for the operator's choice", len(d.unmet))
	}
	left, optional := Items(d.envelope, d.pattern), ConstraintItems(d.envelope)
	for i, v := range j.GetVerdicts() {
		where := fmt.Sprintf("verdicts[%d]", i)
		if c := slices.Index(optional, v.GetItem()); c >= 0 && len(v.Evidence) <= maxText {
			optional = slices.Delete(optional, c, c+1)
			continue
		}
		k := slices.Index(left, v.GetItem())
		name, isOutput := strings.CutPrefix(v.GetItem(), "output/")
		switch {
		case k < 0:
			return fault.New("intent/completion", "there is nothing like that to judge, or it was judged already").At(where).Got(v.GetItem())
		case v.Met && strings.TrimSpace(v.Evidence) == "" || len(v.Evidence) > maxText:
			return fault.New("intent/completion", "that %s is met has no evidence, or more than %d bytes", v.Item, maxText).At(where)
		case v.Met && isOutput && d.outputs[name] == nil:
			return fault.New("intent/completion", "no step has left %s", name).At(where)
		}
		left = slices.Delete(left, k, k+1)
	}
	if len(left) > 0 {
		return fault.New("intent/completion", "%s was not judged", left[0]).At("verdicts")
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Judged{Judged: j}})
	if len(d.unmet) == 0 {
		d.enter(Delivery, 0)
	}
	return nil
}

func (d *decision) choose(c *loomv1.ChooseCompletion) error {
	if err := d.allowed(person, "a choice about what is not met", Completion); err != nil {
		return err
	}
	switch {
	case len(d.unmet) == 0:
		return fault.New("intent/phase", "nothing waits for a choice")
	case c.GetChoice() == loomv1.CompletionChoice_COMPLETION_CHOICE_GAP:
		d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Chosen{Chosen: c}})
		d.enter(Delivery, 0)
		return nil
	case c.GetChoice() != loomv1.CompletionChoice_COMPLETION_CHOICE_STEP:
		return fault.New("intent/invalid", "unknown choice").At("choice").Want("another step, or the gap; or abort")
	case d.stepOf(c.Step) == nil:
		return fault.New("intent/step", "there is no step %d", c.Step).At("step")
	case d.runs >= maxRuns:
		return fault.New("intent/limit", "%d steps have run", d.runs)
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Chosen{Chosen: c}})
	d.start(c.Step)
	return nil
}

func (d *decision) deliver(del *loomv1.DeliverOutputs) error {
	late := d.DeliveryFailed()
	phases := []loomv1.LifecyclePhase{Delivery}
	if late {
		phases = append(phases, Completion)
	}
	if err := d.allowed(host, "delivery", phases...); err != nil {
		return err
	}
	placed := map[string]bool{}
	for i, o := range del.GetOutputs() {
		where := fmt.Sprintf("outputs[%d]", i)
		made := d.outputs[o.GetName()]
		switch {
		case made == nil || placed[o.Name]:
			return fault.New("intent/delivery", "no step has left such an output, or it is there twice").At(where).Got(o.GetName())
		case o.Place == "" || made.Content.GetSha256() != o.Content.GetSha256():
			return fault.New("intent/delivery", "%s has no place, or is not what was judged", o.Name).At(where)
		}
		placed[o.Name] = true
	}
	for _, o := range d.pattern.Outputs {
		if !placed[o.Name] && !slices.Contains(d.gaps, "output/"+o.Name) {
			return fault.New("intent/delivery", "%s is not delivered", o.Name).At("outputs")
		}
	}
	if late {
		d.enter(Delivery, 0)
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Delivered{Delivered: del}})
	d.enter(Memory, 0)
	return nil
}

// failDelivery goes back to the choice about what is not met: each output that was to be
// delivered is not.
func (d *decision) failDelivery(f *loomv1.FailDelivery) error {
	if err := d.allowed(host, "that a delivery failed", Delivery); err != nil {
		return err
	}
	switch {
	case len(f.GetReason()) > maxText:
		return fault.New("intent/invalid", "a reason has at most %d bytes", maxText).At("reason")
	case len(d.undelivered()) == 0:
		return fault.New("intent/delivery", "nothing was to be delivered")
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_DeliveryFailed{DeliveryFailed: f}})
	d.enter(Completion, 0)
	return nil
}

// undelivered are the outputs that are to be delivered, as items of the completion check.
func (s *Session) undelivered() (items []string) {
	for _, o := range s.pattern.GetOutputs() {
		if item := "output/" + o.Name; !slices.Contains(s.gaps, item) {
			items = append(items, item)
		}
	}
	return items
}

func (d *decision) remember(u *loomv1.UpdateMemory) error {
	if err := d.allowed(host, "the update of memory", Memory); err != nil {
		return err
	}
	for i, e := range u.GetEntries() {
		where := fmt.Sprintf("entries[%d]", i)
		if e.Layer != LayerDurable && e.Layer != LayerDecisions || e.Id == "" {
			return fault.New("intent/delivery", "an entry has an id, and a layer that lasts").At(where).Got(LayerName(e.Layer))
		}
		if len(e.Sources) == 0 {
			return fault.New("intent/delivery", "entry %q has no source", e.Id).At(where)
		}
		for _, src := range e.Sources {
			if !d.isSource(src) {
				return fault.New("intent/delivery", "the session has no source of that name").At(where).Got(src).Want("answer/N, step/N, or an output")
			}
		}
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_MemoryUpdated{MemoryUpdated: u}})
	d.enter(Reintegration, 0)
	return nil
}

func (d *decision) isSource(src string) bool {
	var n uint32
	if _, err := fmt.Sscanf(src, "answer/%d", &n); err == nil {
		return n >= 1 && int(n) <= len(d.answers)
	}
	if _, err := fmt.Sscanf(src, "step/%d", &n); err == nil {
		return d.stepOf(n) != nil
	}
	return d.outputs[src] != nil
}

func (d *decision) reintegrate(r *loomv1.Reintegrate) error {
	if err := d.allowed(host, "reintegration", Reintegration); err != nil {
		return err
	}
	switch {
	case len(r.GetBeads()) < len(d.gaps) || slices.Contains(r.Beads, ""):
		return fault.New("intent/delivery", "%d gaps stayed open, and %d beads were filed", len(d.gaps), len(r.GetBeads())).At("beads")
	case len(r.Lines) == 0 || len(r.Lines) > maxLines:
		return fault.New("intent/delivery", "the operator is told in 1 to %d lines", maxLines).At("lines")
	}
	for i, l := range r.Lines {
		if l == "" || len(l) > maxLine || strings.ContainsAny(l, "\n\r") {
			return fault.New("intent/delivery", "a line has 1 to %d bytes", maxLine).At(fmt.Sprintf("lines[%d]", i))
		}
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Reintegrated{Reintegrated: r}})
	d.flush()
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Ended{Ended: &loomv1.SessionEnded{Gaps: d.gaps}}})
	return nil
}
