//go:build amd64 || arm64

package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// files are tries to change what is outside of the workspace.
func files() []Probe {
	const p = "P11"
	return []Probe{
		{"write-outside", p, true, func(b *bait) error { return overwrite(b.File) }},
		{"append-outside-by-proc-root", p, true, func(b *bait) error { return overwrite("/proc/self/root" + b.File) }},
		{"write-outside-by-proc-cwd", p, true, func(b *bait) error { return overwrite("/proc/self/cwd/../outside/secret") }},
		{"write-outside-by-dots", p, true, func(b *bait) error { return overwrite(b.Workspace + "/../outside/secret") }},
		{"write-outside-by-link", p, true, byLink},
		{"write-outside-by-hard-link", p, true, func(b *bait) error { return os.Link(b.File, b.Workspace+"/hard") }},
		{"move-outside-in", p, true, func(b *bait) error { return os.Rename(b.File, b.Workspace+"/moved") }},
		{"truncate-outside", p, true, func(b *bait) error { return os.Truncate(b.File, 0) }},
		{"remove-outside", p, true, func(b *bait) error { return os.Remove(b.File) }},
		{"create-outside", p, true, func(b *bait) error { return os.WriteFile(b.Dir+"/new", nil, 0o600) }},
		{"make-directory-outside", p, true, func(b *bait) error { return os.Mkdir(b.Dir+"/new", 0o700) }},
		{"chmod-outside", p, true, func(b *bait) error { return os.Chmod(b.File, 0o666) }},
		{"chown-outside", p, true, func(b *bait) error { return os.Chown(b.File, os.Geteuid(), os.Getegid()) }},
		{"utimes-outside", p, true, func(b *bait) error { return os.Chtimes(b.File, time.Unix(1, 0), time.Unix(1, 0)) }},
		{"label-outside", p, false, func(b *bait) error { return unix.Setxattr(b.File, "user.loom", []byte("x"), 0) }},
		{"write-readable", p, true, func(b *bait) error { return overwrite(b.Readable + "/file") }},
		{"chmod-readable", p, true, func(b *bait) error { return os.Chmod(b.Readable+"/file", 0o666) }},
		{"create-readable", p, true, func(b *bait) error { return os.WriteFile(b.Readable+"/new", nil, 0o600) }},
		{"remove-readable", p, true, func(b *bait) error { return os.Remove(b.Readable + "/file") }},
		{"remount-readable", p, false, remount},
		{"write-system", p, false, func(*bait) error { return os.WriteFile("/usr/loom-probe", nil, 0o600) }},
		{"write-root", p, false, func(*bait) error { return os.WriteFile("/loom-probe", nil, 0o600) }},
		{"make-device", p, false, func(b *bait) error {
			return unix.Mknod(b.Workspace+"/disk", unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0)))
		}},
		{"descriptor-left-open", p, false, leftOpen},
		{"first-process-root", p, false, func(b *bait) error { return overwrite("/proc/1/root" + b.File) }},
		{"first-process-memory", p, false, func(*bait) error { return overwrite("/proc/1/mem") }},
		{"kernel-setting", p, false, func(*bait) error { return open("/proc/sys/kernel/core_pattern", os.O_WRONLY) }},
		{"control-group", p, false, func(*bait) error { return open("/sys/fs/cgroup/cgroup.procs", os.O_WRONLY) }},
		{"signal-outside", p, true, func(b *bait) error { return unix.Kill(b.Process, 0) }},
	}
}

func open(path string, how int) error {
	f, err := os.OpenFile(path, how, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func overwrite(path string) error { return open(path, os.O_RDWR) }

func byLink(b *bait) error {
	link := filepath.Join(b.Workspace, "soft")
	if err := os.Symlink(b.File, link); err != nil {
		return err
	}
	defer os.Remove(link)
	return overwrite(link)
}

func remount(b *bait) error {
	return unix.Mount("", b.Readable, "", unix.MS_REMOUNT|unix.MS_BIND, "")
}

// leftOpen succeeds when a descriptor of the host's has come along.
func leftOpen(*bait) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		n, _ := strconv.Atoi(e.Name())
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && n > 2 && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/proc/") {
			return nil
		}
	}
	return fmt.Errorf("%d descriptors, none of them a file of the host", len(entries))
}
