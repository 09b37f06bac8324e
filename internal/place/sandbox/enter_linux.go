//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// enter gives up all that the command must not have, then becomes it. Its end of the
// pipe from the first process is closed by that.
func enter() int {
	unix.CloseOnExec(firstExtra + 1)
	o, err := told(firstExtra)
	if err == nil {
		err = surrender(o.Spec)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		return ExitSetup
	}
	path, err := program(o.Argv[0], o.Spec)
	if err == nil {
		err = syscall.Exec(path, o.Argv, o.Spec.Env)
	}
	fmt.Fprintf(os.Stderr, "sandbox: %s: %v\n", o.Argv[0], err)
	if errors.Is(err, os.ErrPermission) {
		return 126
	}
	return ExitMissing
}

// program finds a program as a shell does, by the command's own PATH.
func program(name string, s Spec) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, e := range s.Env {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

func surrender(s Spec) error {
	if err := closeAll(); err != nil {
		return fmt.Errorf("open files: %w", err)
	}
	if err := limit(s.Limits); err != nil {
		return err
	}
	offer()
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if landlockABI() > 0 {
		if err := landlock(s); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if err := filter(); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

// closeAll lets nothing but standard input and output come along: whoever
// started the host may have left files open in it.
func closeAll() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd") // a kernel before 5.11
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// firstToGo is how much sooner than others a command is ended when there is no
// memory left: before the first process, which says so, and before the host.
const firstToGo = 500

// offer has the kernel take this process and its children first. It needs no
// right to, and nothing depends on it.
func offer() {
	const file = "/proc/self/oom_score_adj"
	data, _ := os.ReadFile(file)
	if now, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && now < firstToGo {
		_ = os.WriteFile(file, []byte(strconv.Itoa(firstToGo)), 0)
	}
}

func limit(l Limits) error {
	for _, r := range []struct {
		what  string
		id    int
		value uint64
	}{
		{"core files", unix.RLIMIT_CORE, 0},
		{"size of files", unix.RLIMIT_FSIZE, uint64(l.FileSize)},
		{"open files", unix.RLIMIT_NOFILE, uint64(l.OpenFiles)},
		{"processor time", unix.RLIMIT_CPU, uint64((l.CPU + time.Second - 1) / time.Second)},
		{"processes", unix.RLIMIT_NPROC, uint64(l.Processes + Burst)}, // the threads of the first process count, too
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(r.id, &now); err != nil {
			return fmt.Errorf("limit on %s: %w", r.what, err)
		}
		value := min(r.value, now.Max)
		if err := unix.Setrlimit(r.id, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("limit on %s: %w", r.what, err)
		}
	}
	return nil
}

// dropCapabilities gives up what the namespace's creator has in it.
func dropCapabilities() error {
	for c := range uintptr(64) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}
