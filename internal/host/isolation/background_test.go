package isolation

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// A background process is in the sandbox as any command is, beside others, with
// changes in caches that are its own.
func TestTOOL03_ABackgroundProcessIsInTheSandbox(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	out := t.TempDir()
	if !sandboxed(t, h, dir) {
		return
	}
	set := tool.New(tool.Workspace{Root: dir, Scratch: t.TempDir(), Exec: h.Exec("shop", roles.Role{}, t.TempDir())}, nil)
	t.Cleanup(set.EndProcesses)
	do := func(id, name string, args map[string]any) string {
		t.Helper()
		r := set.Call(t.Context(), []string{"shell", "process"}, time.Minute, &loomv1.ToolCall{Id: id, Tool: name, Arguments: string(asJSON(t, args))})
		return r.Output
	}
	line := "echo out > " + filepath.Join(out, "x") + "; touch \"$XDG_CACHE_HOME/mine\"; touch here; while [ ! -e go ]; do sleep 0.01; done; cat said"
	if text := do("c1-1", "shell", map[string]any{"command": line, "background": true}); !strings.Contains(text, "process c1-1\n") {
		t.Fatalf("it is told as %q", text)
	}
	if text := do("c1-2", "shell", map[string]any{"command": "while [ ! -e here ]; do sleep 0.01; done; ls \"$XDG_CACHE_HOME\"; echo hello > said; touch go"}); strings.Contains(text, "mine") {
		t.Errorf("a command beside it sees its cache: %q", text)
	}
	text := do("c2-1", "process", map[string]any{"id": "c1-1", "wait_seconds": 60})
	if !strings.HasSuffix(text, "hello\n[exit code 0]\n") || !strings.Contains(text, filepath.Join(out, "x")) {
		t.Errorf("it wrote %q, want a refusal to write outside, and what was said", text)
	}
}
