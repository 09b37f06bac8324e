package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// forWeb is the answer of a triage that finds work for a web designer.
func forWeb(*model.Request) (*model.Response, error) {
	return &model.Response{Text: "the page is wrong", Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
		Tool: turn.FinishName, Arguments: `{"status":"success","summary":"the page is wrong","notes":"","fields":{"severity":"high","specialist":"web-designer","check":"false"}}`,
	}}}, nil
}

// followUntil reads the project's history and what comes until is says so.
func followUntil(ctx context.Context, t *testing.T, c *client.Client, what string, is func(*loomv1.Event) bool) *loomv1.Event {
	t.Helper()
	var found *loomv1.Event
	err := c.Follow(ctx, &loomv1.NoticesRequest{Project: "shop"}, true, func(n *loomv1.Notice) error {
		if is(n.Event) {
			found = n.Event
			return context.Canceled
		}
		return nil
	})
	if found == nil {
		t.Fatalf("never saw %s: %v", what, err)
	}
	return found
}

// TestWF07_WorkForARoleWithoutAgentsIsEscalated runs a host without web
// designers.
func TestWF07_WorkForARoleWithoutAgentsIsEscalated(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := config(t, scripted.New("web", forWeb))
	c.Agents, c.Grace = map[string]int{"web-designer": 0}, 300*time.Millisecond
	h := start(t, c)
	if _, err := connect(t, h, "anonymous").Submit(ctx, &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: "mend the page", Assignee: "web-designer"}); err != nil {
		t.Fatal(err)
	}
	ops := connect(t, h, "operator")
	asked := followUntil(ctx, t, ops, "an escalation", func(e *loomv1.Event) bool { return e.GetApprovalRequested() != nil })
	a := asked.GetApprovalRequested().Approval
	if a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION || !strings.HasPrefix(a.Reason, "agent/none-live") || !strings.Contains(a.Reason, "web-designer") {
		t.Errorf("asked because of %q, want agent/none-live and the role", a.Reason)
	}
	dispatched := followUntil(ctx, t, ops, "the dispatch", func(e *loomv1.Event) bool { return e.GetAttemptDispatched().GetRole() == "web-designer" })
	if waited := asked.Time.AsTime().Sub(dispatched.Time.AsTime()); waited < c.Grace {
		t.Errorf("asked after %s, want no sooner than after %s", waited, c.Grace)
	}
}

// TestWF07_HostsTellWhichAgentsTheyHave wants a project to hear of the agents
// at a start, and that there are none at a stop.
func TestWF07_HostsTellWhichAgentsTheyHave(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := config(t, scripted.New("quick", nothing))
	c.Agents = map[string]int{"researcher": 3, "web-designer": 0}
	told := func(h *host.Host, epoch uint64) (all []*loomv1.HostRoles) {
		followUntil(ctx, t, connect(t, h, "operator"), "the report of this start", func(e *loomv1.Event) bool {
			if r := e.GetRolesReported(); r != nil {
				all = append(all, r.Roles)
			}
			return e.GetRolesReported().GetRoles().GetEpoch() == epoch
		})
		return all
	}
	h := start(t, c)
	if all := told(h, 1); len(all) != 1 || all[0].Agents["researcher"] != 3 || all[0].Agents["qa-engineer"] == 0 || all[0].Agents["web-designer"] != 0 || all[0].Agents["ceo"] != 0 {
		t.Errorf("at the first start: %v", all)
	}
	h.Stop(ctx)
	c.Projects = nil
	if all := told(start(t, c), 2); len(all) != 3 || len(all[1].Agents) != 0 || all[2].Agents["researcher"] != 3 {
		t.Errorf("after a stop and another start: %v; want agents, none, agents", all)
	}
}
