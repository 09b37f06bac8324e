package simulation

import (
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sawSteps checks facts of a session between its seal and the completion check.
func (o *oracle) sawSteps(s *session, f *loomv1.IntentFact) bool {
	switch g := f.Fact.(type) {
	case *loomv1.IntentFact_Validated:
		s.judged, s.passed = true, g.Validated.Passed
		if s.passed == slices.ContainsFunc(g.Validated.Findings, (*loomv1.IntentFinding).GetBlocks) {
			o.broken(47, "META validation of session %s has passed: %t, with %v", s.id, s.passed, g.Validated.Findings)
		}
		if !s.passed {
			o.w.see("META validation stops a session")
		}
	case *loomv1.IntentFact_Activated:
		s.named = true
		o.reserved(s, g.Activated)
	case *loomv1.IntentFact_Prepared:
		s.prepared = true
		for _, in := range s.pattern.Inputs {
			has := func(p *loomv1.PreparedInput) bool { return p.Name == in.Name && p.Content.GetSha256() != "" }
			if in.Required && !slices.ContainsFunc(g.Prepared.Inputs, has) {
				o.broken(47, "session %s begins without its input %s", s.id, in.Name)
			}
		}
	case *loomv1.IntentFact_StepStarted:
		o.stepStarted(s, f)
	case *loomv1.IntentFact_Written:
		o.written(s, g.Written)
	case *loomv1.IntentFact_StepEnded:
		o.stepEnded(s, g.StepEnded)
	case *loomv1.IntentFact_Steered:
		o.onlyPerson(s, f, "something is said for the steps")
		o.w.see(map[bool]string{true: "redirected", false: "commented"}[g.Steered.Redirect])
		s.said = append(s.said, g.Steered)
	case *loomv1.IntentFact_TakenBack:
		o.w.see("taken back")
		if s.running != nil {
			s.tookBack = s.running.Run
		}
		s.said = slices.DeleteFunc(s.said, func(st *loomv1.Steered) bool { return st.Number == g.TakenBack.Number })
	case *loomv1.IntentFact_TempoSet:
		o.onlyPerson(s, f, "the tempo is changed")
		o.w.see("tempo changed")
		s.tempo = g.TempoSet.Tempo
	default:
		return false
	}
	return true
}

// reserved wants as much held back for a session as a bead may spend, or as is left of the
// project beside what is held back for those that go on.
func (o *oracle) reserved(s *session, f *loomv1.ActivatePattern) {
	bead, all := o.money.GetBeadBudget().GetMicroUsd(), o.money.GetBudget().GetMicroUsd()
	if s.means = f.BudgetMicroUsd; bead == 0 {
		return
	}
	left := all - o.spentMoney
	for _, other := range o.talked {
		if other != s && other.goesOn() {
			left -= max(0, other.means-o.moneyOf(other))
		}
	}
	if want := max(min(bead, left), 1); f.BudgetMicroUsd != want {
		o.broken(53, "%d is held back for session %s, and there is %d", f.BudgetMicroUsd, s.id, want)
	}
	o.w.see("money held back")
}

func (o *oracle) moneyOf(s *session) int64 {
	x := o.worked[s.bead]
	if x == nil || s.bead == "" {
		return 0
	}
	return x.moneySpent()
}

// moneySpent is what an execution and its children have cost.
func (x *execution) moneySpent() int64 {
	sum := x.money
	for _, c := range x.children {
		sum += c.moneySpent()
	}
	return sum
}

// stepStarted wants a step to begin for a sealed and validated intent, by itself only where
// nothing stops, at the tempo that holds.
func (o *oracle) stepStarted(s *session, f *loomv1.IntentFact) {
	r := f.GetStepStarted()
	switch {
	case s.digest == "" || s.confirm || !s.passed:
		o.broken(45, "step %d of session %s begins, and its intent is not sealed and validated", r.Step, s.id)
	case s.running != nil:
		o.broken(45, "step %d of session %s begins beside step %d", r.Step, s.id, s.running.Step)
	case r.Run != s.runs+1 || r.Step < 1 || int(r.Step) > len(s.pattern.Steps):
		o.broken(47, "run %d of session %s is of step %d, after run %d", r.Run, s.id, r.Step, s.runs)
	case s.step > 0 && !s.mayGoOn:
		o.onlyPerson(s, f, "a step begins that was stopped before")
	case s.abort != nil:
		o.broken(48, "step %d of session %s begins, and it is to be aborted", r.Step, s.id)
	}
	step := s.pattern.Steps[r.Step-1]
	tempo := s.tempo
	if tempo == 0 {
		tempo = step.Tempo
	}
	if tempo == 0 {
		tempo = s.pattern.DefaultTempo
	}
	if r.Limits.Tempo != tempo {
		o.broken(54, "step %d of session %s has tempo %s, and %s holds", r.Step, s.id, r.Limits.Tempo, tempo)
	}
	s.running, s.step, s.runs, s.failed, s.stopped, s.unmet = r, r.Step, r.Run, false, false, nil
	s.begunBy[r.Run] = s.digest
}

func (o *oracle) written(s *session, f *loomv1.WriteLayer) {
	if s.running == nil || s.running.Step != f.Step || !slices.Contains(s.pattern.Steps[f.Step-1].Writes, f.Layer) {
		o.broken(54, "step %d of session %s writes %s to layer %s", f.Step, s.id, f.Name, intent.LayerName(f.Layer))
	}
	if f.Layer == intent.LayerActive {
		s.active[f.Name] = true
	}
}

// stepEnded wants a step that has done its work to have left what it has to, and one that
// has not to have left nothing.
func (o *oracle) stepEnded(s *session, f *loomv1.StepEnded) {
	if s.running == nil || s.running.Run != f.Run {
		o.broken(45, "run %d of session %s ends, which is not under way", f.Run, s.id)
		return
	}
	done := f.Status == loomv1.StepStatus_STEP_STATUS_DONE
	step := s.pattern.Steps[f.Step-1]
	o.w.see("step ends: " + strings.ToLower(strings.TrimPrefix(f.Status.String(), "STEP_STATUS_")))
	left := blobs{}
	for _, out := range f.Outputs {
		left[out.Name] = out.Content.Sha256
	}
	for _, name := range step.Deliverables {
		if done && left[name] == "" {
			o.broken(49, "step %d of session %s has done its work, and has not left %s", f.Step, s.id, name)
		}
	}
	if !done && len(left) > 0 {
		o.broken(49, "step %d of session %s has not done its work, and leaves %v", f.Step, s.id, left)
	}
	maps.Copy(s.outputs, left)
	tempo := s.running.Limits.Tempo
	if s.tempo != 0 {
		tempo = s.tempo
	}
	stops := tempo == intent.Adagio || tempo == intent.Andante && step.Stop
	s.running, s.failed, s.mayGoOn = nil, !done, done && !stops
	if !done {
		s.try(o.w)
	}
}

// sawEnding checks facts of the completion check, of what comes after it, and of an abort.
func (o *oracle) sawEnding(s *session, f *loomv1.IntentFact) {
	switch g := f.Fact.(type) {
	case *loomv1.IntentFact_AbortAsked:
		o.onlyPerson(s, f, "an abort is asked for")
		s.abort = g.AbortAsked
	case *loomv1.IntentFact_Aborted:
		o.abortedAt(s, g.Aborted)
	case *loomv1.IntentFact_Flushed:
		if !s.owesFlush || int(g.Flushed.Entries) != len(s.active) {
			o.broken(48, "%d entries of session %s are emptied, and its own memory has %d", g.Flushed.Entries, s.id, len(s.active))
		}
		s.owesFlush = false
		clear(s.active)
	case *loomv1.IntentFact_Resumed:
		o.resumed(s, f)
	case *loomv1.IntentFact_Judged:
		o.checked(s, g.Judged)
	case *loomv1.IntentFact_Chosen:
		o.onlyPerson(s, f, "what is not met is chosen about")
		if g.Chosen.Choice == loomv1.CompletionChoice_COMPLETION_CHOICE_GAP {
			s.gaps = append(s.gaps, s.unmet...)
			o.w.see("gap of a session")
		}
		s.unmet, s.mayGoOn = nil, true
		s.try(o.w)
	case *loomv1.IntentFact_DeliveryFailed:
		o.w.see("delivery failed")
		s.unmet, s.back, s.failing = nil, true, true
		for _, out := range s.pattern.Outputs {
			if item := "output/" + out.Name; !slices.Contains(s.gaps, item) {
				s.unmet = append(s.unmet, item)
			}
		}
		s.try(o.w)
	case *loomv1.IntentFact_Delivered:
		o.delivers(s, g.Delivered)
	case *loomv1.IntentFact_MemoryUpdated:
	case *loomv1.IntentFact_Reintegrated:
		s.filed, s.owesFlush = g.Reintegrated.Beads, true
		for _, bead := range s.filed {
			if o.beads[bead] == nil {
				o.broken(47, "session %s names bead %q for what stayed open, which does not exist", s.id, bead)
			}
		}
	case *loomv1.IntentFact_Ended:
		if s.phase != intent.Reintegration || len(s.filed) < len(s.gaps) || !slices.Equal(g.Ended.Gaps, s.gaps) {
			o.broken(47, "session %s ends in %s with gaps %v of %v, and beads %v", s.id, intent.PhaseName(s.phase), g.Ended.Gaps, s.gaps, s.filed)
		}
		s.ended = true
		o.w.see("session ended")
	default:
		o.broken(47, "session %s has a fact %T that nobody knows", s.id, f.Fact)
	}
}

// abortedAt wants an abort at a boundary, with the record and the draft that were asked for.
func (o *oracle) abortedAt(s *session, f *loomv1.PatternAborted) {
	o.w.see("session aborted")
	r, draft := f.Record, blobs{}
	for _, out := range f.Draft {
		draft[out.Name] = out.Content.Sha256
	}
	switch {
	case s.running != nil:
		o.broken(48, "session %s is aborted while step %d runs", s.id, s.running.Step)
	case s.abort == nil:
		o.broken(48, "session %s is aborted, and nobody has asked for it", s.id)
	case r.GetType() != "pattern-abort" || r.PatternId != s.pattern.Name || r.AbortedAtStep != s.step || r.Reason != s.abort.Reason || r.PartialOutputSaved != s.abort.SaveDraft:
		o.broken(48, "session %s is aborted at step %d as %v was asked, and the record has %v", s.id, s.step, s.abort, r)
	case r.PartialOutputSaved && !maps.Equal(draft, s.outputs):
		o.broken(48, "session %s has left %v, and its draft has %v", s.id, s.outputs, draft)
	}
	if len(draft) > 0 {
		o.w.see("a draft is saved")
	}
	s.aborted, s.abort, s.stopped, s.outputs, s.unmet = f, nil, false, blobs{}, nil
	s.question, s.owesRecord, s.owesFlush = nil, true, true
}

// recorded notes the record of an abort in memory: one for each.
func (o *oracle) recorded(entry *loomv1.MemoryEntry) {
	if entry.Type != "pattern_abort" {
		return
	}
	i := slices.IndexFunc(o.talked, func(s *session) bool { return slices.Contains(entry.Tags, s.id) && s.owesRecord })
	if i < 0 {
		o.broken(48, "memory has a record of an abort more: %s", entry.Text)
		return
	}
	o.talked[i].owesRecord, o.talked[i].records = false, append(o.talked[i].records, entry.Id)
}

// recordedAgain has the record of an abort count for another that says the same.
func (o *oracle) recordedAgain(entry string) {
	for _, s := range o.talked {
		if s.owesRecord && slices.Contains(s.records, entry) {
			s.owesRecord = false
		}
	}
}

// resumed wants what was aborted after its seal to go on with the same envelope and the draft.
func (o *oracle) resumed(s *session, f *loomv1.IntentFact) {
	o.onlyPerson(s, f, "it is taken up")
	r := f.GetResumed()
	o.w.see(map[bool]string{true: "session run again", false: "session taken up"}[r.Rerun])
	if s.aborted == nil || s.digest == "" {
		o.broken(50, "session %s is taken up, and was not aborted after a seal", s.id)
		return
	}
	for _, out := range s.aborted.Draft {
		if !r.Rerun {
			s.outputs[out.Name] = out.Content.Sha256
		}
	}
	s.aborted, s.confirm, s.judged, s.passed, s.named, s.prepared = nil, r.Rerun, false, false, false, false
	if s.failed, s.back, s.mayGoOn, s.afterLast = false, true, true, r.Step == 0; s.afterLast {
		o.w.see("taken up at the completion check")
	} else {
		s.step = 0
	}
}

// checked wants each success criterion and each output judged, what is met with evidence,
// and notes what the outputs are that were.
func (o *oracle) checked(s *session, f *loomv1.JudgeCompletion) {
	s.unmet, s.gaps, s.failing = nil, nil, false
	seen := map[string]bool{}
	for _, v := range f.Verdicts {
		name, is := strings.CutPrefix(v.Item, "output/")
		if seen[v.Item] = true; v.Met && (strings.TrimSpace(v.Evidence) == "" || is && s.outputs[name] == "") {
			o.broken(49, "%s of session %s is met without evidence, or was not left", v.Item, s.id)
		}
		if !v.Met {
			s.unmet = append(s.unmet, v.Item)
		}
	}
	for _, out := range s.pattern.Outputs {
		if !seen["output/"+out.Name] || !seen["success/1"] {
			o.broken(49, "session %s has %v judged, and not all", s.id, seen)
		}
	}
	if s.checkedFiles = maps.Clone(s.outputs); len(s.unmet) > 0 {
		o.w.see("something is not met")
	}
}

// delivers wants what is delivered to be what was judged, and what has landed to have it.
func (o *oracle) delivers(s *session, f *loomv1.DeliverOutputs) {
	x := o.worked[s.bead]
	switch {
	case !maps.Equal(s.checkedFiles, s.outputs):
		o.broken(49, "session %s delivers %v, and %v was judged", s.id, s.outputs, s.checkedFiles)
	case x == nil || !x.ended:
		o.broken(49, "session %s delivers before its work has ended", s.id)
	}
	there := o.w.targetFiles()
	for _, out := range f.Outputs {
		if has := there[intent.Folder(s.id)+"/"+out.Name]; has != out.Content.Sha256 {
			o.broken(49, "session %s delivers %s as %s, and the target has %q", s.id, out.Name, out.Content.Sha256, has)
		}
		if s.checkedFiles[out.Name] != out.Content.Sha256 {
			o.broken(49, "session %s delivers %s as %s, and %q was judged", s.id, out.Name, out.Content.Sha256, s.checkedFiles[out.Name])
		}
	}
	for _, out := range s.pattern.Outputs {
		is := func(d *loomv1.DeliveredOutput) bool { return d.Name == out.Name }
		if !slices.Contains(s.gaps, "output/"+out.Name) && !slices.ContainsFunc(f.Outputs, is) {
			o.broken(49, "session %s is over, and %s is neither delivered nor a gap", s.id, out.Name)
		}
	}
	if len(f.Outputs) > 0 && x != nil && len(x.landed) > 0 {
		o.w.see("outputs landed")
	}
	s.delivered = f
}

// landsAsJudged wants what lands for a session to be what its completion check has judged.
func (o *oracle) landsAsJudged(x *execution) {
	s := x.session
	if s == nil || x.bead != s.bead || len(s.checkedFiles) == 0 {
		return
	}
	has := o.w.sessionFiles(x.newest.GetPatchDigest())
	for name, sum := range s.checkedFiles {
		if has[intent.Folder(s.id)+"/"+name] != sum {
			o.broken(49, "%s lands %s as %q, and the completion check of session %s has judged %q", x.id, name, has[intent.Folder(s.id)+"/"+name], s.id, sum)
		}
	}
}

// talking counts the sessions that go on.
func (o *oracle) talking() (n int) {
	for _, s := range o.talked {
		if s.goesOn() {
			n++
		}
	}
	return n
}

// closedBySession says whether a session has ended an execution of its own, which it may
// where the step is over that it did.
func (o *oracle) closedBySession(x *execution) bool {
	s := x.session
	return s != nil && (!s.goesOn() || s.digest == "" || s.running == nil || x.stranded.Equal(o.now))
}

// movedBySession says whether a session has had its work go on at the step that runs. No
// order of the CEO has.
func (o *oracle) movedBySession(x *execution, e *loomv1.Event, f *loomv1.ExecutionMoved) bool {
	s := x.session
	if s == nil {
		return false
	}
	to := processes.CompletionNode
	if s.running != nil {
		to = s.pattern.Steps[s.running.Step-1].Name
	}
	if o.order.GetVerb() == "move" || s.running == nil && s.phase != intent.Completion || f.To != to {
		o.broken(50, "%s, and session %s has not sent it there", tellEvent(e), s.id)
	}
	x.sent = o.now
	return true
}

// leftOpen says whether an execution is of what a session has left open, and waits for
// somebody to have it go on.
func (o *oracle) leftOpen(x *execution) bool {
	return x != nil && x.dispatches <= 1 && slices.Contains(o.beads[x.bead].GetLabels(), "open-end")
}
