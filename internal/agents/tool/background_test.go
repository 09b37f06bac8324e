//go:build linux

package tool_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
)

// starts runs a command in the background, as the call of an id.
func starts(t testing.TB, s *tool.Set, id, command string) tool.Result {
	t.Helper()
	c := call(t, "shell", args{"command": command, "background": true})
	c.Id = id
	return s.Call(context.Background(), everything, 0, c)
}

// runs is what is said of a process that has not ended.
var runs = regexp.MustCompile(`\[it runs, \d+ s so far\]\n`)

// waits looks at a background process that ends by itself.
func waits(t testing.TB, s *tool.Set, id string) tool.Result {
	t.Helper()
	return do(t, s, "process", args{"id": id, "wait_seconds": 60})
}

func TestTOOL01_ABackgroundProcessIsReadToItsEnd(t *testing.T) {
	s, root := unsandboxed(t)
	t.Cleanup(s.EndProcesses)
	r := ok(t, starts(t, s, "c1-1", `printf 'one\n\303'; while [ ! -e go ]; do sleep 0.01; done; printf '\251two\n'; exit 3`))
	if !strings.HasPrefix(r.Output, "runs in the background as process c1-1\n") {
		t.Errorf("it is told as %q", r.Output)
	}
	first := ""
	for !strings.Contains(first, "one") {
		first += ok(t, do(t, s, "process", args{"id": "c1-1"})).Output
	}
	if first = runs.ReplaceAllString(first, ""); first != "one\n" {
		t.Errorf("at first %q, want one line, and nothing of the character that is not whole", first)
	}
	put(t, root, map[string]string{"go": ""})
	if r := ok(t, waits(t, s, "c1-1")); r.Output != "étwo\n[exit code 3]\n" || r.ExitCode != 3 {
		t.Errorf("at its end %q (%d)", r.Output, r.ExitCode)
	}
	if r := ok(t, do(t, s, "process", args{"id": "c1-1"})); r.Output != "[exit code 3]\n" {
		t.Errorf("after its end %q", r.Output)
	}
	if r := do(t, s, "process", args{"id": "c9-9"}); r.Code != "tool/not-found" {
		t.Errorf("one that never was: %s", r.Output)
	}
}

func TestTOOL03_ABackgroundProcessNeedsPermissionAsAnyCommand(t *testing.T) {
	s, _ := workspace(t, nil)
	if r := starts(t, s, "c1-1", "true"); r.Code != "tool/no-sandbox" {
		t.Errorf("without a sandbox: %s", r.Output)
	}
}

// A process that is stopped, whose time is over, or whose turn ends, is gone with
// all that it started.
func TestF29_BackgroundProcessesEndWithAllThatTheyStarted(t *testing.T) {
	longtest.Skip(t)
	each(t, func(t *testing.T, s *tool.Set) {
		var words []string
		command := func() string {
			line, word := nap("trap '' TERM; NAP & setsid NAP & NAP")
			words = append(words, word)
			return line
		}
		for i := range 3 {
			ok(t, starts(t, s, fmt.Sprintf("c1-%d", i), command()))
		}
		r := ok(t, do(t, s, "process", args{"id": "c1-0", "stop": true}))
		if r.Output != "[stopped]\n" {
			t.Errorf("a process that is stopped: %q", r.Output)
		}
		gone(t, words[0])
		c := call(t, "shell", args{"command": command(), "background": true, "timeout_seconds": 1})
		c.Id = "c2-1"
		ok(t, s.Call(context.Background(), everything, 0, c))
		if r := waits(t, s, "c2-1"); r.Code != "tool/timeout" {
			t.Errorf("a process whose time is over: %q", r.Output)
		}
		gone(t, words[3])
		s.EndProcesses()
		for _, word := range words {
			gone(t, word)
		}
		if r := ok(t, waits(t, s, "c1-1")); r.Output != "[ended when you called finish]\n" {
			t.Errorf("after the turn: %q", r.Output)
		}
	})
}

// A look that waits ends with its call, and says that the process runs.
func TestTOOL02_WaitingForAProcessEndsInTime(t *testing.T) {
	s, _ := unsandboxed(t)
	t.Cleanup(s.EndProcesses)
	line, _ := nap("echo before; NAP")
	ok(t, starts(t, s, "c1-1", line))
	begin := time.Now()
	r := ok(t, s.Call(context.Background(), everything, limit, call(t, "process", args{"id": "c1-1", "wait_seconds": 3600})))
	if took := time.Since(begin); took > limit+soon || !runs.MatchString(r.Output) {
		t.Errorf("after %v: %q", took, r.Output)
	}
}

func TestTOOL02_BackgroundProcessesAreBounded(t *testing.T) {
	s, root := unsandboxed(t)
	t.Cleanup(s.EndProcesses)
	line, _ := nap("NAP")
	for i := range 3 {
		ok(t, starts(t, s, fmt.Sprintf("c1-%d", i), line))
	}
	ok(t, starts(t, s, "c1-3", "echo BEGIN; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo END; touch end"))
	do(t, s, "shell", args{"command": "while [ ! -e end ]; do sleep 0.01; done"})
	r := starts(t, s, "c2-1", "touch five")
	if r.Code != "tool/too-large" {
		t.Errorf("a fifth process: %s", r.Output)
	}
	says(t, r, "stop or read one of c1-0, c1-1, c1-2, c1-3 with process")
	r = ok(t, waits(t, s, "c1-3"))
	if len(r.Output) > tool.MaxOutput || len(r.Output) < 1000<<10 {
		t.Errorf("%d bytes of output", len(r.Output))
	}
	says(t, r, "BEGIN\nxxx", "xxx\nEND\n[exit code 0]\n", "bytes of output cut]\n")
	ok(t, starts(t, s, "c2-1", "touch five"))
	ok(t, waits(t, s, "c2-1"))
	get(t, root, "five")
	ok(t, do(t, s, "process", args{"id": "c1-0", "stop": true}))
	ok(t, starts(t, s, "c3-1", "yes"))
	if r := waits(t, s, "c3-1"); r.Code != "tool/too-large" {
		t.Errorf("one that writes without end: %.200s", r.Output)
	}
}

// Whoever takes the turn over says that the process is gone, at once; it is told
// from a call that started none.
func TestTOOL02_AProcessEndsWithItsHost(t *testing.T) {
	s, root := unsandboxed(t)
	line, word := nap("NAP")
	results := map[string]string{"c1-1": ok(t, starts(t, s, "c1-1", line)).Output, "c1-2": "     1\truns in the background\n"}
	s.EndProcesses()
	gone(t, word)
	next := tool.New(tool.Workspace{Root: root, Exec: tool.Policy{Allow: true}, Outputs: func(_ context.Context, id string) (string, error) {
		if r, ok := results[id]; ok {
			return r, nil
		}
		return "", fault.New("tool/not-found", "no call has that id").Got(id)
	}}, nil)
	says(t, ok(t, waits(t, next, "c1-1")), "[process c1-1 ended with the host that ran it")
	for _, id := range []string{"c1-2", "c1-3"} {
		if r := waits(t, next, id); r.Code != "tool/not-found" {
			t.Errorf("process %s: %s", id, r.Output)
		}
	}
	if list := running(word); len(list) > 0 {
		t.Errorf("it was started again: %q", list)
	}
}
