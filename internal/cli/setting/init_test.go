package setting

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/place/setup"
)

func TestCLI02_ProjectsAreNamedAfterDirectories(t *testing.T) {
	for dir, want := range map[string]string{
		"shop": "shop", "Web.Shop": "web-shop", "_x_": "x", "läden": "l-den", "system": "project", "...": "project",
		strings.Repeat("a", 39) + "-b": strings.Repeat("a", 39),
	} {
		got := projectName(dir)
		if got != want {
			t.Errorf("%q is named %q, want %q", dir, got, want)
		}
		if err := checkProjectName(got); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	}
}

// Names of files are a stranger's words: none of them begins a line of the
// configuration.
func TestSEC02_NamesOfFilesSetNothing(t *testing.T) {
	evil := "x\nmodel = \"scripted:demo\"\r\n#"
	d := decided{
		Project: "shop", Branch: evil, Checks: []string{"test " + evil},
		Languages: []setup.Language{{Name: "Python", For: evil, Why: evil}},
		Setup:     []isolation.SetupStep{{Command: evil, For: evil}},
	}
	for line := range strings.Lines(string(d.render())) {
		if strings.HasPrefix(line, "model") {
			t.Errorf("the name of a file set %q in\n%s", line, d.render())
		}
	}
}

// What stands in the place of loom.toml and cannot be read is not passed over as one that
// is there.
func TestCLI02_WhatIsNoFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.Mkdir(path("directory"), 0o700), os.Symlink("nowhere", path("dangling")), os.WriteFile(path("file"), nil, 0o600), os.Symlink("file", path("link"))); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name          string
		force, writes bool
		want          string
	}{
		{"directory", false, false, "it is no file"},
		{"directory", true, false, "it is no file"},
		{"dangling", false, false, "a link to what is not there"},
		{"file", false, false, ""},
		{"link", false, false, ""},
		{"new", false, true, ""},
		{"dangling", true, true, ""},
	} {
		wrote, err := writeNew(path(tt.name), []byte("# new\n"), tt.force)
		if wrote != tt.writes || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, force %t: %t, %v, want %t, %q", tt.name, tt.force, wrote, err, tt.writes, tt.want)
		}
	}
}

func TestCLI02_ADetachedHeadIsSaidToBeOne(t *testing.T) {
	for message, want := range map[string]string{
		"no branch is checked out": "git switch main", "the branch has no commit yet": "git add -A && git commit",
	} {
		if err := noBranch(fault.New("git/unknown-branch", "%s", message)); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", message, err, want)
		}
	}
}

// A model of a provider that there is not is refused before it is written down; one whose
// key is not set is not.
func TestCLI02_AModelThatThereIsNotIsRefused(t *testing.T) {
	a := New(&console.Console{})
	for spec, want := range map[string]string{
		"foo:bar": "there is anthropic:MODEL, google:MODEL", "anthropic:claude-sonnet-4-5": "", "scripted:demo": "", "anthropic:claude-sonnet-4-5,foo:bar": "there is anthropic:MODEL",
	} {
		err := a.checkModel(spec)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}
