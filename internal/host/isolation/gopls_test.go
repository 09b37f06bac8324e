package isolation

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// The real gopls finds what is wrong, in the sandbox as a role has it: without a
// network, and with the caches that checks have.
func TestREPO01_GoplsInTheSandbox(t *testing.T) {
	if _, err := exec.LookPath("gopls"); err != nil {
		t.Log("NOT RUN: gopls is not on the PATH")
		return
	}
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/shop\n\ngo 1.21\n",
		"a.go":   "package shop\n\nimport \"fmt\"\n\nfunc total() string {\n\treturn fmt.Sprint(prise)\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	policy := h.Exec("shop", roles.Role{}, t.TempDir())
	s := tool.New(tool.Workspace{Root: dir, Scratch: t.TempDir(), Exec: policy}, nil)
	args, err := json.Marshal(map[string]any{"paths": []string{"a.go"}})
	if err != nil {
		t.Fatal(err)
	}
	r := s.Call(t.Context(), []string{"lsp_diagnostics"}, 5*time.Minute, &loomv1.ToolCall{Id: "c1", Tool: "lsp_diagnostics", Arguments: string(args)})
	if !strings.HasPrefix(r.Output, "a.go:6:20: error: undefined: prise") {
		t.Errorf("%s: %s", r.Code, r.Output)
	}
}
