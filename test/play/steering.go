package play

import (
	"fmt"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// line is a definition of nodes one after another.
func line(name string, nodes ...*loomv1.NodeDefinition) *loomv1.Definition {
	def := &loomv1.Definition{Name: name, Version: "1.0", Description: "one step after another"}
	def.Nodes = append(def.Nodes, &loomv1.NodeDefinition{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START})
	def.Nodes = append(append(def.Nodes, nodes...), &loomv1.NodeDefinition{Id: "end", Type: loomv1.NodeType_NODE_TYPE_END})
	for i := 1; i < len(def.Nodes); i++ {
		def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: fmt.Sprint("e", i), From: def.Nodes[i-1].Id, To: def.Nodes[i].Id})
	}
	return def
}

func task(id, role string) *loomv1.NodeDefinition {
	return &loomv1.NodeDefinition{Id: id, Type: loomv1.NodeType_NODE_TYPE_TASK, Role: role, MaxAttempts: 1}
}

// Paused is work that the CEO holds: an execution, a process, the project.
func Paused(s *Shop) {
	filed := s.ToApproval("p1")
	for scope, name := range []string{1: filed.Execution, 2: project.AutoBug, 3: ""} {
		if scope == 0 {
			continue
		}
		s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Scope: loomv1.PauseScope(scope), Name: name, Reason: "the till is being moved"}}})
		s.Pass(time.Hour)
	}
	s.File(&loomv1.Submission{Goal: "filed under a pause"})
	for scope, name := range []string{1: filed.Execution, 2: project.AutoBug, 3: ""} {
		if scope == 0 {
			continue
		}
		s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Resume{Resume: &loomv1.ResumeWork{Scope: loomv1.PauseScope(scope), Name: name, Reason: "it stands"}}})
		s.Pass(time.Second)
	}
	s.Work(qa, Outcome(Success, map[string]any{"severity": "none", "specialist": "", "check": ""}))
	s.Decide(Approve, "fine")
	s.Finish("p1")
}

// Overridden is work that the CEO moves to another node, and then closes;
// others who try are refused.
func Overridden(s *Shop) {
	filed := s.ToApproval("p1")
	s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Move{Move: &loomv1.MoveExecution{Execution: filed.Execution, Node: "investigate", Reason: "look at the rounding first"}}})
	s.Work(backend, Outcome(More, nil))
	changed := line("quick", task("look", qa))
	s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Define{Define: &loomv1.ChangeDefinition{Definition: changed, Reason: "for small things"}}})
	s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Close{Close: &loomv1.CloseExecution{Execution: filed.Execution, Reason: "the till is replaced"}}})
	s.File(&loomv1.Submission{Goal: "a small thing", Process: "quick"})
	s.Work(qa, Outcome(Success, nil))
}

// Trusted is the tools of two packages that are trusted, one of them in two
// versions, and then not any more.
func Trusted(s *Shop) {
	for _, t := range []struct{ process, letter string }{{"tender", "a"}, {"tender", "b"}, {"survey", "c"}, {"tender", "a"}} {
		kit := &loomv1.Toolkit{
			Process: t.process, Digest: strings.Repeat(t.letter, 64), Tools: []string{"pkg_" + t.letter},
			Parts: []*loomv1.BlobRef{{Sha256: strings.Repeat("d", 64), Size: 9}},
		}
		s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Trust{Trust: &loomv1.TrustTools{Toolkit: kit, Reason: "they were read"}}})
	}
	s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Distrust{Distrust: &loomv1.DistrustTools{Process: "survey", Reason: "not needed"}}})
}

// Nested is a process whose node another process does, and that goes on without
// a node that failed.
func Nested(s *Shop) {
	s.Store(line("inner", task("look", qa), task("write", "project-manager")))
	extra := task("polish", "web-designer")
	extra.Criticality = loomv1.Criticality_CRITICALITY_OPTIONAL
	gated := task("sum-up", "project-manager")
	gated.Gate = &loomv1.Gate{Condition: "execution.transitions > 100", OnFailure: loomv1.GateAction_GATE_ACTION_BLOCK}
	s.Store(line("outer", &loomv1.NodeDefinition{Id: "research", Type: loomv1.NodeType_NODE_TYPE_TASK, Process: "inner", MaxAttempts: 1}, extra, gated))
	s.File(&loomv1.Submission{Goal: "compare three stores", Process: "outer", Priority: loomv1.Priority_PRIORITY_URGENT})
	s.Work(qa, Outcome(Success, nil))
	s.Work("project-manager", Outcome(Success, nil))
	s.Work("web-designer", Outcome(Failure, nil))
	s.Decide(Approve, "go on") // the gate does not hold
	s.Work("project-manager", Outcome(Success, nil))
}

// Forked is work that is begun anew from a node while the first waits, and from
// an earlier state.
func Forked(s *Shop) {
	filed := s.ToApproval("p1")
	v, err := s.State.Look(project.Executions, &loomv1.Query{Id: filed.Execution})
	if err != nil {
		panic(err)
	}
	then, number := v.Executions[0], s.State.Number()
	s.Do(&loomv1.Command{Body: &loomv1.Command_ForkExecution{ForkExecution: &loomv1.ForkExecution{Execution: filed.Execution, Node: "investigate", Reason: "another way", Request: "f1"}}})
	s.Propose("p2")
	s.Decide(Approve, "this one")
	s.Finish("p2")
	s.Decide(Reject, "not this one")
	s.Do(&loomv1.Command{Body: &loomv1.Command_ForkExecution{ForkExecution: &loomv1.ForkExecution{Execution: filed.Execution, Node: "approve", State: then, Number: number, Request: "f2"}}})
	s.Decide(Reject, "nor again")
}

// Limited is work that reaches its budget and then its deadline; the CEO lifts
// the first and not the second.
func Limited(s *Shop) {
	s.File(&loomv1.Submission{Goal: "mend it cheaply", Type: loomv1.BeadType_BEAD_TYPE_BUG, Budget: &loomv1.Budget{Tokens: 1500}})
	b, who := s.Claim(qa)
	s.Turn(b, who, 2000)
	s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "held"}}})
	s.Decide(Approve, "as much again")
	s.Pass(time.Second)
	b, who = s.Claim(qa)
	s.Answer(b, who, Outcome(Success, map[string]any{"severity": "none", "specialist": "", "check": ""}))
	s.File(&loomv1.Submission{Goal: "mend it fast", Budget: &loomv1.Budget{WallSeconds: 60}})
	s.Pass(2 * time.Minute)
	s.Decide(Reject, "too late")
}

// Reserved is work whose calls are reserved for: one comes to nothing, one does
// not fit until the CEO raises the budget, and one is lost with its agent.
func Reserved(s *Shop) {
	s.File(&loomv1.Submission{Goal: "mend it for little", Type: loomv1.BeadType_BEAD_TYPE_BUG, Budget: &loomv1.Budget{Tokens: 3000}})
	b, who := s.Claim(qa)
	s.Reserve(b, who, "q1", 2000)
	s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_SettleCall{SettleCall: &loomv1.SettleCall{
		Attempt: b.Attempt.Id, Claimant: who, Request: "q1", Usage: &loomv1.Usage{InputTokens: 500, CostKnown: true},
	}}})
	give := func() {
		s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "held"}}})
	}
	s.Reserve(b, who, "q2", 4000)
	give()
	s.Decide(Approve, "as much again")
	s.Pass(time.Second)
	b, who = s.Claim(qa)
	s.Reserve(b, who, "q2", 4000)
	give()
	b, who = s.Claim(qa)
	s.Answer(b, who, Outcome(Success, map[string]any{"severity": "none", "specialist": "", "check": ""}))
}

// Linked is work that waits for other work, and changes of beads.
func Linked(s *Shop) {
	first := s.File(&loomv1.Submission{Goal: "first this"})
	second := s.File(&loomv1.Submission{Goal: "then that", BlockedBy: []string{first.Bead}})
	b, who := s.Claim(qa)
	s.Answer(b, who, Outcome(Success, map[string]any{"severity": "none", "specialist": "", "check": ""}))
	s.Pass(time.Second)
	s.Work(qa, Outcome(Success, map[string]any{"severity": "none", "specialist": "", "check": ""}))
	s.Do(&loomv1.Command{Body: &loomv1.Command_ReopenBead{ReopenBead: &loomv1.ReopenBead{Bead: second.Bead, Reason: "it is back", Request: "r1"}}})
	s.Work(qa, Outcome(Success, map[string]any{"severity": "none", "specialist": "", "check": ""}))
}

// Storm is a cascade of different errors that the governor stops.
func Storm(s *Shop) {
	refused := 0
	for i := range 120 {
		s.Now = s.Now.Add(time.Second)
		_, err := s.Try(&loomv1.Command{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: &loomv1.ErrorReport{
			Service: "checkout", Status: 500, Kind: fmt.Sprintf("kind-%c%c", 'a'+i/26, 'a'+i%26), Message: "it broke",
		}}}})
		if err != nil {
			refused++
		}
	}
	if refused == 0 {
		panic("play: nothing stops the storm")
	}
	s.Decide(Approve, "let them come")
	s.Pass(2 * time.Hour)
}
