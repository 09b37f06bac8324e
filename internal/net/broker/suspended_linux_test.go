package broker

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/loomrun/loom/internal/store/datadir"
)

// TestCLI01_ASuspendedHostIsSaidToBe has a process stopped that never answers.
func TestCLI01_ASuspendedHostIsSaidToBe(t *testing.T) {
	path := t.TempDir()
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "600"}, &syscall.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	}()
	said := func() string {
		return silent(path, Running{PID: pid, URL: "nats://127.0.0.1:1"}, context.DeadlineExceeded).Error()
	}
	if s := said(); !strings.Contains(s, "does not answer") || !strings.Contains(s, "it may be suspended (kill -CONT") {
		t.Errorf("of one that runs: %s", s)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, nil, syscall.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	if s := said(); !strings.Contains(s, "is suspended (Ctrl-Z, SIGSTOP)") || !strings.Contains(s, "kill -CONT") {
		t.Errorf("of one that is stopped: %s", s)
	}
}
