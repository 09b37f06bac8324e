package processes

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// compilePattern makes the workflow of a pattern's steps as it is drawn and checked: an
// approval of the intent, the steps as phases one after the other with what each is held
// to, an approval after each step that the ordinary tempo stops after, and the way to the
// target. Sessions are worked by [SessionWorkflow], which binds the steps to the seal; so
// no library has this one and no submission can name it.
func compilePattern(p *loomv1.Pattern, rs *roles.Set) (*loomv1.Definition, []*fault.Error) {
	f := patternPhases(p, "")
	f.Hooks = hooksFile{BeforePlan: []hookFile{{Approve: "Shall work begin with this intent?"}}}
	for i, s := range p.Steps {
		if s.Stop && i+1 < len(p.Steps) {
			f.Hooks.BetweenPhases = append(f.Hooks.BetweenPhases, hookFile{Approve: fmt.Sprintf("Step %d, %s, has ended. Shall it go on?", s.Order, s.Name), After: []string{s.Name}})
		}
	}
	r := parse(Source{File: p.Name, Data: []byte(f.text())}, rs)
	return r.def, r.problems()
}

// CompletionNode is the node of a session's workflow that judges the success criteria
// of the sealed envelope.
const CompletionNode = "completion-check"

// SessionKey names the session in the context of its bead, by which the files of its steps
// lie in a folder of its own.
const SessionKey = "session"

// sessionPrefix begins the names of the workflows of sessions.
const sessionPrefix = "pattern-"

// SessionWorkflow makes the workflow that a session is worked by: the steps, one after
// the other, the judgment on each success criterion and each constraint of its envelope, and
// the way to the target. Where it waits between steps, and at what tempo a step is done, the session
// says while it runs. The error is what makes a pattern unsound.
func SessionWorkflow(p *loomv1.Pattern, criteria int, rs *roles.Set) (*loomv1.Definition, error) {
	if len(p.GetSteps()) == 0 {
		return nil, fault.New("intent/invalid", "pattern %q has no step", p.GetName()).At("steps")
	}
	f := patternPhases(p, intent.Folder("{context."+SessionKey+"|"+SessionKey+"}")+"/")
	f.Name = (sessionPrefix + p.Name)[:min(len(sessionPrefix)+len(p.Name), 64)]
	check := phaseFile{
		ID: CompletionNode, Role: verifier, IsCriticalPath: proto.Bool(true), DependsOn: []string{p.Steps[len(p.Steps)-1].Name}, Outcome: map[string]string{BrokenField: "string"},
		Description: "Judge each success criterion of the sealed intent, by its number and word for word, against the files that the steps have left. " +
			"For one that is met, quote the words of a file that show it as its evidence; nothing is met without such words. For one that is not met, say in its place what is missing. " +
			"Then look for constraints, and for what the scope says, that what was left does not keep: name each on a line of the field " + BrokenField + ", as its number, a colon, and the words that break it; write scope before the number for one of the scope, and added in place of a number for what the operator has added or the pattern demands. " +
			"Where the pattern demands what the sealed intent rules out, the intent holds. Leave the field empty where all are kept. Change no file.",
	}
	for i := range criteria {
		check.Outcome[MetField(i+1)], check.Outcome[EvidenceField(i+1)] = "bool", "string"
	}
	f.Phases = append(f.Phases, check)
	r := parse(Source{File: p.Name, Data: []byte(f.text())}, rs)
	if problems := r.problems(); len(problems) > 0 {
		return nil, fault.Join(problems)
	}
	for _, n := range r.def.Nodes {
		n.OnFailure = withoutSteps(n.OnFailure, p)
	}
	r.def.Pattern = p.Name
	return r.def, nil
}

// withoutSteps is a failure policy that sends nothing back to a step: what only other work
// can mend is for the operator to choose, so that nothing lands that was not judged.
func withoutSteps(policy *loomv1.FailurePolicy, p *loomv1.Pattern) *loomv1.FailurePolicy {
	ofStep := func(r *loomv1.ReworkRule) bool {
		return slices.ContainsFunc(p.Steps, func(s *loomv1.PatternStep) bool { return s.Name == r.To })
	}
	if !slices.ContainsFunc(policy.GetRework(), ofStep) {
		return policy
	}
	kept := &loomv1.FailurePolicy{Max: policy.Max}
	for _, r := range policy.Rework {
		if !ofStep(r) {
			kept.Rework = append(kept.Rework, &loomv1.ReworkRule{To: r.To, When: `outcome.fault != "change"`})
		}
	}
	return kept
}

// InterviewProcess names the workflow in which a model asks in primacy.
const InterviewProcess = "primacy-interview"

// InterviewNode is its one node of work.
const InterviewNode = "interview"

// InterviewWorkflow is the workflow in which a model asks a person what a session is for.
// It is optional: without it the pattern's own questions are asked.
func InterviewWorkflow() *loomv1.Definition {
	node := func(id string, kind loomv1.NodeType, text string) *loomv1.NodeDefinition {
		return &loomv1.NodeDefinition{Id: id, Type: kind, Description: text}
	}
	ask := node(InterviewNode, task, "Ask the person what the session is for, one question at a time, and bring in nothing of your own.")
	ask.Role, ask.Criticality, ask.MaxAttempts, ask.Phase = Analyst, optional, 2, &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_INTERVIEW}
	def := &loomv1.Definition{
		Name: InterviewProcess, Version: "1.0", Description: "A model asks what a session of a pattern is for. The runtime files such a bead for each session.", Pattern: InterviewProcess,
		Nodes: []*loomv1.NodeDefinition{node("start", start, "A session was opened, or is revised."), ask, node("end", end, "Nothing is left to ask.")},
		Edges: []*loomv1.EdgeDefinition{{Id: "e1", From: "start", To: InterviewNode}, {Id: "e2", From: InterviewNode, To: "end"}},
	}
	return Complete(def, roles.Builtin())
}

// MetField names the outcome field that says whether success criterion n is met.
func MetField(n int) string { return fmt.Sprintf("success_%d", n) }

// EvidenceField names the outcome field with the words that show it.
func EvidenceField(n int) string { return fmt.Sprintf("evidence_%d", n) }

// BrokenField names the outcome field with the constraints that are broken, one a line: the
// number or "added", a colon, and what breaks it.
const BrokenField = "broken"

// OfSession says whether a definition is the workflow of sessions of a pattern, under whatever
// name: it has the judgment on the criteria of a sealed envelope.
func OfSession(def *loomv1.Definition) bool {
	return def.GetPattern() != "" || slices.ContainsFunc(def.GetNodes(), func(n *loomv1.NodeDefinition) bool {
		_, judges := n.Outcome[BrokenField]
		return judges && n.Id == CompletionNode
	})
}

// patternPhases are the steps of a pattern as phases, without what is asked on the way;
// their files lie in a folder, "" or one with a slash at its end.
func patternPhases(p *loomv1.Pattern, folder string) phasesFile {
	f := phasesFile{
		Name: p.Name, Version: p.Version, Description: p.Purpose, PhaseMode: Strict,
		Persona: "You work by the pattern " + p.Name + ": " + p.Purpose + "\n\nThe sealed intent of the session is what you work for. You neither widen nor reframe it.",
		Tools:   toolsFile{Required: p.RequiredTools},
	}
	for i := range p.Steps {
		f.Phases = append(f.Phases, stepPhase(p, i, folder))
	}
	return f
}

// usedConstraints are what the patterns that a step lies within demand of all their steps.
func usedConstraints(s *loomv1.PatternStep) (list []string) {
	for _, use := range s.Within {
		list = append(list, use.Constraints...)
	}
	return list
}

func stepPhase(p *loomv1.Pattern, i int, folder string) phaseFile {
	s := p.Steps[i]
	limits := intent.LimitsOf(intent.TempoOf(0, s, p), s)
	text := s.Description
	for _, use := range slices.Backward(s.Within) {
		text += fmt.Sprintf("\n\nIt is a step of %q, by the pattern %s (%s): %s", use.Step, use.Pattern, use.Purpose, use.Description)
	}
	if len(s.Questions) > 0 {
		text += "\n\nAnswer for yourself while you work:\n- " + strings.Join(s.Questions, "\n- ")
	}
	ph := phaseFile{
		ID: s.Name, Description: text, Role: s.Role, Persona: s.Persona, ModelTier: &limits.ModelTier, IsCriticalPath: proto.Bool(true),
		IsSynthesis: i > 0 && limits.ModelTier > 1, AcceptanceCriteria: strings.Join(slices.Concat(p.Constraints, usedConstraints(s), s.Constraints), "\n"),
	}
	if i > 0 {
		ph.DependsOn = []string{p.Steps[i-1].Name}
	}
	if s.Timeout != nil {
		t := s.Timeout.AsDuration()
		ph.Timeout = &t
	}
	for _, name := range s.Deliverables {
		last := !slices.ContainsFunc(p.Steps[i+1:], func(o *loomv1.PatternStep) bool { return slices.Contains(o.Deliverables, name) })
		k := slices.IndexFunc(p.Outputs, func(o *loomv1.PatternOutput) bool { return o.Name == name })
		about := ""
		if k >= 0 && p.Outputs[k].Description != "" {
			about = " — " + p.Outputs[k].Description
		}
		if last {
			ph.Deliverables = append(ph.Deliverables, folder+name+about)
		} else {
			ph.Description += "\n\nLeave " + name + about + ". A later step takes it up."
		}
	}
	return ph
}
