package isolation

import (
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/place/setup"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// installed has the setup that files ask for made by the real package manager: from a
// registry that is named, and then, with none, from what a person has fetched by hand
// with their own home directory. Either makes ready what says needs, and leaves
// nothing that a change would have.
func installed(t *testing.T, h *Commands, files map[string]string, index, hand, says string) {
	t.Helper()
	ends := func(r tool.Result, from string) {
		t.Helper()
		if r.ExitCode != 0 || !strings.Contains(r.Output, "left is here\n") || !strings.Contains(r.Output, "\nclean\n") {
			t.Errorf("from %s: %s: %s", from, r.Summary, r.Output)
		}
	}
	says = ` && ` + says + ` && [ -z "$(git status --porcelain)" ] && echo clean`
	dir := checkoutOf(t, files)
	ends(runSetup(t, h, dir, found(t, dir)+says, index), "a registry")

	t.Setenv("HOME", t.TempDir())
	dir = checkoutOf(t, files)
	fetch := exec.CommandContext(t.Context(), "sh", "-c", hand)
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Fatalf("%s by hand: %v: %s", hand, err, out)
	}
	dir = checkoutOf(t, files)
	p := h.ExecSetup(&loomv1.ProjectConfig{Id: "shop"}, roles.Role{}, t.TempDir())
	ends(runAs(t, p, dir, setup.Plan(setup.Wants{}, os.DirFS(dir))[0].Script()+says), "what was fetched")
}

// withManager has a program of test/managers on the PATH under the name of its
// package manager, and reports whether it is there.
func withManager(t *testing.T, h *Commands, dir, name, program string) bool {
	t.Helper()
	all, err := filepath.Abs("../../test/managers/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(all, program)
	if _, err := os.Stat(program); err != nil {
		t.Logf("NO %s HERE (npm ci --ignore-scripts in test/managers): what setups do with it is not tested", strings.ToUpper(name))
		return false
	}
	script := "#!/bin/sh\nexec node '" + program + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	h.Read = []string{all}
	return has(t, h, dir, "node", name)
}

const (
	wantsLeft = "{\n  \"name\": \"shop\",\n  \"dependencies\": {\n    \"left\": \"1.0.0\"\n  }\n}\n"
	asksLeft  = `node -p 'require("left")'`
)

func TestREAL02_PnpmMakesItsSetup(t *testing.T) {
	h, dir := box(t)
	if !withManager(t, h, dir, "pnpm", "pnpm/bin/pnpm.cjs") {
		return
	}
	index, integrity := published(t, `{"name":"left","version":"1.0.0"}`, `module.exports = "left is here"`)
	installed(t, h, map[string]string{
		".gitignore": "node_modules/\n", ".npmrc": "registry=http://" + index + "/\n",
		"package.json": strings.Replace(wantsLeft, "{", "{\n  \"packageManager\": \"pnpm@10.0.0\",", 1), // not the one that is here
		"pnpm-lock.yaml": "lockfileVersion: '9.0'\nsettings:\n  autoInstallPeers: true\n  excludeLinksFromLockfile: false\n" +
			"importers:\n  .:\n    dependencies:\n      left:\n        specifier: 1.0.0\n        version: 1.0.0\n" +
			"packages:\n  left@1.0.0:\n    resolution: {integrity: " + integrity + "}\nsnapshots:\n  left@1.0.0: {}\n",
	}, index, "npm_config_manage_package_manager_versions=false pnpm install --frozen-lockfile", asksLeft+" && pnpm --version")
}

func TestREAL02_ClassicYarnMakesItsSetup(t *testing.T) {
	h, dir := box(t)
	if !withManager(t, h, dir, "yarn", "yarn-classic/bin/yarn.js") {
		return
	}
	index, integrity := published(t, `{"name":"left","version":"1.0.0"}`, `module.exports = "left is here"`)
	installed(t, h, map[string]string{
		".gitignore": "node_modules/\n", ".npmrc": "registry=http://" + index + "/\n", "package.json": wantsLeft,
		"yarn.lock": "# yarn lockfile v1\n\n\nleft@1.0.0:\n  version \"1.0.0\"\n  resolved \"http://" + index + "/left/-/left-1.0.0.tgz\"\n  integrity " + integrity + "\n",
	}, index, "yarn install --frozen-lockfile", asksLeft)
}

// Yarn 2 and later puts packages into archives, unless a project asks for
// node_modules.
func TestREAL02_ModernYarnMakesItsSetup(t *testing.T) {
	for linker, ignored := range map[string]string{"": ".pnp.*\n", "nodeLinker: node-modules\n": "node_modules/\n"} {
		t.Run("REAL02 "+strings.TrimSpace(linker), func(t *testing.T) {
			h, dir := box(t)
			if !withManager(t, h, dir, "yarn", "@yarnpkg/cli-dist/bin/yarn.js") {
				return
			}
			index, _ := published(t, `{"name":"left","version":"1.0.0"}`, `module.exports = "left is here"`)
			files := map[string]string{
				".gitignore": ".yarn/*\n" + ignored, "package.json": wantsLeft,
				".yarnrc.yml": "npmRegistryServer: http://" + index + "\nunsafeHttpWhitelist: [127.0.0.1]\nenableTelemetry: false\nnpmMinimalAgeGate: 0\n" + linker,
				"yarn.lock":   "",
			}
			dir = checkoutOf(t, files)
			if r := runSetup(t, h, dir, "YARN_ENABLE_IMMUTABLE_INSTALLS=0 yarn install", index); r.ExitCode != 0 {
				t.Fatalf("no lock file can be made: %s: %s", r.Summary, r.Output)
			}
			for name := range files { // Yarn writes package.json in its own form
				made, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				files[name] = string(made)
			}
			installed(t, h, files, index, "yarn install --immutable", "yarn node -p 'require(\"left\")'")
		})
	}
}

// Bundler installs into the checkout from a registry, or from archives that the
// repository has, and commands find the gems there; gems that the user has are read
// where they are.
func TestREAL02_BundlerMakesItsSetup(t *testing.T) {
	h, dir := box(t)
	if !has(t, h, dir, "bundle", "gem", "ruby") {
		return
	}
	pack := gem(t, "left", "LEFT = 'left is here'\n")
	info := fmt.Sprintf("---\n1.0.0 |checksum:%x\n", sha256.Sum256(pack))
	index := serving(t, map[string][]byte{
		"/names": []byte("---\nleft\n"), "/info/left": []byte(info), "/gems/left-1.0.0.gem": pack,
		"/versions": fmt.Appendf(nil, "created_at: 2026-01-01T00:00:00Z\n---\nleft 1.0.0 %x\n", md5.Sum([]byte(info))),
	})
	files := map[string]string{
		".gitignore": "vendor/bundle/\n", "Gemfile": "source 'http://" + index + "'\ngem 'left'\n",
		"Gemfile.lock": "GEM\n  remote: http://" + index + "/\n  specs:\n    left (1.0.0)\n\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n  left\n",
	}
	const asks = `bundle exec ruby -e 'require "left"; puts LEFT' && [ -z "$(git status --porcelain)" ] && echo clean`
	works := func(t *testing.T, dir, registry string, step setup.Step) {
		t.Helper()
		p := h.ExecSetup(&loomv1.ProjectConfig{Id: "shop"}, roles.Role{}, t.TempDir())
		if registry != "" {
			p = h.ExecSetup(&loomv1.ProjectConfig{Id: "shop", SetupRegistries: []string{registry}}, roles.Role{}, t.TempDir())
		}
		if r := runAs(t, p, dir, step.Script()); r.ExitCode != 0 {
			t.Errorf("the setup: %s: %s", r.Summary, r.Output)
		}
		if r := runAs(t, h.Exec("shop", roles.Role{}, t.TempDir()), dir, asks); r.ExitCode != 0 || !strings.Contains(r.Output, "left is here\nclean\n") {
			t.Errorf("an agent's command: %s: %s", r.Summary, r.Output)
		}
	}
	t.Run("REAL02 registry", func(t *testing.T) {
		dir := checkoutOf(t, files)
		works(t, dir, index, setup.Plan(setup.Wants{Online: true}, os.DirFS(dir))[0])
	})
	t.Run("REAL02 archives", func(t *testing.T) {
		own := maps.Clone(files)
		own["vendor/cache/left-1.0.0.gem"] = string(pack)
		dir := checkoutOf(t, own)
		works(t, dir, "", setup.Plan(setup.Wants{}, os.DirFS(dir))[0])
	})
	t.Run("REAL02 gems of the user", func(t *testing.T) {
		dir := checkoutOf(t, map[string]string{"Gemfile": "source 'http://" + index + "'\ngem 'rake'\n"})
		lock := exec.CommandContext(t.Context(), "bundle", "lock", "--local")
		lock.Dir = dir
		if out, err := lock.CombinedOutput(); err != nil {
			t.Logf("NO rake AMONG THE GEMS OF THIS MACHINE: what Bundler does with them is not tested: %v: %s", err, out)
			return
		}
		p := h.ExecSetup(&loomv1.ProjectConfig{Id: "shop"}, roles.Role{}, t.TempDir())
		r := runAs(t, p, dir, setup.Plan(setup.Wants{}, os.DirFS(dir))[0].Script()+` && bundle exec ruby -e 'require "rake"; puts "rake is here"'`)
		if r.ExitCode != 0 || !strings.Contains(r.Output, "rake is here\n") {
			t.Errorf("%s: %s", r.Summary, r.Output)
		}
	})
}

// gem is a package of Ruby's, of one module.
func gem(t *testing.T, name, module string) []byte {
	t.Helper()
	dir := checkoutOf(t, map[string]string{
		"lib/" + name + ".rb": module,
		"it.gemspec":          "Gem::Specification.new { |s| s.name, s.version, s.summary, s.authors, s.files = '" + name + "', '1.0.0', 'test', ['test'], ['lib/" + name + ".rb'] }\n",
	})
	build := exec.CommandContext(t.Context(), "gem", "build", "it.gemspec", "--output", "it.gem")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "it.gem"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Poetry installs into an environment of the checkout, from a registry that is named
// and from nowhere else.
func TestREAL02_PoetryMakesItsSetup(t *testing.T) {
	h, dir := box(t)
	if !has(t, h, dir, "poetry") {
		return
	}
	pack := wheel(t, "rightpack", "said = 'left is here'\n")
	const file = "rightpack-1.0.0-py3-none-any.whl"
	index := serving(t, map[string][]byte{
		"/simple/rightpack/": fmt.Appendf(nil, `<!DOCTYPE html><html><body><a href="/files/%s#sha256=%x">%s</a></body></html>`, file, sha256.Sum256(pack), file),
		"/files/" + file:     pack,
	})
	files := map[string]string{
		".gitignore": ".venv/\n__pycache__/\n", "shop/__init__.py": "",
		"pyproject.toml": "[tool.poetry]\nname = \"shop\"\nversion = \"0.1.0\"\ndescription = \"\"\nauthors = []\n" +
			"[tool.poetry.dependencies]\npython = \"^3.9\"\nrightpack = \"1.0.0\"\n[[tool.poetry.source]]\nname = \"own\"\nurl = \"http://" + index + "/simple/\"\ndefault = true\n",
	}
	t.Setenv("HOME", t.TempDir())
	dir = checkoutOf(t, files)
	lock := exec.CommandContext(t.Context(), "poetry", "lock", "--no-interaction")
	lock.Dir = dir
	if out, err := lock.CombinedOutput(); err != nil {
		t.Fatalf("no lock file can be made: %v: %s", err, out)
	}
	made, err := os.ReadFile(filepath.Join(dir, "poetry.lock"))
	if err != nil {
		t.Fatal(err)
	}
	files["poetry.lock"] = string(made)
	dir = checkoutOf(t, files)
	says := ` && .venv/bin/python -c 'import rightpack; print(rightpack.said)' && [ -z "$(git status --porcelain)" ] && echo clean`
	if r := runSetup(t, h, dir, found(t, dir)+says, index); r.ExitCode != 0 || !strings.Contains(r.Output, "left is here\nclean\n") {
		t.Errorf("%s: %s", r.Summary, r.Output)
	}
	for registries, lacks := range map[string]int{"": 1, index: 0} {
		p := &loomv1.ProjectConfig{Id: "shop"}
		if registries != "" {
			p.SetupRegistries = []string{registries}
		}
		var step SetupStep
		step.need(setup.Plan(setup.Wants{}, os.DirFS(dir))[0].Manager(), p)
		if len(step.Lacks) != lacks {
			t.Errorf("with registries %q it lacks %v", registries, step.Lacks)
		}
	}
}
