//go:build unix

package git

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives cmd a process group that is signalled as a whole when its
// context ends, and that is not waited for longer than grace after that.
func ownGroup(cmd *exec.Cmd, sig syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, sig) }
	cmd.WaitDelay = grace
}

// reap kills what is left of a group whose leader has ended.
func reap(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = kill(-cmd.Process.Pid)
	}
}

func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// flock locks a file for as long as a process has it open, or refuses at once.
func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
