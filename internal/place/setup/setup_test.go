package setup_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/place/setup"
)

func TestREAL02_APlanIsNamedOrFound(t *testing.T) {
	const npm = "npm ci --offline --no-audit --no-fund"
	for _, tt := range []struct {
		name  string
		named []string
		files string
		want  []string
	}{
		{"nothing asks for anything", nil, "main.c Makefile", nil},
		{"modules of Go are there to read", nil, "go.mod go.sum", nil},
		{"npm", nil, "package.json package-lock.json", []string{npm}},
		{"a lock file that nothing belongs to", nil, "package-lock.json", nil},
		{"npm's older name goes first", nil, "package.json npm-shrinkwrap.json package-lock.json", []string{npm}},
		{"pnpm", nil, "package.json pnpm-lock.yaml", []string{"pnpm install --frozen-lockfile --offline"}},
		{"yarn 1", nil, "package.json yarn.lock", []string{"yarn install --frozen-lockfile --offline"}},
		{"yarn 2 and later", nil, "package.json yarn.lock .yarnrc.yml", []string{"YARN_ENABLE_NETWORK=0 yarn install --immutable"}},
		{"uv goes before requirements", nil, "uv.lock requirements.txt", []string{"uv sync --frozen --offline"}},
		{"two languages", nil, "package.json package-lock.json Gemfile.lock", []string{npm, "export BUNDLE_FROZEN=true; if [ -d vendor/cache ]; then BUNDLE_PATH=vendor/bundle bundle install --local; else bundle check; fi"}},
		{"crates of the user", nil, "Cargo.toml Cargo.lock", []string{"cargo fetch --locked --offline"}},
		{"a lock file of no crate", nil, "Cargo.lock", nil},
		{"Elixir", nil, "mix.exs mix.lock", []string{"HEX_OFFLINE=1 mix deps.get --check-locked"}},
		{"what the project names is all", []string{"make deps"}, "package.json package-lock.json", []string{"make deps"}},
	} {
		files := fstest.MapFS{}
		for name := range strings.FieldsSeq(tt.files) {
			files[name] = &fstest.MapFile{}
		}
		var got []string
		for _, s := range setup.Plan(setup.Wants{Commands: tt.named}, files) {
			got = append(got, s.Command)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestREAL02_RequirementsGoIntoOneEnvironment(t *testing.T) {
	plan := setup.Plan(setup.Wants{}, fstest.MapFS{"requirements.txt": {}, "requirements-dev.txt": {}, "requirements-it's.txt": {}, "requirements.txt.d/x": {}})
	if len(plan) != 1 || !strings.HasSuffix(plan[0].Command, ` -r 'requirements-dev.txt' -r 'requirements-it'\''s.txt' -r 'requirements.txt'`) || !slices.Equal(plan[0].Leaves, []string{".venv/"}) {
		t.Errorf("the plan is %+v", plan)
	}
	if script := plan[0].Script(); !strings.HasPrefix(script, "git check-ignore -q '.venv/' ||") || !strings.HasSuffix(script, plan[0].Command) {
		t.Errorf("the script is %s", script)
	}
	if script := (setup.Step{Command: "make deps"}).Script(); script != "make deps" {
		t.Errorf("the script is %s", script)
	}
}

// With registries the same files ask for commands that fetch what is missing.
func TestREAL02_APlanThatReachesRegistries(t *testing.T) {
	for files, want := range map[string]string{
		"package.json package-lock.json":     "npm ci --prefer-offline --no-audit --no-fund",
		"package.json pnpm-lock.yaml":        "pnpm install --frozen-lockfile --prefer-offline",
		"package.json yarn.lock":             "yarn install --frozen-lockfile --prefer-offline",
		"package.json yarn.lock .yarnrc.yml": "yarn install --immutable",
		"uv.lock":                            "uv sync --frozen",
		"Gemfile.lock":                       "BUNDLE_PATH=vendor/bundle BUNDLE_FROZEN=true bundle install",
		"Cargo.toml Cargo.lock":              `CARGO_HOME="$PWD/.cargo-home" cargo fetch --locked`,
		"mix.exs mix.lock":                   "mix deps.get --check-locked",
	} {
		all := fstest.MapFS{}
		for name := range strings.FieldsSeq(files) {
			all[name] = &fstest.MapFile{}
		}
		plan := setup.Plan(setup.Wants{Online: true}, all)
		if len(plan) != 1 || plan[0].Command != want || len(plan[0].Leaves) == 0 {
			t.Errorf("%s: %+v, want %s", files, plan, want)
		}
	}
	if plan := setup.Plan(setup.Wants{Commands: []string{"npm ci --offline"}, Online: true}, fstest.MapFS{}); len(plan) != 1 || plan[0].Command != "npm ci --offline" {
		t.Errorf("what the project names: %+v", plan)
	}
}

// Yarn 2 and later leaves what its settings say, and needs a cache of the user where
// the repository has none.
func TestREAL02_WhatModernYarnLeaves(t *testing.T) {
	const state = ".yarn/install-state.gz"
	for rc, want := range map[string]struct {
		leaves []string
		cache  string
	}{
		"":                                     {[]string{".pnp.cjs", ".yarn/unplugged/", state}, "YARN_GLOBAL_FOLDER"},
		"nodeLinker: pnp\n":                    {[]string{".pnp.cjs", ".yarn/unplugged/", state}, "YARN_GLOBAL_FOLDER"},
		"a: b\nnodeLinker: \"node-modules\"\n": {[]string{"node_modules/", state}, "YARN_GLOBAL_FOLDER"},
		"enableGlobalCache: false\n":           {[]string{".pnp.cjs", ".yarn/unplugged/", state}, ""},
		"# nodeLinker: node-modules\nx:\n  cacheFolder: y\n": {[]string{".pnp.cjs", ".yarn/unplugged/", state}, "YARN_GLOBAL_FOLDER"},
	} {
		files := fstest.MapFS{"package.json": {}, "yarn.lock": {}, ".yarnrc.yml": {Data: []byte(rc)}}
		step := setup.Plan(setup.Wants{}, files)[0]
		if diff := cmp.Diff(want.leaves, step.Leaves); diff != "" || step.Manager() != (setup.Manager{Program: "yarn", Cache: want.cache}) {
			t.Errorf("%q: %+v (-want +got):\n%s", rc, step.Manager(), diff)
		}
	}
	if m := setup.Plan(setup.Wants{}, fstest.MapFS{"package.json": {}, "yarn.lock": {}})[0].Manager(); m.Cache != "YARN_CACHE_FOLDER" {
		t.Errorf("Yarn 1: %+v", m)
	}
}

// A file that a setup makes may be git's already; a directory may not.
func TestREAL02_AStepLooksAtWhatGitKnows(t *testing.T) {
	script := setup.Step{Command: "make", For: "lock", Leaves: []string{"dir/", "file"}}.Script()
	for _, want := range []string{"\ngit ls-files --error-unmatch 'file' >/dev/null 2>&1 || git check-ignore -q 'file' ||", "names it: add dir/'", "names it: add file'"} {
		if !strings.Contains("\n"+script, want) {
			t.Errorf("no %q in %s", want, script)
		}
	}
	if strings.Contains(script, "unmatch 'dir/'") {
		t.Error("a directory that git tracks is let through")
	}
}
