package host_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var failedTask = regexp.MustCompile(`task (\S+) \(backend-engineer\): failed`)

// crew is a policy of a team: the lead gives two tasks at once and has the one
// that fails done again; the implementer asks the person first.
func crew(r *model.Request) (*model.Response, error) {
	say := func(calls ...*loomv1.ToolCall) (*model.Response, error) {
		return &model.Response{Text: "so be it", Stop: model.StopTools, Calls: calls}, nil
	}
	call := func(name, format string, args ...any) *loomv1.ToolCall {
		return &loomv1.ToolCall{Tool: name, Arguments: fmt.Sprintf(format, args...)}
	}
	end := func(status, fields string) (*model.Response, error) {
		return say(call(turn.FinishName, `{"status":%q,"summary":"it is %s","notes":"","fields":{%s}}`, status, status, fields))
	}
	var tools []string // what tools gave
	for _, m := range r.Messages {
		if m.Role == model.RoleTool {
			tools = append(tools, m.Text)
		}
	}
	prompt := r.Messages[0].Text
	switch {
	case strings.Contains(prompt, "node: lead") && len(tools) == 0:
		return say(call("delegate_task", `{"role":"implementer","goal":"write b","acceptance":"b.txt is there"}`),
			call("delegate_task", `{"role":"backend-engineer","goal":"write c","acceptance":"c.txt is there"}`))
	case strings.Contains(prompt, "node: lead"):
		if found := failedTask.FindStringSubmatch(strings.Join(tools, "\n")); found != nil && len(tools) == 2 {
			return say(call("task_assign", `{"task":%q,"role":"backend-engineer","goal":"write c","acceptance":"c.txt is there"}`, found[1]))
		}
		return end("success", `"check":"grep -q blue b.txt && grep -q sea c.txt"`)
	case strings.Contains(prompt, "node: verify"):
		return end("success", `"fault":""`)
	case strings.Contains(prompt, "<goal>\nwrite b") && len(tools) == 0:
		return say(call("ask_user", `{"question":"which colour?"}`))
	case strings.Contains(prompt, "<goal>\nwrite b") && len(tools) == 1:
		return say(call("file_write", `{"path":"b.txt","content":%q}`, tools[0]))
	case strings.Contains(prompt, "<goal>\nwrite c") && !strings.Contains(prompt, "It was tried before"):
		return end("failure", "")
	case strings.Contains(prompt, "<goal>\nwrite c") && len(tools) == 0:
		return say(call("file_write", `{"path":"c.txt","content":"sea\n"}`))
	}
	return end("success", "")
}

// captain is a person who answers what a team asks, and counts what it does.
type captain struct {
	*owner
	t        *testing.T
	asked    int
	answers  map[string]int // of models, by node
	tasks    map[string]int // that were given, by role
	finished bool
}

func (c *captain) see(ctx context.Context, e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ModelAnswered:
		c.answers[e.Node]++
	case *loomv1.Event_TaskGiven:
		c.tasks[f.TaskGiven.Task.Role]++
	case *loomv1.Event_ExecutionEnded:
		c.finished = e.Bead == "shop-1"
	case *loomv1.Event_ApprovalRequested:
		c.asked++
		comment := "fine"
		if strings.Contains(f.ApprovalRequested.Approval.Question, "which colour?") {
			comment = "blue"
		}
		if err := c.decide(ctx, f.ApprovalRequested.Approval, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, comment); err != nil {
			c.t.Error(err)
		}
	}
}

// TestACT03_ATeamDeliversOverARestart has a lead give work away, one part of
// which waits for a person and another fails; the host is stopped while the lead
// and the implementer wait, and what was given is not given again.
func TestACT03_ATeamDeliversOverARestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := config(t, scripted.New("crew", crew))
	c.Agents = map[string]int{"lead": 1}
	top := c.Projects[0].Repository
	h := start(t, c)
	if _, err := connect(t, h, "anonymous").Submit(ctx, &loomv1.Submission{Project: "shop", Goal: "two files", Process: "team-delivery"}); err != nil {
		t.Fatal(err)
	}
	asked, parked := false, false
	followUntil(ctx, t, connect(t, h, "operator"), "the question, and a lead that waits", func(e *loomv1.Event) bool {
		asked = asked || e.GetApprovalRequested() != nil
		parked = parked || e.GetAttemptParked().GetWaitsFor() == "team"
		return asked && parked
	})
	h.Stop(ctx)
	h = start(t, host.Config{Data: c.Data, Model: c.Model, CEOKey: c.CEOKey, Unsandboxed: true, Agents: c.Agents})

	who := &captain{owner: newOwner(t, c, h), t: t, answers: map[string]int{}, tasks: map[string]int{}}
	followUntil(ctx, t, who.inbox, "the end", func(e *loomv1.Event) bool {
		who.see(ctx, e)
		return who.finished
	})
	if who.tasks["implementer"] != 1 || who.tasks["backend-engineer"] != 2 || who.answers["lead"] != 3 || who.asked != 2 {
		t.Errorf("given %v, %d answers of the lead's model, %d questions; want 1 and 2 tasks, 3 answers, 2 questions", who.tasks, who.answers["lead"], who.asked)
	}
	if b, c := gitIn(t, top, "show", "main:b.txt"), gitIn(t, top, "show", "main:c.txt"); !strings.Contains(b, "blue") || c != "sea" {
		t.Errorf("main has %q and %q", b, c)
	}
	if by := gitIn(t, top, "log", "-1", "--format=%an", "main"); by != "Loom implementer" {
		t.Errorf("the commit is by %q", by)
	}
	if text := gitIn(t, top, "log", "-1", "--format=%B", "main"); !strings.Contains(text, "made by implementer, backend-engineer") {
		t.Errorf("its message names nobody else:\n%s", text)
	}
	v, err := connect(t, h, "operator").Execution(ctx, &loomv1.Query{Project: "shop", Id: "shop-1"})
	if err != nil || v.GetTree().GetExecutions() < 3 || v.Tree.ModelCalls <= uint64(v.Executions[0].ModelCalls) || !v.Tree.Usage.GetCostKnown() {
		t.Errorf("what the lead and its team used: %v, %v; the lead alone made %d calls", v.GetTree(), err, v.GetExecutions()[0].GetModelCalls())
	}
}
