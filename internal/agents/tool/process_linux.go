package tool

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// native keeps the processes of a command in a PID namespace, whose first
// process takes all others with it; where the system has none to give, in a
// group, whose escapees are found by their environment.
func native() processes {
	if namespaces() {
		return separated()
	}
	return grouped()
}

func separated() processes {
	return processes{
		prepare: plainly(separate),
		script:  beneath,
		// The kernel kills all others before the first can be reaped, so
		// nothing is left to sweep.
		end:   func(cmd *exec.Cmd, _ string) { _ = cmd.Process.Kill() },
		sweep: func(*exec.Cmd, string) {},
	}
}

func grouped() processes {
	return processes{
		prepare: plainly(func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
		}),
		script: func(command string) []string { return []string{"/bin/sh", "-c", command} },
		end: func(cmd *exec.Cmd, mark string) {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			sweepMarked(cmd, mark)
		},
		sweep: sweepMarked,
	}
}

// namespaces tries, once, whether a PID namespace can be had and works.
var namespaces = sync.OnceValue(func() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	argv := beneath("exit 7")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	separate(cmd)
	_ = cmd.Run()
	return cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 7
})

// separate gives a command its own session and PID namespace. Users other than
// root need a user namespace for that, in which they are who they were.
func separate(cmd *exec.Cmd) {
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWPID}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	cmd.SysProcAttr = attr
}

// beneath runs a command line as the child of a shell that does nothing else:
// the first process of a namespace is deaf to most signals, which would
// surprise the command.
func beneath(command string) []string {
	return []string{"/bin/sh", "-c", `/bin/sh -c "$1"; exit $?`, "sh", command}
}

// sweepMarked kills whatever has the mark in its environment, until nothing is
// found. What a process has removed from its environment is not found.
func sweepMarked(_ *exec.Cmd, mark string) {
	const rounds = 20 // against processes that multiply
	for range rounds {
		if killMarked(mark) == 0 {
			return
		}
	}
}

func killMarked(mark string) (killed int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	wanted := []byte(markName + "=" + mark)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A process that has ended has no environment left to read.
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && bytes.Contains(env, wanted) && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}
