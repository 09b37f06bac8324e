package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// running runs one command and ends.
func running(r *model.Request) (*model.Response, error) {
	call := &loomv1.ToolCall{Tool: "shell", Arguments: `{"command":"echo hello"}`}
	if last := r.Messages[len(r.Messages)-1]; last.Role == model.RoleTool {
		call = &loomv1.ToolCall{Tool: turn.FinishName, Arguments: `{"status":"success","summary":"ran","notes":"done","fields":{"severity":"none","specialist":"","check":""}}`}
	}
	return &model.Response{Text: "running", Stop: model.StopTools, Calls: []*loomv1.ToolCall{call}}, nil
}

// TestTOOL03_NoSandboxIsOnRecord has a command run on hosts with and without a
// sandbox, and looks for what is recorded of that.
func TestTOOL03_NoSandboxIsOnRecord(t *testing.T) {
	for _, bare := range []bool{true, false} {
		c := config(t, scripted.New("running", running))
		c.Unsandboxed = bare
		h := start(t, c)
		want := map[bool]string{true: "unsandboxed", false: "sandbox: memory 2048 MiB, disk 4096 MiB, 256 processes, files of 1024 MiB, 1024 open files, processor time 30m0s, network loopback"}[bare]
		if !bare && !h.Sandboxed() {
			t.Log("NO SANDBOX ON THIS MACHINE, so only hosts without one are tested")
			return
		}
		triage(t, h, "run")
		ops := connect(t, h, "operator")
		if ran := ranUnder(t, h); ran != want {
			t.Errorf("unsandboxed %t: a command is recorded to have run under %q, want %q", bare, ran, want)
		}
		if noted := notedOf(t, h); noted != bare {
			t.Errorf("unsandboxed %t: that is on record: %t", bare, noted)
		}
		said, err := ops.Host(t.Context(), &loomv1.HostRequest{})
		if err != nil || said.Unsandboxed != bare || (said.Sandbox == "") != bare {
			t.Errorf("unsandboxed %t: the host says %t, %q, %v", bare, said.GetUnsandboxed(), said.GetSandbox(), err)
		}
	}
}

// ranUnder is what the first command is recorded to have run under.
func ranUnder(t *testing.T, h *host.Host) (ran string) {
	t.Helper()
	each(t, h, "shop", func(e *loomv1.Event) {
		if f := e.GetToolFinished(); f.GetTool() == "shell" && ran == "" {
			ran = f.Result.GetRan()
		}
	})
	return ran
}

// notedOf says whether it is on record that the host has no sandbox.
func notedOf(t *testing.T, h *host.Host) (noted bool) {
	t.Helper()
	each(t, h, project.System, func(e *loomv1.Event) {
		noted = noted || e.GetSecurityNoted().GetWhat() == "unsandboxed"
	})
	return noted
}

// each calls f for every event of a project that is in the journal.
func each(t *testing.T, h *host.Host, id string, f func(*loomv1.Event)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := connect(t, h, "operator").Follow(ctx, &loomv1.NoticesRequest{Project: id}, false, func(n *loomv1.Notice) error {
		f(n.Event)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
