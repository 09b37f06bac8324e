// Package setup says which commands make a checkout ready for its own code:
// those that a project names, or those that its lock files ask for; and which
// commands its files name as checks of it.
//
// It is pure: it looks at the files that it is given and runs nothing.
package setup

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Step is a command of a setup. Its zero value does nothing.
type Step struct {
	// Command is a command line for sh, run from the top of the checkout.
	Command string
	// For is the file that asks for it; empty for a command that a project names.
	For string
	// Leaves is what it makes, by path, as far as that is known: git must ignore it.
	// What does not end with a slash is a file, which git may also have.
	Leaves []string
	// Keep says what of its result can be kept.
	Keep Keep

	committed bool // what it would fetch can be in the repository
}

// Manager is the package manager that a step needs.
type Manager struct {
	// Program is what must be on the PATH, Cache the variable that names where it
	// keeps what it has fetched; empty where it needs neither.
	Program, Cache string
	// Asks says that it asks an index even for what it has fetched.
	Asks bool
}

// Manager returns the package manager of a step that a lock file asks for, and the
// zero Manager for a command that a project names.
func (s Step) Manager() Manager {
	switch {
	case path.Ext(s.For) == ".txt":
		return Manager{"python3", "PIP_FIND_LINKS", true}
	case s.committed:
		return Manager{Program: "yarn"}
	case strings.HasSuffix(s.Command, modernInstall):
		return Manager{Program: "yarn", Cache: "YARN_GLOBAL_FOLDER"}
	}
	return map[string]Manager{
		"npm-shrinkwrap.json": {"npm", "npm_config_cache", false}, "package-lock.json": {"npm", "npm_config_cache", false},
		"pnpm-lock.yaml": {"pnpm", "npm_config_store_dir", false}, "yarn.lock": {"yarn", "YARN_CACHE_FOLDER", false},
		"uv.lock": {"uv", "UV_CACHE_DIR", false}, "poetry.lock": {"poetry", "", true}, "Gemfile.lock": {"bundle", "", false},
		"Cargo.lock": {"cargo", "CARGO_HOME", false}, "mix.lock": {"mix", "HEX_HOME", false},
	}[s.For]
}

// Script is what is run for a step: the command, after a look at whether git
// ignores what it leaves, because the files of an installed package must not
// become part of a change.
func (s Step) Script() string { return s.guarded(s.Command) }

// guarded is a command after a look at what git knows of what it makes.
func (s Step) guarded(command string) string {
	script := ""
	for _, name := range s.Leaves {
		tracked := ""
		if !strings.HasSuffix(name, "/") {
			tracked = fmt.Sprintf("git ls-files --error-unmatch '%s' >/dev/null 2>&1 || ", name)
		}
		script += fmt.Sprintf("%[3]sgit check-ignore -q '%[1]s' || { echo '%[2]s asks for %[1]s, and no .gitignore of the repository names it: add %[1]s'; exit 1; }\n", name, cmp.Or(s.For, "setup-makes"), tracked)
	}
	for _, dir := range s.Keep.Makes { // a copy takes the place of all of it
		script += fmt.Sprintf("[ -z \"$(git ls-files -- '%[1]s' | head -n 1)\" ] || { echo 'git tracks files in %[1]s, which the setup makes: remove them from git'; exit 1; }\n", dir)
	}
	return script + command
}

// Wants is what a project says of its setup. The zero Wants leaves it to lock files.
type Wants struct {
	// Commands that it names, the files that their result depends on, and the
	// directories that they make; where none is named, each checkout runs them.
	Commands, Reads, Makes []string
	// Online says that the commands can reach registries; otherwise they must do with
	// what has been fetched before.
	Online bool
}

// Plan returns the steps of a checkout: the commands that its project names or,
// where it names none, what the lock files at the top of the checkout ask for.
func Plan(w Wants, files fs.FS) []Step {
	if len(w.Commands) > 0 && len(w.Makes) > 0 {
		return []Step{named(w)}
	}
	var steps []Step
	for _, command := range w.Commands {
		steps = append(steps, Step{Command: command})
	}
	if len(w.Commands) > 0 {
		return steps
	}
	for _, kind := range []func(fs.FS, bool) Step{node, python, ruby, rust, elixir} {
		if s := kind(files, w.Online); s.Command != "" {
			steps = append(steps, s)
		}
	}
	return steps
}

// node is for the lock file of the package manager that a JavaScript project has.
func node(files fs.FS, online bool) Step {
	offline, without := "--offline", "YARN_ENABLE_NETWORK=0 "
	if online {
		offline, without = "--prefer-offline", ""
	}
	modules := []string{"node_modules/"}
	yarn := Step{Command: "yarn install --frozen-lockfile " + offline, For: "yarn.lock", Leaves: modules}
	if has(files, ".yarnrc.yml") {
		yarn.Command = without + modernInstall
		yarn.Leaves, yarn.committed = modernYarn(files)
	}
	ci := "npm ci " + offline + " --no-audit --no-fund"
	for _, s := range []Step{
		{Command: ci, For: "npm-shrinkwrap.json", Leaves: modules},
		{Command: ci, For: "package-lock.json", Leaves: modules},
		{Command: "pnpm install --frozen-lockfile " + offline, For: "pnpm-lock.yaml", Leaves: modules},
		yarn,
	} {
		if !has(files, s.For) || !has(files, "package.json") {
			continue
		}
		if s.Command == ci {
			s.Keep = keepNode(files, s.For, ci)
		}
		return s
	}
	return Step{}
}

const modernInstall = "yarn install --immutable"

// Lines of .yarnrc.yml: packages go into node_modules, and archives of them lie in
// the checkout.
var (
	intoModules = regexp.MustCompile(`(?m)^nodeLinker:[ \t]*["']?(node-modules|pnpm)\b`)
	ownCache    = regexp.MustCompile(`(?m)^(enableGlobalCache:[ \t]*["']?false|cacheFolder:)`)
)

// modernYarn is what Yarn 2 and later makes: archives that a loader reads, unless
// the project asks for node_modules.
func modernYarn(files fs.FS) (leaves []string, committed bool) {
	rc, err := fs.ReadFile(files, ".yarnrc.yml")
	if err != nil {
		rc = nil // as if it said nothing
	}
	leaves = []string{".pnp.cjs", ".yarn/unplugged/"}
	if intoModules.Match(rc) {
		leaves = []string{"node_modules/"}
	}
	return append(leaves, ".yarn/install-state.gz"), ownCache.Match(rc)
}

// python is for a lock file, or else for lists of requirements, which go into a
// virtual environment that sees the packages of the system.
func python(files fs.FS, online bool) Step {
	venv := []string{".venv/"}
	switch {
	case has(files, "uv.lock") && online:
		return Step{Command: "uv sync --frozen", For: "uv.lock", Leaves: venv}
	case has(files, "uv.lock"):
		return Step{Command: "uv sync --frozen --offline", For: "uv.lock", Leaves: venv}
	case has(files, "poetry.lock"):
		return Step{Command: "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction", For: "poetry.lock", Leaves: venv}
	}
	lists, err := fs.Glob(files, "requirements*.txt")
	if err != nil || len(lists) == 0 {
		return Step{}
	}
	install := "python3 -m venv --system-site-packages .venv && .venv/bin/python -m pip install --disable-pip-version-check --no-input"
	for _, list := range lists {
		install += " -r '" + strings.ReplaceAll(list, "'", `'\''`) + "'"
	}
	return Step{Command: install, For: lists[0], Leaves: venv}
}

// ruby is for Bundler's lock file. From a registry gems go into the checkout, and
// with none from the archives of them that the repository has; otherwise those of
// the user are there to read.
func ruby(files fs.FS, online bool) Step {
	switch {
	case !has(files, "Gemfile.lock"):
		return Step{}
	case online:
		return Step{Command: "BUNDLE_PATH=" + Bundle + " BUNDLE_FROZEN=true bundle install", For: "Gemfile.lock", Leaves: []string{Bundle + "/"}}
	}
	return Step{Command: "export BUNDLE_FROZEN=true; if [ -d vendor/cache ]; then BUNDLE_PATH=" + Bundle + " bundle install --local; else bundle check; fi", For: "Gemfile.lock"}
}

// Bundle is the directory of a checkout with the gems that its setup has installed
// there: where it is there, Bundler finds them in it.
const Bundle = "vendor/bundle"

// rust fetches crates. From the user's caches they are looked for there alone, and
// are then readable for every command; from a registry they go into the checkout.
func rust(files fs.FS, online bool) Step {
	switch {
	case !has(files, "Cargo.lock") || !has(files, "Cargo.toml"):
		return Step{}
	case online:
		return Step{Command: `CARGO_HOME="$PWD/` + CargoHome + `" cargo fetch --locked`, For: "Cargo.lock", Leaves: []string{CargoHome + "/"}, Keep: keepCrates()}
	}
	return Step{Command: "cargo fetch --locked --offline", For: "Cargo.lock"}
}

// CargoHome is the directory of a checkout with the crates that its setup has
// fetched from a registry: where it is there, Cargo's home is in it.
const CargoHome = ".cargo-home"

func elixir(files fs.FS, online bool) Step {
	if !has(files, "mix.lock") || !has(files, "mix.exs") {
		return Step{}
	}
	get := "mix deps.get --check-locked"
	if !online {
		get = "HEX_OFFLINE=1 " + get
	}
	return Step{Command: get, For: "mix.lock", Leaves: []string{"deps/"}}
}

func has(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}
