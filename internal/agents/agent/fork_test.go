package agent_test

import (
	"errors"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Who goes on in a fork finds the change that it was forked with, and what is
// proposed next rests on it; without a fork a change of the state is nobody's.
func TestWF16_AForkGoesOnWithItsChange(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, writes())
	first := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)).Change
	for _, tt := range []struct {
		execution string
		from      *loomv1.ForkPoint
		want      string
	}{
		{"shop-2-x1", &loomv1.ForkPoint{Execution: "shop-1-x1", Node: "work"}, first.PatchDigest},
		{"shop-3-x1", nil, ""},
	} {
		b.worker.Model = b.asks.count(scripted.New("test", script(finish("success"))))
		br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Attempt.Id, br.Execution.Id, br.Bead.Id = tt.execution+"-a1", tt.execution, tt.execution[:6]
		br.Execution.ForkedFrom, br.Execution.Change = tt.from, proto.CloneOf(first)
		b.seat = &seat{}
		if got := b.must(br).GetChange().GetPatchDigest(); got != tt.want {
			t.Errorf("%s proposes %q, want %q", tt.execution, got, tt.want)
		}
	}
}

// Work that was closed and is begun again goes on with what it had changed, and does not
// begin where that is no longer kept.
func TestWF09_AReopenedBeadGoesOnWithItsDraft(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, writes())
	first := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)).Change
	var told *git.Saved
	refuse := errors.New("nobody is there")
	for _, err := range []error{refuse, nil} { // what cannot be told stays as it is
		if _, got := b.worker.Retire(t.Context(), b.repo, "shop-1-x1", func(s *git.Saved) error { told = s; return err }); !errors.Is(got, err) {
			t.Fatalf("told: %v, want %v", got, err)
		}
	}
	if told == nil || told.Commit != first.Commit || told.Files != len(first.Files) || told.Added == 0 {
		t.Fatalf("told of %+v, and the change is %v", told, first)
	}
	for commit, want := range map[string]string{told.Commit: "", "0123456789012345678901234567890123456789": "git/failed"} {
		b.worker.Model = b.asks.count(scripted.New("test", script(finish("success"))))
		br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Attempt.Id, br.Execution.Id = "shop-1-x2-a1"+want, "shop-1-x2"
		if want != "" {
			br.Attempt.Id, br.Execution.Id = "shop-1-x3-a1", "shop-1-x3"
		}
		br.Execution.Draft = &loomv1.Draft{Execution: "shop-1-x1", Commit: commit}
		b.seat = &seat{}
		out, err := b.worker.Work(t.Context(), br, b.seat)
		if fault.Code(err) != want {
			t.Fatalf("with draft %s: %v, want %q", commit, err, want)
		}
		if err == nil && out.GetChange().GetPatchDigest() != first.PatchDigest {
			t.Errorf("it goes on with %v, want %s", out, first.PatchDigest)
		}
	}
}
