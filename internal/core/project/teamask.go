package project

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/permission"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// AskUserTool is the tool whose calls are questions to a person.
const AskUserTool = "ask_user"

// askUser asks the CEO a question in words: in the inbox, like one about a tool
// call. Her answer is what she approves it with.
func (d *decision) askUser(x *loomv1.Execution, a *loomv1.Attempt, call string, u *loomv1.AskUser) (*loomv1.TeamReply, error) {
	asks, err := questionCall(call, u)
	if err != nil {
		return nil, err
	}
	if q := d.s.questionOf(x, a, asks); q != nil {
		verdict, _ := answerOf(q)
		return &loomv1.TeamReply{Waits: verdict == permission.Ask, Answered: verdict == permission.Allow, Answer: q.Comment}, nil
	}
	if err := cmp.Or(d.s.mayAsk(x, a), team.Ask(u, d.s.askedBy(x, a))); err != nil {
		return nil, err
	}
	return &loomv1.TeamReply{Waits: true}, d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalRequested{
		ApprovalRequested: &loomv1.ApprovalRequested{Approval: d.userQuestion(x, a, asks, u)},
	}})
}

// questionCall is a question as the call that it is.
func questionCall(call string, u *loomv1.AskUser) (*loomv1.ToolCall, error) {
	args, err := json.Marshal(map[string]any{"question": u.GetQuestion(), "answers": u.GetAnswers()})
	return &loomv1.ToolCall{Id: call, Tool: AskUserTool, Arguments: string(args)}, err
}

// mayAsk refuses a question of a step that its tempo has no room for.
func (s *State) mayAsk(x *loomv1.Execution, a *loomv1.Attempt) error {
	step := s.stepRunning(x)
	if step == nil || step.Name != a.Node {
		return nil
	}
	limits, asked := s.sessionOf(x).Running().GetLimits(), 0
	for _, id := range s.asked[x.Id] {
		if q := s.approval(id); q.Node == a.Node && q.Visit == a.Visit && q.GetPermission().GetTool() == AskUserTool {
			asked++
		}
	}
	if asked < int(limits.GetQuestions()) {
		return nil
	}
	return fault.New("team/limit", "tempo %s has %d questions to people for a step", processes.TempoName(limits.GetTempo()), limits.GetQuestions()).
		Want("decide it, and say in the notes that it was open")
}

// askedBy counts the questions that an attempt asked a person.
func (s *State) askedBy(x *loomv1.Execution, a *loomv1.Attempt) int {
	n := 0
	for _, id := range s.asked[x.Id] {
		if p := s.approval(id).GetPermission(); p.GetAttempt() == a.Id && p.GetTool() == AskUserTool {
			n++
		}
	}
	return n
}

func (d *decision) userQuestion(x *loomv1.Execution, a *loomv1.Attempt, call *loomv1.ToolCall, u *loomv1.AskUser) *loomv1.Approval {
	steps := []string{
		"answer (or approve) --comment TEXT: the agent is told TEXT, and goes on",
		"answer --no (or reject): it is told that there is no answer, with your comment, and goes on without",
	}
	if len(u.Answers) > 0 {
		steps = append(steps, "it offers: "+cut(plain(strings.Join(u.Answers, " | ")), shownArguments/4))
	}
	q := &loomv1.Approval{
		Id: d.nextBead(), Bead: x.Bead, Execution: x.Id, Node: a.Node, Visit: a.Visit, Kind: loomv1.ApprovalKind_APPROVAL_KIND_QUESTION,
		Question:  cut(fmt.Sprintf("%s asks: %s", a.Claimant.GetAgent(), oneLine(plain(u.Question))), workflow.SummaryBytes),
		Reason:    "team/question: " + a.Role + " cannot decide this and waits for your answer",
		Options:   []loomv1.ApprovalDecision{loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT},
		NextSteps: steps,
		Permission: &loomv1.PermissionQuestion{
			Attempt: a.Id, Call: call.Id, Role: a.Role, Tool: AskUserTool, Arguments: cut(plain(call.Arguments), shownArguments), Digest: permission.Digest(call),
		},
	}
	q.Digest = workflow.Digest(q)
	return q
}
