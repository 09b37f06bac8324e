package chaos

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var teamKills = flag.Int("chaos.teamkills", 3, "how often the host of a team is killed")

// teamHost is the variable that makes a host one whose agents work as a team.
const teamHost = "LOOM_CHAOS_TEAM"

func beTeam(c *host.Config) {
	c.Worker, c.Model, c.Unsandboxed = nil, scripted.New("crew", crew), true
	c.Projects[0].Checks = []string{"test -s b.txt && test -s c.txt"}
	c.Agents = map[string]int{"lead": 1, "implementer": 1, "backend-engineer": 1, "qa-engineer": 1, "engineering-manager": 1}
}

// crew is a policy of a team: the lead gives two tasks at once, and one of those
// asks a person what to write.
func crew(r *model.Request) (*model.Response, error) {
	var told []string // what tools gave
	for _, m := range r.Messages {
		if m.Role == model.RoleTool {
			told = append(told, m.Text)
		}
	}
	prompt := r.Messages[0].Text
	lead, asks, writes := strings.Contains(prompt, "node: lead\n"), strings.Contains(prompt, "<goal>\nwrite b"), strings.Contains(prompt, "<goal>\nwrite c")
	give := func(role, goal string) *loomv1.ToolCall {
		return &loomv1.ToolCall{Tool: "delegate_task", Arguments: `{"role":"` + role + `","goal":"` + goal + `","acceptance":"it is there"}`}
	}
	switch {
	case lead && len(told) == 0:
		return &model.Response{Stop: model.StopTools, Calls: []*loomv1.ToolCall{give("implementer", "write b"), give("backend-engineer", "write c")}}, nil
	case asks && len(told) == 0:
		return calls("ask_user", map[string]any{"question": "which colour?"})
	case asks && len(told) == 1:
		return calls("file_write", map[string]any{"path": "b.txt", "content": told[0] + "\n"})
	case writes && len(told) == 0:
		return calls("file_write", map[string]any{"path": "c.txt", "content": "sea\n"})
	}
	fields := map[string]any{}
	switch {
	case lead:
		fields["check"] = "test -s b.txt"
	case strings.Contains(prompt, "node: verify\n"):
		fields["fault"] = ""
	}
	return calls(turn.FinishName, map[string]any{"status": "success", "summary": "done", "notes": "", "fields": fields})
}

// TestACT03_ATeamOutlivesKillNine kills the host of a lead and its team at moments
// of any kind: nothing is given, asked, told or committed twice.
func TestACT03_ATeamOutlivesKillNine(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (-chaos.seed)", *seed)
	r := rand.New(rand.NewPCG(*seed, 1))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := newChaos(t)
	j := c.job(crowd)
	c.place.crowded(program)
	c.place.env = append(c.place.env, teamHost+"=1")
	for n := range *teamKills {
		h := c.place.begin(t)
		leave := c.attendTo(h, j, teamwork)
		c.sees(h, j, 10+r.IntN(60)+30*max(1-n, 0)) // the first has the definitions, too
		c.after(h, time.Duration(r.Int64N(int64(200*time.Millisecond))))
		c.die(h, "team")
		leave()
	}
	h := c.place.begin(t)
	leave := c.attendTo(h, j, teamwork)
	c.record.await(t, h, j.project, theirs)
	leave()
	h.serves()
	judgeTeam(t, c.record.history(t, h.client()))
	h.stop(syscall.SIGTERM)
	c.inspectTeam(j)
}

// theirs says whether the work of the team has ended.
func theirs(e *loomv1.Event) bool { return e.GetExecutionEnded() != nil && e.Bead == crowd+"-1" }

// teamwork is what the team is asked for.
var teamwork = &loomv1.Submission{Project: crowd, Goal: "two files", Process: "team-delivery", IdempotencyKey: "team"}

// attendTo has an observer, a publisher of work and the CEO come to a host, and
// returns what makes them leave.
func (c *chaos) attendTo(h *process, j *job, work *loomv1.Submission) (leave func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var visitors sync.WaitGroup
	visitors.Go(func() {
		o := h.dial(ctx)
		if o == nil {
			return
		}
		defer o.Close()
		visitors.Go(func() { c.approve(ctx, h, j) })
		h.until(ctx, func() bool {
			ask, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			_, err := o.Submit(ask, work)
			return err == nil
		})
		c.record.follow(ctx, o)
	})
	return func() { cancel(); visitors.Wait() }
}

// sees waits until there are so many new events, or the work or the host has ended.
func (c *chaos) sees(h *process, j *job, n int) {
	c.t.Helper()
	ctx := deadline(c.t)
	_, before, _ := c.record.from(0, j.project)
	for {
		list, _, more := c.record.from(before, j.project)
		ever, _, _ := c.record.from(0, j.project)
		if len(list) >= n || slices.ContainsFunc(ever, func(n *loomv1.Notice) bool { return theirs(n.Event) }) {
			return
		}
		select {
		case <-more:
		case <-h.ended:
			return
		case <-ctx.Done():
			c.t.Fatalf("nothing happens; the last events:\n%s\nthe host says:\n%s", c.record.tail(j.project, 40), h.text())
		}
	}
}

// judgeTeam looks for what happened twice, or not at all.
func judgeTeam(t *testing.T, all []*loomv1.Notice) {
	t.Helper()
	counts := map[string]int{}
	for _, n := range all {
		switch f := n.Event.Fact.(type) {
		case *loomv1.Event_TaskGiven:
			counts["given to "+f.TaskGiven.Task.Role]++
		case *loomv1.Event_TaskEnded:
			counts["ended "+f.TaskEnded.Outcome.Status.String()]++
		case *loomv1.Event_ApprovalRequested:
			counts["asked "+f.ApprovalRequested.Approval.Kind.String()]++
		case *loomv1.Event_Landed:
			counts["landed"]++
		case *loomv1.Event_ExecutionEnded:
			counts["executions"]++
		}
	}
	for what, want := range map[string]int{
		"given to implementer": 1, "given to backend-engineer": 1, "ended OUTCOME_STATUS_SUCCESS": 2, "ended OUTCOME_STATUS_FAILURE": 0,
		"asked APPROVAL_KIND_QUESTION": 1, "landed": 1, "executions": 3,
	} {
		if counts[what] != want {
			t.Errorf("%s: %d times, want %d, in %v", what, counts[what], want, counts)
		}
	}
}

func (c *chaos) inspectTeam(j *job) {
	c.t.Helper()
	if n := git(c.t, j.repository, "rev-list", "--count", j.base+"..main"); n != "1" {
		c.t.Errorf("%s commits landed, want 1", n)
	}
	if by := git(c.t, j.repository, "log", "-1", "--format=%an %b", "main"); !strings.HasPrefix(by, "Loom implementer") || !strings.Contains(by, "made by implementer, backend-engineer.") {
		c.t.Errorf("it is by %s", by)
	}
	if b, x := git(c.t, j.repository, "show", "main:b.txt"), git(c.t, j.repository, "show", "main:c.txt"); !strings.Contains(b, "as the story wants it") || x != "sea" {
		c.t.Errorf("the files have %q and %q", b, x)
	}
}
