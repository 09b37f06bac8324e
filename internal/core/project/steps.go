package project

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The steps of a session are work of a bead of its own: the session says which step is
// done, at what tempo and whether it waits; the execution of the bead does it.

// carrier is who does what is the runtime's in a session.
var carrier = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "session"}

// followSession does what is the runtime's to do in the phase that a session has entered,
// and has its work follow.
func (d *decision) followSession(e *loomv1.Event) {
	id := e.GetSessionAdvanced().GetSession()
	f := e.GetSessionAdvanced().GetFact()
	if f.GetEntered() != nil || f.GetAnswered() != nil || f.GetPassed() != nil || f.GetPatternAsks() != nil || f.GetAborted() != nil || f.GetRevised() != nil || f.GetEnded() != nil {
		d.later(func() error { return d.carryOn(id) })
	}
}

// carryOn decides for the runtime until the session waits for work or a person.
func (d *decision) carryOn(id string) error {
	for s := d.s.sessions[id]; s != nil; {
		cmd := d.dueIn(s, d.s.p.Sessions[id])
		if cmd == nil {
			if err := d.interview(id); err != nil {
				return err
			}
			return d.work(id)
		}
		if err := d.carry(id, cmd); err != nil {
			return err
		}
	}
	return nil
}

// carry has a session decide a command of the runtime.
func (d *decision) carry(id string, cmd *loomv1.IntentCommand) error {
	return d.carryFor(id, carrier, cmd)
}

// carryFor is carry for somebody.
func (d *decision) carryFor(id string, by *loomv1.Identity, cmd *loomv1.IntentCommand) error {
	cmd.By, cmd.At = by, d.at
	facts, err := d.s.sessions[id].Decide(cmd)
	if err != nil {
		return err
	}
	defer d.aside()()
	d.bead, d.execution, d.node, d.attempt = d.s.p.Sessions[id].Bead, "", "", ""
	return d.advance(id, facts, nil)
}

// dueIn is what the runtime does next in a session, nil where it waits.
func (d *decision) dueIn(on *intent.Session, r *loomv1.SessionRecord) *loomv1.IntentCommand {
	switch {
	case !goesOn(on):
	case on.Phase() == intent.Meta && !on.Judged():
		return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Validate{Validate: &loomv1.ValidateIntent{Means: d.means(on)}}}
	case on.Phase() == intent.Activation:
		return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Activate{Activate: d.activation(on)}}
	case on.Phase() == intent.Inputs:
		return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Prepare{Prepare: &loomv1.PrepareInputs{Inputs: r.Inputs}}}
	}
	return nil
}

// work has the execution of a session's bead do what the session is at: it begins, goes
// to the step that runs, or ends where the session does without it.
func (d *decision) work(id string) error {
	s, r := d.s.sessions[id], d.s.p.Sessions[id]
	x := d.s.execution(d.s.bead(r.GetBead()).GetExecution())
	_, _, sealed := s.Sealed()
	run := s.Running()
	switch {
	case running(x) && (!goesOn(s) || !sealed):
		defer d.about(x)()
		return d.run(x).CloseNow("session " + id + how(s))
	case s.Phase() == intent.Delivery && x != nil && !running(x) && x.Landing != nil:
		return d.deliver(id, x) // its attempt was over when that was known
	case s.Phase() == intent.Delivery && x != nil && !running(x) && !workflow.Delivered(x.Status):
		return d.undelivered(id, "its work has ended and landed nothing")
	case run == nil && s.Phase() == intent.Completion && len(s.Unmet()) == 0 && !running(x):
		return d.fileSteps(id, s, nil) // taken up after its last step
	case run == nil:
		return nil
	case !running(x):
		return d.fileSteps(id, s, run)
	}
	node := s.Pattern().Steps[run.Step-1].Name
	if st := x.Nodes[node].GetStatus(); st == loomv1.NodeStatus_NODE_STATUS_RUNNING || st == loomv1.NodeStatus_NODE_STATUS_BACKOFF || st == loomv1.NodeStatus_NODE_STATUS_WAITING {
		return nil
	}
	defer d.about(x)()
	return d.run(x).GoTo(node, sessionMove(id)+"step "+strconv.Itoa(int(run.Step)))
}

func how(s *intent.Session) string {
	switch {
	case s.Ended():
		return " has ended"
	case goesOn(s):
		return " is revised"
	}
	return " was aborted"
}

// fileSteps files the bead of a session's steps, and begins its work at the one that runs, or
// at the completion check where none does.
func (d *decision) fileSteps(id string, s *intent.Session, run *loomv1.StepStarted) error {
	defer d.aside()()
	cannot := func(err error) error {
		if run == nil {
			return d.unjudged(id, "Nobody can judge it: "+err.Error())
		}
		return d.stepEnded(id, run, nil, err.Error())
	}
	envelope, _, _ := s.Sealed()
	def, err := processes.SessionWorkflow(s.Pattern(), len(envelope.Success), d.s.cfg.Roles)
	if err != nil {
		return cannot(err)
	}
	d.bead, d.execution, d.node, d.attempt = "", "", "", ""
	if err := d.storeOwn(def); err != nil {
		return cannot(err)
	}
	b := &loomv1.Bead{
		Type: loomv1.BeadType_BEAD_TYPE_TASK, Goal: cut(oneLine(s.Pattern().Name+": "+s.Request()), MaxGoal), Session: id, Process: def.Name,
		Budget: d.s.reservedBudget(s), Description: cut(intent.Text(envelope), MaxDescription), Priority: loomv1.Priority_PRIORITY_NORMAL,
		Context: &structpb.Struct{Fields: map[string]*structpb.Value{processes.SessionKey: structpb.NewStringValue(id)}},
	}
	if _, err := d.file(b, filing{}); err != nil {
		return err
	}
	if run.GetStep() == 1 {
		return nil
	}
	x := d.s.execution(d.s.bead(b.Id).Execution)
	defer d.about(x)()
	if run == nil {
		return d.run(x).GoTo(processes.CompletionNode, sessionMove(id)+"the completion check")
	}
	return d.run(x).GoTo(s.Pattern().Steps[run.Step-1].Name, sessionMove(id)+"step "+strconv.Itoa(int(run.Step)))
}

// sessionOf returns the session that an execution works for, nil for none.
func (s *State) sessionOf(x *loomv1.Execution) *intent.Session {
	return s.sessions[s.bead(x.GetBead()).GetSession()]
}

// sessionHolds says whether a session has its work wait: between steps, for a choice of
// the operator, or while its intent is revised.
func (s *State) sessionHolds(x *loomv1.Execution) bool {
	on := s.sessionOf(x)
	if on == nil || s.p.Sessions[on.ID()].GetBead() != x.Bead {
		return false
	}
	return on.Running() == nil && (on.Phase() < intent.Completion || len(on.Unmet()) > 0)
}

// followStep has a session hear of a node of its work that is completed: a step has
// ended, or its success criteria are judged.
func (d *decision) followStep(e *loomv1.Event) {
	x := d.s.execution(e.Execution)
	s := d.s.sessionOf(x)
	if s == nil || !e.GetNodeCompleted().GetSucceeded() {
		return
	}
	id, run := s.ID(), s.Running()
	switch {
	case run != nil && e.Node == s.Pattern().Steps[run.Step-1].Name:
		d.later(func() error { return d.stepEnded(id, run, x.Nodes[e.Node].GetOutcome(), "") })
	case run == nil && e.Node == processes.CompletionNode && s.Phase() == intent.Completion:
		d.later(func() error { return d.judged(id, x.Nodes[e.Node].GetOutcome()) })
	}
}

// stepEnded tells a session that the run of a step has ended: with what it has left, or
// with why it failed.
func (d *decision) stepEnded(id string, run *loomv1.StepStarted, out *loomv1.Outcome, why string) error {
	s := d.s.sessions[id]
	if now := s.Running(); now == nil || now.Run != run.Run {
		return nil // a second abort has ended it
	}
	end := &loomv1.EndStep{Step: run.Step, Run: run.Run, Status: loomv1.StepStatus_STEP_STATUS_FAILED, Summary: cut(why, MaxComment)}
	if most := int(run.GetLimits().GetAnswerBytes()); why == "" {
		end.Status, end.Summary = loomv1.StepStatus_STEP_STATUS_DONE, cut(out.GetSummary(), min(MaxComment, most/2))
		same := leftAsBefore(s, run.Step, out)
		end.Notes = cut(out.GetNotes(), max(0, most-len(end.Summary)-len(same))) + same
		for _, f := range out.GetLeft() {
			w := &loomv1.WriteLayer{Step: run.Step, Layer: intent.LayerFiles, Name: strings.TrimPrefix(f.Name, intent.Folder(id)+"/"), Content: f.Content}
			if err := d.carry(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Write{Write: w}}); d.refuses(err) {
				end.Status, end.Summary = loomv1.StepStatus_STEP_STATUS_FAILED, cut(err.Error(), MaxComment)
			} else if err != nil {
				return err
			}
		}
	}
	err := d.carry(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_EndStep{EndStep: end}})
	if d.refuses(err) && why == "" { // it has not left what it has to leave
		return d.stepEnded(id, run, nil, err.Error())
	}
	return err
}

// asBefore begins the note on a step that was done again and has changed nothing of what it
// leaves.
const asBefore = "It was done again, and left what it had left before: "

// leftAsBefore is that note, "" where a file is new or another one than before.
func leftAsBefore(s *intent.Session, step uint32, out *loomv1.Outcome) string {
	if _, again := s.Done(step); !again || len(out.GetLeft()) == 0 {
		return ""
	}
	var names []string
	for _, f := range out.Left {
		name := strings.TrimPrefix(f.Name, intent.Folder(s.ID())+"/")
		if made, ok := s.Output(name); !ok || made.Step != step || made.GetContent().GetSha256() != f.GetContent().GetSha256() {
			return ""
		}
		names = append(names, name)
	}
	return "\n" + cut(asBefore+strings.Join(names, ", "), mostSummary)
}

// followTooLong ends a step whose attempt has run out of time, which is the boundary: its
// work is closed, and who goes on begins another.
func (d *decision) followTooLong(e *loomv1.Event) {
	x := d.s.execution(e.Execution)
	out := e.GetAttemptEnded().GetOutcome()
	step := d.s.stepRunning(x)
	if step == nil || step.Name != e.Node || out.GetCode() != workflow.TimedOut {
		return
	}
	id := d.s.sessionOf(x).ID()
	run := d.s.sessions[id].Running()
	d.later(func() error {
		if now := d.s.sessions[id].Running(); now == nil || now.Run != run.Run {
			return nil
		}
		end := &loomv1.EndStep{Step: run.Step, Run: run.Run, Status: loomv1.StepStatus_STEP_STATUS_TIMED_OUT, Summary: cut(out.Summary, MaxComment)}
		if err := d.carry(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_EndStep{EndStep: end}}); err != nil || !running(x) {
			return err
		}
		defer d.about(x)()
		return d.run(x).CloseNow(fmt.Sprintf("session %s: step %d took longer than it may", id, run.Step))
	})
}

// followGivenUp has the operator choose where the work of a session cannot go on by itself:
// it is closed, and the session hears why. No signature is asked for.
func (d *decision) followGivenUp(e *loomv1.Event) {
	a := e.GetApprovalRequested().GetApproval()
	x := d.s.execution(a.GetExecution())
	s := d.s.sessionOf(x)
	if s == nil || a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION || a.Node == "" || d.s.p.Sessions[s.ID()].GetBead() != x.GetBead() {
		return
	}
	d.later(func() error {
		if !running(x) {
			return nil
		}
		defer d.about(x)()
		return d.run(x).CloseNow(cut(fmt.Sprintf("%s: %s", a.Node, oneLine(a.Reason)), MaxReason))
	})
}

// refuses says whether an error is a session's refusal, which has changed nothing.
func (d *decision) refuses(err error) bool { return err != nil && d.broken == nil }

// judged brings the verdicts on the success criteria, and on the outputs: of these a
// step has left one or not.
func (d *decision) judged(id string, out *loomv1.Outcome) error {
	s := d.s.sessions[id]
	envelope, _, sealed := s.Sealed()
	if !sealed || s.Phase() != intent.Completion || len(s.Unmet()) > 0 {
		return nil
	}
	fields := out.GetFields().GetFields()
	j := &loomv1.JudgeCompletion{}
	for i := range envelope.Success {
		v := &loomv1.CompletionVerdict{Item: fmt.Sprintf("success/%d", i+1), Evidence: cut(fields[processes.EvidenceField(i+1)].GetStringValue(), MaxComment)}
		v.Met = fields[processes.MetField(i+1)].GetBoolValue() && oneLine(v.Evidence) != ""
		if !v.Met && oneLine(v.Evidence) == "" { // why not, in the judge's words
			v.Evidence = cut(strings.TrimSpace(out.GetSummary()+"\n"+out.GetNotes()), MaxComment)
		}
		j.Verdicts = append(j.Verdicts, v)
	}
	j.Verdicts = append(j.Verdicts, brokenConstraints(envelope, fields[processes.BrokenField].GetStringValue())...)
	for _, o := range s.Pattern().Outputs {
		v := &loomv1.CompletionVerdict{Item: "output/" + o.Name}
		if made, ok := s.Output(o.Name); ok {
			v.Met, v.Evidence = true, fmt.Sprintf("step %d has left %d bytes, %s", made.Step, made.GetContent().GetSize(), made.GetContent().GetSha256())
		}
		j.Verdicts = append(j.Verdicts, v)
	}
	return d.carry(id, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Judge{Judge: j}})
}

// brokenLine is a line about a constraint that is broken, or the scope: its number, or "added",
// and why.
var brokenLine = regexp.MustCompile(`(?i)^\W*(?:(constraint|scope)\W*)?(\d+|added)\s*[:.)-]\s*(.*)$`)

// brokenConstraints reads what a judge says of constraints that are not kept; a line that
// names none is about what was added.
func brokenConstraints(e *loomv1.IntentEnvelope, said string) (list []*loomv1.CompletionVerdict) {
	known := intent.ConstraintItems(e)
	for line := range strings.Lines(said) {
		item, why := intent.Added, strings.TrimSpace(line)
		if m := brokenLine.FindStringSubmatch(why); m != nil {
			if named := strings.ToLower(cmp.Or(m[1], "constraint") + "/" + m[2]); slices.Contains(known, named) {
				item, why = named, m[3]
			}
		}
		if why == "" || noneBroken.MatchString(why) {
			continue
		}
		if i := slices.IndexFunc(list, func(v *loomv1.CompletionVerdict) bool { return v.Item == item }); i >= 0 {
			list[i].Evidence = cut(list[i].Evidence+"\n"+why, MaxComment)
			continue
		}
		list = append(list, &loomv1.CompletionVerdict{Item: item, Evidence: cut(why, MaxComment)})
	}
	return list
}

// noneBroken is what models write where nothing is to be said.
var noneBroken = regexp.MustCompile(`(?i)^\W*(none|nothing|no|n/?a|keine?|empty|all (?:are )?kept)?\W*$`)

// followSteps has a session hear that its work has ended.
func (d *decision) followSteps(e *loomv1.Event) {
	x := d.s.execution(e.Execution)
	s := d.s.sessionOf(x)
	if d.s.interviewOf(x) != nil && s.AwaitsModel() {
		d.later(func() error {
			if on := d.s.sessions[s.ID()]; on == nil || !on.AwaitsModel() {
				return nil
			}
			return d.leaveQuestions(s.ID(), "nobody asked")
		})
	}
	if s == nil || !goesOn(s) || d.s.p.Sessions[s.ID()].GetBead() != x.Bead {
		return
	}
	id, run := s.ID(), s.Running()
	switch {
	case run != nil:
		d.later(func() error {
			return d.stepEnded(id, run, nil, cmp.Or(e.GetExecutionEnded().GetReason(), "its work ended without success"))
		})
	case s.Phase() == intent.Delivery && (workflow.Delivered(x.Status) || x.Landing != nil):
		d.later(func() error { return d.deliver(id, x) })
	case s.Phase() == intent.Delivery:
		d.later(func() error {
			return d.undelivered(id, cmp.Or(e.GetExecutionEnded().GetReason(), "its work ended without success"))
		})
	case s.Phase() == intent.Completion && len(s.Unmet()) == 0:
		why := cmp.Or(e.GetExecutionEnded().GetReason(), "its work ended before")
		d.later(func() error { return d.unjudged(id, "Nobody has judged it: "+why) })
	}
}

// followLateLanding has a session deliver what has landed after all, where the work had
// ended without it and nobody has chosen yet what becomes of that.
func (d *decision) followLateLanding(e *loomv1.Event) {
	x := d.s.execution(e.Execution)
	s := d.s.sessionOf(x)
	if s == nil || e.GetLandingSettled().GetLanding() == nil || !s.DeliveryFailed() || d.s.p.Sessions[s.ID()].GetBead() != x.GetBead() {
		return
	}
	d.later(func() error { return d.deliver(s.ID(), x) })
}

// sessionMove begins why a session has its work go on at another place.
func sessionMove(id string) string { return "session " + id + " goes on at " }

// movedBySession says whether a session has had its work go on elsewhere, which no
// person asked for.
func (s *State) movedBySession(x *loomv1.Execution) bool {
	on := s.sessionOf(x)
	return on != nil && strings.HasPrefix(x.Moved.GetText(), sessionMove(on.ID()))
}

// ofPattern refuses work by a definition of a pattern: that belongs to a session, behind
// its sealed intent.
func (s *State) ofPattern(process string) error {
	return unsealed(s.p.Definitions[s.p.Latest[process]])
}

// ofSession is ofPattern for what is done about a bead, which names its session.
func (s *State) ofSession(bead, process string) error {
	err := s.ofPattern(process)
	on := s.sessions[s.bead(bead).GetSession()]
	if err == nil || on == nil {
		return err
	}
	next := "loom pattern resume " + on.ID()
	if on.Ended() {
		next = "loom pattern run " + on.Pattern().Name
	}
	return fault.New("intent/unsealed", "bead %q is the work of session %q of pattern %q, which begins with a sealed intent", bead, on.ID(), on.Pattern().Name).Want("%s", next)
}

func unsealed(def *loomv1.Definition) error {
	switch def.GetPattern() {
	case "":
		return nil
	case processes.InterviewProcess:
		return fault.New("intent/unsealed", "%q asks what sessions of patterns are for, before their intent is sealed", def.Name).Want("one that \"loom pattern list\" lists: loom pattern run NAME")
	}
	return fault.New("intent/unsealed", "%q is the work of sessions of pattern %q, which begins with a sealed intent", def.Name, def.Pattern).
		Want("loom pattern run %s", def.Pattern)
}
