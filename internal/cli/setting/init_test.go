package setting

import (
	"strings"
	"testing"

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
