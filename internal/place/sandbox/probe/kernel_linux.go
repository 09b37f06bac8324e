//go:build amd64 || arm64

package probe

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// kernel are tries to reach around the sandbox by calls that no build needs.
func kernel() []Probe {
	const p = "P11"
	bad := ^uintptr(0) // no descriptor, no address
	return []Probe{
		{"mount", p, false, call(unix.SYS_MOUNT, bad, bad, bad)},
		{"mount-by-descriptor", p, false, call(unix.SYS_FSOPEN, bad)},
		{"open-tree", p, false, call(unix.SYS_OPEN_TREE, bad, bad)},
		{"unmount", p, false, call(unix.SYS_UMOUNT2, bad)},
		{"change-root", p, false, call(unix.SYS_CHROOT, bad)},
		{"pivot-root", p, false, call(unix.SYS_PIVOT_ROOT, bad, bad)},
		{"new-user-namespace", p, false, call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)},
		{"new-mount-namespace", p, false, call(unix.SYS_UNSHARE, unix.CLONE_NEWNS)},
		{"clone-into-namespace", p, false, call(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_THREAD)},
		{"clone-by-structure", p, false, call(unix.SYS_CLONE3, bad, 88)},
		{"enter-namespace", p, false, call(unix.SYS_SETNS, bad, 0)},
		{"open-by-handle", p, false, call(unix.SYS_OPEN_BY_HANDLE_AT, bad, bad, 0)},
		{"trace-first-process", "P12", false, call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1)},
		{"read-memory-of-first-process", "P12", false, call(unix.SYS_PROCESS_VM_READV, 1, 0, 0, 0, 0, 0)},
		{"take-descriptor-of-first-process", "P12", false, call(unix.SYS_PIDFD_GETFD, bad, 0, 0)},
		{"kernel-program", p, false, call(unix.SYS_BPF, bad, bad, 0)},
		{"kernel-performance", "P12", false, call(unix.SYS_PERF_EVENT_OPEN, bad, 0, 0, bad, 0)},
		{"kernel-keys", "P12", false, call(unix.SYS_KEYCTL, 0, bad, 0)},
		{"kernel-log-by-call", "P12", false, call(unix.SYS_SYSLOG, 10, 0, 0)},
		{"kernel-module", p, false, call(unix.SYS_FINIT_MODULE, bad, 0, 0)},
		{"kernel-replace", p, false, call(unix.SYS_KEXEC_LOAD, 0, bad, bad, bad)},
		{"asynchronous-ring", p, false, call(unix.SYS_IO_URING_SETUP, 1, bad)},
		{"fault-handler", p, false, call(unix.SYS_USERFAULTFD, bad)},
		{"watch-all-files", "P12", false, call(unix.SYS_FANOTIFY_INIT, bad, 0)},
		{"clock-of-the-machine", p, false, call(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, bad)},
		{"name-of-the-machine", p, false, call(unix.SYS_SETHOSTNAME, bad, 1)},
		{"accounting", p, false, call(unix.SYS_ACCT, bad)},
		{"type-into-terminal", p, false, call(unix.SYS_IOCTL, 0, unix.TIOCSTI, bad)},
		{"exchange-contents", p, false, call(unix.SYS_IOCTL, 0, 0xc028660f, bad)}, // of ext4: with no trace in a file's times
		{"regain-privileges", p, false, regain},
	}
}

// regain succeeds when there is a capability, or one could be had again.
func regain(*bait) error {
	on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || on != 1 {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	if data[0].Permitted|data[1].Permitted|data[0].Effective|data[1].Effective != 0 {
		return nil
	}
	return syscall.EPERM
}
