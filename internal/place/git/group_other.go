//go:build !unix

package git

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// These systems have no process groups and no locks that end with a process. No
// host runs there ([decision 121]); what a checkout relies on is refused.
//
// [decision 121]: docs/decisions/0121-where-loom-runs.md

func ownGroup(cmd *exec.Cmd, _ syscall.Signal) { cmd.WaitDelay = grace }

func reap(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill()
	}
}

func kill(int) error { return errors.ErrUnsupported }

func flock(*os.File) error { return errors.ErrUnsupported }
