package isolation

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a project's setup is, and what keeps it from working, is told before work
// begins, from the branch that work lands on.
func TestREAL02_TheSetupOfAProjectIsTold(t *testing.T) {
	longtest.Skip(t)
	home, bin := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"npm_config_cache", "CARGO_HOME", "PIP_FIND_LINKS"} {
		t.Setenv(name, "")
	}
	for _, name := range []string{"git", "npm"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nPATH="+os.Getenv("PATH")+" exec "+name+" \"$@\"\n"), 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	dir := filepath.Join(t.TempDir(), "shop")
	if err := git.Create(t.Context(), dir, "main", "first", []git.File{
		{Path: ".gitignore", Data: []byte("node_modules/\n")}, {Path: "package.json", Data: []byte("{}")}, {Path: "package-lock.json", Data: []byte(`{"packages":{"":{}}}`)}, {Path: "Gemfile.lock"}, {Path: "docs/uv.lock"},
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Cargo.lock"), nil, 0o600); err != nil { // in no commit
		t.Fatal(err)
	}
	look := func(p *loomv1.ProjectConfig) (said []string) {
		p.Id, p.Repository = "shop", dir
		steps, err := LookAtSetup(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			keeps := ""
			if len(s.Keeps) > 0 {
				keeps = " keeps " + strings.Join(s.Keeps, " ")
			}
			said = append(said, s.Command+" for "+s.For+keeps)
			for _, l := range s.Lacks {
				said = append(said, "  "+l.What)
			}
		}
		return said
	}
	const npm, bundle = "npm ci --offline --no-audit --no-fund for package-lock.json keeps node_modules", "export BUNDLE_FROZEN=true; if [ -d vendor/cache ]; then BUNDLE_PATH=vendor/bundle bundle install --local; else bundle check; fi for Gemfile.lock"
	want := []string{
		npm, "  this user has nothing that was fetched before (npm_config_cache)",
		bundle, "  bundle is not on the PATH",
	}
	if got := look(&loomv1.ProjectConfig{}); !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if err := os.Mkdir(filepath.Join(home, ".npm"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := look(&loomv1.ProjectConfig{TargetBranch: "main"}); got[0] != npm || got[1] != bundle {
		t.Errorf("with a cache: %s", strings.Join(got, "\n"))
	}
	if got := look(&loomv1.ProjectConfig{SetupRegistries: []string{"registry.example"}}); !strings.Contains(got[0], "--prefer-offline") || !slices.Contains(got, "  no .gitignore of branch main names vendor/bundle/") {
		t.Errorf("with registries: %s", strings.Join(got, "\n"))
	}
	if got := look(&loomv1.ProjectConfig{Setup: []string{"make deps"}}); !slices.Equal(got, []string{"make deps for "}) {
		t.Errorf("a named one: %s", strings.Join(got, "\n"))
	}
	if got := look(&loomv1.ProjectConfig{Setup: []string{"make deps"}, SetupReads: []string{"lock"}, SetupMakes: []string{"deps"}}); !slices.Equal(got, []string{"make deps for  keeps deps", "  no .gitignore of branch main names deps/"}) {
		t.Errorf("one whose result is kept: %s", strings.Join(got, "\n"))
	}
	if _, err := LookAtSetup(t.Context(), &loomv1.ProjectConfig{Id: "shop", Repository: dir, TargetBranch: "trunk"}); err == nil {
		t.Error("a branch that is not there was looked at")
	}
	if got := asUser(t, dir, "status", "--short"); got != "?? Cargo.lock" {
		t.Errorf("the look left %s", got)
	}
}
