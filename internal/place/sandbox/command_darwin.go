package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/sandbox/cgroup"
)

// sandboxExec is what puts a process under a profile. Apple calls it deprecated, and
// ships it.
const sandboxExec = "/usr/bin/sandbox-exec"

// command prepares a command under a profile, in a session of its own, with a
// directory for temporary files that goes when ctx ends.
func command(ctx context.Context, spec Spec, argv []string) (*exec.Cmd, error) {
	tmp, err := os.MkdirTemp("", "loom-sandbox-")
	if err != nil {
		return nil, fault.New("sandbox/unavailable", "there is no directory for temporary files").Because(err)
	}
	context.AfterFunc(ctx, func() { _ = os.RemoveAll(tmp) })
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return nil, fault.New("sandbox/unavailable", "there is no directory for temporary files").Because(err)
	}
	spec.Write = append(slices.Clone(spec.Write), tmp)
	profile, err := spec.Profile()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, sandboxExec, append([]string{"-p", profile}, spec.Limits.bounded(argv)...)...)
	cmd.Dir, cmd.Env = spec.Dir, append(slices.Clone(spec.Env), "TMPDIR="+tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error {
		End(cmd)
		return nil
	}
	cmd.WaitDelay = 500 * time.Millisecond
	return cmd, nil
}

// bounded wraps a command in a shell that takes the limits on which macOS holds a
// process: of time, of open files and of the size of a file, which counts by 512 bytes.
func (l Limits) bounded(argv []string) []string {
	script := "ulimit -t " + strconv.FormatInt(int64(l.CPU.Seconds()), 10) +
		" && ulimit -n " + strconv.Itoa(l.OpenFiles) +
		" && ulimit -f " + strconv.FormatInt(l.FileSize/512, 10) +
		` && exec "$@"; exit ` + strconv.Itoa(ExitSetup)
	return append([]string{"/bin/sh", "-c", script, "sh"}, argv...)
}

// End kills a command with all in its group.
func End(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// Sweep kills what a command that has ended left in its group.
func Sweep(cmd *exec.Cmd) { End(cmd) }

// trial is something that a command does on this machine, and must not in a sandbox.
type trial struct{ what, script string }

// Check tries, once, what a profile promises: those who wrote it have never run it.
// Each trial must succeed without a profile, so that it says something, and fail
// with one; what may be done must succeed.
var Check = sync.OnceValue(func() Report {
	if missing := prove(); missing != "" {
		return Report{Missing: []string{missing}}
	}
	return Report{Layers: []string{"a sandbox-exec profile"}, Weak: []string{
		"the profile for macOS was tried on this machine just now, and never by those who wrote it",
		"macOS bounds no memory, no disk and no number of processes of a command",
		"macOS has no loopback for one command: tests that listen on it fail",
		"what leaves its session outlives its command, under its profile",
	}}
})

// prove returns why commands cannot be kept apart, or "".
func prove() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	own, err := os.MkdirTemp("", "loom-own-")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(own)
	other, err := os.MkdirTemp("", "loom-other-")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(other)
	if err := os.WriteFile(filepath.Join(other, "secret"), []byte("secret"), 0o600); err != nil {
		return err.Error()
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return err.Error()
	}
	ear, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err.Error()
	}
	defer ear.Close()
	port := ear.Addr().(*net.TCPAddr).Port
	spec := Spec{Dir: own, Write: []string{own}, Env: []string{"PATH=/usr/bin:/bin"}, Limits: Defaults()}
	if err := sh(ctx, spec, "echo x > file && test $(/bin/cat file) = x"); err != nil {
		return "a command cannot do in its sandbox what it may: " + err.Error()
	}
	for _, t := range []trial{
		{"read files of others", "/bin/cat '" + other + "/secret'"},
		{"write where it may not", "echo x > '" + other + "/new'"},
		{"list a directory of others", "/bin/ls '" + other + "'"},
		{"reach this machine's ports", fmt.Sprintf("/usr/bin/nc -z 127.0.0.1 %d", port)},
		{"see the processes of others", fmt.Sprintf("/bin/kill -0 %d", os.Getpid())},
	} {
		if out, err := exec.CommandContext(ctx, "/bin/sh", "-c", t.script).CombinedOutput(); err != nil {
			return fmt.Sprintf("whether a command could %s cannot be tried: %v %s", t.what, err, out)
		}
		if err := sh(ctx, spec, t.script); err == nil {
			return "a command in its sandbox could " + t.what
		}
	}
	return ""
}

// sh runs a command line in a sandbox.
func sh(ctx context.Context, spec Spec, script string) error {
	cmd, err := command(ctx, spec, []string{"/bin/sh", "-c", script})
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// UseGroups refuses with cgroup/unavailable.
func UseGroups() error {
	_, err := cgroup.Delegated()
	return err
}

// Grouped says that commands have no control groups.
func Grouped() bool { return false }

// LandlockABI returns 0: only Linux has it.
func LandlockABI() int { return 0 }

// System lists what every command may read.
func System() []string { return slices.Clone(seatbeltSystem) }
