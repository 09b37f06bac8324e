//go:build unix && !linux

package tool

import (
	"os/exec"
	"syscall"
)

// native keeps the processes of a command in a group. One that leaves its
// group is not found here.
func native() processes {
	end := func(cmd *exec.Cmd, _ string) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return processes{
		prepare: plainly(func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }),
		script:  func(command string) []string { return []string{"/bin/sh", "-c", command} },
		end:     end,
		sweep:   end,
	}
}
