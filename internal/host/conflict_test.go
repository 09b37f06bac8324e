package host_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// mender is a team that wants "mended" in a.txt, whatever is in there.
type mender struct {
	mu      sync.Mutex
	prompts []string // of the engineer, one a visit
}

func (m *mender) answer(r *model.Request) (*model.Response, error) {
	say := func(tool, arguments string) (*model.Response, error) {
		return &model.Response{Text: "so be it", Stop: model.StopTools, Calls: []*loomv1.ToolCall{{Tool: tool, Arguments: arguments}}}, nil
	}
	done := func(fields string) (*model.Response, error) {
		return say(turn.FinishName, fmt.Sprintf(`{"status":"success","summary":"a.txt is mended","notes":"","fields":{%s}}`, fields))
	}
	prompt := r.Messages[0].Text
	switch {
	case strings.Contains(prompt, "node: triage"):
		return done(`"severity":"high","specialist":"backend-engineer","check":"grep -q mended a.txt"`)
	case strings.Contains(prompt, "node: verify"):
		return done(`"fault":""`)
	case len(r.Messages) > 1:
		return done("")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prompts = append(m.prompts, prompt)
	return say("file_write", `{"path":"a.txt","content":"mended\n"}`)
}

// owner answers approvals, over one connection.
type owner struct {
	key        *ceokey.Key
	deployment string
	inbox, ceo *client.Client
}

func newOwner(t *testing.T, c host.Config, h *host.Host) *owner {
	t.Helper()
	key, err := ceokey.Open(c.CEOKey)
	if err != nil {
		t.Fatal(err)
	}
	return &owner{key, h.Deployment(), connect(t, h, "operator"), connect(t, h, "ceo")}
}

func (o *owner) decide(ctx context.Context, a *loomv1.Approval, d loomv1.ApprovalDecision, comment string) error {
	cmd, err := o.key.Decide(o.deployment, "shop", &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: d, Comment: comment})
	if err != nil {
		return err
	}
	return o.ceo.Present(ctx, "decide", cmd)
}

// person commits another content of a.txt to the branch that is checked out.
func person(t *testing.T, top, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(top, "a.txt"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	gitIn(t, top, "-c", "user.name=User", "-c", "user.email=user@example.com", "commit", "-q", "-a", "-m", strings.TrimSpace(content))
}

func gitIn(t *testing.T, top string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", top}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestLOCK03_WF05_AConflictIsReworkedThenEscalated has a person commit the same
// line each time when a change is about to be approved: the commit finds the
// conflict, and the engineer gets the newest branch and the reason, three times.
// Then the CEO is asked what to do, once, and the work that is sent back anew
// lands on top of what the person did.
func TestLOCK03_WF05_AConflictIsReworkedThenEscalated(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	team := &mender{}
	c := config(t, scripted.New("mender", team.answer))
	h := start(t, c)
	s := &contest{t: t, owner: newOwner(t, c, h), top: c.Projects[0].Repository}
	if _, err := connect(t, h, "anonymous").Report(ctx, report()); err != nil {
		t.Fatal(err)
	}
	followUntil(ctx, t, s.inbox, "the end", func(e *loomv1.Event) bool {
		s.see(ctx, e)
		return e.GetExecutionEnded() != nil
	})
	want := []string{"triage"}
	for n := range 3 {
		want = append(want, "investigate", "commit git/conflict", fmt.Sprintf("commit back to investigate, %d", n+1))
	}
	want = append(want, "investigate", "commit git/conflict", "commit escalated", "commit back to investigate, 3", "investigate", "commit", "verify", "land")
	if diff := cmp.Diff(want, s.trace); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
	if log := gitIn(t, s.top, "log", "--reverse", "--format=%s", "main"); log != "first\nrival 1\nrival 2\nrival 3\nrival 4\na.txt is mended" {
		t.Errorf("main has\n%s", log)
	}
	if status, text := gitIn(t, s.top, "status", "--porcelain"), gitIn(t, s.top, "show", "main:a.txt"); status != "" || text != "mended" {
		t.Errorf("the checkout has %q, and main %q", status, text)
	}
	for n, prompt := range team.prompts {
		reason, marks := strings.Count(prompt, `the change conflicts with the target in "a.txt"; work on the newest`), strings.Contains(prompt, "\n## Conflicts\n")
		if reason != n || marks != (n > 0) {
			t.Errorf("at visit %d the engineer was told %d times of a conflict, want %d; of conflict marks: %t", n+1, reason, n, marks)
		}
	}
}

// contest is a CEO who approves everything, and a person who is faster until
// that was given up.
type contest struct {
	t *testing.T
	*owner
	top       string
	trace     []string
	rivals    int
	escalated bool
}

// see notes what ended, and answers what is asked.
func (s *contest) see(ctx context.Context, e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_AttemptEnded:
		s.trace = append(s.trace, strings.TrimSpace(e.Node+" "+f.AttemptEnded.Outcome.Code))
	case *loomv1.Event_ReworkStarted:
		s.trace = append(s.trace, fmt.Sprintf("%s back to %s, %d", e.Node, f.ReworkStarted.To, f.ReworkStarted.Count))
	case *loomv1.Event_ApprovalRequested:
		s.asked(ctx, f.ApprovalRequested.Approval)
	}
}

func (s *contest) asked(ctx context.Context, a *loomv1.Approval) {
	decision := loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	switch {
	case a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION:
		s.trace = append(s.trace, a.Node+" escalated")
		s.escalated, decision = true, loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES
	case !s.escalated:
		s.rivals++
		person(s.t, s.top, fmt.Sprintf("rival %d\n", s.rivals))
	}
	if err := s.decide(ctx, a, decision, "go on"); err != nil {
		s.t.Error(err)
	}
}
