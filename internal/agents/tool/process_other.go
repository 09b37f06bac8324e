//go:build !unix

package tool

import "os/exec"

// native kills the command alone; what it started is not found here.
func native() processes {
	return processes{
		prepare: plainly(func(*exec.Cmd) {}),
		script:  func(command string) []string { return []string{"sh", "-c", command} },
		end:     func(cmd *exec.Cmd, _ string) { _ = cmd.Process.Kill() },
		sweep:   func(*exec.Cmd, string) {},
	}
}
