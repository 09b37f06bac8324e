package tool_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/longtest"
)

// each runs a test with processes kept together in either way.
func each(t *testing.T, test func(*testing.T, *tool.Set)) {
	t.Run("group", func(t *testing.T) {
		s, _ := unsandboxed(t)
		test(t, s.Grouped())
	})
	t.Run("native", func(t *testing.T) {
		s, _ := unsandboxed(t)
		test(t, s)
	})
}

// running lists the processes that have word in their command line.
func running(word string) []string {
	var list []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if line := strings.ReplaceAll(string(data), "\x00", " "); err == nil && strings.Contains(line, word) {
			list = append(list, f+": "+line)
		}
	}
	return list
}

// soon is much longer than what is killed needs to end, and much shorter than a
// nap.
const soon = 20 * time.Second

// gone waits for the processes to end, as one that was killed needs a moment.
func gone(t *testing.T, word string) {
	t.Helper()
	for deadline := time.Now().Add(soon); ; {
		list := running(word)
		if len(list) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still running: %q", list)
		}
	}
}

// limit is how long a command may take.
const limit = 500 * time.Millisecond

// hung are commands that do not want to end. NAP is a sleep that can be told
// from all others.
var hung = map[string]string{
	"hangs":          "echo before; NAP",
	"ignores TERM":   "trap '' TERM INT HUP; echo before; NAP & NAP",
	"setsid":         "echo before; setsid NAP & NAP",
	"double fork":    "echo before; (setsid sh -c 'trap \"\" TERM; NAP & NAP' &) ; NAP",
	"no environment": "echo before; env -i setsid NAP & NAP",
	"stdout held":    "echo before; NAP & NAP & NAP & NAP & NAP",
}

func nap(command string) (line, word string) {
	word = fmt.Sprintf("60.%09d%d", time.Now().UnixNano()%1e9, os.Getpid())
	return strings.ReplaceAll(command, "NAP", "sleep "+word), word
}

func TestF29_Timeout(t *testing.T) {
	longtest.Skip(t)
	each(t, func(t *testing.T, s *tool.Set) {
		for name, command := range hung {
			t.Run(name, func(t *testing.T) {
				if name == "no environment" && (strings.Contains(t.Name(), "group") || !tool.Namespaces()) {
					return // such a one is only held by a namespace
				}
				t.Parallel()
				line, word := nap(command)
				begin := time.Now()
				r := s.Call(context.Background(), everything, limit, call(t, "shell", args{"command": line}))
				if took := time.Since(begin); took < limit || took > limit+soon {
					t.Errorf("it took %v, want %v to %v", took, limit, limit+soon)
				}
				if r.Code != "tool/timeout" || !strings.HasPrefix(r.Output, "before\n") {
					t.Errorf("%s %q, want tool/timeout with the output so far", r.Code, r.Output)
				}
				gone(t, word)
			})
		}
	})
}

func TestTOOL01_ShellTimeoutArgument(t *testing.T) {
	longtest.Skip(t)
	s, _ := unsandboxed(t)
	line, word := nap("NAP")
	begin := time.Now()
	r := do(t, s, "shell", args{"command": line, "timeout_seconds": 1})
	if took := time.Since(begin); r.Code != "tool/timeout" || took > soon {
		t.Errorf("%s after %v", r.Output, took)
	}
	gone(t, word)
}

// What a command leaves running in the background ends with it, and does not
// hold up its result.
func TestP16_NothingIsLeft(t *testing.T) {
	longtest.Skip(t)
	each(t, func(t *testing.T, s *tool.Set) {
		line, word := nap("NAP & setsid NAP & (setsid NAP >/dev/null 2>&1 &); echo done")
		begin := time.Now()
		r := ok(t, do(t, s, "shell", args{"command": line}))
		if took := time.Since(begin); took > soon || r.Output != "done\n[exit code 0]\n" {
			t.Errorf("%q after %v", r.Output, took)
		}
		gone(t, word)
	})
}

var cancels = flag.Int("cancels", 25, "commands that are cancelled")

// stubborn are children that do not want to go with the command that started
// them.
var stubborn = []string{
	"setsid NAP & NAP & touch started; NAP",
	"trap '' TERM INT HUP; setsid NAP & NAP & NAP",
	"(trap '' TERM; setsid sh -c 'trap \"\" TERM; NAP & NAP' &) ; NAP",
	"nohup NAP >/dev/null 2>&1 & nohup NAP >/dev/null 2>&1 & NAP",
}

func TestP16_Cancel(t *testing.T) {
	longtest.Skip(t)
	each(t, func(t *testing.T, s *tool.Set) {
		for n := range *cancels {
			line, word := nap(stubborn[n%len(stubborn)])
			ctx, cancel := context.WithCancel(context.Background())
			go func() { // once it runs
				for len(running(word)) < 3 && ctx.Err() == nil {
				}
				cancel()
			}()
			r := s.Call(ctx, everything, 20*time.Second, call(t, "shell", args{"command": line}))
			if r.Code != "tool/cancelled" {
				t.Fatalf("%s, want tool/cancelled", r.Output)
			}
			gone(t, word)
		}
		t.Logf("%d commands with stubborn children cancelled, no child left", *cancels)
	})
}

func TestF30_OutputBomb(t *testing.T) {
	each(t, func(t *testing.T, s *tool.Set) {
		line, word := nap("NAP & yes bomb")
		r := do(t, s, "shell", args{"command": line})
		if r.Code != "tool/too-large" || len(r.Output) > tool.MaxOutput {
			t.Errorf("%s, %d bytes", r.Code, len(r.Output))
		}
		says(t, r, "bomb\nbomb\n", "bytes of output cut", "the command was killed: it wrote more than 64 MiB")
		gone(t, word)
	})
}

// The commands of a host that is killed die with it, so that another host that
// goes on with the turn has the work tree to itself.
func TestF29_HostDies(t *testing.T) {
	if dir := os.Getenv("TOOL_TEST_HOST"); dir != "" {
		s := tool.New(tool.Workspace{Root: dir, Exec: tool.Policy{Allow: true}}, nil)
		do(t, s, "shell", args{"command": os.Getenv("TOOL_TEST_COMMAND")})
		return
	}
	command := "NAP"
	if tool.Namespaces() {
		command = "setsid NAP & NAP"
	}
	line, word := nap("echo ready > ready; " + command)
	dir := t.TempDir()
	host := exec.Command(os.Args[0], "-test.run=^TestF29_HostDies$")
	host.Env = append(os.Environ(), "TOOL_TEST_HOST="+dir, "TOOL_TEST_COMMAND="+line, "TMPDIR="+t.TempDir())
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); len(running("sleep "+word)) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the command never ran")
		}
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	gone(t, word)
}

func TestTOOL01_ShellExitCode(t *testing.T) {
	each(t, func(t *testing.T, s *tool.Set) {
		for command, want := range map[string]int32{"exit 3": 3, "kill -9 $$": 137, "sh -c 'kill -TERM $$'": 143} {
			if r := ok(t, do(t, s, "shell", args{"command": command})); r.ExitCode != want {
				t.Errorf("%s: exit code %d, want %d", command, r.ExitCode, want)
			}
		}
	})
}
