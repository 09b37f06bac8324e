//go:build unix

package tool_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// unsandboxed is a workspace in which the operator lets commands run.
func unsandboxed(t testing.TB, env ...string) (*tool.Set, string) {
	t.Helper()
	root := t.TempDir()
	return tool.New(tool.Workspace{Root: root, Scratch: t.TempDir(), Exec: tool.Policy{Allow: true, Env: env}}, nil), root
}

func TestTOOL03_ShellNeedsPermission(t *testing.T) {
	s, root := workspace(t, nil)
	r := do(t, s, "shell", args{"command": "touch pwned"})
	if r.Status != loomv1.ToolStatus_TOOL_STATUS_DENIED || r.Code != "tool/no-sandbox" {
		t.Errorf("shell without permission: %v %s", r.Status, r.Output)
	}
	says(t, r, "the operator may allow commands to run unsandboxed")
	if _, err := os.Stat(filepath.Join(root, "pwned")); err == nil {
		t.Error("the command ran")
	}
}

func TestTOOL01_Shell(t *testing.T) {
	s, root := unsandboxed(t)
	for _, tt := range []struct {
		command, want string
		code          int32
	}{
		{"echo out; echo err >&2; exit 3", "out\nerr\n[exit code 3]\n", 3},
		{"printf x", "x\n[exit code 0]\n", 0},
		{"true", "[exit code 0]\n", 0},
		{"cat", "[exit code 0]\n", 0}, // there is no input
		{"kill -9 $$", "", 137},
		{"kill -TERM $$", "", 143},
		{"exec ./nosuchprogram", "", 127},
		{"if", "", 2},
		{"printf '\\377\\000'", "\uFFFD\uFFFD\n[exit code 0]\n", 0},
		{"pwd", root + "\n[exit code 0]\n", 0},
		{"false | cat", "[exit code 0]\n[a pipe has the exit code of its last command: one before it may have failed]\n", 0}, // which alone tells that something may have failed
		{"echo \"it's\" \\| | cat", "it's |\n[exit code 0]\n[a pipe has the exit code of its last command: one before it may have failed]\n", 0},
		{"false | false", "[exit code 1]\n", 1},
		{"echo '|' \"|\" \\| || false", "| | |\n[exit code 0]\n", 0},
		{"echo a >| /dev/null", "[exit code 0]\n", 0},
	} {
		r := ok(t, do(t, s, "shell", args{"command": tt.command}))
		if r.ExitCode != tt.code || tt.want != "" && r.Output != tt.want {
			t.Errorf("%s: %d %q, want %d %q", tt.command, r.ExitCode, r.Output, tt.code, tt.want)
		}
	}
}

func TestTOOL02_ShellTellsWhatChanged(t *testing.T) {
	s, root := unsandboxed(t)
	put(t, root, map[string]string{"same": "1", "gone": "1", "edit": "1", "dir/mode": "1"})
	r := ok(t, do(t, s, "shell", args{"command": "cat same; rm gone; echo 22 > edit; chmod 755 dir/mode; mkdir -p new; echo > new/b; echo > new/a"}))
	if want := []string{"dir/mode", "edit", "gone", "new/a", "new/b"}; !slices.Equal(r.Changed, want) {
		t.Errorf("changed %q, want %q", r.Changed, want)
	}
	r = ok(t, do(t, s, "shell", args{"command": "for i in $(seq 150); do echo > f$i; done"}))
	if len(r.Changed) != tool.MaxChanged {
		t.Errorf("%d changed paths, want %d", len(r.Changed), tool.MaxChanged)
	}
	says(t, r, "[150 paths changed; the first 100 are listed]")
}

func TestTOOL03_ShellEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", canary)
	t.Setenv("GITHUB_TOKEN", canary)
	t.Setenv("DATABASE_URL", "postgres://"+canary)
	t.Setenv("PATH", "relative:"+os.Getenv("PATH"))
	s, _ := unsandboxed(t, "GOFLAGS=-mod=mod", "MY_API_KEY="+canary, "my_token="+canary, "LOOM_DATA="+canary, "DB_PASSWORD="+canary, "malformed"+canary)
	r := ok(t, do(t, s, "shell", args{"command": "env | sort; ls -A $HOME; touch $HOME/x"}))
	if strings.Contains(r.Output, canary) {
		t.Errorf("a secret is in the environment:\n%s", r.Output)
	}
	var names []string
	for line := range strings.Lines(r.Output) {
		if name, _, ok := strings.Cut(line, "="); ok {
			names = append(names, name)
		}
	}
	if want := []string{"GOFLAGS", "HOME", "LANG", "LOOM_CALL", "PATH", "PWD", "TERM", "TMPDIR"}; !slices.Equal(names, want) {
		t.Errorf("the environment has %q, want %q", names, want)
	}
	if strings.Contains(r.Output, "relative:") {
		t.Error("PATH has a relative directory")
	}
	says(t, ok(t, do(t, s, "shell", args{"command": "ls -A $HOME | wc -l"})), "0\n") // a new home each time
}

// The private directory goes, even when a tool made parts of it read-only.
func TestTOOL03_ShellHomeIsRemoved(t *testing.T) {
	scratch := t.TempDir()
	s := tool.New(tool.Workspace{Root: t.TempDir(), Scratch: scratch, Exec: tool.Policy{Allow: true}}, nil)
	ok(t, do(t, s, "shell", args{"command": "mkdir -p $HOME/mod/x && touch $HOME/mod/x/y && chmod 555 $HOME/mod/x $HOME/mod"}))
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTOOL02_ShellOutputIsCut(t *testing.T) {
	s, _ := unsandboxed(t)
	r := ok(t, do(t, s, "shell", args{"command": "echo BEGIN; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo END"}))
	if len(r.Output) > tool.MaxOutput || len(r.Output) < 1000<<10 {
		t.Errorf("%d bytes of output", len(r.Output))
	}
	says(t, r, "BEGIN\nxxx", "xxx\nEND\n[exit code 0]\n", "\n[1952459 bytes of output cut]\n")
}
