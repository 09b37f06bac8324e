// Package setup says which commands make a checkout ready for its own code:
// those that a project names, or those that its lock files ask for.
//
// It is pure: it looks at the files that it is given and runs nothing.
package setup

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Step is a command of a setup. Its zero value does nothing.
type Step struct {
	// Command is a command line for sh, run from the top of the checkout.
	Command string
	// For is the file that asks for it; empty for a command that a project names.
	For string
	// Leaves is the directory that it makes, which git must ignore. Empty where
	// that is not known.
	Leaves string
}

// Manager is the package manager that a step needs.
type Manager struct {
	// Program is what must be on the PATH, Cache the variable that names where it
	// keeps what it has fetched; empty where it needs neither.
	Program, Cache string
}

// Manager returns the package manager of a step that a lock file asks for, and the
// zero Manager for a command that a project names.
func (s Step) Manager() Manager {
	if path.Ext(s.For) == ".txt" {
		return Manager{"python3", "PIP_FIND_LINKS"} // pip asks an index even for what it has cached
	}
	return map[string]Manager{
		"npm-shrinkwrap.json": {"npm", "npm_config_cache"}, "package-lock.json": {"npm", "npm_config_cache"},
		"pnpm-lock.yaml": {"pnpm", "npm_config_store_dir"}, "yarn.lock": {"yarn", "YARN_CACHE_FOLDER"},
		"uv.lock": {"uv", "UV_CACHE_DIR"}, "poetry.lock": {"poetry", ""}, "Gemfile.lock": {"bundle", ""},
		"Cargo.lock": {"cargo", "CARGO_HOME"}, "mix.lock": {"mix", "HEX_HOME"},
	}[s.For]
}

// Script is what is run for a step: the command, after a look at whether git
// ignores what it leaves, because the files of an installed package must not
// become part of a change.
func (s Step) Script() string {
	if s.Leaves == "" {
		return s.Command
	}
	return fmt.Sprintf("git check-ignore -q %[1]s/ || { echo '%[2]s asks for %[1]s, and no .gitignore of the repository names it: add %[1]s/'; exit 1; }\n%[3]s",
		s.Leaves, s.For, s.Command)
}

// Plan returns the steps of a checkout: the commands that its project names or,
// where it names none, what the lock files at the top of the checkout ask for.
// Online says that they can reach registries; otherwise they must do with what has
// been fetched before.
func Plan(named []string, online bool, files fs.FS) []Step {
	var steps []Step
	for _, command := range named {
		steps = append(steps, Step{Command: command})
	}
	if len(named) > 0 {
		return steps
	}
	for _, kind := range []func(fs.FS, bool) Step{node, python, ruby, rust, elixir} {
		if s := kind(files, online); s.Command != "" {
			steps = append(steps, s)
		}
	}
	return steps
}

// node is for the lock file of the package manager that a JavaScript project has.
func node(files fs.FS, online bool) Step {
	const modules = "node_modules"
	offline, without := "--offline", "YARN_ENABLE_NETWORK=0 "
	if online {
		offline, without = "--prefer-offline", ""
	}
	yarn := "yarn install --frozen-lockfile " + offline
	if has(files, ".yarnrc.yml") {
		yarn = without + "yarn install --immutable"
	}
	for _, s := range []Step{
		{"npm ci " + offline + " --no-audit --no-fund", "npm-shrinkwrap.json", modules},
		{"npm ci " + offline + " --no-audit --no-fund", "package-lock.json", modules},
		{"pnpm install --frozen-lockfile " + offline, "pnpm-lock.yaml", modules},
		{yarn, "yarn.lock", modules},
	} {
		if has(files, s.For) && has(files, "package.json") {
			return s
		}
	}
	return Step{}
}

// python is for a lock file, or else for lists of requirements, which go into a
// virtual environment that sees the packages of the system.
func python(files fs.FS, online bool) Step {
	const venv = ".venv"
	switch {
	case has(files, "uv.lock") && online:
		return Step{"uv sync --frozen", "uv.lock", venv}
	case has(files, "uv.lock"):
		return Step{"uv sync --frozen --offline", "uv.lock", venv}
	case has(files, "poetry.lock"):
		return Step{"POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction", "poetry.lock", venv}
	}
	lists, err := fs.Glob(files, "requirements*.txt")
	if err != nil || len(lists) == 0 {
		return Step{}
	}
	install := "python3 -m venv --system-site-packages .venv && .venv/bin/python -m pip install --disable-pip-version-check --no-input"
	for _, list := range lists {
		install += " -r '" + strings.ReplaceAll(list, "'", `'\''`) + "'"
	}
	return Step{install, lists[0], venv}
}

func ruby(files fs.FS, online bool) Step {
	if !has(files, "Gemfile.lock") {
		return Step{}
	}
	install := "BUNDLE_PATH=vendor/bundle BUNDLE_FROZEN=true bundle install"
	if !online {
		install += " --local"
	}
	return Step{install, "Gemfile.lock", path.Join("vendor", "bundle")}
}

// rust fetches crates. From the user's caches they are looked for there alone, and
// are then readable for every command; from a registry they go into the checkout.
func rust(files fs.FS, online bool) Step {
	switch {
	case !has(files, "Cargo.lock") || !has(files, "Cargo.toml"):
		return Step{}
	case online:
		return Step{`CARGO_HOME="$PWD/` + CargoHome + `" cargo fetch --locked`, "Cargo.lock", CargoHome}
	}
	return Step{"cargo fetch --locked --offline", "Cargo.lock", ""}
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
	return Step{get, "mix.lock", "deps"}
}

func has(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}
