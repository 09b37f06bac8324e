package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// answer gives the outcome, until it is heard.
func (a *agent) answer() {
	if a.out == nil {
		a.out = a.outcome()
	}
	if a.token != 0 && a.w.one(2) { // some give the lock back before
		a.release()
		return
	}
	cmd := &loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
		Attempt: a.brief.Attempt.Id, Claimant: a.who(), Outcome: a.out, Next: a.ticket(),
	}}}
	a.do(cmd, func(code string, ans *loomv1.Answer) {
		switch code {
		case "":
			a.w.oracle.answerTaken(cmd.GetAnswerAttempt().Attempt, a.sign())
			a.answered = cmd
			a.rest()
			if b := ans.GetBrief(); b != nil {
				a.w.see("claimed with an answer")
				a.workOn(b)
			}
		case "outcome/invalid":
			a.w.broken(0, "an outcome does not fit: %v for %v", a.out, a.brief.Node)
		default:
			a.late()
			a.gone("answer", code)
		}
	})
}

// ticket takes a ticket to claim the next attempt with, now and then. Whatever comes of
// the answer, it is used up.
func (a *agent) ticket() *loomv1.Ticket {
	if !a.w.tickets || a.away || a.w.one(2) {
		return nil
	}
	item := a.w.pull(a.role)
	if item == nil {
		return nil
	}
	a.w.ack(item)
	return &loomv1.Ticket{Attempt: item.a.Attempt, Generation: item.a.Generation}
}

func (a *agent) release() {
	token, over := a.token, a.w.oracle.lock.over[a.token]
	a.do(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: token}}}, func(code string, _ *loomv1.Answer) {
		a.token = 0
		if code == "" && over {
			a.w.broken(13, "token %d, which held no longer, is released", token)
		}
		if code != "" && code != "lock/stale" {
			a.w.broken(0, "release of token %d is refused with %s", token, code)
		}
	})
}

// outcome draws what an agent says of ordinary work and of verification.
func (a *agent) outcome() *loomv1.Outcome {
	if out := a.sessionOutcome(); out != nil {
		return out
	}
	switch {
	case a.w.chance(agentFails):
		return failed(a, "tool/failed")
	case a.brief.Node.MultiDispatch && a.w.chance(agentGoesOn):
		return &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE, Summary: "more to see"}
	}
	out := succeeded(a)
	switch {
	case a.brief.Attempt.Given != nil:
		out.Change = a.change()
	case a.brief.Node.Kind == loomv1.NodeKind_NODE_KIND_VERIFY:
		if a.w.chance(agentLies) {
			return out // without any evidence
		}
		commit := a.brief.Execution.Candidate.GetCommit()
		if a.w.chance(agentLies) {
			commit = "another"
		}
		for _, c := range a.brief.Execution.Checks {
			out.Checks = append(out.Checks, &loomv1.CheckRun{
				Command: c, Commit: commit, Passed: !a.w.chance(agentFails),
			})
		}
	case (a.role != "qa-engineer" || a.w.one(4)) && (a.w.one(2) || a.brief.Execution.Change == nil):
		out.Change = a.change()
		out.Unchanged = a.w.one(40)
	}
	return out
}

func (a *agent) change() *loomv1.Change {
	n, id := a.w.rng.IntN(3), a.brief.Execution.Id
	patch, file := fmt.Sprintf("p%d-%s", n, id), fmt.Sprintf("f%d.go", (n+int(id[len(id)-4]))%4)
	return &loomv1.Change{Base: "b0", Commit: "w-" + patch, Tree: "t-" + patch, PatchDigest: patch, Files: []*loomv1.ChangedFile{{Path: file, Status: "modified"}}}
}

func succeeded(a *agent) *loomv1.Outcome {
	return &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Summary: "done", Fields: a.fields()}
}

func failed(a *agent, code string) *loomv1.Outcome {
	return &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Summary: "it broke", Code: code, Fields: a.fields()}
}

// fields draws every declared field.
func (a *agent) fields() *structpb.Struct {
	f := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(a.brief.Node.Outcome)) {
		switch kind := a.brief.Node.Outcome[name]; {
		case kind == "bool":
			f[name] = a.w.calm || !a.w.one(3)
		case kind == "object":
			f[name] = a.plan()
		case condition.BaseType(kind) != "string":
			f[name] = a.w.rng.IntN(3)
		case name == "severity":
			f[name] = []string{"high", "high", "high", "none"}[a.w.rng.IntN(4)]
		case name == "specialist":
			f[name] = []string{"backend-engineer", "web-designer", "project-manager", "nobody"}[a.w.rng.IntN(4)]
		case name == "fault":
			f[name] = []string{"", "change"}[a.w.rng.IntN(2)]
		case name == "check":
			f[name] = "go test ./..."
		default:
			f[name] = "text"
		}
	}
	s, err := structpb.NewStruct(f)
	if err != nil {
		panic(err)
	}
	return s
}

// decide records a decision under a request of its own, or again under one
// that was used, or one that must be refused.
func (a *agent) decide() {
	node := &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_OPTION, Title: "an option", Confidence: 50}
	cmd := &loomv1.AddDecision{
		Node: node, Request: fmt.Sprintf("%s/d%d", a.brief.Attempt.Id, a.w.rng.IntN(2)),
		Links: []*loomv1.DecisionEdge{{From: a.brief.Goal, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO}},
	}
	link := &loomv1.DecisionEdge{From: a.brief.Goal, To: a.brief.Goal, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO}
	switch a.w.rng.IntN(6) {
	case 0:
		cmd.Request, cmd.Links[0].From = "", "nowhere"
		a.log(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: cmd}}, "graph/unknown-node")
	case 1:
		a.log(&loomv1.Command{Body: &loomv1.Command_LinkDecision{LinkDecision: &loomv1.LinkDecision{Edge: link}}}, "graph/self-loop")
	case 2:
		if ds := a.brief.Decisions; len(ds) > 1 {
			link.From = ds[len(ds)-1].Id // everything follows from the goal
			a.log(&loomv1.Command{Body: &loomv1.Command_LinkDecision{LinkDecision: &loomv1.LinkDecision{Edge: link}}}, "graph/cycle", "")
		}
	default:
		a.log(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: cmd}}, "")
	}
}

// log sends a command for the decision graph, which must be answered so.
func (a *agent) log(cmd *loomv1.Command, want ...string) {
	a.do(cmd, func(code string, ans *loomv1.Answer) {
		if !slices.Contains(want, code) {
			a.w.broken(25, "%s is answered with %s, want %q", tellCommand(cmd), tellAnswer(ans), want)
		}
		if code != "" {
			a.w.see("decision refused: " + code)
		}
	})
}

// lie answers for, or claims, an attempt that is not the agent's to touch.
func (a *agent) lie() {
	id, owner, role := a.w.oracle.anyAttempt(a.w.rng)
	if id == "" || owner == a.sign() {
		return
	}
	cmd := &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: id, Generation: uint32(a.w.rng.IntN(3)), Claimant: a.who()}}}
	if owner != "" || role != a.role {
		out := &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Summary: "a lie"}
		cmd = &loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: id, Claimant: a.who(), Outcome: out}}}
	}
	a.w.keeper.send(cmd, a.identity, func(ans *loomv1.Answer) {
		switch c := code(ans); {
		case c == "" && cmd.GetAnswerAttempt() != nil:
			a.w.oracle.answerTaken(id, a.sign())
		case c != "" && c != "lost":
			a.w.see("lie refused")
		}
	})
}

// restartHost kills a host and starts it again: its agents know nothing, and
// what they held is released. Some processes do not die as they should.
func (w *world) restartHost() {
	h := w.hosts[w.rng.IntN(2)]
	if w.chance(hostStartsAgain) {
		w.see("host started again")
		w.startHost(h)
	}
	if w.chance(hostStartsAgain) { // what was said at its start comes late once more
		w.see("host start repeated")
		w.releaseHost(h, h.epoch, 0)
	}
}

func (w *world) startHost(h *host) {
	h.epoch++
	w.note("host %s started again, epoch %d", h.name, h.epoch)
	for _, a := range w.agents {
		if a.host != h || a.zombie {
			continue
		}
		if a.phase != idle && w.chance(zombieLives) {
			ghost := *a
			ghost.zombie = true
			w.agents = append(w.agents, &ghost)
		}
		a.begin(h.epoch)
	}
	w.releaseHost(h, h.epoch, 0)
	if w.reports {
		w.reportRoles()
	}
}

// releaseHost is said until it is heard, as a starting host does.
func (w *world) releaseHost(h *host, epoch uint64, tries int) {
	if h.epoch != epoch || tries > 50 {
		return
	}
	var decided uint64 // as of which event it was
	w.keeper.send(&loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: h.name, Epoch: epoch}}},
		identity(loomv1.IdentityKind_IDENTITY_KIND_HOST, h.name), func(a *loomv1.Answer) {
			if a == nil {
				w.releaseHost(h, epoch, tries+1)
				return
			}
			w.oracle.freed(h.name, epoch, decided)
		})
	decided = w.keeper.state.Number()
}

func codeOf(err error) string { return fault.Code(err) }

// tellCommand and tellAnswer are for the trace.
func tellCommand(cmd *loomv1.Command) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", cmd.Body), "*loomv1.Command_")
	switch b := cmd.Body.(type) {
	case *loomv1.Command_ClaimAttempt:
		return fmt.Sprintf("%s %s generation %d", name, b.ClaimAttempt.Attempt, b.ClaimAttempt.Generation)
	case *loomv1.Command_AnswerAttempt:
		return fmt.Sprintf("%s %s %s", name, b.AnswerAttempt.Attempt, b.AnswerAttempt.Outcome.GetStatus())
	case *loomv1.Command_AcquireLock:
		return name + " " + b.AcquireLock.Request
	case *loomv1.Command_ParkAttempt:
		return name + " " + b.ParkAttempt.Attempt
	}
	return name
}

func tellAnswer(a *loomv1.Answer) string {
	if a.GetError() != nil {
		return fault.FromProto(a.Error).Error()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", a.GetBody()), "*loomv1.Answer_")
}
