package tool_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/tool"
)

// BenchmarkTOOL01_LargeTree times tools on the source of Go itself, known to a
// git directory of the benchmark's own:
//
//	go test -run '^$' -bench LargeTree -benchtime 5x ./internal/agents/tool
func BenchmarkTOOL01_LargeTree(b *testing.B) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	ws := tool.Workspace{Root: strings.TrimSpace(string(root)), GitDir: b.TempDir(), Exec: tool.Policy{Allow: true}}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "core.compression=0", "add", "-A", "."}} {
		git := exec.Command("git", append([]string{"--git-dir=" + ws.GitDir, "--work-tree=" + ws.Root}, args...)...)
		git.Dir = ws.Root
		if out, err := git.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	s := tool.New(ws, nil)
	for _, bb := range []struct {
		name, tool string
		args       args
		want       string
	}{
		{"symbol", "content_search", args{"pattern": "func ListenAndServe"}, "src/net/http/server.go:"},
		{"last_directory", "content_search", args{"pattern": `&y==p = `}, "test/zerosize.go:"},
		{"ignoring_case", "content_search", args{"pattern": `(?i)&Y==P = `}, "test/zerosize.go:"},
		{"shell_true", "shell", args{"command": "true"}, "[exit code 0]"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				says(b, ok(b, do(b, s, bb.tool, bb.args)), bb.want)
			}
		})
	}
}
