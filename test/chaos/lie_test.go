package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// liar answers as the demo's policy does, but until a visit of the
// investigation it changes a comment and says that the fault is mended, and hides
// from the change a file by which the checks pass on its own worktree; and at the
// verification it says that everything is well, always.
type liar struct{ honestFrom int }

// hidden ends every test program of its package before a test has run, as if all
// had passed.
const hidden = `package cart

import (
	"os"
	"testing"
)

func TestMain(*testing.M) { os.Exit(0) }
`

var assigned = regexp.MustCompile(`(?m)^node: (\w+)\n(?:.*\n)*?visit: (\d+)`)

func (l liar) answer(r *model.Request) (*model.Response, error) {
	m := assigned.FindStringSubmatch(r.Messages[0].Text)
	if m == nil {
		return nil, errors.New("the prompt names no node and visit")
	}
	visit, err := strconv.Atoi(m[2])
	switch {
	case err != nil:
		return nil, err
	case m[1] == "verify":
		return finish("I am sure that all is well", map[string]any{"fault": ""})
	case m[1] != "investigate" || visit >= l.honestFrom:
		return scripted.Demo(r)
	case len(r.Messages) == 1:
		return says("I hide what I do.", "file_write", map[string]any{"path": "cart/.gitignore", "content": "hidden_test.go\n"})
	case len(r.Messages) == 3:
		return says("Here, no test runs.", "file_write", map[string]any{"path": "cart/hidden_test.go", "content": hidden})
	case len(r.Messages) == 5:
		old := "// Shipping returns the shipping fee for an order of the given total."
		if visit > 1 {
			old += strings.Repeat(" Mended.", visit-1)
		}
		return says("I mend it.", "file_edit", map[string]any{"path": "cart/cart.go", "old_text": old, "new_text": old + " Mended."})
	}
	return finish("the fault is mended and all tests pass", nil)
}

func finish(summary string, fields map[string]any) (*model.Response, error) {
	arguments := map[string]any{"status": "success", "summary": summary, "notes": ""}
	if fields != nil {
		arguments["fields"] = fields
	}
	return says(summary, "finish", arguments)
}

func says(text, tool string, arguments map[string]any) (*model.Response, error) {
	data, err := json.Marshal(arguments)
	return &model.Response{Text: text, Stop: model.StopEnd, Calls: []*loomv1.ToolCall{{Id: "1", Tool: tool, Arguments: string(data)}}}, err
}

// Whatever is said of a change, the checks on the clean checkout of its commit
// decide: it is reworked through investigation and a new approval, and when
// that does not help, the CEO is asked. Nothing that fails lands.
func TestWF05_AToolThatLiesCannotLand(t *testing.T) {
	for _, tt := range []struct {
		name                string
		honestFrom          int
		reworks, approvals  int
		escalations, landed int
	}{
		{"once", 2, 1, 2, 0, 1},
		{"twice", 3, 2, 3, 0, 1},
		{"always", 100, 3, 4, 1, 0},
	} {
		t.Run("P18 "+tt.name, func(t *testing.T) {
			s := newStory(t, scripted.New("liar", liar{tt.honestFrom}.answer))
			s.run(t)
			got := fmt.Sprint(s.reworks, len(s.digests), s.escalations, len(s.landed))
			if want := fmt.Sprint(tt.reworks, tt.approvals, tt.escalations, tt.landed); got != want {
				t.Errorf("reworks, approvals, escalations, landings are %s, want %s", got, want)
			}
			s.judge(t)
		})
	}
}

// story is a job on a host within this process.
type story struct {
	host       *host.Host
	repository string
	base       string
	client     *client.Client
	control    *client.Client
	key        *ceokey.Key

	reworks, escalations int
	digests              map[string]bool // of what was approved
	failed               []string        // commits whose checks failed
	passed               []string        // commits whose checks passed
	landed               []string
}

func newStory(t *testing.T, m model.Provider) *story {
	t.Helper()
	p := newPlace(t)
	s := &story{repository: p.repository(t, "shop"), digests: map[string]bool{}}
	s.base = git(t, s.repository, "rev-parse", "main")
	var err error
	s.host, err = host.Start(t.Context(), host.Config{
		Data: p.data, Model: m, CEOKey: p.key, Unsandboxed: true,
		Projects: []host.Project{{ID: "shop", Repository: filepath.Clean(s.repository)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.host.Stop(context.Background()) })
	if s.key, err = ceokey.Open(p.key); err != nil {
		t.Fatal(err)
	}
	s.client, s.control = s.connect(t, "operator"), s.connect(t, "ceo")
	return s
}

func (s *story) connect(t *testing.T, as string) *client.Client {
	t.Helper()
	nc, err := s.host.Connect(as)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return client.New(nc)
}

var errEnded = errors.New("the execution has ended")

// run files the report, answers what is asked, and returns at the end.
func (s *story) run(t *testing.T) {
	t.Helper()
	ctx := deadline(t)
	if _, err := s.client.Report(ctx, report(t, "shop")); err != nil {
		t.Fatal(err)
	}
	err := s.client.Follow(ctx, &loomv1.NoticesRequest{Project: "shop"}, true, func(n *loomv1.Notice) error { return s.see(ctx, n.Event) })
	if !errors.Is(err, errEnded) {
		t.Fatal(err)
	}
}

func (s *story) see(ctx context.Context, e *loomv1.Event) error {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ReworkStarted:
		s.reworks++
		if e.Node != "verify" || f.ReworkStarted.To != "investigate" {
			return fmt.Errorf("work was sent from %s to %s", e.Node, f.ReworkStarted.To)
		}
	case *loomv1.Event_ApprovalRequested:
		return s.decide(ctx, f.ApprovalRequested.Approval)
	case *loomv1.Event_AttemptEnded:
		for _, c := range f.AttemptEnded.Outcome.GetChecks() {
			switch {
			case c.Commit == "": // on the worktree of who made the change, who may have lied
			case c.Passed:
				s.passed = append(s.passed, c.Commit)
			default:
				s.failed = append(s.failed, c.Commit)
			}
		}
	case *loomv1.Event_Landed:
		s.landed = append(s.landed, f.Landed.Landing.Commit)
	case *loomv1.Event_ExecutionEnded:
		return errEnded
	}
	return nil
}

func (s *story) decide(ctx context.Context, a *loomv1.Approval) error {
	if a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		s.escalations++
	} else {
		s.digests[a.Digest] = true
	}
	cmd, err := s.key.Decide(s.host.Deployment(), "shop", &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: approve(a)})
	return cmp.Or(err, s.control.Present(ctx, "decide", cmd))
}

// judge checks that what landed is what passed, and that nothing else did.
func (s *story) judge(t *testing.T) {
	t.Helper()
	if len(s.failed) != len(s.digests)-len(s.landed) {
		t.Errorf("%d verifications failed, %d approvals, %d landings", len(s.failed), len(s.digests), len(s.landed))
	}
	head := git(t, s.repository, "rev-parse", "main")
	if len(s.landed) == 0 {
		if head != s.base || len(s.passed) > 0 {
			t.Errorf("main is at %s, want %s; checks passed on %v", head, s.base, s.passed)
		}
		return
	}
	if head != s.landed[0] || len(s.passed) != 1 || s.passed[0] != head {
		t.Errorf("main is at %s, landed %v, checks passed on %v: want one and the same", head, s.landed, s.passed)
	}
	if n := git(t, s.repository, "rev-list", "--count", s.base+"..main"); n != "1" {
		t.Errorf("main has %s new commits, want 1", n)
	}
}
