package git

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

const (
	hookTimeout = 5 * time.Minute
	hookOutput  = 4 << 10 // bytes kept of the beginning, and of the end
	messageMost = 64 << 10
)

// HookPolicy says whether and how hooks may run. The zero value lets none run:
// a repository that has one is then refused, never served without it.
type HookPolicy struct {
	// Contain prepares a program to run in a sandbox: it starts in dir, may
	// change what lies in the directories to write, and ends, with all that it
	// started, when ctx does. Nil means that there is no sandbox.
	Contain func(ctx context.Context, dir string, write, env, argv []string) (*exec.Cmd, error) `json:"-"`

	// Allow says that what hooks start may run on this host as it is, where
	// there is no sandbox.
	Allow bool

	// Timeout is for each hook. Zero means 5 minutes.
	Timeout time.Duration

	// Setup makes a work tree ready for its own code before the first hook.
	Setup Setup `json:"-"`

	// Trees lends the files that hooks look at, where they run in a sandbox. Nil
	// has them written whole each time.
	Trees *Pool `json:"-"`

	// Cone is what the files that hooks look at have of the tree, beside what the
	// change touches.
	Cone Cone

	// Env is the environment, as "KEY=value". Nil means PATH, HOME, the
	// locale, and where Go keeps its caches, taken from this process. In a
	// sandbox HOME is the stage's own.
	Env []string
}

// Setup makes a work tree ready for its own code. The zero value does nothing.
type Setup struct {
	// Commands does for a work tree at dir what needs no command, says what that was,
	// in lines, and returns the command lines that are left; each runs as a hook does.
	Commands func(ctx context.Context, dir string) (commands, said []string)
	// Contain and Allow are for them what those of the policy are for hooks.
	Contain func(ctx context.Context, dir string, write, env, argv []string) (*exec.Cmd, error)
	Allow   bool
	// Told returns, and forgets, what there is to say of the commands that have run,
	// in lines. Nil means nothing.
	Told func() []string
}

// SetupName is the name of the run that says what there is to say of a setup.
const SetupName = "setup"

// limit is how long a hook may take.
func (p HookPolicy) limit() time.Duration { return cmp.Or(p.Timeout, hookTimeout) }

// trees is where the files come from: without a sandbox, what a hook has started may
// live on, so they serve once.
func (p HookPolicy) trees() *Pool {
	if p.Trees == nil || p.Contain == nil {
		return &Pool{}
	}
	return p.Trees
}

// HookRun tells how one hook ended.
type HookRun struct {
	Name     string        // "pre-commit"
	Skipped  bool          // it is there but not executable, so git would not run it
	ExitCode int           // -1 when it was killed
	Output   string        // both streams, at most 4 KiB of each end
	Took     time.Duration // wall time
}

// run runs one hook in the stage: standard input closed, its own process
// group, which is killed whole at the end of the hook or of its time.
func (s *stage) run(ctx context.Context, name string, args ...string) (HookRun, error) {
	path, runs, there := s.hooks.find(name)
	h := HookRun{Name: name, Skipped: there && !runs}
	if !runs {
		return h, nil
	}
	limit := s.policy.limit()
	began := time.Now()
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := &bounded{most: hookOutput, tail: hookOutput}
	path, err := s.lend(path)
	if err != nil {
		return h, err
	}
	err = s.start(timed, out, path, args)
	h.Output, h.Took, h.ExitCode = out.String(), time.Since(began), exitStatus(err)
	if err == nil {
		h.ExitCode = 0
	}
	return h, h.explain(ctx, timed, limit, err)
}

func (h HookRun) explain(ctx, timed context.Context, limit time.Duration, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fault.New("git/timeout", "the %s hook was stopped", h.Name).Because(ctx.Err())
	case timed.Err() != nil:
		return fault.New("git/hook-timeout", "the %s hook was still running after %s%s", h.Name, limit, h.tail())
	case h.ExitCode < 0:
		return fault.New("git/hook-failed", "the %s hook could not run%s", h.Name, h.tail()).Because(plain(err))
	}
	return fault.New("git/hook-failed", "the %s hook refused with exit status %d%s", h.Name, h.ExitCode, h.tail())
}

func (h HookRun) tail() string {
	if out := strings.TrimSpace(h.Output); out != "" {
		return ":\n" + out
	}
	return ""
}

// lend returns where a hook is run. A sandbox sees nothing of the room but the stage
// and what may be thrown away: there each hook is a fresh copy beside its like,
// whatever those before it have done to theirs.
func (s *stage) lend(path string) (string, error) {
	if s.policy.Contain == nil {
		return path, nil
	}
	within, err := filepath.Rel(s.hookTree(), path)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(s.temporary(), "hooks-")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, within), os.CopyFS(dir, os.DirFS(s.hookTree()))
}

// start runs a program to its end. A script without an interpreter line is
// given to the shell, and one that a fork elsewhere in this process still
// holds open for writing is tried again, both as git does.
func (s *stage) start(ctx context.Context, out *bounded, path string, args []string) error {
	// A sandbox ends with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	argv := append([]string{path}, args...)
	for range 100 {
		cmd, err := s.command(ctx, argv)
		if err != nil {
			return err
		}
		cmd.Stdout, cmd.Stderr = out, out
		err = cmd.Run()
		reap(cmd)
		switch {
		case errors.Is(err, syscall.ENOEXEC) && argv[0] == path:
			argv = append([]string{"/bin/sh"}, argv...)
		case errors.Is(err, syscall.ETXTBSY) && wait(ctx, 10*time.Millisecond):
		case errors.Is(err, exec.ErrWaitDelay):
			return nil // it ended well and left something behind, which is killed now
		default:
			return err
		}
	}
	return syscall.ETXTBSY
}

// command prepares a program of the repository's: in the sandbox, where it may
// change its stage and nothing else, or else as its own process group.
func (s *stage) command(ctx context.Context, argv []string) (*exec.Cmd, error) {
	if s.policy.Contain != nil {
		return s.policy.Contain(ctx, s.dir, []string{s.dir, s.temporary()}, s.environment(), argv)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = s.dir, s.environment()
	ownGroup(cmd, syscall.SIGKILL)
	return cmd, nil
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// passed are the variables that a hook gets by default. No secret is among them.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "XDG_CACHE_HOME",
	"GOPATH", "GOCACHE", "GOMODCACHE", "GOROOT", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "GOSUMDB",
}

// environment is what git would give a hook of a commit, and nothing secret.
func (s *stage) environment() []string {
	env := slices.Clone(s.policy.Env)
	if s.policy.Env == nil {
		for _, name := range passed {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
	}
	own := []string{"TMPDIR=" + s.temporary()}
	if s.policy.Contain != nil {
		own = append(own, "HOME="+s.temporary())
	}
	env = slices.DeleteFunc(env, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "TMPDIR" || name == "HOME" && len(own) > 1
	})
	return append(append(env, own...),
		"GIT_INDEX_FILE="+filepath.Join(s.dir, ".git", "index"), "GIT_EDITOR=:", "GIT_PREFIX=",
		"GIT_AUTHOR_NAME="+s.author.Name, "GIT_AUTHOR_EMAIL="+s.author.Email,
		"GIT_COMMITTER_NAME="+committerName, "GIT_COMMITTER_EMAIL="+committerEmail,
		"GIT_TERMINAL_PROMPT=0", stageMark+"="+s.room)
}

// temporary is where hooks keep what they throw away; it goes with the stage,
// also when the hooks were killed before they could.
func (s *stage) temporary() string { return filepath.Join(s.room, "tmp") }
