package demo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/ops/demo"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// viewer approves what is proposed and can stop the demo at an event.
type viewer struct {
	t      *testing.T
	asked  int
	diffs  []string
	events int
	at     func(n *loomv1.Notice)
}

func (v *viewer) Say(text string) { v.t.Log(text) }

func (v *viewer) Event(n *loomv1.Notice) {
	v.events++
	if v.at != nil {
		v.at(n)
	}
}

func (v *viewer) Decide(_ context.Context, a *loomv1.Approval, diff string) (loomv1.ApprovalDecision, string, error) {
	v.asked++
	v.diffs = append(v.diffs, diff)
	if a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL {
		v.t.Errorf("escalated: %s", a.Reason)
		return loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, "", nil
	}
	return loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, "", nil
}

func script(t *testing.T) model.Provider {
	t.Helper()
	p, err := provider.Open("scripted:demo", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// check holds a result against the repository itself.
func check(t *testing.T, r *demo.Result) {
	t.Helper()
	if !r.Landed || !r.Verified || r.Status != "completed" {
		t.Fatalf("%s: %s, verified %t, landed %t", r.Bead, r.Status, r.Verified, r.Landed)
	}
	if int(r.Transitions) != len(r.History) {
		t.Errorf("%d transitions, but the table has %d", r.Transitions, len(r.History))
	}
	for _, want := range []string{"Loom-Bead: " + r.Bead, "Loom-Execution: " + r.Execution, "Loom-Decision: d", "Loom-Token: ", "Author:     Loom backend-engineer", "+\tif total >= FreeShippingFrom {"} {
		if !strings.Contains(r.Patch, want) {
			t.Errorf("the commit does not say %q:\n%s", want, r.Patch)
		}
	}
}

// TestAGENT02_TheDemoEndsWithARefusedKey wants the demo's end at once, with what the
// provider said and what to do, and nobody asked.
func TestAGENT02_TheDemoEndsWithARefusedKey(t *testing.T) {
	longtest.Skip(t)
	s := modeltest.Anthropic(t, modeltest.Sequence(modeltest.Reply{Status: 401, Body: `{"error":{"type":"authentication_error","message":"invalid x-api-key"}}`}))
	p, err := provider.Open("anthropic:claude-test", func(name string) string {
		return map[string]string{"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": s.URL}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	v := &viewer{t: t}
	_, err = demo.Run(t.Context(), demo.Options{Model: p, Unsandboxed: true, View: v})
	if fault.Code(err) != "model/key-refused" || fault.From(err).Hint == "" || v.asked != 0 {
		t.Errorf("with a refused key: %v, %d questions; want model/key-refused, a remedy and none", err, v.asked)
	}
}

func TestWF13_TheDemoEndsWithAVerifiedCommit(t *testing.T) {
	longtest.Skip(t)
	v := &viewer{t: t}
	r, err := demo.Run(t.Context(), demo.Options{Model: script(t), View: v})
	if err != nil {
		t.Fatal(err)
	}
	check(t, r)
	if v.asked != 1 || !strings.Contains(v.diffs[0], "+\tif total >= FreeShippingFrom {") {
		t.Errorf("asked %d times, shown %q", v.asked, v.diffs)
	}
	if !r.Scripted || r.Tokens != 0 || r.MicroUSD != 0 {
		t.Errorf("scripted %t, %d tokens, %d micro-dollars; want a script that costs nothing", r.Scripted, r.Tokens, r.MicroUSD)
	}
	if _, err := os.Stat(r.Repository); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary repository is still there: %v", err)
	}
}

// The same policy behind servers that speak the vendors' wire formats.
func TestAGENT02_TheDemoOverBothWireProtocols(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct{ spec, variable, url string }{
		{"anthropic:claude-test", "ANTHROPIC", modeltest.Anthropic(t, modeltest.Play(scripted.Demo)).URL},
		{"openai:gpt-test", "OPENAI", modeltest.OpenAI(t, modeltest.Play(scripted.Demo)).URL},
	} {
		t.Run(tt.spec, func(t *testing.T) {
			env := map[string]string{tt.variable + "_API_KEY": "sk-canary-0123456789", tt.variable + "_BASE_URL": tt.url}
			p, err := provider.Open(tt.spec, func(k string) string { return env[k] })
			if err != nil {
				t.Fatal(err)
			}
			keep := t.TempDir()
			r, err := demo.Run(t.Context(), demo.Options{Model: p, Unsandboxed: true, Keep: keep, View: &viewer{t: t}})
			if err != nil {
				t.Fatal(err)
			}
			check(t, r)
			if r.Scripted || r.Tokens == 0 {
				t.Errorf("scripted %t, %d tokens; want a counted model", r.Scripted, r.Tokens)
			}
			noSecret(t, keep, "sk-canary-0123456789")
		})
	}
}

// noSecret looks for a secret in every file that the demo left (SEC02).
func noSecret(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("%s holds the model's key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A demo that was cut off goes on in the same directory, and commits once.
func TestWF10_ADemoThatWasCutOffGoesOn(t *testing.T) {
	longtest.Skip(t)
	keep := t.TempDir()
	for _, kind := range []string{"turn-started", "approval-decided", "candidate-made"} {
		ctx, cancel := context.WithCancel(t.Context())
		v := &viewer{t: t, at: func(n *loomv1.Notice) {
			if n.Kind == kind {
				cancel()
			}
		}}
		if _, err := demo.Run(ctx, demo.Options{Model: script(t), Keep: keep, View: v}); !errors.Is(err, context.Canceled) {
			t.Fatalf("cut off at %s: %v", kind, err)
		}
		cancel()
	}
	r, err := demo.Run(t.Context(), demo.Options{Model: script(t), Keep: keep, View: &viewer{t: t}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, r)
	repo, err := git.Open(t.Context(), r.Repository)
	if err != nil {
		t.Fatal(err)
	}
	text, err := repo.Show(t.Context(), r.Commit+"~1")
	if err != nil || !strings.Contains(text, "shop: price a cart") {
		t.Errorf("below the commit: %v\n%s\nwant the repository's first commit", err, text)
	}
}

func TestTimes(t *testing.T) {
	longtest.Skip(t)
	v := &viewer{t: t}
	began := time.Now()
	r, err := demo.Run(t.Context(), demo.Options{Model: script(t), View: v})
	if err != nil {
		t.Fatal(err)
	}
	took := float64(time.Since(began).Microseconds()) / 1000
	if s := r.Times; s.Whole > took || s.Own <= 0 || s.Own > s.Whole || s.Tools <= 0 || s.Git <= 0 || s.FirstNotice <= 0 || s.FirstNotice > took {
		t.Errorf("times %+v of a demo that took %.0f ms", s, took)
	}
}
