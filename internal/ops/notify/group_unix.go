//go:build unix

package notify

import (
	"os/exec"
	"syscall"
)

// ownGroup has a command, and what it starts, be killed together.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
