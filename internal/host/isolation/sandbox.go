// Package isolation says how what agents run is kept apart from the machine: in the
// sandbox, with the programs, caches and registries that it needs, and no more.
package isolation

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/place/sandbox"
	"github.com/loomrun/loom/roles"
)

// Commands says how commands are kept apart on a host. Nothing of it changes once it is
// used, and all methods may be called at the same time.
type Commands struct {
	// Data is the data directory, which no command sees.
	Data string
	// Unsandboxed has commands run on the machine as it is.
	Unsandboxed bool
	// Read are files and directories that commands may read beside the system's own.
	Read []string
	// Limits is the most that commands may use, whatever their role asks for. What is not
	// said is as in roles.DefaultSandbox.
	Limits roles.Sandbox
}

// Exec says how what agents of a role run in work on a project is started: in the
// sandbox, within what the role asks for and the host gives, unless there is none or
// the operator wants none. What it changes in caches is in the directory changes
// alone.
func (k *Commands) Exec(project string, role roles.Role, changes string) tool.Policy {
	p := tool.Policy{Allow: k.Unsandboxed, Env: append(toolEnv(), downloads()...), Ran: "unsandboxed"}
	if k.Sandboxed() {
		limit := role.Sandbox.Within(k.Limit())
		p.Ran = "sandbox: " + limit.String()
		p.Contain = func(ctx context.Context, dir string, write, env, argv []string) (*sandbox.Cmd, error) {
			return k.contain(ctx, project, limit, cache(changes), dir, write, env, argv)
		}
		p.Beside = func(changes string) tool.Contain {
			return func(ctx context.Context, dir string, write, env, argv []string) (*sandbox.Cmd, error) {
				return k.contain(ctx, project, limit, cache(changes), dir, write, env, argv)
			}
		}
	}
	return p
}

// Ran says in a line how something is kept apart that has these limits; empty
// where it does not run.
func (k *Commands) Ran(limit roles.Sandbox) string {
	switch {
	case k.Sandboxed():
		return "sandbox: " + limit.String()
	case k.Unsandboxed:
		return "unsandboxed"
	}
	return ""
}

// Limit is the most that commands may use here.
func (k *Commands) Limit() roles.Sandbox {
	return k.Limits.Over(roles.DefaultSandbox())
}

// limited is a spec that has as much as limit says.
func limited(spec sandbox.Spec, limit roles.Sandbox) sandbox.Spec {
	spec.Limits = sandbox.Limits{
		Memory: limit.MemoryMiB << 20, Disk: limit.DiskMiB << 20, Processes: int(limit.Processes), FileSize: limit.FileMiB << 20,
		OpenFiles: int(limit.OpenFiles), CPU: limit.CPU,
	}
	spec.Network, spec.Silent = limit.Network == roles.NetworkHost, limit.Network == roles.NetworkNone
	return spec
}

// GroupCommands has commands in the sandbox run in control groups of their own,
// if this process has been given some, to which it then moves. It returns
// cgroup/unavailable and why, if not: they run without. It is called before any
// host starts.
func GroupCommands() error { return sandbox.UseGroups() }

// Grouped reports whether commands run so.
func Grouped() bool { return sandbox.Grouped() }

// CanSandbox reports whether this system has a sandbox for commands.
func CanSandbox() bool { return len(sandbox.Check().Missing) == 0 }

// Sandboxed reports whether what agents run is kept apart from this machine.
func (k *Commands) Sandboxed() bool {
	return !k.Unsandboxed && CanSandbox()
}

// contain prepares a command in the sandbox, that may use what limit says. It may
// read the programs on the PATH, Go's module cache, what the operator named, and the
// project's git objects.
func (k *Commands) contain(ctx context.Context, project string, limit roles.Sandbox, c cache, dir string, write, env, argv []string) (*sandbox.Cmd, error) {
	spec, err := k.spec(project, limit, c, env)
	if err != nil {
		return nil, err
	}
	useFetched(&spec, dir)
	return confine(ctx, spec, dir, write, argv)
}

// spec is what a command for a project may do, as far as that does not depend on
// where it runs.
func (k *Commands) spec(project string, limit roles.Sandbox, c cache, env []string) (sandbox.Spec, error) {
	spec := limited(sandbox.Spec{Env: slices.Clone(env), Read: append(k.Readable(), k.Objects(project)...)}, limit)
	if c != "" {
		if err := c.use(&spec); err != nil {
			return spec, fault.New("sandbox/spec", "no cache").At(string(c)).Because(err)
		}
	}
	return spec, nil
}

// Objects is what git needs to read in the workspaces of a project, and only in
// its: without it, there is no history, and no build that records its commit.
func (k *Commands) Objects(project string) []string {
	store, err := git.Objects(filepath.Join(k.Data, "git"), project)
	if err != nil {
		return nil // there is no workspace yet
	}
	return []string{store}
}

// confine prepares a command that starts in dir and may change what lies in the
// directories to write.
func confine(ctx context.Context, spec sandbox.Spec, dir string, write, argv []string) (*sandbox.Cmd, error) {
	var err error
	if spec.Dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fault.New("sandbox/spec", "no such directory").At("dir").Because(err)
	}
	for _, w := range write {
		real, err := filepath.EvalSymlinks(w)
		if err != nil {
			return nil, fault.New("sandbox/spec", "no such directory").At("write").Because(err)
		}
		spec.Write = append(spec.Write, real)
	}
	return sandbox.Command(ctx, spec, argv...)
}

// cache is a directory for what commands change in caches; empty for none.
type cache string

// realPath returns a path without links, and whether there is such a thing.
func realPath(path string) (string, bool) {
	real, err := filepath.EvalSymlinks(path)
	return real, err == nil
}

// caches are the variables that name them.
var caches = []string{"GOCACHE", "npm_config_cache", "npm_config_store_dir", "pnpm_config_store_dir", "pnpm_config_cache_dir", "COREPACK_HOME", "YARN_CACHE_FOLDER", "YARN_GLOBAL_FOLDER", "PIP_CACHE_DIR", "UV_CACHE_DIR"}

// use gives a command the caches of this user to read, each with the changes on
// top where the system can do that, and else ones that begin empty.
func (c cache) use(spec *sandbox.Spec) error {
	top, err := filepath.EvalSymlinks(string(c))
	if err != nil {
		return err
	}
	own := filepath.Join(top, "own")
	if err := os.MkdirAll(own, 0o700); err != nil {
		return err
	}
	spec.Write = append(spec.Write, own)
	for i, e := range spec.Env {
		name, base, _ := strings.Cut(e, "=")
		if !slices.Contains(caches, name) {
			continue
		}
		real, there := realPath(base)
		if !there || !sandbox.Check().CanLayer {
			spec.Env[i] = name + "=" + filepath.Join(own, name)
			continue
		}
		keep := filepath.Join(top, name)
		spec.Env[i] = name + "=" + real
		if slices.ContainsFunc(spec.Layers, func(l sandbox.Layer) bool { return l.Path == real && l.At == "" }) {
			continue // another variable names it, too
		}
		spec.Layers = append(spec.Layers, sandbox.Layer{Path: real, Keep: keep})
		if err := os.MkdirAll(keep, 0o700); err != nil {
			return err
		}
	}
	spec.Env = append(spec.Env, "XDG_CACHE_HOME="+own)
	return c.useHomes(spec, own)
}

// within reports whether a path is a directory or lies in it.
func within(path, dir string) bool { return strings.HasPrefix(path+"/", dir+"/") }

// overlap reports whether one of two paths lies in the other.
func overlap(a, b string) bool { return within(a, b) || within(b, a) }

// Readable lists what commands may read beside the system: where programs on
// the PATH are and what they need beside them, Go's modules, and what the operator
// named. The home directory
// itself, and the data directory with all in it, are never among them.
func (k *Commands) Readable() []string { return readable(k.Data, k.Read) }

func readable(data string, more []string) []string {
	home := homeDirectory()
	if real, there := realPath(data); there {
		data = real
	}
	var list []string
	add := func(path string) {
		real, err := filepath.EvalSymlinks(path)
		if err == nil && real != "/" && !within(home, real) && !overlap(real, data) && !slices.Contains(list, real) {
			list = append(list, real)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			add(dir)
		}
	}
	for _, e := range toolEnv() {
		switch name, value, _ := strings.Cut(e, "="); name {
		case "GOROOT", "GOMODCACHE":
			add(value)
		case "GOPATH":
			add(filepath.Join(value, "pkg", "mod"))
		}
	}
	if links, _ := wheels(); links != "" {
		add(links)
	}
	for _, path := range versionsOf(filepath.SplitList(os.Getenv("PATH"))) {
		add(path)
	}
	for _, path := range more {
		add(path)
	}
	return list
}

// ownTrees are what each command has one of, made for it.
var ownTrees = []string{"/dev", "/proc", "/sys"}

// homeDirectory is the user's, without links; empty where there is none.
func homeDirectory() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	if real, there := realPath(home); there {
		return real
	}
	return home
}

// Check refuses what the sandbox would not show, or must not, like the file of a key: the
// operator would look in vain for why a command does not find it.
func (k *Commands) Check(key string) (errs []*fault.Error) {
	home := homeDirectory()
	keys, _ := realPath(filepath.Dir(key)) // it may have to be made
	if keys != "" {
		keys = filepath.Join(keys, filepath.Base(key))
	}
	data, _ := filepath.Abs(k.Data)
	if real, there := realPath(data); there {
		data = real
	}
	for _, path := range k.Read {
		refuse := func(format string, args ...any) {
			errs = append(errs, fault.New("usage/argument", format, args...).At("sandbox read").Got(path))
		}
		abs, err := filepath.Abs(path)
		real, there := realPath(abs)
		switch {
		case err != nil || !there:
			refuse("the sandbox cannot show what is not there")
		case real == "/":
			refuse("commands would read the whole machine")
		case slices.ContainsFunc(ownTrees, func(top string) bool { return within(real, top) }):
			refuse("a command has its own, which this would take the place of")
		case within(home, real):
			refuse("commands would read the home directory with all keys in it")
		case keys != "" && within(keys, real):
			refuse("commands would read the CEO's key")
		case k.Data != "" && overlap(real, data):
			refuse("commands would read the data directory")
		}
	}
	return errs
}
