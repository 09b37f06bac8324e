package isolation

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/loomrun/loom/internal/agents/tool"
)

// downloads names the directories where package managers of this user keep what
// they have fetched, those that there are. No setting and no password of theirs
// lies in them.
func downloads() (env []string) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	for _, c := range []struct{ name, within string }{
		{"npm_config_cache", ".npm"},
		{"npm_config_store_dir", ".local/share/pnpm/store"},
		{"pnpm_config_store_dir", ".local/share/pnpm/store"},
		{"pnpm_config_cache_dir", ".cache/pnpm"},
		{"COREPACK_HOME", ".cache/node/corepack"},
		{"YARN_CACHE_FOLDER", ".cache/yarn"},
		{"YARN_GLOBAL_FOLDER", ".yarn/berry"},
		{"PIP_CACHE_DIR", ".cache/pip"},
		{"UV_CACHE_DIR", ".cache/uv"},
	} {
		dir := os.Getenv(c.name)
		switch {
		case dir == "" && c.name == "YARN_CACHE_FOLDER" && os.Getuid() == 0:
			dir = "/usr/local/share/.cache/yarn" // where Yarn 1 has root's
		case dir == "":
			dir = filepath.Join(home, c.within)
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			env = append(env, c.name+"="+dir)
		}
	}
	return env
}

// toolEnv is the environment of tools and checks: where programs, the versions
// that managers keep of them and the Go toolchain's caches are, and nothing else of
// this process.
func toolEnv() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	for _, name := range []string{"GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN"} {
		if v := os.Getenv(name); v != "" && !strings.Contains(v, "@") { // an address with a password
			env = append(env, name+"="+v)
		}
	}
	if os.Getenv("GOCACHE") == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			env = append(env, "GOCACHE="+filepath.Join(dir, "go-build"))
		}
	}
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("GOPATH") == "" {
		env = append(env, "GOPATH="+filepath.Join(home, "go"))
	}
	if tool.OnPath("pnpm") { // it would fetch the version that package.json names, and commands have no network
		env = append(env, "npm_config_manage_package_manager_versions=false", "pnpm_config_manage_package_manager_versions=false")
	}
	_, links := wheels()
	return append(append(env, managersEnv()...), links...)
}
