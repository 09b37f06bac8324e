//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loomrun/loom/internal/place/sandbox/cgroup"
)

// init turns the program into a process of the sandbox when it is called by
// the name of one.
func init() {
	switch os.Args[0] {
	case stageSetup:
		runtime.LockOSThread()
		os.Exit(setup())
	case stageEnter:
		runtime.LockOSThread()
		os.Exit(enter())
	}
}

// told reads the order from a descriptor. It does so through another one for the
// same file: the next process inherits this one, so that no [os.File] may close it
// when it is collected.
func told(descriptor int) (order, error) {
	var o order
	other, err := unix.FcntlInt(uintptr(descriptor), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return o, fmt.Errorf("order: %w", err)
	}
	f := os.NewFile(uintptr(other), "order")
	defer f.Close()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return o, err
	}
	data, err := io.ReadAll(f)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	return o, err
}

// setup is the first process: it builds the command's world, starts it there
// and keeps watch until it ends. All others end with it.
func setup() int {
	o, err := told(firstExtra)
	if err == nil && o.Grouped {
		err = join()
	}
	if err == nil {
		err = build(o.Spec)
	}
	if err == nil && o.Serve != 0 {
		err = handListener(o.Serve)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		return ExitSetup
	}
	w := newWatch(o)
	entered, entering, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: the command cannot be started:", err)
		return ExitSetup
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{stageEnter}, &syscall.ProcAttr{
		Dir: o.Spec.Dir, Env: o.Spec.Env, Files: []uintptr{0, 1, 2, firstExtra, entering.Fd()},
	})
	entering.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: the command cannot be started:", err)
		return ExitSetup
	}
	go func() {
		// Until it is the command, its threads are the sandbox's own.
		_, _ = entered.Read(make([]byte, 1))
		w.keep()
	}()
	status := reap(pid)
	w.lookAtGroup()
	return status
}

// join moves this process into its control group: all that it starts is in it.
func join() error {
	procs := os.NewFile(4, "procs")
	defer procs.Close()
	if _, err := procs.WriteString("0"); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	return nil
}

// reap waits for every process that ends here, until the command has.
func reap(command int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return ExitSetup
		case pid == command && status.Signaled():
			return 128 + int(status.Signal())
		case pid == command && status.Exited():
			return status.ExitStatus()
		}
	}
}

// watch ends everything when it uses more than it may.
type watch struct {
	limits Limits
	meter  meter
	events *os.File // of the control group; nil without

	written func() (bytes int64, over bool) // to disk; may take long
	end     func(reason string)             // ends everything; the first reason is told
}

func newWatch(o order) watch {
	w := watch{limits: o.Spec.Limits, meter: newMeter()}
	disks := newDisks(o.Spec)
	w.written = func() (int64, bool) { return disks.over(w.limits.Disk, w.meter.nameless) }
	if o.Grouped {
		w.events = os.NewFile(5, "events")
	}
	var once sync.Once
	w.end = func(reason string) {
		once.Do(func() {
			fmt.Fprintf(os.Stderr, "sandbox: ended: %s\n", reason)
			os.Exit(ExitLimit)
		})
	}
	return w
}

// interval is how often each limit is looked at.
const interval = 100 * time.Millisecond

// keep watches until everything is ended. A look at the disk can take long, where
// there are many files: memory and processes are watched beside it.
func (w watch) keep() {
	go func() {
		for range time.Tick(interval) {
			w.lookAtDisk()
		}
	}()
	for range time.Tick(interval) {
		w.look()
	}
}

func (w watch) look() {
	u := w.meter.read()
	switch {
	case u.threads > w.limits.Processes:
		w.end(fmt.Sprintf("%d processes and threads, the most is %d", u.threads, w.limits.Processes))
	case u.memory > w.limits.Memory:
		w.end(fmt.Sprintf("%d MiB of memory, its files in memory counted, the most is %d", u.memory>>20, w.limits.Memory>>20))
	}
	w.lookAtGroup()
}

// lookAtGroup ends everything when the kernel has ended a process to keep the limit.
func (w watch) lookAtGroup() {
	if w.events != nil && cgroup.Killed(w.events) {
		w.end(fmt.Sprintf("it needs more memory, its files in memory counted, than the most of %d MiB", w.limits.Memory>>20))
	}
}

func (w watch) lookAtDisk() {
	if written, over := w.written(); over {
		w.end(fmt.Sprintf("it wrote %d MiB to disk, the most is %d", written>>20, w.limits.Disk>>20))
	}
}

// build makes the world of a command around this process.
func build(s Spec) error {
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	capProcesses(s.Limits.Processes)
	if !s.Network && !s.Silent {
		if err := loopback(); err != nil {
			return fmt.Errorf("loopback: %w", err)
		}
	}
	return mounts(s)
}

// loopback brings the interface up that every network namespace has.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// memory returns a file with some data that has no name.
func memory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("loom-sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "order")
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
