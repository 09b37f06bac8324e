package git

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// booted is when the machine was started, to the second.
var booted = sync.OnceValue(func() time.Time {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(info.Uptime) * time.Second)
})

// slack is what the times of a process and of a file may differ by.
const slack = 2 * time.Second

// livesSince says whether a git runs on this machine that may have been there at a
// time; one that only serves others, and moves no refs, does not count. What
// cannot be looked at counts.
func livesSince(then time.Time) bool {
	list, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(list) == 0 || booted().IsZero() {
		return true
	}
	for _, path := range list {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if name, begun, ok := process(stat); ok && strings.HasPrefix(name, "git") && begun.Before(then.Add(slack)) && !serves(filepath.Dir(path)) {
			return true
		}
	}
	return false
}

// process reads /proc/PID/stat: the program's name, and when it was started. A
// process that is dead and not yet waited for holds nothing.
func process(stat []byte) (name string, begun time.Time, alive bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return "", time.Time{}, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return "", time.Time{}, false
	}
	ticks, err := strconv.ParseInt(string(fields[19]), 10, 64)
	const perSecond = 100 // for every architecture that Go knows
	return string(stat[open+1 : end]), booted().Add(time.Duration(ticks) * time.Second / perSecond), err == nil
}

// serves says whether a git is one of those that run for days and move no refs.
func serves(proc string) bool {
	args, _ := os.ReadFile(filepath.Join(proc, "cmdline")) // empty when it has ended
	return slices.ContainsFunc(strings.Split(string(args), "\x00"), func(arg string) bool {
		return arg == "daemon" || strings.HasSuffix(arg, "--daemon")
	})
}

// shared says whether other machines may see a directory. What cannot be asked
// counts as shared.
func shared(dir string) bool {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return true
	}
	switch uint32(fs.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC,
		unix.V9FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.OCFS2_SUPER_MAGIC:
		return true
	}
	return false
}
