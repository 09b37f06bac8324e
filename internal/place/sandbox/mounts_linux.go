//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// base is a directory that every system has; the new root is built on it.
const base = "/tmp"

// system is what every command may read. Of /etc it is what programs need to
// find each other, names and certificates, and nothing that could be secret.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt",
	"/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/fonts", "/etc/group", "/etc/hosts",
	"/etc/java-17-openjdk", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types",
	"/etc/nsswitch.conf", "/etc/passwd", "/etc/pki", "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs",
	"/etc/ssl/openssl.cnf", "/etc/timezone",
}

// System lists what every command may read.
func System() []string { return slices.Clone(system) }

// devices are harmless ones.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// mounts replaces the root by one that has only what the command may see. The
// steps are those of bubblewrap: a file system in memory becomes the root with
// the old one below it, what is wanted is bound from there, then only the new
// root is left.
func mounts(s Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	if err := memoryAt(base, "64m"); err != nil {
		return err
	}
	for _, dir := range []string{base + "/new", base + "/old"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount(base+"/new", base+"/new", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("new root: %w", err)
	}
	if err := pivot(base, base+"/old"); err != nil {
		return err
	}
	if err := populate(s); err != nil {
		return err
	}
	if err := unix.Unmount("/old", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("old root: %w", err)
	}
	if err := unix.Chdir("/new"); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("the root before: %w", err)
	}
	return closeRoot(s)
}

// closeRoot makes the root itself read-only: what may be written has mounts of
// its own.
func closeRoot(s Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("read-only root: %w", err)
	}
	return unix.Chdir(s.Dir)
}

func pivot(root, old string) error {
	if err := unix.PivotRoot(root, old); err != nil {
		return fmt.Errorf("new root: %w", err)
	}
	return unix.Chdir("/")
}

// memoryAt mounts a file system in memory. The number of its files is bounded by
// itself: empty ones have no size, and take memory of the kernel.
func memoryAt(dir, size string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,nr_inodes=16k,size="+size); err != nil {
		return fmt.Errorf("memory at %s: %w", dir, err)
	}
	return nil
}

// populate builds the new root.
func populate(s Spec) error {
	for _, step := range []func(Spec) error{bindSystem, makeProc, makeDev, makeTmp} {
		if err := step(s); err != nil {
			return err
		}
	}
	return bindAll(s)
}

// bound is a path that the command may see.
type bound struct {
	path  string
	write bool
}

func bindSystem(Spec) error {
	for _, path := range system {
		if err := bind(bound{path, false}); err != nil {
			return err
		}
	}
	return nil
}

// bindAll binds what the Spec names, outer directories before inner ones. What
// is both read and written is written.
func bindAll(s Spec) error {
	var all []bound
	for _, path := range s.Read {
		if !slices.Contains(s.Write, path) {
			all = append(all, bound{path, false})
		}
	}
	for _, path := range s.Write {
		if _, err := os.Stat("/old" + path); err != nil {
			return fmt.Errorf("directory to write: %w", errors.Unwrap(err))
		}
		all = append(all, bound{path, true})
	}
	slices.SortStableFunc(all, func(a, b bound) int {
		return cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/"))
	})
	for _, b := range all {
		if err := bind(b); err != nil {
			return err
		}
	}
	for _, l := range s.Layers {
		if err := layer(l); err != nil {
			return err
		}
	}
	return nil
}

// layer shows a directory with what is kept of its changes on top.
func layer(l Layer) error {
	upper, work, to := "/old"+l.Keep+"/changed", "/old"+l.Keep+"/pending", "/new"+l.at()
	for _, dir := range []string{upper, work, to} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, path := range []string{l.Path, l.Keep} {
		if strings.ContainsAny(path, ",:\\") {
			return fmt.Errorf("layer on %s: such a name cannot be layered", l.Path)
		}
	}
	options := "userxattr,lowerdir=/old" + l.Path + ",upperdir=" + upper + ",workdir=" + work
	if err := unix.Mount("overlay", to, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("layer on %s: %w", l.Path, err)
	}
	return nil
}

// bind shows a path of the old root at its place in the new one; one that does
// not exist is left out, a symbolic link is one again.
func bind(b bound) error {
	from, to := "/old"+b.path, "/new"+b.path
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return relink(from, to)
	}
	if err := place(to, info.IsDir()); err != nil {
		return err
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", b.path, err)
	}
	return restrict(to, b)
}

// relink makes a symbolic link as it was; it may be there already.
func relink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	if err := os.Symlink(target, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// place makes what something can be mounted on.
func place(path string, dir bool) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(path, 0o755)
	}
	return os.WriteFile(path, nil, 0o444)
}

// restrict takes rights from a mount. It keeps what the mount has already: a
// user namespace may add restrictions and not take any away.
func restrict(path string, b bound) error {
	var info unix.Statfs_t
	if err := unix.Statfs(path, &info); err != nil {
		return err
	}
	flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_NOSUID | unix.MS_NODEV)
	for _, has := range []struct {
		flag  int64
		mount uintptr
	}{
		{unix.ST_NOEXEC, unix.MS_NOEXEC},
		{unix.ST_NOATIME, unix.MS_NOATIME},
		{unix.ST_NODIRATIME, unix.MS_NODIRATIME},
		{unix.ST_RELATIME, unix.MS_RELATIME},
		{unix.ST_RDONLY, unix.MS_RDONLY},
	} {
		if info.Flags&has.flag != 0 {
			flags |= has.mount
		}
	}
	if !b.write {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("", path, "", flags, ""); err != nil {
		return fmt.Errorf("restrict %s: %w", b.path, err)
	}
	return nil
}

// makeProc mounts /proc with the sandbox's processes alone, and closes what
// even there belongs to the whole machine.
func makeProc(Spec) error {
	if err := os.Mkdir("/new/proc", 0o755); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/new/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("a /proc of its own: %w", err)
	}
	for _, name := range []string{"sys", "irq", "bus", "fs", "acpi", "scsi", "tty", "driver"} {
		path := "/new/proc/" + name
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("close /proc/%s: %w", name, err)
		}
		if err := unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("close /proc/%s: %w", name, err)
		}
	}
	for _, name := range []string{"kcore", "keys", "key-users", "kmsg", "latency_stats", "sched_debug", "sysrq-trigger", "timer_list", "kallsyms", "kpagecount", "kpageflags"} {
		path := "/new/proc/" + name
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := unix.Mount("/old/dev/null", path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("close /proc/%s: %w", name, err)
		}
	}
	return nil
}

// makeDev makes the few devices that programs expect.
func makeDev(s Spec) error {
	if err := os.Mkdir("/new/dev", 0o755); err != nil {
		return err
	}
	if err := memoryAt("/new/dev", "1m"); err != nil {
		return err
	}
	for _, name := range devices {
		to := "/new/dev/" + name
		if err := os.WriteFile(to, nil, 0o666); err != nil {
			return err
		}
		if err := unix.Mount("/old/dev/"+name, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("device %s: %w", name, err)
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(target, "/new/dev/"+name); err != nil {
			return err
		}
	}
	if err := os.Mkdir("/new/dev/shm", 0o1777); err != nil {
		return err
	}
	return writable("/new/dev/shm", min(256<<20, s.Limits.Memory))
}

// makeTmp makes private directories for temporary files.
func makeTmp(s Spec) error {
	if err := os.MkdirAll("/new/var", 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll("/new/tmp", 0o1777); err != nil {
		return err
	}
	if err := writable("/new/tmp", min(1<<30, s.Limits.Memory)); err != nil {
		return err
	}
	if err := os.Symlink("/tmp", "/new/var/tmp"); err != nil {
		return err
	}
	return nil
}

// writable mounts a file system in memory that anybody in the sandbox may write,
// of so many bytes, and a file for each 4 KiB of them: files are no memory of a
// process, so nobody counts them.
func writable(dir string, size int64) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=1777,size=%d,nr_inodes=%d", size, size>>12)); err != nil {
		return fmt.Errorf("memory at %s: %w", dir, err)
	}
	return nil
}
