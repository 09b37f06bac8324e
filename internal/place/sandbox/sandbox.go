package sandbox

import (
	"cmp"
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// Cmd is a command that has been prepared.
type Cmd = exec.Cmd

// Spec says what a command may do. The zero Spec lets it read the system's
// programs and nothing else.
type Spec struct {
	// Dir is where it starts: an absolute path in one of Read or Write.
	Dir string
	// Write are directories that it may change, Read files and directories
	// that it may only read, each at its own place. Absolute paths; those of
	// Read that do not exist are left out.
	Write, Read []string
	// Layers are directories that it may change as it sees them, while they
	// themselves stay as they are.
	Layers []Layer
	// Env is its whole environment.
	Env []string
	// Network gives it the network of the host instead of a loopback of its
	// own.
	Network bool
	// Silent leaves even that loopback out. It means nothing with Network.
	Silent bool
	// Serve, where it is not nil, is called once with a listener of this process on
	// [ServeAddress] of the command's own loopback, in a goroutine of its own: what
	// it answers is all that the command reaches. The listener is closed when the
	// command's context ends. It goes with neither Network nor Silent.
	Serve  func(net.Listener) `json:"-"`
	Limits Limits
}

// ServeAddress is where a command finds what its [Spec] serves.
const ServeAddress = "127.0.0.1:3128"

// Layer is a directory whose changes are kept apart from it, in another one:
// caches that are shared for reading alone.
type Layer struct {
	// Path is the directory, and At where the command sees it: a place within
	// Write, made if absent; empty means at Path.
	Path, At string
	// Keep is an existing directory for the changes; the next command with it
	// sees them again. Nothing else may be kept in it, and two commands at once
	// cannot have it.
	Keep string
}

func (l Layer) at() string { return cmp.Or(l.At, l.Path) }

// Limits bound what a command uses. Zero means the default, see [Limits.or].
type Limits struct {
	// Memory of all its processes together, in bytes: their own, and what they
	// keep in /tmp, in /dev/shm, in memfds and in System V segments.
	Memory int64
	// Disk is how much it writes to what is its to change, in bytes.
	Disk int64
	// Processes and threads at once. What goes beyond ends all; until that is seen
	// the kernel lets there be [Burst] more, where it can count them.
	Processes int
	// FileSize is how large a file it writes can get, in bytes.
	FileSize int64
	// OpenFiles of each process.
	OpenFiles int
	// CPU is processor time of each process.
	CPU time.Duration
}

// Burst is how many more processes than its limit a command can have for the
// moment until that is seen. Numbers below 300 are given once only.
const Burst = 300 + 64

// Defaults are the limits of a command that nothing is said of.
func Defaults() Limits { return Limits{}.or() }

// or returns the limits with defaults filled in.
func (l Limits) or() Limits {
	if l.Memory == 0 {
		l.Memory = 2 << 30
	}
	if l.Disk == 0 {
		l.Disk = 4 << 30
	}
	if l.Processes == 0 {
		l.Processes = 256
	}
	if l.FileSize == 0 {
		l.FileSize = 1 << 30
	}
	if l.OpenFiles == 0 {
		l.OpenFiles = 1024
	}
	if l.CPU == 0 {
		l.CPU = 30 * time.Minute
	}
	return l
}

// Exit codes of a command that the sandbox ended or could not start.
const (
	// ExitLimit: it went beyond a limit of memory, disk or processes.
	ExitLimit = 122
	// ExitSetup: a layer could not be set up; nothing ran.
	ExitSetup = 123
	// ExitMissing: there is no such program.
	ExitMissing = 127
)

// Command prepares argv to run within spec. The caller sets its input and
// output, starts it and waits; when ctx ends, everything in it is killed.
// Cancel, Env, Dir, Path and SysProcAttr are not the caller's to set.
//
// It refuses with sandbox/unavailable where the system cannot do it, and
// sandbox/spec for a Spec that makes no sense.
func Command(ctx context.Context, spec Spec, argv ...string) (*exec.Cmd, error) {
	if err := spec.check(argv); err != nil {
		return nil, err
	}
	if missing := Check().Missing; len(missing) > 0 {
		return nil, fault.New("sandbox/unavailable", "commands cannot be kept apart here: %s", strings.Join(missing, "; ")).
			Want("let the operator allow commands to run unsandboxed, or run on Linux with user namespaces")
	}
	spec.Limits = spec.Limits.or()
	return command(ctx, spec, argv)
}

func (s Spec) check(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return fault.New("sandbox/spec", "there is no command to run")
	}
	for _, path := range slices.Concat(s.Write, s.Read, []string{s.Dir}, s.layered()) {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" || strings.ContainsRune(path, 0) {
			return fault.New("sandbox/spec", "not a clean absolute path below /").Got(path)
		}
	}
	if s.Serve != nil && (s.Network || s.Silent) {
		return fault.New("sandbox/spec", "what is served needs a loopback of the command's own").At("serve")
	}
	if !slices.ContainsFunc(slices.Concat(s.Write, s.Read), func(dir string) bool { return within(s.Dir, dir) }) {
		return fault.New("sandbox/spec", "the command would start where it may not be").At("dir").Got(s.Dir)
	}
	return nil
}

func (s Spec) layered() []string {
	var paths []string
	for _, l := range s.Layers {
		paths = append(paths, l.Path, l.Keep, l.at())
	}
	return paths
}

// within reports whether path is dir or lies in it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// Report says what the system can do.
type Report struct {
	// Layers that work, in words, for example "user namespace".
	Layers []string
	// Missing says why commands cannot be sandboxed; empty when they can.
	Missing []string
	// CanLayer says whether a Spec's Layers work; with them where they do not,
	// commands are refused.
	CanLayer bool
	// Weak says what is not there and can be done without, for example that
	// the kernel has no Landlock.
	Weak []string
}
