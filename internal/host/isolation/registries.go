package isolation

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/egress"
	"github.com/loomrun/loom/internal/place/sandbox"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// registriesKey is what names the registries of a project.
const registriesKey = "setup-registry"

// ExecSetup is exec for the setup of a project that names registries. Each command
// has a proxy of its own that reaches these alone and ends with it, and no other
// network, whatever the role has. Without a sandbox, or where the sandbox would
// show credentials, nothing runs.
func (k *Commands) ExecSetup(p *loomv1.ProjectConfig, role roles.Role, changes string) tool.Policy {
	policy := k.Exec(p.Id, role, changes)
	policy.Allow, policy.Contain, policy.Beside = false, nil, nil
	if !k.Sandboxed() {
		return policy
	}
	limit := role.Sandbox.Within(k.Limit())
	limit.Network = roles.NetworkLoopback
	proxies := &proxies{allow: p.SetupRegistries}
	policy.Ran = "sandbox: " + limit.String() + ", registries: " + strings.Join(p.SetupRegistries, " ")
	policy.Told = proxies.told
	policy.Contain = func(ctx context.Context, dir string, write, env, argv []string) (*sandbox.Cmd, error) {
		spec, err := k.spec(p.Id, limit, cache(changes), env)
		if err != nil {
			return nil, err
		}
		if file, shown := credentialsIn(spec.Read); shown {
			return nil, showsCredentials(file)
		}
		spec.Env = slices.DeleteFunc(spec.Env, func(e string) bool { return e == "PIP_NO_INDEX=1" })
		spec.Env = append(spec.Env, proxied()...)
		spec.Serve = proxies.next().Serve
		return confine(ctx, spec, dir, write, argv)
	}
	return policy
}

// proxies are those of the commands of one setup, which run one after the other.
type proxies struct {
	allow egress.List

	mu   sync.Mutex
	last *egress.Proxy
}

func (p *proxies) next() *egress.Proxy {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = &egress.Proxy{Allow: p.allow, Name: registriesKey}
	return p.last
}

// told returns what the command that has just run asked for, once.
func (p *proxies) told() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last
	p.last = nil
	if last == nil {
		return nil
	}
	return last.Report()
}

// proxied is what tells programs of the proxy: some read the names in capitals,
// others the small ones, npm, Yarn and Cargo their own. Nothing goes around it.
func proxied() []string {
	const at = "http://" + sandbox.ServeAddress
	env := []string{"NO_PROXY=", "no_proxy=", "npm_config_noproxy="}
	for _, name := range []string{
		"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "npm_config_proxy", "npm_config_https_proxy",
		"YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "CARGO_HTTP_PROXY",
	} {
		env = append(env, name+"="+at)
	}
	return env
}

// credentials are the files, below the home directory, in which package managers
// and their like keep what they prove themselves with.
var credentials = []string{
	".npmrc", ".yarnrc", ".yarnrc.yml", ".config/pip/pip.conf", ".pip/pip.conf", ".pypirc", ".config/uv", ".config/pypoetry",
	".cargo/credentials", ".cargo/credentials.toml", ".cargo/config.toml", ".bundle/config", ".gem/credentials", ".hex/hex.config", ".netrc",
	".git-credentials", ".config/git/credentials", ".config/gh", ".docker/config.json", ".m2/settings.xml", ".ssh", ".gnupg", ".aws", ".config/gcloud",
}

// credentialsIn returns a file with credentials of this user that a command which
// may read those paths could read.
func credentialsIn(paths []string) (string, bool) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", false
	}
	for _, name := range credentials {
		real, there := realPath(filepath.Join(home, name))
		if !there {
			continue
		}
		for _, path := range paths {
			if overlap(real, path) {
				return real, true
			}
		}
	}
	return "", false
}

func showsCredentials(file string) *fault.Error {
	return fault.New("usage/argument", "a setup that reaches registries could read %s and send it there", file).At("sandbox read").
		Want("name directories for --sandbox-read in which no credentials lie")
}

// CheckNames refuses names of registries that are none.
func CheckNames(names []string) error { return egress.List(names).Check() }

// CheckRegistries refuses registries that are none, and those that a project's
// setup could not be held to.
func (k *Commands) CheckRegistries(p *loomv1.ProjectConfig) (errs []*fault.Error) {
	if len(p.SetupRegistries) == 0 {
		return nil
	}
	if err := CheckNames(p.SetupRegistries); err != nil {
		errs = append(errs, fault.From(err).At(registriesKey))
	}
	switch {
	case k.Unsandboxed:
		errs = append(errs, fault.New("usage/argument", "project %q names registries, and without a sandbox its setup would reach everything", p.Id).At(registriesKey).
			Want("leave --unsandboxed out, or name no registries: an unsandboxed setup has the network of this machine"))
	case !CanSandbox():
		errs = append(errs, fault.New("sandbox/unavailable", "project %q names registries, and there is no sandbox here that would hold its setup to them: %s", p.Id, strings.Join(sandbox.Check().Missing, "; ")).At(registriesKey).
			Want("run on Linux with user namespaces (see \"loom doctor\"), or name no registries"))
	}
	if file, shown := credentialsIn(readable(k.Data, k.Read)); shown {
		errs = append(errs, showsCredentials(file))
	}
	return errs
}
