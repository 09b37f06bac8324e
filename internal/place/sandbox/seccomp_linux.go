//go:build amd64 || arm64

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in what the kernel shows a filter (struct seccomp_data).
const (
	atNumber = 0
	atArch   = 4
	atArg0   = 16 // low half, on the little-endian machines there are
	atArg1   = 24
)

// What a filter answers.
const (
	answerAllow = unix.SECCOMP_RET_ALLOW
	answerKill  = unix.SECCOMP_RET_KILL_PROCESS
	answerEPERM = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	// A library that hears "no such call" of clone3 takes clone, whose flags a
	// filter can read.
	answerENOSYS = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	answerFamily = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
)

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// refused are system calls that no build or test needs, and that reach around
// the sandbox, into the kernel's rarer parts, or at other processes.
var refused = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG,
	unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_UNSHARE,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
	unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MEMFD_SECRET, unix.SYS_MBIND, unix.SYS_SET_MEMPOLICY, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	unix.SYS_FANOTIFY_INIT,
}

// families are the sockets that may be opened: local ones, those of the
// network the command has, and the kernel's news about that network.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// assembler puts a filter together.
type assembler []unix.SockFilter

func (a *assembler) load(offset uint32) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (a *assembler) answer(with uint32) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with})
}

// jump goes on to the next instruction when the loaded word compares so with
// k, else past skip more.
func (a *assembler) jump(compare uint16, k uint32, skip uint8) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: k, Jf: skip})
}

// when answers when the loaded word is k.
func (a *assembler) when(k, with uint32) {
	a.jump(unix.BPF_JEQ, k, 1)
	a.answer(with)
}

// unless answers when the loaded word is not k.
func (a *assembler) unless(k, with uint32) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: 1})
	a.answer(with)
}

// rules returns the filter.
func rules() []unix.SockFilter {
	var a assembler
	a.load(atArch)
	a.unless(architecture, answerKill)
	a.load(atNumber)
	if foreign != 0 {
		a.jump(unix.BPF_JGE, foreign, 1)
		a.answer(answerEPERM)
	}
	for _, number := range refused {
		a.when(number, answerEPERM)
	}
	a.when(unix.SYS_CLONE3, answerENOSYS)
	a.onClone()
	a.onSocket()
	a.onControl()
	a.answer(answerAllow)
	return a
}

// onClone refuses new namespaces.
func (a *assembler) onClone() {
	a.jump(unix.BPF_JEQ, unix.SYS_CLONE, 4)
	a.load(atArg0)
	a.jump(unix.BPF_JSET, newNamespaces, 1)
	a.answer(answerEPERM)
	a.answer(answerAllow)
}

// onSocket refuses families beside the known ones.
func (a *assembler) onSocket() {
	for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		a.jump(unix.BPF_JEQ, call, uint8(2+2*len(families)))
		a.load(atArg0)
		for _, f := range families {
			a.when(f, answerAllow)
		}
		a.answer(answerFamily)
	}
}

// The requests that exchange the contents of two files of ext4, XFS and F2FS, for
// defragmentation: a file has other content after them and tells nobody so by its
// times, nor at once by what is read of it.
const (
	ext4MoveExtents  = 0xc028660f
	xfsSwapExtents   = 0xc0c0586d
	xfsExchangeRange = 0x40285881
	xfsCommitRange   = 0x40585883
	f2fsMoveRange    = 0xc020f509
)

// controls are the requests of ioctl that are refused: those that put words into a
// terminal's input, and exchanges of contents.
var controls = []uint32{
	unix.TIOCSTI, unix.TIOCLINUX, ext4MoveExtents, xfsSwapExtents, xfsExchangeRange, xfsCommitRange, f2fsMoveRange,
}

// onControl refuses some requests of ioctl.
func (a *assembler) onControl() {
	a.jump(unix.BPF_JEQ, unix.SYS_IOCTL, uint8(2+2*len(controls)))
	a.load(atArg1)
	for _, request := range controls {
		a.when(request, answerEPERM)
	}
	a.answer(answerAllow)
}

// filter puts this process, and all that it becomes and starts, under the
// rules.
func filter() error {
	list := rules()
	program := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}
