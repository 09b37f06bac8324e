package tool_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/place/lsp/lsptest"
)

func TestMain(m *testing.M) {
	lsptest.ServeIfAsked()
	os.Exit(m.Run())
}

// asking is a set of tools whose language server is of a kind.
func asking(t *testing.T, how string, policy tool.Policy) *tool.Set {
	t.Helper()
	root := t.TempDir()
	put(t, root, map[string]string{
		"a.txt": "fine\nthis is wrong\n", "sub/b.txt": "wrong", "c.txt": "fine", "d.py": "wrong", "big.txt": strings.Repeat("x", 1<<20+1), "bin.txt": "\x00\x01",
	})
	return tool.New(tool.Workspace{Root: root, Scratch: t.TempDir(), Exec: policy, Servers: []tool.LanguageServer{
		{Extensions: []string{".txt"}, Command: []string{os.Args[0], lsptest.Argument, how}},
		{Extensions: []string{".none"}, Command: []string{"loom-no-such-server"}, Install: "make it"},
	}}, nil)
}

var allowed = tool.Policy{Allow: true, Ran: "unsandboxed"}

func TestTOOL01_DiagnosticsOfALanguageServer(t *testing.T) {
	longtest.Skip(t)
	for _, how := range []string{lsptest.Pull, lsptest.Push} {
		r := do(t, asking(t, how, allowed), "lsp_diagnostics", args{"paths": []string{"sub/b.txt", "a.txt", "./a.txt", "c.txt"}})
		const want = "a.txt:2:9: warning: this is wrong [words W1]\nsub/b.txt:1:1: warning: this is wrong [words W1]\n[words: 2 problems in 3 files]\n"
		if r.Output != want || r.Code != "" || r.Ran != "unsandboxed" {
			t.Errorf("%s: %q, ran %q, want %q", how, r.Output, r.Ran, want)
		}
	}
}

func TestTOOL01_DiagnosticsThatCannotBeHad(t *testing.T) {
	for _, tt := range []struct {
		name, how string
		policy    tool.Policy
		path      string
		code, say string
	}{
		{"no server for such files", lsptest.Pull, allowed, "d.py", "tool/no-server", "--language-server"},
		{"a server that is not there", lsptest.Pull, allowed, "x.none", "tool/not-found", ""},
		{"no sandbox", lsptest.Pull, tool.Policy{}, "a.txt", "tool/no-sandbox", "unsandboxed"},
		{"a file that is not there", lsptest.Pull, allowed, "gone.txt", "tool/not-found", ""},
		{"a file outside", lsptest.Pull, allowed, "../a.txt", "tool/outside", ""},
		{"a large file", lsptest.Pull, allowed, "big.txt", "tool/too-large", ""},
		{"no text", lsptest.Pull, allowed, "bin.txt", "tool/failed", "not text"},
		{"a server that ends", lsptest.Crash, allowed, "a.txt", "lsp/failed", "no such view"},
		{"a server that talks nonsense", lsptest.Garbage, allowed, "a.txt", "lsp/failed", ""},
	} {
		r := do(t, asking(t, tt.how, tt.policy), "lsp_diagnostics", args{"paths": []string{tt.path}})
		if r.Code != tt.code || !strings.Contains(r.Output, tt.say) {
			t.Errorf("%s: %s: %s, want %s", tt.name, r.Code, r.Output, tt.code)
		}
	}
	s := asking(t, lsptest.Pull, allowed)
	if r := do(t, s, "file_write", args{"path": "x.none", "content": "x"}); r.Code != "" {
		t.Fatal(r.Output)
	}
	if r := do(t, s, "lsp_diagnostics", args{"paths": []string{"x.none"}}); r.Code != "tool/no-server" || !strings.Contains(r.Output, "make it") {
		t.Errorf("a server that is not installed: %s: %s", r.Code, r.Output)
	}
}

// A server that does not answer is ended with the call, and what is not known is
// said.
func TestTOOL01_DiagnosticsEndInTime(t *testing.T) {
	longtest.Skip(t)
	for how, say := range map[string]string{lsptest.Silent: "no answer for a.txt: not in time", lsptest.Mute: "tool/timeout"} {
		r := asking(t, how, allowed).Call(context.Background(), everything, 500*time.Millisecond, call(t, "lsp_diagnostics", args{"paths": []string{"a.txt"}}))
		if !strings.Contains(r.Output, say) {
			t.Errorf("%s: %s: %s", how, r.Code, r.Output)
		}
	}
}

// TestREPO01_Gopls asks gopls itself, where it is installed.
func TestREPO01_Gopls(t *testing.T) {
	if _, err := exec.LookPath("gopls"); err != nil {
		t.Log("NOT RUN: gopls is not on the PATH")
		return
	}
	root := t.TempDir()
	put(t, root, map[string]string{
		"go.mod": "module example.com/shop\n\ngo 1.21\n",
		"a.go":   "package shop\n\nfunc total() int {\n\treturn prise\n}\n",
		"b.go":   "package shop\n\nfunc two() int { return total() }\n",
	})
	s := tool.New(tool.Workspace{Root: root, Scratch: t.TempDir(), Exec: tool.Policy{Allow: true, Env: []string{"GOFLAGS=-mod=mod", "GOPROXY=off"}}}, nil)
	r := s.Call(context.Background(), everything, 5*time.Minute, call(t, "lsp_diagnostics", args{"paths": []string{"a.go", "b.go"}}))
	if !strings.HasPrefix(r.Output, "a.go:4:9: error: undefined: prise [compiler UndeclaredName]\n") || !strings.Contains(r.Output, "gopls: 1 problems in 2 files") {
		t.Errorf("%s: %s", r.Code, r.Output)
	}
}
