//go:build amd64 || arm64

package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// secrets are tries to read what is the host's own.
func secrets() []Probe {
	const p = "P12"
	return []Probe{
		{"read-outside", p, true, func(b *bait) error { return got(os.ReadFile(b.File)) }},
		{"read-outside-by-proc-root", p, true, func(b *bait) error { return got(os.ReadFile("/proc/self/root" + b.File)) }},
		{"list-outside", p, true, func(b *bait) error { _, err := os.ReadDir(b.Dir); return err }},
		{"stat-outside", p, true, func(b *bait) error { _, err := os.Lstat(b.File); return err }},
		{"watch-outside", p, true, watch},
		{"environment-own", p, false, ownEnvironment},
		{"environment-of-first-process", p, false, func(*bait) error { return some(os.ReadFile("/proc/1/environ")) }},
		{"processes-of-the-host", p, false, otherProcesses},
		{"process-of-the-host", p, true, func(b *bait) error {
			return some(os.ReadFile("/proc/" + strconv.Itoa(b.Process) + "/cmdline"))
		}},
		{"keys-of-the-user", p, false, keysOfUser},
		{"password-file", p, false, func(*bait) error { return some(os.ReadFile("/etc/shadow")) }},
		{"configuration-of-the-host", p, false, func(*bait) error {
			return anyOf("/etc/loom", "/etc/ssh", "/etc/ssl/private", "/etc/kubernetes", "/etc/sudoers")
		}},
		{"data-of-the-system", p, false, func(*bait) error { return anyOf("/var/lib", "/var/log", "/var/run/secrets", "/srv", "/boot") }},
		{"sockets-of-the-system", p, false, func(*bait) error {
			return anyOf("/run/docker.sock", "/var/run/docker.sock", "/run/containerd", "/run/user", "/run/systemd", "/run/secrets")
		}},
		{"shared-memory-file", p, true, func(b *bait) error {
			if b.Shared == "" {
				return errors.New("there is none")
			}
			return got(os.ReadFile(b.Shared))
		}},
		{"shared-memory-segment", p, true, func(b *bait) error {
			_, err := unix.SysvShmAttach(b.Segment, 0, unix.SHM_RDONLY)
			return err
		}},
		{"memory-of-the-machine", p, false, func(*bait) error {
			return errors.Join(first("/dev/mem"), first("/dev/kmem"), first("/proc/kcore"))
		}},
		{"log-of-the-kernel", p, false, func(*bait) error { return first("/dev/kmsg") }},
		{"disks", p, false, disks},
	}
}

// some succeeds when anything was read.
func some(data []byte, err error) error {
	if err == nil && len(data) == 0 {
		return errors.New("nothing is there")
	}
	return err
}

// first succeeds when a byte of a file can be read.
func first(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.ReadFull(f, make([]byte, 1))
	return err
}

// anyOf succeeds when one of these is there.
func anyOf(paths ...string) error {
	var errs []error
	for _, path := range paths {
		_, err := os.Lstat(path)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errs[0]
}

func watch(b *bait) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, b.Dir, unix.IN_ALL_EVENTS)
	return err
}

func ownEnvironment(*bait) error {
	more := slices.DeleteFunc(os.Environ(), func(e string) bool { return e == environment })
	if len(more) == 0 {
		return errors.New("nothing is in it but what was given")
	}
	return nil
}

func otherProcesses(*bait) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	n := 0
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			n++
		}
	}
	if n > 2 { // the first process and this one
		return nil
	}
	return fmt.Errorf("%d processes, all of them its own", n)
}

func keysOfUser(b *bait) error {
	if b.Home == "" || b.Home == "/" {
		return errors.New("the user has no home")
	}
	var paths []string
	for _, name := range []string{".ssh", ".gnupg", ".aws", ".kube", ".docker", ".netrc", ".config", ".local/state", ".git-credentials", ".bash_history"} {
		paths = append(paths, filepath.Join(b.Home, name))
	}
	return anyOf(paths...)
}

func disks(*bait) error {
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&os.ModeDevice != 0 && e.Type()&os.ModeCharDevice == 0 {
			return nil
		}
	}
	return errors.New("no block device among " + strconv.Itoa(len(entries)) + strings.Repeat(" file", min(len(entries), 1)) + "s")
}
