package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loomrun/loom/internal/place/sandbox"
	"github.com/loomrun/loom/internal/place/sandbox/cgroup"
)

// word returns the first word of a file, or "".
func word(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	head, _, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	return head
}

func system(_ context.Context, _ *Machine, n *notes) {
	release := word("/proc/sys/kernel/osrelease")
	said := fmt.Sprintf("Linux %s, %s, %d processors", release, runtime.GOARCH, runtime.NumCPU())
	if older(release, [3]int{5, 11, 0}) {
		n.warn(said, "use Linux 5.11 or newer: the sandbox relies on calls that came with it")
		return
	}
	n.good(said)
}

// memory tells how much there is, for this process's control group.
func memory(_ context.Context, _ *Machine, n *notes) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		n.warn("the memory cannot be looked at: "+err.Error(), "see that there are 2 GiB")
		return
	}
	total := info.Totalram * uint64(info.Unit)
	limit, err := strconv.ParseUint(word("/sys/fs/cgroup/memory.max"), 10, 64)
	said := size(total)
	if err == nil && limit < total {
		said, total = fmt.Sprintf("%s, of %s of the machine", size(limit), size(total)), limit
	}
	if total < 1<<30 {
		n.warn(said, "give it 1 GiB for the host, and what the tools of its agents need (2 GiB each at most)")
		return
	}
	n.good(said)
}

// epoch is before every build of this program.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func clock(ctx context.Context, m *Machine, n *notes) {
	journalTime(ctx, m, n)
	now := time.Now().UTC()
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	switch {
	case now.Before(epoch):
		n.fail("it is "+now.Format(time.RFC3339)+" here", "set the clock; deadlines and certificates depend on it")
	case err != nil:
		n.warn("it cannot be told whether the clock is kept right: "+err.Error(), "run a time service, such as systemd-timesyncd or chrony")
	case state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0:
		n.warn("nothing keeps the clock right", "run a time service, such as systemd-timesyncd or chrony")
	default:
		n.good("it is kept right, within " + (time.Duration(t.Maxerror) * time.Microsecond).String())
	}
}

func openFiles(_ context.Context, _ *Machine, n *notes) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		n.warn("the limit cannot be read: "+err.Error(), "see that it is 4096 or more: ulimit -n")
		return
	}
	if said := strconv.FormatUint(l.Cur, 10); l.Cur < 4096 {
		n.warn("at most "+said, "raise it: ulimit -n 65536, or LimitNOFILE= of the unit")
	} else {
		n.good("at most " + said)
	}
}

// kinds are file systems by their number.
var kinds = map[int64]string{
	0xEF53: "ext4", 0x58465342: "xfs", 0x9123683E: "btrfs", 0x2FC12FC1: "zfs", 0xF2F52010: "f2fs", 0x01021994: "tmpfs", 0x858458F6: "ramfs",
	0x6969: "nfs", 0xFF534D42: "cifs", 0xFE534D42: "smb", 0x794C7630: "overlay", 0x65735546: "fuse", 0x01021997: "9p", 0xCA451A4E: "bcachefs",
}

func spaceOf(dir string) (space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return space{}, err
	}
	kind := kinds[int64(uint32(s.Type))]
	if kind == "" {
		kind = fmt.Sprintf("of type %#x", uint32(s.Type))
	}
	block := uint64(s.Bsize)
	return space{kind, s.Bavail * block, s.Blocks * block}, nil
}

// walls are settings that keep users from having namespaces of their own.
var walls = []struct{ path, value, do string }{
	{"/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "give loom an AppArmor profile with \"userns,\", or sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
}

func namespaces(_ context.Context, _ *Machine, n *notes) {
	works := len(sandbox.Check().Missing) == 0
	if works {
		n.good("this user can have user, mount, process and network namespaces")
		return
	}
	for _, w := range walls {
		if word(w.path) == w.value {
			n.fail(filepath.Base(w.path)+" is "+w.value, w.do)
		}
	}
	if _, err := os.Stat("/proc/self/ns/user"); err != nil {
		n.fail("the kernel has no user namespaces", "use a kernel with CONFIG_USER_NS")
	}
	if len(n.found) == 0 {
		n.fail("this user cannot have them", "inside of a container, start it with a seccomp profile that allows unshare and mount, and an unmasked /proc (docs/deploy/README.md)")
	}
}

func seccomp(_ context.Context, _ *Machine, n *notes) {
	data, err := os.ReadFile("/proc/sys/kernel/seccomp/actions_avail")
	if err != nil || !strings.Contains(string(data), "errno") {
		n.fail("the kernel has no filters of system calls", "use a kernel with CONFIG_SECCOMP_FILTER")
		return
	}
	n.good("the kernel filters system calls")
}

func controlGroups(_ context.Context, _ *Machine, n *notes) {
	if why := cgroup.Look(); why != "" {
		n.warn(why+": a command's memory and processes are bounded by looking ten times a second", "under systemd, with Delegate=memory pids in the host's unit, or: systemd-run --user --scope -p Delegate=yes loom up")
		return
	}
	said := "a host that is started from here gives each command one of its own"
	for _, limit := range []string{"memory.max", "pids.max", "cpu.max"} {
		if value := word("/sys/fs/cgroup/" + limit); value != "" {
			said += ", " + limit + " " + value
		}
	}
	n.good(said)
}
