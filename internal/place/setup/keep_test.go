package setup_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/place/setup"
)

const plainLock = `{"packages":{"":{"name":"shop"},"node_modules/left":{"resolved":"https://registry.npmjs.org/left"},"node_modules/left/node_modules/right":{}}}`

// What npm makes is kept where it is in node_modules alone.
func TestREAL02_WhatNpmMakesIsKept(t *testing.T) {
	own := `{ [ "$(npm config get ignore-scripts)" = true ] || { npm run --ignore-scripts install && npm run --ignore-scripts prepare; }; }`
	scripted := `{"packages":{"":{"hasInstallScript":true},"node_modules/left":{"resolved":"https://registry.npmjs.org/left","hasInstallScript":true},"node_modules/right":{},"node_modules/right/node_modules/@own/left":{"hasInstallScript":true}}}`
	for _, tt := range []struct {
		name, manifest, lock, beside string
		keeps                        bool
		then                         string
	}{
		{"packages of an index", `{}`, plainLock, "", true, ""},
		{"hooks that it installs", `{"scripts":{"prepare":"husky","test":"true","install":"make"}}`, plainLock, "", true, own},
		{"a package with scripts", `{}`, scripted, "", true, "npm rebuild @own/left left"},
		{"both", `{"scripts":{"prepare":"husky","install":"make"}}`, scripted, "", true, "npm rebuild @own/left left && " + own},
		{"a name that is none", `{}`, `{"packages":{"node_modules/a;b":{"hasInstallScript":true}}}`, "", false, ""},
		{"a repository", `{}`, `{"packages":{"":{},"node_modules/own":{"resolved":"git+ssh://git@github.com/own/own.git#1f3a"}}}`, "", false, ""},
		{"a lock file of npm 6", `{}`, `{"dependencies":{}}`, "", false, ""},
		{"no lock file that can be read", `{}`, `{"packages":`, "", false, ""},
		{"no manifest that can be read", `{"scripts":[]}`, plainLock, "", false, ""},
		{"a workspace", `{}`, `{"packages":{"":{},"packages/own":{}}}`, "", false, ""},
		{"a link", `{}`, `{"packages":{"":{},"node_modules/own":{"link":true}}}`, "", false, ""},
		{"a file", `{}`, `{"packages":{"":{},"node_modules/own":{"resolved":"file:own.tgz"}}}`, "", false, ""},
		{"what is built", `{}`, plainLock, "binding.gyp", false, ""},
		{"versions", `{"dependencies":{"left":"^1.2.3-rc.1 || >=2 <3","next":"latest","any":"","x":"1.x","old":"npm:@own/left@~1.0","tar":"https://example.com/left.tgz"},"overrides":{"left":{".":"1.0.0","right":"$left"}}}`, plainLock, "", true, ""},
		// npm goes by the manifest where the lock file says something else.
		{"an archive in the checkout", `{"dependencies":{"left":"file:left.tgz"}}`, plainLock, "", false, ""},
		{"an archive by its name", `{"devDependencies":{"left":"left.tgz"}}`, plainLock, "", false, ""},
		{"an archive like a version", `{"optionalDependencies":{"left":"1.0.tar.gz"}}`, plainLock, "", false, ""},
		{"a path", `{"dependencies":{"left":"../left"}}`, plainLock, "", false, ""},
		{"the directory itself", `{"dependencies":{"left":".."}}`, plainLock, "", false, ""},
		{"the home directory", `{"dependencies":{"left":"~/left"}}`, plainLock, "", false, ""},
		{"a repository by its short name", `{"dependencies":{"left":"own/left"}}`, plainLock, "", false, ""},
		{"a repository by its address", `{"dependencies":{"left":"git+https://example.com/left.git"}}`, plainLock, "", false, ""},
		{"a name for an archive", `{"dependencies":{"left":"npm:left@file:left.tgz"}}`, plainLock, "", false, ""},
		{"an override", `{"overrides":{"left":{"right":"file:left.tgz"}}}`, plainLock, "", false, ""},
		{"what a package of the lock file wants", `{}`, `{"packages":{"":{},"node_modules/left":{"resolved":"https://registry.npmjs.org/left","dependencies":{"right":"file:../../right.tgz"}},"node_modules/right":{"version":"1.0.0"}}}`, "", false, ""},
	} {
		files := fstest.MapFS{"package.json": {Data: []byte(tt.manifest)}, "package-lock.json": {Data: []byte(tt.lock)}}
		if tt.beside != "" {
			files[tt.beside] = &fstest.MapFile{}
		}
		plan := setup.Plan(setup.Wants{}, files)
		if len(plan) != 1 || plan[0].Keeps() != tt.keeps || plan[0].Keep.Then != tt.then {
			t.Errorf("%s: %+v, want kept: %t", tt.name, plan, tt.keeps)
		}
		if by := plan[0].Making(); tt.keeps != strings.HasSuffix(by, " --ignore-scripts") {
			t.Errorf("%s: what is kept is made by %s", tt.name, by)
		}
	}
	for files, want := range map[string]bool{"Cargo.toml Cargo.lock": true, "uv.lock": false, "requirements.txt": false, "Gemfile.lock": false, "mix.exs mix.lock": false, "package.json pnpm-lock.yaml": false} {
		all := fstest.MapFS{}
		for name := range strings.FieldsSeq(files) {
			all[name] = &fstest.MapFile{}
		}
		if plan := setup.Plan(setup.Wants{Online: true}, all); len(plan) != 1 || plan[0].Keeps() != want {
			t.Errorf("%s: %+v, want kept: %t", files, plan, want)
		}
	}
}

// Commands that say what they read and make are one step, with one result.
func TestREAL02_NamedCommandsMakeOneResult(t *testing.T) {
	w := setup.Wants{Commands: []string{"cd tools && make", "make deps # all"}, Reads: []string{"lock"}, Makes: []string{"deps", "tools/out"}}
	plan := setup.Plan(w, fstest.MapFS{})
	if len(plan) != 1 || plan[0].Command != "( cd tools && make\n) && ( make deps # all\n)" {
		t.Fatalf("the plan is %+v", plan)
	}
	if diff := cmp.Diff([]string{"deps/", "tools/out/"}, plan[0].Leaves); diff != "" {
		t.Errorf("what git must ignore (-want +got):\n%s", diff)
	}
	if onto := plan[0].Onto(); !strings.Contains(onto, "git ls-files -- 'tools/out'") || strings.Contains(onto, "make deps") {
		t.Errorf("on a copy runs %s", onto)
	}
	w.Makes = nil
	if plan := setup.Plan(w, fstest.MapFS{}); len(plan) != 2 || plan[0].Keeps() {
		t.Errorf("commands that do not say it: %+v", plan)
	}
}

// A result belongs to what was read, what ran and what ran it.
func TestREAL02_AKeyNamesWhatAResultDependsOn(t *testing.T) {
	step := func(command string) setup.Step {
		return setup.Plan(setup.Wants{Commands: []string{command}, Reads: []string{"lock", "more"}, Makes: []string{"deps"}}, fstest.MapFS{})[0]
	}
	key := func(s setup.Step, files fstest.MapFS, facts ...string) string {
		k, err := s.Key(files, facts)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	files := func(lock string) fstest.MapFS { return fstest.MapFS{"lock": {Data: []byte(lock)}} }
	same := key(step("make"), files("1"), "node 20")
	beside := files("1")
	beside["other"] = &fstest.MapFile{Data: []byte("x")}
	if key(step("make"), beside, "node 20") != same {
		t.Error("a file that nothing reads makes a difference")
	}
	empty := files("1")
	empty["more"] = &fstest.MapFile{}
	chosen := files("1")
	chosen[".nvmrc"] = &fstest.MapFile{Data: []byte("22")}
	for name, other := range map[string]string{
		"a lock file": key(step("make"), files("2"), "node 20"), "an empty file": key(step("make"), empty, "node 20"), "a version that is chosen": key(step("make"), chosen, "node 20"),
		"a command": key(step("make all"), files("1"), "node 20"), "a tool": key(step("make"), files("1"), "node 22"), "tools": key(step("make"), files("1"), "node", "20"),
	} {
		if other == same {
			t.Errorf("%s makes no difference", name)
		}
	}
	for name, f := range map[string]*fstest.MapFile{"a link": {Data: []byte("other"), Mode: fs.ModeSymlink}, "a directory": {Mode: fs.ModeDir}} {
		if k, err := step("make").Key(fstest.MapFS{"lock": f, "other": {}}, nil); err == nil {
			t.Errorf("%s has the key %s", name, k)
		}
	}
}

func TestREAL02_WhatIsKeptLiesInTheCheckout(t *testing.T) {
	if err := setup.CheckKept([]string{"deps", "vendor/bundle", ".cargo-home", "a@1_b+c"}); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"", ".", "..", "../x", "/etc", "a/../b", "a/", ".git", ".git/hooks", "a b", "a'b", "$HOME", "a*"} {
		if setup.CheckKept([]string{path}) == nil {
			t.Errorf("%q is let through", path)
		}
	}
}
