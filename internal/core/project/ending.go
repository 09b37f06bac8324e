package project

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/memory"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// deliver ends a session whose work has landed: its outputs are at their place, memory
// has what it was for, gaps are beads, and the operator is told where things stand.
func (d *decision) deliver(id string, x *loomv1.Execution) error {
	s := d.s.sessions[id]
	if s.Phase() != intent.Delivery && !s.DeliveryFailed() {
		return nil
	}
	place := "nothing had changed"
	if l := x.Landing; l != nil {
		place = fmt.Sprintf("%s at %s", l.Target, l.Commit)
	}
	del := &loomv1.DeliverOutputs{}
	for _, o := range s.Pattern().Outputs {
		if made, ok := s.Output(o.Name); ok && !slices.Contains(s.Gaps(), "output/"+o.Name) {
			del.Outputs = append(del.Outputs, &loomv1.DeliveredOutput{Name: o.Name, Place: place + ", " + path.Join(intent.Folder(id), o.Name), Content: made.Content})
		}
	}
	if err := d.carry(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Deliver{Deliver: del}}); err != nil {
		return err
	}
	if err := d.rememberSession(id, x, del); err != nil {
		return err
	}
	return d.reintegrate(id, x, del)
}

// undelivered goes on with a session whose work has ended without landing what was to be
// delivered: a person chooses anew, or has accepted that nothing of it is.
func (d *decision) undelivered(id, why string) error {
	err := d.carry(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_FailDelivery{FailDelivery: &loomv1.FailDelivery{Reason: cut(why, MaxComment)}}})
	if d.refuses(err) { // all outputs are gaps
		return d.deliver(id, d.s.execution(d.s.bead(d.s.p.Sessions[id].Bead).GetExecution()))
	}
	return err
}

// unjudged has a person choose where nobody could judge the criteria, and says why.
func (d *decision) unjudged(id, why string) error {
	return d.judged(id, &loomv1.Outcome{Summary: cut(why, MaxComment)})
}

// rememberSession keeps in the project's memory what a session was for and has left.
func (d *decision) rememberSession(id string, x *loomv1.Execution, del *loomv1.DeliverOutputs) error {
	s := d.s.sessions[id]
	envelope, _, _ := s.Sealed()
	u := &loomv1.UpdateMemory{}
	t := d.ownTurn()
	t.Bead, t.Execution, t.Process = x.Bead, x.Id, x.Definition
	kept, err := d.s.mem.Decide(t, &loomv1.Command{Body: &loomv1.Command_KeepMemory{KeepMemory: &loomv1.KeepMemory{Entry: &loomv1.MemoryEntry{
		Type: "discovery", Confidence: 100, Tags: tagged(s.Pattern().Name, id),
		Text: resultOf(s, envelope, del),
	}}}})
	switch {
	case d.broken != nil:
		return d.broken
	case err == nil: // at its limits memory takes nothing, which is no reason to keep a session from its end
		e := &loomv1.MemoryUpdate{Layer: loomv1.SessionLayer_SESSION_LAYER_DURABLE, Id: kept.GetMemory().GetId()}
		for _, q := range envelope.Goal {
			e.Sources = append(e.Sources, fmt.Sprintf("answer/%d", q.Answer))
		}
		for _, o := range del.Outputs {
			e.Sources = append(e.Sources, o.Name)
		}
		u.Entries = append(u.Entries, e)
	}
	u.Entries = append(u.Entries, d.s.keptBy(s)...)
	return d.carry(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_UpdateMemory{UpdateMemory: u}})
}

// resultOf is what later sessions are told of one: what it was for, what came of it in the
// words of its last step, where that lies, and what stayed open. It is no second envelope:
// what held for one session holds for no other.
func resultOf(s *intent.Session, envelope *loomv1.IntentEnvelope, del *loomv1.DeliverOutputs) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s of pattern %s was for: %s. It left %s in %s.", s.ID(), s.Pattern().Name, cut(oneLine(wordsOf(envelope.Goal)), mostSummary), namesOf(del), intent.Folder(s.ID()))
	if last, ok := s.Done(uint32(len(s.Pattern().Steps))); ok && oneLine(last.Summary) != "" { //nolint:gosec // there are 16 at most
		fmt.Fprintf(&b, " Its last step said: %q.", cut(oneLine(last.Summary), mostSummary))
	}
	for i, gap := range s.Gaps() {
		fmt.Fprintf(&b, "%s%s", []string{" Left open: ", "; "}[min(i, 1)], cut(oneLine(s.OpenEnd(gap)), mostSummary))
	}
	return b.String()
}

func wordsOf(list []*loomv1.Quotation) string {
	var words []string
	for _, q := range list {
		words = append(words, q.Text)
	}
	return strings.Join(words, "; ")
}

func namesOf(del *loomv1.DeliverOutputs) string {
	names := ""
	for i, o := range del.Outputs {
		if i > 0 {
			names += ", "
		}
		names += o.Name
	}
	return first(names, "no output")
}

// reintegrate files what stayed open, and tells the operator how the session has ended.
func (d *decision) reintegrate(id string, x *loomv1.Execution, del *loomv1.DeliverOutputs) error {
	s := d.s.sessions[id]
	envelope, _, _ := s.Sealed()
	r := &loomv1.Reintegrate{Decisions: []string{}}
	if goal := d.s.goalOf(x); goal != "" {
		r.Decisions = append(r.Decisions, goal)
	}
	for _, e := range d.s.keptBy(s) {
		if e.Layer == intent.LayerDecisions {
			r.Decisions = append(r.Decisions, e.Id)
		}
	}
	for _, gap := range s.Gaps() {
		b, err := d.fileGap(id, x, gap, s.OpenEnd(gap))
		if err != nil {
			return err
		}
		r.Beads = append(r.Beads, b)
	}
	line := func(format string, args ...any) {
		r.Lines = append(r.Lines, cut(oneLine(fmt.Sprintf(format, args...)), 200))
	}
	line("Session %s of pattern %s has ended.", id, s.Pattern().Name)
	if x.Landing != nil {
		line("It left %s, on %s at %.12s.", namesOf(del), x.Landing.Target, x.Landing.Commit)
	}
	line("%s", metText(envelope, s))
	if len(r.Beads) > 0 {
		line("What stayed open is filed: %s.", strings.Join(r.Beads, ", "))
	}
	return d.carry(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Reintegrate{Reintegrate: r}})
}

// metText counts what a session had to meet and has met. Constraints are kept or not, and are
// none of the items that are counted: where some are accepted as broken, it says how many.
func metText(envelope *loomv1.IntentEnvelope, s *intent.Session) string {
	items := intent.Items(envelope, s.Pattern())
	met := len(items)
	broken := 0
	for _, gap := range s.Gaps() {
		if slices.Contains(items, gap) {
			met--
		} else {
			broken++
		}
	}
	text := fmt.Sprintf("%d of %d criteria and outputs are met", met, len(items))
	if broken > 0 {
		text += fmt.Sprintf(", and constraints accepted as not kept: %d", broken)
	}
	return text + "."
}

// fileGap files a bead for what a session left open. It was accepted as it is, so its
// work waits until somebody has it go on.
func (d *decision) fileGap(id string, x *loomv1.Execution, item, text string) (string, error) {
	defer d.aside()()
	was := d.actor
	d.actor = carrier
	defer func() { d.actor = was }()
	d.bead, d.execution, d.node, d.attempt = "", "", "", ""
	b := &loomv1.Bead{
		Type: loomv1.BeadType_BEAD_TYPE_TASK, Priority: loomv1.Priority_PRIORITY_LOW, Labels: []string{"open-end"},
		Goal:        cut(oneLine("Left open by session "+id+": "+text), MaxGoal),
		Description: cut(fmt.Sprintf("%s of session %s (%s) was accepted as a gap.\n\n%s", item, id, x.Bead, intent.Text(d.sealedOf(id))), MaxDescription),
	}
	b.Process = d.process(&loomv1.Submission{Type: b.Type, Labels: b.Labels})
	if _, err := d.file(b, filing{}); err != nil {
		return "", err
	}
	return b.Id, d.pause(&loomv1.PauseWork{Scope: loomv1.PauseScope_PAUSE_SCOPE_EXECUTION, Name: d.s.bead(b.Id).Execution, Reason: "left open by session " + id})
}

func (d *decision) sealedOf(id string) *loomv1.IntentEnvelope {
	e, _, _ := d.s.sessions[id].Sealed()
	return e
}

// rememberAbort keeps the record of an abort in the project's memory.
func (d *decision) rememberAbort(e *loomv1.Event) error {
	a := e.GetSessionAdvanced()
	r := a.GetFact().GetAborted().GetRecord()
	if r == nil {
		return nil
	}
	t := d.ownTurn()
	t.Types = []string{memory.AbortType}
	return d.rememberAs(t, e, &loomv1.MemoryEntry{
		Type: memory.AbortType, Confidence: 100, Tags: tagged(r.PatternId, a.Session),
		Text: fmt.Sprintf("type: %s, patternId: %s, abortedAtStep: %d, reason: %q, partialOutputSaved: %t (session %s)",
			r.Type, r.PatternId, r.AbortedAtStep, cut(oneLine(r.Reason), mostSummary), r.PartialOutputSaved, a.Session),
	})
}
