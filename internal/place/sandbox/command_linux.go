//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/sandbox/cgroup"
)

// The names that the program starts itself by.
const (
	stageSetup = "loom-sandbox-setup" // the first process: mounts, then keeps watch
	stageEnter = "loom-sandbox-enter" // gives up what it may, then becomes the command
)

// firstExtra is the descriptor of the order; what else is handed on follows it.
const firstExtra = 3

// order is what the first process is told, as JSON on its descriptor 3.
type order struct {
	Spec    Spec
	Argv    []string
	Grouped bool // 4 is where it moves into its group, 5 tells what the kernel did to keep its memory
	Serve   int  // a socket to which it hands a listener on ServeAddress; 0 for none
}

// groups is where each command gets a control group of its own; nil for none.
var groups atomic.Pointer[cgroup.Tree]

// UseGroups has each command run in a control group of its own from now on,
// where this process has been given some, see [cgroup.Delegated]: it then moves to
// another one. Else it refuses with cgroup/unavailable, and commands run without.
func UseGroups() error {
	t, err := cgroup.Delegated()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	groups.Store(t)
	if why := try(ctx, Spec{Dir: "/usr", Read: []string{"/usr"}}); why != "" {
		groups.Store(nil)
		return fault.New("cgroup/unavailable", "commands cannot be moved into control groups: %s", why)
	}
	return nil
}

// Grouped says whether commands run in control groups of their own.
func Grouped() bool { return groups.Load() != nil }

// namespaces are what a command has of its own.
const namespaces = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
	syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS

func command(ctx context.Context, spec Spec, argv []string) (*exec.Cmd, error) {
	group, err := enclosed(ctx, spec.Limits)
	if err != nil {
		return nil, err
	}
	var extra []*os.File
	if group != nil {
		extra = append(extra, group.Procs, group.Events)
	}
	o := order{Spec: spec, Argv: argv, Grouped: group != nil}
	if spec.Serve != nil {
		end, err := serve(ctx, spec.Serve)
		if err != nil {
			return nil, fault.New("sandbox/unavailable", "nothing can be served to the command").Because(err)
		}
		extra = append(extra, end)
		o.Serve = firstExtra + len(extra)
	}
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fault.New("sandbox/spec", "the command cannot be written down").Because(err)
	}
	told, err := memory(data)
	if err != nil {
		return nil, fault.New("sandbox/unavailable", "the first process cannot be told what to do").Because(err)
	}
	// Nothing closes what is handed on but the collector, once the command is garbage: a
	// context that ends while the process is being started would take a descriptor from
	// under it, and another file could have its number.
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{stageSetup}
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.ExtraFiles = append([]*os.File{told}, extra...)
	cmd.WaitDelay = 500 * time.Millisecond
	cmd.SysProcAttr = attributes(spec.Network)
	return cmd, nil
}

// End kills a command: all in it goes with its first process.
func End(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// Sweep has nothing to do: nothing is left of a command that has ended.
func Sweep(*exec.Cmd) {}

// own is what the first process may need itself, of a group's memory and
// processes. What the command has is still counted by it, and the kernel keeps it
// from being far beyond before that is seen.
const (
	ownMemory  = 64 << 20
	ownThreads = 64
)

// enclosed returns a control group for a command, until ctx ends; nil where there
// are none.
func enclosed(ctx context.Context, l Limits) (*cgroup.Group, error) {
	t := groups.Load()
	if t == nil {
		return nil, nil
	}
	group, err := t.Group(l.Memory+ownMemory, l.Processes+ownThreads)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, group.Close)
	return group, nil
}

// attributes puts a process into namespaces of its own, in which it is who it
// was.
func attributes(network bool) *syscall.SysProcAttr {
	uid, gid := os.Geteuid(), os.Getegid()
	a := &syscall.SysProcAttr{
		Setsid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: namespaces,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
	}
	if !network {
		a.Cloneflags |= syscall.CLONE_NEWNET
	}
	if uid != 0 { // what the namespace's creator may is lost with the next program, unless it is ambient
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE}
	}
	return a
}

// try runs a command and returns why that cannot be done, or "".
func try(ctx context.Context, s Spec) string {
	s.Limits = s.Limits.or()
	cmd, err := command(ctx, s, []string{"/bin/sh", "-c", "exit 7"})
	if err != nil {
		return err.Error()
	}
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return "user namespaces cannot be had: " + err.Error()
	}
	if cmd.ProcessState.ExitCode() != 7 {
		return strings.TrimSpace(string(said))
	}
	return ""
}

func tryLayer(ctx context.Context, dir string) string {
	l := Layer{Path: filepath.Join(dir, "path"), Keep: filepath.Join(dir, "keep")}
	for _, d := range []string{l.Path, l.Keep} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err.Error()
		}
	}
	return try(ctx, Spec{Dir: dir, Write: []string{dir}, Layers: []Layer{l}})
}

// Check tries, once, what the system can do.
var Check = sync.OnceValue(func() Report {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	dir, err := os.MkdirTemp("", "loom-sandbox-")
	if err != nil {
		return Report{Missing: []string{"no temporary directory"}}
	}
	defer os.RemoveAll(dir)
	if missing := try(ctx, Spec{Dir: dir, Write: []string{dir}}); missing != "" {
		return Report{Missing: []string{missing}}
	}
	r := Report{Layers: []string{"user, mount, pid, net, ipc and uts namespaces", "seccomp filter", "no capabilities"}}
	if Grouped() {
		r.Layers = append(r.Layers, "control groups")
	}
	if why := tryLayer(ctx, dir); why == "" {
		r.CanLayer = true
	} else {
		r.Weak = append(r.Weak, "caches cannot be shared for reading: "+why)
	}
	if abi := landlockABI(); abi > 0 {
		r.Layers = append(r.Layers, "Landlock")
	} else {
		r.Weak = append(r.Weak, "the kernel has no Landlock: the second layer around files is missing")
	}
	if os.Geteuid() == 0 && !countsProcesses() && !Grouped() {
		r.Weak = append(r.Weak, "the kernel does not count root's processes: what multiplies fast is ended, and the machine feels it")
	}
	return r
})
