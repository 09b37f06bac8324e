package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// until follows a project's notices until one is what is wanted.
func until(ctx context.Context, t *testing.T, h *host.Host, wanted func(*loomv1.Event) bool) {
	t.Helper()
	found := errors.New("found")
	err := connect(t, h, "operator").Follow(ctx, &loomv1.NoticesRequest{Project: "shop"}, true, func(n *loomv1.Notice) error {
		if wanted(n.Event) {
			return found
		}
		return nil
	})
	if !errors.Is(err, found) {
		t.Fatalf("it never came: %v", err)
	}
}

// Loom's own errors are filed as those of any service, by the host: into the
// project that they are about, else into the only one.
func TestSUB05_LoomsOwnErrorsBecomeBugs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := config(t, scripted.New("quick", nothing))
	c.Agents = map[string]int{"qa-engineer": 0}
	h := start(t, c)
	h.Trouble(actors.Trouble{Kind: "lost-actor", Message: "actor keeper$1 failed for good"})
	h.Trouble(actors.Trouble{Project: "shop", Kind: "lost-actor", Message: "actor keeper$2 failed for good"})
	until(ctx, t, h, func(e *loomv1.Event) bool { return e.GetBeadOccurred().GetOccurrences() == 2 })
	v, err := connect(t, h, "operator").Bead(ctx, &loomv1.Query{Project: "shop"})
	if err != nil || len(v.Beads) != 1 {
		t.Fatalf("beads: %v, %v, want one for both", v.GetBeads(), err)
	}
	b := v.Beads[0]
	if b.FiledBy.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_HOST || !strings.HasPrefix(b.Goal, "loom: actor keeper") || b.Type != loomv1.BeadType_BEAD_TYPE_BUG {
		t.Errorf("filed: %v", b)
	}
}

// A host that breaks down in ever new ways files a bounded number of beads.
func TestBYD10_LoomsOwnErrorsDoNotCascade(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := config(t, scripted.New("quick", nothing))
	c.Agents = map[string]int{"qa-engineer": 0}
	c.Reporting = &project.Reporting{Governor: &loomv1.Governor{SelfFiled: 3}}
	h := start(t, c)
	for i := range 20 {
		h.Trouble(actors.Trouble{Kind: "poison", Message: "broken " + strings.Repeat("x", i)})
	}
	until(ctx, t, h, func(e *loomv1.Event) bool { return e.GetGovernorTripped() != nil })
	h.Stop(ctx) // what waited is filed or given up
	h = start(t, c)
	v, err := connect(t, h, "operator").Bead(ctx, &loomv1.Query{Project: "shop", Type: "bug"})
	if err != nil || len(v.Beads) != 3 {
		t.Errorf("%d beads, %v, want 3", len(v.GetBeads()), err)
	}
}

// A message that its publisher got wrong is not Loom's error; one that Loom
// cannot handle is.
func TestSUB05_OnlyWhatIsLoomsFaultIsFiled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := config(t, scripted.New("quick", nothing))
	c.Agents = map[string]int{"qa-engineer": 0}
	h := start(t, c)
	h.SetAside("loom.v1.task.shop", fault.New("submit/empty-goal", "goal is empty"))
	h.SetAside("loom.v1.task.shop", fault.New("storm/budget", "no more"))
	h.SetAside("loom.v1.task.shop", fmt.Errorf("out of order"))
	until(ctx, t, h, func(e *loomv1.Event) bool {
		if b := e.GetBeadFiled().GetBead(); b != nil && b.Report.GetKind() != "set-aside" || strings.Contains(b.GetGoal(), "goal is empty") {
			t.Fatalf("filed: %v", b)
		}
		return e.GetBeadFiled() != nil
	})
}

// A bead is changed by operators over the service, and an assignee must be a
// role that agents play.
func TestSUB06_TheServiceChangesBeadsForOperators(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := config(t, scripted.New("quick", nothing))
	c.Agents = map[string]int{"qa-engineer": 0}
	h := start(t, c)
	ops := connect(t, h, "operator")
	filed, err := ops.Submit(ctx, &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: "g"})
	if err != nil {
		t.Fatal(err)
	}
	update := func(b *loomv1.Bead, fields ...string) *loomv1.BeadRequest {
		b.Id = filed.Bead
		return &loomv1.BeadRequest{Verb: &loomv1.BeadRequest_Update{Update: &loomv1.UpdateBead{Bead: b, Fields: fields}}}
	}
	for _, tt := range []struct {
		name string
		req  *loomv1.BeadRequest
		want string
	}{
		{"a role", update(&loomv1.Bead{Assignee: "lead"}, "assignee"), ""},
		{"a person", update(&loomv1.Bead{Assignee: "ceo"}, "assignee"), "bead/invalid"},
		{"no role", update(&loomv1.Bead{Assignee: "leed"}, "assignee"), "role/unknown"},
		{"a role that is not to be changed", update(&loomv1.Bead{Assignee: "leed", Goal: "other"}, "goal"), ""},
		{"no verb", &loomv1.BeadRequest{}, "command/malformed"},
		{"no bead", &loomv1.BeadRequest{Verb: &loomv1.BeadRequest_Close{Close: &loomv1.CloseBead{}}}, "id/malformed"},
		{"another project's bead", &loomv1.BeadRequest{Verb: &loomv1.BeadRequest_Close{Close: &loomv1.CloseBead{Bead: "shpo-1"}}}, "project/unknown"},
		{"a project that cannot be", &loomv1.BeadRequest{Project: "A B", Verb: &loomv1.BeadRequest_Close{Close: &loomv1.CloseBead{Bead: "shop-1"}}}, "id/malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ops.Update(ctx, tt.req); fault.Code(err) != tt.want {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	if _, err := ops.Submit(ctx, &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: "g", Assignee: "leed"}); fault.Code(err) != "role/unknown" {
		t.Errorf("a submission for no role: %v, want role/unknown", err)
	}
}
